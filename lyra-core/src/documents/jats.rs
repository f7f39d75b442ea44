//! JATS XML, the format of PubMed Central and of most publishers: front matter, abstract, body,
//! references.

use super::dates::{iso_date, year_in};
use super::jats_body::{BodyReader, child, inline_text, named};
use super::meta::{MAX_REFERENCES, add_reference, doi_in, reference_to, says_retracted};
use super::title::lead_with_title;
use super::{Block, ParsedDocument, entities};
use crate::error::{Error, Result};
use crate::security::quoting::quoted;
use crate::store::model::{DocumentMeta, Reference};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::HashMap;

/// Deeper nesting is refused: walking it would exhaust the stack.
const MAX_DEPTH: usize = 256;

/// Maximum number of nodes of a document, which bounds its memory.
const MAX_NODES: u32 = 2_000_000;

/// Parses decoded JATS.
pub(super) fn parse(text: &str) -> Result<ParsedDocument> {
    let xml = without_doctype(text.trim_start_matches('\u{feff}').trim_start());
    let xml = with_characters_for_entities(&xml);
    let depth = nesting(&xml);
    if depth > MAX_DEPTH {
        return Err(Error::invalid(format!(
            "the XML nests {depth} elements; at most {MAX_DEPTH} are read"
        )));
    }
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(&xml, options).map_err(|e| {
        Error::invalid(format!(
            "the XML is not well-formed: {}",
            quoted(&e.to_string(), 200)
        ))
    })?;
    let article = find_article(&document)?;
    Ok(read_article(article))
}

/// The article itself, or the first one in a wrapper such as `pmc-articleset`.
fn find_article<'a, 'i>(document: &'a Document<'i>) -> Result<Node<'a, 'i>> {
    let is_article = |node: &Node<'_, '_>| {
        named(*node, "article")
            && (child(*node, "front").is_some() || child(*node, "body").is_some())
    };
    document.descendants().find(is_article).ok_or_else(|| {
        let root = document.root_element().tag_name().name();
        let root: String = root.chars().take(40).collect();
        Error::invalid(format!(
            "the XML is no JATS article: its root is <{root}>, expected <article>"
        ))
        .with_hint("only JATS (PubMed Central) XML is read; save other XML as text")
    })
}

fn read_article(article: Node<'_, '_>) -> ParsedDocument {
    let front = child(article, "front").or_else(|| child(article, "front-stub"));
    let mut meta = front.map(front_meta).unwrap_or_default();
    meta.language = meta.language.take().or_else(|| {
        article
            .attributes()
            .find(|a| a.name() == "lang")
            .map(|a| a.value().to_owned())
    });
    let mut reader = BodyReader::default();
    if let Some(data) = front.and_then(|front| child(front, "article-meta").or(Some(front))) {
        for node in data
            .children()
            .filter(|n| named(*n, "abstract") || named(*n, "trans-abstract"))
        {
            let kind = node.attribute("abstract-type").unwrap_or_default();
            if !matches!(kind, "graphical" | "toc" | "teaser" | "stereochemical") {
                reader.read_abstract(node);
            }
        }
    }
    for part in ["body", "floats-group"] {
        if let Some(node) = child(article, part) {
            reader.read_sections(node, 2);
        }
    }
    let back = child(article, "back");
    if let Some(appendices) = back.and_then(|back| child(back, "app-group")) {
        reader.read_sections(appendices, 2);
    }
    meta.references = references(article, &reader.contexts);
    let mut document = ParsedDocument {
        meta,
        blocks: std::mem::take(&mut reader.blocks),
        page_type: "jats",
        warnings: Vec::new(),
    };
    if document.blocks.is_empty() {
        document
            .warnings
            .push("the article has neither an abstract nor a body".to_owned());
    }
    lead_with_title(&mut document);
    keep_headings_of_text(&mut document.blocks);
    document
}

/// Drops headings with no text under them, such as a section whose only figure has no caption.
fn keep_headings_of_text(blocks: &mut Vec<Block>) {
    let mut keep = vec![true; blocks.len()];
    for (at, block) in blocks.iter().enumerate() {
        let next = blocks.get(at + 1).map_or(1, |next| next.level);
        // If the next block is a heading of the same or a higher rank, the section is empty.
        keep[at] = block.level <= 1 || next == 0 || next > block.level;
    }
    let mut keep = keep.into_iter();
    blocks.retain(|_| keep.next().unwrap_or(true));
}

