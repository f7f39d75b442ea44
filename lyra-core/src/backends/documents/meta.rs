//! What a document says about itself: front matter, side files, record keys.
//!
//! All three become one JSON object, and one function reads its keys.

use super::lines::collapse;
use crate::error::{Error, Result};
use crate::model::{DocumentMeta, Reference};
use crate::text::identifiers::{find_identifiers, normalize_doi};
use crate::text::url::normalize_url;
use regex::Regex;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Most references that are kept of one document.
pub(super) const MAX_REFERENCES: usize = 2_000;

/// Reads a side file (`<file>.meta.json`) over what the document itself says: a key that the side
/// file has wins, the others stay. The keys are those of front matter: `title`, `authors`, `year`,
/// `published_date`, `venue`, `doi`, `pmid`, `pmcid`, `arxiv_id`, `url`, `language`, `references`,
/// `superseded_by`, `is_retracted`. Other keys are left alone.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if `json` is not one JSON object or
/// a known key holds something else than expected; `meta` is then as it was.
///
/// ```
/// use lyra_core::{backends::documents::apply_sidecar, model::DocumentMeta};
/// let mut meta = DocumentMeta::default();
/// apply_sidecar(&mut meta, r#"{"title": "Sleep and shift work", "year": 2019}"#)?;
/// assert_eq!(meta.year, Some(2019));
/// # Ok::<(), lyra_core::Error>(())
/// ```
pub fn apply_sidecar(meta: &mut DocumentMeta, json: &str) -> Result<()> {
    let object: Map<String, Value> = serde_json::from_str(json.trim_start_matches('\u{feff}'))
        .map_err(|e| {
            Error::invalid(format!("the side file is not one JSON object: {e}"))
                .with_hint("write {\"title\": …, \"authors\": [ … ], \"year\": …}")
        })?;
    let mut changed = meta.clone();
    let mut problems = apply_object(&mut changed, &object);
    if problems.is_empty() {
        *meta = changed;
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the side file: {}",
        problems.swap_remove(0)
    )))
}

/// Reads the known keys of `object` into `meta`; answers with what could not be read.
pub(super) fn apply_object(meta: &mut DocumentMeta, object: &Map<String, Value>) -> Vec<String> {
    let mut problems = Vec::new();
    for (key, value) in object {
        if value.is_null() {
            continue;
        }
        if let Err(problem) = apply_key(meta, key, value) {
            problems.push(format!("{key}: {problem}"));
        }
    }
    if meta.year.is_none() {
        meta.year = meta.published_date.as_deref().and_then(year_in);
    }
    problems
}

/// What a document says, as a message about it shows it.
pub(super) fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

fn apply_key(meta: &mut DocumentMeta, key: &str, value: &Value) -> Result<(), String> {
    match key {
        "title" => meta.title = some_text(value)?,
        "authors" | "author" => meta.authors = authors(value)?,
        "year" => meta.year = Some(year(value)?),
        "published_date" | "date" => {
            let text = some_text(value)?.unwrap_or_default();
            meta.published_date = Some(iso_date(&text).ok_or_else(|| {
                format!(
                    "{:?} is no date; expected YYYY, YYYY-MM or YYYY-MM-DD",
                    short(&text)
                )
            })?);
        }
        "venue" | "journal" => meta.venue = some_text(value)?,
        "doi" => {
            let text = some_text(value)?.unwrap_or_default();
            meta.doi = Some(doi_in(&text).ok_or_else(|| {
                format!(
                    "{:?} is no DOI; expected a form like 10.1000/xyz",
                    short(&text)
                )
            })?);
        }
        "pmid" => meta.pmid = some_text(value)?,
        "pmcid" => meta.pmcid = some_text(value)?,
        "arxiv_id" => meta.arxiv_id = some_text(value)?,
        "url" => meta.url = some_text(value)?,
        "language" | "lang" => meta.language = some_text(value)?,
        "superseded_by" => meta.superseded_by = some_text(value)?,
        "is_retracted" => meta.is_retracted = boolean(value)?,
        "references" => meta.references = references(value)?,
        _ => {}
    }
    Ok(())
}

