//! The user's own documents as a search provider.
//!
//! The folders are read into the graph once and again when a file changes, with one transaction per
//! document, so that a killed run resumes where it stopped. Searching is then the hybrid search of
//! the graph. Pages and fragments are global: a page in the corpus is not automatically part of a
//! task.

mod inspect;
mod notes;
mod report;
mod walk;

pub use report::{CorpusReport, FileNote, FolderReport};

use super::file_fetch::FileFetcher;
use super::records::{is_record_file, parse_records};
use crate::error::{Error, Result};
use crate::ports::{
    FetchRequest, ParsedDocument, SearchHit, SearchProvider, SearchQuery, TextRole, Validators,
};
use crate::research::ingest::{DocumentSource, PreparedDocument, Read, Reading, blocking, store};
use crate::store::graph::{EvidenceGraph, Reader};
use crate::store::model::DocumentMeta;
use crate::store::text::hash::sha256_hex;
use crate::store::vectors::{Ranking, Scored, SearchMode, VectorStore};
use notes::{about_meta, reason_of};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::SystemTime;
use tokio::sync::Mutex;
use url::Url;
use walk::FolderContents;
pub(super) use walk::documents_below;

/// Fragments that a search considers for each document that it may return.
const FRAGMENTS_PER_HIT: usize = 12;
/// Factor by which the number is increased if these fragments come from too few documents.
const WIDER: usize = 8;

/// The result of one pass over the folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct SyncReport {
    /// Documents that were read because they are new or changed.
    pub read: usize,
    /// Documents that were up to date.
    pub unchanged: usize,
    /// Documents that could not be read, with the reason.
    pub failed: Vec<(String, String)>,
}

impl SyncReport {
    /// Records a document that could not be read. A full disk or a locked database is not the fault
    /// of a document: it ends the pass.
    fn note(&mut self, place: String, error: Error) -> Result<()> {
        if error.kind().is_of_database() {
            return Err(error);
        }
        self.failed.push((place, error.to_string()));
        Ok(())
    }
}

/// Searches the documents under some folders.
#[derive(Debug)]
pub struct CorpusProvider {
    graph: EvidenceGraph,
    vectors: Arc<VectorStore>,
    reading: Reading,
    files: FileFetcher,
    sync: Mutex<()>,
    latest: Lock<Latest>,
}

/// The result of the last pass.
#[derive(Debug, Default)]
struct Latest {
    report: Option<CorpusReport>,
    /// What was left out of documents when they were read, by address. It is not stored in the
    /// graph.
    notes: HashMap<String, Vec<String>>,
    /// The side files that were checked, by document.
    side_files: HashMap<PathBuf, SideFile>,
    /// The report as text.
    warnings: Vec<String>,
}

/// The state of a side file when it was read, and its problems.
#[derive(Debug)]
struct SideFile {
    /// Size in bytes and modification time.
    state: (u64, Option<SystemTime>),
    notes: Vec<String>,
}

impl CorpusProvider {
    /// A provider over the folders of `files`.
    pub fn new(
        graph: EvidenceGraph,
        vectors: Arc<VectorStore>,
        reading: Reading,
        files: FileFetcher,
    ) -> Self {
        Self {
            graph,
            vectors,
            reading,
            files,
            sync: Mutex::new(()),
            latest: Lock::default(),
        }
    }

    fn latest(&self) -> std::sync::MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of the last pass over the folders, file by file; `None` before the first.
    pub fn report(&self) -> Option<CorpusReport> {
        self.latest().report.clone()
    }

    /// What a user should know of that result, one line each (see [`CorpusReport::warnings`]).
    pub fn warnings(&self) -> Vec<String> {
        self.latest().warnings.clone()
    }

