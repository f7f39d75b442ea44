//! The sources of a part of the graph, each once: publications, and pages without a publication.

use super::dates::Date;
use super::people::Name;
use crate::error::Result;
use crate::store::graph::Part;
use crate::store::text::identifiers::{doi_from_url, find_identifiers, is_preprint_doi};
use crate::store::text::url::file_name;
use std::collections::HashMap;

/// A publication, or a page without one.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Source {
    /// `works.canonical_id`, or `pages.id`.
    pub(super) id: String,
    /// A unique key: author, year, word of the title.
    pub(super) key: String,
    /// Whether it has a row in `works`.
    pub(super) is_publication: bool,
    pub(super) title: String,
    pub(super) authors: Vec<Name>,
    /// The publication date, as exact as it is known.
    pub(super) issued: Option<Date>,
    /// The year of `issued`.
    pub(super) year: Option<i64>,
    pub(super) venue: Option<String>,
    pub(super) doi: Option<String>,
    pub(super) pmid: Option<String>,
    /// `PMC` and digits.
    pub(super) pmcid: Option<String>,
    pub(super) arxiv_id: Option<String>,
    /// The page's address in the graph; [`Source::link`] returns it if it may be printed as a link.
    pub(super) url: Option<String>,
    pub(super) is_retracted: bool,
    /// When the page was read, for pages without a publication or whose publication has no
    /// identifier.
    pub(super) accessed: Option<String>,
    /// Whether anything of it was read: a page of it has a text or a fragment.
    pub(super) was_read: bool,
    /// Whether a scholarly catalogue lists it, or its document has a format that only journals use.
    pub(super) is_catalogued: bool,
    /// Whether it was read as an HTML page.
    pub(super) is_html: bool,
}

/// Prefix of DOIs of arXiv preprints; the preprint's id follows.
const ARXIV_DOI: &str = "10.48550/arxiv.";

/// The type of a source for reference managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceKind {
    /// In a journal, or in another scholarly venue.
    Article,
    /// Before peer review.
    Preprint,
    /// On the web, without a scholarly identifier.
    Webpage,
    /// A publication without a venue, a file.
    Document,
}

impl Source {
    pub(super) fn kind(&self) -> SourceKind {
        let preprint_doi = self.doi.as_deref().is_some_and(is_preprint_doi);
        let on_arxiv = self.arxiv_id.is_some()
            && self.doi.is_none()
            && self
                .venue
                .as_deref()
                .is_none_or(|venue| venue.to_lowercase().starts_with("arxiv"));
        if preprint_doi || on_arxiv {
            return SourceKind::Preprint;
        }
        let on_web = self.link().is_some();
        let identified =
            self.is_catalogued || self.doi.is_some() || self.pmid.is_some() || self.pmcid.is_some();
        match self.venue {
            Some(_) if identified || (!on_web && !self.is_html) => SourceKind::Article,
            _ if identified || !on_web => SourceKind::Document,
            _ => SourceKind::Webpage,
        }
    }

    /// The address if a reader can follow it: only http and https.
    pub(super) fn link(&self) -> Option<&str> {
        self.url.as_deref().filter(|url| is_web(url))
    }

    /// The file name of a source that is a file and has neither DOI nor link. Its folders are
    /// private.
    pub(super) fn file_name(&self) -> Option<String> {
        if self.doi.is_some() || self.link().is_some() {
            return None;
        }
        self.url.as_deref().and_then(file_name)
    }

    /// Content for a note: whether it is retracted, and which file it is.
    pub(super) fn notes(&self) -> Vec<String> {
        let retracted = self.is_retracted.then(|| "RETRACTED".to_owned());
        let file = self.file_name().map(|name| format!("file {name}"));
        [retracted, file].into_iter().flatten().collect()
    }

    /// Fills in identifiers found in the address or in the id of the publication.
    fn complete(&mut self) {
        let web = self.link().map(find_identifiers).unwrap_or_default();
        let own = |kind: &str| self.id.strip_prefix(kind).map(str::to_owned);
        let (doi, pmid) = (own("doi:"), own("pmid:"));
        let (pmcid, arxiv) = (own("pmcid:"), own("arxiv:"));
        let linked = self.link().and_then(doi_from_url);
        self.doi = self.doi.take().or(doi).or(linked);
        let of_arxiv = self
            .doi
            .as_deref()
            .and_then(|doi| doi.strip_prefix(ARXIV_DOI));
        let arxiv = arxiv.or(of_arxiv.map(str::to_owned));
        self.pmid = self.pmid.take().or(pmid).or(web.pmid);
        self.pmcid = self.pmcid.take().or(pmcid).or(web.pmcid).map(|id| {
            let digits = id.trim_start_matches(|c: char| !c.is_ascii_digit());
            format!("PMC{digits}")
        });
        self.arxiv_id = self.arxiv_id.take().or(arxiv).or(web.arxiv_id);
        self.year = self.issued.map(|date| date.year);
        if self.identifier_is_known() {
            self.accessed = None;
        }
    }

