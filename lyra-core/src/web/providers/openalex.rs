//! OpenAlex: 250 million works with references, citations and retractions.
//!
//! <https://docs.openalex.org/api-entities/works>

use super::record::{at, bare_orcid, finish, int, list, set_authors, text};
use crate::error::Result;
use crate::ports::{AuthorFacts, SearchHit, SearchProvider, SearchQuery, WorkFacts, WorkId};
use crate::store::model::DocumentMeta;
use crate::store::text::identifiers::find_identifiers;
use crate::web::api::ApiClient;
use serde_json::Value;

/// Maximum number of works per page.
const PAGE: usize = 200;
/// Maximum number of ids in one filter.
const IDS: usize = 50;
/// Maximum number of pages per query.
const MAX_PAGES: usize = 20;
/// Maximum position in an inverted abstract; a longer one is not an abstract.
const LONGEST: u64 = 20_000;

const FIELDS: &str = "id,doi,ids,title,display_name,publication_year,publication_date,language,\
    type,primary_location,best_oa_location,locations,open_access,authorships,cited_by_count,\
    is_retracted,referenced_works,referenced_works_count,abstract_inverted_index";

/// The OpenAlex client.
#[derive(Debug)]
pub(super) struct OpenAlex(pub(super) ApiClient);

impl OpenAlex {
    /// All pages of a list of works, up to `limit`.
    async fn works(
        &self,
        what: (&str, &str),
        sort: Option<&str>,
        limit: usize,
    ) -> Result<Vec<SearchHit>> {
        let per_page = limit.clamp(1, PAGE).to_string();
        let mut cursor = "*".to_owned();
        let mut hits = Vec::new();
        for _ in 0..MAX_PAGES {
            let mut query = vec![
                what,
                ("per-page", per_page.as_str()),
                ("cursor", cursor.as_str()),
                ("select", FIELDS),
            ];
            query.extend(sort.map(|sort| ("sort", sort)));
            let reply = self.0.json(&["works"], &query).await?;
            let reply = reply.ok_or_else(|| self.0.bad_reply("there is no list of works"))?;
            let (page, next) = read_list(&reply, hits.len())
                .ok_or_else(|| self.0.bad_reply("\"results\" is missing"))?;
            let is_last = page.is_empty();
            hits.extend(page);
            match next {
                Some(next) if !is_last && hits.len() < limit && next != cursor => cursor = next,
                _ => break,
            }
        }
        hits.truncate(limit);
        Ok(hits)
    }

    async fn work(&self, id: &WorkId) -> Result<Option<Value>> {
        let key = match id {
            WorkId::Doi(doi) => format!("doi:{doi}"),
            WorkId::Pmid(pmid) => format!("pmid:{pmid}"),
            WorkId::Pmcid(pmcid) => format!("pmcid:{pmcid}"),
            WorkId::Arxiv(arxiv) => format!("doi:10.48550/arxiv.{arxiv}"),
            WorkId::OpenAlex(id) => id.clone(),
            WorkId::S2(_) => return Ok(None),
        };
        self.0.json(&["works", &key], &[("select", FIELDS)]).await
    }
}

