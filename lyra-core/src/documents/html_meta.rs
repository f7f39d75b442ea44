//! Metadata of an HTML page: Highwire, Dublin Core, PRISM, OpenGraph, JSON-LD, title.

use super::dates::{iso_date, year_in};
use super::lines::collapse;
use super::meta::{MAX_REFERENCES, add_reference, doi_in, reference_to, says_retracted};
use crate::store::model::{DocumentMeta, Reference};
use serde_json::{Map, Value};
use trafilatura::dom::{Document, NodeId};
use url::Url;

/// Types of JSON-LD objects that describe a document, best first.
const ARTICLE_TYPES: &[&str] = &[
    "ScholarlyArticle",
    "MedicalScholarlyArticle",
    "Article",
    "NewsArticle",
    "ReportageNewsArticle",
    "AnalysisNewsArticle",
    "BlogPosting",
    "TechArticle",
    "Report",
    "MedicalWebPage",
];

/// Names of `<meta>` elements, most reliable first.
const TITLE_TAGS: &[&str] = &["citation_title", "dc.title", "dcterms.title", "prism.title"];
const DATE_TAGS: &[&str] = &[
    "citation_publication_date",
    "citation_date",
    "citation_online_date",
    "dc.date",
    "dcterms.issued",
    "dcterms.date",
    "dc.date.issued",
    "prism.publicationdate",
    "article:published_time",
    "og:article:published_time",
    "datepublished",
    "date",
];
const VENUE_TAGS: &[&str] = &[
    "citation_journal_title",
    "citation_conference_title",
    "citation_conference",
    "citation_inbook_title",
    "prism.publicationname",
    "dc.source",
];
const DOI_TAGS: &[&str] = &[
    "citation_doi",
    "prism.doi",
    "bepress_citation_doi",
    "dc.identifier.doi",
    "doi",
    "dc.identifier",
    "dcterms.identifier",
];

/// Reads the metadata of a page.
pub(super) fn metadata(page: &Document) -> DocumentMeta {
    let tags = MetaTags::read(page);
    let article = json_ld(page);
    let article = article.as_ref();
    let site = tags.first(&["og:site_name"]);
    let title = tags
        .first(TITLE_TAGS)
        .or_else(|| article.and_then(|a| text_at(a, "headline").or_else(|| text_at(a, "name"))))
        .or_else(|| tags.first(&["og:title", "twitter:title"]))
        .or_else(|| only_heading(page))
        .or_else(|| title_element(page, site.as_deref()));
    let published_date = tags
        .first(DATE_TAGS)
        .or_else(|| article.and_then(|a| text_at(a, "datePublished")))
        .or_else(|| time_element(page))
        .and_then(|date| iso_date(&date));
    let journal = |a| name_at(a, "isPartOf").or_else(|| name_at(a, "publisher"));
    let mut references = Vec::new();
    for reference in tags.all(&["citation_reference"]).take(MAX_REFERENCES) {
        if let Some(reference) = citation_reference(reference) {
            add_reference(&mut references, reference);
        }
    }
    DocumentMeta {
        is_retracted: title.as_deref().is_some_and(says_retracted),
        authors: authors(&tags, article),
        year: published_date
            .as_deref()
            .and_then(year_in)
            .or_else(|| tags.first(&["citation_year"]).as_deref().and_then(year_in)),
        published_date,
        venue: tags
            .first(VENUE_TAGS)
            .or_else(|| article.and_then(journal))
            .or_else(|| tags.first(&["citation_publisher", "dc.publisher", "dcterms.publisher"]))
            .or(site),
        doi: tags
            .first(DOI_TAGS)
            .and_then(|text| doi_in(&text))
            .or_else(|| article.and_then(json_ld_doi)),
        pmid: tags
            .first(&["citation_pmid"])
            .filter(|id| id.bytes().all(|b| b.is_ascii_digit())),
        pmcid: tags.first(&["citation_pmcid"]),
        arxiv_id: tags.first(&["citation_arxiv_id"]),
        url: canonical_address(page).map(String::from),
        language: language(page, &tags),
        superseded_by: link_with_rel(page, "successor-version"),
        references,
        title,
    }
}

