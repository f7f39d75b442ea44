//! Requests to a chat server, and its replies.

use super::options::{ChatApi, LlmOptions};
use serde_json::{Value, json};

/// Features that this server has rejected; they are not sent again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Quirks {
    /// No temperature and no seed: some models do not allow these settings.
    pub(super) no_sampling: bool,
    /// `max_completion_tokens` instead of `max_tokens`.
    pub(super) renamed_limit: bool,
    /// No JSON schema; the prompt describes the form anyway.
    pub(super) no_schema: bool,
}

impl Quirks {
    /// What to omit after a rejection with this message; none if nothing would change.
    pub(super) fn after(mut self, complaint: &str) -> Option<Self> {
        let said = complaint.to_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if !self.renamed_limit && names(&["max_tokens", "max_completion_tokens"]) {
            self.renamed_limit = true;
        } else if !self.no_sampling && names(&["temperature", "seed"]) {
            self.no_sampling = true;
        } else if !self.no_schema && names(&["response_format", "json_schema", "schema", "grammar"])
        {
            self.no_schema = true;
        } else {
            return None;
        }
        Some(self)
    }
}

/// The body of a request for a reply with this schema.
pub(super) fn request(
    options: &LlmOptions,
    (system, user): (&str, &str),
    schema: (&str, &Value),
    quirks: Quirks,
) -> Value {
    let mut body = json!({
        "model": options.model.trim(),
        "messages": [
            { "role": "system", "content": system },
            { "role": "user", "content": user },
        ],
        "stream": false,
    });
    match options.api {
        ChatApi::OpenAi => {
            if !quirks.no_sampling {
                body["temperature"] = json!(0);
                body["seed"] = json!(7);
            }
            let limit = if quirks.renamed_limit {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
            body[limit] = json!(options.reply_tokens);
            if !quirks.no_schema {
                body["response_format"] = json!({
                    "type": "json_schema",
                    "json_schema": { "name": schema.0, "strict": true, "schema": schema.1 },
                });
            }
        }
        ChatApi::Ollama => {
            body["options"] = json!({
                "temperature": 0, "seed": 7,
                "num_ctx": options.context_tokens, "num_predict": options.reply_tokens,
            });
            if !quirks.no_schema {
                body["format"] = schema.1.clone();
            }
        }
    }
    body
}

/// The text that the model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    /// Whether the reply was truncated.
    pub(super) is_cut: bool,
}

/// The text of a server's reply, or what is wrong with the reply.
pub(super) fn said(api: ChatApi, body: &[u8]) -> Result<Said, String> {
    let reply: Value = serde_json::from_slice(body).map_err(|e| {
        // The parser's message may quote the reply, so only the position is reported.
        let (line, column) = (e.line(), e.column());
        format!("the reply is not valid JSON (line {line}, column {column})")
    })?;
    let (message, reason) = match api {
        ChatApi::OpenAi => {
            let choice = &reply["choices"][0];
            (&choice["message"], &choice["finish_reason"])
        }
        ChatApi::Ollama => (&reply["message"], &reply["done_reason"]),
    };
    let text = message["content"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        let why = match (message["refusal"].as_str(), message.is_object()) {
            (Some(_), _) => "the model refused to answer",
            (None, true) if reason == "length" => "the model used up its reply before it answered",
            (None, true) => "the model said nothing",
            (None, false) => "the reply holds no message",
        };
        return Err(why.to_owned());
    }
    Ok(Said {
        text: text.to_owned(),
        is_cut: reason == "length",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_taken_apart() {
        let good = |text: &str, is_cut| {
            Ok(Said {
                text: text.to_owned(),
                is_cut,
            })
        };
        use ChatApi::{Ollama, OpenAi};
        for (api, body, expected) in [
            (
                OpenAi,
                json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
                    "usage": {"total_tokens": 5}}),
                good("x", false),
            ),
            (
                OpenAi,
                json!({"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}),
                good("x", true),
            ),
            (
                OpenAi,
                json!({"choices": [{"message": {"content": null, "refusal": "No."}}]}),
                Err("the model refused to answer"),
            ),
            (
                OpenAi,
                json!({"choices": [{"message": {"content": null}, "finish_reason": "length"}]}),
                Err("the model used up its reply before it answered"),
            ),
            (
                OpenAi,
                json!({"choices": []}),
                Err("the reply holds no message"),
            ),
            (OpenAi, json!([]), Err("the reply holds no message")),
            (
                Ollama,
                json!({"model": "m", "message": {"role": "assistant", "content": "x"}, "done": true, "done_reason": "stop"}),
                good("x", false),
            ),
            (
                Ollama,
                json!({"message": {"content": "x"}, "done_reason": "length"}),
                good("x", true),
            ),
            (
                Ollama,
                json!({"message": {"content": " "}}),
                Err("the model said nothing"),
            ),
        ] {
            let found = said(api, body.to_string().as_bytes());
            assert_eq!(found, expected.map_err(str::to_owned), "{body}");
        }
        let error = said(OpenAi, b"<html>secret").unwrap_err();
        assert_eq!(error, "the reply is not valid JSON (line 1, column 1)");
    }

    #[test]
    fn what_a_server_does_not_understand_is_left_out_once() {
        let mut quirks = Quirks::default();
        for complaint in [
            "Unsupported parameter: 'max_tokens' is not supported with this model.",
            "Unsupported value: 'temperature' does not support 0 with this model.",
            "This model does not support response_format json_schema",
        ] {
            quirks = quirks.after(complaint).unwrap();
            assert_eq!(quirks.after(complaint), None, "{complaint}");
        }
        assert_eq!(Quirks::default().after("model not found"), None);
        let options = LlmOptions::new(ChatApi::OpenAi, "m");
        let body = request(&options, ("", ""), ("claims", &json!({})), quirks);
        assert!(body["temperature"].is_null() && body["response_format"].is_null());
        assert_eq!(body["max_completion_tokens"], 2_048);
    }
}
