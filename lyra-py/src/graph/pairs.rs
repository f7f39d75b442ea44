//! Pairs that can be judged elsewhere.

use super::EvidenceGraph;
use crate::argument;
use crate::error::invalid;
use crate::stages::pair_object;
use crate::waiting::{Line, long};
use lyra_core::Result;
use lyra_core::research::pipeline::{CandidatePair, CandidatePairs};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Mutex, PoisonError};

#[pymethods]
impl EvidenceGraph {
    /// The pairs of texts that verification of a task would judge, as an iterator of lists of at most
    /// `batch_size` dicts; each list is an argument for `lyra.judge_pairs`. The pairs are generated
    /// lazily. Pairs with a verdict are left out. Claims and fragments without a vector get one first.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> claim = graph.add_claim(task, "Night shifts shorten sleep by an hour")
    /// >>> for pairs in graph.candidate_pairs(task, batch_size=10):
    /// ...     print([(pair["premise"], pair["statement"]) for pair in pairs])
    /// [('Night shifts shorten sleep by an hour', 'Night work shortens sleep')]
    #[pyo3(signature = (task_id, *, batch_size=256))]
    fn candidate_pairs(
        &self,
        py: Python<'_>,
        task_id: String,
        #[pyo3(from_py_with = argument::batch_size)] batch_size: usize,
    ) -> PyResult<PairIterator> {
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |line: &Line<()>| {
            line.drive(engine.pipeline().candidate_pairs(&task_id, batch_size))
        };
        let pairs = long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        Ok(PairIterator(Mutex::new(State::Waiting(Box::new(pairs)))))
    }
}

/// The return value of `EvidenceGraph.candidate_pairs`.
#[pyclass(frozen, module = "lyra")]
pub(crate) struct PairIterator(Mutex<State>);

enum State {
    Waiting(Box<CandidatePairs>),
    /// Another thread is preparing the next batch.
    Working,
    Over,
}

impl PairIterator {
    fn set(&self, state: State) -> State {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *slot, state)
    }
}

type Next = Option<Result<Vec<CandidatePair>>>;

#[pymethods]
impl PairIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let mut pairs = match self.set(State::Working) {
            State::Waiting(pairs) => pairs,
            State::Over => {
                self.set(State::Over);
                return Ok(None);
            }
            State::Working => {
                return Err(invalid("another thread is preparing the next pairs"));
            }
        };
        let work = move |_: &Line<()>| {
            let next: Next = pairs.next();
            Ok((pairs, next))
        };
        let outcome = long(py, work, |_, ()| Ok(()), || {});
        let (pairs, next) = outcome.inspect_err(|_| drop(self.set(State::Over)))?;
        let Some(batch) = next else {
            self.set(State::Over);
            return Ok(None);
        };
        self.set(State::Waiting(pairs));
        let list = PyList::empty(py);
        for pair in batch.map_err(crate::error::raise)? {
            list.append(pair_object(py, &pair)?)?;
        }
        Ok(Some(list))
    }
}
