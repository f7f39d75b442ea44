//! Rows as plain structs: public fields with the column names of the database.

use super::{
    AdoptionStatus, ClaimType, EmbeddingTarget, FragmentType, NodeKind, Relation, TaskPageReason,
    TaskStatus,
};
use serde::{Deserialize, Serialize};

/// The budget of a task, and the domains that it should read first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskConfig {
    /// The budget.
    pub budget: TaskBudget,
    /// Domains whose hits are read first, such as `who.int`; subdomains are included.
    pub priority_domains: Vec<String>,
}

/// The budget of a task; reaching either limit ends its research.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskBudget {
    /// Number of pages that may be read, at least 1.
    pub max_pages: u32,
    /// Seconds of work, at least 1.
    pub max_seconds: u32,
}

impl Default for TaskBudget {
    fn default() -> Self {
        Self {
            max_pages: 200,
            max_seconds: 3600,
        }
    }
}

/// A row of `tasks`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// `task_` + 8 hex digits.
    pub id: String,
    /// The statement for or against which the task finds evidence.
    pub hypothesis: String,
    /// Its status.
    #[serde(default = "created")]
    pub status: TaskStatus,
    /// [`TaskConfig`] as JSON.
    #[serde(default)]
    pub config_json: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: Option<String>,
    /// When the first job ran.
    #[serde(default)]
    pub started_at: Option<String>,
    /// When it was last stopped.
    #[serde(default)]
    pub completed_at: Option<String>,
    /// Why it failed.
    #[serde(default)]
    pub error_message: Option<String>,
}

fn created() -> TaskStatus {
    TaskStatus::Created
}

/// A row of `works`: a publication, regardless of the number of its pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkRecord {
    /// `doi:…`, `pmid:…`, `arxiv:…` or `meta:…`.
    pub canonical_id: String,
    /// The title.
    #[serde(default)]
    pub title: Option<String>,
    /// Year of publication.
    #[serde(default)]
    pub year: Option<i64>,
    /// ISO date of publication.
    #[serde(default)]
    pub published_date: Option<String>,
    /// Journal, conference or publisher.
    #[serde(default)]
    pub venue: Option<String>,
    /// Normalised DOI (`10.…`, lower case).
    #[serde(default)]
    pub doi: Option<String>,
    /// Number of citations according to a provider.
    #[serde(default)]
    pub citation_count: Option<i64>,
    /// Number of references.
    #[serde(default)]
    pub reference_count: Option<i64>,
    /// Open access, if known.
    #[serde(default)]
    pub is_open_access: Option<bool>,
    /// Retracted or withdrawn.
    #[serde(default)]
    pub is_retracted: bool,
    /// Address of an open copy.
    #[serde(default)]
    pub oa_url: Option<String>,
    /// Address of a PDF.
    #[serde(default)]
    pub pdf_url: Option<String>,
    /// The source of this data.
    #[serde(default)]
    pub source_api: Option<String>,
}

/// A row of `work_authors`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkAuthorRecord {
    /// The work.
    pub canonical_id: String,
    /// 0 is the first author.
    pub position: i64,
    /// As printed.
    pub name: String,
    /// Institution.
    #[serde(default)]
    pub affiliation: Option<String>,
    /// Bare ORCID id.
    #[serde(default)]
    pub orcid: Option<String>,
}

