//! Text layout on a terminal: widths, wrapping, columns.

use lyra_core::security::display::is_harmful;

/// Number of columns of a character: two for Chinese, Japanese and Korean, none for combining
/// marks.
fn char_width(c: char) -> usize {
    match u32::from(c) {
        // The last range holds the style markers.
        0x0300..=0x036F | 0x200B..=0x200F | 0x20D0..=0x20FF | 0xFE00..=0xFE0F | 0xFDD0..=0xFDEF => {
            0
        }
        0x1100..=0x115F
        | 0x2E80..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// Number of columns of `text`.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
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
        taken += char_width(c);
        if taken >= columns {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// `text` in lines of at most `columns`, broken at spaces and between wide characters.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for piece in pieces(text) {
        let size = width(piece.trim_end());
        if used > 0 && used + size > columns {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            used = 0;
        }
        // A word longer than a line is broken at the end of the line.
        for c in piece.chars() {
            if used + char_width(c) > columns && !c.is_whitespace() {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
                used = 0;
            }
            if !(used == 0 && c.is_whitespace()) {
                line.push(c);
                used += char_width(c);
            }
        }
    }
    if !line.trim().is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// The pieces between which a line may be broken: words with the following space, wide characters.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut last: Option<char> = None;
    for (at, c) in text.char_indices() {
        let breaks = last.is_some_and(|last| {
            (last.is_whitespace() && !c.is_whitespace())
                || (char_width(last) == 2 && !closes(c))
                || (char_width(c) == 2 && !closes(c) && !last.is_whitespace())
        });
        if breaks && at > start {
            pieces.push(&text[start..at]);
            start = at;
        }
        last = Some(c);
    }
    pieces.push(&text[start..]);
    pieces
}

/// Punctuation that must not begin a line.
fn closes(c: char) -> bool {
    matches!(
        c,
        '。' | '、'
            | '）'
            | '」'
            | '』'
            | '，'
            | '．'
            | '：'
            | '；'
            | ')'
            | '.'
            | ','
            | ';'
            | ':'
            | '%'
    ) || c.is_whitespace()
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
