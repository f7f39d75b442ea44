//! Everything that can be computed before the transaction is opened.

use crate::error::{Error, ErrorKind, Result};
use crate::ports::{Embedder, ParsedDocument, TextRole, Validators};
use crate::security::injection;
use crate::store::model::{
    FragmentRecord, PageRecord, Reference, WorkAuthorRecord, WorkRecord, content_id,
};
use crate::store::text::hash::sha256_hex;
use crate::store::text::identifiers::{canonical_id, doi_from_url, normalize_doi, title_key};
use crate::store::text::language;
use crate::store::text::segment::{SegmentedText, assemble_under};
use crate::store::text::url::registrable_domain;
use std::time::Duration;

/// The origin of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DocumentSource {
    /// The canonical address: the key of the page.
    pub url: String,
    /// The final address after redirects.
    pub final_url: Option<String>,
    /// `file`, `http` or `api`.
    pub fetch_method: String,
    /// HTTP status.
    pub status: Option<u16>,
    /// `Content-Type` as sent.
    pub content_type: Option<String>,
    /// SHA-256 of the bytes, hex.
    pub content_hash: String,
    /// Size in bytes.
    pub content_length: usize,
    /// Validators for the next fetch.
    pub validators: Validators,
    /// How long the server allows this copy to be used without a request, if it says so.
    pub fresh_for: Option<Duration>,
}

/// A document that is ready to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedDocument {
    /// The page row.
    pub page: PageRecord,
    /// The publication, if the document has enough metadata to identify it.
    pub work: Option<(WorkRecord, Vec<WorkAuthorRecord>)>,
    /// The extracted text.
    pub text: String,
    /// Slices of the text. Their page version is set when they are stored.
    pub fragments: Vec<PreparedFragment>,
    /// What the document cites.
    pub references: Vec<Reference>,
    /// What was left out or guessed in parsing.
    pub warnings: Vec<String>,
    /// The model that made the vectors.
    pub model_id: String,
    /// How long the server allows this copy to be used without a request, if it says so.
    pub fresh_for: Option<Duration>,
}

impl PreparedDocument {
    /// The texts of the fragments.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let records = self.fragments.iter().map(|fragment| &fragment.record);
        records.map(|record| record.text_content.as_str())
    }
}

/// A fragment with its vector.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedFragment {
    /// The row; `id` and `page_version` depend on the version and are set when it is stored.
    pub record: FragmentRecord,
    /// Its embedding.
    pub vector: Vec<f32>,
}

/// Segments a parsed document into fragments and embeds them.
pub async fn prepare(
    source: DocumentSource,
    parsed: ParsedDocument,
    embedder: &dyn Embedder,
) -> Result<PreparedDocument> {
    let mut document = cut(source, parsed, embedder.info().model_id.clone())?;
    let texts: Vec<&str> = document.texts().collect();
    let vectors = embedder.embed(&texts, TextRole::Document).await?;
    set_vectors(&mut document, vectors)?;
    Ok(document)
}

/// Segments a parsed document into fragments without vectors.
pub(super) fn cut(
    source: DocumentSource,
    mut parsed: ParsedDocument,
    model_id: String,
) -> Result<PreparedDocument> {
    let segmented = assemble_under(parsed.meta.title.as_deref(), &parsed.blocks);
    if segmented.text.trim().is_empty() {
        return Err(Error::new(
            ErrorKind::Pipeline,
            format!("{}: no text in the document", source.url),
        )
        .with_hint(
            "a scanned PDF needs text recognition first; an empty page has nothing to read",
        ));
    }
    let page_id = content_id("page_", &[&source.url]);
    let fragments = fragments_of(&page_id, &segmented);
    let work = work_of(&parsed);
    let fresh_for = source.fresh_for;
    let page = page_of(page_id, source, &parsed, &segmented, work.as_ref());
    Ok(PreparedDocument {
        page,
        work,
        text: segmented.text,
        fragments,
        warnings: std::mem::take(&mut parsed.warnings),
        references: references_of(parsed),
        model_id,
        fresh_for,
    })
}

/// Sets the vector of each fragment.
pub(super) fn set_vectors(document: &mut PreparedDocument, vectors: Vec<Vec<f32>>) -> Result<()> {
    if vectors.len() != document.fragments.len() {
        return Err(Error::internal(
            "the embedder answered with another number of vectors",
        ));
    }
    for (fragment, vector) in document.fragments.iter_mut().zip(vectors) {
        fragment.vector = vector;
    }
    Ok(())
}

