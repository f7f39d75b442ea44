//! Ids that are known to exist, so that the ends of an edge need not be looked up each time.

use super::fields::{LineType, TABLES};
use std::collections::HashSet;

/// A bounded set of row ids. An import does not delete rows with ids, except edges, which nothing refers
/// to.
#[derive(Debug, Default)]
pub(super) struct KnownIds {
    /// One set for each table.
    ids: [HashSet<Box<str>>; TABLES.len()],
    weight: usize,
}

impl KnownIds {
    /// Approximate limit in bytes: half a million ids.
    const MAX_WEIGHT: usize = 48 << 20;

    /// Overhead of an id in bytes in addition to its text: the pointer, the allocation, and free slots.
    const OVERHEAD: usize = 64;

    /// Whether the row is known to exist. If not, it may still exist.
    pub(super) fn holds(&self, record: LineType, id: &str) -> bool {
        self.ids[record.index()].contains(id)
    }

    /// Adds a row, if there is room.
    pub(super) fn add(&mut self, record: LineType, id: &str) {
        let weight = id.len() + Self::OVERHEAD;
        if self.weight + weight <= Self::MAX_WEIGHT && self.ids[record.index()].insert(id.into()) {
            self.weight += weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_table_are_none_of_another_and_there_is_an_end() {
        let mut known = KnownIds::default();
        known.add(LineType::Page, "a");
        assert!(known.holds(LineType::Page, "a") && !known.holds(LineType::Claim, "a"));
        let long = "x".repeat(1_024);
        for n in 0..100_000 {
            known.add(LineType::Claim, &format!("{n}{long}"));
        }
        assert!(known.weight <= KnownIds::MAX_WEIGHT);
        assert!(known.holds(LineType::Claim, &format!("0{long}")));
        assert!(!known.holds(LineType::Claim, &format!("99999{long}")));
    }
}