    fn identifier_is_known(&self) -> bool {
        let ids = [&self.doi, &self.pmid, &self.pmcid, &self.arxiv_id];
        ids.into_iter().any(Option::is_some)
    }
}

pub(super) fn is_web(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|s| s.eq_ignore_ascii_case("http") || s.eq_ignore_ascii_case("https"))
}

/// The publication date: the exact one, unless its year differs from the year in the graph.
fn issued(year: Option<i64>, published: Option<&str>) -> Option<Date> {
    let year = year.and_then(Date::of_year);
    let exact = published.and_then(Date::parse);
    match (year, exact) {
        (Some(year), Some(exact)) if exact.year != year.year => Some(year),
        (year, exact) => exact.or(year),
    }
}

/// A text that is not blank.
fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// A title for a source without one: its own name, never the folders of a user's machine.
fn untitled(source: &Source) -> String {
    let name = source.file_name().or_else(|| source.url.clone());
    match source.is_publication {
        true => source.id.clone(),
        false => name.unwrap_or_else(|| source.id.clone()),
    }
}

/// All sources of the part without keys, including those known only by name, by id: publications
/// first.
pub(super) fn sources(part: &Part<'_>) -> Result<Vec<Source>> {
    let mut found = publications(part)?;
    found.extend(part.list(
        "SELECT p.id, p.title, p.url, p.fetched_at, coalesce(p.page_type, '') = 'html',
           EXISTS (SELECT 1 FROM fragments f WHERE f.page_id = p.id)
             OR EXISTS (SELECT 1 FROM page_texts t WHERE t.page_id = p.id)
         FROM pages p WHERE p.canonical_id IS NULL AND p.id {pages} ORDER BY p.id",
        |row| {
            Ok(Source {
                id: row.get(0)?,
                title: said(row.get(1)?).unwrap_or_default(),
                url: Some(row.get(2)?),
                accessed: row.get(3)?,
                is_html: row.get(4)?,
                was_read: row.get(5)?,
                ..Source::default()
            })
        },
    )?);
    for source in &mut found {
        source.complete();
        if source.title.is_empty() {
            source.title = untitled(source);
        }
    }
    Ok(found)
}

/// Publications. If there are several pages, an address that a reader can follow is preferred.
const PUBLICATIONS: &str = "
  SELECT w.canonical_id, coalesce(nullif(trim(w.title), ''), p.title), w.year, w.published_date,
    w.venue, w.doi, w.is_retracted, p.url, p.fetched_at, coalesce(p.page_type, '') = 'html',
    EXISTS (SELECT 1 FROM pages r WHERE r.canonical_id = w.canonical_id
      AND (EXISTS (SELECT 1 FROM fragments f WHERE f.page_id = r.id)
        OR EXISTS (SELECT 1 FROM page_texts t WHERE t.page_id = r.id))),
    i.ids IS NOT NULL OR substr(w.canonical_id, 1, 5) NOT IN ('meta:', 'url:')
      OR EXISTS (SELECT 1 FROM pages r WHERE r.canonical_id = w.canonical_id AND r.page_type = 'jats'),
    i.doi, i.pmid, i.pmcid, i.arxiv_id
  FROM works w
  LEFT JOIN pages p ON p.id = (
    SELECT o.id FROM pages o WHERE o.canonical_id = w.canonical_id
    ORDER BY o.url NOT LIKE 'http%', o.fetched_at IS NULL, o.id LIMIT 1)
  LEFT JOIN (
    SELECT canonical_id, count(*) AS ids, min(doi) AS doi, min(pmid) AS pmid, min(pmcid) AS pmcid,
      min(arxiv_id) AS arxiv_id
    FROM work_identifiers GROUP BY canonical_id) i ON i.canonical_id = w.canonical_id
  WHERE w.canonical_id {works} ORDER BY w.canonical_id";

fn publications(part: &Part<'_>) -> Result<Vec<Source>> {
    let mut authors = authors(part)?;
    part.list(PUBLICATIONS, |row| {
        let id: String = row.get(0)?;
        let published: Option<String> = row.get(3)?;
        Ok(Source {
            is_publication: true,
            title: said(row.get(1)?).unwrap_or_default(),
            authors: authors.remove(&id).unwrap_or_default(),
            issued: issued(row.get(2)?, published.as_deref()),
            venue: said(row.get(4)?),
            doi: said(row.get(5)?).or(said(row.get(12)?)),
            is_retracted: row.get(6)?,
            url: row.get(7)?,
            accessed: row.get(8)?,
            is_html: row.get(9)?,
            was_read: row.get(10)?,
            is_catalogued: row.get(11)?,
            pmid: said(row.get(13)?),
            pmcid: said(row.get(14)?),
            arxiv_id: said(row.get(15)?),
            id,
            ..Source::default()
        })
    })
}

fn authors(part: &Part<'_>) -> Result<HashMap<String, Vec<Name>>> {
    let mut authors: HashMap<String, Vec<Name>> = HashMap::new();
    part.each(
        "SELECT canonical_id, name FROM work_authors WHERE canonical_id {works}
         ORDER BY canonical_id, position",
        |row| {
            let text: String = row.get(1)?;
            let name = Name::parse(&text);
            if !name.family.is_empty() {
                authors.entry(row.get(0)?).or_default().push(name);
            }
            Ok(())
        },
    )?;
    Ok(authors)
}

