//! Why a child ended early, and what that says about the document.

use super::frames::ChildFault;
use super::limits::ParserLimits;
use crate::error::{Error, ErrorKind};
use crate::security::quoting::quoted;
use std::process::{ChildStderr, ExitStatus};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It never sent the greeting of a parser.
    NotStarted(String),
    /// The wall-clock time ran out.
    Late,
    /// The processor time ran out.
    Processor,
    /// It asked for more memory than it is allowed.
    Memory,
    /// Its stack overflowed.
    Stack,
    /// Another signal or exit code.
    Crash(String),
    /// Its answer is invalid.
    Nonsense(String),
    /// Another process killed it.
    Killed(i32),
    /// It exited normally between two documents.
    Left,
}

/// The number of SIGXCPU on every system that has it.
#[cfg(unix)]
const OUT_OF_PROCESSOR_TIME: i32 = 24;

impl Ended {
    pub(super) fn of(
        fault: &ChildFault,
        greeted: bool,
        status: Option<ExitStatus>,
        words: &str,
    ) -> Self {
        match fault {
            ChildFault::Late => return Self::Late,
            ChildFault::Nonsense(what) if greeted => return Self::Nonsense(what.clone()),
            _ => {}
        }
        let signal = status.and_then(signal_of);
        // A child that sends invalid data is killed by its parent.
        let is_ended_by_us = matches!(fault, ChildFault::Nonsense(_));
        if let Some(by_others @ (1 | 2 | 3 | 9 | 15)) = signal.filter(|_| !is_ended_by_us) {
            return Self::Killed(by_others);
        }
        if !greeted {
            let first = words.lines().next().unwrap_or_default();
            let what = match first.is_empty() {
                true => status.map_or_else(|| "no exit status".to_owned(), |s| s.to_string()),
                false => quoted(first, 200),
            };
            return Self::NotStarted(what);
        }
        #[cfg(unix)]
        if signal == Some(OUT_OF_PROCESSOR_TIME) {
            return Self::Processor;
        }
        // The messages of Rust's runtime, which aborts in both cases.
        if words.contains("memory allocation of") {
            return Self::Memory;
        }
        if words.contains("overflowed its stack") {
            return Self::Stack;
        }
        match status {
            Some(status) if status.success() => Self::Left,
            Some(status) => Self::Crash(status.to_string()),
            None => Self::Crash("no exit status".to_owned()),
        }
    }

    /// Whether the state left by an earlier document may be the cause.
    pub(super) fn may_be_of_another(&self) -> bool {
        matches!(
            self,
            Self::Memory | Self::Stack | Self::Crash(_) | Self::Nonsense(_) | Self::Left
        )
    }

    pub(super) fn error(&self, limits: &ParserLimits) -> Error {
        let (kind, message) = match self {
            Self::Late => (
                // Where processor time is limited as well, exceeding only the wall-clock time means
                // that the machine was busy.
                match cfg!(unix) {
                    true => ErrorKind::Timeout,
                    false => ErrorKind::HostileDocument,
                },
                format!(
                    "the document was not read within {} s; its parser was ended",
                    limits.time.as_secs_f32()
                ),
            ),
            Self::Processor => (
                ErrorKind::HostileDocument,
                format!(
                    "the document takes more than {} s of processor time to read; its parser was \
                     ended",
                    limits.processor.as_secs().max(1)
                ),
            ),
            Self::Memory => (
                ErrorKind::HostileDocument,
                format!(
                    "the document takes more than {} MiB of memory to read; its parser was ended",
                    limits.memory / (1024 * 1024)
                ),
            ),
            Self::Stack => (
                ErrorKind::HostileDocument,
                "the document overflows the stack of its parser, which was ended".to_owned(),
            ),
            Self::Crash(how) => (
                ErrorKind::HostileDocument,
                format!("the document made its parser crash ({how})"),
            ),
            Self::Nonsense(what) => (
                ErrorKind::HostileDocument,
                format!("the parser of the document sent an invalid reply ({what})"),
            ),
            Self::Killed(signal) => (
                ErrorKind::Backend,
                format!("the parser of the document was killed from outside (signal {signal})"),
            ),
            Self::NotStarted(_) | Self::Left => (
                ErrorKind::Backend,
                "the parser of the document ended unexpectedly".to_owned(),
            ),
        };
        let hint = match kind {
            ErrorKind::HostileDocument => HINT,
            _ => "try it again; see docs/hostile-documents.md",
        };
        Error::new(kind, message).with_hint(hint)
    }
}

/// Advice for a document that its parser did not survive.
pub(crate) const HINT: &str = "save its text in another format, or raise parser_memory or \
    parser_seconds; see docs/hostile-documents.md";

/// What a child that has ended wrote to standard error. Reading stops there, because a process that
/// it started may still hold the pipe.
#[cfg(unix)]
pub(super) fn last_words(stderr: ChildStderr) -> String {
    use rustix::fs::{OFlags, fcntl_setfl};
    use std::io::Read;
    let mut words = vec![0; 4096];
    let set = fcntl_setfl(&stderr, OFlags::NONBLOCK);
    let mut stderr = stderr;
    let length = match set {
        Ok(()) => stderr.read(&mut words).unwrap_or(0),
        Err(_) => 0,
    };
    String::from_utf8_lossy(&words[..length]).into_owned()
}

#[cfg(not(unix))]
pub(super) fn last_words(_: ChildStderr) -> String {
    String::new()
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}
