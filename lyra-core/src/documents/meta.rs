//! Metadata of a document: front matter, side files, record keys.
//!
//! All three are turned into one JSON object, whose keys are read by one function.

use super::dates::{iso_date, written_date, year_in};
use super::lines::collapse;
use crate::store::model::{DocumentMeta, Reference};
use crate::store::text::identifiers::{find_identifiers, normalize_doi};
use crate::store::text::names::nearest;
use crate::store::text::url::request_url;
use regex::Regex;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Maximum number of references that are kept per document.
pub(super) const MAX_REFERENCES: usize = 2_000;

/// The keys that documents and their side files may have; some have two names.
const KEYS: &[&str] = &[
    "title",
    "authors",
    "author",
    "year",
    "published_date",
    "date",
    "created",
    "venue",
    "journal",
    "doi",
    "pmid",
    "pmcid",
    "arxiv_id",
    "url",
    "language",
    "lang",
    "superseded_by",
    "is_retracted",
    "references",
];

/// Applies a side file (`<file>.meta.json`) to the metadata of the document: keys of the side file
/// take precedence, all others stay. The keys are those of front matter: `title`, `authors`,
/// `year`, `published_date`, `venue`, `doi`, `pmid`, `pmcid`, `arxiv_id`, `url`, `language`,
/// `references`, `superseded_by`, `is_retracted`.
///
/// Returns what was left out, one sentence each: a file that is not one JSON object, a value that
/// does not fit its key, an unknown key. Everything else is applied.
///
/// ```
/// use lyra_core::{documents::apply_sidecar, store::model::DocumentMeta};
/// let mut meta = DocumentMeta::default();
/// let left_out = apply_sidecar(&mut meta, r#"{"titel": "Sleep", "year": 2019, "doi": "none"}"#);
/// assert_eq!((meta.year, meta.doi), (Some(2019), None));
/// assert!(left_out[0].starts_with("doi: \"none\" is no DOI"));
/// assert_eq!(left_out[1], "titel: no such key; did you mean title?");
/// ```
pub fn apply_sidecar(meta: &mut DocumentMeta, json: &str) -> Vec<String> {
    let json = json.trim_start_matches('\u{feff}');
    if json.trim().is_empty() {
        return vec!["the file is empty; expected one JSON object".to_owned()];
    }
    let object = match serde_json::from_str(json) {
        Ok(Value::Object(object)) => object,
        Ok(other) => {
            let found = kind_of(&other);
            return vec![format!("expected one JSON object, found {found}")];
        }
        Err(e) => return vec![format!("not one JSON object: {e}")],
    };
    let mut problems = apply_object(meta, &object);
    let unknown = object.keys().filter(|key| !KEYS.contains(&key.as_str()));
    problems
        .extend(unknown.map(|key| no_such_key(key, nearest(key, KEYS.iter().copied()).first())));
    problems
}

/// Keys that look like misspellings of a known one. Other programs read front matter, too, so a key
/// that resembles none of these is not an error.
pub(super) fn slips_of_keys(object: &Map<String, Value>) -> Vec<String> {
    let unknown = object.keys().filter(|key| !KEYS.contains(&key.as_str()));
    let slips = unknown.filter_map(|key| {
        // Words that only contain a known key ("subtitle", "date_modified") mean something else.
        let near = nearest(key, KEYS.iter().copied())
            .into_iter()
            .find(|known| known.len() > 3 && known.len().abs_diff(key.len()) <= 1)?;
        Some(no_such_key(key, Some(&near)))
    });
    slips.collect()
}

fn no_such_key(key: &str, near: Option<&&str>) -> String {
    let key = short(key);
    match near {
        Some(near) => format!("{key}: no such key; did you mean {near}?"),
        None => format!("{key}: no such key"),
    }
}

/// Reads the known keys of `object` into `meta`; returns what could not be read.
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

/// A value of a document, shortened for a message.
pub(super) fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

