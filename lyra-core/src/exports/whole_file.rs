//! A file that appears when it is whole.

use crate::error::{Error, ErrorKind, Result};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What every SQLite database begins with.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Names that SQLite gives to what belongs to a database.
const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A file that is written beside the one that is wanted and takes its place when it is whole: who
/// fails or is interrupted leaves what was there.
///
/// ```
/// use lyra_core::WholeFile;
/// use std::io::Write;
/// let folder = tempfile::tempdir()?;
/// let wanted = folder.path().join("report.md");
/// let mut file = WholeFile::create(&wanted)?;
/// file.write_all(b"# Report\n")?;
/// assert!(!wanted.exists());
/// file.finish()?;
/// assert_eq!(std::fs::read(&wanted)?, b"# Report\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    written: PathBuf,
    wanted: PathBuf,
}

impl WholeFile {
    /// Begins; where `wanted` is a link, what it leads to will be replaced.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where `wanted` is a folder, or a database that would be lost;
    /// [`ErrorKind::Backend`] where nothing can be written there.
    pub fn create(wanted: &Path) -> Result<Self> {
        let wanted = match wanted.is_symlink() {
            true => wanted
                .canonicalize()
                .map_err(|error| unwritable(wanted, error))?,
            false => wanted.to_owned(),
        };
        refuse_unfit(&wanted)?;
        let written = with_ending(&wanted, ".part");
        let file = File::create(&written).map_err(|error| unwritable(&wanted, error))?;
        Ok(Self {
            file,
            written,
            wanted,
        })
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] where that fails; then what was there is there still.
    pub fn finish(self) -> Result<()> {
        self.file
            .sync_all()
            .and_then(|()| std::fs::rename(&self.written, &self.wanted))
            .map_err(|error| unwritable(&self.wanted, error))
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        // After a success it has another name.
        let _ = std::fs::remove_file(&self.written);
    }
}

/// A slip in a name must not cost a graph.
fn refuse_unfit(wanted: &Path) -> Result<()> {
    if wanted.is_dir() {
        return Err(Error::invalid(format!("{} is a folder", wanted.display()))
            .with_hint("name a file in it"));
    }
    let name = wanted.to_string_lossy();
    let of_database = SIDE_FILES
        .iter()
        .filter_map(|ending| name.strip_suffix(ending));
    if is_database(wanted) || of_database.map(Path::new).any(is_database) {
        return Err(
            Error::invalid(format!("{} belongs to a database", wanted.display()))
                .with_hint("name another file; nothing was written"),
        );
    }
    Ok(())
}

fn is_database(path: &Path) -> bool {
    let mut beginning = [0; SQLITE.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == SQLITE
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(ending);
    path.with_file_name(name)
}

fn unwritable(path: &Path, error: io::Error) -> Error {
    Error::new(
        ErrorKind::Backend,
        format!("{} cannot be written: {error}", path.display()),
    )
    .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays_until_the_new_file_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = folder.path().join("a.md");
        std::fs::write(&wanted, "old").unwrap();
        let mut given_up = WholeFile::create(&wanted).unwrap();
        given_up.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!(std::fs::read(&wanted).unwrap(), b"old");
        let mut file = WholeFile::create(&wanted).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(std::fs::read(&wanted).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn no_database_and_no_folder_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let graph = folder.path().join("g.db");
        let content = [SQLITE, b"and so on"].concat();
        std::fs::write(&graph, &content).unwrap();
        for name in ["g.db", "g.db-wal", "g.db-shm", "g.db-journal", "."] {
            let error = WholeFile::create(&folder.path().join(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        }
        let missing = folder.path().join("none/a.md");
        let error = WholeFile::create(&missing).unwrap_err();
        assert!(!error.message().contains(".part"), "{error}");
        assert_eq!(std::fs::read(&graph).unwrap(), content);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.md"), folder.path().join("link.md"));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut file = WholeFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.finish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
    }
}