fn fragments_of(page_id: &str, segmented: &SegmentedText) -> Vec<PreparedFragment> {
    let to_i64 = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let rows = segmented.segments.iter().enumerate();
    rows.map(|(position, segment)| {
        let flags = injection::scan(&segment.text);
        let record = FragmentRecord {
            id: String::new(),
            page_id: page_id.to_owned(),
            page_version: None,
            fragment_type: segment.kind,
            position: to_i64(position),
            text_content: segment.text.clone(),
            heading_context: segment.heading_context.clone(),
            heading_hierarchy: (!segment.heading_hierarchy.is_empty())
                .then(|| serde_json::json!(segment.heading_hierarchy).to_string()),
            char_start: Some(to_i64(segment.char_start)),
            char_end: Some(to_i64(segment.char_end)),
            text_hash: None,
            security_flags: (!flags.is_empty()).then(|| flags.join(",")),
            created_at: None,
        };
        PreparedFragment {
            record,
            vector: Vec::new(),
        }
    })
    .collect()
}

fn page_of(
    id: String,
    source: DocumentSource,
    parsed: &ParsedDocument,
    segmented: &SegmentedText,
    work: Option<&(WorkRecord, Vec<WorkAuthorRecord>)>,
) -> PageRecord {
    let landing = parsed.meta.url.as_deref();
    let is_file = source.url.starts_with("file:");
    // A local copy of a publication belongs to the domain of its publisher, not to the disk.
    let domain = if is_file {
        landing
            .and_then(registrable_domain)
            .unwrap_or_else(|| "local".to_owned())
    } else {
        registrable_domain(source.final_url.as_deref().unwrap_or(&source.url))
            .unwrap_or_else(|| "unknown".to_owned())
    };
    let language = parsed
        .meta
        .language
        .clone()
        .or_else(|| language::detect_language(&segmented.text).map(str::to_owned));
    PageRecord {
        id,
        final_url: source.final_url.or_else(|| landing.map(str::to_owned)),
        url: source.url,
        domain: Some(domain),
        title: parsed.meta.title.clone(),
        page_type: Some(parsed.page_type.to_owned()),
        fetch_method: Some(source.fetch_method),
        http_status: source.status.map(i64::from),
        content_type: source.content_type,
        content_hash: Some(source.content_hash),
        content_length: i64::try_from(source.content_length).ok(),
        canonical_id: work.map(|(w, _)| w.canonical_id.clone()),
        language,
        fetched_at: None,
        fresh_until: None,
        near_duplicate_of: None,
        etag: source.validators.etag,
        last_modified: source.validators.last_modified,
        error_message: None,
    }
}

/// The publication of a document, if the document has enough metadata to distinguish it from
/// others.
fn work_of(parsed: &ParsedDocument) -> Option<(WorkRecord, Vec<WorkAuthorRecord>)> {
    let meta = &parsed.meta;
    let canonical_id = canonical_id(meta)?;
    // An address alone identifies a page, not a publication, and so does a title alone: two notes
    // titled "Abstract" are not one publication.
    let is_of_title = canonical_id.starts_with("meta:") && title_key(meta).is_none();
    if canonical_id.starts_with("url:") || is_of_title {
        return None;
    }
    let work = WorkRecord {
        canonical_id: canonical_id.clone(),
        title: meta.title.clone(),
        year: meta.year,
        published_date: meta.published_date.clone(),
        venue: meta.venue.clone(),
        doi: meta.doi.as_deref().and_then(normalize_doi),
        reference_count: (!meta.references.is_empty())
            .then(|| i64::try_from(meta.references.len()).unwrap_or(i64::MAX)),
        is_retracted: meta.is_retracted,
        source_api: Some("document".to_owned()),
        ..WorkRecord::default()
    };
    let authors = (0_i64..)
        .zip(&meta.authors)
        .map(|(position, name)| WorkAuthorRecord {
            canonical_id: canonical_id.clone(),
            position,
            name: name.clone(),
            ..WorkAuthorRecord::default()
        });
    Some((work, authors.collect()))
}

/// The references of the document, each work once; a work that superseded it comes first and is
/// marked.
fn references_of(parsed: ParsedDocument) -> Vec<Reference> {
    let own_doi = parsed.meta.doi.as_deref().and_then(normalize_doi);
    let successor = parsed.meta.superseded_by.map(|target| Reference {
        url: Some(target),
        source: "superseded_by".to_owned(),
        ..Reference::default()
    });
    let mut seen = std::collections::HashSet::new();
    let mut references = Vec::new();
    for mut reference in successor.into_iter().chain(parsed.meta.references) {
        let given = [reference.doi.as_deref(), reference.url.as_deref()];
        let doi = given.into_iter().flatten().find_map(normalize_doi);
        reference.doi = doi.or_else(|| reference.url.as_deref().and_then(doi_from_url));
        let Some(key) = reference.doi.clone().or_else(|| reference.url.clone()) else {
            continue;
        };
        let is_itself = reference.doi.is_some() && reference.doi == own_doi;
        if !is_itself && seen.insert(key) {
            references.push(reference);
        }
    }
    references
}

/// SHA-256 of a body, for [`DocumentSource::content_hash`].
pub(crate) fn content_hash(body: &[u8]) -> String {
    sha256_hex(body)
}
