//! Exact nearest neighbours: a first pass over bytes with proven bounds, then exact scores.

use super::block::{BLOCK_ROWS, CacheLine};
use super::codes::{ByteQuery, Codes, MAX_DIMENSION};
use super::kernel::{FirstPass, Tier};
use super::memory::prefer_large_pages;
use super::rows::RowSet;
use crate::error::{Error, Result};
use std::cmp::Ordering;

/// Above this number of results, everything in scope is scored and sorted.
const MANY: usize = 1024;

/// A row that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Row number, from 0.
    pub row: usize,
    /// Cosine similarity to the query, -1 to 1, summed in double precision.
    pub similarity: f64,
}

/// The result of a search, and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Best first; ties in the order of rows.
    pub neighbours: Vec<Neighbour>,
    /// Number of rows that remained after the first pass; none if the pass was not worthwhile, or if too
    /// many remained and every row was scored.
    pub survivors: Option<usize>,
}

/// Vectors of one length, stored as rows with exact search.
///
/// The nearest k are those of a full scan in double precision over the stored rows, which have length 1
/// and single precision. A copy with one byte per value is read first; it gives a lower and an upper
/// bound of every score, and only rows whose upper bound reaches the k-th best lower bound are scored.
/// If too many remain, as among near-duplicates, every row is scored.
///
/// ```
/// use lyra_core::store::vectors::ExactIndex;
/// let mut index = ExactIndex::new(3);
/// index.push(&[2.0, 0.0, 0.0])?;
/// index.push(&[1.0, 1.0, 0.0])?;
/// let found = index.nearest(&[0.0, 1.0, 0.0], 1, 0.5);
/// assert_eq!(found.neighbours[0].row, 1);
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ExactIndex {
    dimension: usize,
    rows: usize,
    /// Rows of length 1 (or 0), stored contiguously.
    values: Vec<f32>,
    codes: Codes,
    tier: Tier,
}

/// A query of length 1 in the forms that the search needs.
#[derive(Debug)]
pub(super) struct UnitQuery {
    unit: Vec<f32>,
    bytes: ByteQuery,
}

impl UnitQuery {
    /// None for a query with a non-finite value.
    pub(super) fn new(query: &[f32]) -> Option<Self> {
        let scale = scale_of(Tier::best(), query)?;
        let unit: Vec<f32> = scaled(query, scale).collect();
        let bytes = ByteQuery::new(&unit);
        Some(Self { unit, bytes })
    }
}

/// The parameters of a search.
pub(super) struct Wanted<'a> {
    /// The rows to search; all if none.
    pub(super) scope: Option<&'a RowSet>,
    /// Number of results.
    pub(super) k: usize,
    /// Minimum cosine.
    pub(super) floor: f64,
    /// The order of two rows with the same score.
    pub(super) tie: &'a dyn Fn(usize, usize) -> Ordering,
}

