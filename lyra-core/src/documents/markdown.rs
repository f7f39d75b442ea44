//! Markdown with front matter.

use super::context::context_of;
use super::entities;
use super::front_matter::front_matter;
use super::lines::{Running, is_unspaced};
use super::meta::{
    FRONT_MATTER, MAX_REFERENCES, add_reference, apply_object, reference_to, slips_of_keys,
};
use super::title::lead_with_title;
use super::{Block, ParsedDocument};
use crate::store::model::{DocumentMeta, FragmentType};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Captures;
use std::ops::Range;

pattern!(COMMENT, r"(?s)<!--.*?(?:-->|\z)");
pattern!(TAG, r"</?[A-Za-z][^>]*>");
// Tags that separate words.
pattern!(
    PARTING_TAG,
    r"(?i)^</?(?:br|p|div|li|ul|ol|td|th|tr|table|h[1-6]|details|summary|dd|dt|dl|blockquote|hr|img)\b"
);
pattern!(BARE_ADDRESS, r#"\bhttps?://[^\s<>"`\]|\P{ASCII}]+"#);
// CommonMark recognises no emphasis between a letter and a bracket, which is common in Chinese and
// Japanese.
pattern!(UNREAD_EMPHASIS, r"\*\*([^*\n]+)\*\*");
pattern!(UNDEFINED_NOTE, r"\[\^[^\]\s]+\]");
// The address in a template contains spaces, so that CommonMark recognises no link.
pattern!(TEMPLATE_LINK, r"\[([^\[\]\n]+)\]\(\{[^)\n]*\)");
pattern!(ENTITY, r"&(#?\w{1,10});");

/// Parses decoded Markdown.
pub(super) fn parse(text: &str) -> ParsedDocument {
    let front = front_matter(text);
    let mut meta = DocumentMeta::default();
    let mut problems = front.problems.clone();
    problems.extend(apply_object(&mut meta, &front.object));
    problems.extend(slips_of_keys(&front.object));
    let warnings = problems
        .into_iter()
        .map(|problem| format!("{FRONT_MATTER}{problem}"));

    let mut reader = BlockReader {
        source: front.body,
        ..BlockReader::default()
    };
    let options = Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS;
    for (event, span) in Parser::new_ext(front.body, options).into_offset_iter() {
        reader.take(event, span);
    }
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
        warnings: warnings.collect(),
    };
    lead_with_title(&mut document);
    document
}

/// A link in the current text.
struct InlineLink {
    target: String,
    range: Range<usize>,
}

#[derive(Default)]
struct BlockReader<'t> {
    source: &'t str,
    blocks: Vec<Block>,
    /// Link targets with the sentence around them.
    links: Vec<(String, String)>,
    /// The text of the current block, item or cell.
    text: Running,
    links_in_text: Vec<InlineLink>,
    /// The open link: its start and its target.
    open_link: Option<(usize, String)>,
    /// Finished items of a list, or rows of a table.
    lines: Vec<String>,
    /// Finished cells of a row.
    cells: Vec<String>,
    /// Code or HTML, verbatim.
    raw: Option<String>,
    quotes: usize,
    lists: usize,
}

