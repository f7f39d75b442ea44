//! Runs a call and produces its reply. The reply is always typed, even after a panic, an endless
//! call, or a reply that violates its schema.

use super::Service;
use super::caller::Caller;
use super::metrics::Metrics;
use crate::error::{Code, ToolError};
use crate::tools::{Call, Pages, Progress, Tool};
use crate::wire::{self, Models};
use lyra_core::Engine;
use lyra_core::ports::Clock;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::{Semaphore, watch};

/// Runs the calls of one connection.
pub(super) struct Runner {
    engine: Engine,
    clock: Arc<dyn Clock>,
    stopping: watch::Receiver<bool>,
    shared: Arc<Shared>,
    /// The models that the client has already been told about.
    told: Arc<Mutex<Option<Models>>>,
    audit: bool,
}

/// State shared by the connections of a server.
pub(super) struct Shared {
    /// Permits for running calls. A thousand concurrent calls would otherwise slow each other down,
    /// and queries have deadlines.
    turns: Arc<Semaphore>,
    /// Permits for threads that run queries or wait for the guard.
    queries: Arc<Semaphore>,
    /// The evidence pages that clients are currently fetching.
    pages: Arc<Pages>,
    /// Where calls are counted, if metrics are served.
    metrics: Option<Arc<Metrics>>,
}

impl Shared {
    pub(super) fn new(metrics: Option<Arc<Metrics>>) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Arc::new(Self {
            turns: Arc::new(Semaphore::new((2 * cores).clamp(4, 16))),
            queries: Arc::new(Semaphore::new(QUERY_THREADS)),
            pages: Arc::default(),
            metrics,
        })
    }
}

/// Maximum number of these threads. The guard schedules queries by their deadlines, so all
/// concurrent queries should reach it.
const QUERY_THREADS: usize = 128;

impl Runner {
    pub(super) fn new(
        service: Service,
        shared: Arc<Shared>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        Self {
            engine: service.engine,
            clock: service.clock,
            audit: service.audit,
            stopping,
            shared,
            told: Arc::default(),
        }
    }

    /// Runs a tool, counts the call, and records it if requested.
    pub(super) async fn run(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ToolError> {
        let caller = Caller::of(&context.extensions);
        let metrics = self.shared.metrics.as_deref();
        let asked_at = Instant::now();
        let running = metrics.map(Metrics::call_begins);
        let answer = match self.audit {
            true => self.record(tool, arguments, context, &caller).await,
            false => self.answer(tool, arguments, context, &caller).await,
        };
        drop(running);
        let outcome = match &answer {
            Ok(_) => "ok",
            Err(error) => error.code.as_str(),
        };
        caller.note(tool.name, outcome);
        if let Some(metrics) = metrics {
            metrics.call_ended(tool.name, outcome, asked_at.elapsed());
        }
        answer
    }

    async fn record(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
        caller: &Caller,
    ) -> Result<Value, ToolError> {
        let asked_at = Instant::now();
        let mut asked = arguments.clone();
        // A human's cookies.
        asked.remove("session_data");
        let answer = self.answer(tool, arguments, context, caller).await;
        let details = json!({
            "arguments": asked,
            "rows": answer.as_ref().ok().map(|body| rows_of(tool, body)),
            "error_code": answer.as_ref().err().map(|error| error.code.as_str()),
            "elapsed_ms": u64::try_from(asked_at.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        let engine = caller.engine(&self.engine);
        let written =
            tokio::task::spawn_blocking(move || engine.record_call(tool.name, &details)).await;
        if let Ok(Err(error)) = written {
            crate::log::error(&format!(
                "a call of {} was not recorded: {error:?}",
                tool.name
            ));
        }
        answer
    }

    async fn answer(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
        caller: &Caller,
    ) -> Result<Value, ToolError> {
        let given = arguments.iter().filter(|(_, value)| !value.is_null());
        let given = given.map(|(name, _)| name.clone()).collect();
        let arguments = wire::accept(&tool.schema, arguments)?;
        if let Some(access) = &caller.access {
            access.check(tool, &arguments, &self.engine)?;
        }
        let token = context.meta.get_progress_token();
        let call = Call {
            engine: caller.engine(&self.engine),
            arguments,
            given,
            client: client(context, caller),
            access: caller.access.clone(),
            progress: token.map(|token| Progress::new(context.peer.clone(), token)),
            stopping: self.stopping.clone(),
            asked_at: Instant::now(),
            queries: Arc::clone(&self.shared.queries),
            pages: Arc::clone(&self.shared.pages),
        };
        let (models, clock) = (self.models(), Arc::clone(&self.clock));
        let told = Arc::clone(&self.told);
        let turns = tool.takes_turn.then(|| Arc::clone(&self.shared.turns));
        // In a separate task, so that a panic becomes a value here instead of a missing answer.
        let mut task = tokio::spawn(async move {
            let _turn = match &turns {
                Some(turns) => turns.acquire().await.ok(),
                None => None,
            };
            let reply = (tool.run)(call).await.inspect_err(|error| {
                if error.code == Code::QueryRejected {
                    // Debug formatting keeps text written by an agent on one line.
                    tracing::warn!(tool = tool.name, reason = ?error.message, "query refused");
                }
            })?;
            let known = || told.lock().unwrap_or_else(PoisonError::into_inner);
            let news = known().as_ref() != Some(&models);
            let reply = wire::success(tool, reply, news.then_some(&models), &clock.now())?;
            if tool.stored_text {
                *known() = Some(models);
            }
            Ok(reply)
        });
        let cut_off = tokio::select! {
            done = &mut task => return done.unwrap_or_else(|broken| {
                Err(ToolError::internal(&format!("{} broke off: {broken}", tool.name)))
            }),
            () = tokio::time::sleep(tool.limit) => {
                format!("it did not end within {} seconds", tool.limit.as_secs_f32())
            }
            () = context.ct.cancelled() => "its client cancelled it or went away".to_owned(),
        };
        task.abort();
        Err(ToolError::cut_off(tool.name, &cut_off))
    }

    fn models(&self) -> Models {
        let report = self.engine.models();
        Models {
            builtin: !report.builtin.is_empty(),
            builtin_parts: report.builtin,
            embedder: report.embedder,
            claim_extractor: report.claim_extractor,
            stance_judge: report.stance_judge,
        }
    }
}

/// The client's name: that of its token, otherwise the name that it reported.
fn client(context: &RequestContext<RoleServer>, caller: &Caller) -> String {
    let own = || context.client_info().map(|client| client.name);
    let name = caller.name().map(str::to_owned).or_else(own);
    name.filter(|name| !name.trim().is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Number of entries in the lists of a reply.
fn rows_of(tool: &Tool, body: &Value) -> usize {
    let lists = tool.lists.iter().filter_map(|list| body[*list].as_array());
    lists.map(Vec::len).sum()
}
