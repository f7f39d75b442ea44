//! The content of the report, read from the graph with the same means that an assistant has:
//! guarded SQL and views.

use super::super::layout::plain;
use lyra_core::Engine;
use lyra_core::store::graph::Contradiction as Disputed;
use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::{Error, Result};
use serde_json::{Map, Value, json};

/// Maximum number of claims shown for the hypothesis, and of those shown against it; each from
/// another source, as long as there are others.
const CLAIMS_A_SIDE: usize = 6;

/// Maximum number of contradictions shown.
const CONTRADICTIONS: usize = 3;

/// The publication of page `p`, ready to be printed.
const SOURCE: &str = "
  p.url, p.title, w.year, w.venue, w.doi, coalesce(w.is_retracted, 0) AS is_retracted,
  (SELECT a.name FROM work_authors AS a
    WHERE a.canonical_id = w.canonical_id AND a.position = 0) AS first_author,
  (SELECT count(*) FROM work_authors AS a WHERE a.canonical_id = w.canonical_id) AS authors";

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
    pub(super) claims: i64,
    pub(super) supports: i64,
    pub(super) refutes: i64,
    pub(super) neutral: i64,
    pub(super) contradicted: usize,
    pub(super) claims_for: i64,
    pub(super) claims_against: i64,
    pub(super) claims_aside: i64,
}

/// A publication, or only the page if there is none.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) author: Option<String>,
    pub(super) year: Option<i64>,
    pub(super) venue: Option<String>,
    pub(super) doi: Option<String>,
    pub(super) title: Option<String>,
    pub(super) file: String,
    pub(super) is_retracted: bool,
}

/// A claim with its source.
#[derive(Debug)]
pub(super) struct Stated {
    pub(super) claim: String,
    pub(super) confidence: f64,
    pub(super) source: Source,
}

/// A claim on which sources disagree.
#[derive(Debug)]
pub(super) struct Contradiction {
    pub(super) claim_id: String,
    pub(super) claim: String,
    pub(super) supports: i64,
    pub(super) refutes: i64,
    pub(super) pro: Option<Stated>,
    pub(super) con: Option<Stated>,
    /// Of the less sure side.
    pub(super) confidence: f64,
}

impl Contradiction {
    /// A source that says both, under different conditions, does not count as a contradiction.
    fn is_between_sources(&self) -> bool {
        let file = |side: &Option<Stated>| side.as_ref().map(|stated| stated.source.file.clone());
        file(&self.pro) != file(&self.con)
    }

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
    pub(super) page_version: i64,
    pub(super) fragment_is_exact: bool,
    pub(super) quote_is_inside: bool,
    pub(super) source: Source,
}

impl Findings {
    pub(in crate::cli) fn collect(
        engine: &Engine,
        task_id: &str,
        hypothesis: &str,
    ) -> Result<Self> {
        let graph = Graph { engine, task_id };
        let disputed = engine.contradictions(task_id)?;
        let counts = graph.counts(disputed.len())?;
        let contradictions = graph.between_sources(disputed)?;
        let supporting = graph.stated("supports")?;
        let refuting = graph.stated("refutes")?;
        let nearest = match supporting.is_empty() && refuting.is_empty() {
            true => graph.stated("neutral")?,
            false => Vec::new(),
        };
        let chain = match contradictions.first() {
            Some(contradiction) => graph.chain(Some(&contradiction.claim_id))?,
            None => graph.chain(None)?,
        };
        let models = engine.models();
        Ok(Self {
            task_id: task_id.to_owned(),
            hypothesis: plain(hypothesis),
            counts,
            refuting,
            nearest,
            doubtful: graph.doubtful()?,
            all_builtin: models.builtin.len() == 3,
            models: vec![
                ("vectors", models.embedder),
                ("claims", models.claim_extractor),
                ("verdicts", models.stance_judge),
            ],
            supporting,
            contradictions,
            chain,
        })
    }
}

type Row = Map<String, Value>;

struct Graph<'a> {
    engine: &'a Engine,
    task_id: &'a str,
}

