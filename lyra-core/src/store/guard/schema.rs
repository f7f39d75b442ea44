//! The part of the schema that queries may read, read from the file itself.

use super::policy::GuardPolicy;
use super::request::{SchemaSnapshot, SchemaTable};
use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Lists public tables and the given views with their columns. Must run before the authorizer is
/// installed.
pub(super) fn snapshot(
    connection: &Connection,
    policy: &GuardPolicy,
    views: &[String],
) -> Result<SchemaSnapshot> {
    let mut tables = Vec::with_capacity(policy.tables.len() + views.len());
    let mut comments = comments_of(policy.notes);
    for table in &policy.tables {
        let kind = if policy.full_text.contains(&table.name) {
            "fts"
        } else {
            "table"
        };
        let mut columns = columns_of(connection, &table.name)?;
        columns.retain(|(name, _)| !table.private_columns.contains(name));
        // An older file may lack a table.
        if !columns.is_empty() {
            let joins = joins_of(connection, &table.name)?;
            let notes = comments.remove(table.name.as_str()).unwrap_or_default();
            tables.push(described(&table.name, kind, (columns, joins), notes));
        }
    }
    for view in views {
        let columns = columns_of(connection, view)?;
        let notes = Comments::default();
        tables.push(described(view, "view", (columns, Vec::new()), notes));
    }
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(SchemaSnapshot { tables })
}

/// The names of the indexes of public tables.
pub(super) fn public_indexes(connection: &Connection, policy: &GuardPolicy) -> Result<Vec<String>> {
    let mut indexes = Vec::new();
    for table in &policy.tables {
        strings(
            connection,
            "SELECT name FROM pragma_index_list(?1)",
            &table.name,
            &mut indexes,
        )?;
    }
    Ok(indexes)
}

fn described(
    name: &str,
    kind: &'static str,
    (columns, joins): (Vec<(String, String)>, Vec<String>),
    comments: Comments,
) -> SchemaTable {
    let (columns, types): (Vec<String>, Vec<String>) = columns.into_iter().unzip();
    let notes = comments.columns.into_iter();
    SchemaTable {
        name: name.to_owned(),
        kind,
        description: comments.table,
        column_notes: notes.filter(|(name, _)| columns.contains(name)).collect(),
        columns,
        types,
        joins,
    }
}

#[derive(Debug, Default, PartialEq)]
struct Comments {
    table: Option<String>,
    columns: BTreeMap<String, String>,
}

/// For each table, the comment lines above its CREATE and those after its columns.
fn comments_of(schema: &str) -> BTreeMap<&str, Comments> {
    let mut described: BTreeMap<&str, Comments> = BTreeMap::new();
    let mut above: Vec<&str> = Vec::new();
    let mut table = None;
    for line in schema.lines() {
        if let Some(comments) = table.and_then(|table| described.get_mut(table)) {
            if line.starts_with(')') {
                table = None;
            } else if let Some((column, note)) = line.split_once(" -- ")
                && let Some(name) = column.split_whitespace().next()
            {
                comments
                    .columns
                    .insert(name.to_owned(), note.trim().to_owned());
            }
        } else if let Some(statement) = line.strip_prefix("CREATE ") {
            let mut words = statement.split_whitespace();
            table = words
                .find(|word| *word == "TABLE")
                .and_then(|_| words.next());
            if let Some(table) = table {
                let comments = Comments {
                    table: Some(above.join(" ")).filter(|text| !text.is_empty()),
                    ..Comments::default()
                };
                described.insert(table, comments);
            }
            above.clear();
        } else if let Some(text) = line.strip_prefix("-- ").filter(|t| !t.starts_with("---")) {
            above.push(text);
        } else {
            above.clear();
        }
    }
    described
}

/// Names and declared types; columns of views may have no type.
fn columns_of(connection: &Connection, table: &str) -> Result<Vec<(String, String)>> {
    let mut statement = connection
        .prepare("SELECT name, type FROM pragma_table_info(?1)")
        .db()?;
    let rows = statement
        .query_map([table], |r| Ok((r.get(0)?, r.get(1)?)))
        .db()?;
    rows.collect::<rusqlite::Result<_>>().db()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_descriptions() {
        let schema = "-- ---- a section\n\n-- Not this.\n\n-- What it holds,\n-- in two lines.\nCREATE TABLE t (\n\
            \x20 id   TEXT PRIMARY KEY,  -- how it looks\n  -- about nothing\n  size INTEGER\n) STRICT;\n\
            CREATE TABLE u (\n  x TEXT -- another\n);";
        let described = comments_of(schema);
        let comments = &described["t"];
        assert_eq!(
            comments.table.as_deref(),
            Some("What it holds, in two lines.")
        );
        let expected = [("id".to_owned(), "how it looks".to_owned())];
        assert_eq!(comments.columns, BTreeMap::from(expected));
        assert!(!described.contains_key("v"));
    }

    #[test]
    fn every_public_table_is_described() {
        let policy = GuardPolicy::of_graph();
        let described = comments_of(policy.notes);
        for table in &policy.tables {
            let comments = described.get(table.name.as_str());
            assert!(
                comments.is_some_and(|c| c.table.is_some()),
                "{}",
                table.name
            );
        }
    }
}
