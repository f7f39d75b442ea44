//! Converts the lines of a PDF to paragraphs, headings and lists.

use super::super::Block;
use super::super::lines::{self, ends_sentence, heading_level, is_unspaced, list_item};
use super::line::PdfLine;
use crate::store::model::FragmentType;
use std::collections::{HashMap, HashSet, VecDeque};

/// The text of a document, and the title taken from the largest line on the first page.
pub(super) struct Layout {
    /// In reading order.
    pub(super) blocks: Vec<Block>,
    /// `None` if no line is clearly larger than the text.
    pub(super) title: Option<String>,
}

/// A heading is larger than the text by this factor.
const LARGER: f64 = 1.12;

/// Maximum length of a heading, in characters.
const HEADING_CHARS: usize = 200;

/// Converts lines to blocks.
pub(super) fn layout(lines: Vec<PdfLine>) -> Layout {
    let lines = without_running_heads(lines);
    let body = body_size(&lines);
    let leading = usual_leading(&lines, body);
    let words = Words::of(&lines);
    let mut groups: Vec<Vec<&PdfLine>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1);
        match groups.last_mut() {
            Some(group) if !is_break(group, line, next, leading) => group.push(line),
            _ => groups.push(vec![line]),
        }
    }
    let groups = reunited(groups, body);
    let largest = title_size(&lines, body);
    let mut blocks: Vec<Block> = Vec::new();
    let mut title: Option<String> = None;
    for (at, group) in groups.iter().enumerate() {
        let text = words.join(group);
        let next = groups.get(at + 1).map(|next| next[0]);
        let first_page = lines.first().is_some_and(|line| line.page == group[0].page);
        let is_title = first_page && largest.is_some_and(|size| group[0].size >= size * 0.98);
        if is_title && is_worded(&text) && title.is_none() {
            blocks.push(Block::heading(1, text.clone()));
            title = Some(text);
        } else if let Some(level) = level_of(group, &text, body) {
            blocks.push(Block::heading(level, text));
        } else if let ([line], Some(next)) = (&group[..], next)
            && line.size >= 0.97 * body
            && heads(line, next, leading)
        {
            blocks.push(Block::heading(2, text));
        } else {
            push_text(&mut blocks, text);
        }
    }
    Layout { blocks, title }
}

/// Whether a text may be a title.
fn is_worded(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    letters >= 2 && text.chars().count() <= 2 * HEADING_CHARS
}

/// Maximum number of notes and captions inside a sentence.
const ASIDES: usize = 6;

/// Joins the parts of a sentence that are separated by a footnote, a caption or the words of a
/// figure; these then follow the sentence.
fn reunited(groups: Vec<Vec<&PdfLine>>, body: f64) -> Vec<Vec<&PdfLine>> {
    let chars =
        |group: &[&PdfLine]| -> usize { group.iter().map(|l| l.text.chars().count()).sum() };
    let is_body = |line: &PdfLine| (line.size - body).abs() < 0.04 * body;
    let is_open = |group: &[&PdfLine]| {
        let last = group[group.len() - 1];
        is_body(last) && chars(group) >= 40 && !ends_sentence(&last.text)
    };
    let goes_on = |group: &[&PdfLine]| {
        is_body(group[0]) && chars(group) >= 20 && group[0].text.starts_with(char::is_lowercase)
    };
    let is_aside = |group: &[&PdfLine]| {
        let text = &group[0].text;
        let caption = ["Fig", "Tab", "FIG", "TAB"]
            .iter()
            .any(|name| text.starts_with(name));
        caption || group.iter().all(|line| line.size < 0.95 * body) || chars(group) < 40
    };
    let mut out: Vec<Vec<&PdfLine>> = Vec::with_capacity(groups.len());
    let mut waiting = VecDeque::from(groups);
    while let Some(mut group) = waiting.pop_front() {
        let mut asides = Vec::new();
        while is_open(&group) {
            let between = waiting
                .iter()
                .take_while(|next| is_aside(next) && !goes_on(next))
                .count();
            if !(1..=ASIDES).contains(&between)
                || !waiting.get(between).is_some_and(|next| goes_on(next))
            {
                break;
            }
            asides.extend(waiting.drain(..between));
            group.extend(waiting.pop_front().unwrap_or_default());
        }
        out.push(group);
        out.append(&mut asides);
    }
    out
}

