//! The search that callers use: semantic, lexical, or both on one scale.

use super::index::{Neighbour, UnitQuery};
use super::lexical::best_matches;
use super::matrix::Matrix;
use super::scope::Scope;
use super::store::VectorStore;
use crate::error::{Error, Result};
use crate::ports::EmbedderInfo;
use crate::store::database::SqliteResultExt;
use crate::store::graph::Reader;
use crate::store::model::EmbeddingTarget;
use crate::store::ranking::{fuse, kneedle_cutoff};
use rusqlite::OptionalExtension;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The mode of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMode {
    /// Semantic: cosine of embeddings.
    Semantic,
    /// Lexical: BM25.
    Lexical,
    /// Both, put on one scale and added.
    #[default]
    Hybrid,
}

/// Where the list of results ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cutoff {
    /// After `top_k` results.
    #[default]
    None,
    /// At the knee of the score curve (Satopää et al. 2011), within `top_k`.
    Kneedle,
}

/// A search. [`VectorRequest::new`] has the defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorRequest {
    /// The query text.
    pub query: String,
    /// The kind of the results.
    pub target: EmbeddingTarget,
    /// Only what belongs to this task.
    pub task_id: Option<String>,
    /// 1 to 50 results.
    pub top_k: usize,
    /// Number of results to skip, 0 to 10,000: those of the previous pages.
    pub offset: usize,
    /// Minimum cosine, 0 to 1, of semantic matches; a lexical match needs none, in mode hybrid as in
    /// lexical. None: the embedder's own [`EmbedderInfo::related_threshold`].
    pub min_similarity: Option<f64>,
    /// The mode of the search.
    pub mode: SearchMode,
    /// Where the list ends.
    pub cutoff: Cutoff,
}

impl VectorRequest {
    /// The ten best claims in hybrid mode.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            target: EmbeddingTarget::Claim,
            task_id: None,
            top_k: 10,
            offset: 0,
            min_similarity: None,
            mode: SearchMode::Hybrid,
            cutoff: Cutoff::None,
        }
    }

    /// Checks all limits.
    pub fn validate(&self) -> Result<()> {
        if self.query.trim().is_empty() {
            return Err(
                Error::invalid("query is empty").with_hint("say what to look for in a few words")
            );
        }
        self.validate_bounds()
    }

    /// The same for a request with a vector in place of the text.
    fn validate_bounds(&self) -> Result<()> {
        if !(1..=50).contains(&self.top_k) {
            return Err(Error::invalid(format!(
                "top_k is {}; expected 1 to 50",
                self.top_k
            )));
        }
        if self.offset > MOST_OFFSET {
            return Err(Error::invalid(format!(
                "offset is {}; expected 0 to {MOST_OFFSET}",
                self.offset
            )));
        }
        if let Some(floor) = self.min_similarity.filter(|f| !(0.0..=1.0).contains(f)) {
            return Err(Error::invalid(format!(
                "min_similarity is {floor}; expected 0 to 1"
            )));
        }
        Ok(())
    }
}

impl VectorRequest {
    /// Number of results to find, including those that are skipped.
    fn reach(&self) -> usize {
        self.offset + self.top_k
    }

    fn floor(&self, model: &EmbedderInfo) -> f64 {
        let own = f64::from(model.related_threshold).clamp(0.0, 1.0);
        self.min_similarity.unwrap_or(own)
    }

