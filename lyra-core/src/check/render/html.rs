//! The draft with its findings as one page, without scripts or requests, in light and dark mode.

use super::super::{CheckCode, CheckReport, CheckedSentence, Finding};
use crate::store::text::url::source_name;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");

pub(super) fn render(report: &CheckReport, name: &str) -> String {
    let mut page = String::new();
    let title = escape(name);
    // Writing into a string cannot fail.
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Check of {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Check of {title}</h1>\n<p class=\"headline\">{}. Judge: {}.</p>\n",
        escape(&report.headline()),
        escape(&report.judge)
    );
    legend(report, &mut page);
    page.push_str("<section aria-label=\"The draft\">\n");
    draft(report, &mut page);
    page.push_str("</section>\n");
    references(report, &mut page);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn legend(report: &CheckReport, page: &mut String) {
    page.push_str("<ul class=\"legend\">\n");
    for code in CheckCode::ALL {
        let count = report.summary.findings.get(&code).copied().unwrap_or(0);
        if count > 0 {
            let _ = writeln!(
                page,
                "<li><span class=\"code {code}\">{}</span> {count}: {}</li>",
                label(code),
                escape(code.meaning())
            );
        }
    }
    page.push_str("</ul>\n");
}

/// The draft's own text. The text between its sentences is kept, so that it reads as it was written.
fn draft(report: &CheckReport, page: &mut String) {
    let chars: Vec<char> = report.text.chars().collect();
    let cut = |from: usize, to: usize| -> String {
        let part = chars.get(from..to.max(from)).unwrap_or_default();
        escape(&part.iter().collect::<String>())
    };
    page.push_str("<div class=\"draft\">");
    let mut at = 0;
    let mut order: Vec<&CheckedSentence> = report.sentences.iter().collect();
    order.sort_by_key(|sentence| sentence.start);
    for sentence in order.into_iter().filter(|s| !s.findings.is_empty()) {
        if sentence.start < at {
            continue;
        }
        page.push_str(&cut(at, sentence.start));
        let worst = sentence.findings[0].code;
        let _ = write!(
            page,
            "<details class=\"sentence {worst}\"><summary><span class=\"code {worst}\">{}</span> {}</summary>",
            label(worst),
            cut(sentence.start, sentence.end)
        );
        for finding in &sentence.findings {
            one(finding, page);
        }
        page.push_str("</details>");
        at = sentence.end;
    }
    page.push_str(&cut(at, chars.len()));
    page.push_str("</div>\n");
}

fn one(finding: &Finding, page: &mut String) {
    let _ = write!(
        page,
        "<div class=\"finding\"><p><span class=\"code {0}\">{1}</span> {2}</p>",
        finding.code,
        label(finding.code),
        escape(&finding.message)
    );
    if let Some(diff) = &finding.diff {
        let _ = write!(page, "<p class=\"diff\">{}</p>", marked(diff));
    }
    if let Some(evidence) = &finding.evidence {
        let title = source_name(evidence.title.as_deref(), &evidence.url);
        let _ = write!(
            page,
            "<blockquote>{}<footer>{}</footer></blockquote>",
            escape(&evidence.quote),
            escape(&title)
        );
    }
    let sure = finding
        .confidence
        .map(|sure| format!(", confidence {sure:.2}"));
    let _ = write!(
        page,
        "<p class=\"judge\">Judged by {}{}</p></div>",
        escape(&finding.judge),
        sure.unwrap_or_default()
    );
}

/// Renders `[-a-]{+b+}` as deletions and insertions.
fn marked(diff: &str) -> String {
    escape(diff)
        .replace("[-", "<del>")
        .replace("-]", "</del>")
        .replace("{+", "<ins>")
        .replace("+}", "</ins>")
}

fn references(report: &CheckReport, page: &mut String) {
    if report.references.is_empty() {
        return;
    }
    page.push_str(
        "<section aria-label=\"References\">\n<h2>References</h2>\n<ul class=\"references\">\n",
    );
    for reference in &report.references {
        let label = reference.label.as_deref().unwrap_or("–");
        let _ = write!(
            page,
            "<li><p><b>[{}]</b> {} (cited {} times)</p>",
            escape(label),
            escape(&reference.text),
            reference.cited
        );
        for finding in &reference.findings {
            one(finding, page);
        }
        page.push_str("</li>\n");
    }
    page.push_str("</ul>\n</section>\n");
}

fn label(code: CheckCode) -> String {
    code.as_str().replace('_', " ")
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ if c != '\n' && (c.is_control() || crate::security::sanitize::is_invisible(c)) => {}
            _ => safe.push(c),
        }
    }
    safe
}
