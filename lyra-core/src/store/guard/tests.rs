//! Tests of the whole guard: hostile and honest statements as data, replies, budgets, concurrency.

mod limits;
mod memory;
mod policy;

use super::*;
use crate::ErrorKind;
use crate::store::database::SqliteResultExt;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The required outcome of a hostile statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Must {
    /// An error that says that it is not allowed.
    Reject,
    /// An error that names the budget that ran out.
    Interrupt,
    /// A result or an error, in time, within limits, without a private value.
    Bounded,
}

impl Must {
    pub(super) fn parse(text: &str) -> Self {
        match text {
            "reject" => Self::Reject,
            "interrupt" => Self::Interrupt,
            "bounded" => Self::Bounded,
            other => panic!("unknown outcome {other}"),
        }
    }
}

/// A request with maximum budgets, so that only the deadline can stop it.
pub(super) fn hostile(sql: &str) -> SqlRequest {
    let options = SqlOptions {
        limit: 200,
        max_vm_steps: 50_000_000,
        max_bytes: 1 << 20,
        ..SqlOptions::default()
    };
    SqlRequest {
        sql: sql.into(),
        options,
        ..SqlRequest::default()
    }
}

/// How late after its deadline a query may return here: test machines are slow and shared.
const SLACK: Duration = Duration::from_millis(1_500);

/// Runs a hostile statement; returns a description of a wrong outcome, and the time it took.
pub(super) fn attack(guard: &QueryGuard, sql: &str, must: Must) -> (Option<String>, Duration) {
    let request = hostile(sql);
    let start = Instant::now();
    let outcome = guard.query(&request);
    let took = start.elapsed();
    let wrong = match &outcome {
        Ok(reply) => {
            let text = serde_json::to_string(reply).unwrap();
            if must != Must::Bounded {
                Some(format!(
                    "was answered: {}",
                    text.chars().take(200).collect::<String>()
                ))
            } else if text.contains("CANARY") || text.contains(&hex_of("CANARY")) {
                Some("a private value came out".to_owned())
            } else if reply.rows.len() > 200 || text.len() > (1 << 20) + 300 {
                Some(format!("{} rows, {} bytes", reply.rows.len(), text.len()))
            } else {
                None
            }
        }
        Err(error) => {
            let kinds: &[ErrorKind] = match must {
                Must::Reject => &[ErrorKind::QueryRejected],
                Must::Interrupt => &[ErrorKind::QueryInterrupted],
                Must::Bounded => &[ErrorKind::QueryRejected, ErrorKind::QueryInterrupted],
            };
            let leaks = format!("{error:?}").contains("CANARY") && !sql.contains("CANARY");
            (!kinds.contains(&error.kind()) || error.hint().is_none() || leaks)
                .then(|| format!("{error:?}"))
        }
    };
    let late = took > Duration::from_millis(request.options.timeout_ms) + SLACK;
    (
        wrong.or_else(|| late.then(|| format!("took {took:?}"))),
        took,
    )
}

