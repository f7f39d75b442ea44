//! Claims and edges.

use super::handles::{Reader, Writer};
use crate::error::{Error, Result};
use crate::store::database::Statements;
use crate::store::model::{ClaimRecord, EdgeRecord, NodeKind, Relation, content_id};
use rusqlite::params;

impl Writer<'_> {
    /// Stores a claim; returns whether it is new.
    pub fn add_claim(&self, claim: &ClaimRecord) -> Result<bool> {
        let seq: Option<i64> = self
            .db
            .first("INSERT INTO claims (id, task_id, claim_text, claim_type, granularity, llm_claim_confidence,
                   extractor_id, claim_adoption_status, claim_rejection_reason, claim_rejected_at, created_at,
                   cause_id, details_json)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
                 ON CONFLICT (id) DO NOTHING RETURNING seq", params![
                    claim.id,
                    claim.task_id,
                    claim.claim_text,
                    claim.claim_type,
                    claim.granularity,
                    claim.llm_claim_confidence,
                    claim.extractor_id,
                    claim.claim_adoption_status,
                    claim.claim_rejection_reason,
                    claim.claim_rejected_at,
                    claim.created_at.as_deref().unwrap_or(&self.now),
                    claim.cause_id,
                    claim.details_json,
                ], |r| r.get(0))?;
        let Some(seq) = seq else { return Ok(false) };
        self.db.run(
            "INSERT INTO claims_fts (rowid, claim_text) VALUES (?1, ?2)",
            params![seq, claim.claim_text],
        )?;
        Ok(true)
    }

    /// Stores an edge; returns whether it is new. If the pair already has an edge of this class (an
    /// origin, a verdict, a citation), that edge is kept.
    ///
    /// Refused if the node kinds do not fit the relation, or if the quote is not in the source fragment.
    pub fn add_edge(&self, edge: &EdgeRecord) -> Result<bool> {
        check_ends(edge)?;
        self.check_quote(edge)?;
        // OR FAIL: the statement writes one row or none, so there is nothing to roll back within it, and
        // SQLite does not need a statement journal, which it would otherwise keep.
        let added = self
            .db
            .run("INSERT OR FAIL INTO edges (id, source_type, source_id, target_type, target_id, relation, nli_label,
                   nli_edge_confidence, judge_id, quote_start, quote_end, citation_source, citation_context,
                   source_domain_category, target_domain_category, edge_human_corrected,
                   edge_correction_reason, edge_corrected_at, created_at, cause_id, nli_probabilities)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                   ?19, ?20, ?21)
                 ON CONFLICT DO NOTHING", params![
                edge.id,
                edge.source_type,
                edge.source_id,
                edge.target_type,
                edge.target_id,
                edge.relation,
                edge.nli_label,
                edge.nli_edge_confidence,
                edge.judge_id,
                edge.quote_start,
                edge.quote_end,
                edge.citation_source,
                edge.citation_context,
                edge.source_domain_category,
                edge.target_domain_category,
                edge.edge_human_corrected,
                edge.edge_correction_reason,
                edge.edge_corrected_at,
                edge.created_at.as_deref().unwrap_or(&self.now),
                edge.cause_id,
                edge.nli_probabilities,
            ])?;
        Ok(added > 0)
    }

    fn check_quote(&self, edge: &EdgeRecord) -> Result<()> {
        let Some((start, end)) = edge.quote_start.zip(edge.quote_end) else {
            return Ok(());
        };
        let inside: Option<bool> = self.db.first(
            "SELECT coalesce(?2 >= char_start AND ?3 <= char_end AND ?2 < ?3, 0)
                 FROM fragments WHERE id = ?1",
            params![edge.source_id, start, end],
            |r| r.get(0),
        )?;
        match inside {
            Some(true) => Ok(()),
            Some(false) => Err(Error::invalid(format!(
                "edge {}: the quote {start}..{end} does not lie in fragment {}",
                edge.id, edge.source_id
            ))),
            None => Err(Error::not_found(format!(
                "no fragment {:?}",
                edge.source_id
            ))),
        }
    }
}

impl Reader<'_> {
    /// The text of a claim.
    pub fn claim_text(&self, claim_id: &str) -> Result<String> {
        self.db
            .first(
                "SELECT claim_text FROM claims WHERE id = ?1",
                [claim_id],
                |r| r.get(0),
            )?
            .ok_or_else(|| Error::not_found(format!("no claim {claim_id:?}")))
    }
}

fn check_ends(edge: &EdgeRecord) -> Result<()> {
    let wanted = match edge.relation {
        Relation::Cites => (NodeKind::Page, NodeKind::Page),
        Relation::Origin | Relation::Supports | Relation::Refutes | Relation::Neutral => {
            (NodeKind::Fragment, NodeKind::Claim)
        }
    };
    if (edge.source_type, edge.target_type) == wanted {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "edge {}: {} leads from a {} to a {}, not from a {} to a {}",
        edge.id, edge.relation, wanted.0, wanted.1, edge.source_type, edge.target_type
    )))
}

impl EdgeRecord {
    /// An edge whose id is derived from its ends and its class (origin, verdict, citation).
    pub fn between(source: (NodeKind, &str), relation: Relation, target: (NodeKind, &str)) -> Self {
        let class = if relation.is_nli() {
            "verdict"
        } else {
            relation.as_str()
        };
        Self {
            id: content_id("edge_", &[source.1, class, target.1]),
            source_type: source.0,
            source_id: source.1.to_owned(),
            target_type: target.0,
            target_id: target.1.to_owned(),
            relation,
            nli_label: None,
            nli_edge_confidence: None,
            nli_probabilities: None,
            judge_id: None,
            quote_start: None,
            quote_end: None,
            citation_source: None,
            citation_context: None,
            source_domain_category: None,
            target_domain_category: None,
            edge_human_corrected: false,
            edge_correction_reason: None,
            edge_corrected_at: None,
            created_at: None,
            cause_id: None,
        }
    }
}
