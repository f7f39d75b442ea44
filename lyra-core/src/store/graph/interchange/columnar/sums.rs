//! The checksums of an export, in the format of `sha256sum --check`: a damaged file may still be valid
//! Parquet.

use super::folder::{PartFile, entries};
use super::layout::{SUMS, unwritable};
use crate::error::{Error, Result};
use crate::store::text::hash::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Writes the checksum of every file in `dir`.
pub(super) fn write(dir: &Path) -> Result<()> {
    let mut lines = String::new();
    add(dir, "", &mut lines)?;
    let place = dir.join(SUMS);
    std::fs::write(&place, lines).map_err(|e| unwritable(&place, e))
}

fn add(folder: &Path, inside: &str, lines: &mut String) -> Result<()> {
    for entry in entries(folder)? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if path.is_dir() {
            add(&path, &format!("{inside}{name}/"), lines)?;
            continue;
        }
        let sum = sum_of(&path).map_err(|e| unwritable(&path, e))?;
        lines.push_str(&format!("{sum}  {inside}{name}\n"));
    }
    Ok(())
}

/// Compares the files to be read with their checksums, if there are any.
pub(super) fn check(dir: &Path, parts: &[PartFile]) -> Result<()> {
    let place = dir.join(SUMS);
    if !place.exists() {
        return Ok(());
    }
    let unreadable = |path: &Path, e: std::io::Error| {
        Error::invalid(format!("{} cannot be read: {e}", path.display())).with_source(e)
    };
    let text = std::fs::read_to_string(&place).map_err(|e| unreadable(&place, e))?;
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    let known: BTreeMap<&str, &str> = lines.map(|(sum, name)| (name, sum)).collect();
    for part in parts {
        let Some(expected) = known.get(part.label.as_str()) else {
            continue;
        };
        if sum_of(&part.path).map_err(|e| unreadable(&part.path, e))? != *expected {
            let message = format!(
                "{} is not as it was exported: its checksum differs",
                part.label
            );
            return Err(Error::invalid(message).with_hint(format!(
                "nothing was written; export the graph again, or remove {SUMS} if the file was \
                 changed on purpose"
            )));
        }
    }
    Ok(())
}

fn sum_of(path: &Path) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    std::io::copy(&mut File::open(path)?, &mut HashWriter(&mut hash))?;
    Ok(hex(&hash.finalize()))
}

/// Hashes everything that is written to it.
struct HashWriter<'h>(&'h mut Sha256);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
