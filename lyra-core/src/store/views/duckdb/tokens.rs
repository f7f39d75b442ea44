//! SQL as a list of tokens, which suffices to translate between dialects.

use super::super::scan::extent;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqlTokenKind {
    /// A keyword, a name or a function.
    Word,
    Number,
    /// `:name`.
    Parameter,
    /// A string, a quoted name or a symbol.
    Other,
}

/// A token, with the preceding whitespace.
#[derive(Debug, Clone)]
pub(super) struct SqlToken {
    pub(super) before: String,
    pub(super) text: String,
    pub(super) kind: SqlTokenKind,
}

impl SqlToken {
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == SqlTokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        self.kind == SqlTokenKind::Other && self.text == sign
    }
}

/// The tokens of `sql`; comments are left out.
pub(super) fn tokens(sql: &str) -> Vec<SqlToken> {
    let mut tokens = Vec::new();
    let (mut before, mut at) = (String::new(), 0);
    while let Some(first) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let length = match first {
            '0'..='9' => number_length(rest),
            _ => extent(rest, first),
        };
        let text = &rest[..length];
        at += length;
        let kind = match first {
            _ if text.starts_with("--") || text.starts_with("/*") => {
                // The line break after the comment is kept.
                if before.trim_end_matches(' ').ends_with('\n') || before.is_empty() {
                    continue;
                }
                before.push('\n');
                continue;
            }
            c if c.is_whitespace() => {
                before.push(c);
                continue;
            }
            '0'..='9' => SqlTokenKind::Number,
            ':' if length > 1 => SqlTokenKind::Parameter,
            c if c == '_' || c.is_alphabetic() => SqlTokenKind::Word,
            _ => SqlTokenKind::Other,
        };
        tokens.push(SqlToken {
            before: std::mem::take(&mut before),
            text: text.to_owned(),
            kind,
        });
    }
    tokens
}

fn number_length(text: &str) -> usize {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    end.unwrap_or(text.len())
}

/// The text of tokens.
pub(super) fn text_of(tokens: &[SqlToken]) -> String {
    let parts = tokens.iter().flat_map(|t| [t.before.as_str(), &t.text]);
    parts.collect()
}

/// The position of the bracket that closes the one at `open`; the end if it is not closed.
pub(super) fn closing(tokens: &[SqlToken], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len()
}
