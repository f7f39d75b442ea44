//! Converts reStructuredText and Org to Markdown: headings, code, lists and links, which determine
//! where a passage begins and what is prose.

use super::ParsedDocument;
use super::markdown;
use regex::Captures;

pattern!(
    DIRECTIVE,
    r"^(\s*)\.\.(?:\s+(?:\|[^|]+\|\s+)?([\w-]+)::\s*(.*)|\s.*)?$"
);
pattern!(ROLE, r":[\w:.+-]+:`([^`<]*[^`<\s])(?:\s*<[^`>]*>)?`");
pattern!(LINK, r"`([^`<]*[^`<\s])(?:\s*<[^`>]*>)?`__?");
pattern!(FIELD, r"^([A-Za-z][\w -]{0,30}): +(\S.*)$");
pattern!(ORG_LINK, r"\[\[[^\]]*\](?:\[([^\]]*)\])?\]");

/// Directives whose content is prose.
const PROSE: &[&str] = &[
    "admonition",
    "attention",
    "caution",
    "danger",
    "deprecated",
    "epigraph",
    "error",
    "hint",
    "important",
    "note",
    "pull-quote",
    "seealso",
    "tip",
    "topic",
    "versionadded",
    "versionchanged",
    "warning",
];

pub(super) fn parse_rst(text: &str) -> ParsedDocument {
    markdown::parse(&from_rst(text))
}

pub(super) fn parse_org(text: &str) -> ParsedDocument {
    markdown::parse(&from_org(text))
}

fn from_rst(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut out = String::new();
    let mut at = header(&lines, &mut out);
    // Adornments in order of appearance, which determines the levels of headings.
    let mut levels: Vec<(char, bool)> = Vec::new();
    while at < lines.len() {
        let line = lines[at];
        if let Some((title, adornment, taken)) = rst_heading(&lines[at..]) {
            let known = levels.iter().position(|level| *level == adornment);
            let level = known.unwrap_or_else(|| {
                levels.push(adornment);
                levels.len() - 1
            });
            let marks = "#".repeat((level + 1).min(6));
            out.push_str(&format!("\n{marks} {}\n\n", rst_inline(title)));
            at += taken;
        } else if let Some(found) = DIRECTIVE.captures(line) {
            let name = found.get(2).map_or("", |name| name.as_str());
            let is_prose = PROSE.contains(&name);
            if is_prose && let Some(argument) = found.get(3).filter(|a| !a.is_empty()) {
                out.push_str(&format!("\n{}\n", rst_inline(argument.as_str())));
            }
            let inner = block_below(&lines, at, indent(line));
            if is_prose {
                for line in &lines[at + 1..inner] {
                    out.push_str(&rst_inline(line.trim_start()));
                    out.push('\n');
                }
            }
            out.push('\n');
            at = inner;
        } else if line.ends_with("::") {
            let prose = line.trim_end_matches("::").trim_end();
            if !prose.is_empty() {
                out.push_str(&format!("{}:\n", rst_inline(prose)));
            }
            let end = block_below(&lines, at, indent(line));
            fence(&lines[at + 1..end], &mut out);
            at = end;
        } else if line.trim_start().starts_with(">>> ") {
            let end = at + lines[at..].iter().take_while(|l| !l.is_empty()).count();
            fence(&lines[at..end], &mut out);
            at = end;
        } else {
            // Indented prose belongs to a list or a definition; in Markdown it would be code.
            let prose = match indent(line) {
                0..=3 => line,
                _ => line.trim_start(),
            };
            out.push_str(&rst_inline(prose));
            out.push('\n');
            at += 1;
        }
    }
    out
}

/// Turns the fields at the beginning of a document, as in PEPs, into front matter: the title, the
/// authors and the date. Returns where the text begins.
fn header(lines: &[&str], out: &mut String) -> usize {
    let goes_on = |line: &str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
    let is_field = |line: &&&str| FIELD.is_match(line) || goes_on(line);
    let count = lines.iter().take_while(is_field).count();
    let value_of = |name: &str| {
        let mut lines = lines[..count].iter().skip_while(|line| {
            FIELD
                .captures(line)
                .is_none_or(|found| !found[1].eq_ignore_ascii_case(name))
        });
        let first = FIELD.captures(lines.next()?)?[2].to_owned();
        let rest = lines
            .take_while(|line| goes_on(line))
            .map(|line| line.trim());
        Some(
            [first.as_str()]
                .into_iter()
                .chain(rest)
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    let Some(title) = value_of("title").filter(|_| count > 1) else {
        return 0;
    };
    out.push_str("---\n");
    for (field, key) in [
        ("title", "title"),
        ("author", "authors"),
        ("created", "created"),
    ] {
        if let Some(value) = value_of(field) {
            // A text in JSON is one in YAML, too.
            out.push_str(&format!("{key}: {}\n", serde_json::Value::from(value)));
        }
    }
    out.push_str(&format!("---\n\n# {title}\n\n"));
    count
}

/// A title with its adornment (and whether there is also a line above), and the number of lines.
fn rst_heading<'t>(lines: &[&'t str]) -> Option<(&'t str, (char, bool), usize)> {
    let (title, under, has_over) = match lines {
        [over, title, under, ..] if adornment(over).is_some() && over == under => {
            (title, under, true)
        }
        [title, under, ..] if adornment(title).is_none() && !title.starts_with(' ') => {
            (title, under, false)
        }
        _ => return None,
    };
    let mark = adornment(under)?;
    let fits = under.chars().count() + 1 >= title.trim().chars().count();
    let title = Some(title.trim()).filter(|title| fits && !title.is_empty())?;
    Some((title, (mark, has_over), if has_over { 3 } else { 2 }))
}

