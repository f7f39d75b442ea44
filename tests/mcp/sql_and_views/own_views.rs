//! Views of the user's own: what works, and what a broken one costs.

use super::{Server, graph};
use crate::client::binary;
use serde_json::json;
use std::path::Path;
use std::process::Stdio;

const WORD: &str = "-- Claims that hold a word.
-- Parameters:
--   word (text, required): What to look for.
-- Columns:
--   claim_id: Id of the claim.
-- Order: claim_id

SELECT c.id AS claim_id FROM claims AS c WHERE instr(c.claim_text, :word) > 0 ORDER BY c.id
";

/// A view file around one SELECT with a column `x`.
fn plain(select: &str) -> String {
    format!("-- A view.\n-- Columns:\n--   x: A number.\n\n{select}\n")
}

/// A folder of views: three that work, and one for each way in which one does not.
fn folder_of_views(folder: &Path) -> String {
    let views = folder.join("views");
    std::fs::create_dir(&views).unwrap();
    for (name, text) in [
        ("v_word", WORD.to_owned()),
        // It builds on a view that comes after it.
        ("v_a_total", plain("SELECT sum(x) AS x FROM v_numbers")),
        ("v_numbers", plain("SELECT 1 AS x UNION ALL SELECT 2")),
        ("v_no_header", "SELECT 1 AS x\n".to_owned()),
        ("v_two", plain("SELECT 1 AS x; SELECT 2")),
        ("v_writes", plain("DELETE FROM claims")),
        ("v_wrong_column", plain("SELECT nonsense AS x FROM claims")),
        ("v_on_a_broken_one", plain("SELECT x FROM v_wrong_column")),
        ("v_contradictions", plain("SELECT y AS x FROM claims")),
        (
            "v_private",
            plain("SELECT block AS x FROM fragments_fts_data"),
        ),
        ("claims", plain("SELECT 1 AS x")),
    ] {
        std::fs::write(views.join(format!("{name}.sql.j2")), text).unwrap();
    }
    std::fs::write(views.join("v_bytes.sql.j2"), b"-- \xFF").unwrap();
    views.to_str().unwrap().to_owned()
}

/// The views of that folder that are left out, and a part of the reason.
const LEFT_OUT: [(&str, &str); 8] = [
    ("claims", ", line 1: the name \"claims\" must start with v_"),
    ("v_bytes", ", line 1: the text is not UTF-8"),
    ("v_contradictions", ", line 5: no such column: y"),
    (
        "v_no_header",
        ", line 1: the file must start with a comment",
    ),
    (
        "v_on_a_broken_one",
        ", line 5: no such table: v_wrong_column",
    ),
    ("v_two", ", line 5: one statement only"),
    ("v_writes", ", line 5: the SQL must start with SELECT"),
    ("v_wrong_column", ", line 5: no such column: nonsense"),
];

#[test]
fn a_broken_view_of_the_user_costs_itself_and_nothing_else() {
    let folder = graph();
    let views = folder_of_views(folder.path());
    let mut server = Server::over(folder, &["--views-dir", &views]);
    let listed = server.ask("list_views", &json!({}));
    assert_eq!(listed["count"], 28 + 4, "{listed}");
    for (name, reason) in LEFT_OUT {
        let body = server.ask("query_view", &json!({"view_name": name}));
        if name == "v_contradictions" {
            // The built-in one answers in its place.
            assert_eq!(body["rows"][0]["claim_id"], "c1", "{body}");
            continue;
        }
        let reason = reason.trim_start_matches(", ");
        let error = format!("the view {name} is broken");
        server.refuses(
            "query_view",
            &[(
                json!({"view_name": name}),
                "RESOURCE_NOT_FOUND",
                &error,
                "docs/views.md",
            )],
        );
        assert!(body["error"].as_str().unwrap().contains(reason), "{body}");
    }
    let total = server.ask("query_view", &json!({"view_name": "v_a_total"}));
    assert_eq!(total["rows"], json!([{"x": 3}]));
    // What it reads is not for anyone, whoever has written the view.
    server.refuses(
        "query_view",
        &[(
            json!({"view_name": "v_private"}),
            "QUERY_REJECTED",
            "no such table: fragments_fts_data",
            "",
        )],
    );
    for (word, rows) in [
        (json!("Tea"), 1),
        (json!("' OR 1 = 1 --"), 0),
        (json!("x'); DROP TABLE claims; --"), 0),
        (json!("{{ 7 * 7 }}"), 0),
        (json!(":word"), 0),
    ] {
        let arguments = json!({"view_name": "v_word", "params": {"word": word}});
        let body = server.ask("query_view", &arguments);
        assert_eq!(body["row_count"], rows, "{arguments}: {body}");
    }
    server.refuses(
        "query_view",
        &[(
            json!({"view_name": "v_word"}),
            "INVALID_PARAMS",
            "v_word needs the parameter \"word\"",
            "What to look for.",
        )],
    );
    server.is_unchanged();
}

#[test]
fn a_broken_view_is_named_at_the_start_by_views_and_by_doctor() {
    let folder = graph();
    let views = folder_of_views(folder.path());
    let run = |command: &str| {
        let out = binary(&folder.path().join("a.db"))
            .args(["--views-dir", &views, command])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    let (started, listed, checked) = (run("serve"), run("views"), run("doctor"));
    assert_eq!(
        (started.0, listed.0, checked.0),
        (Some(0), Some(0), Some(1))
    );
    assert_eq!(listed.1.lines().count(), 28 + 4, "{}", listed.1);
    for (name, reason) in LEFT_OUT {
        let said = |text: &str| {
            let mut lines = text.lines();
            lines.any(|l| l.contains(&format!("{name}.sql.j2")) && l.contains(reason))
        };
        for text in [&started.2, &listed.2, &checked.1] {
            assert!(said(text), "{name}: {text}");
        }
    }

    // A folder that is not there is a mistake in the configuration, not in a view.
    let out = binary(&folder.path().join("a.db"))
        .args(["--views-dir", "no-such-folder", "serve"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(1));
    let words = String::from_utf8(out.stderr).unwrap();
    assert!(
        words.contains("views: cannot read no-such-folder"),
        "{words}"
    );
    assert!(words.contains("hint: give a folder"), "{words}");
}
