//! Queries to documents, identifiers to works, works to what they cite.

use crate::error::{Error, Result};
use crate::store::model::DocumentMeta;
use crate::store::text::identifiers::{Identifiers, find_identifiers, normalize_doi};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};

/// What a provider is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    /// The words.
    pub text: String,
    /// At most so many hits come back.
    pub limit: usize,
}

/// One document that a provider found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchHit {
    /// Where the document is; `file:`, `http:` or `https:`.
    pub url: String,
    /// 1 for the best.
    pub rank: usize,
    /// Title.
    pub title: Option<String>,
    /// A few words of it.
    pub snippet: Option<String>,
    /// Bibliographic data that the provider knows.
    pub meta: DocumentMeta,
    /// The abstract, where the provider has it: then nothing needs to be fetched.
    pub abstract_text: Option<String>,
    /// What only a provider can know: counts, open copies, other versions.
    pub facts: WorkFacts,
}

/// What a provider knows of a work that the document does not say of itself; all may be missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkFacts {
    /// `W` and digits.
    pub openalex_id: Option<String>,
    /// Semantic Scholar's paper id.
    pub s2_id: Option<String>,
    /// Authors in order, with what is known beside their names.
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
    /// Normalised DOIs that this document retracts, where it is a notice of retraction.
    pub retracts: Vec<String>,
}

/// One author as a provider knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorFacts {
    /// As printed.
    pub name: String,
    /// Institution.
    pub affiliation: Option<String>,
    /// Bare ORCID, `0000-0002-1825-0097`.
    pub orcid: Option<String>,
}

/// An identifier that a work can be looked up by, in its one spelling.
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
    /// Reads a canonical id; `None` for one that no provider knows (`meta:…`, `url:…`).
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

    /// The identifiers of a hit, the strongest first.
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

/// Why a provider gave no answer; the source of the errors that network providers return.
///
/// Finding nothing is not among them: that is an empty list or `None`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderFailure {
    /// Not reachable, too slow, or answering with server errors.
    #[error("the service is down")]
    Outage,
    /// Too many requests.
    #[error("the service limits the rate of requests")]
    RateLimited {
        /// Seconds after which it may be asked again, where it says so.
        retry_after: Option<u64>,
    },
    /// It answered, but not with what it promises.
    #[error("the reply cannot be read")]
    BadReply,
    /// The key is missing, wrong, or not good for this.
    #[error("the key was refused")]
    BadKey,
    /// It refuses this very request.
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

    /// The best hits first, ranks 1, 2, 3 …, at most `limit`. Nothing found is an empty list; an
    /// outage is an error, never an empty list.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>>;

    /// The document with this normalised DOI, if the provider has it.
    async fn lookup_doi(&self, _doi: &str) -> Result<Option<SearchHit>> {
        Ok(None)
    }

    /// The work with this identifier; `None` where the provider does not have it, or does not
    /// know identifiers of that kind.
    async fn lookup(&self, id: &WorkId) -> Result<Option<SearchHit>> {
        match id {
            WorkId::Doi(doi) => self.lookup_doi(doi).await,
            _ => Ok(None),
        }
    }

    /// What the work cites, at most `limit`, in the order of its reference list. Empty where the
    /// provider does not know the work or its references.
    async fn references(&self, _id: &WorkId, _limit: usize) -> Result<Vec<SearchHit>> {
        Ok(Vec::new())
    }

    /// What cites the work, at most `limit`.
    async fn citations(&self, _id: &WorkId, _limit: usize) -> Result<Vec<SearchHit>> {
        Ok(Vec::new())
    }

    /// Whether it is a catalogue of scholarly works; decides what `task_pages.reason` says of a page
    /// that a query found through it: `academic_api`, else `search`.
    fn is_academic(&self) -> bool {
        false
    }

    /// Standing conditions that whoever reads its answers should know: a key that was refused.
    fn conditions(&self) -> Vec<String> {
        Vec::new()
    }

    /// How it is set up, for people: where it asks, whether it has a key; never the key.
    fn setup(&self) -> Option<String> {
        None
    }
}
