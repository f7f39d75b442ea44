//! Converts the replies of services to common records, with tolerant readers.
//!
//! A missing or invalid field never drops a record; only a record that cannot be identified is left
//! out.

use crate::documents::entities;
use crate::ports::{AuthorFacts, SearchHit};
use crate::store::text::identifiers::{
    doi_from_url, find_identifiers, is_preprint_doi, normalize_doi,
};
use serde_json::Value;

/// Maximum length of an abstract, in characters; a longer text is not an abstract.
const LONGEST_ABSTRACT: usize = 20_000;

/// The value at a path of keys, if all of them exist.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(*key))
}

/// The text at a path of keys, trimmed; `None` if it is empty or not a text.
pub(super) fn text(value: &Value, path: &[&str]) -> Option<String> {
    let text = at(value, path)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number at a path of keys, also if it is written as a text.
pub(super) fn int(value: &Value, path: &[&str]) -> Option<i64> {
    match at(value, path)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The list at a path of keys; empty if there is none.
pub(super) fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Text without JATS or HTML tags, entities decoded, white space collapsed.
///
/// Section titles become `Title: `, except "Abstract", which is removed.
///
/// Some publishers deposit escaped markup inside markup, which is removed as well.
pub(super) fn plain(markup: &str) -> String {
    let mut text = plain_once(markup);
    for _ in 0..2 {
        if !text.contains("</") {
            break;
        }
        text = plain_once(&text);
    }
    text
}

fn plain_once(markup: &str) -> String {
    let mut plain = String::with_capacity(markup.len());
    let mut rest = markup;
    let mut title_from = None;
    while let Some(open) = rest.find('<') {
        decode_into(&rest[..open], &mut plain);
        let Some(length) = tag_length(&rest[open..]) else {
            // "p < 0.05" is not a tag.
            plain.push('<');
            rest = &rest[open + 1..];
            continue;
        };
        let tag = rest[open + 1..open + length - 1].trim_end_matches('/');
        rest = &rest[open + length..];
        let (closes, name) = tag
            .strip_prefix('/')
            .map_or((false, tag), |name| (true, name));
        let name = name.split_whitespace().next().unwrap_or_default();
        let name = name
            .rsplit(':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        match (name.as_str(), closes) {
            ("title", false) => title_from = Some(plain.len()),
            ("title", true) => {
                if let Some(from) = title_from.take() {
                    end_title(&mut plain, from);
                }
            }
            ("p" | "sec" | "br" | "list" | "list-item" | "li" | "div" | "h4", _) => plain.push(' '),
            _ => {}
        }
    }
    decode_into(rest, &mut plain);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Length of the tag at the start; `None` if the `<` does not begin a tag.
fn tag_length(text: &str) -> Option<usize> {
    let name = text[1..].trim_start_matches('/');
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    text.bytes()
        .take(400)
        .position(|byte| byte == b'>')
        .map(|end| end + 1)
}

fn end_title(plain: &mut String, from: usize) {
    let title = plain[from..].trim().to_owned();
    plain.truncate(from);
    plain.push(' ');
    let says_nothing = matches!(title.to_lowercase().as_str(), "" | "abstract" | "summary");
    if !says_nothing {
        plain.push_str(&title);
        if !title.ends_with([':', '.', '?']) {
            plain.push(':');
        }
        plain.push(' ');
    }
}

fn decode_into(text: &str, plain: &mut String) {
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        let after = &rest[start + 1..];
        let name = after
            .bytes()
            .take(12)
            .position(|b| b == b';')
            .map(|end| &after[..end]);
        match name.and_then(|name| Some((name, entities::decode(name)?))) {
            Some((name, character)) => {
                plain.push(character);
                rest = &after[name.len() + 1..];
            }
            None => {
                plain.push('&');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
}

/// An abstract as one text; `None` if nothing is left of it.
pub(super) fn abstract_of(markup: Option<String>) -> Option<String> {
    let text = plain(&markup?);
    let fits = text.chars().count() <= LONGEST_ABSTRACT;
    let says_something = text.split_whitespace().nth(3).is_some() || text.chars().count() > 20;
    (fits && says_something).then_some(text)
}

/// The ORCID without its address.
pub(super) fn bare_orcid(orcid: &str) -> Option<String> {
    let bare = orcid.trim().trim_end_matches('/').rsplit('/').next()?;
    (!bare.is_empty()).then(|| bare.to_ascii_uppercase())
}

/// Years from 1000; some services write zero for "unknown".
pub(super) fn sane_year(year: Option<i64>) -> Option<i64> {
    year.filter(|year| (1000..=9999).contains(year))
}

/// Whether a title marks a retracted work. The title of a notice ("Retraction of …") does not
/// count.
fn is_retracted_title(title: &str) -> bool {
    let title = title.trim_start_matches(['[', '(']).to_ascii_uppercase();
    [
        "RETRACTED:",
        "RETRACTED ARTICLE",
        "WITHDRAWN:",
        "RETRACTED PAPER",
    ]
    .iter()
    .any(|mark| title.starts_with(mark))
}

/// Sets the author names in the document's metadata.
pub(super) fn set_authors(hit: &mut SearchHit, authors: Vec<AuthorFacts>) {
    hit.meta.authors = authors.iter().map(|author| author.name.clone()).collect();
    hit.facts.authors = authors;
}

/// Completes a record from a service; `None` if it has neither a title nor an identifier nor an
/// address.
pub(super) fn finish(mut hit: SearchHit, rank: usize) -> Option<SearchHit> {
    let title = hit.meta.title.take().map(|title| plain(&title));
    hit.meta.title = title.filter(|title| !title.is_empty());
    hit.meta.is_retracted |= hit.meta.title.as_deref().is_some_and(is_retracted_title);
    hit.meta.year = sane_year(hit.meta.year);
    let landing = hit.meta.url.take();
    hit.meta.url = landing.filter(|url| url.starts_with("http://") || url.starts_with("https://"));
    normalize_ids(&mut hit);
    hit.abstract_text = abstract_of(hit.abstract_text.take());
    hit.url = address(&hit)?;
    hit.title.clone_from(&hit.meta.title);
    hit.snippet = hit.snippet.or_else(|| {
        let text = hit.abstract_text.as_deref()?;
        Some(text.chars().take(200).collect())
    });
    hit.rank = rank;
    Some(hit)
}

fn normalize_ids(hit: &mut SearchHit) {
    let meta = &mut hit.meta;
    meta.doi = meta.doi.take().and_then(|doi| normalize_doi(&doi));
    let digits = |id: String| -> Option<String> {
        let id: String = id.chars().filter(char::is_ascii_digit).collect();
        (!id.is_empty()).then_some(id)
    };
    meta.pmid = meta.pmid.take().and_then(digits);
    meta.pmcid = meta
        .pmcid
        .take()
        .and_then(digits)
        .map(|id| format!("PMC{id}"));
    meta.arxiv_id = meta.arxiv_id.take().and_then(|id| {
        find_identifiers(&format!("https://arxiv.org/abs/{id}"))
            .arxiv_id
            .or(Some(id))
    });
    if let Some(doi) = &meta.doi {
        hit.facts.is_preprint |= is_preprint_doi(doi);
    } else {
        hit.facts.is_preprint |= meta.arxiv_id.is_some() && meta.pmid.is_none();
    }
    let own = meta.doi.as_deref().map(|doi| format!("doi:{doi}"));
    let versions = &mut hit.facts.versions;
    versions.retain(|version| Some(version) != own.as_ref());
    versions.sort();
    versions.dedup();
}

/// The canonical address of a work, which does not depend on the service that found it.
fn address(hit: &SearchHit) -> Option<String> {
    let meta = &hit.meta;
    let known = |prefix: &str, id: &Option<String>| id.as_ref().map(|id| format!("{prefix}{id}"));
    known("https://doi.org/", &meta.doi)
        .or_else(|| known("https://pubmed.ncbi.nlm.nih.gov/", &meta.pmid))
        .or_else(|| known("https://pmc.ncbi.nlm.nih.gov/articles/", &meta.pmcid))
        .or_else(|| known("https://arxiv.org/abs/", &meta.arxiv_id))
        .or_else(|| meta.url.clone())
        .or_else(|| known("https://openalex.org/", &hit.facts.openalex_id))
        .or_else(|| known("https://www.semanticscholar.org/paper/", &hit.facts.s2_id))
}

/// A web page: its address, and the metadata that can be derived from the address.
pub(super) fn web_hit(url: &str, title: Option<String>, words: Option<String>) -> SearchHit {
    let found = find_identifiers(url);
    let mut hit = SearchHit {
        url: url.to_owned(),
        snippet: words
            .map(|words| plain(&words))
            .filter(|words| !words.is_empty()),
        ..SearchHit::default()
    };
    hit.title = title
        .map(|title| plain(&title))
        .filter(|title| !title.is_empty());
    hit.meta.title.clone_from(&hit.title);
    hit.meta.doi = found.doi.or_else(|| doi_from_url(url));
    hit.meta.pmid = found.pmid;
    hit.meta.pmcid = found.pmcid;
    hit.meta.arxiv_id = found.arxiv_id;
    hit.facts.openalex_id = found.openalex_id;
    hit.facts.s2_id = found.s2_id;
    hit
}

/// Only the words of a query, for services whose query language interprets punctuation.
pub(super) fn words_only(query: &str) -> String {
    let words: String = query
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '-' {
                c
            } else {
                ' '
            }
        })
        .collect();
    words
        .split_whitespace()
        .map(|word| word.trim_matches('-'))
        .filter(|word| !word.is_empty() && !matches!(*word, "AND" | "OR" | "NOT" | "ANDNOT"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_becomes_text() {
        for (markup, expected) in [
            (
                "<jats:title>Abstract</jats:title><jats:p>Drug X <jats:italic>increased</jats:italic> falls.</jats:p>",
                "Drug X increased falls.",
            ),
            (
                "<jats:sec><jats:title>Methods</jats:title><jats:p>We counted.</jats:p></jats:sec><jats:sec><jats:title>Results:</jats:title><jats:p>4 &amp; 5 (p &lt; 0.05)</jats:p></jats:sec>",
                "Methods: We counted. Results: 4 & 5 (p < 0.05)",
            ),
            ("p < 0.05 and q > 3", "p < 0.05 and q > 3"),
            ("H<sub>2</sub>O&nbsp;&#xE9; &bogus; &", "H2O é &bogus; &"),
            ("<h4>Background</h4>Text", "Background Text"),
            (
                "<jats:p>&lt;p&gt;Drug &lt;em&gt;X&lt;/em&gt; &amp;amp; falls&lt;/p&gt;</jats:p>",
                "Drug X & falls",
            ),
            ("a <never closed", "a <never closed"),
            ("", ""),
        ] {
            assert_eq!(plain(markup), expected, "{markup}");
        }
    }

    #[test]
    fn retractions_by_title() {
        for (title, expected) in [
            ("RETRACTED: Effects of X", true),
            ("[Retracted article] Effects of X", true),
            ("Retracted Article: Effects", true),
            ("Retraction of: Effects of X", false),
            ("Why papers are retracted", false),
        ] {
            assert_eq!(is_retracted_title(title), expected, "{title}");
        }
    }

    #[test]
    fn words_are_kept_and_operators_are_not() {
        for (query, expected) in [
            ("drug-X (falls) AND \"risk\"", "drug-X falls risk"),
            ("血糖値 反証", "血糖値 反証"),
            ("- ?* ", ""),
        ] {
            assert_eq!(words_only(query), expected);
        }
    }

    proptest! {
        #[test]
        fn any_markup_is_read(markup in "(<|>|&|;|/|jats:|title|p|amp|#x|é|[a-z0-9 ]){0,60}") {
            let text = plain(&markup);
            prop_assert!(!text.contains("  "));
        }
    }
}
