//! Whether a sentence is a question.

use super::sentence::sentence_texts;

/// Whether a sentence is a question and so asserts nothing: it ends in a question mark, possibly inside
/// brackets, or inside quotation marks that enclose the whole sentence. A statement that ends with a
/// quoted question is not a question.
///
/// ```
/// use lyra_core::store::text::is_question;
/// assert!(is_question("Does coffee lower the risk of gout?"));
/// assert!(is_question("“Does it help?”"));
/// assert!(!is_question("Smith asked: “Does it help?”"));
/// ```
pub fn is_question(sentence: &str) -> bool {
    let blank = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '*' | '_');
    let bare = sentence.trim_matches(blank);
    let inside = bare.trim_end_matches(is_closing);
    let is_held = inside.len() == bare.len() || bare.starts_with(is_opening);
    is_held
        && inside
            .trim_end_matches('!')
            .ends_with(['?', '？', '⁇', '⁈', '‽', '؟'])
}

/// Whether every sentence of a text is a question. False for a text without sentences.
pub fn only_asks(text: &str) -> bool {
    let mut sentences = sentence_texts(text).peekable();
    sentences.peek().is_some() && sentences.all(|(_, sentence)| is_question(sentence))
}

fn is_opening(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '‘' | '„' | '«' | '「' | '『')
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | '“' | '»' | '」' | '』')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_is_told_from_what_says() {
        for (text, asks) in [
            ("Is coffee bad for the heart?", true),
            ("Is coffee bad for the heart?!", true),
            ("Is coffee bad for the heart? ", true),
            ("(And in women?)", true),
            ("\"Is coffee bad?\"", true),
            ("コーヒーは心臓に悪いのか？", true),
            ("「心臓に悪いのか？」", true),
            ("Coffee is not bad for the heart.", false),
            ("Many ask \"Is coffee bad?\"", false),
            ("What coffee does; a review", false),
            ("", false),
            ("”", false),
        ] {
            assert_eq!(is_question(text), asks, "{text}");
        }
        assert!(only_asks("Is it bad? In women, too?"));
        assert!(!only_asks("Is it bad? No."));
        assert!(!only_asks(""));
    }
}
