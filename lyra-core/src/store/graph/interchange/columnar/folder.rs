//! The folder of an export: created atomically, and distinguished from other folders.

use super::super::fields::{LineType, Table};
use super::layout::{EXTENSION, SCRIPT, SUMS, task_of, unwritable};
use super::tables::{FlatTable, TASK_ID, flat_tables};
use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder that is written beside the target and replaces it when complete.
pub(super) struct NewFolder {
    made: TempDir,
    wanted: PathBuf,
}

impl NewFolder {
    /// Starts a new folder. The target may be an earlier export or an empty folder, and nothing else.
    pub(super) fn create(wanted: &Path) -> Result<Self> {
        refuse_foreign(wanted)?;
        let parent = wanted.parent().filter(|p| !p.as_os_str().is_empty());
        let made = named(".lyra-", ".part")
            .tempdir_in(parent.unwrap_or(Path::new(".")))
            .map_err(|e| unwritable(wanted, std::io::Error::from(e.kind())))?;
        Ok(Self {
            made,
            wanted: wanted.to_owned(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.made.path()
    }

    /// Moves the folder to its target; an earlier export is removed afterwards.
    pub(super) fn finish(self) -> Result<()> {
        // The target may have changed in the meantime.
        refuse_foreign(&self.wanted)?;
        let failed = |e: std::io::Error| unwritable(&self.wanted, e);
        let before = match self.wanted.exists() {
            false => None,
            true => {
                let parent = self.made.path().parent().unwrap_or(Path::new("."));
                let aside = named(".lyra-", ".old").tempdir_in(parent).map_err(failed)?;
                let old = aside.path().join("old");
                std::fs::rename(&self.wanted, &old).map_err(failed)?;
                Some((aside, old))
            }
        };
        if let Err(error) = std::fs::rename(self.made.path(), &self.wanted) {
            if let Some((_, old)) = &before {
                std::fs::rename(old, &self.wanted).map_err(failed)?;
            }
            return Err(failed(error));
        }
        // The folder has been renamed, so the temporary directory must not be removed.
        let _ = self.made.keep();
        Ok(())
    }
}

fn named(prefix: &'static str, suffix: &'static str) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(suffix);
    // The usual permissions of new folders, not the private ones of temporary folders.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    builder
}

/// One file with rows of a table of the JSONL format.
#[derive(Debug)]
pub(super) struct PartFile {
    pub(super) table: &'static Table,
    pub(super) path: PathBuf,
    /// Its path inside the folder, for messages.
    pub(super) label: String,
    /// The task in the name of its folder.
    pub(super) task_id: Option<String>,
}

/// The meaning of a name in the folder.
enum FolderEntry {
    /// A file with rows.
    Rows,
    /// A folder with the rows of a task, or of no task.
    Task(Option<String>),
    /// Files that other programs leave beside the rows and that an import ignores.
    Ignored,
}

/// The files that an import reads, in table order.
pub(super) fn parts(dir: &Path) -> Result<Vec<PartFile>> {
    let tables = flat_tables();
    let mut parts: Vec<(LineType, PartFile)> = Vec::new();
    let mut known = false;
    for entry in entries(dir)? {
        let name = entry.file_name();
        let Some(table) = table_of(&tables, &name) else {
            if is_ignored(&name) || name == SCRIPT || name == SUMS {
                continue;
            }
            return Err(unknown(
                &entry.path(),
                "a folder of a table, views.sql or SHA256SUMS",
            ));
        };
        known = true;
        if let Some(record) = table.record {
            let found = parts_of(record, &entry.path())?;
            parts.extend(found.into_iter().map(|part| (record.record, part)));
        }
    }
    if !known {
        let message = format!("{} holds no table of a graph", dir.display());
        return Err(Error::invalid(message)
            .with_hint("give the folder that `export --format parquet --out DIR` wrote"));
    }
    parts.sort_by_key(|(record, _)| *record);
    Ok(parts.into_iter().map(|(_, part)| part).collect())
}

fn parts_of(table: &'static Table, folder: &Path) -> Result<Vec<PartFile>> {
    let has_task = table.fields.iter().any(|field| field.name == TASK_ID);
    let mut parts = Vec::new();
    let mut add = |path: PathBuf, task_id: Option<String>| {
        let names = path.strip_prefix(folder).unwrap_or(&path);
        let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        let label = format!("{}/{}", table.name, names.join("/"));
        parts.push(PartFile {
            table,
            path,
            label,
            task_id,
        });
    };
    for entry in entries(folder)? {
        match kind_of(&entry, has_task)? {
            FolderEntry::Ignored => {}
            FolderEntry::Rows => add(entry.path(), None),
            FolderEntry::Task(task_id) => {
                for inner in entries(&entry.path())? {
                    match kind_of(&inner, false)? {
                        FolderEntry::Rows => add(inner.path(), task_id.clone()),
                        FolderEntry::Ignored | FolderEntry::Task(_) => {}
                    }
                }
            }
        }
    }
    Ok(parts)
}

fn kind_of(entry: &DirEntry, has_task: bool) -> Result<FolderEntry> {
    let (path, name) = (entry.path(), entry.file_name());
    if is_ignored(&name) {
        return Ok(FolderEntry::Ignored);
    }
    if path.is_file() && path.extension() == Some(OsStr::new(EXTENSION)) {
        return Ok(FolderEntry::Rows);
    }
    let task = name.to_str().and_then(task_of);
    match task.filter(|_| has_task && path.is_dir()) {
        Some(task_id) => Ok(FolderEntry::Task(task_id)),
        None if has_task => Err(unknown(&path, "files *.parquet and folders task_id=…")),
        None => Err(unknown(&path, "files *.parquet")),
    }
}

/// Refuses a folder that an export must not replace.
fn refuse_foreign(dir: &Path) -> Result<()> {
    if !dir.exists() && !dir.is_symlink() {
        return Ok(());
    }
    let not_replaced = |path: &Path| {
        Error::invalid(format!("{} is not of an earlier export", path.display()))
            .with_hint("name a folder that is new, empty or an earlier export; nothing was written")
    };
    if !dir.is_dir() || dir.is_symlink() {
        return Err(not_replaced(dir));
    }
    let tables = flat_tables();
    for entry in entries(dir)? {
        let (path, name) = (entry.path(), entry.file_name());
        if [SCRIPT, SUMS].iter().any(|beside| name == *beside) {
            continue;
        }
        if table_of(&tables, &name).is_none() || !path.is_dir() {
            return Err(not_replaced(&path));
        }
        if let Some(foreign) = foreign_in(&path, true)? {
            return Err(not_replaced(&foreign));
        }
    }
    Ok(())
}

/// An entry in the folder of a table that is not a file of rows, if there is one.
fn foreign_in(folder: &Path, has_task: bool) -> Result<Option<PathBuf>> {
    for entry in entries(folder)? {
        let foreign = match kind_of(&entry, has_task) {
            Ok(FolderEntry::Rows) => None,
            Ok(FolderEntry::Task(_)) => foreign_in(&entry.path(), false)?,
            Ok(FolderEntry::Ignored) | Err(_) => Some(entry.path()),
        };
        if foreign.is_some() {
            return Ok(foreign);
        }
    }
    Ok(None)
}

/// The entries of a folder, sorted by name.
pub(super) fn entries(dir: &Path) -> Result<Vec<DirEntry>> {
    let unreadable = |e: std::io::Error| {
        Error::invalid(format!("{} cannot be read: {e}", dir.display()))
            .with_hint("give the folder of an export to Parquet")
            .with_source(e)
    };
    let entries = std::fs::read_dir(dir).map_err(unreadable)?;
    let mut entries: Vec<DirEntry> = entries
        .collect::<std::io::Result<_>>()
        .map_err(unreadable)?;
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

fn table_of<'t>(tables: &'t [FlatTable], name: &OsStr) -> Option<&'t FlatTable> {
    tables.iter().find(|table| name == table.name)
}

/// Names of files that programs write beside the rows: `_SUCCESS`, `.part-0.parquet.crc`.
fn is_ignored(name: &OsStr) -> bool {
    let first = name.as_encoded_bytes().first();
    first.is_some_and(|byte| matches!(byte, b'.' | b'_'))
}

fn unknown(path: &Path, expected: &str) -> Error {
    let message = format!("{} is unknown; expected {expected}", path.display());
    Error::invalid(message)
        .with_hint("nothing was written; move what is no part of the export away")
}
