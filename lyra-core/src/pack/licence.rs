//! Decides which page texts may be redistributed.
//!
//! A licence is known if the creator of the pack states it for a prefix of addresses, or if the
//! text contains a sentence of one open licence and of no other.

use crate::error::{Error, Result};
use std::str::FromStr;

/// Which page texts a pack contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PackTexts {
    /// All of them: for users who may redistribute them, or keep the pack private.
    All,
    /// Those whose licence is known to permit it.
    #[default]
    Licensed,
    /// None.
    None,
}

impl PackTexts {
    /// All variants, with their names.
    pub const ALL: [(&'static str, Self); 3] = [
        ("all", Self::All),
        ("licensed", Self::Licensed),
        ("none", Self::None),
    ];
}

impl FromStr for PackTexts {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, texts)| *texts).ok_or_else(|| {
            Error::invalid(format!("texts is {name:?}")).with_hint("expected all, licensed or none")
        })
    }
}

/// A licence that the creator of the pack states for all pages whose address has a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatedLicence {
    /// The prefix of the addresses, such as `https://journals.plos.org/`.
    pub prefix: String,
    /// The licence, such as `CC-BY-4.0`.
    pub licence: String,
}

impl FromStr for StatedLicence {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // An address may contain a "=" itself; a licence does not.
        let parts = text.rsplit_once('=').filter(|(prefix, licence)| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-.+".contains(c);
            !prefix.is_empty() && !licence.is_empty() && licence.chars().all(is_name)
        });
        let (prefix, licence) = parts.ok_or_else(|| {
            Error::invalid(format!("a licence is {text:?}"))
                .with_hint("expected ADDRESS=LICENCE, such as https://journals.plos.org/=CC-BY-4.0")
        })?;
        Ok(Self {
            prefix: prefix.to_owned(),
            licence: licence.to_owned(),
        })
    }
}

/// A licence and how it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownLicence {
    pub(super) licence: String,
    /// `stated` by the creator of the pack, or found in the `text`.
    pub(super) by: &'static str,
}

pattern!(
    SENTENCE,
    r"(?i)open[- ]access\s+(?:article|paper|chapter|publication)\s+(?:that\s+is\s+|which\s+is\s+)?(?:distributed|licensed|published)\s+under\s+(?:the\s+)?(?:terms\s+(?:and\s+conditions\s+)?of\s+)?(?:the|a)\s+creative\s+commons\s+attribution\b"
);
pattern!(
    RESTRICTED,
    r"(?i)non-?\s?commercial|no-?\s?deriv|CC[- ]BY[- ](?:NC|ND)|all\s+rights\s+reserved|licenses/by-n[cd]"
);

/// The licence of a page's text, if it is known.
pub(super) fn licence_of(
    address: &str,
    text: &str,
    stated: &[StatedLicence],
) -> Option<KnownLicence> {
    let said = stated.iter().filter(|s| address.starts_with(&s.prefix));
    if let Some(said) = said.max_by_key(|said| said.prefix.len()) {
        return Some(KnownLicence {
            licence: said.licence.clone(),
            by: "stated",
        });
    }
    (SENTENCE.is_match(text) && !RESTRICTED.is_match(text)).then(|| KnownLicence {
        licence: "CC-BY".to_owned(),
        by: "text",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_stated_or_said_in_the_text_and_nothing_else() {
        let stated: Vec<StatedLicence> = vec!["https://a.example/=CC0-1.0".parse().unwrap()];
        let by = |address: &str, text: &str| licence_of(address, text, &stated).map(|k| k.by);
        let open = "This is an open access article distributed under the terms of the Creative Commons Attribution License";
        assert_eq!(by("https://a.example/1", "x"), Some("stated"));
        assert_eq!(by("https://b.example/1", open), Some("text"));
        for closed in [
            "x".to_owned(),
            "CC BY 4.0 figures by others".to_owned(),
            format!("{open} (CC BY-NC 4.0)"),
            format!("{open}-NonCommercial"),
            format!("{open}. © 2020. All rights reserved."),
        ] {
            assert_eq!(by("https://b.example/1", &closed), None, "{closed}");
        }
        for bad in ["", "=CC0", "https://x/", "https://x/=a licence"] {
            assert!(bad.parse::<StatedLicence>().is_err(), "{bad}");
        }
    }
}
