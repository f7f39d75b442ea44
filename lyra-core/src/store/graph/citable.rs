//! The sources of the graph in the form needed to resolve and write citations.

use super::handles::Reader;
use crate::error::Result;
use crate::store::database::Statements;

/// A page and the publication behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CitableSource {
    pub(crate) page_id: String,
    pub(crate) url: String,
    pub(crate) title: Option<String>,
    /// Id of the publication.
    pub(crate) work_id: Option<String>,
    pub(crate) doi: Option<String>,
    pub(crate) year: Option<i64>,
    /// Names as printed, in order.
    pub(crate) authors: Vec<String>,
    pub(crate) is_retracted: bool,
    /// Title or address of the publication that superseded it.
    pub(crate) superseded_by: Option<String>,
    /// Newest text version, if the page was read.
    pub(crate) version: Option<i64>,
    /// Id of another page with nearly the same text.
    pub(crate) copy_of: Option<String>,
}

impl Reader<'_> {
    /// Every page of the graph, in the order of their addresses.
    pub(crate) fn citable_sources(&self) -> Result<Vec<CitableSource>> {
        self.db
            .all(include_str!("sql/citable_sources.sql"), [], |row| {
                let authors: Option<String> = row.get(6)?;
                Ok(CitableSource {
                    page_id: row.get(0)?,
                    url: row.get(1)?,
                    title: row.get(2)?,
                    work_id: row.get(3)?,
                    doi: row.get(4)?,
                    year: row.get(5)?,
                    authors: authors
                        .map(|names| names.split('\n').map(str::to_owned).collect())
                        .unwrap_or_default(),
                    is_retracted: row.get(7)?,
                    superseded_by: row.get(8)?,
                    version: row.get(9)?,
                    copy_of: row.get(10)?,
                })
            })
    }

    /// The text of a version of a page.
    pub(crate) fn page_text(&self, page_id: &str, version: i64) -> Result<Option<String>> {
        self.db.first(
            "SELECT text FROM page_texts WHERE page_id = ?1 AND version = ?2",
            (page_id, version),
            |row| row.get(0),
        )
    }
}
