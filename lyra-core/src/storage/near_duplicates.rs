//! Which pages tell the text of an earlier page: `pages.near_duplicate_of`.
//!
//! Texts are compared by their sketches. A new page is compared only with pages that share some of
//! its smallest hashes, so the cost of a page does not grow with the number of pages. The column
//! always names an original: a page whose own `near_duplicate_of` is null.

use crate::error::{Result, SqliteResultExt};
use crate::text::similarity::Sketch;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashMap;

/// Hashes of a sketch that are indexed. Of two texts of which half is common, each of the smallest
/// hashes of both together is common with a chance of one half.
const INDEXED: usize = 64;

/// Pages looked up for one hash, the earliest. A run of words that more pages have is a phrase of the
/// trade, a template, or a text that is told everywhere.
const PAGES_PER_HASH: usize = 64;

/// Hashes that everybody has must be shared in this number, to be worth a comparison.
const FEWEST_COMMON: usize = 8;

/// Sketches compared for one page, those that share most.
const COMPARED: usize = 16;

/// Notes the newest text of a page and finds the page that told it before.
pub(crate) fn update(db: &Connection, page_id: &str, text: &str, text_hash: &str) -> Result<()> {
    if note(db, page_id, text, text_hash)? {
        let copies = copies_of(db, page_id)?;
        assign(db, page_id)?;
        // They were copies of the text that the page had before.
        for copy in copies {
            assign(db, &copy)?;
        }
    }
    Ok(())
}

/// Catches up on pages whose texts were stored without [`update`]: by an import, or before there
/// were sketches. What the rows say already of being copies stays, where it can be.
pub(crate) fn refresh(db: &Connection) -> Result<()> {
    let mut statement = db
        .prepare(
            "SELECT p.id, p.near_duplicate_of IS NOT NULL FROM pages p
               JOIN page_texts t ON t.page_id = p.id
                 AND t.version = (SELECT max(version) FROM page_texts WHERE page_id = p.id)
               LEFT JOIN page_sketches s ON s.page_id = p.id
             WHERE s.text_hash IS NOT t.text_hash
             ORDER BY p.near_duplicate_of IS NOT NULL, p.fetched_at, p.id",
        )
        .db()?;
    let rows = statement
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?)))
        .db()?;
    // Ids alone: the texts of all pages may be more than there is memory for.
    let pages: Vec<(String, bool)> = rows.collect::<rusqlite::Result<_>>().db()?;
    for (page_id, is_known_copy) in pages {
        let (text, hash): (String, String) = db
            .prepare_cached(
                "SELECT text, text_hash FROM page_texts WHERE page_id = ?1
                 ORDER BY version DESC LIMIT 1",
            )
            .db()?
            .query_row([&page_id], |r| Ok((r.get(0)?, r.get(1)?)))
            .db()?;
        if is_known_copy {
            note(db, &page_id, &text, &hash)?;
        } else {
            update(db, &page_id, &text, &hash)?;
        }
    }
    point_at_originals(db)
}

/// The pages that are copies of one of those in the table `temp.forget_pages` and are not in it.
pub(crate) fn copies_of_forgotten(db: &Connection) -> Result<Vec<String>> {
    let mut statement = db
        .prepare(
            "SELECT p.id FROM pages p LEFT JOIN page_sketches s ON s.page_id = p.id
             WHERE p.near_duplicate_of IN temp.forget_pages AND p.id NOT IN temp.forget_pages
             ORDER BY s.seq, p.id",
        )
        .db()?;
    let rows = statement.query_map([], |r| r.get(0)).db()?;
    rows.collect::<rusqlite::Result<_>>().db()
}

