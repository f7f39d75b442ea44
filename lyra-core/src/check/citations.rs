//! Citations in the forms that people write, and the sentences that they belong to.

use super::draft::{Piece, PieceKind};
use crate::text::identifiers::find_identifiers;
use crate::text::is_cjk;
use crate::text::sentence::sentences;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($pattern).expect("the pattern is sound"));
    };
}

pattern!(
    NUMBERS,
    r"\s?\(?\[\^?(\d{1,3}(?:\s?[-–,;]\s?\d{1,3})*)\]\)?|[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:[⁻,˒][⁰¹²³⁴⁵⁶⁷⁸⁹]+)*"
);
pattern!(KEYS, r"\s?\[[^\[\]@]{0,40}@[^\[\]]{1,300}\]");
pattern!(KEY, r"@([\p{L}\d][\p{L}\d_:.#$%&+?<>~/-]*[\p{L}\d])");
pattern!(
    BARE_KEY,
    r"(?:^|[\s(])(@[\p{L}][\p{L}\d_:-]*\d{4}[\p{L}\d_:-]*)"
);
pattern!(BRACKETED, r"\s?\(([^()]{4,300})\)");
// One work of a list such as "see Smith et al., 2019; Jones & Roe 2020a, p. 4".
pattern!(
    AUTHOR_YEAR,
    r"^(?:(?:see|see also|e\.g\.,?|cf\.|reviewed in|in)\s+)?(?P<who>(?:(?:van|von|de|der|den|di|la|le|du|da|dos|el|al)\s+)*\p{Lu}[\p{L}'’.-]+(?:\s+\p{Lu}[\p{L}'’.-]+){0,5})(?:,?\s+et\s+al\.?|(?:,\s+\p{Lu}[\p{L}'’-]+)*,?\s+(?:and|&)\s+\p{Lu}[\p{L}'’-]+)?,?\s+\(?(?P<year>(?:19|20)\d{2})[a-z]?\)?(?:\s*[,:]\s*(?:pp?\.|ch\.|sec\.|table|fig\.)?\s?[\w.–-]+)?$"
);
pattern!(
    NARRATIVE,
    r"(?P<who>(?:(?:van|von|de|der|den|di|la|le|du)\s+)?\p{Lu}[\p{L}'’-]+)(?:\s+et\s+al\.?,?|\s+(?:and|&)\s+\p{Lu}[\p{L}'’-]+|\s+and\s+colleagues)?(?:['’]s)?\s+\((?P<year>(?:19|20)\d{2})[a-z]?\)"
);
pattern!(
    IDENTIFIER,
    r"(?i)\s?\(?(?:doi:?\s*|https?://(?:dx\.)?doi\.org/)?10\.\d{4,9}/[^\s\]]+|\s?\(?\b(?:PMID:?\s?\d{4,9}|arXiv:\s?\d{4}\.\d{4,5}(?:v\d+)?)\)?"
);
pattern!(ADDRESS, r#"\s?\(?https?://[^\s<>"\]]+"#);
pattern!(
    LINK_WORDS,
    r"(?i)^(?:\W*(?:source|link|here|ref|reference|paper|study|article|doi|pdf|\d{1,3}|https?://\S+|10\.\d{4,9}/\S+)\W*)+$"
);

/// Words that a link may stand on and name no source.
const LONGEST_PHRASE: usize = 5;

/// Sentences of a longer quotation stand alone, in code points.
const LONGEST_QUOTATION: usize = 800;

/// Words before a year that are no author's.
const MONTHS: &[&str] = &[
    "Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec",
    "Spring", "Summer", "Autumn", "Winter", "Fall",
];

/// What a citation names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// The entry with this number or label, or this key of the bibliography.
    Label(String),
    /// The first author's family name and the year.
    AuthorYear(String, i64),
    /// An address, a file, or a text with a DOI, PubMed or arXiv id.
    Address(String),
}

/// A citation and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Citation {
    /// Code points of the draft.
    pub(super) span: Range<usize>,
    pub(super) targets: Vec<Target>,
    /// A link on words of the sentence that name no source, as in "see how to [install] it": it may
    /// lead to more on these words, and not to where the sentence is from.
    pub(super) is_pointer: bool,
}

/// A sentence without the marks of its citations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) text: String,
    /// Code points of the draft.
    pub(super) span: Range<usize>,
    pub(super) citations: Vec<Citation>,
}

/// What was found in a piece.
struct Found {
    /// Bytes of the piece's text.
    bytes: Range<usize>,
    targets: Vec<Target>,
    /// Whether the words are no part of the sentence.
    is_mark: bool,
    /// See [`Citation::is_pointer`].
    is_pointer: bool,
}

