//! The allowlist: a reply keeps only the properties in its schema.

use serde_json::{Map, Value};

/// Removes every property that `schema` does not name, at every depth. An object that the schema
/// leaves open (a row of a query) is unchanged.
pub(crate) fn keep_known(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(object) => keep_known_properties(object, schema),
        Value::Array(items) => {
            if let Some(item_schema) = schema.get("items") {
                for item in items {
                    keep_known(item, item_schema);
                }
            }
        }
        _ => {}
    }
}

pub(crate) fn keep_known_properties(object: &mut Map<String, Value>, schema: &Value) {
    let named = schema.get("properties").and_then(Value::as_object);
    let rest = schema.get("additionalProperties");
    object.retain(|key, _| {
        named.is_some_and(|named| named.contains_key(key)) || rest != Some(&Value::Bool(false))
    });
    for (key, value) in object {
        if let Some(schema) = named.and_then(|named| named.get(key)).or(rest) {
            keep_known(value, schema);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keeps_what_is_named_and_what_is_open() {
        let schema = json!({
            "properties": {
                "ok": {"type": "boolean"},
                "rows": {"items": {"type": "object", "additionalProperties": true}},
                "closed": {"items": {"properties": {"id": {}}, "additionalProperties": false}},
                "groups": {"additionalProperties":
                    {"items": {"properties": {"id": {}}, "additionalProperties": false}}}
            },
            "additionalProperties": false
        });
        let mut value = json!({
            "ok": true, "session_data": "secret",
            "rows": [{"anything": 1}],
            "closed": [{"id": 1, "secret": 2}],
            "groups": {"a": [{"id": 1, "secret": 2}]}
        });
        keep_known(&mut value, &schema);
        assert_eq!(
            value,
            json!({"ok": true, "rows": [{"anything": 1}], "closed": [{"id": 1}],
                   "groups": {"a": [{"id": 1}]}})
        );
    }
}