    /// Advice if nothing was found.
    fn advice(&self, model: &EmbedderInfo) -> String {
        if self.offset > 0 {
            return format!("fewer than {} results: lower offset", self.offset + 1);
        }
        let bound = match self.mode {
            SearchMode::Lexical => {
                "has a word of the query; mode=hybrid also compares meanings".to_owned()
            }
            SearchMode::Semantic => format!(
                "reaches a cosine of {:.2}; mode=hybrid also finds what has the words of the query, and \
                 a lower min_similarity finds more",
                self.floor(model)
            ),
            SearchMode::Hybrid => format!(
                "has a word of the query or reaches a cosine of {:.2}; try other words, or a lower \
                 min_similarity",
                self.floor(model)
            ),
        };
        format!("nothing that was searched {bound}")
    }
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VectorReply {
    /// Best first.
    pub results: Vec<VectorHit>,
    /// If nothing was found: why, and what to try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Number of vectors that were compared.
    pub total_searched: usize,
    /// Vectors in scope that were not compared, because they come from another model or have another
    /// length, and texts in scope that have none yet.
    pub skipped: usize,
    /// Texts in scope without a comparable vector: semantic search cannot find them.
    #[serde(skip)]
    pub missing: usize,
    /// The model that embedded the query.
    pub model_id: String,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VectorHit {
    /// Id of the claim or fragment.
    pub id: String,
    /// Cosine (semantic), a score from 0 to 1 within this list (lexical), or a combination of both,
    /// between the least and the greatest cosine of the list (hybrid).
    pub similarity: f64,
    /// The first 200 characters of the text.
    pub text_preview: String,
    /// The page of a fragment, or of the fragment in which the claim was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_id: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// An id with a score; greater is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Claim or fragment.
    pub id: String,
    /// The scale depends on the mode.
    pub score: f64,
}

/// Minimum number of candidates per requested result from each side of a hybrid search.
const POOL_FACTOR: usize = 5;
const POOL_LEAST: usize = 150;
/// Maximum number of results that can be skipped.
const MOST_OFFSET: usize = 10_000;

/// Maximum number of fragments that count as related by their words although their cosine is below the
/// threshold.
const BY_WORDS_ALONE: usize = 10;
/// Fraction of the threshold that their cosine must reach.
const NEARLY: f64 = 0.75;

impl VectorStore {
    /// Runs a request; `query_vector` is the embedded query. A semantic search uses only the vector, so
    /// `query` may be empty; the other modes also search for the words.
    pub fn search(
        &self,
        reader: &Reader<'_>,
        model: &EmbedderInfo,
        query_vector: &[f32],
        request: &VectorRequest,
    ) -> Result<VectorReply> {
        match request.mode {
            SearchMode::Semantic => request.validate_bounds()?,
            SearchMode::Lexical | SearchMode::Hybrid => request.validate()?,
        }
        if let Some(task_id) = &request.task_id {
            reader.task(task_id)?;
        }
        let query = unit_query(query_vector)?;
        let (ranked, searched, (skipped, missing)) =
            self.with_matrix(reader, request.target, model, |matrix, scopes| {
                let scope = scopes.get(matrix, request.task_id.as_deref())?;
                let searchable = match request.mode {
                    SearchMode::Lexical => scope.len(),
                    SearchMode::Semantic | SearchMode::Hybrid => scope.rows().len(),
                };
                if searchable == 0 {
                    return Err(nothing_embedded(request, scope.len()));
                }
                let look = Searching {
                    reader,
                    model,
                    matrix,
                    scope: &scope,
                    query: &query,
                };
                let ranked = match request.mode {
                    SearchMode::Semantic => look.semantic(request),
                    SearchMode::Lexical => look.lexical(request)?,
                    SearchMode::Hybrid => look.hybrid(request)?,
                };
                let uncompared = (scope.skipped(), scope.missing());
                Ok((ranked, scope.rows().len(), uncompared))
            })?;
        let page = ranked.get(request.offset..).unwrap_or_default();
        let page = &page[..kept(page, request)];
        Ok(VectorReply {
            results: hydrate(reader, request.target, page)?,
            hint: page.is_empty().then(|| request.advice(model)),
            total_searched: searched,
            skipped,
            missing,
            model_id: model.model_id.clone(),
        })
    }

    /// The fragments that may be relevant to a statement, best first in the combined ranking: those
    /// whose cosine is at least the model's relatedness threshold, and the best lexical matches that
    /// come near it.
    pub fn related_fragments(
        &self,
        reader: &Reader<'_>,
        model: &EmbedderInfo,
        ranking: &Ranking<'_>,
    ) -> Result<Vec<Scored>> {
        let floor = f64::from(model.related_threshold);
        self.with_fragments(reader, model, ranking, |look| {
            let near = look.nearest(ranking.limit, floor);
            let mut words = look.words(EmbeddingTarget::Fragment, ranking.query, ranking.limit)?;
            let is_near: HashSet<usize> = near.iter().map(|n| n.row).collect();
            let mut others = 0;
            words.retain(|(id, _)| {
                look.matrix.row(id).is_some_and(|row| {
                    if is_near.contains(&row) {
                        return true;
                    }
                    others += 1;
                    others <= BY_WORDS_ALONE
                        && look.matrix.similarity(look.query, row) >= NEARLY * floor
                })
            });
            Ok(look.combine(ranking.query, near, words))
        })
    }

    /// Whether any of `members` could be related to this vector.
    pub fn is_any_near(
        &self,
        reader: &Reader<'_>,
        model: &EmbedderInfo,
        vector: &[f32],
        members: &HashSet<String>,
    ) -> Result<bool> {
        let query = unit_query(vector)?;
        self.with_matrix(reader, EmbeddingTarget::Fragment, model, |matrix, _| {
            let scope = Scope::of(matrix, members.iter().map(String::as_str));
            let floor = lenient(NEARLY * f64::from(model.related_threshold));
            Ok(!matrix
                .nearest(&query, Some(scope.rows()), 1, floor)
                .is_empty())
        })
    }

    /// The fragments that match a query best, best first; without a minimum score or a maximum number,
    /// as the pipeline and evaluations require.
    pub fn rank_fragments(
        &self,
        reader: &Reader<'_>,
        model: &EmbedderInfo,
        ranking: &Ranking<'_>,
    ) -> Result<Vec<Scored>> {
        self.with_fragments(reader, model, ranking, |look| {
            let near = || look.nearest(ranking.limit, f64::NEG_INFINITY);
            let words = || look.words(EmbeddingTarget::Fragment, ranking.query, ranking.limit);
            Ok(match ranking.mode {
                SearchMode::Semantic => scored(look.matrix, near()),
                SearchMode::Lexical => scored_words(words()?),
                SearchMode::Hybrid => look.combine(ranking.query, near(), words()?),
            })
        })
    }

    /// Runs `work` on the fragments in scope of a ranking; the results are limited to its limit.
    fn with_fragments(
        &self,
        reader: &Reader<'_>,
        model: &EmbedderInfo,
        ranking: &Ranking<'_>,
        rank: impl FnOnce(&Searching<'_>) -> Result<Vec<Scored>>,
    ) -> Result<Vec<Scored>> {
        let unit = unit_query(ranking.vector)?;
        let fragments = EmbeddingTarget::Fragment;
        self.with_matrix(reader, fragments, model, |matrix, scopes| {
            let scope = match ranking.members {
                Some(ids) => Arc::new(Scope::of(matrix, ids.iter().map(String::as_str))),
                None => scopes.get(matrix, None)?,
            };
            let mut ranked = rank(&Searching {
                reader,
                model,
                matrix,
                scope: &scope,
                query: &unit,
            })?;
            ranked.truncate(ranking.limit);
            Ok(ranked)
        })
    }
}

/// The parameters of [`VectorStore::rank_fragments`] and [`VectorStore::related_fragments`].
#[derive(Debug, Clone, Copy)]
pub struct Ranking<'a> {
    /// The query text.
    pub query: &'a str,
    /// The embedded query.
    pub vector: &'a [f32],
    /// Only these fragments; otherwise those of the newest text of every page.
    pub members: Option<&'a HashSet<String>>,
    /// The mode; related fragments are always searched for in both ways.
    pub mode: SearchMode,
    /// Maximum number of results.
    pub limit: usize,
}

fn unit_query(vector: &[f32]) -> Result<UnitQuery> {
    UnitQuery::new(vector).ok_or_else(|| {
        Error::internal("the embedder gave a query vector with a value that is not finite")
    })
}

/// Similarities are shown with six digits; a value that is shown as equal to the floor reaches it.
fn lenient(floor: f64) -> f64 {
    floor - 5e-7
}

fn scored(matrix: &Matrix, near: Vec<Neighbour>) -> Vec<Scored> {
    near.into_iter()
        .map(|n| Scored {
            id: matrix.id(n.row).to_owned(),
            score: n.similarity.min(1.0),
        })
        .collect()
}

/// BM25 has no upper limit, so the best match is scaled to 1.
fn scored_words(found: Vec<(String, f64)>) -> Vec<Scored> {
    let best = found.first().map_or(1.0, |(_, score)| *score);
    let best = best.max(f64::MIN_POSITIVE);
    let share = |score: f64| (score / best).clamp(0.0, 1.0);
    let scored = found.into_iter().map(|(id, score)| Scored {
        id,
        score: share(score),
    });
    scored.collect()
}

/// One running search: its matrix, its scope and its parameters.
struct Searching<'a> {
    reader: &'a Reader<'a>,
    model: &'a EmbedderInfo,
    matrix: &'a Matrix,
    scope: &'a Scope,
    query: &'a UnitQuery,
}

impl Searching<'_> {
    fn nearest(&self, k: usize, floor: f64) -> Vec<Neighbour> {
        let rows = Some(self.scope.rows());
        self.matrix.nearest(self.query, rows, k, lenient(floor))
    }

