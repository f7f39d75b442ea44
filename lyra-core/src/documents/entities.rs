//! The named character entities that Markdown and JATS use without declaring them.

use html5gum::{Token, Tokenizer};

/// The character of a reference without `&` and `;`: `amp`, `#233`, `#xE9`.
pub(crate) fn decode(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    }
    named(name)
}

/// The character that HTML calls `name`; `None` for the few names that stand for two characters.
fn named(name: &str) -> Option<char> {
    let reference = format!("&{name};");
    let Ok(Token::String(text)) = Tokenizer::new(&reference).next()? else {
        return None;
    };
    let mut text = std::str::from_utf8(&text).ok()?.chars();
    let first = text.next()?;
    text.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_characters() {
        let cases = [
            ("amp", Some('&')),
            ("beta", Some('β')),
            ("#233", Some('é')),
            ("#xE9", Some('é')),
            ("#0", None),
            ("#xD800", None),
            ("#", None),
            ("nosuch", None),
            ("", None),
        ];
        for (name, want) in cases {
            assert_eq!(decode(name), want, "{name}");
        }
    }
}
