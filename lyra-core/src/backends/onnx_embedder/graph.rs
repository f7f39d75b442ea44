//! The graph: its inputs and output as the file declares them, and running it on a batch.

use super::folder::{ModelFolder, unsupported};
use super::pooling::Pooling;
use crate::error::{Error, ErrorKind, Result};
use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::{Tensor, TensorElementType, ValueType};
use std::sync::{Mutex, PoisonError};

/// What an input of the graph is fed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feed {
    Ids,
    Mask,
    TokenTypes,
    Positions,
}

#[derive(Debug, Clone, PartialEq)]
struct Input {
    name: String,
    feed: Feed,
    /// 32-bit integers in place of 64-bit ones.
    narrow: bool,
}

/// What the graph's output holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    /// A vector a token, to be pooled.
    Tokens(Pooling),
    /// A vector a text.
    Sentences,
}

/// A graph that is ready to run.
#[derive(Debug)]
pub(super) struct Graph {
    session: Mutex<Session>,
    inputs: Vec<Input>,
    output: (String, Output),
    pad_id: i64,
    /// Texts of a batch, at most.
    max_batch: usize,
    /// The graph was exported for rows of exactly so many tokens.
    fixed_tokens: Option<usize>,
}

impl Graph {
    /// Loads the graph of a folder and matches its inputs and outputs with what we can feed and read.
    pub(super) fn load(
        environment: &Environment,
        folder: &ModelFolder,
        threads: usize,
        max_batch: usize,
    ) -> Result<Self> {
        let place = folder.graph.display();
        let session = open_session(environment, folder, threads).map_err(|e| {
            Error::new(
                ErrorKind::Backend,
                format!("{place} cannot be loaded: {}", e.message()),
            )
            .with_hint("the file is no ONNX graph, is damaged, or needs a newer ONNX Runtime")
        })?;
        let within = |e: Error| e.context(&place);
        let (inputs, shape) = inputs_of(&session).map_err(within)?;
        let output = output_of(&session, folder).map_err(within)?;
        let has_mask = inputs.iter().any(|input| input.feed == Feed::Mask);
        let fixed = |at: usize| shape.get(at).and_then(|n| usize::try_from(*n).ok());
        let max_batch = match fixed(0) {
            // Rows of different lengths need a mask.
            None if has_mask => max_batch.max(1),
            None | Some(1) => 1,
            Some(n) => {
                let message = format!("the graph takes batches of exactly {n} texts");
                return Err(within(unsupported(message)));
            }
        };
        Ok(Self {
            session: Mutex::new(session),
            inputs,
            output,
            pad_id: folder.pad_id,
            max_batch,
            fixed_tokens: fixed(1),
        })
    }

    /// Texts of a batch, at most.
    pub(super) fn max_batch(&self) -> usize {
        self.max_batch
    }

    /// Tokens of a row, where the graph was exported for one length only.
    pub(super) fn fixed_tokens(&self) -> Option<usize> {
        self.fixed_tokens
    }

    /// One vector a row, not yet of length 1. No row is empty.
    pub(super) fn run(&self, rows: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let width = self.fixed_tokens.unwrap_or(longest);
        let mut feeds = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let values = fill(rows, width, input.feed, self.pad_id);
            let value = tensor(input.narrow, [rows.len(), width], values)?;
            feeds.push((input.name.as_str(), value));
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(feeds).map_err(|e| failed(&e))?;
        let (name, kind) = &self.output;
        let output = outputs
            .get(name)
            .ok_or_else(|| Error::internal(format!("the graph gave no {name}")))?;
        let (shape, values) = output.try_extract_tensor::<f32>().map_err(|e| failed(&e))?;
        let dimensions: Vec<usize> = shape
            .iter()
            .filter_map(|n| usize::try_from(*n).ok())
            .collect();
        match (kind, dimensions.as_slice()) {
            (Output::Sentences, [count, dimension]) if *count == rows.len() && *dimension > 0 => {
                Ok(values
                    .chunks_exact(*dimension)
                    .map(<[f32]>::to_vec)
                    .collect())
            }
            (Output::Tokens(pooling), [count, tokens, dimension])
                if *count == rows.len() && *tokens == width && *dimension > 0 =>
            {
                let texts = values.chunks_exact(tokens * dimension).zip(rows);
                Ok(texts
                    .map(|(text, row)| pooling.pool(text, *dimension, row.len()))
                    .collect())
            }
            (_, shape) => Err(Error::new(
                ErrorKind::Backend,
                format!(
                    "the graph's output {name} has the shape {shape:?} for {} texts",
                    rows.len()
                ),
            )),
        }
    }
}

fn open_session(
    environment: &Environment,
    folder: &ModelFolder,
    threads: usize,
) -> ort::Result<Session> {
    Session::builder(environment)?
        .with_intra_threads(threads)?
        // Threads that spin between two texts take the processor from everything else.
        .with_intra_op_spinning(false)?
        .commit_from_file(&folder.graph)
}