/// A row of `pages`: one address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageRecord {
    /// `page_…`.
    pub id: String,
    /// The canonical address; unique.
    pub url: String,
    /// Final address after redirects.
    #[serde(default)]
    pub final_url: Option<String>,
    /// Registrable domain, or `local` for files.
    #[serde(default)]
    pub domain: Option<String>,
    /// Title of the document.
    #[serde(default)]
    pub title: Option<String>,
    /// `html`, `pdf`, `jats`, `text`, `markdown`, `jsonl`, `placeholder` …
    #[serde(default)]
    pub page_type: Option<String>,
    /// `file`, `http`, `api`, `import` …
    #[serde(default)]
    pub fetch_method: Option<String>,
    /// HTTP status of the last fetch.
    #[serde(default)]
    pub http_status: Option<i64>,
    /// MIME type.
    #[serde(default)]
    pub content_type: Option<String>,
    /// SHA-256 of the fetched bytes, hex.
    #[serde(default)]
    pub content_hash: Option<String>,
    /// Bytes fetched.
    #[serde(default)]
    pub content_length: Option<i64>,
    /// The work of the page.
    #[serde(default)]
    pub canonical_id: Option<String>,
    /// BCP 47 language tag.
    #[serde(default)]
    pub language: Option<String>,
    /// RFC 3339; null for a placeholder.
    #[serde(default)]
    pub fetched_at: Option<String>,
    /// RFC 3339: until when the server allowed this copy to be used without a new request; null if it
    /// gave no time.
    #[serde(default)]
    pub fresh_until: Option<String>,
    /// The page that had nearly the same text first. Computed when a text is stored:
    /// [`Writer::put_page`](crate::store::graph::Writer::put_page) does not change it.
    #[serde(default)]
    pub near_duplicate_of: Option<String>,
    /// HTTP validator.
    #[serde(default)]
    pub etag: Option<String>,
    /// HTTP validator, or the file's modification time.
    #[serde(default)]
    pub last_modified: Option<String>,
    /// Why the last fetch failed.
    #[serde(default)]
    pub error_message: Option<String>,
}

/// A row of `page_texts`: one version of the extracted text of a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageTextRecord {
    /// The page.
    pub page_id: String,
    /// 1 for the first text, increasing by 1.
    pub version: i64,
    /// The text that fragments point into.
    pub text: String,
    /// SHA-256 of the text, hex. Computed if missing.
    #[serde(default)]
    pub text_hash: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub fetched_at: Option<String>,
}

/// A row of `fragments`: a paragraph-sized piece of a page's text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FragmentRecord {
    /// `frag_…`.
    pub id: String,
    /// The page.
    pub page_id: String,
    /// The text version of the page; null if the page was imported without its text.
    #[serde(default)]
    pub page_version: Option<i64>,
    /// The kind of document part.
    #[serde(default = "paragraph")]
    pub fragment_type: FragmentType,
    /// 0 for the first fragment of the page.
    #[serde(default)]
    pub position: i64,
    /// The exact text.
    pub text_content: String,
    /// The nearest heading above.
    #[serde(default)]
    pub heading_context: Option<String>,
    /// JSON array of the headings above, outermost first.
    #[serde(default)]
    pub heading_hierarchy: Option<String>,
    /// Offset of the first code point in the page's text.
    #[serde(default)]
    pub char_start: Option<i64>,
    /// One past the last code point.
    #[serde(default)]
    pub char_end: Option<i64>,
    /// SHA-256 of `text_content`, hex. Computed if missing.
    #[serde(default)]
    pub text_hash: Option<String>,
    /// Comma-separated names of the instruction-like patterns found in the text; null if none.
    #[serde(default)]
    pub security_flags: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: Option<String>,
}

fn paragraph() -> FragmentType {
    FragmentType::Paragraph
}

/// A row of `claims`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimRecord {
    /// `claim_…`.
    pub id: String,
    /// The task that it belongs to.
    pub task_id: String,
    /// The statement.
    pub claim_text: String,
    /// The kind of statement.
    #[serde(default = "fact")]
    pub claim_type: ClaimType,
    /// `atomic` or `composite`.
    #[serde(default)]
    pub granularity: Option<String>,
    /// A JSON object with numbers, intervals, population and comparator, as returned by
    /// [`crate::store::text::details`].
    #[serde(default)]
    pub details_json: Option<String>,
    /// 0 to 1: the extractor's confidence that the text says this.
    #[serde(default)]
    pub llm_claim_confidence: Option<f64>,
    /// The extractor.
    #[serde(default)]
    pub extractor_id: Option<String>,
    /// Whether it is counted.
    #[serde(default = "adopted")]
    pub claim_adoption_status: AdoptionStatus,
    /// Why it was rejected.
    #[serde(default)]
    pub claim_rejection_reason: Option<String>,
    /// When it was rejected.
    #[serde(default)]
    pub claim_rejected_at: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: Option<String>,
    /// The job that created it.
    #[serde(default)]
    pub cause_id: Option<String>,
}

fn fact() -> ClaimType {
    ClaimType::Fact
}

