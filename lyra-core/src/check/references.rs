//! The list of references of a draft.

use super::draft::{Piece, PieceKind};
use crate::error::{Error, Result};
use crate::store::text::identifiers::{Identifiers, find_identifiers};
use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Headings of lists of references, lower case.
const HEADINGS: &[&str] = &[
    "references",
    "reference list",
    "bibliography",
    "works cited",
    "literature",
    "literature cited",
    "sources",
    "citations",
    "notes",
    "endnotes",
    "footnotes",
    "参考文献",
    "literatur",
    "références",
    "referencias",
    "bibliografía",
    "bibliographie",
    "reference",
    "references and notes",
    "notes and references",
    "references cited",
    "cited references",
    "cited literature",
    "literaturverzeichnis",
    "quellen",
    "quellenverzeichnis",
    "bibliografia",
    "riferimenti",
    "referências",
    "referências bibliográficas",
    "referencias bibliográficas",
    "références bibliographiques",
    "список литературы",
    "литература",
    "参考",
    "参考資料",
    "引用文献",
    "文献",
    "참고문헌",
];

static NUMBERED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|\s)(?:\[(\d{1,3})\]|(\d{1,3})[.)])\s").expect("the pattern is sound")
});
static LABELLED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\[([^\]\s]{1,60})\]:?\s").expect("the pattern is sound"));
/// How an entry begins: "Roe, B.", "Roe B,", "World Health Organization (2019)".
static BEGINS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"^["“'‘]?(?:(?:van|von|de|der|den|di|la|le|du)\s+)*\p{Lu}(?:[\p{L}'’-]+(?:\s\p{Lu}[\p{L}'’-]+)?,?\s\p{Lu}{1,3}(?:[\s.,;&:]|$)|[\p{L}'’-]+,\s\p{Lu}|[^()]{1,150}\((?:19|20)[0-9]{2})"#,
    )
    .expect("the pattern is sound")
});
static YEAR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b((?:19|20)\d{2})[a-z]?\b").expect("the pattern is sound"));

/// An entry of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReferenceEntry {
    /// Number, label of a note, or key.
    pub(super) label: Option<String>,
    /// As it is written.
    pub(super) text: String,
    /// Code points of the draft; none for an entry of a separate file.
    pub(super) span: Option<Range<usize>>,
    pub(super) ids: Identifiers,
    /// Addresses that are not DOIs, and paths of files.
    pub(super) urls: Vec<String>,
    /// Years outside of addresses.
    pub(super) years: Vec<i64>,
    /// The title, if a field gives it.
    pub(super) title: Option<String>,
}

impl ReferenceEntry {
    pub(super) fn new(label: Option<String>, text: String, span: Option<Range<usize>>) -> Self {
        let mut ids = Identifiers::default();
        let mut urls = Vec::new();
        let mut prose = String::new();
        for word in text.split_whitespace() {
            let found = find_identifiers(word);
            let bare = word.trim_matches(['<', '>', '(', ')', '.', ',', ';', '[', ']']);
            if !found.is_empty() {
                if ids.is_empty() {
                    ids = found;
                }
            } else if bare.starts_with("http://") || bare.starts_with("https://") {
                urls.push(bare.to_owned());
            } else {
                prose.push_str(word);
                prose.push(' ');
            }
        }
        if ids.is_empty() {
            // "PMID: 123" and "doi: 10.1/x" are two words each.
            ids = find_identifiers(&text);
        }
        let years = YEAR.captures_iter(&prose);
        Self {
            years: years.filter_map(|year| year[1].parse().ok()).collect(),
            label,
            span,
            ids,
            urls,
            title: None,
            text,
        }
    }

    /// The words that are not part of an address or identifier.
    pub(super) fn prose(&self) -> String {
        let words = self.text.split_whitespace();
        let plain = words.filter(|word| !word.contains("://") && find_identifiers(word).is_empty());
        plain.collect::<Vec<_>>().join(" ")
    }
}

/// The text of a draft, separated from its list of references.
pub(super) struct Parts<'d> {
    /// The prose without the sections that contain references.
    pub(super) prose: Vec<Cow<'d, Piece>>,
    pub(super) entries: Vec<ReferenceEntry>,
}

