//! The evidence page: one file that a browser can show offline.
//!
//! The page is a template with a placeholder for the data. The data are JSON without any `<`, so
//! that nothing in them can end the enclosing element.

use super::keys::all_sources;
use super::makers::makers;
use super::review::diagram;
use super::sources::Source;
use super::written::{report_of, unwritten};
use crate::error::{Error, Result};
use crate::security::display::is_harmful;
use crate::store::confidence::claim_confidence;
use crate::store::graph::{ExportReport, Part, Reader};
use crate::store::model::Relation;
use serde::Serialize;
use std::collections::HashMap;
use std::io::Write;

const PAGE: &str = include_str!("page/page.html");
/// The placeholder for the data.
const DATA: &str = "{{DATA}}";
/// Characters of context on each side of a quote.
const CONTEXT: usize = 400;

/// The data of the evidence page.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct EvidencePage {
    /// The task.
    pub task_id: String,
    /// The hypothesis of the task.
    pub hypothesis: String,
    /// Sentences that name the extractors of the claims and the judges.
    pub made_by: Vec<String>,
    /// The adopted claims.
    pub claims: Vec<PageClaim>,
    /// The sources of the claims and of their passages.
    pub sources: Vec<PageSource>,
    /// The passages.
    pub evidence: Vec<PageEvidence>,
    /// Indexes in `sources` of the citing and the cited source.
    pub citations: Vec<(usize, usize)>,
    /// What was left out, if the page contains only a part of its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
}

/// A claim on the evidence page.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PageClaim {
    /// The claim's id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// supports, refutes or neutral to the hypothesis; null if not judged.
    pub stance: Option<String>,
    /// Confidence of the judge of the stance.
    pub stance_confidence: Option<f64>,
    /// If sources contradict each other on it: the confidence of the less sure side.
    pub contradiction_confidence: Option<f64>,
    /// Passages for it.
    pub supports: usize,
    /// Passages against it.
    pub refutes: usize,
    /// Neutral passages.
    pub neutral: usize,
    /// Mean of Beta(1 + support, 1 + refutation).
    pub mean: f64,
    /// Its standard deviation.
    pub sd: f64,
}

/// A source on the evidence page.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PageSource {
    /// Its title.
    pub title: String,
    /// Names, family names first.
    pub authors: Vec<String>,
    /// Year of publication.
    pub year: Option<i64>,
    /// Journal, publisher or site.
    pub venue: Option<String>,
    /// The DOI.
    pub doi: Option<String>,
    /// A web address.
    pub url: Option<String>,
    /// The name of a file that has no other address.
    pub file: Option<String>,
    /// Whether it is a publication rather than a web page or a file.
    pub is_publication: bool,
    /// Whether it was retracted.
    pub is_retracted: bool,
    /// What superseded it, as text.
    pub superseded_by: Option<String>,
    /// The day on which it was accessed.
    pub accessed: Option<String>,
}

/// A passage on the evidence page.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct PageEvidence {
    /// The id of the edge, used to correct its verdict.
    pub id: String,
    /// Index in `claims`.
    pub claim: usize,
    /// Index in `sources`.
    pub source: usize,
    /// origin, supports, refutes or neutral.
    pub relation: String,
    /// Confidence of the judge.
    pub confidence: Option<f64>,
    /// Whether a person judged it.
    pub by_human: bool,
    /// Whether the source has a newer text than the one that contains this passage.
    pub is_outdated: bool,
    /// The heading above it.
    pub heading: Option<String>,
    /// The text before the quote.
    pub before: String,
    /// The quoted words.
    pub quote: String,
    /// The text after it.
    pub after: String,
}

/// The flow diagram as an image with separate styles.
fn flow_section(svg: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b" -._~:;/=(){},.".contains(&b);
    let written = svg.bytes().map(|b| match is_plain(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    });
    format!(
        "<section id=\"flow\" aria-labelledby=\"flow-title\"><h2 id=\"flow-title\">Flow of the review</h2>\
         <img alt=\"The numbers of records in each box of a PRISMA flow diagram; the Markdown report lists them\" \
         style=\"max-width:100%;height:auto\" src=\"data:image/svg+xml,{}\"></section>\n",
        written.collect::<String>()
    )
}

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let task_id = task_of(part)?;
    let data = data(part.reader, &task_id)?;
    let flow = diagram(part.reader, &task_id)?;
    let json = serde_json::to_string(&data)
        .map_err(|e| Error::internal("the page's data are not JSON").with_source(e))?;
    writer
        .write_all(page_with(&json, flow.as_deref())?.as_bytes())
        .map_err(unwritten)?;
    Ok(report_of(&[
        ("claim", data.claims.len()),
        ("source", data.sources.len()),
        ("evidence", data.evidence.len()),
        ("citation", data.citations.len()),
    ]))
}

