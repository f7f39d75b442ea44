//! The schemas of a tool in `tools/list`. A client gives the listing to its model at the start of
//! every session, so it contains only what is needed to choose a tool and call it. Checks use the
//! full schemas, which `lyra://tools/{name}` and docs/tools.md show.

use super::budget::json_size;
use serde_json::{Map, Value, json};

/// The meaning of a field of an input schema, shorter than its `description`; empty if the name is
/// sufficient.
const BRIEF: &str = "x-brief";

/// Bounds from this value on are left out: callers do not reach them by accident.
const LARGE_BOUND: u64 = 1_000_000_000;
const MANY_ITEMS: u64 = 100;

/// An output schema up to this size is listed completely; of a larger one only the top level.
const WHOLE_OUTPUT_BYTES: usize = 300;

/// Fields of every reply, which are described once in the server's instructions.
const ENVELOPE: [&str; 5] = ["error_code", "error", "hint", "details", "_lyra_meta"];

/// The listed parts of an input schema: names, types, choices, defaults and bounds of numbers.
pub(super) fn input(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut listed = Map::new();
    for (key, value) in schema {
        let shown = match (key.as_str(), value) {
            ("$schema" | BRIEF | "minLength" | "maxLength" | "maxProperties", _)
            | ("additionalProperties", Value::Bool(_)) => None,
            ("maximum", bound) if bound.as_u64() >= Some(LARGE_BOUND) => None,
            ("maxItems", bound) if bound.as_u64() >= Some(MANY_ITEMS) => None,
            ("default", empty) if *empty == json!({}) || *empty == json!([]) => None,
            ("description", long) => {
                let words = schema.get(BRIEF).unwrap_or(long);
                (*words != "").then(|| words.clone())
            }
            _ => Some(inside(key, value, input)),
        };
        listed.extend(shown.map(|shown| (key.clone(), shown)));
    }
    listed
}

/// The listed parts of an output schema: names, types, and required fields.
pub(super) fn output(schema: &Map<String, Value>) -> Map<String, Value> {
    let whole = shape(schema);
    if json_size(&whole) <= WHOLE_OUTPUT_BYTES {
        return whole;
    }
    let mut top = whole;
    if let Some(Value::Object(fields)) = top.get_mut("properties") {
        for field in fields.values_mut().filter_map(Value::as_object_mut) {
            field.retain(|key, _| key == "type");
        }
    }
    top
}

fn shape(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut listed = Map::new();
    for (key, value) in schema {
        let shown = match (key.as_str(), value) {
            ("type" | "required", value) => value.clone(),
            ("properties" | "items" | "anyOf", _) | ("additionalProperties", Value::Object(_)) => {
                inside(key, value, shape)
            }
            _ => continue,
        };
        listed.insert(key.clone(), shown);
    }
    if let Some(Value::Object(fields)) = listed.get_mut("properties") {
        fields.retain(|name, _| !ENVELOPE.contains(&name.as_str()));
    }
    listed
}

/// The value of a keyword, with `list` applied to the schemas in it.
fn inside(
    keyword: &str,
    value: &Value,
    list: fn(&Map<String, Value>) -> Map<String, Value>,
) -> Value {
    let one = |schema: &Value| match schema {
        Value::Object(schema) => Value::Object(list(schema)),
        other => other.clone(),
    };
    match (keyword, value) {
        ("properties", Value::Object(fields)) => fields
            .iter()
            .map(|(name, field)| (name.clone(), one(field)))
            .collect(),
        ("items" | "additionalProperties", schema) => one(schema),
        ("anyOf", Value::Array(forms)) => forms.iter().map(one).collect(),
        (_, other) => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    /// The same schema without the parts that a listing may leave out.
    fn without(schema: &Value, keywords: &[&str]) -> Value {
        match schema {
            Value::Object(object) => object
                .iter()
                .filter(|(key, value)| !keywords.contains(&key.as_str()) || value.is_object())
                .map(|(key, value)| (key.clone(), without(value, keywords)))
                .collect(),
            Value::Array(items) => items.iter().map(|item| without(item, keywords)).collect(),
            other => other.clone(),
        }
    }

    #[test]
    fn a_listed_input_keeps_names_types_choices_and_defaults() {
        let loose = [
            "$schema",
            "description",
            BRIEF,
            "minLength",
            "maxLength",
            "maxItems",
            "maxProperties",
            "additionalProperties",
            "maximum",
        ];
        for tool in tools::of(tools::Set::All) {
            let full = Value::Object((**tool.schema.input()).clone());
            let listed = Value::Object((**tool.schema.listed_input()).clone());
            let full = without(&full, &loose);
            let mut expected = full.to_string();
            for empty in [",\"default\":{}", ",\"default\":[]"] {
                expected = expected.replace(empty, "");
            }
            assert_eq!(
                without(&listed, &loose).to_string(),
                expected,
                "{}",
                tool.name
            );
            assert!(!listed.to_string().contains(BRIEF), "{}", tool.name);
        }
    }

    #[test]
    fn words_come_from_the_brief_where_there_is_one() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string", "maxLength": 9, "description": "Long.", "x-brief": "Short"},
            "b": {"type": "integer", "maximum": 5, "description": "Long.", "x-brief": ""},
            "c": {"type": "integer", "maximum": 2_000_000_000_u64, "description": "Long."},
        }, "additionalProperties": false});
        let listed = input(schema.as_object().expect("an object"));
        assert_eq!(
            Value::Object(listed),
            json!({"type": "object", "properties": {
                "a": {"type": "string", "description": "Short"},
                "b": {"type": "integer", "maximum": 5},
                "c": {"type": "integer", "description": "Long."},
            }})
        );
    }

    #[test]
    fn a_small_output_is_listed_whole_and_a_large_one_by_its_top_level() {
        let item = json!({"type": "object", "description": "One.", "required": ["id"],
            "properties": {"id": {"type": "string", "enum": ["x"]}}, "additionalProperties": false});
        let mut schema = json!({"type": "object", "properties": {
            "ok": {"type": "boolean"}, "error": {"type": "string"},
            "items": {"type": "array", "items": item}}, "required": ["ok"], "if": {}});
        let listed = Value::Object(output(schema.as_object().expect("an object")));
        let listed_item =
            json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}});
        assert_eq!(
            listed,
            json!({"type": "object", "properties": {"ok": {"type": "boolean"},
                "items": {"type": "array", "items": listed_item}}, "required": ["ok"]})
        );
        schema["properties"]["a".repeat(WHOLE_OUTPUT_BYTES)] = json!({"type": "number"});
        let listed = Value::Object(output(schema.as_object().expect("an object")));
        assert_eq!(listed["properties"]["items"], json!({"type": "array"}));
        assert_eq!(listed["required"], json!(["ok"]));
    }
}
