//! A readable report: the claims, the evidence for and against them, quoted, and its sources.

use super::bibtex::day;
use super::evidence::{EvidencePage, PageClaim, PageEvidence, PageSource, data};
use super::review::flow_in_markdown;
use super::written::{report_of, unwritten};
use crate::error::Result;
use crate::security::display::is_harmful;
use crate::security::injection;
use crate::store::confidence::{POSSIBLE_BELOW, two_digits};
use crate::store::graph::{ExportReport, Part};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;

/// Maximum number of contradictions at the top of a report.
const CONTRADICTIONS: usize = 10;

/// The sources of the report: those cited, in the order of their first citation, and those read but
/// not cited.
#[derive(Default)]
struct Cited {
    sources: Vec<PageSource>,
    by_id: HashMap<String, usize>,
    not_cited: Vec<PageSource>,
}

impl Cited {
    /// The number of a source, from 1.
    fn number(&mut self, source: &PageSource) -> usize {
        if let Some(number) = self.by_id.get(&source.id) {
            return *number;
        }
        self.sources.push(source.clone());
        self.by_id.insert(source.id.clone(), self.sources.len());
        self.sources.len()
    }
}

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let mut cited = Cited::default();
    let (mut claims, mut quotes) = (0, 0);
    for task_id in tasks(part)? {
        let page = data(part.reader, &task_id)?;
        claims += page.claims.len();
        let mut text = beginning(&page);
        let passages = passages(&page);
        quotes += passages.iter().map(Vec::len).sum::<usize>();
        push_contradictions(&mut text, &page, &mut cited);
        push_claims(&mut text, &page, &passages, &mut cited);
        text.push_str(&flow_in_markdown(part.reader, &task_id)?);
        writer.write_all(text.as_bytes()).map_err(unwritten)?;
        let read = page.sources.into_iter().filter(|source| source.was_read);
        cited.not_cited.extend(read);
    }
    let sources = push_sources(writer, cited)?;
    Ok(report_of(&[
        ("claim", claims),
        ("quote", quotes),
        ("source", sources),
    ]))
}

fn tasks(part: &Part<'_>) -> Result<Vec<String>> {
    match part.task_id {
        Some(id) => Ok(vec![id.to_owned()]),
        None => Ok(part.reader.tasks()?.into_iter().map(|t| t.id).collect()),
    }
}

/// The heading, how to read the report, and who made the claims and verdicts.
fn beginning(page: &EvidencePage) -> String {
    let mut text = format!("# {}\n\nTask `{}`. ", line(&page.hypothesis), page.task_id);
    text.push_str(match page.claims.is_empty() {
        true => "There are no claims yet.\n\n",
        false => {
            "The figures are scores for navigation, not verdicts. To correct a wrong verdict, use \
             the id at the end of its line (`feedback`, `edge_correct`).\n\n"
        }
    });
    if !page.made_by.is_empty() {
        text.push_str(&format!("{}\n\n", line(&page.made_by.join(" "))));
    }
    text
}

/// The passages that each claim comes from or that take a side on it: origins first, then those for
/// it, the most certain first.
fn passages(page: &EvidencePage) -> Vec<Vec<&PageEvidence>> {
    let mut of = vec![Vec::new(); page.claims.len()];
    for e in page.evidence.iter().filter(|e| e.relation != "neutral") {
        of[e.claim].push(e);
    }
    for list in &mut of {
        list.sort_by(|a, b| {
            let sure = |e: &PageEvidence| e.confidence.unwrap_or(-1.0);
            let rank = |e: &PageEvidence| (e.relation != "origin", Reverse(e.relation.clone()));
            rank(a).cmp(&rank(b)).then(sure(b).total_cmp(&sure(a)))
        });
    }
    of
}

