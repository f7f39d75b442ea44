//! Asks a model for JSON with a given schema.

use super::options::{ChatApi, LlmOptions};
use super::wire::{self, Quirks, Said};
use crate::clock::SystemClock;
use crate::error::{Error, Result};
use crate::ports::ProviderFailure;
use crate::web::api::{ApiClient, Endpoint, KeyPlace, Service, ServicePace};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// A prompt for a model.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    /// The model's role and the rules.
    pub(super) system: String,
    /// The task.
    pub(super) user: String,
    /// Name of the schema.
    pub(super) form: &'static str,
    /// The JSON schema of the reply.
    pub(super) schema: Value,
}

/// A model on a server.
#[derive(Debug)]
pub(super) struct ChatModel {
    pub(super) options: LlmOptions,
    client: ApiClient,
    /// Server and model: a name alone does not identify the model on a server.
    pub(super) name: String,
    quirks: Mutex<Quirks>,
}

impl ChatModel {
    /// A client for the model; no request is sent yet.
    pub(super) fn new(options: LlmOptions) -> Result<Self> {
        if options.model.trim().is_empty() {
            return Err(Error::invalid("the language model has no name")
                .with_hint("for example openai:gpt-4o-mini or ollama:qwen3:8b"));
        }
        let (root, call) = match options.api {
            ChatApi::OpenAi => ("/v1", "/chat/completions"),
            ChatApi::Ollama => ("", "/api/chat"),
        };
        let endpoint = Endpoint {
            server: "language model's server",
            example: options.api.default_url(),
            root,
            call,
        };
        let base = endpoint.base(&options.url)?;
        let host = base.host_str().unwrap_or_default();
        let port = base.port().map_or(String::new(), |p| format!(":{p}"));
        let name = format!(
            "{}:{}@{host}{port}",
            options.api.name(),
            options.model.trim()
        );
        let service = Service {
            name: options.api.name(),
            base,
            // Models are slow, so the number of concurrent requests matters more than their rate.
            pace: ServicePace {
                per_second: 50.0,
                burst: 50,
                at_once: options.at_once.max(1),
            },
            key: options.key.clone(),
            key_place: KeyPlace::Header("authorization", "Bearer "),
            // If a key was given, there is no fallback to requests without it.
            key_required: options.key.is_some(),
            mailto: None,
        };
        let client = ApiClient::new(service, options.http.clone(), Arc::new(SystemClock))?;
        Ok(Self {
            options,
            client,
            name,
            quirks: Mutex::default(),
        })
    }

    /// The server, and whether there is a key; never the key itself.
    pub(super) fn setup(&self) -> String {
        format!("{} at {}", self.options.model.trim(), self.client.setup())
    }

    /// The answer that `read` extracts from the reply. If a reply cannot be read, the question is
    /// asked once more, with the reason. The reply itself is not repeated: a page may have caused
    /// the model to write it.
    pub(super) async fn ask<T>(
        &self,
        prompt: &Prompt,
        read: impl Fn(&str) -> std::result::Result<T, String> + Send + Sync,
    ) -> Result<T> {
        let first = match self
            .say(&prompt.user, prompt)
            .await?
            .and_then(|s| read_said(&s, &read))
        {
            Ok(answer) => return Ok(answer),
            Err(why) => why,
        };
        let user = format!(
            "{}\nAn earlier reply to this could not be used: {first}. Answer with nothing but JSON of \
             the form that was asked for.",
            prompt.user
        );
        let again = match self
            .say(&user, prompt)
            .await?
            .and_then(|s| read_said(&s, &read))
        {
            Ok(answer) => return Ok(answer),
            Err(why) => why,
        };
        let why = if first == again {
            format!("twice: {first}")
        } else {
            format!("{first}; asked again: {again}")
        };
        let error = self.client.bad_reply(&why);
        Err(self.named(error).with_hint(
            "a larger model, or one that keeps to a JSON schema, makes fewer such replies",
        ))
    }

    /// One reply; the inner error says what is wrong with it.
    async fn say(&self, user: &str, prompt: &Prompt) -> Result<std::result::Result<Said, String>> {
        let path: &[&str] = match self.options.api {
            ChatApi::OpenAi => &["chat", "completions"],
            ChatApi::Ollama => &["api", "chat"],
        };
        loop {
            let quirks = *self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
            let schema = (prompt.form, &prompt.schema);
            let body =
                wire::request(&self.options, (&prompt.system, user), schema, quirks).to_string();
            let error = match self.client.post(path, &body).await {
                Ok(reply) => return Ok(wire::said(self.options.api, &reply)),
                Err(error) => error,
            };
            let is_refused = ProviderFailure::of(&error) == Some(&ProviderFailure::Refused);
            match quirks.after(error.message()).filter(|_| is_refused) {
                Some(fewer) => {
                    *self.quirks.lock().unwrap_or_else(PoisonError::into_inner) = fewer;
                }
                None => return Err(self.named(error)),
            }
        }
    }

    /// Adds the model and a hint to an error.
    fn named(&self, error: Error) -> Error {
        let model = self.options.model.trim();
        let hint = match (ProviderFailure::of(&error), self.options.api) {
            (Some(ProviderFailure::Outage), ChatApi::Ollama) => {
                "is Ollama running? `ollama serve` starts it; a large model may need a longer llm_timeout"
                    .to_owned()
            }
            (Some(ProviderFailure::Outage), ChatApi::OpenAi) => {
                "check llm_url, and that the server runs; a large model may need a longer llm_timeout"
                    .to_owned()
            }
            (Some(ProviderFailure::Refused), ChatApi::Ollama) => {
                format!("`ollama pull {model}` fetches the model")
            }
            (Some(ProviderFailure::Refused), ChatApi::OpenAi) => {
                "check llm_url and the model's name".to_owned()
            }
            (Some(ProviderFailure::RateLimited { .. }), _) => {
                "the server's rate limit or quota is used up; try later".to_owned()
            }
            _ => return error.context(format!("model {model}")),
        };
        error.context(format!("model {model}")).with_hint(hint)
    }
}

fn read_said<T>(
    said: &Said,
    read: impl Fn(&str) -> std::result::Result<T, String>,
) -> std::result::Result<T, String> {
    read(&said.text).map_err(|why| match said.is_cut {
        true => format!("it was cut off before its end ({why})"),
        false => why,
    })
}

/// The size of a text in the model's context, in characters of English: a token is about one
/// character of Chinese, Japanese or Korean, and about three of other scripts.
pub(super) fn room(text: &str) -> usize {
    text.chars().map(|c| if c.is_ascii() { 1 } else { 3 }).sum()
}
