//! Local files as documents: only inside the folders that the user configured.

use super::corpus::documents_below;
use super::local_file::LocalFile;
use super::meta::apply_sidecar;
pub(super) use super::meta::sidecar_path;
use super::parser::record_line;
use super::records::{MAX_RECORDS_BYTES, is_record_file};
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{FetchRequest, FetchedDocument, Fetcher, Validators};
use crate::research::ingest::blocking;
use crate::store::model::DocumentMeta;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use url::Url;

/// Maximum size of a document.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum size of a side file.
const MAX_SIDE_BYTES: u64 = 1024 * 1024;

/// Fetches `file:` addresses inside the corpus folders, after resolving links.
///
/// `file:///folder/list.jsonl#id` is one record of a file of records.
#[derive(Debug, Clone)]
pub struct FileFetcher {
    roots: Vec<PathBuf>,
    /// The addresses that the folders are known under; they differ from the real ones only for
    /// copies.
    addresses: Vec<String>,
}

/// A corpus file with its content.
pub(crate) struct CorpusFile {
    /// Index of its folder.
    pub(crate) folder: usize,
    /// Its path below the folder, or the file name if the corpus is a single file.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    pub(crate) modified: SystemTime,
}

impl FileFetcher {
    /// A fetcher for these folders (or single files), which must exist.
    pub fn new(roots: &[PathBuf]) -> Result<Self> {
        let canonical = roots.iter().map(|root| {
            root.canonicalize().map_err(|e| {
                Error::not_found(format!("corpus {}: {e}", root.display())).with_hint(
                    "give the path of a folder: --corpus DIR on the command line, corpus= in Python",
                )
            })
        });
        let roots: Vec<PathBuf> = canonical.collect::<Result<_>>()?;
        let addresses = roots.iter().map(|root| own_address(root));
        Ok(Self {
            addresses: addresses.collect::<Result<_>>()?,
            roots,
        })
    }

    /// Like `new`, for copies of folders, which are served under the addresses of their originals.
    pub(crate) fn of_copies(copies: &[(PathBuf, String)]) -> Result<Self> {
        let roots: Vec<PathBuf> = copies.iter().map(|(root, _)| root.clone()).collect();
        let mut files = Self::new(&roots)?;
        files.addresses = copies.iter().map(|(_, address)| address.clone()).collect();
        Ok(files)
    }

    /// The addresses of the folders.
    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// The address of a file in the folders.
    pub(super) fn url_of(&self, path: &Path) -> Result<String> {
        let own = file_url(path)?;
        for (root, address) in self.roots.iter().zip(&self.addresses) {
            if let Some(rest) = below(&own, &own_address(root)?) {
                return Ok(format!("{address}{rest}"));
            }
        }
        Ok(own)
    }

    /// Whether an address belongs to a file in the folders.
    pub(super) fn owns(&self, url: &str) -> bool {
        self.addresses
            .iter()
            .any(|address| below(url, address).is_some())
    }

    /// The real location, in a copy, of what an address names.
    fn at_home(&self, url: &str) -> Result<String> {
        for (root, address) in self.roots.iter().zip(&self.addresses) {
            if let Some(rest) = below(url, address) {
                return Ok(format!("{}{rest}", own_address(root)?));
            }
        }
        Ok(url.to_owned())
    }

