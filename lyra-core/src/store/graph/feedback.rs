//! Human corrections. Each is stored in one transaction with a record of who changed what, when and why,
//! and of the previous value.

use super::blocked_evidence::{self, EXCLUDED_SOURCE, Moved};
use super::domain_rules::RuleAction;
use super::handles::{Reader, Writer};
use super::verdicts::{AGENT_PREFIX, Pair, StoredVerdict};
use super::{CalibrationFit, DomainPattern};
use crate::error::{Error, ErrorKind, Result};
use crate::store::database::Statements;
use crate::store::model::{Relation, random_id};
use rusqlite::params;
use serde::Serialize;
use serde_json::{Value, json};

/// A correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Feedback {
    /// Corrects or confirms the judge's verdict of a fragment on a claim.
    EdgeCorrect {
        /// An edge with a verdict.
        edge_id: String,
        /// Supports, refutes or neutral.
        correct_relation: Relation,
        /// Why.
        reason: Option<String>,
    },
    /// Rejects a claim, so that it is not counted.
    ClaimReject {
        /// The claim.
        claim_id: String,
        /// Why.
        reason: String,
    },
    /// Restores a rejected claim.
    ClaimRestore {
        /// The claim.
        claim_id: String,
        /// Why.
        reason: Option<String>,
    },
    /// Blocks a domain: it is not queued, fetched or used as evidence.
    DomainBlock {
        /// See [`DomainPattern`].
        domain_pattern: String,
        /// Why.
        reason: String,
    },
    /// Allows a domain, whatever older rules say.
    DomainUnblock {
        /// See [`DomainPattern`].
        domain_pattern: String,
        /// Why.
        reason: String,
    },
    /// Ends all rules with exactly this pattern.
    DomainClearOverride {
        /// See [`DomainPattern`].
        domain_pattern: String,
        /// Why.
        reason: String,
    },
}

/// The result of a correction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FeedbackReport {
    /// `edge_correct`, `claim_reject`, `claim_restore`, `domain_block`, `domain_unblock` or
    /// `domain_clear_override`.
    pub action: String,
    /// The edge, if an edge was corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edge_id: Option<String>,
    /// The claim, if a claim was corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<String>,
    /// The pattern in its normal form, if a domain rule was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_pattern: Option<String>,
    /// The previous relation, adoption status or rule (`block`, `allow`, none).
    pub previous: Option<String>,
    /// The current value.
    pub current: Option<String>,
    /// Number of rows that changed.
    pub affected_count: usize,
    /// A one-sentence summary.
    pub message: String,
}

/// Confidence of an agent's correction.
pub(super) const AGENTS_CONFIDENCE: f64 = 0.9;

/// One line of the log.
struct LogEntry<'a> {
    action: &'a str,
    target: (&'a str, &'a str),
    task_id: Option<&'a str>,
    reason: Option<&'a str>,
    previous: Value,
}

impl Feedback {
    /// The name of the action in the log and in JSON.
    pub const fn action(&self) -> &'static str {
        match self {
            Self::EdgeCorrect { .. } => "edge_correct",
            Self::ClaimReject { .. } => "claim_reject",
            Self::ClaimRestore { .. } => "claim_restore",
            Self::DomainBlock { .. } => "domain_block",
            Self::DomainUnblock { .. } => "domain_unblock",
            Self::DomainClearOverride { .. } => "domain_clear_override",
        }
    }
}

