//! Creates a task.

use crate::error::{Error, Result};
use crate::security::sanitize::is_invisible;
use crate::store::graph::EvidenceGraph;
use crate::store::model::{TaskBudget, TaskConfig, TaskRecord, TaskStatus, random_id};

/// Maximum length of a hypothesis, in characters.
const MAX_HYPOTHESIS: usize = 4_000;

/// Sets a new budget for a task.
pub(crate) fn set_budget(graph: &EvidenceGraph, task_id: &str, budget: TaskBudget) -> Result<()> {
    check_budget(&budget)?;
    graph.write(|w| {
        let mut config = w.reader().task_config(task_id)?;
        config.budget = budget;
        w.set_task_config(task_id, &config)?;
        let details = serde_json::json!({ "budget": config.budget });
        let actor = w.actor_or("user");
        w.log_event(actor, "budget_set", Some(task_id), None, &details)
    })
}

fn check_budget(budget: &TaskBudget) -> Result<()> {
    for (field, value) in [
        ("max_pages", budget.max_pages),
        ("max_seconds", budget.max_seconds),
    ] {
        if value == 0 {
            return Err(Error::invalid(format!(
                "config.budget.{field} is 0; expected at least 1"
            )));
        }
    }
    Ok(())
}

/// Refuses an invalid hypothesis.
pub(crate) fn check_hypothesis(hypothesis: &str) -> Result<()> {
    let length = hypothesis.trim().chars().count();
    let is_blank = |c: char| c.is_whitespace() || c.is_control() || is_invisible(c);
    if hypothesis.chars().all(is_blank) {
        return Err(Error::invalid("hypothesis is empty")
            .with_hint("state what the research should find evidence for or against"));
    }
    if hypothesis.contains('\0') {
        return Err(Error::invalid(
            "hypothesis holds a NUL character, where SQLite's text ends",
        ));
    }
    if length > MAX_HYPOTHESIS {
        return Err(Error::invalid(format!(
            "hypothesis has {length} characters; at most {MAX_HYPOTHESIS} are taken"
        )));
    }
    Ok(())
}

/// Stores a new task.
pub(crate) fn create_task(
    graph: &EvidenceGraph,
    hypothesis: &str,
    config: &TaskConfig,
) -> Result<TaskRecord> {
    create_task_as(graph, random_id("task_", 8), hypothesis, config)
}

/// Stores a new task under this id.
pub(crate) fn create_task_as(
    graph: &EvidenceGraph,
    id: String,
    hypothesis: &str,
    config: &TaskConfig,
) -> Result<TaskRecord> {
    check_hypothesis(hypothesis)?;
    check_budget(&config.budget)?;
    let config_json = serde_json::to_string(config).map_err(|e| Error::internal(e.to_string()))?;
    let task = TaskRecord {
        id,
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
            w.actor_or("user"),
            "task_created",
            Some(&task.id),
            None,
            &serde_json::json!({}),
        )
    })?;
    Ok(task)
}