/// Separates the list of references from the text.
pub(super) fn split(pieces: &[Piece]) -> Parts<'_> {
    let mut parts = Parts {
        prose: Vec::new(),
        entries: Vec::new(),
    };
    let mut inside: Option<u8> = None;
    // Labels of notes are independent of those of the list.
    let mut of_the_list = Vec::new();
    for piece in pieces {
        match &piece.kind {
            PieceKind::Heading(level) => {
                if is_heading(&piece.text) {
                    inside = Some(*level);
                    continue;
                }
                if inside.is_some_and(|of| *level <= of) {
                    inside = None;
                }
                parts.prose.push(Cow::Borrowed(piece));
            }
            PieceKind::Note(label) => {
                let entry = whole(Some(label.clone()), piece);
                parts.entries.push(entry);
            }
            // Plain text has no markup for headings.
            PieceKind::Paragraph if inside.is_none() && is_heading(&piece.text) => inside = Some(1),
            _ if inside.is_some() => {
                let first = parts.entries.len();
                entries_of(piece, &mut parts.entries);
                of_the_list.extend(first..parts.entries.len());
            }
            _ => match heading_line(piece) {
                Some(line) => {
                    inside = Some(1);
                    let before = piece.part(0..line.start);
                    let before = Some(before).filter(|before| !before.text.is_empty());
                    parts.prose.extend(before.map(Cow::Owned));
                    let first = parts.entries.len();
                    entries_of(&piece.part(line.end..piece.len()), &mut parts.entries);
                    of_the_list.extend(first..parts.entries.len());
                }
                None => parts.prose.push(Cow::Borrowed(piece)),
            },
        }
    }
    number(&mut parts.entries, &of_the_list);
    parts
}

/// Numbers the entries in order, if the list has no numbers.
fn number(entries: &mut [ReferenceEntry], of_the_list: &[usize]) {
    let is_unnumbered = |at: &usize| entries.get(*at).is_some_and(|one| one.label.is_none());
    if !of_the_list.iter().all(is_unnumbered) {
        return;
    }
    for (order, at) in of_the_list.iter().enumerate() {
        if let Some(entry) = entries.get_mut(*at) {
            entry.label = Some((order + 1).to_string());
        }
    }
}

/// Whether this is the heading of a list of references, such as `3. References:`.
fn is_heading(text: &str) -> bool {
    let name = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' '));
    let name = name.trim_end_matches([':', '：', ' ']).to_lowercase();
    HEADINGS.contains(&name.as_str())
}

/// The line of a paragraph that is the heading of the entries on the lines after it.
fn heading_line(piece: &Piece) -> Option<Range<usize>> {
    if piece.kind != PieceKind::Paragraph || piece.breaks.is_empty() {
        return None;
    }
    let lines = texts(piece);
    let heading = lines.windows(2).find(|pair| {
        let (heading, next) = (pair[0].1.trim(), pair[1].1.trim());
        // A line of running text may consist of the word alone.
        let is_small = heading.starts_with(char::is_lowercase);
        !is_small && is_heading(heading) && (begins_entry(next) || is_telling(next))
    });
    heading.map(|pair| pair[0].0.clone())
}

/// The lines of a piece: their positions in its text, and their words.
fn texts(piece: &Piece) -> Vec<(Range<usize>, String)> {
    let mut chars = piece.text.chars();
    let mut read_to = 0;
    let lines = piece.lines().into_iter().map(|line| {
        let text = chars.by_ref().skip(line.start - read_to).take(line.len());
        let text: String = text.collect();
        read_to = line.end;
        (line, text)
    });
    lines.collect()
}

fn begins_entry(line: &str) -> bool {
    let line = line.trim();
    LABELLED.is_match(line)
        || NUMBERED.find(line).is_some_and(|at| at.start() == 0)
        || BEGINS.is_match(line)
}

/// Whether a line alone contains enough to identify a work.
fn is_telling(line: &str) -> bool {
    YEAR.is_match(line) || line.contains("://") || !find_identifiers(line).is_empty()
}

/// Whether every line is a separate entry, with no continuation lines.
fn is_line_each(lines: &[(Range<usize>, String)]) -> bool {
    let opens = |text: &str| text.trim().starts_with(|c: char| !c.is_lowercase());
    let is_whole = |text: &str| opens(text) && is_telling(text);
    lines.iter().all(|(_, text)| is_whole(text))
        || lines
            .iter()
            .all(|(_, text)| text.trim().starts_with("http"))
}

fn whole(label: Option<String>, piece: &Piece) -> ReferenceEntry {
    part(label, piece, 0..piece.len(), &piece.text)
}

