//! Which of two rows with the same key is kept: the rules of docs/merge.md as data.
//!
//! Each rule takes the greatest (or the least) of the existing values, in a total order that depends
//! only on the rows themselves. This makes a merge idempotent, commutative and associative.

/// How the rows of a table are merged.
pub(super) struct Rule {
    pub(super) table: &'static str,
    /// The source of the rows, if it is not the table alone.
    pub(super) from: Option<&'static str>,
    pub(super) conflicts: &'static [Conflict],
    /// Columns that are equal in rows with the same key.
    pub(super) same: &'static [&'static str],
    /// Columns that are taken together from the row that ranks higher.
    pub(super) unit: &'static [&'static str],
    /// Expressions that are compared before the columns of the unit.
    pub(super) rank: &'static [&'static str],
    /// Columns for which the least value is taken.
    pub(super) least: &'static [&'static str],
    /// Columns for which the greatest value is taken.
    pub(super) greatest: &'static [&'static str],
    /// Expressions that are read in place of a column of the source.
    pub(super) read_as: &'static [(&'static str, &'static str)],
    /// Condition on the rows of the source that are merged.
    pub(super) wanted: &'static str,
}

/// A unique index with which a row may conflict: its columns, and its condition.
pub(super) struct Conflict(pub(super) &'static str, pub(super) &'static str);

const NONE: Rule = Rule {
    table: "",
    from: None,
    conflicts: &[],
    same: &[],
    unit: &[],
    rank: &[],
    least: &[],
    greatest: &[],
    read_as: &[],
    wanted: "TRUE",
};

const LIVING_TASK: &str = "s.task_id NOT IN (SELECT task_id FROM main.forgotten)";
const LIVING_CLAIM: &str = "s.claim_id NOT IN temp.merge_forgotten_claims";

/// A human ranks before an agent, an agent before a model, a model before the built-in judge.
macro_rules! judge_rank {
    () => {
        "CASE WHEN {row}.judge_id = 'human' THEN 3 WHEN {row}.judge_id GLOB 'agent:*' THEN 2
           WHEN {row}.judge_id IS NULL OR {row}.judge_id GLOB 'lyra-*' THEN 0 ELSE 1 END"
    };
}

pub(super) const TASKS: Rule = Rule {
    table: "tasks",
    conflicts: &[Conflict("id", "")],
    same: &["id", "hypothesis"],
    unit: &[
        "status",
        "started_at",
        "completed_at",
        "error_message",
        "config_json",
    ],
    rank: &["{row}.completed_at", "{row}.started_at"],
    least: &["created_at"],
    wanted: "s.id NOT IN (SELECT task_id FROM main.forgotten)",
    ..NONE
};

pub(super) const WORKS: Rule = Rule {
    table: "works",
    conflicts: &[Conflict("canonical_id", "")],
    same: &["canonical_id"],
    // A work that is retracted on any side is retracted.
    greatest: &[
        "title",
        "year",
        "published_date",
        "venue",
        "doi",
        "citation_count",
        "reference_count",
        "is_open_access",
        "is_retracted",
        "oa_url",
        "pdf_url",
        "source_api",
    ],
    ..NONE
};

pub(super) const WORK_IDENTIFIERS: Rule = Rule {
    table: "work_identifiers",
    conflicts: &[Conflict("provider, provider_paper_id", "")],
    same: &["provider", "provider_paper_id"],
    greatest: &["canonical_id", "doi", "pmid", "pmcid", "arxiv_id"],
    ..NONE
};

/// The state of a page when it was last read.
pub(super) const PAGE_STATE: [&str; 13] = [
    "fetched_at",
    "final_url",
    "title",
    "page_type",
    "fetch_method",
    "http_status",
    "content_type",
    "content_hash",
    "content_length",
    "etag",
    "last_modified",
    "error_message",
    "fresh_until",
];

pub(super) const PAGES: Rule = Rule {
    table: "pages",
    conflicts: &[Conflict("id", "")],
    same: &["id", "url"],
    unit: &PAGE_STATE,
    greatest: &["domain", "canonical_id", "language", "near_duplicate_of"],
    ..NONE
};

pub(super) const RESOURCES: Rule = Rule {
    table: "resource_index",
    conflicts: &[Conflict("identifier_type, identifier_value", "")],
    same: &["identifier_type", "identifier_value"],
    unit: &["page_id", "status"],
    rank: &["CASE {row}.status WHEN 'fetched' THEN 2 WHEN 'known' THEN 1 ELSE 0 END"],
    ..NONE
};

