//! Remembers what the last verification of a task covered, so that the next one can skip it.
//!
//! This is only an optimisation: verdicts are remembered in the database, and a new process checks
//! everything once.

use crate::store::graph::DomainRules;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of tasks that are remembered; the others are checked again.
const TASKS: usize = 8;

/// One verification of a task: its settings, and what it covered.
#[derive(Debug)]
pub(super) struct PastVerification {
    pub(super) model_id: String,
    pub(super) judge_id: String,
    pub(super) rules: DomainRules,
    pub(super) fragments: HashSet<String>,
    pub(super) claims: HashSet<String>,
}

/// The last complete verification of each task.
#[derive(Debug, Clone, Default)]
pub(crate) struct VerificationCache(Arc<Mutex<HashMap<String, Arc<PastVerification>>>>);

impl VerificationCache {
    /// The last verification, if it used the same settings as one would now.
    pub(super) fn comparable(
        &self,
        task_id: &str,
        model_id: &str,
        judge_id: &str,
        rules: &DomainRules,
    ) -> Option<Arc<PastVerification>> {
        let looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let look = looks.get(task_id)?;
        let same = look.model_id == model_id && look.judge_id == judge_id && look.rules == *rules;
        same.then(|| Arc::clone(look))
    }

    pub(super) fn remember(&self, task_id: &str, look: PastVerification) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.len() >= TASKS && !looks.contains_key(task_id) {
            looks.clear();
        }
        looks.insert(task_id.to_owned(), Arc::new(look));
    }
}