impl ExactIndex {
    /// An empty index for vectors of `dimension` values.
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            rows: 0,
            values: Vec::new(),
            codes: Codes::new(dimension),
            tier: Tier::best(),
        }
    }

    /// Length of each vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Reserves space for this total number of rows.
    pub fn reserve(&mut self, rows: usize) {
        let more = (rows * self.dimension).saturating_sub(self.values.len());
        self.values.reserve_exact(more);
        prefer_large_pages(&self.values);
        if self.has_codes() {
            self.codes.reserve(rows);
        }
    }

    /// Adds a vector and returns its row. Refuses a vector of another length or with a non-finite value.
    /// A vector need not have length 1; a vector of zeros has a cosine of 0 with everything.
    pub fn push(&mut self, vector: &[f32]) -> Result<usize> {
        let scale = self.checked(vector)?;
        if self.values.len() == self.values.capacity() {
            // Grows by an eighth at a time: doubling would reserve as much memory again.
            self.reserve(self.rows + (self.rows / 8).max(64));
        }
        self.values.extend(scaled(vector, scale));
        self.rows += 1;
        self.encode(self.rows - 1);
        Ok(self.rows - 1)
    }

    /// Replaces the vector of a row.
    pub fn replace(&mut self, row: usize, vector: &[f32]) -> Result<()> {
        if row >= self.rows {
            return Err(Error::invalid(format!(
                "there is no row {row}; there are {} rows",
                self.rows
            )));
        }
        let scale = self.checked(vector)?;
        let places = &mut self.values[row * self.dimension..(row + 1) * self.dimension];
        for (place, value) in places.iter_mut().zip(scaled(vector, scale)) {
            *place = value;
        }
        self.encode(row);
        Ok(())
    }

    /// Removes a row; the last row moves to its position. Does nothing if there is no such row.
    pub fn swap_remove(&mut self, row: usize) {
        if row >= self.rows {
            return;
        }
        let (last, d) = (self.rows - 1, self.dimension);
        if row < last {
            self.values.copy_within(last * d..(last + 1) * d, row * d);
            self.encode(row);
        }
        self.rows = last;
        self.values.truncate(last * d);
        self.codes.truncate(last);
    }

    /// The `k` rows nearest to `query` with a cosine of at least `floor`. None if the query has another
    /// length or a non-finite value.
    pub fn nearest(&self, query: &[f32], k: usize, floor: f64) -> Found {
        self.nearest_in(None, query, k, floor)
    }

    /// The same within a set of rows. Row numbers that do not exist are ignored.
    ///
    /// ```
    /// use lyra_core::store::vectors::ExactIndex;
    /// let mut index = ExactIndex::new(2);
    /// for vector in [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]] {
    ///     index.push(&vector)?;
    /// }
    /// let rows = [1, 2].into_iter().collect();
    /// let found = index.nearest_among(&rows, &[1.0, 0.0], 1, -1.0);
    /// assert_eq!(found.neighbours[0].row, 1);
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    pub fn nearest_among(&self, rows: &RowSet, query: &[f32], k: usize, floor: f64) -> Found {
        self.nearest_in(Some(rows), query, k, floor)
    }

    fn nearest_in(&self, scope: Option<&RowSet>, query: &[f32], k: usize, floor: f64) -> Found {
        let wanted = Wanted {
            scope,
            k,
            floor,
            tie: &|a, b| a.cmp(&b),
        };
        match UnitQuery::new(query) {
            Some(query) => self.search(&query, &wanted),
            None => Found {
                neighbours: Vec::new(),
                survivors: None,
            },
        }
    }

    /// A row as stored: of length 1 (or 0).
    pub fn row(&self, row: usize) -> Option<&[f32]> {
        (row < self.rows).then(|| &self.values[row * self.dimension..(row + 1) * self.dimension])
    }

    /// The bytes that a first pass reads, in cache lines: sixteen rows per block, four dimensions per
    /// line.
    pub fn first_pass_copy(&self) -> impl ExactSizeIterator<Item = &[u8; 64]> {
        self.codes.lines().iter().map(|CacheLine(bytes)| bytes)
    }

    /// Cosine of the query with one row; 0 if their lengths differ.
    pub(super) fn similarity(&self, query: &UnitQuery, row: usize) -> f64 {
        match self.row(row) {
            Some(values) if query.unit.len() == self.dimension => {
                self.tier.dot(values, &query.unit)
            }
            _ => 0.0,
        }
    }

    pub(super) fn search(&self, query: &UnitQuery, wanted: &Wanted<'_>) -> Found {
        if query.unit.len() != self.dimension || wanted.k == 0 {
            return Found {
                neighbours: Vec::new(),
                survivors: None,
            };
        }
        let survivors = self
            .first_pass_pays(wanted)
            .then(|| self.first_pass(query, wanted))
            .flatten();
        let Some(survivors) = survivors else {
            return Found {
                neighbours: self.score_all(query, wanted),
                survivors: None,
            };
        };
        let mut best = Best::new(wanted);
        for survivor in &survivors {
            if best.is_beyond(f64::from(survivor.upper)) {
                break;
            }
            let row = survivor.row as usize;
            best.push(row, self.similarity(query, row));
        }
        Found {
            neighbours: best.kept,
            survivors: Some(survivors.len()),
        }
    }

    /// Whether reading the bytes of every block in scope is cheaper than reading the floats of its rows.
    fn first_pass_pays(&self, wanted: &Wanted<'_>) -> bool {
        let worth = match wanted.scope {
            Some(scope) => scope.len() * size_of::<f32>() > scope.touched_blocks() * BLOCK_ROWS,
            None => true,
        };
        worth && self.has_codes() && wanted.k <= MANY
    }

    fn first_pass(
        &self,
        query: &UnitQuery,
        wanted: &Wanted<'_>,
    ) -> Option<Vec<super::kernel::Survivor>> {
        #[allow(clippy::cast_possible_truncation, reason = "rounded down right after")]
        let floor = (wanted.floor as f32).next_down();
        let mut pass = FirstPass::new(
            &self.codes,
            &query.bytes,
            (wanted.scope, self.rows),
            (wanted.k, floor),
        );
        self.tier.first_pass(&mut pass);
        pass.into_survivors()
    }

    fn score_all(&self, query: &UnitQuery, wanted: &Wanted<'_>) -> Vec<Neighbour> {
        let mut best = Best::new(wanted);
        let mut look = |row| best.push(row, self.similarity(query, row));
        match wanted.scope {
            Some(scope) => {
                let there = scope.iter().filter(|row| *row < self.rows);
                there.for_each(&mut look);
            }
            None => (0..self.rows).for_each(&mut look),
        }
        best.into_sorted()
    }

    fn has_codes(&self) -> bool {
        (1..=MAX_DIMENSION).contains(&self.dimension)
    }

    fn encode(&mut self, row: usize) {
        if self.has_codes() {
            let start = row * self.dimension;
            self.codes
                .set(row, &self.values[start..start + self.dimension]);
        }
    }

    fn checked(&self, vector: &[f32]) -> Result<f64> {
        if vector.len() != self.dimension {
            return Err(Error::invalid(format!(
                "the vector has {} values; expected {}",
                vector.len(),
                self.dimension
            )));
        }
        scale_of(self.tier, vector)
            .ok_or_else(|| Error::invalid("the vector has a value that is not finite"))
    }
}

