//! Updates the counts of claims: compares each claim's current evidence with its last count.

use super::deltas::Deltas;
use super::lookup::{Places, PublishedPage};
use super::snapshot::{Bearing, EvidenceEdge, Snapshot, Summary};
use crate::error::{Error, Result};
use crate::store::confidence::{IndependentEvidence, Testimony, independent_evidence};
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::{Connection, params};
use std::collections::HashMap;
use std::rc::Rc;

#[derive(Debug)]
pub(super) struct ClaimCounter<'c> {
    db: &'c Connection,
    places: Places<'c>,
    reference_year: i64,
}

/// The counted columns of a claim's row.
struct ClaimRow {
    id: String,
    task_id: String,
    is_adopted: bool,
    confidence: Option<f64>,
}

impl<'c> ClaimCounter<'c> {
    pub(super) fn new(db: &'c Connection, reference_year: i64) -> Self {
        Self {
            db,
            places: Places::new(db),
            reference_year,
        }
    }

    /// Counts one claim again: writes its own row, and adds its changes of the sums to `deltas`.
    pub(super) fn count(&mut self, claim_seq: i64, deltas: &mut Deltas) -> Result<()> {
        let before = self.counted(claim_seq)?;
        let claim = self.claim(claim_seq)?;
        if before.as_ref().is_some_and(Snapshot::lacks_fragments) {
            self.forget_missing(claim_seq)?;
        }
        let after = match &claim {
            Some(claim) => Some(self.snapshot(claim_seq, claim)?),
            None => None,
        };
        let (after, pages) = after.unzip();
        match (&claim, &after) {
            (Some(claim), Some(snapshot)) => {
                let independent = independent(snapshot, &pages.unwrap_or_default());
                if before.as_ref() != Some(snapshot) {
                    self.store_counted(claim_seq, snapshot)?;
                }
                self.store_summary(claim_seq, &claim.id, snapshot, independent)?;
            }
            _ => self.remove(claim_seq)?,
        }
        if before != after {
            deltas.exchange(claim_seq, before.as_ref(), after.as_ref());
        }
        Ok(())
    }

    fn counted(&self, claim_seq: i64) -> Result<Option<Snapshot>> {
        let text: Option<String> = self.db.first(
            "SELECT counted FROM stat_counted WHERE claim_seq = ?1",
            [claim_seq],
            |r| r.get(0),
        )?;
        text.map(|t| parse(&t)).transpose()
    }

    fn claim(&self, claim_seq: i64) -> Result<Option<ClaimRow>> {
        self.db.first(
            "SELECT id, task_id, claim_adoption_status = 'adopted', llm_claim_confidence
                 FROM claims WHERE seq = ?1",
            [claim_seq],
            |r| {
                Ok(ClaimRow {
                    id: r.get(0)?,
                    task_id: r.get(1)?,
                    is_adopted: r.get(2)?,
                    confidence: r.get(3)?,
                })
            },
        )
    }

