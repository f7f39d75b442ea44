//! Clauses that a template includes for a parameter → conditions that test it at run time.
//!
//! A macro of DuckDB has one text for all values of its parameters. `{% if task_id %} AND x = :task_id
//! {% endif %}` therefore becomes `AND (:task_id IS NULL OR (x = :task_id))`. All other decisions of a
//! template are handled by [`super::variants`].

use super::super::params::{ParameterType, ViewParameter};

/// The template with such clauses replaced.
pub(super) fn asked_at_run_time(body: &str, parameters: &[ViewParameter]) -> String {
    let lines: Vec<&str> = body.lines().collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        match clause(&lines[at..], parameters) {
            Some((length, text)) => {
                out.push(text);
                at += length;
            }
            None => {
                out.push(lines[at].to_owned());
                at += 1;
            }
        }
    }
    out.join("\n")
}

/// A clause at the start of `lines`: its number of lines, and its replacement.
fn clause(lines: &[&str], parameters: &[ViewParameter]) -> Option<(usize, String)> {
    let tag = |line: &str| -> Option<String> {
        let inside = line.trim().strip_prefix("{%")?.strip_suffix("%}")?;
        Some(inside.trim().to_owned())
    };
    let condition = tag(lines.first()?)?;
    let condition = condition.strip_prefix("if ")?;
    let (negated, name) = match condition.strip_prefix("not ") {
        Some(name) => (true, name),
        None => (false, condition),
    };
    let parameter = parameters.iter().find(|p| p.name == name)?;
    let end = lines
        .iter()
        .position(|line| tag(line).as_deref() == Some("endif"))?;
    let inside = lines[1..end].join("\n");
    // A subquery under OR would be run for rows that the parameter accepts anyway.
    let is_plain = !inside.contains("{%") && !inside.contains("SELECT");
    let asked = inside.trim().strip_prefix("AND ").filter(|_| is_plain)?;
    let skipped = match (parameter.value_type == ParameterType::Boolean, negated) {
        (true, true) => format!(":{name}"),
        (true, false) => format!("NOT :{name}"),
        (false, true) => format!(":{name} IS NOT NULL"),
        (false, false) => format!(":{name} IS NULL"),
    };
    Some((end + 1, format!("  AND ({skipped} OR ({asked}))")))
}
