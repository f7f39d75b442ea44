//! Lexical search: BM25 over the full-text index.

use crate::error::Result;
use crate::store::database::SqliteResultExt;
use crate::store::graph::Reader;
use crate::store::model::EmbeddingTarget;
use crate::store::text::{
    Token, TokenKind, TokenMode, is_hiragana, is_stop_word, number_in_words, number_of_two,
    other_spellings, tokenize,
};
use rusqlite::{OptionalExtension, params};

/// Maximum number of different terms of a query that are looked up.
const MAX_TERMS: usize = 64;

/// A full-text `MATCH` expression that finds any of the words of `text`; none if the text has no words.
///
/// Function words, pairs of hiragana, and pairs that begin with a hiragana (they extend beyond the end
/// of a word) are left out unless there is nothing else. British and American spellings of a word, and
/// numbers in words and in digits, are searched for together.
///
/// ```
/// use lyra_core::store::vectors::match_expression;
/// assert_eq!(match_expression("the risk of 心不全").as_deref(), Some(r#""risk" OR "心不" OR "不全""#));
/// assert_eq!(match_expression("薬の効果").as_deref(), Some(r#""薬の" OR "効果""#));
/// assert_eq!(match_expression("薬").as_deref(), Some(r#""薬"*"#));
/// assert_eq!(match_expression("the").as_deref(), Some(r#""the""#));
/// assert_eq!(match_expression("tumour").as_deref(), Some(r#""tumour" OR "tumor""#));
/// assert_eq!(match_expression("?!"), None);
/// ```
pub fn match_expression(text: &str) -> Option<String> {
    let tokens = tokenize(text, TokenMode::Query);
    let telling = |kind, word: &str| match kind {
        TokenKind::Word => !is_stop_word(word),
        TokenKind::Pair => !word.starts_with(is_hiragana),
        TokenKind::Kana => false,
        TokenKind::Single => true,
    };
    let any_telling = tokens.iter().any(|t| telling(t.kind, &t.text));
    let mut seen = std::collections::HashSet::new();
    let (mut terms, mut others) = (Vec::new(), Vec::new());
    for token in &tokens {
        if any_telling && !telling(token.kind, &token.text) || !seen.insert(token.text.clone()) {
            continue;
        }
        // The index stems the search terms again, so it is given the word as written.
        let written = match token.kind {
            TokenKind::Word => text.get(token.span.clone()).unwrap_or(&token.text),
            _ => &token.text,
        };
        terms.push(quoted(written));
        if token.kind == TokenKind::Word {
            others.extend(other_spellings(&written.to_lowercase()));
        }
        if terms.len() == MAX_TERMS {
            break;
        }
    }
    others.extend(of_neighbours(text, &tokens));
    for other in others {
        let stems = tokenize(&other, TokenMode::Query).into_iter();
        let stems: Vec<String> = stems.map(|token| token.text).collect();
        if seen.insert(stems.join(" ")) {
            terms.push(quoted(&other));
        }
    }
    // A single character finds every word that begins with it; beside other terms this would find too
    // much.
    if let ([term], [token]) = (terms.as_mut_slice(), tokens.as_slice())
        && token.kind == TokenKind::Single
    {
        term.push('*');
    }
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

fn quoted(term: &str) -> String {
    format!("\"{}\"", term.replace('"', "\"\""))
}

/// Terms for expressions of several words, or of a sign: `twenty-five`, `per cent`, `%`.
fn of_neighbours(text: &str, tokens: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_share =
        text.contains(['%', '％']) || tokens.iter().any(|token| token.text == "percent");
    for pair in tokens.windows(2) {
        let word = |at: usize| {
            text.get(pair[at].span.clone())
                .unwrap_or_default()
                .to_lowercase()
        };
        found.extend(number_of_two(&word(0), &word(1)));
        is_share |= pair[0].text == "per" && pair[1].text == "cent";
    }
    if is_share {
        // In other cases, a number in digits is often part of a name: "type 2", "IL-6".
        let digits = tokens
            .iter()
            .filter_map(|token| number_in_words(&token.text));
        found.extend(digits.chain(["percent", "per cent"].map(str::to_owned)));
    }
    found
}

/// Ids and BM25 scores (greater is better) of the best matches of `text` among the members, best first;
/// ties are sorted by id.
pub(super) fn best_matches(
    reader: &Reader<'_>,
    target: EmbeddingTarget,
    text: &str,
    limit: usize,
    is_member: impl Fn(&str) -> bool,
) -> Result<Vec<(String, f64)>> {
    let Some(expression) = match_expression(text) else {
        return Ok(Vec::new());
    };
    let (scores, id) = match target {
        EmbeddingTarget::Fragment => (
            "SELECT rowid, bm25(fragments_fts) FROM fragments_fts WHERE fragments_fts MATCH ?1",
            "SELECT id FROM fragments WHERE seq = ?1",
        ),
        EmbeddingTarget::Claim => (
            "SELECT rowid, bm25(claims_fts) FROM claims_fts WHERE claims_fts MATCH ?1",
            "SELECT id FROM claims WHERE seq = ?1",
        ),
    };
    let mut statement = reader.db.prepare_cached(scores).db()?;
    let found = statement.query_map(params![expression], |r| Ok((r.get(0)?, r.get(1)?)));
    let mut found: Vec<(i64, f64)> = found.db()?.collect::<rusqlite::Result<_>>().db()?;
    found.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
    // A frequent word is in every second text, so only the rows that may be shown are looked up.
    let mut id_of = reader.db.prepare_cached(id).db()?;
    let mut best = Vec::new();
    for equals in found.chunk_by(|a, b| a.1 == b.1) {
        if best.len() >= limit {
            break;
        }
        let mut ids: Vec<String> = Vec::new();
        for (seq, _) in equals {
            let id: Option<String> = id_of.query_row([seq], |r| r.get(0)).optional().db()?;
            ids.extend(id.filter(|id| is_member(id)));
        }
        ids.sort_unstable();
        best.extend(ids.into_iter().map(|id| (id, -equals[0].1)));
    }
    best.truncate(limit);
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_ways_to_write_a_word_are_looked_for_with_it() {
        for (query, expression) in [
            (
                "the colour of tumors",
                r#""colour" OR "tumors" OR "color" OR "tumours""#,
            ),
            (
                "five percent",
                r#""five" OR "percent" OR "5" OR "per cent""#,
            ),
            ("5 %", r#""5" OR "five" OR "percent" OR "per cent""#),
            (
                "twenty-five per cent",
                r#""twenty" OR "five" OR "per" OR "cent" OR "20" OR "5" OR "25" OR "percent" OR "per cent""#,
            ),
            (
                "25 percent",
                r#""25" OR "percent" OR "per cent" OR "twenty five""#,
            ),
            ("type 2", r#""type" OR "2""#),
            ("5 five", r#""5" OR "five""#),
            ("Randomised", r#""Randomised" OR "randomized""#),
        ] {
            assert_eq!(
                match_expression(query).as_deref(),
                Some(expression),
                "{query}"
            );
        }
    }

    #[test]
    fn derived_forms_are_one_word() {
        let stem = |word: &str| tokenize(word, TokenMode::Query).remove(0).text;
        for (a, b) in [
            ("productive", "productivity"),
            ("infection", "infections"),
            ("hypertension", "hypertensive"),
            ("modelling", "modeling"),
        ] {
            assert_eq!(stem(a), stem(b), "{a} {b}");
        }
    }
}
