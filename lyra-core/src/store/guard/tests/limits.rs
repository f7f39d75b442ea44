//! Error messages, visible schema, and concurrent queries.

use super::*;

#[test]
fn explain_does_not_say_where_in_memory_things_are() {
    let guard = fixture::guard();
    let sql = "EXPLAIN SELECT count(*) FROM claims_fts WHERE claims_fts MATCH 'drops'";
    let reply = run(&guard, sql);
    assert!(reply.rows.iter().any(|row| row["opcode"] == json!("VOpen")));
    assert!(reply.rows.iter().any(|row| row["p4"] == json!("vtab")));
    assert!(
        !serde_json::to_string(&reply.rows)
            .unwrap()
            .contains("vtab:")
    );
}

#[test]
fn errors_say_what_to_do() {
    let guard = fixture::guard();
    for (sql, message, hint) in [
        (
            "SELECT task_id FROM fragments",
            "no such column: task_id",
            "JOIN edges e ON e.source_type",
        ),
        (
            "SELECT p.task_id FROM pages p",
            "no such column: p.task_id",
            "JOIN task_pages",
        ),
        (
            "SELECT task_id FROM edges",
            "no such column: task_id",
            "JOIN claims c",
        ),
        (
            "SELECT claim_txt FROM claims",
            "no such column: claim_txt",
            "claim_text",
        ),
        ("SELECT * FROM cliams", "no such table: cliams", "claims"),
        (
            "SELECT * FROM fragments_fts_data",
            "no such table: fragments_fts_data",
            "fragments",
        ),
        ("SELECT medain(1)", "no such function: medain", "median"),
        (
            "SELECT load_extension('x')",
            "no such function: load_extension",
            "functions",
        ),
        (
            "SELECT id FROM claims WHERE claim_type = \"fact\"",
            "no such column: fact",
            "'fact'",
        ),
        (
            "SELECT id FORM claims WHERE 1",
            "at character",
            "SQLite's dialect",
        ),
        (
            "SELECT id FROM claims, edges",
            "ambiguous column name: id",
            "c.id",
        ),
        (
            "SELECT rowid FROM claims_fts WHERE claims_fts MATCH 'a-b'",
            "no such column: b",
            "MATCH takes",
        ),
        (
            "PRAGMA user_version",
            "PRAGMA user_version is not allowed",
            "pragma_table_info",
        ),
        (
            "SELECT * FROM pragma_table_info('claim')",
            "no such table: claim",
            "claims",
        ),
        ("DELETE FROM claims", "is not allowed", "only read"),
        (
            "SELECT sql FROM sqlite_master",
            "sqlite_schema.sql is not shown",
            "include_schema",
        ),
        (
            "SELECT 1; SELECT 2",
            "more than one statement",
            "one SELECT",
        ),
        (
            "SELECT text FROM page_texts WHERE version = 2",
            "too long",
            "page_text_slice",
        ),
        (
            "SELECT max(length(text)) FROM page_texts",
            "too long",
            "octet_length(text) <= 262144",
        ),
        (
            "SELECT printf('%.*c', 300000, 'x')",
            "too long",
            "substr() before",
        ),
        ("SELECT json_patch('{', '{}')", "malformed JSON", ""),
    ] {
        let error = guard.query(&SqlRequest::new(sql)).unwrap_err();
        assert!(error.message().contains(message), "{sql}: {error:?}");
        assert!(
            error.hint().unwrap_or_default().contains(hint),
            "{sql}: {error:?}"
        );
    }
}

