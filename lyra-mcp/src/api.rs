//! TEMPORARY shim.
#![allow(missing_docs, unused, unreachable_pub)]
use lyra_core::model::*;
use lyra_core::ports::{Clock, SystemClock};
use lyra_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

fn no<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, "shim"))
}

pub mod guard {
    use super::*;
    #[derive(Debug, Clone)]
    pub struct SqlOptions {
        pub limit: usize,
        pub offset: usize,
        pub timeout_ms: u64,
        pub max_vm_steps: u64,
        pub max_bytes: usize,
        pub include_schema: bool,
    }
    impl Default for SqlOptions {
        fn default() -> Self {
            Self {
                limit: 50,
                offset: 0,
                timeout_ms: 300,
                max_vm_steps: 5_000_000,
                max_bytes: 40960,
                include_schema: false,
            }
        }
    }
    #[derive(Debug, Clone, Default)]
    pub enum SqlParams {
        #[default]
        None,
        Positional(Vec<Value>),
        Named(Map<String, Value>),
    }
    impl SqlParams {
        pub fn from_json(value: Value) -> Result<Self> {
            Ok(match value {
                Value::Array(v) => Self::Positional(v),
                Value::Object(v) => Self::Named(v),
                _ => Self::None,
            })
        }
    }
    #[derive(Debug, Clone, Default)]
    pub struct SqlRequest {
        pub sql: String,
        pub params: SqlParams,
        pub options: SqlOptions,
    }
    impl SqlRequest {
        pub fn new(sql: impl Into<String>) -> Self {
            Self {
                sql: sql.into(),
                ..Self::default()
            }
        }
    }
    #[derive(Debug, Clone, Serialize)]
    pub struct SqlReply {
        pub rows: Vec<Map<String, Value>>,
        pub row_count: usize,
        pub columns: Vec<String>,
        pub truncated: bool,
        pub next_offset: Option<usize>,
        pub elapsed_ms: u64,
        pub schema: Option<SchemaSnapshot>,
    }
    #[derive(Debug, Clone, Serialize, Default)]
    pub struct SchemaSnapshot {
        pub tables: Vec<SchemaTable>,
    }
    #[derive(Debug, Clone, Serialize)]
    pub struct SchemaTable {
        pub name: String,
        pub kind: &'static str,
        pub columns: Vec<String>,
        pub joins: Vec<String>,
    }
}

#[derive(Debug, Clone)]
pub struct EngineConfig {
    pub db: PathBuf,
    pub corpus: Vec<PathBuf>,
    pub allow_private_hosts: bool,
    pub workers: usize,
    pub views_dir: Option<PathBuf>,
    pub clock: Arc<dyn Clock>,
}
impl EngineConfig {
    pub fn new(db: impl Into<PathBuf>) -> Self {
        Self {
            db: db.into(),
            corpus: vec![],
            allow_private_hosts: false,
            workers: 2,
            views_dir: None,
            clock: Arc::new(SystemClock),
        }
    }
}
#[derive(Clone, Debug)]
pub struct Engine(Arc<()>);
#[derive(Debug, Clone)]
pub struct QueueOptions {
    pub priority: Priority,
    pub budget_pages: Option<u32>,
    pub providers: Vec<String>,
}
#[derive(Debug, Serialize)]
pub struct QueueReport {
    pub queued_count: usize,
    pub skipped_count: usize,
    pub target_ids: Vec<String>,
    pub skipped: Vec<Skipped>,
}
#[derive(Debug, Serialize)]
pub struct Skipped {
    pub target: Value,
    pub reason: String,
}
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusDetail {
    Summary,
    Full,
}
#[derive(Debug, Serialize)]
pub struct StatusReport {
    pub task_id: String,
    pub changed: bool,
    pub progress: Progress,
    pub metrics: Metrics,
    pub pending_auth_count: usize,
    pub warnings: Vec<String>,
}
#[derive(Debug, Serialize)]
pub struct Progress { pub queue: Queue, pub jobs_by_phase: Phases }
#[derive(Debug, Serialize)] pub struct Phases { pub exploration: Phase, pub verification: Phase, pub citation: Phase }
#[derive(Debug, Serialize)] pub struct Phase { pub queued: usize, pub running: usize, pub completed: usize, pub failed: usize }
#[derive(Debug, Serialize)]
pub struct Queue {
    pub depth: usize,
    pub running: usize,
}
#[derive(Debug, Serialize)]
pub struct Metrics {
    pub total_pages: usize,
    pub total_fragments: usize,
    pub total_claims: usize,
    pub elapsed_seconds: f64,
}
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    SessionCompleted,
    BudgetExhausted,
    UserCancelled,
}
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMode {
    Graceful,
    Immediate,
    Full,
}
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopScope {
    AllJobs,
    TargetQueueOnly,
}
#[derive(Debug)]
pub struct StopRequest {
    pub reason: StopReason,
    pub mode: StopMode,
    pub scope: StopScope,
}
#[derive(Debug, Serialize)]
pub struct StopReport {
    pub task_id: String,
    pub final_status: TaskStatus,
}
#[derive(Debug)]
pub struct ViewRequest {
    pub view_name: String,
    pub task_id: Option<String>,
    pub params: Map<String, Value>,
    pub limit: usize,
    pub offset: usize,
}
#[derive(Debug, Serialize)]
pub struct ViewReply {
    pub view_name: String,
    pub rows: Vec<Map<String, Value>>,
    pub row_count: usize,
    pub columns: Vec<String>,
    pub truncated: bool,
    pub next_offset: Option<usize>,
    pub elapsed_ms: u64,
}
#[derive(Debug, Serialize, Clone)]
pub struct ViewInfo {
    pub name: String,
    pub description: String,
    pub parameters: Vec<String>,
    pub columns: Vec<String>,
}
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchMode {
    Semantic,
    Hybrid,
    Lexical,
}
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cutoff {
    None,
    Kneedle,
}
#[derive(Debug)]
pub struct VectorRequest {
    pub query: String,
    pub target: EmbeddingTarget,
    pub task_id: Option<String>,
    pub top_k: usize,
    pub min_similarity: f32,
    pub mode: SearchMode,
    pub cutoff: Cutoff,
}
#[derive(Debug, Serialize)]
pub struct VectorReply {
    pub results: Vec<Value>,
    pub total_searched: usize,
    pub skipped: usize,
    pub model_id: String,
}
#[derive(Debug, Serialize)]
pub struct AuthItem {
    pub queue_id: String,
}
#[derive(Debug, Serialize)]
pub struct ImportReport {
    pub lines: usize,
}
#[derive(Debug, Serialize)]
pub struct ExportReport {
    pub lines: usize,
}
#[derive(Debug, Serialize)]
pub struct ForgetReport {
    pub claims: usize,
}
#[derive(Debug, Serialize)]
pub struct VerifyReport {
    pub checked: std::collections::BTreeMap<String, u64>,
    pub violations: Vec<Violation>,
    pub unverifiable: u64,
}
#[derive(Debug, Serialize)]
pub struct Violation {
    pub check: String,
    pub table: String,
    pub id: String,
    pub detail: String,
}
#[derive(Debug, Serialize, Clone)]
pub struct ModelReport {
    pub embedder: String,
    pub claim_extractor: String,
    pub stance_judge: String,
    pub embedder_builtin: bool,
    pub claim_extractor_builtin: bool,
    pub stance_judge_builtin: bool,
}
#[derive(Debug, Serialize)]
pub struct DoctorCheck {
    pub name: String,
    pub ok: bool,
    pub detail: String,
    pub advice: Option<String>,
}
#[derive(Debug)]
pub struct Workers;
impl Workers {
    pub async fn shutdown(self) {}
}