/// A string or a number as text; none if it is blank.
fn some_text(value: &Value) -> Result<Option<String>, String> {
    let text = match value {
        Value::String(text) => collapse(text),
        Value::Number(number) => number.to_string(),
        other => return Err(format!("expected a string, found {}", kind_of(other))),
    };
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn year(value: &Value) -> Result<i64, String> {
    let year = match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    year.filter(|year| (1000..=9999).contains(year))
        .ok_or_else(|| format!("expected a year such as 2021, found {value}"))
}

fn boolean(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        other => Err(format!("expected true or false, found {other}")),
    }
}

/// A list of names or of `{name}` objects, or one string with `;` between the names.
fn authors(value: &Value) -> Result<Vec<String>, String> {
    let one = |value: &Value| match value {
        Value::Object(object) => match (
            object.get("name"),
            object.get("given"),
            object.get("family"),
        ) {
            (Some(name), _, _) => some_text(name),
            (None, given, Some(family)) => {
                let parts = [
                    given.map(some_text).transpose()?.flatten(),
                    some_text(family)?,
                ];
                Ok(Some(
                    parts.into_iter().flatten().collect::<Vec<_>>().join(" "),
                ))
            }
            _ => Err("expected a name in each author object".to_owned()),
        },
        other => some_text(other),
    };
    match value {
        Value::Array(items) => Ok(items
            .iter()
            .map(one)
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .flatten()
            .collect()),
        Value::String(text) => Ok(text
            .split(';')
            .map(collapse)
            .filter(|name| !name.is_empty())
            .collect()),
        other => Ok(one(other)?.into_iter().collect()),
    }
}

/// A list of DOIs and addresses, or of objects with `doi`, `url` and `title`.
fn references(value: &Value) -> Result<Vec<Reference>, String> {
    let Value::Array(items) = value else {
        return Err(format!("expected a list, found {}", kind_of(value)));
    };
    let mut found = Vec::new();
    for item in items.iter().take(MAX_REFERENCES) {
        let reference = match item {
            Value::Object(object) => {
                let field = |key: &str| {
                    object
                        .get(key)
                        .map(some_text)
                        .transpose()
                        .map(Option::flatten)
                };
                let target = field("doi")?.or(field("url")?).unwrap_or_default();
                let title = field("title")?;
                let known = reference_to(&target, "reference_list");
                known
                    .or_else(|| {
                        title.is_some().then(|| Reference {
                            source: "reference_list".into(),
                            ..Reference::default()
                        })
                    })
                    .map(|reference| Reference {
                        title,
                        context: None,
                        ..reference
                    })
            }
            other => reference_to(&some_text(other)?.unwrap_or_default(), "reference_list"),
        };
        found.push(
            reference.ok_or_else(|| format!("{item} is neither a DOI nor an http(s) address"))?,
        );
    }
    Ok(found)
}

/// A reference to a DOI in any form (publishers' addresses that hold one among them) or to an
/// http(s) address; none for anything else.
pub(super) fn reference_to(target: &str, source: &str) -> Option<Reference> {
    let empty = Reference {
        source: source.to_owned(),
        ..Reference::default()
    };
    if let Some(doi) = normalize_doi(target) {
        return Some(Reference {
            doi: Some(doi),
            ..empty
        });
    }
    let start = target.trim().get(..7)?.to_ascii_lowercase();
    let web = start == "http://" || start == "https:/";
    let url = web.then(|| normalize_url(target).ok()).flatten()?;
    Some(Reference {
        url: Some(url),
        ..empty
    })
}

/// Adds a reference; one to a target that is there already only fills in what that lacks.
pub(super) fn add_reference(references: &mut Vec<Reference>, reference: Reference) {
    let same = |other: &&mut Reference| {
        (reference.doi.is_some() && other.doi == reference.doi)
            || (reference.url.is_some() && other.url == reference.url)
    };
    if let Some(known) = references.iter_mut().find(same) {
        known.title = known.title.take().or(reference.title);
        known.context = known.context.take().or(reference.context);
    } else if references.len() < MAX_REFERENCES {
        references.push(reference);
    }
}

/// The first DOI in `text`, in its one spelling.
pub(super) fn doi_in(text: &str) -> Option<String> {
    find_identifiers(text).doi
}