    /// Reads what is new or changed; one pass at a time. `progress` receives the counts so far.
    pub async fn sync(&self, progress: &(dyn Fn(&SyncReport) + Send + Sync)) -> Result<SyncReport> {
        let _one_at_a_time = self.sync.lock().await;
        let mut report = SyncReport::default();
        let mut folders = Vec::new();
        for root in self.files.roots() {
            let walk = FolderContents::below(root);
            let mut folder = FolderReport::begin(root, &walk);
            for (path, reason) in &walk.unreachable {
                let failed = (path.display().to_string(), reason.clone());
                report.failed.push(failed);
            }
            for path in &walk.documents {
                let (before, failed) = (report.read + report.unchanged, report.failed.len());
                let mut notes = if is_record_file(path) {
                    let outcome = self.sync_records(path, &mut report, progress).await;
                    match outcome {
                        Ok(notes) => notes,
                        Err(e) => {
                            report.note(path.display().to_string(), e)?;
                            Vec::new()
                        }
                    }
                } else {
                    self.sync_file(path, &mut report).await?
                };
                let documents = report.read + report.unchanged - before;
                let problems = report.failed[failed..].iter();
                notes.extend(problems.map(|(_, reason)| reason_of(path, reason)));
                match (documents, notes.first()) {
                    (0, Some(first)) => folder.skip(root, path, first.clone()),
                    (0, None) => folder.skip(root, path, reason_of(path, "no record in the file")),
                    _ => folder.note(root, path, documents, notes),
                }
                progress(&report);
            }
            folders.push(folder);
        }
        let found = CorpusReport { folders };
        let mut latest = self.latest();
        latest.warnings = found.warnings();
        latest.report = Some(found);
        drop(latest);
        Ok(report)
    }

    /// Returns what was left out of the document.
    async fn sync_file(&self, path: &Path, report: &mut SyncReport) -> Result<Vec<String>> {
        let url = self.files.url_of(path)?;
        let known = self.graph.read(|r| r.page_by_url(&url))?;
        let validators = Validators {
            etag: None,
            last_modified: known.and_then(|page| page.last_modified),
        };
        let outcome = self
            .reading
            .read(&FetchRequest {
                url: url.clone(),
                validators,
                ..FetchRequest::default()
            })
            .await;
        match outcome {
            Ok(Read::Fresh(mut document)) => {
                let mut notes = std::mem::take(&mut document.warnings);
                match self.store(*document).await {
                    Ok(()) => {
                        report.read += 1;
                        notes.retain(|warning| about_meta(warning));
                        self.latest().notes.insert(url.clone(), notes);
                    }
                    Err(e) => {
                        report.note(url, e)?;
                        return Ok(Vec::new());
                    }
                }
            }
            Ok(_) => report.unchanged += 1,
            Err(e) => {
                report.note(url, e)?;
                return Ok(Vec::new());
            }
        }
        let mut notes = self.latest().notes.get(&url).cloned().unwrap_or_default();
        notes.extend(self.side_file_notes(path));
        Ok(notes)
    }

    /// Reads a file of records, which has one document per line. Returns what was left out of good
    /// lines.
    async fn sync_records(
        &self,
        path: &Path,
        report: &mut SyncReport,
        progress: &(dyn Fn(&SyncReport) + Send + Sync),
    ) -> Result<Vec<String>> {
        let base = self.files.url_of(path)?;
        let (files, place) = (self.files.clone(), path.to_owned());
        let parsing = blocking(move || {
            let (stamp, body) = (files.stamp(&place)?, files.read(&place)?);
            Ok((parse_records(&body)?, body, stamp))
        });
        let (records, body, stamp) = parsing.await?;
        let hashes = self.graph.read(|r| r.record_hashes(&base))?;
        let lines: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
        let mut seen = HashSet::new();
        let mut notes = Vec::new();
        for record in records {
            let record = match record {
                Ok(record) => record,
                Err(e) => {
                    report.failed.push((base.clone(), e.to_string()));
                    continue;
                }
            };
            let warning = record.document.warnings.first();
            notes.extend(warning.map(|warning| format!("line {}: {warning}", record.line)));
            let url = record_url(&base, &record.id)?;
            if !seen.insert(record.id.clone()) {
                let reason = format!(
                    "line {}: the id {:?} stands on an earlier line",
                    record.line, record.id
                );
                report.failed.push((url, reason));
                continue;
            }
            let line = lines.get(record.line - 1).copied().unwrap_or_default();
            let hash = sha256_hex(line);
            if hashes.get(&url) == Some(&hash) {
                report.unchanged += 1;
                continue;
            }
            let source = record_source(&url, hash, line.len(), &stamp);
            match self.store_record(source, record.document).await {
                Ok(()) => report.read += 1,
                Err(e) => report.note(url, e)?,
            }
            if report.read.is_multiple_of(256) {
                progress(report);
            }
        }
        Ok(notes)
    }

    async fn store_record(&self, source: DocumentSource, parsed: ParsedDocument) -> Result<()> {
        let document = self.reading.prepare(source, parsed).await?;
        self.store(document).await
    }

    /// Stores a document; segmenting its texts and computing similarities takes time.
    async fn store(&self, mut document: PreparedDocument) -> Result<()> {
        let graph = self.graph.clone();
        blocking(move || graph.write(|w| store(w, &mut document))).await
    }

