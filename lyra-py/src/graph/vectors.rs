//! Embeddings as arrays.

use super::EvidenceGraph;
use super::ask::embedded;
use crate::adapters::as_matrix;
use crate::argument;
use crate::convert;
use crate::error::{invalid, raise};
use crate::waiting::{Line, long, quick};
use lyra_core::ports::TextRole;
use lyra_core::store::graph::Reader;
use lyra_core::store::guard::{SqlParams, SqlRequest};
use lyra_core::store::model::EmbeddingTarget;
use lyra_core::{Engine, Error};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// Number of vectors stored in one transaction. Smaller batches cost more: 500 take four times as
/// long.
const BATCH: usize = 20_000;

/// Number of texts embedded at once; an interrupted call ends between two batches.
const TEXTS: usize = 1_024;

#[pymethods]
impl EvidenceGraph {
    /// Embeds texts: a float32 array of shape (number of texts, dimension), rows of length 1.
    ///
    /// `role` is "document" or "query"; some models distinguish them.
    ///
    /// >>> import lyra
    /// >>> vectors = lyra.EvidenceGraph("evidence.db").embed(["sleep", "night work"])
    /// >>> vectors.dtype, vectors.shape[0]
    /// (dtype('float32'), 2)
    #[pyo3(signature = (texts, role="document"))]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument::texts)] texts: Vec<String>,
        role: &str,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let words = [("document", TextRole::Document), ("query", TextRole::Query)];
        let role = convert::one_of("role", role, &words)?;
        let engine = self.engine()?;
        let count = texts.len();
        let work = move |line: &Line<()>| {
            let dimension = engine.models().dimension;
            let mut flat = Vec::with_capacity(texts.len() * dimension);
            for some in texts.chunks(TEXTS) {
                let some: Vec<&str> = some.iter().map(String::as_str).collect();
                let vectors = line.drive(engine.embed(&some, role))?;
                vectors
                    .iter()
                    .for_each(|vector| flat.extend_from_slice(vector));
            }
            Ok((flat, dimension))
        };
        let (flat, dimension) = long(py, work, |_, ()| Ok(()), || {})?;
        PyArray1::from_vec(py, flat).reshape([count, dimension])
    }

    /// The stored vectors of "claims" or "fragments": their ids, and a float32 array with one row for
    /// each id. The default `model_id` is that of the graph's embedder; vectors of another length than
    /// `dimension` are left out.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> claim = graph.add_claim(graph.add_task("Night work"), "Night shifts shorten sleep")
    /// >>> ids, vectors = graph.embeddings("claims")
    /// >>> ids == [claim], vectors.shape == (1, graph.models().dimension)
    /// (True, True)
    #[pyo3(signature = (target="claims", model_id=None, dimension=None))]
    fn embeddings<'py>(
        &self,
        py: Python<'py>,
        target: &str,
        model_id: Option<String>,
        #[pyo3(from_py_with = argument::dimension)] dimension: Option<usize>,
    ) -> PyResult<(Vec<String>, Bound<'py, PyArray2<f32>>)> {
        let target = embedded(target)?;
        let engine = self.engine()?;
        let own = engine.models();
        let dimension = match (&model_id, dimension) {
            (_, Some(given)) => given,
            (Some(model), None) if *model != own.embedder => length_of(py, &engine, target, model)?,
            (_, None) => own.dimension,
        };
        let model_id = model_id.unwrap_or(own.embedder);
        let interrupter = engine.graph().interrupter();
        let work = move |_: &Line<()>| {
            engine
                .graph()
                .read(|r| r.all_vectors(target, &model_id, dimension))
        };
        let (ids, flat) = long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        let count = ids.len();
        // The array takes ownership of the memory; nothing is copied.
        let vectors = PyArray1::from_vec(py, flat).reshape([count, dimension])?;
        Ok((ids, vectors))
    }

    /// Stores vectors that you computed yourself for existing claims or fragments: one row for each
    /// id. The default `model_id` is that of the graph's embedder.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> claim = graph.add_claim(graph.add_task("Night work"), "Night shifts shorten sleep")
    /// >>> graph.add_embeddings("claims", [claim], [[0.6, 0.8]], model_id="mine")
    /// 1
    /// >>> graph.embeddings("claims", model_id="mine")[1].tolist()
    /// [[0.6000000238418579, 0.800000011920929]]
    #[pyo3(signature = (target, ids, vectors, model_id=None))]
    fn add_embeddings(
        &self,
        py: Python<'_>,
        target: &str,
        #[pyo3(from_py_with = argument::texts)] ids: Vec<String>,
        vectors: Bound<'_, PyAny>,
        model_id: Option<String>,
    ) -> PyResult<usize> {
        let target = embedded(target)?;
        if ids.is_empty() && vectors.len().is_ok_and(|count| count == 0) {
            return Ok(0);
        }
        let matrix = as_matrix(&vectors)?;
        let (rows, columns) = (matrix.shape()[0], matrix.shape()[1]);
        if columns == 0 {
            return Err(invalid("the vectors have no values"));
        }
        if rows != ids.len() {
            return Err(invalid(format!(
                "there are {} ids and {rows} vectors; expected the same number of both",
                ids.len()
            )));
        }
        let engine = self.engine()?;
        let model_id = model_of(&engine, model_id, columns)?;
        // Contiguous rows are read in place; others are copied into order.
        let flat = matrix.as_array();
        let flat = flat.as_standard_layout();
        let values = flat.as_slice().unwrap_or_default();
        let ids = Arc::new(ids);
        check_whole(py, &engine, target, &ids, values)?;
        let interrupter = engine.graph().interrupter();
        for (batch, vectors) in values.chunks(BATCH * columns).enumerate() {
            let (engine, model_id, ids) = (engine.clone(), model_id.clone(), Arc::clone(&ids));
            // The array belongs to the caller, and may be gone before this is stored.
            let vectors = vectors.to_vec();
            let work = move |_: &Line<()>| {
                engine.graph().write(|w| {
                    for (id, vector) in ids[batch * BATCH..].iter().zip(vectors.chunks(columns)) {
                        w.reader().require_embeddable(target, id)?;
                        w.put_embedding(target, id, &model_id, vector)?;
                    }
                    Ok(())
                })
            };
            long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        }
        Ok(rows)
    }
}

