//! A set of row numbers.

use super::block::BLOCK_ROWS;

/// Rows as a bit set, with their number and the number of blocks of sixteen that they touch.
///
/// ```
/// use lyra_core::store::vectors::RowSet;
/// let rows: RowSet = [3, 1, 3].into_iter().collect();
/// assert!(rows.len() == 2 && rows.contains(1) && !rows.contains(2));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowSet {
    blocks: Vec<u16>,
    len: usize,
    touched: usize,
}

impl RowSet {
    /// Adds a row.
    pub fn insert(&mut self, row: usize) {
        let (block, bit) = (row / BLOCK_ROWS, 1_u16 << (row % BLOCK_ROWS));
        if block >= self.blocks.len() {
            self.blocks.resize(block + 1, 0);
        }
        let bits = &mut self.blocks[block];
        self.touched += usize::from(*bits == 0);
        self.len += usize::from(*bits & bit == 0);
        *bits |= bit;
    }

    /// Whether the set contains a row.
    pub fn contains(&self, row: usize) -> bool {
        self.block(row / BLOCK_ROWS) >> (row % BLOCK_ROWS) & 1 == 1
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of blocks that contain any of the rows.
    pub(super) fn touched_blocks(&self) -> usize {
        self.touched
    }

    /// The rows of a block, as bits.
    #[inline]
    pub(super) fn block(&self, block: usize) -> u16 {
        self.blocks.get(block).copied().unwrap_or(0)
    }

    /// The rows, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let blocks = self.blocks.iter().enumerate();
        blocks.flat_map(|(block, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let lane = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (lane < BLOCK_ROWS).then(|| block * BLOCK_ROWS + lane)
            })
        })
    }
}

impl FromIterator<usize> for RowSet {
    fn from_iter<I: IntoIterator<Item = usize>>(rows: I) -> Self {
        let mut set = Self::default();
        rows.into_iter().for_each(|row| set.insert(row));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn holds_what_a_tree_holds(rows in prop::collection::vec(0_usize..300, 0..80)) {
            let set: RowSet = rows.iter().copied().collect();
            let tree: BTreeSet<usize> = rows.into_iter().collect();
            prop_assert_eq!(set.len(), tree.len());
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), tree.iter().copied().collect::<Vec<_>>());
            prop_assert!((0..400).all(|row| set.contains(row) == tree.contains(&row)));
            let touched: BTreeSet<usize> = tree.iter().map(|row| row / BLOCK_ROWS).collect();
            prop_assert_eq!(set.touched_blocks(), touched.len());
        }
    }
}