fn front_meta(front: Node<'_, '_>) -> DocumentMeta {
    let data = child(front, "article-meta").unwrap_or(front);
    let mut meta = DocumentMeta {
        title: title(data),
        authors: authors(data),
        venue: child(front, "journal-meta")
            .and_then(|journal| descendant(journal, "journal-title"))
            .map(inline_text)
            .filter(|text| !text.is_empty()),
        ..DocumentMeta::default()
    };
    for node in data.children().filter(|n| named(*n, "article-id")) {
        let id = inline_text(node);
        match node.attribute("pub-id-type") {
            _ if id.is_empty() => {}
            Some("doi") => meta.doi = doi_in(&id),
            Some("pmid") => meta.pmid = Some(id),
            Some("pmc" | "pmcid") => {
                meta.pmcid = Some(format!("PMC{}", id.trim_start_matches("PMC")));
            }
            Some("arxiv") => meta.arxiv_id = Some(id),
            _ => {}
        }
    }
    meta.published_date = data
        .children()
        .filter(|n| named(*n, "pub-date") && is_publication(*n))
        .filter_map(date)
        .min_by(|a, b| earlier(a).cmp(&earlier(b)));
    meta.year = meta.published_date.as_deref().and_then(year_in);
    meta.url = child(data, "self-uri")
        .and_then(href)
        .filter(|url| url.starts_with("http"));
    meta.is_retracted = meta.title.as_deref().is_some_and(says_retracted)
        || data.children().any(|n| {
            named(n, "related-article")
                && n.attribute("related-article-type") == Some("retraction-forward")
        });
    meta
}

/// Sorts `2010-05` after `2010-05-03` but before `2010-06`: the more complete date is preferred.
fn earlier(date: &str) -> String {
    format!("{date:~<10}")
}

fn is_publication(node: Node<'_, '_>) -> bool {
    let kind = node
        .attribute("pub-type")
        .or_else(|| node.attribute("date-type"))
        .unwrap_or("pub");
    matches!(
        kind,
        "pub" | "epub" | "ppub" | "collection" | "epub-ppub" | "epreprint" | "preprint"
    )
}

fn date(node: Node<'_, '_>) -> Option<String> {
    if let Some(date) = node.attribute("iso-8601-date").and_then(iso_date) {
        return Some(date);
    }
    let part = |name| {
        child(node, name)
            .map(inline_text)
            .filter(|text| !text.is_empty())
    };
    let mut date = part("year")?;
    if let Some(month) = part("month").and_then(|month| month_number(&month)) {
        date.push_str(&format!("-{month}"));
        if let Some(day) = part("day") {
            date.push_str(&format!("-{day}"));
        }
    }
    iso_date(&date)
}

fn month_number(month: &str) -> Option<u32> {
    const NAMES: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    month.parse().ok().or_else(|| {
        let start = month.to_lowercase();
        let at = NAMES.iter().position(|name| start.starts_with(name))?;
        u32::try_from(at + 1).ok()
    })
}

fn title(data: Node<'_, '_>) -> Option<String> {
    let group = child(data, "title-group")?;
    let title = inline_text(child(group, "article-title")?);
    let subtitle = child(group, "subtitle")
        .map(inline_text)
        .filter(|text| !text.is_empty());
    let whole = match subtitle {
        Some(subtitle) => format!("{title}: {subtitle}"),
        None => title,
    };
    Some(whole).filter(|text| !text.is_empty())
}

fn authors(data: Node<'_, '_>) -> Vec<String> {
    data.children()
        .filter(|n| named(*n, "contrib-group"))
        .flat_map(|group| group.children())
        .filter(|n| named(*n, "contrib"))
        .filter(|n| {
            n.attribute("contrib-type")
                .is_none_or(|kind| kind == "author")
        })
        .filter_map(author)
        .collect()
}

fn author(contrib: Node<'_, '_>) -> Option<String> {
    let place = child(contrib, "name-alternatives").unwrap_or(contrib);
    let name = match child(place, "name").or_else(|| child(place, "string-name")) {
        Some(name) => {
            let part = |tag| {
                child(name, tag)
                    .map(inline_text)
                    .filter(|text| !text.is_empty())
            };
            let parts = [part("given-names"), part("surname"), part("suffix")];
            let joined = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
            if joined.is_empty() {
                inline_text(name)
            } else {
                joined
            }
        }
        None => {
            // A group may list its members inside: its name is the text before them.
            let collab = child(place, "collab")?;
            let own = child(collab, "institution").map(inline_text);
            own.unwrap_or_else(|| {
                let text: String = collab
                    .children()
                    .filter_map(|n| n.is_text().then(|| n.text())?)
                    .collect();
                super::lines::collapse(&text)
            })
        }
    };
    Some(name).filter(|name| !name.is_empty())
}

fn references(article: Node<'_, '_>, contexts: &HashMap<String, String>) -> Vec<Reference> {
    let mut found = Vec::new();
    let refs = article
        .descendants()
        .filter(|n| named(*n, "ref") && n.ancestors().all(|a| !named(a, "sub-article")));
    for node in refs.take(MAX_REFERENCES) {
        let context = node
            .attribute("id")
            .and_then(|id| contexts.get(id))
            .cloned();
        let citations = node.descendants().filter(|n| {
            let name = n.tag_name().name();
            matches!(
                name,
                "element-citation" | "mixed-citation" | "citation" | "nlm-citation"
            )
        });
        for citation in citations {
            if let Some(mut reference) = citation_target(citation) {
                reference.context.clone_from(&context);
                add_reference(&mut found, reference);
                // Alternatives are the same citation in two forms.
                if child(node, "citation-alternatives").is_some() {
                    break;
                }
            }
        }
    }
    found
}