/// Appends a paragraph, or an item to the list before it.
fn push_text(blocks: &mut Vec<Block>, text: String) {
    if !text.chars().any(char::is_alphanumeric) {
        return;
    }
    let bullet = text.starts_with(['•', '‣', '▪', '●', '○', '◦', '・', '–', '-', '*']);
    let Some(item) = list_item(&text).filter(|_| bullet) else {
        blocks.push(Block::paragraph(text));
        return;
    };
    match blocks.last_mut() {
        Some(last) if last.kind == FragmentType::List => {
            last.text.push('\n');
            last.text.push_str(item);
        }
        _ => blocks.push(Block::new(FragmentType::List, item)),
    }
}

/// Drops page numbers, and lines that repeat at the top or bottom of many pages with only the
/// numbers changed.
fn without_running_heads(lines: Vec<PdfLine>) -> Vec<PdfLine> {
    let (edges, pages) = edge_lines(&lines);
    let shape = |line: &PdfLine| -> String {
        line.text
            .chars()
            .map(|c| if c.is_numeric() { '0' } else { c })
            .collect::<String>()
            .replace("00", "0")
    };
    let mut seen: HashMap<String, HashSet<u32>> = HashMap::new();
    for at in &edges {
        seen.entry(shape(&lines[*at]))
            .or_default()
            .insert(lines[*at].page);
    }
    let often = (pages / 3).max(3);
    let dropped = |at: usize, line: &PdfLine| {
        let number = line
            .text
            .trim_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '–' | '.' | '|'));
        let is_number =
            !number.is_empty() && number.len() <= 4 && number.chars().all(|c| c.is_ascii_digit());
        edges.contains(&at)
            && (is_number
                || seen
                    .get(&shape(line))
                    .is_some_and(|pages| pages.len() >= often))
    };
    let length = |line: &PdfLine| line.text.len();
    let whole: usize = lines.iter().map(length).sum();
    let lost: usize = lines
        .iter()
        .enumerate()
        .filter(|(at, line)| dropped(*at, line))
        .map(|(_, l)| length(l))
        .sum();
    // Slides and labels repeat themselves: lines that make up much of the file are not running
    // heads.
    if lost * 10 > whole * 3 {
        return lines;
    }
    let keep: Vec<bool> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| !dropped(at, line))
        .collect();
    lines
        .into_iter()
        .zip(keep)
        .filter_map(|(line, keep)| keep.then_some(line))
        .collect()
}

/// The two highest and the two lowest lines of each page, and the number of pages.
fn edge_lines(lines: &[PdfLine]) -> (HashSet<usize>, usize) {
    let mut edges: HashSet<usize> = HashSet::new();
    let (mut start, mut pages) = (0, 0);
    for page in lines.chunk_by(|a, b| a.page == b.page) {
        pages += 1;
        let mut by_height: Vec<usize> = (start..start + page.len()).collect();
        by_height.sort_by(|a, b| lines[*b].base.total_cmp(&lines[*a].base));
        edges.extend(
            by_height
                .iter()
                .take(2)
                .chain(by_height.iter().rev().take(2)),
        );
        start += page.len();
    }
    (edges, pages)
}

/// The size that most characters have.
fn body_size(lines: &[PdfLine]) -> f64 {
    let mut counts: HashMap<i64, usize> = HashMap::new();
    for line in lines {
        *counts.entry((line.size * 10.0).round() as i64).or_default() += line.text.len();
    }
    let most = counts
        .into_iter()
        .max_by_key(|(size, count)| (*count, *size));
    most.map_or(10.0, |(size, _)| size as f64 / 10.0)
}

