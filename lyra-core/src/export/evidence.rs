//! The evidence of a task: what the evidence page, the Markdown report and the report on a terminal
//! show.

use super::keys::all_sources;
use super::makers::makers;
use super::sources::Source;
use crate::error::Result;
use crate::store::confidence::{POSSIBLE_BELOW, claim_confidence};
use crate::store::graph::{Part, Reader};
use crate::store::model::Relation;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// Characters of context on each side of a quote.
const CONTEXT: usize = 400;

/// Maximum number of characters shown of an address that is not a link.
const LONGEST: usize = 200;

/// The evidence of a task, as the evidence page and the reports show it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct EvidencePage {
    /// The task.
    pub task_id: String,
    /// The hypothesis of the task.
    pub hypothesis: String,
    /// Sentences that name the extractors of the claims and the judges.
    pub made_by: Vec<String>,
    /// The adopted claims, by id.
    pub claims: Vec<PageClaim>,
    /// The sources of the claims and of their passages.
    pub sources: Vec<PageSource>,
    /// The passages, by claim and relation.
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
    /// The previous sentence, if the claim refers back to it ("It", "These").
    pub preceded_by: Option<String>,
    /// If sources contradict each other on it: the confidence of the less sure side.
    pub contradiction_confidence: Option<f64>,
    /// Then also the surest passage for it and the surest against it, by their ids.
    pub contradicting_passages: Option<[String; 2]>,
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
    /// The id of the publication, or of the page.
    #[serde(skip)]
    pub(super) id: String,
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
    /// The id in PubMed.
    pub pmid: Option<String>,
    /// A web address.
    pub url: Option<String>,
    /// The name of a file, or an address that is not a link, if it has no other address.
    pub file: Option<String>,
    /// Whether it is a publication rather than a web page or a file.
    pub is_publication: bool,
    /// Whether it was retracted.
    pub is_retracted: bool,
    /// What superseded it, as text.
    pub superseded_by: Option<String>,
    /// The passage of the source that says so.
    pub superseded_quote: Option<String>,
    /// Whether it was read for the task or is evidence on a claim; others are only cited.
    pub was_read: bool,
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

/// An address that must not become a link, shortened.
fn address(source: &Source) -> Option<String> {
    let is_needed = source.doi.is_none() && source.link().is_none();
    let url = source.url.as_deref().filter(|_| is_needed)?;
    Some(url.chars().take(LONGEST).collect())
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

impl PageClaim {
    /// The text; if it refers back, after the previous sentence in brackets.
    #[must_use]
    pub fn in_context(&self) -> String {
        match &self.preceded_by {
            Some(before) => format!("[{before}] {}", self.text),
            None => self.text.clone(),
        }
    }

    /// Whether it takes a side of which the judge is not sure.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        matches!(self.stance.as_deref(), Some("supports" | "refutes"))
            && self
                .stance_confidence
                .is_some_and(|sure| sure < POSSIBLE_BELOW)
    }
}

impl EvidencePage {
    /// Positions in `claims` of those that take this side, the surest first. Possible ones are left
    /// out unless no claim surely takes any side: on documents that the built-in judge was not
    /// trained on, one in two of its sure sides is right, and one in seven of the possible ones.
    #[must_use]
    pub fn sides(&self, stance: &str) -> Vec<usize> {
        let takes_side =
            |claim: &&PageClaim| matches!(claim.stance.as_deref(), Some("supports" | "refutes"));
        let mut sided = self.claims.iter().filter(takes_side);
        let is_any_sure = sided.any(|claim| !claim.is_possible());
        let is_listed = |at: &usize| {
            let claim = &self.claims[*at];
            claim.stance.as_deref() == Some(stance) && !(is_any_sure && claim.is_possible())
        };
        let sure = |at: usize| self.claims[at].stance_confidence.unwrap_or(0.0);
        let mut found: Vec<usize> = (0..self.claims.len()).filter(is_listed).collect();
        found.sort_by(|a, b| sure(*b).total_cmp(&sure(*a)));
        found
    }

    /// The number of claims that take this side: sure ones, and possible ones.
    #[must_use]
    pub fn count_sides(&self, stance: &str) -> (usize, usize) {
        let claims = self.claims.iter();
        let of = claims.filter(|claim| claim.stance.as_deref() == Some(stance));
        let (possible, sure): (Vec<&PageClaim>, _) = of.partition(|claim| claim.is_possible());
        (sure.len(), possible.len())
    }

    /// Positions in `claims` on which sources contradict each other, the surest first.
    #[must_use]
    pub fn contradictions(&self) -> Vec<usize> {
        let sure = |at: usize| self.claims[at].contradiction_confidence;
        let mut found: Vec<usize> = (0..self.claims.len())
            .filter(|at| sure(*at).is_some())
            .collect();
        found.sort_by(|a, b| sure(*b).partial_cmp(&sure(*a)).unwrap_or(Ordering::Equal));
        found
    }
}

