//! Many pages at once whose texts nobody has looked at yet.
//!
//! Nothing that is done for one page looks at a sketch that comes after its own. So the sketches of
//! many pages are noted before their originals are found, and their hashes wait in memory until
//! they go into the index in its own order.

use super::super::deferred::Deferred;
use super::super::run_in_parallel;
use super::{
    INDEXED, PAGES_PER_HASH, Waiting, assign, copies_of, first_alike, newest_text, set_original,
    store_sketch, stored_holders, stored_original, stored_sketch,
};
use crate::error::{Error, Result};
use crate::store::database::SqliteResultExt;
use crate::store::text::similarity::Sketch;
use rusqlite::Connection;
use std::collections::HashMap;
use std::ops::Range;

/// Pages that are noted together, about 2.5 KiB each.
const PAGES_AT_A_TIME: usize = 24_576;

/// Texts that are in memory at once, or twice as many.
const TEXTS_AT_A_TIME: usize = 64;

/// Pages whose sketches are compared in one go.
const COMPARED_AT_ONCE: usize = 1_024;

/// So many new pages, and no fewer than were known, make it worth while to build an index anew.
const MANY_PAGES: usize = 256;

/// What only the deletion of a sketch needs.
pub(in crate::store::database) const INDEXES: [&str; 1] = ["page_sketch_hashes_by_sketch"];

/// [`super::note`] or [`super::update`] for pages that have no sketches, known copies last.
pub(super) fn note_many(db: &Connection, pages: &[Waiting]) -> Result<()> {
    let known: i64 = db
        .query_row("SELECT coalesce(max(seq), 0) FROM page_sketches", [], |r| {
            r.get(0)
        })
        .db()?;
    let is_worth_it = pages.len() >= MANY_PAGES && pages.len() as i64 >= known;
    let indexes = is_worth_it
        .then(|| Deferred::take_away(db, &INDEXES))
        .transpose()?;
    let (originals, copies) = pages.split_at(pages.partition_point(|page| !page.is_known_copy));
    for pages in originals.chunks(PAGES_AT_A_TIME) {
        let fresh = Fresh::note(db, pages)?;
        fresh.find_originals(db, pages)?;
        fresh.index(db)?;
    }
    for pages in copies.chunks(PAGES_AT_A_TIME) {
        Fresh::note(db, pages)?.index(db)?;
    }
    indexes.map_or(Ok(()), |indexes| indexes.put_back(db))
}

/// A page, the hash of its text, and its sketch.
type Sketched<'p> = (&'p Waiting, String, Sketch);

fn sketch_all<'p>(texts: &[(&'p Waiting, (String, String))]) -> Vec<Sketched<'p>> {
    let sketched = texts
        .iter()
        .map(|(page, (text, hash))| (*page, hash.clone(), Sketch::of(text)));
    sketched.collect()
}

/// Sketches whose hashes are not in the index yet.
struct Fresh {
    /// The number of the first; the others follow one by one.
    first_seq: i64,
    sketches: Vec<Sketch>,
    /// Hashes and the sketches that hold them, in the order of the index.
    hashes: Vec<(i64, i64)>,
}

/// The hashes that more than one sketch holds.
struct Shared {
    /// Sketches of the index, for each hash.
    stored: Vec<i64>,
    holders: Vec<Holders>,
    /// For each new sketch, who else holds its hashes: places in `holders`.
    of_sketch: Vec<Vec<usize>>,
}

/// Who holds a hash: sketches of the index, which came first, then new ones. Places in
/// [`Shared::stored`] and [`Fresh::hashes`].
struct Holders {
    stored: Range<usize>,
    fresh: Range<usize>,
}

impl Fresh {
    /// Stores the sketches of pages. One thread reads and stores, another boils texts down.
    fn note(db: &Connection, pages: &[Waiting]) -> Result<Self> {
        let mut fresh = Self {
            first_seq: 0,
            sketches: Vec::with_capacity(pages.len()),
            hashes: Vec::with_capacity(pages.len() * INDEXED),
        };
        let mut done: Vec<Sketched<'_>> = Vec::new();
        for pages in pages.chunks(TEXTS_AT_A_TIME) {
            let mut texts = Vec::with_capacity(pages.len());
            for page in pages {
                texts.push((page, newest_text(db, &page.id)?));
            }
            let sketch = || sketch_all(&texts);
            let mut store = || fresh.store(db, std::mem::take(&mut done));
            // A thread costs as much as a text.
            let (sketched, stored) = match texts.len() {
                0..4 => (sketch(), store()),
                _ => run_in_parallel(sketch, &mut store),
            };
            stored?;
            done = sketched;
        }
        fresh.store(db, done)?;
        fresh.hashes.sort_unstable();
        Ok(fresh)
    }

    fn store(&mut self, db: &Connection, sketched: Vec<Sketched<'_>>) -> Result<()> {
        for (page, text_hash, sketch) in sketched {
            let seq = store_sketch(db, &page.id, &text_hash, &sketch)?;
            if self.sketches.is_empty() {
                self.first_seq = seq;
            }
            let hashes = sketch.smallest(INDEXED).iter();
            self.hashes.extend(hashes.map(|h| (h.cast_signed(), seq)));
            self.sketches.push(sketch);
        }
        Ok(())
    }

    fn place(&self, seq: i64) -> Option<usize> {
        usize::try_from(seq - self.first_seq).ok()
    }

