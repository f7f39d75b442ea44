//! Converts a tree of HTML elements to blocks and links.

use super::Block;
use super::context::context_of;
use super::lines::Running;
use crate::store::model::FragmentType;
use std::ops::Range;
use trafilatura::dom::{Document, NodeId};
use url::Url;

/// Maximum number of links that are kept per page.
const MAX_LINKS: usize = 4_000;

/// Elements whose text is never shown.
const HIDDEN: &[&str] = &[
    "script", "style", "noscript", "template", "head", "svg", "math", "iframe", "object", "canvas",
    "select", "button", "input", "textarea", "form", "audio", "video", "map",
];

/// Inline elements.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "ins", "kbd", "label", "mark", "nobr", "q", "rb", "rp", "rt", "ruby", "s", "samp",
    "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "img",
    "br",
];

/// The result of a walk.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// In reading order.
    pub(super) blocks: Vec<Block>,
    /// In reading order.
    pub(super) links: Vec<FoundLink>,
}

/// A link in the text.
#[derive(Debug, Clone)]
pub(super) struct FoundLink {
    /// Absolute if the address of the page is known.
    pub(super) target: String,
    /// The sentence around it.
    pub(super) context: String,
}

/// Reads the content of `root`; links are resolved against `base`.
pub(super) fn read_blocks(document: &Document, root: NodeId, base: Option<&Url>) -> Walk {
    let mut walker = Walker {
        document,
        base,
        walk: Walk::default(),
        line: OpenLine::default(),
    };
    walker.children(root, FragmentType::Paragraph);
    walker.flush(FragmentType::Paragraph);
    walker.walk
}

/// The current line, and the links in it.
#[derive(Default)]
struct OpenLine {
    running: Running,
    links: Vec<(String, Range<usize>)>,
}

struct Walker<'a> {
    document: &'a Document,
    base: Option<&'a Url>,
    walk: Walk,
    line: OpenLine,
}

