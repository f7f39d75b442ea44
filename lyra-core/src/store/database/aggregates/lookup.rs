//! Where fragments stand: looked up once for many claims.

use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::Connection;
use std::collections::HashMap;
use std::rc::Rc;

/// Fragments remembered at most, about 100 bytes each.
const REMEMBERED: usize = 300_000;

/// A fragment's number and its page.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) fragment_seq: i64,
    pub(super) page: Rc<Page>,
}

/// A page, with what its publication says.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) id: Rc<str>,
    pub(super) year: Option<i64>,
    /// Who speaks: the publication or, where none is known, the page; for a page that repeats
    /// another, that other.
    pub(super) source: Rc<str>,
    /// The site of a page that is no publication.
    pub(super) site: Option<String>,
    pub(super) is_retracted: bool,
}

/// A memory of [`Place`]s. It holds for as long as nothing but counts is written.
#[derive(Debug)]
pub(super) struct Places<'c> {
    db: &'c Connection,
    fragments: HashMap<String, Option<Place>>,
    pages: HashMap<Rc<str>, Rc<Page>>,
}

impl<'c> Places<'c> {
    pub(super) fn new(db: &'c Connection) -> Self {
        Self {
            db,
            fragments: HashMap::new(),
            pages: HashMap::new(),
        }
    }

    /// Reads all fragments in one go, which is quicker than finding many one by one; does nothing
    /// where there are more than are remembered.
    pub(super) fn preload(&mut self) -> Result<()> {
        let mut statement = self
            .db
            .prepare_cached("SELECT id, seq, page_id FROM fragments WHERE (SELECT count(*) FROM fragments) <= ?1")
            .db()?;
        let mut rows = statement.query([REMEMBERED as i64]).db()?;
        while let Some(row) = rows.next().db()? {
            let place = self.of_page(row.get(2).db()?)?;
            let fragment_seq = row.get(1).db()?;
            let place = place.map(|page| Place { fragment_seq, page });
            self.fragments.insert(row.get(0).db()?, place);
        }
        Ok(())
    }

    /// None if there is no such fragment on any page.
    pub(super) fn of_fragment(&mut self, fragment_id: &str) -> Result<Option<Place>> {
        if let Some(place) = self.fragments.get(fragment_id) {
            return Ok(place.clone());
        }
        if self.fragments.len() >= REMEMBERED {
            self.fragments.clear();
            self.pages.clear();
        }
        let found: Option<(i64, String)> = self.db.first(
            "SELECT seq, page_id FROM fragments WHERE id = ?1",
            [fragment_id],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )?;
        let place = match found {
            None => None,
            Some((fragment_seq, page_id)) => {
                let page = self.of_page(page_id)?;
                page.map(|page| Place { fragment_seq, page })
            }
        };
        self.fragments.insert(fragment_id.to_owned(), place.clone());
        Ok(place)
    }

    fn of_page(&mut self, page_id: String) -> Result<Option<Rc<Page>>> {
        if let Some(page) = self.pages.get(page_id.as_str()) {
            return Ok(Some(Rc::clone(page)));
        }
        let id: Rc<str> = page_id.into();
        // Neither a disk nor a resolver of DOIs publishes anything.
        let found = self
            .db
            .first("SELECT w.year, coalesce(v.canonical_id, o.id, p.id),
                   coalesce(w.is_retracted, 0) OR coalesce(v.is_retracted, 0),
                   CASE WHEN v.canonical_id IS NULL THEN nullif(nullif(o.domain, 'local'), 'doi.org') END
                 FROM pages AS p LEFT JOIN works AS w ON w.canonical_id = p.canonical_id
                   LEFT JOIN pages AS o ON o.id = coalesce(p.near_duplicate_of, p.id)
                   LEFT JOIN works AS v ON v.canonical_id = o.canonical_id
                 WHERE p.id = ?1", [&*id], |r| {
                Ok(Page {
                    id: Rc::clone(&id),
                    year: r.get(0)?,
                    source: r.get::<_, String>(1)?.into(),
                    site: r.get(3)?,
                    is_retracted: r.get(2)?,
                })
            })?;
        let Some(page) = found.map(Rc::new) else {
            return Ok(None);
        };
        self.pages.insert(id, Rc::clone(&page));
        Ok(Some(page))
    }
}
