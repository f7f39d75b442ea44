//! Queues selected documents that the sources of a task cite.

use super::targets::{QueueOptions, SkippedTarget, blocked, job_of};
use crate::error::{Error, Result};
use crate::store::graph::{EvidenceGraph, NewJob, Reader, ReferenceCandidate};
use crate::store::model::{Priority, TaskStatus};
use crate::store::text::identifiers::doi_from_url;
use crate::store::text::targets::parse_target;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Maximum number of candidates in one call.
const MAX_CANDIDATES: usize = 200;

/// Which candidates to queue, by `citation_edge_id`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CandidateChoice {
    /// All, in the view's order, up to the limit.
    #[default]
    All,
    /// Exactly these, regardless of the limit.
    Include(Vec<String>),
    /// All except the pages of these, up to the limit.
    Exclude(Vec<String>),
}

/// Which cited documents to queue, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateRequest {
    /// Which candidates.
    pub choice: CandidateChoice,
    /// 1 to 200; used if no candidates are named.
    pub limit: usize,
    /// Returns what would be queued, without writing anything.
    pub dry_run: bool,
    /// Their priority.
    pub priority: Priority,
}

impl Default for CandidateRequest {
    fn default() -> Self {
        Self {
            choice: CandidateChoice::All,
            limit: 10,
            dry_run: false,
            priority: Priority::Medium,
        }
    }
}

/// A cited document, as in `v_reference_candidates`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The citation.
    pub citation_edge_id: String,
    /// The cited page.
    pub candidate_page_id: String,
    /// Its address.
    pub candidate_url: String,
    /// Its registrable domain.
    pub candidate_domain: Option<String>,
    /// `doi` or `url`: how it is read.
    pub kind: String,
    /// The DOI in its address.
    pub doi: Option<String>,
    /// The words around the citation.
    pub citation_context: Option<String>,
    /// The page that cites it.
    pub citing_page_id: String,
    /// Number of citation steps from the initially found pages to the citing page.
    #[serde(skip)]
    citing_depth: i64,
}

/// The result for the candidates.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CandidateReport {
    /// Documents that will be read; none in a dry run.
    pub queued_count: usize,
    /// Candidates that will not be read.
    pub skipped_count: usize,
    /// Job ids of the queued ones, in order.
    pub target_ids: Vec<String>,
    /// Whether this is a dry run.
    pub dry_run: bool,
    /// The candidates that were queued, or would be, in order.
    pub candidates: Vec<Candidate>,
    /// The others, with the reason.
    pub skipped: Vec<SkippedTarget>,
}

/// Queues documents that the sources of the task cite; a paused task is resumed.
pub(crate) fn queue_candidates(
    graph: &EvidenceGraph,
    task_id: &str,
    request: &CandidateRequest,
) -> Result<CandidateReport> {
    if request.limit == 0 || request.limit > MAX_CANDIDATES {
        return Err(Error::invalid(format!(
            "limit is {}; expected 1 to {MAX_CANDIDATES}",
            request.limit
        )));
    }
    graph.catch_up()?;
    if request.dry_run {
        return graph.read(|r| Ok(plan(r, task_id, request)?.0));
    }
    graph.write(|w| {
        let (mut report, jobs) = plan(&w.reader(), task_id, request)?;
        for job in &jobs {
            report.target_ids.extend(w.queue_job(job)?);
        }
        report.queued_count = report.target_ids.len();
        if report.queued_count > 0 && w.reader().task(task_id)?.status != TaskStatus::Exploring {
            w.set_task_status(task_id, TaskStatus::Exploring)?;
        }
        let details = json!({ "queued": report.queued_count, "skipped": report.skipped_count });
        let actor = w.actor_or("user");
        w.log_event(actor, "references_queued", Some(task_id), None, &details)?;
        Ok(report)
    })
}

