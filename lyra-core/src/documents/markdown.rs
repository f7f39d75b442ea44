//! Markdown with front matter: block structure; the inline part is in `markdown_inline`.

use super::front_matter::front_matter;
use super::lines::{self, join, list_item};
use super::markdown_inline::{Definitions, Inline, definition, inline};
use super::meta::{MAX_REFERENCES, add_reference, apply_object, reference_to, slips_of_keys};
use super::{Block, FRONT_MATTER, ParsedDocument, context_of, lead_with_title};
use crate::store::model::{DocumentMeta, FragmentType};

/// Block quotes deeper than this are read as if they were this deep.
const MAX_QUOTE_DEPTH: usize = 6;

/// Reads decoded Markdown.
pub(super) fn parse(text: &str) -> ParsedDocument {
    let front = front_matter(text);
    let mut meta = DocumentMeta::default();
    let mut warnings: Vec<String> = front
        .problems
        .iter()
        .map(|problem| format!("{FRONT_MATTER}{problem}"))
        .collect();
    let mut problems = apply_object(&mut meta, &front.object);
    problems.extend(slips_of_keys(&front.object));
    warnings.extend(
        problems
            .into_iter()
            .map(|problem| format!("{FRONT_MATTER}{problem}")),
    );

    let body = without_comments(front.body);
    let (definitions, lines) = take_definitions(&body);
    let mut reader = Reader {
        definitions,
        blocks: Vec::new(),
        links: Vec::new(),
    };
    reader.read(&lines, 0);
    for (target, context) in reader.links {
        if let Some(mut reference) = reference_to(&target, "link") {
            reference.context = Some(context).filter(|context| !context.is_empty());
            add_reference(&mut meta.references, reference);
        }
    }
    let mut document = ParsedDocument {
        meta,
        blocks: reader.blocks,
        page_type: "markdown",
        warnings,
    };
    lead_with_title(&mut document);
    document
}

/// Drops `<!-- … -->`, an unclosed one to the end.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        out.push_str(&rest[..start]);
        rest = rest[start..]
            .split_once("-->")
            .map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// Takes the link definitions (`[id]: address`) out of the lines, except in fenced code.
fn take_definitions(text: &str) -> (Definitions, Vec<&str>) {
    let mut definitions = Definitions::new();
    let mut fence: Option<Fence> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        match &fence {
            Some(open) if open.is_closed_by(line) => fence = None,
            Some(_) => {}
            None => {
                fence = Fence::opening(line);
                if let Some((label, target)) = definition(line) {
                    definitions.entry(label).or_insert(target);
                    continue;
                }
            }
        }
        lines.push(line);
    }
    (definitions, lines)
}

/// The line that opens fenced code.
struct Fence {
    sign: char,
    length: usize,
}

impl Fence {
    fn opening(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == sign).count();
        let info_is_plain = sign == '~' || !line[length..].contains('`');
        (length >= 3 && info_is_plain).then_some(Self { sign, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.chars().count() >= self.length && line.chars().all(|c| c == self.sign)
    }
}

struct Reader {
    definitions: Definitions,
    blocks: Vec<Block>,
    /// Targets of links with the sentence around them.
    links: Vec<(String, String)>,
}

impl Reader {
    fn read(&mut self, lines: &[&str], quote_depth: usize) {
        let mut at = 0;
        let mut paragraph: Vec<&str> = Vec::new();
        while let Some(line) = lines.get(at).copied() {
            if let Some(level) = underline_level(line)
                && !paragraph.is_empty()
            {
                self.push(FragmentType::Heading, level, &join(paragraph.drain(..)));
                at += 1;
                continue;
            }
            let used = if line.trim().is_empty() || is_thematic_break(line) {
                Some(1)
            } else if let Some((level, text)) = atx_heading(line) {
                self.flush(&mut paragraph);
                self.push(FragmentType::Heading, level, text);
                Some(1)
            } else {
                self.container(lines, at, quote_depth, &mut paragraph)
            };
            match used {
                Some(used) => {
                    self.flush(&mut paragraph);
                    at += used;
                }
                None => {
                    paragraph.push(line);
                    at += 1;
                }
            }
        }
        self.flush(&mut paragraph);
    }

