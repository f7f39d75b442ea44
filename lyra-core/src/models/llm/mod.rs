//! Language models on servers: OpenAI's `/v1/chat/completions`, which many servers speak, and
//! Ollama's `/api/chat`.
//!
//! A model reads text that strangers wrote, so nothing rests on its obedience. Fetched text stands
//! between delimiters that nobody can guess ([`fence`]); a reply has to have the form that was asked
//! for, and is asked for once more where it has not; what a claim says is kept only where its quote
//! is found in the passage, character by character ([`quote`]).

mod chat;
mod claims;
mod fence;
mod options;
mod reply;
mod stance;
mod wire;

pub use claims::LlmClaimExtractor;
pub use options::{ChatApi, LlmOptions};
pub use stance::LlmStanceJudge;
