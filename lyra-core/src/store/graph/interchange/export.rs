//! Rows → JSON lines, in an order that depends only on the rows.

use super::fields::{Kind, LineType, TABLES, Table};
use super::reports::ExportReport;
use super::resources;
use super::vector::push_hex;
use crate::error::{Error, ErrorKind, Result};
use crate::security::display::{harmless_json, is_harmful};
use crate::store::database::{Database, SqliteResultExt};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params_from_iter};
use std::io::Write;

/// Writes the graph, or the sub-graph of one task, as JSON lines that `import_jsonl` reads.
///
/// Equal graphs give equal files. Columns without a value are left out. The sub-graph of a task consists
/// of its claims, everything that their edges reach (fragments, pages and their texts, works, vectors),
/// the pages that belong to the task, and the citations among all these pages. Jobs, logs, and pages
/// that wait for a login are not part of the graph.
///
/// # Errors
/// [`crate::ErrorKind::TaskNotFound`]; [`crate::ErrorKind::Backend`] if the writer fails.
pub(crate) fn export_jsonl(
    db: &Database,
    writer: &mut impl Write,
    task_id: Option<&str>,
) -> Result<ExportReport> {
    db.read(|connection| {
        check_task(connection, task_id)?;
        let mut report = ExportReport::default();
        for table in &TABLES {
            let written = write_table(connection, table, writer, task_id)?;
            if written > 0 {
                report.written.insert(table.tag.to_owned(), written);
                report.total_written += written;
            }
        }
        writer.flush().map_err(write_error)?;
        Ok(report)
    })
}

/// Verdicts that are set aside because people have excluded their source.
const SCREENED_OUT: &str = "SELECT b.* FROM blocked_edges b JOIN claims c ON c.id = b.target_id
    JOIN fragments f ON f.id = b.source_id
  WHERE EXISTS (SELECT 1 FROM excluded_pages x WHERE x.task_id = c.task_id AND x.page_id = f.page_id)";

/// The sets of ids that make up the sub-graph of task ?1; used by `Table::scope`.
pub(crate) fn task_scope() -> String {
    scope_with("")
}

/// The same with additional fragments.
fn scope_with(more_fragments: &str) -> String {
    format!(
        "WITH
  scope_claims (id) AS MATERIALIZED (SELECT id FROM claims WHERE task_id = ?1),
  scope_edges (id) AS MATERIALIZED (
    SELECT e.id FROM scope_claims c JOIN edges e ON e.target_id = c.id AND e.target_type = 'claim'),
  scope_fragments (id) AS MATERIALIZED (
    SELECT DISTINCT e.source_id FROM scope_edges s JOIN edges e USING (id)
    WHERE e.source_type = 'fragment' {more_fragments}),
  scope_pages (id) AS MATERIALIZED (
    SELECT f.page_id FROM scope_fragments s JOIN fragments f USING (id)
    UNION SELECT page_id FROM task_pages WHERE task_id = ?1
    UNION SELECT source_page_id FROM task_pages WHERE task_id = ?1 AND source_page_id IS NOT NULL),
  scope_citations (id) AS MATERIALIZED (
    SELECT e.id FROM scope_pages p JOIN edges e ON e.source_id = p.id AND e.relation = 'cites'
    WHERE e.target_id IN scope_pages),
  scope_works (id) AS MATERIALIZED (
    SELECT DISTINCT p.canonical_id FROM scope_pages s JOIN pages p USING (id)
    WHERE p.canonical_id IS NOT NULL)
"
    )
}

/// Returns an error for an unknown task.
pub(super) fn check_task(connection: &Connection, task_id: Option<&str>) -> Result<()> {
    let Some(task_id) = task_id else {
        return Ok(());
    };
    let known = connection
        .prepare("SELECT 1 FROM tasks WHERE id = ?")
        .db()?
        .exists([task_id]);
    match known.db()? {
        true => Ok(()),
        false => Err(Error::task_not_found(task_id)),
    }
}

fn write_table(
    connection: &Connection,
    table: &Table,
    writer: &mut impl Write,
    task_id: Option<&str>,
) -> Result<usize> {
    let mut line = Vec::new();
    each_row(connection, table, task_id, |row| {
        line.clear();
        push_row(&mut line, table, row)?;
        writer.write_all(&line).map_err(write_error)
    })
}