/// The character of a line that consists of one punctuation mark.
fn adornment(line: &str) -> Option<char> {
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 3 && line.chars().all(|c| c == mark)).then_some(mark)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Where the block ends that follows the line `at` and is indented deeper than `margin`.
fn block_below(lines: &[&str], at: usize, margin: usize) -> usize {
    let below = &lines[at + 1..];
    let inside = |line: &&&str| line.is_empty() || indent(line) > margin;
    let count = below.iter().take_while(inside).count();
    at + 1 + count
}

fn fence(lines: &[&str], out: &mut String) {
    let code = lines.join("\n");
    let code = code.trim_matches('\n');
    if !code.is_empty() {
        let marks = "~".repeat(12);
        out.push_str(&format!("\n{marks}\n{code}\n{marks}\n\n"));
    }
}

fn rst_inline(line: &str) -> String {
    let words = |found: &Captures<'_>| found[1].to_owned();
    let line = ROLE.replace_all(line, words);
    LINK.replace_all(&line, words).into_owned()
}

fn from_org(text: &str) -> String {
    let mut out = String::new();
    let mut fenced = false;
    let mut in_drawer = false;
    for line in text.lines() {
        let word = line.trim_start().to_ascii_lowercase();
        let stars = line.bytes().take_while(|b| *b == b'*').count();
        if word.starts_with("#+begin_quote") || word.starts_with("#+end_quote") {
            out.push('\n');
        } else if word.starts_with("#+begin_") || word.starts_with("#+end_") {
            fenced = word.starts_with("#+begin_");
            out.push_str("\n~~~~~~~~~~~~\n");
        } else if fenced {
            out.push_str(line);
            out.push('\n');
        } else if let Some(title) = word.strip_prefix("#+title:") {
            let title = &line[line.len() - title.len()..];
            out.push_str(&format!("# {}\n\n", title.trim()));
        } else if word == ":properties:" || word == ":logbook:" {
            in_drawer = true;
        } else if in_drawer {
            in_drawer = word != ":end:";
        } else if word.starts_with("#+") || word.starts_with("# ") {
            // Settings and comments.
        } else if stars > 0 && line[stars..].starts_with(' ') {
            let marks = "#".repeat((stars + 1).min(6));
            out.push_str(&format!("\n{marks}{}\n\n", &line[stars..]));
        } else {
            let words = |found: &Captures<'_>| found.get(1).map_or("", |m| m.as_str()).to_owned();
            out.push_str(&ORG_LINK.replace_all(line, words));
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::model::FragmentType::{self, Code, Heading, Paragraph};

    fn blocks(document: &ParsedDocument) -> Vec<(FragmentType, &str)> {
        let blocks = document.blocks.iter();
        blocks
            .map(|block| (block.kind, block.text.as_str()))
            .collect()
    }

    #[test]
    fn restructured_text_has_headings_prose_and_code() {
        let text = "PEP: 9999\nTitle: Faster frogs\nAuthor: A. Dean <dean at example.org>,\n        Bo Kim\n\
            Created: 09-Jan-2023\n\nAbstract\n========\n\n\
            Frogs are *faster* with :pep:`703`, see `the list <https://x.org>`__.\n\n\
            Details\n~~~~~~~\n\nFor example::\n\n    frog.jump()\n\n\
            .. note::\n\n   A note is prose.\n\n.. code-block:: python\n\n   import frog\n\n\
            .. _target: https://x.org\n\nThe end.\n";
        let document = parse_rst(text);
        assert_eq!(document.meta.title.as_deref(), Some("Faster frogs"));
        assert_eq!(document.meta.authors, ["A. Dean", "Bo Kim"]);
        assert_eq!(document.meta.published_date.as_deref(), Some("2023-01-09"));
        let expected = [
            (Heading, "Faster frogs"),
            (Heading, "Abstract"),
            (Paragraph, "Frogs are faster with 703, see the list."),
            (Heading, "Details"),
            (Paragraph, "For example:"),
            (Code, "    frog.jump()"),
            (Paragraph, "A note is prose."),
            (Paragraph, "The end."),
        ];
        assert_eq!(blocks(&document), expected);
    }

    #[test]
    fn org_has_headings_prose_and_code() {
        let text = "#+TITLE: Frogs\n#+AUTHOR: me\n* Speed\n:PROPERTIES:\n:ID: 5\n:END:\n\
            Frogs are [[https://x.org][faster]].\n\n#+BEGIN_SRC c\njump();\n#+END_SRC\n\n\
            #+BEGIN_QUOTE\nThey leap.\n#+END_QUOTE\n";
        let document = parse_org(text);
        assert_eq!(document.meta.title.as_deref(), Some("Frogs"));
        let expected = [
            (Heading, "Frogs"),
            (Heading, "Speed"),
            (Paragraph, "Frogs are faster."),
            (Code, "jump();"),
            (Paragraph, "They leap."),
        ];
        assert_eq!(blocks(&document), expected);
    }
}
