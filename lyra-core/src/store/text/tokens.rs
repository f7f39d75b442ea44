//! Splits text into words, in the same way for the full-text index, for queries and for ranking.
//!
//! Text is normalised by Unicode NFKC and lower case, so that full-width `ＨｂＡ１ｃ` and half-width katakana
//! match their usual forms. Runs of letters and digits are words; English words are stemmed (Snowball
//! English, also called Porter2). Chinese, Japanese and Korean have no spaces, so a run of their
//! characters becomes overlapping pairs (bigrams), which finds any substring of two or more characters
//! without a dictionary.

use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{compose, is_combining_mark};

/// Longer words, in bytes, are not English; stemming one costs up to the square of its length.
const LONGEST_STEMMED: usize = 128;

/// A token and its position in the original text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The folded, stemmed word or the pair of characters.
    pub text: String,
    /// Byte range in the original text.
    pub span: Range<usize>,
    /// The kind of token.
    pub kind: TokenKind,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A word between spaces or punctuation.
    Word,
    /// Two adjacent characters of a script without spaces.
    Pair,
    /// Two adjacent hiragana: mostly grammatical, with little meaning.
    Kana,
    /// The last (or only) character of such a run, so that one-character queries find something.
    Single,
}

/// Whether text is tokenized for the index or for a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenMode {
    /// The last character of every run is also a token.
    Index,
    /// A single character is a token only if its run has one character.
    Query,
}

/// Splits `text` into tokens.
///
/// ```
/// use lyra_core::store::text::{tokenize, TokenMode};
/// let words: Vec<String> = tokenize("血糖値 and ＨｂＡ１ｃ levels", TokenMode::Query)
///     .into_iter().map(|t| t.text).collect();
/// assert_eq!(words, ["血糖", "糖値", "and", "hba1c", "level"]);
/// ```
pub fn tokenize(text: &str, mode: TokenMode) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 5);
    for_each_token(text, mode, |token, span, kind| {
        tokens.push(Token {
            text: token.to_owned(),
            span,
            kind,
        });
        true
    });
    tokens
}

/// The meaningful words of `text`, for ranking: no hiragana pairs, no stop words.
pub fn ranking_terms(text: &str) -> Vec<String> {
    let mut terms = Vec::with_capacity(text.len() / 6);
    for_each_token(text, TokenMode::Query, |token, _, kind| {
        if kind != TokenKind::Kana && !(kind == TokenKind::Word && is_stop_word(token)) {
            terms.push(token.to_owned());
        }
        true
    });
    terms
}

/// Calls `visit` with each token; stops early if it returns false.
pub fn for_each_token(
    text: &str,
    mode: TokenMode,
    mut visit: impl FnMut(&str, Range<usize>, TokenKind) -> bool,
) {
    let mut scanner = Scanner {
        mode,
        stemmer: Stemmer::create(Algorithm::English),
        word: String::new(),
        word_span: 0..0,
        run: Vec::new(),
    };
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if c.is_ascii() {
            if !scanner.push(c.to_ascii_lowercase(), at..end, &mut visit) {
                return;
            }
            continue;
        }
        for folded in std::iter::once(c).nfkc().flat_map(char::to_lowercase) {
            if !scanner.push(folded, at..end, &mut visit) {
                return;
            }
        }
    }
    scanner.flush_word(&mut visit);
    scanner.flush_run(&mut visit);
}

/// Whether the character belongs to a script that is written without spaces.
pub fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0x1100..=0x11FF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F
        | 0x20000..=0x2FA1F | 0x3005 | 0x3007)
}

/// Whether the character is a hiragana.
pub fn is_hiragana(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x309F)
}

/// English function words that are ignored in rankings.
pub fn is_stop_word(word: &str) -> bool {
    const STOP: &[&str] = &[
        "a", "about", "an", "and", "ar", "are", "as", "at", "be", "been", "but", "by", "can",
        "could", "did", "do", "doe", "does", "for", "from", "ha", "had", "has", "have", "he",
        "her", "hi", "his", "how", "i", "if", "in", "into", "is", "it", "its", "mai", "may", "not",
        "of", "on", "or", "our", "she", "should", "so", "such", "than", "that", "the", "their",
        "them", "then", "there", "these", "thei", "they", "thi", "this", "those", "to", "wa",
        "was", "we", "were", "what", "when", "where", "which", "while", "who", "will", "with",
        "would",
    ];
    STOP.binary_search(&word).is_ok()
}

struct Scanner {
    mode: TokenMode,
    stemmer: Stemmer,
    word: String,
    word_span: Range<usize>,
    run: Vec<(char, Range<usize>)>,
}

