//! Special handling of transactions that add more rows than there were.

use super::checksums;
use super::deferred::Deferred;
use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Indexes of edges that are not needed while edges are added: see [`Deferred`].
pub(super) const INDEXES: [&str; 3] = [
    "edges_by_target",
    "edges_by_source",
    "edges_citations_newest",
];

/// A part of a transaction in which no trigger fires, and in which the edges of a node cannot be found
/// quickly. The missing trigger records are replaced at its end by marking everything for counting.
///
/// Triggers are also enabled again when it is dropped, so that they are active after a failure.
#[derive(Debug)]
pub(crate) struct Bulk<'c> {
    db: &'c Connection,
    indexes: Option<Deferred>,
}

impl<'c> Bulk<'c> {
    /// From here on, rows may only be added and changed, and edges deleted only if others with the same
    /// ends replace them.
    pub(crate) fn begin(db: &'c Connection) -> Result<Self> {
        let mut bulk = Self { db, indexes: None };
        set_triggers(db, false)?;
        bulk.indexes = Some(Deferred::take_away(db, &INDEXES)?);
        Ok(bulk)
    }

    /// Recreates the indexes, and marks all claims and citations for counting and all rows for
    /// checksums.
    pub(crate) fn end(mut self) -> Result<()> {
        if let Some(indexes) = self.indexes.take() {
            indexes.put_back(self.db)?;
        }
        self.db
            .execute_batch(
                "INSERT INTO stale_claims SELECT seq FROM claims WHERE TRUE ON CONFLICT DO NOTHING;
                 INSERT INTO stale_pages SELECT id FROM pages WHERE TRUE ON CONFLICT DO NOTHING;
                 INSERT INTO stale_pages SELECT source_id FROM edges WHERE relation = 'cites'
                   ON CONFLICT DO NOTHING;
                 INSERT INTO stale_pages SELECT target_id FROM edges WHERE relation = 'cites'
                   ON CONFLICT DO NOTHING;
                 INSERT INTO stale_task_pages SELECT task_id, page_id FROM task_pages WHERE TRUE
                   ON CONFLICT DO NOTHING",
            )
            .db()?;
        checksums::forget_all(self.db)?;
        set_triggers(self.db, true)
    }
}

impl Drop for Bulk<'_> {
    fn drop(&mut self) {
        // This fails only for an unknown setting, and this one was accepted before.
        let _ = set_triggers(self.db, true);
    }
}

/// Affects only this connection; the file keeps the triggers.
fn set_triggers(db: &Connection, fire: bool) -> Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, fire)
        .db()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::{Database, deferred::tests::schema};
    use rusqlite::Transaction;

    fn notes(db: &Connection) -> String {
        let sql = "SELECT concat_ws(' ', (SELECT group_concat(claim_seq) FROM stale_claims),
          (SELECT group_concat(page_id) FROM stale_pages),
          (SELECT group_concat(task_id || page_id) FROM stale_task_pages))";
        db.query_row(sql, [], |r| r.get(0)).unwrap()
    }

    fn add(t: &Transaction<'_>) {
        t.execute_batch(
            "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '');
             INSERT INTO pages (id, url) VALUES ('p', 'u');
             INSERT INTO task_pages (task_id, page_id, reason) VALUES ('t', 'p', 'manual');
             INSERT INTO claims (id, task_id, claim_text, created_at) VALUES ('c', 't', 'c', '');
             INSERT INTO edges (id, source_type, source_id, target_type, target_id, relation, created_at)
               VALUES ('e', 'page', 'p', 'page', 'x', 'cites', '')",
        )
        .unwrap();
    }

    #[test]
    fn nothing_is_noted_row_by_row_and_everything_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(&folder.path().join("g.db")).unwrap();
        let before = db.read(|c| Ok(schema(c))).unwrap();
        db.write(|t| {
            let bulk = Bulk::begin(t)?;
            add(t);
            assert_eq!(notes(t), "");
            bulk.end()?;
            assert_eq!(notes(t), "1 p,x tp");
            Ok(())
        })
        .unwrap();
        assert_eq!(db.read(|c| Ok(schema(c))).unwrap(), before);
    }

    #[test]
    fn triggers_fire_again_after_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(&folder.path().join("g.db")).unwrap();
        let before = db.read(|c| Ok(schema(c))).unwrap();
        let failed = db.write(|t| -> Result<()> {
            let _bulk = Bulk::begin(t)?;
            add(t);
            Err(crate::Error::invalid("no"))
        });
        assert!(failed.is_err());
        assert_eq!(db.read(|c| Ok(schema(c))).unwrap(), before);
        db.write(|t| {
            add(t);
            assert_eq!(notes(t), "p,x tp");
            Ok(())
        })
        .unwrap();
    }
}
