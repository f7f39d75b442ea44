//! The vectors of one model and kind in memory, updated row by row from the database.

use super::index::{ExactIndex, Neighbour, UnitQuery, Wanted};
use super::rows::RowSet;
use crate::error::{Error, Result};
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::graph::Reader;
use crate::store::model::EmbeddingTarget;
use rusqlite::params;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Identifies the vectors that a matrix holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct MatrixKey {
    pub(super) target: EmbeddingTarget,
    pub(super) model_id: String,
    /// Vectors of another length are not compared.
    pub(super) dimension: usize,
}

/// A state of the table: the highest sequence number ever assigned, and the number of rows.
///
/// Rows are added by INSERT and REPLACE, which assign a new number (AUTOINCREMENT never reuses one), and
/// removed by DELETE, which lowers the count. Between two states with the same highest number, rows were
/// only deleted, so equal stamps mean equal rows, and the later of two states is the one with the higher
/// number or, with the same number, fewer rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TableStamp {
    highest: i64,
    rows: i64,
}

impl TableStamp {
    /// The state in a reader's snapshot.
    pub(super) fn read(reader: &Reader<'_>) -> Result<Self> {
        reader.db.one(
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'embeddings'), 0),
                   (SELECT count(*) FROM embeddings)",
            [],
            |r| {
                Ok(Self {
                    highest: r.get(0)?,
                    rows: r.get(1)?,
                })
            },
        )
    }

    /// Whether this state is earlier than the other one.
    pub(super) fn is_before(self, other: Self) -> bool {
        self.highest < other.highest || self.highest == other.highest && self.rows > other.rows
    }
}

/// Row i of the index belongs to `ids[i]`.
#[derive(Debug)]
pub(super) struct Matrix {
    index: ExactIndex,
    ids: Vec<Arc<str>>,
    seqs: Vec<i64>,
    row_of: HashMap<Arc<str>, usize>,
    /// Ids whose vector has another length or a non-finite value.
    misfits: HashSet<Arc<str>>,
    stamp: TableStamp,
    /// Set while rows are updated; stays set if the update is interrupted.
    unfinished: bool,
    /// Increases with every change of a row's position or vector.
    generation: u64,
}

/// The result of a pass over new rows of the table.
#[derive(Default)]
struct Arrivals {
    /// Number of rows of any model and kind.
    rows: i64,
    /// Number of rows of this matrix whose id was known, so that their older row is gone.
    replaced: i64,
}

impl Matrix {
    pub(super) fn new(dimension: usize) -> Self {
        Self {
            index: ExactIndex::new(dimension),
            ids: Vec::new(),
            seqs: Vec::new(),
            row_of: HashMap::new(),
            misfits: HashSet::new(),
            stamp: TableStamp::default(),
            unfinished: false,
            generation: 0,
        }
    }

    /// The state of the table that the matrix holds; none if unknown.
    pub(super) fn stamp(&self) -> Option<TableStamp> {
        (!self.unfinished).then_some(self.stamp)
    }

    /// A number that differs after every change.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Removes every row, so that all are loaded again.
    pub(super) fn clear(&mut self) {
        let generation = self.generation + 1;
        *self = Self::new(self.index.dimension());
        self.generation = generation;
    }

    /// Updates the rows to the state of the reader's snapshot, which is a later one.
    pub(super) fn catch_up(
        &mut self,
        reader: &Reader<'_>,
        key: &MatrixKey,
        stamp: TableStamp,
    ) -> Result<()> {
        if self.unfinished {
            self.clear();
        }
        self.unfinished = true;
        self.generation += 1;
        let arrivals = self.load_new(reader, key, stamp)?;
        // The excess of old and new rows over the existing ones is the number of removed rows. If more
        // rows are gone than were seen to be replaced, they are looked for one by one.
        let gone = self.stamp.rows + arrivals.rows - stamp.rows;
        if gone != arrivals.replaced {
            self.drop_missing(reader, key)?;
        }
        self.stamp = stamp;
        self.unfinished = false;
        Ok(())
    }

    fn load_new(
        &mut self,
        reader: &Reader<'_>,
        key: &MatrixKey,
        stamp: TableStamp,
    ) -> Result<Arrivals> {
        let mut arrivals = Arrivals::default();
        if stamp.highest == self.stamp.highest {
            return Ok(arrivals);
        }
        if self.stamp == TableStamp::default() {
            self.reserve(reader, key)?;
        }
        let mut statement = reader
            .db
            .prepare_cached(
                "SELECT seq, target_type, model_id, target_id, embedding_blob FROM embeddings
                 WHERE seq > ?1 ORDER BY seq",
            )
            .db()?;
        let mut rows = statement.query(params![self.stamp.highest]).db()?;
        let mut vector = Vec::with_capacity(key.dimension);
        while let Some(row) = rows.next().db()? {
            arrivals.rows += 1;
            if text(row, 1)? != key.target.as_str() || text(row, 2)? != key.model_id {
                continue;
            }
            let blob = row.get_ref(4).db()?.as_blob().map_err(malformed)?;
            let (values, rest) = blob.as_chunks::<4>();
            if !rest.is_empty() {
                return Err(malformed("the length is not a multiple of four"));
            }
            vector.clear();
            vector.extend(values.iter().map(|v| f32::from_le_bytes(*v)));
            let known = self.put(row.get(0).db()?, text(row, 3)?, &vector);
            arrivals.replaced += i64::from(known);
        }
        Ok(arrivals)
    }

