//! Any text as a query. What must not happen: a panic or a crash, a private value in a reply, a
//! reply that depends on private values, one over its limits, one that is late, a file that
//! changes, appears or goes.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use lyra_core::store::guard::{SqlOptions, SqlParams, SqlReply, SqlRequest};
use lyra_core::{ErrorKind, Result};
use lyra_fuzz::{CANARY, World};
use serde_json::Value;
use std::cell::OnceCell;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TIMEOUT_MS: u64 = 100;

/// A finding. Generous, because the machine may be busy with other things; what is late by more
/// than the guard's own 15 ms but less than this is measured elsewhere.
const TOO_LATE: Duration = Duration::from_millis(1_000);

/// Queries between two looks at every byte of the files.
const RUNS_PER_CONTENT_CHECK: u64 = 2_000;

struct Lab {
    a: World,
    b: World,
    empty: PathBuf,
    runs: std::cell::Cell<u64>,
}

thread_local! {
    static LAB: OnceCell<Lab> = const { OnceCell::new() };
}

fn set_up() -> Lab {
    let base = std::env::temp_dir().join(format!("lyra-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&base).expect("a folder");
    let template = base.join("template.db");
    lyra_fuzz::template(&template);
    let lab = Lab {
        a: World::build(&template, &base.join("a"), "CANARY-7f3a90"),
        b: World::build(&template, &base.join("b"), "CANARY-e815c2"),
        empty: base.join("empty"),
        runs: std::cell::Cell::new(0),
    };
    std::fs::create_dir_all(&lab.empty).expect("a folder");
    // libFuzzer's fork mode keeps the input of a crash and throws its message away.
    let messages = base.with_extension("panics.txt");
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(&messages);
        if let Ok(mut file) = file {
            let _ = writeln!(file, "{panic}");
        }
        previous(panic);
    }));
    // A relative path in a statement would become a file here.
    std::env::set_current_dir(&lab.empty).expect("the folder");
    lab
}

/// The statement, and after a byte 1 each parameter: JSON where it is, text otherwise.
fn request(text: &str) -> SqlRequest {
    let mut parts = text.split('\u{1}');
    let sql = parts.next().unwrap_or_default().to_owned();
    let params: Vec<Value> = parts
        .map(|part| serde_json::from_str(part).unwrap_or_else(|_| Value::from(part)))
        .collect();
    let options = SqlOptions {
        limit: 1 + text.len() % 20,
        offset: text.len() % 3,
        timeout_ms: TIMEOUT_MS,
        // Most bombs end here, in a millisecond; every fourth goes on to the deadline.
        max_vm_steps: if text.len() % 4 == 0 {
            50_000_000
        } else {
            200_000
        },
        max_bytes: 1_024 + text.len() * 37 % 4_096,
        include_schema: false,
    };
    let params = match params.len() {
        0 => SqlParams::None,
        _ => SqlParams::Positional(params),
    };
    SqlRequest {
        sql,
        params,
        options,
    }
}

/// Runs a query and checks what can be checked of one answer.
fn run(world: &World, request: &SqlRequest) -> Result<SqlReply> {
    let start = Instant::now();
    let outcome = world.guard.query(request);
    let took = start.elapsed();
    assert!(took < TOO_LATE, "late: {took:?}");
    match &outcome {
        Ok(reply) => {
            let text = serde_json::to_string(&(&reply.rows, &reply.columns)).expect("JSON");
            assert!(reply.rows.len() <= request.options.limit, "too many rows");
            assert!(
                text.len() <= request.options.max_bytes,
                "{} bytes",
                text.len()
            );
            assert!(
                !text.contains(CANARY)
                    || request.sql.contains("CAN")
                    || request.params != SqlParams::None,
                "a private value: {text}"
            );
        }
        Err(error) => {
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::QueryRejected | ErrorKind::QueryInterrupted
                ),
                "not an error of the query: {error:?}"
            );
            assert!(
                !format!("{error:?}").contains(CANARY) || request.sql.contains("CAN"),
                "a private value: {error:?}"
            );
        }
    }
    outcome
}

/// What an observer can tell; none where chance or load decided.
fn observed(outcome: &Result<SqlReply>) -> Option<String> {
    match outcome {
        Ok(reply) => Some(format!(
            "{:?}{:?}{:?}",
            reply.rows, reply.columns, reply.next_offset
        )),
        Err(error) if error.kind() == ErrorKind::QueryInterrupted => None,
        Err(error) => Some(format!("{error:?}")),
    }
}

fn check(lab: &Lab, request: &SqlRequest) {
    let first = (
        observed(&run(&lab.a, request)),
        observed(&run(&lab.b, request)),
    );
    if let (Some(a), Some(b)) = &first
        && a != b
    {
        // random() and the clock differ between two runs on one file, too.
        let second = (
            observed(&run(&lab.a, request)),
            observed(&run(&lab.b, request)),
        );
        assert!(
            first != second,
            "the answer depends on private values:\n{a}\n{b}"
        );
    }
    lab.a.check();
    lab.b.check();
    assert!(is_empty(&lab.empty), "a file appeared");
    let runs = lab.runs.get() + 1;
    lab.runs.set(runs);
    if runs % RUNS_PER_CONTENT_CHECK == 0 {
        lab.a.check_content();
        lab.b.check_content();
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else {
        return Corpus::Reject;
    };
    LAB.with(|lab| check(lab.get_or_init(set_up), &request(text)));
    Corpus::Keep
});
