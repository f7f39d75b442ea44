//! The stored sketches of pages, and which of them are similar.

use crate::error::Result;
use crate::store::database::Statements;
use crate::store::text::similarity::Sketch;
use rusqlite::{Connection, params};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Number of indexed hashes of a sketch. If two texts have half of their content in common, each of the
/// smallest hashes of both together is common with a probability of one half, and none of them once in
/// 65,536 times. Graphs of earlier versions hold more hashes per page, which is harmless.
pub(super) const INDEXED: usize = 16;

/// Maximum number of pages looked up for one hash, earliest first. A run of words that occurs in more
/// pages is a common phrase, a template, or a widely copied text.
const PAGES_PER_HASH: usize = 64;

/// Minimum number of shared common hashes (those that many pages have) for which a comparison is made.
const FEWEST_COMMON: usize = 2;

/// Maximum number of sketches compared for one page, those that share the most hashes.
const COMPARED: usize = 16;

/// A page whose newest text has no sketch yet.
pub(super) struct Waiting {
    pub(super) id: String,
    pub(super) is_known_copy: bool,
    /// Whether it has no sketch of an earlier text either.
    pub(super) is_new: bool,
}

pub(super) fn newest_text(db: &Connection, page_id: &str) -> Result<(String, String)> {
    db.one(
        "SELECT text, text_hash FROM page_texts WHERE page_id = ?1 ORDER BY version DESC LIMIT 1",
        [page_id],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
}

/// The earliest sketches before this one that contain the hash.
fn stored_holders(db: &Connection, hash: i64, before: i64) -> Result<Vec<i64>> {
    db.all(
        "SELECT sketch_seq FROM page_sketch_hashes WHERE hash = ?1 AND sketch_seq < ?2
             ORDER BY sketch_seq LIMIT ?3",
        params![hash, before, PAGES_PER_HASH],
        |r| r.get(0),
    )
}

/// Finds the original of a page again.
pub(crate) fn assign(db: &Connection, page_id: &str) -> Result<()> {
    let own: Option<(i64, Vec<u8>)> = db.first(
        "SELECT seq, sketch FROM page_sketches WHERE page_id = ?1",
        [page_id],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )?;
    let Some((seq, sketch)) = own else {
        // Without a text there is nothing to compare. The imported value is kept, and follows its
        // original if that turned out to be a copy.
        return follow(db, page_id);
    };
    let original = original_of(db, seq, &Sketch::from_bytes(&sketch))?;
    set_original(db, page_id, original)
}

pub(super) fn set_original(db: &Connection, page_id: &str, original: Option<String>) -> Result<()> {
    db.run(
        "UPDATE pages SET near_duplicate_of = ?2 WHERE id = ?1 AND near_duplicate_of IS NOT ?2",
        params![page_id, original],
    )?;
    Ok(())
}

fn follow(db: &Connection, page_id: &str) -> Result<()> {
    db.run("UPDATE pages SET near_duplicate_of = o.near_duplicate_of FROM pages o
         WHERE pages.id = ?1 AND o.id = pages.near_duplicate_of AND o.near_duplicate_of IS NOT NULL", [page_id])?;
    Ok(())
}

pub(super) fn store_sketch(
    db: &Connection,
    page_id: &str,
    text_hash: &str,
    sketch: &Sketch,
) -> Result<i64> {
    db.one(
        "INSERT INTO page_sketches (page_id, text_hash, sketch) VALUES (?1, ?2, ?3) RETURNING seq",
        params![page_id, text_hash, sketch.to_bytes()],
        |r| r.get(0),
    )
}

pub(super) fn copies_of(db: &Connection, page_id: &str) -> Result<Vec<String>> {
    db.all(
        "SELECT p.id FROM pages p LEFT JOIN page_sketches s ON s.page_id = p.id
             WHERE p.near_duplicate_of = ?1 ORDER BY s.seq, p.id",
        [page_id],
        |r| r.get(0),
    )
}

/// The original of the earliest page before `seq` with nearly the same text.
pub(super) fn original_of(db: &Connection, seq: i64, sketch: &Sketch) -> Result<Option<String>> {
    let hashes = sketch.smallest(INDEXED).iter().map(|h| h.cast_signed());
    original_among(db, seq, sketch, hashes)
}

/// The same if it is known which of the hashes occur in earlier pages.
pub(super) fn original_among(
    db: &Connection,
    seq: i64,
    sketch: &Sketch,
    hashes: impl IntoIterator<Item = i64>,
) -> Result<Option<String>> {
    // Number of shared hashes by page: of rare hashes, and of common ones.
    let mut shared = [HashMap::new(), HashMap::new()];
    for hash in hashes {
        let pages = stored_holders(db, hash, seq)?;
        let is_common = pages.len() == PAGES_PER_HASH;
        for page in pages {
            *shared[usize::from(is_common)].entry(page).or_default() += 1;
        }
    }
    let [rare, common] = shared.map(|pages: HashMap<i64, usize>| pages.into_iter().collect());
    let first = first_alike(db, sketch, rare, common)?;
    first.map(|seq| stored_original(db, seq)).transpose()
}

/// The earliest sketch with the same text, among those that share the most hashes with it. `rare` and
/// `common`: sketches, with the number of shared hashes of either kind.
fn first_alike(
    db: &Connection,
    sketch: &Sketch,
    rare: Vec<(i64, usize)>,
    common: Vec<(i64, usize)>,
) -> Result<Option<i64>> {
    for (mut candidates, fewest) in [(rare, 1), (common, FEWEST_COMMON)] {
        candidates.retain(|(_, count)| *count >= fewest);
        if candidates.len() > COMPARED {
            candidates.select_nth_unstable_by_key(COMPARED, |(seq, n)| (Reverse(*n), *seq));
            candidates.truncate(COMPARED);
        }
        candidates.sort_unstable();
        for (other, _) in candidates {
            if stored_sketch(db, other)?.tells_the_same_as(sketch) {
                return Ok(Some(other));
            }
        }
    }
    Ok(None)
}

pub(super) fn stored_sketch(db: &Connection, seq: i64) -> Result<Sketch> {
    db.one(
        "SELECT sketch FROM page_sketches WHERE seq = ?1",
        [seq],
        |r| Ok(Sketch::from_bytes(r.get_ref(0)?.as_blob()?)),
    )
}

/// The page of a sketch, or the page that it duplicates.
fn stored_original(db: &Connection, seq: i64) -> Result<String> {
    db.one(
        "SELECT coalesce(p.near_duplicate_of, p.id) FROM page_sketches s
           JOIN pages p ON p.id = s.page_id WHERE s.seq = ?1",
        [seq],
        |r| r.get(0),
    )
}
