//! A readable report: the claims, the evidence for and against them, quoted, and its sources.

use super::bibtex::day;
use super::keys::read_sources;
use super::makers::makers;
use super::review::flow_in_markdown;
use super::sources::Source;
use super::written::{report_of, unwritten};
use crate::error::{Error, Result};
use crate::security::display::is_harmful;
use crate::security::injection;
use crate::store::confidence::{POSSIBLE_BELOW, claim_confidence};
use crate::store::graph::{ClaimStance, Contradiction, ExportReport, Part};
use crate::store::model::Relation;
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// Maximum number of characters shown of an address that is not a link.
const LONGEST: usize = 200;

/// Maximum number of contradictions at the top of a report.
const CONTRADICTIONS: usize = 10;

struct ReportClaim {
    id: String,
    text: String,
    /// Its stance on the hypothesis, if judged.
    stance: Option<Relation>,
    /// Confidence of the judge in the stance.
    stance_confidence: Option<f64>,
}

impl ReportClaim {
    fn is_possible(&self) -> bool {
        matches!(self.stance, Some(Relation::Supports | Relation::Refutes))
            && self.stance_confidence.is_some_and(|c| c < POSSIBLE_BELOW)
    }
}

/// An edge to a claim with its quote and the number of its source.
struct QuotedEdge {
    edge_id: String,
    relation: Relation,
    /// `None` if the judge gave no confidence.
    confidence: Option<f64>,
    quote: String,
    /// Index in the list of all sources.
    source: Option<usize>,
    is_retracted: bool,
    by_human: bool,
}

/// Numbers of sources, in the order of their first citation in the report.
#[derive(Default)]
struct Numbers {
    /// Indexes in the list of all sources.
    cited: Vec<usize>,
    by_place: HashMap<usize, usize>,
}

impl Numbers {
    /// The number of the source at `place`, from 1.
    fn of(&mut self, place: usize) -> usize {
        *self.by_place.entry(place).or_insert_with(|| {
            self.cited.push(place);
            self.cited.len()
        })
    }
}

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let mut sources = read_sources(part)?;
    let used = used(part)?;
    sources.retain(|source| used.contains(&source.id));
    let mut evidence = evidence(part, &sources)?;
    let mut numbers = Numbers::default();
    let (mut claims_written, mut quotes) = (0, 0);
    let mut text = String::new();
    for (task_id, hypothesis) in tasks(part)? {
        text.push_str(&format!("# {}\n\n", line(&hypothesis)));
        let claims = claims(part, &task_id)?;
        claims_written += claims.len();
        text.push_str(&match claims.is_empty() {
            true => format!("Task `{task_id}`. There are no claims yet.\n\n"),
            false => format!(
                "Task `{task_id}`. The figures are scores for navigation, not verdicts. To \
                 correct a wrong verdict, use the id at the end of its line (`feedback`, \
                 `edge_correct`).\n\n"
            ),
        });
        let makers = makers(part.reader, &task_id)?;
        if !makers.is_empty() {
            text.push_str(&format!("{}\n\n", line(&makers.join(" "))));
        }
        let found = part.reader.contradictions(&task_id)?;
        push_contradictions(&mut text, found, &claims, &evidence, &mut numbers);
        for (stance, heading) in STANCES {
            let of_stance: Vec<&ReportClaim> =
                claims.iter().filter(|c| c.stance == stance).collect();
            if of_stance.is_empty() {
                continue;
            }
            text.push_str(&format!("## {heading} ({})\n\n", of_stance.len()));
            for claim in of_stance {
                let found = evidence.remove(&claim.id).unwrap_or_default();
                quotes += found.len();
                push_claim(&mut text, claim, &found, &mut numbers);
            }
        }
        text.push_str(&flow_in_markdown(part.reader, &task_id)?);
        writer.write_all(text.as_bytes()).map_err(unwritten)?;
        text.clear();
    }
    push_sources(&mut text, &sources, &numbers);
    writer.write_all(text.as_bytes()).map_err(unwritten)?;
    Ok(report_of(&[
        ("claim", claims_written),
        ("quote", quotes),
        ("source", sources.len()),
    ]))
}

/// The parts of a report on a task, in order.
const STANCES: [(Option<Relation>, &str); 4] = [
    (
        Some(Relation::Supports),
        "Claims that support the hypothesis",
    ),
    (Some(Relation::Refutes), "Claims that speak against it"),
    (Some(Relation::Neutral), "Claims that do neither"),
    (None, "Claims not yet judged against it"),
];

