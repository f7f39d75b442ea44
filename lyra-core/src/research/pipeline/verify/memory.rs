//! What the last look at a task has covered, so that the next one need not do it again.
//!
//! Only a shortcut: verdicts are remembered in the database, and a process that starts looks at
//! everything once.

use crate::store::graph::DomainRules;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Tasks that are remembered; the rest is looked at anew.
const TASKS: usize = 8;

/// One look at a task: under which circumstances, and at what.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) model_id: String,
    pub(super) judge_id: String,
    pub(super) rules: DomainRules,
    pub(super) fragments: HashSet<String>,
    pub(super) claims: HashSet<String>,
}

/// The last complete look at each task.
#[derive(Debug, Clone, Default)]
pub(crate) struct VerificationCache(Arc<Mutex<HashMap<String, Arc<Look>>>>);

impl VerificationCache {
    /// The last look, if it was taken as one would be taken now.
    pub(super) fn comparable(
        &self,
        task_id: &str,
        model_id: &str,
        judge_id: &str,
        rules: &DomainRules,
    ) -> Option<Arc<Look>> {
        let looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let look = looks.get(task_id)?;
        let same = look.model_id == model_id && look.judge_id == judge_id && look.rules == *rules;
        same.then(|| Arc::clone(look))
    }

    pub(super) fn remember(&self, task_id: &str, look: Look) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.len() >= TASKS && !looks.contains_key(task_id) {
            looks.clear();
        }
        looks.insert(task_id.to_owned(), Arc::new(look));
    }
}
