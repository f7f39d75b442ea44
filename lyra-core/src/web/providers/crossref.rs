//! Crossref: metadata deposited by publishers, including references and notices of retraction.
//!
//! <https://api.crossref.org/swagger-ui/index.html>

use super::record::{at, bare_orcid, finish, int, list, set_authors, text};
use crate::error::Result;
use crate::ports::{AuthorFacts, SearchHit, SearchProvider, SearchQuery, WorkFacts, WorkId};
use crate::store::model::DocumentMeta;
use crate::store::text::identifiers::{doi_from_url, find_identifiers, normalize_doi};
use crate::web::api::ApiClient;
use serde_json::Value;

/// Maximum number of works per page.
const PAGE: usize = 1000;
/// Maximum number of pages per query.
const MAX_PAGES: usize = 10;

/// Kinds of update that retract a work.
const RETRACTIONS: &[&str] = &["retraction", "withdrawal", "removal", "partial_retraction"];

/// The Crossref client.
#[derive(Debug)]
pub(super) struct Crossref(pub(super) ApiClient);

impl Crossref {
    async fn work(&self, id: &WorkId) -> Result<Option<Value>> {
        let doi = match id {
            WorkId::Doi(doi) => doi,
            _ => return Ok(None),
        };
        let Some(reply) = self.0.json(&["works", doi], &[]).await? else {
            return Ok(None);
        };
        match reply.get("message") {
            Some(work) if work.is_object() => Ok(Some(work.clone())),
            _ => Err(self.0.bad_reply("\"message\" is missing")),
        }
    }
}

