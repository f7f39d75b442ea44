//! The citation forms of plain text: numbers, keys, authors with years, addresses.

use super::super::draft::RAISED;
use super::citation::{CitationMatch, CitationTarget};
use crate::store::text::identifiers::find_identifiers;
use crate::store::text::is_cjk;
use std::collections::HashSet;
use std::ops::Range;

/// `[2]`, `[see 2, p. 5; 7–9]`.
const GROUP: &str = r"\[(?:(?:see also|see|cf\.|e\.g\.,?|refs?\.?)\s+)?\^?[0-9]{1,3}(?:\s?[-–—]\s?[0-9]{1,3})?(?:\s?[,;]\s?(?:[0-9]{1,3}(?:\s?[-–—]\s?[0-9]{1,3})?|(?:pp?\.|[Cc]h(?:ap)?\.|[Ss]ec\.|§|[Tt]able|[Ff]ig\.|[Cc]hapter|[Ss]ection|pages?|S\.)\s?[\w.–-]{1,20}))*\]";

pattern!(
    NUMBERS,
    &[r"\s?\(?", GROUP, r"(?:\s?[-–—,;]?\s?", GROUP, r")*\)?"].concat()
);
pattern!(ONE_GROUP, GROUP);
pattern!(RAISED_NUMBERS, r"[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:[⁻–,˒][⁰¹²³⁴⁵⁶⁷⁸⁹]+)*");
pattern!(KEYS, r"\s?\[[^\[\]@]{0,40}@[^\[\]]{1,300}\]");
pattern!(KEY, r"@([\p{L}\d][\p{L}\d_:.#$%&+?<>~/-]*[\p{L}\d])");
pattern!(
    BARE_KEY,
    r"(?:^|[\s(])(@[\p{L}][\p{L}\d_:-]*\d{4}[\p{L}\d_:-]*)"
);
pattern!(
    IDENTIFIER,
    r"(?i)\s?\(?(?:doi:?\s*|https?://(?:dx\.)?doi\.org/)?10\.\d{4,9}/[^\s\]]+|\s?\(?\b(?:PMID:?\s?\d{4,9}|arXiv:\s?\d{4}\.\d{4,5}(?:v\d+)?)\)?"
);
pattern!(ADDRESS, r#"\s?\(?https?://[^\s<>"\]]+"#);

/// Words before brackets that contain the bounds of an interval.
const OF_INTERVALS: &[&str] = &["ci", "cri", "iqr", "interval", "pi", "range"];

/// Words whose superscript number is an exponent. Words of one or two letters always count as such.
const WITH_POWERS: &[&str] = &[
    "chi", "cos", "deg", "eta", "exp", "inch", "log", "mol", "rad", "sec", "sin", "tan",
];

/// The citations written as plain text, unordered. `numbers` are those of the list of references.
pub(super) fn marks_in_text(text: &str, numbers: &HashSet<String>, found: &mut Vec<CitationMatch>) {
    for hit in NUMBERS.find_iter(text) {
        let labels = labels(hit.as_str());
        if !labels.is_empty() && !is_interval(&text[..hit.start()]) {
            let bytes = balanced(text, hit.range());
            found.push(CitationMatch::mark(bytes, all(labels)));
        }
    }
    for hit in RAISED_NUMBERS.find_iter(text) {
        let labels = listed(&plain_digits(hit.as_str()));
        if is_note(&text[..hit.start()], &labels, numbers) {
            found.push(CitationMatch::mark(hit.range(), all(labels)));
        }
    }
    for hit in KEYS.find_iter(text) {
        let keys = KEY.captures_iter(hit.as_str());
        let keys = keys
            .map(|key| CitationTarget::Label(key[1].to_owned()))
            .collect();
        found.push(CitationMatch::mark(hit.range(), keys));
    }
    for hit in BARE_KEY.captures_iter(text) {
        let key = hit.get(1).expect("the pattern has one group");
        found.push(CitationMatch {
            is_mark: false,
            ..CitationMatch::mark(key.range(), all(vec![key.as_str()[1..].to_owned()]))
        });
    }
    for hit in IDENTIFIER.find_iter(text).chain(ADDRESS.find_iter(text)) {
        let closed = hit.as_str().trim_end_matches(['.', ',', ';', ':']);
        let bytes = balanced(text, hit.start()..hit.start() + closed.len());
        let address = text[bytes.clone()].trim();
        let address = address
            .strip_prefix('(')
            .map_or(address, |inside| inside.trim_end_matches(')'));
        if address.starts_with("http") || !find_identifiers(address).is_empty() {
            let target = CitationTarget::Address(address.to_owned());
            found.push(CitationMatch::mark(bytes, vec![target]));
        }
    }
}

fn all(labels: Vec<String>) -> Vec<CitationTarget> {
    labels.into_iter().map(CitationTarget::Label).collect()
}

/// A match without unbalanced brackets.
fn balanced(text: &str, mut bytes: Range<usize>) -> Range<usize> {
    let words = &text[bytes.clone()];
    let blank = words.len() - words.trim_start().len();
    let count = |mark: char| words.matches(mark).count();
    let (opened, closed) = (count('('), count(')'));
    if opened > closed && words.trim_start().starts_with('(') {
        bytes.start += blank + 1;
    } else if closed > opened && words.ends_with(')') {
        bytes.end -= 1;
    }
    bytes
}

/// Whether the words of a link are a number in brackets.
pub(super) fn is_number_in_brackets(words: &str) -> bool {
    ONE_GROUP.is_match(words)
}

/// The number of a link whose text consists of superscript digits only.
pub(super) fn raised_number(words: &str) -> Option<String> {
    let words = words.trim();
    let is_raised = !words.is_empty() && words.chars().all(|c| RAISED.contains(&c));
    is_raised.then(|| plain_digits(words))
}

/// `[1]–[3], [see 5, p. 7]` → 1, 2, 3, 5. None if one of them is not a label: lists begin with 1.
fn labels(run: &str) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    let mut read_to = 0;
    for group in ONE_GROUP.find_iter(run) {
        let inside = listed(&group.as_str()[1..group.len() - 1]);
        let joins = run[read_to..group.start()].contains(['-', '–', '—']) && read_to > 0;
        if let (true, Some(last), Some(first)) = (joins, labels.last(), inside.first()) {
            labels.extend(between(last, first));
        }
        if inside.is_empty() {
            return Vec::new();
        }
        labels.extend(inside);
        read_to = group.end();
    }
    labels
}