impl Writer<'_> {
    /// Applies a correction and logs it. `actor` is the author of the correction; names of agents begin
    /// with `agent:`, and their verdicts do not count as human verdicts.
    ///
    /// # Errors
    ///
    /// `NotFound` for an unknown edge, claim or rule; `InvalidInput` for an edge without a verdict, a
    /// relation that is not a verdict, an empty reason and an invalid domain pattern.
    pub fn apply_feedback(&self, feedback: &Feedback, actor: &str) -> Result<FeedbackReport> {
        let action = feedback.action();
        match feedback {
            Feedback::EdgeCorrect {
                edge_id,
                correct_relation,
                reason,
            } => self.correct_edge(edge_id, *correct_relation, reason.as_deref(), actor),
            Feedback::ClaimReject { claim_id, reason } => {
                self.set_adoption(action, claim_id, Some(required(reason)?), false, actor)
            }
            Feedback::ClaimRestore { claim_id, reason } => {
                self.set_adoption(action, claim_id, reason.as_deref(), true, actor)
            }
            Feedback::DomainBlock {
                domain_pattern,
                reason,
            } => self.set_rule(
                action,
                domain_pattern,
                reason,
                Some(RuleAction::Block),
                actor,
            ),
            Feedback::DomainUnblock {
                domain_pattern,
                reason,
            } => self.set_rule(
                action,
                domain_pattern,
                reason,
                Some(RuleAction::Allow),
                actor,
            ),
            Feedback::DomainClearOverride {
                domain_pattern,
                reason,
            } => self.set_rule(action, domain_pattern, reason, None, actor),
        }
    }

    fn correct_edge(
        &self,
        edge_id: &str,
        correct: Relation,
        reason: Option<&str>,
        actor: &str,
    ) -> Result<FeedbackReport> {
        if !correct.is_nli() {
            return Err(Error::invalid(format!(
                "correct_relation is {correct}; expected supports, refutes or neutral"
            )));
        }
        let edge = self.reader().verdict_edge(edge_id)?;
        let decides = match actor.starts_with(AGENT_PREFIX) {
            true => self.store_agents_word(&edge, correct, reason, actor)?,
            false => self
                .store_correction(edge_id, &edge, correct, reason)
                .map(|()| true)?,
        };
        self.log_feedback(
            actor,
            &LogEntry {
                action: "edge_correct",
                target: ("edge", edge_id),
                task_id: edge.task_id.as_deref(),
                reason,
                previous: edge.previous.clone(),
            },
        )?;
        let current = if decides { correct } else { edge.relation };
        Ok(FeedbackReport {
            action: "edge_correct".to_owned(),
            edge_id: Some(edge_id.to_owned()),
            previous: Some(edge.relation.to_string()),
            current: Some(current.to_string()),
            affected_count: usize::from(decides),
            message: self.told(&edge, correct, (actor, decides))?,
            ..FeedbackReport::default()
        })
    }

    /// A one-sentence summary of the result. A human's correction is also a sample for the calibration.
    fn told(
        &self,
        edge: &VerdictEdge,
        correct: Relation,
        (actor, decides): (&str, bool),
    ) -> Result<String> {
        let is_agent = actor.starts_with(AGENT_PREFIX);
        let message = match (edge.relation == correct, is_agent) {
            _ if !decides => {
                format!(
                    "a human has said {}, which an agent does not change; the verdict is kept",
                    edge.relation
                )
            }
            (true, true) => format!("the edge stays {correct}, now confirmed by an agent"),
            (true, false) => format!("the edge stays {correct}, now confirmed by a human"),
            (false, _) => format!("the edge is {correct} instead of {}", edge.relation),
        };
        if is_agent {
            return Ok(message);
        }
        Ok(match self.recalibrate(edge.judge_id.as_deref())? {
            Some(fit) if fit.is_active => format!(
                "{message}; version {} of the judge's calibration is in force from now on",
                fit.version
            ),
            _ => message,
        })
    }

    /// Stores an agent's correction of an edge as the verdict of a judge: it is not a human correction,
    /// and no calibration is fitted to it.
    fn store_agents_word(
        &self,
        edge: &VerdictEdge,
        correct: Relation,
        reason: Option<&str>,
        actor: &str,
    ) -> Result<bool> {
        let verdict = StoredVerdict {
            judge_id: actor,
            relation: correct,
            confidence: AGENTS_CONFIDENCE,
            quote: edge.quote,
            reason,
            ..StoredVerdict::default()
        };
        self.put_verdict(edge.pair(), &verdict)?;
        self.let_decide(edge.pair(), &verdict)
    }

    /// Stores the judge's input and answer, and gives the edge the human's relation.
    fn store_correction(
        &self,
        edge_id: &str,
        edge: &VerdictEdge,
        correct: Relation,
        reason: Option<&str>,
    ) -> Result<()> {
        self.db
            .run("INSERT INTO nli_corrections (id, edge_id, task_id, premise, hypothesis, predicted_relation,
                   predicted_confidence, correct_relation, judge_id, reason, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)", params![
                random_id("corr_", 12),
                edge_id,
                edge.task_id,
                edge.premise,
                edge.hypothesis,
                edge.predicted,
                edge.raw_confidence,
                correct,
                edge.judge_id,
                reason,
                self.now
            ])?;
        // A human's verdict has full confidence; the judge's verdict stays in nli_label, in nli_verdicts
        // and in nli_corrections.
        self.db.run(
            "UPDATE edges SET relation = ?2, nli_edge_confidence = 1.0, edge_human_corrected = 1,
                   edge_correction_reason = ?3, edge_corrected_at = ?4,
                   nli_label = coalesce(nli_label, ?5)
                 WHERE id = ?1",
            params![edge_id, correct, reason, self.now, edge.predicted],
        )?;
        let verdict = StoredVerdict {
            relation: correct,
            quote: edge.quote,
            reason,
            ..StoredVerdict::default()
        };
        self.put_verdict(edge.pair(), &verdict)
    }

    /// Every correction is a further sample for the calibration. A failed fit does not make the
    /// correction fail.
    fn recalibrate(&self, judge_id: Option<&str>) -> Result<Option<CalibrationFit>> {
        match judge_id.map(|judge_id| self.fit_calibration(judge_id)) {
            None => Ok(None),
            Some(Err(e)) if e.kind() == ErrorKind::Calibration => Ok(None),
            Some(fitted) => fitted,
        }
    }

    fn set_adoption(
        &self,
        action: &str,
        claim_id: &str,
        reason: Option<&str>,
        is_adopted: bool,
        actor: &str,
    ) -> Result<FeedbackReport> {
        let (task_id, status, before) = self.reader().adoption(claim_id)?;
        let current = if is_adopted { "adopted" } else { "not_adopted" };
        let is_change = status != current;
        if is_adopted && is_excluded(&before) {
            return Err(Error::invalid(format!(
                "claim_id: {claim_id} was read in a source that screening has excluded"
            ))
            .with_hint("include the source again, and its claims come back"));
        }
        if is_change || !is_adopted {
            self.db.run(
                "UPDATE claims SET claim_adoption_status = ?2, claim_rejection_reason = ?3,
                       claim_rejected_at = ?4 WHERE id = ?1",
                params![
                    claim_id,
                    current,
                    reason.filter(|_| !is_adopted),
                    (!is_adopted).then_some(&self.now)
                ],
            )?;
        }
        self.log_feedback(
            actor,
            &LogEntry {
                action,
                target: ("claim", claim_id),
                task_id: Some(&task_id),
                reason,
                previous: before,
            },
        )?;
        let message = match (is_adopted, is_change) {
            (false, true) => "the claim has left views, search, verification and counts",
            (false, false) => "the claim was rejected before; it has the new reason",
            (true, true) => "the claim is back in views, search, verification and counts",
            (true, false) => "the claim was not rejected; nothing has changed",
        };
        Ok(FeedbackReport {
            action: action.to_owned(),
            claim_id: Some(claim_id.to_owned()),
            previous: Some(status),
            current: Some(current.to_owned()),
            affected_count: usize::from(is_change),
            message: message.to_owned(),
            ..FeedbackReport::default()
        })
    }

    fn set_rule(
        &self,
        action: &str,
        pattern: &str,
        reason: &str,
        rule: Option<RuleAction>,
        actor: &str,
    ) -> Result<FeedbackReport> {
        let reason = required(reason)?;
        let pattern = DomainPattern::parse(pattern)?;
        let previous = self.reader().rule_of_pattern(&pattern)?;
        let name = pattern.as_str();
        let (affected_count, mut message) = match rule {
            Some(rule) => {
                let rows = self.add_domain_rule(&pattern, rule, reason, actor)?;
                let effect = match rule {
                    RuleAction::Block => "is not queued, fetched or used as evidence any more",
                    RuleAction::Allow => {
                        "may be queued, fetched and used, whatever older rules say"
                    }
                };
                (rows, format!("{name} {effect}"))
            }
            None if previous.is_none() => {
                return Err(Error::not_found(format!("domain_pattern: no rule is about {name:?}")).with_hint(
                    "get_status with detail full lists the rules in domain_overrides; the pattern \
                     must be exactly that of the rule",
                ));
            }
            None => {
                let rows = self.end_domain_rules(&pattern)?;
                (rows, format!("no rule is about {name} any more"))
            }
        };
        message += &moved_in_words(blocked_evidence::settle(self.db, &self.now)?);
        self.log_feedback(
            actor,
            &LogEntry {
                action,
                target: ("domain", name),
                task_id: None,
                reason: Some(reason),
                previous: json!({ "rule": previous }),
            },
        )?;
        Ok(FeedbackReport {
            action: action.to_owned(),
            domain_pattern: Some(name.to_owned()),
            previous,
            current: rule.map(|rule| rule.as_str().to_owned()),
            affected_count,
            message,
            ..FeedbackReport::default()
        })
    }

    fn log_feedback(&self, actor: &str, entry: &LogEntry<'_>) -> Result<()> {
        let (kind, id) = entry.target;
        self.db.run(
            "INSERT INTO feedback_log (action, target_type, target_id, task_id, actor, reason,
                   previous_json, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                entry.action,
                kind,
                id,
                entry.task_id,
                actor,
                entry.reason,
                entry.previous.to_string(),
                self.now
            ],
        )?;
        let details = json!({ "reason": entry.reason, "previous": entry.previous });
        self.log_event(actor, entry.action, entry.task_id, Some(id), &details)
    }
}

