//! A model of a folder with its tokenizer, and how it is run.

use super::fingerprint::Fingerprint;
use super::folder::ModelFolder;
use super::graph::{Declared, Graph};
use super::{runtime, tokens};
use crate::error::Result;
use std::path::PathBuf;
use tokenizers::Tokenizer;

/// Texts run together, at most: more of them cost more in padding than they save.
const MAX_BATCH: usize = 8;

/// Tokens run together, padding included, where that is more than one text.
const BATCH_TOKENS: usize = 512;

/// Which model, and how it is run. A judge has no use for the last three.
#[derive(Debug, Clone, PartialEq)]
pub struct OnnxOptions {
    /// A model's folder with a graph, or a graph in such a folder.
    pub model: PathBuf,
    /// The graph's file in the folder; by default `model.onnx` or `onnx/model.onnx`.
    pub file: Option<String>,
    /// The ONNX Runtime library, or a folder that holds it; by default the system's loader looks
    /// for it. The first that loads serves the process until it ends.
    pub runtime: Option<PathBuf>,
    /// Threads that work on one batch; 0 for one a core.
    pub threads: usize,
    /// Texts run together, 1 to 8.
    pub max_batch: usize,
    /// Share of the embedding in a fused ranking, 0 to 1.
    pub fusion_weight: f32,
    /// The same for a query in Chinese, Japanese or Korean; by default judged by whether the
    /// vocabulary knows these scripts.
    pub fusion_weight_cjk: Option<f32>,
    /// Cosine from which two texts are worth judging against each other.
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
pub(super) struct Model {
    pub(super) folder: ModelFolder,
    pub(super) graph: Graph,
    /// Neither cuts nor fills up.
    pub(super) tokenizer: Tokenizer,
    /// Tokens of a row, the special ones included.
    pub(super) max_tokens: usize,
    /// `onnx:NAME:FINGERPRINT`.
    pub(super) id: String,
}

impl Model {
    /// Loads library, graph and tokenizer of a folder. `settings` are those that decide an answer,
    /// beside the files; `choose` picks the graph's output and says what it knows of it.
    pub(super) fn open<T>(
        options: &OnnxOptions,
        folder: ModelFolder,
        settings: &str,
        choose: impl FnOnce(&[Declared]) -> Result<(String, T)>,
    ) -> Result<(Self, T)> {
        let environment = runtime::environment(options.runtime.as_deref())?;
        let fingerprint = Fingerprint::read(&folder, settings)?;
        // Weights that are quantised while they run take their scale from the whole batch: the
        // answer to a text would depend on its neighbours.
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

    /// The greatest id that the tokenizer may give: a graph that runs on it knows all of them.
    pub(super) fn greatest_token(&self) -> u32 {
        let ids = self.tokenizer.get_vocab(true).into_values();
        ids.max().unwrap_or(0)
    }
}

/// Which texts run together: like lengths, few at a time; empty texts in none.
pub(super) fn batches(lengths: &[usize], max_batch: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).filter(|&at| lengths[at] > 0).collect();
    order.sort_by_key(|&at| lengths[at]);
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for at in order {
        match batches.last_mut() {
            // Sorted, so this text is the longest of its batch.
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
