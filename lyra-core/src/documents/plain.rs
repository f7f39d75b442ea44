//! Plain text: paragraphs between blank lines, a title line, lists, underlined headings.

use super::lines::{self, ends_sentence, heading_level, list_item};
use super::{Block, ParsedDocument};
use crate::store::model::{DocumentMeta, FragmentType};
use crate::store::text::identifiers::find_identifiers;
use crate::store::text::sentence::sentences;

/// Maximum number of lines, and of words per line, that name authors, date or journal under a
/// title.
const MOST_NAME_LINES: usize = 4;
const MOST_NAME_WORDS: usize = 30;

/// Maximum length, in characters, of a first line that is taken for a title.
const TITLE_CHARS: usize = 200;

/// Number of words of a line that ends in a full stop and is taken for a title.
const TITLE_WORDS: std::ops::RangeInclusive<usize> = 3..=30;

/// A longer line, in characters, was not wrapped by hand: it is a separate paragraph.
const WRAPPED_CHARS: usize = 160;

/// Parses decoded plain text.
pub(super) fn parse(text: &str) -> ParsedDocument {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut blocks = Vec::new();
    let mut groups = lines
        .split(|line| line.trim().is_empty())
        .filter(|group| !group.is_empty());
    let mut title = None;
    if let Some(first) = groups.next() {
        let (line, rest) = first.split_at(if is_above_names(first) {
            1
        } else {
            first.len()
        });
        title = title_of(line);
        match &title {
            // It may still be a sentence, and is also read as one.
            Some(text) if without_stop(text) != text => {
                blocks.push(Block::paragraph(text.clone()));
            }
            Some(text) => blocks.push(Block::heading(1, text.clone())),
            None => read_group(line, &mut blocks),
        }
        if !rest.is_empty() {
            read_group(rest, &mut blocks);
        }
        title = title.map(|title| without_stop(&title).to_owned());
    }
    for group in groups {
        read_group(group, &mut blocks);
    }
    // If the document has only one line, that line is the text, not a title.
    if let ([only], Some(_)) = (blocks.as_mut_slice(), &title) {
        *only = Block::paragraph(std::mem::take(&mut only.text));
        title = None;
    }
    let meta = DocumentMeta {
        title,
        ..DocumentMeta::default()
    };
    ParsedDocument {
        meta,
        blocks,
        page_type: "text",
        warnings: Vec::new(),
    }
}

/// Whether lines under a first line name authors, date or journal, which makes the first line a
/// title.
fn is_above_names(group: &[&str]) -> bool {
    let [title, rest @ ..] = group else {
        return false;
    };
    !title.starts_with(char::is_lowercase)
        && (1..=MOST_NAME_LINES).contains(&rest.len())
        && rest.iter().all(|line| says_who_or_where(line))
}

fn says_who_or_where(line: &str) -> bool {
    let lower = line.trim().to_lowercase();
    if lower.starts_with("by ") || lower.starts_with("author") || !find_identifiers(line).is_empty()
    {
        return true;
    }
    let joins = |word: &str| {
        matches!(
            word,
            "and" | "&" | "et" | "al" | "al." | "von" | "van" | "de"
        )
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_name = |word: &&str| {
        joins(word)
            || word.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || c == '(')
    };
    !ends_sentence(line)
        && (2..=MOST_NAME_WORDS).contains(&words.len())
        && line.contains([',', '.', '(', '&'])
        && words.iter().all(is_name)
}

/// The first group is a title if it is one short line (perhaps underlined) and not a list item.
fn title_of(group: &[&str]) -> Option<String> {
    let line = match group {
        [line] => line.trim(),
        [line, rule] if is_rule(rule) => line.trim(),
        _ => return None,
    };
    let sentence = ends_sentence(line) && !line.ends_with(['?', '？']) && !names_with_a_stop(line);
    let short = line.chars().count() <= TITLE_CHARS;
    (short && !sentence && list_item(line).is_none() && line.chars().any(char::is_alphanumeric))
        .then(|| lines::collapse(line))
}

/// Whether a line that ends in a full stop may be a title, as in some catalogues: it contains no
/// word that occurs in sentences and rarely in titles.
fn names_with_a_stop(line: &str) -> bool {
    const SAYING: &[&str] = &[
        "i", "we", "you", "he", "she", "it", "they", "this", "these", "those", "that", "there",
        "our", "my", "is", "are", "was", "were", "be", "been", "has", "have", "had", "do", "does",
        "did", "can", "could", "may", "might", "will", "would", "shall", "should", "must", "not",
        "please",
    ];
    let words: Vec<String> = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    without_stop(line).len() < line.len()
        && (TITLE_WORDS.contains(&words.len()))
        && sentences(line).len() == 1
        && line.starts_with(|c: char| c.is_uppercase() || c.is_numeric())
        && !words.iter().any(|word| SAYING.contains(&word.as_str()))
}

/// The line without a single full stop at its end; an ellipsis of three stays.
fn without_stop(line: &str) -> &str {
    match line.strip_suffix('.') {
        Some(bare) if !bare.ends_with('.') => bare,
        _ => line,
    }
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && (line.bytes().all(|b| b == b'=') || line.bytes().all(|b| b == b'-'))
}