    /// Visits every document of the folders with its side file, in a fixed order. Unreadable files
    /// are skipped.
    pub(crate) fn each_file(&self, then: &mut dyn FnMut(CorpusFile) -> Result<()>) -> Result<()> {
        for (folder, root) in self.roots.iter().enumerate() {
            for path in documents_below(root) {
                let beside = sidecar_path(&path);
                let opened = [
                    (&path, LocalFile::open(&path, &self.roots).ok()),
                    (&beside, self.open_side_file(&path).ok().flatten()),
                ];
                for (path, file) in opened {
                    let Some(file) = file else { continue };
                    let modified = file.state().1.unwrap_or(SystemTime::UNIX_EPOCH);
                    let Ok(body) = file.read(MAX_RECORDS_BYTES as u64) else {
                        continue;
                    };
                    let below = path.strip_prefix(root).ok();
                    let name = below.filter(|below| !below.as_os_str().is_empty());
                    let name = name.map_or(path.file_name().map(Path::new), Some);
                    let parts = name
                        .into_iter()
                        .flatten()
                        .map(|part| part.to_string_lossy());
                    then(CorpusFile {
                        folder,
                        path: parts.collect::<Vec<_>>().join("/"),
                        body,
                        modified,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// The folders, links resolved.
    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    fn path_of(&self, url: &str) -> Result<(PathBuf, Option<String>)> {
        let parsed =
            Url::parse(&self.at_home(url)?).map_err(|e| Error::invalid(format!("{url:?}: {e}")))?;
        let record = parsed.fragment().map(percent_decoded);
        let outside = || {
            Error::new(
                ErrorKind::Backend,
                format!("{url} lies outside the corpus folders"),
            )
            .with_hint("file: addresses are read only inside the folders given with --corpus")
        };
        let path = parsed.to_file_path().map_err(|()| outside())?;
        // The reply is the same whether or not a file exists outside the folders. A path that leads
        // out with `..` has already been normalised in the URL.
        let is_within = |path: &Path| self.roots.iter().any(|root| path.starts_with(root));
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(e) if is_within(&path) => return Err(Error::not_found(format!("{url}: {e}"))),
            Err(_) => return Err(outside()),
        };
        if is_within(&real) {
            Ok((real, record))
        } else {
            Err(outside())
        }
    }
}

#[async_trait::async_trait]
impl Fetcher for FileFetcher {
    fn name(&self) -> &'static str {
        "file"
    }

    fn accepts(&self, url: &str) -> bool {
        url.starts_with("file:")
    }

    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument> {
        let (path, record) = self.path_of(&request.url)?;
        let (files, request) = (self.clone(), request.clone());
        blocking(move || files.fetch_file(&path, record.as_deref(), &request)).await
    }
}

impl FileFetcher {
    fn fetch_file(
        &self,
        path: &Path,
        record: Option<&str>,
        request: &FetchRequest,
    ) -> Result<FetchedDocument> {
        let stamp = self.stamp(path)?;
        if request.validators.last_modified.as_deref() == Some(stamp.as_str()) {
            return Ok(FetchedDocument::NotModified);
        }
        let mut body = self.read(path)?;
        if let Some(id) = record {
            body = record_line(&body, id)
                .ok_or_else(|| Error::not_found(format!("{}: no record {id:?}", path.display())))?;
        }
        Ok(FetchedDocument::Found {
            final_url: request.url.clone(),
            status: None,
            content_type: None,
            body,
            known: Box::new(self.side_file(path).0),
            validators: Validators {
                etag: None,
                last_modified: Some(stamp),
            },
        })
    }

    /// The content of a document or of a file of records.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let limit = match is_record_file(path) {
            true => MAX_RECORDS_BYTES as u64,
            false => MAX_BYTES,
        };
        LocalFile::open(path, &self.roots)?.read(limit)
    }

    /// Opens the side file of a document; `None` if it does not exist.
    pub(super) fn open_side_file(&self, path: &Path) -> Result<Option<LocalFile>> {
        let beside = sidecar_path(path);
        // If the corpus is a single file, the side file is next to it, too.
        let is_root = self.roots.iter().any(|root| root == path);
        let own = is_root.then(|| beside.clone());
        let roots: Vec<PathBuf> = self.roots.iter().cloned().chain(own).collect();
        match LocalFile::open(&beside, &roots) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The contents of a document's side file, and what was left out of it. A bad side file does
    /// not make the document itself unreadable.
    pub(super) fn side_file(&self, path: &Path) -> (DocumentMeta, Vec<String>) {
        let mut meta = DocumentMeta::default();
        let opened = self.open_side_file(path);
        let bytes = opened.and_then(|file| file.map(|file| file.read(MAX_SIDE_BYTES)).transpose());
        let problems = match bytes {
            Ok(None) => Vec::new(),
            Ok(Some(bytes)) => match std::str::from_utf8(&bytes) {
                Ok(json) => apply_sidecar(&mut meta, json),
                Err(_) => vec!["not one JSON object: the file is not UTF-8".to_owned()],
            },
            Err(e) => {
                let name = format!("{}: ", sidecar_path(path).display());
                let problem = e.message();
                vec![problem.strip_prefix(&name).unwrap_or(problem).to_owned()]
            }
        };
        (meta, problems)
    }

    /// Changes whenever the file or its side file changes: modification times and sizes of both.
    pub(super) fn stamp(&self, path: &Path) -> Result<String> {
        let own = LocalFile::open(path, &self.roots)?.stamp();
        Ok(match self.open_side_file(path) {
            Ok(Some(beside)) => format!("{own}+{}", beside.stamp()),
            _ => own,
        })
    }
}

/// The address of a path.
pub(super) fn file_url(path: &Path) -> Result<String> {
    Url::from_file_path(path)
        .map(String::from)
        .map_err(|()| Error::invalid(format!("{} is not an absolute path", path.display())))
}

fn own_address(root: &Path) -> Result<String> {
    Ok(file_url(root)?.trim_end_matches('/').to_owned())
}

/// The part of an address below that of a folder, or after that of a file.
fn below<'a>(url: &'a str, address: &str) -> Option<&'a str> {
    let rest = url.strip_prefix(address)?;
    (rest.is_empty() || rest.starts_with(['/', '#'])).then_some(rest)
}

/// The id after the `#` of an address, as written in the file.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten();
        if let Some(byte) = hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            decoded.push(byte);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fetched(root: &Path, url: &str) -> Result<FetchedDocument> {
        let fetcher = FileFetcher::new(&[root.to_path_buf()])?;
        fetcher
            .fetch(&FetchRequest {
                url: url.to_owned(),
                ..FetchRequest::default()
            })
            .await
    }

