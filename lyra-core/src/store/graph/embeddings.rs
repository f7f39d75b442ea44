//! Vectors of fragments and claims.

use super::handles::{Reader, Writer};
use crate::error::{Error, Result};
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::model::{EmbeddingTarget, content_id};
use rusqlite::params;

/// Encodes a vector as stored in the database: f32, little-endian.
pub fn encode_vector(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Decodes a stored vector; none if the length of the blob is not a multiple of four.
pub fn decode_vector(blob: &[u8]) -> Option<Vec<f32>> {
    let (values, rest) = blob.as_chunks::<4>();
    rest.is_empty()
        .then(|| values.iter().map(|v| f32::from_le_bytes(*v)).collect())
}

impl Writer<'_> {
    /// Stores the vector of a fragment or claim, replacing an older one of the same model.
    pub fn put_embedding(
        &self,
        target: EmbeddingTarget,
        target_id: &str,
        model_id: &str,
        vector: &[f32],
    ) -> Result<()> {
        if vector.is_empty() || vector.iter().any(|v| !v.is_finite()) {
            return Err(Error::invalid(format!(
                "the embedding of {target} {target_id} is empty or not finite"
            )));
        }
        let id = content_id("emb_", &[target.as_str(), target_id, model_id]);
        let dimension = i64::try_from(vector.len()).unwrap_or(i64::MAX);
        // REPLACE gives the row a new seq, by which the vector store detects the change.
        self.db
            .run("INSERT OR REPLACE INTO embeddings (id, target_type, target_id, model_id, embedding_blob,
                   dimension, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", params![
                id,
                target,
                target_id,
                model_id,
                encode_vector(vector),
                dimension,
                self.now
            ])?;
        Ok(())
    }
}

impl Reader<'_> {
    /// The stored vectors of the given targets, in order; none if one is missing.
    pub fn vectors_of(
        &self,
        target: EmbeddingTarget,
        ids: &[&str],
        model_id: &str,
    ) -> Result<Vec<Option<Vec<f32>>>> {
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT embedding_blob FROM embeddings
                 WHERE target_type = ?1 AND target_id = ?2 AND model_id = ?3",
            )
            .db()?;
        let mut vectors = Vec::with_capacity(ids.len());
        for id in ids {
            let mut rows = statement.query(params![target, id, model_id]).db()?;
            let blob: Option<Vec<u8>> = match rows.next().db()? {
                Some(row) => Some(row.get(0).db()?),
                None => None,
            };
            vectors.push(blob.as_deref().and_then(decode_vector));
        }
        Ok(vectors)
    }

    /// Up to `limit` fragments or claims that have no vector of this model, in the order in which they
    /// were stored, starting after the number `after`: all of them, or those of a task (its claims and
    /// the fragments of its pages).
    pub fn missing_embeddings(
        &self,
        target: EmbeddingTarget,
        model_id: &str,
        task_id: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<MissingVector>> {
        let (text, from) = missing(target);
        let sql = format!("SELECT t.seq, t.id, t.{text} {from} ORDER BY t.seq LIMIT ?4");
        let mut statement = self.db.prepare_cached(&sql).db()?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement
            .query_map(params![model_id, task_id, after, limit], |r| {
                Ok(MissingVector {
                    seq: r.get(0)?,
                    id: r.get(1)?,
                    text: r.get(2)?,
                })
            })
            .db()?;
        rows.collect::<rusqlite::Result<_>>().db()
    }

    /// Refuses an id that belongs to no fragment or claim: its vector would never be found.
    pub fn require_embeddable(&self, target: EmbeddingTarget, target_id: &str) -> Result<()> {
        let sql = match target {
            EmbeddingTarget::Fragment => "SELECT 1 FROM fragments WHERE id = ?1",
            EmbeddingTarget::Claim => "SELECT 1 FROM claims WHERE id = ?1",
        };
        if self.db.holds(sql, [target_id])? {
            return Ok(());
        }
        Err(Error::not_found(format!("no {target} {target_id:?}")))
    }

    /// The numbers of the newest fragment and the newest claim; 0 if there is none.
    pub(crate) fn last_embeddable(&self) -> Result<[i64; 2]> {
        self.db.one(
            "SELECT coalesce((SELECT max(seq) FROM fragments), 0),
                   coalesce((SELECT max(seq) FROM claims), 0)",
            [],
            |r| Ok([r.get(0)?, r.get(1)?]),
        )
    }

    /// Every vector of a model, in the order in which they were stored: the target ids, and the values
    /// of all vectors concatenated, `dimension` each. Vectors of another length are left out.
    pub fn all_vectors(
        &self,
        target: EmbeddingTarget,
        model_id: &str,
        dimension: usize,
    ) -> Result<(Vec<String>, Vec<f32>)> {
        // This count needs only the index; growing the buffers would copy them several times.
        let count: usize = self.db.one(
            "SELECT count(*) FROM embeddings WHERE target_type = ?1 AND model_id = ?2",
            params![target, model_id],
            |r| r.get(0),
        )?;
        let mut ids = Vec::with_capacity(count);
        let mut values = Vec::with_capacity(count.saturating_mul(dimension));
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT target_id, embedding_blob FROM embeddings NOT INDEXED
                 WHERE target_type = ?1 AND model_id = ?2 ORDER BY seq",
            )
            .db()?;
        let mut rows = statement.query(params![target, model_id]).db()?;
        while let Some(row) = rows.next().db()? {
            let blob = row.get_ref(1).db()?.as_blob().unwrap_or_default();
            let (numbers, _) = blob.as_chunks::<4>();
            if numbers.len() == dimension {
                ids.push(row.get(0).db()?);
                values.extend(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }
        }
        Ok((ids, values))
    }

    /// Number of vectors ever stored: an upper bound of the current number.
    pub fn embedding_rows(&self) -> Result<u64> {
        self.db
            .one("SELECT coalesce(max(seq), 0) FROM embeddings", [], |r| {
                r.get(0)
            })
    }

    /// Number of fragments and claims without a vector of this model, in the graph or in a task.
    pub fn count_missing_embeddings(&self, model_id: &str, task_id: Option<&str>) -> Result<usize> {
        let mut total = 0;
        for target in [EmbeddingTarget::Fragment, EmbeddingTarget::Claim] {
            let (_, from) = missing(target);
            let sql = format!("SELECT count(*) {from}");
            let mut statement = self.db.prepare_cached(&sql).db()?;
            let count: usize = statement
                .query_row(params![model_id, task_id, -1], |r| r.get(0))
                .db()?;
            total += count;
        }
        Ok(total)
    }
}

/// A fragment or claim that has no vector of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingVector {
    /// Row number; increases with every row of its kind.
    pub seq: i64,
    /// Fragment or claim.
    pub id: String,
    /// The text to embed.
    pub text: String,
}

/// The text column and the FROM clause: ?1 model, ?2 task or null, ?3 last number.
fn missing(target: EmbeddingTarget) -> (&'static str, &'static str) {
    match target {
        EmbeddingTarget::Fragment => (
            "text_content",
            "FROM fragments t WHERE t.seq > ?3
               AND (?2 IS NULL OR t.page_id IN (SELECT page_id FROM task_pages WHERE task_id = ?2))
               AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.target_type = 'fragment'
                               AND e.target_id = t.id AND e.model_id = ?1)",
        ),
        EmbeddingTarget::Claim => (
            "claim_text",
            "FROM claims t WHERE t.seq > ?3 AND (?2 IS NULL OR t.task_id = ?2)
               AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.target_type = 'claim'
                               AND e.target_id = t.id AND e.model_id = ?1)",
        ),
    }
}