#[cfg(test)]
mod tests {
    use super::SourceKind::{Article, Document, Preprint, Webpage};
    use super::*;

    #[test]
    fn what_a_source_is_follows_from_what_knows_it() {
        // DOI, PubMed id, arXiv id, venue, address, page of HTML, kind.
        for (doi, pmid, arxiv, venue, url, is_html, kind) in [
            (
                "10.1038/1",
                "",
                "",
                "Nature",
                "https://n.example/",
                true,
                Article,
            ),
            ("", "12", "", "Nature", "https://n.example/", true, Article),
            ("", "", "", "The List", "https://n.example/", true, Webpage),
            ("", "", "", "", "https://n.example/", true, Webpage),
            ("", "", "", "The List", "file:///a/b.html", true, Document),
            ("", "", "", "Journal", "file:///a/b.md", false, Article),
            ("", "", "", "", "file:///a/b.md", false, Document),
            (
                "10.1038/1",
                "",
                "",
                "",
                "https://n.example/",
                true,
                Document,
            ),
            ("", "", "2301.1", "arXiv.org", "", false, Preprint),
            (
                "",
                "",
                "2301.1",
                "",
                "https://arxiv.org/abs/2301.1",
                true,
                Preprint,
            ),
            ("", "", "2301.1", "NeurIPS", "", false, Article),
            ("10.1038/1", "", "2301.1", "Nature", "", false, Article),
            (
                "10.48550/arxiv.2301.1",
                "",
                "2301.1",
                "arXiv",
                "",
                false,
                Preprint,
            ),
        ] {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let source = Source {
                doi: some(doi),
                pmid: some(pmid),
                arxiv_id: some(arxiv),
                venue: some(venue),
                url: some(url),
                is_html,
                ..Source::default()
            };
            assert_eq!(source.kind(), kind, "{doi} {pmid} {arxiv} {venue} {url}");
        }
    }

    #[test]
    fn identifiers_in_addresses_and_ids_are_found() {
        for (id, url, expected) in [
            (
                "p1",
                "https://doi.org/10.7326/M20-1",
                ["10.7326/m20-1", "", "", ""],
            ),
            (
                "doi:10.7326/a",
                "https://a.example/",
                ["10.7326/a", "", "", ""],
            ),
            ("pmid:23903748", "", ["", "23903748", "", ""]),
            (
                "p2",
                "https://pubmed.ncbi.nlm.nih.gov/23903748/",
                ["", "23903748", "", ""],
            ),
            ("pmcid:3737249", "", ["", "", "PMC3737249", ""]),
            (
                "p3",
                "https://arxiv.org/abs/2301.12345",
                ["", "", "", "2301.12345"],
            ),
            (
                "doi:10.48550/arxiv.2301.12345",
                "",
                ["10.48550/arxiv.2301.12345", "", "", "2301.12345"],
            ),
            ("p4", "file:///home/a/10.7326/b.pdf", ["", "", "", ""]),
        ] {
            let mut source = Source {
                id: id.to_owned(),
                url: Some(url.to_owned()),
                ..Source::default()
            };
            source.complete();
            let found = [&source.doi, &source.pmid, &source.pmcid, &source.arxiv_id];
            assert_eq!(
                found.map(|id| id.clone().unwrap_or_default()),
                expected,
                "{id} {url}"
            );
        }
    }

    #[test]
    fn files_show_their_name_and_nothing_of_their_folders() {
        for (url, name, link) in [
            ("file:///home/me/secret/a%20b.pdf", Some("a b.pdf"), None),
            ("/home/me/notes.md", Some("notes.md"), None),
            ("C:\\Users\\me\\notes.md", Some("notes.md"), None),
            (
                "https://a.example/b.pdf",
                None,
                Some("https://a.example/b.pdf"),
            ),
            ("HTTP://a.example/", None, Some("HTTP://a.example/")),
            ("javascript:alert(1)", None, None),
            ("data:text/html,x", None, None),
            ("ftp://a.example/b", None, None),
        ] {
            let source = Source {
                url: Some(url.to_owned()),
                ..Source::default()
            };
            assert_eq!(
                (source.file_name().as_deref(), source.link()),
                (name, link),
                "{url}"
            );
        }
    }

    #[test]
    fn the_year_of_the_graph_counts_and_the_exact_date_where_it_agrees() {
        for (year, published, parts) in [
            (Some(2019), None, &[2019][..]),
            (None, Some("2019-07"), &[2019, 7]),
            (Some(2019), Some("2019-07"), &[2019, 7]),
            (Some(2020), Some("2019-12-30"), &[2020]),
            (Some(0), Some("0000"), &[]),
            (Some(2016), Some("2016-13-45"), &[2016]),
            (None, None, &[]),
        ] {
            let found = issued(year, published).map(|date| date.parts());
            assert_eq!(found.unwrap_or_default(), parts, "{year:?} {published:?}");
        }
    }
}
