//! Turns an address into a prepared document.

use super::blocking::{blocking, within};
use super::prepare::{DocumentSource, PreparedDocument, content_hash, cut, set_vectors};
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{
    DocumentParser, Embedder, FetchRequest, FetchedDocument, Fetcher, ParsedDocument, TextRole,
};
use crate::store::model::DocumentMeta;
use crate::store::text::url::normalize_url;
use std::sync::Arc;
use std::time::Duration;

/// The usual value of [`Reading::text_time`].
pub const TEXT_TIME: Duration = Duration::from_secs(60);

/// The ports needed to read a document.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Tried in order; the first one that accepts the address fetches it.
    pub fetchers: Vec<Arc<dyn Fetcher>>,
    /// Parses documents.
    pub parser: Arc<dyn DocumentParser>,
    /// Embeds fragments and claims.
    pub embedder: Arc<dyn Embedder>,
    /// Time limit for each step of processing the text of one document: parsing, segmenting,
    /// selecting passages, and extracting claims with the built-in extractor.
    pub text_time: Duration,
}

/// The result of reading an address.
#[derive(Debug)]
pub enum Read {
    /// A document that is ready to be stored.
    Fresh(Box<PreparedDocument>),
    /// The stored copy is current.
    NotModified,
    /// A human must pass a challenge first.
    NeedsAuth {
        /// As in [`FetchedDocument::NeedsAuth`].
        auth_type: String,
        /// The page's registrable domain.
        domain: String,
    },
}

impl Reading {
    /// Fetches, parses, segments and embeds one document.
    pub async fn read(&self, request: &FetchRequest) -> Result<Read> {
        self.read_known(request, DocumentMeta::default()).await
    }

    /// The same for a document with known metadata: `about` takes precedence over the document's
    /// own metadata, and what the fetcher knows takes precedence over both.
    pub async fn read_known(&self, request: &FetchRequest, about: DocumentMeta) -> Result<Read> {
        let fetcher = self.fetcher_of(&request.url)?;
        match fetcher.fetch(request).await? {
            FetchedDocument::NotModified => Ok(Read::NotModified),
            FetchedDocument::NeedsAuth { auth_type, domain } => {
                Ok(Read::NeedsAuth { auth_type, domain })
            }
            FetchedDocument::Found {
                final_url,
                status,
                content_type,
                body,
                known,
                validators,
            } => {
                let key = page_key(&request.url);
                let source = DocumentSource {
                    fresh_for: fetcher.lifetime(&request.url),
                    final_url: (final_url != key).then_some(final_url),
                    url: key,
                    fetch_method: fetcher.name().to_owned(),
                    status,
                    content_hash: content_hash(&body),
                    content_length: body.len(),
                    content_type,
                    validators,
                };
                let mut parsed = self.parse(body, &source).await?;
                complete(&mut parsed.meta, about);
                complete(&mut parsed.meta, *known);
                let document = self.prepare(source, parsed).await?;
                Ok(Read::Fresh(Box::new(document)))
            }
        }
    }

    /// Whether the stored copy of a page may be used without a request. If a fetcher read it, that
    /// fetcher decides by its age; a copy from elsewhere (an import, a provider's record) may
    /// always be used.
    pub fn may_reuse(&self, url: &str, fetched_by: Option<&str>, age: Option<Duration>) -> bool {
        match self.fetcher_of(url) {
            Ok(fetcher) if fetched_by == Some(fetcher.name()) => {
                age.is_some_and(|age| fetcher.may_reuse(url, age))
            }
            _ => true,
        }
    }

    /// How long the last fetched copy may be used without a request, according to its server.
    pub fn lifetime(&self, url: &str) -> Option<Duration> {
        self.fetcher_of(url).ok()?.lifetime(url)
    }

    fn fetcher_of(&self, url: &str) -> Result<&Arc<dyn Fetcher>> {
        self.fetchers.iter().find(|f| f.accepts(url)).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("nothing here can fetch {url}")).with_hint(
                "file: addresses need their folder in --corpus; http and https need the http feature",
            )
        })
    }

    async fn parse(&self, body: Vec<u8>, source: &DocumentSource) -> Result<ParsedDocument> {
        let parser = Arc::clone(&self.parser);
        let content_type = source.content_type.clone();
        // A redirect may lead to another folder or another kind of file: relative links and the
        // extension refer to the address at which the document was found.
        let name = source.final_url.as_ref().unwrap_or(&source.url).clone();
        let parsing = within(self.text_time, "taking the document apart", move || {
            parser.parse(&body, content_type.as_deref(), &name)
        });
        parsing.await.map_err(|e| e.context(&source.url))
    }

    /// Segments a parsed document into fragments and embeds them.
    pub async fn prepare(
        &self,
        source: DocumentSource,
        parsed: ParsedDocument,
    ) -> Result<PreparedDocument> {
        let url = source.url.clone();
        let model_id = self.embedder.info().model_id.clone();
        let cutting = within(self.text_time, "cutting the text", move || {
            cut(source, parsed, model_id)
        });
        let mut document = cutting.await.map_err(|e| e.context(&url))?;
        let embedder = Arc::clone(&self.embedder);
        let runtime = tokio::runtime::Handle::current();
        // Embedders that run locally compute inside this call.
        blocking(move || {
            let texts: Vec<&str> = document.texts().collect();
            let vectors = runtime.block_on(embedder.embed(&texts, TextRole::Document))?;
            set_vectors(&mut document, vectors)?;
            Ok(document)
        })
        .await
    }
}

/// The address under which a page is stored, normalised from all spellings.
pub(crate) fn page_key(url: &str) -> String {
    normalize_url(url).unwrap_or_else(|_| url.to_owned())
}

/// Known metadata takes precedence; the document's own metadata fills the gaps.
fn complete(meta: &mut DocumentMeta, known: DocumentMeta) {
    let own = std::mem::replace(meta, known);
    meta.title = meta.title.take().or(own.title);
    if meta.authors.is_empty() {
        meta.authors = own.authors;
    }
    meta.year = meta.year.or(own.year);
    meta.published_date = meta.published_date.take().or(own.published_date);
    meta.venue = meta.venue.take().or(own.venue);
    meta.doi = meta.doi.take().or(own.doi);
    meta.pmid = meta.pmid.take().or(own.pmid);
    meta.pmcid = meta.pmcid.take().or(own.pmcid);
    meta.arxiv_id = meta.arxiv_id.take().or(own.arxiv_id);
    meta.url = meta.url.take().or(own.url);
    meta.language = meta.language.take().or(own.language);
    meta.is_retracted |= own.is_retracted;
    meta.superseded_by = meta.superseded_by.take().or(own.superseded_by);
    meta.references.extend(own.references);
}
