//! Queries on the graph.

use super::ModelReport;
use super::handle::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{StancePair, TextRole, Verdict};
use crate::research::task::{AuthItem, auth_items};
use crate::store::guard::{SchemaSnapshot, SqlOptions, SqlParams, SqlReply, SqlRequest, spent};
use crate::store::model::{EmbeddingTarget, TaskRecord};
use crate::store::vectors::{SearchMode, VectorReply, VectorRequest};
use crate::store::views::{BrokenView, RenderedView, ViewInfo, ViewParams};
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// Which columns of a view are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ViewColumns {
    /// The informative columns, with numbers rounded to three significant digits: without columns
    /// that repeat another one or are seldom needed, and without `task_id` if one task is queried.
    Main,
    /// Every column, as it is stored.
    #[default]
    All,
}

/// A request to a view.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewRequest {
    /// `v_…`.
    pub view_name: String,
    /// Only this task.
    pub task_id: Option<String>,
    /// The view's other parameters.
    pub params: Map<String, Value>,
    /// 1 to 200 rows.
    pub limit: usize,
    /// Number of rows to skip.
    pub offset: usize,
    /// Which columns.
    pub columns: ViewColumns,
    /// Bytes of rows in the reply, 1,024 to 1,048,576; the reply ends with the last row that fits.
    pub max_bytes: usize,
}

impl ViewRequest {
    /// The first 50 rows of a view.
    pub fn new(view_name: impl Into<String>) -> Self {
        Self {
            view_name: view_name.into(),
            task_id: None,
            params: Map::new(),
            limit: 50,
            offset: 0,
            columns: ViewColumns::All,
            max_bytes: MAX_BYTES,
        }
    }

    /// Restricts the request to one task.
    #[must_use]
    pub fn for_task(mut self, task_id: impl Into<String>) -> Self {
        self.task_id = Some(task_id.into());
        self
    }
}

/// The reply of a view.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ViewReply {
    /// `v_…`.
    pub view_name: String,
    /// Rows by column name.
    pub rows: Vec<Map<String, Value>>,
    /// Number of rows.
    pub row_count: usize,
    /// Column names in order.
    pub columns: Vec<String>,
    /// Whether there are more rows.
    pub truncated: bool,
    /// Offset of the next rows, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Elapsed time in milliseconds.
    pub elapsed_ms: u64,
}

/// Maximum size of a reply.
const MAX_BYTES: usize = 1_048_576;

/// Views are trusted, so they get more time than untrusted SQL. Views of a task need milliseconds;
/// views of the whole graph process all its citations, and a late answer is better than none.
const VIEW_TIMEOUT_MS: u64 = 5_000;
const VIEW_VM_STEPS: u64 = 200_000_000;

/// Rounds a number to three significant digits; integers are unchanged.
fn shorten(value: &mut Value) {
    if let Some(number) = value.as_f64().filter(|_| value.is_f64()) {
        let short: f64 = format!("{number:.2e}").parse().unwrap_or(number);
        *value = Value::from(short);
    }
}

impl Engine {
    /// Runs untrusted SQL: one statement, read-only, within its budgets. Blocks.
    pub fn query_sql(&self, request: &SqlRequest) -> Result<SqlReply> {
        let reply = self.inner.views.guard.query(request);
        reply.map(|reply| self.described(reply))
    }