impl Graph<'_> {
    /// Rows of `sql`, with `:task` bound to the task, and with the parameters in `more`.
    fn rows(&self, sql: &str, more: &[(&str, &str)]) -> Result<Vec<Row>> {
        let mut params = Map::new();
        for (name, value) in [("task", self.task_id)].iter().chain(more) {
            if sql.contains(&format!(":{name}")) {
                params.insert((*name).to_owned(), json!(value));
            }
        }
        let options = SqlOptions {
            limit: 200,
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
        Ok(self.engine.query_sql(&request)?.rows)
    }

    fn counts(&self, contradicted: usize) -> Result<Counts> {
        let rows = self.rows(
            "SELECT
               (SELECT count(*) FROM task_pages AS t JOIN pages AS p ON p.id = t.page_id
                 WHERE t.task_id = :task AND p.fetched_at IS NOT NULL) AS documents,
               (SELECT count(*) FROM task_pages AS t JOIN fragments AS f ON f.page_id = t.page_id
                 WHERE t.task_id = :task) AS fragments,
               (SELECT count(*) FROM claims WHERE task_id = :task) AS claims,
               (SELECT count(*) FROM hypothesis_stances
                 WHERE task_id = :task AND relation = 'supports') AS claims_for,
               (SELECT count(*) FROM hypothesis_stances
                 WHERE task_id = :task AND relation = 'refutes') AS claims_against,
               (SELECT count(*) FROM hypothesis_stances
                 WHERE task_id = :task AND relation = 'neutral') AS claims_aside",
            &[],
        )?;
        let row = rows
            .first()
            .ok_or_else(|| Error::internal("counting gave no row"))?;
        let edges = self.rows(
            "SELECT e.relation, count(*) AS n FROM claims AS c JOIN edges AS e ON e.target_id = c.id
              WHERE c.task_id = :task GROUP BY e.relation",
            &[],
        )?;
        let of = |relation: &str| {
            edges
                .iter()
                .find(|row| row["relation"] == relation)
                .map_or(0, |row| number(row, "n"))
        };
        Ok(Counts {
            documents: number(row, "documents"),
            corpus: self.corpus(),
            fragments: number(row, "fragments"),
            claims: number(row, "claims"),
            supports: of("supports"),
            refutes: of("refutes"),
            neutral: of("neutral"),
            contradicted,
            claims_for: number(row, "claims_for"),
            claims_against: number(row, "claims_against"),
            claims_aside: number(row, "claims_aside"),
        })
    }

    fn corpus(&self) -> usize {
        let report = self.engine.corpus_report();
        report.map_or(0, |report| report.folders.iter().map(|f| f.documents).sum())
    }

    /// The claims with the stance `relation` on the hypothesis: the most certain of each document
    /// and, if there is room, further ones. If a claim refers back ("It", "These"), the sentence
    /// before it is added in brackets.
    fn stated(&self, relation: &str) -> Result<Vec<Stated>> {
        // Among neutral claims, the least certain comes first.
        let order = if relation == "neutral" { "ASC" } else { "DESC" };
        let sql = format!(
            "SELECT coalesce('[' || json_extract(c.details_json, '$.preceded_by') || '] ', '') || told.claim_text
                 AS words, told.confidence, {SOURCE}
             FROM (
               SELECT v.*, row_number() OVER (PARTITION BY v.page_id ORDER BY v.confidence {order}, v.claim_id) AS place
               FROM v_hypothesis_evidence AS v
               WHERE v.task_id = :task AND v.relation = :relation
               ORDER BY place, v.confidence {order}, v.claim_id LIMIT {CLAIMS_A_SIDE}
             ) AS told
             JOIN claims AS c ON c.id = told.claim_id
             JOIN pages AS p ON p.id = told.page_id
             LEFT JOIN works AS w ON w.canonical_id = p.canonical_id
             ORDER BY told.confidence {order}, told.claim_id"
        );
        Ok(self
            .rows(&sql, &[("relation", relation)])?
            .iter()
            .map(stated)
            .collect())
    }

    /// The surest of the disputed claims whose two passages are from different sources.
    fn between_sources(&self, disputed: Vec<Disputed>) -> Result<Vec<Contradiction>> {
        let sql = "SELECT claim_text, support_count, refute_count FROM v_contradictions WHERE claim_id = :claim";
        let mut chosen: Vec<Contradiction> = Vec::new();
        for clash in disputed {
            if chosen.len() == CONTRADICTIONS {
                break;
            }
            let rows = self.rows(sql, &[("claim", &clash.claim_id)])?;
            let Some(row) = rows.first() else { continue };
            let found = Contradiction {
                pro: self.verdict(&clash.supporting_edge_id)?,
                con: self.verdict(&clash.refuting_edge_id)?,
                claim: text(row, "claim_text").unwrap_or_default(),
                supports: number(row, "support_count"),
                refutes: number(row, "refute_count"),
                claim_id: clash.claim_id,
                confidence: clash.confidence,
            };
            let is_new = !chosen.iter().any(|other| other.shares_words_with(&found));
            if is_new && found.is_between_sources() {
                chosen.push(found);
            }
        }
        Ok(chosen)
    }

    /// A verdict with its quoted words.
    fn verdict(&self, edge_id: &str) -> Result<Option<Stated>> {
        let sql = format!(
            "SELECT coalesce(page_text_slice(f.page_id, f.page_version, e.quote_start, e.quote_end - e.quote_start),
                             f.text_content) AS words,
               e.nli_edge_confidence AS confidence, {SOURCE}
             FROM edges AS e
             JOIN fragments AS f ON f.id = e.source_id
             JOIN pages AS p ON p.id = f.page_id
             LEFT JOIN works AS w ON w.canonical_id = p.canonical_id
             WHERE e.id = :edge"
        );
        let rows = self.rows(&sql, &[("edge", edge_id)])?;
        Ok(rows.first().map(stated))
    }

    /// Retracted works, and superseded documents.
    fn doubtful(&self) -> Result<Vec<Doubtful>> {
        let retracted = format!(
            "SELECT NULL AS words, NULL AS successor, {SOURCE}
             FROM task_pages AS t
             JOIN pages AS p ON p.id = t.page_id
             JOIN works AS w ON w.canonical_id = p.canonical_id
             WHERE t.task_id = :task AND w.is_retracted = 1 ORDER BY p.url"
        );
        let superseded = format!(
            "SELECT coalesce(next.title, r.doi, r.url) AS successor,
               (SELECT f.text_content FROM fragments AS f
                 WHERE f.page_id = p.id AND f.text_content LIKE '%superseded%'
                 ORDER BY f.position LIMIT 1) AS words, {SOURCE}
             FROM task_pages AS t
             JOIN pages AS p ON p.id = t.page_id
             JOIN page_references AS r
               ON r.page_id = p.id AND r.citation_source = 'superseded_by'
             LEFT JOIN resource_index AS known
               ON known.identifier_type = 'url' AND known.identifier_value = r.url
             LEFT JOIN pages AS next ON next.id = known.page_id
             LEFT JOIN works AS w ON w.canonical_id = p.canonical_id
             WHERE t.task_id = :task ORDER BY p.url"
        );
        let mut found = Vec::new();
        for (why, sql) in [("retracted", retracted), ("superseded", superseded)] {
            for row in self.rows(&sql, &[])? {
                found.push(Doubtful {
                    why,
                    words: text(&row, "words"),
                    successor: text(&row, "successor"),
                    source: source(&row),
                });
            }
        }
        Ok(found)
    }

    /// The provenance of the given claim, or else of the claim with the highest extraction
    /// confidence.
    fn chain(&self, claim_id: Option<&str>) -> Result<Option<Chain>> {
        let chosen = match claim_id {
            Some(_) => "c.id = :claim",
            None => "TRUE",
        };
        let sql = format!(
            "SELECT c.id AS claim_id, c.claim_text, e.id AS edge_id, e.quote_start, e.quote_end,
               f.id AS fragment_id, f.heading_context, f.char_start, f.char_end, f.page_version,
               p.id AS page_id,
               page_text_slice(f.page_id, f.page_version, e.quote_start, e.quote_end - e.quote_start) AS quote,
               page_text_slice(f.page_id, f.page_version, f.char_start, f.char_end - f.char_start) = f.text_content AS exact,
               e.quote_start >= f.char_start AND e.quote_end <= f.char_end AS inside, {SOURCE}
             FROM claims AS c
             JOIN edges AS e ON e.target_id = c.id AND e.relation = 'origin'
             JOIN fragments AS f ON f.id = e.source_id
             JOIN pages AS p ON p.id = f.page_id
             LEFT JOIN works AS w ON w.canonical_id = p.canonical_id
             WHERE c.task_id = :task AND {chosen} AND e.quote_start IS NOT NULL
             ORDER BY c.llm_claim_confidence DESC, c.id LIMIT 1"
        );
        let rows = self.rows(&sql, &[("claim", claim_id.unwrap_or_default())])?;
        Ok(rows.first().map(|row| Chain {
            claim_id: text(row, "claim_id").unwrap_or_default(),
            claim: text(row, "claim_text").unwrap_or_default(),
            edge_id: text(row, "edge_id").unwrap_or_default(),
            fragment_id: text(row, "fragment_id").unwrap_or_default(),
            heading: text(row, "heading_context"),
            span: (number(row, "char_start"), number(row, "char_end")),
            quote_span: (number(row, "quote_start"), number(row, "quote_end")),
            quote: text(row, "quote").unwrap_or_default(),
            page_id: text(row, "page_id").unwrap_or_default(),
            page_version: number(row, "page_version"),
            fragment_is_exact: number(row, "exact") == 1,
            quote_is_inside: number(row, "inside") == 1,
            source: source(row),
        }))
    }
}

fn stated(row: &Row) -> Stated {
    Stated {
        claim: text(row, "words").unwrap_or_default(),
        confidence: row.get("confidence").and_then(Value::as_f64).unwrap_or(0.0),
        source: source(row),
    }
}

fn source(row: &Row) -> Source {
    let several = number(row, "authors") > 1;
    let url = text(row, "url").unwrap_or_default();
    Source {
        author: text(row, "first_author").map(|name| {
            if several {
                format!("{name} et al.")
            } else {
                name
            }
        }),
        year: row.get("year").and_then(Value::as_i64),
        venue: text(row, "venue"),
        doi: text(row, "doi"),
        title: text(row, "title"),
        file: match url.strip_prefix("file:") {
            Some(path) => path.rsplit('/').next().unwrap_or(path).to_owned(),
            None => url,
        },
        is_retracted: number(row, "is_retracted") == 1,
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
