//! vector_search.

use super::{Call, Outcome};
use crate::wire::{Quality, Reply};
use lyra_core::store::model::EmbeddingTarget;
use lyra_core::{Cutoff, SearchMode, VectorRequest};
use serde::Deserialize;

#[derive(Deserialize)]
struct Search {
    query: String,
    target: Target,
    #[serde(default)]
    task_id: Option<String>,
    top_k: usize,
    offset: usize,
    #[serde(default)]
    min_similarity: Option<f64>,
    mode: Mode,
    cutoff: End,
}

/// The wire format uses the table names, claims and fragments.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Target {
    Claims,
    Fragments,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Semantic,
    Hybrid,
    Lexical,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum End {
    None,
    Kneedle,
}

pub(super) async fn search(mut call: Call) -> Outcome {
    let Search {
        query,
        target,
        task_id,
        top_k,
        offset,
        min_similarity,
        mode,
        cutoff,
    } = call.parse()?;
    let target = match target {
        Target::Claims => EmbeddingTarget::Claim,
        Target::Fragments => EmbeddingTarget::Fragment,
    };
    let mode = match mode {
        Mode::Semantic => SearchMode::Semantic,
        Mode::Hybrid => SearchMode::Hybrid,
        Mode::Lexical => SearchMode::Lexical,
    };
    let cutoff = match cutoff {
        End::None => Cutoff::None,
        End::Kneedle => Cutoff::Kneedle,
    };
    let request = VectorRequest {
        query,
        target,
        task_id,
        top_k,
        offset,
        min_similarity,
        mode,
        cutoff,
    };
    let reply = call.engine.vector_search(&request).await?;
    let quality = if reply.missing > 0 {
        Quality::Degraded
    } else {
        Quality::Normal
    };
    Ok(Reply::of(&reply)?.at_most(quality))
}
