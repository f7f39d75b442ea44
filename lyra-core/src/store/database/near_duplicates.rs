//! Detects pages with nearly the same text as an earlier page: `pages.near_duplicate_of`.
//!
//! Texts are compared by their sketches. A new page is compared only with pages that share some of
//! its smallest hashes, so the cost of a page does not grow with the number of pages. The column
//! always names an original: a page whose own `near_duplicate_of` is null.

mod many;
mod sketches;

#[cfg(test)]
pub(super) use many::INDEXES;
pub(crate) use sketches::assign;
use sketches::{INDEXED, Waiting, copies_of, newest_text, store_sketch};

use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::text::similarity::Sketch;
use rusqlite::{Connection, params};

/// Stores the sketch of a page's newest text and finds the earlier page with the same text.
pub(crate) fn update(db: &Connection, page_id: &str, text: &str, text_hash: &str) -> Result<()> {
    if note(db, page_id, text, text_hash)? {
        let copies = copies_of(db, page_id)?;
        assign(db, page_id)?;
        // They were copies of the previous text of the page.
        for copy in copies {
            assign(db, &copy)?;
        }
    }
    Ok(())
}

/// Processes pages whose texts were stored without [`update`]: by an import, or before sketches existed.
/// Copies that the rows already name are kept where possible.
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
    // Only the ids: the texts of all pages may exceed the memory.
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

/// Finds all originals again, in the order in which the pages were read; for graphs that were merged
/// from several, each with its own order.
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

/// The pages that are copies of a page in the table `temp.forget_pages` and are not in it themselves.
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

/// Stores the sketch of a text; returns whether the previous one differed or was missing.
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
        // A page with a changed text counts as the last one to have it. Its hashes are deleted with the
        // row.
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

/// An import may name originals that are missing, or that are copies here.
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

    /// Words that occur in no other story.
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
            // One long footer on every page, with three times as much distinct text.
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
            // As an import may contain them: a known copy, a cycle, a missing original.
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

    /// Everything that is stored about copies.
    fn dump(db: &Connection) -> Vec<String> {
        let sql = "SELECT id || '<' || near_duplicate_of FROM pages
                     WHERE near_duplicate_of IS NOT NULL
                   UNION ALL SELECT seq || page_id || hex(sketch) FROM page_sketches
                   UNION ALL SELECT hash || ' ' || sketch_seq FROM page_sketch_hashes ORDER BY 1";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |r| r.get(0)).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    /// Pages with whole and half stories, with or without a footer; more of one kind than are looked up
    /// for a hash, and enough of all for the index to be rebuilt.
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
                // In addition to the indexed ones: first few, then many.
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
