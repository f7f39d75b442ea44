//! Finds the relevant elements of a template's SQL: parameters, statement ends, nesting.
//!
//! Strings, quoted names, comments and template tags are skipped, so that a `:` or `;` in them is
//! ignored.

use std::ops::Range;

/// An element found in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SqlMark {
    /// A parameter `:name`; the name without its colon.
    Parameter(String),
    /// A parameter in a style that views do not use: `?`, `@name`, `$name`, `#name`.
    ForeignParameter(char),
    /// The end of a statement.
    Semicolon,
    /// A bare word: keyword, name or function.
    Word(String),
}

/// A [`SqlMark`] with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedMark {
    pub(super) mark: SqlMark,
    /// Byte range of the mark in the text.
    pub(super) span: Range<usize>,
    /// Line, counted from 1.
    pub(super) line: usize,
}

/// The skipped elements, as opening and closing text.
const SKIPPED: [(&str, &str); 9] = [
    ("{%", "%}"),
    ("{{", "}}"),
    ("{#", "#}"),
    ("--", "\n"),
    ("/*", "*/"),
    ("'", "'"),
    ("\"", "\""),
    ("`", "`"),
    ("[", "]"),
];

/// All marks of `text`, first to last.
pub(super) fn scan(text: &str) -> Vec<LocatedMark> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let end = at + extent(rest, c);
        let mark = match c {
            ':' if end > at + 1 => Some(SqlMark::Parameter(text[at + 1..end].to_owned())),
            '?' => Some(SqlMark::ForeignParameter(c)),
            '@' | '$' | '#' if end > at + 1 => Some(SqlMark::ForeignParameter(c)),
            ';' => Some(SqlMark::Semicolon),
            _ if is_word(c) => Some(SqlMark::Word(rest[..end - at].to_owned())),
            _ => None,
        };
        if let Some(mark) = mark {
            found.push(LocatedMark {
                mark,
                span: at..end,
                line,
            });
        }
        line += text[at..end].matches('\n').count();
        at = end;
    }
    found
}

/// The length in bytes of the element at the start of `rest` (whose first character is `c`).
pub(super) fn extent(rest: &str, c: char) -> usize {
    for (open, close) in SKIPPED {
        if let Some(inside) = rest.strip_prefix(open) {
            // A doubled quote closes one string and opens the next, which has the same result.
            return inside
                .find(close)
                .map_or(rest.len(), |n| open.len() + n + close.len());
        }
    }
    let word = |from: usize| {
        rest[from..]
            .find(|c| !is_word(c))
            .map_or(rest.len(), |n| from + n)
    };
    match c {
        ':' | '@' | '$' | '#' => word(1),
        c if is_word(c) => word(0),
        c => c.len_utf8(),
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(text: &str) -> Vec<String> {
        scan(text)
            .into_iter()
            .filter_map(|f| match f.mark {
                SqlMark::Parameter(name) => Some(format!(":{name}@{}", f.line)),
                SqlMark::ForeignParameter(c) => Some(format!("{c}@{}", f.line)),
                SqlMark::Semicolon => Some(format!(";@{}", f.line)),
                SqlMark::Word(_) => None,
            })
            .collect()
    }

    #[test]
    fn finds_only_what_sqlite_would_take_for_a_parameter() {
        let cases: &[(&str, &[&str])] = &[
            ("SELECT :a, :b_2", &[":a@1", ":b_2@1"]),
            ("SELECT ':a', \":b\", [:c], `:d`", &[]),
            ("SELECT 'it''s :a', :b", &[":b@1"]),
            ("-- :a\nSELECT /* :b ; \n */ :c;", &[":c@3", ";@3"]),
            ("{% if :a %}\n{# ; #}{{ x }}:b", &[":b@2"]),
            (
                "SELECT ?1, @x, $y, #z, x->>'$.a'",
                &["?@1", "@@1", "$@1", "#@1"],
            ),
            ("SELECT 'open :a", &[]),
            ("SELECT 血糖:値", &[":値@1"]),
            ("a : b", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(marks(text), *expected, "{text}");
        }
    }

    #[test]
    fn spans_cut_the_parameter_out() {
        let text = "SELECT 'ü', :year - 2";
        let found = scan(text);
        let parameter = found
            .iter()
            .find(|f| matches!(f.mark, SqlMark::Parameter(_)))
            .unwrap();
        assert_eq!(&text[parameter.span.clone()], ":year");
    }
}
