//! A table of the findings, without clearly supported sentences, for a pull request comment.

use super::super::{CheckReport, Finding};
use super::lines::LineIndex;
use crate::store::text::url::source_name;
use std::fmt::Write;

pub(super) fn render(report: &CheckReport, name: &str) -> String {
    let (head, judge) = (report.headline(), cell(&report.judge));
    let mut text = format!("## {}\n\n{head}. Judge: {judge}.\n", cell(name));
    let lines = LineIndex::of(&report.text);
    let of_sentences = report.sentences.iter().flat_map(|s| &s.findings);
    let of_references = report.references.iter().flat_map(|r| &r.findings);
    let told: Vec<&Finding> = of_sentences
        .chain(of_references)
        .filter(|finding| finding.is_worth_a_look())
        .collect();
    let omitted = report.omitted();
    if omitted > 0 {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "\nNot listed: {omitted} supported.");
    }
    if told.is_empty() {
        return text;
    }
    text.push_str("\n| line | finding | draft | source |\n|---:|---|---|---|\n");
    let chars: Vec<char> = report.text.chars().collect();
    for finding in told {
        let draft: String = chars
            .get(finding.start..finding.end)
            .unwrap_or_default()
            .iter()
            .collect();
        let line = lines.place(finding.start).0;
        let sure = finding.confidence.map(|sure| format!(" ({sure:.2})"));
        let _ = writeln!(
            text,
            "| {line} | {}{} | {} | {} |",
            finding.code,
            sure.unwrap_or_default(),
            cell(draft.trim()),
            cell(&told_of_source(finding))
        );
    }
    text
}

/// The message, the words of the source if it lacks them, and where they are.
fn told_of_source(finding: &Finding) -> String {
    let mut told = finding.message.clone();
    if let Some(diff) = &finding.diff {
        let _ = write!(told, " ({diff})");
    }
    if let Some(quote) = finding.further_quote() {
        let _ = write!(told, ": “{quote}”");
    }
    if let Some(evidence) = &finding.evidence {
        let name = source_name(evidence.title.as_deref(), &evidence.url);
        // Some messages begin with the source.
        if !told.contains(&name) {
            let _ = write!(told, " — {name}");
        }
    }
    told
}

/// Escapes text of a draft or a source so that it does not become markup.
fn cell(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => safe.push(' '),
            '|' | '<' | '>' | '[' | ']' | '`' | '*' | '_' | '\\' | '@' | '#' => {
                safe.push('\\');
                safe.push(c);
            }
            _ if crate::security::sanitize::is_invisible(c) || c.is_control() => {}
            _ => safe.push(c),
        }
    }
    safe
}
