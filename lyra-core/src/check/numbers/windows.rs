//! The nearest words around a position. The limit keeps the time for long texts linear.

const REACH: usize = 64;

/// The text before a position.
pub(super) fn in_front(text: &str, at: usize) -> &str {
    let from = (at.saturating_sub(REACH)..=at).find(|from| text.is_char_boundary(*from));
    &text[from.unwrap_or(at)..at]
}

/// The text after a position.
pub(super) fn behind(text: &str, at: usize) -> &str {
    let last = (at + REACH).min(text.len());
    let to = (at..=last).rev().find(|to| text.is_char_boundary(*to));
    &text[at..to.unwrap_or(at)]
}
