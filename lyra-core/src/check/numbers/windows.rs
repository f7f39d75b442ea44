//! The nearest words around a place: looking at no more keeps long texts linear.

const REACH: usize = 64;

/// What stands in front of a place.
pub(super) fn in_front(text: &str, at: usize) -> &str {
    let from = (at.saturating_sub(REACH)..=at).find(|from| text.is_char_boundary(*from));
    &text[from.unwrap_or(at)..at]
}

/// What stands behind a place.
pub(super) fn behind(text: &str, at: usize) -> &str {
    let last = (at + REACH).min(text.len());
    let to = (at..=last).rev().find(|to| text.is_char_boundary(*to));
    &text[at..to.unwrap_or(at)]
}
