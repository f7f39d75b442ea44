//! The choice of the embedder: its text form in a configuration, and opening it.

use crate::error::{Error, Result};
use crate::ports::Embedder;
use crate::web::ApiKey;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The choice of the embedder.
///
/// ```
/// use lyra_core::models::EmbedderChoice;
/// assert_eq!("builtin".parse::<EmbedderChoice>()?, EmbedderChoice::Builtin);
/// assert_eq!("onnx:models/minilm".parse::<EmbedderChoice>()?, EmbedderChoice::Onnx("models/minilm".into()));
/// assert_eq!("ollama:nomic-embed-text".parse::<EmbedderChoice>()?.to_string(), "ollama:nomic-embed-text");
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EmbedderChoice {
    /// The built-in static table.
    #[default]
    Builtin,
    /// A sentence encoder exported to ONNX: its folder, or a graph in it.
    Onnx(PathBuf),
    /// A model on a server with OpenAI's `/v1/embeddings`.
    OpenAi(String),
    /// A model on an Ollama server.
    Ollama(String),
}

impl EmbedderChoice {
    /// Whether the embedder uses a server.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::OpenAi(_) | Self::Ollama(_))
    }
}

impl FromStr for EmbedderChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let rest = rest.trim();
        match (kind.trim(), rest.is_empty()) {
            ("builtin" | "static", true) => Ok(Self::Builtin),
            ("onnx", false) => Ok(Self::Onnx(rest.into())),
            ("openai", false) => Ok(Self::OpenAi(rest.to_owned())),
            ("ollama", false) => Ok(Self::Ollama(rest.to_owned())),
            _ => Err(Error::invalid(format!("there is no embedder {text:?}"))
                .with_hint("expected builtin, onnx:FOLDER, openai:MODEL or ollama:MODEL")),
        }
    }
}

impl std::fmt::Display for EmbedderChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Builtin => f.write_str("builtin"),
            Self::Onnx(folder) => write!(f, "onnx:{}", folder.display()),
            Self::OpenAi(model) => write!(f, "openai:{model}"),
            Self::Ollama(model) => write!(f, "ollama:{model}"),
        }
    }
}

/// The configuration of an embedder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EmbedderSettings {
    /// The choice.
    pub choice: EmbedderChoice,
    /// The server, if not the default.
    pub url: Option<String>,
    /// For servers that require a key.
    pub key: Option<ApiKey>,
    /// Length of a server's vectors; if missing, the server is asked.
    pub dimension: Option<usize>,
    /// Timeout of one request to a server; 60 seconds if missing.
    pub timeout: Option<Duration>,
    /// The ONNX Runtime library, or a folder that contains it.
    pub onnx_runtime: Option<PathBuf>,
}

impl EmbedderSettings {
    /// Opens the embedder; none means the built-in one.
    ///
    /// An unsuitable model file, a missing library, a server that does not answer and an embedder
    /// that this build does not include are errors with a hint on what to do.
    pub async fn open(&self) -> Result<Option<Arc<dyn Embedder>>> {
        match &self.choice {
            EmbedderChoice::Builtin => Ok(None),
            EmbedderChoice::Onnx(model) => self.open_onnx(model.clone()).map(Some),
            EmbedderChoice::OpenAi(model) => self.connect(Api::OpenAi, model).await.map(Some),
            EmbedderChoice::Ollama(model) => self.connect(Api::Ollama, model).await.map(Some),
        }
    }

    #[cfg(feature = "onnx")]
    fn open_onnx(&self, model: PathBuf) -> Result<Arc<dyn Embedder>> {
        let options = super::OnnxOptions {
            runtime: self.onnx_runtime.clone(),
            ..super::OnnxOptions::new(model)
        };
        Ok(Arc::new(super::OnnxEmbedder::open(&options)?))
    }

    #[cfg(not(feature = "onnx"))]
    #[allow(clippy::unused_self, reason = "the same call in every build")]
    fn open_onnx(&self, _model: PathBuf) -> Result<Arc<dyn Embedder>> {
        Err(not_built("ONNX models", "onnx"))
    }

