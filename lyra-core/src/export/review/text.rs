//! The review as text, for a terminal or as Markdown.

use super::parts::{FlowBox, Review};
use crate::export::told::{Entry, Section, text};
use crate::store::graph::ReviewerAgreement;

/// The names of the boxes in order, and their indentation.
pub(super) const BOXES: [(&str, &str, usize); 9] = [
    ("identified", "Records identified", 0),
    ("duplicates", "Duplicate records removed", 1),
    ("screened", "Records screened", 0),
    ("records_excluded", "Records excluded", 1),
    ("sought", "Reports sought for retrieval", 0),
    ("not_retrieved", "Reports not retrieved", 1),
    ("assessed", "Reports assessed", 0),
    ("reports_excluded", "Reports excluded", 1),
    ("included", "Sources included", 0),
];

/// Maximum number of reasons that are listed for a box; the view has all.
const REASONS: usize = 8;

pub(super) fn plain(review: &Review) -> String {
    let mut out = format!("{}\ntask {}\n", text(&review.hypothesis), review.task_id);
    for section in sections(review) {
        out.push_str(&format!("\n{}\n", section.title));
        for entry in section.entries {
            out.push_str(&format!("  {}\n", entry.line));
            for line in entry.below {
                out.push_str(&format!("    {line}\n"));
            }
        }
    }
    out
}

pub(super) fn markdown(review: &Review) -> String {
    let mut out = format!(
        "# Review: {}\n\nTask `{}`.\n",
        escaped(&text(&review.hypothesis)),
        review.task_id
    );
    for section in sections(review) {
        out.push_str(&in_markdown(&section));
    }
    out
}

/// The flow of the whole task.
pub(super) fn flow_in_markdown(boxes: &[FlowBox]) -> String {
    let section = in_markdown(&flow(boxes, None, "Flow of records"));
    format!("{}\n", section.trim_start())
}

fn in_markdown(section: &Section) -> String {
    let mut out = format!("\n## {}\n\n", escaped(&section.title));
    for entry in &section.entries {
        out.push_str(&format!("- {}\n", escaped(entry.line.trim())));
        for line in &entry.below {
            out.push_str(&format!("  - {}\n", escaped(line.trim())));
        }
    }
    out
}

/// Text escaped so that Markdown and HTML treat it as plain text.
pub(in crate::export) fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => written.push_str("&lt;"),
            '&' => written.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => written.extend(['\\', c]),
            c => written.push(c),
        }
    }
    written
}

fn sections(review: &Review) -> Vec<Section> {
    let mut all = vec![runs(review)];
    all.extend(news(review));
    all.push(flow(&review.flow, None, "Flow of the whole task"));
    let last = review.runs.last().map(|run| run.wave);
    if review.runs.len() > 1 {
        all.push(flow(&review.flow, last, "Flow of the last run"));
    }
    all.extend(screening(review));
    all.push(searches(review));
    all.push(Section {
        title: "What machines did (PRISMA-trAIce, item by item)".to_owned(),
        entries: review
            .machines
            .iter()
            .map(|item| Entry {
                line: item.item.clone(),
                below: vec![item.text.clone()],
            })
            .collect(),
    });
    all
}

fn line(line: String) -> Entry {
    Entry {
        line,
        below: Vec::new(),
    }
}

fn runs(review: &Review) -> Section {
    let run = |run: &super::parts::ReviewRun| {
        let end = run.ended_at.as_deref().unwrap_or("not ended");
        line(format!(
            "run {}: {} to {end}, {} targets",
            run.wave, run.began_at, run.targets
        ))
    };
    Section {
        title: "Runs of research".to_owned(),
        entries: review.runs.iter().map(run).collect(),
    }
}

