//! The token file: one line per token, with the hash of the token and never the token itself.
//!
//! ```text
//! # NAME SCOPE TASKS SHA-256
//! alice write * 5e88…
//! ci read task_1f2e,task_9a8b 0b4c…
//! ```

use super::{Access, Scope};
use lyra_core::store::text::hash::hex;
use lyra_core::store::text::names::nearest;
use lyra_core::{Error, ErrorKind, Result};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use subtle::{Choice, ConstantTimeEq};

/// Prefix of every token, so that secret scanners can recognise it.
const PREFIX: &str = "lyra_";

const HEAD: &str = "# Tokens of lyra-mcp serve --http: NAME SCOPE TASKS SHA-256\n";

pub(super) type Hash = [u8; 32];

/// A token as stored in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) access: Access,
    hash: Hash,
}

impl Token {
    /// Whether this is the token with that hash. The comparison takes constant time.
    pub(super) fn is(&self, hash: &Hash) -> Choice {
        self.hash.ct_eq(hash)
    }
}

pub(super) fn hash_of(token: &str) -> Hash {
    Sha256::digest(token.as_bytes()).into()
}

/// Adds a token, creating the file if necessary; returns the token, which is stored nowhere.
///
/// # Errors
/// `InvalidInput` if the name is taken or the file is broken; `Backend` if it cannot be written.
pub(crate) fn add(path: &Path, access: &Access) -> Result<String> {
    let mut text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => HEAD.to_owned(),
        Err(error) => return Err(unreadable(path, &error)),
    };
    let there = parse(path, &text)?;
    if there
        .iter()
        .any(|token| token.access.name() == access.name())
    {
        let message = format!("{} has a token {:?} already", path.display(), access.name());
        return Err(Error::invalid(message).with_hint("choose another name, or remove that token"));
    }
    let token = random_token()?;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let _ = writeln!(text, "{access} {}", hex(&hash_of(&token)));
    write(path, &text)?;
    Ok(token)
}

/// Removes a token from the file; everything else in it is unchanged.
///
/// # Errors
/// `NotFound` if no token has that name.
pub(crate) fn remove(path: &Path, name: &str) -> Result<()> {
    let text = read(path)?;
    let there = parse(path, &text)?;
    if !there.iter().any(|token| token.access.name() == name) {
        let error = Error::not_found(format!("{} has no token {name:?}", path.display()));
        let near = nearest(name, there.iter().map(|token| token.access.name()));
        return Err(match near.first() {
            Some(near) => error.with_hint(format!("did you mean {near:?}?")),
            None => error.with_hint("`lyra-mcp token list` shows the tokens"),
        });
    }
    let is_it = |line: &&str| line.split_whitespace().next() == Some(name);
    let kept = text.lines().filter(|line| !is_it(line));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    write(path, &kept)
}

/// The tokens of the file.
///
/// # Errors
/// `NotFound` if the file does not exist, `InvalidInput` if it is broken.
pub(crate) fn list(path: &Path) -> Result<Vec<Token>> {
    parse(path, &read(path)?)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::InvalidInput,
    };
    let message = format!("the token file {} cannot be read: {error}", path.display());
    Error::new(kind, message)
        .with_hint("`lyra-mcp token add NAME --scope read --tokens FILE` makes one")
}

fn parse(path: &Path, text: &str) -> Result<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    for (nth, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = || format!("{}, line {}", path.display(), nth + 1);
        let token = parse_line(line).map_err(|error| {
            let hint = "`lyra-mcp token add` writes lines of the form NAME SCOPE TASKS SHA-256";
            error.context(place()).with_hint(hint)
        })?;
        let name = token.access.name();
        if tokens.iter().any(|other| other.access.name() == name) {
            return Err(Error::invalid(format!(
                "{}: a second token {name:?}",
                place()
            )));
        }
        tokens.push(token);
    }
    Ok(tokens)
}

fn parse_line(line: &str) -> Result<Token> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [name, scope, tasks, hash] = fields[..] else {
        let count = fields.len();
        return Err(Error::invalid(format!(
            "the line has {count} fields; expected four: NAME SCOPE TASKS SHA-256"
        )));
    };
    let tasks = match tasks {
        "*" => Vec::new(),
        tasks => tasks.split(',').map(str::to_owned).collect(),
    };
    let hash = parse_hex(hash).ok_or_else(|| {
        Error::invalid("the last field is not a SHA-256 hash; expected 64 hexadecimal digits")
    })?;
    Ok(Token {
        access: Access::new(name, scope.parse::<Scope>()?, tasks)?,
        hash,
    })
}

fn parse_hex(text: &str) -> Option<Hash> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(hash)
}

fn random_token() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("the system gives no random bytes: {error}")))?;
    Ok(format!("{PREFIX}{}", hex(&bytes)))
}

/// Replaces the file atomically, so that a running server never reads half of it.
fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error: std::io::Error| {
        let place = path.display();
        Error::new(
            ErrorKind::Backend,
            format!("the token file {place} cannot be written: {error}"),
        )
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    // A new file of this kind is readable only by its owner.
    let mut file =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    if let Ok(before) = std::fs::metadata(path) {
        let permissions = before.permissions();
        file.as_file()
            .set_permissions(permissions)
            .map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ci() -> Access {
        let tasks = vec!["task_1".to_owned(), "task_2".to_owned()];
        Access::new("ci", Scope::Read, tasks).expect("good")
    }

    #[test]
    fn a_token_is_kept_as_its_hash_and_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens");
        let token = add(&path, &ci()).expect("added");
        assert_eq!((token.len(), &token[..5]), (69, "lyra_"));
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(!text.contains(&token[5..]), "{text}");
        let there = list(&path).expect("readable");
        assert_eq!(there[0].access, ci());
        assert!(bool::from(there[0].is(&hash_of(&token))));
        assert!(!bool::from(there[0].is(&hash_of("lyra_"))));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path)
                .expect("there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(add(&path, &ci()).is_err(), "the name is taken");
    }

    #[test]
    fn removing_leaves_the_rest_of_the_file_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens");
        let hash = "0".repeat(64);
        let text = format!("# ours\n\nalice write * {hash}\nci read task_1 {hash}\n");
        std::fs::write(&path, text).expect("written");
        let error = remove(&path, "alic").expect_err("no such token");
        assert_eq!(error.hint(), Some("did you mean \"alice\"?"));
        remove(&path, "alice").expect("removed");
        let left = std::fs::read_to_string(&path).expect("text");
        assert_eq!(left, format!("# ours\n\nci read task_1 {hash}\n"));
    }

    #[test]
    fn a_broken_line_is_named() {
        let hash = "0".repeat(64);
        for (text, expected) in [
            ("alice write *".to_owned(), "line 1: the line has 3 fields"),
            (
                format!("\nalice own * {hash}"),
                "line 2: the scope is \"own\"",
            ),
            (format!("alice write * {hash}0"), "not a SHA-256 hash"),
            (
                format!("alice write * {}", "g".repeat(64)),
                "not a SHA-256 hash",
            ),
            (format!("agent:x write * {hash}"), "cannot be a token's"),
            (
                format!("a read * {hash}\na read * {hash}"),
                "line 2: a second token \"a\"",
            ),
        ] {
            let error = parse(Path::new("tokens"), &text).expect_err(expected);
            assert!(error.message().contains(expected), "{}", error.message());
        }
    }
}
