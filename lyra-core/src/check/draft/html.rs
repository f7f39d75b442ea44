//! Drafts in HTML.

use super::offsets::Offsets;
use super::piece::{Link, Piece, PieceKind};
use html5gum::emitters::default::{DefaultEmitter, StartTag};
use html5gum::{Token, Tokenizer};

/// Elements whose text is not prose.
const SILENT: &[&str] = &[
    "script", "style", "head", "template", "pre", "svg", "math", "nav", "noscript",
];
/// Elements that end a run of prose.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "ul",
    "ol",
    "table",
    "blockquote",
    "figure",
    "figcaption",
    "body",
    "dl",
    "dt",
    "dd",
    "hr",
    "form",
    "tbody",
    "thead",
    "details",
    "summary",
];

/// Length of the longest character entity name, in bytes: `&CounterClockwiseContourIntegral;`.
const LONGEST_ENTITY: usize = 40;

/// Reads the prose of an HTML text.
pub(super) fn read(text: &str) -> Vec<Piece> {
    let mut reader = HtmlReader {
        text,
        offsets: Offsets::of(text),
        pieces: Vec::new(),
        open: None,
        link: None,
        lists: Vec::new(),
        silent: Vec::new(),
        raised: 0,
        code: Vec::new(),
    };
    let emitter = DefaultEmitter::<usize>::new_with_span();
    for Ok(token) in Tokenizer::new_with_emitter(text, emitter) {
        match token {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(words) => {
                let decoded = String::from_utf8_lossy(&words.value);
                reader.words(&decoded, words.span.start, words.span.end);
            }
            _ => {}
        }
    }
    reader.close();
    reader.pieces
}

struct HtmlReader<'t> {
    text: &'t str,
    offsets: Offsets,
    pieces: Vec<Piece>,
    open: Option<Piece>,
    link: Option<(usize, String)>,
    /// The next number of each enclosing list.
    lists: Vec<Option<u64>>,
    /// The enclosing elements whose text is not prose.
    silent: Vec<String>,
    /// Number of enclosing superscript elements.
    raised: usize,
    /// Where each enclosing code element begins.
    code: Vec<usize>,
}

impl HtmlReader<'_> {
    fn start(&mut self, tag: &StartTag<usize>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if name == "body" {
            // The end tag of `head` may be omitted.
            self.silent.retain(|element| element != "head");
        }
        if SILENT.contains(&name.as_str()) && !tag.self_closing {
            self.silent.push(name);
            return;
        }
        match name.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.as_bytes()[1] - b'0';
                self.begin(PieceKind::Heading(level));
            }
            "tr" => self.begin(PieceKind::Row),
            "td" | "th" => self.between_cells(),
            "li" => {
                let number = self.lists.last().copied().flatten();
                if let Some(Some(next)) = self.lists.last_mut() {
                    *next += 1;
                }
                self.begin(PieceKind::Item(number));
            }
            "br" => {
                if let Some(piece) = self.open.as_mut().filter(|_| self.silent.is_empty()) {
                    let place = piece.places.last().copied().unwrap_or_default();
                    piece.end_line(place);
                }
            }
            "sup" => self.raised += 1,
            "code" | "kbd" | "samp" => {
                let at = self.open.as_ref().map_or(0, Piece::len);
                self.code.push(at);
            }
            "a" => {
                let href = tag.attributes.get(b"href".as_slice());
                let url = href.map(|url| String::from_utf8_lossy(&url.value).into_owned());
                let at = self.open.as_ref().map_or(0, Piece::len);
                self.link = url.map(|url| (at, url));
            }
            name if BLOCKS.contains(&name) => {
                match name {
                    "ol" => self.lists.push(Some(1)),
                    "ul" => self.lists.push(None),
                    _ => {}
                }
                // The paragraph inside an item continues the item.
                if self.open.as_ref().is_none_or(|open| !open.text.is_empty()) {
                    self.close();
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(last) = self.silent.last() {
            if last == name {
                self.silent.pop();
            }
            return;
        }
        match name {
            "a" => {
                if let Some((start, url)) = self.link.take()
                    && let Some(piece) = &mut self.open
                {
                    let span = start.min(piece.len())..piece.len();
                    piece.links.push(Link { span, url });
                }
            }
            "sup" => self.raised = self.raised.saturating_sub(1),
            "code" | "kbd" | "samp" => {
                let start = self.code.pop().filter(|_| self.code.is_empty());
                if let (Some(start), Some(piece)) = (start, &mut self.open) {
                    piece.code.push(start.min(piece.len())..piece.len());
                }
            }
            "ol" | "ul" => {
                self.lists.pop();
                self.close();
            }
            "li" | "tr" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.close(),
            name if BLOCKS.contains(&name) => self.close(),
            _ => {}
        }
    }

    /// Decoded characters of `start..end`; one entity yields one or two of them.
    fn words(&mut self, decoded: &str, start: usize, end: usize) {
        if !self.silent.is_empty() {
            return;
        }
        let piece = self
            .open
            .get_or_insert_with(|| Piece::new(PieceKind::Paragraph));
        let raw = self.text.get(start..end).unwrap_or_default();
        if raw == decoded {
            let place = self.offsets.at(start);
            return match self.raised {
                0 => piece.push_text(decoded, place, true),
                _ => piece.push_raised(decoded, place, true),
            };
        }
        let mut at = start;
        for c in decoded.chars() {
            piece.push(c, self.offsets.at(at));
            let rest = self.text.get(at..end).unwrap_or_default();
            // Entity names are short. The limit keeps texts with many ampersands and no semicolon fast.
            let mut name = rest.bytes().take(LONGEST_ENTITY);
            let entity = name
                .position(|b| b == b';')
                .filter(|_| rest.starts_with('&'));
            let is_sign = c == '&' && !rest.starts_with("&amp;");
            at += match (entity.filter(|_| !is_sign), rest.chars().next()) {
                (Some(length), _) => length + 1,
                (None, Some(raw)) => raw.len_utf8(),
                (None, None) => 0,
            };
        }
    }

    fn between_cells(&mut self) {
        if let Some(row) = self.open.as_mut().filter(|row| !row.text.is_empty()) {
            let place = row.places.last().copied().unwrap_or_default();
            row.push_text(" | ", place, false);
        }
    }

    fn begin(&mut self, kind: PieceKind) {
        self.close();
        self.open = Some(Piece::new(kind));
    }

    fn close(&mut self) {
        self.link = None;
        self.raised = 0;
        self.code.clear();
        self.pieces
            .extend(self.open.take().filter(|piece| !piece.text.is_empty()));
    }
}
