//! SARIF 2.1.0 (OASIS, 2020): findings for display on code hosts.

use super::super::{CheckCode, CheckReport, Finding};
use super::lines::LineIndex;
use crate::error::{Error, Result};
use crate::store::text::hash::sha256_hex;
use serde_json::{Value, json};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

pub(super) fn render(report: &CheckReport, name: &str) -> Result<String> {
    let lines = LineIndex::of(&report.text);
    let of_sentences = report.sentences.iter().flat_map(|s| &s.findings);
    let of_references = report.references.iter().flat_map(|r| &r.findings);
    let told = of_sentences
        .chain(of_references)
        .filter(|finding| finding.code != CheckCode::Supported);
    let chars: Vec<char> = report.text.chars().collect();
    let results: Vec<Value> = told.map(|f| result(&chars, f, &lines, name)).collect();
    let rules: Vec<Value> = CheckCode::ALL
        .into_iter()
        .filter(|code| *code != CheckCode::Supported)
        .map(|code| {
            json!({
                "id": code.as_str(),
                "shortDescription": { "text": code.meaning() },
                "defaultConfiguration": { "level": level(code) },
            })
        })
        .collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "lyra",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "artifacts": [{
                "location": { "uri": uri(name) },
                "hashes": { "sha-256": report.sha256 },
            }],
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log)
        .map_err(|e| Error::internal(format!("the report as SARIF: {e}")))
}

fn result(chars: &[char], finding: &Finding, lines: &LineIndex, name: &str) -> Value {
    let rules = CheckCode::ALL.into_iter();
    let rule = rules
        .filter(|code| *code != CheckCode::Supported)
        .position(|code| code == finding.code);
    let (line, column) = lines.place(finding.start);
    let (end_line, end_column) = lines.place(finding.end.max(finding.start));
    let words = chars.get(finding.start..finding.end).unwrap_or_default();
    let words: String = words.iter().collect();
    let mut properties = json!({ "judge": finding.judge });
    for (key, value) in [
        ("confidence", json!(finding.confidence)),
        ("evidence", json!(finding.evidence)),
        ("diff", json!(finding.diff)),
    ] {
        if !value.is_null() {
            properties[key] = value;
        }
    }
    // The same fault in the same words is the same finding, even if its line has moved.
    let fingerprint = sha256_hex(format!("{}\n{words}", finding.code).as_bytes());
    json!({
        "ruleId": finding.code.as_str(),
        "ruleIndex": rule,
        "level": level(finding.code),
        "message": { "text": finding.message },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(name), "index": 0 },
            "region": {
                "startLine": line,
                "startColumn": column,
                "endLine": end_line,
                "endColumn": end_column,
            },
        }}],
        "partialFingerprints": { "lyraFinding/v1": fingerprint },
        "properties": properties,
    })
}

fn level(code: CheckCode) -> &'static str {
    match code {
        CheckCode::ContradictedBySource
        | CheckCode::QuoteMismatch
        | CheckCode::NumberMismatch
        | CheckCode::RetractedSource
        | CheckCode::ReferenceNotFound
        | CheckCode::ReferenceWrongDoi => "error",
        CheckCode::NotChecked | CheckCode::Supported | CheckCode::ReferenceDuplicate => "note",
        _ => "warning",
    }
}

/// A file name as part of an address.
fn uri(name: &str) -> String {
    let mut uri = String::new();
    for byte in name.replace('\\', "/").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
