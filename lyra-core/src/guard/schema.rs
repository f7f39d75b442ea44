//! The part of the schema that queries may read, read from the file itself.

use super::request::{SchemaSnapshot, SchemaTable};
use super::table::{FTS_TABLES, PUBLIC_TABLES};
use crate::error::{Result, SqliteResultExt};
use rusqlite::Connection;

/// Lists public tables and the given views with their columns. Has to run before the authorizer
/// is installed.
pub(super) fn snapshot(connection: &Connection, views: &[String]) -> Result<SchemaSnapshot> {
    let mut tables = Vec::with_capacity(PUBLIC_TABLES.len() + views.len());
    for table in PUBLIC_TABLES {
        let kind = if FTS_TABLES.contains(&table.name) {
            "fts"
        } else {
            "table"
        };
        let mut columns = columns_of(connection, table.name)?;
        columns.retain(|c| !table.private_columns.contains(&c.as_str()));
        // An older file may lack a table.
        if !columns.is_empty() {
            let joins = joins_of(connection, table.name)?;
            tables.push(SchemaTable {
                name: table.name.to_owned(),
                kind,
                columns,
                joins,
            });
        }
    }
    for view in views {
        let columns = columns_of(connection, view)?;
        tables.push(SchemaTable {
            name: view.clone(),
            kind: "view",
            columns,
            joins: Vec::new(),
        });
    }
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(SchemaSnapshot { tables })
}

/// The names of the indexes of public tables.
pub(super) fn public_indexes(connection: &Connection) -> Result<Vec<String>> {
    let mut indexes = Vec::new();
    for table in PUBLIC_TABLES {
        strings(
            connection,
            "SELECT name FROM pragma_index_list(?1)",
            table.name,
            &mut indexes,
        )?;
    }
    Ok(indexes)
}

fn columns_of(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let mut columns = Vec::new();
    strings(
        connection,
        "SELECT name FROM pragma_table_info(?1)",
        table,
        &mut columns,
    )?;
    Ok(columns)
}

fn joins_of(connection: &Connection, table: &str) -> Result<Vec<String>> {
    let mut joins = Vec::new();
    let sql = "SELECT \"from\" || ' = ' || \"table\" || '.' || \"to\"
               FROM pragma_foreign_key_list(?1) WHERE \"to\" IS NOT NULL ORDER BY id, seq";
    strings(connection, sql, table, &mut joins)?;
    Ok(joins)
}

fn strings(connection: &Connection, sql: &str, table: &str, into: &mut Vec<String>) -> Result<()> {
    let mut statement = connection.prepare(sql).db()?;
    let mut rows = statement.query([table]).db()?;
    while let Some(row) = rows.next().db()? {
        into.push(row.get(0).db()?);
    }
    Ok(())
}
