//! Feedback, pages that need a human, calibration.

use super::EvidenceGraph;
use super::open::records;
use crate::argument;
use crate::convert;
use crate::error::{invalid, raise};
use crate::waiting::{patient, quick};
use lyra_core::store::graph::{
    Feedback, Judgement, JudgementFocus, JudgementRequest, agent_judge_id,
};
use lyra_core::{AuthAction, AuthTarget, Cookies};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

#[pymethods]
impl EvidenceGraph {
    /// Applies a correction and logs it.
    ///
    /// | action | needs |
    /// |---|---|
    /// | edge_correct | edge_id, correct_relation (supports, refutes, neutral) |
    /// | claim_reject | claim_id, reason |
    /// | claim_restore | claim_id |
    /// | domain_block, domain_unblock, domain_clear_override | domain_pattern, reason |
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> report = graph.feedback("domain_block", domain_pattern="*.example.org", reason="adverts")
    /// >>> report.previous, report.current
    /// (None, 'block')
    #[pyo3(signature = (action, *, edge_id=None, correct_relation=None, claim_id=None, domain_pattern=None, reason=None, actor="user"))]
    #[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
    fn feedback<'py>(
        &self,
        py: Python<'py>,
        action: &str,
        edge_id: Option<String>,
        correct_relation: Option<String>,
        claim_id: Option<String>,
        domain_pattern: Option<String>,
        reason: Option<String>,
        actor: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Given {
            edge_id,
            correct_relation,
            claim_id,
            domain_pattern,
            reason,
        };
        let feedback = given.correction(action)?;
        let actor = who(actor)?;
        let engine = self.engine()?;
        let report = patient(py, move || engine.feedback(&feedback, &actor))?;
        convert::report(py, "Report", &report)
    }

    /// Lends the pairs of passage and claim whose verdicts matter most to a person or a model that judges
    /// better than the built-in judge. Each pair has pair_id, kind, claim, passage, source, lease_until.
    /// docs/judges.md.
    ///
    /// `focus` is "all", "uncertain", "disputed" or "hypothesis"; the lease of a pair lasts
    /// `lease_seconds`.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> graph.judgements(graph.create_task("Night work shortens sleep"))
    /// Rows([])
    #[pyo3(signature = (task_id, limit=10, *, focus="all", lease_seconds=600))]
    fn judgements<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        limit: usize,
        focus: &str,
        lease_seconds: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let foci = [
            ("all", JudgementFocus::All),
            ("uncertain", JudgementFocus::Uncertain),
            ("disputed", JudgementFocus::Disputed),
            ("hypothesis", JudgementFocus::Hypothesis),
        ];
        let request = JudgementRequest {
            task_id,
            limit,
            focus: convert::one_of("focus", focus, &foci)?,
            lease_seconds,
        };
        let engine = self.engine()?;
        let pairs = patient(py, move || engine.lend_judgements(&request))?;
        let columns = [
            "pair_id",
            "kind",
            "claim",
            "assertion",
            "passage",
            "heading",
            "source",
            "lease_until",
        ];
        records(py, &pairs, &columns)
    }

    /// Stores verdicts on lent pairs as those of an agent. Each judgement is a dict of pair_id,
    /// relation, quote (the deciding words of the passage; for supports and refutes), confidence and
    /// reason; each is stored or refused independently of the others.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> report = graph.submit_judgements(task, [{"pair_id": "pair_0", "relation": "neutral"}], "my-model")
    /// >>> report.stored, len(report.refused), report.judge_id
    /// (0, 1, 'agent:python:my-model')
    #[pyo3(signature = (task_id, judgements, model, *, client="python"))]
    fn submit_judgements<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        judgements: &Bound<'py, PyAny>,
        model: &str,
        client: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let judgements: Vec<Judgement> =
            serde_json::from_value(convert::value("judgements", judgements)?)
                .map_err(|error| invalid(format!("judgements: {error}")))?;
        let judge_id = agent_judge_id(client, model).map_err(raise)?;
        let engine = self.engine()?;
        let report = patient(py, move || {
            engine.submit_judgements(&task_id, &judge_id, &judgements)
        })?;
        convert::report(py, "Report", &report)
    }

    /// The pages that require a human first: a challenge, a login, a cookie wall.
    ///
    /// `group_by` is "none" (rows), "domain" or "type" (a dict of rows); `priority_filter` is "all",
    /// "high", "medium" or "low".
    ///
    /// >>> import lyra
    /// >>> lyra.EvidenceGraph("evidence.db").auth_queue()
    /// Rows([])
    #[pyo3(signature = (task_id=None, group_by="none", priority_filter="all"))]
    fn auth_queue<'py>(
        &self,
        py: Python<'py>,
        task_id: Option<String>,
        group_by: &str,
        priority_filter: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = [
            ("none", None),
            ("domain", Some("domain")),
            ("type", Some("auth_type")),
        ];
        let field = convert::one_of("group_by", group_by, &fields)?;
        let filters = [
            ("all", "all"),
            ("high", "high"),
            ("medium", "medium"),
            ("low", "low"),
        ];
        let wanted = convert::one_of("priority_filter", priority_filter, &filters)?;
        let engine = self.engine()?;
        let items = quick(py, || engine.auth_queue(task_id.as_deref()))?;
        let items: Vec<_> = items
            .into_iter()
            .filter(|item| wanted == "all" || item.priority == wanted)
            .collect();
        let columns = [
            "id",
            "task_id",
            "url",
            "domain",
            "auth_type",
            "priority",
            "status",
            "queued_at",
            "expires_at",
        ];
        let Some(field) = field else {
            return records(py, &items, &columns);
        };
        let groups = PyDict::new(py);
        for item in &items {
            let name = if field == "domain" {
                &item.domain
            } else {
                &item.auth_type
            };
            if !groups.contains(name)? {
                let same: Vec<_> = items
                    .iter()
                    .filter(|other| match field {
                        "domain" => other.domain == item.domain,
                        _ => other.auth_type == item.auth_type,
                    })
                    .collect();
                groups.set_item(name, records(py, &same, &columns)?)?;
            }
        }
        Ok(groups.into_any())
    }

    /// Records what a human did about waiting pages: one item (`queue_id`), all of a `domain`, or all
    /// of a task (`task_id`). `action` is "complete" (the jobs run again, with `cookies` if they are
    /// given; with `success=False` they fail) or "skip" (they are abandoned).
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> try:
    /// ...     graph.resolve_auth(domain="example.org", action="skip")
    /// ... except lyra.NotFoundError as error:
    /// ...     print(error.code)
    /// RESOURCE_NOT_FOUND
    #[pyo3(signature = (queue_id=None, *, domain=None, task_id=None, action="complete", success=true, cookies=None))]
    #[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
    fn resolve_auth<'py>(
        &self,
        py: Python<'py>,
        queue_id: Option<String>,
        domain: Option<String>,
        task_id: Option<String>,
        action: &str,
        success: bool,
        cookies: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let target = match (queue_id, domain, task_id) {
            (Some(id), None, None) => AuthTarget::Item(id),
            (None, Some(domain), None) => AuthTarget::Domain(domain),
            (None, None, Some(task_id)) => AuthTarget::Task(task_id),
            _ => {
                return Err(invalid(
                    "expected exactly one of queue_id, domain and task_id",
                ));
            }
        };
        let cookies = cookies.map(|header| Cookies::parse(&header));
        let taken = match (action, success, cookies.transpose().map_err(raise)?) {
            ("complete", true, cookies) => AuthAction::Complete(cookies),
            ("complete", false, None) => AuthAction::NotPassed,
            ("skip", _, None) => AuthAction::Skip,
            ("complete" | "skip", _, Some(_)) => {
                return Err(invalid(
                    "cookies are given, but no challenge was passed; expected them with action \
                     complete and success True only",
                ));
            }
            (other, _, _) => {
                return Err(invalid(format!(
                    "action is {other:?}; expected complete or skip"
                )));
            }
        };
        let engine = self.engine()?;
        let resolution = patient(py, move || engine.resolve_auth(&target, &taken))?;
        convert::report(py, "Report", &resolution)
    }

    /// How well the confidences of each judge agree with the corrections of its verdicts by humans
    /// ("get_stats": `sources`), or every measurement of a calibration ("get_evaluations":
    /// `evaluations`, newest first).
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> [source.active_version for source in graph.calibration_metrics().sources]
    /// [0]
    #[pyo3(signature = (action="get_stats", source=None, limit=50))]
    fn calibration_metrics<'py>(
        &self,
        py: Python<'py>,
        action: &str,
        source: Option<String>,
        #[pyo3(from_py_with = argument::evaluations)] limit: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        let source = source.as_deref();
        match action {
            "get_stats" => {
                let sources = quick(py, || engine.calibration_stats(source))?;
                let reply = json!({ "action": action, "sources": sources });
                convert::report(py, "Report", &reply)
            }
            "get_evaluations" => {
                let found = quick(py, || engine.calibration_evaluations(source, limit))?;
                let reply = json!({ "action": action, "evaluations": found });
                convert::report(py, "Report", &reply)
            }
            other => Err(invalid(format!(
                "action is {other:?}; expected get_stats or get_evaluations"
            ))),
        }
    }

    /// Returns to an earlier calibration of a judge: version 0 leaves its confidences unchanged;
    /// without a version, the previous calibration is restored.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> try:
    /// ...     graph.calibration_rollback(graph.models().stance_judge, reason="it was too sure")
    /// ... except lyra.CalibrationError as error:
    /// ...     print(error.code)
    /// CALIBRATION_ERROR
    #[pyo3(signature = (source, version=None, reason=None, *, actor="user"))]
    fn calibration_rollback<'py>(
        &self,
        py: Python<'py>,
        source: String,
        #[pyo3(from_py_with = argument::version)] version: Option<i64>,
        reason: Option<String>,
        actor: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) else {
            return Err(invalid("calibration_rollback needs a reason"));
        };
        let actor = who(actor)?;
        let engine = self.engine()?;
        let report = patient(py, move || {
            engine.rollback_calibration(&source, version, &reason, &actor)
        })?;
        convert::report(py, "Report", &report)
    }
}

