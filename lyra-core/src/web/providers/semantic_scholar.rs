//! Semantic Scholar: papers, references and citations with their contexts.
//!
//! <https://api.semanticscholar.org/api-docs/graph>

use super::record::{at, finish, int, list, set_authors, text};
use crate::error::Result;
use crate::ports::{AuthorFacts, SearchHit, SearchProvider, SearchQuery, WorkFacts, WorkId};
use crate::store::model::DocumentMeta;
use crate::web::api::ApiClient;
use serde_json::Value;

/// Maximum number of papers per page of a search.
const PAGE: usize = 100;
/// Maximum number of pages per query.
const MAX_PAGES: usize = 10;

const FIELDS: &str = "paperId,externalIds,title,abstract,year,publicationDate,venue,journal,\
    authors,citationCount,referenceCount,isOpenAccess,openAccessPdf,publicationTypes,url";

/// The Semantic Scholar client.
#[derive(Debug)]
pub(super) struct SemanticScholar(pub(super) ApiClient);

impl SemanticScholar {
    /// All pages of a list; the paper of each entry is at `key`, or is the entry itself.
    async fn papers(
        &self,
        path: &[&str],
        search: Option<&str>,
        key: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SearchHit>> {
        let mut hits = Vec::new();
        let mut offset = 0;
        for _ in 0..MAX_PAGES {
            let wanted = (limit - hits.len()).clamp(1, PAGE).to_string();
            let from = offset.to_string();
            let mut query = vec![("fields", FIELDS), ("offset", &from), ("limit", &wanted)];
            query.extend(search.map(|text| ("query", text)));
            let Some(reply) = self.0.json(path, &query).await? else {
                // A search never returns 404; an unknown paper has no references.
                if search.is_some() {
                    return Err(self.0.bad_reply("there is no search at its base URL"));
                }
                break;
            };
            let (page, next) = read_list(&reply, key, hits.len())
                .ok_or_else(|| self.0.bad_reply("\"data\" is missing"))?;
            hits.extend(page);
            match next {
                Some(next) if next > offset && hits.len() < limit => offset = next,
                _ => break,
            }
        }
        hits.truncate(limit);
        Ok(hits)
    }
}

#[async_trait::async_trait]
impl SearchProvider for SemanticScholar {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        // A hyphenated word matches nothing, as their documentation warns.
        let text = query.text.replace('-', " ");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        self.papers(&["paper", "search"], Some(&text), None, query.limit)
            .await
    }

    async fn lookup_doi(&self, doi: &str) -> Result<Option<SearchHit>> {
        self.lookup(&WorkId::Doi(doi.to_owned())).await
    }

    async fn lookup(&self, id: &WorkId) -> Result<Option<SearchHit>> {
        let Some(key) = key_of(id) else {
            return Ok(None);
        };
        let path = path_of(&key, None);
        let Some(paper) = self.0.json(&path, &[("fields", FIELDS)]).await? else {
            return Ok(None);
        };
        match record(&paper, 1) {
            Some(hit) => Ok(Some(hit)),
            None => Err(self.0.bad_reply("the paper has no id and no title")),
        }
    }

    async fn references(&self, id: &WorkId, limit: usize) -> Result<Vec<SearchHit>> {
        match key_of(id) {
            Some(key) => {
                self.papers(
                    &path_of(&key, Some("references")),
                    None,
                    Some("citedPaper"),
                    limit,
                )
                .await
            }
            None => Ok(Vec::new()),
        }
    }

    async fn citations(&self, id: &WorkId, limit: usize) -> Result<Vec<SearchHit>> {
        match key_of(id) {
            Some(key) => {
                self.papers(
                    &path_of(&key, Some("citations")),
                    None,
                    Some("citingPaper"),
                    limit,
                )
                .await
            }
            None => Ok(Vec::new()),
        }
    }

    fn is_academic(&self) -> bool {
        true
    }

    fn conditions(&self) -> Vec<String> {
        self.0.conditions()
    }

    fn setup(&self) -> Option<String> {
        Some(self.0.setup())
    }
}

