//! Sentence encoders in ONNX files: any sentence-transformers folder that was exported to a graph.
//!
//! The graph runs in the ONNX Runtime library, which is loaded at run time and is no part of the
//! build. Texts are cut into tokens, sorted by length, run in small batches, pooled and brought to
//! length 1; the order of the answers is that of the texts.

mod folder;
mod graph;
mod pooling;
mod runtime;

use super::unit_vector::normalise;
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{Embedder, EmbedderInfo, TextRole};
use crate::text::hash::hex;
use crate::text::is_cjk;
use folder::ModelFolder;
use graph::Graph;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokenizers::{PostProcessor, Tokenizer, TruncationParams};

/// Texts run together, at most: more of them cost more in padding than they save.
const MAX_BATCH: usize = 8;

/// Tokens run together, padding included, where that is more than one text.
const BATCH_TOKENS: usize = 512;

/// Which model, and how it is run.
#[derive(Debug, Clone, PartialEq)]
pub struct OnnxOptions {
    /// A sentence-transformers folder with a graph, or a graph in such a folder.
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

/// A sentence encoder run by ONNX Runtime.
///
/// ```no_run
/// use lyra_core::backends::{OnnxEmbedder, OnnxOptions};
/// use lyra_core::ports::{Embedder, TextRole};
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let embedder = OnnxEmbedder::open(&OnnxOptions::new("models/all-MiniLM-L6-v2"))?;
/// let vectors = embedder.embed(&["heart failure"], TextRole::Query).await?;
/// assert_eq!(vectors[0].len(), embedder.info().dimension);
/// # Ok::<(), lyra_core::Error>(()) });
/// ```
#[derive(Debug, Clone)]
pub struct OnnxEmbedder {
    encoder: Arc<Encoder>,
}

struct Encoder {
    info: EmbedderInfo,
    folder: ModelFolder,
    graph: Graph,
    tokenizer: Tokenizer,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("info", &self.info)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl OnnxEmbedder {
    /// Opens a model: loads the library and the graph, and runs it once to see that graph, tokenizer
    /// and settings fit. Blocks; a graph of 90 MB takes about a second.
    pub fn open(options: &OnnxOptions) -> Result<Self> {
        let folder = ModelFolder::read(&options.model, options.file.as_deref())?;
        let environment = runtime::environment(options.runtime.as_deref())?;
        let fingerprint = Fingerprint::read(&folder)?;
        // Weights that are quantised while they run take their scale from the whole batch: a text's
        // vector would depend on its neighbours.
        let max_batch = if fingerprint.is_dynamic {
            1
        } else {
            options.max_batch.min(MAX_BATCH)
        };
        let graph = Graph::load(environment, &folder, options.threads, max_batch)?;
        let limit = graph
            .fixed_tokens()
            .map_or(folder.max_tokens, |n| n.min(folder.max_tokens));
        let tokenizer = tokenizer_of(&folder, limit)?;
        check_vocabulary(&folder, &tokenizer)?;
        let mut encoder = Encoder {
            info: EmbedderInfo {
                model_id: format!("onnx:{}:{}", folder.name, fingerprint.hash),
                dimension: 0,
                builtin: false,
                fusion_weight: options.fusion_weight,
                fusion_weight_cjk: options.fusion_weight_cjk.unwrap_or_else(|| {
                    if knows_cjk(&tokenizer) {
                        options.fusion_weight
                    } else {
                        STRANGER_TO_CJK
                    }
                }),
                related_threshold: options.related_threshold,
            },
            folder,
            graph,
            tokenizer,
        };
        encoder.info.dimension = encoder.try_out()?;
        Ok(Self {
            encoder: Arc::new(encoder),
        })
    }
}

#[async_trait::async_trait]
impl Embedder for OnnxEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.encoder.info
    }

    async fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>> {
        let encoder = Arc::clone(&self.encoder);
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        tokio::task::spawn_blocking(move || encoder.encode(&texts, role))
            .await
            .map_err(|e| Error::internal(format!("the encoder stopped unexpectedly: {e}")))?
    }
}

impl Encoder {
    fn encode(&self, texts: &[String], role: TextRole) -> Result<Vec<Vec<f32>>> {
        let mut rows = Vec::with_capacity(texts.len());
        for text in texts {
            rows.push(self.tokens(text, role)?);
        }
        let mut vectors = vec![vec![0.0; self.info.dimension]; texts.len()];
        let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
        for batch in batches(&lengths, self.graph.max_batch()) {
            let of_batch: Vec<&[u32]> = batch.iter().map(|&at| rows[at].as_slice()).collect();
            let made = self.graph.run(&of_batch)?;
            for (at, mut vector) in batch.into_iter().zip(made) {
                self.finish(&mut vector)?;
                vectors[at] = vector;
            }
        }
        Ok(vectors)
    }