    fn hits_of(&self, query: &SearchQuery, vector: &[f32]) -> Result<Vec<SearchHit>> {
        self.graph.read(|r| {
            // Only the fragments of the corpus are searched: in a graph that many tasks share, the
            // others would leave no room for them.
            let own = r.fragments_between(&self.addresses())?;
            let mut ranking = Ranking {
                query: &query.text,
                vector,
                members: own.as_ref(),
                mode: SearchMode::Hybrid,
                limit: query.limit * FRAGMENTS_PER_HIT,
            };
            let model = self.reading.embedder.info();
            loop {
                let ranked = self.vectors.rank_fragments(r, model, &ranking)?;
                let hits = self.documents_of(r, &ranked, query.limit)?;
                // One long document may have all the best fragments; other documents must be found,
                // too.
                if hits.len() == query.limit || ranked.len() < ranking.limit {
                    return Ok(hits);
                }
                ranking.limit *= WIDER;
            }
        })
    }

    /// The documents that the fragments belong to, in the order of their best fragments.
    fn documents_of(
        &self,
        reader: &Reader<'_>,
        ranked: &[Scored],
        limit: usize,
    ) -> Result<Vec<SearchHit>> {
        let mut hits: Vec<SearchHit> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        for scored in ranked {
            let Some(hit) = reader.passage_hit(&scored.id)? else {
                continue;
            };
            if !self.is_ours(&hit.url) || !seen.insert(hit.url.clone()) {
                continue;
            }
            hits.push(SearchHit {
                url: hit.url,
                rank: hits.len() + 1,
                title: hit.title.clone(),
                snippet: hit.snippet,
                meta: DocumentMeta {
                    title: hit.title,
                    year: hit.year,
                    venue: hit.venue,
                    doi: hit.doi,
                    ..DocumentMeta::default()
                },
                ..SearchHit::default()
            });
            if hits.len() == limit {
                break;
            }
        }
        Ok(hits)
    }

    /// The addresses of the documents, as half-open ranges.
    fn addresses(&self) -> Vec<(String, String)> {
        let roots = self.files.roots().iter().zip(self.files.addresses());
        // '0' follows '/', and '$' follows '#': records of a file, or files of a folder.
        let ranges = roots.map(|(root, base)| match root.is_file() {
            true => (base.clone(), format!("{base}$")),
            false => (format!("{base}/"), format!("{base}0")),
        });
        ranges.collect()
    }

    fn is_ours(&self, url: &str) -> bool {
        self.files.owns(url)
    }
}

#[async_trait::async_trait]
impl SearchProvider for CorpusProvider {
    fn name(&self) -> &'static str {
        "corpus"
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        self.sync(&|_| ()).await?;
        let embedder = &self.reading.embedder;
        let vector = embedder.embed(&[&query.text], TextRole::Query).await?;
        let vector = vector.into_iter().next().unwrap_or_default();
        self.hits_of(query, &vector)
    }

    async fn lookup_doi(&self, doi: &str) -> Result<Option<SearchHit>> {
        self.sync(&|_| ()).await?;
        self.graph.read(|r| {
            let Some(page_id) = r.page_by_identifier("doi", doi)? else {
                return Ok(None);
            };
            let page = r.page(&page_id)?;
            Ok(self.is_ours(&page.url).then(|| SearchHit {
                url: page.url,
                rank: 1,
                title: page.title,
                snippet: None,
                meta: DocumentMeta {
                    doi: Some(doi.to_owned()),
                    ..DocumentMeta::default()
                },
                ..SearchHit::default()
            }))
        })
    }
}

fn record_source(url: &str, hash: String, length: usize, stamp: &str) -> DocumentSource {
    DocumentSource {
        url: url.to_owned(),
        fetch_method: "file".to_owned(),
        content_type: Some("application/x-ndjson".to_owned()),
        content_hash: hash,
        content_length: length,
        validators: Validators {
            etag: None,
            last_modified: Some(stamp.to_owned()),
        },
        ..DocumentSource::default()
    }
}

/// The address of a record in a file.
pub(crate) fn record_url(base: &str, id: &str) -> Result<String> {
    let mut url = Url::parse(base).map_err(|e| Error::internal(e.to_string()))?;
    // `set_fragment` does not escape `%`, which decoding would take for an escape.
    url.set_fragment(Some(&id.replace('%', "%25")));
    Ok(url.into())
}
