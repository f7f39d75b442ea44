//! The pages of fragments, looked up once for many claims.

use crate::error::Result;
use crate::store::database::Statements;
use rusqlite::Connection;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Maximum number of cached fragments, about 30 bytes each.
const FRAGMENTS: usize = 2_000_000;

/// Maximum number of cached pages, about 200 bytes each.
const PAGES: usize = 500_000;

/// A page with data of its publication.
#[derive(Debug)]
pub(super) struct PublishedPage {
    pub(super) id: Rc<str>,
    pub(super) year: Option<i64>,
    /// The source of the page's evidence: the publication or, if none is known, the page; for a
    /// duplicate page, that of the original.
    pub(super) source: Rc<str>,
    /// The site of a page without a publication.
    pub(super) site: Option<Rc<str>>,
    pub(super) is_retracted: bool,
}

/// A cache of the pages of fragments. It is valid as long as only counts are written.
#[derive(Debug)]
pub(super) struct Places<'c> {
    db: &'c Connection,
    fragments: HashMap<i64, Option<Rc<PublishedPage>>>,
    pages: HashMap<Rc<str>, Rc<PublishedPage>>,
    sites: HashSet<Rc<str>>,
}

impl<'c> Places<'c> {
    pub(super) fn new(db: &'c Connection) -> Self {
        Self {
            db,
            fragments: HashMap::new(),
            pages: HashMap::new(),
            sites: HashSet::new(),
        }
    }

    /// The page of a fragment, if there is one.
    pub(super) fn of_fragment(&mut self, fragment_seq: i64) -> Result<Option<Rc<PublishedPage>>> {
        if let Some(page) = self.fragments.get(&fragment_seq) {
            return Ok(page.clone());
        }
        if self.fragments.len() >= FRAGMENTS || self.pages.len() >= PAGES {
            self.fragments.clear();
            self.pages.clear();
            self.sites.clear();
        }
        let page_id: String = self.db.one(
            "SELECT page_id FROM fragments WHERE seq = ?1",
            [fragment_seq],
            |r| r.get(0),
        )?;
        let page = self.of_page(page_id)?;
        self.fragments.insert(fragment_seq, page.clone());
        Ok(page)
    }

    fn of_page(&mut self, page_id: String) -> Result<Option<Rc<PublishedPage>>> {
        if let Some(page) = self.pages.get(page_id.as_str()) {
            return Ok(Some(Rc::clone(page)));
        }
        let id: Rc<str> = page_id.into();
        // Local files and DOI resolvers are not sites that publish.
        let sites = &mut self.sites;
        let found = self
            .db
            .first("SELECT w.year, coalesce(v.canonical_id, o.id, p.id),
                   coalesce(w.is_retracted, 0) OR coalesce(v.is_retracted, 0),
                   CASE WHEN v.canonical_id IS NULL THEN nullif(nullif(o.domain, 'local'), 'doi.org') END
                 FROM pages AS p LEFT JOIN works AS w ON w.canonical_id = p.canonical_id
                   LEFT JOIN pages AS o ON o.id = coalesce(p.near_duplicate_of, p.id)
                   LEFT JOIN works AS v ON v.canonical_id = o.canonical_id
                 WHERE p.id = ?1", [&*id], |r| {
                let source = r.get_ref(1)?.as_str()?;
                Ok(PublishedPage {
                    id: Rc::clone(&id),
                    year: r.get(0)?,
                    source: match source == &*id {
                        true => Rc::clone(&id),
                        false => source.into(),
                    },
                    site: r.get_ref(3)?.as_str_or_null()?.map(|site| shared(sites, site)),
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

/// The shared copy of a text that is used many times.
pub(super) fn shared(texts: &mut HashSet<Rc<str>>, text: &str) -> Rc<str> {
    if let Some(known) = texts.get(text) {
        return Rc::clone(known);
    }
    let new: Rc<str> = text.into();
    texts.insert(Rc::clone(&new));
    new
}