/// An identifier in Semantic Scholar's notation.
pub(super) fn key_of(id: &WorkId) -> Option<String> {
    Some(match id {
        WorkId::Doi(doi) => format!("DOI:{doi}"),
        WorkId::Pmid(pmid) => format!("PMID:{pmid}"),
        WorkId::Pmcid(pmcid) => format!("PMCID:{}", pmcid.trim_start_matches("PMC")),
        WorkId::Arxiv(arxiv) => format!("ARXIV:{arxiv}"),
        WorkId::S2(id) => id.clone(),
        WorkId::OpenAlex(_) => return None,
    })
}

/// The path of a paper; the slashes of a DOI are part of the path, as in their examples.
fn path_of<'a>(key: &'a str, what: Option<&'a str>) -> Vec<&'a str> {
    let parts = ["paper"].into_iter().chain(key.split('/'));
    parts.chain(what).collect()
}

/// The papers of a page and the offset of the next one; `None` if this is not a page of papers.
pub(super) fn read_list(
    reply: &Value,
    key: Option<&str>,
    before: usize,
) -> Option<(Vec<SearchHit>, Option<usize>)> {
    let next = int(reply, &["next"]).and_then(|next| usize::try_from(next).ok());
    let data = match at(reply, &["data"]) {
        Some(Value::Array(data)) => data.as_slice(),
        // If the publisher forbids it, the list is null; if nothing is found, it is missing.
        Some(Value::Null) => &[],
        None if at(reply, &["total"]).is_some() => &[],
        _ => return None,
    };
    let mut hits: Vec<SearchHit> = Vec::new();
    for entry in data {
        let paper = key.map_or(Some(entry), |key| entry.get(key));
        hits.extend(paper.and_then(|paper| record(paper, before + hits.len() + 1)));
    }
    Some((hits, next))
}

/// One paper.
pub(super) fn record(paper: &Value, rank: usize) -> Option<SearchHit> {
    let first = |paths: &[&[&str]]| paths.iter().find_map(|path| text(paper, path));
    let id = |name: &str| match at(paper, &["externalIds", name])? {
        Value::Number(number) => Some(number.to_string()),
        other => other.as_str().map(str::to_owned),
    };
    let pdf = text(paper, &["openAccessPdf", "url"]);
    let mut hit = SearchHit {
        abstract_text: text(paper, &["abstract"]),
        meta: DocumentMeta {
            title: text(paper, &["title"]),
            year: int(paper, &["year"]),
            published_date: text(paper, &["publicationDate"]),
            venue: first(&[&["venue"], &["journal", "name"]]),
            doi: id("DOI"),
            pmid: id("PubMed"),
            pmcid: id("PubMedCentral"),
            arxiv_id: id("ArXiv"),
            url: text(paper, &["url"]),
            ..DocumentMeta::default()
        },
        facts: WorkFacts {
            s2_id: text(paper, &["paperId"]),
            citation_count: int(paper, &["citationCount"]),
            reference_count: int(paper, &["referenceCount"]),
            is_open_access: at(paper, &["isOpenAccess"]).and_then(Value::as_bool),
            oa_url: pdf.clone(),
            pdf_url: pdf,
            ..WorkFacts::default()
        },
        ..SearchHit::default()
    };
    let authors = list(paper, &["authors"]).iter().filter_map(|author| {
        Some(AuthorFacts {
            name: text(author, &["name"])?,
            affiliation: list(author, &["affiliations"])
                .first()
                .and_then(Value::as_str)
                .map(str::to_owned),
            orcid: text(author, &["externalIds", "ORCID"]),
        })
    });
    set_authors(&mut hit, authors.collect());
    // Their papers combine a preprint and its publication; the preprint is another version.
    if let (Some(doi), Some(arxiv)) = (&hit.meta.doi, &hit.meta.arxiv_id)
        && !doi.to_ascii_lowercase().starts_with("10.48550/arxiv.")
    {
        hit.facts
            .versions
            .push(format!("doi:10.48550/arxiv.{}", arxiv.to_ascii_lowercase()));
    }
    finish(hit, rank)
}