/// Whether a title is marked as that of a retracted or withdrawn document.
pub(super) fn says_retracted(title: &str) -> bool {
    let start: String = title
        .chars()
        .skip_while(|c| !c.is_alphanumeric())
        .take(40)
        .flat_map(char::to_lowercase)
        .collect();
    ["retracted", "withdrawn", "撤回"].iter().any(|word| {
        let after = start
            .strip_prefix(word)
            .map(|rest| rest.trim_start_matches(" article"));
        after.is_some_and(|rest| rest.starts_with([':', ']', ')', '：', '】', '-', '—']))
    })
}

/// The first year from 1000 to 2999 at the start of a date.
pub(super) fn year_in(date: &str) -> Option<i64> {
    let year: i64 = date.get(..4)?.parse().ok()?;
    (1000..3000).contains(&year).then_some(year)
}

/// `2021-3-4`, `2021/03/04` or `2021-03-04T10:00Z` as `2021-03-04`; `2021-03` and `2021` too.
pub(super) fn iso_date(text: &str) -> Option<String> {
    static DATE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*(\d{4})(?:[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?)?(?:\D|$)")
            .expect("the pattern is a constant")
    });
    let found = DATE.captures(text)?;
    let mut date = found[1].to_owned();
    year_in(&date)?;
    for (group, most) in [(2, 12u32), (3, 31)] {
        let Some(part) = found
            .get(group)
            .and_then(|m| m.as_str().parse::<u32>().ok())
        else {
            break;
        };
        if !(1..=most).contains(&part) {
            return None;
        }
        date.push_str(&format!("-{part:02}"));
    }
    Some(date)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_file_wins_key_by_key_or_not_at_all() {
        let mut meta = DocumentMeta {
            title: Some("Old".into()),
            venue: Some("Kept".into()),
            ..DocumentMeta::default()
        };
        apply_sidecar(
            &mut meta,
            "\u{feff}{\"title\": \"New\", \"published_date\": \"2020-05\", \"other\": {}}",
        )
        .unwrap();
        assert_eq!(
            (meta.title.as_deref(), meta.venue.as_deref()),
            (Some("New"), Some("Kept"))
        );
        assert_eq!(
            (meta.year, meta.published_date.as_deref()),
            (Some(2020), Some("2020-05"))
        );
        let cases = [
            ("[]", "one JSON object"),
            ("{\"title\": [1]}", "title: expected a string, found a list"),
            ("{\"year\": 12}", "year: expected a year"),
            ("{\"doi\": \"n/a\"}", "doi: \"n/a\" is no DOI"),
            ("{\"published_date\": \"soon\"}", "is no date"),
            ("{\"references\": [\"ftp://x\"]}", "neither a DOI nor"),
            ("{\"is_retracted\": 1}", "true or false"),
        ];
        for (json, want) in cases {
            let before = meta.clone();
            let error = apply_sidecar(&mut meta, json).unwrap_err();
            assert!(error.message().contains(want), "{json}: {error}");
            assert_eq!(meta, before, "{json}");
        }
    }

    #[test]
    fn dois_and_dates_have_one_form() {
        let dois = [
            ("https://doi.org/10.1000/ABC.12).", Some("10.1000/abc.12")),
            (
                "(doi: 10.1016/S0140-6736(05)67483-1)",
                Some("10.1016/s0140-6736(05)67483-1"),
            ),
            (
                "https://example.org/?doi=10.1000%2Fxyz",
                Some("10.1000/xyz"),
            ),
            ("version 10.5/2", None),
            ("10.1000/", None),
        ];
        for (text, want) in dois {
            assert_eq!(doi_in(text).as_deref(), want, "{text}");
        }
        let dates = [
            ("2021/3/4", Some("2021-03-04")),
            ("2021-03-04T10:00:00Z", Some("2021-03-04")),
            ("2021年3月4日", Some("2021-03-04")),
            ("2021-03", Some("2021-03")),
            ("2021", Some("2021")),
            ("2021-13-01", None),
            ("21-01-01", None),
            ("20210", None),
            ("", None),
        ];
        for (text, want) in dates {
            assert_eq!(iso_date(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn marks_of_retraction_are_seen() {
        for title in [
            "RETRACTED: A trial",
            "[Retracted] A trial",
            "Retracted article: A",
            "【撤回】試験",
        ] {
            assert!(says_retracted(title), "{title}");
        }
        for title in [
            "Retracted papers and their readers",
            "A trial: retracted",
            "",
        ] {
            assert!(!says_retracted(title), "{title}");
        }
    }
}
