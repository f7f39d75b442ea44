//! SQL of SQLite → SQL of DuckDB, limited to what the views use.
//!
//! | SQLite | DuckDB |
//! |---|---|
//! | `CROSS JOIN x ON …` (keeps the order of the tables) | `JOIN x ON …` |
//! | `INDEXED BY i` | nothing |
//! | `min(a, b)`, `max(a, b)` | `lyra_least`, `lyra_greatest`: null if one is null |
//! | `iif` | `if` |
//! | `1.0` (a float) | `1.0e0`, because `1.0` is a decimal |
//! | `json_object(…)` | the same as text |
//! | `json_group_array(x ORDER BY y)` | `to_json(list(x ORDER BY y))` as text, `[]` for no rows |
//! | `ORDER BY a, b DESC` (null is smallest) | `ORDER BY a NULLS FIRST, b DESC NULLS LAST` |
//! | `c.seq`, `s.claim_seq` | `c.id`, `s.claim_id`: row numbers are not exported |
//! | `:name` | `name`, a parameter of the macro |

use super::super::header::TemplateFault;
use super::super::params::{CURRENT_YEAR, ViewParameter};
use super::tokens::{SqlToken, SqlTokenKind, closing, text_of, tokens};

/// Translates the SELECT of a view.
pub(super) fn translated(sql: &str, parameters: &[ViewParameter]) -> Result<String, TemplateFault> {
    let mut tokens = tokens(sql);
    refuse_hidden_columns(&tokens, parameters)?;
    numbers(&mut tokens);
    names(&mut tokens);
    without_hints(&mut tokens);
    joins(&mut tokens);
    functions(&mut tokens);
    json(&mut tokens);
    orders(&mut tokens);
    given(&mut tokens);
    Ok(text_of(&tokens))
}

/// In a macro, an unqualified name that equals a parameter refers to the parameter, so columns must be
/// qualified.
fn refuse_hidden_columns(
    tokens: &[SqlToken],
    parameters: &[ViewParameter],
) -> Result<(), TemplateFault> {
    for (at, token) in tokens.iter().enumerate() {
        let is_parameter =
            token.kind == SqlTokenKind::Word && parameters.iter().any(|p| token.is_word(&p.name));
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let is_safe = before.is_some_and(|t| t.is_sign(".") || t.is_word("AS"));
        if is_parameter && !is_safe {
            let line = 1 + tokens[..=at]
                .iter()
                .map(|t| t.before.matches('\n').count())
                .sum::<usize>();
            let reason = format!(
                "the column {0:?} has the name of a parameter; write the table before it: t.{0}",
                token.text
            );
            return Err(TemplateFault::new(line, reason));
        }
    }
    Ok(())
}

fn numbers(tokens: &mut [SqlToken]) {
    for token in tokens {
        let is_decimal = token.kind == SqlTokenKind::Number
            && token.text.contains('.')
            && !token.text.contains(['e', 'E']);
        if is_decimal {
            token.text.push_str("e0");
        }
    }
}

fn names(tokens: &mut [SqlToken]) {
    for at in 0..tokens.len() {
        let after_dot = at > 0 && tokens[at - 1].is_sign(".");
        if tokens[at].is_word("claim_seq") {
            "claim_id".clone_into(&mut tokens[at].text);
        } else if after_dot && tokens[at].is_word("seq") {
            "id".clone_into(&mut tokens[at].text);
        }
    }
}

fn without_hints(tokens: &mut Vec<SqlToken>) {
    while let Some(at) =
        (1..tokens.len()).find(|at| tokens[at - 1].is_word("INDEXED") && tokens[*at].is_word("BY"))
    {
        tokens.drain(at - 1..(at + 2).min(tokens.len()));
    }
}

fn joins(tokens: &mut Vec<SqlToken>) {
    let ends = [
        "JOIN", "LEFT", "CROSS", "WHERE", "GROUP", "ORDER", "UNION", "LIMIT",
    ];
    let mut at = 0;
    while at + 1 < tokens.len() {
        if !(tokens[at].is_word("CROSS") && tokens[at + 1].is_word("JOIN")) {
            at += 1;
            continue;
        }
        let mut next = at + 2;
        while next < tokens.len() {
            if tokens[next].is_sign("(") {
                next = closing(tokens, next);
            } else if tokens[next].is_sign(")")
                || tokens[next].is_word("ON")
                || ends.iter().any(|end| tokens[next].is_word(end))
            {
                break;
            }
            next += 1;
        }
        if tokens.get(next).is_some_and(|t| t.is_word("ON")) {
            let cross = tokens.remove(at);
            tokens[at].before = cross.before;
        }
        at += 1;
    }
}

fn functions(tokens: &mut [SqlToken]) {
    for at in 0..tokens.len() {
        if !tokens.get(at + 1).is_some_and(|t| t.is_sign("(")) {
            continue;
        }
        let several = commas(tokens, at + 2, closing(tokens, at + 1))
            .next()
            .is_some();
        let text = match tokens[at].text.to_lowercase().as_str() {
            "iif" => "if",
            "min" if several => "lyra_least",
            "max" if several => "lyra_greatest",
            _ => continue,
        };
        text.clone_into(&mut tokens[at].text);
    }
}

