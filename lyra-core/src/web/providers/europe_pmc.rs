//! Europe PMC: life-science literature with abstracts, including PubMed and preprint servers.
//!
//! <https://europepmc.org/RestfulWebService>

use super::record::{at, finish, int, list, set_authors, text, words_only};
use crate::error::Result;
use crate::ports::{AuthorFacts, SearchHit, SearchProvider, SearchQuery, WorkFacts, WorkId};
use crate::store::model::DocumentMeta;
use crate::store::text::identifiers::normalize_doi;
use crate::web::api::ApiClient;
use serde_json::Value;

/// Maximum number of works per page of a search.
const PAGE: usize = 1000;
/// Maximum number of pages per query.
const MAX_PAGES: usize = 10;

/// The Europe PMC client.
#[derive(Debug)]
pub(super) struct EuropePmc(pub(super) ApiClient);

impl EuropePmc {
    async fn find(&self, query: &str, limit: usize) -> Result<Vec<(Value, SearchHit)>> {
        let mut cursor = "*".to_owned();
        let mut found = Vec::new();
        for _ in 0..MAX_PAGES {
            let size = limit.clamp(1, PAGE).to_string();
            let asked = [
                ("query", query),
                ("format", "json"),
                ("resultType", "core"),
                ("pageSize", &size),
                ("cursorMark", &cursor),
            ];
            let reply = self.0.json(&["search"], &asked).await?;
            let reply = reply.ok_or_else(|| self.0.bad_reply("there is no search"))?;
            let results = at(&reply, &["resultList", "result"]).and_then(Value::as_array);
            let results = results.ok_or_else(|| match text(&reply, &["errMsg"]) {
                Some(why) => self.0.refused(&why),
                None => self.0.bad_reply("\"resultList\" is missing"),
            })?;
            for result in results {
                let hit = record(result, found.len() + 1);
                found.extend(hit.map(|hit| (result.clone(), hit)));
            }
            match text(&reply, &["nextCursorMark"]) {
                Some(next) if !results.is_empty() && found.len() < limit && next != cursor => {
                    cursor = next;
                }
                _ => break,
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    async fn find_one(&self, id: &WorkId) -> Result<Option<(Value, SearchHit)>> {
        let query = match id {
            WorkId::Doi(doi) => format!("DOI:\"{}\"", doi.replace('"', "")),
            WorkId::Pmid(pmid) => format!("EXT_ID:{pmid} AND SRC:MED"),
            WorkId::Pmcid(pmcid) => format!("PMCID:{pmcid}"),
            _ => return Ok(None),
        };
        // This is a text search: its results may include other works.
        let is_it = |hit: &SearchHit| match id {
            WorkId::Doi(doi) => hit.meta.doi.as_ref() == Some(doi),
            WorkId::Pmid(pmid) => hit.meta.pmid.as_ref() == Some(pmid),
            WorkId::Pmcid(pmcid) => hit.meta.pmcid.as_ref() == Some(pmcid),
            _ => false,
        };
        let found = self.find(&query, 5).await?;
        Ok(found.into_iter().find(|(_, hit)| is_it(hit)))
    }

    /// `references` or `citations` of a work.
    async fn linked(
        &self,
        id: &WorkId,
        what: (&str, &[&str]),
        limit: usize,
    ) -> Result<Vec<SearchHit>> {
        let Some((result, _)) = self.find_one(id).await? else {
            return Ok(Vec::new());
        };
        let (Some(source), Some(own)) = (text(&result, &["source"]), text(&result, &["id"])) else {
            return Ok(Vec::new());
        };
        let size = limit.clamp(1, PAGE).to_string();
        let asked = [("format", "json"), ("page", "1"), ("pageSize", &size)];
        let reply = self.0.json(&[&source, &own, what.0], &asked).await?;
        let Some(reply) = reply else {
            return Ok(Vec::new());
        };
        let mut hits: Vec<SearchHit> = Vec::new();
        for entry in list(&reply, what.1) {
            hits.extend(linked_record(entry, hits.len() + 1));
        }
        hits.truncate(limit);
        Ok(hits)
    }
}

#[async_trait::async_trait]
impl SearchProvider for EuropePmc {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        let words = words_only(&query.text);
        if words.is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        let found = self.find(&words, query.limit).await?;
        Ok(found.into_iter().map(|(_, hit)| hit).collect())
    }

    async fn lookup_doi(&self, doi: &str) -> Result<Option<SearchHit>> {
        self.lookup(&WorkId::Doi(doi.to_owned())).await
    }

    async fn lookup(&self, id: &WorkId) -> Result<Option<SearchHit>> {
        let found = self.find_one(id).await?;
        Ok(found.map(|(_, hit)| SearchHit { rank: 1, ..hit }))
    }

    async fn references(&self, id: &WorkId, limit: usize) -> Result<Vec<SearchHit>> {
        self.linked(id, ("references", &["referenceList", "reference"]), limit)
            .await
    }

    async fn citations(&self, id: &WorkId, limit: usize) -> Result<Vec<SearchHit>> {
        self.linked(id, ("citations", &["citationList", "citation"]), limit)
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

/// One result of a search, with `resultType=core`.
pub(super) fn record(result: &Value, rank: usize) -> Option<SearchHit> {
    let links = list(result, &["fullTextUrlList", "fullTextUrl"]);
    let link = |style: &str| {
        let free = |link: &&Value| {
            matches!(
                text(link, &["availabilityCode"]).as_deref(),
                Some("OA" | "F")
            ) && text(link, &["documentStyle"]).as_deref() == Some(style)
        };
        links
            .iter()
            .find(free)
            .and_then(|link| text(link, &["url"]))
    };
    let source = text(result, &["source"]);
    let own_page = source.as_ref().zip(text(result, &["id"]));
    let kinds = strings(at(result, &["pubTypeList", "pubType"]));
    let is_kind = |kind: &str| kinds.iter().any(|k| k.eq_ignore_ascii_case(kind));
    let mut hit = SearchHit {
        abstract_text: text(result, &["abstractText"]),
        meta: DocumentMeta {
            // PubMed ends titles with a full stop.
            title: text(result, &["title"]).map(|t| t.trim_end_matches('.').to_owned()),
            year: int(result, &["pubYear"]),
            published_date: text(result, &["firstPublicationDate"]),
            venue: text(result, &["journalInfo", "journal", "title"])
                .or_else(|| text(result, &["bookOrReportDetails", "publisher"])),
            doi: text(result, &["doi"]),
            pmid: text(result, &["pmid"]),
            pmcid: text(result, &["pmcid"]),
            url: own_page
                .map(|(source, id)| format!("https://europepmc.org/article/{source}/{id}")),
            is_retracted: is_kind("retracted publication"),
            ..DocumentMeta::default()
        },
        facts: WorkFacts {
            citation_count: int(result, &["citedByCount"]),
            is_open_access: text(result, &["isOpenAccess"]).map(|flag| flag == "Y"),
            oa_url: link("html"),
            pdf_url: link("pdf"),
            is_preprint: source.as_deref() == Some("PPR") || is_kind("preprint"),
            versions: versions(result),
            ..WorkFacts::default()
        },
        ..SearchHit::default()
    };
    set_authors(&mut hit, authors(result));
    finish(hit, rank)
}

/// Texts of a field that holds one text or several.
fn strings(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn authors(result: &Value) -> Vec<AuthorFacts> {
    let listed = list(result, &["authorList", "author"]).iter();
    let listed: Vec<AuthorFacts> = listed
        .filter_map(|author| {
            let parts = [text(author, &["firstName"]), text(author, &["lastName"])];
            let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
            let name = if name.is_empty() {
                text(author, &["fullName"]).or_else(|| text(author, &["collectiveName"]))?
            } else {
                name
            };
            let details = list(
                author,
                &["authorAffiliationDetailsList", "authorAffiliation"],
            );
            let is_orcid = text(author, &["authorId", "type"]).as_deref() == Some("ORCID");
            Some(AuthorFacts {
                name,
                affiliation: details
                    .first()
                    .and_then(|place| text(place, &["affiliation"])),
                orcid: is_orcid
                    .then(|| text(author, &["authorId", "value"]))
                    .flatten(),
            })
        })
        .collect();
    if !listed.is_empty() {
        return listed;
    }
    let names = text(result, &["authorString"]).unwrap_or_default();
    names_of(&names)
}

/// `Jeong S, Kim TM.`
fn names_of(names: &str) -> Vec<AuthorFacts> {
    let names = names.trim_end_matches('.').split(", ").map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(|name| AuthorFacts {
            name: name.to_owned(),
            ..AuthorFacts::default()
        })
        .collect()
}

/// The preprint of a publication, or the publication of a preprint.
fn versions(result: &Value) -> Vec<String> {
    let corrections = list(result, &["commentCorrectionList", "commentCorrection"]).iter();
    corrections
        .filter(|entry| {
            text(entry, &["type"])
                .is_some_and(|kind| kind.to_ascii_lowercase().contains("preprint"))
        })
        .filter_map(|entry| {
            let id = text(entry, &["id"])?;
            match text(entry, &["source"]).as_deref() {
                Some("MED") => Some(format!("pmid:{id}")),
                _ => normalize_doi(&id).map(|doi| format!("doi:{doi}")),
            }
        })
        .collect()
}

/// One entry of a list of references or citations.
fn linked_record(entry: &Value, rank: usize) -> Option<SearchHit> {
    let source = text(entry, &["source"]);
    let id = text(entry, &["id"]);
    let is = |name: &str| source.as_deref() == Some(name);
    let mut hit = SearchHit {
        meta: DocumentMeta {
            title: text(entry, &["title"]).map(|t| t.trim_end_matches('.').to_owned()),
            year: int(entry, &["pubYear"]),
            venue: text(entry, &["journalAbbreviation"]),
            doi: text(entry, &["doi"]),
            pmid: id.clone().filter(|_| is("MED")),
            pmcid: id.filter(|_| is("PMC")),
            ..DocumentMeta::default()
        },
        ..SearchHit::default()
    };
    hit.facts.citation_count = int(entry, &["citedByCount"]);
    set_authors(
        &mut hit,
        names_of(&text(entry, &["authorString"]).unwrap_or_default()),
    );
    finish(hit, rank)
}