/// Reads the lines between two blank ones.
fn read_group(group: &[&str], blocks: &mut Vec<Block>) {
    if let [line] = group
        && let Some(level) = heading_level(line)
    {
        blocks.push(Block::heading(level, lines::collapse(line)));
        return;
    }
    let mut paragraph = String::new();
    let mut items: Vec<String> = Vec::new();
    for (at, line) in group.iter().enumerate() {
        if is_rule(line) {
            // A rule under a single line makes it a heading; elsewhere it is decoration.
            if at > 0
                && items.is_empty()
                && !paragraph.is_empty()
                && paragraph == lines::collapse(group[at - 1])
            {
                let level = if line.trim_start().starts_with('=') {
                    1
                } else {
                    2
                };
                blocks.push(Block::heading(level, std::mem::take(&mut paragraph)));
            }
            continue;
        }
        if let Some(item) = list_item(line) {
            flush_paragraph(&mut paragraph, blocks);
            items.push(lines::collapse(item));
            continue;
        }
        let indented = line.starts_with([' ', '\t', '\u{3000}']);
        match items.last_mut() {
            Some(item) if indented => lines::push_line(item, &lines::collapse(line)),
            _ => {
                flush_items(&mut items, blocks);
                let long = line.chars().count() > WRAPPED_CHARS;
                // An indented line after a full one opens a paragraph, as Japanese prose does.
                if long || (indented && ends_sentence(&paragraph)) {
                    flush_paragraph(&mut paragraph, blocks);
                }
                lines::push_line(&mut paragraph, &lines::collapse(line));
                if long {
                    flush_paragraph(&mut paragraph, blocks);
                }
            }
        }
    }
    flush_paragraph(&mut paragraph, blocks);
    flush_items(&mut items, blocks);
}

fn flush_paragraph(paragraph: &mut String, blocks: &mut Vec<Block>) {
    if !paragraph.is_empty() {
        blocks.push(Block::paragraph(std::mem::take(paragraph)));
    }
}

fn flush_items(items: &mut Vec<String>, blocks: &mut Vec<Block>) {
    if !items.is_empty() {
        blocks.push(Block::new(FragmentType::List, items.join("\n")));
        items.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::outline;
    use super::*;

    #[test]
    fn text_falls_into_blocks() {
        let cases: &[(&str, Option<&str>, &str)] = &[
            (
                "On sleep\n\nPeople who work\nat night sleep less.\n\nMETHODS\n\nWe asked them:\n- when\n  they slept\n- where\n",
                Some("On sleep"),
                "heading1 On sleep|paragraph People who work at night sleep less.|heading2 METHODS|paragraph We asked them:|list when they slept\nwhere",
            ),
            (
                "Night work and thirst\nBy Mai Tanaka, 2019\n\nNurses drink less.",
                Some("Night work and thirst"),
                "heading1 Night work and thirst|paragraph By Mai Tanaka, 2019|paragraph Nurses drink less.",
            ),
            (
                "Night work and thirst\nM. Tanaka, J. Roe and A. van Dam (2019)\ndoi:10.1000/thirst\n\nNurses drink less.",
                Some("Night work and thirst"),
                "heading1 Night work and thirst|paragraph M. Tanaka, J. Roe and A. van Dam (2019) doi:10.1000/thirst|paragraph Nurses drink less.",
            ),
            (
                "Nurses who work at night\ndrink less than they need, Tanaka found.\n\nMore.",
                None,
                "paragraph Nurses who work at night drink less than they need, Tanaka found.|paragraph More.",
            ),
            (
                "Title\n=====\n\nPart one\n--------\nBody text here.\n",
                Some("Title"),
                "heading1 Title|heading2 Part one|paragraph Body text here.",
            ),
            (
                "\u{3000}夜勤の人は眠りが\n短い。\n\u{3000}昼に眠るからである。\n\n・一つ目\n・二つ目\n",
                None,
                "paragraph 夜勤の人は眠りが短い。|paragraph 昼に眠るからである。|list 一つ目\n二つ目",
            ),
            (
                "A first sentence that ends.\n\nMore.",
                None,
                "paragraph A first sentence that ends.|paragraph More.",
            ),
            (
                "We asked 900 adults in two towns.\n\nMore.",
                None,
                "paragraph We asked 900 adults in two towns.|paragraph More.",
            ),
            (
                "Thirst was greatest at night.\n\nMore.",
                None,
                "paragraph Thirst was greatest at night.|paragraph More.",
            ),
            (
                "Effects of night work on thirst: a randomised trial.\n\nNurses drink less.",
                Some("Effects of night work on thirst: a randomised trial"),
                "paragraph Effects of night work on thirst: a randomised trial.|\
                 paragraph Nurses drink less.",
            ),
            (
                "Night work and thirst in St. Gallen.\n===\n\nNurses drink less.",
                Some("Night work and thirst in St. Gallen"),
                "paragraph Night work and thirst in St. Gallen.|paragraph Nurses drink less.",
            ),
            (
                "Effects of night work on thirst.",
                None,
                "paragraph Effects of night work on thirst.",
            ),
            (
                "Night work. Thirst.\n\nNurses drink less.",
                None,
                "paragraph Night work. Thirst.|paragraph Nurses drink less.",
            ),
            ("Only a line", None, "paragraph Only a line"),
            ("", None, ""),
            ("\n \n***\n", None, "paragraph ***"),
        ];
        for (text, title, want) in cases {
            let got = parse(text);
            assert_eq!(outline(&got.blocks), *want, "{text}");
            assert_eq!(got.meta.title.as_deref(), *title, "{text}");
        }
    }

    #[test]
    fn long_lines_are_paragraphs_of_their_own() {
        let text = format!("{}\n{}\n", "word ".repeat(40), "other ".repeat(40));
        assert_eq!(parse(&text).blocks.len(), 2);
    }
}