    /// The members that contain words of `text`, best first.
    fn words(
        &self,
        target: EmbeddingTarget,
        text: &str,
        limit: usize,
    ) -> Result<Vec<(String, f64)>> {
        best_matches(self.reader, target, text, limit, |id| {
            self.scope.contains(self.matrix, id)
        })
    }

    fn semantic(&self, request: &VectorRequest) -> Vec<Scored> {
        let near = self.nearest(request.reach(), request.floor(self.model));
        scored(self.matrix, near)
    }

    fn lexical(&self, request: &VectorRequest) -> Result<Vec<Scored>> {
        let found = self.words(request.target, &request.query, request.reach())?;
        Ok(scored_words(found))
    }

    fn hybrid(&self, request: &VectorRequest) -> Result<Vec<Scored>> {
        let pool = (request.reach() * POOL_FACTOR).max(POOL_LEAST);
        let near = self.nearest(pool, request.floor(self.model));
        let words = self.words(request.target, &request.query, pool)?;
        let mut ranked = self.combine(&request.query, near, words);
        ranked.truncate(request.reach());
        Ok(ranked)
    }

    /// Puts both lists on one scale and adds them with the model's weight, best first.
    fn combine(&self, text: &str, near: Vec<Neighbour>, words: Vec<(String, f64)>) -> Vec<Scored> {
        let word_scores: HashMap<&str, f64> = words
            .iter()
            .map(|(id, score)| (id.as_str(), *score))
            .collect();
        let near: HashMap<&str, f64> = near
            .into_iter()
            .map(|n| (self.matrix.id(n.row), n.similarity))
            .collect();
        let only_words = word_scores.keys().filter(|id| !near.contains_key(**id));
        let ids: Vec<&str> = near.keys().chain(only_words).copied().collect();
        let meaning = |id: &str| match (near.get(id), self.matrix.row(id)) {
            (Some(similarity), _) => *similarity,
            (None, Some(row)) => self.matrix.similarity(self.query, row),
            (None, None) => 0.0,
        };
        let by_meaning: Vec<f64> = ids.iter().map(|id| meaning(id)).collect();
        let by_words: Vec<f64> = ids
            .iter()
            .map(|id| word_scores.get(id).copied().unwrap_or(0.0))
            .collect();
        let fused = fuse(&by_meaning, &by_words, self.model.fusion_weight_for(text));
        // Scaled between the least and the greatest cosine of the list, so that the scores of two lists
        // can be compared, and a single result is not scored 0 for being the last.
        let lowest = by_meaning.iter().copied().fold(1.0, f64::min).max(0.0);
        let highest = by_meaning.iter().copied().fold(lowest, f64::max);
        let mut ranked: Vec<Scored> = ids
            .into_iter()
            .zip(fused)
            .map(|(id, score)| Scored {
                id: id.to_owned(),
                score: lowest + (highest - lowest) * score,
            })
            .collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        ranked
    }
}

