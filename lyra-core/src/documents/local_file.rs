//! Opens the files that a corpus or a target names; there is no other way to open them.
//!
//! A file name is not reliable: it may be a link to another place, a pipe that never ends or a
//! device without a size, and it may change between two checks. So a file is opened without
//! blocking, and all checks use the open file: whether it is a regular file, where it is, and how
//! large it is.

use crate::error::{Error, ErrorKind, Result};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// An open regular file inside the permitted folders.
#[derive(Debug)]
pub(super) struct LocalFile {
    file: File,
    meta: Metadata,
    path: PathBuf,
}

impl LocalFile {
    /// Opens a file that is in, or is, one of `roots`, whose paths contain no links.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::InvalidInput`] if it is not a regular
    /// file, [`ErrorKind::Backend`] if it is elsewhere or cannot be read.
    pub(super) fn open(path: &Path, roots: &[PathBuf]) -> Result<Self> {
        let failed = |e: io::Error| {
            let kind = match e.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Backend,
            };
            Error::new(kind, format!("{}: {e}", path.display())).with_source(e)
        };
        let file = open_now(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        let place = place_of(&file, &meta, path).map_err(failed)?;
        if !roots.iter().any(|root| place.starts_with(root)) {
            let message = format!("{}: a link that leads out of the folder", path.display());
            return Err(Error::new(ErrorKind::Backend, message)
                .with_hint("copy the file into the folder, or give its folder with --corpus"));
        }
        if !meta.is_file() {
            let message = format!("{}: not a regular file", path.display());
            return Err(Error::invalid(message)
                .with_hint("pipes, devices and sockets are not read; save the text in a file"));
        }
        Ok(Self {
            file,
            meta,
            path: path.to_owned(),
        })
    }

    /// Size in bytes and modification time.
    pub(super) fn state(&self) -> (u64, Option<SystemTime>) {
        (self.meta.len(), self.meta.modified().ok())
    }

    /// Changes whenever the file changes: modification time and size.
    pub(super) fn stamp(&self) -> String {
        let (length, changed) = self.state();
        let since = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let since = since.unwrap_or_default();
        format!("{}.{:09}-{length}", since.as_secs(), since.subsec_nanos())
    }

    /// Reads the whole content; an error if it has more than `limit` bytes, and then no more than
    /// that is read.
    pub(super) fn read(self, limit: u64) -> Result<Vec<u8>> {
        let place = self.path.display();
        let mut body = Vec::new();
        // A file that grows in the meantime is cut off at the same limit.
        let most = if self.meta.len() > limit {
            0
        } else {
            limit + 1
        };
        let whole = self.file.take(most).read_to_end(&mut body);
        whole.map_err(|e| Error::new(ErrorKind::Backend, format!("{place}: {e}")))?;
        if self.meta.len() > limit || body.len() as u64 > limit {
            let message = format!("{place}: more than {limit} bytes; no larger file is read");
            return Err(Error::new(ErrorKind::Backend, message).with_hint("split the file"));
        }
        Ok(body)
    }
}

/// Opens without blocking: otherwise opening a pipe without a writer would wait forever.
fn open_now(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOCTTY,
    );
    options.open(path)
}

/// The location of an open file, links resolved.
fn place_of(file: &File, meta: &Metadata, path: &Path) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        if let Ok(place) = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
            return Ok(place);
        }
    }
    let _ = file;
    let place = path.canonicalize()?;
    if is_same(meta, &place.symlink_metadata()?) {
        return Ok(place);
    }
    Err(io::Error::other(
        "the file was replaced while it was being opened",
    ))
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// On this platform, the standard library does not tell which file a handle refers to.
#[cfg(not(unix))]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.len() == other.len() && one.modified().ok() == other.modified().ok()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn make_pipe(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }

    #[test]
    fn only_regular_files_inside_the_folders_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("corpus");
        std::fs::create_dir_all(root.join("below")).unwrap();
        std::fs::write(base.join("secret"), "secret").unwrap();
        std::fs::write(root.join("own"), "own").unwrap();
        std::fs::write(root.join("large"), [b'x'; 101]).unwrap();
        make_pipe(&root.join("pipe"));
        for (to, name) in [
            ("../secret", "out"),
            ("own", "in"),
            ("..", "below/up"),
            ("/dev/zero", "zero"),
            ("/dev/null", "null"),
            ("none", "dangling"),
            ("loop", "loop"),
        ] {
            symlink(to, root.join(name)).unwrap();
        }
        let read = |name: &str| {
            let file = LocalFile::open(&root.join(name), std::slice::from_ref(&root));
            file.and_then(|file| file.read(100)).map_err(|e| e.kind())
        };
        let own = Ok(b"own".to_vec());
        for (name, expected) in [
            ("own", own.clone()),
            ("in", own.clone()),
            ("below/up/own", own),
            ("out", Err(ErrorKind::Backend)),
            ("zero", Err(ErrorKind::Backend)),
            ("null", Err(ErrorKind::Backend)),
            ("loop", Err(ErrorKind::Backend)),
            ("large", Err(ErrorKind::Backend)),
            ("below", Err(ErrorKind::InvalidInput)),
            ("pipe", Err(ErrorKind::InvalidInput)),
            ("dangling", Err(ErrorKind::NotFound)),
            ("none", Err(ErrorKind::NotFound)),
        ] {
            assert_eq!(read(name), expected, "{name}");
        }
        let zero = LocalFile::open(Path::new("/dev/zero"), &[PathBuf::from("/dev")]);
        assert_eq!(zero.unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    /// A link that alternately points inside and outside.
    #[test]
    fn a_link_that_is_exchanged_never_leads_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("corpus");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("own"), "own").unwrap();
        std::fs::write(root.join("../secret"), "secret").unwrap();
        let link = root.join("link");
        symlink("own", &link).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let next = root.join("next");
                while !done.load(Ordering::Relaxed) {
                    for to in ["../secret", "own"] {
                        symlink(to, &next).unwrap();
                        std::fs::rename(&next, &link).unwrap();
                    }
                }
            });
            let mut inside = 0;
            for _ in 0..2_000 {
                let file = LocalFile::open(&link, std::slice::from_ref(&root));
                if let Ok(body) = file.and_then(|file| file.read(100)) {
                    assert_eq!(body, b"own");
                    inside += 1;
                }
            }
            done.store(true, Ordering::Relaxed);
            assert!(inside > 0);
        });
    }
}