/// One text above the limit does not hide the others, and its size can be queried.
#[test]
fn long_page_texts_can_be_left_out_and_read_in_slices() {
    let guard = fixture::guard();
    for (sql, expected) in [
        (
            "SELECT octet_length(text) FROM page_texts WHERE version = 2",
            json!(1_000_006),
        ),
        (
            "SELECT count(*) FROM page_texts WHERE octet_length(text) > 262144",
            json!(1),
        ),
        (
            "SELECT count(*) FROM page_texts WHERE octet_length(text) <= 262144 AND text LIKE '%insulin%'",
            json!(300),
        ),
        (
            "SELECT sum(length(text)) FROM page_texts WHERE octet_length(text) <= 262144",
            json!(600_000),
        ),
        (
            "SELECT page_text_slice(page_id, version, 1000000, 9) FROM page_texts
             WHERE octet_length(text) > 262144",
            json!("xend"),
        ),
    ] {
        assert_eq!(first(&guard, sql), expected, "{sql}");
    }
}

#[test]
fn many_statements_in_one_text_do_not_exhaust_the_stack() {
    let guard = fixture::guard();
    for sql in [
        "SELECT 1;".repeat(3_600),
        ";".repeat(32_000),
        "SELECT ".repeat(4_000),
    ] {
        let error = guard.query(&SqlRequest::new(sql)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QueryRejected);
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let guard = fixture::guard();
    let ok = SqlOptions::default();
    for (options, field) in [
        (
            SqlOptions {
                limit: 0,
                ..ok.clone()
            },
            "limit",
        ),
        (
            SqlOptions {
                limit: 201,
                ..ok.clone()
            },
            "limit",
        ),
        (
            SqlOptions {
                timeout_ms: 0,
                ..ok.clone()
            },
            "timeout_ms",
        ),
        (
            SqlOptions {
                timeout_ms: 2_001,
                ..ok.clone()
            },
            "timeout_ms",
        ),
        (
            SqlOptions {
                max_vm_steps: 0,
                ..ok.clone()
            },
            "max_vm_steps",
        ),
        (
            SqlOptions {
                max_vm_steps: 50_000_001,
                ..ok.clone()
            },
            "max_vm_steps",
        ),
        (
            SqlOptions {
                max_bytes: 1_023,
                ..ok.clone()
            },
            "max_bytes",
        ),
        (
            SqlOptions {
                max_bytes: (1 << 20) + 1,
                ..ok
            },
            "max_bytes",
        ),
    ] {
        let request = SqlRequest {
            sql: "SELECT 1".into(),
            options,
            ..Default::default()
        };
        let error = guard.query(&request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().starts_with(field), "{error}");
    }
}

#[test]
fn the_schema_lists_what_can_be_read() {
    let guard = fixture::guard();
    let request = SqlRequest {
        sql: "SELECT 1".into(),
        options: SqlOptions {
            include_schema: true,
            ..SqlOptions::default()
        },
        ..Default::default()
    };
    let schema = guard.query(&request).unwrap().schema.unwrap();
    assert_eq!(schema, guard.schema());
    assert_eq!(run(&guard, "SELECT 1").schema, None);
    let table = |name: &str| schema.tables.iter().find(|t| t.name == name).unwrap();
    assert_eq!(table("claims").kind, "table");
    assert!(
        table("claims")
            .joins
            .contains(&"task_id = tasks.id".to_owned())
    );
    assert!(
        !table("auth_queue")
            .columns
            .contains(&"session_data".to_owned())
    );
    assert_eq!(table("fragments_fts").kind, "fts");
    assert_eq!(
        table("v_evidence_freshness").columns,
        ["claim_id", "has_recent_refutation"]
    );
    for table in &schema.tables {
        let columns: Vec<String> = table.columns.iter().map(|c| format!("\"{c}\"")).collect();
        run(
            &guard,
            &format!("SELECT {} FROM {} LIMIT 1", columns.join(", "), table.name),
        );
    }
}

#[test]
fn private_columns_read_as_null_and_lie_in_no_index() {
    let guard = fixture::guard();
    let reply = run(&guard, "SELECT * FROM auth_queue");
    assert!(reply.rows.iter().all(|row| row["session_data"].is_null()));
    assert_eq!(reply.row_count, 2);
    for table in public::PUBLIC_TABLES
        .iter()
        .filter(|t| !t.private_columns.is_empty())
    {
        let sql = format!(
            "SELECT i.name FROM pragma_index_list('{}') l JOIN pragma_index_info(l.name) i",
            table.name
        );
        let indexed: Vec<Value> = run(&guard, &sql)
            .rows
            .iter()
            .map(|row| row["name"].clone())
            .collect();
        for column in table.private_columns {
            assert!(!indexed.contains(&json!(column)), "{}.{column}", table.name);
        }
    }
}

#[test]
fn views_that_do_not_work_are_named() {
    for (name, sql) in [
        ("v_broken", "SELECT nothing FROM claims"),
        ("v_two", "SELECT 1; SELECT 2"),
        ("v_write", "DELETE FROM claims"),
        ("v_parameter", "SELECT :task_id"),
        ("claims", "SELECT 1"),
        ("v_\"; DROP", "SELECT 1"),
    ] {
        let view = TempView {
            name: name.into(),
            select_sql: sql.into(),
        };
        let error = QueryGuard::open(fixture::shared(), vec![view]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error:?}");
        assert!(
            error.message().contains(&name.replace('"', "\\\"")),
            "{error}"
        );
    }
}

#[test]
fn a_missing_or_empty_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = QueryGuard::open(&folder.path().join("none.db"), vec![]).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Storage);
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").unwrap();
    assert!(QueryGuard::open(&empty, vec![]).is_err());
}