impl BlockReader<'_> {
    fn take(&mut self, event: Event<'_>, span: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, &span),
            Event::End(tag) => self.end(tag, &span),
            Event::Text(text) | Event::Html(text) if self.raw.is_some() => {
                self.raw.get_or_insert_default().push_str(&text);
            }
            Event::Text(text) | Event::Code(text) => self.text.push(&text),
            Event::SoftBreak | Event::HardBreak => self.text.push("\n"),
            Event::InlineHtml(tag) if PARTING_TAG.is_match(&tag) => self.text.push(" "),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, span: &Range<usize>) {
        match tag {
            Tag::Link { dest_url, .. } => {
                self.open_link = Some((self.text.end(), dest_url.into_string()));
            }
            Tag::Emphasis if self.is_inside_number(span) => self.text.push("*"),
            Tag::CodeBlock(_) | Tag::HtmlBlock => {
                self.end_list();
                self.raw = Some(String::new());
            }
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::List(_) => {
                self.end_line();
                self.lists += 1;
            }
            // The next paragraph of an item.
            Tag::Paragraph if self.lists > 0 => self.text.push("\n"),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, span: &Range<usize>) {
        match tag {
            TagEnd::Link => {
                if let Some((start, target)) = self.open_link.take() {
                    // Only now is it known whether a space precedes the words, and whether there
                    // are any.
                    let words = self.text.text.get(start..).unwrap_or_default();
                    let end = self.text.end();
                    let range = end - words.trim_start().len()..end;
                    self.links_in_text.push(InlineLink { target, range });
                }
            }
            TagEnd::Emphasis if self.is_inside_number(span) => self.text.push("*"),
            TagEnd::Heading(level) if self.lists == 0 => {
                let text = self.finish_text();
                let level = u8::try_from(level as usize).unwrap_or(6);
                self.push(Block::heading(level, text));
            }
            TagEnd::Paragraph if self.lists == 0 => self.end_paragraph(),
            TagEnd::Item => self.end_line(),
            TagEnd::List(_) => {
                self.lists -= 1;
                if self.lists == 0 {
                    self.end_list();
                }
            }
            TagEnd::TableCell => {
                let cell = self.finish_text();
                self.cells.push(cell);
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                let row = std::mem::take(&mut self.cells).join(" | ");
                if row.chars().any(char::is_alphanumeric) {
                    self.lines.push(row);
                }
            }
            TagEnd::Table => self.end_lines(FragmentType::Table),
            TagEnd::CodeBlock => {
                let code = self.raw.take().unwrap_or_default();
                let code = code.trim_matches('\n').trim_end();
                self.push(Block::new(FragmentType::Code, code));
            }
            TagEnd::HtmlBlock => {
                let html = self.raw.take().unwrap_or_default();
                self.text.push(&text_of_html(&html));
                self.end_paragraph();
            }
            TagEnd::BlockQuote(_) => self.quotes -= 1,
            _ => {}
        }
    }

    /// Whether emphasis marks are between letters or digits, where they are operators: `2*3*4`.
    fn is_inside_number(&self, span: &Range<usize>) -> bool {
        let bytes = self.source.as_bytes();
        let is_word = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at))
                .is_some_and(u8::is_ascii_alphanumeric)
        };
        let borders = [span.start.checked_sub(1), Some(span.end)];
        let inside = [span.start + 1, span.end.saturating_sub(2)].map(Some);
        borders.into_iter().chain(inside).all(is_word)
    }

    fn end_paragraph(&mut self) {
        let text = self.finish_text();
        let kind = match self.quotes {
            0 => FragmentType::Paragraph,
            _ => FragmentType::Quote,
        };
        self.push(Block::new(kind, text));
    }

    /// Ends a line of a list.
    fn end_line(&mut self) {
        let line = self.finish_text();
        if !line.is_empty() {
            self.lines.push(line);
        }
    }

    /// Ends the block of a list; more items may follow after code.
    fn end_list(&mut self) {
        self.end_line();
        self.end_lines(FragmentType::List);
    }

    fn end_lines(&mut self, kind: FragmentType) {
        let lines = std::mem::take(&mut self.lines).join("\n");
        self.push(Block::new(kind, lines));
    }

    fn push(&mut self, block: Block) {
        if !block.text.trim().is_empty() {
            self.blocks.push(block);
        }
    }

    /// Takes the text that was read, without markup, and keeps its links.
    fn finish_text(&mut self) -> String {
        let text = std::mem::take(&mut self.text).text;
        let mut links = std::mem::take(&mut self.links_in_text);
        let bare = BARE_ADDRESS.find_iter(&text).map(|found| {
            let target = without_stops(found.as_str());
            let range = found.start()..found.start() + target.len();
            let target = target.to_owned();
            InlineLink { target, range }
        });
        // The text of a link may be an address.
        let apart = |bare: &InlineLink| links.iter().all(|link| !overlap(&link.range, &bare.range));
        let bare: Vec<InlineLink> = bare.filter(apart).collect();
        links.extend(bare);
        links.sort_by_key(|link| link.range.start);
        for link in links {
            if self.links.len() < MAX_REFERENCES && link.range.end <= text.len() {
                self.links
                    .push((link.target, context_of(&text, link.range)));
            }
        }
        let text = UNDEFINED_NOTE.replace_all(&text, "");
        let text = TEMPLATE_LINK.replace_all(&text, "$1");
        match text.contains("**") && text.chars().any(is_unspaced) {
            true => UNREAD_EMPHASIS.replace_all(&text, "$1").into_owned(),
            false => text.into_owned(),
        }
    }
}

