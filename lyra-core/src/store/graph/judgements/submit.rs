//! Judgements of agents: checked, stored, and made the edges of their pairs.

use super::{Judgement, JudgementReport, LONGEST_REASON, MovedClaim, PairKind, RefusedJudgement};
use crate::error::{Error, Result};
use crate::security::sanitize::sanitize;
use crate::store::database::Statements;
use crate::store::graph::feedback::{AGENTS_CONFIDENCE, Feedback};
use crate::store::graph::handles::{EvidenceGraph, Reader, Writer};
use crate::store::graph::verdicts::{AGENT_PREFIX, HUMAN_JUDGE, Pair, StoredVerdict};
use crate::store::model::Relation;
use crate::store::text::quotes::locate;
use crate::store::text::sentence::sentence_texts;
use crate::store::text::similarity::{jaccard, word_shingles};
use rusqlite::params;
use std::collections::BTreeMap;
use std::ops::Range;

/// A loan with the position of the quote in its passage, or the reason why the judgement is refused.
type Accepted = std::result::Result<(Loan, Option<Range<usize>>), RefusedJudgement>;

/// A loan and its passage.
struct Loan {
    claim_id: String,
    /// The passage of the pair; for a hypothesis pair, the passage in which the claim was read.
    fragment_id: String,
    kind: PairKind,
    text: String,
    char_start: Option<i64>,
}

impl EvidenceGraph {
    /// Stores the judgements of an agent independently of each other: a refused one does not affect the
    /// others. A judgement that is sent again replaces the earlier one of the same judge.
    ///
    /// # Errors
    /// `NotFound` for an unknown task, `InvalidInput` for a judge that is neither an agent nor a human.
    pub fn submit_judgements(
        &self,
        task_id: &str,
        judge_id: &str,
        judgements: &[Judgement],
    ) -> Result<JudgementReport> {
        let mut report = self.write(|w| w.store_all(task_id, judge_id, judgements))?;
        // Counting scans the whole task, so it is done outside the write transaction.
        report.open = self.read(|r| r.count_open(task_id))?;
        Ok(report)
    }
}

impl Writer<'_> {
    fn store_all(
        &self,
        task_id: &str,
        judge_id: &str,
        judgements: &[Judgement],
    ) -> Result<JudgementReport> {
        if judge_id != HUMAN_JUDGE && !judge_id.starts_with(AGENT_PREFIX) {
            return Err(Error::invalid(format!(
                "judge_id is {judge_id:?}; expected \"human\" or \"agent:client:model\""
            )));
        }
        self.reader().task(task_id)?;
        let mut report = JudgementReport {
            judge_id: judge_id.to_owned(),
            ..JudgementReport::default()
        };
        let mut before: BTreeMap<String, Balance> = BTreeMap::new();
        for judgement in judgements {
            match self.reader().accept(task_id, judge_id, judgement)? {
                Err(refused) => report.refused.push(refused),
                Ok((loan, quote)) => {
                    if !before.contains_key(&loan.claim_id) {
                        let balance = self.reader().balance(&loan.claim_id)?;
                        before.insert(loan.claim_id.clone(), balance);
                    }
                    let has_effect = self.store(task_id, judge_id, judgement, (&loan, quote))?;
                    report.stored += 1;
                    report.outranked += usize::from(!has_effect);
                }
            }
        }
        self.settle_screening(task_id)?;
        for (claim_id, before) in before {
            let after = self.reader().balance(&claim_id)?;
            report.moved.extend(moved(claim_id, &before, &after));
        }
        Ok(report)
    }

    /// Stores a judgement; returns whether it decides.
    fn store(
        &self,
        task_id: &str,
        judge_id: &str,
        judgement: &Judgement,
        (loan, quote): (&Loan, Option<Range<usize>>),
    ) -> Result<bool> {
        let said = judgement.confidence.unwrap_or(AGENTS_CONFIDENCE);
        let reason = judgement
            .reason
            .as_deref()
            .map(|r| sanitize(r, LONGEST_REASON).text);
        let place = quote.zip(loan.char_start).and_then(|(span, start)| {
            let at = |n: usize| i64::try_from(n).ok().map(|n| start + n);
            at(span.start).zip(at(span.end))
        });
        let verdict = StoredVerdict {
            judge_id,
            relation: judgement.relation,
            confidence: said,
            quote: place,
            reason: reason.as_deref(),
            cause_id: Some(&judgement.pair_id),
            ..StoredVerdict::default()
        };
        let details = serde_json::json!({
            "judge_id": judge_id, "relation": judgement.relation, "confidence": said, "quote": place,
            "fragment_id": loan.fragment_id, "reason": reason, "kind": loan.kind,
        });
        let decides = match loan.kind {
            PairKind::Hypothesis => self.put_stance(task_id, &loan.claim_id, &verdict)?,
            PairKind::Passage => self.put_and_decide(loan, &verdict)?,
        };
        self.db.run(
            "UPDATE judgement_loans SET judged_at = ?2 WHERE pair_id = ?1",
            params![judgement.pair_id, self.now],
        )?;
        self.log_event(
            judge_id,
            "judgement",
            Some(task_id),
            Some(&loan.claim_id),
            &details,
        )?;
        Ok(decides)
    }
}

