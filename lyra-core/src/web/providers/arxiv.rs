//! arXiv: preprints, through its Atom API.
//!
//! <https://info.arxiv.org/help/api/user-manual.html>

use super::record::{finish, set_authors, words_only};
use crate::error::Result;
use crate::ports::{AuthorFacts, SearchHit, SearchProvider, SearchQuery, WorkFacts, WorkId};
use crate::store::model::DocumentMeta;
use crate::store::text::identifiers::{find_identifiers, normalize_doi};
use crate::web::api::ApiClient;
use roxmltree::{Document, Node};

/// Maximum number of entries per page.
const PAGE: usize = 100;
/// Maximum number of pages per query.
const MAX_PAGES: usize = 5;

/// The arXiv client.
#[derive(Debug)]
pub(super) struct Arxiv(pub(super) ApiClient);

/// One page of a feed.
pub(super) struct Feed {
    pub(super) hits: Vec<SearchHit>,
    total: usize,
    entries: usize,
}

impl Arxiv {
    async fn feed(&self, query: &[(&str, &str)], before: usize) -> Result<Feed> {
        let accept = "application/atom+xml";
        let body = self.0.get(&["query"], query, accept).await?;
        let body = body.ok_or_else(|| self.0.bad_reply("there is no feed"))?;
        let text =
            String::from_utf8(body).map_err(|_| self.0.bad_reply("the feed is not UTF-8"))?;
        match read_feed(&text, before) {
            Ok(feed) => Ok(feed),
            Err(Unread::Refused(why)) => Err(self.0.refused(&why)),
            Err(Unread::Malformed(why)) => Err(self.0.bad_reply(&why)),
        }
    }
}

#[async_trait::async_trait]
impl SearchProvider for Arxiv {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        let words = words_only(&query.text);
        if words.is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        let terms: Vec<String> = words.split(' ').map(|word| format!("all:{word}")).collect();
        let terms = terms.join(" AND ");
        let mut hits = Vec::new();
        let mut start = 0;
        for _ in 0..MAX_PAGES {
            let size = (query.limit - hits.len()).clamp(1, PAGE).to_string();
            let from = start.to_string();
            let asked = [
                ("search_query", terms.as_str()),
                ("start", &from),
                ("max_results", &size),
                ("sortBy", "relevance"),
            ];
            let feed = self.feed(&asked, hits.len()).await?;
            start += feed.entries;
            hits.extend(feed.hits);
            if feed.entries == 0 || start >= feed.total || hits.len() >= query.limit {
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
        let arxiv = match id {
            WorkId::Arxiv(id) => id.as_str(),
            WorkId::Doi(doi) => match doi.strip_prefix("10.48550/arxiv.") {
                Some(id) => id,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let feed = self
            .feed(&[("id_list", arxiv), ("max_results", "1")], 0)
            .await?;
        let is_it = |hit: &SearchHit| hit.meta.arxiv_id.as_deref() == Some(arxiv);
        Ok(feed.hits.into_iter().find(is_it))
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

/// Why a feed gave no entries.
#[derive(Debug)]
pub(super) enum Unread {
    /// arXiv puts its errors into an entry.
    Refused(String),
    Malformed(String),
}

/// The entries of a feed.
pub(super) fn read_feed(xml: &str, before: usize) -> std::result::Result<Feed, Unread> {
    let document = Document::parse(xml)
        .map_err(|e| Unread::Malformed(format!("the feed is not well-formed XML ({e})")))?;
    let root = document.root_element();
    if root.tag_name().name() != "feed" {
        return Err(Unread::Malformed(
            "the reply is not an Atom feed".to_owned(),
        ));
    }
    let mut hits: Vec<SearchHit> = Vec::new();
    let mut entries = 0;
    for entry in root
        .children()
        .filter(|node| node.has_tag_name((ATOM, "entry")))
    {
        let id = child(entry, "id").unwrap_or_default();
        if id.contains("/api/errors") {
            let why = child(entry, "summary").unwrap_or_else(|| "an error entry".to_owned());
            return Err(Unread::Refused(why));
        }
        entries += 1;
        hits.extend(record(entry, &id, before + hits.len() + 1));
    }
    let total = root
        .children()
        .find(|node| node.tag_name().name() == "totalResults")
        .and_then(|node| node.text()?.trim().parse().ok());
    Ok(Feed {
        hits,
        total: total.unwrap_or(0),
        entries,
    })
}

const ATOM: &str = "http://www.w3.org/2005/Atom";

fn record(entry: Node<'_, '_>, id: &str, rank: usize) -> Option<SearchHit> {
    let arxiv_id = find_identifiers(id).arxiv_id?;
    let published = child(entry, "published").map(|date| date.chars().take(10).collect::<String>());
    let comment = child(entry, "comment").unwrap_or_default().to_lowercase();
    let link = |title: &str| {
        let mut links = entry
            .children()
            .filter(|node| node.has_tag_name((ATOM, "link")));
        links
            .find(|link| link.attribute("title") == Some(title))
            .and_then(|link| link.attribute("href"))
            .map(str::to_owned)
    };
    let other = child(entry, "doi").and_then(|doi| normalize_doi(&doi));
    let pdf_url = link("pdf");
    let mut hit = SearchHit {
        abstract_text: child(entry, "summary").map(|text| escape(&text)),
        meta: DocumentMeta {
            title: child(entry, "title").map(|title| escape(&title)),
            year: published
                .as_deref()
                .and_then(|date| date.get(..4)?.parse().ok()),
            published_date: published,
            venue: Some("arXiv".to_owned()),
            // Every paper on arXiv has this DOI; the one in the entry is that of the publication.
            doi: Some(format!("10.48550/arxiv.{arxiv_id}")),
            url: Some(format!("https://arxiv.org/abs/{arxiv_id}")),
            is_retracted: comment.contains("has been withdrawn"),
            superseded_by: other.clone(),
            arxiv_id: Some(arxiv_id),
            ..DocumentMeta::default()
        },
        facts: WorkFacts {
            is_open_access: Some(true),
            oa_url: pdf_url.clone(),
            pdf_url,
            is_preprint: true,
            versions: other.map(|doi| format!("doi:{doi}")).into_iter().collect(),
            ..WorkFacts::default()
        },
        ..SearchHit::default()
    };
    let authors = entry
        .children()
        .filter(|node| node.has_tag_name((ATOM, "author")));
    let authors = authors.filter_map(|author| {
        Some(AuthorFacts {
            name: child(author, "name")?,
            affiliation: child(author, "affiliation"),
            orcid: None,
        })
    });
    set_authors(&mut hit, authors.collect());
    finish(hit, rank)
}

/// The text of a child element, on one line.
fn child(node: Node<'_, '_>, name: &str) -> Option<String> {
    let found = node
        .children()
        .find(|c| c.is_element() && c.tag_name().name() == name)?;
    let text: String = found
        .descendants()
        .filter_map(|n| n.is_text().then(|| n.text()).flatten())
        .collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The texts of a feed are plain text: anything that looks like a tag is not one.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
