//! Which server and model, and how it is asked.

use crate::web::ApiKey;
use crate::web::api::ApiOptions;
use std::time::Duration;

/// How a server wants to be talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatApi {
    /// `POST /v1/chat/completions`, as OpenAI, vLLM, llama.cpp, LM Studio and others speak it.
    OpenAi,
    /// `POST /api/chat` of Ollama.
    Ollama,
}

impl ChatApi {
    /// Where the server is if nobody says.
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

/// Which server and model, how much it is asked at once, and how patient we are.
#[derive(Debug, Clone)]
pub struct LlmOptions {
    /// What the server speaks.
    pub api: ChatApi,
    /// The server, its API's root, or the endpoint itself.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// For servers that want one.
    pub key: Option<ApiKey>,
    /// Requests that are on their way at once.
    pub at_once: usize,
    /// Passages of one request, at most.
    pub max_passages: usize,
    /// Characters of the passages or pairs of one request, at most; one of Chinese, Japanese or
    /// Korean counts as three, because it makes as many tokens.
    pub max_chars: usize,
    /// Pairs of one request to the judge, at most.
    pub max_pairs: usize,
    /// Tokens that prompt and reply have room in. Ollama has to be told, and cuts off the beginning
    /// of what is longer; the others know.
    pub context_tokens: u32,
    /// Tokens of a reply, at most.
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
