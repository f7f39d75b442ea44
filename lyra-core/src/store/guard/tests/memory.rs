//! The memory of a query: a refused allocation ends it with an error that says so, wherever it occurs.

use super::super::connection::GuardedConnection;
use super::super::heap::injection::{Fail, asked, fail};
use super::super::{budget::Spent, run as running};
use super::*;
use crate::store::database::DatabaseFile;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An aggregate reports lack of memory only at its last row, and this one has none: the query must end
/// when the memory runs out, long before its deadline.
#[test]
#[ignore = "memory_is_capped runs it in a process of its own"]
fn a_query_without_memory_ends_at_once() {
    assert!(QueryGuard::cap_memory());
    let guard = fixture::guard();
    let request = SqlRequest {
        sql: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
              SELECT length(json_group_array(hex(zeroblob(120000)))) FROM n"
            .into(),
        options: SqlOptions {
            timeout_ms: 2_000,
            max_vm_steps: 50_000_000,
            ..SqlOptions::default()
        },
        ..Default::default()
    };
    let error = guard.query(&request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QueryInterrupted);
    assert_eq!(error.message(), "the memory of a query is used up");
}

/// SQLite accepts the limit only before its first connection, and other tests have already opened some.
fn in_a_process_of_its_own(test: &str) {
    let module = module_path!().split_once("::").unwrap().1;
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture"])
        .arg(format!("{module}::{test}"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

#[test]
fn memory_is_capped() {
    in_a_process_of_its_own("memory_is_capped_in_a_process_of_its_own");
    in_a_process_of_its_own("a_query_without_memory_ends_at_once");
}

#[test]
#[ignore = "memory_is_capped runs it in a process of its own"]
fn memory_is_capped_in_a_process_of_its_own() {
    assert!(QueryGuard::cap_memory());
    let guard = fixture::guard();
    let before = peak_kib();
    for (sql, message) in [
        (
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c)
             SELECT length(json_group_array(hex(zeroblob(120000)))) FROM c",
            "memory",
        ),
        (
            "WITH x AS MATERIALIZED (SELECT printf('%.*c', 200000, 'a') h),
             r AS (SELECT h, value AS i FROM x, json_each('[1,2,3,4,5,6,7,8,9,10]'))
             SELECT count(DISTINCT a.h || b.i || c.i || d.i) FROM r a, r b, r c, r d",
            "",
        ),
        (
            "WITH RECURSIVE c(i, b) AS (SELECT 1, randomblob(1000)
             UNION ALL SELECT i + 1, randomblob(1000) FROM c, (SELECT 1 UNION ALL SELECT 2))
             SELECT count(*) FROM c",
            "",
        ),
    ] {
        let mut request = hostile(sql);
        request.options.timeout_ms = 2_000;
        // On a busy machine, the deadline may be reached before the limit.
        let stopped = (0..5).any(|_| {
            let error = guard.query(&request).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::QueryInterrupted, "{error:?}");
            error.message().contains(message)
        });
        assert!(stopped, "{sql}: never by its {message}");
    }
    assert_eq!(first(&guard, "SELECT count(*) FROM tasks"), json!(4));
    let grown = peak_kib() - before;
    assert!(grown < 64 * 1024, "{grown} KiB");
}

/// Peak memory of this process; 0 if the system does not report it.
fn peak_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next())
        .map_or(0, |kib| kib.parse().unwrap())
}

#[test]
fn a_value_without_memory_is_an_error() {
    in_a_process_of_its_own("a_value_without_memory_is_an_error_in_a_process_of_its_own");
}

/// Values that SQLite must copy before they can be read, when the deadline has passed or the memory is
/// used up. The binding would panic.
#[test]
#[ignore = "a_value_without_memory_is_an_error runs it in a process of its own"]
fn a_value_without_memory_is_an_error_in_a_process_of_its_own() {
    assert!(QueryGuard::cap_memory());
    let panics = count_panics();
    let guard = fixture::guard();
    let columns = |of: &str| vec![of; 100].join(", ");
    let text = "x".repeat(250_000);
    for (sql, timeout_ms) in [
        (format!("SELECT {}", columns("?1")), 3),
        (format!("SELECT {}", columns("?1")), 2_000),
        (format!("SELECT {}", columns("upper(?1)")), 3),
        (format!("SELECT {}", columns("instr(?1, 'y')")), 3),
        (format!("SELECT {}", columns("sqrt(?1 || ?1)")), 3),
        (format!("SELECT {}", columns("median(?1)")), 3),
    ] {
        for _ in 0..40 {
            let mut request = hostile(&sql);
            request.options.timeout_ms = timeout_ms;
            request.params = SqlParams::Positional(vec![json!(text)]);
            if let Err(error) = guard.query(&request) {
                let kind = error.kind();
                assert_eq!(kind, ErrorKind::QueryInterrupted, "{sql:.40}: {error:?}");
            }
        }
    }
    assert_eq!(panics.load(Ordering::Relaxed), 0);
    assert_eq!(first(&guard, "SELECT count(*) FROM tasks"), json!(4));
}

