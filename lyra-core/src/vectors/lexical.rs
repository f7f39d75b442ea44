//! Search by words: BM25 over the full-text index.

use crate::error::{Result, SqliteResultExt};
use crate::graph::Reader;
use crate::model::EmbeddingTarget;
use crate::text::{TokenKind, TokenMode, is_hiragana, is_stop_word, tokenize};
use rusqlite::{OptionalExtension, params};

/// At most so many different terms of a query are looked up.
const MAX_TERMS: usize = 64;

/// A full-text `MATCH` expression that finds any of the words of `text`; none if there are none.
///
/// Function words, pairs of hiragana, and pairs that begin with one (they reach over the end of a
/// word) are left out unless there is nothing else.
///
/// ```
/// use lyra_core::vectors::match_expression;
/// assert_eq!(match_expression("the risk of 心不全").as_deref(), Some(r#""risk" OR "心不" OR "不全""#));
/// assert_eq!(match_expression("薬の効果").as_deref(), Some(r#""薬の" OR "効果""#));
/// assert_eq!(match_expression("薬").as_deref(), Some(r#""薬"*"#));
/// assert_eq!(match_expression("the").as_deref(), Some(r#""the""#));
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
    let mut terms = Vec::new();
    for token in &tokens {
        if any_telling && !telling(token.kind, &token.text) || !seen.insert(token.text.clone()) {
            continue;
        }
        // The index stems again what it is asked for, so it gets the word as it was written.
        let written = match token.kind {
            TokenKind::Word => text.get(token.span.clone()).unwrap_or(&token.text),
            _ => &token.text,
        };
        terms.push(format!("\"{}\"", written.replace('"', "\"\"")));
        if terms.len() == MAX_TERMS {
            break;
        }
    }
    // One character alone finds every word that it begins; beside others it would find too much.
    if let ([term], [token]) = (terms.as_mut_slice(), tokens.as_slice())
        && token.kind == TokenKind::Single
    {
        term.push('*');
    }
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

/// Ids and BM25 scores (greater is better) of the best matches of `text` among the members, best
/// first; equals in the order of their ids.
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
    // A frequent word is in every second text: only what may be shown is looked up.
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