    #[cfg(feature = "http")]
    async fn connect(&self, api: Api, model: &str) -> Result<Arc<dyn Embedder>> {
        let api = match api {
            Api::OpenAi => super::EmbeddingApi::OpenAi,
            Api::Ollama => super::EmbeddingApi::Ollama,
        };
        let usual = super::HttpEmbedderOptions::new(api, model);
        let options = super::HttpEmbedderOptions {
            url: self.url.clone().unwrap_or_else(|| usual.url.clone()),
            key: self.key.clone(),
            dimension: self.dimension,
            timeout: self.timeout.unwrap_or(usual.timeout),
            ..usual
        };
        Ok(Arc::new(super::HttpEmbedder::connect(options).await?))
    }

    #[cfg(not(feature = "http"))]
    #[allow(
        clippy::unused_async,
        clippy::unused_self,
        reason = "the same call in every build"
    )]
    async fn connect(&self, _api: Api, _model: &str) -> Result<Arc<dyn Embedder>> {
        Err(not_built("embedding servers", "http"))
    }
}

/// The API of a server. It is defined here for builds without the client.
#[derive(Debug, Clone, Copy)]
enum Api {
    OpenAi,
    Ollama,
}

/// Whether models in ONNX files can run here. `runtime` is the ONNX Runtime library, or a folder
/// that contains it; the first library that loads is used until the process ends.
///
/// # Errors
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if this build does not include them,
/// [`ErrorKind::Backend`](crate::ErrorKind::Backend) if the library is missing.
pub fn onnx_can_run(runtime: Option<&Path>) -> Result<()> {
    #[cfg(feature = "onnx")]
    return super::onnx::check_runtime(runtime);
    #[cfg(not(feature = "onnx"))]
    {
        let _ = runtime;
        Err(not_built("ONNX models", "onnx"))
    }
}

#[cfg(not(all(feature = "onnx", feature = "http")))]
pub(super) fn not_built(what: &str, feature: &str) -> Error {
    Error::new(
        crate::ErrorKind::Unsupported,
        format!("this build does not include {what}"),
    )
    .with_hint(format!(
        "build with the {feature} feature: cargo build --features {feature}"
    ))
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
            "openai:text-embedding-3-small",
            "ollama:bge-m3:latest",
        ] {
            let choice: EmbedderChoice = text.parse().unwrap();
            assert_eq!(choice.to_string(), text);
            assert_eq!(
                choice.is_remote(),
                text.starts_with('o') && !text.starts_with("onnx")
            );
        }
        for bad in [
            "",
            "onnx",
            "onnx:",
            "openai: ",
            "builtin:x",
            "candle:x",
            "http://localhost",
        ] {
            let error = bad.parse::<EmbedderChoice>().unwrap_err();
            assert!(
                error
                    .hint()
                    .is_some_and(|hint| hint.contains("ollama:MODEL")),
                "{bad}"
            );
        }
    }

    #[cfg(feature = "http")]
    #[tokio::test]
    async fn a_silent_server_is_given_up_after_the_time_that_is_set() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let settings = EmbedderSettings {
            choice: "openai:m".parse().unwrap(),
            url: Some(format!("http://{}/v1", silent.local_addr().unwrap())),
            timeout: Some(Duration::from_millis(40)),
            ..EmbedderSettings::default()
        };
        let error = settings.open().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        assert!(error.message().contains("within 40ms"), "{error}");
        assert!(error.hint().unwrap().contains("embedder_timeout"));
    }

    #[tokio::test]
    async fn what_cannot_be_opened_says_why() {
        let builtin = EmbedderSettings::default();
        assert!(builtin.open().await.unwrap().is_none());
        let settings = EmbedderSettings {
            choice: "onnx:/nowhere/model".parse().unwrap(),
            ..EmbedderSettings::default()
        };
        let error = settings.open().await.unwrap_err();
        let built = cfg!(feature = "onnx");
        let kind = if built {
            ErrorKind::Backend
        } else {
            ErrorKind::Unsupported
        };
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.hint().is_some());
    }
}