/// Counts panics, including caught ones.
fn count_panics() -> &'static AtomicUsize {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    std::panic::set_hook(Box::new(|panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        eprintln!("{panic}\n{}", std::backtrace::Backtrace::force_capture());
    }));
    &PANICS
}

#[test]
fn every_allocation_may_fail() {
    in_a_process_of_its_own("every_allocation_may_fail_in_a_process_of_its_own");
}

/// Statements with functions or syntax that allocate in other ways.
const ALLOCATING: &[&str] = &[
    "SELECT ?1, ?1 || 'x', upper(?1), length(?1), substr(?1, 5, 100)",
    "SELECT instr(?1, 'y'), replace(?1, 'x', 'yy'), trim(?1, 'x'), unhex(?1, ' ')",
    "SELECT ?1 LIKE '%y%', ?1 GLOB '*y*', ?1 REGEXP 'y+z', json_quote(?1)",
    "SELECT sqrt(?1), round(1.5), pow(2, ?1), ceil(?1), log(2, 8), pi()",
    "SELECT median(value), percentile(value, 90), stddev(value) FROM json_each('[1,2,3,4]')",
    "SELECT median(length(text_content)), max(text_content) FROM fragments WHERE seq < 300",
    "SELECT page_text_slice('page_0', 2, 0, 3), page_text_slice('page_1', 1, 5, 40)",
    "SELECT json_patch('{\"a\":[1,2]}', '{\"b\":\"c\"}'), json_extract('[1,{\"a\":2}]', '$[1].a')",
    "SELECT json_group_array(id), json_group_object(id, claim_text) FROM claims WHERE seq < 40",
    "SELECT group_concat(claim_text, '; ') FROM claims WHERE seq < 60",
    "SELECT snippet(claims_fts, 0, '[', ']', '…', 8) FROM claims_fts WHERE claims_fts MATCH 'hba1c drops' LIMIT 3",
    "SELECT highlight(fragments_fts, 0, '[', ']') FROM fragments_fts WHERE fragments_fts MATCH 'insulin NEAR glucose' LIMIT 3",
    "SELECT rowid, rank FROM claims_fts WHERE claims_fts MATCH 'weight' ORDER BY rank LIMIT 4",
    "SELECT text_content FROM fragments WHERE seq < 200 ORDER BY text_content DESC LIMIT 5",
    "SELECT DISTINCT substr(claim_text, 1, 12) FROM claims",
    "SELECT page_id, count(*), row_number() OVER (ORDER BY page_id) FROM fragments GROUP BY page_id LIMIT 9",
    "SELECT lag(claim_text) OVER (PARTITION BY task_id ORDER BY seq) FROM claims LIMIT 9",
    "WITH RECURSIVE n (i, s) AS (SELECT 1, 'a' UNION ALL SELECT i + 1, s || i FROM n WHERE i < 90) SELECT max(s) FROM n",
    "SELECT a.id FROM claims a JOIN claims b USING (id) WHERE a.seq < 5",
    "SELECT c.id FROM claims c NATURAL JOIN (SELECT 'claim_3' AS id)",
    "SELECT id FROM claims WHERE id IN (SELECT value FROM json_each('[\"claim_1\",\"claim_2\"]')) UNION SELECT id FROM tasks",
    "SELECT m.name, i.name FROM sqlite_master m, pragma_table_info(m.name) i WHERE m.name = 'claims'",
    "SELECT printf('%08.3f %s %q', 1.5, 'a', 'b'), hex(zeroblob(500)), date('now', '-1 day') > ''",
    "EXPLAIN QUERY PLAN SELECT * FROM claims c JOIN edges e ON e.target_id = c.id",
    "EXPLAIN SELECT count(*) FROM claims_fts WHERE claims_fts MATCH 'a'",
    "SELECT * FROM v_evidence_chain LIMIT 3",
    "SELECT * FROM v_contradictions ORDER BY claim_id LIMIT 3",
    "SELECT CAST(1.5 AS TEXT), CAST('12' AS INTEGER), typeof(x'00'), quote(x'ff'), char(955)",
    "VALUES (1, 'a'), (2, 'b'), (3, x'00')",
    "SELECT nothing FROM claims",
    "SELECT * FROM sqlite_schema",
    "SELECT 1; SELECT 2",
    "SELECT (",
];

fn statements() -> Vec<String> {
    let [honest, attacks] = [
        include_str!("../testdata/honest.jsonl"),
        include_str!("../testdata/attacks.jsonl"),
    ]
    .map(lines);
    let of_corpora = honest.iter().chain(&attacks);
    of_corpora
        .map(|case| case["sql"].as_str().unwrap().to_owned())
        .chain(ALLOCATING.iter().map(|sql| (*sql).to_owned()))
        .collect()
}