/// The labels from the first to the last, if they form a range.
fn between(first: &str, last: &str) -> Vec<String> {
    match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(first), Ok(last)) if first < last && last - first < 100 => {
            (first + 1..last).map(|n| n.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

/// `see 2, 4-6, p. 3` → 2, 4, 5, 6.
fn listed(inside: &str) -> Vec<String> {
    let first_digit = inside.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let mut labels = Vec::new();
    for part in inside[first_digit..].split([',', ';']).map(str::trim) {
        if !part.starts_with(|c: char| c.is_ascii_digit()) {
            // A location within the source.
            continue;
        }
        let ends = part.split_once(['-', '–', '—']);
        match ends.map(|(a, b)| (a.trim().parse(), b.trim().parse())) {
            Some((Ok(first), Ok(last))) if first <= last && last - first < 100 => {
                labels.extend((first..=last).map(|n: u32| n.to_string()));
            }
            Some(_) => return Vec::new(),
            None => labels.push(part.to_owned()),
        }
    }
    if labels.iter().any(|label| label.starts_with('0')) {
        return Vec::new();
    }
    labels
}

/// Whether brackets after this text contain the bounds of an interval.
fn is_interval(before: &str) -> bool {
    let word = before
        .trim_end_matches(|c: char| !c.is_alphanumeric())
        .rsplit(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    OF_INTERVALS.contains(&word.to_lowercase().as_str())
}

/// Superscript digits as plain digits, and the characters between them as written in brackets.
fn plain_digits(mark: &str) -> String {
    let plain = mark.chars().map(|c| {
        let digit = RAISED.iter().position(|raised| *raised == c);
        match digit.and_then(|digit| u8::try_from(digit).ok()) {
            Some(digit) => char::from(b'0' + digit),
            None if c == '⁻' => '-',
            None if c == '˒' => ',',
            None => c,
        }
    });
    plain.collect()
}

/// Whether superscript numbers after this text are notes, not exponents. After a word, all of them
/// must be in the list; after a full stop or similar, it is enough that the list is numbered.
fn is_note(before: &str, labels: &[String], numbers: &HashSet<String>) -> bool {
    let Some(last) = before.chars().next_back().filter(|_| !labels.is_empty()) else {
        return false;
    };
    let rest = before[..before.len() - last.len_utf8()].chars().next_back();
    if matches!(
        last,
        '.' | ',' | ';' | ':' | '!' | '?' | '"' | '”' | '’' | '»' | ')' | ']' | '。'
    ) {
        // A bracket may have an exponent, and so may "1."
        let is_prose = rest.is_some_and(char::is_alphabetic) && !matches!(last, ')' | ']');
        let are_listed = labels.iter().all(|label| numbers.contains(label));
        return are_listed && !rest.is_some_and(|c| c.is_ascii_digit())
            || is_prose && !numbers.is_empty();
    }
    if !labels.iter().all(|label| numbers.contains(label)) {
        return false;
    }
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_alphabetic())
        .last();
    let word = start.map_or("", |(at, _)| &before[at..]).to_lowercase();
    is_cjk(last) || word.chars().count() > 2 && !WITH_POWERS.contains(&word.as_str())
}
