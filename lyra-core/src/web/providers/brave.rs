//! Brave Search: an independent web index; every request needs a key.
//!
//! <https://api-dashboard.search.brave.com/app/documentation/web-search/get-started>

use super::record::{at, text, web_hit};
use crate::error::Result;
use crate::ports::{SearchHit, SearchProvider, SearchQuery};
use crate::web::api::ApiClient;
use serde_json::Value;

/// Maximum number of results per page.
const PAGE: usize = 20;
/// Maximum number of pages that Brave returns per query.
const MAX_PAGES: usize = 10;
/// Maximum length of a query in characters and in words.
const LONGEST: (usize, usize) = (400, 50);

/// The Brave Search client.
#[derive(Debug)]
pub(super) struct Brave(pub(super) ApiClient);

#[async_trait::async_trait]
impl SearchProvider for Brave {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        let words: Vec<&str> = query.text.split_whitespace().take(LONGEST.1).collect();
        let words: String = words.join(" ").chars().take(LONGEST.0).collect();
        if words.is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        let mut hits: Vec<SearchHit> = Vec::new();
        for page in 0..MAX_PAGES {
            let (count, offset) = (query.limit.min(PAGE).to_string(), page.to_string());
            let asked = [
                ("q", words.as_str()),
                ("count", &count),
                ("offset", &offset),
            ];
            let reply = self.0.json(&["web", "search"], &asked).await?;
            let reply =
                reply.ok_or_else(|| self.0.bad_reply("there is no search at its base URL"))?;
            let found =
                read_list(&reply).ok_or_else(|| self.0.bad_reply("it is no reply to a search"))?;
            for hit in found {
                if !hits.iter().any(|known| known.url == hit.url) {
                    let rank = hits.len() + 1;
                    hits.push(SearchHit { rank, ..hit });
                }
            }
            let more = at(&reply, &["query", "more_results_available"]).and_then(Value::as_bool);
            if more != Some(true) || hits.len() >= query.limit {
                break;
            }
        }
        hits.truncate(query.limit);
        Ok(hits)
    }

    fn conditions(&self) -> Vec<String> {
        self.0.conditions()
    }

    fn setup(&self) -> Option<String> {
        Some(self.0.setup())
    }
}

/// The results; `None` if this is not a reply of Brave. A reply without a `web` part has no
/// results.
pub(super) fn read_list(reply: &Value) -> Option<Vec<SearchHit>> {
    let results = match at(reply, &["web"]) {
        None if text(reply, &["type"]).as_deref() == Some("search") => return Some(Vec::new()),
        None => return None,
        Some(web) => web.get("results")?.as_array()?,
    };
    let mut hits: Vec<SearchHit> = Vec::new();
    for result in results {
        let Some(url) = text(result, &["url"]).filter(|url| url.starts_with("http")) else {
            continue;
        };
        let mut hit = web_hit(
            &url,
            text(result, &["title"]),
            text(result, &["description"]),
        );
        hit.rank = hits.len() + 1;
        hit.meta.language = text(result, &["language"]);
        hit.meta.published_date =
            text(result, &["page_age"]).map(|date| date.chars().take(10).collect());
        hits.push(hit);
    }
    Some(hits)
}