fn adopted() -> AdoptionStatus {
    AdoptionStatus::Adopted
}

/// A row of `edges`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EdgeRecord {
    /// `edge_…`.
    pub id: String,
    /// Kind of the source node.
    pub source_type: NodeKind,
    /// Id of the source node.
    pub source_id: String,
    /// Kind of the target node.
    pub target_type: NodeKind,
    /// Id of the target node.
    pub target_id: String,
    /// The relation between the nodes.
    pub relation: Relation,
    /// The judge's own label, if it has one.
    #[serde(default)]
    pub nli_label: Option<String>,
    /// 0 to 1.
    #[serde(default)]
    pub nli_edge_confidence: Option<f64>,
    /// The judge's probabilities, as JSON: `{"supports": 0.9, "refutes": 0.02, "neutral": 0.08}`.
    #[serde(default)]
    pub nli_probabilities: Option<String>,
    /// The deciding judge.
    #[serde(default)]
    pub judge_id: Option<String>,
    /// Offset, in the page's text, of the first code point of the quote on which the edge is based.
    #[serde(default)]
    pub quote_start: Option<i64>,
    /// One past the last code point of the quote.
    #[serde(default)]
    pub quote_end: Option<i64>,
    /// Where a citation was found: `reference_list`, `link`, a provider's name.
    #[serde(default)]
    pub citation_source: Option<String>,
    /// The words around the citation.
    #[serde(default)]
    pub citation_context: Option<String>,
    /// Category of the source's domain.
    #[serde(default)]
    pub source_domain_category: Option<String>,
    /// Category of the target's domain.
    #[serde(default)]
    pub target_domain_category: Option<String>,
    /// Whether a human set the relation.
    #[serde(default)]
    pub edge_human_corrected: bool,
    /// Why.
    #[serde(default)]
    pub edge_correction_reason: Option<String>,
    /// When.
    #[serde(default)]
    pub edge_corrected_at: Option<String>,
    /// RFC 3339.
    #[serde(default)]
    pub created_at: Option<String>,
    /// The job that created it.
    #[serde(default)]
    pub cause_id: Option<String>,
}

/// A row of `embeddings`.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingRecord {
    /// `emb_…`.
    pub id: String,
    /// The kind of object that it belongs to.
    pub target_type: EmbeddingTarget,
    /// The fragment's or claim's id.
    pub target_id: String,
    /// The model that computed it.
    pub model_id: String,
    /// The vector; its length is the dimension.
    pub vector: Vec<f32>,
}

/// A row of `task_pages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskPageRecord {
    /// The task.
    pub task_id: String,
    /// The page.
    pub page_id: String,
    /// Why the page belongs to the task.
    pub reason: TaskPageReason,
    /// 0 for targets, 1 for pages that these cite, …
    #[serde(default)]
    pub depth: i64,
    /// The page that cites this page.
    #[serde(default)]
    pub source_page_id: Option<String>,
}

/// The metadata in a document; every field may be missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentMeta {
    /// Title.
    pub title: Option<String>,
    /// Authors in order, as printed.
    pub authors: Vec<String>,
    /// Year of publication.
    pub year: Option<i64>,
    /// ISO date of publication.
    pub published_date: Option<String>,
    /// Journal, conference, publisher or agency.
    pub venue: Option<String>,
    /// DOI in any form.
    pub doi: Option<String>,
    /// PubMed id.
    pub pmid: Option<String>,
    /// PubMed Central id.
    pub pmcid: Option<String>,
    /// arXiv id.
    pub arxiv_id: Option<String>,
    /// Landing page.
    pub url: Option<String>,
    /// BCP 47 language tag.
    pub language: Option<String>,
    /// Retracted or withdrawn.
    pub is_retracted: bool,
    /// URL or DOI of the document that superseded it.
    pub superseded_by: Option<String>,
    /// Its references.
    pub references: Vec<Reference>,
}

/// One reference of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// Normalised DOI.
    pub doi: Option<String>,
    /// Address, if there is no DOI.
    pub url: Option<String>,
    /// Title, if given.
    pub title: Option<String>,
    /// The words around the citation.
    pub context: Option<String>,
    /// `reference_list` or `link`.
    pub source: String,
}
