//! create_task, get_status, stop_task.

use super::{Call, Outcome};
use crate::error::ToolError;
use crate::wire::{Quality, Reply};
use crate::wording;
use lyra_core::store::model::TaskConfig;
use lyra_core::{Engine, StatusDetail, StatusReport, StopRequest};
use serde::Deserialize;
use serde_json::json;
use std::time::{Duration, Instant};

/// Maximum wait, in seconds, for a client without a progress token; common clients abandon a silent
/// call after 60.
const SILENT_WAIT: Duration = Duration::from_secs(45);

/// Time between two progress notifications.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Create {
    hypothesis: String,
    config: TaskConfig,
}

pub(super) async fn create(mut call: Call) -> Outcome {
    let Create { hypothesis, config } = call.parse()?;
    let in_force = config.clone();
    let hint = wording::problem(&hypothesis).map(|problem| format!("{problem}: {}", wording::HINT));
    let task = call
        .blocking(move |engine| engine.create_task(&hypothesis, config))
        .await?;
    let mut reply = json!({
        "task_id": task.id,
        "hypothesis": task.hypothesis,
        "status": task.status,
        "config": in_force,
        "created_at": task.created_at,
    });
    if let Some(hint) = hint {
        reply["hint"] = hint.into();
    }
    Reply::of(&reply)
}

#[derive(Deserialize)]
struct Status {
    task_id: String,
    wait: u64,
    until: Until,
    detail: Detail,
}

/// What ends a wait early.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Until {
    Change,
    Milestone,
    Claims,
    End,
}

impl Until {
    /// Whether the event has occurred between two reports. The end of the work ends every wait.
    fn has_come(self, before: &StatusReport, now: &StatusReport) -> bool {
        now.is_settled()
            || match self {
                Self::Change => now.changed,
                Self::Milestone => now.milestones != before.milestones,
                Self::Claims => now.metrics.total_claims > before.metrics.total_claims,
                Self::End => false,
            }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Detail {
    Summary,
    Full,
}

pub(super) async fn status(mut call: Call) -> Outcome {
    let Status {
        task_id,
        wait,
        until,
        detail,
    } = call.parse()?;
    let detail = match detail {
        Detail::Summary => StatusDetail::Summary,
        Detail::Full => StatusDetail::Full,
    };
    let report = match at_once(&call, &task_id, wait, detail).await? {
        Some(report) => report,
        None => {
            let wait = Duration::from_secs(wait);
            match call.progress {
                Some(_) => wait_aloud(&mut call, &task_id, wait, until, detail).await?,
                None => {
                    let wait = wait.min(SILENT_WAIT);
                    wait_silently(&mut call, &task_id, wait, until, detail).await?
                }
            }
        }
    };
    let quality = quality(&report);
    Ok(Reply::of(&report)?.at_most(quality))
}

/// The immediate answer for a caller that does not want to wait: with a `wait` of 0, or without
/// `wait` if the task is idle, since a plain status request should not wait for an event that may
/// never occur.
async fn at_once(
    call: &Call,
    task_id: &str,
    wait: u64,
    detail: StatusDetail,
) -> Result<Option<StatusReport>, ToolError> {
    if wait > 0 && call.is_given("wait") {
        return Ok(None);
    }
    let id = task_id.to_owned();
    let look = move |engine: &Engine| engine.status(&id, detail);
    let report = call.blocking(look).await?;
    Ok((wait == 0 || report.is_settled()).then_some(report))
}

async fn wait_silently(
    call: &mut Call,
    task_id: &str,
    wait: Duration,
    until: Until,
    detail: StatusDetail,
) -> Result<StatusReport, ToolError> {
    tokio::select! {
        report = wait_until(&call.engine, task_id, wait, until, detail) => Ok(report?),
        () = stopped(&mut call.stopping) => Ok(call.engine.status(task_id, detail)?),
    }
}

/// Waits like [`wait_silently`], and sends progress notifications meanwhile.
async fn wait_aloud(
    call: &mut Call,
    task_id: &str,
    wait: Duration,
    until: Until,
    detail: StatusDetail,
) -> Result<StatusReport, ToolError> {
    let began = Instant::now();
    let engine = call.engine.clone();
    let changed = wait_until(&engine, task_id, wait, until, detail);
    tokio::pin!(changed);
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    loop {
        tokio::select! {
            report = &mut changed => return Ok(report?),
            () = stopped(&mut call.stopping) => return Ok(call.engine.status(task_id, detail)?),
            _ = ticks.tick() => {
                let now = call.engine.status(task_id, StatusDetail::Summary)?;
                if let Some(progress) = &call.progress {
                    let done = began.elapsed().as_secs_f64();
                    progress.send(done, wait.as_secs_f64(), in_words(&now)).await;
                }
            }
        }
    }
}

/// The status when the event has occurred, or the time is over.
async fn wait_until(
    engine: &Engine,
    task_id: &str,
    wait: Duration,
    until: Until,
    detail: StatusDetail,
) -> lyra_core::Result<StatusReport> {
    let end = Instant::now() + wait;
    let before = match until {
        // Any change ends this wait, so nothing needs to be compared.
        Until::Change => return engine.wait_status(task_id, wait, detail).await,
        _ => engine.status(task_id, StatusDetail::Summary)?,
    };
    loop {
        let rest = end.saturating_duration_since(Instant::now());
        let now = engine.wait_status(task_id, rest, detail).await?;
        if rest.is_zero() || !now.changed || until.has_come(&before, &now) {
            return Ok(now);
        }
    }
}

/// Returns when the server is about to end.
async fn stopped(stopping: &mut tokio::sync::watch::Receiver<bool>) {
    if stopping.wait_for(|stop| *stop).await.is_err() {
        // The sender lives as long as the server; without it no stop signal can arrive.
        std::future::pending::<()>().await;
    }
}

fn in_words(report: &StatusReport) -> String {
    let queue = &report.progress.queue;
    format!(
        "{} running, {} queued; {} pages, {} claims so far",
        queue.running, queue.depth, report.metrics.total_pages, report.metrics.total_claims
    )
}

/// Pages that wait for a human leave a gap in the evidence; warnings report other gaps.
fn quality(report: &StatusReport) -> Quality {
    if report.pending_auth_count > 0 {
        Quality::Limited
    } else if report.warnings.is_empty() {
        Quality::Normal
    } else {
        Quality::Degraded
    }
}

#[derive(Deserialize)]
struct Stop {
    task_id: String,
    reason: String,
    mode: String,
    scope: String,
}

pub(super) async fn stop(mut call: Call) -> Outcome {
    let Stop {
        task_id,
        reason,
        mode,
        scope,
    } = call.parse()?;
    let request = StopRequest {
        reason: reason.parse()?,
        mode: mode.parse()?,
        scope: scope.parse()?,
    };
    let report = call.engine.stop_task(&task_id, &request).await?;
    Reply::of(&report)
}