    /// Writes the hashes into the index.
    fn index(&self, db: &Connection) -> Result<()> {
        let mut insert = db
            .prepare_cached("INSERT INTO page_sketch_hashes (hash, sketch_seq) VALUES (?1, ?2)")
            .db()?;
        for (hash, seq) in &self.hashes {
            insert.execute([hash, seq]).db()?;
        }
        Ok(())
    }

    fn find_originals(&self, db: &Connection, pages: &[Waiting]) -> Result<()> {
        let shared = self.shared_hashes(db)?;
        // What is compared in memory does not hear an interrupt; so not for long.
        for (group, pages) in pages.chunks(COMPARED_AT_ONCE).enumerate() {
            let first = group * COMPARED_AT_ONCE;
            let (half, end) = (first + pages.len() / 2, first + pages.len());
            let alike = if shared.stored.is_empty() && pages.len() >= MANY_PAGES {
                // All that is compared is in memory, so that two threads can do it.
                let none = |_| Err(Error::internal("a sketch that was not in the index"));
                let second = || self.first_alike(&shared, half..end, none);
                let (second, first) =
                    run_in_parallel(second, || self.first_alike(&shared, first..half, none));
                let mut alike = first?;
                alike.extend(second?);
                alike
            } else {
                self.first_alike(&shared, first..end, |seq| stored_sketch(db, seq))?
            };
            for (page, alike) in pages.iter().zip(alike) {
                let copies = copies_of(db, &page.id)?;
                let original = alike.map(|seq| stored_original(db, seq)).transpose()?;
                set_original(db, &page.id, original)?;
                for copy in copies {
                    assign(db, &copy)?;
                }
            }
        }
        Ok(())
    }

    /// For each of these sketches, the earliest that tells the same. `stored` reads those that are
    /// not in memory.
    fn first_alike(
        &self,
        shared: &Shared,
        places: Range<usize>,
        stored: impl Fn(i64) -> Result<Sketch>,
    ) -> Result<Vec<Option<i64>>> {
        let mut rare = Tally::new(self.first_seq, self.sketches.len());
        let mut common = Tally::new(self.first_seq, self.sketches.len());
        let mut found = Vec::with_capacity(places.len());
        for place in places {
            let (seq, sketch) = (self.first_seq + place as i64, &self.sketches[place]);
            for holders in &shared.of_sketch[place] {
                let Holders { stored, fresh } = &shared.holders[*holders];
                let stored = shared.stored[stored.clone()].iter().copied();
                let fresh = self.hashes[fresh.clone()].iter().map(|(_, seq)| *seq);
                let before = stored.chain(fresh.take_while(|other| *other < seq));
                let before = before.take(PAGES_PER_HASH);
                let is_common = before.clone().count() == PAGES_PER_HASH;
                let tally = if is_common { &mut common } else { &mut rare };
                before.for_each(|other| tally.add(other));
            }
            let is_alike = |other| match self.place(other).and_then(|p| self.sketches.get(p)) {
                Some(other) => Ok(other.tells_the_same_as(sketch)),
                None => Ok(stored(other)?.tells_the_same_as(sketch)),
            };
            found.push(first_alike(rare.take(), common.take(), is_alike)?);
        }
        Ok(found)
    }

    fn shared_hashes(&self, db: &Connection) -> Result<Shared> {
        let index_is_empty: bool = db
            .query_row(
                "SELECT NOT EXISTS (SELECT 1 FROM page_sketch_hashes)",
                [],
                |r| r.get(0),
            )
            .db()?;
        let mut shared = Shared {
            stored: Vec::new(),
            holders: Vec::new(),
            of_sketch: vec![Vec::new(); self.sketches.len()],
        };
        let mut start = 0;
        for run in self.hashes.chunk_by(|(a, _), (b, _)| a == b) {
            let first_stored = shared.stored.len();
            if !index_is_empty {
                shared
                    .stored
                    .extend(stored_holders(db, run[0].0, self.first_seq)?);
            }
            let stored = first_stored..shared.stored.len();
            let fresh = start..start + run.len();
            start += run.len();
            if run.len() == 1 && stored.is_empty() {
                continue;
            }
            for (_, seq) in run {
                if let Some(of_sketch) = self.place(*seq).and_then(|p| shared.of_sketch.get_mut(p))
                {
                    of_sketch.push(shared.holders.len());
                }
            }
            shared.holders.push(Holders { stored, fresh });
        }
        Ok(shared)
    }
}

/// Counts how often numbers come, most of which lie in a known range.
struct Tally {
    first: i64,
    counts: Vec<usize>,
    /// Those of the range that came.
    seen: Vec<usize>,
    /// Those before the range.
    others: HashMap<i64, usize>,
}

impl Tally {
    fn new(first: i64, length: usize) -> Self {
        Self {
            first,
            counts: vec![0; length],
            seen: Vec::new(),
            others: HashMap::new(),
        }
    }

    fn add(&mut self, number: i64) {
        let place = usize::try_from(number - self.first).ok();
        let Some((place, count)) = place.and_then(|p| Some((p, self.counts.get_mut(p)?))) else {
            *self.others.entry(number).or_default() += 1;
            return;
        };
        if *count == 0 {
            self.seen.push(place);
        }
        *count += 1;
    }

    /// What came and how often; counts from nothing after that.
    fn take(&mut self) -> Vec<(i64, usize)> {
        let mut tally: Vec<(i64, usize)> = self.others.drain().collect();
        for place in self.seen.drain(..) {
            tally.push((
                self.first + place as i64,
                std::mem::take(&mut self.counts[place]),
            ));
        }
        tally
    }
}
