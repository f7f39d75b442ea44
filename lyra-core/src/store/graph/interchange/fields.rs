//! The interchange format as data: the types of lines and their fields.
//!
//! Import, export and the error messages all use this table, so that they cannot disagree.

use super::spellings::{
    one_of, one_of_decisions, one_of_identifiers, one_of_states, one_of_verdicts,
};
use crate::error::Result;
use crate::store::model::{
    AdoptionStatus, ClaimType, EmbeddingTarget, FragmentType, NodeKind, Relation, TaskPageReason,
    TaskStatus,
};

/// A type of line, in the order in which lines are written: rows come after the rows that they refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum LineType {
    Task,
    Work,
    WorkAuthor,
    WorkIdentifier,
    Page,
    PageText,
    PageReference,
    Resource,
    Fragment,
    Claim,
    HypothesisStance,
    Verdict,
    Edge,
    Embedding,
    TaskPage,
    Screening,
}

impl LineType {
    /// Its position in the writing order, and in arrays with one element per type.
    pub(super) const fn index(self) -> usize {
        self as usize
    }

    pub(super) fn table(self) -> &'static Table {
        &TABLES[self.index()]
    }
}

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// An identifier that other lines refer to: not empty, at most 1,024 bytes.
    Id,
    /// Any text of at most [`MAX_CELL_BYTES`].
    Text,
    /// Non-empty text.
    Filled,
    /// The text of a page: as long as a line may be.
    LongText,
    /// An instant; stored as RFC 3339 in UTC with milliseconds.
    Time,
    /// A whole number in this range.
    Int(i64, i64),
    /// A number from 0 to 1.
    Unit,
    /// true, false, 1 or 0.
    Flag,
    /// One of the values that the function accepts.
    OneOf(fn(&str) -> Result<()>),
    /// A JSON object, given directly or as a string.
    JsonObject,
    /// A JSON array, given directly or as a string.
    JsonArray,
    /// A vector of f32: an array of numbers, or its little-endian bytes in hex or base64.
    Vector,
}

/// The value of a column that the line leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// The line is refused.
    Refused,
    /// NULL, or a value computed from the other fields.
    Null,
    /// The time of the import.
    Now,
    /// This number.
    Int(i64),
    /// This text.
    Text(&'static str),
}

/// One field of a line, corresponding to one column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) absent: Absent,
    /// Other accepted names.
    pub(super) aliases: &'static [&'static str],
    /// The type of row whose id it holds.
    pub(super) refers: Option<LineType>,
    /// The value changes during the life of a row: a row that existed before the import keeps its value.
    pub(super) stored_stays: bool,
    /// A row without a value takes that of the line.
    pub(super) fills: bool,
    /// Of two values in one import, the greater is taken: sources describe one publication differently,
    /// and the order of the lines must not matter.
    pub(super) greatest: bool,
}

impl Field {
    const fn new(name: &'static str, kind: Kind, absent: Absent) -> Self {
        Self {
            name,
            kind,
            absent,
            aliases: &[],
            refers: None,
            stored_stays: false,
            fills: false,
            greatest: false,
        }
    }

    const fn stays(mut self) -> Self {
        self.stored_stays = true;
        self
    }

    const fn fills(mut self) -> Self {
        self.fills = true;
        self
    }

    const fn described(mut self) -> Self {
        self.greatest = true;
        self.fills().stays()
    }

    const fn to(mut self, record: LineType) -> Self {
        self.refers = Some(record);
        self
    }

    const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// One type of line, corresponding to one table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) record: LineType,
    /// The value of `type`.
    pub(super) tag: &'static str,
    pub(super) name: &'static str,
    /// The key columns.
    pub(super) key: &'static [&'static str],
    /// ORDER BY of an export; a total order, so that equal graphs give equal files.
    pub(super) order: &'static str,
    /// WHERE of the export of one task, over the sets of `export::SCOPE`.
    pub(super) scope: &'static str,
    pub(super) fields: &'static [Field],
}

impl Table {
    /// The index of a field by its name or alias.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.fields
            .iter()
            .position(|f| f.name == name || f.aliases.contains(&name))
    }

    /// The table of a `type` value.
    pub(super) fn of_tag(tag: &str) -> Option<&'static Self> {
        TABLES.iter().find(|t| t.tag == tag)
    }

    /// The columns, separated by commas.
    pub(super) fn columns(&self) -> String {
        let names: Vec<&str> = self.fields.iter().map(|f| f.name).collect();
        names.join(", ")
    }
}

/// Longest text of a column in bytes, except page texts: the SQL guard cannot read longer cells.
pub(super) const MAX_CELL_BYTES: usize = 64_000;

