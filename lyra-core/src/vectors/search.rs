//! The search that a user asks for: by meaning, by words, or by both on one scale.

use super::lexical::best_matches;
use super::store::{Matrix, VectorStore};
use crate::error::{Error, Result, SqliteResultExt};
use crate::graph::Reader;
use crate::model::EmbeddingTarget;
use crate::ports::EmbedderInfo;
use crate::ranking::{fuse, kneedle_cutoff};
use rusqlite::{OptionalExtension, params};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchMode {
    /// By meaning: cosine of embeddings.
    #[default]
    Semantic,
    /// By words: BM25.
    Lexical,
    /// Both, put on one scale and added.
    Hybrid,
}

/// Where to end the list.
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
    /// What to look for, in words.
    pub query: String,
    /// What to find.
    pub target: EmbeddingTarget,
    /// Only what belongs to this task.
    pub task_id: Option<String>,
    /// 1 to 50 results.
    pub top_k: usize,
    /// Least cosine, 0 to 1. A lexical match needs none.
    pub min_similarity: f64,
    /// How to search.
    pub mode: SearchMode,
    /// Where to end the list.
    pub cutoff: Cutoff,
}

impl VectorRequest {
    /// The ten nearest claims with a cosine of at least 0.5.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            target: EmbeddingTarget::Claim,
            task_id: None,
            top_k: 10,
            min_similarity: 0.5,
            mode: SearchMode::Semantic,
            cutoff: Cutoff::None,
        }
    }

    /// Checks every bound.
    pub fn validate(&self) -> Result<()> {
        if self.query.trim().is_empty() {
            return Err(
                Error::invalid("query is empty").with_hint("say what to look for in a few words")
            );
        }
        if !(1..=50).contains(&self.top_k) {
            return Err(Error::invalid(format!(
                "top_k is {}; expected 1 to 50",
                self.top_k
            )));
        }
        if !(0.0..=1.0).contains(&self.min_similarity) {
            return Err(Error::invalid(format!(
                "min_similarity is {}; expected 0 to 1",
                self.min_similarity
            )));
        }
        Ok(())
    }
}

/// What a search answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VectorReply {
    /// Best first.
    pub results: Vec<VectorHit>,
    /// How many vectors were compared.
    pub total_searched: usize,
    /// Rows in scope without a comparable vector: another model, another length, or none yet.
    pub skipped: usize,
    /// Which model embedded the query.
    pub model_id: String,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VectorHit {
    /// Id of the claim or fragment.
    pub id: String,
    /// Cosine (semantic), or a score from 0 to 1 within this list (lexical, hybrid).
    pub similarity: f64,
    /// The first 200 characters of the text.
    pub text_preview: String,
    /// The page of a fragment, or of the fragment that the claim was read in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_id: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// An id with a score; greater is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Scored {
    /// Claim or fragment.
    pub id: String,
    /// Depends on the mode.
    pub score: f64,
}

/// How many candidates each side of a hybrid search brings in, per result asked for and at least.
const POOL_FACTOR: usize = 5;
const POOL_LEAST: usize = 150;

impl VectorStore {
    /// Answers a request; `query_vector` is the embedded query.
    pub fn search(
        &self,
        reader: &Reader<'_>,
        model: &EmbedderInfo,
        query_vector: &[f32],
        request: &VectorRequest,
    ) -> Result<VectorReply> {
        request.validate()?;
        if let Some(task_id) = &request.task_id {
            reader.task(task_id)?;
        }
        let matrix = self.current(reader, request.target, &model.model_id)?;
        let scope = scope_of(reader, request)?;
        let rows: Vec<usize> = scope.iter().filter_map(|id| matrix.row(id)).collect();
        if rows.is_empty() {
            return Err(nothing_embedded(request, scope.len()));
        }
        let ranked = match request.mode {
            SearchMode::Semantic => semantic(&matrix, query_vector, &rows, request),
            SearchMode::Lexical => {
                let members = scope.iter().map(String::as_str).collect();
                lexical(reader, request, &members)?
            }
            SearchMode::Hybrid => hybrid(
                reader,
                model,
                &matrix,
                query_vector,
                (&scope, &rows),
                request,
            )?,
        };
        let kept = kept(&ranked, request);
        Ok(VectorReply {
            results: hydrate(reader, request.target, &ranked[..kept])?,
            total_searched: rows.len(),
            skipped: scope.len() - rows.len(),
            model_id: model.model_id.clone(),
        })
    }
}