fn tasks(part: &Part<'_>) -> Result<Vec<(String, String)>> {
    match part.task_id {
        Some(id) => Ok(vec![(id.to_owned(), part.reader.task(id)?.hypothesis)]),
        None => {
            let tasks = part.reader.tasks()?;
            Ok(tasks.into_iter().map(|t| (t.id, t.hypothesis)).collect())
        }
    }
}

/// The ids of the sources that were read for a task, or that are evidence on a claim. Documents of
/// a corpus are in the graph before any task uses them.
fn used(part: &Part<'_>) -> Result<HashSet<String>> {
    let ids = part.list(
        "SELECT coalesce(p.canonical_id, p.id) FROM pages p WHERE p.id {pages} AND p.id IN (
           SELECT page_id FROM task_pages
           UNION SELECT f.page_id FROM edges e JOIN fragments f ON f.id = e.source_id
             WHERE e.target_type = 'claim')",
        |row| row.get(0),
    )?;
    Ok(ids.into_iter().collect())
}

fn claims(part: &Part<'_>, task_id: &str) -> Result<Vec<ReportClaim>> {
    let claim = |claim: ClaimStance| ReportClaim {
        id: claim.id,
        text: claim.text,
        stance: claim.relation,
        stance_confidence: claim.confidence,
    };
    let claims = part.reader.claims_with_stance(task_id)?;
    Ok(claims.into_iter().map(claim).collect())
}

/// The evidence on each claim, by claim: origins first, then the most certain.
fn evidence(part: &Part<'_>, sources: &[Source]) -> Result<HashMap<String, Vec<QuotedEdge>>> {
    let numbers: HashMap<&str, usize> = sources
        .iter()
        .enumerate()
        .map(|(at, s)| (s.id.as_str(), at))
        .collect();
    let mut found: HashMap<String, Vec<QuotedEdge>> = HashMap::new();
    part.each(
        "SELECT e.target_id, e.relation, e.nli_edge_confidence, e.edge_human_corrected,
           CASE WHEN e.quote_end IS NOT NULL AND f.char_start IS NOT NULL THEN
             substr(f.text_content, e.quote_start - f.char_start + 1, e.quote_end - e.quote_start)
           ELSE f.text_content END,
           coalesce(p.canonical_id, p.id), e.id
         FROM edges e JOIN fragments f ON f.id = e.source_id JOIN pages p ON p.id = f.page_id
         WHERE e.id {edges} AND e.relation IN ('origin', 'supports', 'refutes')
         ORDER BY e.target_id, e.relation <> 'origin', e.relation DESC, e.nli_edge_confidence DESC, e.id",
        |row| {
            let relation: String = row.get(1)?;
            let source: String = row.get(5)?;
            let at = numbers.get(source.as_str()).copied();
            found.entry(row.get(0)?).or_default().push(QuotedEdge {
                edge_id: row.get(6)?,
                relation: relation.parse().map_err(|e: Error| e.context("an edge"))?,
                confidence: row.get(2)?,
                by_human: row.get(3)?,
                quote: row.get(4)?,
                source: at,
                is_retracted: at.is_some_and(|at| sources[at].is_retracted),
            });
            Ok(())
        },
    )?;
    Ok(found)
}

fn push_claim(
    text: &mut String,
    claim: &ReportClaim,
    evidence: &[QuotedEdge],
    numbers: &mut Numbers,
) {
    let verdicts: Vec<(Relation, f64)> = evidence
        .iter()
        .filter(|e| e.relation != Relation::Origin)
        .map(|e| (e.relation, e.confidence.unwrap_or(0.0)))
        .collect();
    let balance = claim_confidence(&verdicts);
    text.push_str(&format!("### {}\n\n", line(&claim.text)));
    let ratio = match balance.supporting_count + balance.refuting_count {
        0 => "nothing for or against it yet".to_owned(),
        _ => format!(
            "{} for, {} against, support ratio {:.2}",
            balance.supporting_count, balance.refuting_count, balance.mean
        ),
    };
    let possible = match claim.is_possible() {
        true => " (possible)",
        false => "",
    };
    text.push_str(&format!("`{}`{possible}: {ratio}.\n\n", claim.id));
    for e in evidence {
        text.push_str(&format!("- {}\n", edge_line(e, numbers)));
    }
    text.push('\n');
}

