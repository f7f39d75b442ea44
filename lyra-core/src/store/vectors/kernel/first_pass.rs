//! The first pass over the byte copies, which finds the rows that may be among the best.

use super::super::block::{BLOCK_ROWS, CacheLine, Lanes};
use super::super::codes::{ByteQuery, Codes};
use super::super::rows::RowSet;

/// A row that the first pass could not rule out, and the upper bound of its score.
#[derive(Debug, Clone, Copy)]
pub(in crate::store::vectors) struct Survivor {
    pub(in crate::store::vectors) upper: f32,
    pub(in crate::store::vectors) row: u32,
}

/// Scans every row's byte copy and keeps the rows that may be among the best k.
#[derive(Debug)]
pub(in crate::store::vectors) struct FirstPass<'a> {
    codes: &'a Codes,
    query: &'a ByteQuery,
    /// The rows to scan; all if none.
    scope: Option<&'a RowSet>,
    rows: usize,
    lower_bounds: KthLargest,
    /// With more survivors than this, a plain scan is cheaper.
    limit: usize,
    survivors: Vec<Survivor>,
    gave_up: bool,
}

impl<'a> FirstPass<'a> {
    pub(in crate::store::vectors) fn new(
        codes: &'a Codes,
        query: &'a ByteQuery,
        (scope, rows): (Option<&'a RowSet>, usize),
        (k, floor): (usize, f32),
    ) -> Self {
        let searched = scope.map_or(rows, RowSet::len);
        Self {
            codes,
            query,
            scope,
            rows,
            lower_bounds: KthLargest::new(k, floor),
            limit: searched / 4,
            survivors: Vec::with_capacity(1024.min(searched)),
            gave_up: false,
        }
    }

    /// The rows that may be among the best, highest upper bound first; none if there are too many.
    pub(in crate::store::vectors) fn into_survivors(mut self) -> Option<Vec<Survivor>> {
        self.prune();
        if self.gave_up || self.survivors.len() > self.limit {
            return None;
        }
        self.survivors
            .sort_unstable_by(|a, b| b.upper.total_cmp(&a.upper));
        Some(self.survivors)
    }

    /// The requested rows of a block, as bits.
    #[inline(always)]
    fn wanted(&self, block: usize) -> u16 {
        let there = match self.rows - block * BLOCK_ROWS {
            left @ 0..BLOCK_ROWS => (1_u16 << left) - 1,
            _ => u16::MAX,
        };
        self.scope.map_or(there, |scope| scope.block(block) & there)
    }

    /// The loop that every tier compiles with its own instructions. `dots` sums the products of a
    /// block's bytes with the query's integers.
    #[inline(always)]
    pub(super) fn run(&mut self, dots: impl Fn(&[CacheLine], &ByteQuery) -> Lanes) {
        let (codes, query) = (self.codes, self.query);
        let mut threshold = self.lower_bounds.threshold();
        for (block, lines) in codes.blocks().enumerate() {
            let wanted = self.wanted(block);
            if wanted == 0 {
                continue;
            }
            let dots = dots(lines, query);
            let (scales, errors) = codes.bounds(block);
            let mut lower: Lanes = [0.0; BLOCK_ROWS];
            let mut upper: Lanes = [0.0; BLOCK_ROWS];
            let mut reach = [false; BLOCK_ROWS];
            for lane in 0..BLOCK_ROWS {
                let estimate = dots[lane] * (scales[lane] * query.scale());
                let margin = errors[lane] * query.length() + query.slack();
                lower[lane] = estimate - margin;
                upper[lane] = estimate + margin;
                reach[lane] = upper[lane] >= threshold;
            }
            if !reach.iter().fold(false, |any, lane| any | lane) {
                continue;
            }
            self.keep(block, wanted, (&lower, &upper));
            if self.gave_up {
                return;
            }
            threshold = self.lower_bounds.threshold();
        }
    }

    /// Keeps the rows of a block whose upper bound reaches the k-th lower bound.
    #[inline(never)]
    fn keep(&mut self, block: usize, wanted: u16, (lower, upper): (&Lanes, &Lanes)) {
        for lane in (0..BLOCK_ROWS).filter(|lane| wanted >> lane & 1 == 1) {
            if upper[lane] >= self.lower_bounds.threshold() {
                let row = u32::try_from(block * BLOCK_ROWS + lane).unwrap_or(u32::MAX);
                let upper = upper[lane];
                self.survivors.push(Survivor { upper, row });
                self.lower_bounds.push(lower[lane]);
            }
        }
        if self.survivors.len() > self.limit {
            self.prune();
            // Free space of half the list keeps the cost of pruning proportional to the number of added
            // rows.
            self.gave_up = self.survivors.len() > self.limit / 2;
        }
    }

    fn prune(&mut self) {
        let threshold = self.lower_bounds.threshold();
        self.survivors.retain(|s| s.upper >= threshold);
    }
}

/// The k-th largest of the numbers seen so far, but at least a floor.
#[derive(Debug)]
struct KthLargest {
    k: usize,
    floor: f32,
    /// Ascending.
    largest: Vec<f32>,
}

impl KthLargest {
    fn new(k: usize, floor: f32) -> Self {
        Self {
            k,
            floor,
            largest: Vec::with_capacity(k + 1),
        }
    }

