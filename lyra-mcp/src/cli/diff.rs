//! `diff`.

use super::config::Settings;
use super::layout::{cut, plain};
use super::open;
use super::output::{Output, json};
use clap::{Args, ValueEnum};
use lyra_core::Result;
use lyra_core::{
    ChangeCause, ClaimChange, ConfidenceChange, EdgeChange, EdgeEvent, GraphDiff, RetractedWork,
};
use std::path::PathBuf;

/// Columns that a text may take on its line.
const TEXT: usize = 100;

/// Verdicts that are shown of one claim; JSON has all of them.
const EDGES_SHOWN: usize = 8;

#[derive(Args)]
pub(super) struct Options {
    /// The database as it was before; with --since, the one to look at
    #[arg(value_name = "A", required_unless_present = "since")]
    first: Option<PathBuf>,
    /// The database as it is now [default: that of --db]
    #[arg(value_name = "B", conflicts_with = "since")]
    second: Option<PathBuf>,
    /// Within one database, from this day (2026-11-01) or time on
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only this task and what belongs to it
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// For reading, or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(super) fn run(settings: &Settings, options: &Options) -> Result<()> {
    let mut settings = settings.clone();
    let now = match options.since {
        Some(_) => &options.first,
        None => &options.second,
    };
    if let Some(now) = now {
        settings.db.clone_from(now);
    }
    let engine = open(&settings)?;
    let task = options.task.as_deref();
    let diff = match (&options.since, &options.first) {
        (None, Some(before)) => engine.diff(before, task)?,
        (since, _) => engine.changes_since(since.as_deref().unwrap_or_default(), task)?,
    };
    let mut out = Output::new();
    match options.format {
        Format::Json => out.line(&json(&diff)?)?,
        Format::Text => print(&diff, &mut out)?,
    }
    out.finish()
}

fn print(diff: &GraphDiff, out: &mut Output) -> Result<()> {
    out.line(&format!(
        "{} -> {}: {} changes",
        diff.before,
        diff.after,
        diff.total()
    ))?;
    let claims = |list: &[ClaimChange]| list.iter().map(claim).collect::<Vec<_>>();
    section(out, "new sources", &sources(diff))?;
    section(out, "newer texts of known pages", &texts(diff))?;
    let retracted: Vec<Entry> = diff.retracted_works.iter().map(retraction).collect();
    section(out, "retracted", &retracted)?;
    section(out, "new claims", &claims(&diff.new_claims))?;
    section(out, "vanished claims", &claims(&diff.vanished_claims))?;
    section(out, "rejected claims", &claims(&diff.rejected_claims))?;
    section(out, "restored claims", &claims(&diff.restored_claims))?;
    section(out, "stances that flipped", &stances(diff))?;
    let moved: Vec<Entry> = diff.moved_claims.iter().map(confidence).collect();
    section(out, "confidence that moved", &moved)?;
    let corrected = by_claim(&diff.corrected_verdicts);
    section(out, "verdicts that a human corrected", &corrected)?;
    let refuting = by_claim(&diff.new_contradictions);
    section(out, "claims refuted by new verdicts", &refuting)
}

/// One change: a line, and lines below it.
struct Entry {
    line: String,
    below: Vec<String>,
}

fn section(out: &mut Output, title: &str, entries: &[Entry]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    out.line(&format!("\n{title} ({})", entries.len()))?;
    for entry in entries {
        out.line(&format!("  {}", entry.line))?;
        for line in &entry.below {
            out.line(&format!("    {line}"))?;
        }
    }
    Ok(())
}

fn text(words: &str) -> String {
    cut(&plain(words), TEXT)
}

/// `because …`, if anything is known.
fn because(cause: &ChangeCause, below: &mut Vec<String>) {
    let job = cause.job_id.as_ref().map(|id| match &cause.job_target {
        Some(target) => format!("{id} {:?}", text(target)),
        None => id.clone(),
    });
    let judge = cause.judge_id.as_ref().map(|id| format!("judge {id}"));
    let actor = cause.actor.as_ref().map(|who| format!("by {who}"));
    let known: Vec<String> = [job, judge, actor, cause.reason.as_deref().map(text)]
        .into_iter()
        .flatten()
        .collect();
    if !known.is_empty() {
        below.push(format!("because: {}", known.join("; ")));
    }
}

fn claim(change: &ClaimChange) -> Entry {
    let stance = change
        .stance
        .map_or("not judged", |relation| relation.as_str());
    let mut below: Vec<String> = change
        .url
        .iter()
        .map(|url| format!("read in {url}"))
        .collect();
    because(&change.cause, &mut below);
    Entry {
        line: format!(
            "{}  {stance}  {}",
            change.claim_id,
            text(&change.claim_text)
        ),
        below,
    }
}

