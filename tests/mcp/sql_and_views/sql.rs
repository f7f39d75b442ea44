//! query_sql: what it refuses, and what it answers at the edges.

use super::{Refusal, Server};
use serde_json::json;

/// Counts for ever.
const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

#[test]
fn arguments_of_query_sql_are_checked() {
    let mut server = Server::start();
    let mut cases = vec![
        (json!({}), "\"sql\" is missing", ""),
        (json!({"sql": null}), "\"sql\" is missing", ""),
        (json!({"query": "SELECT 1"}), "\"query\" is not known", ""),
        (json!({"sql": 5}), "\"sql\" is 5; expected a string", ""),
        (json!({"sql": ["SELECT 1"]}), "an array of 1 items", ""),
        (json!({"sql": ""}), "expected a string of 1 to 32768", ""),
        (
            json!({"sql": format!("SELECT '{}'", "x".repeat(40_000))}),
            "a string of 40009 characters; expected a string of 1 to 32768",
            "",
        ),
        (
            json!({"sql": "SELECT 1", "limit": 5}),
            "\"limit\" is not known",
            "did you mean \"options.limit\"?",
        ),
        (
            json!({"sql": "SELECT 1", "parms": []}),
            "\"parms\" is not known",
            "did you mean \"params\"?",
        ),
        (
            json!({"sql": "SELECT 1", "options": {"limits": 5}}),
            "\"options.limits\" is not known",
            "did you mean \"options.limit\"?",
        ),
        (
            json!({"sql": "SELECT 1", "options": []}),
            "expected an object with limit, offset",
            "",
        ),
    ];
    for params in [json!(5), json!("a"), json!(vec![1; 17])] {
        let arguments = json!({"sql": "SELECT ?", "params": params});
        cases.push((
            arguments,
            "expected an array of at most 16 items, or an object",
            "",
        ));
    }
    for value in [json!([1]), json!({"a": 1})] {
        let expected = "expected a string or a number or true or false or null";
        cases.push((json!({"sql": "SELECT ?", "params": [value]}), expected, ""));
        cases.push((
            json!({"sql": "SELECT :a", "params": {"a": value}}),
            expected,
            "",
        ));
    }
    let cases: Vec<Refusal<'_>> = cases
        .into_iter()
        .map(|(arguments, error, hint)| (arguments, "INVALID_PARAMS", error, hint))
        .collect();
    server.refuses("query_sql", &cases);
}

#[test]
fn every_option_has_its_range() {
    let mut server = Server::start();
    for (option, below, lowest, highest, above) in [
        ("limit", 0_i64, 1_i64, 200_i64, 201_i64),
        ("offset", -1, 0, 1_000_000_000, 1_000_000_001),
        ("timeout_ms", 0, 1, 2_000, 2_001),
        ("max_vm_steps", 0, 1, 50_000_000, 50_000_001),
        ("max_bytes", 1_023, 1_024, 1_048_576, 1_048_577),
    ] {
        for wrong in [
            json!(below),
            json!(above),
            json!(lowest.to_string()),
            json!(1.5),
        ] {
            let arguments = json!({"sql": "SELECT 1", "options": {option: wrong}});
            let expected = format!("expected an integer from {lowest} to {highest}");
            server.refuses("query_sql", &[(arguments, "INVALID_PARAMS", &expected, "")]);
        }
        for right in [json!(highest), json!(highest as f64), json!(null)] {
            let body = server.ask(
                "query_sql",
                &json!({"sql": "SELECT 1", "options": {option: right}}),
            );
            assert_eq!(body["ok"], true, "{option} {right}: {body}");
        }
    }
    let arguments = json!({"sql": "SELECT 1", "options": {"include_schema": "yes"}});
    server.refuses(
        "query_sql",
        &[(arguments, "INVALID_PARAMS", "expected true or false", "")],
    );
}