/// The fragments that fit `query` best by meaning and words together, among those of `members`.
pub fn rank_fragments(
    store: &VectorStore,
    reader: &Reader<'_>,
    model: &EmbedderInfo,
    query: (&str, &[f32]),
    members: Option<&HashSet<String>>,
    limit: usize,
) -> Result<Vec<Scored>> {
    let matrix = store.current(reader, EmbeddingTarget::Fragment, &model.model_id)?;
    let rows: Option<Vec<usize>> =
        members.map(|ids| ids.iter().filter_map(|id| matrix.row(id)).collect());
    let near = matrix.nearest(query.1, rows.as_deref(), limit, f32::MIN);
    let words = best_matches(reader, EmbeddingTarget::Fragment, query.0, limit)?;
    let words = words
        .into_iter()
        .filter(|(id, _)| members.is_none_or(|m| m.contains(id)));
    let near = near.iter().map(|c| matrix.id(c.row).to_owned()).collect();
    let mut ranked = combine(model, &matrix, query.1, near, words.collect());
    ranked.truncate(limit);
    Ok(ranked)
}

fn semantic(
    matrix: &Matrix,
    query: &[f32],
    rows: &[usize],
    request: &VectorRequest,
) -> Vec<Scored> {
    #[allow(clippy::cast_possible_truncation, reason = "a bound between 0 and 1")]
    let floor = request.min_similarity as f32;
    let near = matrix.nearest(query, Some(rows), request.top_k, floor);
    near.into_iter()
        .map(|c| Scored {
            id: matrix.id(c.row).to_owned(),
            score: f64::from(c.score).min(1.0),
        })
        .collect()
}

fn lexical(
    reader: &Reader<'_>,
    request: &VectorRequest,
    members: &HashSet<&str>,
) -> Result<Vec<Scored>> {
    // Rows outside the scope are passed over afterwards, so a narrow scope asks for everything.
    let found = best_matches(reader, request.target, &request.query, usize::MAX)?;
    let mut ranked: Vec<Scored> = found
        .into_iter()
        .filter(|(id, _)| members.contains(id.as_str()))
        .take(request.top_k)
        .map(|(id, score)| Scored { id, score })
        .collect();
    let best = ranked
        .first()
        .map_or(1.0, |s| s.score)
        .max(f64::MIN_POSITIVE);
    for scored in &mut ranked {
        scored.score = (scored.score / best).clamp(0.0, 1.0);
    }
    Ok(ranked)
}

fn hybrid(
    reader: &Reader<'_>,
    model: &EmbedderInfo,
    matrix: &Matrix,
    query: &[f32],
    (scope, rows): (&[String], &[usize]),
    request: &VectorRequest,
) -> Result<Vec<Scored>> {
    let pool = (request.top_k * POOL_FACTOR).max(POOL_LEAST);
    #[allow(clippy::cast_possible_truncation, reason = "a bound between 0 and 1")]
    let floor = request.min_similarity as f32;
    let near = matrix.nearest(query, Some(rows), pool, floor);
    let members: HashSet<&str> = scope.iter().map(String::as_str).collect();
    let found = best_matches(reader, request.target, &request.query, usize::MAX)?;
    let words = found
        .into_iter()
        .filter(|(id, _)| members.contains(id.as_str()))
        .take(pool);
    let near = near.iter().map(|c| matrix.id(c.row).to_owned()).collect();
    let mut ranked = combine(model, matrix, query, near, words.collect());
    ranked.truncate(request.top_k);
    Ok(ranked)
}

