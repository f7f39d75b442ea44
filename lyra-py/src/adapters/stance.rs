//! Stance judges in Python.

use super::{Callable, id_of};
use crate::error::{invalid, raise};
use lyra_core::model::Relation;
use lyra_core::ports::{StanceJudge, StancePair, Verdict};
use lyra_core::{Error, ErrorKind, Result};
use pyo3::prelude::*;

#[derive(Debug)]
pub(crate) struct PythonJudge {
    callable: Callable,
    id: String,
}

impl PythonJudge {
    pub(crate) fn new(function: Bound<'_, PyAny>) -> PyResult<Self> {
        if !function.is_callable() {
            return Err(invalid("stance_judge cannot be called"));
        }
        let id = id_of(&function, "judge_id")?;
        let callable = Callable::new(function, "stance judge");
        Ok(Self { callable, id })
    }
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
                let said: Vec<(String, f64)> = function
                    .call1((given,))?
                    .try_iter()?
                    .map(|verdict| verdict?.extract())
                    .collect::<PyResult<_>>()?;
                said.into_iter().map(verdict).collect::<PyResult<Vec<_>>>()
            })
            .await?;
        if verdicts.len() == pairs.len() {
            return Ok(verdicts);
        }
        let (gave, wanted) = (verdicts.len(), pairs.len());
        let message = format!("the stance judge gave {gave} verdict(s) for {wanted} pair(s)");
        Err(Error::new(ErrorKind::Backend, message)
            .with_hint("give one (relation, confidence) for each pair, in order"))
    }
}

fn verdict((relation, confidence): (String, f64)) -> PyResult<Verdict> {
    let relation: Relation = relation.parse().map_err(raise)?;
    if !relation.is_nli() {
        return Err(invalid(format!(
            "{relation} is no verdict; expected supports, refutes or neutral"
        )));
    }
    if !(0.0..=1.0).contains(&confidence) {
        return Err(invalid(format!(
            "a confidence is {confidence}; expected 0 to 1"
        )));
    }
    Ok(Verdict {
        relation,
        confidence,
    })
}
