//! The views for DuckDB, over the Parquet files of an export: the same templates, translated.
//!
//! | file | what is in it |
//! |---|---|
//! | `conditions` | clauses for a parameter → conditions that test it at run time |
//! | `tokens`, `translate` | SQL of SQLite → SQL of DuckDB |
//!
//! Each view becomes a table macro with the view's parameters, and a view without parameters.

mod conditions;
mod tokens;
mod translate;

use super::catalog::ViewCatalog;
use super::header::TemplateFault;
use super::params::{CURRENT_YEAR, ParameterType, ViewParameter};
use super::render::{literal, render_body};
use crate::error::{Error, Result};
use crate::store::graph::{ColumnType, FlatTable, flat_tables};
use minijinja::Environment;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Macros that the translated views call.
const HELPERS: &str = "\
CREATE OR REPLACE MACRO lyra_least(a, b) AS CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE least(a, b) END;
CREATE OR REPLACE MACRO lyra_greatest(a, b) AS CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE greatest(a, b) END;
-- This year in UTC.
CREATE OR REPLACE MACRO lyra_year() AS year(make_timestamp(epoch_us(now())));
";

/// The same expression as in the generated column of `nli_verdicts`.
const JUDGE_KIND: &str = "CASE WHEN t.judge_id = 'human' THEN 'human' WHEN t.judge_id GLOB 'agent:*' \
                          THEN 'agent' WHEN t.judge_id GLOB 'lyra-*' THEN 'builtin' ELSE 'model' END";

impl ViewCatalog {
    /// A script for DuckDB over the folder of an export to Parquet: a view for each table, and for each
    /// built-in view a table macro with its parameters and a view without parameters.
    ///
    /// `dir` is the path of the folder for DuckDB; empty if its setting `file_search_path` contains the
    /// folder. Views of a user's folder are left out.
    ///
    /// ```
    /// use lyra_core::store::views::ViewCatalog;
    /// let script = ViewCatalog::duckdb_script("graph")?;
    /// assert!(script.contains("read_parquet('graph/claims/**/*.parquet'"));
    /// assert!(script.contains("CREATE OR REPLACE MACRO v_contradictions(task_id := NULL, "));
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    pub fn duckdb_script(dir: &str) -> Result<String> {
        let catalog = Self::builtin()?;
        let mut script = String::from(
            "-- The views of Lyra for DuckDB, over the folder of an export to Parquet.\n",
        );
        if dir.is_empty() {
            script
                .push_str("-- Before: SET file_search_path = 'the folder that this file is in';\n");
        }
        script.push_str(HELPERS);
        // Derived tables come first because the view `edges` needs one.
        for table in flat_tables().iter().rev() {
            script.push_str(&table_view(table, dir));
        }
        for info in catalog.list() {
            let (body, env) = catalog.template(&info.name)?;
            let sql = macro_body(env, &info.name, body, &info.parameters).map_err(|fault| {
                Error::internal(format!(
                    "{} for DuckDB, line {}: {}",
                    info.name, fault.line, fault.reason
                ))
            })?;
            let _ = write!(
                script,
                "\n-- {}\nCREATE OR REPLACE MACRO {}({}) AS TABLE\n{sql};\nCREATE OR REPLACE VIEW {} AS SELECT * FROM {}();\n",
                info.description,
                info.name,
                declared(&info.parameters),
                info.name,
                info.name
            );
        }
        Ok(script)
    }
}

/// `task_id := NULL, include_rejected := false`.
fn declared(parameters: &[ViewParameter]) -> String {
    let declared = parameters.iter().map(|parameter| {
        let default = match (&parameter.default, parameter.value_type) {
            (Some(serde_json::Value::Bool(flag)), _) => flag.to_string(),
            (Some(value), _) => literal(value),
            (None, ParameterType::Boolean) => "false".to_owned(),
            (None, _) => "NULL".to_owned(),
        };
        format!("{} := {default}", parameter.name)
    });
    declared.collect::<Vec<_>>().join(", ")
}

/// The view of a table of the folder, with the columns of SQLite. Columns are qualified with their
/// table, because inside a macro an unqualified name could be that of a parameter.
fn table_view(table: &FlatTable, dir: &str) -> String {
    let columns = table.columns.iter().map(|column| match column.holds {
        // SQLite uses 0 and 1.
        ColumnType::Flag => format!("CAST(t.{0} AS INTEGER) AS {0}", column.name),
        _ => format!("t.{}", column.name),
    });
    let mut columns: Vec<String> = columns.collect();
    if table.name == "nli_verdicts" {
        columns.push(format!("{JUDGE_KIND} AS judge_kind"));
    }
    let separator = if dir.is_empty() || dir.ends_with('/') {
        ""
    } else {
        "/"
    };
    let files = format!("{dir}{separator}{}/**/*.parquet", table.name).replace('\'', "''");
    // If a table is partitioned by task, the task is in the folder names.
    let split = match table.has_task() {
        true => ", hive_partitioning = true, hive_types_autocast = false",
        false => ", hive_partitioning = false",
    };
    // Verdicts of excluded sources are exported as well, so that an import can set them aside.
    let only = match table.name {
        "edges" => " ANTI JOIN blocked_edges AS b ON b.id = t.id",
        _ => "",
    };
    format!(
        "CREATE OR REPLACE VIEW {} AS SELECT {} FROM read_parquet('{files}'{split}) AS t{only};\n",
        table.name,
        columns.join(", ")
    )
}