/// Reads the evidence of a task.
pub(crate) fn data(reader: &Reader<'_>, task_id: &str) -> Result<EvidencePage> {
    let part = &Part::new(reader, Some(task_id));
    let sources = all_sources(part)?;
    let places: HashMap<&str, usize> = sources
        .iter()
        .enumerate()
        .map(|(at, s)| (s.id.as_str(), at))
        .collect();
    let (successors, used) = (successors(part)?, used(part)?);
    let mut claims = claims(part)?;
    let evidence = evidence(part, &claims, &places)?;
    weigh(&mut claims, &evidence);
    for found in reader.contradictions(task_id)? {
        if let Ok(at) = claims.binary_search_by(|claim| claim.id.cmp(&found.claim_id)) {
            claims[at].contradiction_confidence = Some(found.confidence);
            claims[at].contradicting_passages =
                Some([found.supporting_edge_id, found.refuting_edge_id]);
        }
    }
    Ok(EvidencePage {
        hypothesis: reader.task(task_id)?.hypothesis,
        task_id: task_id.to_owned(),
        made_by: makers(reader, task_id)?,
        citations: citations(part, &places)?,
        sources: sources
            .iter()
            .map(|one| source(one, successors.get(&one.id), used.contains(&one.id)))
            .collect(),
        claims,
        evidence,
        left_out: None,
    })
}

fn claims(part: &Part<'_>) -> Result<Vec<PageClaim>> {
    part.list(
        "SELECT c.id, c.claim_text, s.relation, s.confidence,
           CAST(json_extract(c.details_json, '$.preceded_by') AS TEXT) FROM claims c
           LEFT JOIN hypothesis_stances s ON s.claim_id = c.id
         WHERE c.id {claims} AND c.claim_adoption_status = 'adopted' ORDER BY c.id",
        |row| {
            Ok(PageClaim {
                id: row.get(0)?,
                text: row.get(1)?,
                stance: row.get(2)?,
                stance_confidence: row.get(3)?,
                preceded_by: row.get(4)?,
                contradiction_confidence: None,
                contradicting_passages: None,
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

/// The ids of the sources that were read for a task, or that are evidence on a claim. Documents of
/// a corpus are in the graph before any task uses them.
fn used(part: &Part<'_>) -> Result<HashSet<String>> {
    let ids = part.list(
        "SELECT coalesce(p.canonical_id, p.id) FROM pages p WHERE p.id {pages} AND p.id IN (
           SELECT page_id FROM task_pages WHERE task_id = ?1
           UNION SELECT f.page_id FROM edges e JOIN fragments f ON f.id = e.source_id
             WHERE e.id {edges} AND e.target_type = 'claim')",
        |row| row.get(0),
    )?;
    Ok(ids.into_iter().collect())
}

/// For each source, the title or address of the one that superseded it, and the passage that says
/// so.
fn successors(part: &Part<'_>) -> Result<HashMap<String, (String, Option<String>)>> {
    let found = part.list(
        "SELECT coalesce(p.canonical_id, p.id), coalesce(w.title, next.title, r.title, r.doi, r.url),
           (SELECT f.text_content FROM fragments f
             WHERE f.page_id = p.id AND f.text_content LIKE '%superseded%' ORDER BY f.position LIMIT 1)
         FROM page_references r JOIN pages p ON p.id = r.page_id
           LEFT JOIN resource_index known ON known.identifier_type = 'url' AND known.identifier_value = r.url
           LEFT JOIN pages next ON next.id = known.page_id
           LEFT JOIN works w ON w.canonical_id = coalesce(next.canonical_id, 'doi:' || r.doi)
         WHERE r.citation_source = 'superseded_by' AND p.id {pages} ORDER BY p.id, r.position",
        |row| Ok((row.get(0)?, row.get::<Option<String>>(1)?, row.get(2)?)),
    )?;
    let named = found.into_iter();
    Ok(named
        .filter_map(|(id, name, quote)| Some((id, (name?, quote))))
        .collect())
}

fn source(
    source: &Source,
    successor: Option<&(String, Option<String>)>,
    is_used: bool,
) -> PageSource {
    PageSource {
        id: source.id.clone(),
        title: source.title.clone(),
        authors: source.authors.iter().map(|name| name.inverted()).collect(),
        year: source.year,
        venue: source.venue.clone(),
        doi: source.doi.clone(),
        pmid: source.pmid.clone(),
        url: source.link().map(str::to_owned),
        file: source.file_name().or_else(|| address(source)),
        superseded_by: successor.map(|(name, _)| name.clone()),
        superseded_quote: successor.and_then(|(_, quote)| quote.clone()),
        was_read: is_used && source.was_read,
        is_publication: source.is_publication,
        is_retracted: source.is_retracted,
        accessed: source.accessed.clone(),
    }
}