/// The author of a correction, for the log.
fn who(actor: &str) -> PyResult<String> {
    if actor.trim().is_empty() {
        return Err(invalid(
            "actor is empty; expected the author of the correction",
        ));
    }
    Ok(actor.to_owned())
}

/// The arguments of `feedback` in addition to the action.
struct Given {
    edge_id: Option<String>,
    correct_relation: Option<String>,
    claim_id: Option<String>,
    domain_pattern: Option<String>,
    reason: Option<String>,
}

impl Given {
    /// The correction. Each action has its own arguments and refuses others.
    fn correction(self, action: &str) -> PyResult<Feedback> {
        let own: &[&str] = match action {
            "edge_correct" => &["edge_id", "correct_relation"],
            "claim_reject" | "claim_restore" => &["claim_id"],
            "domain_block" | "domain_unblock" | "domain_clear_override" => &["domain_pattern"],
            other => {
                return Err(invalid(format!(
                    "action is {other:?}; expected one of edge_correct, claim_reject, claim_restore, \
                     domain_block, domain_unblock, domain_clear_override"
                )));
            }
        };
        let given = [
            ("edge_id", self.edge_id.is_some()),
            ("correct_relation", self.correct_relation.is_some()),
            ("claim_id", self.claim_id.is_some()),
            ("domain_pattern", self.domain_pattern.is_some()),
        ];
        for (name, is_given) in given {
            if is_given != own.contains(&name) {
                let what = if is_given { "does not take" } else { "needs" };
                return Err(invalid(format!("{action} {what} {name}")));
            }
        }
        let (edge_id, claim_id) = (
            self.edge_id.unwrap_or_default(),
            self.claim_id.unwrap_or_default(),
        );
        let (domain_pattern, reason) = (self.domain_pattern.unwrap_or_default(), self.reason);
        let stated = || match &reason {
            Some(reason) if !reason.trim().is_empty() => Ok(reason.clone()),
            _ => Err(invalid(format!("{action} needs a reason"))),
        };
        Ok(match action {
            "edge_correct" => Feedback::EdgeCorrect {
                edge_id,
                correct_relation: self
                    .correct_relation
                    .unwrap_or_default()
                    .parse()
                    .map_err(raise)?,
                reason,
            },
            "claim_reject" => Feedback::ClaimReject {
                claim_id,
                reason: stated()?,
            },
            "claim_restore" => Feedback::ClaimRestore { claim_id, reason },
            "domain_block" => Feedback::DomainBlock {
                domain_pattern,
                reason: stated()?,
            },
            "domain_unblock" => Feedback::DomainUnblock {
                domain_pattern,
                reason: stated()?,
            },
            _ => Feedback::DomainClearOverride {
                domain_pattern,
                reason: stated()?,
            },
        })
    }
}
