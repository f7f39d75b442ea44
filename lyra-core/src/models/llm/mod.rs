//! Language models on servers: OpenAI's `/v1/chat/completions`, which many servers support, and
//! Ollama's `/api/chat`.
//!
//! A model reads untrusted text, so nothing depends on it following instructions. Fetched text is
//! placed between unguessable delimiters ([`fence`]). A reply must match the requested schema; if
//! it does not, it is requested once more. A claim is kept only if its quote is found in the
//! passage, character by character ([`quote`]).

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
