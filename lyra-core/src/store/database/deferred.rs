//! Indexes that are built from all rows at once instead of row by row.

use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::{Connection, OptionalExtension};

/// Indexes that a transaction has dropped and must restore.
///
/// Each inserted row costs a search in each index, and an index with a different order is written in
/// random places. Sorting all rows once costs a fraction of that. No other connection sees the schema
/// without the indexes, since both steps belong to one transaction. Only the last indexes of a table may
/// be dropped: SQLite's planner considers indexes in the order of their creation.
#[derive(Debug)]
#[must_use = "the indexes are gone until they are put back"]
pub(super) struct Deferred(Vec<String>);

impl Deferred {
    /// Drops indexes, named in the order in which they were created. No row may be read that only they
    /// would find quickly, and no statement may be in progress.
    pub(super) fn take_away(db: &Connection, names: &[&str]) -> Result<Self> {
        let mut made = Vec::with_capacity(names.len());
        for name in names {
            let sql: Option<String> = db
                .query_row(
                    "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?1",
                    [name],
                    |r| r.get(0),
                )
                .optional()
                .db()?;
            if let Some(sql) = sql {
                db.execute_batch(&format!("DROP INDEX {name}")).db()?;
                made.push(sql);
            }
        }
        Ok(Self(made))
    }

    /// Recreates them with exactly the same SQL.
    pub(super) fn put_back(self, db: &Connection) -> Result<()> {
        self.0.iter().try_for_each(|sql| db.execute_batch(sql).db())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Every object of the schema with its SQL, and the indexes of each table in their order.
    pub(in crate::store::database) fn schema(db: &Connection) -> Vec<String> {
        let mut statement = db
            .prepare(
                "SELECT tbl_name || ' ' || type || ' ' || name || ' ' || coalesce(sql, '')
                 FROM sqlite_schema ORDER BY tbl_name, type, rowid",
            )
            .unwrap();
        let rows = statement.query_map([], |r| r.get(0)).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn what_is_put_back_is_what_was_there() {
        let db = crate::store::database::in_memory();
        let before = schema(&db);
        let tables = [
            &crate::store::database::bulk::INDEXES[..],
            &crate::store::database::aggregates::INDEXES,
            &crate::store::database::near_duplicates::INDEXES,
        ];
        for names in tables {
            let indexes = Deferred::take_away(&db, names).unwrap();
            assert_eq!(schema(&db).len(), before.len() - names.len(), "{names:?}");
            indexes.put_back(&db).unwrap();
            assert_eq!(schema(&db), before, "{names:?}");
        }
    }
}
