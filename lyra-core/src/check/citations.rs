//! Citations in the forms that people write, and the sentences that they belong to.

mod authors;
mod citation;
mod forms;

use citation::CitationMatch;
pub(super) use citation::Further;
pub(super) use citation::{Citation, CitationTarget, Sentence};

use super::draft::{Piece, PieceKind};
use crate::store::text::identifiers::find_identifiers;
use crate::store::text::is_cjk;
use crate::store::text::sentence::sentences;
use regex::Regex;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

/// Link texts that only say where a source is.
static LINK_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^(?:\W*(?:source|link|here|ref|reference|paper|study|article|doi|pdf|\d{1,3}|https?://\S+|10\.\d{4,9}/\S+)\W*)+$",
    )
    .expect("the pattern is sound")
});

/// Maximum number of words in a link text that names no source.
const LONGEST_PHRASE: usize = 5;

/// The sentences of a quotation longer than this, in code points, are kept separate.
const LONGEST_QUOTATION: usize = 800;

/// A citation with its position among the sentences.
struct Placed {
    /// Before this code point of the text without marks.
    at: usize,
    is_mark: bool,
    citation: Citation,
}

/// The sentences of a piece, each with its citations. `numbers` are those of the list of
/// references: a superscript number that is not in the list may be an exponent.
pub(super) fn read(piece: &Piece, numbers: &HashSet<String>) -> Vec<Sentence> {
    let bytes = byte_places(&piece.text);
    let point = |byte: usize| bytes.partition_point(|at| *at < byte);
    let chars: Vec<char> = piece.text.chars().collect();
    let mut plain = Plain::default();
    let mut placed: Vec<Placed> = Vec::new();
    let mut read_to = 0;
    for one in all_found(piece, &bytes, numbers) {
        let (start, end) = (point(one.bytes.start), point(one.bytes.end));
        if start < read_to && one.place.is_none() {
            // Skips a match inside an earlier one, such as an address in brackets.
            if let Some(last) = placed.last_mut()
                && last.citation.names_authors()
            {
                last.citation.targets = one.targets;
            }
            continue;
        }
        plain.add(&chars, read_to..start.max(read_to));
        let blank = chars[start..end].iter().take_while(|c| c.is_whitespace());
        let blank = blank.count();
        let visible = (start + blank).min(end)..end;
        placed.push(Placed {
            at: plain.places.len() + if one.is_mark { 0 } else { blank },
            is_mark: one.is_mark,
            citation: Citation {
                span: one.place.unwrap_or_else(|| piece.place(&visible)),
                targets: one.targets,
                is_pointer: one.is_pointer,
            },
        });
        if !one.is_mark {
            plain.add(&chars, start.max(read_to)..end.max(read_to));
        }
        read_to = end.max(read_to);
    }
    plain.add(&chars, read_to..chars.len());
    assign(piece, &plain, placed)
}

/// The byte offset of each code point, and of the end of the text.
fn byte_places(text: &str) -> Vec<usize> {
    let starts = text.char_indices().map(|(at, _)| at);
    starts.chain([text.len()]).collect()
}

/// All citations in a piece, in order. `bytes` are the byte offsets of its code points.
fn all_found(piece: &Piece, bytes: &[usize], numbers: &HashSet<String>) -> Vec<CitationMatch> {
    let mut found = Vec::new();
    marks_of_format(piece, bytes, &mut found);
    links(piece, bytes, &mut found);
    let mut in_text = Vec::new();
    forms::marks_in_text(&piece.text, numbers, &mut in_text);
    authors::authors(&piece.text, &mut in_text);
    let code: Vec<Range<usize>> = piece
        .code
        .iter()
        .filter_map(|span| Some(*bytes.get(span.start)?..*bytes.get(span.end)?))
        .collect();
    found.extend(in_text.into_iter().filter(|one| {
        let next = code.partition_point(|span| span.end <= one.bytes.start);
        code.get(next)
            .is_none_or(|span| one.bytes.end <= span.start)
    }));
    // Citations marked by the format take precedence over those recognised by their wording.
    found.sort_by_key(|one| (one.bytes.start, one.place.is_none(), one.bytes.end));
    found
}