    fn reserve(&mut self, reader: &Reader<'_>, key: &MatrixKey) -> Result<()> {
        let rows: usize = reader.db.one(
            "SELECT count(*) FROM embeddings WHERE target_type = ?1 AND model_id = ?2",
            params![key.target, key.model_id],
            |r| r.get(0),
        )?;
        self.index.reserve(rows);
        self.ids.reserve(rows);
        self.seqs.reserve(rows);
        self.row_of.reserve(rows);
        Ok(())
    }

    /// Stores a vector; returns whether its id was known.
    fn put(&mut self, seq: i64, id: &str, vector: &[f32]) -> bool {
        let was_misfit = self.misfits.remove(id);
        match self.row(id) {
            Some(row) if self.index.replace(row, vector).is_ok() => {
                self.seqs[row] = seq;
                true
            }
            Some(row) => {
                self.swap_remove(row);
                self.misfits.insert(id.into());
                true
            }
            None => {
                let id: Arc<str> = id.into();
                if let Ok(row) = self.index.push(vector) {
                    self.row_of.insert(Arc::clone(&id), row);
                    self.ids.push(id);
                    self.seqs.push(seq);
                } else {
                    self.misfits.insert(id);
                }
                was_misfit
            }
        }
    }

    /// Removes the rows that the table no longer has.
    fn drop_missing(&mut self, reader: &Reader<'_>, key: &MatrixKey) -> Result<()> {
        let mut statement = reader
            .db
            .prepare_cached(
                "SELECT seq, target_id FROM embeddings WHERE target_type = ?1 AND model_id = ?2",
            )
            .db()?;
        let mut rows = statement.query(params![key.target, key.model_id]).db()?;
        let mut live = HashSet::with_capacity(self.ids.len());
        let mut misfits = HashSet::new();
        while let Some(row) = rows.next().db()? {
            live.insert(row.get::<_, i64>(0).db()?);
            if !self.misfits.is_empty()
                && let Some(id) = self.misfits.get(text(row, 1)?)
            {
                misfits.insert(Arc::clone(id));
            }
        }
        self.misfits = misfits;
        for row in (0..self.ids.len()).rev() {
            if !live.contains(&self.seqs[row]) {
                self.swap_remove(row);
            }
        }
        Ok(())
    }

    fn swap_remove(&mut self, row: usize) {
        self.index.swap_remove(row);
        let id = self.ids.swap_remove(row);
        self.seqs.swap_remove(row);
        self.row_of.remove(&id);
        if let Some(moved) = self.ids.get(row) {
            self.row_of.insert(Arc::clone(moved), row);
        }
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
    pub(super) fn similarity(&self, query: &UnitQuery, row: usize) -> f64 {
        self.index.similarity(query, row)
    }

    /// The best `k` rows of `scope` (all rows if none) whose cosine is at least `floor`, best first;
    /// ties are sorted by id, so that every process gives the same answer.
    pub(super) fn nearest(
        &self,
        query: &UnitQuery,
        scope: Option<&RowSet>,
        k: usize,
        floor: f64,
    ) -> Vec<Neighbour> {
        let tie = |a: usize, b: usize| self.ids[a].cmp(&self.ids[b]);
        let wanted = Wanted {
            scope,
            k,
            floor,
            tie: &tie,
        };
        self.index.search(query, &wanted).neighbours
    }
}

fn text<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<&'r str> {
    row.get_ref(column).db()?.as_str().map_err(malformed)
}

fn malformed(reason: impl std::fmt::Display) -> Error {
    Error::internal(format!(
        "an embedding is not as the schema has it: {reason}"
    ))
    .with_hint("verify names every row that is at fault")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    impl Matrix {
        /// Every id with its vector as stored; none for one that is not compared.
        pub(in crate::store::vectors) fn contents(&self) -> BTreeMap<String, Option<Vec<f32>>> {
            let misfits = self.misfits.iter().map(|id| (id.to_string(), None));
            let rows = self.ids.iter().enumerate().map(|(row, id)| {
                assert_eq!(self.row(id), Some(row));
                (id.to_string(), self.index.row(row).map(<[f32]>::to_vec))
            });
            let all: BTreeMap<_, _> = misfits.chain(rows).collect();
            assert_eq!(all.len(), self.ids.len() + self.misfits.len());
            assert_eq!(self.index.len(), self.seqs.len());
            all
        }

        /// Leaves the matrix in the state of an interrupted load.
        pub(in crate::store::vectors) fn break_off(&mut self) {
            self.unfinished = true;
        }
    }

    #[test]
    fn stamps_are_in_the_order_of_time() {
        let stamp = |highest, rows| TableStamp { highest, rows };
        let in_time = [
            stamp(0, 0),
            stamp(3, 3),
            stamp(3, 2),
            stamp(4, 3),
            stamp(9, 0),
        ];
        for (place, earlier) in in_time.iter().enumerate() {
            assert!(!earlier.is_before(*earlier));
            for later in &in_time[place + 1..] {
                assert!(earlier.is_before(*later) && !later.is_before(*earlier));
            }
        }
    }
}
