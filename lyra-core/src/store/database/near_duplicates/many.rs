//! Processes many pages at once whose texts have no sketches yet.
//!
//! The processing of a page never reads a sketch that comes after its own. So the sketches of many pages
//! are stored first, and their hashes are inserted in index order: in page order, they would be written
//! in random places of the index.

use super::super::deferred::Deferred;
use super::super::run_in_parallel;
use super::sketches::{
    INDEXED, Waiting, assign, copies_of, newest_text, original_among, set_original, store_sketch,
    stored_sketch,
};
use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::text::similarity::Sketch;
use rusqlite::{Connection, params};

/// Number of pages that are processed together. For each of their hashes SQLite looks up the sketch,
/// about 2 KiB; most sketches of this many pages stay in its cache.
const PAGES_AT_A_TIME: usize = 65_536;

/// Number of texts that are in memory at once; at most twice as many.
const TEXTS_AT_A_TIME: usize = 64;

/// Minimum number of new pages for which an index is rebuilt; there must also be no fewer new pages than
/// known ones.
const MANY_PAGES: usize = 256;

/// Indexes that are needed only for the deletion of a sketch.
pub(in crate::store::database) const INDEXES: [&str; 1] = ["page_sketch_hashes_by_sketch"];

/// Does the work of [`super::note`] or [`super::update`] for pages without sketches, known copies last.
pub(super) fn note_many(db: &Connection, pages: &[Waiting]) -> Result<()> {
    let is_worth_it = pages.len() >= MANY_PAGES && pages.len() as i64 >= last_sketch(db)?;
    let indexes = is_worth_it
        .then(|| Deferred::take_away(db, &INDEXES))
        .transpose()?;
    let (originals, copies) = pages.split_at(pages.partition_point(|page| !page.is_known_copy));
    db.execute_batch(
        "CREATE TEMP TABLE new_hashes (hash INTEGER, sketch_seq INTEGER);
         CREATE TEMP TABLE sorted_hashes (hash INTEGER, sketch_seq INTEGER);
         CREATE TEMP TABLE shared_hashes (sketch_seq INTEGER, hash INTEGER);
         CREATE INDEX temp.shared_hashes_by_sketch ON shared_hashes (sketch_seq)",
    )
    .db()?;
    for pages in originals.chunks(PAGES_AT_A_TIME) {
        let first = last_sketch(db)? + 1;
        store(db, pages)?;
        find_originals(db, first)?;
    }
    for pages in copies.chunks(PAGES_AT_A_TIME) {
        store(db, pages)?;
    }
    db.execute_batch(
        "DROP TABLE temp.new_hashes; DROP TABLE temp.sorted_hashes; DROP TABLE temp.shared_hashes",
    )
    .db()?;
    indexes.map_or(Ok(()), |indexes| indexes.put_back(db))
}

fn last_sketch(db: &Connection) -> Result<i64> {
    db.one("SELECT coalesce(max(seq), 0) FROM page_sketches", [], |r| {
        r.get(0)
    })
}

/// Stores the sketches of pages and indexes them. One thread reads and stores, another computes
/// sketches.
fn store(db: &Connection, pages: &[Waiting]) -> Result<()> {
    let mut done: Vec<Sketched<'_>> = Vec::new();
    for pages in pages.chunks(TEXTS_AT_A_TIME) {
        let mut texts = Vec::with_capacity(pages.len());
        for page in pages {
            texts.push((page, newest_text(db, &page.id)?));
        }
        let sketch = || sketch_all(&texts);
        let mut store = || store_sketches(db, std::mem::take(&mut done));
        // Starting a thread costs as much as processing a text.
        let (sketched, stored) = match texts.len() {
            0..4 => (sketch(), store()),
            _ => run_in_parallel(sketch, &mut store),
        };
        stored?;
        done = sketched;
    }
    store_sketches(db, done)?;
    db.execute_batch(
        "DELETE FROM temp.sorted_hashes;
         INSERT INTO temp.sorted_hashes SELECT hash, sketch_seq FROM temp.new_hashes ORDER BY hash, sketch_seq;
         DELETE FROM temp.new_hashes;
         INSERT INTO page_sketch_hashes (hash, sketch_seq) SELECT hash, sketch_seq FROM temp.sorted_hashes",
    )
    .db()
}

/// A page, the hash of its text, and its sketch.
type Sketched<'p> = (&'p Waiting, String, Sketch);

fn sketch_all<'p>(texts: &[(&'p Waiting, (String, String))]) -> Vec<Sketched<'p>> {
    let sketched = texts
        .iter()
        .map(|(page, (text, hash))| (*page, hash.clone(), Sketch::of(text)));
    sketched.collect()
}

fn store_sketches(db: &Connection, sketched: Vec<Sketched<'_>>) -> Result<()> {
    let mut insert = db
        .prepare_cached("INSERT INTO temp.new_hashes VALUES (?1, ?2)")
        .db()?;
    for (page, text_hash, sketch) in sketched {
        let seq = store_sketch(db, &page.id, &text_hash, &sketch)?;
        for hash in sketch.smallest(INDEXED) {
            insert.execute(params![hash.cast_signed(), seq]).db()?;
        }
    }
    Ok(())
}

/// Finds the originals of the pages whose sketches were stored last, starting at `first`. Most pages
/// share no hash with an earlier one, so there is nothing to compare.
fn find_originals(db: &Connection, first: i64) -> Result<()> {
    db.execute_batch(
        "DELETE FROM temp.shared_hashes;
         INSERT INTO temp.shared_hashes SELECT n.sketch_seq, n.hash FROM temp.sorted_hashes n
           WHERE EXISTS (SELECT 1 FROM page_sketch_hashes h
             WHERE h.hash = n.hash AND h.sketch_seq < n.sketch_seq)",
    )
    .db()?;
    // Known copies may have to follow a page that turns out to be a copy itself.
    let pages: Vec<(i64, String)> = db.all(
        "SELECT seq, page_id FROM page_sketches WHERE seq >= ?1
           AND (seq IN (SELECT sketch_seq FROM temp.shared_hashes)
             OR page_id IN (SELECT near_duplicate_of FROM pages))
         ORDER BY seq",
        [first],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )?;
    for (seq, page) in pages {
        let hashes: Vec<i64> = db.all(
            "SELECT hash FROM temp.shared_hashes WHERE sketch_seq = ?1",
            [seq],
            |r| r.get(0),
        )?;
        let copies = copies_of(db, &page)?;
        let original = original_among(db, seq, &stored_sketch(db, seq)?, hashes)?;
        set_original(db, &page, original)?;
        for copy in copies {
            assign(db, &copy)?;
        }
    }
    Ok(())
}
