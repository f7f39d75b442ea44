//! Extracts JSON from the reply of a language model.

use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// Names under which models wrap a list that should be at the top level.
const WRAPPERS: [&str; 5] = ["items", "objects", "results", "data", "list"];

/// The expected JSON type of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// An object.
    Object,
    /// A list: at the top level, under one of the usual names, or a single object as a list of one.
    List,
}

/// The list that was requested as the field `name` of an object. Models that cannot be restricted
/// to a schema return it in other forms.
pub(super) fn items(text: &str, name: &str) -> Option<Vec<Value>> {
    let asked =
        find_json(text, Shape::Object).and_then(|mut object| object.as_object_mut()?.remove(name));
    match asked.or_else(|| find_json(text, Shape::List))? {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// The JSON in a reply, which may be in a code fence or between other words.
///
/// If a reply contains two pieces of JSON, it is unclear which is meant, and the result is none.
fn find_json(text: &str, shape: Shape) -> Option<Value> {
    let text = without_thoughts(text).trim();
    if let Ok(whole) = serde_json::from_str::<Value>(text) {
        return shaped(whole, shape);
    }
    let fenced = in_fence(text).and_then(|inside| serde_json::from_str(inside).ok());
    if let Some(found) = fenced.and_then(|value| shaped(value, shape)) {
        return Some(found);
    }
    let (list, object) = (('[', ']'), ('{', '}'));
    let pairs: &[(char, char)] = match shape {
        Shape::List => &[list, object],
        Shape::Object => &[object],
    };
    pairs.iter().find_map(|(open, close)| {
        let (start, end) = (text.find(*open)?, text.rfind(*close)?);
        let inside = text.get(start..=end)?;
        shaped(serde_json::from_str(inside).ok()?, shape)
    })
}

/// The reply without the preceding thoughts of a reasoning model.
fn without_thoughts(text: &str) -> &str {
    text.rsplit_once("</think>").map_or(text, |(_, said)| said)
}

fn in_fence(text: &str) -> Option<&str> {
    static FENCE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?s)```(?:json|JSON)?\s*\n?(.*?)```").expect("constant and tested")
    });
    Some(FENCE.captures(text)?.get(1)?.as_str().trim())
}

fn shaped(value: Value, shape: Shape) -> Option<Value> {
    match (shape, value) {
        (Shape::Object, value) => value.is_object().then_some(value),
        (Shape::List, Value::Array(items)) => Some(Value::Array(items)),
        (Shape::List, Value::Object(mut fields)) => {
            let is_list = |name: &&&str| fields.get(**name).is_some_and(Value::is_array);
            let name = WRAPPERS.iter().find(is_list);
            let list = name.and_then(|name| fields.remove(*name));
            Some(list.unwrap_or_else(|| Value::Array(vec![Value::Object(fields)])))
        }
        (Shape::List, _) => None,
    }
}

/// A number between 0 and 1; `default` if the model gives none. Values outside the range are clamped.
pub(super) fn unit(value: Option<&Value>, default: f64) -> Option<f64> {
    match value {
        None => Some(default),
        Some(value) => Some(value.as_f64()?.clamp(0.0, 1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;
    use serde_json::json;

    #[test]
    fn agrees_with_the_reference() {
        for row in reference_cases("llm_extract_json") {
            // Strict reading accepts JSON at the top level only. We request a schema and read any
            // reply leniently, so there is no strict mode: this is the one deliberate difference.
            if row["strict"] == true {
                continue;
            }
            let shape = if row["array"] == true {
                Shape::List
            } else {
                Shape::Object
            };
            let found = find_json(row["text"].as_str().unwrap(), shape);
            assert_eq!(found.unwrap_or_default(), row["out"], "{row}");
        }
    }

    #[test]
    fn lists_are_found_in_other_clothes() {
        let one = Some(vec![json!({"a": 1})]);
        for (text, expected) in [
            (r#"{"claims": [{"a": 1}]}"#, one.clone()),
            (r#"{"claims": []}"#, Some(vec![])),
            (
                "<think>{\"claims\": [1]} or so</think>\n{\"claims\": [{\"a\": 1}]}",
                one.clone(),
            ),
            (
                "As [1] says:\n```json\n{\"claims\": [{\"a\": 1}]}\n```\nAnything [else]?",
                one.clone(),
            ),
            ("```JSON\n[{\"a\": 1}]\n```", one.clone()),
            (r#"{"results": [{"a": 1}]}"#, one.clone()),
            (r#"{"a": 1}"#, one),
            (r#"{"claims": {"a": 1}}"#, None),
            (r#"{"claims": [{"a": 1}"#, None),
            ("I cannot do that.", None),
        ] {
            assert_eq!(items(text, "claims"), expected, "{text}");
        }
    }
}
