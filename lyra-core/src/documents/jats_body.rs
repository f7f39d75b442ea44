//! The running text of a JATS article: sections, paragraphs, lists, tables, figures.

use super::Block;
use super::context::context_of;
use super::lines::Running;
use crate::store::model::FragmentType;
use roxmltree::Node;
use std::collections::HashMap;

/// Turns sections into blocks, and records where references are cited.
#[derive(Default)]
pub(super) struct BodyReader {
    /// The text, in order.
    pub(super) blocks: Vec<Block>,
    /// Reference ids with the first sentence that cites them.
    pub(super) contexts: HashMap<String, String>,
}

/// Text of one block, and the citations in it.
#[derive(Default)]
struct Inline {
    running: Running,
    /// Ids of cited references with the byte where they are cited.
    cited: Vec<(String, usize)>,
}

impl Inline {
    fn node(&mut self, node: Node<'_, '_>) {
        for part in node.children() {
            self.part(part);
        }
    }

    /// Appends a text node, or an element according to the rules for its name.
    fn part(&mut self, part: Node<'_, '_>) {
        if part.is_text() {
            self.running.push(part.text().unwrap_or_default());
            return;
        }
        match part.tag_name().name() {
            "xref" if part.attribute("ref-type") == Some("bibr") => self.citation(part),
            // Superscript numbers of references would run into the word before them.
            "sup" if is_superscript_citation(part) => {
                for xref in part.descendants().filter(|n| named(*n, "xref")) {
                    self.cite(xref);
                }
            }
            "tex-math" | "graphic" | "inline-graphic" | "fn" | "object-id" | "index-term" => {}
            "break" => self.running.push(" "),
            "alternatives" => {
                // The alternatives have the same content, so the first one with text is used.
                if let Some(text) = part.children().filter(Node::is_element).find(has_text) {
                    self.node(text);
                }
            }
            _ => self.node(part),
        }
    }

    fn citation(&mut self, xref: Node<'_, '_>) {
        self.cite(xref);
        let raised = xref.children().all(|n| named(n, "sup"));
        if !raised && !self.is_raised_in_print(xref) {
            self.node(xref);
        }
    }

    /// Some publishers rely on the style sheet to raise a number that touches the word before it.
    fn is_raised_in_print(&self, xref: Node<'_, '_>) -> bool {
        // Four digits are a year.
        let is_number = |text: &str| text.len() < 4 && text.chars().all(|c| c.is_ascii_digit());
        let texts = xref.descendants().filter(Node::is_text);
        let mut texts = texts.filter_map(|text| text.text());
        let touches = |c: char| c.is_alphabetic() || matches!(c, '.' | ')' | '”' | '’' | '%');
        texts.all(is_number) && !self.running.is_apart() && self.running.text.ends_with(touches)
    }

    fn cite(&mut self, xref: Node<'_, '_>) {
        for id in xref.attribute("rid").unwrap_or_default().split_whitespace() {
            self.cited.push((id.to_owned(), self.running.end()));
        }
    }
}

fn has_text(node: &Node<'_, '_>) -> bool {
    !named(*node, "tex-math")
        && node
            .descendants()
            .any(|n| n.is_text() && n.text().is_some_and(|t| !t.trim().is_empty()))
}

/// Whether `<sup>` contains only links to references and the punctuation between them.
fn is_superscript_citation(sup: Node<'_, '_>) -> bool {
    let mut links = 0;
    let only = sup.children().all(|part| {
        let link = named(part, "xref") && part.attribute("ref-type") == Some("bibr");
        links += usize::from(link);
        let sign = |c: char| {
            c.is_whitespace() || matches!(c, ',' | ';' | '-' | '–' | '[' | ']' | '(' | ')')
        };
        link || (part.is_text() && part.text().unwrap_or_default().chars().all(sign))
    });
    only && links > 0
}

