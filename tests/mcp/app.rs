//! The evidence page in a chat: what the extension asks of a server, and its data in pieces.
//! tests/page shows the page itself in a browser.

use crate::client::{Client, binary};
use crate::tools::{check_reply, schemas};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const MIME: &str = "text/html;profile=mcp-app";
pub(crate) const TASK: &str = "task_large01";
pub(crate) const OTHER: &str = "task_other01";

/// Claims, and passages of each: more than a page of the chat holds.
const CLAIMS: usize = 900;
const PASSAGES: usize = 6;

/// A database with a large task, and one of one claim.
pub(crate) fn graph(folder: &Path) -> PathBuf {
    let mut lines = vec![
        json!({"type": "task", "id": TASK, "hypothesis": "Tea helps"}),
        json!({"type": "task", "id": OTHER, "hypothesis": "Coffee helps"}),
        json!({"type": "claim", "id": "claim_other", "task_id": OTHER, "claim_text": "Coffee helps."}),
    ];
    for nth in 0..300 {
        let (page, words) = (format!("page_{nth:03}"), "Tea helped. ".repeat(40));
        lines.push(json!({"type": "page", "id": page, "url": format!("https://tea.example/{nth}"), "title": format!("Trial {nth}"), "fetched_at": "2026-02-01T08:00:00.000Z"}));
        lines.push(json!({"type": "fragment", "id": format!("frag_{nth:03}"), "page_id": page, "text_content": format!("Trial {nth}. {words}")}));
    }
    for claim in 0..CLAIMS {
        let id = format!("claim_{claim:04}");
        lines.push(json!({"type": "claim", "id": id, "task_id": TASK, "claim_text": format!("Claim {claim} says that tea helps.")}));
        for passage in 0..PASSAGES {
            let relation = ["supports", "refutes", "neutral"][passage % 3];
            lines.push(json!({"type": "edge", "id": format!("edge_{claim:04}_{passage}"), "source_type": "fragment", "source_id": format!("frag_{:03}", (claim * 7 + passage * 11) % 300), "target_type": "claim", "target_id": id, "relation": relation, "nli_edge_confidence": 0.8, "judge_id": "judge-1"}));
        }
    }
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let (file, db) = (folder.join("graph.jsonl"), folder.join("a.db"));
    std::fs::write(&file, text.join("\n")).unwrap();
    let out = binary(&db).arg("import").arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    db
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({ "uri": uri }))
}

#[test]
fn the_extension_is_declared_and_the_page_is_a_resource() {
    let folder = tempfile::tempdir().unwrap();
    let db = graph(folder.path());
    let mut client = Client::start(&db, &[]);
    let hello = client.handshake("2025-11-25");
    let extensions = &hello["result"]["capabilities"]["extensions"];
    let settings = &extensions["io.modelcontextprotocol/ui"];
    assert_eq!(settings["mimeTypes"], json!([MIME]), "{hello}");

    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let with_page: Vec<&Value> = tools
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool.get("_meta").is_some())
        .collect();
    assert_eq!(with_page.len(), 1);
    assert_eq!(with_page[0]["name"], "show_evidence");
    let uri = "ui://lyra/evidence";
    assert_eq!(
        with_page[0]["_meta"],
        json!({"ui": {"resourceUri": uri}}),
        "{tools}"
    );

    let listed = client.request("resources/list", json!({}))["result"]["resources"].clone();
    let listed = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["uri"] == uri)
        .unwrap();
    let contents = read(&mut client, uri)["result"]["contents"][0].clone();
    for shown in [listed, &contents] {
        assert_eq!(shown["mimeType"], MIME);
        for (kind, domains) in shown["_meta"]["ui"]["csp"].as_object().unwrap() {
            assert_eq!(domains, &json!([]), "{kind}");
        }
    }
    let html = contents["text"].as_str().unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("default-src 'none'"));
    assert!(html.contains("type=\"application/json\">null</script>"));

    let templates = client
        .request("resources/templates/list", json!({}))
        .to_string();
    assert!(
        templates.contains("ui://lyra/evidence/{task}"),
        "{templates}"
    );
    let of_task = read(&mut client, &format!("{uri}/{TASK}"));
    let of_task = of_task["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(of_task.contains(&format!("{{\"task_id\":\"{TASK}\"}}</script>")));
    for unknown in [
        format!("{uri}/task_none"),
        format!("{uri}2"),
        format!("{uri}/"),
    ] {
        let refused = read(&mut client, &unknown);
        assert_eq!(refused["error"]["code"], -32002, "{unknown}: {refused}");
    }
}

#[test]
fn a_connector_has_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::start(&folder.path().join("a.db"), &["--tools", "connector"]);
    let hello = client.handshake("2025-11-25");
    assert!(hello["result"]["capabilities"].get("extensions").is_none());
    let listed = client.request("resources/list", json!({})).to_string();
    assert!(!listed.contains("ui://"), "{listed}");
    let refused = read(&mut client, "ui://lyra/evidence");
    assert_eq!(refused["error"]["code"], -32002, "{refused}");
}