impl Writer<'_> {
    fn put_and_decide(&self, loan: &Loan, verdict: &StoredVerdict<'_>) -> Result<bool> {
        let pair = Pair {
            fragment_id: &loan.fragment_id,
            claim_id: &loan.claim_id,
        };
        match self.reader().edge_of(pair)? {
            // A human correction, to which the calibration of the judge is fitted.
            Some(edge_id) if verdict.judge_id == HUMAN_JUDGE => {
                let correction = Feedback::EdgeCorrect {
                    edge_id,
                    correct_relation: verdict.relation,
                    reason: verdict.reason.map(str::to_owned),
                };
                self.apply_feedback(&correction, "user").map(|_| true)
            }
            _ => {
                self.put_verdict(pair, verdict)?;
                self.let_decide(pair, verdict)
            }
        }
    }
}

impl Reader<'_> {
    /// The loan that a judgement answers and the position of its quote, or the reason why it is refused.
    fn accept(&self, task_id: &str, judge_id: &str, judgement: &Judgement) -> Result<Accepted> {
        let refused = |reason: &str, nearest: Option<String>| {
            Ok(Err(RefusedJudgement {
                pair_id: judgement.pair_id.clone(),
                reason: reason.to_owned(),
                nearest,
            }))
        };
        if !judgement.relation.is_nli() {
            return refused("relation: expected supports, refutes or neutral", None);
        }
        if judgement
            .confidence
            .is_some_and(|c| !(0.0..=1.0).contains(&c))
        {
            return refused("confidence: expected a number from 0 to 1", None);
        }
        let Some(loan) = self.loan(task_id, &judgement.pair_id)? else {
            return refused(
                "pair_id: no such pair is lent in this task; its loan may have run out and the pair \
                 been lent again: ask get_judgements",
                None,
            );
        };
        let quote = judgement
            .quote
            .as_deref()
            .map(str::trim)
            .unwrap_or_default();
        if quote.is_empty() {
            return match judgement.relation {
                Relation::Neutral => Ok(Ok((loan, None))),
                // A human has read the passage, so no quote is required.
                _ if judge_id == HUMAN_JUDGE => Ok(Ok((loan, None))),
                _ => refused(
                    "quote: supports and refutes need the words of the passage that the verdict \
                     is based on",
                    None,
                ),
            };
        }
        match locate(&loan.text, quote) {
            Some(span) => Ok(Ok((loan, Some(span)))),
            None => {
                let nearest = nearest_sentence(&loan.text, quote);
                refused(
                    "quote: these words are not in the passage (at least 12 letters, in one piece)",
                    nearest,
                )
            }
        }
    }

    fn loan(&self, task_id: &str, pair_id: &str) -> Result<Option<Loan>> {
        self.db
            .first("SELECT l.claim_id, f.id, l.fragment_id IS NULL, f.text_content, f.char_start
                 FROM judgement_loans l
                   JOIN fragments f ON f.id = coalesce(l.fragment_id, (SELECT min(o.id) FROM edges e JOIN fragments o
                     ON o.id = e.source_id WHERE e.target_id = l.claim_id AND e.relation = 'origin'))
                 WHERE l.pair_id = ?1 AND l.task_id = ?2", params![pair_id, task_id], |r| {
                Ok(Loan {
                    claim_id: r.get(0)?,
                    fragment_id: r.get(1)?,
                    kind: match r.get(2)? {
                        true => PairKind::Hypothesis,
                        false => PairKind::Passage,
                    },
                    text: r.get(3)?,
                    char_start: r.get(4)?,
                })
            })
    }

    /// The edge that carries the verdict on a pair.
    fn edge_of(&self, pair: Pair<'_>) -> Result<Option<String>> {
        self.db.first(
            "SELECT id FROM edges WHERE target_id = ?1 AND source_id = ?2
                   AND relation IN ('supports', 'refutes', 'neutral')",
            [pair.claim_id, pair.fragment_id],
            |r| r.get(0),
        )
    }

    fn balance(&self, claim_id: &str) -> Result<Balance> {
        self.db.one(
            "SELECT (SELECT count(*) FROM edges WHERE target_id = ?1 AND relation = 'supports'),
                   (SELECT count(*) FROM edges WHERE target_id = ?1 AND relation = 'refutes'),
                   (SELECT relation FROM hypothesis_stances WHERE claim_id = ?1)",
            [claim_id],
            |r| {
                Ok(Balance {
                    supports: r.get(0)?,
                    refutes: r.get(1)?,
                    stance: r.get(2)?,
                })
            },
        )
    }
}

/// Number of passages for and against a claim, and its stance.
#[derive(PartialEq)]
struct Balance {
    supports: usize,
    refutes: usize,
    stance: Option<Relation>,
}

impl Balance {
    const fn is_contradicted(&self) -> bool {
        self.supports > 0 && self.refutes > 0
    }
}

fn moved(claim_id: String, before: &Balance, after: &Balance) -> Option<MovedClaim> {
    let contradiction = match (before.is_contradicted(), after.is_contradicted()) {
        (false, true) => Some("made"),
        (true, false) => Some("resolved"),
        _ => None,
    };
    (before != after).then_some(MovedClaim {
        claim_id,
        supports: [before.supports, after.supports],
        refutes: [before.refutes, after.refutes],
        stance: [before.stance, after.stance],
        contradiction,
    })
}

/// The sentence of a passage that shares the most words with a quote.
fn nearest_sentence(passage: &str, quote: &str) -> Option<String> {
    let wanted = word_shingles(quote, 1);
    let near = sentence_texts(passage).map(|(_, s)| (jaccard(&wanted, &word_shingles(s, 1)), s));
    let best = near.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.0).then(|| best.1.to_owned())
}
