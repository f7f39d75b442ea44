//! A table of the findings, without clearly supported sentences, for a pull request comment.

use super::super::{CheckReport, Finding};
use super::lines::LineIndex;
use std::fmt::Write;

pub(super) fn render(report: &CheckReport, name: &str) -> String {
    let mut text = format!("## {}\n\n{}.\n", cell(name), report.headline());
    let lines = LineIndex::of(&report.text);
    let of_sentences = report.sentences.iter().flat_map(|s| &s.findings);
    let of_references = report.references.iter().flat_map(|r| &r.findings);
    let told: Vec<&Finding> = of_sentences
        .chain(of_references)
        .filter(|finding| finding.is_worth_a_look())
        .collect();
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
        let message = match &finding.diff {
            Some(diff) => format!("{} ({diff})", finding.message),
            None => finding.message.clone(),
        };
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "| {line} | {} | {} | {} |",
            finding.code,
            cell(draft.trim()),
            cell(&message)
        );
    }
    text
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
