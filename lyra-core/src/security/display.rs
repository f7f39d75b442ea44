//! Prepares stored text for people: on a terminal, in a report, in a reference list.
//!
//! Quotes are stored as they were found. Some characters are not meant to be read: they control a
//! terminal, reverse the order in which neighbouring characters are shown, or hide a message.

use std::borrow::Cow;

/// Whether a character controls a terminal, changes where others are shown, or hides a message.
/// Tabs and line feeds do not; joiners and variation selectors are part of words and emoji.
pub fn is_harmful(c: char) -> bool {
    let commands = c.is_control() && !matches!(c, '\n' | '\t');
    commands
        || matches!(c,
            '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{206F}'
            | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// The text with every harmful character replaced by U+FFFD; a carriage return before a line feed
/// is kept.
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

/// JSON in which every harmful character is escaped.
///
/// ```
/// use lyra_core::security::display::harmless_json;
/// assert_eq!(harmless_json("[\"a\u{202e}\"]"), r#"["a\u202e"]"#);
/// ```
pub fn harmless_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_harmful) {
        return Cow::Borrowed(json);
    }
    // Outside strings JSON is ASCII, so escapes occur only where they are allowed.
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match is_harmful(c) {
            true => escaped.extend(
                c.encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            ),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Characters that start a formula in a spreadsheet cell; some programs also accept the wide forms.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// The text as a cell of a table for spreadsheets: without harmful characters, and with an
/// apostrophe in front if it would be a formula or begins with a control character. Spaces before a
/// formula do not hide it, because some programs remove them.
///
/// ```
/// use lyra_core::security::display::spreadsheet_cell;
/// assert_eq!(spreadsheet_cell("=1+1"), "'=1+1");
/// assert_eq!(spreadsheet_cell("\t-1"), "'\t-1");
/// assert_eq!(spreadsheet_cell("1 - 1"), "1 - 1");
/// ```
pub fn spreadsheet_cell(text: &str) -> Cow<'_, str> {
    let shown = harmless(text);
    let is_formula = text
        .trim_start_matches(|c: char| c.is_whitespace() || is_unseen(c))
        .starts_with(FORMULA);
    match is_formula || text.starts_with(char::is_control) {
        true => Cow::Owned(format!("'{shown}")),
        false => shown,
    }
}

/// Whether a character is harmful or has no width.
fn is_unseen(c: char) -> bool {
    is_harmful(c)
        || matches!(c, '\u{AD}' | '\u{180E}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}')
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

    #[test]
    fn cells_are_no_formulas() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("＝1", "'＝1"),
            (" =1", "' =1"),
            ("\r=1", "'\u{fffd}=1"),
            ("\r\n=1", "'\r\n=1"),
            ("\tx", "'\tx"),
            ("\u{202e}=1", "'\u{fffd}=1"),
            ("\u{feff}=1", "'\u{feff}=1"),
            ("a=1", "a=1"),
            ("'=1", "'=1"),
            ("", ""),
        ] {
            assert_eq!(spreadsheet_cell(text), cell, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_harmful_is_left(text in "(.|\u{1b}|\u{202e}|\r|\n|\u{9b}){0,40}") {
            let shown = harmless(&text).replace("\r\n", "\n");
            prop_assert!(!shown.contains(is_harmful));
        }
    }
}
