//! Sentence encoders: any sentence-transformers folder that was exported to a graph. The token
//! vectors are pooled and normalised to length 1.

mod pooling;
mod settings;

use super::folder::ModelFolder;
use super::folder::SAME_MODEL;
use super::graph::{Declared, TokenRow};
use super::model::{OnnxModel, OnnxOptions, batches};
use super::tokens;
use crate::error::{Error, ErrorKind, Result};
use crate::models::unit_vector::normalise;
use crate::ports::{Embedder, EmbedderInfo, TextRole};
use crate::store::text::is_cjk;
use settings::{Settings, unsupported};
use std::sync::Arc;
use tokenizers::{PostProcessor, Tokenizer, TruncationParams};

/// A sentence encoder run by ONNX Runtime.
///
/// ```no_run
/// use lyra_core::models::{OnnxEmbedder, OnnxOptions};
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
    settings: Settings,
    model: OnnxModel,
    output: Output,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("info", &self.info)
            .field("folder", &self.model.folder)
            .finish_non_exhaustive()
    }
}

/// The kind of the graph's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    /// One vector per token, to be pooled.
    Tokens,
    /// One vector per text.
    Sentences,
}

impl OnnxEmbedder {
    /// Opens a model: loads the library and the graph, and runs it once to check that graph,
    /// tokenizer and settings match. Blocks; a graph of 90 MB takes about a second.
    pub fn open(options: &OnnxOptions) -> Result<Self> {
        let folder = ModelFolder::read(&options.model, options.file.as_deref())?;
        let settings = Settings::read(&folder)?;
        let text = settings.text(folder.max_tokens);
        let choose = |outputs: &[Declared]| output_of(outputs, &settings);
        let (mut model, output) = OnnxModel::open(options, folder, &text, choose)?;
        cut_off(&mut model)?;
        let mut encoder = Encoder {
            info: EmbedderInfo {
                model_id: model.id.clone(),
                dimension: 0,
                builtin: false,
                fusion_weight: options.fusion_weight,
                fusion_weight_cjk: options.fusion_weight_cjk.unwrap_or_else(|| {
                    if knows_cjk(&model.tokenizer) {
                        options.fusion_weight
                    } else {
                        STRANGER_TO_CJK
                    }
                }),
                related_threshold: options.related_threshold,
            },
            settings,
            model,
            output,
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
        for batch in batches(&lengths, self.model.graph.max_batch()) {
            let of_batch: Vec<TokenRow<'_>> = batch
                .iter()
                .map(|&at| TokenRow::single(&rows[at]))
                .collect();
            let made = self.run(&of_batch)?;
            for (at, mut vector) in batch.into_iter().zip(made) {
                self.finish(&mut vector)?;
                vectors[at] = vector;
            }
        }
        Ok(vectors)
    }

    /// Ids of a text's tokens, including special ones; none for an empty text.
    fn tokens(&self, text: &str, role: TextRole) -> Result<Vec<u32>> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let prompt = match role {
            TextRole::Query => &self.settings.query_prompt,
            TextRole::Document => &self.settings.document_prompt,
        };
        let mut whole = format!("{prompt}{text}");
        if self.settings.lower_case {
            whole = whole.to_lowercase();
        }
        let encoding = self.model.tokenizer.encode_fast(whole, true);
        let encoding = encoding.map_err(|e| tokens::failed(&e))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// One vector per row, not yet normalised.
    fn run(&self, rows: &[TokenRow<'_>]) -> Result<Vec<Vec<f32>>> {
        let graph = &self.model.graph;
        let width = graph.width(rows);
        graph.run(rows, |shape, values| match (self.output, shape) {
            (Output::Sentences, [count, dimension]) if *count == rows.len() && *dimension > 0 => {
                let vectors = values.chunks_exact(*dimension);
                Some(vectors.map(<[f32]>::to_vec).collect())
            }
            (Output::Tokens, [count, tokens, dimension])
                if *count == rows.len() && *tokens == width && *dimension > 0 =>
            {
                let texts = values.chunks_exact(tokens * dimension).zip(rows);
                let pooling = self.settings.pooling;
                Some(
                    texts
                        .map(|(text, row)| pooling.pool(text, *dimension, row.len()))
                        .collect(),
                )
            }
            _ => None,
        })
    }

    /// Normalises a vector to length 1, and rejects vectors that cannot be stored or compared.
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

    /// Runs the graph on a word and on the token with the greatest id; returns the length of a vector.
    fn try_out(&self) -> Result<usize> {
        let place = self.model.folder.graph.display();
        let word = self.tokens("probe", TextRole::Document)?;
        if word.is_empty() {
            let tokenizer = self.model.folder.tokenizer.display();
            let message = format!("{tokenizer} makes no token of a word");
            return Err(Error::new(ErrorKind::Backend, message).with_hint(SAME_MODEL));
        }
        let dimension_of = |row: &[u32]| -> Result<usize> {
            let vectors = self
                .run(&[TokenRow::single(row)])
                .map_err(|e| e.context(&place))?;
            Ok(vectors.first().map_or(0, Vec::len))
        };
        let dimension = dimension_of(&word)?;
        dimension_of(&[self.model.greatest_token()])?;
        match self.settings.dimension {
            Some(expected) if expected != dimension => Err(Error::new(
                ErrorKind::Backend,
                format!("{place} gives vectors of {dimension} values; the pooling layer expects {expected}"),
            )
            .with_hint(SAME_MODEL)),
            _ => Ok(dimension),
        }
    }
}

/// Makes the tokenizer truncate texts at the model's limit.
fn cut_off(model: &mut OnnxModel) -> Result<()> {
    let limit = model.max_tokens;
    let special = model
        .tokenizer
        .get_post_processor()
        .map_or(0, |p| p.added_tokens(false));
    if limit <= special {
        return Err(tokens::no_room(&model.folder, limit, special));
    }
    let truncation = TruncationParams {
        max_length: limit,
        ..TruncationParams::default()
    };
    let cut = model.tokenizer.with_truncation(Some(truncation));
    cut.map(|_| ()).map_err(|e| tokens::failed(&e))
}

/// The output to read: one vector per text if there is one, otherwise one vector per token.
fn output_of(outputs: &[Declared], settings: &Settings) -> Result<(String, Output)> {
    let of_rank = |name: Option<&str>, rank: usize| {
        let mut fitting = outputs.iter().filter(|output| output.is_of_rank(rank));
        let found = fitting.find(|output| name.is_none_or(|name| name == output.name));
        found.map(|output| output.name.clone())
    };
    if let Some(name) = of_rank(Some("sentence_embedding"), 2) {
        return Ok((name, Output::Sentences));
    }
    let tokens = of_rank(Some("last_hidden_state"), 3)
        .or_else(|| of_rank(Some("token_embeddings"), 3))
        .or_else(|| of_rank(None, 3));
    match (tokens, &settings.foreign_layer) {
        (Some(name), None) => Ok((name, Output::Tokens)),
        (Some(_), Some(layer)) => Err(unsupported(format!(
            "the model has a layer {layer} behind the graph"
        ))),
        (None, _) => match of_rank(None, 2) {
            Some(name) => Ok((name, Output::Sentences)),
            None => Err(unsupported(format!(
                "no output of the graph ({}) holds 32-bit floats for tokens or texts",
                Declared::names(outputs)
            ))),
        },
    }
}

/// The embedding's weight for a script that the model barely knows: a small weight still breaks
/// ties (JaQuAD, all-MiniLM-L6-v2: nDCG@10 0.9105 at 0.05, 0.904 at 0.3, by words 0.9099).
const STRANGER_TO_CJK: f32 = 0.05;

/// Minimum number of pieces with a Chinese, Japanese or Korean character in a vocabulary made for
/// these languages. An English one has some hundreds.
const CJK_PIECES: usize = 3_000;

/// Whether the model was trained on Chinese, Japanese or Korean: its vocabulary has thousands of
/// their pieces or, if pieces are bytes, a sentence gives fewer tokens than characters.
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