    #[inline(always)]
    fn threshold(&self) -> f32 {
        if self.largest.len() < self.k {
            return self.floor;
        }
        self.largest
            .first()
            .map_or(f32::INFINITY, |least| least.max(self.floor))
    }

    fn push(&mut self, value: f32) {
        if self.largest.len() == self.k {
            if self.largest.first().is_none_or(|least| value <= *least) {
                return;
            }
            self.largest.remove(0);
        }
        let place = self.largest.partition_point(|other| *other < value);
        self.largest.insert(place, value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tier, portable};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_kth_largest_is_that_of_a_full_sort(
            values in prop::collection::vec(-1.0_f32..1.0, 0..60), k in 0_usize..12
        ) {
            let mut kth = KthLargest::new(k, -0.5);
            values.iter().for_each(|v| kth.push(*v));
            let mut sorted = values;
            sorted.sort_by(|a, b| b.total_cmp(a));
            let expected = match k {
                0 => f32::INFINITY,
                _ => sorted.get(k - 1).copied().unwrap_or(-0.5).max(-0.5),
            };
            prop_assert_eq!(kth.threshold(), expected);
        }

        #[test]
        fn every_tier_gives_the_same_bits(
            pairs in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 0..200)
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let plain: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            for tier in Tier::available() {
                let dot = tier.dot(&a, &b);
                prop_assert_eq!(dot.to_bits(), portable::dot(&a, &b).to_bits(), "{:?}", tier);
                prop_assert!((dot - plain).abs() < 1e-9);
            }
        }
    }

    proptest! {
        /// A search could hide a wrong bound, because it scores rows for other reasons as well, so the
        /// bounds of single rows are checked.
        #[test]
        fn the_score_lies_within_the_bounds(
            pairs in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 1..600),
            spike in prop::sample::select(vec![0.0_f32, 1.0, 100.0]),
        ) {
            let unit = |values: Vec<f32>| -> Vec<f32> {
                let length = values.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-20);
                values.into_iter().map(|v| v / length).collect()
            };
            let (mut a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            a[0] += spike;
            let (row, query) = (unit(a), unit(b));
            let score = portable::dot(&row, &query);
            let mut codes = Codes::new(row.len());
            codes.set(0, &row);
            let query = ByteQuery::new(&query);
            for tier in Tier::available() {
                let all = f32::NEG_INFINITY;
                let mut pass = FirstPass::new(&codes, &query, (None, 1), (1, all));
                pass.limit = 4;
                tier.first_pass(&mut pass);
                let lower = f64::from(pass.lower_bounds.threshold());
                let upper = f64::from(pass.survivors[0].upper);
                prop_assert!(lower <= score && score <= upper, "{:?}: {} {} {}", tier, lower, score, upper);
                // Bounds must also be tight: trivially wide bounds would always be correct.
                prop_assert!(spike > 0.0 || upper - lower < 0.05, "{:?}: {} {}", tier, lower, upper);
            }
        }
    }
}
