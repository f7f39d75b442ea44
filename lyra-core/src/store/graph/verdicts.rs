//! The verdicts of all judges, and which of them decides.
//!
//! Judges are ranked: a human outranks an agent, an agent a configured model, a model the built-in
//! judge. Among judges of equal rank, the newest verdict counts.

use super::handles::{Reader, Writer};
use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::model::{EdgeRecord, NodeKind, Relation};
use rusqlite::params;

/// Ids of retired built-in judges, as LIKE patterns. Their verdicts are replaced when verification runs
/// next.
pub(crate) const RETIRED_JUDGES: [&str; 2] = ["lyra-builtin-stance-%", "lyra-minilm-judge-v1"];

/// The judge id of a human.
pub const HUMAN_JUDGE: &str = "human";

/// Prefix of an agent's judge id: `agent:client:model`.
pub const AGENT_PREFIX: &str = "agent:";

/// A passage and a claim.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) fragment_id: &'a str,
    pub(crate) claim_id: &'a str,
}

/// A judge's verdict as stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredVerdict<'a> {
    pub(crate) judge_id: &'a str,
    pub(crate) relation: Relation,
    /// The judge's uncalibrated confidence.
    pub(crate) confidence: f64,
    /// Probabilities of all three relations, as JSON.
    pub(crate) probabilities: Option<&'a str>,
    /// Range of the decisive words in the page's text.
    pub(crate) quote: Option<(i64, i64)>,
    pub(crate) reason: Option<&'a str>,
    /// The job or the loan that produced it.
    pub(crate) cause_id: Option<&'a str>,
}

impl Default for StoredVerdict<'_> {
    fn default() -> Self {
        Self {
            judge_id: HUMAN_JUDGE,
            relation: Relation::Neutral,
            confidence: 1.0,
            probabilities: None,
            quote: None,
            reason: None,
            cause_id: None,
        }
    }
}

impl Writer<'_> {
    /// Stores the stance of a claim on the hypothesis of its task, unless a judge of higher rank has
    /// given one; returns whether it is stored.
    pub(crate) fn put_stance(
        &self,
        task_id: &str,
        claim_id: &str,
        verdict: &StoredVerdict<'_>,
    ) -> Result<bool> {
        let stored = self
            .db
            .run("INSERT INTO hypothesis_stances AS s (claim_id, task_id, relation, confidence, judge_id, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (claim_id) DO UPDATE SET relation = excluded.relation,
                   confidence = excluded.confidence, judge_id = excluded.judge_id,
                   created_at = excluded.created_at
                 WHERE (CASE WHEN s.judge_id = 'human' THEN 2 WHEN s.judge_id GLOB 'agent:*' THEN 1 ELSE 0 END)
                   <= (CASE WHEN excluded.judge_id = 'human' THEN 2 WHEN excluded.judge_id GLOB 'agent:*' THEN 1
                       ELSE 0 END)", params![
                claim_id,
                task_id,
                verdict.relation,
                verdict.confidence,
                verdict.judge_id,
                self.now
            ])?;
        Ok(stored > 0)
    }

    /// Deletes the edge that a model's verdict on a pair created, unless a human has corrected it.
    pub fn withdraw_verdict(&self, fragment_id: &str, claim_id: &str) -> Result<()> {
        self.db
            .run("DELETE FROM edges
                 WHERE target_id = ?2 AND source_id = ?1 AND relation IN ('supports', 'refutes', 'neutral')
                   AND edge_human_corrected = 0
                   AND judge_id IN (SELECT judge_id FROM nli_verdicts
                                    WHERE claim_id = ?2 AND fragment_id = ?1
                                      AND judge_kind IN ('builtin', 'model'))", params![fragment_id, claim_id])?;
        Ok(())
    }

    /// Stores a judge's verdict on a pair, whether it decides or not, replacing an earlier one of the
    /// same judge. Nothing is stored if the fragment or the claim is missing: an edge may be imported
    /// before its passage.
    pub(crate) fn put_verdict(&self, pair: Pair<'_>, verdict: &StoredVerdict<'_>) -> Result<()> {
        self.db
            .run("INSERT INTO nli_verdicts (fragment_id, claim_id, judge_id, relation, confidence, created_at,
                   probabilities, quote_start, quote_end, reason, cause_id)
                 SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
                 WHERE EXISTS (SELECT 1 FROM fragments WHERE id = ?1) AND EXISTS (SELECT 1 FROM claims WHERE id = ?2)
                 ON CONFLICT (claim_id, fragment_id, judge_id) DO UPDATE SET relation = excluded.relation,
                   confidence = excluded.confidence, created_at = excluded.created_at,
                   probabilities = excluded.probabilities, quote_start = excluded.quote_start,
                   quote_end = excluded.quote_end, reason = excluded.reason, cause_id = excluded.cause_id", params![
                pair.fragment_id,
                pair.claim_id,
                verdict.judge_id,
                verdict.relation,
                verdict.confidence,
                self.now,
                verdict.probabilities,
                verdict.quote.map(|(start, _)| start),
                verdict.quote.map(|(_, end)| end),
                verdict.reason,
                verdict.cause_id,
            ])?;
        Ok(())
    }

    /// Makes a human's or an agent's verdict the edge of its pair; returns whether it decides: an
    /// agent's verdict does not if a human has judged the pair.
    pub(crate) fn let_decide(&self, pair: Pair<'_>, verdict: &StoredVerdict<'_>) -> Result<bool> {
        let is_human = verdict.judge_id == HUMAN_JUDGE;
        let (_, calibration) = self.reader().calibration(verdict.judge_id)?;
        let mut edge = EdgeRecord::between(
            (NodeKind::Fragment, pair.fragment_id),
            verdict.relation,
            (NodeKind::Claim, pair.claim_id),
        );
        edge.nli_label = Some(verdict.relation.as_str().to_owned());
        edge.nli_edge_confidence = Some(calibration.apply(verdict.confidence));
        edge.judge_id = Some(verdict.judge_id.to_owned());
        edge.edge_human_corrected = is_human;
        edge.edge_correction_reason = verdict.reason.filter(|_| is_human).map(str::to_owned);
        edge.edge_corrected_at = is_human.then(|| self.now.clone());
        edge.quote_start = verdict.quote.map(|(start, _)| start);
        edge.quote_end = verdict.quote.map(|(_, end)| end);
        edge.cause_id = verdict.cause_id.map(str::to_owned);
        // An existing edge of the pair keeps its id, because reports and pages refer to it.
        Ok(self.add_edge(&edge)? || self.overwrite_edge(&edge)?)
    }

    /// Replaces the verdict of the pair's edge; returns whether it was replaced.
    fn overwrite_edge(&self, edge: &EdgeRecord) -> Result<bool> {
        let changed = self
            .db
            .run("UPDATE edges SET relation = ?3, nli_label = ?4, nli_edge_confidence = ?5, nli_probabilities = NULL,
                   judge_id = ?6, quote_start = ?7, quote_end = ?8, cause_id = ?9, edge_human_corrected = ?10,
                   edge_correction_reason = ?11, edge_corrected_at = ?12
                 WHERE source_id = ?1 AND target_id = ?2 AND relation IN ('supports', 'refutes', 'neutral')
                   AND (?10 OR edge_human_corrected = 0)", params![
                edge.source_id,
                edge.target_id,
                edge.relation,
                edge.nli_label,
                edge.nli_edge_confidence,
                edge.judge_id,
                edge.quote_start,
                edge.quote_end,
                edge.cause_id,
                edge.edge_human_corrected,
                edge.edge_correction_reason,
                edge.edge_corrected_at,
            ])?;
        Ok(changed > 0)
    }
}

