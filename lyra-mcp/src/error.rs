//! Errors on the wire: a closed set of codes with the spellings of the library.

use lyra_core::{Error, ErrorKind};
use serde_json::{Map, Value, json};

/// The `error_code` of a failed reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidParams,
    TaskNotFound,
    ResourceNotFound,
    BudgetExhausted,
    AuthRequired,
    /// The caller's token does not allow the call; only the server knows tokens.
    AccessDenied,
    QueryRejected,
    QueryInterrupted,
    PipelineError,
    CalibrationError,
    Timeout,
    InternalError,
}

impl Code {
    const ALL: [Self; 12] = [
        Self::InvalidParams,
        Self::TaskNotFound,
        Self::ResourceNotFound,
        Self::BudgetExhausted,
        Self::AuthRequired,
        Self::AccessDenied,
        Self::QueryRejected,
        Self::QueryInterrupted,
        Self::PipelineError,
        Self::CalibrationError,
        Self::Timeout,
        Self::InternalError,
    ];

    /// The code as sent on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidParams => "INVALID_PARAMS",
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::ResourceNotFound => "RESOURCE_NOT_FOUND",
            Self::BudgetExhausted => "BUDGET_EXHAUSTED",
            Self::AuthRequired => "AUTH_REQUIRED",
            Self::AccessDenied => "ACCESS_DENIED",
            Self::QueryRejected => "QUERY_REJECTED",
            Self::QueryInterrupted => "QUERY_INTERRUPTED",
            Self::PipelineError => "PIPELINE_ERROR",
            Self::CalibrationError => "CALIBRATION_ERROR",
            Self::Timeout => "TIMEOUT",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }

    /// The code of an error of the library, which defines the spelling. A code that is not yet
    /// known here is a bug in this program, not a mistake of the caller.
    pub(crate) fn of(kind: ErrorKind) -> Self {
        let named = Self::ALL
            .into_iter()
            .find(|code| code.as_str() == kind.code());
        named.unwrap_or(Self::InternalError)
    }
}

/// A failure as sent to a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolError {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Boxed, because otherwise every result would have its size.
    pub(crate) details: Option<Box<Value>>,
}

impl ToolError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            details: None,
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidParams, message)
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// A bug in this program: the details are logged under an id, and the client receives only the
    /// id, because the details may contain paths, SQL or other people's data.
    pub(crate) fn internal(what_happened: &str) -> Self {
        Self::hidden("something went wrong inside the server", what_happened)
            .with_hint("try again; if it happens again, report it with the error_id")
    }

    /// A call that was aborted; the log has the same id.
    pub(crate) fn cut_off(tool: &str, why: &str) -> Self {
        let what_happened = format!("the call of {tool} was cut off: {why}");
        Self::logged("cut off", Code::Timeout, &what_happened, &what_happened)
            .with_hint("its changes may have been saved: check before you call it again")
    }

    fn hidden(message: &str, what_happened: &str) -> Self {
        Self::logged("error", Code::InternalError, message, what_happened)
    }

    fn logged(label: &str, code: Code, message: &str, what_happened: &str) -> Self {
        let error_id = lyra_core::store::model::random_id("err_", 8);
        crate::log::error(&format!("{label} {error_id}: {what_happened}"));
        Self::new(code, message).with_details(json!({ "error_id": error_id }))
    }

    /// The reply's body.
    pub(crate) fn body(&self) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert("ok".into(), json!(false));
        body.insert("error_code".into(), json!(self.code.as_str()));
        body.insert("error".into(), json!(self.message));
        if let Some(hint) = &self.hint {
            body.insert("hint".into(), json!(hint));
        }
        if let Some(details) = &self.details {
            body.insert("details".into(), Value::clone(details));
        }
        body
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        let code = Code::of(error.kind());
        if code != Code::InternalError {
            let mut own = Self::new(code, error.message());
            own.hint = error.hint().map(Into::into);
            return own;
        }
        if error.kind() == ErrorKind::Storage {
            let own = Self::hidden("the database could not be used", &format!("{error:?}"));
            return own.with_hint(
                error
                    .hint()
                    .unwrap_or("`lyra-mcp doctor` says what is wrong with the database"),
            );
        }
        Self::internal(&format!("{error:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_code() {
        for (kind, code) in [
            (ErrorKind::InvalidInput, "INVALID_PARAMS"),
            (ErrorKind::TaskNotFound, "TASK_NOT_FOUND"),
            (ErrorKind::NotFound, "RESOURCE_NOT_FOUND"),
            (ErrorKind::BudgetExhausted, "BUDGET_EXHAUSTED"),
            (ErrorKind::AuthRequired, "AUTH_REQUIRED"),
            (ErrorKind::QueryRejected, "QUERY_REJECTED"),
            (ErrorKind::QueryInterrupted, "QUERY_INTERRUPTED"),
            (ErrorKind::Pipeline, "PIPELINE_ERROR"),
            (ErrorKind::HostileDocument, "PIPELINE_ERROR"),
            (ErrorKind::Backend, "PIPELINE_ERROR"),
            (ErrorKind::Unsupported, "PIPELINE_ERROR"),
            (ErrorKind::Calibration, "CALIBRATION_ERROR"),
            (ErrorKind::Timeout, "TIMEOUT"),
            (ErrorKind::Busy, "TIMEOUT"),
            (ErrorKind::Storage, "INTERNAL_ERROR"),
            (ErrorKind::Internal, "INTERNAL_ERROR"),
        ] {
            assert_eq!(Code::of(kind).as_str(), code, "{kind:?}");
        }
    }

    #[test]
    fn an_internal_error_shows_its_id_and_nothing_else() {
        for kind in [ErrorKind::Internal, ErrorKind::Storage] {
            let secret = "SELECT x FROM /home/me/lyra.db";
            let text = serde_json::to_string(&ToolError::from(Error::new(kind, secret)).body())
                .expect("plain JSON");
            assert!(
                !text.contains("SELECT") && !text.contains("/home"),
                "{text}"
            );
            assert!(text.contains("\"error_id\":\"err_"), "{text}");
        }
    }

    #[test]
    fn a_caller_error_keeps_its_words() {
        let own = ToolError::from(Error::invalid("top_k is 0").with_hint("use 1 to 50"));
        assert_eq!(own.message, "top_k is 0");
        assert_eq!(own.body()["hint"], "use 1 to 50");
    }
}
