//! Ids that are known to be there, so that the ends of an edge need not be looked up each time.

use super::fields::{Record, TABLES};
use std::collections::HashSet;

/// Ids of rows, as many as a bound allows. Rows that have an id are not deleted by an import, but
/// for edges, which nothing refers to.
#[derive(Debug, Default)]
pub(super) struct KnownIds {
    /// For each table.
    ids: [HashSet<Box<str>>; TABLES.len()],
    weight: usize,
}

impl KnownIds {
    /// Bytes held at most, about: half a million ids.
    const MAX_WEIGHT: usize = 48 << 20;

    /// Bytes that an id costs beside its text: the pointer, the allocation, and free places.
    const OVERHEAD: usize = 64;

    /// Whether the row is known to be there. If not, it may be there all the same.
    pub(super) fn holds(&self, record: Record, id: &str) -> bool {
        self.ids[record.index()].contains(id)
    }

    /// Remembers a row, if there is room.
    pub(super) fn add(&mut self, record: Record, id: &str) {
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
        known.add(Record::Page, "a");
        assert!(known.holds(Record::Page, "a") && !known.holds(Record::Claim, "a"));
        let long = "x".repeat(1_024);
        for n in 0..100_000 {
            known.add(Record::Claim, &format!("{n}{long}"));
        }
        assert!(known.weight <= KnownIds::MAX_WEIGHT);
        assert!(known.holds(Record::Claim, &format!("0{long}")));
        assert!(!known.holds(Record::Claim, &format!("99999{long}")));
    }
}
