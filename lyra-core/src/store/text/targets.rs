//! User input → targets of a task.

use super::identifiers::{doi_from_url, normalize_doi};
use super::names::nearest;
use super::url::{normalize_url, request_url};
use crate::error::{Error, Result};
use crate::store::model::Target;
use serde_json::Value;

/// Maximum length of a query, address or reason, in code points.
const LONGEST: usize = 2_000;

/// The allowed fields of an object.
const FIELDS: [&str; 6] = ["kind", "query", "url", "doi", "depth", "reason"];

/// Maximum depth of citation chasing.
const DEEPEST: u64 = 10;

/// Parses a target in its canonical form: an object, or a bare string that is classified.
///
/// Objects are `{kind: "query", query}`, `{kind: "url", url, depth?, reason?}` and
/// `{kind: "doi", doi, depth?, reason?}`; `depth` is 0 to 10, texts have 1 to 2,000 code points. A
/// `url` that contains a DOI, at doi.org or at a publisher, becomes a DOI target; a `doi` may be given in
/// any form.
///
/// # Errors
/// [`InvalidInput`](crate::ErrorKind::InvalidInput), with the name of the field in the message.
///
/// ```
/// use lyra_core::{store::model::Target, store::text::targets::parse_target};
/// use serde_json::json;
/// assert_eq!(
///     parse_target(&json!({"kind": "url", "url": "https://doi.org/10.1234/ABC"}))?,
///     Target::Doi { doi: "10.1234/abc".into(), depth: 0, reason: None },
/// );
/// assert_eq!(
///     parse_target(&json!("does metformin help?"))?,
///     Target::Query { query: "does metformin help?".into() },
/// );
/// let error = parse_target(&json!({"kind": "url", "url": "ftp://a"})).unwrap_err();
/// assert!(error.message().starts_with("url"));
/// # Ok::<(), lyra_core::Error>(())
/// ```
pub fn parse_target(value: &Value) -> Result<Target> {
    match value {
        Value::String(text) => parse_target_text(text),
        Value::Object(_) => parse_object(value),
        other => Err(Error::invalid(format!(
            "target is {}, not an object or a string",
            type_name(other)
        ))
        .with_hint(
            "write {\"kind\": \"query\", \"query\": \"…\"}, or the query, URL or DOI itself",
        )),
    }
}

/// A key that is equal for equivalent targets, however their addresses are written.
///
/// ```
/// use lyra_core::store::text::targets::{dedup_key, parse_target_text};
/// let key = |text: &str| parse_target_text(text).map(|target| dedup_key(&target));
/// assert_eq!(key("https://e.org/a?b&a=1")?, key("https://e.org/a?a=1&b=#c")?);
/// # Ok::<(), lyra_core::Error>(())
/// ```
pub fn dedup_key(target: &Target) -> String {
    let mut target = target.clone();
    if let Target::Url { url, .. } = &mut target
        && let Ok(key) = normalize_url(url)
    {
        *url = key;
    }
    target.dedup_key()
}

/// Classifies a bare string: a DOI in any form, or else an address, or else a search query.
///
/// # Errors
/// If the string is empty or too long, or is an invalid address.
pub fn parse_target_text(text: &str) -> Result<Target> {
    let text = checked_text("target", text)?;
    let has_scheme = |scheme: &str| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    if has_scheme("http://") || has_scheme("https://") || has_scheme("file:") {
        return address("target", text, 0, None);
    }
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    if !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric()) {
        // An invalid address; a search for its words would find nothing.
        return address("target", text, 0, None);
    }
    if let Some(doi) = normalize_doi(unwrapped(text)) {
        return Ok(Target::Doi {
            doi,
            depth: 0,
            reason: None,
        });
    }
    let is_host = has_scheme("www.") && !text.contains(char::is_whitespace);
    if let Some(url) = is_host.then(|| format!("https://{text}")) {
        return address("target", &url, 0, None);
    }
    Ok(Target::Query {
        query: text.to_owned(),
    })
}

/// Removes the brackets or quotes around a DOI in a text.
fn unwrapped(text: &str) -> &str {
    [('<', '>'), ('(', ')'), ('[', ']'), ('"', '"')]
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close))
        .unwrap_or(text)
}

