//! A hash of a graph: equal for graphs that hold the same evidence, regardless of when and by which jobs
//! it was found.

use super::export::{check_task, each_row, push_value};
use super::fields::{Kind, TABLES, Table};
use crate::error::Result;
use crate::store::database::Database;
use crate::store::database::SqliteResultExt;
use crate::store::text::hash::hex;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

/// Fields that differ between two runs of the same research, or that follow from other fields: times,
/// the job that wrote the row, the progress of a task or an address, how a server distinguishes copies,
/// and the numbers of vectors.
const LEFT_OUT: [&str; 13] = [
    "cause_id",
    "claim_rejected_at",
    "completed_at",
    "created_at",
    "decided_at",
    "edge_corrected_at",
    "embedding_blob",
    "etag",
    "fetched_at",
    "fresh_until",
    "last_modified",
    "started_at",
    "status",
];

/// SHA-256 in hex over the lines of the export in their order, without [`LEFT_OUT`]: each line is JSON
/// with sorted names, without spaces, and with non-integer numbers as strings.
///
/// # Errors
/// [`crate::ErrorKind::TaskNotFound`].
pub(crate) fn canonical_hash(db: &Database, task_id: Option<&str>) -> Result<String> {
    db.read(|connection| {
        check_task(connection, task_id)?;
        let (mut hash, mut line) = (Sha256::new(), Vec::new());
        for table in &TABLES {
            let entries = entries_of(table);
            each_row(connection, table, task_id, |row| {
                line.clear();
                push_row(&mut line, table, &entries, row)?;
                hash.update(&line);
                Ok(())
            })?;
        }
        Ok(hex(&hash.finalize()))
    })
}

/// The names of a line in sorted order, with the positions of their columns; `type` has no column.
fn entries_of(table: &Table) -> Vec<(&'static str, Option<usize>)> {
    let fields = table.fields.iter().enumerate();
    let mut entries: Vec<_> = fields
        .filter(|(_, field)| !LEFT_OUT.contains(&field.name))
        .map(|(place, field)| (field.name, Some(place)))
        .chain([("type", None)])
        .collect();
    entries.sort_unstable();
    entries
}

fn push_row(
    line: &mut Vec<u8>,
    table: &Table,
    entries: &[(&'static str, Option<usize>)],
    row: &Row<'_>,
) -> Result<()> {
    line.push(b'{');
    for (name, place) in entries {
        let (kind, value) = match place {
            Some(place) => (table.fields[*place].kind, row.get_ref(*place).db()?),
            None => (Kind::Text, ValueRef::Text(table.tag.as_bytes())),
        };
        if value == ValueRef::Null {
            continue;
        }
        if line.len() > 1 {
            line.push(b',');
        }
        line.push(b'"');
        line.extend_from_slice(name.as_bytes());
        line.extend_from_slice(b"\":");
        let quoted = matches!(value, ValueRef::Real(_));
        // Programs write the same number differently; as a string it stays as the export writes it.
        line.extend(quoted.then_some(b'"'));
        push_value(line, kind, value, false)?;
        line.extend(quoted.then_some(b'"'));
    }
    line.extend_from_slice(b"}\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_time_is_left_out() {
        let fields = TABLES.iter().flat_map(|table| table.fields);
        let out = fields.filter(|field| match field.kind {
            Kind::Time | Kind::Vector => true,
            _ => ["cause_id", "status", "etag", "last_modified"].contains(&field.name),
        });
        let out: BTreeSet<&str> = out.map(|field| field.name).collect();
        assert_eq!(out, LEFT_OUT.into_iter().collect());
    }
}
