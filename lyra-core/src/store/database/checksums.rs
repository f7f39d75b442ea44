//! A checksum of each row, which distinguishes a row that was damaged from one that was written.
//!
//! Rows with a number above the last that has a checksum are new; triggers record all other changes,
//! whichever program writes. Before a commit, [`refresh`] computes the checksums of these rows. It reads
//! the stored rows, so that no writing statement needs to handle checksums, and an import is read once,
//! in order.
//! stored, so that no statement that writes has to know of it, and an import is read once, in order.

use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::LazyLock;

/// The tables whose rows have checksums, by their numbers: all but counts and indexes, which can be
/// recomputed. `sql/checksums.sql` has triggers for each; those of later tables are with their table.
pub(crate) const TABLES: [&str; 28] = [
    "tasks",
    "queries",
    "serp_items",
    "works",
    "work_authors",
    "work_identifiers",
    "pages",
    "page_texts",
    "page_references",
    "fragments",
    "claims",
    "hypothesis_stances",
    "edges",
    "nli_verdicts",
    "embeddings",
    "task_pages",
    "resource_index",
    "jobs",
    "auth_queue",
    "nli_corrections",
    "feedback_log",
    "domain_rules",
    "calibration_versions",
    "calibration_evaluations",
    "event_log",
    "blocked_edges",
    "screenings",
    "forgotten",
];

/// Number of rows in a block, and number of bytes in a checksum.
const ROWS: i64 = 256;
const BYTES: usize = 4;

/// Computes the checksums of new and recorded rows. Must run last inside the transaction that is about
/// to be committed.
pub(crate) fn refresh(db: &Connection) -> Result<()> {
    for number in tables_with_news(db)? {
        refresh_table(db, number)?;
    }
    Ok(())
}

/// Deletes all checksums, so that the next [`refresh`] computes them again; for writes without triggers.
pub(super) fn forget_all(db: &Connection) -> Result<()> {
    db.execute_batch(
        "DELETE FROM row_checksums; DELETE FROM stale_checksums;
         UPDATE checksummed SET last_rowid = 0",
    )
    .db()
}

fn tables_with_news(db: &Connection) -> Result<Vec<usize>> {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let grown = TABLES.iter().enumerate().map(|(number, table)| {
            format!(
                "SELECT {number} WHERE (SELECT coalesce(max(rowid), 0) FROM {table})
                   <> (SELECT last_rowid FROM checksummed WHERE table_number = {number})"
            )
        });
        let noted = "SELECT DISTINCT table_number FROM stale_checksums".to_owned();
        let parts: Vec<String> = grown.chain([noted]).collect();
        parts.join(" UNION ")
    });
    db.all(&SQL, [], |row| row.get(0))
}

fn refresh_table(db: &Connection, number: usize) -> Result<()> {
    let table = TABLES[number];
    let before = last_row(db, number)?;
    let sql = format!("SELECT coalesce(max(rowid), 0) FROM {table}");
    let last: i64 = db.one(&sql, [], get)?;
    let mut blocks = Blocks::new(db, number);
    let noted: Vec<i64> = {
        let sql = "SELECT row FROM stale_checksums WHERE table_number = ?1 AND row <= ?2";
        db.all(sql, params![number, before], get)?
    };
    {
        let sql = format!("SELECT rowid, * FROM {table} WHERE rowid = ?1");
        let mut one = db.prepare_cached(&sql).db()?;
        for row in noted {
            let sum = one.query_row([row], checksum).optional().db()?;
            blocks.set(row, sum.unwrap_or_default())?;
        }
    }
    {
        let sql = format!("SELECT rowid, * FROM {table} WHERE rowid > ?1 ORDER BY rowid");
        let mut new = db.prepare_cached(&sql).db()?;
        let mut rows = new.query([before]).db()?;
        while let Some(row) = rows.next().db()? {
            blocks.set(row.get(0).db()?, checksum(row).db()?)?;
        }
    }
    // Rows deleted at the end: their numbers will be assigned again.
    for row in (last + 1..=before).take_while(|row| row.rem_euclid(ROWS) != 0) {
        blocks.set(row, 0)?;
    }
    blocks.store()?;
    let next_block = last.div_euclid(ROWS) + 1;
    for (sql, bound) in [
        (
            "DELETE FROM row_checksums WHERE table_number = ?1 AND block >= ?2",
            next_block,
        ),
        (
            "UPDATE checksummed SET last_rowid = ?2 WHERE table_number = ?1",
            last,
        ),
        (
            "DELETE FROM stale_checksums WHERE table_number = ?1 AND ?2 IS NOT NULL",
            last,
        ),
    ] {
        let mut statement = db.prepare_cached(sql).db()?;
        statement.execute(params![number, bound]).db()?;
    }
    Ok(())
}