/// Whether a claim is rejected because its source is excluded.
fn is_excluded(adoption: &Value) -> bool {
    let reason = adoption["claim_rejection_reason"].as_str();
    reason.is_some_and(|reason| reason.starts_with(EXCLUDED_SOURCE))
}

pub(super) fn required(reason: &str) -> Result<&str> {
    match reason.trim() {
        "" => Err(
            Error::invalid("reason is empty; it is kept in the log, so say why")
                .with_hint("give a reason: --reason on the command line, reason elsewhere"),
        ),
        reason => Ok(reason),
    }
}

/// An edge with a verdict, and the judge's input and answer.
struct VerdictEdge {
    fragment_id: String,
    claim_id: String,
    /// Range of the judged words in the page's text.
    quote: Option<(i64, i64)>,
    task_id: Option<String>,
    premise: String,
    hypothesis: String,
    relation: Relation,
    predicted: Relation,
    raw_confidence: Option<f64>,
    judge_id: Option<String>,
    previous: Value,
}

impl VerdictEdge {
    fn pair(&self) -> Pair<'_> {
        Pair {
            fragment_id: &self.fragment_id,
            claim_id: &self.claim_id,
        }
    }
}

/// An edge, its ends as the judge saw them, and the judge's answer. After a human correction, the
/// judge's relation is in nli_label; its uncalibrated confidence is in the stored verdicts.
const VERDICT: &str = "SELECT c.task_id,
  coalesce(substr(t.text, e.quote_start + 1, e.quote_end - e.quote_start), f.text_content, ''),
  coalesce(c.claim_text, ''), e.relation,
  CASE WHEN e.nli_label IN ('supports', 'refutes', 'neutral') THEN e.nli_label ELSE e.relation END,
  coalesce(v.confidence, (SELECT n.predicted_confidence FROM nli_corrections n
    WHERE n.edge_id = e.id ORDER BY n.created_at DESC, n.rowid DESC LIMIT 1),
    CASE e.edge_human_corrected WHEN 0 THEN e.nli_edge_confidence END),
  e.judge_id, e.nli_edge_confidence, e.edge_human_corrected, e.edge_correction_reason,
  e.edge_corrected_at, e.source_id, e.target_id, e.quote_start, e.quote_end
