//! Lending: which pairs are lent, and what is shown of them.

use super::{
    BATCH_BYTES, JudgementFocus, JudgementRequest, LONGEST_PASSAGE, LentPair, PairKind,
    check_request,
};
use crate::error::Result;
use crate::store::database::Statements;
use crate::store::graph::handles::{EvidenceGraph, Reader, Writer};
use crate::store::model::random_id;
use rusqlite::{Row, named_params, params};

/// The pairs of a task that no agent and no human has judged, with the effect that a wrong verdict on
/// each would have. The formula is the same as in v_open_judgements, which does not show loans.
const OPEN: &str = include_str!("../sql/open_judgements.sql");

/// A claim and a fragment; without a fragment, the claim and the hypothesis.
type OpenPair = (String, Option<String>);

/// Number of candidates that are looked up for each requested pair, because others may lend at the same
/// time.
const SPARE: usize = 4;

impl EvidenceGraph {
    /// Lends pairs of a task to an external judge.
    ///
    /// # Errors
    /// `NotFound` for an unknown task; `InvalidInput` for a limit or a time out of range.
    pub fn lend_judgements(&self, request: &JudgementRequest) -> Result<Vec<LentPair>> {
        check_request(request)?;
        self.check_writable()?;
        loop {
            // Finding pairs scans the whole task, so it is done outside the write transaction.
            let now = self.clock().now();
            let open = self.read(|r| {
                r.task(&request.task_id)?;
                r.open_pairs(request, &now)
            })?;
            if open.is_empty() {
                return Ok(Vec::new());
            }
            let lent = self.write(|w| w.lend_some(request, &open))?;
            // If others took all of them in the meantime, look for more.
            if !lent.is_empty() {
                return Ok(lent);
            }
        }
    }
}

impl Writer<'_> {
    fn lend_some(&self, request: &JudgementRequest, open: &[OpenPair]) -> Result<Vec<LentPair>> {
        let (mut lent, mut bytes) = (Vec::new(), 0);
        for (claim_id, fragment_id) in open {
            if lent.len() == request.limit || bytes > BATCH_BYTES {
                break;
            }
            if let Some(pair) = self.lend(request, claim_id, fragment_id.as_deref())? {
                bytes += pair.passage.len() + pair.claim.len();
                lent.push(pair);
            }
        }
        Ok(lent)
    }

    /// Lends a pair, unless it was lent or judged in the meantime.
    fn lend(
        &self,
        request: &JudgementRequest,
        claim_id: &str,
        fragment_id: Option<&str>,
    ) -> Result<Option<LentPair>> {
        self.db.run(
            "DELETE FROM judgement_loans WHERE claim_id = ?1 AND ifnull(fragment_id, '') = ?2
                   AND judged_at IS NULL AND lease_until <= ?3",
            params![claim_id, fragment_id.unwrap_or_default(), self.now],
        )?;
        let pair_id = random_id("pair_", 16);
        let lease_until: Option<String> = self
            .db
            .first("INSERT INTO judgement_loans (pair_id, task_id, claim_id, fragment_id, lent_at, lease_until)
                 SELECT ?1, ?2, ?3, ?4, ?5, strftime('%Y-%m-%dT%H:%M:%fZ', ?5, ?6)
                 WHERE NOT EXISTS (SELECT 1 FROM nli_verdicts v WHERE v.claim_id = ?3 AND v.fragment_id = ?4
                     AND v.judge_kind IN ('agent', 'human'))
                   AND NOT (?4 IS NULL AND EXISTS (SELECT 1 FROM hypothesis_stances h WHERE h.claim_id = ?3
                     AND (h.judge_id = 'human' OR h.judge_id GLOB 'agent:*')))
                 ON CONFLICT DO NOTHING RETURNING lease_until", params![
                    pair_id,
                    request.task_id,
                    claim_id,
                    fragment_id,
                    self.now,
                    format!("+{} seconds", request.lease_seconds)
                ], |r| r.get(0))?;
        lease_until
            .map(|until| self.reader().lent_pair(&pair_id, until))
            .transpose()
    }
}

impl Reader<'_> {
    /// The next pairs to lend.
    fn open_pairs(&self, request: &JudgementRequest, now: &str) -> Result<Vec<OpenPair>> {
        let focus = match request.focus {
            JudgementFocus::All => "TRUE ORDER BY o.gain DESC",
            JudgementFocus::Uncertain => "TRUE ORDER BY o.uncertainty DESC",
            JudgementFocus::Disputed => "o.is_disputed ORDER BY o.gain DESC",
            JudgementFocus::Hypothesis => "o.fragment_id IS NULL ORDER BY o.gain DESC",
        };
        let sql = format!(
            "SELECT o.claim_id, o.fragment_id FROM ({OPEN}) AS o
             WHERE NOT EXISTS (
               SELECT 1 FROM judgement_loans AS l
               WHERE l.claim_id = o.claim_id AND ifnull(l.fragment_id, '') = ifnull(o.fragment_id, '')
                 AND l.judged_at IS NULL AND l.lease_until > :now)
               AND {focus}, o.claim_id, o.fragment_id LIMIT :limit"
        );
        self.db.all(&sql, named_params! {":task_id": request.task_id, ":now": now, ":limit": SPARE * request.limit}, |r| Ok((r.get(0)?, r.get(1)?)))
    }

    pub(super) fn count_open(&self, task_id: &str) -> Result<usize> {
        self.db.one(
            &format!("SELECT count(*) FROM ({OPEN})"),
            named_params! {":task_id": task_id},
            |r| r.get(0),
        )
    }

    fn lent_pair(&self, pair_id: &str, lease_until: String) -> Result<LentPair> {
        let read = |r: &Row<'_>| {
            let hypothesis: Option<String> = r.get(0)?;
            let claim: String = r.get(1)?;
            let year: Option<i64> = r.get(6)?;
            let source: String = r.get(4)?;
            let author: Option<String> = r.get(5)?;
            let source = author.map_or(source.clone(), |author| format!("{source} ({author})"));
            let (kind, claim, assertion) = match hypothesis {
                Some(hypothesis) => (PairKind::Hypothesis, hypothesis, Some(claim)),
                None => (PairKind::Passage, claim, None),
            };
            Ok(LentPair {
                pair_id: pair_id.to_owned(),
                kind,
                claim,
                passage: cut(&r.get::<_, String>(2)?, LONGEST_PASSAGE),
                assertion,
                heading: r.get(3)?,
                source: year.map_or(source.clone(), |year| format!("{source}, {year}")),
                lease_until: lease_until.clone(),
            })
        };
        self.db
            .one("SELECT CASE WHEN l.fragment_id IS NULL THEN t.hypothesis END, c.claim_text,
                   f.text_content, f.heading_context, coalesce(p.title, w.title, p.url),
                   (SELECT a.name FROM work_authors a WHERE a.canonical_id = p.canonical_id
                    ORDER BY a.position LIMIT 1), w.year
                 FROM judgement_loans l
                   JOIN tasks t ON t.id = l.task_id
                   JOIN claims c ON c.id = l.claim_id
                   JOIN fragments f ON f.id = coalesce(l.fragment_id, (SELECT min(o.id) FROM edges e JOIN fragments o
                     ON o.id = e.source_id WHERE e.target_id = l.claim_id AND e.relation = 'origin'))
                   JOIN pages p ON p.id = f.page_id
                   LEFT JOIN works w ON w.canonical_id = p.canonical_id
                 WHERE l.pair_id = ?1", [pair_id], read)
    }
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