fn get<T: rusqlite::types::FromSql>(row: &Row<'_>) -> rusqlite::Result<T> {
    row.get(0)
}

fn last_row(db: &Connection, number: usize) -> Result<i64> {
    db.one(
        "SELECT last_rowid FROM checksummed WHERE table_number = ?1",
        [number],
        get,
    )
}

/// The checksum of a row, whose first column is its number. Never 0. Nulls add nothing, so that a later
/// version may add columns.
fn checksum(row: &Row<'_>) -> rusqlite::Result<u32> {
    let mut sum = crc32fast::Hasher::new();
    for column in 1..row.as_ref().column_count() {
        let (kind, bytes): (u8, &[u8]) = match row.get_ref(column)? {
            ValueRef::Null => continue,
            ValueRef::Integer(integer) => (1, &integer.to_le_bytes()),
            ValueRef::Real(real) => (2, &real.to_bits().to_le_bytes()),
            ValueRef::Text(text) => (3, text),
            ValueRef::Blob(blob) => (4, blob),
        };
        sum.update(&[kind]);
        sum.update(&(column as u32).to_le_bytes());
        sum.update(&(bytes.len() as u64).to_le_bytes());
        sum.update(bytes);
    }
    Ok(sum.finalize().max(1))
}

/// The blocks of a table, one of which is loaded.
struct Blocks<'c> {
    db: &'c Connection,
    number: usize,
    open: Option<i64>,
    sums: Vec<u8>,
    is_changed: bool,
}

impl<'c> Blocks<'c> {
    fn new(db: &'c Connection, number: usize) -> Self {
        Self {
            db,
            number,
            open: None,
            sums: Vec::new(),
            is_changed: false,
        }
    }

    fn get(&mut self, row: i64) -> Result<u32> {
        let place = self.find(row)?;
        let bytes = self.sums.get(place..place + BYTES);
        let sum = bytes.and_then(|bytes| bytes.try_into().ok());
        Ok(sum.map_or(0, u32::from_le_bytes))
    }

    fn set(&mut self, row: i64, sum: u32) -> Result<()> {
        let place = self.find(row)?;
        if let Some(bytes) = self.sums.get_mut(place..place + BYTES) {
            bytes.copy_from_slice(&sum.to_le_bytes());
            self.is_changed = true;
        }
        Ok(())
    }

    /// Loads the block of a row; returns the position of its checksum in the block.
    fn find(&mut self, row: i64) -> Result<usize> {
        let block = row.div_euclid(ROWS);
        if self.open != Some(block) {
            self.store()?;
            let sql = "SELECT checksums FROM row_checksums WHERE table_number = ?1 AND block = ?2";
            let mut statement = self.db.prepare_cached(sql).db()?;
            let sums: Option<Vec<u8>> = statement
                .query_row(params![self.number, block], get)
                .optional()
                .db()?;
            self.sums = sums.unwrap_or_default();
            self.sums.resize(ROWS as usize * BYTES, 0);
            self.open = Some(block);
        }
        Ok(row.rem_euclid(ROWS) as usize * BYTES)
    }