#[test]
fn sql_that_is_no_query_says_where_and_what_instead() {
    let mut server = Server::start();
    let long = format!("SELECT '{}'", "あ".repeat(12_000));
    let cases = [
        ("   ", "there is no query", "write one SELECT"),
        ("-- nothing else", "there is no query", "write one SELECT"),
        ("/* nothing */ ;", "there is no query", "write one SELECT"),
        (
            "SELECT 1; SELECT 2",
            "more than one statement",
            "one SELECT",
        ),
        (
            "SELECT 1; DELETE FROM claims",
            "writing is not allowed",
            "one SELECT",
        ),
        ("SELECT 1\0", "a NUL character", "take it out"),
        (long.as_str(), "36009 bytes; at most 32768", "json_each"),
        (
            "SELEC 1",
            "at character 1: near \"SELEC\"",
            "SQLite's dialect",
        ),
        (
            "SELECT * FORM claims",
            "at character 10: near \"FORM\"",
            "SQLite's dialect",
        ),
        (
            "SELECT '血', * FORM claims",
            "at character 15: near \"FORM\"",
            "SQLite's dialect",
        ),
        ("SELECT id FROM claims WHERE", "incomplete input", ""),
        ("SELECT 'open", "at character 8: unrecognized token", ""),
        (
            "SELECT id FROM claims WHERE id ILIKE 'c'",
            "near \"ILIKE\"",
            "LIKE already ignores",
        ),
        (
            "SELECT * FROM claim",
            "no such table: claim",
            "did you mean claims",
        ),
        (
            "SELECT * FROM edgs",
            "no such table: edgs",
            "did you mean edges",
        ),
        (
            "SELECT * FROM v_contradiction",
            "no such table",
            "did you mean v_contradictions",
        ),
        (
            "SELECT * FROM zzzz",
            "no such table: zzzz",
            "include_schema: true",
        ),
        (
            "SELECT clam_text FROM claims",
            "no such column: clam_text",
            "did you mean claim_text",
        ),
        (
            "SELECT zzzz FROM claims",
            "no such column: zzzz",
            "columns of the tables named: ",
        ),
        (
            "SELECT domain FROM claims",
            "no such column: domain",
            "domain is a column of",
        ),
        (
            "SELECT id FROM claims WHERE id = \"c1\"",
            "no such column",
            "single quotes: 'c1'",
        ),
        (
            "SELECT lenght(id) FROM claims",
            "no such function: lenght",
            "did you mean length",
        ),
        ("SELECT now()", "no such function: now", "datetime('now')"),
        (
            "SELECT id FROM claims, pages",
            "ambiguous column name: id",
            "which table's id",
        ),
        (
            "SELECT json_extract('x', '$')",
            "malformed JSON",
            "json_valid(x)",
        ),
        (
            "SELECT rowid FROM fragments_fts WHERE fragments_fts MATCH '\"'",
            "unterminated string",
            "MATCH takes words",
        ),
    ];
    for (sql, error, hint) in cases {
        let arguments = json!({ "sql": sql });
        server.refuses("query_sql", &[(arguments, "QUERY_REJECTED", error, hint)]);
    }
}

#[test]
fn a_task_is_looked_for_in_the_wrong_table_and_the_join_is_named() {
    let mut server = Server::start();
    for (sql, hint) in [
        (
            "SELECT task_id FROM pages",
            "JOIN task_pages tp ON tp.page_id = p.id",
        ),
        (
            "SELECT p.url FROM pages p WHERE p.task_id = 'x'",
            "JOIN task_pages tp",
        ),
        (
            "SELECT f.task_id FROM fragments f",
            "JOIN claims c ON c.id = e.target_id",
        ),
        (
            "SELECT * FROM edges WHERE task_id = 'x'",
            "JOIN claims c ON e.target_type = 'claim'",
        ),
        (
            "SELECT task_id FROM works",
            "JOIN task_pages tp ON tp.page_id = p.id",
        ),
    ] {
        let arguments = json!({ "sql": sql });
        let error = "no such column: ";
        server.refuses("query_sql", &[(arguments, "QUERY_REJECTED", error, hint)]);
    }
}

#[test]
fn nothing_is_written_by_any_statement() {
    let mut server = Server::start();
    for sql in [
        "INSERT INTO claims (id) VALUES ('x')",
        "REPLACE INTO claims (id) VALUES ('x')",
        "UPDATE claims SET claim_text = 'x'",
        "DELETE FROM claims",
        "WITH x AS (SELECT 1) DELETE FROM claims",
        "DROP TABLE claims",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x (a)",
        "CREATE TEMP VIEW claims AS SELECT 1",
        "CREATE TEMP TRIGGER x AFTER INSERT ON claims BEGIN SELECT 1; END",
        "ALTER TABLE claims ADD COLUMN x",
        "VACUUM",
        "VACUUM INTO 'x.db'",
        "ATTACH 'x.db' AS x",
        "DETACH main",
        "REINDEX",
        "ANALYZE",
        "BEGIN",
        "COMMIT",
        "SAVEPOINT x",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA user_version = 3",
        "PRAGMA writable_schema = ON",
        "PRAGMA query_only = OFF",
        "EXPLAIN DELETE FROM claims",
        "SELECT load_extension('x')",
        "SELECT writefile('x.db', 'x')",
        "SELECT readfile('a.db')",
        "SELECT fts5(1)",
        "INSERT INTO claims_fts (claims_fts) VALUES ('rebuild')",
    ] {
        let body = server.sql(sql);
        assert_eq!(body["error_code"], "QUERY_REJECTED", "{sql}: {body}");
        assert!(body["hint"].is_string(), "{sql}: {body}");
    }
    server.is_unchanged();
}

