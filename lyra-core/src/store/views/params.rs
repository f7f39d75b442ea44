//! The parameters of views, and the values given for them.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::store::text::names::nearest;

/// The parameter that restricts a view to one task. Every view accepts it; a global view ignores it.
pub(super) const TASK_ID: &str = "task_id";
/// The parameter for the year that counts as the current one; filled in if it is left out.
pub(super) const CURRENT_YEAR: &str = "current_year";

/// Type of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterType {
    /// A string.
    Text,
    /// A whole number that fits into 64 bits.
    Integer,
    /// Any number.
    Number,
    /// true or false.
    Boolean,
}

impl ParameterType {
    /// The type with that name in a template's header.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "integer" => Some(Self::Integer),
            "number" => Some(Self::Number),
            "boolean" => Some(Self::Boolean),
            _ => None,
        }
    }

    /// The name of the type in messages.
    pub(super) fn wanted(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "true or false",
        }
    }

    /// Whether `value` is of the type; null is not of any type.
    pub(super) fn admits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Integer => value.is_i64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
        }
    }
}

/// One parameter of a view, as its header declares it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ViewParameter {
    /// Name, without the colon that it has in SQL.
    pub name: String,
    /// Type of its value.
    #[serde(rename = "type")]
    pub value_type: ParameterType,
    /// Whether a query must provide it.
    pub required: bool,
    /// Its effect.
    pub description: String,
    /// The value that is used if none is given.
    pub default: Option<Value>,
}

/// Values for the parameters of a view.
///
/// ```
/// use lyra_core::store::views::ViewParams;
/// let params = ViewParams::new(2026).with_task("task_0a1b2c3d").with("include_rejected", true);
/// ```
#[derive(Debug, Clone)]
pub struct ViewParams {
    current_year: i32,
    values: Map<String, Value>,
}

impl ViewParams {
    /// No values; `current_year` (UTC, from the clock) is the year that counts as the current one.
    pub fn new(current_year: i32) -> Self {
        Self {
            current_year,
            values: Map::new(),
        }
    }

    /// The same values, restricted to one task.
    #[must_use]
    pub fn with_task(self, task_id: impl Into<String>) -> Self {
        self.with(TASK_ID, task_id.into())
    }

    /// The same values with one more. Null counts as not given.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// The same values with all of `values`.
    #[must_use]
    pub fn with_all(mut self, values: Map<String, Value>) -> Self {
        self.values.extend(values);
        self
    }

    /// The value of each parameter in `declared`: the given value, or else its default, or else null.
    ///
    /// Fails with `InvalidInput` for a name that is not declared, a value of another type, and a missing
    /// required parameter.
    pub(super) fn resolve(
        &self,
        view: &str,
        declared: &[ViewParameter],
    ) -> Result<Map<String, Value>> {
        let known = |name: &str| name == TASK_ID || declared.iter().any(|p| p.name == name);
        if let Some(unknown) = self.values.keys().find(|name| !known(name)) {
            let mut names: Vec<&str> = declared.iter().map(|p| p.name.as_str()).collect();
            if !names.contains(&TASK_ID) {
                names.insert(0, TASK_ID);
            }
            return Err(
                Error::invalid(format!("view {view} has no parameter {unknown:?}"))
                    .with_hint(suggestion(unknown, &names, "parameters of this view")),
            );
        }
        let task_id = self.values.get(TASK_ID).filter(|v| !v.is_null());
        if let Some(task_id) = task_id.filter(|v| !v.is_string()) {
            return Err(mismatch(view, TASK_ID, ParameterType::Text, task_id));
        }
        declared
            .iter()
            .map(|p| Ok((p.name.clone(), self.value_of(view, p)?)))
            .collect()
    }

