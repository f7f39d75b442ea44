//! Requests to an embedding server, and parsing and validation of its replies.

use crate::error::{Error, ErrorKind, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

/// The API of an embedding server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingApi {
    /// `POST /v1/embeddings`, supported by OpenAI, vLLM, llama.cpp, LM Studio and others.
    OpenAi,
    /// `POST /api/embed` of Ollama.
    Ollama,
}

impl EmbeddingApi {
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

/// The body of a request.
pub(super) fn request(api: EmbeddingApi, model: &str, texts: &[String], base64: bool) -> Value {
    match api {
        EmbeddingApi::OpenAi => {
            let format = if base64 { "base64" } else { "float" };
            json!({ "model": model, "input": texts, "encoding_format": format })
        }
        EmbeddingApi::Ollama => json!({ "model": model, "input": texts, "truncate": true }),
    }
}

#[derive(Deserialize)]
struct OpenAiReply {
    data: Vec<OpenAiItem>,
}

#[derive(Deserialize)]
struct OpenAiItem {
    index: usize,
    embedding: Embedding,
}

/// Numbers, or f32 little-endian in base64. Servers may use either form, whatever was requested.
#[derive(Deserialize)]
#[serde(untagged)]
enum Embedding {
    Numbers(Vec<f32>),
    Base64(String),
}

#[derive(Deserialize)]
struct OllamaReply {
    embeddings: Vec<Vec<f32>>,
}

/// The vectors of a reply, in the order of the `count` texts that were sent.
pub(super) fn vectors(api: EmbeddingApi, body: &[u8], count: usize) -> Result<Vec<Vec<f32>>> {
    let vectors = match api {
        EmbeddingApi::Ollama => parse::<OllamaReply>(body)?.embeddings,
        EmbeddingApi::OpenAi => in_order(parse::<OpenAiReply>(body)?.data, count)?,
    };
    if vectors.len() != count {
        let message = format!(
            "the reply holds {} vectors for {count} texts",
            vectors.len()
        );
        return Err(broken(message));
    }
    Ok(vectors)
}

fn parse<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|e| {
        // The parser's message may quote the reply, so only the position is reported.
        broken(format!(
            "the reply is no list of embeddings (line {}, column {})",
            e.line(),
            e.column()
        ))
        .with_hint(
            "check that the address is that of an embeddings endpoint, and which API it speaks",
        )
    })
}

/// Items may come in any order; each has the index of its text.
fn in_order(items: Vec<OpenAiItem>, count: usize) -> Result<Vec<Vec<f32>>> {
    let mut placed: Vec<Option<Vec<f32>>> = vec![None; count];
    let found = items.len();
    for OpenAiItem { index, embedding } in items {
        let place = placed.get_mut(index).ok_or_else(|| {
            broken(format!(
                "the reply has a vector with the index {index} for {count} texts"
            ))
        })?;
        if place.is_some() {
            return Err(broken(format!(
                "the reply has two vectors with the index {index}"
            )));
        }
        *place = Some(match embedding {
            Embedding::Numbers(numbers) => numbers,
            Embedding::Base64(text) => decode(&text)?,
        });
    }
    placed
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| broken(format!("the reply holds {found} vectors for {count} texts")))
}

fn decode(text: &str) -> Result<Vec<f32>> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|_| broken("a vector of the reply is not base64".to_owned()))?;
    let (values, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(broken("a vector of the reply is cut off".to_owned()));
    }
    Ok(values
        .iter()
        .map(|value| f32::from_le_bytes(*value))
        .collect())
}

fn broken(message: String) -> Error {
    Error::new(ErrorKind::Backend, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base64(values: &[f32]) -> String {
        STANDARD.encode(
            values
                .iter()
                .flat_map(|v| v.to_le_bytes())
                .collect::<Vec<u8>>(),
        )
    }

    #[test]
    fn replies_are_put_in_order_and_counted() {
        let (a, b) = ([1.0_f32, 0.5], [0.25_f32, -1.0]);
        let swapped = json!({ "data": [
            { "index": 1, "embedding": b, "object": "embedding" },
            { "index": 0, "embedding": base64(&a) },
        ], "model": "m", "usage": { "total_tokens": 4 } });
        let plain = json!({ "model": "m", "embeddings": [a, b], "total_duration": 12 });
        let item =
            |index: Value, embedding: Value| json!({ "index": index, "embedding": embedding });
        use EmbeddingApi::{Ollama, OpenAi};
        for (api, body, expected) in [
            (OpenAi, swapped.clone(), Ok(())),
            (Ollama, plain.clone(), Ok(())),
            (OpenAi, plain, Err("no list of embeddings")),
            (Ollama, swapped, Err("no list of embeddings")),
            (
                Ollama,
                json!({ "embeddings": [a] }),
                Err("1 vectors for 2 texts"),
            ),
            (
                OpenAi,
                json!({ "data": [item(json!(0), json!(a))] }),
                Err("1 vectors for 2 texts"),
            ),
            (
                OpenAi,
                json!({ "data": [item(json!(0), json!(a)), item(json!(0), json!(b))] }),
                Err("two vectors with the index 0"),
            ),
            (
                OpenAi,
                json!({ "data": [item(json!(0), json!(a)), item(json!(2), json!(b))] }),
                Err("index 2 for 2 texts"),
            ),
            (
                OpenAi,
                json!({ "data": [item(json!(null), json!(a))] }),
                Err("no list of embeddings"),
            ),
            (
                OpenAi,
                json!({ "data": [item(json!(0), json!([null]))] }),
                Err("no list of embeddings"),
            ),
            (
                OpenAi,
                json!({ "data": [item(json!(0), json!("AAA*"))] }),
                Err("not base64"),
            ),
            (
                OpenAi,
                json!({ "data": [item(json!(0), json!("AAAAAAA="))] }),
                Err("cut off"),
            ),
            (
                Ollama,
                json!({ "error": "no" }),
                Err("no list of embeddings"),
            ),
        ] {
            let text = body.to_string();
            match (vectors(api, text.as_bytes(), 2), expected) {
                (Ok(vectors), Ok(())) => assert_eq!(vectors, [a, b], "{text}"),
                (Err(error), Err(why)) => assert!(error.message().contains(why), "{text}: {error}"),
                (got, expected) => panic!("{text}: {got:?} for {expected:?}"),
            }
        }
    }
}