fn kept(ranked: &[Scored], request: &VectorRequest) -> usize {
    match request.cutoff {
        Cutoff::None => ranked.len(),
        Cutoff::Kneedle => {
            let scores: Vec<f64> = ranked.iter().map(|s| s.score).collect();
            kneedle_cutoff(&scores, 3, request.top_k.max(3), 1.0).min(ranked.len())
        }
    }
}

fn nothing_embedded(request: &VectorRequest, rows: usize) -> Error {
    let scope = request
        .task_id
        .as_deref()
        .map_or(String::new(), |t| format!(" of task {t}"));
    let what = match request.target {
        EmbeddingTarget::Claim => "claims",
        EmbeddingTarget::Fragment => "fragments",
    };
    if rows == 0 {
        return Error::not_found(format!("there are no {what}{scope} to search yet")).with_hint(
            "queue_targets starts research; get_status tells when its results are there",
        );
    }
    Error::not_found(format!(
        "none of the {rows} {what}{scope} has an embedding of the current model"
    ))
    .with_hint("embed jobs fill them in, get_status tells how far they are; mode=lexical finds them without")
}

fn hydrate(
    reader: &Reader<'_>,
    target: EmbeddingTarget,
    ranked: &[Scored],
) -> Result<Vec<VectorHit>> {
    let sql = match target {
        EmbeddingTarget::Fragment => {
            "SELECT substr(f.text_content, 1, 200), p.id, p.url, p.title
             FROM fragments f LEFT JOIN pages p ON p.id = f.page_id WHERE f.id = ?1"
        }
        EmbeddingTarget::Claim => {
            "SELECT substr(c.claim_text, 1, 200), p.id, p.url, p.title FROM claims c
               LEFT JOIN edges e ON e.target_id = c.id AND e.relation = 'origin'
               LEFT JOIN fragments f ON f.id = e.source_id
               LEFT JOIN pages p ON p.id = f.page_id
             WHERE c.id = ?1 ORDER BY e.created_at, e.id LIMIT 1"
        }
    };
    let mut statement = reader.db.prepare_cached(sql).db()?;
    let mut hits = Vec::with_capacity(ranked.len());
    for scored in ranked {
        let found = statement
            .query_row([&scored.id], |r| {
                Ok(VectorHit {
                    id: scored.id.clone(),
                    similarity: (scored.score * 1e6).round() / 1e6,
                    text_preview: r.get(0)?,
                    page_id: r.get(1)?,
                    url: r.get(2)?,
                    title: r.get(3)?,
                })
            })
            .optional()
            .db()?;
        hits.extend(found);
    }
    Ok(hits)
}