pub(super) const FRAGMENTS: Rule = Rule {
    table: "fragments",
    conflicts: &[Conflict("id", "")],
    same: &["id", "page_id", "text_content", "text_hash"],
    unit: &["heading_context", "heading_hierarchy"],
    least: &["created_at"],
    greatest: &[
        "page_version",
        "fragment_type",
        "position",
        "char_start",
        "char_end",
        "security_flags",
    ],
    read_as: &[(
        "page_version",
        "CASE WHEN s.page_id IN temp.merge_pages THEN
           (SELECT m.version FROM temp.merge_texts m
            WHERE m.page_id = s.page_id AND m.source_version = s.page_version)
         ELSE s.page_version END",
    )],
    ..NONE
};

pub(super) const CLAIMS: Rule = Rule {
    table: "claims",
    conflicts: &[Conflict("id", "")],
    // The adoption status of a claim is merged separately: see `adoption`.
    same: &[
        "id",
        "task_id",
        "claim_text",
        "claim_adoption_status",
        "claim_rejection_reason",
        "claim_rejected_at",
    ],
    unit: &[
        "claim_type",
        "granularity",
        "details_json",
        "llm_claim_confidence",
        "extractor_id",
    ],
    rank: &[
        "CASE WHEN {row}.extractor_id GLOB 'agent:*' THEN 2 WHEN {row}.extractor_id GLOB 'lyra-*' THEN 0 ELSE 1 END",
    ],
    least: &["created_at"],
    greatest: &["cause_id"],
    wanted: LIVING_TASK,
    ..NONE
};

pub(super) const STANCES: Rule = Rule {
    table: "hypothesis_stances",
    conflicts: &[Conflict("claim_id", "")],
    same: &["claim_id", "task_id"],
    unit: &["created_at", "relation", "confidence", "judge_id"],
    rank: &[judge_rank!()],
    wanted: LIVING_TASK,
    ..NONE
};

/// A pair has one verdict, one origin and one citation. Verdicts that are set aside because their domain
/// is blocked are merged with the others, and set aside again at the end.
pub(super) const EDGES: Rule = Rule {
    table: "edges",
    from: Some("(SELECT * FROM {db}.edges UNION ALL SELECT * FROM {db}.blocked_edges)"),
    conflicts: &[
        Conflict("target_id, source_id", "relation = 'origin'"),
        Conflict(
            "target_id, source_id",
            "source_type = 'fragment' AND target_type = 'claim' AND relation IN ('supports', 'refutes', 'neutral')",
        ),
        Conflict("source_id, target_id", "relation = 'cites'"),
        Conflict("id", ""),
    ],
    same: &["source_type", "source_id", "target_type", "target_id"],
    unit: &[
        "id",
        "relation",
        "nli_label",
        "nli_edge_confidence",
        "nli_probabilities",
        "judge_id",
        "quote_start",
        "quote_end",
        "citation_source",
        "citation_context",
        "source_domain_category",
        "target_domain_category",
        "edge_human_corrected",
        "edge_correction_reason",
        "edge_corrected_at",
        "cause_id",
    ],
    rank: &[
        "{row}.edge_human_corrected",
        judge_rank!(),
        "coalesce({row}.edge_corrected_at, (SELECT v.created_at FROM {db}.nli_verdicts v
           WHERE v.claim_id = {row}.target_id AND v.fragment_id = {row}.source_id
             AND v.judge_id = {row}.judge_id), {row}.created_at)",
    ],
    least: &["created_at"],
    wanted: "s.target_id NOT IN temp.merge_forgotten_claims
             AND s.source_id NOT IN temp.merge_forgotten_claims",
    ..NONE
};

pub(super) const VERDICTS: Rule = Rule {
    table: "nli_verdicts",
    conflicts: &[Conflict("claim_id, fragment_id, judge_id", "")],
    same: &["claim_id", "fragment_id", "judge_id"],
    unit: &[
        "created_at",
        "relation",
        "confidence",
        "probabilities",
        "quote_start",
        "quote_end",
        "reason",
        "cause_id",
    ],
    wanted: LIVING_CLAIM,
    ..NONE
};

pub(super) const TASK_PAGES: Rule = Rule {
    table: "task_pages",
    conflicts: &[Conflict("task_id, page_id", "")],
    same: &["task_id", "page_id"],
    unit: &["depth", "reason", "source_page_id"],
    rank: &["-{row}.depth"],
    wanted: LIVING_TASK,
    ..NONE
};

