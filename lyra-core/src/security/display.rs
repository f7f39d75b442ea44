//! Stored text where a person reads it: on a terminal, in a report, in a reference list.
//!
//! Quotes are stored as they were found. Some characters are none that anybody reads: they command a
//! terminal, turn round the order in which their neighbours are shown, or hide a message.

use std::borrow::Cow;

/// Whether a character commands a terminal, changes where others are shown, or hides a message.
/// Tabs and line feeds do not; joiners and variation selectors belong to words and emoji.
pub fn is_harmful(c: char) -> bool {
    let commands = c.is_control() && !matches!(c, '\n' | '\t');
    commands
        || matches!(c,
            '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{206F}'
            | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// The text with U+FFFD in the place of every harmful character; a carriage return before a line
/// feed stays.
///
/// ```
/// use lyra_core::security::display::harmless;
/// assert_eq!(harmless("a\u{1b}[2Jb\u{202e}c\r\n"), "a\u{fffd}[2Jb\u{fffd}c\r\n");
/// ```
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut chars = text.chars().peekable();
    let mut shown = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        let ends_line = c == '\r' && chars.peek() == Some(&'\n');
        shown.push(if is_harmful(c) && !ends_line {
            '\u{FFFD}'
        } else {
            c
        });
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_belongs_to_words_stays() {
        for text in [
            "Ann Lee",
            "नमस्\u{200d}ते",
            "می\u{200c}خواهم",
            "👩\u{200d}🔬",
            "❤\u{fe0f}",
            "a\n\tb\r\n",
            "שלום",
        ] {
            assert_eq!(harmless(text), text);
        }
        assert_eq!(
            harmless("a\rb\u{2028}c\u{85}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}"
        );
    }

    proptest! {
        #[test]
        fn nothing_harmful_is_left(text in "(.|\u{1b}|\u{202e}|\r|\n|\u{9b}){0,40}") {
            let shown = harmless(&text).replace("\r\n", "\n");
            prop_assert!(!shown.contains(is_harmful));
        }
    }
}
