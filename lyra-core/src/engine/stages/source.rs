//! Resolves what a caller names to documents, each with its address.

use crate::documents::{FileFetcher, is_record_file, record_lines, record_url};
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{FetchRequest, FetchedDocument, Fetcher, Validators};
use crate::research::ingest::blocking;
use crate::store::model::DocumentMeta;
use crate::store::text::hash::sha256_hex;
use std::ops::Range;
use std::path::{Path, PathBuf};
use url::Url;

/// The source of the documents to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadSource {
    /// A file. In `.jsonl` and `.ndjson` files each line is a document (see
    /// [`parse_records`](crate::documents::parse_records)). The address of the document is that of
    /// the file, so parts of a corpus that are read on several machines agree only if the files
    /// have the same path on all of them.
    Path(PathBuf),
    /// An address that is fetched: `http:`, `https:`, or `file:` for a file.
    Url(String),
    /// A document in memory.
    Bytes {
        /// Its bytes.
        body: Vec<u8>,
        /// Its address (`http:`, `https:` or `file:`), which only identifies the document; nothing
        /// is fetched. Without one, the address is derived from the SHA-256 of the bytes. The
        /// extension determines the format if the content and the content type do not.
        url: Option<String>,
        /// HTTP content type. `application/x-ndjson` is a file of records.
        content_type: Option<String>,
    },
}

/// A request to read documents for a hypothesis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRequest {
    /// The source of the documents.
    pub source: ReadSource,
    /// For a file of records, the lines to read, counted from 0 including blank ones; `None` means
    /// all.
    pub lines: Option<Range<usize>>,
    /// The hypothesis that the documents are read for.
    pub hypothesis: String,
    /// The id of the task that the claims belong to. By default it is derived from the hypothesis,
    /// so that all parts of a corpus have the same one.
    pub task_id: Option<String>,
    /// The time written into the records, RFC 3339; `None` means now.
    pub now: Option<String>,
}

impl ReadRequest {
    /// All documents of a source, for a hypothesis, at the current time.
    pub fn new(source: ReadSource, hypothesis: impl Into<String>) -> Self {
        Self {
            source,
            lines: None,
            hypothesis: hypothesis.into(),
            task_id: None,
            now: None,
        }
    }
}

/// The result of reading.
#[derive(Debug, Default)]
pub struct ReadOutcome {
    /// Lines of the interchange format: the task, then pages, texts, fragments, claims, edges and
    /// vectors of one document after the other. Empty if nothing could be read.
    pub records: Vec<u8>,
    /// Documents that were read.
    pub documents: usize,
    /// Documents that could not be read.
    pub problems: Vec<ReadProblem>,
    /// Problems that did not prevent a document from being read, such as a model that failed, each
    /// with its address.
    pub notes: Vec<String>,
}

/// A document that could not be read.
#[derive(Debug)]
pub struct ReadProblem {
    /// Its address.
    pub url: String,
    /// Why.
    pub error: Error,
}

/// A document with its address; without a body it must be fetched.
pub(super) struct AddressedDocument {
    pub(super) url: String,
    pub(super) found: Option<FetchedDocument>,
}

/// The documents of a source, in order.
pub(super) async fn documents_of(
    request: &ReadRequest,
    problems: &mut Vec<ReadProblem>,
) -> Result<Vec<AddressedDocument>> {
    check_task_id(request)?;
    match &request.source {
        ReadSource::Path(path) => of_file(path, request, problems).await,
        ReadSource::Url(url) => match path_of(url)? {
            Some(path) => of_file(&path, request, problems).await,
            None => {
                refuse_lines(request, url)?;
                let (url, found) = (url.clone(), None);
                Ok(vec![AddressedDocument { url, found }])
            }
        },
        ReadSource::Bytes {
            body,
            url,
            content_type,
        } => {
            let url = match url {
                Some(url) => address(url)?.into(),
                None => format!("file:///sha256/{}", sha256_hex(body)),
            };
            let is_records = content_type.as_deref() == Some(RECORDS)
                || Url::parse(&url).is_ok_and(|url| is_record_file(Path::new(url.path())));
            if is_records {
                refuse_web_address(&url)?;
                return of_records(body, &url, request, problems);
            }
            refuse_lines(request, &url)?;
            Ok(vec![of_bytes(url, body.clone(), content_type.clone())])
        }
    }
}

/// The content type of a file of records.
const RECORDS: &str = "application/x-ndjson";

fn check_task_id(request: &ReadRequest) -> Result<()> {
    match request.task_id.as_deref() {
        Some(id) if id.trim().is_empty() => Err(Error::invalid("task_id is empty")
            .with_hint("leave it out to derive it from the hypothesis")),
        _ => Ok(()),
    }
}