fn parse_object(object: &Value) -> Result<Target> {
    let kind = match object.get("kind") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(other) => return Err(unknown_kind(&other.to_string())),
        None => return Err(unknown_kind("nothing")),
    };
    if !matches!(kind, "query" | "url" | "doi") {
        return Err(unknown_kind(&format!("{kind:?}")));
    }
    refuse_unknown_fields(object)?;
    let text = match object.get(kind) {
        Some(Value::String(text)) => checked_text(kind, text)?,
        other => {
            let found = other.map_or("missing", type_name);
            return Err(Error::invalid(format!(
                "{kind} must be a non-empty string, but is {found}"
            ))
            .with_hint(format!("write {{\"kind\": \"{kind}\", \"{kind}\": \"…\"}}")));
        }
    };
    let depth = depth_of(object)?;
    let reason = reason_of(object)?;
    match kind {
        "query" => Ok(Target::Query {
            query: text.to_owned(),
        }),
        "url" => address("url", text, depth, reason),
        _ => match normalize_doi(text) {
            Some(doi) => Ok(Target::Doi { doi, depth, reason }),
            None => Err(
                Error::invalid(format!("doi {text:?} is not a DOI")).with_hint(
                    "a DOI looks like 10.1234/abc; doi: and https://doi.org/ may stand before it",
                ),
            ),
        },
    }
}

fn refuse_unknown_fields(object: &Value) -> Result<()> {
    let mut names = object.as_object().into_iter().flat_map(|o| o.keys());
    let Some(unknown) = names.find(|name| !FIELDS.contains(&name.as_str())) else {
        return Ok(());
    };
    let error = Error::invalid(format!(
        "{unknown:?} is no field of a target; expected one of {}",
        FIELDS.join(", ")
    ));
    Err(match nearest(unknown, FIELDS).first() {
        Some(meant) => error.with_hint(format!("did you mean {meant:?}?")),
        None => error,
    })
}

fn unknown_kind(found: &str) -> Error {
    Error::invalid(format!(
        "kind must be \"query\", \"url\" or \"doi\", but is {found}"
    ))
}

/// An address, or a DOI if it contains one, because catalogues have more data on a work than its page.
fn address(field: &str, text: &str, depth: u32, reason: Option<String>) -> Result<Target> {
    let url = request_url(text).map_err(|error| error.context(field))?;
    let parsed =
        url::Url::parse(text).map_err(|_| Error::invalid(format!("{field} is not a URL")))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(
            Error::invalid(format!("{field} contains a user name or password"))
                .with_hint("targets are stored where agents read them: leave credentials out"),
        );
    }
    // A site without a public name may use any path.
    let is_public = parsed.domain().is_some_and(|name| name.contains('.'));
    match doi_from_url(text).filter(|_| is_public) {
        Some(doi) => Ok(Target::Doi { doi, depth, reason }),
        None => Ok(Target::Url { url, depth, reason }),
    }
}

fn checked_text<'a>(field: &str, text: &'a str) -> Result<&'a str> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::invalid(format!(
            "{field} must be a non-empty string"
        )));
    }
    let length = text.chars().count();
    if length > LONGEST {
        return Err(Error::invalid(format!("{field} has {length} characters"))
            .with_hint(format!("use at most {LONGEST}")));
    }
    Ok(text)
}

fn depth_of(object: &Value) -> Result<u32> {
    let Some(value) = object.get("depth").filter(|value| !value.is_null()) else {
        return Ok(0);
    };
    value
        .as_u64()
        .filter(|depth| *depth <= DEEPEST)
        .and_then(|depth| u32::try_from(depth).ok())
        .ok_or_else(|| {
            Error::invalid(format!(
                "depth must be a whole number from 0 to {DEEPEST}, but is {value}"
            ))
        })
}