#[async_trait::async_trait]
impl SearchProvider for Crossref {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        if query.text.trim().is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        let mut hits = Vec::new();
        let mut offset = 0;
        for _ in 0..MAX_PAGES {
            let rows = (query.limit - hits.len()).clamp(1, PAGE).to_string();
            let from = offset.to_string();
            let asked = [
                ("query.bibliographic", query.text.as_str()),
                ("rows", &rows),
                ("offset", &from),
            ];
            let reply = self.0.json(&["works"], &asked).await?;
            let page = reply
                .as_ref()
                .and_then(|reply| read_list(reply, hits.len()));
            let page = page.ok_or_else(|| self.0.bad_reply("\"message\" holds no \"items\""))?;
            offset += page.items;
            hits.extend(page.hits);
            if page.items == 0 || offset >= page.total || hits.len() >= query.limit {
                break;
            }
        }
        hits.truncate(query.limit);
        Ok(hits)
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
            None => Err(self.0.bad_reply("the work has no DOI and no title")),
        }
    }

    async fn references(&self, id: &WorkId, limit: usize) -> Result<Vec<SearchHit>> {
        let work = self.work(id).await?;
        Ok(work
            .map(|work| references(&work, limit))
            .unwrap_or_default())
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

/// One page of a search.
pub(super) struct CrossrefPage {
    pub(super) hits: Vec<SearchHit>,
    /// Number of entries, including unusable ones.
    items: usize,
    total: usize,
}

/// `None` if this is not a page of works.
pub(super) fn read_list(reply: &Value, before: usize) -> Option<CrossrefPage> {
    let items = at(reply, &["message", "items"])?.as_array()?;
    let mut hits: Vec<SearchHit> = Vec::new();
    for work in items {
        hits.extend(record(work, before + hits.len() + 1));
    }
    let total = int(reply, &["message", "total-results"]);
    Some(CrossrefPage {
        hits,
        items: items.len(),
        total: total.and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
    })
}

/// One work.
pub(super) fn record(work: &Value, rank: usize) -> Option<SearchHit> {
    let date = [
        "published",
        "issued",
        "published-print",
        "published-online",
        "created",
    ]
    .iter()
    .find_map(|name| date_of(at(work, &[name])?));
    let pdf = list(work, &["link"]).iter().find_map(|link| {
        let is_pdf = text(link, &["content-type"]).as_deref() == Some("application/pdf");
        is_pdf.then(|| text(link, &["URL"])).flatten()
    });
    let updates = |name: &str| -> Vec<String> {
        let takes_back = |update: &&Value| {
            text(update, &["type"]).is_some_and(|kind| RETRACTIONS.contains(&kind.as_str()))
        };
        let found = list(work, &[name]).iter().filter(takes_back);
        found
            .filter_map(|update| normalize_doi(&text(update, &["DOI"])?))
            .collect()
    };
    let mut hit = SearchHit {
        abstract_text: text(work, &["abstract"]),
        meta: DocumentMeta {
            title: first_text(work, "title"),
            year: date.as_ref().map(|(year, _)| *year),
            published_date: date.map(|(_, date)| date),
            venue: first_text(work, "container-title").or_else(|| text(work, &["publisher"])),
            doi: text(work, &["DOI"]),
            url: text(work, &["resource", "primary", "URL"]).or_else(|| text(work, &["URL"])),
            language: text(work, &["language"]),
            // The notice refers to the work, and the work refers to the notice.
            is_retracted: !updates("updated-by").is_empty(),
            ..DocumentMeta::default()
        },
        facts: WorkFacts {
            citation_count: int(work, &["is-referenced-by-count"]),
            reference_count: int(work, &["references-count"])
                .or_else(|| int(work, &["reference-count"])),
            pdf_url: pdf,
            is_preprint: text(work, &["type"]).as_deref() == Some("posted-content"),
            versions: versions(work),
            retracts: updates("update-to"),
            ..WorkFacts::default()
        },
        ..SearchHit::default()
    };
    set_authors(&mut hit, authors(work));
    finish(hit, rank)
}

fn first_text(work: &Value, name: &str) -> Option<String> {
    match at(work, &[name])? {
        Value::Array(texts) => {
            let texts = texts.iter().filter_map(Value::as_str).map(str::trim);
            texts.into_iter().find(|t| !t.is_empty()).map(str::to_owned)
        }
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// Year and ISO date from `date-parts`, as exact as given.
fn date_of(date: &Value) -> Option<(i64, String)> {
    let parts: Vec<i64> = list(date, &["date-parts"])
        .first()?
        .as_array()?
        .iter()
        .map_while(Value::as_i64)
        .collect();
    let text = match parts[..] {
        [year] => format!("{year:04}"),
        [year, month] => format!("{year:04}-{month:02}"),
        [year, month, day, ..] => format!("{year:04}-{month:02}-{day:02}"),
        [] => return None,
    };
    Some((parts[0], text))
}

fn authors(work: &Value) -> Vec<AuthorFacts> {
    let authors = list(work, &["author"]).iter();
    authors
        .filter_map(|author| {
            let parts = [text(author, &["given"]), text(author, &["family"])];
            let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let name = if name.is_empty() {
                text(author, &["name"])?
            } else {
                name
            };
            let affiliation = list(author, &["affiliation"]).first();
            Some(AuthorFacts {
                name,
                affiliation: affiliation.and_then(|place| text(place, &["name"])),
                orcid: text(author, &["ORCID"]).and_then(|id| bare_orcid(&id)),
            })
        })
        .collect()
}

/// The preprint of a publication and the publication of a preprint.
fn versions(work: &Value) -> Vec<String> {
    let mut versions = Vec::new();
    for kind in [
        "is-preprint-of",
        "has-preprint",
        "is-version-of",
        "has-version",
    ] {
        for other in list(work, &["relation", kind]) {
            let id = text(other, &["id"]).unwrap_or_default();
            let doi = match text(other, &["id-type"]).as_deref() {
                Some("doi") => normalize_doi(&id),
                Some("arxiv") => find_identifiers(&format!("arXiv:{id}"))
                    .arxiv_id
                    .map(|arxiv| format!("10.48550/arxiv.{arxiv}")),
                _ => doi_from_url(&id),
            };
            versions.extend(doi.map(|doi| format!("doi:{doi}")));
        }
    }
    versions
}

/// The entries of the reference list that can be looked up: those with a DOI.
fn references(work: &Value, limit: usize) -> Vec<SearchHit> {
    let mut hits: Vec<SearchHit> = Vec::new();
    for reference in list(work, &["reference"]) {
        if hits.len() == limit {
            break;
        }
        let Some(doi) = text(reference, &["DOI"]) else {
            continue;
        };
        let title = ["article-title", "volume-title", "unstructured"];
        let year = text(reference, &["year"]);
        let hit = SearchHit {
            meta: DocumentMeta {
                doi: Some(doi),
                title: title.iter().find_map(|name| text(reference, &[name])),
                authors: text(reference, &["author"]).into_iter().collect(),
                year: year.and_then(|year| year.get(..4)?.parse().ok()),
                venue: text(reference, &["journal-title"]),
                ..DocumentMeta::default()
            },
            ..SearchHit::default()
        };
        hits.extend(finish(hit, hits.len() + 1));
    }
    hits
}
