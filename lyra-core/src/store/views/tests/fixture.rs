//! A graph in memory, filled from JSON, and queries on it.

use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value, json};

use crate::store::database::{aggregates, in_memory};
use crate::store::views::{RenderedView, ViewCatalog, ViewParams};

pub(super) type Row = Map<String, Value>;

/// An order of the tables in which all references can be resolved.
const TABLES: [&str; 11] = [
    "tasks",
    "works",
    "work_authors",
    "pages",
    "fragments",
    "claims",
    "edges",
    "task_pages",
    "page_texts",
    "hypothesis_stances",
    "nli_verdicts",
];

/// An empty graph. The full-text tables are left out because their tokenizer is not available here.
pub(super) fn empty_graph() -> Connection {
    let graph = in_memory();
    aggregates::set_reference_year(&graph, 2026).unwrap();
    graph
        .create_scalar_function(
            "sqrt",
            1,
            FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC,
            |context| context.get::<f64>(0).map(f64::sqrt),
        )
        .unwrap();
    graph
}

/// A graph with the rows of `tables` (`{"claims": [{…}, …], …}`). Missing required columns get
/// placeholder values. A row that the schema's unique indexes refuse is skipped.
pub(super) fn graph_of(tables: &Value) -> Connection {
    let graph = empty_graph();
    let tables = tables.as_object().unwrap();
    assert!(
        tables.keys().all(|t| TABLES.contains(&t.as_str())),
        "a table that is not known"
    );
    for table in TABLES {
        for row in tables
            .get(table)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            insert(&graph, table, row.as_object().unwrap());
        }
    }
    aggregates::refresh(&graph).unwrap();
    graph
}

fn insert(graph: &Connection, table: &str, row: &Row) {
    let mut row = row.clone();
    let fillings: &[(&str, &str)] = match table {
        "fragments" => &[("text_hash", "-"), ("created_at", "2026-01-01T00:00:00Z")],
        "page_texts" => &[("text_hash", "-"), ("fetched_at", "2026-01-01T00:00:00Z")],
        "tasks" | "claims" | "edges" => &[("created_at", "2026-01-01T00:00:00Z")],
        _ => &[],
    };
    for (column, value) in fillings {
        row.entry(*column).or_insert_with(|| json!(value));
    }
    let names: Vec<&str> = row.keys().map(String::as_str).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!(
        "INSERT OR IGNORE INTO {table} ({}) VALUES ({marks})",
        names.join(", ")
    );
    graph
        .prepare(&sql)
        .and_then(|mut s| s.execute(params_from_iter(row.values().map(to_sql))))
        .unwrap_or_else(|e| panic!("{table} {row:?}: {e}"));
}

fn to_sql(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Bool(b) => Sql::Integer(i64::from(*b)),
        Value::Number(n) => n
            .as_i64()
            .map_or_else(|| Sql::Real(n.as_f64().unwrap()), Sql::Integer),
        Value::String(s) => Sql::Text(s.clone()),
        other => panic!("{other} is no column value"),
    }
}

/// Columns and rows of a query.
pub(super) fn ask(graph: &Connection, sql: &str, bindings: &Row) -> (Vec<String>, Vec<Row>) {
    let mut statement = graph.prepare(sql).unwrap_or_else(|e| panic!("{e}\n{sql}"));
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    for (name, value) in bindings {
        let index = statement.parameter_index(&format!(":{name}")).unwrap();
        statement
            .raw_bind_parameter(index.unwrap(), to_sql(value))
            .unwrap();
    }
    assert_eq!(
        statement.parameter_count(),
        bindings.len(),
        "every parameter has a value\n{sql}"
    );
    let mut rows = statement.raw_query();
    let mut answers = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let cell = |i: usize| match row.get_ref(i).unwrap() {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(n) => json!(n),
            ValueRef::Real(x) => json!(x),
            ValueRef::Text(t) => json!(std::str::from_utf8(t).unwrap()),
            ValueRef::Blob(_) => panic!("no view returns a blob"),
        };
        answers.push(
            columns
                .iter()
                .enumerate()
                .map(|(i, c)| (c.clone(), cell(i)))
                .collect(),
        );
    }
    (columns, answers)
}

/// Rows of a view.
pub(super) fn view(graph: &Connection, name: &str, params: &ViewParams) -> Vec<Row> {
    let RenderedView { sql, bindings } = catalog().render(name, params).unwrap();
    ask(graph, &sql, &bindings).1
}

/// The built-in views.
pub(super) fn catalog() -> &'static ViewCatalog {
    static CATALOG: std::sync::LazyLock<ViewCatalog> =
        std::sync::LazyLock::new(|| ViewCatalog::builtin().unwrap());
    &CATALOG
}

/// The cells of `row` that are named in `columns`; fails if one is missing.
pub(super) fn cells(row: &Row, columns: &[&str]) -> Row {
    let cell = |c: &&str| {
        let value = row
            .get(*c)
            .unwrap_or_else(|| panic!("no column {c} in {row:?}"));
        ((*c).to_owned(), value.clone())
    };
    columns.iter().map(cell).collect()
}

/// Whether two values are equal, with a tolerance of 1e-6 for numbers.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-6,
        _ => a == b,
    }
}

/// Removes equal rows pairwise from both lists; returns the remaining rows, left and right.
pub(super) fn unmatched(ours: &[Row], theirs: &[Row]) -> (Vec<Row>, Vec<Row>) {
    let mut theirs = theirs.to_vec();
    let mut left = Vec::new();
    for row in ours {
        let equal = |other: &Row| {
            row.len() == other.len()
                && row
                    .iter()
                    .all(|(k, v)| other.get(k).is_some_and(|o| same(v, o)))
        };
        match theirs.iter().position(equal) {
            Some(at) => drop(theirs.swap_remove(at)),
            None => left.push(row.clone()),
        }
    }
    (left, theirs)
}

/// Fails with the surplus rows of both sides if two lists differ as multisets.
pub(super) fn assert_same_rows(what: &str, ours: &[Row], theirs: &[Row]) {
    let (left, right) = unmatched(ours, theirs);
    let show = |rows: &[Row]| {
        rows.iter()
            .map(|r| Value::Object(r.clone()).to_string())
            .collect::<Vec<_>>()
            .join("\n  ")
    };
    assert!(
        left.is_empty() && right.is_empty(),
        "{what}\nonly in the view:\n  {}\nonly in the expectation:\n  {}",
        show(&left),
        show(&right)
    );
}
