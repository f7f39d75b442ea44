//! Drafts in LaTeX: the prose between commands, and the keys of its citations.

use super::Offsets;
use super::piece::{Link, Mark, Piece, PieceKind};

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
    "thebibliography",
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
];

/// Reads the prose of a LaTeX text.
pub(super) fn read(text: &str) -> Vec<Piece> {
    let start = text.find("\\begin{document}").map_or(0, |at| at + 16);
    let end = text.find("\\end{document}").unwrap_or(text.len());
    let mut reader = Reader {
        text,
        offsets: Offsets::of(text),
        at: start,
        end: end.max(start),
        pieces: Vec::new(),
        open: Piece::new(PieceKind::Paragraph),
    };
    while reader.at < reader.end {
        reader.step();
    }
    reader.close(PieceKind::Paragraph);
    reader.pieces
}

struct Reader<'t> {
    text: &'t str,
    offsets: Offsets,
    at: usize,
    end: usize,
    pieces: Vec<Piece>,
    open: Piece,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..self.end]
    }

    fn step(&mut self) {
        let rest = self.rest();
        if rest.starts_with('\\') {
            return self.command();
        }
        if rest.starts_with('%') {
            self.at += rest.find('\n').map_or(rest.len(), |line| line + 1);
            return;
        }
        if rest.starts_with("\n\n") || rest.starts_with("\n\r\n") {
            self.close(PieceKind::Paragraph);
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
        if let Some(inside) = rest.strip_prefix('$') {
            // Mathematics is kept as it is written; numbers in it count.
            let end = inside.find('$');
            let length = end.map_or(rest.len(), |end| end + 2);
            let place = self.offsets.at(self.at + 1);
            let inside = &inside[..end.unwrap_or(inside.len())];
            self.open.push_text(inside, place, true);
            self.at += length;
            return;
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

    fn command(&mut self) {
        let start = self.at;
        let name: String = self.rest()[1..]
            .chars()
            .take_while(|c| c.is_ascii_alphabetic() || *c == '*')
            .collect();
        if name.is_empty() {
            // `\%` and the like stand for the sign; `\\` is a line break.
            let sign = self.rest()[1..].chars().next().unwrap_or(' ');
            self.at += 1;
            self.push(if sign == '\\' { ' ' } else { sign });
            self.at += sign.len_utf8();
            return;
        }
        self.at += 1 + name.len();
        let plain = name.trim_end_matches('*');
        match plain {
            "section" | "chapter" | "title" => self.heading(1),
            "subsection" => self.heading(2),
            "subsubsection" | "paragraph" => self.heading(3),
            "item" => self.close(PieceKind::Item(None)),
            "begin" => self.environment(),
            "end" => {
                self.argument();
                self.close(PieceKind::Paragraph);
            }
            "url" | "href" => self.link(plain == "href"),
            _ if plain.to_lowercase().contains("cite") => self.cite(start),
            _ if WITHOUT_PROSE.contains(&plain) => {
                self.argument();
            }
            _ => {}
        }
    }

    fn cite(&mut self, start: usize) {
        let keys = self.argument();
        let keys: Vec<String> = keys.split(',').map(|key| key.trim().to_owned()).collect();
        self.open.marks.push(Mark {
            at: self.open.len(),
            keys: keys.into_iter().filter(|key| !key.is_empty()).collect(),
            span: self.offsets.span(&(start..self.at)),
        });
    }

    fn link(&mut self, has_words: bool) {
        let url = self.argument().to_owned();
        let start = self.open.len();
        if has_words {
            let before = self.at;
            let words = self.argument();
            let inside = self.text[before..self.at].find(words).unwrap_or(0);
            let place = self.offsets.at(before + inside);
            self.open.push_text(words, place, true);
        }
        let span = start..self.open.len();
        self.open.links.push(Link { span, url });
    }

    fn heading(&mut self, level: u8) {
        self.close(PieceKind::Heading(level));
        let before = self.at;
        let words = self.argument();
        let inside = self.text[before..self.at].find(words).unwrap_or(0);
        let place = self.offsets.at(before + inside);
        self.open.push_text(words, place, true);
        self.close(PieceKind::Paragraph);
    }

    fn environment(&mut self) {
        let name = self.argument();
        if SILENT.contains(&name) {
            let end = format!("\\end{{{name}}}");
            let rest = self.rest();
            self.at += rest.find(&end).map_or(rest.len(), |at| at + end.len());
        }
        self.close(PieceKind::Paragraph);
    }

    /// What stands in the braces that follow; options in square brackets are passed over.
    fn argument(&mut self) -> &'t str {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\n']).len();
            let rest = &rest[blank..];
            if rest.starts_with('[') {
                let length = rest.find(']').map_or(rest.len(), |end| end + 1);
                self.at += blank + length;
                continue;
            }
            if !rest.starts_with('{') {
                return "";
            }
            let mut depth = 0_usize;
            let end = rest.bytes().position(|b| {
                match b {
                    b'{' => depth += 1,
                    b'}' => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            let Some(end) = end else {
                // It never ends: the rest is its argument.
                self.at = self.end;
                return &rest[1..];
            };
            self.at += blank + end + 1;
            return &rest[1..end];
        }
    }

    /// Ends what is open and begins something of that kind.
    fn close(&mut self, next: PieceKind) {
        let done = std::mem::replace(&mut self.open, Piece::new(next));
        self.pieces
            .extend(Some(done).filter(|piece| !piece.text.trim().is_empty()));
    }
}
