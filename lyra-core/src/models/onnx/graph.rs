//! The graph: its declared inputs and outputs, and running it on a batch.

use super::folder::SAME_MODEL;
use super::folder::{ModelFolder, unsupported};
use crate::error::{Error, ErrorKind, Result};
use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::{Tensor, TensorElementType, ValueType};
use std::sync::{Mutex, PoisonError};

/// The data for an input of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GraphInput {
    Ids,
    Mask,
    TokenTypes,
    Positions,
}

#[derive(Debug, Clone, PartialEq)]
struct Input {
    name: String,
    feed: GraphInput,
    /// Whether it takes 32-bit integers instead of 64-bit ones.
    narrow: bool,
}

/// An output, as the graph declares it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declared {
    pub(super) name: String,
    /// Its shape if it holds 32-bit floats; negative for a variable size.
    shape: Option<Vec<i64>>,
}

impl Declared {
    /// Whether it holds 32-bit floats with this number of dimensions.
    pub(super) fn is_of_rank(&self, rank: usize) -> bool {
        self.shape.as_ref().is_some_and(|shape| shape.len() == rank)
    }

    /// The size of its last dimension, if the graph fixes it.
    pub(super) fn last(&self) -> Option<usize> {
        let last = self.shape.as_ref()?.last()?;
        usize::try_from(*last).ok().filter(|n| *n > 0)
    }

    /// All names, for messages.
    pub(super) fn names(outputs: &[Self]) -> String {
        let names: Vec<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
        names.join(", ")
    }
}

/// The tokens of a text or of a pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenRow<'a> {
    ids: &'a [u32],
    /// Which text of a pair each token belongs to; empty for a single text.
    types: &'a [u32],
}

impl<'a> TokenRow<'a> {
    pub(super) fn single(ids: &'a [u32]) -> Self {
        Self { ids, types: &[] }
    }

    pub(super) fn pair(ids: &'a [u32], types: &'a [u32]) -> Self {
        Self { ids, types }
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}

/// A graph that is ready to run.
#[derive(Debug)]
pub(super) struct Graph {
    session: Mutex<Session>,
    inputs: Vec<Input>,
    output: String,
    pad_id: i64,
    /// Maximum number of texts in a batch.
    max_batch: usize,
    /// The row length in tokens, if the graph was exported for one length.
    fixed_tokens: Option<usize>,
}

impl Graph {
    /// Loads the graph of a folder and matches its inputs with the supported ones. `choose` selects
    /// the output to read; its second value is returned.
    pub(super) fn load<T>(
        environment: &Environment,
        folder: &ModelFolder,
        threads: usize,
        max_batch: usize,
        choose: impl FnOnce(&[Declared]) -> Result<(String, T)>,
    ) -> Result<(Self, T)> {
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
        let (output, chosen) = choose(&declared(&session)).map_err(within)?;
        let has_mask = inputs.iter().any(|input| input.feed == GraphInput::Mask);
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
        let graph = Self {
            session: Mutex::new(session),
            inputs,
            output,
            pad_id: folder.pad_id,
            max_batch,
            fixed_tokens: fixed(1),
        };
        Ok((graph, chosen))
    }

    /// Maximum number of texts in a batch.
    pub(super) fn max_batch(&self) -> usize {
        self.max_batch
    }

    /// The row length in tokens, if the graph was exported for one length only.
    pub(super) fn fixed_tokens(&self) -> Option<usize> {
        self.fixed_tokens
    }

