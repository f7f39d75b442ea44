//! A file that appears only when it is complete.

use crate::error::{Error, ErrorKind, Result};
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The first bytes of every SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Suffixes of the files that belong to an SQLite database.
const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A file that is written next to its target and replaces it when it is complete: after a failure
/// or an interruption the old file is still there.
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
    file: NamedTempFile,
    wanted: PathBuf,
}

impl WholeFile {
    /// Begins writing. If `wanted` is a link to a regular file, that file will be replaced and the
    /// link stays. Until it is complete, the file has a name that cannot be guessed.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if `wanted` is a folder, a device, a pipe, a broken link, or a
    /// database that would be lost; [`ErrorKind::Backend`] if nothing can be written there.
    pub fn create(wanted: &Path) -> Result<Self> {
        let wanted = match wanted.is_symlink() {
            true => wanted
                .canonicalize()
                .map_err(|error| dangling(wanted, &error))?,
            false => wanted.to_owned(),
        };
        let before = refuse_unfit(&wanted)?;
        let folder = wanted.parent().filter(|f| !f.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".lyra-").suffix(".part");
        // The permissions of an existing file are kept; a new file gets the default ones.
        #[cfg(unix)]
        builder.permissions(before.map_or_else(
            || std::os::unix::fs::PermissionsExt::from_mode(0o666),
            |meta| meta.permissions(),
        ));
        #[cfg(not(unix))]
        let _ = before;
        let file = builder
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            // The error of the library names the temporary file, which means nothing to the user.
            .map_err(|error| unwritable(&wanted, error.kind().into()))?;
        Ok(Self { file, wanted })
    }

    /// Moves the file to its target.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] if that fails; the old file is then still there.
    pub fn finish(self) -> Result<()> {
        let Self { file, wanted } = self;
        let synced = file.as_file().sync_all();
        synced.map_err(|error| unwritable(&wanted, error))?;
        // The target may have changed in the meantime.
        refuse_unfit(&wanted)?;
        let persisted = file.persist(&wanted);
        persisted.map_err(|failed| unwritable(&wanted, failed.error))?;
        Ok(())
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

/// Prevents a misspelled name from destroying a graph or a device. Returns the metadata of the
/// existing file.
fn refuse_unfit(wanted: &Path) -> Result<Option<Metadata>> {
    let before = std::fs::symlink_metadata(wanted).ok();
    if before.as_ref().is_some_and(Metadata::is_dir) {
        return Err(Error::invalid(format!("{} is a folder", wanted.display()))
            .with_hint("name a file in it"));
    }
    if before.as_ref().is_some_and(|meta| !meta.is_file()) {
        let message = format!("{} is not a regular file", wanted.display());
        return Err(Error::invalid(message).with_hint(
            "name a file that is new or a regular one; without --out an export goes to standard output",
        ));
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
    Ok(before)
}

fn dangling(link: &Path, error: &io::Error) -> Error {
    let message = format!("{} is a broken link: {error}", link.display());
    Error::invalid(message).with_hint("name the file that is to be written")
}

fn is_database(path: &Path) -> bool {
    let mut beginning = [0; SQLITE.len()];
    // Opening a pipe would block until a process writes to it.
    let read = match path.is_file() {
        true => File::open(path).and_then(|mut file| file.read_exact(&mut beginning)),
        false => return false,
    };
    read.is_ok() && beginning == SQLITE
}

fn unwritable(path: &Path, error: io::Error) -> Error {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let why = match folder.is_some_and(|folder| !folder.exists()) {
        true => "its folder does not exist".to_owned(),
        false => error.to_string(),
    };
    let message = format!("{} cannot be written: {why}", path.display());
    Error::new(ErrorKind::Backend, message).with_source(error)
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

    #[cfg(unix)]
    #[test]
    fn no_link_device_or_pipe_is_written_through_or_over() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("other"), "other").unwrap();
        // Predictable names that were used earlier.
        for name in ["a.md.part", ".a.md.part", "a.md.tmp"] {
            symlink("other", at(name)).unwrap();
        }
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        symlink("/dev/null", at("null")).unwrap();
        symlink("none", at("dangling")).unwrap();
        symlink(".", at("folder")).unwrap();
        for name in ["pipe", "null", "dangling", "folder", "/dev/null"] {
            let error = WholeFile::create(&at(name)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        }
        let is_device = std::fs::metadata("/dev/null").unwrap().file_type();
        assert!(is_device.is_char_device());
        // A path that becomes a link while the file is written is not followed, either.
        let mut file = WholeFile::create(&at("a.md")).unwrap();
        file.write_all(b"new").unwrap();
        symlink("other", at("a.md")).unwrap();
        assert_eq!(file.finish().unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(std::fs::read(at("other")).unwrap(), b"other");
        // The mode of an existing file is kept.
        std::fs::write(at("secret"), "old").unwrap();
        std::fs::set_permissions(at("secret"), PermissionsExt::from_mode(0o600)).unwrap();
        WholeFile::create(&at("secret")).unwrap().finish().unwrap();
        let mode = std::fs::metadata(at("secret"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 10);
    }
}