/// The format's own citation marks.
fn marks_of_format(piece: &Piece, bytes: &[usize], found: &mut Vec<CitationMatch>) {
    for mark in &piece.marks {
        let at = |point: usize| bytes.get(point).copied().unwrap_or(piece.text.len());
        let mut words = at(mark.at)..at(mark.at + mark.words);
        let is_mark = words.is_empty();
        let (before, after) = (&piece.text[..words.start], &piece.text[words.end..]);
        if is_mark && before.ends_with(' ') && !after.starts_with(char::is_alphanumeric) {
            words.start -= 1;
        }
        let targets = mark
            .keys
            .iter()
            .cloned()
            .map(CitationTarget::Label)
            .collect();
        found.push(CitationMatch {
            is_mark,
            place: Some(mark.span.clone()),
            ..CitationMatch::mark(words, targets)
        });
    }
}

/// The text of a piece without marks, and for each code point its place in the piece's text.
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

/// Splits the text into sentences and gives each the citations in it or after it.
fn assign(piece: &Piece, plain: &Plain, placed: Vec<Placed>) -> Vec<Sentence> {
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
    for Placed {
        at,
        is_mark,
        citation,
    } in placed
    {
        // A mark between two sentences belongs to the first, citing words to the sentence that they begin.
        let begins = |span: &Range<usize>| span.start < at || !is_mark && span.start == at;
        let index = spans.partition_point(begins).saturating_sub(1);
        let index = index.min(cut.len().saturating_sub(1));
        if let Some(sentence) = cut.get_mut(index) {
            sentence.citations.push(citation);
        }
    }
    cut
}

/// Joins the sentences of one quotation: a citation at its end applies to all of it.
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

fn links(piece: &Piece, bytes: &[usize], found: &mut Vec<CitationMatch>) {
    for link in &piece.links {
        let (Some(start), Some(end)) = (bytes.get(link.span.start), bytes.get(link.span.end))
        else {
            continue;
        };
        let words = &piece.text[*start..*end];
        let raised = forms::raised_number(words);
        let Some(target) = link_target(&link.url, words, raised.as_deref()) else {
            continue;
        };
        let is_mark = words.is_empty() || raised.is_some() || LINK_WORDS.is_match(words);
        let before = piece.text[..*start].trim_end();
        let is_in_brackets = before.ends_with(['(', '[']);
        let is_plain = !is_mark && !is_in_brackets && find_identifiers(&link.url).is_empty();
        let one = CitationMatch {
            is_mark,
            is_pointer: is_plain && is_phrase(words),
            ..CitationMatch::mark(*start..*end, vec![target])
        };
        found.push(with_brackets(&piece.text, one));
    }
}

/// What a link cites; none if it points to a section of the draft or is read as a number.
fn link_target(url: &str, words: &str, raised: Option<&str>) -> Option<CitationTarget> {
    let Some(anchor) = url.strip_prefix('#') else {
        return Some(CitationTarget::Address(url.to_owned()));
    };
    if let Some(number) = raised {
        return Some(CitationTarget::Label(number.to_owned()));
    }
    // `[3]` as a link to the list below is read as a number.
    if forms::is_number_in_brackets(words) || !anchor.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = anchor.trim_start_matches(|c: char| !c.is_ascii_digit());
    Some(CitationTarget::Label(digits.to_owned()))
}

/// Whether a short text names no source: no title, no author, no year.
fn is_phrase(words: &str) -> bool {
    words.split_whitespace().count() <= LONGEST_PHRASE
        && !words.contains(|c: char| c.is_uppercase() || c.is_ascii_digit() || is_cjk(c))
}

/// A mark together with the space before it and the brackets around it.
fn with_brackets(text: &str, mut found: CitationMatch) -> CitationMatch {
    if !found.is_mark {
        return found;
    }
    let (before, after) = (&text[..found.bytes.start], &text[found.bytes.end..]);
    for (open, close) in [('(', ')'), ('[', ']')] {
        if before.ends_with(open) && after.starts_with(close) {
            found.bytes = found.bytes.start - 1..found.bytes.end + 1;
        }
    }
    let joins = found.bytes.is_empty() && after.starts_with(char::is_alphanumeric);
    if text[..found.bytes.start].ends_with(' ') && !joins {
        found.bytes.start -= 1;
    }
    found
}

#[cfg(test)]
mod tests;