/// Finds the original of a page anew.
pub(crate) fn assign(db: &Connection, page_id: &str) -> Result<()> {
    let own: Option<(i64, Vec<u8>)> = db
        .prepare_cached("SELECT seq, sketch FROM page_sketches WHERE page_id = ?1")
        .db()?
        .query_row([page_id], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()
        .db()?;
    let Some((seq, sketch)) = own else {
        // Without a text there is nothing to compare. What a file says of the page stays, and
        // follows its original where that turned out to be a copy.
        return follow(db, page_id);
    };
    let original = original_of(db, seq, &Sketch::from_bytes(&sketch))?;
    db.prepare_cached(
        "UPDATE pages SET near_duplicate_of = ?2 WHERE id = ?1 AND near_duplicate_of IS NOT ?2",
    )
    .db()?
    .execute(params![page_id, original])
    .db()?;
    Ok(())
}

fn follow(db: &Connection, page_id: &str) -> Result<()> {
    db.prepare_cached(
        "UPDATE pages SET near_duplicate_of = o.near_duplicate_of FROM pages o
         WHERE pages.id = ?1 AND o.id = pages.near_duplicate_of AND o.near_duplicate_of IS NOT NULL",
    )
    .db()?
    .execute([page_id])
    .db()?;
    Ok(())
}

/// Stores the sketch of a text; answers whether there was another one or none.
fn note(db: &Connection, page_id: &str, text: &str, text_hash: &str) -> Result<bool> {
    let known: Option<(i64, String)> = db
        .prepare_cached("SELECT seq, text_hash FROM page_sketches WHERE page_id = ?1")
        .db()?
        .query_row([page_id], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()
        .db()?;
    if let Some((seq, hash)) = known {
        if hash == text_hash {
            return Ok(false);
        }
        // A page that says something else now came to say it last. Its hashes go with the row.
        db.prepare_cached("DELETE FROM page_sketches WHERE seq = ?1")
            .db()?
            .execute([seq])
            .db()?;
    }
    let sketch = Sketch::of(text);
    let seq: i64 = db
        .prepare_cached(
            "INSERT INTO page_sketches (page_id, text_hash, sketch) VALUES (?1, ?2, ?3) RETURNING seq",
        )
        .db()?
        .query_row(params![page_id, text_hash, sketch.to_bytes()], |r| r.get(0))
        .db()?;
    let mut insert = db
        .prepare_cached("INSERT INTO page_sketch_hashes (hash, sketch_seq) VALUES (?1, ?2)")
        .db()?;
    for hash in sketch.smallest(INDEXED) {
        insert.execute(params![hash.cast_signed(), seq]).db()?;
    }
    Ok(true)
}

fn copies_of(db: &Connection, page_id: &str) -> Result<Vec<String>> {
    let mut statement = db
        .prepare_cached(
            "SELECT p.id FROM pages p LEFT JOIN page_sketches s ON s.page_id = p.id
             WHERE p.near_duplicate_of = ?1 ORDER BY s.seq, p.id",
        )
        .db()?;
    let rows = statement.query_map([page_id], |r| r.get(0)).db()?;
    rows.collect::<rusqlite::Result<_>>().db()
}

/// The original of the earliest page before `seq` that tells nearly the same.
fn original_of(db: &Connection, seq: i64, sketch: &Sketch) -> Result<Option<String>> {
    // How many hashes a page shares: of those that few have, and of those that many have.
    let mut shared = [HashMap::new(), HashMap::new()];
    let mut holders = db
        .prepare_cached(
            "SELECT sketch_seq FROM page_sketch_hashes WHERE hash = ?1 AND sketch_seq < ?2
             ORDER BY sketch_seq LIMIT ?3",
        )
        .db()?;
    for hash in sketch.smallest(INDEXED) {
        let arguments = params![hash.cast_signed(), seq, PAGES_PER_HASH];
        let rows = holders.query_map(arguments, |r| r.get(0)).db()?;
        let pages: Vec<i64> = rows.collect::<rusqlite::Result<_>>().db()?;
        let is_common = pages.len() == PAGES_PER_HASH;
        for page in pages {
            *shared[usize::from(is_common)].entry(page).or_default() += 1;
        }
    }
    let [rare, common] = shared;
    match first_alike(db, sketch, rare, 1)? {
        Some(original) => Ok(Some(original)),
        None => first_alike(db, sketch, common, FEWEST_COMMON),
    }
}

/// The original of the earliest page that resembles the sketch, of those that share most hashes
/// with it and no fewer than `fewest`.
fn first_alike(
    db: &Connection,
    sketch: &Sketch,
    shared: HashMap<i64, usize>,
    fewest: usize,
) -> Result<Option<String>> {
    let mut candidates: Vec<(usize, i64)> = shared
        .into_iter()
        .filter(|(_, count)| *count >= fewest)
        .map(|(other, count)| (count, other))
        .collect();
    candidates.sort_by_key(|(count, other)| (std::cmp::Reverse(*count), *other));
    candidates.truncate(COMPARED);
    candidates.sort_by_key(|(_, other)| *other);
    let mut find = db
        .prepare_cached(
            "SELECT s.sketch, coalesce(p.near_duplicate_of, p.id) FROM page_sketches s
               JOIN pages p ON p.id = s.page_id WHERE s.seq = ?1",
        )
        .db()?;
    for (_, other) in candidates {
        let (bytes, original): (Vec<u8>, String) = find
            .query_row([other], |r| Ok((r.get(0)?, r.get(1)?)))
            .db()?;
        if Sketch::from_bytes(&bytes).tells_the_same_as(sketch) {
            return Ok(Some(original));
        }
    }
    Ok(None)
}

/// A file may name originals that are not there, or that are copies here.
fn point_at_originals(db: &Connection) -> Result<()> {
    db.execute_batch(
        "UPDATE pages SET near_duplicate_of = NULL WHERE near_duplicate_of IS NOT NULL
           AND (near_duplicate_of = id OR near_duplicate_of NOT IN (SELECT id FROM pages));
         UPDATE pages SET near_duplicate_of = o.near_duplicate_of FROM pages o
           WHERE o.id = pages.near_duplicate_of AND o.near_duplicate_of IS NOT NULL
             AND o.near_duplicate_of <> pages.id;
         UPDATE pages SET near_duplicate_of = NULL FROM pages o
           WHERE o.id = pages.near_duplicate_of AND o.near_duplicate_of IS NOT NULL",
    )
    .db()
}

#[cfg(test)]
mod tests {
    use super::super::Database;
    use super::*;
    use crate::text::hash::sha256_hex;

    /// Words that belong to no other number.
    fn story(number: u32) -> String {
        let words: Vec<String> = (0..200).map(|n| format!("w{number}x{n}")).collect();
        words.join(" ")
    }

    fn with_notice(text: &str) -> String {
        format!("{text} All rights reserved by the publisher of this page.")
    }

    fn tell(db: &Connection, page: &str, text: &str) {
        let hash = sha256_hex(text.as_bytes());
        db.execute(
            "INSERT INTO pages (id, url) VALUES (?1, 'https://x.org/' || ?1) ON CONFLICT DO NOTHING",
            [page],
        )
        .unwrap();
        db.execute(
            "INSERT INTO page_texts (page_id, version, text, text_hash, fetched_at)
             SELECT ?1, 1 + count(*), ?2, ?3, '' FROM page_texts WHERE page_id = ?1",
            [page, text, &hash],
        )
        .unwrap();
    }

    fn store(db: &Connection, page: &str, text: &str) {
        tell(db, page, text);
        update(db, page, text, &sha256_hex(text.as_bytes())).unwrap();
    }

    fn originals(db: &Connection) -> String {
        let sql = "SELECT group_concat(id || '<' || near_duplicate_of, ' ' ORDER BY id) FROM pages";
        let found: Option<String> = db.query_row(sql, [], |r| r.get(0)).unwrap();
        found.unwrap_or_default()
    }

    fn check(run: impl FnOnce(&Connection)) {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(&folder.path().join("g.db")).unwrap();
        db.write(|c| {
            run(c);
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn copies_name_the_first_that_told_the_text() {
        check(|db| {
            store(db, "b", &story(1));
            store(db, "z", &story(2));
            store(db, "a", &with_notice(&story(1)));
            store(db, "c", &with_notice(&with_notice(&story(1))));
            store(db, "d", "");
            store(db, "e", "");
            assert_eq!(originals(db), "a<b c<b");
        });
    }

    #[test]
    fn a_page_that_changes_is_judged_anew_with_its_copies() {
        check(|db| {
            for page in ["a", "b", "c"] {
                store(db, page, &with_notice(&story(1)));
            }
            store(db, "z", &story(2));
            assert_eq!(originals(db), "b<a c<a");
            store(db, "a", &story(2));
            assert_eq!(
                originals(db),
                "a<z c<b",
                "the first of those that stay is the original"
            );
            store(db, "b", &story(3));
            assert_eq!(originals(db), "a<z");
            store(db, "c", &story(3));
            assert_eq!(originals(db), "a<z c<b");
        });
    }

    #[test]
    fn boilerplate_makes_no_copies_and_a_thousand_copies_one_voice() {
        check(|db| {
            // One long footer on every page, and three times as much text of their own.
            let footer = story(0);
            for number in 1..=100 {
                let own: Vec<String> = (0..3).map(|n| story(1_000 * number + n)).collect();
                store(
                    db,
                    &format!("p{number}"),
                    &format!("{} {footer}", own.join(" ")),
                );
            }
            assert_eq!(originals(db), "");
            let own: Vec<String> = (0..3).map(|n| story(90_000 + n)).collect();
            store(db, "p90_reprint", &format!("{footer} {}", own.join(" ")));
            assert_eq!(
                originals(db),
                "p90_reprint<p90",
                "among pages with the same footer"
            );
            for number in 0..200 {
                store(db, &format!("q{number}"), &format!("{} {number}", story(7)));
            }
            let named: i64 = db
                .query_row(
                    "SELECT count(*) FROM pages WHERE near_duplicate_of = 'q0'",
                    [],
                    |r| r.get(0),
                )
                .unwrap();
            assert_eq!(named, 199);
        });
    }

    #[test]
    fn what_others_stored_is_caught_up_on() {
        check(|db| {
            tell(db, "b", &story(1));
            tell(db, "a", &with_notice(&story(1)));
            tell(db, "c", &story(2));
            tell(db, "d", &story(3));
            tell(db, "e", &story(4));
            // As files may have it: a known copy, a circle, an original that is not there.
            db.execute_batch(
                "UPDATE pages SET near_duplicate_of = 'b' WHERE id = 'c';
                 UPDATE pages SET near_duplicate_of = 'e' WHERE id = 'd';
                 UPDATE pages SET near_duplicate_of = 'd' WHERE id = 'e';
                 PRAGMA defer_foreign_keys = ON",
            )
            .unwrap();
            refresh(db).unwrap();
            assert_eq!(originals(db), "b<a c<a");
            refresh(db).unwrap();
            assert_eq!(originals(db), "b<a c<a", "nothing is left to do");
        });
    }
}
