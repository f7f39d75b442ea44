//! A client's configuration file: reads it, shows a diff, and writes it after a backup.

use lyra_core::{Error, Result};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Context lines around a difference.
const CONTEXT: usize = 2;

/// The text of the file, if it exists.
pub(super) fn read(file: &Path) -> Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(
            Error::invalid(format!("{} cannot be read: {error}", file.display()))
                .with_hint("expected a text file in UTF-8 that you may read"),
        ),
    }
}

/// The lines that differ, prefixed with `-` and `+`, with some context.
pub(super) fn difference(before: &str, after: &str) -> Vec<String> {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let pairs = before.iter().zip(&after);
    let head = pairs.take_while(|(a, b)| a == b).count();
    let pairs = before[head..].iter().rev().zip(after[head..].iter().rev());
    let tail = pairs.take_while(|(a, b)| a == b).count();
    let (old, new) = (
        &before[head..before.len() - tail],
        &after[head..after.len() - tail],
    );
    let mark = |sign: &str, lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| format!("{sign} {line}")).collect()
    };
    [
        mark(" ", &before[head.saturating_sub(CONTEXT)..head]),
        mark("-", old),
        mark("+", new),
        mark(" ", &after[after.len() - tail..][..tail.min(CONTEXT)]),
    ]
    .concat()
}

/// Writes the file. If it existed, it is copied first, and the path of the copy is returned. An
/// earlier copy is never overwritten.
pub(super) fn write(file: &Path, before: Option<&str>, after: &str) -> Result<Option<PathBuf>> {
    let failed = |error: std::io::Error| {
        Error::invalid(format!("{} cannot be written: {error}", file.display()))
            .with_hint("check that you may write to the file and its folder")
    };
    let Some(before) = before else {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let new = OpenOptions::new().write(true).create_new(true).open(file);
        new.and_then(|mut new| new.write_all(after.as_bytes()))
            .map_err(failed)?;
        return Ok(None);
    };
    // A link is kept: its target is written.
    let place = fs::canonicalize(file).map_err(failed)?;
    let permissions = fs::metadata(&place).map_err(failed)?.permissions();
    let copy = copied(&place, before, &permissions).map_err(failed)?;
    let folder = place.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    new.write_all(after.as_bytes()).map_err(failed)?;
    new.as_file().set_permissions(permissions).map_err(failed)?;
    if read(file)?.as_deref() != Some(before) {
        return Err(Error::invalid(format!(
            "{} was changed by another program meanwhile; nothing was written",
            file.display()
        ))
        .with_hint("run the command again"));
    }
    new.persist(&place).map_err(|error| failed(error.error))?;
    Ok(Some(copy))
}

/// Copies a text to `FILE.bak`, or to the first unused name among `FILE.bak.2`, `FILE.bak.3` …
fn copied(file: &Path, text: &str, permissions: &fs::Permissions) -> std::io::Result<PathBuf> {
    let mut nth = 1_u32;
    loop {
        let mut name = file.as_os_str().to_owned();
        name.push(".bak");
        if nth > 1 {
            name.push(format!(".{nth}"));
        }
        let copy = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).open(&copy) {
            Ok(mut new) => {
                new.set_permissions(permissions.clone())?;
                new.write_all(text.as_bytes())?;
                return Ok(copy);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => nth += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_changed_and_a_little_around_it() {
        let before = "a\nb\nc\nd\ne\nf\n";
        assert_eq!(
            difference(before, "a\nb\nc\nX\nY\ne\nf\n"),
            ["  b", "  c", "- d", "+ X", "+ Y", "  e", "  f"]
        );
        assert_eq!(difference("", "a\n"), ["+ a"]);
        assert_eq!(difference("a\na\n", "a\na\na\n"), ["  a", "  a", "+ a"]);
        assert!(
            difference(before, before)
                .iter()
                .all(|line| line.starts_with(' '))
        );
    }
}
