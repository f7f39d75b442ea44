//! Incoming arguments: they are normalised, checked against the tool's schema, and completed with
//! its defaults. Errors refer to the caller's fields, not to paths in the schema.

use super::ToolSchema;
use crate::error::ToolError;
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use lyra_core::store::text::names::nearest;
use serde_json::{Map, Value, json};

/// Maximum length of a caller's value that an error message repeats.
const SHOWN: usize = 60;

/// The arguments of a call: checked, with defaults filled in.
pub(crate) fn accept(
    schema: &ToolSchema,
    given: Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    let input = Value::Object((**schema.input()).clone());
    let mut arguments = Value::Object(given);
    normalise(&mut arguments, &input);
    let check = schema
        .input_check()
        .ok_or_else(|| ToolError::internal("an input schema does not compile"))?;
    if let Some(error) = first_error(check.iter_errors(&arguments)) {
        return Err(explain(&error, &input));
    }
    fill_defaults(&mut arguments, &input);
    match arguments {
        Value::Object(map) => Ok(map),
        _ => Err(ToolError::invalid("the arguments are not an object")),
    }
}

/// Clients differ in how they omit an optional argument (some send null) and in how they write an
/// integer (some send `5.0`); the meaning is the same.
fn normalise(value: &mut Value, schema: &Value) {
    if schema.get("type") == Some(&json!("integer"))
        && let Some(number) = value.as_f64()
        && value.as_i64().is_none()
        && number.fract() == 0.0
        && number.abs() < 9e15
    {
        *value = json!(number as i64);
    }
    if let (Value::Array(items), Some(schema)) = (&mut *value, schema.get("items")) {
        return items.iter_mut().for_each(|item| normalise(item, schema));
    }
    let Value::Object(object) = value else { return };
    let schema = object_form(schema);
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    object.retain(|key, value| !(value.is_null() && properties.contains_key(key)));
    for (key, value) in object {
        if let Some(schema) = properties.get(key) {
            normalise(value, schema);
        }
    }
}

/// Fills in the defaults of the schema, at every depth.
fn fill_defaults(value: &mut Value, schema: &Value) {
    let Value::Object(object) = value else { return };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (key, schema) in properties {
        if !object.contains_key(key)
            && let Some(default) = schema.get("default")
        {
            object.insert(key.clone(), default.clone());
        }
        if let Some(value) = object.get_mut(key) {
            fill_defaults(value, schema);
        }
    }
}

/// The most helpful error: an unknown name explains a missing one.
fn first_error<'a>(
    errors: impl Iterator<Item = ValidationError<'a>>,
) -> Option<ValidationError<'a>> {
    errors.min_by_key(|error| match error.kind() {
        Kind::AdditionalProperties { .. } => 0,
        Kind::Required { .. } => 1,
        _ => 2,
    })
}

fn explain(error: &ValidationError<'_>, root: &Value) -> ToolError {
    let steps = steps(&error.instance_path().to_string());
    let at = schema_at(root, &steps);
    let field = field_name(&steps);
    match error.kind() {
        Kind::AdditionalProperties { unexpected } => unknown(&field, unexpected, at),
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let missing = join(&field, name);
            let expected = at
                .and_then(|at| object_form(at).get("properties")?.get(name))
                .map_or_else(|| "a value".to_owned(), expectation);
            ToolError::invalid(format!(
                "argument {missing:?} is missing; expected {expected}"
            ))
            .with_details(json!({ "field": missing, "expected": expected }))
        }
        Kind::AnyOf { context } => {
            match branch(context, &steps) {
                // One form was intended and contains an error: report that error.
                Some(inner) => explain(inner, root),
                None => mismatch(error, &field, at),
            }
        }
        _ => mismatch(error, &field, at),
    }
}

