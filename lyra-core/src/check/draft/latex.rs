//! Drafts in LaTeX: the prose between commands, and the keys of its citations.

mod signs;

use super::offsets::Offsets;
use super::piece::{CitationMark, Link, Piece, PieceKind};
use crate::store::text::identifiers::find_identifiers;
use std::ops::Range;

/// Environments whose text is not prose.
const SILENT: &[&str] = &[
    "equation",
    "equation*",
    "align",
    "align*",
    "verbatim",
    "lstlisting",
    "tabular",
    "tikzpicture",
    "tabular*",
    "tabularx",
    "longtable",
    "gather",
    "gather*",
    "multline",
    "multline*",
    "eqnarray",
    "eqnarray*",
    "displaymath",
    "minted",
    "comment",
    "filecontents",
];
/// Commands whose argument is not prose.
const WITHOUT_PROSE: &[&str] = &[
    "label",
    "ref",
    "eqref",
    "autoref",
    "cref",
    "input",
    "include",
    "includegraphics",
    "bibliography",
    "bibliographystyle",
    "addbibresource",
    "usepackage",
    "documentclass",
    "vspace",
    "hspace",
    "author",
    "date",
    "newcommand",
    "renewcommand",
    "setlength",
    "pagestyle",
    "graphicspath",
    "nocite",
    "footnotemark",
    "pageref",
    "bibinfo",
    "bibfield",
];
/// Commands that take several arguments.
const DEFINES: &[&str] = &["newcommand", "renewcommand", "setlength"];
/// Maximum nesting depth of arguments.
const DEEPEST: usize = 8;

/// Reads the prose of a LaTeX text.
pub(super) fn read(text: &str) -> Vec<Piece> {
    let start = text.find("\\begin{document}").map_or(0, |at| at + 16);
    let end = text.find("\\end{document}").unwrap_or(text.len());
    let mut reader = LatexReader {
        text,
        offsets: Offsets::of(text),
        at: start,
        end: end.max(start),
        pieces: Vec::new(),
        open: Piece::new(PieceKind::Paragraph),
        depth: 0,
        is_in_list: false,
        notes: 0,
    };
    while reader.at < reader.end {
        reader.step();
    }
    reader.close(PieceKind::Paragraph);
    reader.pieces
}

struct LatexReader<'t> {
    text: &'t str,
    offsets: Offsets,
    at: usize,
    end: usize,
    pieces: Vec<Piece>,
    open: Piece,
    /// How many enclosing arguments are being read.
    depth: usize,
    /// Whether the reader is among the entries of `thebibliography`.
    is_in_list: bool,
    /// Number of footnotes that name a work.
    notes: usize,
}

