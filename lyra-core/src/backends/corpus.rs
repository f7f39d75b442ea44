//! The user's own documents as a search provider.
//!
//! The folders are read into the graph once (one transaction a document, so a killed run goes on
//! where it was) and again when a file changes; searching is then the graph's own hybrid search.
//! Pages and fragments are global: being in the corpus does not make a page part of a task.

use super::documents;
use super::file_fetch::{FileFetcher, sidecar_path, stamp};
use crate::error::{Error, ErrorKind, Result, SqliteResultExt};
use crate::graph::{EvidenceGraph, Reader};
use crate::ingest::{DocumentSource, Read, Reading, prepare, store};
use crate::model::DocumentMeta;
use crate::ports::{
    FetchRequest, ParsedDocument, SearchHit, SearchProvider, SearchQuery, TextRole, Validators,
};
use crate::text::hash::sha256_hex;
use crate::vectors::{Ranking, SearchMode, VectorStore};
use rusqlite::{params, params_from_iter};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Mutex;
use url::Url;

/// Endings of the files that are read.
const ENDINGS: &[&str] = &[
    "md", "markdown", "html", "htm", "xhtml", "txt", "text", "pdf", "xml", "nxml", "jsonl",
    "ndjson",
];

/// Fragments that a search looks at for each document that it may answer with.
const FRAGMENTS_PER_HIT: usize = 12;

/// What one pass over the folders did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct SyncReport {
    /// Documents that were read because they are new or changed.
    pub read: usize,
    /// Documents that were current.
    pub unchanged: usize,
    /// Documents that could not be read, with the reason.
    pub failed: Vec<(String, String)>,
}

impl SyncReport {
    /// Notes a document that could not be read. A full disk or a locked database is nobody's bad
    /// document: it ends the pass.
    fn note(&mut self, place: String, error: Error) -> Result<()> {
        if error.kind() == ErrorKind::Storage {
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
        }
    }

    /// Reads what is new or changed; one pass at a time. `progress` hears the counts so far.
    pub async fn sync(&self, progress: &(dyn Fn(&SyncReport) + Send + Sync)) -> Result<SyncReport> {
        let _one_at_a_time = self.sync.lock().await;
        let mut report = SyncReport::default();
        for root in self.files.roots() {
            for path in documents_under(root)? {
                if is_record_file(&path) {
                    if let Err(e) = self.sync_records(&path, &mut report, progress).await {
                        report.note(path.display().to_string(), e)?;
                    }
                } else {
                    self.sync_file(&path, &mut report).await?;
                }
                progress(&report);
            }
        }
        Ok(report)
    }

    async fn sync_file(&self, path: &Path, report: &mut SyncReport) -> Result<()> {
        let url = file_url(path)?;
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
            Ok(Read::Fresh(mut document)) => match self.graph.write(|w| store(w, &mut document)) {
                Ok(()) => report.read += 1,
                Err(e) => report.note(url, e)?,
            },
            Ok(_) => report.unchanged += 1,
            Err(e) => report.note(url, e)?,
        }
        Ok(())
    }

    /// A file of records is one document a line.
    async fn sync_records(
        &self,
        path: &Path,
        report: &mut SyncReport,
        progress: &(dyn Fn(&SyncReport) + Send + Sync),
    ) -> Result<()> {
        let base = file_url(path)?;
        let body = std::fs::read(path)
            .map_err(|e| Error::new(ErrorKind::Backend, format!("{}: {e}", path.display())))?;
        let stamp = stamp(path)?;
        let hashes = self.graph.read(|r| record_hashes(r, &base))?;
        let parsing = tokio::task::spawn_blocking(move || {
            documents::parse_records(&body).map(|records| (records, body))
        });
        let (records, body) = parsing
            .await
            .map_err(|e| Error::internal(e.to_string()))??;
        let lines: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
        let mut seen = HashSet::new();
        for record in records {
            let record = match record {
                Ok(record) => record,
                Err(e) => {
                    report.failed.push((base.clone(), e.to_string()));
                    continue;
                }
            };
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
        Ok(())
    }

    async fn store_record(&self, source: DocumentSource, parsed: ParsedDocument) -> Result<()> {
        let mut document = prepare(source, parsed, self.reading.embedder.as_ref()).await?;
        self.graph.write(|w| store(w, &mut document))
    }

    fn hits_of(&self, query: &SearchQuery, vector: &[f32]) -> Result<Vec<SearchHit>> {
        self.graph.read(|r| {
            // Among its own documents: in a graph that many tasks share, what they read would leave
            // no room for these.
            let own = own_fragments(r, &self.addresses()?)?;
            let ranking = Ranking {
                query: &query.text,
                vector,
                members: own.as_ref(),
                mode: SearchMode::Hybrid,
                limit: query.limit * FRAGMENTS_PER_HIT,
            };
            let model = self.reading.embedder.info();
            let ranked = self.vectors.rank_fragments(r, model, &ranking)?;
            let mut hits: Vec<SearchHit> = Vec::new();
            let mut statement = r.db.prepare_cached(HIT_SQL).db()?;
            for scored in ranked {
                let mut rows = statement.query(params![scored.id]).db()?;
                let Some(row) = rows.next().db()? else {
                    continue;
                };
                let url: String = row.get(0).db()?;
                if !self.is_ours(&url) || hits.iter().any(|h| h.url == url) {
                    continue;
                }
                hits.push(SearchHit {
                    url,
                    rank: hits.len() + 1,
                    title: row.get(1).db()?,
                    snippet: row.get(2).db()?,
                    meta: DocumentMeta {
                        title: row.get(1).db()?,
                        year: row.get(3).db()?,
                        venue: row.get(4).db()?,
                        doi: row.get(5).db()?,
                        ..DocumentMeta::default()
                    },
                    ..SearchHit::default()
                });
                if hits.len() == query.limit {
                    break;
                }
            }
            Ok(hits)
        })
    }

    /// The addresses of the documents, as ranges from the first to before the last.
    fn addresses(&self) -> Result<Vec<(String, String)>> {
        let ranges = self.files.roots().iter().map(|root| {
            let base = file_url(root)?;
            let base = base.trim_end_matches('/');
            // '0' follows '/', and '$' follows '#': records of a file, or files of a folder.
            Ok(match root.is_file() {
                true => (base.to_owned(), format!("{base}$")),
                false => (format!("{base}/"), format!("{base}0")),
            })
        });
        ranges.collect()
    }

    fn is_ours(&self, url: &str) -> bool {
        let path = Url::parse(url).ok().filter(|u| u.scheme() == "file");
        path.and_then(|u| u.to_file_path().ok())
            .is_some_and(|path| self.files.roots().iter().any(|root| path.starts_with(root)))
    }
}

