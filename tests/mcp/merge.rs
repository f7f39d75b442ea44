//! `merge` on the command line: killed at any moment, and told what is not there.

use crate::client::binary;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

const PAGES: usize = 300;

fn run(db: &Path, arguments: &[&str]) -> Output {
    binary(db).args(arguments).output().unwrap()
}

fn done(db: &Path, arguments: &[&str]) -> String {
    let out = run(db, arguments);
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{arguments:?}: {told}");
    String::from_utf8(out.stdout).unwrap()
}

/// A graph of pages with texts; every third of them is also in the graph before it.
fn shard(folder: &Path, number: usize) -> PathBuf {
    let mut lines = String::from(
        "{\"type\":\"task\",\"id\":\"t\",\"hypothesis\":\"Night work shortens sleep\"}\n",
    );
    for n in number * PAGES..(number + 1) * PAGES {
        let is_shared = number > 0 && n % 3 == 0;
        let n = if is_shared { n - PAGES } else { n };
        let text = format!("Ward {n} followed {} nurses. ", 20 + n).repeat(40);
        for line in [
            json!({"type": "page", "id": format!("p{n}"), "url": format!("https://site.example/{n}")}),
            json!({"type": "page_text", "page_id": format!("p{n}"), "text": text, "fetched_at": "2026-01-01T00:00:00Z"}),
            json!({"type": "task_page", "task_id": "t", "page_id": format!("p{n}"), "reason": "search"}),
        ] {
            writeln!(lines, "{line}").unwrap();
        }
    }
    let (file, db) = (
        folder.join(format!("{number}.jsonl")),
        folder.join(format!("{number}.db")),
    );
    std::fs::write(&file, lines).unwrap();
    done(&db, &["import", file.to_str().unwrap()]);
    db
}

/// `merge TARGET SOURCE…`.
fn merge(target: &Path, sources: &[PathBuf]) -> std::process::Command {
    let mut command = binary(target);
    command.arg("merge").arg(target).args(sources);
    command
}

#[test]
fn a_merge_that_is_killed_at_any_moment_leaves_the_target_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let shards: Vec<PathBuf> = (0..3).map(|n| shard(folder.path(), n)).collect();
    let (first, others) = shards.split_first().unwrap();
    let target = |name: &str| {
        let path = folder.path().join(name);
        std::fs::copy(first, &path).unwrap();
        path
    };
    let whole = target("whole.db");
    let out = merge(&whole, others).output().unwrap();
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["sources"], 2);
    assert!(report.get("decided").is_none(), "{report}");
    let (before, after) = (done(first, &["hash"]), done(&whole, &["hash"]));
    assert_ne!(before, after);
    let mut kills = 0;
    for milliseconds in (0..).map(|n: u32| 20 << n) {
        let killed = target(&format!("killed{milliseconds}.db"));
        let mut child = merge(&killed, others)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        let ended = child.wait().unwrap().success();
        let found = done(&killed, &["hash"]);
        match ended {
            true => assert_eq!(found, after),
            false => assert!(found == before || found == after, "{milliseconds} ms"),
        }
        kills += u32::from(!ended);
        assert!(merge(&killed, others).output().unwrap().status.success());
        assert_eq!(done(&killed, &["hash"]), after, "{milliseconds} ms");
        if ended {
            break;
        }
    }
    assert!(kills > 1, "no merge was under way when it was killed");
}

#[test]
fn a_source_that_is_not_there_is_named_and_makes_no_graph() {
    let folder = tempfile::tempdir().unwrap();
    let (target, missing) = (folder.path().join("all.db"), folder.path().join("none.db"));
    let out = merge(&target, std::slice::from_ref(&missing))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success());
    assert!(
        told.contains("there is no graph at") && told.contains("none.db"),
        "{told}"
    );
    assert!(!target.exists());
}