/// The sentences of a piece, each with what it cites.
pub(super) fn read(piece: &Piece) -> Vec<Sentence> {
    let mut found = Vec::new();
    links(piece, &mut found);
    marks_in_text(&piece.text, &mut found);
    found.sort_by_key(|one| (one.bytes.start, one.bytes.end));
    let boundaries: Vec<usize> = piece.text.char_indices().map(|(at, _)| at).collect();
    let point = |byte: usize| boundaries.partition_point(|at| *at < byte);
    let chars: Vec<char> = piece.text.chars().collect();
    let mut plain = Plain::default();
    let mut citations: Vec<(usize, Citation)> = Vec::new();
    let mut read_to = 0;
    for one in found {
        let (start, end) = (point(one.bytes.start), point(one.bytes.end));
        if start < read_to {
            // Inside what was read already, as an address in brackets is.
            if let Some((_, last)) = citations.last_mut()
                && last
                    .targets
                    .iter()
                    .all(|t| matches!(t, Target::AuthorYear(..)))
            {
                last.targets = one.targets;
            }
            continue;
        }
        plain.add(&chars, read_to..start);
        let citation = Citation {
            span: piece.place(&(start..end)),
            targets: one.targets,
            is_pointer: one.is_pointer,
        };
        citations.push((plain.places.len(), citation));
        if !one.is_mark {
            plain.add(&chars, start..end);
        }
        read_to = end;
    }
    plain.add(&chars, read_to..chars.len());
    for mark in &piece.marks {
        let citation = Citation {
            span: mark.span.clone(),
            targets: mark.keys.iter().cloned().map(Target::Label).collect(),
            is_pointer: false,
        };
        let at = plain.places.partition_point(|place| *place < mark.at);
        citations.push((at, citation));
    }
    assign(piece, &plain, citations)
}

/// The text of a piece without marks; for each code point its place in the piece's text.
#[derive(Default)]
struct Plain {
    text: String,
    places: Vec<usize>,
}

impl Plain {
    fn add(&mut self, chars: &[char], span: Range<usize>) {
        self.text.extend(&chars[span.clone()]);
        self.places.extend(span);
    }
}

/// Cuts the sentences and gives each what stands in it or behind it.
fn assign(piece: &Piece, plain: &Plain, citations: Vec<(usize, Citation)>) -> Vec<Sentence> {
    let spans = match piece.kind {
        PieceKind::Heading(_) => std::iter::once(0..plain.places.len()).collect(),
        _ => sentences(&plain.text),
    };
    let chars: Vec<char> = plain.text.chars().collect();
    let spans = with_whole_quotations(spans, &chars);
    let mut cut: Vec<Sentence> = Vec::with_capacity(spans.len());
    for span in &spans {
        let (Some(first), Some(last)) = (
            plain.places.get(span.start),
            span.end.checked_sub(1).and_then(|at| plain.places.get(at)),
        ) else {
            continue;
        };
        cut.push(Sentence {
            text: chars[span.clone()].iter().collect(),
            span: piece.place(&(*first..last + 1)),
            citations: Vec::new(),
        });
    }
    for (at, citation) in citations {
        // At the end of one and before the next: it belongs to the one that it follows.
        let index = spans
            .partition_point(|span| span.start < at)
            .saturating_sub(1);
        let index = index.min(cut.len().saturating_sub(1));
        if let Some(sentence) = cut.get_mut(index) {
            sentence.citations.push(citation);
        }
    }
    cut
}

/// Joins the sentences of one quotation: what is cited at its end is cited for all of it.
fn with_whole_quotations(spans: Vec<Range<usize>>, chars: &[char]) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last)
                if span.end - last.start <= LONGEST_QUOTATION
                    && is_open(&chars[last.clone()])
                    && chars[span.clone()].contains(&'”') =>
            {
                last.end = span.end;
            }
            _ => joined.push(span),
        }
    }
    joined
}

/// Whether a quotation begins and does not end.
fn is_open(chars: &[char]) -> bool {
    let last = |mark: char| chars.iter().rposition(|c| *c == mark);
    last('“').is_some_and(|opened| last('”').is_none_or(|closed| closed < opened))
}

fn links(piece: &Piece, found: &mut Vec<Found>) {
    let bytes: Vec<usize> = piece
        .text
        .char_indices()
        .map(|(at, _)| at)
        .chain(std::iter::once(piece.text.len()))
        .collect();
    for link in &piece.links {
        let (Some(start), Some(end)) = (bytes.get(link.span.start), bytes.get(link.span.end))
        else {
            continue;
        };
        let words = &piece.text[*start..*end];
        let anchor = link.url.strip_prefix('#');
        let target = match anchor {
            // `[3]` as a link to the list below is read as a number.
            Some(_) if NUMBERS.is_match(words) => continue,
            Some(anchor) => {
                let digits = anchor.trim_start_matches(|c: char| !c.is_ascii_digit());
                Target::Label(if digits.is_empty() { anchor } else { digits }.to_owned())
            }
            None => Target::Address(link.url.clone()),
        };
        let is_mark = words.is_empty() || LINK_WORDS.is_match(words);
        let before = piece.text[..*start].trim_end();
        let is_in_brackets = before.ends_with(['(', '[']);
        let is_plain = !is_mark && !is_in_brackets && find_identifiers(&link.url).is_empty();
        found.push(with_brackets(
            &piece.text,
            Found {
                is_mark,
                is_pointer: is_plain && is_phrase(words),
                bytes: *start..*end,
                targets: vec![target],
            },
        ));
    }
}