impl Scanner {
    fn push<F>(&mut self, c: char, span: Range<usize>, visit: &mut F) -> bool
    where
        F: FnMut(&str, Range<usize>, TokenKind) -> bool,
    {
        if is_combining_mark(c) {
            self.combine(c, span);
            return true;
        }
        if is_cjk(c) {
            let go_on = self.flush_word(visit);
            self.run.push((c, span));
            return go_on;
        }
        if c.is_alphanumeric() {
            let go_on = self.flush_run(visit);
            if self.word.is_empty() {
                self.word_span.start = span.start;
            }
            self.word_span.end = span.end;
            self.word.push(c);
            return go_on;
        }
        self.flush_word(visit) && self.flush_run(visit)
    }

    /// A combining mark does not end a word; half-width katakana have separate voicing marks.
    fn combine(&mut self, mark: char, span: Range<usize>) {
        if let Some((last, last_span)) = self.run.last_mut() {
            *last = compose(*last, mark).unwrap_or(*last);
            last_span.end = span.end;
        } else if let Some(joined) = self.word.pop() {
            self.word.push(compose(joined, mark).unwrap_or(joined));
            self.word_span.end = span.end;
        }
    }

    fn flush_word<F>(&mut self, visit: &mut F) -> bool
    where
        F: FnMut(&str, Range<usize>, TokenKind) -> bool,
    {
        if self.word.is_empty() {
            return true;
        }
        let stem = match self.word.len() {
            0..=LONGEST_STEMMED => self.stemmer.stem(&self.word),
            _ => Cow::Borrowed(self.word.as_str()),
        };
        let go_on = visit(&stem, self.word_span.clone(), TokenKind::Word);
        drop(stem);
        self.word.clear();
        go_on
    }

    fn flush_run<F>(&mut self, visit: &mut F) -> bool
    where
        F: FnMut(&str, Range<usize>, TokenKind) -> bool,
    {
        let mut pair = String::with_capacity(8);
        for two in self.run.windows(2) {
            let [(a, a_span), (b, b_span)] = two else {
                continue;
            };
            pair.clear();
            pair.push(*a);
            pair.push(*b);
            let kind = if is_hiragana(*a) && is_hiragana(*b) {
                TokenKind::Kana
            } else {
                TokenKind::Pair
            };
            if !visit(&pair, a_span.start..b_span.end, kind) {
                return false;
            }
        }
        let wants_single = self.mode == TokenMode::Index || self.run.len() == 1;
        let last = self.run.last().cloned();
        self.run.clear();
        match last {
            Some((c, span)) if wants_single => {
                pair.clear();
                pair.push(c);
                visit(&pair, span, TokenKind::Single)
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, mode: TokenMode) -> Vec<String> {
        tokenize(text, mode).into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn cuts_and_folds() {
        let cases: &[(&str, TokenMode, &[&str])] = &[
            (
                "Heart failures increased",
                TokenMode::Query,
                &["heart", "failur", "increas"],
            ),
            (
                "DPP-4 inhibitors",
                TokenMode::Query,
                &["dpp", "4", "inhibitor"],
            ),
            ("血糖値", TokenMode::Query, &["血糖", "糖値"]),
            ("血糖値", TokenMode::Index, &["血糖", "糖値", "値"]),
            ("血", TokenMode::Query, &["血"]),
            ("ﾊﾟｰｾﾝﾄ", TokenMode::Query, &["パー", "ーセ", "セン", "ント"]),
            (
                "２型糖尿病",
                TokenMode::Query,
                &["2", "型糖", "糖尿", "尿病"],
            ),
            ("café naïve", TokenMode::Query, &["café", "naïv"]),
            ("", TokenMode::Index, &[]),
            ("--- 。、", TokenMode::Index, &[]),
        ];
        for (text, mode, expected) in cases {
            assert_eq!(words(text, *mode), *expected, "{text}");
        }
    }

    #[test]
    fn spans_point_into_the_original() {
        let text = "ＨｂＡ１ｃ は血糖値";
        for token in tokenize(text, TokenMode::Index) {
            assert!(text.get(token.span.clone()).is_some(), "{token:?}");
        }
    }

    /// The stemmer copies a word once for each `y` in it: a million of them took minutes.
    #[test]
    fn words_that_are_no_english_are_not_stemmed() {
        let long = format!("{}s", "y".repeat(1_000_000));
        assert_eq!(words(&long, TokenMode::Query), [long.as_str()]);
    }

    #[test]
    fn ranking_leaves_grammar_out() {
        assert_eq!(ranking_terms("the risk of がん について"), ["risk"]);
    }
}
