//! Which pages tell the text of an earlier page: `pages.near_duplicate_of`.
//!
//! Texts are compared by their sketches. A new page is compared only with pages that share some of
//! its smallest hashes, so the cost of a page does not grow with the number of pages. The column
//! always names an original: a page whose own `near_duplicate_of` is null.

mod many;

#[cfg(test)]
pub(super) use many::INDEXES;

use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::text::similarity::Sketch;
use rusqlite::{Connection, params};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Hashes of a sketch that are indexed. Of two texts of which half is common, each of the smallest
/// hashes of both together is common with a chance of one half, and none of them once in 65,536 times.
/// Graphs of earlier versions hold more hashes a page, which does no harm.
const INDEXED: usize = 16;

/// Pages looked up for one hash, the earliest. A run of words that more pages have is a phrase of the
/// trade, a template, or a text that is told everywhere.
const PAGES_PER_HASH: usize = 64;

/// Hashes that everybody has must be shared in this number, to be worth a comparison.
const FEWEST_COMMON: usize = 2;

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
            "SELECT p.id, p.near_duplicate_of IS NOT NULL, s.seq IS NULL FROM pages p
               JOIN page_texts t ON t.page_id = p.id
                 AND t.version = (SELECT max(version) FROM page_texts WHERE page_id = p.id)
               LEFT JOIN page_sketches s ON s.page_id = p.id
             WHERE s.text_hash IS NOT t.text_hash
             ORDER BY p.near_duplicate_of IS NOT NULL, p.fetched_at, p.id",
        )
        .db()?;
    let rows = statement
        .query_map([], |r| {
            Ok(Waiting {
                id: r.get(0)?,
                is_known_copy: r.get(1)?,
                is_new: r.get(2)?,
            })
        })
        .db()?;
    // Ids alone: the texts of all pages may be more than there is memory for.
    let pages: Vec<Waiting> = rows.collect::<rusqlite::Result<_>>().db()?;
    if pages.iter().all(|page| page.is_new) {
        many::note_many(db, &pages)?;
    } else {
        for page in &pages {
            let (text, hash) = newest_text(db, &page.id)?;
            if page.is_known_copy {
                note(db, &page.id, &text, &hash)?;
            } else {
                update(db, &page.id, &text, &hash)?;
            }
        }
    }
    point_at_originals(db)
}

/// Finds all originals anew, in the order in which the pages were read: for graphs that came together
/// from several, each with an order of its own.
pub(crate) fn rebuild(db: &Connection) -> Result<()> {
    db.execute_batch(
        "UPDATE pages SET near_duplicate_of = NULL
           WHERE near_duplicate_of IS NOT NULL AND id IN (SELECT page_id FROM page_texts);
         DELETE FROM page_sketch_hashes;
         DELETE FROM page_sketches",
    )
    .db()?;
    refresh(db)
}

/// A page whose newest text has no sketch yet.
struct Waiting {
    id: String,
    is_known_copy: bool,
    /// It has no sketch of an earlier text either.
    is_new: bool,
}

