//! The pairs that verification judges, as values: they are made next to the graph and can be judged anywhere.

use super::super::stages::Pipeline;
use super::candidate_pair::CandidatePair;
use super::judging::{BATCH, edge_of, judged_by, probabilities_json};
use super::questions::StanceQuestion;
use super::sources::{Subject, subjects};
use crate::error::{Error, Result};
use crate::ports::{StanceJudge, StancePair, Verdict};
use crate::store::confidence::Calibration;
use crate::store::graph::{Reader, UnjudgedClaim};
use serde_json::{Map, Value, json};
use std::collections::{HashSet, VecDeque};

/// Pairs given to a judge in one call.
const ASKED_AT_ONCE: usize = 64;

/// Largest batch of [`Pipeline::candidate_pairs`].
const MAX_BATCH: usize = 65_536;

/// Options for [`judge_pairs`].
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeRequest {
    /// The confidence from which a verdict becomes an edge, 0 to 1: `min_confidence` of
    /// [`Limits`](super::super::Limits).
    pub min_confidence: f64,
    /// The time of the verdicts, RFC 3339.
    pub now: String,
}

/// Judges pairs as [`Pipeline::verify`] does, without a graph. Returns records of the interchange
/// format: a `hypothesis_stance` for each claim that was judged against its hypothesis; for each
/// passage and claim a `verdict`, and an `edge` if the verdict's confidence is high enough. Adding
/// them to the graph that the pairs came from gives the graph that `verify` would have made,
/// however the pairs were divided.
///
/// # Errors
/// `InvalidInput` for pairs that were made for another judge; also the errors of the judge.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use lyra_core::models::BuiltinStanceJudge;
/// use lyra_core::ports::StanceJudge;
/// use lyra_core::research::pipeline::{CandidatePair, JudgeRequest, judge_pairs};
/// let pair = CandidatePair {
///     task_id: "task_1".into(),
///     claim_id: "claim_1".into(),
///     fragment_id: Some("frag_1".into()),
///     judge_id: BuiltinStanceJudge.judge_id().into(),
///     premise: "Night work did not shorten sleep in 80 drivers.".into(),
///     statement: "Night work shortens sleep".into(),
///     ..CandidatePair::default()
/// };
/// let how = JudgeRequest { min_confidence: 0.0, now: "2026-01-01T00:00:00Z".into() };
/// let records = judge_pairs(&BuiltinStanceJudge, &[pair], &how).await?;
/// assert_eq!(records[0]["type"], "verdict");
/// assert_eq!(records[1]["relation"], "refutes");
/// # Ok::<(), lyra_core::Error>(()) }).unwrap();
/// ```
pub async fn judge_pairs(
    judge: &dyn StanceJudge,
    pairs: &[CandidatePair],
    how: &JudgeRequest,
) -> Result<Vec<Map<String, Value>>> {
    let judge_id = judge.judge_id();
    if let Some(other) = pairs.iter().find(|pair| pair.judge_id != judge_id) {
        let message = format!(
            "the pairs were made for the judge {:?}, and this is {judge_id:?}",
            other.judge_id
        );
        return Err(Error::invalid(message)
            .with_hint("open the graph, and judge its pairs, with the same judge"));
    }
    let mut records = Vec::with_capacity(2 * pairs.len());
    for pairs in pairs.chunks(ASKED_AT_ONCE) {
        let questions: Vec<StancePair> = pairs.iter().map(CandidatePair::question).collect();
        let verdicts = judged_by(judge, &questions, |at| pairs[at].asked()).await?;
        for (pair, verdict) in pairs.iter().zip(verdicts) {
            match StanceQuestion::of_pair(pair) {
                None => records.push(stance_record(pair, &verdict, how)),
                Some(question) => {
                    let verdict = question.held(verdict);
                    records.extend(verdict_records(pair, &question, &verdict, how)?);
                }
            }
        }
    }
    Ok(records)
}

fn stance_record(
    pair: &CandidatePair,
    verdict: &Verdict,
    how: &JudgeRequest,
) -> Map<String, Value> {
    record(
        "hypothesis_stance",
        json!({
            "claim_id": pair.claim_id,
            "task_id": pair.task_id,
            "relation": verdict.relation,
            "confidence": verdict.confidence,
            "judge_id": pair.judge_id,
            "created_at": how.now,
        }),
    )
}

fn verdict_records(
    pair: &CandidatePair,
    question: &StanceQuestion,
    verdict: &Verdict,
    how: &JudgeRequest,
) -> Result<Vec<Map<String, Value>>> {
    let quote = question.quote(verdict);
    let said = json!({
        "fragment_id": question.fragment_id,
        "claim_id": question.claim_id,
        "judge_id": pair.judge_id,
        "relation": verdict.relation,
        "confidence": verdict.confidence,
        "created_at": how.now,
        "probabilities": verdict.probabilities.map(probabilities_json),
        "quote_start": quote.map(|(start, _)| start),
        "quote_end": quote.map(|(_, end)| end),
    });
    let mut records = vec![record("verdict", said)];
    if verdict.confidence >= how.min_confidence {
        let calibration = pair.calibration.unwrap_or(Calibration::None);
        let calibrated = calibration.apply(verdict.confidence);
        let mut edge = edge_of(question, &pair.judge_id, (verdict, calibrated));
        edge.created_at = Some(how.now.clone());
        let fields = serde_json::to_value(edge)
            .map_err(|e| Error::internal("an edge is not JSON").with_source(e))?;
        records.push(record("edge", fields));
    }
    Ok(records)
}