fn hex_of(text: &str) -> String {
    text.bytes().map(|b| format!("{b:02X}")).collect()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

fn run(guard: &QueryGuard, sql: &str) -> SqlReply {
    guard
        .query(&SqlRequest::new(sql))
        .unwrap_or_else(|e| panic!("{sql}: {e:?}"))
}

fn first(guard: &QueryGuard, sql: &str) -> Value {
    run(guard, sql).rows[0].values().next().unwrap().clone()
}

#[test]
fn hostile_statements_are_stopped() {
    let guard = fixture::guard();
    let mut failures = Vec::new();
    for case in lines(include_str!("testdata/attacks.jsonl")) {
        let sql = case["sql"].as_str().unwrap();
        let must = Must::parse(case["must"].as_str().unwrap());
        if let (Some(wrong), _) = attack(&guard, sql, must) {
            failures.push(format!("{must:?} {sql}\n    {wrong}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(!Path::new("/tmp/lyra-guard-must-not-exist.db").exists());
}

/// The contents of a graph's folder: the names of the files and their bytes.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .map(|entry| {
            (
                entry.file_name().into_string().unwrap(),
                std::fs::read(entry.path()).unwrap(),
            )
        })
        // Readers only register themselves, in the index of the log.
        .filter(|(name, _)| !name.ends_with("-shm"))
        .collect();
    files.sort();
    files
}

/// Many statements of each class: none returns private data, and none writes to the file or beside it.
#[test]
fn no_statement_of_the_sweep_gets_out_or_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.db");
    let database = fixture::build(&path);
    let guard = QueryGuard::open(&path, fixture::views()).unwrap();
    let before = contents(folder.path());
    let cases = lines(include_str!("testdata/sweep.jsonl"));
    assert!(cases.len() > 600);
    let mut failures = Vec::new();
    for case in &cases {
        let sql = case["sql"].as_str().unwrap();
        let must = Must::parse(case["must"].as_str().unwrap());
        if let (Some(wrong), _) = attack(&guard, sql, must) {
            failures.push(format!("{must:?} {sql:.200}\n    {wrong}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(contents(folder.path()) == before, "the file was changed");
    assert!(!Path::new("/tmp/lyra-guard-must-not-exist.db").exists());
    drop(database);
}

#[test]
fn honest_statements_are_answered() {
    let guard = fixture::guard();
    for case in lines(include_str!("testdata/honest.jsonl")) {
        let sql = case["sql"].as_str().unwrap();
        let options = SqlOptions {
            timeout_ms: 2_000,
            ..SqlOptions::default()
        };
        let reply = guard.query(&SqlRequest {
            sql: sql.into(),
            options,
            ..Default::default()
        });
        let reply = reply.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert_eq!(
            json!(reply.row_count),
            case["rows"],
            "{sql}: {:?}",
            reply.rows
        );
        assert_eq!(reply.row_count, reply.rows.len());
    }
}

#[test]
fn functions_answer_what_they_should() {
    let guard = fixture::guard();
    for (sql, expected) in [
        (
            "median(x) FROM (SELECT 1 x UNION ALL SELECT 9 UNION ALL SELECT 4)",
            json!(4.0),
        ),
        ("median(x) FROM (SELECT 1 x UNION ALL SELECT 4)", json!(2.5)),
        ("median(x) FROM (SELECT NULL x)", json!(null)),
        (
            "percentile(value, 90) FROM json_each('[0,10,20,30,40,50,60,70,80,90,100]')",
            json!(90.0),
        ),
        ("percentile(value, 0) FROM json_each('[3,1,2]')", json!(1.0)),
        (
            "stddev(value) FROM json_each('[2,4,4,4,5,5,7,9]')",
            json!(2.138_089_935_299_395),
        ),
        ("variance(value) FROM json_each('[1]')", json!(null)),
        ("sqrt(16)", json!(4.0)),
        ("sqrt(-1)", json!(null)),
        ("sqrt('16')", json!(null)),
        ("ln(0)", json!(null)),
        ("pow(2, 0.5) * pow(2, 0.5) > 1.99", json!(1)),
        ("round(log(8), 6)", json!(0.90309)),
        ("log(2, 8)", json!(3.0)),
        ("ceil(3)", json!(3)),
        ("trunc(-1.5)", json!(-1.0)),
        ("mod(-7, 3)", json!(-1.0)),
        ("'HbA1c fell by 50%' REGEXP 'HbA1c.*50%'", json!(1)),
        ("'abc' REGEXP '^b'", json!(0)),
        ("NULL REGEXP 'a'", json!(null)),
        ("'a' REGEXP NULL", json!(null)),
        ("instr('aéb', 'b')", json!(3)),
        ("instr(x'ffaa', x'aa')", json!(2)),
        ("instr('abc', '')", json!(1)),
        ("instr(NULL, 'a')", json!(null)),
        ("instr(12345, 34)", json!(3)),
        ("instr(CAST(x'ff61' AS TEXT) || 'b', 'b')", json!(3)),
        ("replace('aXbX', 'X', '--')", json!("a--b--")),
        ("replace(1.5, '.', ',')", json!("1,5")),
        ("trim('éaé', 'é')", json!("a")),
        ("ltrim('xxa', 'x') || rtrim('axx', 'x')", json!("aa")),
        ("trim('  a ')", json!("a")),
        ("hex(unhex('AB CD', ' '))", json!("ABCD")),
        ("unhex('A BCD', ' ')", json!(null)),
        ("unhex('zz', ' ')", json!(null)),
        (
            "json_patch('{\"a\":{\"b\":1,\"c\":2}}', '{\"a\":{\"b\":null}}')",
            json!("{\"a\":{\"c\":2}}"),
        ),
        ("'50%' LIKE '50\\%' ESCAPE '\\'", json!(1)),
        ("'x' LIKE 'X'", json!(1)),
        ("12 LIKE '1%'", json!(1)),
        ("'a' GLOB '[a-c]'", json!(1)),
        ("page_text_slice('page_0', 2, 0, 3)", json!("始xx")),
        ("page_text_slice('page_0', 2, 1000001, 10)", json!("end")),
        ("page_text_slice('page_0', 9, 0, 3)", json!(null)),
    ] {
        assert_eq!(first(&guard, &format!("SELECT {sql}")), expected, "{sql}");
    }
}

#[test]
fn an_escape_that_changes_from_row_to_row_is_followed() {
    let guard = fixture::guard();
    let sql = "SELECT group_concat('a%' LIKE 'ax%' ESCAPE value, '') FROM json_each('[\"x\",\"y\",\"x\"]')";
    assert_eq!(first(&guard, sql), json!("101"));
}

#[test]
fn parameters_are_bound() {
    let guard = fixture::guard();
    let named = |v: Value| SqlParams::from_json(v).unwrap();
    for (sql, params, expected) in [
        ("SELECT ?1 || ?2", named(json!(["a", "b"])), json!("ab")),
        ("SELECT ? + ?", named(json!([1, 2.5])), json!(3.5)),
        ("SELECT :x", named(json!({"x": "bare"})), json!("bare")),
        (
            "SELECT :x",
            named(json!({":x": "prefixed"})),
            json!("prefixed"),
        ),
        (
            "SELECT @x || $y",
            named(json!({"@x": "a", "y": "b"})),
            json!("ab"),
        ),
        ("SELECT :x || :x", named(json!({"x": "a"})), json!("aa")),
        ("SELECT typeof(?)", named(json!([null])), json!("null")),
        ("SELECT ?", named(json!([true])), json!(1)),
        (
            "SELECT typeof(?)",
            named(json!([18_446_744_073_709_551_615_u64])),
            json!("real"),
        ),
        (
            "SELECT count(*) FROM json_each(?)",
            named(json!(["[1,2,3]"])),
            json!(3),
        ),
        ("SELECT 1", named(json!({})), json!(1)),
    ] {
        let request = SqlRequest {
            sql: sql.into(),
            params,
            ..Default::default()
        };
        let reply = guard
            .query(&request)
            .unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert_eq!(*reply.rows[0].values().next().unwrap(), expected, "{sql}");
    }
    for (sql, params, part) in [
        ("SELECT ?", json!([]), "1 parameters and 0 values"),
        ("SELECT ?", json!([1, 2]), "1 parameters and 2 values"),
        ("SELECT :x", json!(null), "1 parameters and 0 values"),
        ("SELECT :x", json!({"y": 1}), "no value for parameter :x"),
        ("SELECT :x", json!({"x": 1, "y": 1}), "no parameter y"),
        ("SELECT ?", json!([[1]]), "a list or an object"),
        ("SELECT ?", json!(["x".repeat(300_000)]), "has 300000 bytes"),
        ("SELECT ?", json!({"x": 1}), "no value for parameter ?"),
    ] {
        let request = SqlRequest {
            sql: sql.into(),
            params: named(params),
            ..Default::default()
        };
        let error = guard.query(&request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QueryRejected, "{sql}");
        assert!(error.message().contains(part), "{sql}: {error}");
    }
    assert_eq!(
        SqlParams::from_json(json!(3)).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn pages_join_up_and_know_when_they_end() {
    let guard = fixture::guard();
    let page = |limit, offset| {
        let options = SqlOptions {
            limit,
            offset,
            ..SqlOptions::default()
        };
        let sql = "SELECT id FROM claims ORDER BY seq LIMIT 25".to_owned();
        guard
            .query(&SqlRequest {
                sql,
                options,
                ..Default::default()
            })
            .unwrap()
    };
    let mut ids = Vec::new();
    let mut offset = 0;
    loop {
        let reply = page(10, offset);
        ids.extend(reply.rows.iter().map(|row| row["id"].clone()));
        assert_eq!(reply.truncated, reply.next_offset.is_some());
        match reply.next_offset {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(
        ids,
        (0..25)
            .map(|i| json!(format!("claim_{i}")))
            .collect::<Vec<_>>()
    );
    assert!(
        !page(25, 0).truncated,
        "a full reply that is also the end is not truncated"
    );
    let beyond = page(10, 100);
    assert_eq!((beyond.row_count, beyond.truncated), (0, false));
}

#[test]
fn replies_stay_within_their_bytes() {
    let guard = fixture::guard();
    let query = |sql: &str, max_bytes| {
        let options = SqlOptions {
            limit: 200,
            max_bytes,
            timeout_ms: 2_000,
            ..Default::default()
        };
        guard.query(&SqlRequest {
            sql: sql.into(),
            options,
            ..Default::default()
        })
    };
    for (sql, max_bytes, rows) in [
        ("SELECT text_content, id FROM fragments", 4_096, None),
        (
            "SELECT printf('%.*c', 5000, 'x') AS x FROM claims",
            12_000,
            Some(2),
        ),
        ("SELECT zeroblob(2000) AS b FROM claims", 10_000, Some(2)),
        (
            "SELECT printf('%.*c', 200000, '\"') AS x FROM claims",
            1_024,
            Some(1),
        ),
        (
            "SELECT zeroblob(200000) AS b, 'short' AS s FROM claims",
            1_024,
            Some(1),
        ),
        ("SELECT 'a' AS id, 'b' AS id FROM claims", 1_024, None),
    ] {
        let reply = query(sql, max_bytes).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let rows_bytes = serde_json::to_string(&reply.rows).unwrap().len();
        let bytes = rows_bytes + serde_json::to_string(&reply.columns).unwrap().len();
        assert!(bytes <= max_bytes, "{sql}: {bytes}");
        assert!(reply.truncated, "{sql}");
        assert_eq!(reply.next_offset, Some(reply.row_count), "{sql}");
        assert!(
            rows.is_none_or(|rows| rows == reply.row_count),
            "{sql}: {}",
            reply.row_count
        );
    }
    let cut = query("SELECT printf('%.*c', 5000, '糖') AS x, 7 AS n", 2_000).unwrap();
    assert!(cut.rows[0]["x"].as_str().unwrap().ends_with("糖…"));
    assert_eq!(cut.rows[0]["n"], json!(7));
    let name = "n".repeat(2_000);
    for rows in ["", " WHERE 0"] {
        let error = query(&format!("SELECT 1 AS {name}{rows}"), 1_024).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QueryRejected);
    }
}

#[test]
fn rows_are_objects_with_names_of_their_own() {
    let guard = fixture::guard();
    let reply = run(
        &guard,
        "SELECT 1 AS id, 2 AS id, x'0aFF' AS b, 9e999 AS inf, 0.5 AS half, NULL AS nil, 3 AS id",
    );
    assert_eq!(
        reply.columns,
        ["id", "id_2", "b", "inf", "half", "nil", "id_3"]
    );
    let expected =
        json!({"id": 1, "id_2": 2, "b": "0aff", "inf": null, "half": 0.5, "nil": null, "id_3": 3});
    assert_eq!(Value::Object(reply.rows[0].clone()), expected);
}

#[test]
fn each_budget_is_named_when_it_runs_out() {
    let guard = fixture::guard();
    let endless =
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c";
    for (sql, timeout_ms, max_vm_steps, part) in [
        (endless, 50, 50_000_000, "the deadline of 50 ms"),
        (endless, 2_000, 1_000, "the budget of 1000 steps"),
        (endless, 2_000, 1, "the budget of 1 steps"),
        (
            "SELECT length(zeroblob(1000000000))",
            300,
            5_000_000,
            "too long",
        ),
    ] {
        let options = SqlOptions {
            timeout_ms,
            max_vm_steps,
            ..SqlOptions::default()
        };
        let request = SqlRequest {
            sql: sql.into(),
            options,
            ..Default::default()
        };
        let error = guard.query(&request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QueryInterrupted, "{sql}");
        assert!(error.message().contains(part), "{sql}: {error}");
        assert!(error.hint().is_some());
    }
    // The next query is not affected by the outcome of the last.
    assert_eq!(first(&guard, "SELECT count(*) FROM tasks"), json!(4));
}

#[test]
fn a_query_that_nobody_wants_any_more_ends() {
    let guard = fixture::guard();
    let endless =
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c";
    let request = SqlRequest {
        sql: endless.into(),
        options: SqlOptions {
            timeout_ms: 2_000,
            max_vm_steps: 50_000_000,
            ..SqlOptions::default()
        },
        ..Default::default()
    };
    let asked = std::cell::Cell::new(0);
    let is_wanted = || {
        asked.set(asked.get() + 1);
        asked.get() < 3
    };
    let began = Instant::now();
    let error = guard.query_while(&request, &is_wanted).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QueryInterrupted);
    assert_eq!(asked.get(), 3);
    // The query ended before its deadline.
    assert!(began.elapsed() < Duration::from_millis(1_900));
    assert_eq!(first(&guard, "SELECT count(*) FROM tasks"), json!(4));
}

#[test]
fn what_a_query_writes_to_temporary_files_is_bounded() {
    let guard = fixture::guard();
    let query = |sql: &str| {
        let options = SqlOptions {
            timeout_ms: 2_000,
            max_vm_steps: 50_000_000,
            ..SqlOptions::default()
        };
        guard.query(&SqlRequest {
            sql: sql.into(),
            options,
            ..Default::default()
        })
    };
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)";
    for bomb in [
        "SELECT i FROM (SELECT i, zeroblob(200000) AS b FROM n) ORDER BY b, i DESC",
        "SELECT count(DISTINCT b) FROM (SELECT i || printf('%.*c', 200000, 'x') AS b FROM n)",
        ", m AS MATERIALIZED (SELECT zeroblob(200000) AS b FROM n) SELECT count(*) FROM m, m AS o",
        "SELECT i, row_number() OVER (ORDER BY b DESC) FROM (SELECT i, zeroblob(200000) AS b FROM n)",
        "SELECT zeroblob(200000) || i FROM n UNION SELECT 1",
    ] {
        // On a busy machine, the deadline may be reached first.
        let sql = format!("{numbers} {bomb}");
        let error = (0..20)
            .map(|_| query(&sql).unwrap_err())
            .find(|error| !error.message().contains("deadline"))
            .unwrap_or_else(|| panic!("no time for {bomb}"));
        assert_eq!(error.kind(), ErrorKind::QueryInterrupted, "{bomb}");
        assert_eq!(error.message(), "the space of a query is used up", "{bomb}");
        assert!(error.hint().is_some_and(|hint| hint.contains("64 MiB")));
    }
    let sort =
        "SELECT i FROM (SELECT i, printf('%.*c', 1000, 'x') || i AS t FROM n) ORDER BY t DESC";
    assert_eq!(
        query(&format!("{numbers} {sort}")).unwrap().rows[0]["i"],
        json!(9_999)
    );
}