/// The usual distance between two baselines of the text.
fn usual_leading(lines: &[PdfLine], body: f64) -> f64 {
    let mut gaps: Vec<f64> = lines
        .windows(2)
        .filter(|pair| pair[0].page == pair[1].page && (pair[0].size - body).abs() < 0.1 * body)
        .map(|pair| pair[0].base - pair[1].base)
        .filter(|gap| *gap > 0.8 * body && *gap < 2.5 * body)
        .collect();
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied().unwrap_or(1.2 * body)
}

/// The largest size on the first page, if it stands out and only a few lines have it.
fn title_size(lines: &[PdfLine], body: f64) -> Option<f64> {
    let first = lines.first()?.page;
    let page = || {
        lines
            .iter()
            .filter(|line| line.page == first && line.text.chars().count() >= 4)
    };
    let largest = page().map(|line| line.size).max_by(f64::total_cmp)?;
    let lines_of_it = page().filter(|line| line.size >= 0.98 * largest).count();
    (largest >= 1.2 * body && lines_of_it <= 6).then_some(largest)
}

/// Whether `line` begins a new group after the lines of `group`.
fn is_break(group: &[&PdfLine], line: &PdfLine, next: Option<&PdfLine>, leading: f64) -> bool {
    let Some(last) = group.last() else {
        return true;
    };
    let size = last.size.max(line.size).max(1.0);
    let larger = last.size.max(line.size) / last.size.min(line.size).max(0.1);
    let tiny = line.text.chars().count() <= 3 || last.text.chars().count() <= 3;
    if larger > LARGER && !tiny {
        return true;
    }
    if begins_item(&line.text) {
        return true;
    }
    let widest = group
        .iter()
        .map(|l| l.right)
        .fold(f64::MIN, f64::max)
        .max(line.right);
    let short = last.right < widest - 3.0 * size;
    let ended = ends_sentence(&last.text);
    let down = last.base - line.base;
    let follows =
        last.page == line.page && down > -0.5 * size && (line.left - last.left).abs() < 20.0 * size;
    if group.len() == 1 && heads(last, line, leading) {
        return true;
    }
    if group.len() == 1 && heading_level(&last.text).is_some() && (short || line.page != last.page)
    {
        return true;
    }
    if !follows {
        // The text continues in the next column or on the next page unless it had ended.
        let hyphenated = last.text.ends_with(['-', '\u{2010}']);
        let goes_on = !ended && starts_lower(&line.text);
        return !hyphenated
            && !goes_on
            && (ended && (short || is_indented(line, next, size)) || !ended && !is_prose(group));
    }
    let spaced = down > leading.max(last.size) * 1.35;
    spaced
        || (ended && short)
        || (is_indented(line, next, size) && line.left > last.left + 0.7 * size)
        || (heading_level(&line.text).is_some() && ended && down > 1.05 * leading)
}

/// Whether a line is the heading of the line below it: short, without final punctuation, and
/// separated from a text that starts anew and continues. Neither weight nor colour is known here.
fn heads(line: &PdfLine, next: &PdfLine, leading: f64) -> bool {
    let begins = |text: &str| {
        text.chars()
            .next()
            .is_some_and(|c| c.is_uppercase() || c.is_numeric() || is_unspaced(c))
    };
    let text = line.text.as_str();
    let count = text.chars().count();
    let down = line.base - next.base;
    let set_off = line.size >= 1.03 * next.size || down >= 1.12 * leading;
    line.page == next.page
        && down > 0.0
        && down < 3.0 * leading
        && set_off
        && (3..=60).contains(&count)
        && text.split_whitespace().count() <= 8
        && text.chars().filter(|c| c.is_alphabetic()).count() * 2 > count
        && begins(text)
        && !ends_sentence(text)
        && !text.ends_with([',', ';', ':', '-'])
        && begins(&next.text)
        && next.text.chars().count()
            >= if next.text.chars().any(is_unspaced) {
                20
            } else {
                40
            }
        && (next.right - next.left) > 1.5 * (line.right - line.left)
        && (line.left - next.left).abs() < 3.0 * line.size
}

