//! Verification: compares each claim with what other sources say on the same subject.

mod candidate_pair;
mod direct;
mod judging;
mod memory;
mod pairs;
mod questions;
mod sources;

use super::StageOutcome;
use super::stages::Pipeline;
use crate::error::Result;
use crate::ports::{StancePair, Verdict};
use crate::store::graph::{DomainRules, Pair, Reader, StoredVerdict, Writer};
use crate::store::model::Relation;
pub use candidate_pair::CandidatePair;
pub(crate) use direct::{Asked, Side};
use judging::{BATCH, edge_of, judged_by, probabilities_json};
use memory::PastVerification;
pub(crate) use memory::VerificationCache;
pub use pairs::{CandidatePairs, JudgeRequest, judge_pairs};
use questions::StanceQuestion;
use serde::Serialize;
use sources::{Subject, candidate, subjects};

/// Claims whose stance to the hypothesis is judged in one transaction.
const STANCE_BATCH: usize = 64;

/// The result of a verification run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Claims processed.
    pub claims: usize,
    /// Pairs that had not been judged before.
    pub pairs_judged: usize,
    /// Edges by relation.
    pub supports: usize,
    /// Edges by relation.
    pub refutes: usize,
    /// Edges by relation.
    pub neutral: usize,
    /// Claims judged against the hypothesis.
    pub stances: usize,
}

impl Pipeline {
    /// Judges what is new: every claim of the task against the hypothesis and against fragments of
    /// other sources in the task's pages. Pairs that were judged before are skipped.
    pub async fn verify(&self, task_id: &str, cause_id: Option<&str>) -> Result<StageOutcome> {
        self.embed_missing().await?;
        let mut report = VerifyReport {
            stances: self.judge_stances(task_id).await?,
            ..VerifyReport::default()
        };
        let hypothesis = self.graph.read(|r| r.task(task_id))?.hypothesis;
        let subjects = self.graph.read(|r| subjects(r, task_id))?;
        let members = self.graph.read(|r| r.task_fragments(task_id))?;
        let rules = self.graph.read(|r| r.domain_rules())?;
        let (model_id, judge_id) = (
            &self.reading.embedder.info().model_id,
            self.judge.judge_id(),
        );
        let last = self
            .verification_cache
            .comparable(task_id, model_id, judge_id, &rules);
        let mut worth = self
            .graph
            .read(|r| self.claims_to_verify(r, &subjects, &members, last))?;
        // Claims that take a side come first, because readers look at them first.
        let sides = self.graph.read(|r| r.sides(task_id))?;
        let side = |claim: &Subject| sides.get(&claim.claim_id).copied().unwrap_or_default();
        worth.sort_by(|a, b| side(b).total_cmp(&side(a)));
        report.claims = worth.len();
        for batch in worth.chunks(BATCH) {
            let questions = self.graph.read(|r| self.questions(r, batch, &members))?;
            let pairs: Vec<StancePair> = questions.iter().map(|q| q.pair.clone()).collect();
            let verdicts = self.judged(&pairs, |_| Asked::Claim(&hypothesis)).await?;
            let verdicts = verdicts.into_iter().zip(&questions);
            let verdicts: Vec<Verdict> = verdicts.map(|(v, question)| question.held(v)).collect();
            report.pairs_judged += pairs.len();
            self.graph.write(|w| {
                // The rules are read again, because a human may have changed them while the judge
                // was running.
                let rules = w.reader().domain_rules()?;
                let (_, calibration) = w.reader().calibration(self.judge.judge_id())?;
                for (question, verdict) in questions.iter().zip(&verdicts) {
                    if still_wanted(&w.reader(), question, &rules)? {
                        let found = (verdict, calibration.apply(verdict.confidence));
                        self.record(w, question, found, cause_id, &mut report)?;
                    }
                }
                w.settle_screening(task_id)
            })?;
        }
        let look = PastVerification {
            model_id: model_id.clone(),
            judge_id: judge_id.to_owned(),
            rules,
            claims: subjects.iter().map(|s| s.claim_id.clone()).collect(),
            fragments: members,
        };
        self.verification_cache.remember(task_id, look);
        let output = serde_json::to_value(&report).unwrap_or_default();
        Ok(StageOutcome {
            output,
            ..StageOutcome::default()
        })
    }

