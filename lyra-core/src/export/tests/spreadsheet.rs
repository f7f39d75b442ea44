//! The table for spreadsheets.

use super::*;

type Row = std::collections::HashMap<String, String>;

/// The table as parsed by a CSV reader.
fn table(graph: &EvidenceGraph, task: Option<&str>) -> Vec<Row> {
    let (text, _) = exported(graph, "csv", task);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.unwrap()).collect()
}

#[test]
fn each_row_is_a_claim_and_a_piece_of_evidence() {
    let (_folder, graph) = graph();
    let rows = table(&graph, Some("task_00000001"));
    let of = |column: &str| -> Vec<&str> { rows.iter().map(|row| row[column].as_str()).collect() };
    let shown = HOSTILE.replace('\u{7}', "\u{fffd}");
    assert_eq!(of("claim"), [&shown, &shown]);
    assert_eq!(of("stance"), ["origin", "refutes"]);
    assert_eq!(of("confidence"), ["", "0.8000"]);
    assert_eq!(of("quote"), [shown.as_str(), "It does not."]);
    assert_eq!(of("title"), [shown.as_str(), "Withdrawn"]);
    assert_eq!(
        of("authors"),
        ["Byron, Ada; Research and Development Group, The", ""]
    );
    assert_eq!(of("year"), ["2021", "2020"]);
    assert_eq!(of("doi"), ["10.1/a_b", "10.1/b"]);
    assert_eq!(
        of("address"),
        ["https://a.example/1?x={y}", "https://b.example/2"]
    );
    assert_eq!(of("judge"), ["", "judge"]);
    assert_eq!(of("retracted"), ["no", "yes"]);
    assert_eq!(of("hypothesis"), ["Walking lowers glucose"; 2]);
    assert_eq!(of("edge_id"), ["e1", "e2"]);
    assert_eq!(table(&graph, None).len(), 3);
}

#[test]
fn quotes_commas_and_line_breaks_survive_and_formulas_do_not() {
    let (_folder, graph) = graph();
    let texts = [
        "=HYPERLINK(\"http://e/\",\"x\")",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "a, \"b\"\nc",
        "plain",
    ];
    let mut lines = Vec::new();
    for (n, text) in texts.iter().enumerate() {
        let text = Value::String((*text).to_owned());
        lines.push(format!(
            r#"{{"type":"claim","id":"x{n}","task_id":"task_00000002","claim_text":{text}}}"#
        ));
    }
    let now = graph.clock().now();
    crate::store::graph::import_jsonl(graph.database(), &now, lines.join("\n").as_bytes()).unwrap();
    let (text, _) = exported(&graph, "csv", None);
    let heads = text.split("\r\n").next().unwrap();
    assert!(
        heads.starts_with("claim,stance,confidence,quote,title,"),
        "{heads}"
    );
    assert!(text.ends_with("\r\n"), "{text}");
    assert!(text.contains("\"a, \"\"b\"\"\nc\""), "{text}");
    let mut rows = table(&graph, Some("task_00000002"));
    rows.retain(|row| row["claim_id"].starts_with('x'));
    let claims: Vec<&str> = rows.iter().map(|row| row["claim"].as_str()).collect();
    assert_eq!(
        claims,
        [
            "'=HYPERLINK(\"http://e/\",\"x\")",
            "'+1",
            "'-1",
            "'@SUM(A1)",
            "'\t=1",
            "a, \"b\"\nc",
            "plain"
        ]
    );
    assert!(rows.iter().all(|row| row["stance"].is_empty()), "{rows:?}");
}

#[test]
fn rejected_claims_are_left_out() {
    let (_folder, graph) = graph();
    let feedback = Feedback::ClaimReject {
        claim_id: "c1".to_owned(),
        reason: "wrong".to_owned(),
    };
    graph.write(|w| w.apply_feedback(&feedback, "a")).unwrap();
    assert_eq!(table(&graph, None).len(), 1);
}
