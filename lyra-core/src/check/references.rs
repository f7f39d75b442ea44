//! The list of references of a draft.

use super::draft::{Piece, PieceKind};
use crate::text::identifiers::{Identifiers, find_identifiers};
use regex::Regex;
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
];

static NUMBERED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|\s)(?:\[(\d{1,3})\]|(\d{1,3})[.)])\s").expect("the pattern is sound")
});
static LABELLED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\[([^\]\s]{1,60})\]:?\s").expect("the pattern is sound"));
static YEAR: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b((?:19|20)\d{2})[a-z]?\b").expect("the pattern is sound"));

/// An entry of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Number, label of a note, or key.
    pub(super) label: Option<String>,
    /// As it is written.
    pub(super) text: String,
    /// Code points of the draft; none for an entry of a file beside it.
    pub(super) span: Option<Range<usize>>,
    pub(super) ids: Identifiers,
    /// Addresses that are no DOI, and paths of files.
    pub(super) urls: Vec<String>,
    /// Years that it names outside of addresses.
    pub(super) years: Vec<i64>,
    /// The title, where a field says which part it is.
    pub(super) title: Option<String>,
}

impl Entry {
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
            // "PMID: 123" and "doi: 10.1/x" are two words.
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

    /// The words that are no address and no identifier.
    pub(super) fn prose(&self) -> String {
        let words = self.text.split_whitespace();
        let plain = words.filter(|word| !word.contains("://") && find_identifiers(word).is_empty());
        plain.collect::<Vec<_>>().join(" ")
    }
}

/// What a draft says, told from the list of what it cites.
pub(super) struct Parts<'d> {
    /// With the sections that hold references left out.
    pub(super) prose: Vec<&'d Piece>,
    pub(super) entries: Vec<Entry>,
}

/// Tells the list of references from the text.
pub(super) fn split(pieces: &[Piece]) -> Parts<'_> {
    let mut parts = Parts {
        prose: Vec::new(),
        entries: Vec::new(),
    };
    let mut inside: Option<u8> = None;
    for piece in pieces {
        match &piece.kind {
            PieceKind::Heading(level) => {
                let name = heading_name(&piece.text);
                if HEADINGS.contains(&name.as_str()) {
                    inside = Some(*level);
                    continue;
                }
                if inside.is_some_and(|of| *level <= of) {
                    inside = None;
                }
                parts.prose.push(piece);
            }
            PieceKind::Note(label) => {
                let entry = whole(Some(label.clone()), piece);
                parts.entries.push(entry);
            }
            PieceKind::Paragraph if inside.is_none() && is_heading_line(piece) => inside = Some(1),
            _ if inside.is_some() => entries_of(piece, &mut parts.entries),
            _ => parts.prose.push(piece),
        }
    }
    // Numbers that the list leaves out are its order.
    let unnumbered = parts.entries.iter().all(|entry| entry.label.is_none());
    for (at, entry) in parts.entries.iter_mut().enumerate().filter(|_| unnumbered) {
        entry.label = Some((at + 1).to_string());
    }
    parts
}

/// `3. References:` → `references`.
fn heading_name(text: &str) -> String {
    let name = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' '));
    name.trim_end_matches([':', ' ']).to_lowercase()
}

/// Plain text marks its headings by nothing.
fn is_heading_line(piece: &Piece) -> bool {
    HEADINGS.contains(&heading_name(&piece.text).as_str())
}

fn whole(label: Option<String>, piece: &Piece) -> Entry {
    part(label, piece, 0..piece.len())
}

fn part(label: Option<String>, piece: &Piece, span: Range<usize>) -> Entry {
    let chars = piece.text.chars().skip(span.start).take(span.len());
    let mut text: String = chars.collect();
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
    let mut entry = Entry::new(label, text.trim().to_owned(), Some(piece.place(&span)));
    entry.urls.extend(paths);
    entry
}

/// The entries of a piece of the list: one, or as many as it has numbers in order.
fn entries_of(piece: &Piece, entries: &mut Vec<Entry>) {
    if let PieceKind::Item(Some(number)) = piece.kind {
        entries.push(whole(Some(number.to_string()), piece));
        return;
    }
    let point = |byte: usize| piece.text[..byte].chars().count();
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
        let label = LABELLED.captures(&piece.text).map(|found| {
            let end = found.get(0).map_or(0, |all| all.end());
            (found[1].trim_start_matches('^').to_owned(), point(end))
        });
        let (label, start) = label.map_or((None, 0), |(label, start)| (Some(label), start));
        entries.push(part(label, piece, start..piece.len()));
        return;
    }
    for (at, (_, start, label)) in starts.iter().enumerate() {
        let end = starts.get(at + 1).map_or(piece.text.len(), |next| next.0);
        let span = point(*start)..point(end);
        entries.push(part(Some(label.clone()), piece, span));
    }
}
