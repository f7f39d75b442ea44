//! The document folders: copied into the record before the run, and read from copies in every run.

use super::tape::{Tape, failed};
use crate::documents::{CorpusFile, FileFetcher};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// A corpus file in the list of a record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FileLine {
    /// Index of its folder in `corpus`.
    folder: usize,
    /// Path below the folder, or the file name if the corpus is a single file.
    path: String,
    sha256: String,
    /// Seconds and nanoseconds since 1970.
    modified: (u64, u32),
}

/// Copies all documents in the folders into the record.
pub(super) fn take(tape: &Tape, files: &FileFetcher) -> Result<Vec<FileLine>> {
    let mut lines = Vec::new();
    files.each_file(&mut |file: CorpusFile| {
        let since = file.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = FileLine {
            folder: file.folder,
            path: file.path,
            sha256: tape.put(&file.body)?,
            modified: (since.as_secs(), since.subsec_nanos()),
        };
        let mut noted = json!(line);
        noted["type"] = json!("file");
        tape.note(&noted)?;
        lines.push(line);
        Ok(())
    })?;
    Ok(lines)
}

pub(super) fn line_of(value: Value) -> Result<FileLine> {
    serde_json::from_value(value).map_err(|e| Error::invalid(format!("a file of the record: {e}")))
}

/// Copies of the recorded folders, under the addresses of the originals.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) files: FileFetcher,
    // Deleted when nothing reads from it any more.
    _folder: TempDir,
}

/// Writes the recorded files to a temporary folder.
pub(super) fn lay_out(tape: &Tape, addresses: &[String], lines: &[FileLine]) -> Result<Copies> {
    let folder = tempfile::tempdir().map_err(|e| failed(Path::new("a temporary folder"), e))?;
    let base = folder.path().canonicalize();
    let base = base.map_err(|e| failed(folder.path(), e))?;
    let mut roots: Vec<PathBuf> = Vec::new();
    for place in 0..addresses.len() {
        let root = base.join(place.to_string());
        std::fs::create_dir_all(&root).map_err(|e| failed(&root, e))?;
        roots.push(root);
    }
    for line in lines {
        let relative = Path::new(&line.path);
        let is_plain = relative
            .components()
            .all(|c| matches!(c, Component::Normal(_)));
        let root = roots.get(line.folder).filter(|_| is_plain);
        let root = root.ok_or_else(|| {
            Error::invalid(format!("the record names the file {:?}", line.path))
                .with_hint("a file of a record lies in one of its folders")
        })?;
        let path = root.join(relative);
        write(&path, &tape.get(&line.sha256)?, line.modified).map_err(|e| failed(&path, e))?;
    }
    let copies: Vec<(PathBuf, String)> = roots
        .into_iter()
        .zip(addresses)
        .map(|(root, address)| (one_file(&root, address).unwrap_or(root), address.clone()))
        .collect();
    Ok(Copies {
        files: FileFetcher::of_copies(&copies)?,
        _folder: folder,
    })
}

/// The file of a corpus that is a single file, which has the address of the corpus.
fn one_file(root: &Path, address: &str) -> Option<PathBuf> {
    let name = url::Url::parse(address).ok()?;
    let name = name.to_file_path().ok()?;
    let file = root.join(name.file_name()?);
    let mut entries = std::fs::read_dir(root).ok()?.flatten();
    let is_alone = entries.all(|e| e.path() == file || is_side_file(&e.path(), &file));
    (is_alone && file.is_file()).then_some(file)
}

fn is_side_file(path: &Path, of: &Path) -> bool {
    path.to_string_lossy().strip_prefix(&*of.to_string_lossy()) == Some(".meta.json")
}

fn write(path: &Path, body: &[u8], modified: (u64, u32)) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, body)?;
    let time: SystemTime = UNIX_EPOCH + Duration::new(modified.0, modified.1);
    std::fs::File::options()
        .write(true)
        .open(path)?
        .set_modified(time)
}
