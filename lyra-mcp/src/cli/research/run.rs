//! Running research: progress, interruption, and the messages at the end.

use super::super::output::ProgressLine;
use crate::server::Signals;
use lyra_core::documents::SyncReport;
use lyra_core::{
    Engine, Result, StatusDetail, StatusReport, StatusWarning, StopMode, StopReason, StopRequest,
    StopScope, WarningKind,
};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Maximum number of failures that are listed.
const FAILURES_TOLD: usize = 5;

/// Time limit for work in progress when the process is told to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Works until the task has nothing left to do. `None` if interrupted by Ctrl-C or SIGTERM: the
/// task is then paused, running jobs are requeued, and nothing that was stored is lost. If the task
/// will search, the folders are read first, so that their progress is shown.
pub(super) fn to_the_end(
    engine: &Engine,
    task_id: &str,
    searches: bool,
) -> Result<Option<StatusReport>> {
    let runtime = super::super::runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let line = Mutex::new(ProgressLine::new());
        let show = |status: &StatusReport| {
            if let Ok(mut line) = line.lock() {
                let (share, text) = progress(status);
                line.show(share, &text);
            }
        };
        let ended = tokio::select! {
            status = async {
                if searches {
                    // Errors here are reported by the search that uses the folders.
                    let _ = index(engine, &line).await;
                }
                engine.run(task_id, Some(&show)).await
            } => Some(status),
            _ = signals.wait() => None,
        };
        if let Ok(mut line) = line.lock() {
            line.end();
        }
        if ended.is_none() {
            let request = StopRequest {
                reason: StopReason::UserCancelled,
                mode: StopMode::Immediate,
                scope: StopScope::AllJobs,
            };
            engine.stop_task(task_id, &request).await?;
        }
        ended.transpose()
    });
    runtime.shutdown_timeout(PATIENCE);
    ended
}

/// Reads what is new in the folders, and reports the number of documents every second.
async fn index(engine: &Engine, line: &Mutex<ProgressLine>) -> Result<()> {
    let told = Mutex::new(Instant::now());
    let show = |report: &SyncReport| {
        let (Ok(mut told), Ok(mut line)) = (told.lock(), line.lock()) else {
            return;
        };
        if told.elapsed() >= Duration::from_secs(1) {
            *told = Instant::now();
            let text = format!(
                "reading the folders: {} new or changed, {} known",
                report.read, report.unchanged
            );
            line.show(0.0, &text);
        }
    };
    engine.sync_corpus(&show).await.map(drop)
}

/// The progress of the task, as a share and as text.
fn progress(status: &StatusReport) -> (f64, String) {
    let phases = &status.progress.jobs_by_phase;
    let (mut done, mut all) = (0, 0);
    for phase in [&phases.exploration, &phases.verification, &phases.citation] {
        done += phase.completed + phase.failed;
        all += phase.completed + phase.failed + phase.queued + phase.running;
    }
    let share = if all == 0 {
        0.0
    } else {
        done as f64 / all as f64
    };
    let metrics = &status.metrics;
    let text = format!(
        "{done}/{all} jobs, {} documents, {} fragments, {} claims",
        metrics.total_pages, metrics.total_fragments, metrics.total_claims
    );
    (share, text)
}

/// Reports problems at the end: failures since `began`, used-up limits, and what is waiting.
pub(super) fn tell_trouble(engine: &Engine, task_id: &str, began: &str) -> Result<()> {
    let status = engine.status(task_id, StatusDetail::Full)?;
    // Failures are listed below, without those of an earlier run.
    let failed = [WarningKind::FailedJobs, WarningKind::NotJudged];
    let told = |warning: &&StatusWarning| !failed.contains(&warning.kind);
    for warning in status.warnings.iter().filter(told) {
        crate::log::warn(warning);
    }
    let unread = engine
        .corpus_report()
        .and_then(|report| report.unread_kinds());
    if let Some(unread) = unread {
        crate::log::line(&format!("note: {unread}"));
    }
    let mut told: Vec<(&str, &str)> = Vec::new();
    for failure in status.recent_errors.iter().flatten() {
        let this_run = failure.at.as_deref().is_none_or(|at| at >= began);
        let what = (failure.kind.as_str(), failure.error.as_str());
        if this_run && !told.contains(&what) && told.len() < FAILURES_TOLD {
            crate::log::warn(&format!("{}: {}", failure.kind, failure.error));
            told.push(what);
        }
    }
    if status.metrics.total_pages == 0 {
        crate::log::warn("nothing was read for this task");
        crate::log::line(
            "hint: `lyra-mcp doctor` with the same --corpus and --provider says what is searched; \
             other words may find more: --query WORDS",
        );
    }
    Ok(())
}