impl<'t> LatexReader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    fn step(&mut self) {
        let rest = self.rest();
        if rest.starts_with('\\') {
            return self.command();
        }
        if rest.starts_with('%') {
            let line = rest.find('\n').map_or(rest.len(), |line| line + 1);
            self.at += line;
            if begins_blank_line(&rest[line..]) {
                self.end_paragraph();
            }
            return;
        }
        if let Some(behind) = rest.strip_prefix('\n')
            && begins_blank_line(behind)
        {
            self.end_paragraph();
            self.at += 1;
            return;
        }
        for (mark, c) in [
            ("``", '“'),
            ("''", '”'),
            ("---", '—'),
            ("--", '–'),
            ("~", ' '),
        ] {
            if rest.starts_with(mark) {
                self.push(c);
                self.at += mark.len();
                return;
            }
        }
        if rest.starts_with("$$") {
            self.at += 2;
            self.until("$$");
            return;
        }
        if rest.starts_with('$') {
            self.at += 1;
            return self.mathematics("$");
        }
        let Some(c) = rest.chars().next() else {
            return;
        };
        if !matches!(c, '{' | '}') {
            self.push(c);
        }
        self.at += c.len_utf8();
    }

    fn push(&mut self, c: char) {
        let place = self.offsets.at(self.at);
        self.open.push(c, place);
    }

    /// Adds the text that the source from `start` on prints.
    fn print(&mut self, text: &str, start: usize) {
        let span = self.offsets.span(&(start..self.at));
        self.open.push_instead(text, span);
    }

    /// Skips up to and including a mark, or to the end if there is none.
    fn until(&mut self, mark: &str) -> Range<usize> {
        let rest = self.rest();
        let length = rest.find(mark).unwrap_or(rest.len());
        let inside = self.at..self.at + length;
        self.at = (inside.end + mark.len()).min(self.end);
        inside
    }

    /// Keeps mathematics as written, except superscript numbers and percent signs. Numbers in it
    /// count.
    fn mathematics(&mut self, mark: &str) {
        let start = self.at;
        let inside = self.until(mark);
        let written = &self.text[inside.clone()];
        let place = self.offsets.at(inside.start);
        let raised = written.trim().strip_prefix('^');
        if let Some(raised) = raised {
            let raised = raised.trim_matches(['{', '}']);
            let skipped = written.find(raised).unwrap_or(0);
            let place = self.offsets.at(inside.start + skipped);
            self.open.push_raised(raised, place, true);
        } else if written.contains("\\%") || written.contains("\\,") {
            let plain = written.replace("\\,", " ").replace("\\%", "%");
            self.print(&plain, start);
        } else {
            self.open.push_text(written, place, true);
        }
    }

    fn command(&mut self) {
        let start = self.at;
        let behind = &self.rest()[1..];
        let length = signs::name_length(behind);
        let plain = &behind[..length];
        if plain.is_empty() {
            return self.sign(start);
        }
        self.at += 1 + length + usize::from(behind[length..].starts_with('*'));
        match plain {
            "section" | "chapter" | "title" => self.heading(1),
            "subsection" => self.heading(2),
            "subsubsection" | "paragraph" => self.heading(3),
            "item" => self.close(PieceKind::Item(None)),
            "begin" => self.environment(),
            "end" => {
                self.is_in_list &= self.argument() != "thebibliography";
                self.close(PieceKind::Paragraph);
            }
            "bibitem" => {
                let key = self.argument().trim().to_owned();
                self.close(PieceKind::Note(key));
            }
            "url" | "href" => self.link(plain == "href"),
            "footnote" | "footnotetext" | "endnote" | "thanks" => self.note(start),
            "textsuperscript" => self.raised(),
            "texttt" | "lstinline" => self.code(),
            "verb" => self.verbatim(),
            "SI" | "qty" | "num" | "si" | "unit" | "SIrange" | "qtyrange" | "numrange" | "ang" => {
                self.quantity(plain, start);
            }
            _ if WITHOUT_PROSE.contains(&plain) => self.pass_over(plain),
            _ if plain.to_lowercase().contains("cite") => self.cite(plain, start),
            _ => self.letter(plain, start),
        }
    }

    fn pass_over(&mut self, name: &str) {
        self.argument();
        // The text of a definition is in the arguments after its name.
        while DEFINES.contains(&name) && self.rest().starts_with(['{', '[']) {
            self.argument();
        }
    }

    /// A command whose name is not a letter: `\%` stands for the sign, `\"o` for a letter.
    fn sign(&mut self, start: usize) {
        let sign = self.rest()[1..].chars().next().unwrap_or(' ');
        self.at = (start + 1 + sign.len_utf8()).min(self.end);
        match sign {
            '\\' => {
                let place = self.offsets.at(start);
                self.open.end_line(place);
            }
            '!' | '/' | '-' | '@' | ')' | ']' => {}
            '(' => self.mathematics("\\)"),
            '[' => {
                self.until("\\]");
            }
            ',' | ';' | ':' => self.print(" ", start),
            _ => match signs::accent(sign.encode_utf8(&mut [0; 4])) {
                Some(accent) => self.accented(accent, start),
                None => {
                    let place = self.offsets.at(start + 1);
                    self.open.push(sign, place);
                }
            },
        }
    }

    /// The letter after an accent: `o`, `{o}` or `\i`.
    fn accented(&mut self, accent: char, start: usize) {
        let rest = self.rest();
        let bare = rest.trim_start_matches(' ');
        let inside = bare.strip_prefix('{').unwrap_or(bare);
        let letters = inside.strip_prefix('\\').unwrap_or(inside);
        let Some(letter) = letters.chars().next().filter(|c| c.is_alphabetic()) else {
            return;
        };
        let mut length = rest.len() - letters.len() + letter.len_utf8();
        let is_in_braces = inside.len() < bare.len();
        length += usize::from(is_in_braces && rest[length..].starts_with('}'));
        self.at += length;
        self.print(&signs::accented(letter, accent), start);
    }

    /// `\o{}` and the like; other commands print nothing themselves.
    fn letter(&mut self, name: &str, start: usize) {
        if let Some(accent) = signs::accent(name) {
            return self.accented(accent, start);
        }
        let Some(printed) = signs::sign(name) else {
            return;
        };
        let rest = self.rest();
        let blank = rest.len() - rest.trim_start_matches(' ').len();
        self.at += if rest.starts_with("{}") { 2 } else { blank };
        self.print(printed, start);
    }

    fn quantity(&mut self, name: &str, start: usize) {
        let mut printed = match name {
            "si" | "unit" => String::new(),
            _ => signs::number(self.argument()),
        };
        if name.ends_with("range") {
            printed = format!("{printed} to {}", signs::number(self.argument()));
        }
        if name == "ang" {
            printed.push('°');
        } else if !name.starts_with("num") {
            printed = format!("{printed} {}", signs::unit(self.argument()));
        }
        self.print(printed.trim(), start);
    }

    fn cite(&mut self, name: &str, start: usize) {
        let mut keys = self.argument().to_owned();
        while name.ends_with("cites") && self.rest().starts_with(['{', '[']) {
            let more = self.argument();
            if more.is_empty() {
                break;
            }
            keys = format!("{keys},{more}");
        }
        let keys = keys.split(',').map(|key| key.trim().to_owned());
        let keys: Vec<String> = keys.filter(|key| !key.is_empty()).collect();
        let at = self.open.len();
        let lower = name.to_lowercase();
        if ["citet", "citeauthor", "textcite"]
            .iter()
            .any(|of| lower.starts_with(of))
        {
            // The authors' names are part of the sentence.
            let words: Vec<String> = keys.iter().map(|key| format!("@{key}")).collect();
            self.print(&words.join(", "), start);
        }
        self.open.marks.push(CitationMark {
            at,
            words: self.open.len() - at,
            keys,
            span: self.offsets.span(&(start..self.at)),
        });
    }

    /// A footnote is not part of the sentence that it is attached to. The sentence cites what the
    /// footnote cites, or the work that the footnote names.
    fn note(&mut self, start: usize) {
        let Some(span) = self.argument_span() else {
            return;
        };
        let label = format!("footnote {}", self.notes + 1);
        let note = Piece::new(PieceKind::Note(label.clone()));
        let outer = std::mem::replace(&mut self.open, note);
        self.inside(span);
        let note = std::mem::replace(&mut self.open, outer);
        let at = self.open.len();
        let links = note.links.iter().map(|link| Link {
            span: at..at,
            url: link.url.clone(),
        });
        self.open.links.extend(links);
        let mut keys: Vec<String> = note.marks.iter().flat_map(|m| m.keys.clone()).collect();
        if keys.is_empty() && note.links.is_empty() && names_a_work(&note.text) {
            self.notes += 1;
            self.pieces.push(note);
            keys.push(label);
        }
        if !keys.is_empty() {
            self.open.marks.push(CitationMark {
                at,
                words: 0,
                keys,
                span: self.offsets.span(&(start..self.at)),
            });
        }
    }

    fn raised(&mut self) {
        if let Some(span) = self.argument_span() {
            let place = self.offsets.at(span.start);
            self.open.push_raised(&self.text[span], place, true);
        }
    }

    fn code(&mut self) {
        let start = self.open.len();
        if let Some(span) = self.argument_span() {
            self.inside(span);
        }
        self.open
            .code
            .push(start.min(self.open.len())..self.open.len());
    }

    /// `\verb|x|`, with any delimiter.
    fn verbatim(&mut self) {
        let Some(mark) = self.rest().chars().next() else {
            return;
        };
        self.at += mark.len_utf8();
        let start = self.open.len();
        let inside = self.until(mark.encode_utf8(&mut [0; 4]));
        let place = self.offsets.at(inside.start);
        self.open.push_text(&self.text[inside], place, true);
        self.open.code.push(start..self.open.len());
    }

    fn link(&mut self, has_words: bool) {
        let url = self.argument().to_owned();
        let start = self.open.len();
        if has_words && let Some(words) = self.argument_span() {
            self.inside(words);
        }
        let span = start.min(self.open.len())..self.open.len();
        self.open.links.push(Link { span, url });
    }

    fn heading(&mut self, level: u8) {
        self.close(PieceKind::Heading(level));
        if let Some(words) = self.argument_span() {
            self.inside(words);
        }
        self.close(PieceKind::Paragraph);
    }

    fn environment(&mut self) {
        let name = self.argument();
        if SILENT.contains(&name) {
            self.until(&format!("\\end{{{name}}}"));
        } else if name == "thebibliography" {
            self.is_in_list = true;
            self.argument();
        } else if self.rest().starts_with('[') {
            self.until("]");
        }
        self.close(PieceKind::Paragraph);
    }

    /// Reads a part that was skipped.
    fn inside(&mut self, span: Range<usize>) {
        if self.depth >= DEEPEST {
            return;
        }
        let outer = (self.at, self.end);
        (self.at, self.end) = (span.start, span.end);
        self.depth += 1;
        while self.at < self.end {
            self.step();
        }
        self.depth -= 1;
        (self.at, self.end) = outer;
    }

    /// The content of the braces that follow; options in square brackets are skipped.
    fn argument(&mut self) -> &'t str {
        self.argument_span().map_or("", |span| &self.text[span])
    }

    fn argument_span(&mut self) -> Option<Range<usize>> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\n']).len();
            let start = self.at + blank;
            let rest = &rest[blank..];
            if rest.starts_with('[') {
                self.at = start + rest.find(']').map_or(rest.len(), |end| end + 1);
                continue;
            }
            if !rest.starts_with('{') {
                return None;
            }
            let Some(length) = braces(rest) else {
                // The argument is not closed: the rest of the text is its content.
                self.at = self.end;
                return Some(start + 1..self.end);
            };
            self.at = start + length;
            return Some(start + 1..self.at - 1);
        }
    }

    /// A blank line ends a paragraph, but not an argument or an entry of a list.
    fn end_paragraph(&mut self) {
        match self.depth > 0 || self.is_in_list {
            true => self.push(' '),
            false => self.close(PieceKind::Paragraph),
        }
    }

    /// Ends the open piece and begins one of the given kind.
    fn close(&mut self, next: PieceKind) {
        let done = std::mem::replace(&mut self.open, Piece::new(next));
        self.pieces
            .extend(Some(done).filter(|piece| !piece.text.trim().is_empty()));
    }
}

/// The length of a group in braces; none if it is not closed.
fn braces(text: &str) -> Option<usize> {
    let (mut depth, mut is_escaped) = (0_usize, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => {}
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_escaped = byte == b'\\' && !is_escaped;
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

fn begins_blank_line(text: &str) -> bool {
    text.trim_start_matches([' ', '\t', '\r']).starts_with('\n')
}

/// Whether a footnote names a source: it contains a year or an identifier.
fn names_a_work(text: &str) -> bool {
    let is_year =
        |word: &str| word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    text.split(|c: char| !c.is_ascii_digit()).any(is_year) || !find_identifiers(text).is_empty()
}