/// The model of these vectors; those of the graph's own embedder have its length.
fn model_of(engine: &Engine, named: Option<String>, columns: usize) -> PyResult<String> {
    let own = engine.models();
    match named {
        Some(empty) if empty.trim().is_empty() => {
            Err(invalid("model_id is empty; expected the name of a model"))
        }
        Some(other) if other != own.embedder => Ok(other),
        _ if columns == own.dimension => Ok(own.embedder),
        _ => {
            let (wants, model) = (own.dimension, own.embedder);
            let message =
                format!("the vectors have {columns} values; those of {model} have {wants}");
            Err(raise(
                Error::invalid(message).with_hint("pass the model_id of the model that made them"),
            ))
        }
    }
}

/// Refuses everything if any part is invalid: a missing id, or a value that is not a number. There
/// is at least one id.
fn check_whole(
    py: Python<'_>,
    engine: &Engine,
    target: EmbeddingTarget,
    ids: &Arc<Vec<String>>,
    values: &[f32],
) -> PyResult<()> {
    let (all, known) = (engine.clone(), Arc::clone(ids));
    let interrupter = engine.graph().interrupter();
    let check = move |_: &Line<()>| {
        let is_there = |r: &Reader<'_>, id: &String| r.require_embeddable(target, id);
        all.graph()
            .read(|r| known.iter().try_for_each(|id| is_there(r, id)))
    };
    long(py, check, |_, ()| Ok(()), || interrupter.interrupt())?;
    let columns = values.len() / ids.len();
    for (batch, some) in values.chunks(BATCH * columns).enumerate() {
        let wrong = py.detach(|| some.iter().position(|value| !value.is_finite()));
        if let Some(place) = wrong {
            let (id, value) = (&ids[batch * BATCH + place / columns], some[place]);
            return Err(invalid(format!(
                "the vector of {id} has the value {value}; expected finite values"
            )));
        }
        py.check_signals()?;
    }
    Ok(())
}

/// The length of the stored vectors of a model.
fn length_of(
    py: Python<'_>,
    engine: &Engine,
    target: EmbeddingTarget,
    model_id: &str,
) -> PyResult<usize> {
    let mut request = SqlRequest::new(
        "SELECT dimension FROM embeddings WHERE target_type = ? AND model_id = ? LIMIT 1",
    );
    request.params = SqlParams::from_json(json!([target.as_str(), model_id])).map_err(raise)?;
    let reply = quick(py, || engine.query_sql(&request))?;
    let length = reply.rows.first().and_then(|row| row.get("dimension"));
    let length = length.and_then(Value::as_u64);
    length.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
        raise(Error::not_found(format!(
            "no {target} has a vector of {model_id}"
        )))
    })
}