/// The surest contradictions, each with a passage of both sides.
fn push_contradictions(text: &mut String, page: &EvidencePage, cited: &mut Cited) {
    let found = page.contradictions();
    if found.is_empty() {
        return;
    }
    let shown = found.len().min(CONTRADICTIONS);
    text.push_str(&format!(
        "## Where sources contradict each other ({shown} of {})\n\n",
        found.len()
    ));
    for claim in found.iter().take(shown).map(|at| &page.claims[*at]) {
        let is_possible = claim
            .contradiction_confidence
            .is_some_and(|sure| sure < POSSIBLE_BELOW);
        text.push_str(&format!(
            "- {} `{}`{}\n",
            line(&claim.in_context()),
            claim.id,
            possible(is_possible)
        ));
        let sides = claim.contradicting_passages.iter().flatten();
        for e in sides.filter_map(|id| page.evidence.iter().find(|e| e.id == *id)) {
            text.push_str(&format!("  - {}\n", edge_line(e, page, cited)));
        }
    }
    text.push('\n');
}

/// The parts of a report on a task, in order: the stance of the claims, and whether they take it
/// only possibly.
const STANCES: [(Option<&str>, bool, &str); 6] = [
    (
        Some("supports"),
        false,
        "Claims that support the hypothesis",
    ),
    (Some("refutes"), false, "Claims that speak against it"),
    (Some("supports"), true, "Claims that possibly support it"),
    (
        Some("refutes"),
        true,
        "Claims that possibly speak against it",
    ),
    (Some("neutral"), false, "Claims that do neither"),
    (None, false, "Claims not yet judged against it"),
];

/// The claims by their stance, the most certain first.
fn push_claims(
    text: &mut String,
    page: &EvidencePage,
    passages: &[Vec<&PageEvidence>],
    cited: &mut Cited,
) {
    let sure = |at: &usize| page.claims[*at].stance_confidence.unwrap_or(-1.0);
    for (stance, is_possible, heading) in STANCES {
        let is_here = |at: &usize| {
            let claim = &page.claims[*at];
            claim.stance.as_deref() == stance && claim.is_possible() == is_possible
        };
        let mut here: Vec<usize> = (0..page.claims.len()).filter(is_here).collect();
        if here.is_empty() {
            continue;
        }
        here.sort_by(|a, b| sure(b).total_cmp(&sure(a)));
        text.push_str(&format!("## {heading} ({})\n\n", here.len()));
        for at in here {
            push_claim(text, &page.claims[at]);
            for e in &passages[at] {
                text.push_str(&format!("- {}\n", edge_line(e, page, cited)));
            }
            text.push('\n');
        }
    }
}

fn push_claim(text: &mut String, claim: &PageClaim) {
    let ratio = match claim.supports + claim.refutes {
        0 => "nothing for or against it yet".to_owned(),
        _ => format!(
            "{} for, {} against, support ratio {:.2}",
            claim.supports, claim.refutes, claim.mean
        ),
    };
    text.push_str(&format!(
        "### {}\n\n`{}`{}: {ratio}.\n\n",
        line(&claim.in_context()),
        claim.id,
        stance(claim)
    ));
}

/// ` (confidence 0.81)`, for a claim that takes a side
fn stance(claim: &PageClaim) -> String {
    let takes_side = matches!(claim.stance.as_deref(), Some("supports" | "refutes"));
    let Some(confidence) = claim.stance_confidence.filter(|_| takes_side) else {
        return String::new();
    };
    let confidence = two_digits(confidence);
    match claim.is_possible() {
        true => format!(" (possible, confidence {confidence})"),
        false => format!(" (confidence {confidence})"),
    }
}

fn possible(is_possible: bool) -> &'static str {
    match is_possible {
        true => " (possible)",
        false => "",
    }
}

/// `For (0.91): “the quote” [1] edge_…`
fn edge_line(e: &PageEvidence, page: &EvidencePage, cited: &mut Cited) -> String {
    let confidence = e
        .confidence
        .map_or_else(|| "confidence not stated".to_owned(), |c| format!("{c:.2}"));
    let (what, id) = match e.relation.as_str() {
        "origin" => ("Stated".to_owned(), String::new()),
        "supports" => (format!("For ({confidence})"), format!(" `{}`", e.id)),
        _ => (format!("Against ({confidence})"), format!(" `{}`", e.id)),
    };
    let outdated = match e.is_outdated {
        true => ", from an older text of the source",
        false => "",
    };
    let source = &page.sources[e.source];
    let number = cited.number(source);
    let retracted = match source.is_retracted {
        true => ", **retracted**",
        false => "",
    };
    let human = match e.by_human {
        true => ", corrected by a human",
        false => "",
    };
    format!(
        "{what}: “{}”{} [\\[{number}\\]](#source-{number}){retracted}{outdated}{human}{id}",
        line(&e.quote),
        suspicion(&e.quote)
    )
}