impl Walker<'_> {
    /// Reads the children of a node; loose text among them becomes a block of this kind.
    fn children(&mut self, parent: NodeId, kind: FragmentType) {
        for node in self.document.child_nodes(parent) {
            let name = self.document.tag_name(node);
            if name == "code" && self.document.text_content(node).trim().contains('\n') {
                // The extraction turns `<pre>` into `<code>`.
                self.flush(kind);
                self.code(node);
            } else if name.is_empty() || INLINE.contains(&name) && !self.holds_blocks(node) {
                self.inline(node);
            } else if !self.is_hidden(node) {
                self.flush(kind);
                self.block(node, kind);
                self.flush(kind);
            }
        }
    }

    /// Whether a block is inside an inline element, as in `<a><h2>…</h2></a>`.
    fn holds_blocks(&self, node: NodeId) -> bool {
        self.document.children(node).into_iter().any(|inner| {
            let name = self.document.tag_name(inner);
            matches!(
                name,
                "p" | "div"
                    | "h1"
                    | "h2"
                    | "h3"
                    | "h4"
                    | "h5"
                    | "h6"
                    | "ul"
                    | "ol"
                    | "table"
                    | "li"
            ) || (INLINE.contains(&name) && self.holds_blocks(inner))
        })
    }

    fn block(&mut self, node: NodeId, kind: FragmentType) {
        match self.document.tag_name(node) {
            name @ ("h1" | "h2" | "h3" | "h4" | "h5" | "h6") => {
                let level = name.as_bytes()[1] - b'0';
                self.inline_children(node);
                let text = self.take_line();
                if !text.is_empty() {
                    self.walk.blocks.push(Block::heading(level, text));
                }
            }
            "ul" | "ol" | "dl" | "menu" => {
                let mut items = Vec::new();
                self.list(node, &mut items);
                self.push(FragmentType::List, &items.join("\n"));
            }
            "table" => self.table(node),
            "blockquote" => self.children_and_flush(node, FragmentType::Quote),
            "pre" | "listing" => self.code(node),
            "figcaption" | "caption" => self.children_and_flush(node, FragmentType::Figure),
            "hr" => {}
            _ => self.children_and_flush(node, kind),
        }
    }

    fn code(&mut self, node: NodeId) {
        let code = self.document.text_content(node);
        self.push(FragmentType::Code, code.trim_matches('\n').trim_end());
    }

    fn children_and_flush(&mut self, node: NodeId, kind: FragmentType) {
        self.children(node, kind);
        self.flush(kind);
    }

    fn push(&mut self, kind: FragmentType, text: &str) {
        if text.chars().any(char::is_alphanumeric) {
            self.walk.blocks.push(Block::new(kind, text));
        }
    }

    fn flush(&mut self, kind: FragmentType) {
        let text = self.take_line();
        self.push(kind, &text);
    }

    /// Takes the current line; its links are added to those of the page.
    fn take_line(&mut self) -> String {
        let OpenLine { running, links } = std::mem::take(&mut self.line);
        let text = running.text;
        let room = MAX_LINKS.saturating_sub(self.walk.links.len());
        for (target, place) in links.into_iter().take(room) {
            // A link that was opened before white space starts at the word after it.
            let start = place.start.min(text.len());
            let context = context_of(&text, start..place.end.clamp(start, text.len()));
            self.walk.links.push(FoundLink { target, context });
        }
        text
    }

    fn inline_children(&mut self, node: NodeId) {
        for child in self.document.child_nodes(node) {
            self.inline(child);
        }
    }

    fn inline(&mut self, node: NodeId) {
        if self.document.is_text(node) {
            self.line.running.push(&self.document.text_content(node));
            return;
        }
        match self.document.tag_name(node) {
            "" => {}
            "br" | "wbr" => self.line.running.push("\n"),
            "a" => self.link(node),
            // Ruby annotations above Japanese characters repeat the word.
            "rt" | "rp" => {}
            _ if self.is_hidden(node) => {}
            name => {
                let apart = !INLINE.contains(&name);
                if apart {
                    self.line.running.push(" ");
                }
                self.inline_children(node);
                if apart {
                    self.line.running.push(" ");
                }
            }
        }
    }

    fn link(&mut self, node: NodeId) {
        let start = self.line.running.end();
        self.inline_children(node);
        let end = self.line.running.end();
        let Some(href) = self.document.get_attribute(node, "href") else {
            return;
        };
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return;
        }
        let target = match (Url::parse(href), self.base) {
            (Ok(absolute), _) => absolute.to_string(),
            (Err(_), Some(base)) => match base.join(href) {
                Ok(joined) => joined.to_string(),
                Err(_) => return,
            },
            (Err(_), None) => href.to_owned(),
        };
        self.line.links.push((target, start..end));
    }

    /// The items of a list, including those of nested lists.
    fn list(&mut self, list: NodeId, items: &mut Vec<String>) {
        let mut term = String::new();
        for item in self.document.children(list) {
            match self.document.tag_name(item) {
                "ul" | "ol" => self.list(item, items),
                "dt" => {
                    self.inline_children(item);
                    term = self.take_line();
                    if !term.is_empty() {
                        items.push(term.clone());
                    }
                }
                "dd" if !term.is_empty() => {
                    self.inline_children(item);
                    let meaning = self.take_line();
                    if let Some(last) = items.last_mut().filter(|last| **last == term) {
                        *last = format!("{term}: {meaning}");
                    } else if !meaning.is_empty() {
                        items.push(meaning);
                    }
                }
                _ if self.is_hidden(item) => {}
                _ => self.list_item(item, items),
            }
        }
    }

    fn list_item(&mut self, item: NodeId, items: &mut Vec<String>) {
        let place = items.len();
        for part in self.document.child_nodes(item) {
            match self.document.tag_name(part) {
                "ul" | "ol" | "dl" => {
                    let text = self.take_line();
                    items.extend(Some(text).filter(|text| !text.is_empty()));
                    self.list(part, items);
                }
                _ => self.inline(part),
            }
        }
        let text = self.take_line();
        if !text.is_empty() && items.len() > place && text.chars().all(|c| !c.is_alphanumeric()) {
            return;
        }
        items.extend(Some(text).filter(|text| !text.is_empty()));
    }

    fn table(&mut self, table: NodeId) {
        let rows = self.document.get_elements_by_tag_name(table, "tr");
        let nested = |row: NodeId| {
            let mut above = self.document.parent(row);
            while let Some(node) = above {
                if self.document.tag_name(node) == "table" {
                    return node != table;
                }
                above = self.document.parent(node);
            }
            true
        };
        let own: Vec<NodeId> = rows.into_iter().filter(|row| !nested(*row)).collect();
        let width = |row: &NodeId| self.document.children(*row).len();
        // A table with one column is a layout, not data: its content is read as usual.
        if own.iter().map(width).max().unwrap_or(0) <= 1 {
            for row in own {
                for cell in self.document.children(row) {
                    self.children_and_flush(cell, FragmentType::Paragraph);
                }
            }
            return;
        }
        let mut lines = Vec::new();
        for caption in self.document.children(table) {
            if self.document.tag_name(caption) == "caption" {
                self.inline_children(caption);
                lines.push(self.take_line());
            }
        }
        for row in own {
            let mut cells = Vec::new();
            for cell in self.document.children(row) {
                self.inline_children(cell);
                cells.push(self.take_line());
            }
            if cells.iter().any(|cell| !cell.is_empty()) {
                lines.push(cells.join(" | "));
            }
        }
        lines.retain(|line| !line.is_empty());
        self.push(FragmentType::Table, &lines.join("\n"));
    }

    fn is_hidden(&self, node: NodeId) -> bool {
        let attribute = |name: &str| self.document.get_attribute(node, name);
        HIDDEN.contains(&self.document.tag_name(node))
            || attribute("hidden").is_some()
            || attribute("aria-hidden").is_some_and(|value| value == "true")
            || attribute("style").is_some_and(|style| {
                let style: String = style.to_ascii_lowercase().split_whitespace().collect();
                style.contains("display:none") || style.contains("visibility:hidden")
            })
    }
}
