//! Targets of a task: validated, normalised, and queued once.

use crate::error::{Error, Result};
use crate::research::jobs::TargetInput;
use crate::research::pipeline::SearchOptions;
use crate::security::url_policy::Refusal;
use crate::store::graph::{DomainRules, EvidenceGraph, NewJob, Writer};
use crate::store::model::{JobKind, Priority, Target, TaskStatus};
use crate::store::text::targets::{dedup_key, parse_target};
use serde::Serialize;
use serde_json::Value;

/// Maximum number of targets in one call.
const MAX_TARGETS: usize = 200;

/// How targets are queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueOptions {
    /// Their priority.
    pub priority: Priority,
    /// Maximum number of pages per query.
    pub budget_pages: Option<u32>,
    /// Only these providers; all if empty.
    pub providers: Vec<String>,
    /// Whether to search also for opposing evidence on each query, with words such as "no effect".
    pub refute: bool,
    /// Whether to repeat targets that this task has already finished, to find what is new since:
    /// added documents and changed texts. Otherwise finished targets are skipped.
    pub repeat: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            priority: Priority::Medium,
            budget_pages: None,
            providers: Vec::new(),
            refute: false,
            repeat: false,
        }
    }
}

/// The result of queueing targets.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct QueueReport {
    /// Targets that will be researched.
    pub queued_count: usize,
    /// Targets that will not.
    pub skipped_count: usize,
    /// Job ids of the queued ones, in order.
    pub target_ids: Vec<String>,
    /// The others, with the reason.
    pub skipped: Vec<SkippedTarget>,
}

/// A target that was not queued.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkippedTarget {
    /// As given.
    pub target: Value,
    /// Why.
    pub reason: String,
}

/// Queues targets; a paused task is resumed.
///
/// If one target is malformed, the call returns an error that names it, and queues nothing.
pub(crate) fn queue_targets(
    graph: &EvidenceGraph,
    task_id: &str,
    targets: &[Value],
    options: &QueueOptions,
) -> Result<QueueReport> {
    check(targets, options)?;
    graph.read(|r| r.task(task_id))?;
    let parse = |(place, value)| {
        parse_target(value).map_err(|e: Error| e.context(format!("targets[{place}]")))
    };
    let parsed: Vec<Target> = targets
        .iter()
        .enumerate()
        .map(parse)
        .collect::<Result<_>>()?;
    graph.write(|w| {
        let mut report = QueueReport::default();
        let rules = w.reader().domain_rules()?;
        for (target, given) in parsed.into_iter().zip(targets) {
            if let Some(reason) = blocked(&rules, &target) {
                report.skipped.push(SkippedTarget {
                    target: given.clone(),
                    reason,
                });
                continue;
            }
            let mut job = job_of(task_id, target, options)?;
            if options.repeat {
                repeat(w, &mut job)?;
            }
            match w.queue_job(&job)? {
                Some(id) => report.target_ids.push(id),
                None => report.skipped.push(SkippedTarget {
                    target: given.clone(),
                    reason: "already queued, running or done in this task".to_owned(),
                }),
            }
        }
        report.queued_count = report.target_ids.len();
        report.skipped_count = report.skipped.len();
        // Jobs that wait because their worker disappeared are resumed as well.
        let resumes = report.queued_count > 0 || w.reader().has_unfinished_jobs(task_id)?;
        // The status is read inside the transaction: a stop in between must not be undone by
        // targets that were queued before it.
        if resumes && w.reader().task(task_id)?.status != TaskStatus::Exploring {
            w.set_task_status(task_id, TaskStatus::Exploring)?;
        }
        w.log_event(
            w.actor_or("user"),
            "targets_queued",
            Some(task_id),
            None,
            &serde_json::json!({ "queued": report.queued_count, "skipped": report.skipped_count }),
        )?;
        Ok(report)
    })
}

/// Makes room for a job whose target is already done. The earlier job gives up its deduplication
/// key, which must be unique in a task; otherwise it is unchanged, because it is the cause of what
/// was found.
fn repeat(w: &Writer<'_>, job: &mut NewJob) -> Result<()> {
    let target = job.input["target"].to_string();
    let was_done = w.free_target(&job.task_id, job.dedup_key.as_deref(), &target)?;
    job.input["options"]["repeat"] = was_done.into();
    Ok(())
}

/// Why a target that leads to a blocked domain is not queued: `blocked_domain: ` and the rule.
pub(super) fn blocked(rules: &DomainRules, target: &Target) -> Option<String> {
    let Target::Url { url, .. } = target else {
        return None;
    };
    blocked_url(rules, url)
}

/// The same for an address.
pub(super) fn blocked_url(rules: &DomainRules, url: &str) -> Option<String> {
    let pattern = rules.blocking_url(url)?;
    Some(format!(
        "{}: the rule {} blocks it; feedback domain_unblock lifts the block",
        Refusal::BlockedDomain,
        pattern.as_str()
    ))
}

fn check(targets: &[Value], options: &QueueOptions) -> Result<()> {
    if targets.is_empty() || targets.len() > MAX_TARGETS {
        return Err(Error::invalid(format!(
            "targets has {} entries; expected 1 to {MAX_TARGETS}",
            targets.len()
        )));
    }
    if options.budget_pages == Some(0) {
        return Err(Error::invalid(
            "options.budget_pages is 0; expected at least 1",
        ));
    }
    Ok(())
}

/// The job for a target.
pub(super) fn job_of(task_id: &str, target: Target, options: &QueueOptions) -> Result<NewJob> {
    let mut dedup_key = dedup_key(&target);
    if options.refute && matches!(target, Target::Query { .. }) {
        dedup_key.push_str(" (both sides)");
    }
    let options_of_search = SearchOptions {
        budget_pages: options.budget_pages,
        providers: options.providers.clone(),
        refute: options.refute,
        refresh: false,
    };
    let input = TargetInput {
        target,
        options: options_of_search,
    };
    Ok(NewJob {
        task_id: task_id.to_owned(),
        kind: JobKind::TargetQueue,
        priority: options.priority.value(),
        input: serde_json::to_value(&input).map_err(|e| Error::internal(e.to_string()))?,
        dedup_key: Some(dedup_key),
        cause_id: None,
    })
}