    fn store(&mut self) -> Result<()> {
        let Some(block) = self.open.filter(|_| self.is_changed) else {
            return Ok(());
        };
        self.is_changed = false;
        let sql = "INSERT INTO row_checksums VALUES (?1, ?2, ?3)
                   ON CONFLICT DO UPDATE SET checksums = excluded.checksums";
        let mut statement = self.db.prepare_cached(sql).db()?;
        statement
            .execute(params![self.number, block, self.sums])
            .db()?;
        Ok(())
    }
}

/// The result of comparing a row with its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChecksumVerdict {
    Right,
    Wrong,
    /// Another program wrote it, and Lyra has not written since.
    Unknown,
}

/// Compares each row of a table with its checksum; reports each row's name and the result. A row without
/// an id is named by its number.
pub(crate) fn check(
    db: &Connection,
    number: usize,
    mut tell: impl FnMut(String, ChecksumVerdict),
) -> Result<()> {
    let last = last_row(db, number)?;
    let mut blocks = Blocks::new(db, number);
    let mut noted = db
        .prepare("SELECT 1 FROM stale_checksums WHERE table_number = ?1 AND row = ?2")
        .db()?;
    let sql = format!("SELECT rowid, * FROM {} ORDER BY rowid", TABLES[number]);
    let mut statement = db.prepare(&sql).db()?;
    let id = statement.column_index("id").ok();
    let mut rows = statement.query([]).db()?;
    while let Some(row) = rows.next().db()? {
        let rowid: i64 = row.get(0).db()?;
        let expected = blocks.get(rowid)?;
        let verdict = if checksum(row).db()? == expected {
            ChecksumVerdict::Right
        } else if expected == 0 || rowid > last || noted.exists(params![number, rowid]).db()? {
            ChecksumVerdict::Unknown
        } else {
            ChecksumVerdict::Wrong
        };
        let name = match id.map(|id| row.get_ref(id)).transpose().db()? {
            Some(ValueRef::Text(id)) => String::from_utf8_lossy(id).into_owned(),
            _ => rowid.to_string(),
        };
        tell(name, verdict);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::{Bulk, Database};

    fn wrong_and_unknown(db: &Database) -> (Vec<String>, Vec<String>) {
        let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
        db.read(|c| {
            for (number, table) in TABLES.iter().enumerate() {
                check(c, number, |name, verdict| match verdict {
                    ChecksumVerdict::Right => {}
                    ChecksumVerdict::Wrong => wrong.push(format!("{table} {name}")),
                    ChecksumVerdict::Unknown => unknown.push(format!("{table} {name}")),
                })?;
            }
            Ok(())
        })
        .unwrap();
        (wrong, unknown)
    }

    #[allow(clippy::disallowed_methods, reason = "another program writes")]
    fn elsewhere(db: &Database, sql: &str) {
        Connection::open(db.path())
            .unwrap()
            .execute_batch(sql)
            .unwrap();
    }

    fn with_tasks(count: usize) -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(&folder.path().join("g.db")).unwrap();
        db.write(|t| {
            t.execute(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                 INSERT INTO tasks (id, hypothesis, created_at) SELECT 't' || i, 'h', '' FROM n",
                [count],
            )
            .db()
        })
        .unwrap();
        (folder, db)
    }

    /// Writes by Lyra and by other programs, in any order, are never reported as damage.
    #[test]
    fn what_is_written_is_no_damage() {
        let (_folder, db) = with_tasks(600);
        let (_other, ours) = with_tasks(600);
        assert_eq!(wrong_and_unknown(&db), (vec![], vec![]));
        for (sql, unknown) in [
            ("UPDATE tasks SET status = 'paused' WHERE id = 't300'", 1),
            ("UPDATE tasks SET rowid = 7000 WHERE id = 't5'", 1),
            ("DELETE FROM tasks WHERE id IN ('t4', 't600', 't599')", 0),
            ("VACUUM", 0),
            ("DELETE FROM tasks WHERE rowid > 200", 0),
            (
                "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('new', 'h', '')",
                1,
            ),
            (
                "INSERT INTO tasks (rowid, id, hypothesis, created_at) VALUES (4, 'low', 'h', '')",
                1,
            ),
            (
                "INSERT INTO tasks (rowid, id, hypothesis, created_at) VALUES (-3, 'neg', 'h', '')",
                1,
            ),
            (
                "INSERT OR REPLACE INTO tasks (id, hypothesis, created_at) VALUES ('t7', 'x', '')",
                1,
            ),
            ("DELETE FROM tasks", 0),
            (
                "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('last', 'h', '')",
                1,
            ),
        ] {
            if sql != "VACUUM" {
                ours.write(|t| t.execute_batch(sql).db()).unwrap();
                assert_eq!(wrong_and_unknown(&ours), (vec![], vec![]), "{sql}");
            }
            elsewhere(&db, sql);
            let (wrong, found) = wrong_and_unknown(&db);
            assert_eq!((wrong.len(), found.len()), (0, unknown), "{sql}: {found:?}");
            db.write(|_| Ok(())).unwrap();
            assert_eq!(wrong_and_unknown(&db), (vec![], vec![]), "{sql}");
        }
    }

    #[test]
    fn what_changes_by_itself_is_named() {
        let (_folder, db) = with_tasks(600);
        elsewhere(
            &db,
            "DROP TRIGGER checksum_tasks_u; UPDATE tasks SET hypothesis = 'i' WHERE id = 't300';
             UPDATE tasks SET started_at = '' WHERE id = 't1'",
        );
        assert_eq!(wrong_and_unknown(&db).0, ["tasks t1", "tasks t300"]);
        db.write(|_| Ok(())).unwrap();
        assert_eq!(wrong_and_unknown(&db).0, ["tasks t1", "tasks t300"]);
    }

    #[test]
    fn a_transaction_without_triggers_takes_all_checksums_anew() {
        let (_folder, db) = with_tasks(10);
        db.write(|t| {
            let bulk = Bulk::begin(t)?;
            t.execute_batch(
                "UPDATE tasks SET hypothesis = 'other';
                 INSERT INTO tasks (id, hypothesis, created_at) VALUES ('new', 'h', '')",
            )
            .db()?;
            bulk.end()
        })
        .unwrap();
        assert_eq!(wrong_and_unknown(&db), (vec![], vec![]));
    }

    #[test]
    fn every_table_that_is_no_count_or_index_has_triggers() {
        let (_folder, db) = with_tasks(1);
        let tables: Vec<String> = db
            .read(|c| {
                let mut statement = c
                    .prepare(
                        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                           AND name NOT GLOB '*_fts*' AND name NOT GLOB 'stat_*' AND name NOT GLOB 'stale_*'
                           AND name NOT GLOB 'page_sketch*' AND name NOT GLOB '*checksum*' AND name NOT IN ('hostile_documents', 'judgement_loans', 'remembered_verdicts') ORDER BY 1",
                    )
                    .db()?;
                let names = statement.query_map([], get).db()?;
                names.collect::<rusqlite::Result<_>>().db()
            })
            .unwrap();
        let mut expected = TABLES;
        expected.sort_unstable();
        assert_eq!(tables, expected);
        for (number, table) in TABLES.iter().enumerate() {
            for kind in ["i", "u", "d"] {
                let found: i64 = db
                    .read(|c| {
                        let sql =
                            "SELECT count(*) FROM sqlite_schema WHERE name = ?1 AND tbl_name = ?2
                                   AND instr(sql, 'VALUES (' || ?3 || ',') > 0";
                        let name = format!("checksum_{table}_{kind}");
                        c.query_row(sql, params![name, table, number], get).db()
                    })
                    .unwrap();
                assert_eq!(found, 1, "{table} {kind}");
            }
        }
    }
}