/// Puts both lists on one scale and adds them with the model's weight, best first.
fn combine(
    model: &EmbedderInfo,
    matrix: &Matrix,
    query: &[f32],
    near: Vec<String>,
    words: Vec<(String, f64)>,
) -> Vec<Scored> {
    let word_scores: HashMap<String, f64> = words.iter().cloned().collect();
    let mut ids: Vec<String> = near;
    let known: HashSet<String> = ids.iter().cloned().collect();
    ids.extend(
        words
            .into_iter()
            .map(|(id, _)| id)
            .filter(|id| !known.contains(id)),
    );
    let by_meaning: Vec<f64> = ids
        .iter()
        .map(|id| {
            matrix
                .row(id)
                .map_or(0.0, |row| f64::from(matrix.similarity(query, row)))
        })
        .collect();
    let by_words: Vec<f64> = ids
        .iter()
        .map(|id| word_scores.get(id).copied().unwrap_or(0.0))
        .collect();
    let fused = fuse(&by_meaning, &by_words, f64::from(model.fusion_weight));
    let mut ranked: Vec<Scored> = ids
        .into_iter()
        .zip(fused)
        .map(|(id, score)| Scored { id, score })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    ranked
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

/// The ids that a request may find: claims that were not rejected, of the task if one is given;
/// fragments that an edge ties to a claim of the task, or all.
fn scope_of(reader: &Reader<'_>, request: &VectorRequest) -> Result<Vec<String>> {
    let sql = match (request.target, &request.task_id) {
        (EmbeddingTarget::Claim, Some(_)) => {
            "SELECT id FROM claims WHERE task_id = ?1 AND claim_adoption_status = 'adopted'"
        }
        (EmbeddingTarget::Claim, None) => {
            "SELECT id FROM claims WHERE claim_adoption_status = 'adopted' AND ?1 IS NULL"
        }
        (EmbeddingTarget::Fragment, Some(_)) => {
            "SELECT DISTINCT e.source_id FROM claims c CROSS JOIN edges e
             WHERE c.task_id = ?1 AND e.target_id = c.id AND e.source_type = 'fragment'"
        }
        (EmbeddingTarget::Fragment, None) => "SELECT id FROM fragments WHERE ?1 IS NULL",
    };
    let mut statement = reader.db.prepare_cached(sql).db()?;
    let rows = statement
        .query_map(params![request.task_id], |r| r.get(0))
        .db()?;
    rows.collect::<rusqlite::Result<_>>().db()
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
    .with_hint("import and verification fill them in; mode=lexical finds them without")
}

fn hydrate(
    reader: &Reader<'_>,
    target: EmbeddingTarget,
    ranked: &[Scored],
) -> Result<Vec<VectorHit>> {
    let sql = match target {
        EmbeddingTarget::Fragment => {
            "SELECT substr(f.text_content, 1, 200), p.id, p.url
             FROM fragments f LEFT JOIN pages p ON p.id = f.page_id WHERE f.id = ?1"
        }
        EmbeddingTarget::Claim => {
            "SELECT substr(c.claim_text, 1, 200), p.id, p.url FROM claims c
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
                })
            })
            .optional()
            .db()?;
        hits.extend(found);
    }
    Ok(hits)
}

impl VectorStore {
    /// The fragments of `members` nearest to a vector, from the model's own threshold of
    /// relatedness upward, best first.
    pub fn nearest_fragments(
        &self,
        reader: &Reader<'_>,
        model: &EmbedderInfo,
        vector: &[f32],
        members: &HashSet<String>,
        limit: usize,
    ) -> Result<Vec<Scored>> {
        let matrix = self.current(reader, EmbeddingTarget::Fragment, &model.model_id)?;
        let mut rows: Vec<usize> = members.iter().filter_map(|id| matrix.row(id)).collect();
        rows.sort_unstable();
        let near = matrix.nearest(vector, Some(&rows), limit, model.related_threshold);
        Ok(near
            .into_iter()
            .map(|c| Scored {
                id: matrix.id(c.row).to_owned(),
                score: f64::from(c.score),
            })
            .collect())
    }
}
