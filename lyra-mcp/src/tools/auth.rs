//! get_auth_queue, resolve_auth.

use super::{Call, Outcome};
use crate::error::ToolError;
use crate::wire::Reply;
use lyra_core::{AuthAction, AuthItem, AuthTarget, Cookies};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
struct Queue {
    #[serde(default)]
    task_id: Option<String>,
    group_by: GroupBy,
    priority_filter: String,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum GroupBy {
    None,
    Domain,
    Type,
}

pub(super) async fn queue(mut call: Call) -> Outcome {
    let Queue {
        task_id,
        group_by,
        priority_filter,
    } = call.parse()?;
    let items = call
        .blocking(move |engine| engine.auth_queue(task_id.as_deref()))
        .await?;
    let items: Vec<Value> = items
        .into_iter()
        .filter(|item| priority_filter == "all" || item.priority == priority_filter)
        .map(on_the_wire)
        .collect();
    let total = items.len();
    let reply = Reply::of(&json!({ "total_count": total }))?;
    Ok(match group_by {
        GroupBy::None => reply.with("group_by", "none").with("items", items),
        GroupBy::Domain => reply
            .with("group_by", "domain")
            .with("groups", grouped(items, "domain")),
        GroupBy::Type => reply
            .with("group_by", "type")
            .with("groups", grouped(items, "auth_type")),
    })
}

fn on_the_wire(item: AuthItem) -> Value {
    json!({
        "queue_id": item.id,
        "task_id": item.task_id,
        "url": item.url,
        "domain": item.domain,
        "auth_type": item.auth_type,
        "priority": item.priority,
        "status": item.status,
        "queued_at": item.queued_at,
        "expires_at": item.expires_at,
    })
}

fn grouped(items: Vec<Value>, field: &str) -> Map<String, Value> {
    let mut groups = Map::new();
    for item in items {
        let key = item[field].as_str().unwrap_or("unknown").to_owned();
        if let Value::Array(group) = groups.entry(key).or_insert_with(|| json!([])) {
            group.push(item);
        }
    }
    groups
}

#[derive(Deserialize)]
struct Resolve {
    target: Target,
    #[serde(default)]
    queue_id: Option<String>,
    #[serde(default)]
    domain: Option<String>,
    #[serde(default)]
    task_id: Option<String>,
    action: Action,
    success: bool,
    #[serde(default)]
    session_data: Option<SessionData>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Target {
    Item,
    Domain,
    Task,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Action {
    Complete,
    Skip,
}

#[derive(Deserialize)]
struct SessionData {
    cookies: String,
}

pub(super) async fn resolve(mut call: Call) -> Outcome {
    let Resolve {
        target,
        queue_id,
        domain,
        task_id,
        action,
        success,
        session_data,
    } = call.parse()?;
    let (name, field, value) = match target {
        Target::Item => ("item", "queue_id", queue_id),
        Target::Domain => ("domain", "domain", domain),
        Target::Task => ("task", "task_id", task_id),
    };
    let Some(value) = value else {
        return Err(ToolError::invalid(format!(
            "argument {field:?} is missing; target {name} needs it"
        ))
        .with_details(json!({ "field": field })));
    };
    let cookies = session_data.map(|data| Cookies::parse(&data.cookies));
    let action_taken = match (action, success, cookies.transpose()?) {
        (Action::Complete, true, cookies) => AuthAction::Complete(cookies),
        (_, _, Some(_)) => {
            return Err(ToolError::invalid(
                "session_data is given, but no challenge was passed; expected it with action \
                 complete and success true only",
            ));
        }
        (Action::Complete, false, None) => AuthAction::NotPassed,
        (Action::Skip, _, None) => AuthAction::Skip,
    };
    let about = match target {
        Target::Item => AuthTarget::Item(value),
        Target::Domain => AuthTarget::Domain(value),
        Target::Task => AuthTarget::Task(value),
    };
    let resolution = call
        .blocking(move |engine| engine.resolve_auth(&about, &action_taken))
        .await?;
    let action = match action {
        Action::Complete => "complete",
        Action::Skip => "skip",
    };
    Ok(Reply::of(&resolution)?
        .with("target", name)
        .with("action", action))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_grouped_by_their_field() {
        let items = vec![
            json!({"queue_id": "1", "domain": "a.org"}),
            json!({"queue_id": "2", "domain": "b.org"}),
            json!({"queue_id": "3", "domain": "a.org"}),
        ];
        let groups = grouped(items, "domain");
        assert_eq!(groups["a.org"].as_array().map(Vec::len), Some(2));
        assert_eq!(groups["b.org"][0]["queue_id"], "2");
    }
}
