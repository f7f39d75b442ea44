//! Helpers shared by the formats: joining wrapped lines, list items, headings recognised by their
//! look.

/// Maximum length of a heading, in characters.
const HEADING_CHARS: usize = 100;

/// Whether a script that is written without spaces uses this character (Korean has spaces).
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{303f}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Appends a wrapped line, separated by a space, but without one next to Japanese or Chinese
/// characters.
pub(super) fn push_line(out: &mut String, line: &str) {
    let line = line.trim();
    if let (Some(left), Some(right)) = (out.chars().next_back(), line.chars().next())
        && !left.is_whitespace()
        && !is_unspaced(left)
        && !is_unspaced(right)
    {
        out.push(' ');
    }
    out.push_str(line);
}

/// Joins wrapped lines into one.
pub(super) fn join<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    lines.into_iter().fold(String::new(), |mut out, line| {
        push_line(&mut out, line);
        out
    })
}

/// Collapses every run of white space into one space and trims the ends; no space remains at a line
/// break between Japanese or Chinese characters.
pub(super) fn collapse(text: &str) -> String {
    let mut running = Running::default();
    running.push(text);
    running.text
}

/// Text whose white space is collapsed while it is written, so that offsets into it stay valid.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// The text so far.
    pub(super) text: String,
    gap: bool,
    broken: bool,
}

impl Running {
    /// Appends a piece of source text.
    pub(super) fn push(&mut self, piece: &str) {
        for c in piece.chars() {
            if c.is_whitespace() {
                self.gap = true;
                self.broken |= c == '\n';
                continue;
            }
            if std::mem::take(&mut self.gap)
                && let Some(left) = self.text.chars().next_back()
                && !(self.broken && is_unspaced(left) && is_unspaced(c))
            {
                self.text.push(' ');
            }
            self.broken = false;
            self.text.push(c);
        }
    }

    /// Whether a space will precede the next visible character.
    pub(super) fn is_apart(&self) -> bool {
        self.gap
    }

    /// The earliest position of the next visible character, in bytes.
    pub(super) fn end(&self) -> usize {
        self.text.len()
    }
}

/// The text of a list item, if the line begins one: a bullet, `1.`, `1)` or `(a)`.
pub(super) fn list_item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let first = line.chars().next()?;
    if matches!(
        first,
        '-' | '*' | '+' | '•' | '‣' | '▪' | '●' | '○' | '◦' | '–' | '—' | '・'
    ) {
        let rest = &line[first.len_utf8()..];
        let spaced = rest.starts_with([' ', '\t', '\u{3000}']);
        let bullet = matches!(first, '•' | '‣' | '▪' | '●' | '○' | '◦' | '・');
        let text = rest.trim();
        return ((spaced || bullet) && !text.is_empty()).then_some(text);
    }
    let open = line.strip_prefix('(');
    let body = open.unwrap_or(line);
    let digits = body.bytes().take_while(u8::is_ascii_digit).count();
    let letters = usize::from(body.starts_with(|c: char| c.is_ascii_lowercase()));
    let length = if digits > 0 { digits } else { letters };
    if length == 0 || digits > 3 || (digits == 0 && open.is_none()) {
        return None;
    }
    let after = &body[length..];
    let rest = match open {
        Some(_) => after.strip_prefix(')')?,
        None => after.strip_prefix(['.', ')'])?,
    };
    let text = rest.trim();
    (rest.starts_with([' ', '\t']) && !text.is_empty()).then_some(text)
}

/// Whether the last character ends a sentence.
pub(super) fn ends_sentence(text: &str) -> bool {
    let text = text.trim_end_matches(['"', '\'', ')', ']', '”', '’', '」', '』', '）', ' ']);
    text.ends_with(['.', '!', '?', '。', '！', '？', '．', '…'])
}

/// The level of a separate line that looks like a heading. The guess is conservative: a known
/// section name, a section number, or capitals; never a sentence.
pub(super) fn heading_level(line: &str) -> Option<u8> {
    let line = line.trim();
    let count = line.chars().count();
    if !(2..=HEADING_CHARS).contains(&count) || line.ends_with([',', ';', '、', '，']) {
        return None;
    }
    let number = section_number(line);
    if let Some((depth, title)) = number {
        let begins_well = title
            .chars()
            .next()
            .is_some_and(|c| c.is_uppercase() || is_unspaced(c));
        let short = title.split_whitespace().count() <= 14;
        // A numbered postal address has more commas than a title.
        let plain = title.matches(',').count() < 3 && !ends_sentence(title);
        return (begins_well && short && plain).then_some(1 + depth);
    }
    if ends_sentence(line) {
        return None;
    }
    let bare = line.trim_end_matches([':', '：']).to_lowercase();
    if SECTION_NAMES.contains(&bare.as_str()) {
        return Some(2);
    }
    let letters: Vec<char> = line.chars().filter(|c| c.is_alphabetic()).collect();
    let capitals = letters.len() >= 4 && letters.iter().all(|c| c.is_uppercase());
    (capitals && line.split_whitespace().count() <= 12).then_some(2)
}

