//! How claims stand to the hypothesis of their task, and the memory of judged pairs.

use super::{Reader, Writer};
use crate::error::{Result, SqliteResultExt};
use crate::ports::Verdict;
use rusqlite::params;

/// The ids of built-in judges that are gone, as a pattern of LIKE. Their verdicts are replaced when
/// verification runs next.
pub(crate) const RETIRED_JUDGES: &str = "lyra-builtin-stance-%";

impl Writer<'_> {
    /// Stores how a claim stands to the hypothesis of its task.
    pub fn put_hypothesis_stance(
        &self,
        task_id: &str,
        claim_id: &str,
        judge_id: &str,
        verdict: &Verdict,
    ) -> Result<()> {
        self.db
            .prepare_cached(
                "INSERT INTO hypothesis_stances (claim_id, task_id, relation, confidence, judge_id, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (claim_id) DO UPDATE SET relation = excluded.relation,
                   confidence = excluded.confidence, judge_id = excluded.judge_id,
                   created_at = excluded.created_at",
            )
            .db()?
            .execute(params![claim_id, task_id, verdict.relation, verdict.confidence, judge_id, self.now])
            .db()?;
        Ok(())
    }

    /// Takes back the edge that an earlier judge's verdict on a pair has made, unless a human has
    /// corrected it since.
    pub fn withdraw_verdict(&self, fragment_id: &str, claim_id: &str) -> Result<()> {
        self.db
            .prepare_cached(
                "DELETE FROM edges
                 WHERE target_id = ?2 AND source_id = ?1 AND relation IN ('supports', 'refutes', 'neutral')
                   AND edge_human_corrected = 0
                   AND judge_id = (SELECT judge_id FROM nli_verdicts
                                   WHERE claim_id = ?2 AND fragment_id = ?1)",
            )
            .db()?
            .execute(params![fragment_id, claim_id])
            .db()?;
        Ok(())
    }

    /// Remembers that a judge has looked at a pair, whatever it said.
    pub fn remember_verdict(
        &self,
        fragment_id: &str,
        claim_id: &str,
        judge_id: &str,
        verdict: &Verdict,
    ) -> Result<()> {
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO nli_verdicts
                   (fragment_id, claim_id, judge_id, relation, confidence, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .db()?
            .execute(params![
                fragment_id,
                claim_id,
                judge_id,
                verdict.relation,
                verdict.confidence,
                self.now
            ])
            .db()?;
        Ok(())
    }
}

impl Reader<'_> {
    /// The fragments that need no verdict on the claim: those that were judged (by `judge_id`, if
    /// one is named, and by no retired judge), that a human has corrected, and whose edge came from elsewhere.
    pub fn judged_fragments(
        &self,
        claim_id: &str,
        judge_id: Option<&str>,
    ) -> Result<std::collections::HashSet<String>> {
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT fragment_id FROM nli_verdicts
                 WHERE claim_id = ?1 AND judge_id = ifnull(?2, judge_id) AND judge_id NOT LIKE ?3
                 UNION
                 SELECT e.source_id FROM edges e
                   LEFT JOIN nli_verdicts v ON v.claim_id = e.target_id AND v.fragment_id = e.source_id
                 WHERE e.target_id = ?1 AND e.relation IN ('supports', 'refutes', 'neutral')
                   AND (e.edge_human_corrected = 1 OR v.judge_id IS NULL OR v.judge_id IS NOT e.judge_id)",
            )
            .db()?;
        let rows = statement
            .query_map(params![claim_id, judge_id, RETIRED_JUDGES], |r| r.get(0))
            .db()?;
        rows.collect::<rusqlite::Result<_>>().db()
    }
}
