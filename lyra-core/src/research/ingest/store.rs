//! Stores the rows of one document, inside the caller's transaction.

use super::fetch::page_key;
use super::prepare::PreparedDocument;
use crate::clock::{format_ms, parse_ms};
use crate::error::Result;
use crate::store::graph::{PageText, Writer};
use crate::store::model::{EmbeddingTarget, content_id};
use std::time::Duration;

/// Stores the document: page, work, text version, fragments, vectors, references, identifiers.
///
/// Storing the same document twice changes nothing; a changed text becomes a new version next to
/// the old one. The ids of the fragments are set, so that the caller can refer to them.
pub fn store(writer: &Writer<'_>, document: &mut PreparedDocument) -> Result<()> {
    if let Some((work, authors)) = &document.work {
        writer.add_work(work)?;
        for author in authors {
            writer.add_work_author(author)?;
        }
    }
    document.page.fetched_at = Some(writer.now().to_owned());
    document.page.fresh_until = fresh_until(writer.now(), document.fresh_for);
    let page_id = writer.put_page(&document.page)?;
    document.page.id.clone_from(&page_id);
    let version = writer.add_page_text(&page_id, &document.text)?;
    let key = writer.text_key(&page_id, version)?;
    let known = writer.fragments_by_span(&page_id, version)?;
    let page_text = PageText::new(&document.text);
    for fragment in &mut document.fragments {
        let record = &mut fragment.record;
        let span = (record.char_start.unwrap_or(0), record.char_end.unwrap_or(0));
        // The id depends on the text and not on its version: graphs that read a page at different
        // times number its texts differently, and may be merged.
        record.id = known.get(&span).cloned().unwrap_or_else(|| {
            let (start, end) = (span.0.to_string(), span.1.to_string());
            content_id("frag_", &[&page_id, &key, &start, &end])
        });
        record.page_id.clone_from(&page_id);
        record.page_version = Some(version);
        writer.add_fragment_of(record, &page_text)?;
        if fragment.vector.iter().any(|v| *v != 0.0) {
            writer.put_embedding(
                EmbeddingTarget::Fragment,
                &record.id,
                &document.model_id,
                &fragment.vector,
            )?;
        }
    }
    writer.set_page_references(&page_id, &document.references)?;
    index_identifiers(writer, document)
}

/// Until when a page is fresh, RFC 3339, for
/// [`PageRecord::fresh_until`](crate::store::model::PageRecord); `None` if unknown.
pub(crate) fn fresh_until(now: &str, fresh_for: Option<Duration>) -> Option<String> {
    let life = i64::try_from(fresh_for?.as_millis()).ok()?;
    Some(format_ms(parse_ms(now)?.saturating_add(life)))
}

fn index_identifiers(writer: &Writer<'_>, document: &PreparedDocument) -> Result<()> {
    let page = &document.page;
    writer.index_resource("url", &page.url, &page.id, true)?;
    if let Some(landing) = &page.final_url {
        writer.index_resource("url", &page_key(landing), &page.id, true)?;
    }
    let Some((work, _)) = &document.work else {
        return Ok(());
    };
    if let Some(doi) = &work.doi {
        writer.index_resource("doi", doi, &page.id, true)?;
    }
    if let Some((kind @ ("pmid" | "arxiv"), value)) = work.canonical_id.split_once(':') {
        writer.index_resource(kind, value, &page.id, true)?;
    }
    Ok(())
}