fn refuse_lines(request: &ReadRequest, url: &str) -> Result<()> {
    match &request.lines {
        None => Ok(()),
        Some(_) => Err(
            Error::invalid(format!("lines are given, but {url} is no file of records"))
                .with_hint("only .jsonl and .ndjson files are read by lines"),
        ),
    }
}

/// Records are distinguished by the fragment after `#` in their addresses, which web addresses do
/// not keep.
fn refuse_web_address(url: &str) -> Result<()> {
    match url.starts_with("http") {
        false => Ok(()),
        true => Err(Error::invalid(format!(
            "{url} is the address of a file of records; expected a file: address"
        ))
        .with_hint("give url=\"file:///NAME.jsonl\", the same for all parts of the file")),
    }
}

/// Parses an address that is valid for a page.
fn address(url: &str) -> Result<Url> {
    let wrong = |why: &str| {
        Error::invalid(format!("{url:?} is no address of a document: {why}")).with_hint(
            "expected http://, https:// or file:/// followed by the location of the document",
        )
    };
    let parsed = Url::parse(url).map_err(|e| wrong(&e.to_string()))?;
    match parsed.scheme() {
        "http" | "https" | "file" => Ok(parsed),
        scheme => Err(wrong(&format!("its scheme is {scheme:?}"))),
    }
}

/// The file that an address names; `None` for a web address.
fn path_of(url: &str) -> Result<Option<PathBuf>> {
    let parsed = address(url)?;
    if parsed.scheme() != "file" {
        return Ok(None);
    }
    let path = parsed.to_file_path();
    path.map(Some)
        .map_err(|()| Error::invalid(format!("{url:?} names no file of this machine")))
}

async fn of_file(
    path: &Path,
    request: &ReadRequest,
    problems: &mut Vec<ReadProblem>,
) -> Result<Vec<AddressedDocument>> {
    let path = path.to_owned();
    let shown = path.display().to_string();
    let meta = path.metadata().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(format!("{shown}: {e}")),
        _ => Error::new(ErrorKind::Backend, format!("{shown}: {e}")).with_source(e),
    })?;
    if meta.is_dir() {
        return Err(
            Error::invalid(format!("{shown} is a folder")).with_hint("read its files one by one")
        );
    }
    let files = FileFetcher::new(std::slice::from_ref(&path))?;
    let url = files.addresses().concat();
    let fetch = FetchRequest {
        url: url.clone(),
        ..FetchRequest::default()
    };
    if is_record_file(&path) {
        let FetchedDocument::Found { body, .. } = files.fetch(&fetch).await? else {
            return Err(Error::internal(format!("{url}: a file without a body")));
        };
        let (request, base) = (request.clone(), url);
        let (documents, found) = blocking(move || {
            let mut problems = Vec::new();
            let documents = of_records(&body, &base, &request, &mut problems)?;
            Ok((documents, problems))
        })
        .await?;
        problems.extend(found);
        return Ok(documents);
    }
    refuse_lines(request, &url)?;
    // A file that is too large or not a regular file is a problem of that document only.
    match files.fetch(&fetch).await {
        Ok(found) => Ok(vec![AddressedDocument {
            url,
            found: Some(found),
        }]),
        Err(error) => {
            problems.push(ReadProblem { url, error });
            Ok(Vec::new())
        }
    }
}

fn of_records(
    body: &[u8],
    base: &str,
    request: &ReadRequest,
    problems: &mut Vec<ReadProblem>,
) -> Result<Vec<AddressedDocument>> {
    let part = request.lines.clone().unwrap_or(0..usize::MAX);
    if part.start >= part.end {
        return Err(Error::invalid(format!(
            "lines are {} to {}; expected the second to be greater",
            part.start, part.end
        )));
    }
    let mut documents = Vec::new();
    for line in record_lines(body, &part)? {
        let url = record_url(base, &line.id)?;
        if line.is_repeated {
            let message = format!(
                "line {}: the id {:?} stands on an earlier line",
                line.number, line.id
            );
            let error = Error::invalid(message);
            problems.push(ReadProblem { url, error });
            continue;
        }
        let kind = Some(RECORDS.to_owned());
        documents.push(of_bytes(url, line.text.into_bytes(), kind));
    }
    Ok(documents)
}

fn of_bytes(url: String, body: Vec<u8>, content_type: Option<String>) -> AddressedDocument {
    let found = FetchedDocument::Found {
        final_url: url.clone(),
        status: None,
        content_type,
        body,
        known: Box::new(DocumentMeta::default()),
        validators: Validators::default(),
    };
    AddressedDocument {
        url,
        found: Some(found),
    }
}