/// The commas between `from` and `to` that are not inside nested brackets.
fn commas(tokens: &[SqlToken], from: usize, to: usize) -> impl Iterator<Item = usize> {
    let mut depth = 0_i32;
    (from..to).filter(move |at| {
        depth += i32::from(tokens[*at].is_sign("(")) - i32::from(tokens[*at].is_sign(")"));
        depth == 0 && tokens[*at].is_sign(",")
    })
}

fn json(tokens: &mut Vec<SqlToken>) {
    let mut at = 0;
    while at + 1 < tokens.len() {
        at += 1;
        if !tokens[at].is_sign("(") {
            continue;
        }
        let mut end = closing(tokens, at);
        let (name, after) = match tokens[at - 1].text.as_str() {
            "json_object" => ("CAST(json_object", " AS VARCHAR)"),
            "json_group_array" => ("CAST(to_json(coalesce(list", ", [])) AS VARCHAR)"),
            _ => continue,
        };
        if tokens.get(end + 1).is_some_and(|t| t.is_word("FILTER")) {
            end = closing(tokens, end + 2);
        }
        name.clone_into(&mut tokens[at - 1].text);
        // A separate token, so that brackets are still counted correctly.
        let end = (end + 1).min(tokens.len());
        tokens.insert(
            end,
            SqlToken {
                before: String::new(),
                text: after.to_owned(),
                kind: SqlTokenKind::Other,
            },
        );
    }
}

fn orders(tokens: &mut [SqlToken]) {
    let mut notes: Vec<(usize, &str)> = Vec::new();
    for at in 1..tokens.len() {
        if tokens[at - 1].is_word("ORDER") && tokens[at].is_word("BY") {
            notes.extend(order_terms(tokens, at + 1));
        }
    }
    for (at, note) in notes {
        tokens[at].text.push_str(note);
    }
}

/// The last token of each term of an ORDER BY, with the position of its nulls.
fn order_terms(tokens: &[SqlToken], from: usize) -> Vec<(usize, &'static str)> {
    let ends = ["LIMIT", "ROWS", "RANGE", "GROUPS", "UNION"];
    let (mut terms, mut at) = (Vec::new(), from);
    let mut end_term = |last: usize| {
        let note = match tokens[last].is_word("DESC") {
            true => " NULLS LAST",
            false => " NULLS FIRST",
        };
        terms.push((last, note));
    };
    while at < tokens.len() {
        let token = &tokens[at];
        if token.is_sign("(") {
            at = closing(tokens, at);
        } else if token.is_sign(",") {
            end_term(at - 1);
        } else if token.is_sign(")") || ends.iter().any(|end| token.is_word(end)) {
            break;
        }
        at += 1;
    }
    end_term(at - 1);
    terms
}

fn given(tokens: &mut [SqlToken]) {
    for token in tokens
        .iter_mut()
        .filter(|t| t.kind == SqlTokenKind::Parameter)
    {
        let name = token.text.trim_start_matches(':').to_owned();
        token.text = match name == CURRENT_YEAR {
            true => format!("coalesce({name}, lyra_year())"),
            false => name,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> String {
        translated(sql, &[]).unwrap()
    }

    #[test]
    fn translates_what_differs() {
        let cases = [
            (
                "SELECT 1 FROM a CROSS JOIN b ON b.x = a.x CROSS JOIN (SELECT 1) AS s",
                "SELECT 1 FROM a JOIN b ON b.x = a.x CROSS JOIN (SELECT 1) AS s",
            ),
            (
                "SELECT 1 FROM a INDEXED BY i CROSS JOIN b INDEXED BY j ON TRUE",
                "SELECT 1 FROM a JOIN b ON TRUE",
            ),
            (
                "SELECT min(a, min(b)), max(c), iif(x, 1.0, 1e11) -- end",
                "SELECT lyra_least(a, min(b)), max(c), if(x, 1.0e0, 1e11)",
            ),
            (
                "SELECT c.seq FROM s WHERE s.claim_seq = :n ORDER BY f(a, b), c DESC LIMIT 1",
                "SELECT c.id FROM s WHERE s.claim_id = n \
                 ORDER BY f(a, b) NULLS FIRST, c DESC NULLS LAST LIMIT 1",
            ),
            (
                "json_group_array(p ORDER BY p) FILTER (WHERE n < 2) AS ids",
                "CAST(to_json(coalesce(list(p ORDER BY p NULLS FIRST) FILTER (WHERE n < 2), [])) \
                 AS VARCHAR) AS ids",
            ),
            (
                "(SELECT json_object('a', 'min(1.0, :x)') FROM t)",
                "(SELECT CAST(json_object('a', 'min(1.0, :x)') AS VARCHAR) FROM t)",
            ),
            (
                "lag(x) OVER (PARTITION BY a ORDER BY b) >= :current_year - 2",
                "lag(x) OVER (PARTITION BY a ORDER BY b NULLS FIRST) \
                 >= coalesce(current_year, lyra_year()) - 2",
            ),
        ];
        for (sqlite, duckdb) in cases {
            assert_eq!(of(sqlite), duckdb);
        }
    }
}
