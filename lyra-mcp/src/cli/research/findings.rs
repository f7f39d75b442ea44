//! The content of the report on a terminal: the evidence page's data, and the provenance of one
//! claim, read with the guarded SQL that an assistant uses.

use super::super::layout::plain;
use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::{Engine, Error, EvidencePage, PageSource, Result};
use serde_json::{Map, Value, json};

/// Maximum number of claims shown for the hypothesis, and of those shown against it; each from
/// another source, as long as there are others.
const CLAIMS_A_SIDE: usize = 6;

/// The same if they are only possible.
const POSSIBLE_A_SIDE: usize = 3;

/// Maximum number of contradictions shown.
const CONTRADICTIONS: usize = 3;

/// Everything that the report shows.
#[derive(Debug)]
pub(in crate::cli) struct Findings {
    pub(super) task_id: String,
    pub(super) hypothesis: String,
    pub(super) counts: Counts,
    pub(super) supporting: Vec<Stated>,
    pub(super) refuting: Vec<Stated>,
    /// If no claim takes a side: the neutral claims with the lowest confidence.
    pub(super) nearest: Vec<Stated>,
    pub(super) contradictions: Vec<Contradiction>,
    pub(super) doubtful: Vec<Doubtful>,
    pub(super) chain: Option<Chain>,
    pub(super) models: Vec<(&'static str, String)>,
    /// Whether only built-in models without a neural network were used.
    pub(super) all_builtin: bool,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) documents: i64,
    /// Number of readable documents in the corpus; 0 if there is none.
    pub(super) corpus: usize,
    pub(super) fragments: i64,
    pub(super) claims: usize,
    pub(super) supports: usize,
    pub(super) refutes: usize,
    pub(super) neutral: usize,
    pub(super) contradicted: usize,
    /// Sure ones, and possible ones.
    pub(super) claims_for: (usize, usize),
    pub(super) claims_against: (usize, usize),
    pub(super) claims_aside: usize,
}

/// A publication, or only the page if there is none.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) author: Option<String>,
    pub(super) year: Option<i64>,
    pub(super) venue: Option<String>,
    pub(super) doi: Option<String>,
    /// The title, or the name of the file.
    pub(super) title: String,
    pub(super) is_retracted: bool,
}

/// A claim with its source.
#[derive(Debug)]
pub(super) struct Stated {
    pub(super) claim: String,
    pub(super) confidence: Option<f64>,
    pub(super) is_possible: bool,
    pub(super) source: Source,
}

/// A claim on which sources disagree.
#[derive(Debug)]
pub(super) struct Contradiction {
    pub(super) claim_id: String,
    pub(super) claim: String,
    /// Passages that support it; 0 if its own source is shown for it.
    pub(super) supports: usize,
    pub(super) refutes: usize,
    pub(super) pro: Option<Stated>,
    pub(super) con: Option<Stated>,
    /// Of the less sure side.
    pub(super) confidence: f64,
}

impl Contradiction {
    /// Showing the same passage twice would make two disputes look like one.
    fn shares_words_with(&self, other: &Self) -> bool {
        let words = |found: &Self| {
            [&found.pro, &found.con].map(|side| side.as_ref().map(|stated| stated.claim.clone()))
        };
        let theirs = words(other);
        words(self)
            .iter()
            .any(|side| side.is_some() && theirs.contains(side))
    }
}

/// A source that was retracted or superseded.
#[derive(Debug)]
pub(super) struct Doubtful {
    pub(super) why: &'static str,
    pub(super) words: Option<String>,
    /// The source that superseded it.
    pub(super) successor: Option<String>,
    pub(super) source: Source,
}

/// A claim, traced back to the characters from which it was extracted.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) claim_id: String,
    pub(super) claim: String,
    pub(super) edge_id: String,
    pub(super) fragment_id: String,
    pub(super) heading: Option<String>,
    pub(super) span: (i64, i64),
    pub(super) quote_span: (i64, i64),
    pub(super) quote: String,
    pub(super) page_id: String,
    /// File, text version and title of the page.
    pub(super) page: String,
    pub(super) fragment_is_exact: bool,
    pub(super) quote_is_inside: bool,
    pub(super) source: Option<Source>,
}

