//! A model of a folder with its tokenizer, and its run options.

use super::fingerprint::ModelFingerprint;
use super::folder::ModelFolder;
use super::graph::{Declared, Graph};
use super::{runtime, tokens};
use crate::error::Result;
use std::path::PathBuf;
use tokenizers::Tokenizer;

/// Maximum number of texts in a batch: with more, padding costs more than batching saves.
const MAX_BATCH: usize = 8;

/// Maximum number of tokens in a batch of more than one text, including padding.
const BATCH_TOKENS: usize = 512;

/// The model and its run options. A judge does not use the last three.
#[derive(Debug, Clone, PartialEq)]
pub struct OnnxOptions {
    /// A model folder with a graph, or a graph in such a folder.
    pub model: PathBuf,
    /// The graph's file in the folder; by default `model.onnx` or `onnx/model.onnx`.
    pub file: Option<String>,
    /// The ONNX Runtime library, or a folder that contains it; by default the system's loader
    /// searches for it. The first library that loads is used until the process ends.
    pub runtime: Option<PathBuf>,
    /// Threads for one batch; 0 for one per core.
    pub threads: usize,
    /// Texts in a batch, 1 to 8.
    pub max_batch: usize,
    /// Weight of the embedding in a fused ranking, 0 to 1.
    pub fusion_weight: f32,
    /// The same for a query in Chinese, Japanese or Korean; the default depends on whether the
    /// vocabulary covers these scripts.
    pub fusion_weight_cjk: Option<f32>,
    /// The cosine from which two texts are worth judging against each other.
    pub related_threshold: f32,
}

impl OnnxOptions {
    /// The defaults for a model.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Self {
            model: model.into(),
            file: None,
            runtime: None,
            threads: 0,
            max_batch: MAX_BATCH,
            fusion_weight: 0.7,
            fusion_weight_cjk: None,
            related_threshold: 0.55,
        }
    }
}

/// A model that is ready to run.
pub(super) struct OnnxModel {
    pub(super) folder: ModelFolder,
    pub(super) graph: Graph,
    /// Without truncation or padding.
    pub(super) tokenizer: Tokenizer,
    /// Maximum number of tokens of a row, including special ones.
    pub(super) max_tokens: usize,
    /// `onnx:NAME:FINGERPRINT`.
    pub(super) id: String,
}

impl OnnxModel {
    /// Loads library, graph and tokenizer of a folder. `settings` are the settings that affect a
    /// result, in addition to the files; `choose` selects the graph's output and returns
    /// information on it.
    pub(super) fn open<T>(
        options: &OnnxOptions,
        folder: ModelFolder,
        settings: &str,
        choose: impl FnOnce(&[Declared]) -> Result<(String, T)>,
    ) -> Result<(Self, T)> {
        let environment = runtime::environment(options.runtime.as_deref())?;
        let fingerprint = ModelFingerprint::read(&folder, settings)?;
        // Dynamic quantisation computes its scale from the whole batch, so the result for a text
        // would depend on its neighbours.
        let max_batch = if fingerprint.is_dynamic {
            1
        } else {
            options.max_batch.min(MAX_BATCH)
        };
        let (graph, chosen) =
            Graph::load(environment, &folder, options.threads, max_batch, choose)?;
        let tokenizer = tokens::read(&folder)?;
        let max_tokens = graph
            .fixed_tokens()
            .map_or(folder.max_tokens, |n| n.min(folder.max_tokens));
        let model = Self {
            id: format!("onnx:{}:{}", folder.name, fingerprint.hash),
            folder,
            graph,
            tokenizer,
            max_tokens,
        };
        Ok((model, chosen))
    }

    /// The greatest id that the tokenizer can produce: a graph that runs on it knows all ids.
    pub(super) fn greatest_token(&self) -> u32 {
        let ids = self.tokenizer.get_vocab(true).into_values();
        ids.max().unwrap_or(0)
    }
}

/// Groups texts into batches: similar lengths, few at a time, without empty texts.
pub(super) fn batches(lengths: &[usize], max_batch: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).filter(|&at| lengths[at] > 0).collect();
    order.sort_by_key(|&at| lengths[at]);
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for at in order {
        match batches.last_mut() {
            // The texts are sorted, so this one is the longest of its batch.
            Some(batch)
                if batch.len() < max_batch && (batch.len() + 1) * lengths[at] <= BATCH_TOKENS =>
            {
                batch.push(at);
            }
            _ => batches.push(vec![at]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_run_with_others_of_their_length() {
        for (lengths, max_batch, expected) in [
            (&[][..], 8, vec![]),
            (&[0, 0], 8, vec![]),
            (&[9, 3, 0, 5], 8, vec![vec![1, 3, 0]]),
            (&[9, 3, 0, 5], 1, vec![vec![1], vec![3], vec![0]]),
            (&[4; 10], 8, vec![vec![0, 1, 2, 3, 4, 5, 6, 7], vec![8, 9]]),
            (&[200, 10, 200, 200], 8, vec![vec![1, 0], vec![2, 3]]),
            (&[600, 500], 8, vec![vec![1], vec![0]]),
        ] {
            assert_eq!(
                batches(lengths, max_batch),
                expected,
                "{lengths:?} by {max_batch}"
            );
        }
    }
}