const HIT_SQL: &str =
    "SELECT p.url, p.title, substr(f.text_content, 1, 200), w.year, w.venue, w.doi
    FROM fragments f JOIN pages p ON p.id = f.page_id
      LEFT JOIN works w ON w.canonical_id = p.canonical_id
    WHERE f.id = ?1
      AND f.page_version IS (SELECT max(version) FROM page_texts t WHERE t.page_id = p.id)";

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

/// The fragments of the newest texts at these addresses; none where there are no others.
fn own_fragments(
    reader: &Reader<'_>,
    addresses: &[(String, String)],
) -> Result<Option<HashSet<String>>> {
    let is_own = vec!["p.url >= ? AND p.url < ?"; addresses.len()].join(" OR ");
    let bounds = || params_from_iter(addresses.iter().flat_map(|(from, to)| [from, to]));
    let others = format!(
        "SELECT 1 FROM pages p WHERE NOT ({is_own})
           AND EXISTS (SELECT 1 FROM fragments f WHERE f.page_id = p.id)"
    );
    if !reader
        .db
        .prepare_cached(&others)
        .db()?
        .exists(bounds())
        .db()?
    {
        return Ok(None);
    }
    let own = format!(
        "SELECT f.id FROM pages p CROSS JOIN fragments f ON f.page_id = p.id WHERE ({is_own})
           AND f.page_version IS (SELECT max(version) FROM page_texts t WHERE t.page_id = p.id)"
    );
    let mut statement = reader.db.prepare_cached(&own).db()?;
    let rows = statement.query_map(bounds(), |r| r.get(0)).db()?;
    rows.collect::<rusqlite::Result<HashSet<String>>>()
        .db()
        .map(Some)
}

/// Address and content hash of every stored record of a file.
fn record_hashes(reader: &Reader<'_>, base: &str) -> Result<HashMap<String, String>> {
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT url, content_hash FROM pages WHERE url >= ?1 AND url < ?2 AND content_hash IS NOT NULL",
        )
        .db()?;
    // '$' follows '#' in ASCII: the range holds exactly the addresses that begin with "base#".
    let bounds = params![format!("{base}#"), format!("{base}$")];
    let rows = statement
        .query_map(bounds, |r| Ok((r.get(0)?, r.get(1)?)))
        .db()?;
    rows.collect::<rusqlite::Result<_>>().db()
}

/// The documents below a folder, in a fixed order; links that lead out of it are not followed.
fn documents_under(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(path) = waiting.pop() {
        if path.is_file() {
            found.extend(is_document(&path).then_some(path));
            continue;
        }
        // A folder that may not be read is passed over, like a hidden one.
        let Ok(entries) = std::fs::read_dir(&path) else {
            continue;
        };
        for entry in entries.flatten() {
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let inside = entry
                .path()
                .canonicalize()
                .is_ok_and(|real| real.starts_with(root));
            let is_link = entry.file_type().is_ok_and(|t| t.is_symlink());
            // A linked folder inside the root would be walked twice, or for ever.
            if !hidden && inside && !(is_link && entry.path().is_dir()) {
                waiting.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_document(path: &Path) -> bool {
    let ending = path
        .extension()
        .and_then(|e| e.to_str())
        .map(str::to_ascii_lowercase);
    ending.is_some_and(|e| ENDINGS.contains(&e.as_str()))
        && !path
            .to_string_lossy()
            .ends_with(&*sidecar_path(Path::new("")).to_string_lossy())
}

fn is_record_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e == "jsonl" || e == "ndjson")
}

fn file_url(path: &Path) -> Result<String> {
    Url::from_file_path(path)
        .map(String::from)
        .map_err(|()| Error::invalid(format!("{} is not an absolute path", path.display())))
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

fn record_url(base: &str, id: &str) -> Result<String> {
    let mut url = Url::parse(base).map_err(|e| Error::internal(e.to_string()))?;
    // The one character that set_fragment leaves alone and that decoding would take for its own.
    url.set_fragment(Some(&id.replace('%', "%25")));
    Ok(url.into())
}