/// The page without evidence, for a host that shows it in a chat: the page then requests the
/// evidence of this task from the host, or of the task that the host names.
pub(crate) fn app(task_id: Option<&str>) -> Result<String> {
    let task = task_id.map(|task_id| HashMap::from([("task_id", task_id)]));
    let json = serde_json::to_string(&task)
        .map_err(|e| Error::internal("the task's id is not JSON").with_source(e))?;
    page_with(&json, None)
}

/// The page with its data and the flow diagram.
fn page_with(json: &str, flow: Option<&str>) -> Result<String> {
    let (before, after) = PAGE
        .split_once(DATA)
        .ok_or_else(|| Error::internal("the page has no place for its data"))?;
    let json: String = json.chars().filter(|c| !is_harmful(*c)).collect();
    let flow = flow.map(flow_section).unwrap_or_default();
    let before = before.replacen("</main>", &format!("{flow}</main>"), 1);
    Ok([&before, &json.replace('<', "\\u003c"), after].concat())
}

/// The data of a task's page.
pub(crate) fn data(reader: &Reader<'_>, task_id: &str) -> Result<EvidencePage> {
    let part = &Part::new(reader, Some(task_id));
    let sources = all_sources(part)?;
    let places: HashMap<&str, usize> = sources
        .iter()
        .enumerate()
        .map(|(at, s)| (s.id.as_str(), at))
        .collect();
    let successors = successors(part)?;
    let mut claims = claims(part)?;
    let evidence = evidence(part, &claims, &places)?;
    weigh(&mut claims, &evidence);
    let found = reader.contradictions(task_id)?.into_iter();
    let found: HashMap<String, f64> = found.map(|one| (one.claim_id, one.confidence)).collect();
    for claim in &mut claims {
        claim.contradiction_confidence = found.get(&claim.id).copied();
    }
    Ok(EvidencePage {
        hypothesis: reader.task(task_id)?.hypothesis,
        task_id: task_id.to_owned(),
        made_by: makers(reader, task_id)?,
        citations: citations(part, &places)?,
        sources: sources
            .iter()
            .map(|one| source(one, successors.get(&one.id)))
            .collect(),
        claims,
        evidence,
        left_out: None,
    })
}

/// The task of the page: the one asked for, or the only one.
fn task_of(part: &Part<'_>) -> Result<String> {
    if let Some(id) = part.task_id {
        return Ok(id.to_owned());
    }
    match part.reader.tasks()?.as_slice() {
        [only] => Ok(only.id.clone()),
        tasks => Err(Error::invalid(format!(
            "the page shows one task, but the graph has {}",
            tasks.len()
        ))
        .with_hint(
            "give the id of the task (--task on the command line); `lyra-mcp tasks` and \
             the resource lyra://tasks list them",
        )),
    }
}

fn claims(part: &Part<'_>) -> Result<Vec<PageClaim>> {
    part.list(
        "SELECT c.id, c.claim_text, s.relation, s.confidence FROM claims c
           LEFT JOIN hypothesis_stances s ON s.claim_id = c.id
         WHERE c.id {claims} AND c.claim_adoption_status = 'adopted' ORDER BY c.id",
        |row| {
            Ok(PageClaim {
                id: row.get(0)?,
                text: row.get(1)?,
                stance: row.get(2)?,
                stance_confidence: row.get(3)?,
                contradiction_confidence: None,
                supports: 0,
                refutes: 0,
                neutral: 0,
                mean: 0.5,
                sd: 0.0,
            })
        },
    )
}

fn evidence(
    part: &Part<'_>,
    claims: &[PageClaim],
    sources: &HashMap<&str, usize>,
) -> Result<Vec<PageEvidence>> {
    let places: HashMap<&str, usize> = claims
        .iter()
        .enumerate()
        .map(|(at, c)| (c.id.as_str(), at))
        .collect();
    let mut found = Vec::new();
    part.each(
        "SELECT e.target_id, coalesce(p.canonical_id, p.id), e.relation, e.nli_edge_confidence,
           e.edge_human_corrected, f.heading_context, f.text_content,
           e.quote_start - f.char_start, e.quote_end - f.char_start,
           f.page_version < (SELECT max(t.version) FROM page_texts t WHERE t.page_id = f.page_id), e.id
         FROM edges e JOIN fragments f ON f.id = e.source_id JOIN pages p ON p.id = f.page_id
         WHERE e.id {edges} AND e.relation <> 'cites' ORDER BY e.target_id, e.relation, e.id",
        |row| {
            let (claim, source): (String, String) = (row.get(0)?, row.get(1)?);
            let (Some(claim), Some(source)) =
                (places.get(claim.as_str()), sources.get(source.as_str()))
            else {
                return Ok(());
            };
            let text: String = row.get(6)?;
            let span = (row.get(7)?, row.get(8)?);
            let (before, quote, after) = in_context(&text, span);
            found.push(PageEvidence {
                id: row.get(10)?,
                claim: *claim,
                source: *source,
                relation: row.get(2)?,
                confidence: row.get(3)?,
                by_human: row.get(4)?,
                is_outdated: row.get::<Option<bool>>(9)?.unwrap_or(false),
                heading: row.get(5)?,
                before,
                quote,
                after,
            });
            Ok(())
        },
    )?;
    Ok(found)
}

