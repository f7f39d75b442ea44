//! The limits of research: `[limits]`, `LYRA_LIMITS`, `--limit NAME=VALUE`.

use super::sources::{Sources, real, shown};
use lyra_core::{Error, Limits, Result};

/// The effective limits: each is set separately, and later sources take precedence.
pub(super) fn settle(sources: Sources<'_>) -> Result<Limits> {
    let mut limits = Limits::default();
    // An error names the source of the value.
    let mut set = |place: &str, name: &str, value: f64| {
        let set = limits.set(name, value);
        set.map_err(|error| error.context(place))
    };
    if let Some(given) = sources.key("limits") {
        let wrong = || {
            sources
                .file()
                .wrong("limits", "a table of names and numbers")
        };
        for (name, value) in given.as_table().ok_or_else(wrong)? {
            let truth = value.as_bool().map(|is_on| f64::from(u8::from(is_on)));
            let number = truth.or_else(|| real(value)).ok_or_else(|| {
                let (place, given) = (format!("limits.{name}"), shown(value));
                Error::invalid(format!("key {place:?} is {given}; expected a number"))
            });
            set("limits", name, number?)?;
        }
    }
    let variable = sources.variable("LYRA_LIMITS").unwrap_or_default();
    let variable = variable.to_string_lossy();
    let pairs = variable.split(',').filter(|pair| !pair.trim().is_empty());
    for pair in pairs {
        let (name, value) = parts("LYRA_LIMITS", pair)?;
        set("LYRA_LIMITS", name, value)?;
    }
    for pair in sources.flag("limits") {
        let pair = pair.to_string_lossy();
        let (name, value) = parts("--limit", &pair)?;
        set("--limit", name, value)?;
    }
    Ok(limits)
}

fn parts<'p>(place: &str, pair: &'p str) -> Result<(&'p str, f64)> {
    let parts = pair.split_once('=').and_then(|(name, value)| {
        let value = value.trim().parse().ok()?;
        Some((name.trim(), value))
    });
    parts.ok_or_else(|| Error::invalid(format!("{place}: {pair:?} is not of the form NAME=NUMBER")))
}

#[cfg(test)]
mod tests {
    use super::super::Global;
    use super::super::sources::settled;
    use super::*;

    fn settle(file: &str, env: &str, flags: &[&str]) -> Result<Limits> {
        let flags = Global {
            limit: flags.iter().map(ToString::to_string).collect(),
            ..Global::default()
        };
        settled((file, ""), &[("LYRA_LIMITS", env)], &flags, super::settle)
    }

    #[test]
    fn the_later_source_wins_name_by_name() {
        let file = "[limits]\nclaims_per_document = 9\nhits_per_query = 9\nkneedle = false\nmin_confidence = 0.7";
        let flags = ["pages_per_query=7", "cited_papers=0"];
        let limits = settle(file, "hits_per_query=8, pages_per_query=8", &flags).expect("good");
        let expected = Limits {
            claims_per_document: 9,
            hits_per_query: 8,
            pages_per_query: 7,
            cited_papers: 0,
            kneedle: false,
            min_confidence: 0.7,
            ..Limits::default()
        };
        assert_eq!(limits, expected);
        assert_eq!(settle("", "", &[]).expect("good"), Limits::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, env, flags, message) in [
            (
                "limits = 5",
                "",
                &[][..],
                "\"limits\" is 5; expected a table",
            ),
            (
                "[limits]\nkneedle = \"on\"",
                "",
                &[],
                "\"limits.kneedle\" is \"on\"; expected a number",
            ),
            (
                "[limits]\nverify_pairs = 0",
                "",
                &[],
                "\"verify_pairs\" is 0; expected a whole number",
            ),
            (
                "",
                "pages",
                &[],
                "LYRA_LIMITS: \"pages\" is not of the form",
            ),
            (
                "",
                "",
                &["pages=5"],
                "--limit: limit \"pages\" is not known",
            ),
        ] {
            let error = settle(file, env, flags).expect_err(message);
            assert!(error.message().contains(message), "{}", error.message());
        }
    }
}
