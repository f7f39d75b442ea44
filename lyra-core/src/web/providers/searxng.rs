//! SearXNG: a metasearch engine that anybody can host.
//!
//! <https://docs.searxng.org/dev/search_api.html>

use super::record::{at, list, text, web_hit};
use crate::error::Result;
use crate::ports::{ProviderFailure, SearchHit, SearchProvider, SearchQuery};
use crate::security::quoting::quoted;
use crate::web::api::ApiClient;
use serde_json::Value;

/// Maximum number of pages per query.
const MAX_PAGES: usize = 5;

/// The client of a SearXNG instance.
#[derive(Debug)]
pub(super) struct Searxng(pub(super) ApiClient);

#[async_trait::async_trait]
impl SearchProvider for Searxng {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        if query.text.trim().is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        let mut hits: Vec<SearchHit> = Vec::new();
        for page in 1..=MAX_PAGES {
            let number = page.to_string();
            let asked = [
                ("q", query.text.as_str()),
                ("format", "json"),
                ("pageno", &number),
            ];
            let reply = self.0.json(&["search"], &asked).await;
            let reply = reply.map_err(|error| match ProviderFailure::of(&error) {
                Some(ProviderFailure::BadKey) => error.with_hint(
                    "its settings must allow JSON: search.formats in settings.yml of the instance",
                ),
                _ => error,
            })?;
            let reply =
                reply.ok_or_else(|| self.0.bad_reply("there is no search at its base URL"))?;
            let found =
                read_list(&reply).ok_or_else(|| self.0.bad_reply("\"results\" is missing"))?;
            if found.is_empty() && hits.is_empty() {
                let silent = silent_engines(&reply);
                if !silent.is_empty() {
                    return Err(self
                        .0
                        .outage(&format!("no engine behind it answered ({silent})")));
                }
            }
            let before = hits.len();
            for hit in found {
                if !hits.iter().any(|known| known.url == hit.url) {
                    let rank = hits.len() + 1;
                    hits.push(SearchHit { rank, ..hit });
                }
            }
            if hits.len() == before || hits.len() >= query.limit {
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

/// `duckduckgo: timeout, …`
fn silent_engines(reply: &Value) -> String {
    let engines = list(reply, &["unresponsive_engines"]).iter();
    let said = engines.filter_map(|engine| match engine {
        Value::Array(parts) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            Some(parts.join(": "))
        }
        Value::String(name) => Some(name.clone()),
        _ => None,
    });
    let said: Vec<String> = said.collect();
    match said.len() {
        0 => String::new(),
        _ => quoted(&said.join(", "), 200),
    }
}

/// The results; `None` if this is not a reply of SearXNG.
pub(super) fn read_list(reply: &Value) -> Option<Vec<SearchHit>> {
    let results = at(reply, &["results"])?.as_array()?;
    let mut hits: Vec<SearchHit> = Vec::new();
    for result in results {
        let Some(url) = text(result, &["url"]).filter(|url| url.starts_with("http")) else {
            continue;
        };
        let mut hit = web_hit(&url, text(result, &["title"]), text(result, &["content"]));
        hit.rank = hits.len() + 1;
        hit.meta.published_date =
            text(result, &["publishedDate"]).map(|date| date.chars().take(10).collect());
        hits.push(hit);
    }
    Some(hits)
}