    /// Ids of a text's tokens, special ones included; none for an empty text.
    fn tokens(&self, text: &str, role: TextRole) -> Result<Vec<u32>> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let prompt = match role {
            TextRole::Query => &self.folder.query_prompt,
            TextRole::Document => &self.folder.document_prompt,
        };
        let mut whole = format!("{prompt}{text}");
        if self.folder.lower_case {
            whole = whole.to_lowercase();
        }
        let encoding = self.tokenizer.encode_fast(whole, true).map_err(|e| {
            Error::new(
                ErrorKind::Backend,
                format!("the tokenizer failed on a text: {e}"),
            )
        })?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Brings a vector to length 1, and refuses what cannot be stored or compared.
    fn finish(&self, vector: &mut [f32]) -> Result<()> {
        if vector.len() != self.info.dimension {
            return Err(Error::new(
                ErrorKind::Backend,
                format!(
                    "the model gave a vector of {} values; it gave {} before",
                    vector.len(),
                    self.info.dimension
                ),
            ));
        }
        if !normalise(vector) && vector.iter().any(|v| *v != 0.0) {
            return Err(Error::new(
                ErrorKind::Backend,
                "the model gave a vector with a value that is not finite",
            ));
        }
        Ok(())
    }

    /// Runs the graph on a word and on the token with the greatest id; answers the length of a vector.
    fn try_out(&self) -> Result<usize> {
        let place = self.folder.graph.display();
        let greatest = self
            .tokenizer
            .get_vocab(true)
            .into_values()
            .max()
            .unwrap_or(0);
        let word = self.tokens("probe", TextRole::Document)?;
        if word.is_empty() {
            let message = format!(
                "{} makes no token of a word",
                self.folder.tokenizer.display()
            );
            return Err(Error::new(ErrorKind::Backend, message).with_hint(SAME_MODEL));
        }
        let dimension_of = |row: &[u32]| -> Result<usize> {
            let vectors = self.graph.run(&[row]).map_err(|e| e.context(&place))?;
            Ok(vectors.first().map_or(0, Vec::len))
        };
        let dimension = dimension_of(&word)?;
        dimension_of(&[greatest])?;
        match self.folder.dimension {
            Some(expected) if expected != dimension => Err(Error::new(
                ErrorKind::Backend,
                format!("{place} gives vectors of {dimension} values; the pooling layer expects {expected}"),
            )
            .with_hint(SAME_MODEL)),
            _ => Ok(dimension),
        }
    }
}

const SAME_MODEL: &str = "tokenizer.json, config.json and the graph must come from the same model";

/// The tokenizer, cut off at `limit` tokens and without padding, whatever its file says.
fn tokenizer_of(folder: &ModelFolder, limit: usize) -> Result<Tokenizer> {
    let place = folder.tokenizer.display();
    let broken = |why: String| {
        Error::new(
            ErrorKind::Backend,
            format!("{place} is no tokenizer: {why}"),
        )
        .with_hint("expected the tokenizer.json of a Hugging Face fast tokenizer")
    };
    let bytes = std::fs::read(&folder.tokenizer).map_err(|e| broken(e.to_string()))?;
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|e| broken(e.to_string()))?;
    let special = tokenizer
        .get_post_processor()
        .map_or(0, |p| p.added_tokens(false));
    if limit <= special {
        let message =
            format!("{place}: {limit} tokens a text leave no room beside {special} special ones");
        return Err(Error::new(ErrorKind::Backend, message).with_hint(SAME_MODEL));
    }
    tokenizer
        .with_truncation(Some(TruncationParams {
            max_length: limit,
            ..TruncationParams::default()
        }))
        .map_err(|e| broken(e.to_string()))?
        .with_padding(None);
    Ok(tokenizer)
}

/// The embedding's share where the model knows next to nothing of the script: a little still
/// breaks ties (JaQuAD, all-MiniLM-L6-v2: nDCG@10 0.9105 at 0.05, 0.904 at 0.3, by words 0.9099).
const STRANGER_TO_CJK: f32 = 0.05;

/// Pieces with a Chinese, Japanese or Korean character in a vocabulary that was made for them. An
/// English one has some hundreds.
const CJK_PIECES: usize = 3_000;

/// Whether the model has seen Chinese, Japanese or Korean: its vocabulary has thousands of pieces
/// of them or, where pieces are bytes, cuts a sentence into fewer tokens than characters.
fn knows_cjk(tokenizer: &Tokenizer) -> bool {
    let vocabulary = tokenizer.get_vocab(true);
    let pieces = vocabulary.keys().filter(|piece| piece.chars().any(is_cjk));
    if pieces.count() >= CJK_PIECES {
        return true;
    }
    let sentence = "心不全の患者における血糖値の低下は統計的に有意であった";
    let unknown = tokenizer
        .token_to_id("[UNK]")
        .or(tokenizer.token_to_id("<unk>"));
    tokenizer.encode_fast(sentence, false).is_ok_and(|cut| {
        let known = cut.get_ids().iter().all(|id| Some(*id) != unknown);
        known && 10 * cut.get_ids().len() < 9 * sentence.chars().count()
    })
}

