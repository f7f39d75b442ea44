//! The intermediate graphs of a merge of many sources, each in a folder beside the target.

use crate::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Prefix of the folder names.
const PREFIX: &str = ".lyra-merge-";

/// A file in the folder that the merge keeps locked. The system releases the lock when a process dies.
const LOCK: &str = "lock";

/// A folder that is removed when the merge ends. A folder left by a killed merge is removed by the next
/// merge that creates a folder in the same place.
#[derive(Debug)]
pub(super) struct Between {
    /// None on a file system without locks: such a folder stays if its merge is killed. Closed before
    /// the folder is removed, as Windows requires.
    _lock: Option<File>,
    folder: TempDir,
}

impl Between {
    pub(super) fn beside(target: &Path) -> Result<Self> {
        let place = match target.parent() {
            Some(place) if !place.as_os_str().is_empty() => place,
            _ => Path::new("."),
        };
        remove_abandoned(place);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place);
        let folder = folder.map_err(|error| {
            let message = format!("no folder can be made in {}: {error}", place.display());
            Error::new(ErrorKind::Backend, message).with_source(error)
        })?;
        let lock = lock_in(folder.path()).ok();
        Ok(Self {
            _lock: lock,
            folder,
        })
    }

    pub(super) fn graph(&self) -> PathBuf {
        self.folder.path().join("graph.db")
    }
}

/// The file is locked before it gets its name, so that no other process finds it unlocked.
fn lock_in(folder: &Path) -> io::Result<File> {
    let new = folder.join("new");
    let file = File::create(&new)?;
    file.try_lock()?;
    std::fs::rename(&new, folder.join(LOCK))?;
    Ok(file)
}

/// Removes the folders of killed merges. Folders that cannot be removed stay.
fn remove_abandoned(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !is_folder || !is_ours {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        let is_abandoned = lock.is_ok_and(|lock| lock.try_lock().is_ok());
        if is_abandoned {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_merges_go_and_those_of_others_stay() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("all.db");
        let held = Between::beside(&target).unwrap();
        let killed = Between::beside(&target).unwrap();
        std::fs::write(killed.graph(), "half a graph").unwrap();
        // A killed process removes nothing and holds no locks.
        let Between { folder, _lock } = killed;
        let killed = folder.keep();
        drop(_lock);
        let foreign = place.path().join(".lyra-merge-notes");
        std::fs::create_dir(&foreign).unwrap();

        let next = Between::beside(&target).unwrap();
        assert!(!killed.exists());
        assert!(held.folder.path().exists() && next.folder.path().exists());
        assert!(foreign.exists(), "it holds no lock file");
        let own = held.folder.path().to_owned();
        drop((held, next));
        assert!(!own.exists());
    }
}