/// Every allocation of every statement fails once alone, and once with all that follow it: nothing
/// panics, no row is wrong, and the connection answers the next query.
#[test]
#[ignore = "every_allocation_may_fail runs it in a process of its own"]
fn every_allocation_may_fail_in_a_process_of_its_own() {
    assert!(QueryGuard::cap_memory());
    let panics = count_panics();
    let source = DatabaseFile::writable(fixture::shared());
    let mut guarded = GuardedConnection::open(
        &source,
        &fixture::views(),
        &crate::store::guard::GuardPolicy::of_graph(),
    )
    .unwrap();
    let next = small("SELECT id FROM claims WHERE seq = 8");
    let (mut runs, mut failed) = (0, 0);
    for sql in statements() {
        let request = small(&sql);
        let answer = |guarded: &mut GuardedConnection, which| {
            fail(which);
            let reply =
                running::run(guarded, &request, request.deadline()).map(|c| c.into_reply(0).rows);
            fail(Fail::None);
            (reply, asked())
        };
        let (expected, allocations) = answer(&mut guarded, Fail::None);
        let is_steady = answer(&mut guarded, Fail::None).0.ok() == expected.as_ref().ok().cloned();
        // All of the first 400, with which most statements end, and one in seven of the later ones.
        let some = (0..allocations).filter(|n| *n < 400 || n % 7 == 0);
        for which in some.flat_map(|n| [Fail::Only(n), Fail::From(n)]) {
            runs += 1;
            let (reply, _) = answer(&mut guarded, which);
            match (&reply, &expected) {
                (Ok(rows), Ok(expected)) => {
                    assert!(!is_steady || rows == expected, "{which:?} {sql}");
                }
                (Ok(rows), Err(_)) => panic!("{which:?} {sql}: {rows:?}"),
                // It needed less memory than the first time.
                (Err(error), Err(expected)) if error.message() == expected.message() => {}
                (Err(error), _) => {
                    failed += 1;
                    let refused = super::super::spent(error);
                    let is_told = matches!(refused, Some(Spent::Time | Spent::Steps))
                        || error.message() == "the memory of a query is used up";
                    assert!(is_told, "{which:?} {sql}: {error:?}");
                }
            }
            let next = running::run(&mut guarded, &next, next.deadline());
            let rows = next.map(|collected| collected.into_reply(0).rows);
            assert_eq!(rows.unwrap()[0]["id"], json!("claim_7"), "{which:?} {sql}");
            assert_eq!(panics.load(Ordering::Relaxed), 0, "{which:?} {sql}");
        }
    }
    eprintln!("{runs} runs, {failed} failed as they should");
    assert!(failed > runs / 4, "{failed} of {runs}");
}

/// A request whose budget is used up early, and always at the same step.
fn small(sql: &str) -> SqlRequest {
    let mut request = hostile(sql);
    request.options.timeout_ms = 60_000;
    request.options.max_vm_steps = 4_000;
    if sql.contains("?1") {
        request.params = SqlParams::Positional(vec![json!("x y ".repeat(100))]);
    }
    request
}

/// Memory held by our own aggregates and functions is counted like that of SQLite.
#[test]
fn memory_of_our_own_functions_is_the_querys() {
    let guard = fixture::guard();
    let numbers =
        "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
                   SELECT i FROM n)";
    let many = |of: &dyn Fn(usize) -> String| (0..100).map(of).collect::<Vec<_>>().join(", ");
    for (sql, is_answered) in [
        (
            format!("SELECT median(i), percentile(i, 5) FROM {numbers}"),
            true,
        ),
        (
            format!(
                "SELECT {} FROM {numbers}",
                many(&|n| format!("median(i + {n})"))
            ),
            false,
        ),
        (
            format!(
                "SELECT {} FROM {numbers}",
                many(&|n| format!("percentile(i, {n})"))
            ),
            false,
        ),
        (
            format!("SELECT {}", many(&|n| format!("'a' REGEXP 'a{n}'"))),
            false,
        ),
        (
            "SELECT 'a' REGEXP 'a', 'b' REGEXP 'b', 'c' REGEXP 'c'".to_owned(),
            true,
        ),
        (
            format!("SELECT {}", many(&|n| format!("'a' LIKE '{n}%'"))),
            true,
        ),
    ] {
        let mut request = hostile(&sql);
        request.options.timeout_ms = 60_000;
        request.options.max_vm_steps = u64::MAX;
        let reply = guard.query_view(&request, &|| true);
        match reply {
            Ok(_) => assert!(is_answered, "{sql:.80}"),
            Err(error) => {
                assert!(!is_answered, "{sql:.80}: {error:?}");
                assert_eq!(
                    error.message(),
                    "the memory of a query is used up",
                    "{sql:.80}"
                );
            }
        }
    }
}
