//! The permissions of the tokens of the HTTP server, and the file with the tokens.

mod file;
mod store;

pub(crate) use file::{add, list, remove};
pub(crate) use store::Tokens;

use crate::error::{Code, ToolError};
use crate::tools::Tool;
use lyra_core::{Engine, Error, Result};
use serde_json::{Map, Value, json};
use std::fmt;
use std::str::FromStr;

/// Names that the log uses for other actors.
const RESERVED: [&str; 7] = [
    "user", "agent", "worker", "system", "lyra", "human", "unknown",
];

const LONGEST_NAME: usize = 64;

/// The tool that returns no rows of the graph, so that a token limited to tasks may call it.
const CATALOG: &str = "list_views";

/// Whether a token may change the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    /// Only the tools whose readOnlyHint is true
    Read,
    /// Every tool
    Write,
}

impl Scope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl FromStr for Scope {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            _ => Err(Error::invalid(format!(
                "the scope is {text:?}; expected read or write"
            ))),
        }
    }
}

/// A caller and its permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    /// The name of the token, used for the caller in the log of the graph.
    name: String,
    scope: Scope,
    /// The tasks that it is limited to; empty means all tasks.
    tasks: Vec<String>,
}

impl Access {
    /// # Errors
    /// `InvalidInput` for a name or a task id that the token file cannot represent.
    pub(crate) fn new(name: &str, scope: Scope, tasks: Vec<String>) -> Result<Self> {
        check_name(name)?;
        for task in &tasks {
            check_task(task)?;
        }
        Ok(Self {
            name: name.to_owned(),
            scope,
            tasks,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether content of this task may be shown.
    pub(crate) fn sees(&self, task_id: &str) -> bool {
        self.tasks.is_empty() || self.tasks.iter().any(|task| task == task_id)
    }

    /// Whether `feedback` may correct verdicts: only tokens that may write and are not limited to
    /// tasks.
    pub(crate) fn may_correct(&self) -> bool {
        self.scope == Scope::Write && self.tasks.is_empty()
    }

    /// Whether any call of the tool is allowed; a listing leaves out the other tools.
    pub(crate) fn lists(&self, tool: &Tool) -> bool {
        let scope = self.scope == Scope::Write || tool.hints.read_only;
        scope && (self.tasks.is_empty() || tool.name == CATALOG || takes_task(tool))
    }

    /// Refuses a call that goes beyond the scope or the tasks of the token.
    pub(crate) fn check(
        &self,
        tool: &Tool,
        arguments: &Map<String, Value>,
        engine: &Engine,
    ) -> Result<(), ToolError> {
        if self.scope == Scope::Read && !tool.hints.read_only {
            let message = format!(
                "{} changes the graph, and the token {:?} has scope read",
                tool.name, self.name
            );
            return Err(self.denied(message, "use a token with scope write"));
        }
        if self.tasks.is_empty() || tool.name == CATALOG {
            return Ok(());
        }
        if !takes_task(tool) {
            let message = format!(
                "{} is not limited to a task, but the token {:?} is",
                tool.name, self.name
            );
            return Err(self.denied(message, whole_graph_hint(tool)));
        }
        self.check_task_of(tool, arguments.get("task_id"))?;
        self.check_reach(tool, arguments, engine)
    }

    fn check_task_of(&self, tool: &Tool, task_id: Option<&Value>) -> Result<(), ToolError> {
        match task_id.and_then(Value::as_str) {
            Some(task_id) if self.sees(task_id) => Ok(()),
            Some(task_id) => Err(self.denied(
                format!("the token {:?} is not for task {task_id:?}", self.name),
                "details.tasks lists the tasks that the token is for",
            )),
            None => Err(self.denied(
                format!(
                    "{} without task_id concerns every task, and the token {:?} is limited",
                    tool.name, self.name
                ),
                "give task_id; details.tasks lists the tasks that the token is for",
            )),
        }
    }

    /// Refuses arguments that reach beyond the given task.
    fn check_reach(
        &self,
        tool: &Tool,
        arguments: &Map<String, Value>,
        engine: &Engine,
    ) -> Result<(), ToolError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        match tool.name {
            "resolve_auth" if text("target") != Some("task") => Err(self.denied(
                "resolve_auth resolves items and domains for every task, and the token is limited",
                "use target task with task_id",
            )),
            "feedback" if !matches!(text("action"), Some("source_include" | "source_exclude")) => {
                Err(self.denied(
                    "corrections and domain rules concern every task, and the token is limited",
                    "use source_include or source_exclude with task_id",
                ))
            }
            "query_view" => {
                if let Some(inner) = arguments.get("params").and_then(|p| p.get("task_id")) {
                    self.check_task_of(tool, Some(inner))?;
                }
                let name = text("view_name").unwrap_or_default();
                let views = engine.list_views();
                let view = views.iter().find(|view| view.name == name);
                // An unknown view is reported by a separate error.
                if view.is_some_and(|view| !view.is_task_scoped()) {
                    let message = format!("the view {name} shows the whole graph");
                    return Err(self.denied(message, "list_views shows which views take task_id"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn denied(&self, message: impl Into<String>, hint: &str) -> ToolError {
        let details = json!({
            "token": self.name, "scope": self.scope.as_str(), "tasks": self.tasks,
        });
        ToolError::new(Code::AccessDenied, message)
            .with_hint(hint)
            .with_details(details)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = match self.tasks.is_empty() {
            true => "*".to_owned(),
            false => self.tasks.join(","),
        };
        write!(f, "{} {} {tasks}", self.name, self.scope.as_str())
    }
}

fn whole_graph_hint(tool: &Tool) -> &'static str {
    match tool.name {
        "query_sql" => "free SQL reads every task: use query_view with task_id",
        "create_task" => "create the task with another token, then make a token for it",
        _ => "use a token without tasks",
    }
}

fn takes_task(tool: &Tool) -> bool {
    let properties = tool.schema.input().get("properties");
    properties.is_some_and(|properties| properties.get("task_id").is_some())
}

fn check_name(name: &str) -> Result<()> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins || name.len() > LONGEST_NAME || !name.chars().all(allowed) {
        return Err(Error::invalid(format!(
            "the name {name:?} cannot be a token's; expected 1 to {LONGEST_NAME} letters, digits and \
             the characters . _ - @, beginning with a letter or digit"
        )));
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(
            Error::invalid(format!("the name {name:?} is reserved in the log"))
                .with_hint("choose the name of a person or a program"),
        );
    }
    Ok(())
}

fn check_task(task: &str) -> Result<()> {
    let allowed = |c: char| c.is_ascii_graphic() && c != ',' && c != '*';
    match !task.is_empty() && task.chars().all(allowed) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "the task id {task:?} cannot stand in a token file; expected letters and digits without \
             commas and spaces"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;
    use lyra_core::EngineConfig;

    fn engine() -> (Engine, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let config = EngineConfig::new(folder.path().join("a.db"));
        (Engine::open(config).expect("opens"), folder)
    }

    fn access(scope: Scope, tasks: &[&str]) -> Access {
        let tasks = tasks.iter().map(ToString::to_string).collect();
        Access::new("ci", scope, tasks).expect("good")
    }

    fn outcome(access: &Access, tool: &str, arguments: Value) -> Result<(), String> {
        let (engine, _folder) = engine();
        let tool = tools::find(tool).expect("a tool");
        let Value::Object(arguments) = arguments else {
            unreachable!("an object")
        };
        let checked = access.check(tool, &arguments, &engine);
        checked.map_err(|error| {
            assert_eq!(error.code, Code::AccessDenied);
            assert!(error.hint.is_some(), "{}", error.message);
            error.message
        })
    }

    #[test]
    fn scope_read_follows_the_annotation_of_every_tool() {
        let (read, write) = (access(Scope::Read, &[]), access(Scope::Write, &[]));
        let mut refused = 0;
        for tool in tools::all() {
            let allowed = outcome(&read, tool.name, json!({})).is_ok();
            assert_eq!(allowed, tool.hints.read_only, "{}", tool.name);
            assert_eq!(read.lists(tool), tool.hints.read_only, "{}", tool.name);
            assert_eq!(outcome(&write, tool.name, json!({})), Ok(()));
            refused += usize::from(!allowed);
        }
        assert!(refused > 5, "{refused}");
    }

    /// Fails when a tool is added, so that its access is considered here.
    #[test]
    fn a_token_for_tasks_reaches_only_tools_that_take_one() {
        let limited = access(Scope::Write, &["task_1"]);
        let mut reached: Vec<&str> = Vec::new();
        for tool in tools::all() {
            let arguments = json!({"task_id": "task_1", "target": "task", "view_name": "v_contradictions",
                    "action": "source_include"});
            if outcome(&limited, tool.name, arguments).is_ok() {
                reached.push(tool.name);
            }
        }
        assert_eq!(
            reached,
            [
                "queue_targets",
                "queue_reference_candidates",
                "get_status",
                "stop_task",
                "vector_search",
                "query_view",
                "list_views",
                "show_evidence",
                "check_report",
                "claim_standing",
                "get_judgements",
                "submit_judgements",
                "get_auth_queue",
                "resolve_auth",
                "feedback",
            ]
        );
        for tool in tools::all() {
            assert_eq!(
                limited.lists(tool),
                reached.contains(&tool.name),
                "{}",
                tool.name
            );
        }
    }

    #[test]
    fn what_reaches_beyond_the_task_is_refused() {
        let limited = access(Scope::Write, &["task_1", "task_2"]);
        for (tool, arguments, expected) in [
            ("get_status", json!({"task_id": "task_2"}), ""),
            (
                "get_status",
                json!({"task_id": "task_3"}),
                "not for task \"task_3\"",
            ),
            ("vector_search", json!({"query": "tea"}), "without task_id"),
            (
                "feedback",
                json!({"action": "domain_block", "domain_pattern": "a.org", "task_id": "task_1"}),
                "concern every task",
            ),
            (
                "feedback",
                json!({"action": "source_exclude", "source": "x", "task_id": "task_1"}),
                "",
            ),
            (
                "vector_search",
                json!({"query": "tea", "task_id": null}),
                "without task_id",
            ),
            (
                "query_sql",
                json!({"sql": "SELECT 1"}),
                "not limited to a task",
            ),
            (
                "create_task",
                json!({"hypothesis": "Tea is good."}),
                "not limited to a task",
            ),
            (
                "resolve_auth",
                json!({"target": "domain", "task_id": "task_1"}),
                "every task",
            ),
            (
                "query_view",
                json!({"view_name": "v_none", "task_id": "task_1"}),
                "",
            ),
            (
                "query_view",
                json!({"view_name": "v_contradictions", "task_id": "task_1", "params": {"task_id": "task_3"}}),
                "not for task \"task_3\"",
            ),
            (
                "query_view",
                json!({"view_name": "v_citation_flow", "task_id": "task_1"}),
                "shows the whole graph",
            ),
        ] {
            match outcome(&limited, tool, arguments.clone()) {
                Ok(()) => assert_eq!(expected, "", "{tool} {arguments}"),
                Err(message) => assert!(
                    !expected.is_empty() && message.contains(expected),
                    "{tool} {arguments}: {message}"
                ),
            }
        }
    }

    #[test]
    fn names_that_the_file_or_the_log_cannot_hold_are_refused() {
        for name in ["ci", "alice@example.org", "a.b-c_d", "7"] {
            assert!(Access::new(name, Scope::Read, vec![]).is_ok(), "{name}");
        }
        for name in [
            "",
            "a b",
            "agent:x",
            "#x",
            "-x",
            "User",
            "é",
            &"x".repeat(65),
        ] {
            assert!(Access::new(name, Scope::Read, vec![]).is_err(), "{name}");
        }
        for task in ["", "a,b", "a b", "*"] {
            assert!(
                Access::new("ci", Scope::Read, vec![task.to_owned()]).is_err(),
                "{task}"
            );
        }
    }
}