pub(super) const SCREENINGS: Rule = Rule {
    table: "screenings",
    conflicts: &[Conflict("id", "")],
    same: &["id", "task_id"],
    unit: &[
        "decided_at",
        "url",
        "page_id",
        "work_id",
        "revision",
        "reviewer",
        "decision",
        "reason",
        "is_final",
    ],
    wanted: LIVING_TASK,
    ..NONE
};

pub(super) const QUERIES: Rule = Rule {
    table: "queries",
    conflicts: &[Conflict("id", "")],
    same: &["id", "task_id"],
    unit: &[
        "finished_at",
        "query_text",
        "query_type",
        "status",
        "pages_fetched",
        "useful_fragments",
        "harvest_rate",
        "satisfaction_score",
        "novelty_score",
        "created_at",
        "cause_id",
        "requests_json",
    ],
    wanted: LIVING_TASK,
    ..NONE
};

pub(super) const HITS: Rule = Rule {
    table: "serp_items",
    conflicts: &[Conflict("id", "")],
    same: &["id", "query_id"],
    unit: &[
        "page_id",
        "fetch_status",
        "engine",
        "rank",
        "url",
        "title",
        "snippet",
        "published_date",
        "found_by",
        "canonical_id",
        "problem",
    ],
    wanted: "s.query_id IN (SELECT id FROM main.queries)",
    ..NONE
};

pub(super) const JOBS: Rule = Rule {
    table: "jobs",
    conflicts: &[Conflict("id", "")],
    same: &["id", "task_id", "kind"],
    unit: &[
        "finished_at",
        "attempts",
        "state",
        "priority",
        "input_json",
        "output_json",
        "error_message",
        "cause_id",
        "dedup_key",
        "worker_id",
        "created_at",
        "queued_at",
        "started_at",
        "lease_until",
        "wave",
    ],
    rank: &[super::jobs::STATE_RANK],
    read_as: &[
        (
            "state",
            "CASE WHEN s.id IN temp.merge_second_jobs THEN 'cancelled' ELSE s.state END",
        ),
        (
            "error_message",
            "CASE WHEN s.id IN temp.merge_second_jobs THEN 'another graph had done the same'
             ELSE s.error_message END",
        ),
    ],
    wanted: LIVING_TASK,
    ..NONE
};

/// Session data of a login stays in the graph in which it was created.
pub(super) const AUTH_QUEUE: Rule = Rule {
    table: "auth_queue",
    conflicts: &[Conflict("id", "")],
    same: &["id", "task_id", "session_data"],
    unit: &[
        "status",
        "url",
        "domain",
        "auth_type",
        "priority",
        "job_id",
        "queued_at",
        "expires_at",
    ],
    rank: &["CASE {row}.status WHEN 'pending' THEN 0 WHEN 'in_progress' THEN 1 ELSE 2 END"],
    read_as: &[("session_data", "NULL")],
    wanted: LIVING_TASK,
    ..NONE
};

pub(super) const CORRECTIONS: Rule = Rule {
    table: "nli_corrections",
    conflicts: &[Conflict("id", "")],
    same: &["id", "task_id"],
    unit: &[
        "created_at",
        "edge_id",
        "premise",
        "hypothesis",
        "predicted_relation",
        "predicted_confidence",
        "correct_relation",
        "judge_id",
        "reason",
    ],
    wanted: "coalesce(s.task_id, '') NOT IN (SELECT task_id FROM main.forgotten)",
    ..NONE
};

/// A rule that was ended on any side is ended.
pub(super) const DOMAIN_RULES: Rule = Rule {
    table: "domain_rules",
    conflicts: &[Conflict("id", "")],
    same: &["id"],
    unit: &["created_at", "domain_pattern", "rule", "reason", "actor"],
    least: &["is_active"],
    ..NONE
};

pub(super) const HOSTILE: Rule = Rule {
    table: "hostile_documents",
    conflicts: &[Conflict("content_hash", "")],
    same: &["content_hash"],
    unit: &["added_at", "url", "limits", "reason"],
    ..NONE
};