/// `text` is the text of the span.
fn part(label: Option<String>, piece: &Piece, span: Range<usize>, text: &str) -> ReferenceEntry {
    let mut text = text.to_owned();
    let mut paths = Vec::new();
    for link in &piece.links {
        let inside = span.contains(&link.span.start) || link.span.start == span.start;
        if !inside || link.url.starts_with('#') {
            continue;
        }
        if !link.url.contains("://") {
            paths.push(link.url.clone());
        } else if !text.contains(&link.url) {
            text = format!("{} {}", text.trim_end(), link.url);
        }
    }
    let mut entry = ReferenceEntry::new(label, text.trim().to_owned(), Some(piece.place(&span)));
    entry.urls.extend(paths);
    entry
}

/// The entries in a piece of the list: one, or as many as it has consecutive numbers.
fn entries_of(piece: &Piece, entries: &mut Vec<ReferenceEntry>) {
    if let PieceKind::Item(Some(number)) = piece.kind {
        entries.push(whole(Some(number.to_string()), piece));
        return;
    }
    let mut starts: Vec<(usize, usize, String)> = Vec::new();
    for found in NUMBERED.captures_iter(&piece.text) {
        let all = found.get(0).expect("a match has a whole");
        let Some(number) = found.get(1).or(found.get(2)) else {
            continue;
        };
        let value: u32 = number.as_str().parse().unwrap_or_default();
        let before = starts
            .last()
            .map(|(_, _, label)| label.parse().unwrap_or(0_u32));
        let is_next = match before {
            None => all.start() == 0,
            Some(before) => value == before + 1,
        };
        if is_next {
            starts.push((all.start(), all.end(), number.as_str().to_owned()));
        }
    }
    if starts.is_empty() {
        return unnumbered(piece, entries);
    }
    let mut point = 0;
    let mut counted_to = 0;
    for (at, (_, start, label)) in starts.iter().enumerate() {
        let end = starts.get(at + 1).map_or(piece.text.len(), |next| next.0);
        let text = &piece.text[*start..end];
        let first = point + piece.text[counted_to..*start].chars().count();
        point = first + text.chars().count();
        counted_to = end;
        entries.push(part(Some(label.clone()), piece, first..point, text));
    }
}

/// The entries of a piece without numbers: one per line, or the whole piece.
fn unnumbered(piece: &Piece, entries: &mut Vec<ReferenceEntry>) {
    let lines = texts(piece);
    let mut open: Option<(Range<usize>, String)> = None;
    let is_list = is_line_each(&lines);
    for (span, text) in lines {
        match &mut open {
            Some((whole, words)) if !is_list && !begins_entry(&text) => {
                whole.end = span.end;
                words.push_str(&text);
            }
            _ => entries.extend(open.replace((span, text)).map(|one| labelled(piece, one))),
        }
        if entries.len() > MOST_REFERENCES {
            // The caller refuses lists that are too long.
            return;
        }
    }
    entries.extend(open.map(|one| labelled(piece, one)));
}

/// `[Roe19] Roe, B. …` without its label.
fn labelled(piece: &Piece, (mut span, text): (Range<usize>, String)) -> ReferenceEntry {
    let blank = text.chars().rev().take_while(|c| c.is_whitespace());
    span.end -= blank.count();
    let Some(found) = LABELLED.captures(&text) else {
        return part(None, piece, span, &text);
    };
    let end = found.get(0).map_or(0, |all| all.end());
    let label = found[1].trim_start_matches('^').to_owned();
    let start = span.start + text[..end].chars().count();
    part(
        Some(label),
        piece,
        start.min(span.end)..span.end,
        &text[end..],
    )
}

/// Maximum number of entries of a list of references.
pub(super) const MOST_REFERENCES: usize = 5_000;

pub(super) fn not_more(count: usize, most: usize, what: &str) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    let message = format!("the draft has {count} {what}; at most {most} are checked at once");
    Err(Error::invalid(message).with_hint("check its chapters one by one"))
}

/// Where a work can be read: its DOI, a page for its identifier, or its address.
pub(super) fn address_of(ids: &Identifiers, url: Option<&str>) -> Option<String> {
    let page = |base: &str, id: &Option<String>| id.as_ref().map(|id| format!("{base}{id}"));
    ids.doi
        .clone()
        .or_else(|| page("https://arxiv.org/abs/", &ids.arxiv_id))
        .or_else(|| page("https://pmc.ncbi.nlm.nih.gov/articles/", &ids.pmcid))
        .or_else(|| page("https://pubmed.ncbi.nlm.nih.gov/", &ids.pmid))
        .or_else(|| url.filter(|url| url.starts_with("http")).map(str::to_owned))
}

#[cfg(test)]
mod tests;