/// Marks quotes that appear to address a model, for readers who paste the report into one.
fn suspicion(quote: &str) -> &'static str {
    match injection::scan(quote).is_empty() {
        true => "",
        false => " (**reads like instructions to a model**)",
    }
}

/// The sources that the report cites, by number; below them those that were read for it but are not
/// cited. Returns how many there are.
fn push_sources(writer: &mut impl Write, mut cited: Cited) -> Result<usize> {
    let mut text = "## Sources\n\n".to_owned();
    for (at, source) in cited.sources.iter().enumerate() {
        let (number, source) = (at + 1, described(source));
        text.push_str(&format!(
            "{number}. <a id=\"source-{number}\"></a>{source}\n"
        ));
    }
    if cited.sources.is_empty() {
        text.push_str("None is cited yet.\n");
    }
    let mut sources = cited.sources.len();
    for source in cited.not_cited {
        // Zero marks a source that is listed here already.
        if cited.by_id.insert(source.id.clone(), 0).is_some() {
            continue;
        }
        if sources == cited.sources.len() {
            text.push_str("\n## Read, but not cited\n\n");
        }
        text.push_str(&format!("- {}\n", described(&source)));
        sources += 1;
    }
    writer.write_all(text.as_bytes()).map_err(unwritten)?;
    Ok(sources)
}

/// `Byron, Ada; Smith, John, Jr. (1843). *Notes*. Journal. <https://doi.org/…>.`
fn described(source: &PageSource) -> String {
    let authors: Vec<String> = source.authors.iter().map(|name| line(name)).collect();
    let year = source.year.map(|year| format!("({year})"));
    let who_and_when: Vec<String> = (!authors.is_empty())
        .then(|| authors.join("; "))
        .into_iter()
        .chain(year)
        .collect();
    let mut parts = vec![who_and_when.join(" "), format!("*{}*", line(&source.title))];
    parts.extend(source.venue.as_deref().map(line));
    // A file without a title has its name as title.
    parts.extend(place(source).filter(|place| *place != line(&source.title)));
    parts.extend(
        source
            .accessed
            .as_deref()
            .map(|when| format!("read {}", day(when))),
    );
    let mut described = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !described.is_empty() {
            described.push(' ');
        }
        described.push_str(part);
        // `Smith, John, Jr.` and `*Does it help?*` already end with punctuation.
        if !part
            .trim_end_matches('*')
            .ends_with(['.', '?', '!', '…', '。'])
        {
            described.push('.');
        }
    }
    if source.is_retracted {
        described.push_str(" **Retracted.**");
    }
    if let Some(successor) = &source.superseded_by {
        described.push_str(&format!(" **Superseded** by {}.", line(successor)));
    }
    described
}

/// The location of the source: a link only to the web, otherwise the file name.
fn place(source: &PageSource) -> Option<String> {
    let link = match (&source.doi, &source.url, &source.pmid) {
        (Some(doi), _, _) => format!("https://doi.org/{doi}"),
        (None, Some(url), _) => url.clone(),
        (None, None, Some(id)) => format!("https://pubmed.ncbi.nlm.nih.gov/{id}/"),
        (None, None, None) => return source.file.as_deref().map(line),
    };
    Some(format!("<{}>", address(&link)))
}

/// One line of plain text: fetched text must not produce markup such as links or headings.
fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if !line.is_empty() && !word.is_empty() {
            line.push(' ');
        }
        for c in word.chars().filter(|c| !is_harmful(*c)) {
            if matches!(
                c,
                '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' | '$'
            ) {
                line.push('\\');
            }
            if c == '&' {
                line.push_str("&amp;");
            } else {
                line.push(c);
            }
        }
    }
    line
}

fn address(url: &str) -> String {
    url.replace('<', "%3C")
        .replace('>', "%3E")
        .replace(|c: char| c.is_whitespace() || is_harmful(c), "%20")
}
