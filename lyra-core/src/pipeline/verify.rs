//! Verification: each claim against what other sources say of the same thing.

use super::{Pipeline, PremiseChooser, StageOutcome};
use crate::error::{Result, SqliteResultExt};
use crate::graph::{DomainRules, Reader, Writer};
use crate::model::{EdgeRecord, EmbeddingTarget, NodeKind, Relation};
use crate::ports::{StancePair, Verdict};
use crate::text::segment::slice_chars;
use rusqlite::params;
use serde::Serialize;
use std::collections::HashSet;

/// Sentences of a fragment that make the premise.
const PREMISE_SENTENCES: usize = 2;
/// So many times more candidates are fetched, because a claim is nearest to its own document.
const OVERSAMPLING: usize = 4;
/// Claims judged in one transaction.
const BATCH: usize = 16;

/// What a verification run did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Claims looked at.
    pub claims: usize,
    /// Pairs that nobody had judged before.
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

/// A claim with what tells its own source from others.
struct Subject {
    claim_id: String,
    text: String,
    page_id: Option<String>,
    work_id: Option<String>,
}

/// A fragment that may say something about a claim.
struct Candidate {
    fragment_id: String,
    text: String,
    char_start: Option<i64>,
    page_id: String,
    work_id: Option<String>,
    domain: String,
    url: String,
    final_url: Option<String>,
}

/// A pair to be judged.
struct Question {
    claim_id: String,
    fragment_id: String,
    pair: StancePair,
    quote: Option<(i64, i64)>,
}

impl Pipeline {
    /// Judges what is new: every claim of the task against the hypothesis and against fragments of
    /// other sources in the task's pages. Pairs that were judged before are left alone.
    pub async fn verify(&self, task_id: &str, cause_id: Option<&str>) -> Result<StageOutcome> {
        self.embed_missing().await?;
        let mut report = VerifyReport {
            stances: self.judge_stances(task_id).await?,
            ..VerifyReport::default()
        };
        let subjects = self.graph.read(|r| subjects(r, task_id))?;
        report.claims = subjects.len();
        let members = self.graph.read(|r| task_fragments(r, task_id))?;
        for batch in subjects.chunks(BATCH) {
            let questions = self.graph.read(|r| self.questions(r, batch, &members))?;
            let pairs: Vec<StancePair> = questions.iter().map(|q| q.pair.clone()).collect();
            let verdicts = self.judge.judge(&pairs).await?;
            report.pairs_judged += pairs.len();
            self.graph.write(|w| {
                // What a human said while the judge was thinking counts.
                let rules = w.reader().domain_rules()?;
                let (_, calibration) = w.reader().calibration(self.judge.judge_id())?;
                for (question, verdict) in questions.iter().zip(&verdicts) {
                    if still_wanted(&w.reader(), question, &rules)? {
                        let found = (verdict, calibration.apply(verdict.confidence));
                        self.record(w, question, found, cause_id, &mut report)?;
                    }
                }
                Ok(())
            })?;
        }
        let output = serde_json::to_value(&report).unwrap_or_default();
        Ok(StageOutcome {
            output,
            ..StageOutcome::default()
        })
    }

    /// How each claim stands to the hypothesis, for claims that this judge has not looked at.
    async fn judge_stances(&self, task_id: &str) -> Result<usize> {
        let judge_id = self.judge.judge_id().to_owned();
        let (hypothesis, claims) = self.graph.read(|r| {
            let mut statement = r
                .db
                .prepare_cached(
                    "SELECT c.id, c.claim_text FROM claims c
                       LEFT JOIN hypothesis_stances s ON s.claim_id = c.id AND s.judge_id = ?2
                     WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted' AND s.claim_id IS NULL",
                )
                .db()?;
            let rows = statement
                .query_map(params![task_id, judge_id], |r| Ok((r.get(0)?, r.get(1)?)))
                .db()?;
            let claims: Vec<(String, String)> = rows.collect::<rusqlite::Result<_>>().db()?;
            Ok((r.task(task_id)?.hypothesis, claims))
        })?;
        let pairs: Vec<StancePair> = claims
            .iter()
            .map(|(_, text)| StancePair {
                premise: text.clone(),
                hypothesis: hypothesis.clone(),
            })
            .collect();
        let verdicts = self.judge.judge(&pairs).await?;
        self.graph.write(|w| {
            for ((claim_id, _), verdict) in claims.iter().zip(&verdicts) {
                w.put_hypothesis_stance(task_id, claim_id, &judge_id, verdict)?;
            }
            Ok(claims.len())
        })
    }

