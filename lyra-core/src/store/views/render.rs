//! Renders a template to SQL with bindings.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Object;
use minijinja::{
    Environment, ErrorKind as TemplateErrorKind, UndefinedBehavior, Value as Variable,
};
use serde_json::{Map, Value};

use super::header::TemplateFault;
use super::params::{CURRENT_YEAR, ViewParameter};
use super::scan::{SqlMark, scan};

/// A view as SQL that can run by itself or inside `WITH x AS (…)`.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedView {
    /// One SELECT (it may start with WITH), without a semicolon.
    pub sql: String,
    /// The value of every parameter in `sql`, by its name without the colon.
    pub bindings: Map<String, Value>,
}

/// The value of a parameter in a template: whether it was given (for a boolean: whether it is true). The
/// value itself is not accessible, so that no template can render one into the text.
#[derive(Debug)]
struct Given(bool);

impl Object for Given {
    fn is_true(self: &Arc<Self>) -> bool {
        self.0
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[bound value]")
    }
}

/// The template engine, configured for SQL.
pub(super) fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .unwrap_or_default(),
    );
    env.set_formatter(|out, _, value| {
        if value.downcast_object_ref::<Given>().is_some() {
            return Err(minijinja::Error::new(
                TemplateErrorKind::InvalidOperation,
                "a value is bound, not rendered: write :name in place of {{ name }}",
            ));
        }
        fmt::Write::write_fmt(out, format_args!("{value}")).map_err(minijinja::Error::from)
    });
    env
}

/// Renders `body` for parameters that are given (true) or not (false).
/// The line of an error is counted from the first line of `body`.
pub(super) fn render_body(
    env: &Environment<'static>,
    name: &str,
    body: &str,
    given: &BTreeMap<&str, bool>,
) -> Result<String, TemplateFault> {
    let context: BTreeMap<String, Variable> = given
        .iter()
        .map(|(name, given)| ((*name).to_owned(), Variable::from_object(Given(*given))))
        .collect();
    let sql = env
        .render_named_str(name, body, Variable::from(context))
        .map_err(|e| {
            let reason = e
                .detail()
                .map_or_else(|| e.kind().to_string(), str::to_owned);
            TemplateFault::new(e.line().unwrap_or(1), reason)
        })?;
    let mut sql = sql.trim().to_owned();
    // A comment at the very end would hide the bracket that closes `WITH x AS (…)`.
    if sql.lines().last().is_some_and(|line| line.contains("--")) {
        sql.push('\n');
    }
    Ok(sql)
}

/// The parameters that count as given for `values`.
pub(super) fn given<'a>(
    parameters: &'a [ViewParameter],
    values: &Map<String, Value>,
) -> BTreeMap<&'a str, bool> {
    let truth = |p: &ViewParameter| match values.get(&p.name) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(_) => true,
    };
    parameters
        .iter()
        .map(|p| (p.name.as_str(), truth(p)))
        .collect()
}

/// Those of `values` that `sql` refers to.
pub(super) fn used(sql: &str, mut values: Map<String, Value>) -> Map<String, Value> {
    let mut bindings = Map::new();
    for found in scan(sql) {
        if let SqlMark::Parameter(name) = found.mark
            && let Some(value) = values.remove(&name)
        {
            bindings.insert(name, value);
        }
    }
    bindings
}

/// `sql` with each parameter written as a literal, for a stored view, which cannot have parameters.
///
/// The values come from the template's own header and from the clock, never from a caller.
pub(super) fn written_out(sql: &str, defaults: &Map<String, Value>, current_year: i32) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut copied = 0;
    for found in scan(sql) {
        let SqlMark::Parameter(name) = found.mark else {
            continue;
        };
        text.push_str(&sql[copied..found.span.start]);
        let value = defaults.get(&name).unwrap_or(&Value::Null);
        if name == CURRENT_YEAR && value.is_null() {
            text.push_str(&current_year.to_string());
        } else {
            text.push_str(&literal(value));
        }
        copied = found.span.end;
    }
    text.push_str(&sql[copied..]);
    text
}

pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Bool(b) => u8::from(*b).to_string(),
        Value::Number(n) => format!("({n})"),
        Value::String(s) => format!("'{}'", s.replace('\'', "''")),
        Value::Null | Value::Array(_) | Value::Object(_) => "NULL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn render(body: &str, given: &[(&str, bool)]) -> Result<String, TemplateFault> {
        render_body(
            &environment(),
            "v_x",
            body,
            &given.iter().copied().collect(),
        )
    }

    #[test]
    fn a_template_chooses_clauses() {
        let body = "SELECT 1\n{% if a %}\nWHERE x = :a\n{% endif %}\nLIMIT 1\n";
        assert_eq!(
            render(body, &[("a", true)]).unwrap(),
            "SELECT 1\nWHERE x = :a\nLIMIT 1"
        );
        assert_eq!(render(body, &[("a", false)]).unwrap(), "SELECT 1\nLIMIT 1");
    }

    #[test]
    fn no_template_gets_at_a_value() {
        let fault = render("SELECT\n'{{ a }}'", &[("a", true)]).unwrap_err();
        assert_eq!(fault.line, 2);
        assert!(fault.reason.contains("bound"), "{fault:?}");
        assert_eq!(
            render("{{ a|upper }}", &[("a", true)]).unwrap(),
            "[BOUND VALUE]"
        );
        assert_eq!(render("SELECT {{ 1 + 1 }}", &[]).unwrap(), "SELECT 2");
    }

    #[test]
    fn a_closing_bracket_survives_a_last_comment() {
        assert_eq!(render("SELECT 1 -- one", &[]).unwrap(), "SELECT 1 -- one\n");
    }

    #[test]
    fn an_undeclared_name_is_a_fault() {
        let fault = render("SELECT 1\n{% if b %}{% endif %}", &[("a", true)]).unwrap_err();
        assert_eq!(fault.line, 2);
    }

    #[test]
    fn written_out_leaves_strings_alone() {
        let defaults = json!({"a": "it's", "b": -2, "c": true, "d": null});
        let Value::Object(defaults) = defaults else {
            unreachable!()
        };
        let sql = "SELECT ':a', :a, :b, :c, :d, :current_year -- :a";
        assert_eq!(
            written_out(sql, &defaults, 2026),
            "SELECT ':a', 'it''s', (-2), 1, NULL, 2026 -- :a"
        );
    }

    #[test]
    fn binds_what_the_text_uses() {
        let values = json!({"a": 1, "b": 2});
        let Value::Object(values) = values else {
            unreachable!()
        };
        assert_eq!(
            Value::Object(used("SELECT :a, ':b', :a", values)),
            json!({"a": 1})
        );
    }
}