fn citation_target(citation: Node<'_, '_>) -> Option<Reference> {
    let title = ["article-title", "chapter-title", "data-title", "source"]
        .into_iter()
        .find_map(|name| descendant(citation, name))
        .map(inline_text)
        .filter(|text| !text.is_empty());
    let id = |kind: &str| {
        citation
            .descendants()
            .find(|n| named(*n, "pub-id") && n.attribute("pub-id-type") == Some(kind))
            .map(inline_text)
    };
    let links = citation
        .descendants()
        .filter(|n| named(*n, "ext-link") || named(*n, "uri"));
    let link = links
        .filter_map(|n| href(n).or_else(|| Some(inline_text(n))))
        .find_map(|target| reference_to(&target, "reference_list"));
    let by_doi = id("doi").and_then(|doi| doi_in(&doi));
    let by_pmid = id("pmid").filter(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()));
    let empty = Reference {
        source: "reference_list".to_owned(),
        ..Reference::default()
    };
    let target = if let Some(doi) = by_doi {
        Some(Reference {
            doi: Some(doi),
            ..empty.clone()
        })
    } else if let Some(link) = link.clone().filter(|link| link.doi.is_some()) {
        Some(link)
    } else if let Some(pmid) = by_pmid {
        Some(Reference {
            url: Some(format!("https://pubmed.ncbi.nlm.nih.gov/{pmid}/")),
            ..empty.clone()
        })
    } else if let Some(doi) = doi_in(&inline_text(citation)) {
        Some(Reference {
            doi: Some(doi),
            ..empty.clone()
        })
    } else {
        link
    };
    let reference = target.or_else(|| title.is_some().then_some(empty))?;
    Some(Reference { title, ..reference })
}

fn href(node: Node<'_, '_>) -> Option<String> {
    node.attributes()
        .find(|a| a.name() == "href")
        .map(|a| a.value().trim().to_owned())
}

fn descendant<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.descendants().find(|n| named(*n, name))
}

/// Removes the document type, and with it every declared entity: nothing is fetched and nothing
/// expands.
fn without_doctype(text: &str) -> String {
    // A document type precedes the root, so it is near the start or missing.
    let Some(start) = text.find("<!DOCTYPE").filter(|at| is_prolog(&text[..*at])) else {
        return text.to_owned();
    };
    let (mut inner, mut quote, mut skip_to) = (false, None, start);
    for (at, c) in text[start..].char_indices() {
        let at = start + at;
        match (quote, c) {
            _ if at < skip_to => {}
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') => inner = true,
            (None, ']') => inner = false,
            (None, '<') if text[at..].starts_with("<!--") => {
                skip_to = text[at..]
                    .find("-->")
                    .map_or(text.len(), |end| at + end + 3);
            }
            (None, '>') if !inner => return format!("{}{}", &text[..start], &text[at + 1..]),
            _ => {}
        }
    }
    text[..start].to_owned()
}

/// Whether `text` contains only the XML declaration, comments and processing instructions.
fn is_prolog(mut text: &str) -> bool {
    loop {
        text = text.trim_start();
        let end = if text.starts_with("<?") {
            text.find("?>").map(|at| at + 2)
        } else if text.starts_with("<!--") {
            text.find("-->").map(|at| at + 3)
        } else {
            return text.is_empty();
        };
        match end {
            Some(end) => text = &text[end..],
            None => return false,
        }
    }
}

/// Replaces named entities (`&beta;`) by characters; an unknown entity is kept as text.
fn with_characters_for_entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest
            .bytes()
            .take(32)
            .position(|b| !(b.is_ascii_alphanumeric() || b == b'#'));
        let name = end
            .filter(|end| rest.as_bytes()[*end] == b';')
            .map(|end| &rest[..end]);
        match name {
            Some("amp" | "lt" | "gt" | "quot" | "apos") => out.push('&'),
            Some(number) if number.starts_with('#') => {
                // An invalid number would make the whole document ill-formed.
                match entities::decode(number) {
                    Some(c) => push_escaped(&mut out, c),
                    None => out.push(char::REPLACEMENT_CHARACTER),
                }
                rest = &rest[number.len() + 1..];
            }
            Some(name) => match entities::decode(name) {
                Some(c) => {
                    push_escaped(&mut out, c);
                    rest = &rest[name.len() + 1..];
                }
                None => out.push_str("&amp;"),
            },
            None => out.push_str("&amp;"),
        }
    }
    out.push_str(rest);
    out
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&apos;"),
        c => out.push(c),
    }
}

/// Maximum nesting depth of the elements, found by one scan.
fn nesting(xml: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0usize);
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let skipped = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>"), ("!", ">")];
        if let Some((_, end)) = skipped.iter().find(|(start, _)| rest.starts_with(start)) {
            rest = rest.find(end).map_or("", |at| &rest[at..]);
        } else if rest.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else {
            let end = rest.find(['>', '<']).unwrap_or(rest.len());
            if !rest[..end].ends_with('/') {
                depth += 1;
                deepest = deepest.max(depth);
            }
        }
    }
    deepest
}

#[cfg(test)]
mod tests;
