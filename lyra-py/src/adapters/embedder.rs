//! Sentence encoders in Python.

use super::{Callable, Choice, Fault, id_of, not_callable, onnx_runtime, own_name, refuse_async};
use crate::error::{invalid, raise};
use crate::waiting::quick_async;
use lyra_core::models::{EmbedderChoice, EmbedderSettings, normalise};
use lyra_core::ports::{Embedder, EmbedderInfo, TextRole};
use lyra_core::{Error, ErrorKind, Result};
use numpy::{
    PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The embedder that the arguments name; `None` means the built-in one.
pub(crate) fn open(
    py: Python<'_>,
    mut choice: Choice<'_>,
    runtime: Option<PathBuf>,
) -> PyResult<Option<Arc<dyn Embedder>>> {
    let Some(which) = choice.which.take() else {
        return choice.server(py, false).map(|_| None);
    };
    let Ok(name) = which.cast::<PyString>() else {
        choice.server(py, false)?;
        return python_embedder(&which, choice.graph).map(Some);
    };
    let model: EmbedderChoice = name.to_str()?.parse().map_err(raise)?;
    let (url, key) = choice.server(py, model.is_remote())?;
    let settings = EmbedderSettings {
        url,
        key,
        dimension: None,
        timeout: None,
        onnx_runtime: onnx_runtime(py, runtime)?,
        choice: model,
    };
    quick_async(py, async move {
        let opened = settings.open().await;
        opened.map_err(|e| e.context(format!("the embedder {}", settings.choice)))
    })
}

/// How texts are passed to the encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calling {
    /// `f(texts)`
    Plain,
    /// `f.encode(texts)`, as in sentence-transformers
    Encode,
    /// `f.encode_query(texts)` and `f.encode_document(texts)`, for encoders that distinguish the
    /// two
    ByRole,
}

impl Calling {
    /// The methods that are called; None means the function itself.
    fn methods(self) -> &'static [Option<&'static str>] {
        match self {
            Self::Plain => &[None],
            Self::Encode => &[Some("encode")],
            Self::ByRole => &[Some("encode_query"), Some("encode_document")],
        }
    }
}

#[derive(Debug)]
struct PythonEmbedder {
    callable: Callable,
    calling: Calling,
    info: EmbedderInfo,
}

fn python_embedder(function: &Bound<'_, PyAny>, graph: Arc<Path>) -> PyResult<Arc<dyn Embedder>> {
    let calling = if function.hasattr("encode_query")? && function.hasattr("encode_document")? {
        Calling::ByRole
    } else if function.hasattr("encode")? {
        Calling::Encode
    } else if function.is_callable() {
        Calling::Plain
    } else {
        let wanted = "a callable that takes a list of str, or an object with a method encode";
        return Err(not_callable("embedder", function, wanted)?);
    };
    for name in calling.methods() {
        let called = name.map_or_else(|| Ok(function.clone()), |name| function.getattr(name))?;
        refuse_async("embedder", &called)?;
    }
    let texts = ["How long is a vector?".to_owned()];
    let tried = vectors_of(function, calling, &texts, TextRole::Document, None);
    let tried = tried.map_err(|fault| raise(fault.error("embedder")))?;
    let dimension = tried.first().map_or(0, Vec::len);
    if tried.len() != 1 || dimension == 0 {
        return Err(raise(wrong_shape(tried.len(), dimension, 1)));
    }
    let number = |name: &str, usual: f32| match function.getattr_opt(name)? {
        Some(own) => own.extract(),
        None => Ok(usual),
    };
    let fusion_weight = number("fusion_weight", 0.7)?;
    let info = EmbedderInfo {
        model_id: match own_name(function, "model_id")? {
            Some(own) => own,
            None => format!("{}:{dimension}", id_of(function, "model_id")?),
        },
        dimension,
        builtin: false,
        fusion_weight,
        fusion_weight_cjk: number("fusion_weight_cjk", fusion_weight)?,
        related_threshold: number("related_threshold", 0.55)?,
    };
    Ok(Arc::new(PythonEmbedder {
        callable: Callable::new(function.clone(), "embedder", &info.model_id, graph),
        calling,
        info,
    }))
}

#[async_trait::async_trait]
impl Embedder for PythonEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    async fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>> {
        // An empty text has no vector, but not every encoder handles this.
        let there: Vec<usize> = (0..texts.len())
            .filter(|place| !texts[*place].trim().is_empty())
            .collect();
        let mut vectors = vec![vec![0.0; self.info.dimension]; texts.len()];
        if there.is_empty() {
            return Ok(vectors);
        }
        let given: Vec<String> = there.iter().map(|place| texts[*place].to_owned()).collect();
        let (calling, dimension) = (self.calling, self.info.dimension);
        let made = self
            .callable
            .call(move |function| vectors_of(function, calling, &given, role, Some(dimension)))
            .await?;
        if made.len() != there.len() {
            return Err(wrong_shape(made.len(), dimension, there.len()));
        }
        for (place, vector) in there.into_iter().zip(made) {
            vectors[place] = vector;
        }
        Ok(vectors)
    }
}

fn vectors_of(
    function: &Bound<'_, PyAny>,
    calling: Calling,
    texts: &[String],
    role: TextRole,
    dimension: Option<usize>,
) -> Result<Vec<Vec<f32>>, Fault> {
    let made = match (calling, role) {
        (Calling::Plain, _) => function.call1((texts,))?,
        (Calling::Encode, _) => function.call_method1("encode", (texts,))?,
        (Calling::ByRole, TextRole::Query) => function.call_method1("encode_query", (texts,))?,
        (Calling::ByRole, TextRole::Document) => {
            function.call_method1("encode_document", (texts,))?
        }
    };
    let array = as_matrix(&made).map_err(|why| Fault::gave(&made, why))?;
    let shape = array.shape();
    if dimension.is_some_and(|wanted| wanted != shape[1]) {
        let why = raise(wrong_shape(shape[0], shape[1], texts.len()));
        return Err(Fault::gave(&made, why));
    }
    let mut vectors = Vec::with_capacity(shape[0]);
    for row in array.as_array().rows() {
        let mut vector = row.to_vec();
        if !normalise(&mut vector) && vector.iter().any(|value| *value != 0.0) {
            let why = invalid("a vector has a value that is not finite");
            return Err(Fault::gave(&made, why));
        }
        vectors.push(vector);
    }
    Ok(vectors)
}

/// An array, a tensor on any device, or lists of numbers as a matrix of float32; copied only if it
/// is not one already.
pub(crate) fn as_matrix<'py>(given: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray2<'py, f32>> {
    let array = as_floats(given)?;
    match array.cast::<PyArray2<f32>>() {
        Ok(matrix) => Ok(matrix.try_readonly()?),
        Err(_) => Err(invalid(format!(
            "an array of vectors has {} dimension(s); expected 2: one row a vector",
            array.getattr("ndim")?
        ))),
    }
}

/// The same for any shape.
pub(crate) fn as_floats<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // A float32 array is used as it is, unless it is a subclass with a mask or other semantics.
    if given.is_exact_instance_of::<PyUntypedArray>() && given.cast::<PyArrayDyn<f32>>().is_ok() {
        return Ok(given.clone());
    }
    let arrays = given.py().import("lyra._arrays")?;
    arrays.call_method1("float32_of", (given,))
}

fn wrong_shape(rows: usize, columns: usize, wanted: usize) -> Error {
    Error::new(
        ErrorKind::Backend,
        format!("the embedder gave an array of shape ({rows}, {columns}) for {wanted} text(s)"),
    )
    .with_hint("give one row for each text, all of them equally long")
}
