//! From references to `cites` edges.

use super::{Pipeline, StageOutcome};
use crate::error::{Result, SqliteResultExt};
use crate::graph::Writer;
use crate::model::{EdgeRecord, NodeKind, PageRecord, Reference, Relation, content_id};
use crate::text::url::{normalize_url, registrable_domain};
use serde::Serialize;

/// What a citation run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CitationReport {
    /// Pages whose references were looked at.
    pub pages: usize,
    /// New edges.
    pub cites: usize,
    /// Pages known by name only, because something cites them.
    pub placeholders: usize,
}

impl Pipeline {
    /// Turns the references of the task's pages into edges; what is cited and not known becomes a
    /// page without text, which `v_reference_candidates` offers.
    pub fn link_citations(&self, task_id: &str, cause_id: Option<&str>) -> Result<StageOutcome> {
        let page_ids = self.graph.read(|r| {
            r.task(task_id)?;
            let mut statement =
                r.db.prepare_cached(
                    "SELECT page_id FROM task_pages WHERE task_id = ?1 ORDER BY page_id",
                )
                .db()?;
            let rows = statement.query_map([task_id], |r| r.get(0)).db()?;
            rows.collect::<rusqlite::Result<Vec<String>>>().db()
        })?;
        let mut report = CitationReport::default();
        for page_id in page_ids {
            self.graph
                .write(|w| link_page(w, &page_id, cause_id, &mut report))?;
        }
        let output = serde_json::to_value(report).unwrap_or_default();
        Ok(StageOutcome {
            output,
            ..StageOutcome::default()
        })
    }
}

fn link_page(
    w: &Writer<'_>,
    page_id: &str,
    cause_id: Option<&str>,
    report: &mut CitationReport,
) -> Result<()> {
    let references = w.reader().page_references(page_id)?;
    report.pages += usize::from(!references.is_empty());
    for reference in references {
        let Some(cited) = resolve(w, &reference, report)? else {
            continue;
        };
        if cited == page_id {
            continue;
        }
        let mut edge = EdgeRecord::between(
            (NodeKind::Page, page_id),
            Relation::Cites,
            (NodeKind::Page, &cited),
        );
        edge.citation_source = Some(reference.source);
        edge.citation_context = reference.context;
        edge.cause_id = cause_id.map(str::to_owned);
        report.cites += usize::from(w.add_edge(&edge)?);
    }
    Ok(())
}

/// The page that a reference names; a placeholder where nobody has read it yet.
fn resolve(
    w: &Writer<'_>,
    reference: &Reference,
    report: &mut CitationReport,
) -> Result<Option<String>> {
    let url = reference.url.as_deref().and_then(|u| normalize_url(u).ok());
    let known = match (&reference.doi, &url) {
        (Some(doi), _) => w.reader().page_by_identifier("doi", doi)?,
        (None, Some(url)) => w.reader().page_by_identifier("url", url)?,
        (None, None) => None,
    };
    if known.is_some() {
        return Ok(known);
    }
    let address = match (&reference.doi, url) {
        (Some(doi), _) => format!("https://doi.org/{doi}"),
        (None, Some(url)) => url,
        (None, None) => return Ok(None),
    };
    if let Some(page) = w.reader().page_by_url(&address)? {
        return Ok(Some(page.id));
    }
    let page = PageRecord {
        id: content_id("page_", &[&address]),
        domain: registrable_domain(&address),
        title: reference.title.clone(),
        page_type: Some("placeholder".to_owned()),
        url: address,
        ..PageRecord::default()
    };
    w.put_page(&page)?;
    w.index_resource("url", &page.url, &page.id, false)?;
    if let Some(doi) = &reference.doi {
        w.index_resource("doi", doi, &page.id, false)?;
    }
    report.placeholders += 1;
    Ok(Some(page.id))
}