    fn value_of(&self, view: &str, parameter: &ViewParameter) -> Result<Value> {
        match self.values.get(&parameter.name).filter(|v| !v.is_null()) {
            Some(value) if parameter.value_type.admits(value) => Ok(value.clone()),
            Some(value) => Err(mismatch(view, &parameter.name, parameter.value_type, value)),
            None if parameter.required => Err(Error::invalid(format!(
                "view {view} needs the parameter {:?} ({})",
                parameter.name,
                parameter.value_type.wanted()
            ))
            .with_hint(if parameter.name == TASK_ID {
                "give task_id; SELECT id, hypothesis FROM tasks lists the tasks".to_owned()
            } else {
                format!("{}: {}", parameter.name, parameter.description)
            })),
            None if parameter.name == CURRENT_YEAR => Ok(Value::from(self.current_year)),
            None => Ok(parameter.default.clone().unwrap_or(Value::Null)),
        }
    }
}

fn mismatch(view: &str, name: &str, expected: ParameterType, value: &Value) -> Error {
    let got = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    Error::invalid(format!(
        "view {view}: parameter {name:?} must be {}, not {got}",
        expected.wanted()
    ))
}

/// Advice for a name that does not exist: the nearest one, if any is near, and all existing ones.
pub(super) fn suggestion(name: &str, existing: &[&str], what: &str) -> String {
    let list = format!("{what}: {}", existing.join(", "));
    // Views are often requested without their prefix.
    let prefixed = format!("v_{name}");
    let near = nearest(name, existing.iter().copied())
        .into_iter()
        .chain(nearest(&prefixed, existing.iter().copied()))
        .next();
    match near {
        Some(near) => format!("did you mean {near}? {list}"),
        None => list,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn declared() -> Vec<ViewParameter> {
        let parameter = |name: &str, value_type, required, default| ViewParameter {
            name: name.into(),
            value_type,
            required,
            description: "for the test".into(),
            default,
        };
        vec![
            parameter("task_id", ParameterType::Text, true, None),
            parameter("current_year", ParameterType::Integer, false, None),
            parameter(
                "include_rejected",
                ParameterType::Boolean,
                false,
                Some(json!(false)),
            ),
            parameter("floor", ParameterType::Number, false, None),
        ]
    }

    #[test]
    fn resolves_given_default_and_null() {
        let params = ViewParams::new(2026)
            .with_task("t")
            .with("include_rejected", Value::Null);
        let resolved = params.resolve("v_x", &declared()).unwrap();
        let expected =
            json!({"task_id": "t", "current_year": 2026, "include_rejected": false, "floor": null});
        assert_eq!(Value::Object(resolved), expected);
    }

    #[test]
    fn refuses_what_does_not_fit_and_says_what_would() {
        let cases = [
            (
                json!({}),
                "needs the parameter \"task_id\"",
                "SELECT id, hypothesis",
            ),
            (
                json!({"task_id": 7}),
                "must be a string, not the number 7",
                "",
            ),
            (
                json!({"task_id": "t", "floor": "1"}),
                "must be a number, not a string",
                "",
            ),
            (
                json!({"task_id": "t", "current_year": 1.5}),
                "must be a whole number, not the number 1.5",
                "",
            ),
            (
                json!({"task_id": "t", "include_rejected": 1}),
                "must be true or false",
                "",
            ),
            (
                json!({"task_id": "t", "curent_year": 1}),
                "no parameter",
                "did you mean current_year?",
            ),
            (
                json!({"task_id": "t", "zzzzzzzz": 1}),
                "no parameter",
                "parameters of this view: task_id",
            ),
        ];
        for (given, message, hint) in cases {
            let Value::Object(map) = given.clone() else {
                unreachable!()
            };
            let error = ViewParams::new(2026)
                .with_all(map)
                .resolve("v_x", &declared())
                .unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidInput);
            assert!(error.message().contains(message), "{given}: {error}");
            assert!(
                error.hint().unwrap_or_default().contains(hint),
                "{given}: {:?}",
                error.hint()
            );
        }
    }

    #[test]
    fn a_view_without_a_task_ignores_the_task() {
        let resolved = ViewParams::new(2026)
            .with_task("t")
            .resolve("v_x", &[])
            .unwrap();
        assert!(resolved.is_empty());
    }
}