impl Findings {
    pub(in crate::cli) fn collect(engine: &Engine, task_id: &str) -> Result<Self> {
        let page = engine.evidence_page(task_id, usize::MAX)?;
        let shown = Shown::new(&page);
        let supporting = shown.stated(page.sides("supports"));
        let refuting = shown.stated(page.sides("refutes"));
        let nearest = match supporting.is_empty() && refuting.is_empty() {
            true => shown.nearest(),
            false => Vec::new(),
        };
        let contradictions = shown.between_sources();
        let graph = Graph { engine, task_id };
        let chosen = contradictions.first().map(|found| found.claim_id.as_str());
        let models = engine.models();
        Ok(Self {
            task_id: task_id.to_owned(),
            hypothesis: plain(&page.hypothesis),
            counts: graph.counts(&page)?,
            chain: graph.chain(chosen, &shown)?,
            doubtful: shown.doubtful(),
            all_builtin: models.builtin.len() == 3,
            models: vec![
                ("vectors", models.embedder),
                ("claims", models.claim_extractor),
                ("verdicts", models.stance_judge),
            ],
            supporting,
            refuting,
            nearest,
            contradictions,
        })
    }
}

/// The part of a task's evidence that fits on a few screens.
struct Shown<'a> {
    page: &'a EvidencePage,
    /// The index of the source that each claim comes from.
    origins: Vec<Option<usize>>,
}

impl<'a> Shown<'a> {
    fn new(page: &'a EvidencePage) -> Self {
        let mut origins = vec![None; page.claims.len()];
        for e in page.evidence.iter().filter(|e| e.relation == "origin") {
            origins[e.claim].get_or_insert(e.source);
        }
        Self { page, origins }
    }

    /// The source that a claim comes from.
    fn source_of(&self, claim_id: &str) -> Option<Source> {
        let at = self.page.claims.iter().position(|c| c.id == claim_id)?;
        Some(source(&self.page.sources[self.origins[at]?]))
    }

    /// The neutral claims of which the judge is least certain.
    fn nearest(&self) -> Vec<Stated> {
        let claims = &self.page.claims;
        let sure = |at: &usize| claims[*at].stance_confidence.unwrap_or(0.0);
        let is_neutral = |at: &usize| claims[*at].stance.as_deref() == Some("neutral");
        let mut places: Vec<usize> = (0..claims.len()).filter(is_neutral).collect();
        places.sort_by(|a, b| sure(a).total_cmp(&sure(b)));
        self.stated(places)
    }

    /// The first of these claims, in their order: one of each source and, if there is room, further
    /// ones.
    fn stated(&self, places: Vec<usize>) -> Vec<Stated> {
        let claims = &self.page.claims;
        let most = match places.first() {
            Some(first) if claims[*first].is_possible() => POSSIBLE_A_SIDE,
            _ => CLAIMS_A_SIDE,
        };
        let mut of_source = vec![0; self.page.sources.len()];
        let mut ranked: Vec<(usize, usize, usize)> = Vec::new();
        for (place, at) in places.into_iter().enumerate() {
            if let Some(source) = self.origins[at] {
                of_source[source] += 1;
                ranked.push((of_source[source], place, at));
            }
        }
        ranked.sort_unstable();
        ranked.truncate(most);
        ranked.sort_unstable_by_key(|(_, place, _)| *place);
        let stated = |(_, _, at): (usize, usize, usize)| {
            let claim = &claims[at];
            Some(Stated {
                claim: plain(&claim.in_context()),
                confidence: claim.stance_confidence,
                is_possible: claim.is_possible(),
                source: source(&self.page.sources[self.origins[at]?]),
            })
        };
        ranked.into_iter().filter_map(stated).collect()
    }