/// Whether a few words name nothing: no title, no author, no year.
fn is_phrase(words: &str) -> bool {
    words.split_whitespace().count() <= LONGEST_PHRASE
        && !words.contains(|c: char| c.is_uppercase() || c.is_ascii_digit() || is_cjk(c))
}

/// A mark together with the space before it and the brackets around it.
fn with_brackets(text: &str, mut found: Found) -> Found {
    if !found.is_mark {
        return found;
    }
    let (before, after) = (&text[..found.bytes.start], &text[found.bytes.end..]);
    for (open, close) in [('(', ')'), ('[', ']')] {
        if before.ends_with(open) && after.starts_with(close) {
            found.bytes = found.bytes.start - 1..found.bytes.end + 1;
        }
    }
    if text[..found.bytes.start].ends_with(' ') {
        found.bytes.start -= 1;
    }
    found
}

fn marks_in_text(text: &str, found: &mut Vec<Found>) {
    for hit in NUMBERS.find_iter(text) {
        let labels = numbers(hit.as_str());
        if labels.is_empty() {
            continue;
        }
        found.push(Found {
            bytes: hit.range(),
            targets: labels.into_iter().map(Target::Label).collect(),
            is_mark: true,
            is_pointer: false,
        });
    }
    for hit in KEYS.find_iter(text) {
        let keys = KEY.captures_iter(hit.as_str());
        found.push(Found {
            bytes: hit.range(),
            targets: keys.map(|key| Target::Label(key[1].to_owned())).collect(),
            is_mark: true,
            is_pointer: false,
        });
    }
    for hit in BARE_KEY.captures_iter(text) {
        let key = hit.get(1).expect("the pattern has one group");
        found.push(Found {
            bytes: key.range(),
            targets: vec![Target::Label(key.as_str()[1..].to_owned())],
            is_mark: false,
            is_pointer: false,
        });
    }
    for hit in IDENTIFIER.find_iter(text).chain(ADDRESS.find_iter(text)) {
        let closed = hit.as_str().trim_end_matches(['.', ',', ';', ':']);
        let bytes = hit.start()..hit.start() + closed.len();
        let address = closed.trim().trim_start_matches('(').trim_end_matches(')');
        if address.starts_with("http") || !find_identifiers(address).is_empty() {
            found.push(Found {
                bytes,
                targets: vec![Target::Address(address.to_owned())],
                is_mark: true,
                is_pointer: false,
            });
        }
    }
    authors(text, found);
}

fn authors(text: &str, found: &mut Vec<Found>) {
    for hit in BRACKETED.captures_iter(text) {
        let targets: Option<Vec<Target>> = hit[1].split(';').map(author_year).collect();
        if let Some(targets) = targets {
            found.push(Found {
                bytes: hit.get(0).expect("a match has a whole").range(),
                targets,
                is_mark: true,
                is_pointer: false,
            });
        }
    }
    for hit in NARRATIVE.captures_iter(text) {
        let year = hit["year"].parse().unwrap_or_default();
        found.push(Found {
            bytes: hit.get(0).expect("a match has a whole").range(),
            targets: vec![Target::AuthorYear(hit["who"].to_owned(), year)],
            is_mark: false,
            is_pointer: false,
        });
    }
}

fn author_year(part: &str) -> Option<Target> {
    let found = AUTHOR_YEAR.captures(part.trim())?;
    if MONTHS.iter().any(|month| found["who"].starts_with(month)) {
        return None;
    }
    let year = found["year"].parse().ok()?;
    Some(Target::AuthorYear(
        found["who"].trim_end_matches('.').to_owned(),
        year,
    ))
}

/// `[2, 4-6]` → 2, 4, 5, 6; also raised digits.
fn numbers(mark: &str) -> Vec<String> {
    const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    let plain: String = mark
        .chars()
        .map(|c| match RAISED.chars().position(|raised| raised == c) {
            Some(digit) => char::from(b'0' + u8::try_from(digit).unwrap_or_default()),
            None if matches!(c, '–' | '⁻') => '-',
            None if matches!(c, ';' | '˒') => ',',
            None => c,
        })
        .filter(|c| c.is_ascii_digit() || matches!(c, '-' | ','))
        .collect();
    let mut labels = Vec::new();
    for part in plain.split(',').filter(|part| !part.is_empty()) {
        match part.split_once('-').map(|(a, b)| (a.parse(), b.parse())) {
            Some((Ok(first), Ok(last))) if first <= last && last - first < 100 => {
                labels.extend((first..=last).map(|n: u32| n.to_string()));
            }
            Some(_) => return Vec::new(),
            None => labels.push(part.to_owned()),
        }
    }
    // `x²` is a power and `10³` is no note.
    let is_raised = mark.starts_with(|c| RAISED.contains(c));
    if is_raised && (labels == ["2"] || labels == ["3"]) {
        return Vec::new();
    }
    labels
}

#[cfg(test)]
mod tests;