    fn questions(
        &self,
        reader: &Reader<'_>,
        batch: &[Subject],
        members: &HashSet<String>,
    ) -> Result<Vec<Question>> {
        let model = self.reading.embedder.info();
        let rules = reader.domain_rules()?;
        let mut questions = Vec::new();
        for subject in batch {
            let judged = reader.judged_fragments(&subject.claim_id)?;
            let vectors = reader.vectors_of(
                EmbeddingTarget::Claim,
                &[&subject.claim_id],
                &model.model_id,
            )?;
            let Some(Some(vector)) = vectors.into_iter().next() else {
                continue;
            };
            let near = self.vectors.nearest_fragments(
                reader,
                model,
                &vector,
                members,
                self.limits.verify_candidates * OVERSAMPLING,
            )?;
            let mut looked_at = 0;
            let mut domains: HashSet<String> = HashSet::new();
            let mut pairs = 0;
            for scored in near {
                if pairs == self.limits.verify_pairs || looked_at == self.limits.verify_candidates {
                    break;
                }
                let candidate = candidate(reader, &scored.id)?;
                if candidate.is_blocked(&rules) || is_own_source(subject, &candidate) {
                    continue;
                }
                looked_at += 1;
                // A domain beyond the cap is passed over; the walk goes on.
                let source = candidate.source();
                if domains.len() == self.limits.verify_domains && !domains.contains(&source) {
                    continue;
                }
                domains.insert(source);
                pairs += 1;
                if judged.contains(&scored.id) {
                    continue;
                }
                questions.push(question(self.choose_premise, subject, &candidate));
            }
        }
        Ok(questions)
    }

