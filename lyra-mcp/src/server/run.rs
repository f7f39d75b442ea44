//! From a call to its reply. Whatever happens in a tool, something typed comes back: a panic, a
//! reply that breaks its schema, a call without end.

use crate::error::ToolError;
use crate::tools::{Call, Progress, Tool};
use crate::wire::{self, Models};
use lyra_core::Engine;
use lyra_core::ports::Clock;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Semaphore, watch};

/// Runs the calls of one connection.
pub(super) struct Runner {
    engine: Engine,
    clock: Arc<dyn Clock>,
    stopping: watch::Receiver<bool>,
    /// Calls that work at a time. A thousand that came at once would else take each other's time,
    /// and queries have deadlines.
    turns: Arc<Semaphore>,
    /// Threads that run queries or wait for the guard to do so.
    queries: Arc<Semaphore>,
}

/// How many threads these are. The guard lets the queries in by their deadlines, so that all that
/// come at once should get to it.
const QUERY_THREADS: usize = 128;

impl Runner {
    pub(super) fn new(
        engine: Engine,
        clock: Arc<dyn Clock>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            engine,
            clock,
            stopping,
            turns: Arc::new(Semaphore::new((2 * cores).clamp(4, 16))),
            queries: Arc::new(Semaphore::new(QUERY_THREADS)),
        }
    }

    /// Runs a tool to its reply.
    pub(super) async fn run(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ToolError> {
        let given = arguments.iter().filter(|(_, value)| !value.is_null());
        let given = given.map(|(name, _)| name.clone()).collect();
        let arguments = wire::accept(&tool.schema, arguments)?;
        let token = context.meta.get_progress_token();
        let call = Call {
            engine: self.engine.clone(),
            arguments,
            given,
            progress: token.map(|token| Progress::new(context.peer.clone(), token)),
            stopping: self.stopping.clone(),
            asked_at: Instant::now(),
            queries: Arc::clone(&self.queries),
        };
        let (models, clock) = (self.models(), Arc::clone(&self.clock));
        let turns = tool.takes_turn.then(|| Arc::clone(&self.turns));
        // A task of its own: a panic in it is a value here, where it would else be silence.
        let mut task = tokio::spawn(async move {
            let _turn = match &turns {
                Some(turns) => turns.acquire().await.ok(),
                None => None,
            };
            let reply = (tool.run)(call).await?;
            wire::success(tool, reply, &models, &clock.now())
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