    /// The surest of the disputed claims whose two passages are from different sources.
    fn between_sources(&self) -> Vec<Contradiction> {
        let mut chosen: Vec<Contradiction> = Vec::new();
        for at in self.page.contradictions() {
            if chosen.len() == CONTRADICTIONS {
                break;
            }
            let claim = &self.page.claims[at];
            let [pro, con] = [0, 1].map(|side| {
                let id = &claim.contradicting_passages.as_ref()?[side];
                self.page.evidence.iter().find(|e| e.id == *id)
            });
            // A source that says both, under different conditions, does not contradict itself.
            if pro.map(|e| e.source) == con.map(|e| e.source) {
                continue;
            }
            let is_own = pro.is_some_and(|e| e.relation == "origin");
            let [pro, con] = [pro, con].map(|side| {
                side.map(|e| Stated {
                    claim: plain(&e.quote),
                    confidence: e.confidence,
                    is_possible: false,
                    source: source(&self.page.sources[e.source]),
                })
            });
            let found = Contradiction {
                claim_id: claim.id.clone(),
                claim: plain(&claim.text),
                supports: if is_own { 0 } else { claim.supports },
                refutes: claim.refutes,
                pro,
                con,
                confidence: claim.contradiction_confidence.unwrap_or(0.0),
            };
            if !chosen.iter().any(|other| other.shares_words_with(&found)) {
                chosen.push(found);
            }
        }
        chosen
    }

    /// Retracted and superseded sources.
    fn doubtful(&self) -> Vec<Doubtful> {
        let read = self.page.sources.iter().filter(|one| one.was_read);
        let retracted = read.clone().filter(|one| one.is_retracted);
        let retracted = retracted.map(|one| Doubtful {
            why: "retracted",
            words: None,
            successor: None,
            source: source(one),
        });
        let superseded = read.filter_map(|one| {
            Some(Doubtful {
                why: "superseded",
                successor: Some(plain(one.superseded_by.as_ref()?)),
                words: one.superseded_quote.as_deref().map(plain),
                source: source(one),
            })
        });
        retracted.chain(superseded).collect()
    }
}

type Row = Map<String, Value>;

struct Graph<'a> {
    engine: &'a Engine,
    task_id: &'a str,
}