/// `2.1 Methods` is depth 2 and `Methods`; `第3章 方法` is depth 1 and `方法`.
fn section_number(line: &str) -> Option<(u8, &str)> {
    if let Some(rest) = line.strip_prefix('第') {
        let at = rest.find(['章', '節', '部'])?;
        let title = rest[at..]
            .chars()
            .next()
            .map(|c| &rest[at + c.len_utf8()..])?
            .trim();
        return (at <= 12 && !title.is_empty()).then_some((1, title));
    }
    let end = line.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, rest) = line.split_at(end);
    let parts: Vec<&str> = number.trim_end_matches('.').split('.').collect();
    let plain = parts
        .iter()
        .all(|p| !p.is_empty() && p.len() <= 2 && !p.starts_with('0'));
    let depth = u8::try_from(parts.len()).ok()?;
    (plain && depth <= 4 && rest.starts_with(char::is_whitespace)).then(|| (depth, rest.trim()))
}

/// Section names that appear alone on a line in papers and reports.
const SECTION_NAMES: &[&str] = &[
    "abstract",
    "acknowledgements",
    "acknowledgments",
    "appendix",
    "background",
    "bibliography",
    "case report",
    "conclusion",
    "conclusions",
    "discussion",
    "findings",
    "funding",
    "introduction",
    "key points",
    "limitations",
    "literature review",
    "materials and methods",
    "methodology",
    "methods",
    "objective",
    "objectives",
    "overview",
    "purpose",
    "recommendations",
    "references",
    "related work",
    "results",
    "results and discussion",
    "summary",
    "はじめに",
    "まとめ",
    "序論",
    "要旨",
    "要約",
    "抄録",
    "概要",
    "背景",
    "目的",
    "方法",
    "対象と方法",
    "結果",
    "考察",
    "結論",
    "結語",
    "参考文献",
    "引用文献",
    "文献",
    "謝辞",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_join_as_the_language_does() {
        let cases: &[(&[&str], &str)] = &[
            (&["one two", "three"], "one two three"),
            (&["血糖値は朝に", "測ります。"], "血糖値は朝に測ります。"),
            (&["値は HbA1c", "で表す"], "値は HbA1cで表す"),
            (&["한국어 문장", "이어짐"], "한국어 문장 이어짐"),
            (&["", "first"], "first"),
        ];
        for (lines, want) in cases {
            assert_eq!(join(lines.iter().copied()), *want);
        }
        assert_eq!(collapse("  a \n\t b  "), "a b");
        assert_eq!(collapse("血糖\n  値"), "血糖値");
        assert_eq!(collapse("東京\u{3000}大阪 京都"), "東京 大阪 京都");
    }

    #[test]
    fn list_items_are_told_from_sentences() {
        let cases = [
            ("- milk", Some("milk")),
            ("* milk", Some("milk")),
            ("•milk", Some("milk")),
            ("・牛乳", Some("牛乳")),
            ("1. milk", Some("milk")),
            ("12) milk", Some("milk")),
            ("(a) milk", Some("milk")),
            ("(2) milk", Some("milk")),
            ("-5 degrees", None),
            ("1.5 litres", None),
            ("2019) was a year", None),
            ("a) milk", None),
            ("Milk", None),
            ("-", None),
            ("", None),
        ];
        for (line, want) in cases {
            assert_eq!(list_item(line), want, "{line}");
        }
    }

    #[test]
    fn headings_are_guessed_with_care() {
        let cases = [
            ("Methods", Some(2)),
            ("Results:", Some(2)),
            ("1 Introduction", Some(2)),
            ("2.1. Study design", Some(3)),
            ("STUDY DESIGN", Some(2)),
            ("考察", Some(2)),
            ("第2章 方法", Some(2)),
            ("3 結果", Some(2)),
            ("We measured it.", None),
            ("12 patients dropped out", None),
            ("1990 was a dry year", None),
            ("A short line", None),
            ("", None),
            ("USA", None),
            ("1. The patients were old.", None),
            ("1 Physics Department, University of X, Tampa, FL", None),
        ];
        for (line, want) in cases {
            assert_eq!(heading_level(line), want, "{line}");
        }
    }
}