impl Reader<'_> {
    /// The claims of a task that have a stance from any judge, including retired ones.
    pub(crate) fn placed_claims(&self, task_id: &str) -> Result<std::collections::HashSet<String>> {
        let sql = "SELECT claim_id FROM hypothesis_stances WHERE task_id = ?1";
        self.db.all(sql, [task_id], |r| r.get(0))
    }

    /// Whether any judge has a verdict on the pair.
    pub(crate) fn has_verdict(&self, fragment_id: &str, claim_id: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM nli_verdicts WHERE claim_id = ?2 AND fragment_id = ?1
             UNION ALL
             SELECT 1 FROM edges WHERE target_id = ?2 AND source_id = ?1
               AND relation IN ('supports', 'refutes', 'neutral')",
            [fragment_id, claim_id],
        )
    }

    /// The fragments that need no verdict on the claim: those that were judged (by `judge_id` if one is
    /// given, and not by a retired judge), those that an agent or a human has judged, and those whose
    /// edge came from elsewhere.
    pub(crate) fn judged_fragments(
        &self,
        claim_id: &str,
        judge_id: Option<&str>,
    ) -> Result<std::collections::HashSet<String>> {
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT fragment_id FROM nli_verdicts
                 WHERE claim_id = ?1 AND judge_id NOT LIKE ?3 AND judge_id NOT LIKE ?4
                   AND (judge_id = ifnull(?2, judge_id) OR judge_kind IN ('agent', 'human'))
                 UNION
                 SELECT e.source_id FROM edges e
                 WHERE e.target_id = ?1 AND e.relation IN ('supports', 'refutes', 'neutral')
                   AND (e.edge_human_corrected = 1 OR NOT EXISTS (
                     SELECT 1 FROM nli_verdicts v WHERE v.claim_id = e.target_id
                       AND v.fragment_id = e.source_id AND v.judge_id = e.judge_id))",
            )
            .db()?;
        let [rules, first] = RETIRED_JUDGES;
        let rows = statement
            .query_map(params![claim_id, judge_id, rules, first], |r| r.get(0))
            .db()?;
        rows.collect::<rusqlite::Result<_>>().db()
    }
}
