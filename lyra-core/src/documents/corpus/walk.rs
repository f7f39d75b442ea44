//! The files below a corpus folder: supported, unreadable, and of other kinds.

use super::super::meta::sidecar_path;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Extensions of the files that are read.
const ENDINGS: &[&str] = &[
    "md", "markdown", "rst", "org", "html", "htm", "xhtml", "txt", "text", "pdf", "xml", "nxml",
    "jsonl", "ndjson",
];

/// The contents of a folder, in a fixed order.
#[derive(Debug, Default)]
pub(super) struct FolderContents {
    /// Files of a supported kind.
    pub(super) documents: Vec<PathBuf>,
    /// Links and folders that cannot be followed, with the reason.
    pub(super) unreachable: Vec<(PathBuf, String)>,
    /// Number of files of each other kind, by lower-case extension.
    pub(super) other_kinds: BTreeMap<String, usize>,
}

impl FolderContents {
    /// Walks a folder; links that lead out of it are not followed.
    pub(super) fn below(root: &Path) -> Self {
        let mut walk = Self::default();
        let mut waiting = vec![root.to_path_buf()];
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                match std::fs::read_dir(&path) {
                    Ok(entries) => {
                        let entries = entries.flatten();
                        waiting.extend(entries.filter_map(|entry| walk.admit(root, &entry)));
                    }
                    Err(e) => walk.unreachable.push((path, e.to_string())),
                }
            } else if path.is_file() {
                walk.take(path);
            } else {
                let reason = "neither a file nor a folder".to_owned();
                walk.unreachable.push((path, reason));
            }
        }
        walk.documents.sort();
        walk.unreachable.sort();
        walk
    }

    /// The path of an entry that should be visited.
    fn admit(&mut self, root: &Path, entry: &std::fs::DirEntry) -> Option<PathBuf> {
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            return None;
        }
        let is_link = entry.file_type().is_ok_and(|t| t.is_symlink());
        let reason = match path.canonicalize() {
            // A linked folder inside the root would be walked twice, or forever.
            Ok(real) if real.starts_with(root) => {
                return (!is_link || !path.is_dir()).then_some(path);
            }
            Ok(_) => "a link that leads out of the folder".to_owned(),
            Err(_) if is_link => "a link to what is not there".to_owned(),
            Err(e) => e.to_string(),
        };
        self.unreachable.push((path, reason));
        None
    }

    fn take(&mut self, path: PathBuf) {
        let ending = path.extension().and_then(|e| e.to_str());
        let ending = ending.unwrap_or_default().to_ascii_lowercase();
        let is_side_file = path
            .to_string_lossy()
            .ends_with(&*sidecar_path(Path::new("")).to_string_lossy());
        if is_side_file {
            return;
        }
        if ENDINGS.contains(&ending.as_str()) {
            self.documents.push(path);
        } else {
            *self.other_kinds.entry(ending).or_default() += 1;
        }
    }
}

/// The documents below a folder, in a fixed order.
pub(crate) fn documents_below(root: &Path) -> Vec<PathBuf> {
    FolderContents::below(root).documents
}