fn newest_text(db: &Connection, page_id: &str) -> Result<(String, String)> {
    db.one(
        "SELECT text, text_hash FROM page_texts WHERE page_id = ?1 ORDER BY version DESC LIMIT 1",
        [page_id],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
}

/// The earliest sketches before this one that hold the hash.
fn stored_holders(db: &Connection, hash: i64, before: i64) -> Result<Vec<i64>> {
    db.all(
        "SELECT sketch_seq FROM page_sketch_hashes WHERE hash = ?1 AND sketch_seq < ?2
             ORDER BY sketch_seq LIMIT ?3",
        params![hash, before, PAGES_PER_HASH],
        |r| r.get(0),
    )
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
    let own: Option<(i64, Vec<u8>)> = db.first(
        "SELECT seq, sketch FROM page_sketches WHERE page_id = ?1",
        [page_id],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )?;
    let Some((seq, sketch)) = own else {
        // Without a text there is nothing to compare. What a file says of the page stays, and
        // follows its original where that turned out to be a copy.
        return follow(db, page_id);
    };
    let original = original_of(db, seq, &Sketch::from_bytes(&sketch))?;
    set_original(db, page_id, original)
}

fn set_original(db: &Connection, page_id: &str, original: Option<String>) -> Result<()> {
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

/// Stores the sketch of a text; answers whether there was another one or none.
fn note(db: &Connection, page_id: &str, text: &str, text_hash: &str) -> Result<bool> {
    let known: Option<(i64, String)> = db.first(
        "SELECT seq, text_hash FROM page_sketches WHERE page_id = ?1",
        [page_id],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )?;
    if let Some((seq, hash)) = known {
        if hash == text_hash {
            return Ok(false);
        }
        // A page that says something else now came to say it last. Its hashes go with the row.
        db.run("DELETE FROM page_sketches WHERE seq = ?1", [seq])?;
    }
    let sketch = Sketch::of(text);
    let seq = store_sketch(db, page_id, text_hash, &sketch)?;
    let mut insert = db
        .prepare_cached("INSERT INTO page_sketch_hashes (hash, sketch_seq) VALUES (?1, ?2)")
        .db()?;
    for hash in sketch.smallest(INDEXED) {
        insert.execute(params![hash.cast_signed(), seq]).db()?;
    }
    Ok(true)
}

fn store_sketch(db: &Connection, page_id: &str, text_hash: &str, sketch: &Sketch) -> Result<i64> {
    db.one(
        "INSERT INTO page_sketches (page_id, text_hash, sketch) VALUES (?1, ?2, ?3) RETURNING seq",
        params![page_id, text_hash, sketch.to_bytes()],
        |r| r.get(0),
    )
}

fn copies_of(db: &Connection, page_id: &str) -> Result<Vec<String>> {
    db.all(
        "SELECT p.id FROM pages p LEFT JOIN page_sketches s ON s.page_id = p.id
             WHERE p.near_duplicate_of = ?1 ORDER BY s.seq, p.id",
        [page_id],
        |r| r.get(0),
    )
}

/// The original of the earliest page before `seq` that tells nearly the same.
fn original_of(db: &Connection, seq: i64, sketch: &Sketch) -> Result<Option<String>> {
    let hashes = sketch.smallest(INDEXED).iter().map(|h| h.cast_signed());
    original_among(db, seq, sketch, hashes)
}

/// The same where it is known which of the hashes an earlier page has as well.
fn original_among(
    db: &Connection,
    seq: i64,
    sketch: &Sketch,
    hashes: impl IntoIterator<Item = i64>,
) -> Result<Option<String>> {
    // How many hashes a page shares: of those that few have, and of those that many have.
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

/// The earliest sketch that tells the same, of those that share most hashes with it. `rare` and
/// `common`: sketches, and how many hashes of either kind they share.
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

fn stored_sketch(db: &Connection, seq: i64) -> Result<Sketch> {
    db.one(
        "SELECT sketch FROM page_sketches WHERE seq = ?1",
        [seq],
        |r| Ok(Sketch::from_bytes(r.get_ref(0)?.as_blob()?)),
    )
}

/// The page of a sketch, or the page that this one repeats.
fn stored_original(db: &Connection, seq: i64) -> Result<String> {
    db.one(
        "SELECT coalesce(p.near_duplicate_of, p.id) FROM page_sketches s
           JOIN pages p ON p.id = s.page_id WHERE s.seq = ?1",
        [seq],
        |r| r.get(0),
    )
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
    use crate::store::text::hash::sha256_hex;

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

    /// Everything that is known of copies.
    fn dump(db: &Connection) -> Vec<String> {
        let sql = "SELECT id || '<' || near_duplicate_of FROM pages
                     WHERE near_duplicate_of IS NOT NULL
                   UNION ALL SELECT seq || page_id || hex(sketch) FROM page_sketches
                   UNION ALL SELECT hash || ' ' || sketch_seq FROM page_sketch_hashes ORDER BY 1";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |r| r.get(0)).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    /// Pages that tell whole and half stories, with a footer or without; more of one kind than are
    /// looked up for a hash, and enough of all for the index to be built anew.
    fn tell_many(db: &Connection, from: u32, to: u32) {
        for n in from..to {
            let (own, footer) = (story(n * 7919 % 90), story(1_000 + n % 2));
            let text = match n % 5 {
                0 => own,
                1 => format!("{own} {footer}"),
                2 => with_notice(&own),
                3 => format!("{} {footer}", story(5_000 + n)),
                _ => own[..own.len() / 2].to_owned(),
            };
            tell(db, &format!("p{:03}", n * 613 % 1_000), &text);
        }
    }

    #[test]
    fn many_pages_are_told_apart_as_one_by_one() {
        let one_by_one = |db: &Connection| {
            let sql = "SELECT p.id FROM pages p LEFT JOIN page_sketches s ON s.page_id = p.id
                       WHERE s.seq IS NULL
                       ORDER BY near_duplicate_of IS NOT NULL, fetched_at, id";
            let mut statement = db.prepare(sql).unwrap();
            let ids = statement.query_map([], |r| r.get(0)).unwrap();
            for id in ids.collect::<rusqlite::Result<Vec<String>>>().unwrap() {
                let (text, hash) = newest_text(db, &id).unwrap();
                let sql = "SELECT near_duplicate_of IS NOT NULL FROM pages WHERE id = ?1";
                if db.query_row(sql, [&id], |r| r.get(0)).unwrap() {
                    note(db, &id, &text, &hash).unwrap();
                } else {
                    update(db, &id, &text, &hash).unwrap();
                }
            }
            point_at_originals(db).unwrap();
        };
        let mut found = Vec::new();
        for catch_up in [&one_by_one as &dyn Fn(&Connection), &|db| {
            refresh(db).unwrap()
        }] {
            check(|db| {
                let known =
                    "UPDATE pages SET near_duplicate_of = 'p613' WHERE id IN ('p226', 'p839')";
                tell_many(db, 0, 300);
                db.execute(known, []).unwrap();
                catch_up(db);
                // Beside those that are in the index: first few, then many.
                tell_many(db, 300, 340);
                catch_up(db);
                tell_many(db, 340, 720);
                catch_up(db);
                found.push(dump(db));
            });
        }
        let copies = found[0].iter().filter(|line| line.contains('<')).count();
        assert!(copies > 200, "{copies} copies");
        let first = found[0].iter().zip(&found[1]).find(|(a, b)| a != b);
        assert!(found[0] == found[1], "{first:?}");
    }
}