    /// Remembers a verdict as the judge gave it, and makes an edge of one that it was certain
    /// enough of. Which edges there are does not depend on the calibration; how much they count does.
    fn record(
        &self,
        w: &Writer<'_>,
        question: &Question,
        (verdict, calibrated): (&Verdict, f64),
        cause_id: Option<&str>,
        report: &mut VerifyReport,
    ) -> Result<()> {
        let judge_id = self.judge.judge_id();
        w.remember_verdict(&question.fragment_id, &question.claim_id, judge_id, verdict)?;
        if verdict.confidence < self.limits.min_confidence {
            return Ok(());
        }
        let mut edge = EdgeRecord::between(
            (NodeKind::Fragment, &question.fragment_id),
            verdict.relation,
            (NodeKind::Claim, &question.claim_id),
        );
        edge.nli_label = Some(verdict.relation.as_str().to_owned());
        edge.nli_edge_confidence = Some(calibrated);
        edge.judge_id = Some(judge_id.to_owned());
        edge.cause_id = cause_id.map(str::to_owned);
        if let Some((start, end)) = question.quote {
            edge.quote_start = Some(start);
            edge.quote_end = Some(end);
        }
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

impl Candidate {
    /// Whom the candidate counts for. Local files without a publisher, and what is known by its DOI
    /// alone, are each their own source: neither a disk nor a resolver publishes anything.
    fn source(&self) -> String {
        if matches!(self.domain.as_str(), "local" | "doi.org") {
            self.page_id.clone()
        } else {
            self.domain.clone()
        }
    }
}

impl Candidate {
    fn is_blocked(&self, rules: &DomainRules) -> bool {
        rules
            .blocking_page(&self.url, self.final_url.as_deref(), Some(&self.domain))
            .is_some()
    }
}

/// Whether the claim is still adopted and the fragment's domain still free.
fn still_wanted(reader: &Reader<'_>, question: &Question, rules: &DomainRules) -> Result<bool> {
    let is_adopted = reader
        .db
        .prepare_cached("SELECT 1 FROM claims WHERE id = ?1 AND claim_adoption_status = 'adopted'")
        .db()?
        .exists([&question.claim_id])
        .db()?;
    let is_free = || -> Result<bool> {
        Ok(rules.is_empty() || !candidate(reader, &question.fragment_id)?.is_blocked(rules))
    };
    Ok(is_adopted && is_free()?)
}

/// Evidence from the page or the work that a claim was read in says nothing new about it.
fn is_own_source(subject: &Subject, candidate: &Candidate) -> bool {
    subject.page_id.as_deref() == Some(candidate.page_id.as_str())
        || (subject.work_id.is_some() && subject.work_id == candidate.work_id)
}

fn question(choose_premise: PremiseChooser, subject: &Subject, candidate: &Candidate) -> Question {
    let mut spans = choose_premise(&candidate.text, &subject.text, PREMISE_SENTENCES);
    let deciding = spans.first().cloned();
    spans.sort_by_key(|span| span.start);
    let parts: Vec<&str> = spans
        .iter()
        .filter_map(|s| slice_chars(&candidate.text, s.start, s.end))
        .collect();
    let premise = if parts.is_empty() {
        candidate.text.clone()
    } else {
        parts.join(" ")
    };
    let to_i64 = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let quote = candidate
        .char_start
        .zip(deciding)
        .map(|(offset, span)| (offset + to_i64(span.start), offset + to_i64(span.end)));
    Question {
        claim_id: subject.claim_id.clone(),
        fragment_id: candidate.fragment_id.clone(),
        pair: StancePair {
            premise,
            hypothesis: subject.text.clone(),
        },
        quote,
    }
}

fn subjects(reader: &Reader<'_>, task_id: &str) -> Result<Vec<Subject>> {
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT c.id, c.claim_text, p.id, p.canonical_id FROM claims c
               LEFT JOIN edges o ON o.target_id = c.id AND o.relation = 'origin'
               LEFT JOIN fragments f ON f.id = o.source_id
               LEFT JOIN pages p ON p.id = f.page_id
             WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted'
             GROUP BY c.id ORDER BY c.seq",
        )
        .db()?;
    let rows = statement
        .query_map([task_id], |r| {
            Ok(Subject {
                claim_id: r.get(0)?,
                text: r.get(1)?,
                page_id: r.get(2)?,
                work_id: r.get(3)?,
            })
        })
        .db()?;
    rows.collect::<rusqlite::Result<_>>().db()
}

/// The readable fragments of the newest texts of the task's pages; retracted works are no evidence.
fn task_fragments(reader: &Reader<'_>, task_id: &str) -> Result<HashSet<String>> {
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT f.id FROM task_pages tp
               JOIN pages p ON p.id = tp.page_id
               JOIN fragments f ON f.page_id = p.id
               LEFT JOIN works w ON w.canonical_id = p.canonical_id
             WHERE tp.task_id = ?1 AND f.fragment_type NOT IN ('heading', 'code')
               AND coalesce(w.is_retracted, 0) = 0
               AND f.page_version IS (SELECT max(version) FROM page_texts t WHERE t.page_id = p.id)",
        )
        .db()?;
    let rows = statement.query_map([task_id], |r| r.get(0)).db()?;
    rows.collect::<rusqlite::Result<_>>().db()
}

fn candidate(reader: &Reader<'_>, fragment_id: &str) -> Result<Candidate> {
    reader
        .db
        .prepare_cached(
            "SELECT f.id, f.text_content, f.char_start, p.id, p.canonical_id, coalesce(p.domain, 'local'),
               p.url, p.final_url
             FROM fragments f JOIN pages p ON p.id = f.page_id WHERE f.id = ?1",
        )
        .db()?
        .query_row([fragment_id], |r| {
            Ok(Candidate {
                fragment_id: r.get(0)?,
                text: r.get(1)?,
                char_start: r.get(2)?,
                page_id: r.get(3)?,
                work_id: r.get(4)?,
                domain: r.get(5)?,
                url: r.get(6)?,
                final_url: r.get(7)?,
            })
        })
        .db()
}
