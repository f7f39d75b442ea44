//! Vectors of fragments and claims.

use super::{Reader, Writer};
use crate::error::{Error, Result, SqliteResultExt};
use crate::model::{EmbeddingTarget, content_id};
use rusqlite::params;

/// A vector as the database holds it: f32, little-endian.
pub fn encode_vector(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The vector of a blob; none if its length is not a multiple of four.
pub fn decode_vector(blob: &[u8]) -> Option<Vec<f32>> {
    let (values, rest) = blob.as_chunks::<4>();
    rest.is_empty()
        .then(|| values.iter().map(|v| f32::from_le_bytes(*v)).collect())
}

impl Writer<'_> {
    /// Stores the vector of a fragment or claim, in place of an older one of the same model.
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
        // REPLACE gives the row a new seq, which is how the vector store notices the change.
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO embeddings (id, target_type, target_id, model_id, embedding_blob,
                   dimension, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )
            .db()?
            .execute(params![
                id,
                target,
                target_id,
                model_id,
                encode_vector(vector),
                dimension,
                self.now
            ])
            .db()?;
        Ok(())
    }
}

impl Reader<'_> {
    /// The stored vectors of the given targets, in order; none where one is missing.
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

    /// Ids and texts of up to `limit` fragments or claims that have no vector of this model.
    pub fn missing_embeddings(
        &self,
        target: EmbeddingTarget,
        model_id: &str,
        limit: usize,
    ) -> Result<Vec<(String, String)>> {
        let sql = match target {
            EmbeddingTarget::Fragment => MISSING_FRAGMENTS,
            EmbeddingTarget::Claim => MISSING_CLAIMS,
        };
        let mut statement = self.db.prepare_cached(sql).db()?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement
            .query_map(params![model_id, limit], |r| Ok((r.get(0)?, r.get(1)?)))
            .db()?;
        rows.collect::<rusqlite::Result<_>>().db()
    }
}

const MISSING_FRAGMENTS: &str = "SELECT id, text_content FROM fragments f WHERE NOT EXISTS
    (SELECT 1 FROM embeddings e WHERE e.target_type = 'fragment' AND e.target_id = f.id AND e.model_id = ?1)
    ORDER BY seq LIMIT ?2";
const MISSING_CLAIMS: &str = "SELECT id, claim_text FROM claims c WHERE NOT EXISTS
    (SELECT 1 FROM embeddings e WHERE e.target_type = 'claim' AND e.target_id = c.id AND e.model_id = ?1)
    ORDER BY seq LIMIT ?2";
