//! Pages whose addresses lie in given ranges: the documents of a folder or the records of a file.

use super::handles::Reader;
use crate::error::Result;
use crate::store::database::Statements;
use rusqlite::params_from_iter;
use std::collections::{HashMap, HashSet};

/// A passage of a document, as a search hit shows it.
#[derive(Debug)]
pub(crate) struct PassageHit {
    pub(crate) url: String,
    pub(crate) title: Option<String>,
    pub(crate) snippet: Option<String>,
    pub(crate) year: Option<i64>,
    pub(crate) venue: Option<String>,
    pub(crate) doi: Option<String>,
}

impl Reader<'_> {
    /// The search hit for a fragment; none for a fragment of an older text.
    pub(crate) fn passage_hit(&self, fragment_id: &str) -> Result<Option<PassageHit>> {
        let sql = "SELECT p.url, p.title, substr(f.text_content, 1, 200), w.year, w.venue, w.doi
            FROM fragments f JOIN pages p ON p.id = f.page_id
              LEFT JOIN works w ON w.canonical_id = p.canonical_id
            WHERE f.id = ?1
              AND f.page_version IS (SELECT max(version) FROM page_texts t WHERE t.page_id = p.id)";
        self.db.first(sql, [fragment_id], |r| {
            Ok(PassageHit {
                url: r.get(0)?,
                title: r.get(1)?,
                snippet: r.get(2)?,
                year: r.get(3)?,
                venue: r.get(4)?,
                doi: r.get(5)?,
            })
        })
    }

    /// Fragments of the newest texts whose addresses are in one of the half-open ranges (from the first
    /// value to before the second); none if no page with fragments is outside the ranges.
    pub(crate) fn fragments_between(
        &self,
        ranges: &[(String, String)],
    ) -> Result<Option<HashSet<String>>> {
        let inside = vec!["p.url >= ? AND p.url < ?"; ranges.len()].join(" OR ");
        let bounds = || params_from_iter(ranges.iter().flat_map(|(from, to)| [from, to]));
        let others = format!(
            "SELECT 1 FROM pages p WHERE NOT ({inside})
               AND EXISTS (SELECT 1 FROM fragments f WHERE f.page_id = p.id)"
        );
        if !self.db.holds(&others, bounds())? {
            return Ok(None);
        }
        let own = format!(
            "SELECT f.id FROM pages p CROSS JOIN fragments f ON f.page_id = p.id WHERE ({inside})
               AND f.page_version IS (SELECT max(version) FROM page_texts t WHERE t.page_id = p.id)"
        );
        self.db.all(&own, bounds(), |r| r.get(0)).map(Some)
    }

    /// Address and content hash of every stored record of a file.
    pub(crate) fn record_hashes(&self, base: &str) -> Result<HashMap<String, String>> {
        let sql = "SELECT url, content_hash FROM pages WHERE url >= ?1 AND url < ?2 AND content_hash IS NOT NULL";
        // '$' follows '#' in ASCII, so the range contains exactly the addresses that begin with "base#".
        let bounds = [format!("{base}#"), format!("{base}$")];
        self.db.all(sql, bounds, |r| Ok((r.get(0)?, r.get(1)?)))
    }
}
