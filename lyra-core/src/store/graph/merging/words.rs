//! The full-text indexes of merged rows.

use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements, Tokens, run_in_parallel, with_tokens};
use rusqlite::{Connection, params};

/// Number of rows that are tokenized while the rows before them are indexed.
const ROWS_AT_A_TIME: i64 = 1_024;

/// The last rows before the merge.
pub(super) struct Last {
    fragment: i64,
    claim: i64,
}

struct Indexed {
    seq: i64,
    text: String,
    heading: Option<String>,
}

impl Last {
    pub(super) fn of(db: &Connection) -> Result<Self> {
        let last = |table: &str| {
            let sql = format!("SELECT coalesce(max(seq), 0) FROM main.{table}");
            db.one(&sql, [], |r| r.get(0))
        };
        Ok(Self {
            fragment: last("fragments")?,
            claim: last("claims")?,
        })
    }

    /// Removes from the index the fragments whose heading will change.
    pub(super) fn drop_changing(&self, db: &Connection, source: &str) -> Result<()> {
        db.execute_batch(&format!(
            "DELETE FROM temp.merge_changing;
             INSERT INTO temp.merge_changing
               SELECT t.seq FROM {source}.fragments s JOIN main.fragments t ON t.id = s.id
               WHERE t.seq <= {} AND s.heading_context IS NOT NULL
                 AND (t.heading_context IS NULL OR s.heading_context > t.heading_context)
                 AND t.seq NOT IN temp.merge_reindexed;
             INSERT INTO main.fragments_fts (fragments_fts, rowid, text_content, heading_context)
               SELECT 'delete', seq, text_content, heading_context FROM main.fragments
               WHERE seq IN temp.merge_changing;
             INSERT INTO temp.merge_reindexed SELECT seq FROM temp.merge_changing",
            self.fragment
        ))
        .db()
    }

    /// Indexes the new rows.
    pub(super) fn index(&self, db: &Connection) -> Result<()> {
        index(
            db,
            "SELECT seq, text_content, heading_context FROM main.fragments WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            "INSERT INTO main.fragments_fts (rowid, text_content, heading_context) VALUES (?1, ?2, ?3)",
            self.fragment,
        )?;
        db.run(
            "INSERT INTO main.fragments_fts (rowid, text_content, heading_context)
             SELECT seq, text_content, heading_context FROM main.fragments WHERE seq IN temp.merge_reindexed",
            [],
        )?;
        index(
            db,
            "SELECT seq, claim_text, NULL FROM main.claims WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            "INSERT INTO main.claims_fts (rowid, claim_text) SELECT ?1, ?2 WHERE ?3 IS NULL",
            self.claim,
        )
    }
}

fn index(db: &Connection, select: &str, insert: &str, mut after: i64) -> Result<()> {
    let mut insert = db.prepare(insert).db()?;
    let mut rows: Vec<Indexed> = Vec::new();
    let mut words: Vec<Vec<Tokens>> = Vec::new();
    loop {
        let next = read(db, select, after)?;
        let store = || {
            for (row, words) in rows.iter().zip(std::mem::take(&mut words)) {
                let values = params![row.seq, row.text, row.heading];
                with_tokens(words, || insert.execute(values)).db()?;
            }
            Ok(())
        };
        let (cut, stored): (_, Result<()>) = run_in_parallel(|| cut_all(&next), store);
        stored?;
        let Some(last) = next.last() else {
            return Ok(());
        };
        after = last.seq;
        (rows, words) = (next, cut);
    }
}

fn read(db: &Connection, select: &str, after: i64) -> Result<Vec<Indexed>> {
    db.all(select, [after, ROWS_AT_A_TIME], |r| {
        Ok(Indexed {
            seq: r.get(0)?,
            text: r.get(1)?,
            heading: r.get(2)?,
        })
    })
}

fn cut_all(rows: &[Indexed]) -> Vec<Vec<Tokens>> {
    let cut = |row: &Indexed| {
        let texts = [Some(&row.text), row.heading.as_ref()];
        texts
            .into_iter()
            .flatten()
            .map(|text| Tokens::of(text))
            .collect()
    };
    rows.iter().map(cut).collect()
}
