//! Resources: content that a client may give to its model without calling a tool.

use super::app;
use crate::access::Access;
use crate::error::{Code, ToolError};
use crate::tools::Tool;
use crate::wire;
use lyra_core::{Engine, StatusDetail};
use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Maximum number of tasks in a listing, newest first.
const MAX_TASKS: usize = 50;

/// Maximum number of characters of a title: a listing contains fifty of them, to choose from.
const TITLE_CHARS: usize = 120;

const JSON: &str = "application/json";

/// `access` leaves out the tasks that a token may not see.
pub(super) fn list(
    engine: &Engine,
    has_app: bool,
    access: Option<&Access>,
) -> Result<Vec<Resource>, ErrorData> {
    let mut resources = vec![
        Resource::new("lyra://tasks", "tasks")
            .with_title("Research tasks")
            .with_description("Every task with its hypothesis and status, newest first")
            .with_mime_type(JSON),
        Resource::new("lyra://schema", "schema")
            .with_title("Tables and views")
            .with_description("What query_sql can read: tables, columns and joins")
            .with_mime_type(JSON),
    ];
    resources.extend(has_app.then(app::resource));
    for task in newest_tasks(engine, access)?.into_iter().take(MAX_TASKS) {
        resources.push(
            Resource::new(format!("lyra://task/{}", task.id), task.id.clone())
                .with_title(title(&task.hypothesis))
                .with_description("Status of the task")
                .with_mime_type(JSON),
        );
    }
    for view in engine.list_views() {
        resources.push(
            Resource::new(format!("lyra://views/{}", view.name), view.name.clone())
                .with_description(view.description.clone())
                .with_mime_type(JSON),
        );
    }
    Ok(resources)
}

/// A hypothesis as the title of its task. A listing has no field for a warning, so a hypothesis
/// that reads like instructions is not shown in it.
fn title(hypothesis: &str) -> String {
    if wire::is_suspicious(hypothesis) {
        return "Task whose hypothesis reads like instructions".to_owned();
    }
    hypothesis.chars().take(TITLE_CHARS).collect()
}

pub(super) fn templates(has_app: bool) -> Vec<ResourceTemplate> {
    let mut templates = vec![
        ResourceTemplate::new("lyra://task/{id}", "task")
            .with_title("A task")
            .with_description("Status of one task")
            .with_mime_type(JSON),
        ResourceTemplate::new("lyra://views/{name}", "view")
            .with_title("A view")
            .with_description("What a view shows, its parameters and columns")
            .with_mime_type(JSON),
        ResourceTemplate::new("lyra://tools/{name}", "tool")
            .with_title("A tool")
            .with_description("The full schemas of a tool: what every argument and field means")
            .with_mime_type(JSON),
    ];
    templates.extend(has_app.then(app::template));
    templates
}

pub(super) fn read(
    engine: &Engine,
    tools: &[Tool],
    uri: &str,
    access: Option<&Access>,
) -> Result<ReadResourceResult, ErrorData> {
    if let Some(task) = app::task_of(uri) {
        return page(engine, tools, uri, task, access);
    }
    let body = if uri == "lyra://tasks" {
        tasks(engine, access)?
    } else if uri == "lyra://schema" {
        object(&engine.schema())?
    } else if let Some(id) = uri.strip_prefix("lyra://task/") {
        if access.is_some_and(|access| !access.sees(id)) {
            return Err(unknown(uri));
        }
        object(
            &engine
                .status(id, StatusDetail::Summary)
                .map_err(|e| protocol(e.into()))?,
        )?
    } else if let Some(name) = uri.strip_prefix("lyra://views/") {
        let views = engine.list_views();
        let view = views.iter().find(|view| view.name == name);
        object(view.ok_or_else(|| unknown(uri))?)?
    } else if let Some(name) = uri.strip_prefix("lyra://tools/") {
        let tool = tools.iter().find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| unknown(uri))?;
        object(&json!({"name": name, "description": tool.description,
            "input_schema": tool.schema.input().as_ref(),
            "output_schema": tool.schema.output().as_ref()}))?
    } else {
        return Err(unknown(uri));
    };
    let text = Value::Object(body).to_string();
    let contents = ResourceContents::text(text, uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// The evidence page, for one task or for the one that its host names.
fn page(
    engine: &Engine,
    tools: &[Tool],
    uri: &str,
    task: Option<&str>,
    access: Option<&Access>,
) -> Result<ReadResourceResult, ErrorData> {
    let has_app = tools.iter().any(|tool| tool.name == app::TOOL);
    let is_hidden = task.is_some_and(|task| access.is_some_and(|access| !access.sees(task)));
    if !has_app || is_hidden {
        return Err(unknown(uri));
    }
    let contents = app::read(engine, uri, task).map_err(|error| protocol(error.into()))?;
    Ok(ReadResourceResult::new(vec![contents]))
}

fn tasks(engine: &Engine, access: Option<&Access>) -> Result<Map<String, Value>, ErrorData> {
    let tasks: Vec<Value> = newest_tasks(engine, access)?
        .into_iter()
        .map(|task| {
            json!({"task_id": task.id, "hypothesis": task.hypothesis, "status": task.status,
                   "created_at": task.created_at})
        })
        .collect();
    object(&json!({ "count": tasks.len(), "tasks": tasks }))
}

fn newest_tasks(
    engine: &Engine,
    access: Option<&Access>,
) -> Result<Vec<lyra_core::store::model::TaskRecord>, ErrorData> {
    let mut tasks = engine.tasks().map_err(|error| protocol(error.into()))?;
    tasks.retain(|task| access.is_none_or(|access| access.sees(&task.id)));
    tasks.sort_by(|a, b| (&b.created_at, &b.id).cmp(&(&a.created_at, &a.id)));
    Ok(tasks)
}

/// The value as an object, with the same byte budget as a reply of a tool.
fn object(value: &impl Serialize) -> Result<Map<String, Value>, ErrorData> {
    match serde_json::to_value(value) {
        Ok(Value::Object(mut body)) => {
            wire::fit(&mut body, &["tasks", "tables"]).map_err(protocol)?;
            Ok(body)
        }
        _ => Err(protocol(ToolError::internal("a resource is not an object"))),
    }
}

fn unknown(uri: &str) -> ErrorData {
    let short: String = uri.chars().take(128).collect();
    ErrorData::resource_not_found(
        format!("no resource {short:?}"),
        Some(json!({ "uri": short })),
    )
}

/// A failure as a protocol error; resources have no other way to report it.
fn protocol(error: ToolError) -> ErrorData {
    let data = Some(Value::Object(error.body()));
    match error.code {
        Code::TaskNotFound | Code::ResourceNotFound => {
            ErrorData::resource_not_found(error.message, data)
        }
        Code::InternalError => ErrorData::internal_error(error.message, data),
        _ => ErrorData::invalid_params(error.message, data),
    }
}
