//! The list of a record, for recipients who may not have its contents.

use super::tape::{MANIFEST, failed};
use crate::error::{Error, Result};
use crate::store::text::hash::sha256_hex;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

/// Writes the list of a record with hashes in place of replies, and of texts that models processed.
pub(super) fn write(dir: &Path, writer: &mut dyn Write) -> Result<()> {
    let path = dir.join(MANIFEST);
    let file = File::open(&path).map_err(|e| failed(&path, e))?;
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|e| failed(&path, e))?;
        let value: Value = serde_json::from_str(&line)
            .map_err(|e| Error::invalid(format!("a line of {}: {e}", path.display())))?;
        let shown = match value["type"].as_str() {
            Some("reply") => outlined(&value),
            _ => value,
        };
        let written = writeln!(writer, "{shown}");
        written.map_err(|e| failed(&path, e))?;
    }
    Ok(())
}

fn outlined(line: &Value) -> Value {
    let (request, reply) = (&line["request"], &line["reply"]);
    let asked = match request["port"].as_str() {
        Some("fetch" | "search") => request.clone(),
        _ => json!({"port": request["port"], "model": request["model"]}),
    };
    let mut shown = json!({
        "type": "reply", "key": line["key"], "request": asked,
        "reply_sha256": sha256_hex(reply.to_string().as_bytes()),
    });
    if let Some(body) = reply["answer"]["found"]["sha256"].as_str() {
        shown["body_sha256"] = json!(body);
    }
    shown
}
