//! A comparison as text: one line for each change, and below it the cause.

use crate::security::display::is_harmful;
use crate::store::model::Relation;
use crate::store::{
    ChangeCause, ClaimChange, ConfidenceChange, EdgeChange, EdgeEvent, GraphDiff, NewSource,
    RetractedWork, StanceChange, TextChange,
};
use serde::Serialize;

/// Maximum number of characters of a text on its line.
const TEXT: usize = 100;

/// Maximum number of verdicts shown per claim; JSON has all of them.
const EDGES_SHOWN: usize = 8;

impl GraphDiff {
    /// The changes as text, grouped by kind; kinds without a change are left out.
    pub fn sections(&self) -> Vec<Section> {
        let claims = |list: &[ClaimChange]| list.iter().map(claim).collect();
        let all: [(&str, Vec<Entry>); 11] = [
            ("new sources", sources(self)),
            ("newer texts of known pages", texts(self)),
            (
                "retracted",
                self.retracted_works.iter().map(retraction).collect(),
            ),
            ("new claims", claims(&self.new_claims)),
            ("vanished claims", claims(&self.vanished_claims)),
            ("rejected claims", claims(&self.rejected_claims)),
            ("restored claims", claims(&self.restored_claims)),
            ("stances that flipped", stances(self)),
            (
                "confidence that moved",
                self.moved_claims.iter().map(confidence).collect(),
            ),
            (
                "verdicts that a human corrected",
                by_claim(&self.corrected_verdicts),
            ),
            (
                "claims refuted by new verdicts",
                by_claim(&self.new_contradictions),
            ),
        ];
        let section = |(title, entries): (&str, Vec<Entry>)| Section {
            title: title.to_owned(),
            entries,
        };
        let all = all.into_iter().map(section);
        all.filter(|section| !section.entries.is_empty()).collect()
    }
}

/// One change: a line, and lines below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// What changed.
    pub line: String,
    /// The cause, and related details.
    pub below: Vec<String>,
}

/// Changes of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The kind of change.
    pub title: String,
    /// The changes.
    pub entries: Vec<Entry>,
}

/// Text from a document on one line, without harmful characters, cut if it is long.
pub(super) fn text(words: &str) -> String {
    let parts = words.split(|c: char| c.is_control() || c.is_whitespace());
    let words: Vec<&str> = parts.filter(|word| !word.is_empty()).collect();
    let plain = words.join(" ").replace(is_harmful, "");
    if plain.chars().count() <= TEXT {
        return plain;
    }
    let kept: String = plain.chars().take(TEXT - 1).collect();
    format!("{}…", kept.trim_end())
}

/// `because …`, if a cause is known.
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
    let entry = |change: &StanceChange| {
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
    let side = |relation: Option<Relation>, confidence: Option<f64>| match relation {
        Some(relation) => format!("{relation} {:.2}", confidence.unwrap_or(0.0)),
        None => String::new(),
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

/// The first verdicts, one per line.
fn edges(changes: &[EdgeChange]) -> Vec<String> {
    let mut lines: Vec<String> = changes.iter().take(EDGES_SHOWN).map(edge).collect();
    if changes.len() > EDGES_SHOWN {
        lines.push(format!("and {} more", changes.len() - EDGES_SHOWN));
    }
    lines
}

/// One entry per claim.
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
    let entry = |change: &TextChange| Entry {
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
    let entry = |source: &NewSource| {
        let title = source.title.as_deref().map(text).unwrap_or_default();
        let reason = source.reason.as_ref().map(|r| format!(" ({r})"));
        Entry {
            line: format!("{}  {title}", source.page_id),
            below: vec![format!("{}{}", source.url, reason.unwrap_or_default())],
        }
    };
    diff.new_sources.iter().map(entry).collect()
}