/// The factor that scales the vector to length 1; 0 if it is all zeros, none if a value is not finite.
fn scale_of(tier: Tier, vector: &[f32]) -> Option<f64> {
    let length = tier.dot(vector, vector).sqrt();
    length
        .is_finite()
        .then(|| if length > 0.0 { 1.0 / length } else { 0.0 })
}

#[allow(clippy::cast_possible_truncation, reason = "vectors are held as f32")]
fn scaled(vector: &[f32], scale: f64) -> impl Iterator<Item = f32> {
    vector.iter().map(move |v| (f64::from(*v) * scale) as f32)
}

/// The best rows so far, best first.
struct Best<'a> {
    wanted: &'a Wanted<'a>,
    kept: Vec<Neighbour>,
}

impl<'a> Best<'a> {
    fn new(wanted: &'a Wanted<'a>) -> Self {
        Self {
            wanted,
            kept: Vec::new(),
        }
    }

    fn order(&self, a: &Neighbour, b: &Neighbour) -> Ordering {
        b.similarity
            .total_cmp(&a.similarity)
            .then_with(|| (self.wanted.tie)(a.row, b.row))
    }

    /// Whether no row with a score of at most `upper` can be among the best.
    fn is_beyond(&self, upper: f64) -> bool {
        self.wanted.k <= MANY
            && self.kept.len() == self.wanted.k
            && self.kept.last().is_some_and(|last| upper < last.similarity)
    }

    fn push(&mut self, row: usize, similarity: f64) {
        if similarity < self.wanted.floor || self.is_beyond(similarity) {
            return;
        }
        let new = Neighbour { row, similarity };
        if self.wanted.k > MANY {
            // Sorted once at the end.
            self.kept.push(new);
            return;
        }
        let place = self
            .kept
            .partition_point(|old| self.order(old, &new).is_lt());
        self.kept.insert(place, new);
        self.kept.truncate(self.wanted.k);
    }

    fn into_sorted(mut self) -> Vec<Neighbour> {
        if self.wanted.k > MANY {
            let mut kept = std::mem::take(&mut self.kept);
            kept.sort_unstable_by(|a, b| self.order(a, b));
            kept.truncate(self.wanted.k);
            return kept;
        }
        self.kept
    }
}

#[cfg(test)]
mod tests;
