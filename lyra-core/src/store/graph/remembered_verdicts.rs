//! Stored verdicts of judges on sentences of drafts, keyed by content.

use super::handles::{Reader, Writer};
use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::params;

/// Maximum number of stored verdicts, about 120 bytes each. The oldest are deleted first.
const MOST: i64 = 200_000;

/// A judge's answer to a question.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RememberedVerdict {
    /// Probabilities of supports, refutes and neutral.
    pub(crate) probabilities: [f64; 3],
    /// Probability that the premise is relevant to the claim, if the judge gives one.
    pub(crate) relevance: Option<f64>,
}

impl Reader<'_> {
    /// The judge's answer to the question with this hash.
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
    /// Stores verdicts, and deletes the oldest if there are too many.
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
