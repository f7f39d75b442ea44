//! Quotes untrusted text inside our own messages.

use super::sanitize::is_invisible;

/// `text` in quotation marks that it cannot close: on one line, without control characters and
/// invisible characters, and cut after `most_chars` code points.
///
/// Error messages are read as our own words, by people, by terminals and by models. Text from a
/// server or a document may be included in them only in this form.
///
/// ```
/// use lyra_core::security::quoting::quoted;
/// assert_eq!(quoted("no\n\u{1b}[31m ”quota”", 40), "“no [31m 'quota'”");
/// assert_eq!(quoted("0123456789", 4), "“0123…”");
/// ```
pub fn quoted(text: &str, most_chars: usize) -> String {
    let mut inner = String::new();
    let mut chars = 0;
    let mut gap = false;
    for c in text.chars().filter(|c| !is_invisible(*c)) {
        if c.is_whitespace() || c.is_control() {
            gap = !inner.is_empty();
            continue;
        }
        let c = if matches!(c, '“' | '”') { '\'' } else { c };
        for c in gap.then_some(' ').into_iter().chain([c]) {
            if chars == most_chars {
                return format!("“{}…”", inner.trim_end());
            }
            inner.push(c);
            chars += 1;
        }
        gap = false;
    }
    format!("“{inner}”")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quote_is_one_short_line() {
        for (text, most, expected) in [
            ("", 9, "“”"),
            ("  a \r\n\t b  ", 9, "“a b”"),
            ("a\u{200b}\u{202e}b\u{9b}31m", 9, "“ab 31m”"),
            ("“nested”", 9, "“'nested'”"),
            ("日本語のテキスト", 4, "“日本語の…”"),
            ("word word", 5, "“word…”"),
            ("exactly", 7, "“exactly”"),
        ] {
            assert_eq!(quoted(text, most), expected);
        }
    }

    proptest! {
        #[test]
        fn nothing_gets_out_of_a_quote(text in "\\PC{0,40}|(.|\u{1b}|”|\u{200b}){0,40}", most in 0_usize..50) {
            let quote = quoted(&text, most);
            let inner = quote.strip_prefix('“').unwrap().strip_suffix('”').unwrap();
            prop_assert!(!inner.contains(['“', '”']) && !inner.chars().any(|c| c.is_control() || is_invisible(c)));
            prop_assert!(inner.chars().count() <= most + 1);
        }
    }
}