#[test]
fn a_client_without_apps_gets_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&graph(folder.path()), &[]);
    let schemas = schemas(&mut client);
    let result = client.call("show_evidence", json!({ "task_id": TASK }));
    check_reply("show_evidence", &result, &schemas);
    let body = &result["structuredContent"];
    assert_eq!(body["hypothesis"], "Tea helps");
    assert_eq!(
        body["summary"],
        "Of 900 claims, 0 support the hypothesis, 0 refute it, 900 are neutral or not judged. 5400 passages from 300 sources, 0 of them retracted."
    );
    assert!(body.to_string().len() < 4_000, "{body}");
}

/// All pieces of a page, joined as the page joins them; `between` is called before each but the first.
fn pieces(client: &mut Client, mut between: impl FnMut(&mut Client)) -> (Value, usize) {
    let schemas = schemas(client);
    let mut page = json!({"claims": [], "sources": [], "evidence": [], "citations": []});
    let (mut cursor, mut count) = (json!("0"), 0);
    while !cursor.is_null() {
        let arguments = json!({"task_id": TASK, "cursor": cursor});
        let result = client.call("show_evidence", arguments);
        check_reply("show_evidence", &result, &schemas);
        let body = &result["structuredContent"];
        for (name, value) in body["page"].as_object().unwrap() {
            match page[name].as_array_mut() {
                Some(list) => list.extend(value.as_array().unwrap().clone()),
                None => page[name] = value.clone(),
            }
        }
        cursor = body["next_cursor"].clone();
        count += 1;
        if !cursor.is_null() {
            assert!(body["done"].as_u64() < body["total"].as_u64());
            between(client);
        }
    }
    (page, count)
}

#[test]
fn a_large_task_comes_in_bounded_pieces_of_one_state() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&graph(folder.path()), &[]);
    let (page, count) = pieces(&mut client, |_| {});
    assert!((10..=30).contains(&count), "{count}");
    let length = |list: &str| page[list].as_array().unwrap().len();
    assert!(page.to_string().len() < 1_100_000);
    assert!(length("claims") > 100 && length("claims") < CLAIMS);
    let left_out = &page["left_out"];
    assert_eq!(left_out["claims"], CLAIMS - length("claims"));
    assert_eq!(left_out["passages"], CLAIMS * PASSAGES - length("evidence"));
    for passage in page["evidence"].as_array().unwrap() {
        let at = |name: &str| usize::try_from(passage[name].as_u64().unwrap()).unwrap();
        let claim = page["claims"][at("claim")]["id"].as_str().unwrap();
        assert!(at("source") < length("sources"));
        let edge = passage["id"].as_str().unwrap();
        assert_eq!(edge.split('_').nth(1), claim.split('_').nth(1), "{edge}");
    }

    // Corrections made meanwhile are in the next page and not in this one.
    let passages = page["evidence"].as_array().unwrap();
    let supports = passages.iter().find(|p| p["relation"] == "supports");
    let edge = supports.unwrap()["id"].as_str().unwrap().to_owned();
    let relation = |page: &Value| {
        let passages = page["evidence"].as_array().unwrap();
        let found = passages.iter().find(|p| p["id"] == json!(edge)).unwrap();
        found["relation"].clone()
    };
    let corrected = json!({"action": "edge_correct", "edge_id": edge, "correct_relation": "neutral", "by": "user"});
    let (during, _) = pieces(&mut client, |client| {
        client.ok("feedback", corrected.clone());
    });
    assert_eq!(during, page);
    let (after, _) = pieces(&mut client, |_| {});
    assert_eq!(relation(&after), "neutral");
    assert_eq!(relation(&page), "supports");
}

#[test]
fn a_page_that_is_not_kept_any_more_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&graph(folder.path()), &[]);
    let first = |client: &mut Client| {
        let body = client.ok("show_evidence", json!({"task_id": TASK, "cursor": "0"}));
        body["next_cursor"].as_str().unwrap().to_owned()
    };
    let oldest = first(&mut client);
    let next = json!({"task_id": TASK, "cursor": oldest});
    client.ok("show_evidence", next.clone());
    // The cursor of one task is none of another's.
    let crossed = json!({"task_id": OTHER, "cursor": oldest});
    let refused = client.call("show_evidence", crossed)["structuredContent"].clone();
    assert_eq!(refused["error_code"], "RESOURCE_NOT_FOUND", "{refused}");
    for _ in 0..16 {
        first(&mut client);
    }
    let refused = client.call("show_evidence", next)["structuredContent"].clone();
    assert_eq!(refused["error_code"], "RESOURCE_NOT_FOUND", "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("begin again"));
}