#[test]
fn what_is_private_is_not_there() {
    let mut server = Server::start();
    for table in [
        "fragments_fts_data",
        "claims_fts_config",
        "dbstat",
        "sqlite_stat1",
        "stale_claims",
        "stat_counted",
        "no_such_thing",
    ] {
        for sql in [
            format!("SELECT * FROM {table}"),
            format!("SELECT count(*) FROM {table}"),
            format!("SELECT 1 FROM claims WHERE EXISTS (SELECT 1 FROM {table})"),
        ] {
            let body = server.sql(&sql);
            // In the same words as for a table that does not exist.
            assert_eq!(body["error"], format!("no such table: {table}"), "{sql}");
            assert_eq!(body["error_code"], "QUERY_REJECTED");
        }
    }
    let body = server.sql("SELECT action, details_json FROM event_log");
    assert_eq!(
        body["rows"],
        json!([{"action": "import", "details_json": null}])
    );
    // The log does hold something there.
    let mut stored = Vec::new();
    for file in ["a.db", "a.db-wal"] {
        stored.extend(std::fs::read(server.folder.path().join(file)).unwrap_or_default());
    }
    let is_stored = stored.windows(14).any(|w| w == b"total_inserted");
    assert!(is_stored, "the import has logged its particulars");
    let body = server.sql("SELECT * FROM auth_queue");
    assert!(
        body["columns"]
            .as_array()
            .unwrap()
            .contains(&json!("session_data"))
    );
    let body = server.ask(
        "query_sql",
        &json!({"sql": "SELECT 1", "options": {"include_schema": true}}),
    );
    let shown = body["schema"].to_string();
    for private in ["session_data", "fts_data", "stale_", "stat_"] {
        assert!(!shown.contains(private), "{private}");
    }
    assert!(shown.contains("v_contradictions") && shown.contains("claim_text"));
}

#[test]
fn parameters_must_be_those_of_the_statement() {
    let mut server = Server::start();
    let cases = [
        (
            "SELECT ?",
            json!(null),
            "1 parameters and 0 values",
            "parameters: ?",
        ),
        (
            "SELECT ?",
            json!([]),
            "1 parameters and 0 values",
            "parameters: ?",
        ),
        (
            "SELECT ?, ?",
            json!([1]),
            "2 parameters and 1 values",
            "parameters: ?, ?",
        ),
        ("SELECT ?", json!([1, 2]), "1 parameters and 2 values", ""),
        ("SELECT 1", json!([1]), "0 parameters and 1 values", ""),
        (
            "SELECT :a",
            json!({}),
            "no value for parameter :a",
            "parameters: :a",
        ),
        (
            "SELECT :a, @b",
            json!({"a": 1}),
            "no value for parameter @b",
            "parameters: :a, @b",
        ),
        (
            "SELECT :a",
            json!({"a": 1, "b": 2}),
            "has no parameter b",
            "parameters: :a",
        ),
        ("SELECT ?", json!({"a": 1}), "no value for parameter ?", ""),
        (
            "SELECT ?",
            json!(["x".repeat(300_000)]),
            "300000 bytes; at most 262144",
            "",
        ),
    ];
    for (sql, params, error, hint) in cases {
        let arguments = json!({"sql": sql, "params": params});
        server.refuses("query_sql", &[(arguments, "QUERY_REJECTED", error, hint)]);
    }
    server.answers(&[
        (
            json!({"sql": "SELECT ? AS b, ? AS n, ? AS t, ? AS r", "params": [true, null, "x", 0.5]}),
            json!([{"b": 1, "n": null, "t": "x", "r": 0.5}]),
        ),
        (
            json!({"sql": "SELECT :a AS x, @b AS y, $c AS z", "params": {"a": 1, "@b": 2, "c": 3}}),
            json!([{"x": 1, "y": 2, "z": 3}]),
        ),
        (
            json!({"sql": "SELECT id FROM claims WHERE id = ?", "params": ["c1' OR 1 = 1 --"]}),
            json!([]),
        ),
        (
            json!({"sql": "SELECT value AS v FROM json_each(?)", "params": ["[1, 2]"]}),
            json!([{"v": 1}, {"v": 2}]),
        ),
    ]);
}