/// The changes since the start of the review's period.
fn news(review: &Review) -> Vec<Section> {
    let since = &review.changes.before;
    let mut found = review.changes.sections();
    let newer = review.newer_versions.iter().map(|newer| Entry {
        line: text(newer.title.as_deref().unwrap_or(&newer.url)),
        below: vec![format!(
            "{} is superseded by {}",
            newer.url, newer.newer_url
        )],
    });
    let decided = review.screenings.iter().map(|event| {
        let reason = event.reason.as_deref().map(|r| format!(": {}", text(r)));
        let last_word = if event.is_final { ", final" } else { "" };
        line(format!(
            "{} by {}{last_word}{}, {}",
            event.decision,
            text(&event.reviewer),
            reason.unwrap_or_default(),
            event.url
        ))
    });
    for (title, entries) in [
        ("newer versions of sources", newer.collect::<Vec<_>>()),
        ("decisions in screening", decided.collect()),
    ] {
        if !entries.is_empty() {
            let title = title.to_owned();
            found.push(Section { title, entries });
        }
    }
    if found.is_empty() {
        return vec![Section {
            title: format!("New since {since}"),
            entries: vec![line("nothing".to_owned())],
        }];
    }
    for section in &mut found {
        let count = section.entries.len();
        section.title = format!("Since {since}: {} ({count})", section.title);
    }
    found
}

fn flow(boxes: &[FlowBox], wave: Option<i64>, title: &str) -> Section {
    let find = |name: &str| {
        let mut boxes = boxes.iter();
        boxes.find(|one| one.wave == wave && one.name == name)
    };
    let entry = |(name, words, depth): &(&str, &str, usize)| {
        let found = find(name);
        let records = found.map_or(0, |one| one.records);
        Entry {
            line: format!("{}{words}: {records}", "  ".repeat(*depth)),
            below: found.map(|one| details(one, *depth)).unwrap_or_default(),
        }
    };
    Section {
        title: title.to_owned(),
        entries: BOXES.iter().map(entry).collect(),
    }
}

fn details(one: &FlowBox, depth: usize) -> Vec<String> {
    let indent = "  ".repeat(depth);
    shortened(one)
        .into_iter()
        .map(|(what, records)| format!("{indent}{}: {records}", text(&what)))
        .collect()
}

/// The most frequent details, and the sum of the others.
pub(super) fn shortened(one: &FlowBox) -> Vec<(String, i64)> {
    let mut shown: Vec<(String, i64)> = one.details.iter().take(REASONS).cloned().collect();
    let rest: i64 = one.details.iter().skip(REASONS).map(|(_, n)| n).sum();
    if rest > 0 {
        shown.push(("other reasons".to_owned(), rest));
    }
    shown
}

fn screening(review: &Review) -> Option<Section> {
    let agreed = |one: &ReviewerAgreement| {
        let kappa = one
            .kappa
            .map_or("not defined".to_owned(), |k| format!("{k:.2}"));
        line(format!(
            "{} and {}: {} of {} sources alike, kappa {kappa}",
            text(&one.reviewer_a),
            text(&one.reviewer_b),
            one.agreement_count,
            one.source_count
        ))
    };
    let mut entries: Vec<Entry> = review.agreement.iter().map(agreed).collect();
    let disputed = review.disputed.iter();
    entries.extend(disputed.map(|url| line(format!("disputed: {url}"))));
    (!entries.is_empty()).then(|| Section {
        title: "Agreement in screening".to_owned(),
        entries,
    })
}

fn searches(review: &Review) -> Section {
    let search = |one: &super::parts::SearchLine| {
        let hits = match (&one.error, one.hits) {
            (Some(error), _) => format!("failed: {}", text(error)),
            (None, Some(hits)) => format!("{hits} hits"),
            (None, None) => "no answer".to_owned(),
        };
        line(format!(
            "run {}, {}, {}: \"{}\": {hits}",
            one.wave,
            one.at,
            one.provider,
            text(&one.query)
        ))
    };
    Section {
        title: "Search strategy".to_owned(),
        entries: review.searches.iter().map(search).collect(),
    }
}
