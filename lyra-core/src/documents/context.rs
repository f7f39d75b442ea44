//! The words around a citation.

use std::ops::Range;

/// Maximum length of a citation's context, in characters.
pub(super) const MAX_CONTEXT: usize = 200;

/// The sentence around a place in `text` (in bytes), at most 200 characters of it.
pub(super) fn context_of(text: &str, place: Range<usize>) -> String {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '\n');
    // Only twice the length is searched, so that the cost does not grow with the text.
    let first = text.floor_char_boundary(place.start.saturating_sub(4 * MAX_CONTEXT));
    let last = text.floor_char_boundary((place.end + 4 * MAX_CONTEXT).min(text.len()));
    let is_end = |at: usize, c: char| {
        let after = text[at + c.len_utf8()..].chars().next();
        ends(c) && (!c.is_ascii() || after.is_none_or(char::is_whitespace))
    };
    let start = text[first..place.start]
        .char_indices()
        .rev()
        .find(|(at, c)| is_end(first + at, *c))
        .map_or(first, |(at, c)| first + at + c.len_utf8());
    let end = text[place.end..last]
        .char_indices()
        .find(|(at, c)| is_end(place.end + at, *c))
        .map_or(last, |(at, c)| place.end + at + c.len_utf8());
    let sentence = text[start..end].trim();
    if sentence.chars().count() <= MAX_CONTEXT {
        return sentence.to_owned();
    }
    let words = text[place.clone()].chars().count();
    let before = text[start..place.start].chars().count();
    let skip = before.saturating_sub((MAX_CONTEXT.saturating_sub(words)) / 2);
    text[start..end]
        .chars()
        .skip(skip)
        .take(MAX_CONTEXT)
        .collect::<String>()
        .trim()
        .to_owned()
}