/// A line of the interchange format; fields without a value are omitted.
fn record(tag: &str, fields: Value) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert("type".to_owned(), tag.into());
    if let Value::Object(fields) = fields {
        line.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    line
}

/// The pairs of a task in batches, produced lazily; the iterator ends after an error. See
/// [`Pipeline::candidate_pairs`].
#[derive(Debug)]
pub struct CandidatePairs {
    pipeline: Pipeline,
    task_id: String,
    hypothesis: String,
    calibration: Option<Calibration>,
    stances: VecDeque<UnjudgedClaim>,
    subjects: VecDeque<Subject>,
    members: HashSet<String>,
    ready: VecDeque<CandidatePair>,
    batch: usize,
}

impl Pipeline {
    /// The pairs that [`verify`](Self::verify) would judge, in batches of at most `batch` (1 to
    /// 65,536): claims against the hypothesis first, then passages against claims. Pairs with a
    /// verdict of any judge in the graph are left out. Vectors of fragments and claims that are
    /// missing are computed first.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use lyra_core::{Engine, EngineConfig, TaskConfig};
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
    /// // Nothing has been read yet.
    /// assert_eq!(engine.pipeline().candidate_pairs(&task.id, 64).await?.count(), 0);
    /// # Ok::<(), lyra_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `TaskNotFound`; `InvalidInput` for a batch out of range.
    pub async fn candidate_pairs(&self, task_id: &str, batch: usize) -> Result<CandidatePairs> {
        if !(1..=MAX_BATCH).contains(&batch) {
            let message = format!("the batch has {batch} pairs; expected 1 to {MAX_BATCH}");
            return Err(Error::invalid(message));
        }
        let hypothesis = self.graph.read(|r| r.task(task_id))?.hypothesis;
        if !self.graph.is_read_only() {
            self.embed_missing().await?;
        }
        self.graph.read(|r| {
            let mut stances = VecDeque::from(r.claims_without_stance(task_id, None)?);
            let said = r.placed_claims(task_id)?;
            stances.retain(|claim| !said.contains(&claim.id));
            let (_, calibration) = r.calibration(self.judge.judge_id())?;
            Ok(CandidatePairs {
                pipeline: self.clone(),
                task_id: task_id.to_owned(),
                hypothesis,
                calibration: Some(calibration).filter(|known| *known != Calibration::None),
                stances,
                subjects: subjects(r, task_id)?.into(),
                members: r.task_fragments(task_id)?,
                ready: VecDeque::new(),
                batch,
            })
        })
    }
}

impl CandidatePairs {
    /// Makes more pairs; returns whether there may be more to come.
    fn fill(&mut self) -> Result<bool> {
        if !self.stances.is_empty() {
            let claims = self.stances.drain(..self.batch.min(self.stances.len()));
            let made = claims.map(|claim| CandidatePair::of_claim(&claim, &self.hypothesis));
            self.ready.extend(made);
            return Ok(true);
        }
        let claims: Vec<Subject> = self
            .subjects
            .drain(..BATCH.min(self.subjects.len()))
            .collect();
        let claims: Vec<&Subject> = claims.iter().collect();
        let pipeline = &self.pipeline;
        let made = pipeline.graph.read(|r| {
            let questions = pipeline.questions(r, &claims, &self.members)?;
            without_verdicts(r, questions)
        })?;
        self.ready
            .extend(made.into_iter().map(StanceQuestion::into_pair));
        Ok(!claims.is_empty())
    }

    fn named(&self, mut pair: CandidatePair) -> CandidatePair {
        pair.task_id.clone_from(&self.task_id);
        self.pipeline
            .judge
            .judge_id()
            .clone_into(&mut pair.judge_id);
        if pair.fragment_id.is_some() {
            pair.calibration = self.calibration;
            pair.hypothesis = Some(self.hypothesis.clone());
        }
        pair
    }
}

/// Omits pairs that have a verdict: adding records keeps existing edges, so a verdict of another
/// judge could not replace them.
fn without_verdicts(
    reader: &Reader<'_>,
    questions: Vec<StanceQuestion>,
) -> Result<Vec<StanceQuestion>> {
    let mut kept = Vec::with_capacity(questions.len());
    for question in questions {
        if !reader.has_verdict(&question.fragment_id, &question.claim_id)? {
            kept.push(question);
        }
    }
    Ok(kept)
}

impl Iterator for CandidatePairs {
    type Item = Result<Vec<CandidatePair>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.len() < self.batch {
            match self.fill() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.subjects.clear();
                    self.stances.clear();
                    self.ready.clear();
                    return Some(Err(error));
                }
            }
        }
        let next: Vec<CandidatePair> = self
            .ready
            .drain(..self.batch.min(self.ready.len()))
            .collect();
        if next.is_empty() {
            return None;
        }
        Some(Ok(next.into_iter().map(|pair| self.named(pair)).collect()))
    }
}