fn unknown(field: &str, unexpected: &[String], at: Option<&Value>) -> ToolError {
    let known: Vec<&str> = at
        .and_then(|at| object_form(at).get("properties")?.as_object())
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let name = unexpected.first().map_or("", String::as_str);
    let full = join(field, name);
    let expected = match known.is_empty() {
        true => "no arguments".to_owned(),
        false => format!("one of {}", known.join(", ")),
    };
    let error = ToolError::invalid(format!(
        "argument {full:?} is not known; expected {expected}"
    ))
    .with_details(json!({ "field": full, "expected": expected }));
    let form = at.map(object_form);
    let inside = form.and_then(|form| place_inside(form, name));
    if let Some(place) = inside
        .as_deref()
        .or_else(|| nearest(name, known).first().copied())
    {
        return error.with_hint(format!("did you mean {:?}?", join(field, place)));
    }
    if form.is_some_and(|form| form["properties"]["params"]["type"] == "object") {
        return error.with_hint(format!(
            "a parameter of the view goes into params: {{\"params\": {{{name:?}: …}}}}"
        ));
    }
    error
}

/// The correct location of an argument that was given one or more levels too high, such as
/// `options.limit` for `limit`.
fn place_inside(form: &Value, name: &str) -> Option<String> {
    let properties = form.get("properties")?.as_object()?;
    properties.iter().find_map(|(outer, schema)| {
        let inside = schema.get("properties")?.as_object()?;
        let place = match inside.contains_key(name) {
            true => name.to_owned(),
            false => place_inside(schema, name)?,
        };
        Some(join(outer, &place))
    })
}

fn mismatch(error: &ValidationError<'_>, field: &str, at: Option<&Value>) -> ToolError {
    let expected = at.map_or_else(|| "another value".to_owned(), expectation);
    let value = error.instance();
    let given = match (error.kind(), value.as_ref()) {
        // The beginning of a text that is too long is not informative.
        (Kind::MaxLength { .. }, Value::String(text)) => {
            format!("a string of {} characters", text.chars().count())
        }
        // A write-only value is not repeated: it may end up in a log.
        _ if at.is_some_and(|at| at["writeOnly"] == true) => "of another form".to_owned(),
        _ => shown(value),
    };
    let own = ToolError::invalid(format!(
        "argument {field:?} is {given}; expected {expected}"
    ))
    .with_details(json!({ "field": field, "expected": expected }));
    let choices = at.and_then(|at| at.get("enum")?.as_array());
    if let (Some(choices), Some(word)) = (choices, value.as_str())
        && let Some(near) = nearest(word, choices.iter().filter_map(Value::as_str)).first()
    {
        return own.with_hint(format!("did you mean {near:?}?"));
    }
    own
}

/// Of several allowed forms, the one whose type matches the caller's value.
fn branch<'a>(
    context: &'a [Vec<ValidationError<'static>>],
    steps: &[String],
) -> Option<&'a ValidationError<'static>> {
    let fitting = context.iter().filter(|errors| {
        !errors.iter().any(|error| {
            matches!(error.kind(), Kind::Type { .. })
                && self::steps(&error.instance_path().to_string()).len() <= steps.len()
        })
    });
    fitting.flatten().min_by_key(|error| match error.kind() {
        Kind::AdditionalProperties { .. } => 0,
        _ => 1,
    })
}

/// The requirement of a schema, as text.
fn expectation(schema: &Value) -> String {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<String> = choices.iter().map(plain).collect();
        return format!("one of {}", choices.join(", "));
    }
    if let Some(forms) = schema.get("anyOf").and_then(Value::as_array) {
        let forms: Vec<String> = forms.iter().map(expectation).collect();
        return forms.join(", or ");
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => return "a value".to_owned(),
    };
    let texts: Vec<String> = types.iter().map(|kind| one_type(kind, schema)).collect();
    texts.join(" or ")
}

