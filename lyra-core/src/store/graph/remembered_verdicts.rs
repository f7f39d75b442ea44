//! What judges said of sentences of drafts, by content.

use super::handles::{Reader, Writer};
use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::params;

/// How many are kept, about 120 bytes each. The oldest go first.
const MOST: i64 = 200_000;

/// What a judge said of a question.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RememberedVerdict {
    /// Of supports, refutes and neutral.
    pub(crate) probabilities: [f64; 3],
    /// How likely the premise speaks to the claim at all, where the judge tells.
    pub(crate) relevance: Option<f64>,
}

impl Reader<'_> {
    /// What a judge said of the question with this hash.
    pub(crate) fn remembered_verdict(&self, key: &[u8]) -> Result<Option<RememberedVerdict>> {
        self.db.first(
            "SELECT supports, refutes, neutral, relevance FROM remembered_verdicts WHERE key = ?1",
            [key],
            |row| {
                Ok(RememberedVerdict {
                    probabilities: [row.get(0)?, row.get(1)?, row.get(2)?],
                    relevance: row.get(3)?,
                })
            },
        )
    }
}

impl Writer<'_> {
    /// Keeps verdicts, and forgets the oldest where there are too many.
    pub(crate) fn remember_verdicts<'v>(
        &self,
        verdicts: impl Iterator<Item = (&'v [u8], RememberedVerdict)>,
    ) -> Result<()> {
        let mut insert = self
            .db
            .prepare_cached(
                "INSERT OR REPLACE INTO remembered_verdicts VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .db()?;
        for (key, verdict) in verdicts {
            let [supports, refutes, neutral] = verdict.probabilities;
            insert
                .execute(params![
                    key,
                    supports,
                    refutes,
                    neutral,
                    verdict.relevance,
                    self.now
                ])
                .db()?;
        }
        self.db
            .run("DELETE FROM remembered_verdicts WHERE key IN (SELECT key FROM remembered_verdicts
                   ORDER BY added_at LIMIT max(0, (SELECT count(*) FROM remembered_verdicts) - ?1))", [MOST])?;
        Ok(())
    }
}
