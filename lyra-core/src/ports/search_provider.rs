//! The port that finds documents for queries, works for identifiers, and the references of works.

use crate::error::{Error, Result};
use crate::store::model::DocumentMeta;
use crate::store::text::identifiers::{Identifiers, find_identifiers, normalize_doi};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};

/// A query to a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    /// The words.
    pub text: String,
    /// Maximum number of hits to return.
    pub limit: usize,
}

/// One document that a provider found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The address of the document; `file:`, `http:` or `https:`.
    pub url: String,
    /// 1 for the best.
    pub rank: usize,
    /// Title.
    pub title: Option<String>,
    /// A few words of it.
    pub snippet: Option<String>,
    /// Bibliographic data that the provider knows.
    pub meta: DocumentMeta,
    /// The abstract, if the provider has it: then nothing needs to be fetched.
    pub abstract_text: Option<String>,
    /// Facts that only a provider knows: counts, open copies, other versions.
    pub facts: WorkFacts,
}

/// What a provider knows about a work and the document does not say; all fields are optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkFacts {
    /// `W` and digits.
    pub openalex_id: Option<String>,
    /// Semantic Scholar's paper id.
    pub s2_id: Option<String>,
    /// Authors in order, with further data on them.
    pub authors: Vec<AuthorFacts>,
    /// How often the work is cited.
    pub citation_count: Option<i64>,
    /// How many references it has.
    pub reference_count: Option<i64>,
    /// Whether an open copy exists.
    pub is_open_access: Option<bool>,
    /// Where an open copy is.
    pub oa_url: Option<String>,
    /// Where a PDF is.
    pub pdf_url: Option<String>,
    /// Whether this is a version before peer review.
    pub is_preprint: bool,
    /// Other versions of the same work, as canonical ids (`doi:…`, `arxiv:…`): the published
    /// version of a preprint, the preprint of a published one.
    pub versions: Vec<String>,
    /// Normalised DOIs that this document retracts, if it is a notice of retraction.
    pub retracts: Vec<String>,
}

/// An author as known to a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorFacts {
    /// As printed.
    pub name: String,
    /// Institution.
    pub affiliation: Option<String>,
    /// Bare ORCID, `0000-0002-1825-0097`.
    pub orcid: Option<String>,
}

/// A normalised identifier by which a work can be looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkId {
    /// `10.…`, lower case.
    Doi(String),
    /// PubMed id, digits.
    Pmid(String),
    /// PubMed Central id, `PMC` and digits.
    Pmcid(String),
    /// arXiv id without version.
    Arxiv(String),
    /// OpenAlex work, `W` and digits.
    OpenAlex(String),
    /// Semantic Scholar paper.
    S2(String),
}

impl WorkId {
    /// Parses a canonical id; `None` for one that no provider knows (`meta:…`, `url:…`).
    ///
    /// ```
    /// use lyra_core::ports::WorkId;
    /// let id = WorkId::parse("doi:10.1000/x").unwrap();
    /// assert_eq!(id, WorkId::Doi("10.1000/x".into()));
    /// assert_eq!(id.to_string(), "doi:10.1000/x");
    /// assert_eq!(WorkId::parse("meta:680da8c62b9e"), None);
    /// ```
    pub fn parse(canonical_id: &str) -> Option<Self> {
        let (kind, value) = canonical_id.split_once(':')?;
        let make = match kind {
            "doi" => Self::Doi,
            "pmid" => Self::Pmid,
            "pmcid" => Self::Pmcid,
            "arxiv" => Self::Arxiv,
            "openalex" => Self::OpenAlex,
            "s2" => Self::S2,
            _ => return None,
        };
        (!value.is_empty()).then(|| make(value.to_owned()))
    }