/// The quote, and the text around it; without a span the whole text is the quote.
fn in_context(text: &str, span: (Option<i64>, Option<i64>)) -> (String, String, String) {
    let at = |n: Option<i64>| n.and_then(|n| usize::try_from(n).ok());
    let (Some(start), Some(end)) = (at(span.0), at(span.1)) else {
        return (String::new(), text.to_owned(), String::new());
    };
    let characters: Vec<char> = text.chars().collect();
    let end = end.min(characters.len());
    let start = start.min(end);
    let from = start.saturating_sub(CONTEXT);
    let to = (end + CONTEXT).min(characters.len());
    let part = |range: std::ops::Range<usize>| characters[range].iter().collect::<String>();
    let mut before = part(from..start);
    if from > 0 {
        before.insert(0, '…');
    }
    let mut after = part(end..to);
    if to < characters.len() {
        after.push('…');
    }
    (before, part(start..end), after)
}

fn weigh(claims: &mut [PageClaim], evidence: &[PageEvidence]) {
    let mut verdicts: Vec<Vec<(Relation, f64)>> = vec![Vec::new(); claims.len()];
    for e in evidence {
        if let Ok(relation) = e.relation.parse() {
            verdicts[e.claim].push((relation, e.confidence.unwrap_or(0.0)));
        }
    }
    for (claim, verdicts) in claims.iter_mut().zip(&verdicts) {
        let balance = claim_confidence(verdicts);
        claim.supports = balance.supporting_count;
        claim.refutes = balance.refuting_count;
        claim.neutral = balance.neutral_count;
        (claim.mean, claim.sd) = (balance.mean, balance.sd);
    }
}

fn citations(part: &Part<'_>, sources: &HashMap<&str, usize>) -> Result<Vec<(usize, usize)>> {
    let pairs = part.list(
        "SELECT DISTINCT coalesce(a.canonical_id, a.id), coalesce(b.canonical_id, b.id)
         FROM edges e JOIN pages a ON a.id = e.source_id JOIN pages b ON b.id = e.target_id
         WHERE e.id {citations} AND e.relation = 'cites' ORDER BY 1, 2",
        |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?)),
    )?;
    let place = |id: &str| sources.get(id).copied();
    let pairs = pairs
        .iter()
        .filter_map(|(a, b)| Some((place(a)?, place(b)?)));
    Ok(pairs.filter(|(a, b)| a != b).collect())
}

/// For each source, the title or address of the one that superseded it.
fn successors(part: &Part<'_>) -> Result<HashMap<String, String>> {
    let found = part.list(
        "SELECT coalesce(p.canonical_id, p.id), coalesce(w.title, next.title, r.title, r.doi, r.url)
         FROM page_references r JOIN pages p ON p.id = r.page_id
           LEFT JOIN resource_index known ON known.identifier_type = 'url' AND known.identifier_value = r.url
           LEFT JOIN pages next ON next.id = known.page_id
           LEFT JOIN works w ON w.canonical_id = coalesce(next.canonical_id, 'doi:' || r.doi)
         WHERE r.citation_source = 'superseded_by' AND p.id {pages} ORDER BY p.id, r.position",
        |row| Ok((row.get(0)?, row.get::<Option<String>>(1)?)),
    )?;
    let named = found.into_iter().filter_map(|(id, name)| Some((id, name?)));
    Ok(named.collect())
}

fn source(source: &Source, successor: Option<&String>) -> PageSource {
    PageSource {
        title: source.title.clone(),
        authors: source.authors.iter().map(|name| name.inverted()).collect(),
        year: source.year,
        venue: source.venue.clone(),
        doi: source.doi.clone(),
        url: source.link().map(str::to_owned),
        file: source.file_name(),
        superseded_by: successor.cloned(),
        is_publication: source.is_publication,
        is_retracted: source.is_retracted,
        accessed: source.accessed.clone(),
    }
}

/// What a page leaves out of its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LeftOut {
    /// Claims.
    pub claims: usize,
    /// Passages.
    pub passages: usize,
}