#[test]
fn the_guard_follows_a_writer_through_changes_of_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written.db");
    let database = fixture::build(&path);
    let guard = QueryGuard::open(&path, fixture::views()).unwrap();
    let matches = "SELECT count(*) FROM fragments_fts WHERE fragments_fts MATCH 'zebra'";
    assert_eq!(first(&guard, matches), json!(0));
    database
        .write(|t| {
            t.execute_batch(
                "INSERT INTO fragments_fts (rowid, text_content) VALUES (99999, 'a zebra');
                 CREATE INDEX works_by_year ON works (year);
                 CREATE TABLE secrets (value TEXT); INSERT INTO secrets VALUES ('CANARY');",
            )
            .db()
        })
        .unwrap();
    assert_eq!(first(&guard, matches), json!(1));
    for sql in [
        "SELECT value FROM secrets",
        "SELECT count(*) FROM secrets",
        "SELECT value FROM secrets FULL JOIN (SELECT NULL AS value) USING (value)",
    ] {
        assert_eq!(
            guard.query(&SqlRequest::new(sql)).unwrap_err().kind(),
            ErrorKind::QueryRejected
        );
    }
    assert_eq!(
        first(&guard, "SELECT count(*) FROM v_evidence_chain"),
        json!(6_000)
    );
}

#[test]
fn queries_run_at_the_same_time_and_a_slow_one_holds_up_none() {
    let guard = fixture::guard();
    let endless =
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c";
    std::thread::scope(|scope| {
        let slow: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| guard.query(&hostile(endless))))
            .collect();
        let fast: Vec<_> = (0..8)
            .map(|_| {
                let options = SqlOptions {
                    timeout_ms: 2_000,
                    ..SqlOptions::default()
                };
                let request = SqlRequest {
                    sql: "SELECT count(*) FROM claims".into(),
                    options,
                    ..Default::default()
                };
                let guard = &guard;
                scope.spawn(move || guard.query(&request))
            })
            .collect();
        for thread in fast {
            assert_eq!(
                thread.join().unwrap().unwrap().rows[0]["count(*)"],
                json!(600)
            );
        }
        for thread in slow {
            let error = thread.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::QueryInterrupted);
        }
    });
}

/// A query that uses all of its two seconds.
fn bomb() -> SqlRequest {
    let mut request = hostile(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
         SELECT count(*) FROM n WHERE hex(zeroblob(20000 + i % 7)) LIKE '%1%'",
    );
    request.options.timeout_ms = 2_000;
    request
}

