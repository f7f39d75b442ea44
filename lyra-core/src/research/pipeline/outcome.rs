//! The results of stages.

use crate::store::model::{JobKind, QueryStatus};
use serde::Serialize;

/// What a stage did, and what should happen next. Only the job queue acts on it.
#[derive(Debug, Clone, Default)]
pub struct StageOutcome {
    /// For `jobs.output_json`.
    pub output: serde_json::Value,
    /// Work that should follow.
    pub follow_ups: Vec<FollowUp>,
    /// Pages that need a human first.
    pub needs_auth: Vec<AuthNeed>,
    /// Whether the job has no result until a human has opened the page.
    pub is_blocked: bool,
}

/// Work that should follow a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowUp {
    /// The kind of work.
    pub kind: JobKind,
}

/// A page that needs a human first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthNeed {
    /// The page.
    pub url: String,
    /// Its registrable domain.
    pub domain: String,
    /// `cloudflare`, `captcha`, `login` …
    pub auth_type: String,
}

/// The result of a search: the answer of the `search` action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchReport {
    /// Always true; failures are errors.
    pub ok: bool,
    /// `queries.id`.
    pub search_id: String,
    /// The words that were searched.
    pub query: String,
    /// The final status.
    pub status: QueryStatus,
    /// Pages with a text that were read or already known.
    pub pages_fetched: u32,
    /// Pages with more than 200 characters of text.
    pub useful_fragments: u32,
    /// `useful_fragments / pages_fetched`.
    pub harvest_rate: f64,
    /// The claims as stored in the database.
    pub claims_found: Vec<FoundClaim>,
    /// 0 to 1: based on independent sources and on whether one is primary.
    pub satisfaction_score: f64,
    /// 0 to 1: how much of the most recent fragments was new.
    pub novelty_score: f64,
    /// The remaining page budget of the task.
    pub budget_remaining: BudgetRemaining,
    /// The problems, each with its location.
    pub errors: Vec<String>,
}

/// The remaining part of a page budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BudgetRemaining {
    /// Pages.
    pub pages: u32,
    /// Percentage of the whole budget.
    pub percent: u32,
}

/// A claim that a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundClaim {
    /// `claims.id`.
    pub id: String,
    /// The statement.
    pub text: String,
    /// The extractor's confidence.
    pub confidence: f64,
    /// The page.
    pub source_url: String,
    /// Whether the page's domain is that of a primary source.
    pub is_primary_source: bool,
}