    /// Calls [`judged_by`] with the current judge.
    pub(crate) async fn judged<'a>(
        &self,
        pairs: &[StancePair],
        asked: impl Fn(usize) -> Asked<'a>,
    ) -> Result<Vec<Verdict>> {
        judged_by(self.judge.as_ref(), pairs, asked).await
    }

    /// Judges how each claim relates to the hypothesis, for claims without a verdict of a judge of this rank.
    async fn judge_stances(&self, task_id: &str) -> Result<usize> {
        let judge_id = self.judge.judge_id();
        let hypothesis = self.graph.read(|r| r.task(task_id))?.hypothesis;
        // The built-in judge does not replace a model's verdict.
        let judge = (!self.judge.is_builtin()).then_some(judge_id);
        let claims = self
            .graph
            .read(|r| r.claims_without_stance(task_id, judge))?;
        for batch in claims.chunks(STANCE_BATCH) {
            let pairs: Vec<StancePair> =
                batch.iter().map(|claim| claim.pair(&hypothesis)).collect();
            let asked = |at: usize| Asked::Hypothesis {
                names_subject: batch[at].names_subject(&hypothesis),
            };
            let verdicts = self.judged(&pairs, asked).await?;
            self.graph.write(|w| {
                for (claim, verdict) in batch.iter().zip(verdicts) {
                    let verdict = StoredVerdict {
                        judge_id,
                        relation: verdict.relation,
                        confidence: verdict.confidence,
                        ..StoredVerdict::default()
                    };
                    w.put_stance(task_id, &claim.id, &verdict)?;
                }
                Ok(())
            })?;
        }
        Ok(claims.len())
    }

    /// Stores a verdict as the judge gave it, and makes an edge if its confidence is high enough.
    /// The calibration does not affect which edges there are, but how much they count.
    fn record(
        &self,
        w: &Writer<'_>,
        question: &StanceQuestion,
        (verdict, calibrated): (&Verdict, f64),
        cause_id: Option<&str>,
        report: &mut VerifyReport,
    ) -> Result<()> {
        let judge_id = self.judge.judge_id();
        let probabilities = verdict.probabilities.map(probabilities_json);
        let pair = Pair {
            fragment_id: &question.fragment_id,
            claim_id: &question.claim_id,
        };
        let said = StoredVerdict {
            judge_id,
            relation: verdict.relation,
            confidence: verdict.confidence,
            probabilities: probabilities.as_deref(),
            quote: question.quote(verdict),
            cause_id,
            ..StoredVerdict::default()
        };
        w.withdraw_verdict(pair.fragment_id, pair.claim_id)?;
        w.put_verdict(pair, &said)?;
        if verdict.confidence < self.limits.min_confidence {
            return Ok(());
        }
        let mut edge = edge_of(question, judge_id, (verdict, calibrated));
        edge.cause_id = cause_id.map(str::to_owned);
        if w.add_edge(&edge)? {
            match verdict.relation {
                Relation::Supports => report.supports += 1,
                Relation::Refutes => report.refutes += 1,
                _ => report.neutral += 1,
            }
        }
        Ok(())
    }
}

/// Whether the claim is still adopted and the fragment's domain still not blocked.
fn still_wanted(
    reader: &Reader<'_>,
    question: &StanceQuestion,
    rules: &DomainRules,
) -> Result<bool> {
    let is_free = || -> Result<bool> {
        Ok(rules.is_empty() || !candidate(reader, &question.fragment_id)?.is_blocked(rules))
    };
    Ok(reader.is_adopted(&question.claim_id)? && is_free()?)
}