    /// The identifiers of a hit, most reliable first.
    pub fn of(hit: &SearchHit) -> Vec<Self> {
        let meta = &hit.meta;
        let found = find_identifiers(&hit.url);
        let given = |own: &Option<String>, found: Option<String>| own.clone().or(found);
        let ids = Identifiers {
            doi: meta.doi.as_deref().and_then(normalize_doi).or(found.doi),
            pmid: given(&meta.pmid, found.pmid),
            pmcid: given(&meta.pmcid, found.pmcid).map(|id| id.to_ascii_uppercase()),
            arxiv_id: given(&meta.arxiv_id, found.arxiv_id),
            openalex_id: given(&hit.facts.openalex_id, found.openalex_id),
            s2_id: given(&hit.facts.s2_id, found.s2_id),
        };
        [
            ids.doi.map(Self::Doi),
            ids.pmid.map(Self::Pmid),
            ids.pmcid.map(Self::Pmcid),
            ids.arxiv_id.map(Self::Arxiv),
            ids.openalex_id.map(Self::OpenAlex),
            ids.s2_id.map(Self::S2),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl fmt::Display for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, value) = match self {
            Self::Doi(id) => ("doi", id),
            Self::Pmid(id) => ("pmid", id),
            Self::Pmcid(id) => ("pmcid", id),
            Self::Arxiv(id) => ("arxiv", id),
            Self::OpenAlex(id) => ("openalex", id),
            Self::S2(id) => ("s2", id),
        };
        write!(f, "{kind}:{value}")
    }
}

/// Why a provider failed; the source of the errors that network providers return.
///
/// An empty result is not a failure: it is an empty list or `None`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderFailure {
    /// Unreachable, too slow, or returning server errors.
    #[error("the service is down")]
    Outage,
    /// Too many requests.
    #[error("the service limits the rate of requests")]
    RateLimited {
        /// Seconds after which it may be queried again, if it says so.
        retry_after: Option<u64>,
    },
    /// It replied, but not in the expected form.
    #[error("the reply cannot be read")]
    BadReply,
    /// The key is missing, invalid, or not sufficient for this request.
    #[error("the key was refused")]
    BadKey,
    /// It refuses this particular request.
    #[error("the request was refused")]
    Refused,
}

impl ProviderFailure {
    /// Why the provider behind an error failed.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }
}

/// Finds documents.
#[async_trait::async_trait]
pub trait SearchProvider: Debug + Send + Sync + 'static {
    /// Short name: `corpus`, `openalex` … Stored as `serp_items.engine`.
    fn name(&self) -> &str;

    /// The best hits first, with ranks 1, 2, 3 …, at most `limit`. If nothing is found, the list is
    /// empty; an outage is an error, never an empty list.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>>;

    /// The document with this normalised DOI, if the provider has it.
    async fn lookup_doi(&self, _doi: &str) -> Result<Option<SearchHit>> {
        Ok(None)
    }

    /// The work with this identifier; `None` if the provider does not have it, or does not know
    /// this kind of identifier.
    async fn lookup(&self, id: &WorkId) -> Result<Option<SearchHit>> {
        match id {
            WorkId::Doi(doi) => self.lookup_doi(doi).await,
            _ => Ok(None),
        }
    }

    /// The works that this work cites, at most `limit`, in the order of its reference list. Empty
    /// if the provider does not know the work or its references.
    async fn references(&self, _id: &WorkId, _limit: usize) -> Result<Vec<SearchHit>> {
        Ok(Vec::new())
    }

    /// The works that cite this work, at most `limit`.
    async fn citations(&self, _id: &WorkId, _limit: usize) -> Result<Vec<SearchHit>> {
        Ok(Vec::new())
    }

    /// Whether it is a catalogue of scholarly works. This determines the value of
    /// `task_pages.reason` for a page that a query found through it: `academic_api`, otherwise
    /// `search`.
    fn is_academic(&self) -> bool {
        false
    }

    /// Persistent conditions that affect its results, such as a key that was refused.
    fn conditions(&self) -> Vec<String> {
        Vec::new()
    }

    /// The configuration in readable form: its address, and whether it has a key; never the key.
    fn setup(&self) -> Option<String> {
        None
    }
}
