//! A new task.

use crate::error::{Error, Result};
use crate::graph::EvidenceGraph;
use crate::model::{TaskConfig, TaskRecord, TaskStatus, random_id};

/// Longest hypothesis, in characters.
const MAX_HYPOTHESIS: usize = 4_000;

/// Stores a new task.
pub(crate) fn create_task(
    graph: &EvidenceGraph,
    hypothesis: &str,
    config: &TaskConfig,
) -> Result<TaskRecord> {
    let length = hypothesis.trim().chars().count();
    if length == 0 {
        return Err(Error::invalid("hypothesis is empty")
            .with_hint("state what the research should find evidence for or against"));
    }
    if length > MAX_HYPOTHESIS {
        return Err(Error::invalid(format!(
            "hypothesis has {length} characters; at most {MAX_HYPOTHESIS} are taken"
        )));
    }
    for (field, value) in [
        ("max_pages", config.budget.max_pages),
        ("max_seconds", config.budget.max_seconds),
    ] {
        if value == 0 {
            return Err(Error::invalid(format!(
                "config.budget.{field} is 0; expected at least 1"
            )));
        }
    }
    let config_json = serde_json::to_string(config).map_err(|e| Error::internal(e.to_string()))?;
    let task = TaskRecord {
        id: random_id("task_", 8),
        hypothesis: hypothesis.trim().to_owned(),
        status: TaskStatus::Created,
        config_json: Some(config_json),
        created_at: Some(graph.clock().now()),
        started_at: None,
        completed_at: None,
        error_message: None,
    };
    graph.write(|w| {
        w.add_task(&task)?;
        w.log_event(
            "user",
            "task_created",
            Some(&task.id),
            None,
            &serde_json::json!({}),
        )
    })?;
    Ok(task)
}
