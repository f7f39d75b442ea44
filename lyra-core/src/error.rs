//! The public error type of the library.

use std::fmt;

/// The class of an error; stable enough to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument, a record or a file line does not have the expected form.
    InvalidInput,
    /// No task with that id.
    TaskNotFound,
    /// A named thing other than a task (claim, edge, view, page …) does not exist.
    NotFound,
    /// A budget of the task (pages, seconds) is used up.
    BudgetExhausted,
    /// A page requires a human: a challenge, a login, a cookie wall.
    AuthRequired,
    /// Untrusted SQL attempted something that is not allowed.
    QueryRejected,
    /// Untrusted SQL exceeded its time, steps or memory.
    QueryInterrupted,
    /// A stage of the research pipeline failed.
    Pipeline,
    /// Calibration could not be fitted, read or rolled back.
    Calibration,
    /// Something did not respond in time.
    Timeout,
    /// A document that its parser did not survive: it exceeded a limit of time or memory, or
    /// crashed the parser.
    HostileDocument,
    /// The database file cannot be used (foreign, corrupt, newer, read-only, full, moved).
    Storage,
    /// Other writers held the database for as long as a writer waits.
    Busy,
    /// A network, file or model outside the library failed.
    Backend,
    /// This build does not have the feature, or the graph is open read-only and the operation would
    /// write.
    Unsupported,
    /// A bug in this library.
    Internal,
}

impl ErrorKind {
    /// The code that programs in other languages see: the `error_code` of the MCP server, and
    /// `code` of the exceptions in Python.
    ///
    /// ```
    /// assert_eq!(lyra_core::ErrorKind::TaskNotFound.code(), "TASK_NOT_FOUND");
    /// ```
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidInput => "INVALID_PARAMS",
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::NotFound => "RESOURCE_NOT_FOUND",
            Self::BudgetExhausted => "BUDGET_EXHAUSTED",
            Self::AuthRequired => "AUTH_REQUIRED",
            Self::QueryRejected => "QUERY_REJECTED",
            Self::QueryInterrupted => "QUERY_INTERRUPTED",
            Self::Pipeline | Self::Backend | Self::Unsupported => "PIPELINE_ERROR",
            Self::HostileDocument => "PIPELINE_ERROR",
            Self::Calibration => "CALIBRATION_ERROR",
            Self::Timeout | Self::Busy => "TIMEOUT",
            Self::Storage | Self::Internal => "INTERNAL_ERROR",
        }
    }

    /// Whether the cause is the graph's own file: trying another document, page or service does not
    /// help.
    pub(crate) const fn is_of_database(self) -> bool {
        matches!(self, Self::Storage | Self::Busy)
    }
}

/// An error: what was wrong and, if known, how to fix it.
///
/// ```
/// use lyra_core::{Error, ErrorKind};
/// let e = Error::invalid("top_k is 0").with_hint("use a number from 1 to 50");
/// assert_eq!(e.kind(), ErrorKind::InvalidInput);
/// assert_eq!(e.hint(), Some("use a number from 1 to 50"));
/// assert_eq!(e.to_string(), "top_k is 0");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// `Result` with this library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of kind `kind` with the message `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            hint: None,
            source: None,
        }))
    }

    /// Shorthand for [`ErrorKind::InvalidInput`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// Shorthand for [`ErrorKind::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Shorthand for [`ErrorKind::TaskNotFound`].
    pub fn task_not_found(task_id: &str) -> Self {
        Self::new(ErrorKind::TaskNotFound, format!("no task {task_id:?}")).with_hint(
            "to list the tasks: lyra://tasks over MCP, `lyra-mcp tasks` on the command \
             line, graph.tasks() in Python",
        )
    }

    /// The error of every write to a graph that is open read-only.
    ///
    /// ```
    /// use lyra_core::{Error, ErrorKind};
    /// assert_eq!(Error::read_only().kind(), ErrorKind::Unsupported);
    /// ```
    pub fn read_only() -> Self {
        let message = "the graph is open read-only and cannot be changed";
        Self::new(ErrorKind::Unsupported, message).with_hint(
            "to change it, open it without --read-only (LYRA_READ_ONLY, read_only), or copy the \
             file and open the copy",
        )
    }

    /// Advice for a file that cannot be written.
    pub(crate) const LOOK_ONLY_HINT: &str = "check that the folder exists, and that it and the \
        file may be written to; to look at a graph without writing, open it with --read-only \
        (LYRA_READ_ONLY=1, read_only=True in Python)";

    /// Shorthand for [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// The same error with a hint on how to fix it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The same error with `context: ` before its message.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// The class of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// How to fix it, if known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The message without the sources.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("hint", &self.0.hint)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}