/// Every token must have a row in the table of token embeddings.
fn check_vocabulary(folder: &ModelFolder, tokenizer: &Tokenizer) -> Result<()> {
    let greatest = tokenizer.get_vocab(true).into_values().max();
    let (Some(rows), Some(greatest)) = (folder.vocabulary, greatest) else {
        return Ok(());
    };
    if usize::try_from(greatest).is_ok_and(|id| id < rows) {
        return Ok(());
    }
    let message = format!(
        "{} has a token with the id {greatest}, and the model has {rows} of them",
        folder.tokenizer.display()
    );
    Err(Error::new(ErrorKind::Backend, message).with_hint(SAME_MODEL))
}

/// Which texts run together: like lengths, few at a time; empty texts in none.
fn batches(lengths: &[usize], max_batch: usize) -> Vec<Vec<usize>> {
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

/// What makes a model this model: the bytes of its graph, weights and tokenizer, and its settings.
struct Fingerprint {
    /// Twelve hex digits.
    hash: String,
    /// The graph quantises while it runs.
    is_dynamic: bool,
}

impl Fingerprint {
    fn read(folder: &ModelFolder) -> Result<Self> {
        let mut hash = Sha256::new();
        let mut is_dynamic = false;
        for path in weight_files(&folder.graph) {
            is_dynamic |= hash_file(&mut hash, &path, b"DynamicQuantizeLinear")?;
        }
        hash_file(&mut hash, &folder.tokenizer, b"\0")?;
        hash.update(folder.settings_text());
        let mut hash = hex(&hash.finalize());
        hash.truncate(12);
        Ok(Self { hash, is_dynamic })
    }
}

/// The graph, and the files with weights that lie beside it under its name (`model.onnx_data`).
fn weight_files(graph: &Path) -> Vec<PathBuf> {
    let name = graph.file_name().map(|n| n.to_string_lossy().into_owned());
    let entries = graph
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok());
    let mut files: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let other = entry.file_name();
            let other = other.to_string_lossy();
            name.as_deref().is_some_and(|name| {
                other
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(['_', '.']))
            })
        })
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files.insert(0, graph.to_path_buf());
    files
}

/// Adds a file to a hash; answers whether `mark` stands in it.
fn hash_file(hash: &mut Sha256, path: &Path, mark: &[u8]) -> Result<bool> {
    let unreadable = |e: std::io::Error| {
        Error::new(
            ErrorKind::Backend,
            format!("{} cannot be read: {e}", path.display()),
        )
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let mut buffer = vec![0_u8; 1 << 20];
    let mut kept = 0;
    let mut found = false;
    loop {
        let read = file.read(&mut buffer[kept..]).map_err(unreadable)?;
        if read == 0 {
            return Ok(found);
        }
        let filled = kept + read;
        hash.update(&buffer[kept..filled]);
        found = found
            || buffer[..filled]
                .windows(mark.len())
                .any(|part| part == mark);
        // A mark may begin in one piece and end in the next.
        kept = filled.min(mark.len() - 1);
        buffer.copy_within(filled - kept..filled, 0);
    }
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

    #[test]
    fn a_file_is_hashed_whole_and_searched_across_its_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.onnx");
        let mark = b"DynamicQuantizeLinear";
        for (at, expected) in [(Some(10), true), (Some((1 << 20) - 7), true), (None, false)] {
            let mut bytes = vec![7_u8; (2 << 20) + 11];
            if let Some(at) = at {
                bytes[at..at + mark.len()].copy_from_slice(mark);
            }
            std::fs::write(&path, &bytes).unwrap();
            let mut hash = Sha256::new();
            assert_eq!(
                hash_file(&mut hash, &path, mark).unwrap(),
                expected,
                "{at:?}"
            );
            assert_eq!(hash.finalize(), Sha256::digest(&bytes), "{at:?}");
        }
    }

    #[test]
    fn weights_beside_the_graph_belong_to_it() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "model.onnx",
            "model.onnx_data",
            "model.onnx.data",
            "model_int8.onnx",
        ] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let files = weight_files(&folder.path().join("model.onnx"));
        let names: Vec<_> = files
            .iter()
            .filter_map(|f| f.file_name()?.to_str())
            .collect();
        assert_eq!(names, ["model.onnx", "model.onnx.data", "model.onnx_data"]);
    }
}
