//! Computes a status report from the rows, inside one snapshot.

use super::auth::auth_items;
use super::status::{
    BudgetStatus, EvidenceSummary, JobCounts, JobsByPhase, Metrics, Milestones, Progress,
    QueueCounts, StatusDetail, StatusReport, StatusWarning, WaitingFor, WarningKind,
};
use crate::clock::parse_ms;
use crate::error::Result;
use crate::research::jobs::embed_progress;
use crate::research::pipeline::Budget;
use crate::store::graph::{JobTally, Reader};
use crate::store::model::{JobKind, JobState, TaskRecord, TaskStatus};
use std::collections::BTreeMap;

/// Maximum number of rows in each list of a full report, newest first.
const MAX_ROWS: usize = 200;
/// One more row is read, to find out whether there are more.
const ONE_MORE: usize = MAX_ROWS + 1;
/// A warning is given if less than this part of the budget is left.
const LOW_BUDGET_PERCENT: u32 = 20;

/// The status of the task at `now_ms`.
pub(crate) fn status(
    reader: &Reader<'_>,
    task_id: &str,
    detail: StatusDetail,
    now_ms: i64,
) -> Result<StatusReport> {
    let task = reader.task(task_id)?;
    let counts = reader.job_counts(task_id)?;
    let auth = auth_items(reader, Some(task_id))?;
    let metrics = metrics(reader, &task, now_ms)?;
    let budget = Budget::of(reader, task_id, now_ms)?;
    let phases = phases(&counts);
    let embedding = phase(&counts, JobKind::Embed);
    let awaiting = count(&counts, JobKind::TargetQueue, JobState::AwaitingAuth);
    let uncompared = task.status == TaskStatus::Paused && reader.has_uncompared_targets(task_id)?;
    let has_begun =
        metrics.total_claims > 0 || counts.keys().any(|(kind, _)| *kind != JobKind::Embed);
    let milestones = milestones(&phases, awaiting, has_begun, uncompared);
    let mut report = StatusReport {
        task_id: task.id.clone(),
        hypothesis: task.hypothesis.clone(),
        status: task.status,
        progress: Progress {
            searches: reader.search_counts(task_id)?,
            queue: QueueCounts {
                depth: phases.exploration.queued,
                running: phases.exploration.running,
            },
            jobs_by_phase: phases,
        },
        metrics,
        budget: BudgetStatus {
            pages_used: budget.pages_used,
            pages_limit: budget.pages_limit,
            remaining_percent: budget.remaining_percent(),
            seconds_used: budget.seconds_used,
            seconds_limit: budget.seconds_limit,
        },
        milestones,
        waiting_for: waiting_for(&phases, awaiting, milestones, embedding),
        pending_auth_count: auth.len(),
        warnings: warnings(
            &task,
            &budget,
            &phases,
            embedding.failed,
            auth.len(),
            uncompared,
        ),
        evidence_summary: evidence_summary(reader, task_id, &metrics)?,
        changed: false,
        as_of: None,
        searches_detail: None,
        queue_items: None,
        jobs_by_kind: None,
        pending_auth_detail: None,
        blocked_domains: None,
        domain_overrides: None,
        recent_errors: None,
        truncated: false,
    };
    add_warnings_of_jobs(reader, &mut report)?;
    if detail == StatusDetail::Full {
        add_details(reader, &mut report, &counts, auth)?;
    }
    Ok(report)
}

/// Adds warnings about finished and running jobs.
fn add_warnings_of_jobs(reader: &Reader<'_>, report: &mut StatusReport) -> Result<()> {
    let troubled = reader.troubled_jobs(&report.task_id)?;
    if troubled > 0 {
        let text = format!(
            "{troubled} finished job(s) met problems on the way (a service, a page or a model failed); \
             get_status with detail=full says which"
        );
        let warning = StatusWarning::new(WarningKind::TroubledJobs, text);
        report.warnings.push(warning);
    }
    if let Some(embed) = embed_progress(reader, &report.task_id)? {
        let text = format!(
            "{} of {} texts have a vector of {} by now; vector_search does not find the others yet",
            embed.embedded, embed.total, embed.model_id
        );
        let warning = StatusWarning::new(WarningKind::MissingVectors, text);
        report.warnings.push(warning);
    }
    Ok(())
}

