//! Text layout on a terminal: widths, wrapping, columns.

use lyra_core::security::display::is_harmful;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_linebreak::linebreaks;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Number of columns of `text`.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Text from a document on one line, without harmful characters.
pub(super) fn plain(text: &str) -> String {
    let parts = text.split(|c: char| c.is_control() || c.is_whitespace());
    let words: Vec<&str> = parts.filter(|word| !word.is_empty()).collect();
    words.join(" ").replace(is_harmful, "")
}

/// `text` cut to `columns`, with an ellipsis if something is missing.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut taken = 0;
    let mut kept = String::new();
    for c in text.chars() {
        taken += c.width().unwrap_or(0);
        if taken >= columns {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// `text` in lines of at most `columns`, broken where Unicode allows it (UAX #14), or within a word
/// that is longer than a line.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let options = Options::new(columns.max(2))
        .word_separator(WordSeparator::Custom(pieces))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let lines = textwrap::wrap(text.trim(), options).into_iter();
    lines
        .map(|line| line.into_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// The pieces between which a line may be broken: an address or a DOI without a space is kept whole.
fn pieces(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let is_wide = |c: Option<char>| c.and_then(char::width) == Some(2);
    let breaks = linebreaks(line).map(|(end, _)| end);
    let breaks = breaks.filter(move |end| {
        let (before, after) = line.split_at(*end);
        let last = before.chars().next_back();
        last.is_none_or(char::is_whitespace)
            || is_wide(last)
            || after.is_empty()
            || is_wide(after.chars().next())
    });
    let mut start = 0;
    Box::new(breaks.map(move |end| {
        let piece = Word::from(&line[start..end]);
        start = end;
        piece
    }))
}

/// Two texts next to each other, each `columns` wide, with a vertical rule between them.
pub(super) fn side_by_side(left: &[String], right: &[String], columns: usize) -> Vec<String> {
    let empty = String::new();
    (0..left.len().max(right.len()))
        .map(|row| {
            let l = left.get(row).unwrap_or(&empty);
            let r = right.get(row).unwrap_or(&empty);
            let pad = " ".repeat(columns.saturating_sub(width(l)));
            format!("{l}{pad} │ {r}").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_never_too_wide_and_lose_nothing() {
        for text in [
            "The quick brown fox jumps over the lazy dog and runs away.",
            "DPP-4阻害薬は心不全による入院を増やさなかった（ハザード比 1.00、95% CI 0.83–1.20）。",
            "averyveryverylongwordthatdoesnotfitonanyline at all",
            "",
        ] {
            for columns in [10, 21, 38, 76] {
                let lines = wrap(text, columns);
                for line in &lines {
                    assert!(width(line) <= columns, "{columns}: {line:?}");
                }
                let squeeze = |s: &str| s.split_whitespace().collect::<String>();
                assert_eq!(squeeze(&lines.concat()), squeeze(text));
            }
        }
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(wrap("one two three", 9), ["one two", "three"]);
        assert_eq!(wrap("入院を増やす。", 8), ["入院を増", "やす。"]);
    }

    #[test]
    fn columns_line_up() {
        let left = vec!["心不全".to_owned(), "x".to_owned()];
        let right = vec!["right".to_owned()];
        assert_eq!(
            side_by_side(&left, &right, 8),
            ["心不全   │ right", "x        │"]
        );
    }

    #[test]
    fn cutting_and_cleaning() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("心不全です", 6), "心不…");
        assert_eq!(plain("a\u{1b}[31m b\n\tc"), "a [31m b c");
    }
}
