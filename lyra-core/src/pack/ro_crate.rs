//! `ro-crate-metadata.json`: describes the contents of the pack for programs that support RO-Crate
//! 1.1.
//!
//! <https://www.researchobject.org/ro-crate/specification/1.1/>

use super::archive::ArchiveEntry;
use super::format::{ATTESTATION, METADATA};
use super::lines::PackContents;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Name, format and description of the files of a pack.
pub(super) const FILES: [(&str, &str, &str); 10] = [
    (
        "graph.jsonl",
        "application/x-ndjson",
        "The evidence graph of the task, a row a line; `lyra-mcp import` reads it",
    ),
    (
        "texts.jsonl",
        "application/x-ndjson",
        "Every page text that quotes come from: hash, licence, whether it is in graph.jsonl",
    ),
    (
        "quotes.jsonl",
        "application/x-ndjson",
        "Every quote, word for word, with its offsets in code points of the page's text",
    ),
    (
        "evidence.html",
        "text/html",
        "The evidence for reading, in one page",
    ),
    (
        "sources.json",
        "application/vnd.citationstyles.csl+json",
        "The sources as CSL-JSON",
    ),
    (
        "provenance.jsonld",
        "application/ld+json",
        "Where every claim comes from, as W3C PROV-O",
    ),
    (
        "prisma-flow.svg",
        "image/svg+xml",
        "The flow of the records of the review, as PRISMA 2020 draws it",
    ),
    (
        "record.jsonl",
        "application/x-ndjson",
        "What the recorded run asked, with the hashes of the replies",
    ),
    (
        "manifest-sha256.txt",
        "text/plain",
        "SHA-256 of the files, for `sha256sum -c`",
    ),
    (
        ATTESTATION,
        "application/json",
        "The signature over the hashes of all other files: an in-toto Statement in a DSSE envelope",
    ),
];

/// The metadata file. `entries` are the other files except the manifest and the signature, which
/// are created later and are named without their hashes.
pub(super) fn metadata(task_id: &str, found: &PackContents, entries: &[&ArchiveEntry]) -> Value {
    let later = ["manifest-sha256.txt", ATTESTATION];
    let names = entries.iter().map(|entry| entry.name.as_str());
    let names: BTreeSet<&str> = names.chain(later).collect();
    let ids: Vec<Value> = names.iter().map(|name| json!({"@id": name})).collect();
    let date = found.latest.get(..10).unwrap_or("1970-01-01");
    let mut graph = vec![
        json!({
            "@id": METADATA, "@type": "CreativeWork", "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        }),
        json!({
            "@id": "./", "@type": "Dataset",
            "name": format!("Evidence: {}", found.hypothesis),
            "description": format!(
                "The evidence for and against a hypothesis, with every quote and its source: {}",
                found.hypothesis
            ),
            "identifier": task_id,
            "datePublished": date,
            "license": {"@id": "#terms"},
            "creator": {"@id": "#lyra"},
            "hasPart": ids,
        }),
        json!({
            "@id": "#terms", "@type": "CreativeWork", "name": "Terms of the sources",
            "description": "Quotes and texts are under the terms of their sources; texts.jsonl names the licence \
                where it is known. The selection and the verdicts carry no terms of their own.",
        }),
        json!({
            "@id": "#lyra", "@type": "SoftwareApplication", "name": "Lyra",
            "version": env!("CARGO_PKG_VERSION"),
        }),
    ];
    for (name, format, description) in FILES {
        if !names.contains(name) {
            continue;
        }
        let mut file = json!({
            "@id": name, "@type": "File", "name": name, "encodingFormat": format,
            "description": description,
        });
        if let Some(entry) = entries.iter().find(|entry| entry.name == name) {
            file["contentSize"] = json!(entry.size.to_string());
            file["sha256"] = json!(entry.sha256);
        }
        graph.push(file);
    }
    json!({
        "@context": [
            "https://w3id.org/ro/crate/1.1/context",
            {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
        ],
        "@graph": graph,
    })
}