/// The rows behind the counts.
fn add_details(
    reader: &Reader<'_>,
    report: &mut StatusReport,
    counts: &JobTally,
    auth: Vec<super::AuthItem>,
) -> Result<()> {
    let mut searches = reader.newest_searches(&report.task_id, ONE_MORE)?;
    let mut items = reader.newest_targets(&report.task_id, ONE_MORE)?;
    let mut rules = reader.newest_domain_rules(ONE_MORE)?;
    report.truncated = [searches.len(), items.len(), rules.len()]
        .iter()
        .any(|found| *found > MAX_ROWS);
    searches.truncate(MAX_ROWS);
    items.truncate(MAX_ROWS);
    rules.truncate(MAX_ROWS);
    report.searches_detail = Some(searches);
    report.queue_items = Some(items);
    report.jobs_by_kind = Some(jobs_by_kind(counts));
    report.pending_auth_detail = Some(auth);
    report.recent_errors = Some(reader.recent_errors(&report.task_id)?);
    let blocked = rules.iter().filter(|rule| rule["rule"] == "block");
    let patterns = blocked.filter_map(|rule| rule["domain_pattern"].as_str().map(str::to_owned));
    report.blocked_domains = Some(patterns.collect());
    report.domain_overrides = Some(rules);
    Ok(())
}

/// A milestone is true if nothing of its kind is pending or will follow. Before the first target,
/// nothing has been compared and nothing has followed.
fn milestones(
    phases: &JobsByPhase,
    awaiting_auth: usize,
    has_begun: bool,
    uncompared: bool,
) -> Milestones {
    let idle = |counts: &JobCounts| counts.queued + counts.running == 0;
    let drained = idle(&phases.exploration) && awaiting_auth == 0;
    Milestones {
        target_queue_drained: drained,
        nli_verification_done: has_begun && !uncompared && drained && idle(&phases.verification),
        citation_chase_ready: has_begun && drained && idle(&phases.citation),
    }
}

/// The kinds of work that a milestone still waits for. Verification and citations follow every
/// target, so they are waited for while targets are pending.
fn waiting_for(
    phases: &JobsByPhase,
    awaiting_auth: usize,
    milestones: Milestones,
    embedding: JobCounts,
) -> Vec<WaitingFor> {
    let kinds = [
        (
            JobKind::TargetQueue,
            phases.exploration,
            milestones.target_queue_drained,
        ),
        (
            JobKind::VerifyNli,
            phases.verification,
            milestones.nli_verification_done,
        ),
        (
            JobKind::CitationGraph,
            phases.citation,
            milestones.citation_chase_ready,
        ),
        // Searches continue without these vectors, but find less until the job is done.
        (
            JobKind::Embed,
            embedding,
            embedding.queued + embedding.running == 0,
        ),
    ];
    let entry = |(kind, counts, _): (JobKind, JobCounts, bool)| {
        let awaiting = kind == JobKind::TargetQueue && awaiting_auth > 0;
        let status = match counts {
            _ if counts.running > 0 => "running",
            _ if counts.queued > 0 => "queued",
            _ if awaiting => "pending",
            _ if counts.completed + counts.failed > 0 => "drained",
            _ => "not_enqueued",
        };
        WaitingFor {
            kind: kind.as_str().to_owned(),
            status: status.to_owned(),
            queued: counts.queued,
            running: counts.running,
            completed: counts.completed,
        }
    };
    kinds
        .into_iter()
        .filter(|(_, _, reached)| !reached)
        .map(entry)
        .collect()
}