/// The visible text of a block of HTML.
fn text_of_html(html: &str) -> String {
    let bare = COMMENT.replace_all(html, "");
    let words = TAG.replace_all(&bare, |tag: &Captures<'_>| {
        if PARTING_TAG.is_match(&tag[0]) {
            " "
        } else {
            ""
        }
    });
    let decoded = ENTITY.replace_all(&words, |entity: &Captures<'_>| {
        entities::decode(&entity[1]).map_or_else(|| entity[0].to_owned(), String::from)
    });
    decoded.into_owned()
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// An address without the punctuation that ends its sentence.
fn without_stops(address: &str) -> &str {
    let stops = ['.', ',', ';', ':', '!', '?', '*', '_', '\''];
    let address = address.trim_end_matches(stops);
    match address.ends_with(')') && !address.contains('(') {
        true => address.trim_end_matches([')', '.', ',']),
        false => address,
    }
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
            (
                "<div>\n<b>A</b> &amp; (<i>B</i>)<br>C &lt; 5\n</div>\n\nend",
                "paragraph A & (B) C < 5|paragraph end",
            ),
            (
                "- one\n\n  ```\n  code\n  ```\n\n- two",
                "list one|code code|list two",
            ),
            (
                "see [the page]({% page \"/a b\" %}) now",
                "paragraph see the page now",
            ),
            ("***\n", ""),
            ("", ""),
        ];
        for (text, want) in cases {
            assert_eq!(outline(&parse(text).blocks), want, "{text}");
        }
    }

    #[test]
    fn a_link_without_words_is_a_reference_wherever_it_stands() {
        for text in [
            "日日\n[](a)日日日日",
            "日日\n![](b)[](a)\n日",
            "one [](a)\ntwo",
            "[](a)",
        ] {
            let got = parse(text);
            let found = got.meta.references.iter().filter_map(|r| r.url.as_deref());
            assert_eq!(found.count(), 0, "{text}");
            let text = text.replace("(a)", "(https://example.org/a)");
            let got = parse(&text);
            let found: Vec<_> = got
                .meta
                .references
                .iter()
                .map(|r| r.url.as_deref())
                .collect();
            assert_eq!(found, [Some("https://example.org/a")], "{text}");
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

    #[test]
    fn markup_is_removed_and_nothing_else() {
        let cases = [
            (
                "**bold** and *it* and __b__ and _i_ and ~~gone~~",
                "bold and it and b and i and gone",
            ),
            ("***both*** **a *b* c**", "both a b c"),
            (
                "2*3*4 and snake_case_name and 5 * 3 * 2",
                "2*3*4 and snake_case_name and 5 * 3 * 2",
            ),
            (
                "血糖値は**「高い」**です。*強調*",
                "血糖値は「高い」です。強調",
            ),
            ("p\\*q `a*b*c` `` x`y ``", "p*q a*b*c x`y"),
            (
                "[text](https://example.org/a_(b)) ![alt *x*](i.png)",
                "text alt x",
            ),
            (
                "[note][^1] and[^2] [unknown] [x](",
                "[note] and [unknown] [x](",
            ),
            (
                "<b>x</b> a < b > c <https://example.org/>",
                "x a < b > c https://example.org/",
            ),
            (
                "AT&amp;T &lt;5 &#233; &nbsp;&unknown; & more",
                "AT&T <5 é &unknown; & more",
            ),
            ("*unclosed and **half*", "*unclosed and **half*"),
            ("``unclosed", "``unclosed"),
            (
                "see https://example.org/x. Then",
                "see https://example.org/x. Then",
            ),
        ];
        for (source, want) in cases {
            let got = parse(source).blocks;
            let text = &got.first().expect("a block").text;
            if source.starts_with("*unclosed") {
                // How two unbalanced stars are paired does not matter; the words stay.
                assert_eq!(text.replace('*', ""), want.replace('*', ""));
            } else {
                assert_eq!(text, want, "{source}");
            }
        }
    }
}