/// The SELECT of a view for all values of its parameters.
fn macro_body(
    env: &Environment<'static>,
    name: &str,
    body: &str,
    parameters: &[ViewParameter],
) -> std::result::Result<String, TemplateFault> {
    let body = conditions::asked_at_run_time(body, parameters);
    let variants = variants(env, name, &body, parameters)?;
    let guarded = variants.iter().map(|(sql, guards)| {
        let sql = translate::translated(sql, parameters)?;
        Ok(match variants.len() {
            1 => sql,
            _ => format!("SELECT * FROM (\n{sql}\n) WHERE {}", guards.join(" OR ")),
        })
    });
    let guarded: Vec<String> = guarded.collect::<std::result::Result<_, TemplateFault>>()?;
    Ok(guarded.join("\nUNION ALL\n"))
}

/// The different texts of a template, each with the parameter conditions under which it applies. DuckDB
/// knows the parameters when it plans a query, and leaves out the other texts.
fn variants(
    env: &Environment<'static>,
    name: &str,
    body: &str,
    parameters: &[ViewParameter],
) -> std::result::Result<Vec<(String, Vec<String>)>, TemplateFault> {
    let render = |chosen: &BTreeMap<&str, bool>| render_body(env, name, body, chosen);
    let mut deciding: Vec<&ViewParameter> = Vec::new();
    let all = |given: bool| parameters.iter().map(move |p| (p.name.as_str(), given));
    for parameter in parameters.iter().filter(|p| p.name != CURRENT_YEAR) {
        let mut decides = false;
        for others in [false, true] {
            let mut chosen: BTreeMap<&str, bool> = all(others).collect();
            chosen.insert(CURRENT_YEAR, true);
            chosen.insert(&parameter.name, false);
            let without = render(&chosen)?;
            chosen.insert(&parameter.name, true);
            decides |= render(&chosen)? != without;
        }
        if decides {
            deciding.push(parameter);
        }
    }
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for combination in 0..1_u32 << deciding.len() {
        let is_given = |place: usize| combination >> place & 1 == 1;
        let mut chosen: BTreeMap<&str, bool> = all(true).collect();
        let mut guard: Vec<String> = Vec::new();
        for (place, parameter) in deciding.iter().enumerate() {
            chosen.insert(&parameter.name, is_given(place));
            guard.push(guard_of(parameter, is_given(place)));
        }
        let (sql, guard) = (render(&chosen)?, guard.join(" AND "));
        match found.iter_mut().find(|(known, _)| *known == sql) {
            Some((_, guards)) => guards.push(guard),
            None => found.push((sql, vec![guard])),
        }
    }
    Ok(found)
}

fn guard_of(parameter: &ViewParameter, given: bool) -> String {
    let name = &parameter.name;
    match (parameter.value_type == ParameterType::Boolean, given) {
        (true, true) => name.clone(),
        (true, false) => format!("NOT {name}"),
        (false, true) => format!("{name} IS NOT NULL"),
        (false, false) => format!("{name} IS NULL"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_a_template_has_its_place() {
        let catalog = ViewCatalog::builtin().unwrap();
        for info in catalog.list() {
            let (body, env) = catalog.template(&info.name).unwrap();
            let body = conditions::asked_at_run_time(body, &info.parameters);
            let variants = variants(env, &info.name, &body, &info.parameters).unwrap();
            for combination in 0..1_u32 << info.parameters.len() {
                let parameters = info.parameters.iter().enumerate();
                let chosen = parameters
                    .map(|(i, p)| {
                        let given = p.name == CURRENT_YEAR || combination >> i & 1 == 1;
                        (p.name.as_str(), given)
                    })
                    .collect();
                let text = render_body(env, &info.name, &body, &chosen).unwrap();
                assert!(
                    variants.iter().any(|(sql, _)| *sql == text),
                    "{}",
                    info.name
                );
            }
        }
    }

    #[test]
    fn a_clause_becomes_a_condition() {
        let body = "WHERE TRUE\n  {% if task_id %}\n  AND s.task_id = :task_id\n  {% endif %}\n  {% if not \
                    include_rejected %}\n  AND s.is_adopted\n  {% endif %}\nORDER BY 1";
        let catalog = ViewCatalog::builtin().unwrap();
        let parameters = &catalog.info("v_hub_pages").unwrap().parameters;
        assert_eq!(
            conditions::asked_at_run_time(body, parameters),
            "WHERE TRUE\n  AND (:task_id IS NULL OR (s.task_id = :task_id))\n  AND \
             (:include_rejected OR (s.is_adopted))\nORDER BY 1"
        );
    }
}
