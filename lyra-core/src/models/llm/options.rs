//! The server and model, and the limits of requests.

use crate::web::ApiKey;
use crate::web::services::ApiOptions;
use std::time::Duration;

/// The API of a chat server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatApi {
    /// `POST /v1/chat/completions`, supported by OpenAI, vLLM, llama.cpp, LM Studio and others.
    OpenAi,
    /// `POST /api/chat` of Ollama.
    Ollama,
}

impl ChatApi {
    /// The default address of the server.
    pub fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }
}

/// Server, model, concurrency, size limits, timeouts and retries.
#[derive(Debug, Clone)]
pub struct LlmOptions {
    /// The API of the server.
    pub api: ChatApi,
    /// The server, the root of its API, or the endpoint itself.
    pub url: String,
    /// The model's name on the server.
    pub model: String,
    /// For servers that require a key.
    pub key: Option<ApiKey>,
    /// Maximum number of concurrent requests.
    pub at_once: usize,
    /// Maximum number of passages in one request.
    pub max_passages: usize,
    /// Maximum number of characters of the passages or pairs in one request; a Chinese, Japanese or
    /// Korean character counts as three, because it makes as many tokens.
    pub max_chars: usize,
    /// Maximum number of pairs in one request to the judge.
    pub max_pairs: usize,
    /// Context length in tokens, for prompt and reply. Ollama needs this setting and truncates the
    /// beginning of a longer prompt; other servers know the length.
    pub context_tokens: u32,
    /// Maximum number of tokens of a reply.
    pub reply_tokens: u32,
    /// Timeouts, retries and the size of a reply.
    pub http: ApiOptions,
}

impl LlmOptions {
    /// The defaults for a model.
    pub fn new(api: ChatApi, model: impl Into<String>) -> Self {
        Self {
            api,
            url: api.default_url().to_owned(),
            model: model.into(),
            key: None,
            at_once: 2,
            max_passages: 12,
            max_chars: 12_000,
            max_pairs: 8,
            context_tokens: 8_192,
            reply_tokens: 2_048,
            http: ApiOptions {
                timeout: Duration::from_secs(120),
                attempts: 3,
                patience: Duration::from_secs(60),
                max_bytes: 1024 * 1024,
                ..ApiOptions::default()
            },
        }
    }
}