    /// The evidence of a claim, and the pages to which the snapshot's numbers refer.
    fn snapshot(
        &mut self,
        claim_seq: i64,
        claim: &ClaimRow,
    ) -> Result<(Snapshot, Vec<Rc<PublishedPage>>)> {
        let mut snapshot = Snapshot {
            task_id: claim.task_id.clone(),
            is_adopted: claim.is_adopted,
            confidence: claim.confidence,
            evidence: Vec::new(),
            pages: Vec::new(),
        };
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT e.id, e.source_id, e.relation, e.nli_edge_confidence, f.seq
                 FROM edges AS e LEFT JOIN fragments AS f ON f.id = e.source_id
                 WHERE e.target_id = ?1 AND e.relation IN ('origin', 'supports', 'refutes', 'neutral')
                   AND e.source_type = 'fragment' AND e.target_type = 'claim'",
            )
            .db()?;
        let mut rows = statement.query([&claim.id]).db()?;
        let mut known: HashMap<Rc<str>, usize> = HashMap::new();
        let mut pages = Vec::new();
        while let Some(row) = rows.next().db()? {
            let bearing = match row.get_ref(2).db()?.as_str() {
                Ok("origin") => Bearing::Origin,
                Ok("supports") => Bearing::Supports,
                Ok("refutes") => Bearing::Refutes,
                _ => Bearing::Neutral,
            };
            let fragment: Option<i64> = row.get(4).db()?;
            let page = match fragment {
                Some(fragment) => self.places.of_fragment(fragment)?,
                None => {
                    let id = row.get_ref(1).db()?.as_str().unwrap_or_default();
                    self.note_missing(claim_seq, id)?;
                    None
                }
            };
            let at = fragment.zip(page).map(|(fragment, page)| {
                let at = *known.entry(Rc::clone(&page.id)).or_insert_with(|| {
                    snapshot.pages.push((page.id.to_string(), page.year));
                    pages.push(Rc::clone(&page));
                    pages.len() - 1
                });
                (fragment, at)
            });
            snapshot.evidence.push(EvidenceEdge(
                row.get(0).db()?,
                bearing,
                row.get(3).db()?,
                at,
            ));
        }
        Ok((snapshot, pages))
    }

    fn note_missing(&self, claim_seq: i64, fragment_id: &str) -> Result<()> {
        self.db.run(
            "INSERT OR IGNORE INTO stat_missing
                 SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM fragments WHERE id = ?2)",
            params![claim_seq, fragment_id],
        )?;
        Ok(())
    }

    fn forget_missing(&self, claim_seq: i64) -> Result<()> {
        self.db
            .run("DELETE FROM stat_missing WHERE claim_seq = ?1", [claim_seq])?;
        Ok(())
    }

    fn store_counted(&self, claim_seq: i64, snapshot: &Snapshot) -> Result<()> {
        let text = serde_json::to_string(snapshot)
            .map_err(|e| Error::internal("the counts of a claim").with_source(e))?;
        self.db.run(
            "INSERT OR REPLACE INTO stat_counted VALUES (?1, ?2)",
            params![claim_seq, text],
        )?;
        Ok(())
    }

    fn store_summary(
        &self,
        claim_seq: i64,
        claim_id: &str,
        snapshot: &Snapshot,
        independent: IndependentEvidence,
    ) -> Result<()> {
        let s: Summary = snapshot.summary(self.reference_year);
        self.db
            .run("INSERT OR REPLACE INTO stat_claims (claim_seq, claim_id, task_id, is_adopted, support_count,
                   refute_count, neutral_count, max_confidence, avg_confidence, support_weight,
                   refute_weight, dated_count, year_sum, newest_support_year, oldest_support_year,
                   newest_refute_year, support_years, dated_support_count, undated_support_count,
                   recent_support_count, independent_sources, independent_support_weight,
                   independent_refute_weight, retracted_evidence_count)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                   ?19, ?20, ?21, ?22, ?23, ?24)", params![
                claim_seq,
                claim_id,
                snapshot.task_id,
                snapshot.is_adopted,
                s.support_count,
                s.refute_count,
                s.neutral_count,
                s.max_confidence,
                s.avg_confidence,
                s.support_weight,
                s.refute_weight,
                s.dated_count,
                s.year_sum,
                s.newest_support_year,
                s.oldest_support_year,
                s.newest_refute_year,
                s.support_years,
                s.dated_support_count,
                s.undated_support_count,
                s.recent_support_count,
                independent.sources,
                independent.support_weight,
                independent.refute_weight,
                independent.retracted,
            ])?;
        Ok(())
    }

    fn remove(&self, claim_seq: i64) -> Result<()> {
        for table in ["stat_claims", "stat_counted"] {
            self.db.run(
                &format!("DELETE FROM {table} WHERE claim_seq = ?1"),
                [claim_seq],
            )?;
        }
        Ok(())
    }
}

/// The verdicts that decide (support or refute), grouped by independent source. A missing fragment
/// counts as its own source.
fn independent(snapshot: &Snapshot, pages: &[Rc<PublishedPage>]) -> IndependentEvidence {
    let decided = snapshot
        .evidence
        .iter()
        .filter(|edge| matches!(edge.1, Bearing::Supports | Bearing::Refutes));
    let testimonies: Vec<Testimony<'_>> = decided
        .map(|edge| {
            let page = edge.3.and_then(|(_, at)| pages.get(at));
            Testimony {
                supports: edge.1 == Bearing::Supports,
                confidence: edge.2.unwrap_or(0.0),
                source: page.map_or(&edge.0, |page| &page.source),
                site: page.and_then(|page| page.site.as_deref()),
                is_retracted: page.is_some_and(|page| page.is_retracted),
            }
        })
        .collect();
    independent_evidence(&testimonies)
}

pub(super) fn parse(text: &str) -> Result<Snapshot> {
    serde_json::from_str(text).map_err(|e| {
        Error::internal("the counts of a claim cannot be read")
            .with_source(e)
            .with_hint("lyra-mcp verify says what else is wrong with the file")
    })
}