impl Engine {
    pub fn open(config: EngineConfig) -> Result<Self> {
        Ok(Self(Arc::new(())))
    }
    pub fn create_task(&self, hypothesis: &str, config: TaskConfig) -> Result<TaskRecord> {
        no()
    }
    pub fn queue_targets(
        &self,
        task_id: &str,
        targets: &[Value],
        options: &QueueOptions,
    ) -> Result<QueueReport> {
        no()
    }
    pub fn status(&self, task_id: &str, detail: StatusDetail) -> Result<StatusReport> {
        Err(Error::task_not_found(task_id))
    }
    pub async fn wait_status(
        &self,
        task_id: &str,
        wait: Duration,
        detail: StatusDetail,
    ) -> Result<StatusReport> {
        Err(Error::task_not_found(task_id))
    }
    pub async fn stop_task(&self, task_id: &str, request: &StopRequest) -> Result<StopReport> {
        no()
    }
    pub fn query_sql(&self, request: &guard::SqlRequest) -> Result<guard::SqlReply> {
        if request.sql == "panic" {
            panic!("boom /home/x SELECT")
        }
        no()
    }
    pub fn query_view(&self, request: &ViewRequest) -> Result<ViewReply> {
        no()
    }
    pub fn list_views(&self) -> Vec<ViewInfo> {
        vec![]
    }
    pub async fn vector_search(&self, request: &VectorRequest) -> Result<VectorReply> {
        no()
    }
    pub fn auth_queue(&self, task_id: Option<&str>) -> Result<Vec<AuthItem>> {
        Ok(vec![])
    }
    pub fn import_jsonl(&self, reader: impl std::io::BufRead) -> Result<ImportReport> {
        no()
    }
    pub fn export_jsonl(
        &self,
        writer: impl std::io::Write,
        task: Option<&str>,
    ) -> Result<ExportReport> {
        no()
    }
    pub fn verify(&self) -> Result<VerifyReport> {
        no()
    }
    pub fn forget(&self, task_id: &str, orphans: bool) -> Result<ForgetReport> {
        no()
    }
    pub fn models(&self) -> ModelReport {
        ModelReport {
            embedder: "e".into(),
            claim_extractor: "c".into(),
            stance_judge: "s".into(),
            embedder_builtin: true,
            claim_extractor_builtin: true,
            stance_judge_builtin: true,
        }
    }
    pub fn doctor(&self) -> Vec<DoctorCheck> {
        vec![]
    }
    pub fn tasks(&self) -> Result<Vec<TaskRecord>> {
        Ok(vec![])
    }
    pub fn schema(&self) -> guard::SchemaSnapshot {
        Default::default()
    }
    pub fn start_workers(&self) -> Workers {
        Workers
    }
    pub async fn run(
        &self,
        task_id: &str,
        progress: Option<&(dyn Fn(&StatusReport) + Send + Sync)>,
    ) -> Result<StatusReport> {
        no()
    }
}
pub fn instruction_patterns(text: &str) -> Vec<String> {
    if text
        .to_lowercase()
        .contains("ignore all previous instructions")
    {
        vec!["ignore_previous".into()]
    } else {
        vec![]
    }
}