/// The text of an element without markup, in one line.
pub(super) fn inline_text(node: Node<'_, '_>) -> String {
    let mut inline = Inline::default();
    inline.node(node);
    inline.running.text
}

impl BodyReader {
    /// An abstract: its own title or "Abstract", the titles of its parts, its paragraphs.
    pub(super) fn read_abstract(&mut self, node: Node<'_, '_>) {
        let first = self.blocks.len();
        let title = child(node, "title")
            .map(inline_text)
            .filter(|text| !text.is_empty());
        self.blocks.push(Block::heading(
            2,
            title.unwrap_or_else(|| "Abstract".to_owned()),
        ));
        self.read_sections(node, 3);
        if self.blocks.len() == first + 1 {
            self.blocks.pop();
        }
        for block in &mut self.blocks[first..] {
            if block.kind == FragmentType::Paragraph {
                block.kind = FragmentType::Abstract;
            }
        }
    }

    /// Reads the content of a body or section; `level` is the level of a heading directly in it.
    pub(super) fn read_sections(&mut self, node: Node<'_, '_>, level: u8) {
        for part in node.children().filter(Node::is_element) {
            match part.tag_name().name() {
                "sec" | "app" | "boxed-text" => {
                    self.heading(part, level);
                    self.read_sections(part, (level + 1).min(6));
                }
                "title" | "label" | "sec-meta" | "object-id" | "fn-group" | "ref-list" => {}
                _ => self.read_block(part, level),
            }
        }
    }

    fn heading(&mut self, section: Node<'_, '_>, level: u8) {
        let title = child(section, "title")
            .or_else(|| child(section, "caption").and_then(|caption| child(caption, "title")));
        let text = title.map(inline_text).unwrap_or_default();
        if !text.is_empty() {
            self.blocks.push(Block::heading(level, text));
        }
    }

    fn read_block(&mut self, node: Node<'_, '_>, level: u8) {
        match node.tag_name().name() {
            "p" => self.mixed(node, FragmentType::Paragraph, level),
            "list" | "def-list" => self.list(node),
            "table-wrap" => self.table(node),
            "fig" => self.figure(node),
            "disp-quote" | "verse-group" | "speech" => {
                let first = self.blocks.len();
                self.mixed(node, FragmentType::Quote, level);
                for block in &mut self.blocks[first..] {
                    if block.kind == FragmentType::Paragraph {
                        block.kind = FragmentType::Quote;
                    }
                }
            }
            "code" | "preformat" => {
                let text: String = node
                    .descendants()
                    .filter_map(|n| n.is_text().then(|| n.text())?)
                    .collect();
                self.push(FragmentType::Code, text.trim_matches('\n').trim_end());
            }
            "disp-formula" | "disp-formula-group" | "attrib" => {
                self.push(FragmentType::Paragraph, &inline_text(node));
            }
            "supplementary-material" | "media" | "graphic" | "caption" => {
                self.caption_paragraphs(node, level);
            }
            _ => self.read_sections(node, level),
        }
    }

    fn push(&mut self, kind: FragmentType, text: &str) {
        if !text.trim().is_empty() {
            self.blocks.push(Block::new(kind, text));
        }
    }

    /// A paragraph; the lists, tables and figures in it become separate blocks.
    fn mixed(&mut self, node: Node<'_, '_>, kind: FragmentType, level: u8) {
        let mut inline = Inline::default();
        for part in node.children() {
            if is_block(part) {
                self.flush(&mut inline, kind);
                self.read_block(part, level);
            } else {
                // Only in broken documents do inline elements contain blocks; their text is kept
                // like this.
                inline.part(part);
            }
        }
        self.flush(&mut inline, kind);
    }

    fn flush(&mut self, inline: &mut Inline, kind: FragmentType) {
        let Inline { running, cited } = std::mem::take(inline);
        let text = running.text;
        for (id, at) in cited {
            self.contexts
                .entry(id)
                .or_insert_with(|| context_of(&text, at..at));
        }
        self.push(kind, &text);
    }

