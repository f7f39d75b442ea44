//! Stores the providers' data on works, and converts an abstract to a document.

use super::identify::Identified;
use super::retractions::Retractions;
use crate::error::Result;
use crate::ports::{ParsedDocument, WorkId};
use crate::research::ingest::DocumentSource;
use crate::store::graph::{WorkIdentifier, Writer};
use crate::store::model::{DocumentMeta, FragmentType, WorkAuthorRecord, WorkRecord};
use crate::store::text::hash::sha256_hex;
use crate::store::text::identifiers::normalize_doi;
use crate::store::text::segment::Block;

/// Stores the work of a hit under `canonical_id`: bibliographic data, authors, identifiers,
/// retractions. Existing data is completed.
pub(super) fn record_work(
    w: &Writer<'_>,
    canonical_id: &str,
    one: &Identified,
    retractions: Option<&Retractions>,
) -> Result<()> {
    let (meta, facts) = (&one.hit.meta, &one.hit.facts);
    let doi = meta.doi.as_deref().and_then(normalize_doi);
    let listed = retractions.is_some_and(|list| list.holds(doi.as_deref(), meta.pmid.as_deref()));
    w.add_work(&WorkRecord {
        canonical_id: canonical_id.to_owned(),
        title: meta.title.clone().or_else(|| one.hit.title.clone()),
        year: meta.year,
        published_date: meta.published_date.clone(),
        venue: meta.venue.clone(),
        doi,
        citation_count: facts.citation_count,
        reference_count: facts.reference_count,
        is_open_access: facts.is_open_access,
        is_retracted: meta.is_retracted || listed,
        oa_url: facts.oa_url.clone(),
        pdf_url: facts.pdf_url.clone(),
        source_api: Some(one.engine.clone()),
    })?;
    for (position, author) in (0_i64..).zip(&facts.authors) {
        w.add_work_author(&WorkAuthorRecord {
            canonical_id: canonical_id.to_owned(),
            position,
            name: author.name.clone(),
            affiliation: author.affiliation.clone(),
            orcid: author.orcid.clone(),
        })?;
    }
    for retracted in &facts.retracts {
        // The work may be added later; its retraction is then already known.
        w.add_work(&WorkRecord {
            canonical_id: format!("doi:{retracted}"),
            doi: Some(retracted.clone()),
            is_retracted: true,
            source_api: Some(one.engine.clone()),
            ..WorkRecord::default()
        })?;
    }
    record_identifiers(w, canonical_id, one)
}

fn record_identifiers(w: &Writer<'_>, canonical_id: &str, one: &Identified) -> Result<()> {
    let meta = &one.hit.meta;
    let doi = meta.doi.as_deref().and_then(normalize_doi);
    for id in WorkId::of(&one.hit) {
        let (provider, own) = match &id {
            WorkId::Doi(id) => ("doi", id),
            WorkId::Pmid(id) => ("pubmed", id),
            WorkId::Pmcid(id) => ("pmc", id),
            WorkId::OpenAlex(id) => ("openalex", id),
            WorkId::S2(id) => ("semantic_scholar", id),
            // In the record of a publication, the arXiv id belongs to its preprint, which has its own row.
            WorkId::Arxiv(id) if one.hit.facts.is_preprint => ("arxiv", id),
            WorkId::Arxiv(_) => continue,
        };
        w.add_work_identifier(&WorkIdentifier {
            canonical_id,
            provider,
            provider_paper_id: own,
            doi: doi.as_deref(),
            pmid: meta.pmid.as_deref(),
            pmcid: meta.pmcid.as_deref(),
            arxiv_id: meta.arxiv_id.as_deref(),
        })?;
    }
    Ok(())
}

/// The known metadata of a document, used before it is stored. For a web page these are only the
/// identifiers, because a search engine's title is not reliable.
pub(super) fn known_meta(one: &Identified) -> DocumentMeta {
    let mut meta = one.hit.meta.clone();
    meta.references.clear();
    if meta.authors.is_empty() {
        meta.title = None;
        meta.published_date = None;
        meta.language = None;
    }
    meta
}

/// The abstract of a hit as a document; `None` if it has none.
pub(super) fn abstract_document(one: &Identified) -> Option<(DocumentSource, ParsedDocument)> {
    let hit = &one.hit;
    let text = hit.abstract_text.clone()?;
    let source = DocumentSource {
        url: hit.url.clone(),
        final_url: hit.meta.url.clone().filter(|url| *url != hit.url),
        fetch_method: "api".to_owned(),
        content_hash: sha256_hex(text.as_bytes()),
        content_length: text.len(),
        ..DocumentSource::default()
    };
    let block = |kind, level, text| Block { kind, level, text };
    let title = hit.meta.title.clone().or_else(|| hit.title.clone());
    let heading = title.map(|title| block(FragmentType::Heading, 1, title));
    let body = block(FragmentType::Abstract, 0, text);
    let mut meta = hit.meta.clone();
    meta.language = None;
    let parsed = ParsedDocument {
        meta,
        blocks: heading.into_iter().chain([body]).collect(),
        page_type: "abstract",
        warnings: Vec::new(),
    };
    Some((source, parsed))
}