fn one_type(kind: &str, schema: &Value) -> String {
    let range = |low: &str, high: &str, unit: &str| match (
        schema.get(low).map(plain),
        schema.get(high).map(plain),
    ) {
        (Some(low), Some(high)) if unit.is_empty() => format!(" from {low} to {high}"),
        (Some(low), Some(high)) => format!(" of {low} to {high}{unit}"),
        (Some(low), None) => format!(" of at least {low}{unit}"),
        (None, Some(high)) => format!(" of at most {high}{unit}"),
        (None, None) => String::new(),
    };
    match kind {
        "string" => format!("a string{}", range("minLength", "maxLength", " characters")),
        "integer" => format!("an integer{}", range("minimum", "maximum", "")),
        "number" => format!("a number{}", range("minimum", "maximum", "")),
        "array" => format!("an array{}", range("minItems", "maxItems", " items")),
        "boolean" => "true or false".to_owned(),
        "object" => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                format!("an object with {}", names.join(", "))
            }
            None => "an object".to_owned(),
        },
        other => other.to_owned(),
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The caller's value for a message: its type and its beginning.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    let short: String = text.chars().take(SHOWN).collect();
    let short = if short.len() < text.len() {
        format!("{short}…")
    } else {
        short
    };
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => short,
        Value::String(_) => format!("the string {short}"),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn steps(pointer: &str) -> Vec<String> {
    pointer
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// `options.limit`, `targets[2].kind`; empty for the arguments themselves.
fn field_name(steps: &[String]) -> String {
    steps
        .iter()
        .fold(String::new(), |path, step| match step.parse::<usize>() {
            Ok(index) => format!("{path}[{index}]"),
            Err(_) => join(&path, step),
        })
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// The part of the schema that describes the value at `steps`. Of several forms, the one that
/// contains the step is used, which is sufficient for these schemas.
fn schema_at<'a>(root: &'a Value, steps: &[String]) -> Option<&'a Value> {
    let mut at = root;
    for step in steps {
        at = down(at, step)?;
    }
    Some(at)
}

/// Of several forms, the one that is an object.
fn object_form(at: &Value) -> &Value {
    let forms = at.get("anyOf").and_then(Value::as_array);
    forms
        .and_then(|forms| forms.iter().find(|form| form["type"] == "object"))
        .unwrap_or(at)
}