/// The candidates to queue, and their jobs.
fn plan(
    reader: &Reader<'_>,
    task_id: &str,
    request: &CandidateRequest,
) -> Result<(CandidateReport, Vec<NewJob>)> {
    reader.task(task_id)?;
    let all = candidates(reader, task_id)?;
    let mut report = CandidateReport {
        dry_run: request.dry_run,
        ..CandidateReport::default()
    };
    let (chosen, limit) = choose(all, request, &mut report.skipped);
    let options = QueueOptions {
        priority: request.priority,
        ..QueueOptions::default()
    };
    let rules = reader.domain_rules()?;
    let mut jobs: Vec<NewJob> = Vec::new();
    for candidate in chosen {
        if jobs.len() >= limit {
            break;
        }
        let id = candidate.citation_edge_id.clone();
        let target = match parse_target(&target_of(&candidate)) {
            Ok(target) => target,
            Err(error) => {
                skip(&mut report.skipped, &id, error.to_string());
                continue;
            }
        };
        if let Some(reason) = blocked(&rules, &target) {
            skip(&mut report.skipped, &id, reason);
            continue;
        }
        let job = job_of(task_id, target, &options)?;
        let key = job.dedup_key.clone().unwrap_or_default();
        if reader.is_known_target(task_id, &key)? {
            skip(
                &mut report.skipped,
                &id,
                "already queued, running or done in this task",
            );
        } else if jobs.iter().any(|other| other.dedup_key == job.dedup_key) {
            skip(
                &mut report.skipped,
                &id,
                "the same document as another candidate",
            );
        } else {
            jobs.push(job);
            report.candidates.push(candidate);
        }
    }
    report.skipped_count = report.skipped.len();
    Ok((report, jobs))
}

/// The requested candidates, one per page, and how many of them to take.
fn choose(
    all: Vec<Candidate>,
    request: &CandidateRequest,
    skipped: &mut Vec<SkippedTarget>,
) -> (Vec<Candidate>, usize) {
    let mut pages = HashSet::new();
    let by_id: HashMap<&str, &Candidate> = all
        .iter()
        .map(|c| (c.citation_edge_id.as_str(), c))
        .collect();
    match &request.choice {
        CandidateChoice::Include(ids) => {
            let mut named = HashSet::new();
            let mut chosen = Vec::new();
            for id in ids.iter().filter(|id| named.insert(id.as_str())) {
                match by_id.get(id.as_str()) {
                    None => skip(skipped, id, "no candidate of this task has this id"),
                    Some(c) if !pages.insert(c.candidate_page_id.as_str()) => {
                        skip(skipped, id, "the same page as another candidate");
                    }
                    Some(c) => chosen.push((*c).clone()),
                }
            }
            (chosen, usize::MAX)
        }
        CandidateChoice::Exclude(ids) => {
            for id in ids {
                match by_id.get(id.as_str()) {
                    None => skip(
                        skipped,
                        id,
                        "no candidate of this task has this id to exclude",
                    ),
                    // Another citation of a page must not bring back a page that was excluded.
                    Some(c) => _ = pages.insert(c.candidate_page_id.as_str()),
                }
            }
            (first_of_each(&all, pages), request.limit)
        }
        CandidateChoice::All => (first_of_each(&all, pages), request.limit),
    }
}

fn first_of_each<'c>(all: &'c [Candidate], mut seen: HashSet<&'c str>) -> Vec<Candidate> {
    let is_new = |c: &&'c Candidate| seen.insert(c.candidate_page_id.as_str());
    all.iter().filter(is_new).cloned().collect()
}

fn skip(skipped: &mut Vec<SkippedTarget>, id: &str, reason: impl Into<String>) {
    skipped.push(SkippedTarget {
        target: Value::from(id),
        reason: reason.into(),
    });
}

fn target_of(candidate: &Candidate) -> Value {
    let depth = candidate.citing_depth + 1;
    let reason = "citation_chase";
    match &candidate.doi {
        Some(doi) => json!({ "kind": "doi", "doi": doi, "depth": depth, "reason": reason }),
        None => {
            let url = &candidate.candidate_url;
            json!({ "kind": "url", "url": url, "depth": depth, "reason": reason })
        }
    }
}

/// The rows of `v_reference_candidates`, in its order.
fn candidates(reader: &Reader<'_>, task_id: &str) -> Result<Vec<Candidate>> {
    let cited = reader.reference_candidates(task_id)?.into_iter();
    let candidate = |cited: ReferenceCandidate| {
        let doi = doi_from_url(&cited.url);
        Candidate {
            citation_edge_id: cited.edge_id,
            candidate_page_id: cited.page_id,
            candidate_domain: cited.domain,
            kind: if doi.is_some() { "doi" } else { "url" }.to_owned(),
            doi,
            candidate_url: cited.url,
            citation_context: cited.context,
            citing_page_id: cited.citing_page_id,
            citing_depth: cited.depth,
        }
    };
    Ok(cited.map(candidate).collect())
}