    /// The length of these rows after padding, in tokens.
    pub(super) fn width(&self, rows: &[TokenRow<'_>]) -> usize {
        let longest = rows.iter().map(TokenRow::len).max().unwrap_or(0);
        self.fixed_tokens.unwrap_or(longest)
    }

    /// Runs the graph and passes the shape and the values of its output to `read`; it is an error
    /// if `read` returns none. Rows must not be empty.
    pub(super) fn run<T>(
        &self,
        rows: &[TokenRow<'_>],
        read: impl FnOnce(&[usize], &[f32]) -> Option<T>,
    ) -> Result<T> {
        let width = self.width(rows);
        let mut feeds = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let values = fill(rows, width, input.feed, self.pad_id);
            let value = tensor(input.narrow, [rows.len(), width], values)?;
            feeds.push((input.name.as_str(), value));
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(feeds).map_err(|e| failed(&e))?;
        let name = &self.output;
        let output = outputs
            .get(name)
            .ok_or_else(|| Error::internal(format!("the graph gave no {name}")))?;
        let (shape, values) = output.try_extract_tensor::<f32>().map_err(|e| failed(&e))?;
        let shape: Vec<usize> = shape
            .iter()
            .filter_map(|n| usize::try_from(*n).ok())
            .collect();
        read(&shape, values).ok_or_else(|| {
            let texts = rows.len();
            let message =
                format!("the graph's output {name} has the shape {shape:?} for {texts} texts");
            Error::new(ErrorKind::Backend, message)
        })
    }
}

fn open_session(
    environment: &Environment,
    folder: &ModelFolder,
    threads: usize,
) -> ort::Result<Session> {
    Session::builder(environment)?
        .with_intra_threads(threads)?
        // Spinning threads would take CPU time from everything else between two texts.
        .with_intra_op_spinning(false)?
        .commit_from_file(&folder.graph)
}

fn failed(error: &ort::Error) -> Error {
    let message = format!("the model cannot be run: {}", error.message());
    Error::new(ErrorKind::Backend, message).with_hint(SAME_MODEL)
}

/// The graph's inputs, and the declared shape of the token ids: negative for a variable length.
fn inputs_of(session: &Session) -> Result<(Vec<Input>, Vec<i64>)> {
    let mut inputs = Vec::new();
    let mut ids_shape = None;
    for input in session.inputs() {
        let name = input.name();
        let feed = match name {
            "input_ids" => GraphInput::Ids,
            "attention_mask" => GraphInput::Mask,
            "token_type_ids" => GraphInput::TokenTypes,
            "position_ids" => GraphInput::Positions,
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
        if let (GraphInput::Ids, ValueType::Tensor { shape, .. }) = (feed, input.dtype()) {
            ids_shape = Some(shape.iter().copied().collect());
        }
        let name = name.to_owned();
        inputs.push(Input { name, feed, narrow });
    }
    let shape = ids_shape.ok_or_else(|| unsupported("the graph has no input input_ids"))?;
    Ok((inputs, shape))
}

fn declared(session: &Session) -> Vec<Declared> {
    let outputs = session.outputs().iter().map(|output| Declared {
        name: output.name().to_owned(),
        shape: match output.dtype() {
            ValueType::Tensor {
                ty: TensorElementType::Float32,
                shape,
                ..
            } => Some(shape.iter().copied().collect()),
            _ => None,
        },
    });
    outputs.collect()
}

/// The values of one input: rows one after another, padded to `width`.
fn fill(rows: &[TokenRow<'_>], width: usize, feed: GraphInput, pad_id: i64) -> Vec<i64> {
    let mut values = Vec::with_capacity(rows.len() * width);
    for row in rows {
        for at in 0..width {
            values.push(match feed {
                GraphInput::Ids => row.ids.get(at).map_or(pad_id, |id| i64::from(*id)),
                GraphInput::Mask => i64::from(at < row.len()),
                GraphInput::TokenTypes => row.types.get(at).map_or(0, |kind| i64::from(*kind)),
                GraphInput::Positions => i64::try_from(at).unwrap_or(i64::MAX),
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
        let rows = [
            TokenRow::pair(&[7, 8, 9], &[0, 1, 1]),
            TokenRow::single(&[5]),
        ];
        for (feed, expected) in [
            (GraphInput::Ids, [7, 8, 9, 1, 5, 1, 1, 1]),
            (GraphInput::Mask, [1, 1, 1, 0, 1, 0, 0, 0]),
            (GraphInput::TokenTypes, [0, 1, 1, 0, 0, 0, 0, 0]),
            (GraphInput::Positions, [0, 1, 2, 3, 0, 1, 2, 3]),
        ] {
            assert_eq!(fill(&rows, 4, feed, 1), expected, "{feed:?}");
        }
    }
}