impl Rule {
    /// All columns of the rule.
    pub(super) fn columns(&self) -> impl Iterator<Item = &'static str> {
        let all = [self.same, self.unit, self.least, self.greatest];
        all.into_iter().flatten().copied()
    }

    /// Inserts the rows of the schema `db`, or merges them with existing ones.
    pub(super) fn sql(&self, db: &str) -> String {
        let columns: Vec<&str> = self.columns().collect();
        let read: Vec<String> = columns.iter().map(|c| self.read(c)).collect();
        let from = self.from(db);
        let mut sql = format!(
            "INSERT INTO main.{} AS t ({}) SELECT {} FROM {from} AS s WHERE {}",
            self.table,
            columns.join(", "),
            read.join(", "),
            self.wanted
        );
        for Conflict(columns, condition) in self.conflicts {
            let condition = match *condition {
                "" => String::new(),
                condition => format!(" WHERE {condition}"),
            };
            sql += &format!(" ON CONFLICT ({columns}){condition} DO {}", self.join(db));
        }
        sql
    }

    /// The rows that differ between the two sides and for which a rule chose: their key, and whether the
    /// target keeps its values.
    pub(super) fn decided_sql(&self, db: &str) -> String {
        // The verdict of a pair is the second index; all other tables have one.
        let Conflict(columns, condition) = &self.conflicts[self.conflicts.len().min(2) - 1];
        let columns: Vec<&str> = columns.split(", ").collect();
        let key: Vec<String> = columns.iter().map(|c| format!("t.{c}")).collect();
        let mut on: Vec<String> = columns.iter().map(|c| format!("t.{c} = s.{c}")).collect();
        for row in ["s", "t"] {
            let parts = condition.split(" AND ").filter(|part| !part.is_empty());
            on.extend(parts.map(|part| format!("{row}.{part}")));
        }
        let differs = self.unit.iter().chain(self.greatest);
        let differs: Vec<String> = differs
            .filter(|column| !column.ends_with("_at") && **column != "cause_id")
            .map(|column| format!("t.{column} IS NOT s.{column}"))
            .collect();
        format!(
            "SELECT concat_ws(' ', {}), NOT {} FROM {} AS s JOIN main.{} AS t ON {} WHERE {} AND ({})",
            key.join(", "),
            self.better(db, "s"),
            self.from(db),
            self.table,
            on.join(" AND "),
            self.wanted,
            differs.join(" OR ")
        )
    }

    fn from(&self, db: &str) -> String {
        self.from.map_or_else(
            || format!("{db}.{}", self.table),
            |from| from.replace("{db}", db),
        )
    }

    fn read(&self, column: &str) -> String {
        let other = self.read_as.iter().find(|(name, _)| *name == column);
        other.map_or_else(|| format!("s.{column}"), |(_, read)| (*read).to_owned())
    }

    fn join(&self, db: &str) -> String {
        let better = self.better(db, "excluded");
        let unit = self
            .unit
            .iter()
            .map(|c| format!("{c} = CASE WHEN {better} THEN excluded.{c} ELSE t.{c} END"));
        let least = self
            .least
            .iter()
            .map(|c| format!("{c} = min(t.{c}, excluded.{c})"));
        let greatest = self.greatest.iter().map(|c| {
            format!("{c} = max(coalesce(t.{c}, excluded.{c}), coalesce(excluded.{c}, t.{c}))")
        });
        let set: Vec<String> = unit.chain(least).chain(greatest).collect();
        let lower = self.least.iter().map(|c| format!("excluded.{c} < t.{c}"));
        let higher = self.greatest.iter().map(|c| {
            format!("(excluded.{c} IS NOT NULL AND (t.{c} IS NULL OR excluded.{c} > t.{c}))")
        });
        let changes: Vec<String> = [better.clone()]
            .into_iter()
            .chain(lower)
            .chain(higher)
            .collect();
        format!(
            "UPDATE SET {} WHERE {}",
            set.join(", "),
            changes.join(" OR ")
        )
    }

    /// Whether the row of the source (`row`) ranks higher than `t`. NULL ranks lowest.
    fn better(&self, db: &str, row: &str) -> String {
        if self.unit.is_empty() {
            return "FALSE".to_owned();
        }
        let side = |row: &str, db: &str| {
            let ranks = self
                .rank
                .iter()
                .map(|r| r.replace("{row}", row).replace("{db}", db));
            let unit = self.unit.iter().map(|c| format!("{row}.{c}"));
            ranks.chain(unit).collect::<Vec<_>>()
        };
        format!(
            "({} > {})",
            in_order(&side(row, db)),
            in_order(&side("t", "main"))
        )
    }
}

/// Values that are compared one after the other; NULL sorts first.
pub(super) fn in_order(values: &[String]) -> String {
    let values: Vec<String> = values
        .iter()
        .map(|value| format!("{value} IS NOT NULL, ifnull({value}, 0)"))
        .collect();
    format!("({})", values.join(", "))
}