fn stances(diff: &GraphDiff) -> Vec<Entry> {
    let entry = |change: &lyra_core::StanceChange| {
        let before = change
            .before
            .map_or("unknown", |relation| relation.as_str());
        let after = change
            .after
            .map_or("not judged", |relation| relation.as_str());
        let confidence = change.confidence.map(|c| format!(" ({c:.2})"));
        let confidence = confidence.unwrap_or_default();
        let mut below = Vec::new();
        because(&change.cause, &mut below);
        Entry {
            line: format!(
                "{}  {before} -> {after}{confidence}  {}",
                change.claim_id,
                text(&change.claim_text)
            ),
            below,
        }
    };
    diff.flipped_stances.iter().map(entry).collect()
}

fn confidence(change: &ConfidenceChange) -> Entry {
    let below = edges(&change.edges);
    let (before, after) = (change.before, change.after);
    Entry {
        line: format!(
            "{}  {before:.2} -> {after:.2}  {}",
            change.claim_id,
            text(&change.claim_text)
        ),
        below,
    }
}

/// One verdict in one line.
fn edge(change: &EdgeChange) -> String {
    let side = |relation: Option<lyra_core::store::model::Relation>, confidence: Option<f64>| {
        match relation {
            Some(relation) => format!("{relation} {:.2}", confidence.unwrap_or(0.0)),
            None => String::new(),
        }
    };
    let before = side(change.relation_before, change.confidence_before);
    let after = side(change.relation_after, change.confidence_after);
    let what = match change.event {
        EdgeEvent::Added => format!("added {after}"),
        EdgeEvent::Removed => format!("removed {before}"),
        EdgeEvent::Corrected => format!("corrected {before} -> {after}"),
        EdgeEvent::Rejudged => format!("judged again {before} -> {after}"),
    };
    let place = change.url.as_deref().unwrap_or("no page");
    let mut why = Vec::new();
    because(&change.cause, &mut why);
    let why: String = why.iter().map(|line| format!(" ({line})")).collect();
    format!("{} {what}, {place}{why}", change.edge_id)
}

/// The first verdicts, one a line.
fn edges(changes: &[EdgeChange]) -> Vec<String> {
    let mut lines: Vec<String> = changes.iter().take(EDGES_SHOWN).map(edge).collect();
    if changes.len() > EDGES_SHOWN {
        lines.push(format!("and {} more", changes.len() - EDGES_SHOWN));
    }
    lines
}

/// One entry a claim.
fn by_claim(verdicts: &[EdgeChange]) -> Vec<Entry> {
    let by_claim = verdicts.chunk_by(|one, next| one.claim_id == next.claim_id);
    let entry = |changes: &[EdgeChange]| {
        let first = changes.first()?;
        Some(Entry {
            line: format!("{}  {}", first.claim_id, text(&first.claim_text)),
            below: edges(changes),
        })
    };
    by_claim.filter_map(entry).collect()
}

fn retraction(work: &RetractedWork) -> Entry {
    let title = work.title.as_deref().map(text).unwrap_or_default();
    let rest = |what: &str, claims: &[String]| {
        (!claims.is_empty()).then(|| format!("{what} {}", claims.join(" ")))
    };
    let below = [
        rest("claims read in it:", &work.claims_read_in_it),
        rest("claims judged by it:", &work.claims_judged_by_it),
    ];
    Entry {
        line: format!("{}  {title}", work.canonical_id),
        below: below.into_iter().flatten().collect(),
    }
}

fn texts(diff: &GraphDiff) -> Vec<Entry> {
    let entry = |change: &lyra_core::TextChange| Entry {
        line: format!(
            "{}  text {} -> {}, read {}  {}",
            change.page_id,
            change.version_before,
            change.version_after,
            change.fetched_at,
            change.url
        ),
        below: vec![format!(
            "claims quoted from an older text: {}",
            change.claims_on_older_text
        )],
    };
    diff.superseded_texts.iter().map(entry).collect()
}

fn sources(diff: &GraphDiff) -> Vec<Entry> {
    let entry = |source: &lyra_core::NewSource| {
        let title = source.title.as_deref().map(text).unwrap_or_default();
        let reason = source.reason.as_ref().map(|r| format!(" ({r})"));
        Entry {
            line: format!("{}  {title}", source.page_id),
            below: vec![format!("{}{}", source.url, reason.unwrap_or_default())],
        }
    };
    diff.new_sources.iter().map(entry).collect()
}