/// Calls `then` with the exported rows of a table, in order; returns their number.
pub(super) fn each_row(
    connection: &Connection,
    table: &Table,
    task_id: Option<&str>,
    then: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<usize> {
    each_row_by(connection, table, table.order, task_id, then)
}

/// The same in another order.
pub(super) fn each_row_by(
    connection: &Connection,
    table: &Table,
    order: &str,
    task_id: Option<&str>,
    then: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<usize> {
    let columns = table.columns();
    let Table { name, scope, .. } = table;
    let (derived, told) = match table.record {
        LineType::Resource => (resources::derived("TRUE"), resources::NOT_DERIVED),
        _ => ("no_more AS (SELECT 1)".to_owned(), "TRUE"),
    };
    // The decisions that set these verdicts aside are exported too, and the import applies them.
    let edges = format!("(SELECT * FROM edges UNION ALL SELECT * FROM ({SCREENED_OUT}))");
    let name = match table.record {
        LineType::Edge => edges.as_str(),
        _ => name,
    };
    let sql = match task_id {
        None => {
            format!("WITH {derived} SELECT {columns} FROM {name} WHERE {told} ORDER BY {order}")
        }
        Some(_) => {
            let scopes = scope_with(&format!(
                "UNION SELECT source_id FROM ({SCREENED_OUT}) WHERE target_id IN scope_claims"
            ));
            format!(
                "{scopes}, {derived} SELECT {columns} FROM {name}
                 WHERE ({scope}) AND {told} ORDER BY {order}"
            )
        }
    };
    each_row_of(connection, &sql, task_id, then)
}

/// Calls `then` with the rows of a statement, which may be limited to one task; returns their number.
pub(super) fn each_row_of(
    connection: &Connection,
    sql: &str,
    task_id: Option<&str>,
    mut then: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<usize> {
    let mut statement = connection.prepare(sql).db()?;
    let mut rows = statement.query(params_from_iter(task_id)).db()?;
    let mut written = 0;
    while let Some(row) = rows.next().db()? {
        then(row)?;
        written += 1;
    }
    Ok(written)
}

fn push_row(line: &mut Vec<u8>, table: &Table, row: &Row<'_>) -> Result<()> {
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(table.tag.as_bytes());
    line.push(b'"');
    for (place, field) in table.fields.iter().enumerate() {
        let value = row.get_ref(place).db()?;
        if value == ValueRef::Null {
            continue;
        }
        line.extend_from_slice(b",\"");
        line.extend_from_slice(field.name.as_bytes());
        line.extend_from_slice(b"\":");
        push_value(line, field.kind, value, true)
            .map_err(|e| e.context(format!("{}.{}", table.name, field.name)))?;
    }
    line.extend_from_slice(b"}\n");
    Ok(())
}

/// With `harmless`, characters that could affect a terminal are escaped.
pub(super) fn push_value(
    line: &mut Vec<u8>,
    kind: Kind,
    value: ValueRef<'_>,
    harmless: bool,
) -> Result<()> {
    let written = match value {
        ValueRef::Null => return Ok(()),
        ValueRef::Integer(flag) if matches!(kind, Kind::Flag) => {
            serde_json::to_writer(&mut *line, &(flag != 0))
        }
        ValueRef::Integer(number) => serde_json::to_writer(&mut *line, &number),
        ValueRef::Real(number) => serde_json::to_writer(&mut *line, &number),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            // The file remains complete and can be shown safely on a terminal.
            Ok(text) if harmless && text.contains(is_harmful) => serde_json::to_string(text)
                .map(|json| line.extend_from_slice(harmless_json(&json).as_bytes())),
            Ok(text) => serde_json::to_writer(&mut *line, text),
            Err(_) => {
                return Err(Error::new(ErrorKind::Storage, "a text is not UTF-8")
                    .with_hint("`verify` names the rows that another program has damaged"));
            }
        },
        ValueRef::Blob(bytes) => {
            line.push(b'"');
            push_hex(line, bytes);
            line.push(b'"');
            return Ok(());
        }
    };
    written.map_err(|e| Error::internal("a value is not JSON").with_source(e))
}

fn write_error(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("writing the export: {error}")).with_source(error)
}