fn down<'a>(at: &'a Value, step: &str) -> Option<&'a Value> {
    if let Some(forms) = at.get("anyOf").and_then(Value::as_array) {
        return forms.iter().find_map(|form| down(form, step));
    }
    if let Some(found) = at
        .get("properties")
        .and_then(|properties| properties.get(step))
    {
        return Some(found);
    }
    if step.parse::<usize>().is_ok() {
        return at.get("items");
    }
    at.get("additionalProperties")
        .filter(|rest| rest.is_object())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    fn call(tool: &str, arguments: Value) -> Result<Map<String, Value>, ToolError> {
        let tool = tools::find(tool).expect("a tool of ours");
        accept(
            &tool.schema,
            arguments.as_object().expect("an object").clone(),
        )
    }

    #[test]
    fn defaults_are_filled_in_at_every_depth() {
        let accepted = call("query_sql", json!({"sql": "SELECT 1"})).expect("good");
        assert_eq!(accepted["options"]["limit"], 50);
        assert_eq!(accepted["options"]["max_vm_steps"], 5_000_000);
        let accepted = call("create_task", json!({"hypothesis": "h"})).expect("good");
        assert_eq!(
            accepted["config"]["budget"],
            json!({"max_pages": 200, "max_seconds": 3600})
        );
        let accepted = call(
            "get_status",
            json!({"task_id": "t", "wait": 5.0, "detail": null}),
        )
        .expect("good");
        assert_eq!(
            (&accepted["wait"], &accepted["detail"]),
            (&json!(5), &json!("summary"))
        );
    }

    #[test]
    fn null_is_left_out_at_every_depth() {
        let target = json!({"kind": "url", "url": "https://a.org/", "doi": null, "depth": 1.0});
        let accepted = call(
            "queue_targets",
            json!({"task_id": "t", "targets": [target, "q"]}),
        );
        assert_eq!(
            accepted.expect("good")["targets"],
            json!([{"kind": "url", "url": "https://a.org/", "depth": 1}, "q"])
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_the_callers_terms() {
        for (tool, arguments, message, hint) in [
            (
                "query_sql",
                json!({}),
                "argument \"sql\" is missing; expected a string of 1 to 32768 characters",
                None,
            ),
            (
                "query_sql",
                json!({"sql": 5}),
                "argument \"sql\" is 5; expected a string of 1 to 32768 characters",
                None,
            ),
            (
                "query_sql",
                json!({"sql": "SELECT 1", "options": {"limit": 500}}),
                "argument \"options.limit\" is 500; expected an integer from 1 to 200",
                None,
            ),
            (
                "query_sql",
                json!({"sql": "SELECT 1", "options": {"limt": 5}}),
                "argument \"options.limt\" is not known; expected one of limit, offset, timeout_ms, max_vm_steps, max_bytes, include_schema, schema_filter",
                Some("did you mean \"options.limit\"?"),
            ),
            (
                "query_sql",
                json!({"sql": "SELECT 1", "limit": 5}),
                "argument \"limit\" is not known; expected one of sql, params, options",
                Some("did you mean \"options.limit\"?"),
            ),
            (
                "create_task",
                json!({"hypothesis": "h", "max_pages": 5}),
                "argument \"max_pages\" is not known; expected one of hypothesis, config",
                Some("did you mean \"config.budget.max_pages\"?"),
            ),
            (
                "query_view",
                json!({"view_name": "v_hub_pages", "include_rejected": true}),
                "argument \"include_rejected\" is not known; expected one of view_name, task_id, params, limit, offset, columns",
                Some(
                    "a parameter of the view goes into params: {\"params\": {\"include_rejected\": …}}",
                ),
            ),
            (
                "get_status",
                json!({"task": "task_1"}),
                "argument \"task\" is not known; expected one of task_id, wait, until, detail",
                Some("did you mean \"task_id\"?"),
            ),
            (
                "get_status",
                json!({"task_id": "t", "detail": "ful"}),
                "argument \"detail\" is the string \"ful\"; expected one of summary, full",
                Some("did you mean \"full\"?"),
            ),
            (
                "get_status",
                json!({"task_id": "t", "wait": "10"}),
                "argument \"wait\" is the string \"10\"; expected an integer from 0 to 300",
                None,
            ),
            (
                "get_status",
                json!({"task_id": null}),
                "argument \"task_id\" is missing; expected a string of 1 to 64 characters",
                None,
            ),
            (
                "queue_targets",
                json!({"task_id": "t", "targets": ["a", {"kind": "doi", "dio": "10.1/x"}]}),
                "argument \"targets[1].dio\" is not known; expected one of kind, query, url, doi, depth, reason",
                Some("did you mean \"targets[1].doi\"?"),
            ),
            (
                "queue_targets",
                json!({"task_id": "t", "targets": [{"kind": "uri", "url": "x"}]}),
                "argument \"targets[0].kind\" is the string \"uri\"; expected one of query, url, doi",
                Some("did you mean \"url\"?"),
            ),
            (
                "queue_targets",
                json!({"task_id": "t", "targets": []}),
                "argument \"targets\" is an array of 0 items; expected an array of 1 to 200 items",
                None,
            ),
            (
                "list_views",
                json!({"x": 1}),
                "argument \"x\" is not known; expected one of filter",
                None,
            ),
        ] {
            let error = call(tool, arguments.clone()).expect_err("refused");
            assert_eq!(error.code.as_str(), "INVALID_PARAMS");
            assert_eq!(error.message, message, "{tool} {arguments}");
            assert_eq!(error.hint.as_deref(), hint, "{tool} {arguments}");
        }
    }

    #[test]
    fn a_form_that_is_none_of_several_names_them_all() {
        let error = call("queue_targets", json!({"task_id": "t", "targets": [5]})).expect_err("no");
        assert!(
            error.message.starts_with("argument \"targets[0]\" is 5; expected a string of 1 to 2000 characters, or an object with kind,"),
            "{}",
            error.message
        );
        let error = call("query_sql", json!({"sql": "x", "params": [[1]]})).expect_err("no");
        assert!(
            error
                .message
                .starts_with("argument \"params[0]\" is an array of 1 items;"),
            "{}",
            error.message
        );
    }

    #[test]
    fn long_values_are_not_repeated_in_full() {
        let error = call("get_status", json!({"task_id": "x".repeat(9_000)})).expect_err("long");
        assert_eq!(
            error.message,
            "argument \"task_id\" is a string of 9000 characters; expected a string of 1 to 64 characters"
        );
        let error = call(
            "get_status",
            json!({"task_id": "t", "wait": "x".repeat(9_000)}),
        );
        let error = error.expect_err("long");
        assert!(error.message.len() < 200, "{}", error.message);
    }
}