fn apply_key(meta: &mut DocumentMeta, key: &str, value: &Value) -> Result<(), String> {
    match key {
        "title" => meta.title = some_text(value)?,
        "authors" | "author" => meta.authors = authors(value)?,
        "year" => meta.year = Some(year(value)?),
        // The date of publication, where there is one, says more than that of the first version.
        "created" if meta.published_date.is_some() => {}
        "published_date" | "date" | "created" => {
            let text = some_text(value)?.unwrap_or_default();
            meta.published_date = Some(iso_date(&text).or_else(|| written_date(&text)).ok_or_else(|| {
                format!(
                    "{:?} is no date; expected YYYY, YYYY-MM, YYYY-MM-DD or a form like 3 May 2020",
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

/// A string or a number as text; `None` if it is blank.
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

/// A list of names or of `{name}` objects, or one string with several names (see [`names_in`]).
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
            .map(|name| without_contact(&name))
            .collect()),
        Value::String(text) => Ok(names_in(text)),
        other => Ok(one(other)?.into_iter().collect()),
    }
}

/// The names in one string: separated by `;`, by ` and `, or by commas if each part contains a
/// space. `Lee, Ann` stays one name, and `Lee, Ann and Kim, Bo` stays two.
fn names_in(text: &str) -> Vec<String> {
    let text = collapse(text);
    let by = |separator: &str| -> Vec<String> {
        let parts = text.split(separator).map(collapse);
        parts.filter(|name| !name.is_empty()).collect()
    };
    if text.contains(';') {
        return by(";").iter().map(|name| without_contact(name)).collect();
    }
    let is_list = |part: &str| {
        let part = part.strip_prefix("and ").unwrap_or(part);
        part.trim().contains(' ')
    };
    let mut names = Vec::new();
    for part in by(" and ") {
        let parts: Vec<&str> = part
            .split(',')
            .map(str::trim)
            .filter(|p| !p.is_empty())
            .collect();
        if parts.iter().all(|part| is_list(part)) {
            names.extend(parts.into_iter().map(without_contact));
        } else {
            names.push(without_contact(part.trim_end_matches(',')));
        }
    }
    names
}

/// A name without the addresses and account handles after it: `Ann Lee (@ann) <ann@example.org>`,
/// `Ann Lee <ann at example.org>`.
fn without_contact(name: &str) -> String {
    static CONTACT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"<[^<>]*(?:@| at )[^<>]*>|\([^()]*@[^()]*\)").expect("constant and tested")
    });
    let rest = collapse(&CONTACT.replace_all(name, " "));
    if rest.is_empty() {
        name.to_owned()
    } else {
        rest
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

/// A reference to a DOI in any form (including publishers' addresses that contain one) or to an
/// http(s) address; `None` for anything else.
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
    let url = web.then(|| request_url(target).ok()).flatten()?;
    Some(Reference {
        url: Some(url),
        ..empty
    })
}

/// Adds a reference; if the target is already present, only its missing fields are filled in.
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

/// The first DOI in `text`, normalised.
pub(super) fn doi_in(text: &str) -> Option<String> {
    find_identifiers(text).doi
}

/// Whether a title marks its document as retracted or withdrawn.
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

/// Prefix of warnings about the metadata of a document.
pub(super) const FRONT_MATTER: &str = "front matter, ";

/// The path of the side file, for a file that cannot contain bibliographic data.
pub(super) fn sidecar_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".meta.json");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_file_wins_key_by_key_and_its_mistakes_are_named() {
        let mut meta = DocumentMeta {
            title: Some("Old".into()),
            venue: Some("Kept".into()),
            ..DocumentMeta::default()
        };
        let json = "\u{feff}{\"title\": \"New\", \"published_date\": \"2020-05\"}";
        assert_eq!(apply_sidecar(&mut meta, json), Vec::<String>::new());
        assert_eq!(
            (meta.title.as_deref(), meta.venue.as_deref()),
            (Some("New"), Some("Kept"))
        );
        assert_eq!(
            (meta.year, meta.published_date.as_deref()),
            (Some(2020), Some("2020-05"))
        );
        let cases = [
            ("{bad", "not one JSON object: "),
            ("", "the file is empty"),
            (" \n", "the file is empty"),
            ("[]", "expected one JSON object, found a list"),
            ("\"x\"", "expected one JSON object, found a string"),
            ("{\"title\": [1]}", "title: expected a string, found a list"),
            ("{\"year\": 12}", "year: expected a year"),
            ("{\"year\": \"soon\"}", "year: expected a year"),
            ("{\"doi\": \"n/a\"}", "doi: \"n/a\" is no DOI"),
            ("{\"published_date\": \"soon\"}", "is no date"),
            ("{\"references\": [\"ftp://x\"]}", "neither a DOI nor"),
            ("{\"is_retracted\": 1}", "true or false"),
            (
                "{\"titel\": \"x\"}",
                "titel: no such key; did you mean title?",
            ),
            ("{\"zebra\": \"x\"}", "zebra: no such key"),
        ];
        for (json, want) in cases {
            let before = meta.clone();
            let problems = apply_sidecar(&mut meta, json);
            assert_eq!(problems.len(), 1, "{json}: {problems:?}");
            assert!(problems[0].contains(want), "{json}: {problems:?}");
            assert_eq!(meta, before, "{json}");
        }
        let problems = apply_sidecar(&mut meta, r#"{"venue": "V", "year": "soon", "title": "T"}"#);
        assert_eq!(problems.len(), 1, "{problems:?}");
        let taken = (meta.title.as_deref(), meta.venue.as_deref(), meta.year);
        assert_eq!(taken, (Some("T"), Some("V"), Some(2020)));
    }

    #[test]
    fn only_slips_are_named_where_others_read_too() {
        for (key, is_slip) in [
            ("titel", true),
            ("autors", true),
            ("langauge", true),
            ("tags", false),
            ("subtitle", false),
            ("date_modified", false),
            ("id", false),
        ] {
            let object = Map::from_iter([(key.to_owned(), Value::from("x"))]);
            assert_eq!(!slips_of_keys(&object).is_empty(), is_slip, "{key}");
        }
    }

    #[test]
    fn several_names_stand_in_one_string() {
        let cases: &[(&str, &[&str])] = &[
            ("Ann Lee", &["Ann Lee"]),
            ("Lee, Ann", &["Lee, Ann"]),
            ("Lee, Ann; Kim, Bo;", &["Lee, Ann", "Kim, Bo"]),
            ("Lee, Ann and Kim, Bo", &["Lee, Ann", "Kim, Bo"]),
            ("Ann Lee and Bo Kim", &["Ann Lee", "Bo Kim"]),
            ("Ann Lee, Bo Kim", &["Ann Lee", "Bo Kim"]),
            (
                "Ann Lee, Bo Kim, and Cy Orr",
                &["Ann Lee", "Bo Kim", "Cy Orr"],
            ),
            (
                "Ann Lee, Bo Kim and Cy Orr",
                &["Ann Lee", "Bo Kim", "Cy Orr"],
            ),
            ("Sandy Anderson", &["Sandy Anderson"]),
            (
                "Ann Lee (@ann) <ann@example.org>, bo (@bo), Cy Orr <cy@example.org>",
                &["Ann Lee", "bo", "Cy Orr"],
            ),
            ("<ann@example.org>", &["<ann@example.org>"]),
            ("山田 太郎", &["山田 太郎"]),
            (" ", &[]),
        ];
        for (text, want) in cases {
            assert_eq!(names_in(text), *want, "{text}");
        }
    }

    #[test]
    fn dois_have_one_form() {
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
