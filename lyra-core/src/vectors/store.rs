//! The resident matrix: every vector of one model and kind, kept in step with the database.

use super::scan::{Candidate, dot, top_k};
use crate::error::{Error, Result, SqliteResultExt};
use crate::graph::{Reader, decode_vector};
use crate::model::EmbeddingTarget;
use rusqlite::params;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

/// Exact similarity search over the vectors of one model.
///
/// The vectors are held in memory and brought up to date at the start of each search, from the
/// snapshot that the search reads: what any process has committed is seen, what is deleted is gone.
#[derive(Debug, Default)]
pub struct VectorStore {
    matrices: RwLock<HashMap<(EmbeddingTarget, String), Arc<Matrix>>>,
}

/// Vectors as rows; row i belongs to `ids[i]`.
#[derive(Debug, Clone, Default)]
pub(super) struct Matrix {
    dimension: usize,
    values: Vec<f32>,
    ids: Vec<String>,
    seqs: Vec<i64>,
    row_of: HashMap<String, usize>,
    /// Vectors of this model with another length than the first; they are never compared.
    pub(super) misfits: usize,
    stamp: Stamp,
}

/// What tells two states of the table apart: the highest sequence number ever given out (it grows
/// with every insert and replace) and the number of rows (it falls with every delete).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stamp {
    highest: i64,
    rows: i64,
}

impl VectorStore {
    /// An empty store; vectors are loaded when they are first asked for.
    pub fn new() -> Self {
        Self::default()
    }

    /// The matrix of a kind and model as the reader's snapshot has it.
    pub(super) fn current(
        &self,
        reader: &Reader<'_>,
        target: EmbeddingTarget,
        model_id: &str,
    ) -> Result<Arc<Matrix>> {
        let stamp = stamp_of(reader, target, model_id)?;
        let key = (target, model_id.to_owned());
        let known = self
            .matrices
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        if let Some(matrix) = known.as_ref().filter(|m| m.stamp == stamp) {
            return Ok(Arc::clone(matrix));
        }
        let mut next = known.map_or_else(Matrix::default, Arc::unwrap_or_clone);
        next.catch_up(reader, target, model_id, stamp)?;
        let next = Arc::new(next);
        let mut matrices = self
            .matrices
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        // A reader with an older snapshot must not put back what a newer one has brought in.
        let newer = matrices
            .get(&key)
            .is_some_and(|m| m.stamp.highest > stamp.highest);
        if !newer {
            matrices.insert(key, Arc::clone(&next));
        }
        Ok(next)
    }
}

fn stamp_of(reader: &Reader<'_>, target: EmbeddingTarget, model_id: &str) -> Result<Stamp> {
    reader
        .db
        .prepare_cached(
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'embeddings'), 0),
               (SELECT count(*) FROM embeddings WHERE target_type = ?1 AND model_id = ?2)",
        )
        .db()?
        .query_row(params![target, model_id], |r| {
            Ok(Stamp {
                highest: r.get(0)?,
                rows: r.get(1)?,
            })
        })
        .db()
}

impl Matrix {
    fn catch_up(
        &mut self,
        reader: &Reader<'_>,
        target: EmbeddingTarget,
        model_id: &str,
        stamp: Stamp,
    ) -> Result<()> {
        if stamp.highest < self.stamp.highest {
            *self = Self::default();
        }
        self.load_after(reader, target, model_id, self.stamp.highest)?;
        let expected = usize::try_from(stamp.rows).unwrap_or(0);
        if self.ids.len() + self.misfits != expected {
            self.drop_missing(reader, target, model_id)?;
        }
        self.stamp = stamp;
        Ok(())
    }

    fn load_after(
        &mut self,
        reader: &Reader<'_>,
        target: EmbeddingTarget,
        model_id: &str,
        seq: i64,
    ) -> Result<()> {
        let mut statement = reader
            .db
            .prepare_cached(
                "SELECT seq, target_id, embedding_blob FROM embeddings
                 WHERE seq > ?1 AND target_type = ?2 AND model_id = ?3 ORDER BY seq",
            )
            .db()?;
        let mut rows = statement.query(params![seq, target, model_id]).db()?;
        while let Some(row) = rows.next().db()? {
            let blob = row.get_ref(2).db()?.as_blob().unwrap_or_default();
            let vector = decode_vector(blob).ok_or_else(|| {
                Error::internal("an embedding's length is not a multiple of four")
            })?;
            self.put(row.get(0).db()?, row.get(1).db()?, &vector);
        }
        Ok(())
    }

    fn put(&mut self, seq: i64, id: String, vector: &[f32]) {
        if self.ids.is_empty() {
            self.dimension = vector.len();
        }
        if vector.len() != self.dimension {
            self.misfits += 1;
            return;
        }
        let length = dot(vector, vector).sqrt();
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        let unit = vector.iter().map(|v| v * scale);
        if let Some(&row) = self.row_of.get(&id) {
            let place = row * self.dimension;
            for (value, new) in self.values[place..place + self.dimension]
                .iter_mut()
                .zip(unit)
            {
                *value = new;
            }
            self.seqs[row] = seq;
        } else {
            self.row_of.insert(id.clone(), self.ids.len());
            self.values.extend(unit);
            self.ids.push(id);
            self.seqs.push(seq);
        }
    }

    fn drop_missing(
        &mut self,
        reader: &Reader<'_>,
        target: EmbeddingTarget,
        model_id: &str,
    ) -> Result<()> {
        let mut statement = reader
            .db
            .prepare_cached("SELECT seq FROM embeddings WHERE target_type = ?1 AND model_id = ?2")
            .db()?;
        let live: HashSet<i64> = statement
            .query_map(params![target, model_id], |r| r.get(0))
            .db()?
            .collect::<rusqlite::Result<_>>()
            .db()?;
        for row in (0..self.ids.len())
            .rev()
            .filter(|row| !live.contains(&self.seqs[*row]))
            .collect::<Vec<_>>()
        {
            self.swap_remove(row);
        }
        self.misfits = live.len() - self.ids.len();
        Ok(())
    }

    fn swap_remove(&mut self, row: usize) {
        let last = self.ids.len() - 1;
        let d = self.dimension;
        self.values.copy_within(last * d..(last + 1) * d, row * d);
        self.values.truncate(last * d);
        let id = self.ids.swap_remove(row);
        self.seqs.swap_remove(row);
        self.row_of.remove(&id);
        if row < last {
            self.row_of.insert(self.ids[row].clone(), row);
        }
    }

    /// How many vectors there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The id of a row.
    pub(super) fn id(&self, row: usize) -> &str {
        &self.ids[row]
    }

    /// The row of an id.
    pub(super) fn row(&self, id: &str) -> Option<usize> {
        self.row_of.get(id).copied()
    }

    /// Cosine of the query with one row.
    pub(super) fn similarity(&self, query: &[f32], row: usize) -> f32 {
        dot(
            query,
            &self.values[row * self.dimension..(row + 1) * self.dimension],
        )
    }

    /// The best `k` rows of `scope` (all rows if none) whose cosine reaches `floor`.
    pub(super) fn nearest(
        &self,
        query: &[f32],
        scope: Option<&[usize]>,
        k: usize,
        floor: f32,
    ) -> Vec<Candidate> {
        if query.len() != self.dimension {
            return Vec::new();
        }
        let scored = |row| Candidate {
            score: self.similarity(query, row),
            row,
        };
        match scope {
            Some(rows) => top_k(rows.iter().copied().map(scored), k, floor),
            None => top_k((0..self.len()).map(scored), k, floor),
        }
    }
}