    #[tokio::test]
    async fn stays_inside_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("corpus");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("a b.txt"), "inside").unwrap();
        std::fs::write(folder.path().join("secret.txt"), "outside").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret.txt"), root.join("link.txt"))
            .unwrap();
        let base = Url::from_directory_path(&root).unwrap();
        let inside = fetched(&root, base.join("a%20b.txt").unwrap().as_str())
            .await
            .unwrap();
        assert!(matches!(inside, FetchedDocument::Found { body, .. } if body == b"inside"));
        // Whether or not the file exists.
        for outside in [
            "../secret.txt",
            "link.txt",
            "/etc/hostname",
            "../none.txt",
            "/etc/hosts/x",
        ] {
            let url = base.join(outside).unwrap();
            let error = fetched(&root, url.as_str()).await.unwrap_err();
            let expected = format!("{url} lies outside the corpus folders");
            assert_eq!(error.message(), expected, "{outside}");
        }
        let missing = fetched(&root, base.join("no.txt").unwrap().as_str())
            .await
            .unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn ids_survive_the_way_through_an_address() {
        for id in ["R&D", "100 %41", "a+b c", "日本語#2", "\"quoted\"", "%"] {
            let mut url = Url::parse("file:///x.jsonl").unwrap();
            url.set_fragment(Some(&id.replace('%', "%25")));
            assert_eq!(percent_decoded(url.fragment().unwrap()), id);
        }
    }

    #[tokio::test]
    async fn an_unchanged_file_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "text").unwrap();
        let fetcher = FileFetcher::new(&[folder.path().to_path_buf()]).unwrap();
        let url = Url::from_file_path(&file).unwrap().to_string();
        let first = FetchRequest {
            url,
            ..FetchRequest::default()
        };
        let FetchedDocument::Found { validators, .. } = fetcher.fetch(&first).await.unwrap() else {
            panic!("not found")
        };
        let again = FetchRequest {
            validators,
            ..first
        };
        assert_eq!(
            fetcher.fetch(&again).await.unwrap(),
            FetchedDocument::NotModified
        );
        std::fs::write(sidecar_path(&file), r#"{"title": "T", "year": 2020}"#).unwrap();
        let FetchedDocument::Found { known, .. } = fetcher.fetch(&again).await.unwrap() else {
            panic!("a new sidecar makes a new document")
        };
        assert_eq!(
            (known.title.as_deref(), known.year),
            (Some("T"), Some(2020))
        );
    }
}