    fn list(&mut self, node: Node<'_, '_>) {
        let mut items = Vec::new();
        collect_items(node, &mut items);
        self.push(FragmentType::List, &items.join("\n"));
    }

    fn table(&mut self, node: Node<'_, '_>) {
        let mut lines: Vec<String> = caption(node).into_iter().collect();
        for row in node.descendants().filter(|n| named(*n, "tr")) {
            let cells: Vec<String> = row
                .children()
                .filter(|n| named(*n, "td") || named(*n, "th"))
                .map(inline_text)
                .collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                lines.push(cells.join(" | "));
            }
        }
        if let Some(foot) = child(node, "table-wrap-foot") {
            lines.extend(
                foot.descendants()
                    .filter(|n| named(*n, "p"))
                    .map(inline_text),
            );
        }
        lines.retain(|line| !line.is_empty());
        self.push(FragmentType::Table, &lines.join("\n"));
    }

    fn figure(&mut self, node: Node<'_, '_>) {
        if let Some(caption) = caption(node) {
            self.push(FragmentType::Figure, &caption);
        }
    }

    fn caption_paragraphs(&mut self, node: Node<'_, '_>, level: u8) {
        for paragraph in node.descendants().filter(|n| named(*n, "p")) {
            self.mixed(paragraph, FragmentType::Paragraph, level);
        }
    }
}

fn is_block(node: Node<'_, '_>) -> bool {
    node.is_element()
        && matches!(
            node.tag_name().name(),
            "list"
                | "def-list"
                | "table-wrap"
                | "fig"
                | "disp-quote"
                | "verse-group"
                | "speech"
                | "code"
                | "preformat"
                | "boxed-text"
                | "supplementary-material"
                | "media"
                | "p"
        )
}

/// Label, title and text of a figure's or table's caption in one line.
fn caption(node: Node<'_, '_>) -> Option<String> {
    let label = child(node, "label")
        .map(inline_text)
        .filter(|text| !text.is_empty());
    let text = child(node, "caption").map(|caption| {
        let parts = caption.children().filter(Node::is_element).map(inline_text);
        super::lines::join(
            parts
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str),
        )
    });
    let text = text.filter(|text| !text.is_empty());
    match (label, text) {
        (Some(label), Some(text)) if label.ends_with(['.', ':']) => Some(format!("{label} {text}")),
        (Some(label), Some(text)) => Some(format!("{label}. {text}")),
        (_, text) => text,
    }
}

/// The items of a list, including those of nested lists, each in one line.
fn collect_items(list: Node<'_, '_>, items: &mut Vec<String>) {
    for item in list.children().filter(Node::is_element) {
        match item.tag_name().name() {
            "list-item" => {
                let mut inline = Inline::default();
                let mut inner = Vec::new();
                item_text(item, &mut inline, &mut inner);
                items.extend(Some(inline.running.text).filter(|text| !text.is_empty()));
                for list in inner {
                    collect_items(list, items);
                }
            }
            "def-item" => {
                let part = |name| child(item, name).map(inline_text).unwrap_or_default();
                let (term, meaning) = (part("term"), part("def"));
                if !term.is_empty() || !meaning.is_empty() {
                    items.push(format!("{term}: {meaning}"));
                }
            }
            _ => {}
        }
    }
}

fn item_text<'a, 'i>(item: Node<'a, 'i>, inline: &mut Inline, lists: &mut Vec<Node<'a, 'i>>) {
    for part in item.children() {
        match part.tag_name().name() {
            "list" | "def-list" => lists.push(part),
            "label" => {}
            "p" => {
                inline.running.push(" ");
                item_text(part, inline, lists);
            }
            _ => inline.part(part),
        }
    }
}

pub(super) fn named(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

pub(super) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|n| named(*n, name))
}
