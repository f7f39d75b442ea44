//! Tables that are derived from the others and read by the views.

use super::columns::{ColumnType, FlatColumn};

/// A table that an export adds and an import ignores.
pub(super) struct Derived {
    pub(super) name: &'static str,
    pub(super) columns: &'static [FlatColumn],
    /// A table, a view or a SELECT in parentheses.
    pub(super) from: &'static str,
    pub(super) order: &'static str,
}

const fn of(name: &'static str, holds: ColumnType) -> FlatColumn {
    FlatColumn {
        name,
        holds,
        nullable: false,
    }
}

const fn maybe(name: &'static str, holds: ColumnType) -> FlatColumn {
    FlatColumn {
        name,
        holds,
        nullable: true,
    }
}

use ColumnType::{Choice, Flag, Int, Real, Text};

/// Row numbers are left out because they differ between equal graphs; ids are used instead.
pub(super) static DERIVED: [Derived; 11] = [
    Derived {
        name: "stat_claims",
        columns: &[
            of("claim_id", Text),
            of("task_id", Text),
            of("is_adopted", Flag),
            of("support_count", Int),
            of("refute_count", Int),
            of("neutral_count", Int),
            of("evidence_count", Int),
            of("max_confidence", Real),
            of("avg_confidence", Real),
            of("support_weight", Real),
            of("refute_weight", Real),
            maybe("controversy_score", Real),
            of("dated_count", Int),
            of("year_sum", Int),
            maybe("mean_year", Real),
            maybe("newest_support_year", Int),
            maybe("oldest_support_year", Int),
            maybe("newest_refute_year", Int),
            of("support_years", Int),
            of("dated_support_count", Int),
            of("undated_support_count", Int),
            of("recent_support_count", Int),
            of("support_trend", Int),
            of("independent_sources", Int),
            of("independent_support_weight", Real),
            of("independent_refute_weight", Real),
            of("retracted_evidence_count", Int),
        ],
        from: "stat_claims",
        order: "claim_id",
    },
    Derived {
        name: "stat_evidence",
        columns: &[
            of("task_id", Text),
            of("confidence", Real),
            of("edge_id", Text),
            of("is_adopted", Flag),
        ],
        from: "stat_evidence",
        order: "task_id, confidence DESC, edge_id",
    },
    Derived {
        name: "stat_years",
        columns: &[
            of("task_id", Text),
            of("year", Int),
            of("fragment_count", Int),
            of("claim_count", Int),
            of("edge_count", Int),
            of("confidence_sum", Int),
            of("fragment_count_all", Int),
            of("claim_count_all", Int),
            of("edge_count_all", Int),
            of("confidence_sum_all", Int),
        ],
        from: "stat_years",
        order: "task_id, year",
    },
    Derived {
        name: "stat_eras",
        columns: &[
            of("task_id", Text),
            of("decade", Int),
            of("decided", Int),
            of("controversial", Int),
            of("controversy_sum", Int),
            of("decided_all", Int),
            of("controversial_all", Int),
            of("controversy_sum_all", Int),
        ],
        from: "stat_eras",
        order: "task_id, decade",
    },
    Derived {
        name: "stat_task_pages",
        columns: &[
            of("page_id", Text),
            of("task_id", Text),
            maybe("domain", Text),
            of("citation_count", Int),
            of("cited_by_count", Int),
            of("claims_supported", Int),
            of("support_count", Int),
            of("evidence_count", Int),
            of("claims_generated", Int),
            of("confidence_sum", Int),
            of("confidence_count", Int),
            of("claims_supported_all", Int),
            of("support_count_all", Int),
            of("evidence_count_all", Int),
            of("claims_generated_all", Int),
            of("confidence_sum_all", Int),
            of("confidence_count_all", Int),
            of("authority_score", Real),
            of("impact_score", Real),
        ],
        from: "stat_task_pages",
        order: "task_id, page_id",
    },
    Derived {
        name: "stat_references",
        columns: &[
            of("task_id", Text),
            of("depth", Int),
            of("created_at", Text),
            of("citation_edge_id", Text),
            of("citing_page_id", Text),
            of("candidate_page_id", Text),
        ],
        from: "stat_references",
        order: "task_id, citation_edge_id",
    },
    Derived {
        name: "stat_state",
        columns: &[of("key", Text), of("value", Int)],
        from: "(SELECT key, value FROM stat_state WHERE key = 'reference_year')",
        order: "key",
    },
    Derived {
        name: "blocked_edges",
        columns: &[
            of("id", Text),
            of("task_id", Text),
            of("source_id", Text),
            of("target_id", Text),
        ],
        from: "(SELECT b.id, c.task_id, b.source_id, b.target_id
            FROM blocked_edges b JOIN claims c ON c.id = b.target_id)",
        order: "id",
    },
    Derived {
        name: "screening_votes",
        columns: &[
            of("task_id", Text),
            of("source_key", Text),
            of("reviewer", Text),
            of("decision", Choice),
            maybe("reason", Text),
            of("url", Text),
            maybe("page_id", Text),
            of("decided_at", Text),
        ],
        from: "screening_votes",
        order: "task_id, source_key, reviewer",
    },
    Derived {
        name: "screened_sources",
        columns: &[
            of("task_id", Text),
            of("source_key", Text),
            maybe("url", Text),
            maybe("page_id", Text),
            maybe("includes", Int),
            maybe("excludes", Int),
            maybe("final_by", Text),
            maybe("decided_at", Text),
            maybe("state", Choice),
            maybe("is_disputed", Flag),
            maybe("reason", Text),
        ],
        from: "screened_sources",
        order: "task_id, source_key",
    },
    Derived {
        name: "review_records",
        columns: &[
            of("task_id", Text),
            of("wave", Int),
            maybe("source", Text),
            of("record_id", Text),
            maybe("url", Text),
            maybe("title", Text),
            maybe("found_at", Text),
            maybe("page_id", Text),
            maybe("source_key", Text),
            maybe("wave_outcome", Choice),
            maybe("wave_reason", Text),
            maybe("outcome", Choice),
            maybe("reason", Text),
        ],
        from: "review_records",
        order: "task_id, wave, found_at, source, url, record_id",
    },
];