fn begins_item(text: &str) -> bool {
    text.starts_with(['•', '‣', '▪', '●', '◦', '・']) && list_item(text).is_some()
}

fn starts_lower(text: &str) -> bool {
    text.chars()
        .next()
        .is_some_and(|c| c.is_lowercase() || is_unspaced(c))
}

/// Whether lines are running text: at least two, long enough to be prose.
fn is_prose(group: &[&PdfLine]) -> bool {
    group.len() >= 2
        && group
            .iter()
            .map(|line| line.text.chars().count())
            .sum::<usize>()
            / group.len()
            >= 25
}

fn is_indented(line: &PdfLine, next: Option<&PdfLine>, size: f64) -> bool {
    next.is_some_and(|next| {
        next.page == line.page && {
            let step = line.left - next.left;
            step > 0.7 * size && step < 5.0 * size
        }
    })
}

/// The heading level of a group that is large, or that is one line that looks like a heading.
fn level_of(group: &[&PdfLine], text: &str, body: f64) -> Option<u8> {
    let count = text.chars().count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    if count > HEADING_CHARS || letters < 2 || group.len() > 3 {
        return None;
    }
    let by_words = if group.len() == 1 {
        heading_level(text)
    } else {
        None
    };
    let large = group.iter().all(|line| line.size >= LARGER * body);
    let worded = letters * 2 > count && !ends_sentence(text) && !text.ends_with([',', ';']);
    by_words.or_else(|| (large && worded).then(|| if group[0].size >= 1.35 * body { 2 } else { 3 }))
}

/// The words of a document, used to decide about hyphens at line ends.
struct Words {
    whole: HashSet<String>,
    hyphenated: HashSet<String>,
}

impl Words {
    fn of(lines: &[PdfLine]) -> Self {
        let mut words = Self {
            whole: HashSet::new(),
            hyphenated: HashSet::new(),
        };
        for line in lines {
            for word in line.text.split_whitespace() {
                let word = word
                    .trim_matches(|c: char| !c.is_alphanumeric() && c != '-')
                    .to_lowercase();
                if word.ends_with('-') {
                    continue;
                }
                if word.contains('-') {
                    words.hyphenated.insert(word);
                } else {
                    words.whole.insert(word);
                }
            }
        }
        words
    }

    /// Joins lines into one text, rejoining words that were hyphenated at the end of a line.
    fn join(&self, group: &[&PdfLine]) -> String {
        let mut out = String::new();
        for line in group {
            if self.divides(&out, &line.text) {
                out.pop();
                out.push_str(line.text.trim());
            } else if out.ends_with(['-', '\u{2010}', '–', '/'])
                && out.len() > 1
                && ![" -", " –"].iter().any(|dash| out.ends_with(dash))
            {
                out.push_str(line.text.trim());
            } else {
                lines::push_line(&mut out, &line.text);
            }
        }
        lines::collapse(&out)
    }

    /// Whether the hyphen at the end of `before` only divides a word.
    fn divides(&self, before: &str, after: &str) -> bool {
        let Some(stem) = before.strip_suffix(['-', '\u{2010}']) else {
            return false;
        };
        let letter = |c: char| c.is_alphabetic();
        let head: String = stem
            .chars()
            .rev()
            .take_while(|c| letter(*c))
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        let tail: String = after.chars().take_while(|c| letter(*c)).collect();
        if head.is_empty() || !tail.starts_with(char::is_lowercase) {
            return false;
        }
        let (head, tail) = (head.to_lowercase(), tail.to_lowercase());
        self.whole.contains(&format!("{head}{tail}"))
            || !self.hyphenated.contains(&format!("{head}-{tail}"))
    }
}