fn warnings(
    task: &TaskRecord,
    budget: &Budget,
    phases: &JobsByPhase,
    failed_upkeep: usize,
    auth: usize,
    uncompared: bool,
) -> Vec<StatusWarning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, text: String| warnings.push(StatusWarning::new(kind, text));
    if budget.is_exhausted() {
        let text = "the budget is used up: no further pages will be read";
        warn(WarningKind::Budget, text.to_owned());
    } else if budget.remaining_percent() < LOW_BUDGET_PERCENT {
        let left = budget.remaining_percent();
        warn(
            WarningKind::Budget,
            format!("{left} % of the budget is left"),
        );
    }
    if let Some(reason) = task.error_message.as_deref() {
        let text = format!("every target of the task failed; the last one: {reason}");
        warn(WarningKind::FailedJobs, text);
    }
    let unjudged = phases.verification.failed;
    if unjudged > 0 {
        let text = format!(
            "verification failed {unjudged} time(s), so claims may have no verdicts; get_status with \
             detail=full says why"
        );
        warn(WarningKind::NotJudged, text);
    }
    let failed = phases.exploration.failed + phases.citation.failed + failed_upkeep;
    if failed > 0 {
        let text = format!("{failed} job(s) failed; get_status with detail=full says why");
        warn(WarningKind::FailedJobs, text);
    }
    if auth > 0 {
        let text = format!("{auth} page(s) need a human; see get_auth_queue");
        warn(WarningKind::WaitingPages, text);
    }
    if task.status == TaskStatus::Paused {
        let text = match uncompared {
            true => {
                "the task is paused, and claims of its last targets were not compared with other \
                 sources; queue_targets with options.repeat resumes it and compares them"
            }
            false => "the task is paused; queue_targets resumes it",
        };
        warn(WarningKind::Paused, text.to_owned());
    }
    warnings
}

fn count(counts: &JobTally, kind: JobKind, state: JobState) -> usize {
    counts.get(&(kind, state)).copied().unwrap_or(0)
}

fn phases(counts: &JobTally) -> JobsByPhase {
    JobsByPhase {
        exploration: phase(counts, JobKind::TargetQueue),
        verification: phase(counts, JobKind::VerifyNli),
        citation: phase(counts, JobKind::CitationGraph),
    }
}

fn phase(counts: &JobTally, kind: JobKind) -> JobCounts {
    JobCounts {
        queued: count(counts, kind, JobState::Queued),
        running: count(counts, kind, JobState::Running),
        completed: count(counts, kind, JobState::Completed),
        failed: count(counts, kind, JobState::Failed),
    }
}

fn jobs_by_kind(counts: &JobTally) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut by_kind: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for ((kind, state), number) in counts {
        let states = by_kind.entry(kind.as_str().to_owned()).or_default();
        states.insert(state.as_str().to_owned(), *number);
    }
    by_kind
}

fn metrics(reader: &Reader<'_>, task: &TaskRecord, now_ms: i64) -> Result<Metrics> {
    let [total_pages, total_fragments, total_claims] = reader.evidence_counts(&task.id)?;
    let begun = task.started_at.as_deref().and_then(parse_ms);
    let end = task
        .completed_at
        .as_deref()
        .and_then(parse_ms)
        .unwrap_or(now_ms);
    let elapsed_seconds = begun.map_or(0, |b| u64::try_from((end - b) / 1000).unwrap_or(0));
    Ok(Metrics {
        total_pages,
        total_fragments,
        total_claims,
        elapsed_seconds,
    })
}

fn evidence_summary(
    reader: &Reader<'_>,
    task_id: &str,
    metrics: &Metrics,
) -> Result<Option<EvidenceSummary>> {
    if metrics.total_claims == 0 {
        return Ok(None);
    }
    let [supporting_edges, refuting_edges, neutral_edges] = reader.edge_counts(task_id)?;
    Ok(Some(EvidenceSummary {
        total_claims: metrics.total_claims,
        total_fragments: metrics.total_fragments,
        total_pages: metrics.total_pages,
        supporting_edges,
        refuting_edges,
        neutral_edges,
        top_domains: reader.top_domains(task_id)?,
    }))
}