fn failed(error: &ort::Error) -> Error {
    let message = format!("the model cannot be run: {}", error.message());
    Error::new(ErrorKind::Backend, message)
        .with_hint("tokenizer.json, config.json and the graph must come from the same model")
}

/// The graph's inputs, and the declared shape of the token ids: negative where any length will do.
fn inputs_of(session: &Session) -> Result<(Vec<Input>, Vec<i64>)> {
    let mut inputs = Vec::new();
    let mut ids_shape = None;
    for input in session.inputs() {
        let name = input.name();
        let feed = match name {
            "input_ids" => Feed::Ids,
            "attention_mask" => Feed::Mask,
            "token_type_ids" => Feed::TokenTypes,
            "position_ids" => Feed::Positions,
            _ => {
                return Err(unsupported(format!(
                    "the graph wants the input {name:?}; expected input_ids, attention_mask, token_type_ids or position_ids"
                )));
            }
        };
        let narrow = match input.dtype() {
            ValueType::Tensor {
                ty: TensorElementType::Int64,
                ..
            } => false,
            ValueType::Tensor {
                ty: TensorElementType::Int32,
                ..
            } => true,
            other => {
                return Err(unsupported(format!(
                    "the input {name} is {other:?}; expected integers"
                )));
            }
        };
        if let (Feed::Ids, ValueType::Tensor { shape, .. }) = (feed, input.dtype()) {
            ids_shape = Some(shape.iter().copied().collect());
        }
        let name = name.to_owned();
        inputs.push(Input { name, feed, narrow });
    }
    let shape = ids_shape.ok_or_else(|| unsupported("the graph has no input input_ids"))?;
    Ok((inputs, shape))
}

/// The output to read: a vector a text if there is one, else a vector a token.
fn output_of(session: &Session, folder: &ModelFolder) -> Result<(String, Output)> {
    let of_rank = |name: Option<&str>, rank: usize| {
        session
            .outputs()
            .iter()
            .find_map(|output| match output.dtype() {
                ValueType::Tensor {
                    ty: TensorElementType::Float32,
                    shape,
                    ..
                } if shape.len() == rank && name.is_none_or(|name| name == output.name()) => {
                    Some(output.name().to_owned())
                }
                _ => None,
            })
    };
    if let Some(name) = of_rank(Some("sentence_embedding"), 2) {
        return Ok((name, Output::Sentences));
    }
    let tokens = of_rank(Some("last_hidden_state"), 3)
        .or_else(|| of_rank(Some("token_embeddings"), 3))
        .or_else(|| of_rank(None, 3));
    match (tokens, &folder.foreign_layer) {
        (Some(name), None) => Ok((name, Output::Tokens(folder.pooling))),
        (Some(_), Some(layer)) => Err(unsupported(format!(
            "the model has a layer {layer} behind the graph"
        ))),
        (None, _) => match of_rank(None, 2) {
            Some(name) => Ok((name, Output::Sentences)),
            None => {
                let names: Vec<&str> = session.outputs().iter().map(|o| o.name()).collect();
                Err(unsupported(format!(
                    "no output of the graph ({}) holds 32-bit floats for tokens or texts",
                    names.join(", ")
                )))
            }
        },
    }
}

/// The values of one input: rows side by side, filled up to `width`.
fn fill(rows: &[&[u32]], width: usize, feed: Feed, pad_id: i64) -> Vec<i64> {
    let mut values = Vec::with_capacity(rows.len() * width);
    for row in rows {
        for at in 0..width {
            values.push(match feed {
                Feed::Ids => row.get(at).map_or(pad_id, |id| i64::from(*id)),
                Feed::Mask => i64::from(at < row.len()),
                Feed::TokenTypes => 0,
                Feed::Positions => i64::try_from(at).unwrap_or(i64::MAX),
            });
        }
    }
    values
}

fn tensor(narrow: bool, shape: [usize; 2], values: Vec<i64>) -> Result<SessionInputValue<'static>> {
    if narrow {
        let values: Vec<i32> = values
            .into_iter()
            .map(|v| i32::try_from(v).unwrap_or(i32::MAX))
            .collect();
        let tensor = Tensor::from_array((shape, values)).map_err(|e| failed(&e))?;
        return Ok(tensor.into());
    }
    let tensor = Tensor::from_array((shape, values)).map_err(|e| failed(&e))?;
    Ok(tensor.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_filled_up_to_one_width() {
        let rows: [&[u32]; 2] = [&[7, 8, 9], &[5]];
        for (feed, expected) in [
            (Feed::Ids, [7, 8, 9, 1, 5, 1, 1, 1]),
            (Feed::Mask, [1, 1, 1, 0, 1, 0, 0, 0]),
            (Feed::TokenTypes, [0; 8]),
            (Feed::Positions, [0, 1, 2, 3, 0, 1, 2, 3]),
        ] {
            assert_eq!(fill(&rows, 4, feed, 1), expected, "{feed:?}");
        }
    }
}