/// Whatever other callers ask, a short query is answered before its deadline, and a long one that gets
/// no turn in time returns an error that says so.
#[test]
fn short_queries_pass_many_long_ones() {
    for bombs in [8, 40] {
        let guard = fixture::guard();
        std::thread::scope(|scope| {
            let slow: Vec<_> = (0..bombs)
                .map(|_| scope.spawn(|| guard.query(&bomb())))
                .collect();
            std::thread::sleep(Duration::from_millis(100));
            for (sql, expected) in [
                ("SELECT 1", json!(1)),
                ("SELECT count(*) FROM claims", json!(600)),
                (
                    "SELECT count(*) FROM claims_fts WHERE claims_fts MATCH 'weight'",
                    json!(600),
                ),
                (
                    "SELECT count(*) FROM claims c JOIN edges e ON e.target_id = c.id WHERE c.seq < 9",
                    json!(80),
                ),
            ] {
                let mut request = SqlRequest::new(sql);
                request.options.timeout_ms = 1_500;
                let reply = guard
                    .query(&request)
                    .unwrap_or_else(|e| panic!("{sql}: {e:?}"));
                assert_eq!(reply.rows[0].values().next(), Some(&expected), "{sql}");
            }
            let waiting = slow.iter().filter(|thread| !thread.is_finished()).count();
            assert!(waiting > 0, "the short queries were to be answered first");
            let mut had_no_turn = 0;
            for thread in slow {
                let error = thread.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::QueryInterrupted, "{error:?}");
                let waited =
                    error.message() == "the deadline of 2000 ms passed while other queries ran";
                had_no_turn += usize::from(waited);
                assert!(!waited || error.hint().unwrap().contains("timeout_ms"));
            }
            assert!(bombs < 40 || had_no_turn > 0);
        });
    }
}

/// The time of a query begins when it was requested.
#[test]
fn a_query_that_came_too_late_is_not_run() {
    let guard = fixture::guard();
    let long_ago = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
    let reply = guard.query_since(long_ago, &SqlRequest::new("SELECT 1"), &|| true);
    let error = reply.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QueryInterrupted);
    assert!(
        error
            .message()
            .contains("300 ms passed while other queries ran"),
        "{error}"
    );
    assert_eq!(first(&guard, "SELECT 1"), json!(1));
}

/// Both answers would be acceptable for these statements; these are the documented ones.
#[test]
fn debatable_statements_get_the_documented_answer() {
    let guard = fixture::guard();
    for (sql, answered) in [
        ("SELECT name, type FROM sqlite_master ORDER BY name", true),
        ("SELECT sql FROM sqlite_schema WHERE name = 'claims'", false),
        ("PRAGMA table_info(claims)", true),
        ("PRAGMA foreign_key_list(edges)", true),
        ("PRAGMA index_list(claims)", true),
        ("SELECT * FROM pragma_index_info('edges_by_target')", true),
        ("SELECT sqlite_version()", true),
        ("EXPLAIN SELECT * FROM claims", true),
        ("SELECT id FROM claims WHERE claim_type = \"fact\"", false),
        (
            "SELECT id FROM claims WHERE claim_text REGEXP 'HbA1c.*50%'",
            true,
        ),
        (
            "WITH jobs AS (SELECT 1 AS n) SELECT count(*) FROM jobs",
            true,
        ),
        (
            "WITH claims_fts_data AS (SELECT 1 AS n) SELECT count(*) FROM claims_fts_data",
            false,
        ),
        ("SELECT median(citation_count) FROM works", true),
        (
            "SELECT name FROM sqlite_master JOIN (SELECT 'claims' AS name) USING (name)",
            false,
        ),
        (
            "SELECT m.name FROM sqlite_master m JOIN (SELECT 'claims' AS name) c ON c.name = m.name",
            true,
        ),
    ] {
        let outcome = guard.query(&SqlRequest::new(sql));
        assert_eq!(outcome.is_ok(), answered, "{sql}: {outcome:?}");
    }
}
