//! The tokens of a running server. The file is watched, so that a token that is added or removed
//! takes effect without a restart.

use super::Access;
use super::file::{Token, hash_of, list};
use lyra_core::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use subtle::ConditionallySelectable;

/// How often the file is checked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Identifies a state of the file: its length and its modification time.
type Stamp = Option<(u64, std::time::SystemTime)>;

/// The tokens that are valid now.
pub(crate) struct Tokens {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    tokens: Vec<(Token, Arc<Access>)>,
    stamp: Stamp,
    looked: Instant,
}

impl Tokens {
    /// # Errors
    /// `NotFound` or `InvalidInput` if the file is missing, broken, or contains no token.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let stamp = stamp(path);
        let tokens = list(path)?;
        if tokens.is_empty() {
            let message = format!("the token file {} holds no token", path.display());
            return Err(Error::invalid(message)
                .with_hint("`lyra-mcp token add NAME --scope read --tokens FILE` adds one"));
        }
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(State {
                tokens: shared(tokens),
                stamp,
                looked: Instant::now(),
            }),
        })
    }

    /// The access that belongs to a token. Every token is compared, each in constant time, so that
    /// the response time reveals nothing about the tokens.
    pub(crate) fn find(&self, token: &str) -> Option<Arc<Access>> {
        let hash = hash_of(token);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.follow(&mut state);
        let none = u64::MAX;
        let mut found = none;
        for (nth, (token, _)) in state.tokens.iter().enumerate() {
            found.conditional_assign(&(nth as u64), token.is(&hash));
        }
        let nth = usize::try_from(found).ok().filter(|_| found != none)?;
        state.tokens.get(nth).map(|(_, access)| Arc::clone(access))
    }

    /// Reads the file again if it has changed. If the file was deleted, there are no tokens; if it
    /// is broken, the tokens stay as they are, because an editor may be writing it.
    fn follow(&self, state: &mut State) {
        if state.looked.elapsed() < LOOK_EVERY {
            return;
        }
        state.looked = Instant::now();
        let stamp = stamp(&self.path);
        if stamp == state.stamp {
            return;
        }
        state.stamp = stamp;
        match list(&self.path) {
            Ok(tokens) => {
                crate::log::line(&format!("the token file changed: {} tokens", tokens.len()));
                state.tokens = shared(tokens);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                crate::log::warn("the token file is gone: no token is valid");
                state.tokens = Vec::new();
            }
            Err(error) => crate::log::error(&format!(
                "{}; the tokens stay as they were",
                error.message()
            )),
        }
    }
}

fn shared(tokens: Vec<Token>) -> Vec<(Token, Arc<Access>)> {
    let shared = |token: Token| {
        let access = Arc::new(token.access.clone());
        (token, access)
    };
    tokens.into_iter().map(shared).collect()
}

fn stamp(path: &Path) -> Stamp {
    let data = std::fs::metadata(path).ok()?;
    Some((data.len(), data.modified().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::{Scope, add, remove};
    use super::*;

    #[test]
    fn a_running_server_follows_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens");
        let access = |name| Access::new(name, Scope::Read, vec![]).expect("good");
        assert!(Tokens::open(&path).is_err(), "there is no file");
        let first = add(&path, &access("first")).expect("added");
        let tokens = Tokens::open(&path).expect("opens");
        let look_again = || {
            let mut state = tokens.state.lock().expect("free");
            state.looked = Instant::now()
                .checked_sub(LOOK_EVERY)
                .expect("a clock that has run for a second");
        };
        let name = |token: &str| tokens.find(token).map(|access| access.name().to_owned());
        assert_eq!(name(&first).as_deref(), Some("first"));
        assert_eq!((name(""), name(&first[1..])), (None, None));

        let second = add(&path, &access("second")).expect("added");
        look_again();
        assert_eq!(name(&second).as_deref(), Some("second"));

        remove(&path, "first").expect("removed");
        look_again();
        assert_eq!((name(&first), name(&second).is_some()), (None, true));

        std::fs::write(&path, "half a li").expect("written");
        look_again();
        assert!(name(&second).is_some(), "a broken file changes nothing");

        std::fs::remove_file(&path).expect("removed");
        look_again();
        assert_eq!(name(&second), None);
    }
}
