//! Tests of [`super`].

use super::*;
use proptest::prelude::*;
use std::time::Instant;

fn found(column: c_int, first: usize, end: usize, phrase: c_int) -> Match {
    Match {
        column,
        first,
        end,
        phrase,
    }
}

#[test]
fn the_window_with_the_most_phrases_wins() {
    for (matches, size, expected) in [
        (vec![], 8, None),
        (vec![found(0, 5, 6, 0)], 9, Some((0, 1))),
        (
            vec![
                found(0, 0, 1, 0),
                found(0, 1, 2, 0),
                found(0, 50, 51, 0),
                found(0, 51, 52, 1),
            ],
            4,
            Some((0, 49)),
        ),
        (
            vec![found(0, 3, 4, 0), found(1, 9, 10, 0), found(1, 10, 11, 0)],
            2,
            Some((1, 9)),
        ),
        (vec![found(0, 10, 20, 0)], 4, Some((0, 10))),
    ] {
        assert_eq!(best_window(&matches, size), expected, "{matches:?}");
    }
}

#[test]
fn ranges_that_overlap_become_one() {
    // Tokens of 2 bytes that overlap by one, like character bigrams.
    let tokens: Vec<Range<usize>> = (0..6).map(|i| i..i + 2).collect();
    let matches = [
        found(0, 0, 1, 0),
        found(0, 1, 2, 0),
        found(0, 4, 5, 0),
        found(1, 2, 3, 0),
    ];
    assert_eq!(byte_ranges(&matches, 0, &(0..6), &tokens), [0..3, 4..6]);
    assert_eq!(
        byte_ranges(&matches, 0, &(1..7), &tokens[1..]),
        [1..3, 4..6]
    );
    assert!(byte_ranges(&matches, 0, &(9..12), &tokens).is_empty());
}

#[allow(clippy::disallowed_methods, reason = "a bare SQLite to compare with")]
fn table(text: &str, replaced: bool) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    if replaced {
        register(&connection, &Arc::new(QueryBudget::new())).unwrap();
    }
    connection
        .execute_batch("CREATE VIRTUAL TABLE t USING fts5 (a, b)")
        .unwrap();
    connection
        .execute("INSERT INTO t VALUES (?1, 'in the other column')", [text])
        .unwrap();
    connection
}

fn ask(connection: &Connection, expression: &str, query: &str) -> Option<String> {
    let sql = format!("SELECT {expression} FROM t WHERE t MATCH ?1");
    connection.query_row(&sql, [query], |row| row.get(0)).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn highlight_is_sqlites(
        words in prop::collection::vec("[abc]", 0..40),
        query in prop::sample::select(vec!["a", "a b", "\"a b\"", "a OR c", "\"a b\" OR \"b c\"", "b: other OR a"]),
    ) {
        let text = words.join(" ");
        let expression = "highlight(t, 0, '[', ']')";
        let ours = ask(&table(&text, true), expression, query);
        let theirs = ask(&table(&text, false), expression, query);
        // Overlapping phrases are one range in both; phrases that only touch stay separate.
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn a_snippet_is_a_marked_piece_of_the_text(
        words in prop::collection::vec("[a-e]", 1..200), size in 1..20_usize,
    ) {
        let text = words.join(" ");
        let snippet = ask(&table(&text, true), &format!("snippet(t, 0, '[', ']', '~', {size})"), "a");
        let Some(snippet) = snippet else {
            prop_assert!(!text.contains('a'));
            return Ok(());
        };
        let plain = snippet.replace(['[', ']', '~'], "");
        prop_assert!(text.contains(&plain));
        prop_assert!(plain.split_whitespace().count() <= size);
        prop_assert!(snippet.contains("[a]"));
        prop_assert_eq!(plain.matches('a').count(), snippet.matches("[a]").count());
    }
}

#[test]
fn a_text_that_is_one_word_over_and_over_takes_no_time() {
    let connection = table(&"glucose ".repeat(25_000), true);
    let start = Instant::now();
    let snippet = ask(&connection, "snippet(t, -1, '[', ']', '~', 3)", "glucose").unwrap();
    assert_eq!(snippet, "[glucose] [glucose] [glucose]~");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn wrong_arguments_are_errors() {
    let connection = table("a b", true);
    for expression in [
        "highlight(t, 9, '', '')",
        "highlight(t)",
        "snippet(t, 0)",
        "highlight(t, -1, '', '')",
    ] {
        assert_eq!(ask(&connection, expression, "a"), None, "{expression}");
    }
    assert_eq!(
        ask(&connection, "highlight(t, 0, '<', '>')", "a").as_deref(),
        Some("<a> b")
    );
}