/// Longest vector: the largest blob that the SQL guard can read.
pub(super) const MAX_DIMENSION: i64 = 65_536;

const COUNT: Kind = Kind::Int(0, i64::MAX);
const YEAR: Kind = Kind::Int(-9999, 9999);

const fn required(name: &'static str, kind: Kind) -> Field {
    Field::new(name, kind, Absent::Refused)
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field::new(name, kind, Absent::Null)
}

const fn text(name: &'static str) -> Field {
    optional(name, Kind::Text)
}

/// Creation time of the row here: two databases learn the same fact at different times.
const fn made(name: &'static str) -> Field {
    Field::new(name, Kind::Time, Absent::Now).stays()
}

/// The table itself. SPEC section 2 has the columns; the schema has their SQL types.
pub(super) static TABLES: [Table; 16] = [
    Table {
        record: LineType::Task,
        tag: "task",
        name: "tasks",
        key: &["id"],
        order: "id",
        scope: "id = ?1",
        fields: &[
            required("id", Kind::Id),
            required("hypothesis", Kind::Filled),
            Field::new(
                "status",
                Kind::OneOf(one_of::<TaskStatus>),
                Absent::Text("created"),
            )
            .stays(),
            Field::new("config_json", Kind::JsonObject, Absent::Text("{}")),
            made("created_at"),
            optional("started_at", Kind::Time).stays(),
            optional("completed_at", Kind::Time).stays(),
            text("error_message").stays(),
        ],
    },
    Table {
        record: LineType::Work,
        tag: "work",
        name: "works",
        key: &["canonical_id"],
        order: "canonical_id",
        scope: "canonical_id IN scope_works",
        fields: &[
            required("canonical_id", Kind::Id),
            text("title").described(),
            optional("year", YEAR).described(),
            text("published_date").described(),
            text("venue").described(),
            text("doi").described(),
            optional("citation_count", COUNT).described(),
            optional("reference_count", COUNT).described(),
            optional("is_open_access", Kind::Flag).described(),
            // A work that is retracted in any source is retracted.
            Field::new("is_retracted", Kind::Flag, Absent::Int(0)).described(),
            text("oa_url").described(),
            text("pdf_url").described(),
            text("source_api").described(),
        ],
    },
    Table {
        record: LineType::WorkAuthor,
        tag: "work_author",
        name: "work_authors",
        key: &["canonical_id", "position"],
        order: "canonical_id, position",
        scope: "canonical_id IN scope_works",
        fields: &[
            required("canonical_id", Kind::Id).to(LineType::Work),
            required("position", COUNT),
            // For two author lists in different orders, taking the greater name at each position would
            // name one author twice.
            required("name", Kind::Filled),
            text("affiliation").described(),
            text("orcid").described(),
        ],
    },
    Table {
        record: LineType::WorkIdentifier,
        tag: "work_identifier",
        name: "work_identifiers",
        key: &["provider", "provider_paper_id"],
        order: "canonical_id, provider, provider_paper_id",
        scope: "canonical_id IN scope_works",
        fields: &[
            required("canonical_id", Kind::Id).to(LineType::Work),
            required("provider", Kind::Id),
            required("provider_paper_id", Kind::Id),
            text("doi").described(),
            text("pmid").described(),
            text("pmcid").described(),
            text("arxiv_id").described(),
        ],
    },
    Table {
        record: LineType::Page,
        tag: "page",
        name: "pages",
        key: &["id"],
        order: "id",
        scope: "id IN scope_pages",
        fields: &[
            required("id", Kind::Id),
            required("url", Kind::Filled),
            text("final_url").fills().stays(),
            text("domain").fills(),
            text("title").fills(),
            text("page_type").fills().stays(),
            text("fetch_method").fills().stays(),
            optional("http_status", COUNT).fills().stays(),
            text("content_type").fills().stays(),
            text("content_hash").fills().stays(),
            optional("content_length", COUNT).fills().stays(),
            optional("canonical_id", Kind::Id)
                .to(LineType::Work)
                .fills(),
            text("language").fills(),
            optional("fetched_at", Kind::Time).fills().stays(),
            text("etag").fills().stays(),
            text("last_modified").fills().stays(),
            text("error_message").stays(),
            optional("fresh_until", Kind::Time).stays(),
            // Its original may be missing from the file, or come later in it.
            optional("near_duplicate_of", Kind::Id).stays(),
        ],
    },
    Table {
        record: LineType::PageText,
        tag: "page_text",
        name: "page_texts",
        key: &["page_id", "version"],
        order: "page_id, version",
        scope: "page_id IN scope_pages",
        fields: &[
            required("page_id", Kind::Id).to(LineType::Page),
            Field::new("version", Kind::Int(1, i64::MAX), Absent::Int(1)),
            required("text", Kind::LongText),
            text("text_hash"),
            made("fetched_at"),
        ],
    },
    Table {
        record: LineType::PageReference,
        tag: "page_reference",
        name: "page_references",
        key: &["page_id", "position"],
        order: "page_id, position",
        scope: "page_id IN scope_pages",
        // A page that was read again since has the list of its newer text.
        fields: &[
            required("page_id", Kind::Id).to(LineType::Page),
            required("position", COUNT),
            text("doi").stays(),
            text("url").stays(),
            text("title").stays(),
            text("context").stays(),
            required("citation_source", Kind::Filled).stays(),
        ],
    },
    Table {
        record: LineType::Resource,
        tag: "resource",
        name: "resource_index",
        key: &["identifier_type", "identifier_value"],
        order: "identifier_type, identifier_value",
        scope: "page_id IN scope_pages",
        // Entries that follow from the pages and works of a file are left out: see `resources`.
        fields: &[
            required("identifier_type", Kind::OneOf(one_of_identifiers)),
            required("identifier_value", Kind::Filled),
            required("page_id", Kind::Id).to(LineType::Page).stays(),
            Field::new("status", Kind::OneOf(one_of_states), Absent::Text("known")).stays(),
        ],
    },
    Table {
        record: LineType::Fragment,
        tag: "fragment",
        name: "fragments",
        key: &["id"],
        // By page, because they are read and checked page by page.
        order: "page_id, page_version, position, id",
        scope: "id IN scope_fragments",
        fields: &[
            required("id", Kind::Id),
            required("page_id", Kind::Id).to(LineType::Page),
            optional("page_version", Kind::Int(1, i64::MAX)).fills(),
            Field::new(
                "fragment_type",
                Kind::OneOf(one_of::<FragmentType>),
                Absent::Text("paragraph"),
            ),
            Field::new("position", COUNT, Absent::Int(0)),
            required("text_content", Kind::Filled),
            text("heading_context"),
            optional("heading_hierarchy", Kind::JsonArray),
            optional("char_start", COUNT).fills(),
            optional("char_end", COUNT).fills(),
            text("text_hash"),
            text("security_flags").stays(),
            made("created_at"),
        ],
    },
    Table {
        record: LineType::Claim,
        tag: "claim",
        name: "claims",
        key: &["id"],
        order: "id",
        scope: "id IN scope_claims",
        fields: &[
            required("id", Kind::Id),
            required("task_id", Kind::Id).to(LineType::Task),
            required("claim_text", Kind::Filled),
            Field::new(
                "claim_type",
                Kind::OneOf(one_of::<ClaimType>),
                Absent::Text("fact"),
            ),
            text("granularity"),
            optional("details_json", Kind::JsonObject),
            optional("llm_claim_confidence", Kind::Unit),
            text("extractor_id"),
            // A decision that a human made here since the file was written is not undone by an import.
            Field::new(
                "claim_adoption_status",
                Kind::OneOf(one_of::<AdoptionStatus>),
                Absent::Text("adopted"),
            )
            .stays(),
            text("claim_rejection_reason").stays(),
            optional("claim_rejected_at", Kind::Time).stays(),
            made("created_at"),
            text("cause_id").stays(),
        ],
    },
    Table {
        record: LineType::HypothesisStance,
        tag: "hypothesis_stance",
        name: "hypothesis_stances",
        key: &["claim_id"],
        order: "claim_id",
        scope: "claim_id IN scope_claims",
        // A verdict that another judge has given here since is newer.
        fields: &[
            required("claim_id", Kind::Id).to(LineType::Claim),
            required("task_id", Kind::Id).to(LineType::Task),
            required("relation", Kind::OneOf(one_of_verdicts)).stays(),
            required("confidence", Kind::Unit).stays(),
            required("judge_id", Kind::Id).stays(),
            made("created_at").stays(),
        ],
    },
    Table {
        record: LineType::Verdict,
        tag: "verdict",
        name: "nli_verdicts",
        key: &["claim_id", "fragment_id", "judge_id"],
        order: "claim_id, fragment_id, judge_id",
        scope: "claim_id IN scope_claims AND fragment_id IN scope_fragments",
        // A verdict that the same judge has given here since is newer.
        fields: &[
            required("fragment_id", Kind::Id).to(LineType::Fragment),
            required("claim_id", Kind::Id).to(LineType::Claim),
            required("judge_id", Kind::Id),
            required("relation", Kind::OneOf(one_of_verdicts)).stays(),
            required("confidence", Kind::Unit).stays(),
            made("created_at").stays(),
            optional("probabilities", Kind::JsonObject).stays(),
            optional("quote_start", COUNT).stays(),
            optional("quote_end", COUNT).stays(),
            text("reason").stays(),
            text("cause_id").stays(),
        ],
    },
    Table {
        record: LineType::Edge,
        tag: "edge",
        name: "edges",
        key: &["id"],
        order: "id",
        scope: "(target_type = 'claim' AND target_id IN scope_claims) OR id IN scope_citations",
        fields: &[
            Field::new("id", Kind::Id, Absent::Null),
            required("source_type", Kind::OneOf(one_of::<NodeKind>)),
            required("source_id", Kind::Id),
            required("target_type", Kind::OneOf(one_of::<NodeKind>)),
            required("target_id", Kind::Id),
            required("relation", Kind::OneOf(one_of::<Relation>)),
            text("nli_label"),
            optional("nli_edge_confidence", Kind::Unit),
            optional("nli_probabilities", Kind::JsonObject),
            text("judge_id"),
            optional("quote_start", COUNT),
            optional("quote_end", COUNT),
            text("citation_source"),
            text("citation_context"),
            text("source_domain_category").stays(),
            text("target_domain_category").stays(),
            Field::new("edge_human_corrected", Kind::Flag, Absent::Int(0)).stays(),
            text("edge_correction_reason").stays(),
            optional("edge_corrected_at", Kind::Time).stays(),
            made("created_at"),
            text("cause_id").stays(),
        ],
    },
    Table {
        record: LineType::Embedding,
        tag: "embedding",
        name: "embeddings",
        key: &["id"],
        order: "id",
        scope: "(target_type = 'fragment' AND target_id IN scope_fragments)
            OR (target_type = 'claim' AND target_id IN scope_claims)",
        fields: &[
            Field::new("id", Kind::Id, Absent::Null),
            required("target_type", Kind::OneOf(one_of::<EmbeddingTarget>)),
            required("target_id", Kind::Id),
            required("model_id", Kind::Id),
            required("embedding_blob", Kind::Vector).also(&["embedding", "vector"]),
            optional("dimension", Kind::Int(1, MAX_DIMENSION)),
            made("created_at"),
        ],
    },
    Table {
        record: LineType::TaskPage,
        tag: "task_page",
        name: "task_pages",
        key: &["task_id", "page_id"],
        order: "task_id, page_id",
        scope: "task_id = ?1",
        fields: &[
            required("task_id", Kind::Id).to(LineType::Task),
            required("page_id", Kind::Id).to(LineType::Page),
            required("reason", Kind::OneOf(one_of::<TaskPageReason>)).stays(),
            Field::new("depth", COUNT, Absent::Int(0)).stays(),
            optional("source_page_id", Kind::Id)
                .to(LineType::Page)
                .stays(),
        ],
    },
    Table {
        record: LineType::Screening,
        tag: "screening",
        name: "screenings",
        key: &["id"],
        order: "task_id, revision, decided_at, id",
        scope: "task_id = ?1",
        fields: &[
            required("id", Kind::Id),
            required("task_id", Kind::Id).to(LineType::Task),
            required("url", Kind::Filled),
            optional("page_id", Kind::Id),
            optional("work_id", Kind::Id),
            required("revision", Kind::Int(1, i64::MAX)),
            required("reviewer", Kind::Filled),
            required("decision", Kind::OneOf(one_of_decisions)),
            text("reason"),
            Field::new("is_final", Kind::Flag, Absent::Int(0)),
            made("decided_at"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::graph::interchange::testing;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_is_in_writing_order_and_finds_itself() {
        for (place, table) in TABLES.iter().enumerate() {
            assert_eq!(table.record.index(), place, "{}", table.tag);
            assert_eq!(
                Table::of_tag(table.tag).map(|t| t.record),
                Some(table.record)
            );
            for field in table.fields {
                if let Some(referred) = field.refers {
                    assert!(referred < table.record, "{}.{}", table.tag, field.name);
                }
            }
        }
    }

    #[test]
    fn every_column_of_the_schema_has_a_field() {
        let (_folder, db) = testing::empty();
        for table in &TABLES {
            let columns: BTreeSet<String> = testing::column_names(&db, table.name);
            let fields: BTreeSet<String> = table.fields.iter().map(|f| f.name.to_owned()).collect();
            assert_eq!(columns, fields, "{}", table.name);
        }
    }
}