FROM edges e
  LEFT JOIN claims c ON c.id = e.target_id
  LEFT JOIN fragments f ON f.id = e.source_id
  LEFT JOIN page_texts t ON t.page_id = f.page_id AND t.version = f.page_version
  LEFT JOIN nli_verdicts v ON v.claim_id = e.target_id AND v.fragment_id = e.source_id
    AND v.judge_id = e.judge_id
WHERE e.id = ?1";

impl Reader<'_> {
    fn verdict_edge(&self, edge_id: &str) -> Result<VerdictEdge> {
        let relation: Option<Relation> =
            self.db
                .first("SELECT relation FROM edges WHERE id = ?1", [edge_id], |r| {
                    r.get(0)
                })?;
        match relation {
            None => {
                return Err(Error::not_found(format!("edge_id: no edge {edge_id:?}"))
                    .with_hint("v_evidence_chain lists the edges of a task with their ids"));
            }
            Some(relation) if !relation.is_nli() => {
                return Err(Error::invalid(format!(
                    "edge_id: {edge_id} is an edge of the kind {relation}, which has no verdict"
                ))
                .with_hint("edges with supports, refutes or neutral can be corrected"));
            }
            Some(_) => {}
        }
        self.db.one(VERDICT, [edge_id], |r| {
            let relation: Relation = r.get(3)?;
            Ok(VerdictEdge {
                fragment_id: r.get(11)?,
                claim_id: r.get(12)?,
                quote: r.get::<_, Option<i64>>(13)?.zip(r.get(14)?),
                task_id: r.get(0)?,
                premise: r.get(1)?,
                hypothesis: r.get(2)?,
                relation,
                predicted: r.get(4)?,
                raw_confidence: r.get(5)?,
                judge_id: r.get(6)?,
                previous: json!({
                    "relation": relation,
                    "nli_edge_confidence": r.get::<_, Option<f64>>(7)?,
                    "edge_human_corrected": r.get::<_, bool>(8)?,
                    "edge_correction_reason": r.get::<_, Option<String>>(9)?,
                    "edge_corrected_at": r.get::<_, Option<String>>(10)?,
                }),
            })
        })
    }

    fn adoption(&self, claim_id: &str) -> Result<(String, String, Value)> {
        self.db
            .first(
                "SELECT task_id, claim_adoption_status, claim_rejection_reason, claim_rejected_at
                 FROM claims WHERE id = ?1",
                [claim_id],
                |r| {
                    let (task_id, status): (String, String) = (r.get(0)?, r.get(1)?);
                    let before = json!({
                        "claim_adoption_status": status,
                        "claim_rejection_reason": r.get::<_, Option<String>>(2)?,
                        "claim_rejected_at": r.get::<_, Option<String>>(3)?,
                    });
                    Ok((task_id, status, before))
                },
            )?
            .ok_or_else(|| {
                Error::not_found(format!("claim_id: no claim {claim_id:?}")).with_hint(
                    "v_claim_evidence_summary with include_rejected lists all claims of a task",
                )
            })
    }
}
fn moved_in_words(moved: Moved) -> String {
    let Moved { set_aside, back } = moved;
    match (set_aside, back) {
        (0, 0) => String::new(),
        (set_aside, 0) => format!("; {set_aside} verdict(s) based on it no longer count"),
        (0, back) => format!("; {back} verdict(s) count again"),
        (set_aside, back) => {
            format!("; {set_aside} verdict(s) no longer count, {back} count again")
        }
    }
}