/// The canonical address that the page declares.
pub(super) fn canonical_address(page: &Document) -> Option<Url> {
    let tags = MetaTags::read(page);
    link_with_rel(page, "canonical")
        .or_else(|| {
            tags.first(&[
                "og:url",
                "citation_public_url",
                "citation_abstract_html_url",
            ])
        })
        .and_then(|text| Url::parse(text.trim()).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// The `<meta>` elements of a page: name (lower case) and content, in order.
struct MetaTags(Vec<(String, String)>);

impl MetaTags {
    fn read(page: &Document) -> Self {
        let tags = page
            .get_elements_by_tag_name(page.root(), "meta")
            .into_iter()
            .filter_map(|node| {
                let name = ["name", "property", "itemprop"]
                    .into_iter()
                    .find_map(|attribute| page.get_attribute(node, attribute))?;
                let content = collapse(&page.get_attribute(node, "content")?);
                (!content.is_empty()).then(|| (name.trim().to_ascii_lowercase(), content))
            });
        Self(tags.collect())
    }

    /// The content of the first of these names that is present.
    fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| {
            self.0
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, content)| content.clone())
        })
    }

    fn all(&self, names: &[&str]) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |(key, _)| names.contains(&key.as_str()))
            .map(|(_, c)| c.as_str())
    }
}

fn authors(tags: &MetaTags, article: Option<&Map<String, Value>>) -> Vec<String> {
    let split = |text: &str| {
        text.split(';')
            .map(collapse)
            .filter(|n| !n.is_empty())
            .collect::<Vec<_>>()
    };
    for names in [
        &["citation_author", "citation_authors"][..],
        &["dc.creator", "dcterms.creator", "dc.contributor.author"],
    ] {
        let found: Vec<String> = tags.all(names).flat_map(split).collect();
        if !found.is_empty() {
            return found;
        }
    }
    let listed = article
        .and_then(|a| a.get("author").or_else(|| a.get("creator")))
        .map(names_in)
        .unwrap_or_default();
    if !listed.is_empty() {
        return listed;
    }
    // An address or a handle in `author` is not a name.
    tags.all(&["author", "article:author"])
        .flat_map(split)
        .filter(|name| !name.contains("://") && !name.contains('@') && name.chars().count() <= 100)
        .collect()
}

fn language(page: &Document, tags: &MetaTags) -> Option<String> {
    let html = page
        .get_elements_by_tag_name(page.root(), "html")
        .into_iter()
        .next();
    let attribute = html.and_then(|node| {
        page.get_attribute(node, "lang")
            .or_else(|| page.get_attribute(node, "xml:lang"))
    });
    let plausible = |text: &String| {
        let bytes = text.as_bytes();
        (2..=20).contains(&bytes.len())
            && bytes
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || *b == b'-')
    };
    attribute
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .or_else(|| {
            tags.first(&[
                "citation_language",
                "dc.language",
                "dcterms.language",
                "og:locale",
            ])
        })
        .map(|text| text.replace('_', "-"))
        .filter(plausible)
}

/// Parses `citation_title=…; citation_doi=…` or a reference in printed form.
fn citation_reference(text: &str) -> Option<Reference> {
    let field = |wanted: &str| {
        text.split(';').find_map(|part| {
            let (key, value) = part.split_once('=')?;
            (key.trim() == wanted)
                .then(|| collapse(value))
                .filter(|value| !value.is_empty())
        })
    };
    let title = field("citation_title");
    let pmid = field("citation_pmid").filter(|id| id.bytes().all(|b| b.is_ascii_digit()));
    let doi = field("citation_doi")
        .or_else(|| field("citation_id"))
        .unwrap_or_else(|| text.to_owned());
    let target = match (doi_in(&doi), pmid) {
        (Some(doi), _) => Reference {
            doi: Some(doi),
            ..Reference::default()
        },
        (None, Some(pmid)) => Reference {
            url: Some(format!("https://pubmed.ncbi.nlm.nih.gov/{pmid}/")),
            ..Reference::default()
        },
        (None, None) => match text
            .split_whitespace()
            .find_map(|word| reference_to(word, ""))
        {
            Some(reference) => reference,
            None if title.is_some() => Reference::default(),
            None => return None,
        },
    };
    Some(Reference {
        title,
        source: "reference_list".to_owned(),
        ..target
    })
}

/// The `<h1>` of the page, if there is exactly one.
fn only_heading(page: &Document) -> Option<String> {
    let headings = page.get_elements_by_tag_name(page.root(), "h1");
    let [heading] = headings[..] else { return None };
    Some(element_text(page, heading)).filter(|text| !text.is_empty())
}

/// `<title>` without the name of the site after it.
fn title_element(page: &Document, site: Option<&str>) -> Option<String> {
    let node = page
        .get_elements_by_tag_name(page.root(), "title")
        .into_iter()
        .next()?;
    let whole = element_text(page, node);
    let stripped = site.and_then(|site| whole.strip_suffix(site)).map(|rest| {
        rest.trim_end_matches(|c: char| {
            c.is_whitespace() || matches!(c, '|' | '-' | '–' | '—' | '·' | ':' | '»')
        })
    });
    Some(
        stripped
            .filter(|text| !text.is_empty())
            .unwrap_or(&whole)
            .to_owned(),
    )
    .filter(|t| !t.is_empty())
}