impl Graph<'_> {
    /// The first row of `sql`, with `:task` bound to the task, and `:claim` to `claim`.
    fn row(&self, sql: &str, claim: Option<&str>) -> Result<Option<Row>> {
        let mut params = Map::new();
        params.insert("task".to_owned(), json!(self.task_id));
        if let Some(claim) = claim {
            params.insert("claim".to_owned(), json!(claim));
        }
        let options = SqlOptions {
            timeout_ms: 2_000,
            max_vm_steps: 50_000_000,
            max_bytes: 1 << 20,
            ..SqlOptions::default()
        };
        let request = SqlRequest {
            sql: sql.to_owned(),
            params: SqlParams::Named(params),
            options,
        };
        Ok(self.engine.query_sql(&request)?.rows.into_iter().next())
    }

    fn counts(&self, page: &EvidencePage) -> Result<Counts> {
        let row = self
            .row(
                "SELECT
                   (SELECT count(*) FROM task_pages AS t JOIN pages AS p ON p.id = t.page_id
                     WHERE t.task_id = :task AND p.fetched_at IS NOT NULL) AS documents,
                   (SELECT count(*) FROM task_pages AS t JOIN fragments AS f ON f.page_id = t.page_id
                     WHERE t.task_id = :task) AS fragments",
                None,
            )?
            .ok_or_else(|| Error::internal("counting gave no row"))?;
        let claims = &page.claims;
        Ok(Counts {
            documents: number(&row, "documents"),
            corpus: self.corpus(),
            fragments: number(&row, "fragments"),
            claims: claims.len(),
            supports: claims.iter().map(|c| c.supports).sum(),
            refutes: claims.iter().map(|c| c.refutes).sum(),
            neutral: claims.iter().map(|c| c.neutral).sum(),
            contradicted: page.contradictions().len(),
            claims_for: page.count_sides("supports"),
            claims_against: page.count_sides("refutes"),
            claims_aside: page.count_sides("neutral").0,
        })
    }

    fn corpus(&self) -> usize {
        let report = self.engine.corpus_report();
        report.map_or(0, |report| report.folders.iter().map(|f| f.documents).sum())
    }

    /// The provenance of the given claim, or else of the claim with the highest extraction
    /// confidence.
    fn chain(&self, claim_id: Option<&str>, shown: &Shown<'_>) -> Result<Option<Chain>> {
        let chosen = match claim_id {
            Some(_) => "c.id = :claim",
            None => "TRUE",
        };
        let sql = format!(
            "SELECT c.id AS claim_id, c.claim_text, e.id AS edge_id, e.quote_start, e.quote_end,
               f.id AS fragment_id, f.heading_context, f.char_start, f.char_end, f.page_version,
               p.id AS page_id, p.url, p.title,
               page_text_slice(f.page_id, f.page_version, e.quote_start, e.quote_end - e.quote_start) AS quote,
               page_text_slice(f.page_id, f.page_version, f.char_start, f.char_end - f.char_start) = f.text_content AS exact,
               e.quote_start >= f.char_start AND e.quote_end <= f.char_end AS inside
             FROM claims AS c
             JOIN edges AS e ON e.target_id = c.id AND e.relation = 'origin'
             JOIN fragments AS f ON f.id = e.source_id
             JOIN pages AS p ON p.id = f.page_id
             WHERE c.task_id = :task AND {chosen} AND e.quote_start IS NOT NULL
             ORDER BY c.llm_claim_confidence DESC, c.id LIMIT 1"
        );
        Ok(self.row(&sql, claim_id)?.map(|row| Chain {
            claim_id: text(&row, "claim_id").unwrap_or_default(),
            claim: text(&row, "claim_text").unwrap_or_default(),
            edge_id: text(&row, "edge_id").unwrap_or_default(),
            fragment_id: text(&row, "fragment_id").unwrap_or_default(),
            heading: text(&row, "heading_context"),
            span: (number(&row, "char_start"), number(&row, "char_end")),
            quote_span: (number(&row, "quote_start"), number(&row, "quote_end")),
            quote: text(&row, "quote").unwrap_or_default(),
            page_id: text(&row, "page_id").unwrap_or_default(),
            page: page(&row),
            fragment_is_exact: number(&row, "exact") == 1,
            quote_is_inside: number(&row, "inside") == 1,
            source: text(&row, "claim_id").and_then(|id| shown.source_of(&id)),
        }))
    }
}

/// `paper.md, text version 1: its title`
fn page(row: &Row) -> String {
    let url = text(row, "url").unwrap_or_default();
    let file = match url.strip_prefix("file:") {
        Some(path) => path.rsplit('/').next().unwrap_or(path),
        None => &url,
    };
    let version = number(row, "page_version");
    let title = text(row, "title").unwrap_or_default();
    format!("{file}, text version {version}: {title}")
}

fn source(source: &PageSource) -> Source {
    // Family names come first.
    let first = source.authors.first();
    let family = first.and_then(|name| name.split(',').next()).map(plain);
    Source {
        author: family.map(|name| match source.authors.len() {
            1 => name,
            _ => format!("{name} et al."),
        }),
        year: source.year,
        venue: source.venue.as_deref().map(plain),
        doi: source.doi.as_deref().map(plain),
        title: plain(&source.title),
        is_retracted: source.is_retracted,
    }
}

/// A text of the row, made safe for a terminal.
fn text(row: &Row, column: &str) -> Option<String> {
    row.get(column)?
        .as_str()
        .map(plain)
        .filter(|text| !text.is_empty())
}

fn number(row: &Row, column: &str) -> i64 {
    row.get(column).and_then(Value::as_i64).unwrap_or(0)
}