#[test]
fn a_query_that_takes_too_much_says_of_what() {
    let mut server = Server::start();
    let generous = json!({"timeout_ms": 2_000, "max_vm_steps": 50_000_000});
    let hoarding = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
        SELECT length(json_group_array(hex(zeroblob(120000)))) FROM n";
    for (sql, options, error, hint) in [
        (
            ENDLESS,
            json!({"timeout_ms": 20}),
            "the deadline of 20 ms",
            "raise timeout_ms",
        ),
        (
            ENDLESS,
            json!({"max_vm_steps": 1_000, "timeout_ms": 2_000}),
            "the budget of 1000 steps",
            "raise max_vm_steps (at most 50000000)",
        ),
        (
            "SELECT hex(zeroblob(200000000))",
            generous.clone(),
            "too long",
            "262144 bytes",
        ),
        (
            "SELECT randomblob(1000000000)",
            generous.clone(),
            "too long",
            "262144 bytes",
        ),
        (
            "SELECT printf('%.*c', 1000000000, 'x')",
            generous.clone(),
            "too long",
            "262144 bytes",
        ),
        (
            hoarding,
            generous,
            "the memory of a query is used up",
            "use fewer rows",
        ),
    ] {
        let arguments = json!({"sql": sql, "options": options});
        server.refuses(
            "query_sql",
            &[(arguments, "QUERY_INTERRUPTED", error, hint)],
        );
    }
    server.is_unchanged();
}

#[test]
fn values_and_names_that_json_lacks_find_a_form() {
    let mut server = Server::start();
    server.answers(&[
        (
            json!({"sql": "SELECT 1 AS a, 2 AS a, 3 AS a"}),
            json!([{"a": 1, "a_2": 2, "a_3": 3}]),
        ),
        (
            json!({"sql": "SELECT x'00FF' AS b, 9e999 AS i, -9e999 AS j, 0.0 / 0 AS n"}),
            json!([{"b": "00ff", "i": null, "j": null, "n": null}]),
        ),
        // What only looks dangerous goes through.
        (
            json!({"sql": "WITH delete_log AS (SELECT replace('a;b', ';', 'update') AS x) \
                           SELECT x FROM delete_log WHERE x LIKE '%update%' LIMIT 5 OFFSET 0; -- end"}),
            json!([{"x": "aupdateb"}]),
        ),
        (
            json!({"sql": "SELECT name FROM pragma_table_info('claims') WHERE cid = 1"}),
            json!([{"name": "id"}]),
        ),
        (json!({"sql": "SELECT id FROM claims", "options": {"offset": 9}}), json!([])),
    ]);
}

#[test]
fn a_row_that_no_reply_holds_is_cut_and_paging_gets_past_it() {
    let mut server = Server::start();
    // The second of three rows is larger than any reply.
    let sql = "SELECT 1 AS i, 'a' AS t UNION ALL SELECT 2, printf('%.*c', 100000, 'x') \
               UNION ALL SELECT 3, 'c' ORDER BY i";
    for max_bytes in [1_024, 40_960, 1_048_576] {
        let (mut offset, mut seen) = (0, Vec::new());
        loop {
            let options = json!({"offset": offset, "max_bytes": max_bytes});
            let body = server.ask("query_sql", &json!({"sql": sql, "options": options}));
            assert_eq!(body["ok"], true, "{max_bytes} at {offset}");
            for row in body["rows"].as_array().unwrap() {
                seen.push(row["i"].as_i64().unwrap());
                let text = row["t"].as_str().unwrap();
                assert_eq!(text.ends_with('…'), row["i"] == 2, "{max_bytes}");
            }
            if body["truncated"] == false {
                break;
            }
            let next = body["next_offset"].as_i64().unwrap();
            assert!(
                next > offset,
                "{max_bytes}: paging stands still at {offset}"
            );
            offset = next;
        }
        assert_eq!(seen, [1, 2, 3], "{max_bytes}");
    }
}