fn element_text(page: &Document, node: NodeId) -> String {
    collapse(&page.text_content(node))
}

fn time_element(page: &Document) -> Option<String> {
    let times = page.get_elements_by_tag_name(page.root(), "time");
    let published = times.into_iter().find(|node| {
        page.get_attribute(*node, "pubdate").is_some()
            || page.get_attribute(*node, "itemprop").as_deref() == Some("datePublished")
    })?;
    page.get_attribute(published, "datetime")
}

fn link_with_rel(page: &Document, rel: &str) -> Option<String> {
    page.get_elements_by_tag_name(page.root(), "link")
        .into_iter()
        .find_map(|node| {
            let rels = page.get_attribute(node, "rel")?;
            let found = rels
                .split_whitespace()
                .any(|own| own.eq_ignore_ascii_case(rel));
            found.then(|| page.get_attribute(node, "href")).flatten()
        })
}

/// The JSON-LD object of the page that describes the article best.
fn json_ld(page: &Document) -> Option<Map<String, Value>> {
    let mut best: Option<(usize, Map<String, Value>)> = None;
    for node in page.get_elements_by_tag_name(page.root(), "script") {
        let kind = page.get_attribute(node, "type").unwrap_or_default();
        if !kind.trim().eq_ignore_ascii_case("application/ld+json") {
            continue;
        }
        let Ok(value) = serde_json::from_str::<Value>(page.text_content(node).trim()) else {
            continue;
        };
        let mut objects = Vec::new();
        collect_objects(value, &mut objects);
        for object in objects {
            let Some(rank) = article_rank(&object) else {
                continue;
            };
            if best.as_ref().is_none_or(|(known, _)| rank < *known) {
                best = Some((rank, object));
            }
        }
    }
    best.map(|(_, object)| object)
}

fn collect_objects(value: Value, out: &mut Vec<Map<String, Value>>) {
    match value {
        Value::Array(items) => items
            .into_iter()
            .for_each(|item| collect_objects(item, out)),
        Value::Object(mut object) => {
            for key in ["@graph", "mainEntity"] {
                if let Some(inner) = object.remove(key) {
                    collect_objects(inner, out);
                }
            }
            out.push(object);
        }
        _ => {}
    }
}

fn article_rank(object: &Map<String, Value>) -> Option<usize> {
    let rank = |value: &Value| {
        let name = value.as_str()?;
        let name = name.rsplit(['/', ':']).next().unwrap_or(name);
        ARTICLE_TYPES.iter().position(|known| *known == name)
    };
    match object.get("@type")? {
        Value::Array(items) => items.iter().filter_map(rank).min(),
        one => rank(one),
    }
}

fn text_at(object: &Map<String, Value>, key: &str) -> Option<String> {
    let value = match object.get(key)? {
        Value::Array(items) => items.first()?,
        one => one,
    };
    let text = value.as_str().or_else(|| value.get("@value")?.as_str())?;
    Some(collapse(text)).filter(|text| !text.is_empty())
}

/// The name of an object, or of the outermost object that contains it: the journal of an issue.
fn name_at(object: &Map<String, Value>, key: &str) -> Option<String> {
    let value = match object.get(key)? {
        Value::Array(items) => items.first()?,
        one => one,
    };
    match value {
        Value::Object(inner) => name_at(inner, "isPartOf").or_else(|| text_at(inner, "name")),
        Value::String(_) => text_at(object, key),
        _ => None,
    }
}

fn names_in(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(names_in).collect(),
        Value::Object(object) => text_at(object, "name")
            .or_else(|| {
                let parts = [text_at(object, "givenName"), text_at(object, "familyName")];
                let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
                Some(name).filter(|name| !name.is_empty())
            })
            .into_iter()
            .collect(),
        Value::String(text) => Some(collapse(text))
            .filter(|n| !n.is_empty() && !n.contains("://"))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

fn json_ld_doi(object: &Map<String, Value>) -> Option<String> {
    fn search(value: &Value) -> Option<String> {
        match value {
            Value::String(text) => doi_in(text),
            Value::Array(items) => items.iter().find_map(search),
            Value::Object(object) => object.get("value").and_then(search),
            _ => None,
        }
    }
    ["doi", "identifier", "@id", "sameAs"]
        .iter()
        .find_map(|key| object.get(*key).and_then(search))
}