    /// Like [`query_sql`](Self::query_sql), but can be cancelled: `is_wanted` is called every 20
    /// ms, on this thread; after it returns false, the query ends as if it had exceeded its time.
    pub fn query_sql_while(
        &self,
        request: &SqlRequest,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<SqlReply> {
        let reply = self.inner.views.guard.query_while(request, is_wanted);
        reply.map(|reply| self.described(reply))
    }

    /// The same for a query that has waited for this call: its time is counted from `asked_at`.
    pub fn query_sql_since(&self, asked_at: Instant, request: &SqlRequest) -> Result<SqlReply> {
        let guard = &self.inner.views.guard;
        let reply = guard.query_since(asked_at, request, &|| true);
        reply.map(|reply| self.described(reply))
    }

    /// Runs a view. Blocks.
    pub fn query_view(&self, request: &ViewRequest) -> Result<ViewReply> {
        self.query_view_while(request, &|| true)
    }

    /// Like [`query_view`](Self::query_view), but can be cancelled as in
    /// [`query_sql_while`](Self::query_sql_while).
    pub fn query_view_while(
        &self,
        request: &ViewRequest,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<ViewReply> {
        let task_id = task_of(request)?;
        if let Some(task_id) = task_id {
            self.inner.graph.read(|r| r.task(task_id))?;
        }
        self.inner.graph.catch_up()?;
        let mut params =
            ViewParams::new(self.inner.config.clock.year()).with_all(request.params.clone());
        if let Some(task_id) = task_id {
            params = params.with_task(task_id);
        }
        let rendered = self.render(&request.view_name, &params)?;
        let wanted = request
            .offset
            .saturating_add(request.limit)
            .saturating_add(1);
        let sql = SqlRequest {
            // If a view has to sort, SQLite then keeps only as many rows as are requested.
            sql: format!(
                "SELECT {} FROM (\n{}\n) LIMIT {wanted}",
                self.columns_of(request)?,
                rendered.sql
            ),
            params: SqlParams::Named(rendered.bindings),
            options: SqlOptions {
                limit: request.limit,
                offset: request.offset,
                timeout_ms: VIEW_TIMEOUT_MS,
                max_vm_steps: VIEW_VM_STEPS,
                max_bytes: request.max_bytes,
                ..SqlOptions::default()
            },
        };
        let reply = self.inner.views.guard.query_view(&sql, is_wanted);
        let reply = reply.map_err(|error| match spent(&error) {
            // The caller of a view cannot raise its budget.
            Some(_) => error.with_hint(
                "ask about one task, narrow the view with its params (list_views names them), or \
                 ask query_sql for the part that you need",
            ),
            None => error,
        })?;
        let mut rows = reply.rows;
        if request.columns == ViewColumns::Main {
            rows.iter_mut().flat_map(Map::values_mut).for_each(shorten);
        }
        Ok(ViewReply {
            view_name: request.view_name.clone(),
            rows,
            row_count: reply.row_count,
            columns: reply.columns,
            truncated: reply.truncated,
            next_offset: reply.next_offset,
            elapsed_ms: reply.elapsed_ms,
        })
    }

    /// Describes the views in the schema by the first sentence of their documentation.
    fn described(&self, mut reply: SqlReply) -> SqlReply {
        if let Some(schema) = &mut reply.schema {
            self.describe_views(schema);
        }
        reply
    }

    fn describe_views(&self, schema: &mut SchemaSnapshot) {
        for table in schema.tables.iter_mut().filter(|t| t.kind == "view") {
            let info = self.inner.views.catalog.info(&table.name).ok();
            table.description = info.map(|info| match info.description.split_once(". ") {
                Some((first, _)) => format!("{first}."),
                None => info.description.clone(),
            });
        }
    }

    /// The column list after `SELECT`.
    fn columns_of(&self, request: &ViewRequest) -> Result<String> {
        if request.columns == ViewColumns::All {
            return Ok("*".to_owned());
        }
        let info = self.inner.views.catalog.info(&request.view_name)?;
        let says_nothing = |column: &String| {
            info.extra_columns.contains(column)
                || (column == "task_id" && request.task_id.is_some())
        };
        let main = info.columns.iter().filter(|c| !says_nothing(c));
        let main: Vec<String> = main.map(|column| format!("[{column}]")).collect();
        Ok(main.join(", "))
    }

    fn render(&self, view_name: &str, params: &ViewParams) -> Result<RenderedView> {
        let views = &self.inner.views;
        let broken = views.broken.iter().find(|b| b.name == view_name);
        match (views.catalog.render(view_name, params), broken) {
            (Err(error), Some(broken)) if error.kind() == ErrorKind::NotFound => {
                let message = format!("the view {view_name} is broken: {}", broken.fault());
                Err(Error::not_found(message).with_hint(BrokenView::ADVICE))
            }
            (rendered, _) => rendered,
        }
    }

    /// The files in the user's folder of views that could not be used, with the reason.
    pub fn broken_views(&self) -> &[BrokenView] {
        &self.inner.views.broken
    }

    /// The views, by name.
    pub fn list_views(&self) -> Vec<ViewInfo> {
        self.inner.views.catalog.list()
    }

    /// The tables and columns that SQL may read.
    pub fn schema(&self) -> SchemaSnapshot {
        let mut schema = self.inner.views.guard.schema();
        self.describe_views(&mut schema);
        schema
    }

    /// Searches claims or fragments by meaning, by words, or by both.
    pub async fn vector_search(&self, request: &VectorRequest) -> Result<VectorReply> {
        request.validate()?;
        let embedder = &self.inner.pipeline.reading.embedder;
        let vector = match request.mode {
            // A lexical search needs no embedder, which may be unavailable.
            SearchMode::Lexical => vec![0.0; embedder.info().dimension],
            SearchMode::Semantic | SearchMode::Hybrid => {
                let vectors = embedder.embed(&[&request.query], TextRole::Query).await?;
                vectors.into_iter().next().unwrap_or_default()
            }
        };
        self.inner.graph.read(|r| {
            self.inner
                .pipeline
                .vectors
                .search(r, embedder.info(), &vector, request)
        })
    }

    /// Searches with a vector of the embedder instead of a text. `request.query` is used only if
    /// the mode needs words; hybrid mode without words is semantic mode. Blocks.
    ///
    /// # Errors
    /// `InvalidInput` for a vector of another length or with values that are not finite; otherwise
    /// as [`vector_search`](Self::vector_search).
    pub fn search_by_vector(&self, vector: &[f32], request: &VectorRequest) -> Result<VectorReply> {
        let pipeline = &self.inner.pipeline;
        let model = pipeline.reading.embedder.info();
        if vector.len() != model.dimension {
            let (has, wants) = (vector.len(), model.dimension);
            let message = format!("the query vector has {has} values; expected {wants}");
            return Err(Error::invalid(message)
                .with_hint(format!("embed the query with {}", model.model_id)));
        }
        if vector.iter().any(|value| !value.is_finite()) {
            return Err(Error::invalid(
                "the query vector has a value that is not finite",
            ));
        }
        let mut request = request.clone();
        if request.mode == SearchMode::Hybrid && request.query.trim().is_empty() {
            request.mode = SearchMode::Semantic;
        }
        let graph = &self.inner.graph;
        graph.read(|r| pipeline.vectors.search(r, model, vector, &request))
    }

    /// Embeds texts with the embedder in use: one unit vector each, in order.
    pub async fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>> {
        self.inner
            .pipeline
            .reading
            .embedder
            .embed(texts, role)
            .await
    }

    /// Judges pairs of texts with the judge in use: one verdict each, in order.
    pub async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        self.inner.pipeline.judge.judge(pairs).await
    }

    /// Reads the vectors of claims and fragments into memory: about half a second for 100,000 of
    /// 384 values. Otherwise the first search does this, so calling it is optional.
    pub fn load_vectors(&self) -> Result<()> {
        let pipeline = &self.inner.pipeline;
        let model = pipeline.reading.embedder.info();
        self.inner.graph.read(|r| {
            for target in [EmbeddingTarget::Claim, EmbeddingTarget::Fragment] {
                pipeline.vectors.load(r, target, model)?;
            }
            Ok(())
        })
    }

    /// Upper bound on the memory that all vectors of the graph take, in bytes. It exceeds what
    /// [`load_vectors`](Self::load_vectors) uses if rows were replaced or removed.
    pub fn vector_bytes(&self) -> Result<u64> {
        let rows = self.inner.graph.read(|r| r.embedding_rows())?;
        let dimension = self.inner.pipeline.reading.embedder.info().dimension as u64;
        // The values themselves, and one byte per value for the first pass of a search.
        Ok(rows * dimension * 5)
    }

    /// Frees the memory of the vectors if no search has used them for this long; the next search
    /// reads them again. Returns whether anything was freed.
    pub fn release_vectors(&self, unused_for: Duration) -> bool {
        self.inner.pipeline.vectors.release_unused(unused_for)
    }

    /// Every task, newest first.
    pub fn tasks(&self) -> Result<Vec<TaskRecord>> {
        self.inner.graph.read(|r| r.tasks())
    }

    /// The pages that wait for a human, in one task or in all. Pages that have waited too long are
    /// given up first.
    pub fn auth_queue(&self, task_id: Option<&str>) -> Result<Vec<AuthItem>> {
        self.give_up_late_pages()?;
        self.inner.graph.read(|r| {
            if let Some(task_id) = task_id {
                r.task(task_id)?;
            }
            auth_items(r, task_id)
        })
    }

    /// The models in use.
    pub fn models(&self) -> ModelReport {
        let pipeline = &self.inner.pipeline;
        let embedder = pipeline.reading.embedder.info();
        let builtin = [
            ("embedder", embedder.builtin),
            ("claim_extractor", pipeline.extractor.is_builtin()),
            ("stance_judge", pipeline.judge.is_builtin()),
        ];
        ModelReport {
            embedder: embedder.model_id.clone(),
            dimension: embedder.dimension,
            claim_extractor: pipeline.extractor.extractor_id().to_owned(),
            stance_judge: pipeline.judge.judge_id().to_owned(),
            builtin: builtin
                .iter()
                .filter(|(_, b)| *b)
                .map(|(name, _)| (*name).to_owned())
                .collect(),
        }
    }
}

/// The task of a view request. Callers pass it as a field or as a parameter.
fn task_of(request: &ViewRequest) -> Result<Option<&str>> {
    let among = request.params.get("task_id").and_then(Value::as_str);
    match (request.task_id.as_deref(), among) {
        (Some(beside), Some(among)) if beside != among => Err(Error::invalid(format!(
            "task_id is {beside:?} and params.task_id is {among:?}"
        ))
        .with_hint("give the task once")),
        (beside, among) => Ok(beside.or(among)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EngineConfig;

    #[test]
    fn the_budget_of_a_view_is_not_its_caller_s_to_raise() {
        let folder = tempfile::tempdir().unwrap();
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
            SELECT max(i) AS m FROM n";
        let view = format!("-- Has no end.\n-- Columns:\n--   m: Nothing.\n\n{endless}\n");
        std::fs::write(folder.path().join("v_endless.sql.j2"), view).unwrap();
        let mut config = EngineConfig::new(folder.path().join("g.db"));
        config.views_dir = Some(folder.path().to_owned());
        let engine = Engine::open(config).unwrap();
        let error = engine.query_view(&ViewRequest::new("v_endless"));
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QueryInterrupted);
        assert!(error.hint().unwrap().starts_with("ask about one task"));
        let request = SqlRequest {
            sql: endless.to_owned(),
            ..SqlRequest::default()
        };
        let error = engine.query_sql(&request).unwrap_err();
        assert!(error.hint().unwrap().contains("or raise "), "{error:?}");
    }
}
