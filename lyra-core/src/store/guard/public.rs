//! The tables of a graph that queries may read.

/// A table that queries may read.
#[derive(Debug)]
pub(super) struct PublicTable {
    /// Its name in the schema.
    pub(super) name: &'static str,
    /// Columns that always read as null.
    pub(super) private_columns: &'static [&'static str],
}

const fn public(name: &'static str) -> PublicTable {
    PublicTable {
        name,
        private_columns: &[],
    }
}

/// The tables of the schema, full-text tables included.
pub(super) const PUBLIC_TABLES: &[PublicTable] = &[
    public("tasks"),
    public("queries"),
    public("serp_items"),
    public("works"),
    public("work_authors"),
    public("work_identifiers"),
    public("pages"),
    public("page_texts"),
    public("page_references"),
    public("fragments"),
    public("claims"),
    public("hypothesis_stances"),
    public("edges"),
    public("nli_verdicts"),
    public("embeddings"),
    public("task_pages"),
    public("resource_index"),
    public("jobs"),
    PublicTable {
        name: "auth_queue",
        private_columns: &["session_data"],
    },
    public("nli_corrections"),
    public("feedback_log"),
    public("domain_rules"),
    public("calibration_versions"),
    public("calibration_evaluations"),
    PublicTable {
        name: "event_log",
        private_columns: &["details_json"],
    },
    public("fragments_fts"),
    public("claims_fts"),
];

/// Derived tables that the `v_…` views read. They are readable because an authorizer cannot distinguish
/// a view's access from a query's own; they are not listed in the schema because the views present the
/// data better.
pub(super) const DERIVED_TABLES: [&str; 17] = [
    "blocked_edges",
    "screenings",
    "screening_keys",
    "screening_votes",
    "screened_sources",
    "excluded_pages",
    "found_records",
    "review_records",
    "stat_claims",
    "stat_evidence",
    "stat_task_fragments",
    "stat_years",
    "stat_eras",
    "stat_pages",
    "stat_task_pages",
    "stat_references",
    "stat_state",
];

/// The full-text tables among [`PUBLIC_TABLES`].
pub(super) const FTS_TABLES: [&str; 2] = ["fragments_fts", "claims_fts"];