fn reason_of(object: &Value) -> Result<Option<String>> {
    match object.get("reason") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(reason)) => {
            checked_text("reason", reason).map(|text| Some(text.to_owned()))
        }
        Some(other) => Err(Error::invalid(format!(
            "reason must be a string, but is {}",
            type_name(other)
        ))),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;
    use proptest::prelude::*;
    use serde_json::json;

    fn doi(doi: &str, depth: u32) -> Target {
        Target::Doi {
            doi: doi.into(),
            depth,
            reason: None,
        }
    }

    fn url(url: &str) -> Target {
        Target::Url {
            url: url.into(),
            depth: 0,
            reason: None,
        }
    }

    fn query(query: &str) -> Target {
        Target::Query {
            query: query.into(),
        }
    }

    #[test]
    fn validation_agrees_with_the_reference() {
        for row in reference_cases("queue_target_validate") {
            let target = &row["target"];
            let found = parse_target(target);
            // The reference supports DOIs only in their bare form, does not check the depth of a DOI
            // target, and does not accept bare strings.
            let expected = match target.to_string().as_str() {
                r#"{"kind":"doi","doi":"https://doi.org/10.1234/abc"}"# | r#""str""# => Ok(()),
                r#"{"kind":"doi","doi":"10.1234/x","depth":-5}"# => Err("depth"),
                _ => match row["param"].as_str() {
                    Some(param) => Err(param
                        .trim_start_matches("targets[0]")
                        .trim_start_matches('.')),
                    None => Ok(()),
                },
            };
            match (found, expected) {
                (Ok(_), Ok(())) => {}
                (Err(error), Err(field)) => assert!(
                    error.message().starts_with(field),
                    "{target}: {:?} does not name {field}",
                    error.message()
                ),
                (found, expected) => panic!("{target}: {found:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn bare_strings_are_classified() {
        for (text, expected) in [
            ("10.1234/ABC", doi("10.1234/abc", 0)),
            ("doi: 10.1234/abc.", doi("10.1234/abc", 0)),
            ("https://doi.org/10.1234%2Fabc", doi("10.1234/abc", 0)),
            ("dx.doi.org/10.1234/abc", doi("10.1234/abc", 0)),
            ("https://doi.org/", url("https://doi.org/")),
            (
                "HTTPS://Example.org/a?utm_source=x",
                url("https://example.org/a?utm_source=x"),
            ),
            ("https://dl.acm.org/doi/10.1145/1.2", doi("10.1145/1.2", 0)),
            ("file:///data/a.jsonl#7", url("file:///data/a.jsonl#7")),
            ("  metformin and HbA1c ", query("metformin and HbA1c")),
            ("example.org", query("example.org")),
            ("糖尿病の治療", query("糖尿病の治療")),
            ("ratio: 10.5/7", query("ratio: 10.5/7")),
            ("<10.1234/x>", doi("10.1234/x", 0)),
            ("(10.1234/x(1))", doi("10.1234/x(1)", 0)),
            ("www.example.org/a", url("https://www.example.org/a")),
            ("www. what is it", query("www. what is it")),
        ] {
            assert_eq!(parse_target(&json!(text)).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn objects_are_read_whole() {
        let target = parse_target(&json!(
            {"kind": "url", "url": "https://a.org/b#c", "depth": 3, "reason": "citation_chase"}
        ));
        assert_eq!(
            target.unwrap(),
            Target::Url {
                url: "https://a.org/b".into(),
                depth: 3,
                reason: Some("citation_chase".into())
            }
        );
        let target = parse_target(&json!({"kind": "doi", "doi": "doi:10.1234/X", "depth": 10}));
        assert_eq!(target.unwrap(), doi("10.1234/x", 10));
    }

    #[test]
    fn errors_name_the_field() {
        let long = "x".repeat(LONGEST + 1);
        for (target, field) in [
            (json!(null), "target"),
            (json!(7), "target"),
            (json!([]), "target"),
            (json!("  "), "target"),
            (json!(long), "target"),
            (json!("https://user:secret@a.org/"), "target"),
            (json!("https://"), "target"),
            (json!({"kind": 1}), "kind"),
            (json!({"kind": "URL", "url": "https://a.org"}), "kind"),
            (json!({"kind": "query", "query": " "}), "query"),
            (json!({"kind": "query", "query": long}), "query"),
            (json!({"kind": "url", "url": "javascript:x"}), "url"),
            (json!({"kind": "url", "url": ["https://a.org"]}), "url"),
            (json!({"kind": "doi", "doi": "metformin"}), "doi"),
            (json!({"kind": "doi"}), "doi"),
            (
                json!({"kind": "url", "url": "https://a.org", "dpeth": 1}),
                "\"dpeth\"",
            ),
            (
                json!({"kind": "url", "url": "https://a.org", "depth": 11}),
                "depth",
            ),
            (
                json!({"kind": "url", "url": "https://a.org", "depth": -1}),
                "depth",
            ),
            (
                json!({"kind": "url", "url": "https://a.org", "depth": 0.5}),
                "depth",
            ),
            (
                json!({"kind": "url", "url": "https://a.org", "depth": "1"}),
                "depth",
            ),
            (
                json!({"kind": "url", "url": "https://a.org", "reason": 1}),
                "reason",
            ),
            (
                json!({"kind": "url", "url": "https://a.org", "reason": ""}),
                "reason",
            ),
        ] {
            let error = parse_target(&target).unwrap_err();
            assert!(
                error.message().starts_with(field),
                "{target}: {}",
                error.message()
            );
            assert!(!error.message().contains("secret"), "{}", error.message());
        }
    }

    proptest! {
        #[test]
        fn a_parsed_target_parses_to_itself(text in "(https://|10\\.1234/|file:///)?\\PC{0,40}") {
            if let Ok(target) = parse_target(&json!(text)) {
                let again = parse_target(&serde_json::to_value(&target).unwrap());
                prop_assert_eq!(again.unwrap(), target);
            }
        }
    }
}
