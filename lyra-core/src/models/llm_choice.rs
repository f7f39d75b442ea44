//! The choice of the language model: its text form in a configuration, and creating a client.

use crate::error::{Error, Result};
use crate::ports::{ClaimExtractor, StanceJudge};
use crate::web::ApiKey;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The choice of the language model.
///
/// ```
/// use lyra_core::models::LlmChoice;
/// assert_eq!("openai:gpt-4o-mini".parse::<LlmChoice>()?, LlmChoice::OpenAi("gpt-4o-mini".into()));
/// assert_eq!("ollama:qwen3:8b".parse::<LlmChoice>()?.to_string(), "ollama:qwen3:8b");
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LlmChoice {
    /// A model on a server with OpenAI's `/v1/chat/completions`.
    OpenAi(String),
    /// A model on an Ollama server.
    Ollama(String),
}

impl FromStr for LlmChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, model) = text.split_once(':').unwrap_or((text, ""));
        let model = model.trim();
        match (kind.trim(), model.is_empty()) {
            ("openai", false) => Ok(Self::OpenAi(model.to_owned())),
            ("ollama", false) => Ok(Self::Ollama(model.to_owned())),
            _ => Err(
                Error::invalid(format!("there is no language model {text:?}"))
                    .with_hint("expected openai:MODEL or ollama:MODEL"),
            ),
        }
    }
}

impl std::fmt::Display for LlmChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OpenAi(model) => write!(f, "openai:{model}"),
            Self::Ollama(model) => write!(f, "ollama:{model}"),
        }
    }
}

/// The configuration of a language model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmSettings {
    /// The choice.
    pub choice: LlmChoice,
    /// The server, if not the default.
    pub url: Option<String>,
    /// For servers that require a key.
    pub key: Option<ApiKey>,
    /// Timeout of one request; 120 s if missing.
    pub timeout: Option<Duration>,
    /// Maximum number of concurrent requests; 2 if missing.
    pub at_once: Option<usize>,
}

impl LlmSettings {
    /// The model with default values for everything else.
    pub fn new(choice: LlmChoice) -> Self {
        Self {
            choice,
            url: None,
            key: None,
            timeout: None,
            at_once: None,
        }
    }

    /// A claim extractor that uses the model. No request is sent yet; an invalid address, and a
    /// build without the `http` feature, are errors.
    pub fn claim_extractor(&self) -> Result<Arc<dyn ClaimExtractor>> {
        #[cfg(feature = "http")]
        return Ok(Arc::new(super::LlmClaimExtractor::new(self.options())?));
        #[cfg(not(feature = "http"))]
        Err(not_built())
    }

    /// A stance judge that uses the model, with the same errors.
    pub fn stance_judge(&self) -> Result<Arc<dyn StanceJudge>> {
        #[cfg(feature = "http")]
        return Ok(Arc::new(super::LlmStanceJudge::new(self.options())?));
        #[cfg(not(feature = "http"))]
        Err(not_built())
    }

    #[cfg(feature = "http")]
    fn options(&self) -> super::LlmOptions {
        use super::{ChatApi, LlmOptions};
        let mut options = match &self.choice {
            LlmChoice::OpenAi(model) => LlmOptions::new(ChatApi::OpenAi, model),
            LlmChoice::Ollama(model) => LlmOptions::new(ChatApi::Ollama, model),
        };
        if let Some(url) = &self.url {
            options.url.clone_from(url);
        }
        options.key.clone_from(&self.key);
        options.at_once = self.at_once.unwrap_or(options.at_once);
        options.http.timeout = self.timeout.unwrap_or(options.http.timeout);
        options
    }
}

#[cfg(not(feature = "http"))]
fn not_built() -> Error {
    Error::new(
        crate::ErrorKind::Unsupported,
        "this build does not include language models",
    )
    .with_hint("build with the http feature: cargo build --features http")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn choices_are_read_and_written() {
        for text in ["openai:gpt-4o-mini", "ollama:qwen3:8b", "openai:org/model"] {
            assert_eq!(text.parse::<LlmChoice>().unwrap().to_string(), text);
        }
        for bad in [
            "",
            "builtin",
            "openai",
            "ollama: ",
            "http://localhost",
            "x:y",
        ] {
            let error = bad.parse::<LlmChoice>().unwrap_err();
            assert_eq!(
                error.hint(),
                Some("expected openai:MODEL or ollama:MODEL"),
                "{bad}"
            );
        }
    }

    #[test]
    fn what_cannot_be_made_says_why() {
        let mut settings = LlmSettings::new("ollama:m".parse().unwrap());
        settings.url = Some("ftp://h".to_owned());
        let errors = [
            settings.claim_extractor().unwrap_err(),
            settings.stance_judge().unwrap_err(),
        ];
        for error in errors {
            let kind = match cfg!(feature = "http") {
                true => ErrorKind::InvalidInput,
                false => ErrorKind::Unsupported,
            };
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.hint().is_some());
        }
        #[cfg(feature = "http")]
        {
            settings.url = None;
            let extractor = settings.claim_extractor().unwrap();
            assert_eq!(
                extractor.extractor_id(),
                "ollama:m@127.0.0.1:11434:claims-v1"
            );
            let judge = settings.stance_judge().unwrap();
            assert_eq!(judge.judge_id(), "ollama:m@127.0.0.1:11434:stance-v1");
        }
    }
}
