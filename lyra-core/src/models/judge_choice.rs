//! The choice of the stance judge: its text form in a configuration, and opening it.

use super::{LlmChoice, LlmSettings};
use crate::error::{Error, Result};
use crate::ports::StanceJudge;
use crate::web::ApiKey;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// The choice of the stance judge.
///
/// ```
/// use lyra_core::models::{JudgeChoice, LlmChoice};
/// assert_eq!("builtin".parse::<JudgeChoice>()?, JudgeChoice::Builtin);
/// assert_eq!("onnx:models/nli".parse::<JudgeChoice>()?, JudgeChoice::Onnx("models/nli".into()));
/// let model = LlmChoice::Ollama("qwen3:8b".into());
/// assert_eq!("ollama:qwen3:8b".parse::<JudgeChoice>()?, JudgeChoice::Llm(model));
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum JudgeChoice {
    /// The built-in network.
    #[default]
    Builtin,
    /// A cross-encoder exported to ONNX: its folder, or a graph in it.
    Onnx(PathBuf),
    /// A language model on a server.
    Llm(LlmChoice),
}

impl JudgeChoice {
    /// Whether the judge uses a server.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Llm(_))
    }
}

impl FromStr for JudgeChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let rest = rest.trim();
        match (kind.trim(), rest.is_empty()) {
            ("builtin", true) => Ok(Self::Builtin),
            ("onnx", false) => Ok(Self::Onnx(rest.into())),
            _ => text.parse().map(Self::Llm).map_err(|_| {
                Error::invalid(format!("there is no judge {text:?}"))
                    .with_hint("expected builtin, onnx:FOLDER, openai:MODEL or ollama:MODEL")
            }),
        }
    }
}

impl std::fmt::Display for JudgeChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Builtin => f.write_str("builtin"),
            Self::Onnx(folder) => write!(f, "onnx:{}", folder.display()),
            Self::Llm(model) => write!(f, "{model}"),
        }
    }
}

/// The configuration of a stance judge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JudgeSettings {
    /// The choice.
    pub choice: JudgeChoice,
    /// The server, if not the default.
    pub url: Option<String>,
    /// For servers that require a key.
    pub key: Option<ApiKey>,
    /// The ONNX Runtime library, or a folder that contains it.
    pub onnx_runtime: Option<PathBuf>,
}

impl JudgeSettings {
    /// Opens the judge; none means the built-in one. Blocks while a graph is loaded; no request is
    /// sent to a server yet.
    ///
    /// An unsuitable model file, a missing library, an invalid address and a judge that this build
    /// does not include are errors with a hint on what to do.
    pub fn open(&self) -> Result<Option<Arc<dyn StanceJudge>>> {
        match &self.choice {
            JudgeChoice::Builtin => Ok(None),
            JudgeChoice::Onnx(model) => self.open_onnx(model.clone()).map(Some),
            JudgeChoice::Llm(model) => {
                let settings = LlmSettings {
                    url: self.url.clone(),
                    key: self.key.clone(),
                    ..LlmSettings::new(model.clone())
                };
                settings.stance_judge().map(Some)
            }
        }
    }

    #[cfg(feature = "onnx")]
    fn open_onnx(&self, model: PathBuf) -> Result<Arc<dyn StanceJudge>> {
        let options = super::OnnxOptions {
            runtime: self.onnx_runtime.clone(),
            ..super::OnnxOptions::new(model)
        };
        Ok(Arc::new(super::OnnxStanceJudge::open(&options)?))
    }

    #[cfg(not(feature = "onnx"))]
    #[allow(clippy::unused_self, reason = "the same call in every build")]
    fn open_onnx(&self, _model: PathBuf) -> Result<Arc<dyn StanceJudge>> {
        Err(super::embedder_choice::not_built("ONNX models", "onnx"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn choices_are_read_and_written() {
        for text in [
            "builtin",
            "onnx:/models/a b",
            "openai:gpt-4o-mini",
            "ollama:qwen3:8b",
        ] {
            let choice: JudgeChoice = text.parse().unwrap();
            assert_eq!(choice.to_string(), text);
            assert_eq!(
                choice.is_remote(),
                text.contains("ai:") || text.contains("ama:")
            );
        }
        for bad in ["", "llm", "onnx", "onnx:", "openai: ", "builtin:x", "x:y"] {
            let error = bad.parse::<JudgeChoice>().unwrap_err();
            assert!(error.message().contains("there is no judge"), "{error}");
            let hint = error.hint().unwrap_or_default();
            assert!(hint.contains("onnx:FOLDER"), "{bad}: {hint}");
        }
    }

    #[test]
    fn what_cannot_be_opened_says_why() {
        let settings = |choice: &str, url: Option<&str>| JudgeSettings {
            choice: choice.parse().unwrap(),
            url: url.map(str::to_owned),
            ..JudgeSettings::default()
        };
        assert!(settings("builtin", None).open().unwrap().is_none());
        let (onnx, http) = (cfg!(feature = "onnx"), cfg!(feature = "http"));
        for (settings, kind) in [
            (
                settings("onnx:/nowhere/model", None),
                if onnx {
                    ErrorKind::Backend
                } else {
                    ErrorKind::Unsupported
                },
            ),
            (
                settings("ollama:m", Some("ftp://h")),
                if http {
                    ErrorKind::InvalidInput
                } else {
                    ErrorKind::Unsupported
                },
            ),
        ] {
            let error = settings.open().unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.hint().is_some(), "{error}");
        }
        if http {
            let judge = settings("ollama:m", Some("http://h:1")).open().unwrap();
            assert_eq!(judge.unwrap().judge_id(), "ollama:m@h:1:stance-v1");
        }
    }
}