/// `For (0.91): “the quote” [1] edge_…`
fn edge_line(e: &QuotedEdge, numbers: &mut Numbers) -> String {
    let confidence = e
        .confidence
        .map_or_else(|| "confidence not stated".to_owned(), |c| format!("{c:.2}"));
    let what = match e.relation {
        Relation::Origin => "Stated".to_owned(),
        Relation::Supports => format!("For ({confidence})"),
        _ => format!("Against ({confidence})"),
    };
    let place = e.source.map(|at| numbers.of(at)).map_or_else(
        || "no source".to_owned(),
        |number| format!("[\\[{number}\\]](#source-{number})"),
    );
    let retracted = if e.is_retracted {
        ", **retracted**"
    } else {
        ""
    };
    let human = if e.by_human {
        ", corrected by a human"
    } else {
        ""
    };
    let id = match e.relation {
        Relation::Origin => String::new(),
        _ => format!(" `{}`", e.edge_id),
    };
    format!(
        "{what}: “{}”{} {place}{retracted}{human}{id}",
        line(&e.quote),
        suspicion(&e.quote)
    )
}

/// The surest contradictions, each with a passage of both sides.
fn push_contradictions(
    text: &mut String,
    found: Vec<Contradiction>,
    claims: &[ReportClaim],
    evidence: &HashMap<String, Vec<QuotedEdge>>,
    numbers: &mut Numbers,
) {
    if found.is_empty() {
        return;
    }
    let shown = found.len().min(CONTRADICTIONS);
    text.push_str(&format!(
        "## Where sources contradict each other ({shown} of {})\n\n",
        found.len()
    ));
    for one in found.into_iter().take(shown) {
        let Some(claim) = claims.iter().find(|claim| claim.id == one.claim_id) else {
            continue;
        };
        let possible = match one.confidence < POSSIBLE_BELOW {
            true => " (possible)",
            false => "",
        };
        text.push_str(&format!(
            "- {} `{}`{possible}\n",
            line(&claim.text),
            claim.id
        ));
        let edges = evidence.get(&claim.id).into_iter().flatten();
        let sides = [one.supporting_edge_id, one.refuting_edge_id];
        for e in edges.filter(|e| sides.contains(&e.edge_id)) {
            text.push_str(&format!("  - {}\n", edge_line(e, numbers)));
        }
    }
    text.push('\n');
}

/// Marks quotes that appear to address a model, for readers who paste the report into one.
fn suspicion(quote: &str) -> &'static str {
    match injection::scan(quote).is_empty() {
        true => "",
        false => " (**reads like instructions to a model**)",
    }
}

/// The sources that the report cites, by number; below them those that were read for it but are not
/// cited.
fn push_sources(text: &mut String, sources: &[Source], numbers: &Numbers) {
    text.push_str("## Sources\n\n");
    for (at, place) in numbers.cited.iter().enumerate() {
        let number = at + 1;
        let source = described(&sources[*place]);
        text.push_str(&format!(
            "{number}. <a id=\"source-{number}\"></a>{source}\n"
        ));
    }
    if numbers.cited.is_empty() {
        text.push_str("None is cited yet.\n");
    }
    let others = sources.iter().enumerate();
    let mut others = others
        .filter(|(place, _)| !numbers.by_place.contains_key(place))
        .peekable();
    if others.peek().is_some() {
        text.push_str("\n## Read, but not cited\n\n");
    }
    for (_, source) in others {
        text.push_str(&format!("- {}\n", described(source)));
    }
}

/// `Byron, Ada; Smith, John, Jr. (1843). *Notes*. Journal. <https://doi.org/…>.`
fn described(source: &Source) -> String {
    let authors: Vec<String> = source
        .authors
        .iter()
        .map(|name| line(&name.inverted()))
        .collect();
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
    described
}

/// The location of the source: a link only to the web, otherwise the file name.
fn place(source: &Source) -> Option<String> {
    if let Some(doi) = &source.doi {
        return Some(format!("<https://doi.org/{}>", address(doi)));
    }
    if let Some(link) = source.link() {
        return Some(format!("<{}>", address(link)));
    }
    if let Some(id) = &source.pmid {
        return Some(format!(
            "<https://pubmed.ncbi.nlm.nih.gov/{}/>",
            address(id)
        ));
    }
    let elsewhere = || {
        source
            .url
            .as_deref()
            .map(|url| url.chars().take(LONGEST).collect())
    };
    source
        .file_name()
        .or_else(elsewhere)
        .map(|name| line(&name))
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