    /// Reads a block of several lines that starts here; answers with how many lines it took.
    fn container(
        &mut self,
        lines: &[&str],
        at: usize,
        quote_depth: usize,
        paragraph: &mut Vec<&str>,
    ) -> Option<usize> {
        let (line, rest) = (lines[at], &lines[at..]);
        if let Some(fence) = Fence::opening(line) {
            self.flush(paragraph);
            return Some(self.fenced_code(&fence, rest));
        }
        if line.trim_start().starts_with('>') {
            self.flush(paragraph);
            return Some(self.quote(rest, quote_depth));
        }
        if rest.len() > 1 && line.contains('|') && is_table_rule(rest[1]) && paragraph.is_empty() {
            return Some(self.table(rest));
        }
        let interrupts = paragraph.is_empty() || line.trim_start().starts_with(['-', '*', '+']);
        if interrupts && list_item(line).is_some() {
            self.flush(paragraph);
            return Some(self.list(rest));
        }
        if paragraph.is_empty() && is_indented_code(line) {
            return Some(self.indented_code(rest));
        }
        None
    }

    fn flush(&mut self, paragraph: &mut Vec<&str>) {
        if !paragraph.is_empty() {
            let text = join(paragraph.drain(..));
            self.push(FragmentType::Paragraph, 0, &text);
        }
    }

    fn push(&mut self, kind: FragmentType, level: u8, source: &str) {
        let read = self.inline(source);
        if !read.is_empty() {
            self.blocks.push(match kind {
                FragmentType::Heading => Block::heading(level, read),
                kind => Block::new(kind, read),
            });
        }
    }

    /// Text without markup; the links in it are collected.
    fn inline(&mut self, source: &str) -> String {
        let Inline { text, links } = inline(source, &self.definitions);
        for link in links
            .into_iter()
            .take(MAX_REFERENCES.saturating_sub(self.links.len()))
        {
            let context = context_of(&text, link.range.clone());
            self.links.push((link.target, context));
        }
        lines::collapse(&text)
    }

    fn fenced_code(&mut self, fence: &Fence, lines: &[&str]) -> usize {
        let indent = lines[0].len() - lines[0].trim_start().len();
        let end = lines[1..].iter().position(|line| fence.is_closed_by(line));
        let body = &lines[1..end.map_or(lines.len(), |end| end + 1)];
        let unindented = body.iter().map(|line| {
            let own = line.len() - line.trim_start_matches(' ').len();
            &line[own.min(indent)..]
        });
        self.push_code(&unindented.collect::<Vec<_>>().join("\n"));
        end.map_or(lines.len(), |end| end + 2)
    }

    fn indented_code(&mut self, lines: &[&str]) -> usize {
        let used = lines
            .iter()
            .position(|line| !line.trim().is_empty() && !is_indented_code(line))
            .unwrap_or(lines.len());
        let body: Vec<&str> = lines[..used]
            .iter()
            .map(|line| {
                line.strip_prefix('\t')
                    .or_else(|| line.strip_prefix("    "))
                    .unwrap_or("")
            })
            .collect();
        self.push_code(&body.join("\n"));
        used
    }

    fn push_code(&mut self, code: &str) {
        let code = code.trim_matches('\n').trim_end();
        if !code.trim().is_empty() {
            self.blocks.push(Block::new(FragmentType::Code, code));
        }
    }

    fn quote(&mut self, lines: &[&str], depth: usize) -> usize {
        let used = lines
            .iter()
            .position(|line| line.trim().is_empty())
            .unwrap_or(lines.len());
        let deepest = depth + 1 >= MAX_QUOTE_DEPTH;
        let inner: Vec<&str> = lines[..used]
            .iter()
            .map(|line| {
                let line = line.trim_start();
                let inner = if deepest {
                    line.trim_start_matches(['>', ' '])
                } else {
                    line.strip_prefix('>').unwrap_or(line)
                };
                inner.strip_prefix(' ').unwrap_or(inner)
            })
            .collect();
        let first = self.blocks.len();
        self.read(&inner, depth + 1);
        for block in &mut self.blocks[first..] {
            if block.kind == FragmentType::Paragraph {
                block.kind = FragmentType::Quote;
            }
        }
        used
    }

