//! Finds the cited sources that have no text in the graph, and reads them.

use super::citations::CitationTarget;
use super::draft::Draft;
use super::items::{self, Listed};
use super::references::address_of;
use super::request::CheckRequest;
use super::resolve::{Resolved, Sources};
use crate::error::{Error, Result};
use crate::research::pipeline::{Pipeline, SearchOptions};
use crate::store::model::{Target, TaskBudget, TaskConfig};
use crate::store::text::identifiers::find_identifiers;
use crate::store::text::targets::{dedup_key, parse_target_text};
use serde::Serialize;
use std::collections::{HashSet, VecDeque};
use tokio::task::JoinSet;

/// Maximum number of addresses of a draft that are read.
const MOST: usize = 200;
/// Addresses that are read concurrently. The request rate per site does not increase.
const AT_ONCE: usize = 4;

/// The outcome for the cited sources that had no text in the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CitedReading {
    /// The task that holds the sources; none if nothing had to be read.
    pub task_id: Option<String>,
    /// Addresses and DOIs that were tried, up to 200.
    pub tried: usize,
    /// Those that could not be read, with the reason.
    pub failed: Vec<(String, String)>,
}

/// The addresses and DOIs of cited sources that have no text in the graph.
fn unread(request: &CheckRequest, sources: &Sources) -> Result<Vec<Target>> {
    let draft = Draft::read(&request.draft, request.format)?;
    let (items, listed) = items::read(&draft, request, sources)?;
    let has_text = |found: &Resolved| {
        let mut texts = found.sources.iter().map(|at| &sources.all[*at].version);
        texts.any(Option::is_some)
    };
    let entries = listed.iter().filter(|one| !has_text(&one.resolved));
    let mut addresses: Vec<String> = entries.filter_map(Listed::address).collect();
    for item in &items {
        let citations = item.sentence.citations.iter().zip(&item.resolved);
        let open = citations.filter(|(_, found)| !has_text(found));
        let named = open.flat_map(|(citation, _)| &citation.targets);
        addresses.extend(named.filter_map(|target| match target {
            CitationTarget::Address(address) => {
                address_of(&find_identifiers(address), Some(address))
            }
            _ => None,
        }));
    }
    let mut seen = HashSet::new();
    let targets = addresses.into_iter().filter_map(|address| {
        // Skip anything that is not a web address.
        let target = parse_target_text(&address).ok()?;
        let is_address = !matches!(target, Target::Query { .. });
        (is_address && seen.insert(dedup_key(&target))).then_some(target)
    });
    Ok(targets.take(MOST).collect())
}

/// Reads the cited sources into a new task, under the rules that apply to every address.
pub(crate) async fn read_cited(
    pipeline: &Pipeline,
    request: &CheckRequest,
    make_task: impl FnOnce(TaskConfig) -> Result<String>,
    progress: &(dyn Fn(usize, usize) + Send + Sync),
) -> Result<CitedReading> {
    let sources = pipeline
        .graph
        .read(|reader| Sources::read(reader, None, None))?;
    let mut waiting: VecDeque<Target> = unread(request, &sources)?.into();
    let mut reading = CitedReading {
        tried: waiting.len(),
        ..CitedReading::default()
    };
    if waiting.is_empty() {
        return Ok(reading);
    }
    let budget = TaskBudget {
        max_pages: u32::try_from(2 * MOST).unwrap_or(u32::MAX),
        ..TaskBudget::default()
    };
    let task_id = make_task(TaskConfig {
        budget,
        ..TaskConfig::default()
    })?;
    let mut running = JoinSet::new();
    let mut done = 0;
    progress(done, reading.tried);
    loop {
        while running.len() < AT_ONCE
            && let Some(target) = waiting.pop_front()
        {
            let (pipeline, task_id) = (pipeline.clone(), task_id.clone());
            running.spawn(async move { read(&pipeline, &task_id, target).await });
        }
        let Some(one) = running.join_next().await else {
            break;
        };
        let failed = one.map_err(|e| Error::internal(format!("a reading thread: {e}")))??;
        reading.failed.extend(failed);
        done += 1;
        progress(done, reading.tried);
    }
    reading.failed.sort();
    reading.task_id = Some(task_id);
    Ok(reading)
}

/// Reads one source; on failure, returns its address and the reason.
async fn read(
    pipeline: &Pipeline,
    task_id: &str,
    target: Target,
) -> Result<Option<(String, String)>> {
    let options = SearchOptions::default();
    let name = match &target {
        Target::Query { query } => query.clone(),
        Target::Url { url, .. } => url.clone(),
        Target::Doi { doi, .. } => format!("doi:{doi}"),
    };
    match pipeline.run_target(task_id, &target, &options, None).await {
        Ok(done) => {
            let need = done.needs_auth.first();
            let need = need.map(|need| format!("a human is needed first: {}", need.auth_type));
            Ok(need.filter(|_| done.is_blocked).map(|why| (name, why)))
        }
        Err(error) if error.kind().is_of_database() => Err(error),
        Err(error) => Ok(Some((name, error.message().to_owned()))),
    }
}