#[async_trait::async_trait]
impl SearchProvider for OpenAlex {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        // Outside words these characters are wildcards, which OpenAlex refuses.
        let text = query.text.replace(['?', '*', '~', '|', '!', '"'], " ");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        self.works(("search", &text), None, query.limit).await
    }

    async fn lookup_doi(&self, doi: &str) -> Result<Option<SearchHit>> {
        self.lookup(&WorkId::Doi(doi.to_owned())).await
    }

    async fn lookup(&self, id: &WorkId) -> Result<Option<SearchHit>> {
        let Some(work) = self.work(id).await? else {
            return Ok(None);
        };
        match record(&work, 1) {
            Some(hit) => Ok(Some(hit)),
            None => Err(self.0.bad_reply("the work has no id and no title")),
        }
    }

    async fn references(&self, id: &WorkId, limit: usize) -> Result<Vec<SearchHit>> {
        let Some(work) = self.work(id).await? else {
            return Ok(Vec::new());
        };
        let cited: Vec<String> = list(&work, &["referenced_works"])
            .iter()
            .filter_map(|url| find_identifiers(url.as_str()?).openalex_id)
            .take(limit)
            .collect();
        let mut hits: Vec<SearchHit> = Vec::new();
        for some in cited.chunks(IDS) {
            let filter = format!("openalex:{}", some.join("|"));
            hits.extend(self.works(("filter", &filter), None, some.len()).await?);
        }
        renumber(&mut hits);
        Ok(hits)
    }

    async fn citations(&self, id: &WorkId, limit: usize) -> Result<Vec<SearchHit>> {
        let openalex_id = match id {
            WorkId::OpenAlex(id) => Some(id.clone()),
            _ => self.work(id).await?.and_then(|work| own_id(&work)),
        };
        let Some(openalex_id) = openalex_id else {
            return Ok(Vec::new());
        };
        let filter = format!("cites:{openalex_id}");
        self.works(("filter", &filter), Some("cited_by_count:desc"), limit)
            .await
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

fn renumber(hits: &mut [SearchHit]) {
    for (place, hit) in hits.iter_mut().enumerate() {
        hit.rank = place + 1;
    }
}

/// The works of a page and the cursor of the next one; `None` if this is not a page of works.
pub(super) fn read_list(reply: &Value, before: usize) -> Option<(Vec<SearchHit>, Option<String>)> {
    let results = at(reply, &["results"])?.as_array()?;
    let mut hits: Vec<SearchHit> = Vec::new();
    for work in results {
        hits.extend(record(work, before + hits.len() + 1));
    }
    Some((hits, text(reply, &["meta", "next_cursor"])))
}

fn own_id(work: &Value) -> Option<String> {
    let id = text(work, &["id"])?;
    find_identifiers(&id).openalex_id.or_else(|| {
        let bare = id.strip_prefix("openalex:").unwrap_or(&id);
        let is_id = bare.starts_with('W') && bare[1..].bytes().all(|b| b.is_ascii_digit());
        (is_id && bare.len() > 1).then(|| bare.to_owned())
    })
}

/// One work.
pub(super) fn record(work: &Value, rank: usize) -> Option<SearchHit> {
    let first = |paths: &[&[&str]]| paths.iter().find_map(|path| text(work, path));
    let doi = first(&[&["doi"], &["ids", "doi"]]);
    let mut hit = SearchHit {
        abstract_text: at(work, &["abstract_inverted_index"]).and_then(uninvert),
        meta: DocumentMeta {
            title: first(&[&["display_name"], &["title"]]),
            year: int(work, &["publication_year"]),
            published_date: text(work, &["publication_date"]),
            venue: first(&[
                &["primary_location", "source", "display_name"],
                &["host_venue", "display_name"],
            ]),
            pmid: text(work, &["ids", "pmid"]).and_then(|url| last_part(&url)),
            pmcid: text(work, &["ids", "pmcid"]).and_then(|url| last_part(&url)),
            url: text(work, &["primary_location", "landing_page_url"]),
            language: text(work, &["language"]),
            is_retracted: at(work, &["is_retracted"]).and_then(Value::as_bool) == Some(true),
            doi,
            ..DocumentMeta::default()
        },
        facts: WorkFacts {
            openalex_id: own_id(work),
            citation_count: int(work, &["cited_by_count"]),
            reference_count: int(work, &["referenced_works_count"]),
            is_open_access: at(work, &["open_access", "is_oa"]).and_then(Value::as_bool),
            oa_url: text(work, &["open_access", "oa_url"]),
            pdf_url: first(&[
                &["best_oa_location", "pdf_url"],
                &["primary_location", "pdf_url"],
            ]),
            is_preprint: text(work, &["type"]).as_deref() == Some("preprint"),
            ..WorkFacts::default()
        },
        ..SearchHit::default()
    };
    set_authors(&mut hit, authors(work));
    // A copy on arXiv is another version, unless the record is that copy.
    let arxiv = list(work, &["locations"]).iter().find_map(|location| {
        let url = text(location, &["landing_page_url"])?;
        find_identifiers(&url).arxiv_id
    });
    if let Some(arxiv) = arxiv {
        let own = hit.meta.doi.as_deref().map(str::to_ascii_lowercase);
        if own.is_none_or(|doi| doi.ends_with(&format!("10.48550/arxiv.{arxiv}"))) {
            hit.meta.arxiv_id = Some(arxiv);
        } else {
            hit.facts
                .versions
                .push(format!("doi:10.48550/arxiv.{arxiv}"));
        }
    }
    finish(hit, rank)
}

fn last_part(url: &str) -> Option<String> {
    url.trim_end_matches('/')
        .rsplit('/')
        .next()
        .map(str::to_owned)
}

fn authors(work: &Value) -> Vec<AuthorFacts> {
    let authorships = list(work, &["authorships"]).iter();
    authorships
        .filter_map(|authorship| {
            let name = text(authorship, &["author", "display_name"])
                .or_else(|| text(authorship, &["raw_author_name"]))?;
            let institution = list(authorship, &["institutions"]).first();
            Some(AuthorFacts {
                name,
                affiliation: institution.and_then(|i| text(i, &["display_name"])),
                orcid: text(authorship, &["author", "orcid"]).and_then(|id| bare_orcid(&id)),
            })
        })
        .collect()
}

/// Reconstructs an abstract from an index of words and their positions.
pub(super) fn uninvert(index: &Value) -> Option<String> {
    let mut words: Vec<(u64, &str)> = Vec::new();
    for (word, places) in index.as_object()? {
        for place in places.as_array()? {
            let place = place.as_u64()?;
            if place >= LONGEST {
                return None;
            }
            words.push((place, word));
        }
    }
    words.sort_by_key(|(place, _)| *place);
    let words: Vec<&str> = words.into_iter().map(|(_, word)| word).collect();
    (!words.is_empty()).then(|| words.join(" "))
}
