//! Stance judges in Python.

use super::{Callable, Choice, id_of, listed, not_callable, onnx_runtime, refuse_async};
use crate::argument::pair;
use crate::error::{invalid, raise};
use crate::waiting::quick;
use lyra_core::models::{JudgeChoice, JudgeSettings};
use lyra_core::ports::{StanceJudge, StancePair, Verdict};
use lyra_core::store::model::Relation;
use lyra_core::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct PythonJudge {
    callable: Callable,
    id: String,
}

impl PythonJudge {
    fn new(function: Bound<'_, PyAny>, graph: Arc<Path>) -> PyResult<Self> {
        refuse_async("judge", &function)?;
        let id = id_of(&function, "judge_id")?;
        let callable = Callable::new(function, "judge", &id, graph);
        Ok(Self { callable, id })
    }
}

/// The judge that the arguments name; `None` means the built-in one.
pub(crate) fn open(
    py: Python<'_>,
    mut choice: Choice<'_>,
    runtime: Option<PathBuf>,
) -> PyResult<Option<Arc<dyn StanceJudge>>> {
    let Some(which) = choice.which.take() else {
        return choice.server(py, false).map(|_| None);
    };
    let Ok(name) = which.cast::<PyString>() else {
        choice.server(py, false)?;
        if !which.is_callable() {
            let wanted = "a callable that takes a list of (premise, hypothesis)";
            return Err(not_callable("judge", &which, wanted)?);
        }
        return Ok(Some(Arc::new(PythonJudge::new(which, choice.graph)?)));
    };
    let model: JudgeChoice = name.to_str()?.parse().map_err(raise)?;
    let (url, key) = choice.server(py, model.is_remote())?;
    let settings = JudgeSettings {
        url,
        key,
        onnx_runtime: onnx_runtime(py, runtime)?,
        choice: model,
    };
    quick(py, || {
        let opened = settings.open();
        opened.map_err(|e| e.context(format!("the judge {}", settings.choice)))
    })
}

#[async_trait::async_trait]
impl StanceJudge for PythonJudge {
    fn judge_id(&self) -> &str {
        &self.id
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let given: Vec<(String, String)> = pairs
            .iter()
            .map(|pair| (pair.premise.clone(), pair.hypothesis.clone()))
            .collect();
        let verdicts = self
            .callable
            .call(move |function| {
                let said = function.call1((given,))?;
                listed(&said, usize::MAX, WANTED, |said| verdict(pair(said)?))
            })
            .await?;
        if verdicts.len() == pairs.len() {
            return Ok(verdicts);
        }
        let (gave, wanted) = (verdicts.len(), pairs.len());
        let message = format!("the judge gave {gave} verdict(s) for {wanted} pair(s)");
        Err(Error::new(ErrorKind::Backend, message).with_hint(format!("expected {WANTED}")))
    }
}

/// The expected return value of a judge.
const WANTED: &str = "a list with one (relation, confidence) for each pair, in order";

fn verdict((relation, confidence): (String, f64)) -> PyResult<Verdict> {
    let relation: Relation = relation.parse().map_err(raise)?;
    if !relation.is_nli() {
        return Err(invalid(format!(
            "{relation} is not a verdict; expected supports, refutes or neutral"
        )));
    }
    if !(0.0..=1.0).contains(&confidence) {
        return Err(invalid(format!(
            "a confidence is {confidence}; expected 0 to 1"
        )));
    }
    Ok(Verdict::new(relation, confidence))
}