    fn table(&mut self, lines: &[&str]) -> usize {
        let end = lines[2..]
            .iter()
            .position(|line| !line.contains('|') || line.trim().is_empty());
        let used = end.map_or(lines.len(), |end| end + 2);
        let rows: Vec<String> = lines[..1]
            .iter()
            .chain(&lines[2..used])
            .map(|row| {
                let cells: Vec<String> = cells(row).iter().map(|cell| self.inline(cell)).collect();
                cells.join(" | ")
            })
            .filter(|row| row.chars().any(char::is_alphanumeric))
            .collect();
        if !rows.is_empty() {
            self.blocks
                .push(Block::new(FragmentType::Table, rows.join("\n")));
        }
        used
    }

    fn list(&mut self, lines: &[&str]) -> usize {
        let mut items: Vec<String> = Vec::new();
        let mut at = 0;
        let mut after_blank = false;
        while let Some(line) = lines.get(at).copied() {
            let indented = line.starts_with([' ', '\t']);
            if line.trim().is_empty() {
                after_blank = true;
            } else if is_thematic_break(line) || Fence::opening(line).is_some() {
                break;
            } else if let Some(item) = list_item(line) {
                items.push(without_check_box(item).to_owned());
                after_blank = false;
            } else if !indented
                && (after_blank || atx_heading(line).is_some() || line.starts_with('>'))
            {
                break;
            } else if let Some(item) = items.last_mut() {
                lines::push_line(item, line);
                after_blank = false;
            }
            at += 1;
        }
        let items: Vec<String> = items
            .iter()
            .map(|item| self.inline(item))
            .filter(|item| !item.is_empty())
            .collect();
        if !items.is_empty() {
            self.blocks
                .push(Block::new(FragmentType::List, items.join("\n")));
        }
        at.max(1)
    }
}

fn without_check_box(item: &str) -> &str {
    ["[ ] ", "[x] ", "[X] "]
        .iter()
        .find_map(|mark| item.strip_prefix(mark))
        .unwrap_or(item)
}

fn is_indented_code(line: &str) -> bool {
    (line.starts_with("    ") || line.starts_with('\t')) && !line.trim().is_empty()
}

fn atx_heading(line: &str) -> Option<(u8, &str)> {
    let line = line.trim_start();
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let rest = &line[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t', '\u{3000}']))
    {
        return None;
    }
    let text = rest.trim();
    let closed = text.trim_end_matches('#');
    let text = if closed.is_empty() || closed.ends_with([' ', '\t']) {
        closed.trim_end()
    } else {
        text
    };
    Some((u8::try_from(level).ok()?, text))
}

/// A setext underline: 1 for `===`, 2 for `---`.
fn underline_level(line: &str) -> Option<u8> {
    let line = line.trim();
    match line.bytes().next()? {
        b'=' if line.bytes().all(|b| b == b'=') => Some(1),
        b'-' if line.len() >= 2 && line.bytes().all(|b| b == b'-') => Some(2),
        _ => None,
    }
}

fn is_thematic_break(line: &str) -> bool {
    let signs: Vec<char> = line.chars().filter(|c| !c.is_whitespace()).collect();
    signs.len() >= 3
        && matches!(signs[0], '-' | '*' | '_')
        && signs.iter().all(|sign| *sign == signs[0])
}

fn is_table_rule(line: &str) -> bool {
    let line = line.trim();
    line.contains('-')
        && line.contains('|')
        && line
            .chars()
            .all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

/// The cells of a table row; `\|` is a sign, not a border.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row
        .strip_suffix('|')
        .filter(|inner| !inner.ends_with('\\'))
        .unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in row.chars() {
        match c {
            '|' if !escaped => cells.push(String::new()),
            c => {
                if let Some(cell) = cells.last_mut() {
                    if c == '|' {
                        cell.pop();
                    }
                    cell.push(c);
                }
            }
        }
        escaped = c == '\\' && !escaped;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::super::tests::outline;
    use super::*;

    #[test]
    fn structure_becomes_blocks() {
        let cases = [
            (
                "# One #\n\nTwo\nlines\nhere\n",
                "heading1 One|paragraph Two lines here",
            ),
            (
                "Big\n===\nSmall\nmore\n---\ntext\n---\n\n---\n",
                "heading1 Big|heading2 Small more|heading2 text",
            ),
            (
                "#hashtag\n####### seven",
                "paragraph #hashtag ####### seven",
            ),
            (
                "# 見出し\n\n血糖値は\n上がる。",
                "heading1 見出し|paragraph 血糖値は上がる。",
            ),
            (
                "- one\n  more\n- two\n    - three\n\n- four\n\nAfter",
                "list one more\ntwo\nthree\nfour|paragraph After",
            ),
            (
                "Intro:\n- [x] done\n- open",
                "paragraph Intro:|list done\nopen",
            ),
            ("1. a\n2. b\n## H", "list a\nb|heading2 H"),
            (
                "Born in\n1999. A good year",
                "paragraph Born in 1999. A good year",
            ),
            (
                "| a | b |\n|---|:-:|\n| 1 | x \\| y |\n| | |\n\nend",
                "table a | b\n1 | x | y|paragraph end",
            ),
            (
                "> wise\n> words\n>\n> > deep\nlazy\n\nout",
                "quote wise words|quote deep lazy|paragraph out",
            ),
            (
                "```rust\nfn main() {}\n\n# not a heading\n```\nafter",
                "code fn main() {}\n\n# not a heading|paragraph after",
            ),
            (
                "    indented\n    code\n\ntext",
                "code indented\ncode|paragraph text",
            ),
            ("~~~\nnever closed", "code never closed"),
            (
                "a\n\n<!-- hidden\n\n# no -->\n\nb<br>c",
                "paragraph a|paragraph b c",
            ),
            ("***\n", ""),
            ("", ""),
        ];
        for (text, want) in cases {
            assert_eq!(outline(&parse(text).blocks), want, "{text}");
        }
    }

    #[test]
    fn links_are_references_with_their_sentence() {
        let text = "---\ntitle: T\nyear: x\nreferences: [10.1000/first]\n---\n\
            First one. See [a *trial*](https://doi.org/10.1000/ABC \"t\") of [it][1]. Last one.\n\n\
            ![figure](https://example.org/f.png) and <https://example.org/auto>, [local](#part), [mail](mailto:a@b.c)\n\n\
            [1]: https://example.org/one\n";
        let got = parse(text);
        assert_eq!(got.warnings.len(), 1);
        assert!(
            got.warnings[0].starts_with("front matter, year: expected a year"),
            "{:?}",
            got.warnings
        );
        let found: Vec<_> = got
            .meta
            .references
            .iter()
            .map(|r| {
                (
                    r.doi.as_deref().or(r.url.as_deref()).unwrap(),
                    r.source.as_str(),
                    r.context.as_deref(),
                )
            })
            .collect();
        let sentence = Some("See a trial of it.");
        assert_eq!(
            found,
            [
                ("10.1000/first", "reference_list", None),
                ("10.1000/abc", "link", sentence),
                ("https://example.org/one", "link", sentence),
                (
                    "https://example.org/auto",
                    "link",
                    Some("figure and https://example.org/auto, local, mail")
                ),
            ]
        );
        assert_eq!(
            outline(&got.blocks),
            "heading1 T|paragraph First one. See a trial of it. Last one.|paragraph figure and https://example.org/auto, local, mail"
        );
    }

    #[test]
    fn the_title_is_the_first_heading_where_front_matter_has_none() {
        assert_eq!(
            parse("## Deep\n\n# Top\n\ntext").meta.title.as_deref(),
            Some("Top")
        );
        assert_eq!(parse("text only").meta.title, None);
        assert_eq!(
            parse("---\ntitle: A\n---\n# B").meta.title.as_deref(),
            Some("A")
        );
    }
}
