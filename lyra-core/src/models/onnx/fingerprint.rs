//! Distinguishes one model from another.

use super::folder::ModelFolder;
use crate::error::{Error, ErrorKind, Result};
use crate::store::text::hash::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The identity of a model: the bytes of its graph, weights and tokenizer, and its settings.
pub(super) struct ModelFingerprint {
    /// Twelve hex digits.
    pub(super) hash: String,
    /// Whether the graph quantises at run time.
    pub(super) is_dynamic: bool,
}

impl ModelFingerprint {
    pub(super) fn read(folder: &ModelFolder, settings: &str) -> Result<Self> {
        let mut hash = Sha256::new();
        let mut is_dynamic = false;
        for path in weight_files(&folder.graph) {
            is_dynamic |= hash_file(&mut hash, &path, b"DynamicQuantizeLinear")?;
        }
        hash_file(&mut hash, &folder.tokenizer, b"\0")?;
        hash.update(settings);
        let mut hash = hex(&hash.finalize());
        hash.truncate(12);
        Ok(Self { hash, is_dynamic })
    }
}

/// The graph, and the weight files beside it that begin with its name (`model.onnx_data`).
fn weight_files(graph: &Path) -> Vec<PathBuf> {
    let name = graph.file_name().map(|n| n.to_string_lossy().into_owned());
    let entries = graph
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok());
    let mut files: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let other = entry.file_name();
            let other = other.to_string_lossy();
            name.as_deref().is_some_and(|name| {
                other
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(['_', '.']))
            })
        })
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files.insert(0, graph.to_path_buf());
    files
}

/// Adds a file to a hash; returns whether the file contains `mark`.
fn hash_file(hash: &mut Sha256, path: &Path, mark: &[u8]) -> Result<bool> {
    let unreadable = |e: std::io::Error| {
        Error::new(
            ErrorKind::Backend,
            format!("{} cannot be read: {e}", path.display()),
        )
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let mut buffer = vec![0_u8; 1 << 20];
    let mut kept = 0;
    let mut found = false;
    loop {
        let read = file.read(&mut buffer[kept..]).map_err(unreadable)?;
        if read == 0 {
            return Ok(found);
        }
        let filled = kept + read;
        hash.update(&buffer[kept..filled]);
        found = found
            || buffer[..filled]
                .windows(mark.len())
                .any(|part| part == mark);
        // A mark may cross the boundary of two chunks.
        kept = filled.min(mark.len() - 1);
        buffer.copy_within(filled - kept..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_hashed_whole_and_searched_across_its_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.onnx");
        let mark = b"DynamicQuantizeLinear";
        for (at, expected) in [(Some(10), true), (Some((1 << 20) - 7), true), (None, false)] {
            let mut bytes = vec![7_u8; (2 << 20) + 11];
            if let Some(at) = at {
                bytes[at..at + mark.len()].copy_from_slice(mark);
            }
            std::fs::write(&path, &bytes).unwrap();
            let mut hash = Sha256::new();
            assert_eq!(
                hash_file(&mut hash, &path, mark).unwrap(),
                expected,
                "{at:?}"
            );
            assert_eq!(hash.finalize(), Sha256::digest(&bytes), "{at:?}");
        }
    }

    #[test]
    fn weights_beside_the_graph_belong_to_it() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "model.onnx",
            "model.onnx_data",
            "model.onnx.data",
            "model_int8.onnx",
        ] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let files = weight_files(&folder.path().join("model.onnx"));
        let names: Vec<_> = files
            .iter()
            .filter_map(|f| f.file_name()?.to_str())
            .collect();
        assert_eq!(names, ["model.onnx", "model.onnx.data", "model.onnx_data"]);
    }
}
