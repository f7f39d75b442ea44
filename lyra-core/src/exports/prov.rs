//! Where every claim comes from, in W3C PROV-O (Recommendation of 30 April 2013) as JSON-LD.
//!
//! Pages, texts, fragments and claims are entities. A text was derived from its page, a fragment
//! was quoted from its text (with its offsets in code points), a claim was derived from the
//! fragments that it was read in. Verdicts are entities, too: attributed to the judge, derived from
//! fragment and claim. Identifiers are `urn:lyra:` names of the graph's own ids.

use super::part::Part;
use super::{report_of, unwritten};
use crate::error::{Error, Result, SqliteResultExt};
use crate::graph::ExportReport;
use rusqlite::Row;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;

/// Writes the members of `@graph` one after the other.
struct Members<'w, W: Write> {
    writer: &'w mut W,
    count: usize,
}

impl<W: Write> Members<'_, W> {
    fn push(&mut self, member: &Value) -> Result<()> {
        let comma: &[u8] = if self.count == 0 { b"" } else { b",\n" };
        self.writer.write_all(comma).map_err(unwritten)?;
        self.count += 1;
        serde_json::to_writer(&mut *self.writer, member)
            .map_err(|e| Error::internal("a member is not JSON").with_source(e))
    }
}

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let context = json!({
        "prov": "http://www.w3.org/ns/prov#",
        "dcterms": "http://purl.org/dc/terms/",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
        "lyra": "urn:lyra:term:",
    });
    writer
        .write_all(format!("{{\"@context\": {context},\n\"@graph\": [\n").as_bytes())
        .map_err(unwritten)?;
    let mut members = Members { writer, count: 0 };
    let pages = documents(part, &mut members)?;
    let (claims, claim_agents) = claims(part, &mut members)?;
    let (verdicts, mut agents) = verdicts(part, &mut members)?;
    agents.extend(claim_agents);
    for agent in &agents {
        members.push(&json!({
            "@id": urn("agent", agent), "@type": ["prov:Agent", "prov:SoftwareAgent"], "dcterms:title": agent,
        }))?;
    }
    let agents = agents.len();
    members.writer.write_all(b"\n]}\n").map_err(unwritten)?;
    Ok(report_of(&[
        ("page", pages.0),
        ("fragment", pages.1),
        ("claim", claims),
        ("verdict", verdicts),
        ("agent", agents),
    ]))
}

fn documents<W: Write>(part: &Part<'_>, members: &mut Members<'_, W>) -> Result<(usize, usize)> {
    let (mut pages, mut fragments) = (0, 0);
    part.each(
        "SELECT p.id, p.url, coalesce(p.title, w.title), p.content_hash, w.doi
         FROM pages p LEFT JOIN works w ON w.canonical_id = p.canonical_id WHERE p.id {pages} ORDER BY p.id",
        |row| {
            pages += 1;
            members.push(&compact(json!({
                "@id": urn("page", &text(row, 0)?),
                "@type": "prov:Entity",
                "prov:atLocation": text(row, 1)?,
                "dcterms:title": optional(row, 2)?,
                "lyra:sha256": optional(row, 3)?,
                "dcterms:identifier": optional(row, 4)?.map(|doi| format!("doi:{doi}")),
            })))
        },
    )?;
    part.each(
        "SELECT page_id, version, text_hash, fetched_at FROM page_texts WHERE page_id {pages} ORDER BY page_id, version",
        |row| {
            let page = text(row, 0)?;
            let version: i64 = row.get(1).db()?;
            members.push(&compact(json!({
                "@id": text_urn(&page, version),
                "@type": "prov:Entity",
                "prov:wasDerivedFrom": {"@id": urn("page", &page)},
                "lyra:textHash": optional(row, 2)?,
                "prov:generatedAtTime": time(optional(row, 3)?),
            })))
        },
    )?;
    part.each(
        "SELECT id, page_id, page_version, char_start, char_end, text_content FROM fragments
         WHERE id {fragments} ORDER BY id",
        |row| {
            fragments += 1;
            let page = text(row, 1)?;
            let version: Option<i64> = row.get(2).db()?;
            members.push(&compact(json!({
                "@id": urn("fragment", &text(row, 0)?),
                "@type": "prov:Entity",
                "prov:wasQuotedFrom":
                    {"@id": version.map_or_else(|| urn("page", &page), |v| text_urn(&page, v))},
                "lyra:charStart": row.get::<_, Option<i64>>(3).db()?,
                "lyra:charEnd": row.get::<_, Option<i64>>(4).db()?,
                "prov:value": text(row, 5)?,
            })))
        },
    )?;
    Ok((pages, fragments))
}

fn claims<W: Write>(
    part: &Part<'_>,
    members: &mut Members<'_, W>,
) -> Result<(usize, BTreeSet<String>)> {
    let (mut count, mut agents) = (0, BTreeSet::new());
    part.each(
        "SELECT c.id, c.claim_text, c.extractor_id, c.created_at,
           (SELECT group_concat(e.source_id, char(10)) FROM edges e
            WHERE e.target_id = c.id AND e.relation = 'origin' AND e.source_id {fragments})
         FROM claims c WHERE c.id {claims} ORDER BY c.id",
        |row| {
            count += 1;
            let extractor = optional(row, 2)?;
            let origins = optional(row, 4)?.unwrap_or_default();
            let origins: Vec<Value> =
                origins.lines().map(|id| json!({"@id": urn("fragment", id)})).collect();
            agents.extend(extractor.clone());
            members.push(&compact(json!({
                "@id": urn("claim", &text(row, 0)?),
                "@type": "prov:Entity",
                "prov:value": text(row, 1)?,
                "prov:wasAttributedTo": extractor.map(|id| json!({"@id": urn("agent", &id)})),
                "prov:wasDerivedFrom": if origins.is_empty() { Value::Null } else { Value::Array(origins) },
                "prov:generatedAtTime": time(optional(row, 3)?),
            })))
        },
    )?;
    Ok((count, agents))
}

fn verdicts<W: Write>(
    part: &Part<'_>,
    members: &mut Members<'_, W>,
) -> Result<(usize, BTreeSet<String>)> {
    let (mut count, mut agents) = (0, BTreeSet::new());
    part.each(
        "SELECT id, relation, nli_edge_confidence, judge_id, source_id, target_id, created_at,
           edge_human_corrected
         FROM edges WHERE id {edges} AND relation IN ('supports', 'refutes', 'neutral')
           AND source_type = 'fragment' AND target_type = 'claim' ORDER BY id",
        |row| {
            count += 1;
            let judge = optional(row, 3)?;
            agents.extend(judge.clone());
            members.push(&compact(json!({
                "@id": urn("verdict", &text(row, 0)?),
                "@type": "prov:Entity",
                "lyra:relation": text(row, 1)?,
                "lyra:confidence": row.get::<_, Option<f64>>(2).db()?,
                "lyra:correctedByHuman": row.get::<_, bool>(7).db()?,
                "prov:wasAttributedTo": judge.map(|id| json!({"@id": urn("agent", &id)})),
                "prov:wasDerivedFrom":
                    [{"@id": urn("fragment", &text(row, 4)?)}, {"@id": urn("claim", &text(row, 5)?)}],
                "prov:generatedAtTime": time(optional(row, 6)?),
            })))
        },
    )?;
    Ok((count, agents))
}

/// `urn:lyra:claim:…`, with what a URN may not hold in percent.
fn urn(kind: &str, id: &str) -> String {
    let mut urn = format!("urn:lyra:{kind}:");
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            urn.push(char::from(byte));
        } else {
            urn.push_str(&format!("%{byte:02X}"));
        }
    }
    urn
}

fn text_urn(page: &str, version: i64) -> String {
    format!("{}:{version}", urn("text", page))
}

fn time(stamp: Option<String>) -> Option<Value> {
    let stamp = stamp.filter(|stamp| !stamp.is_empty())?;
    Some(json!({"@type": "xsd:dateTime", "@value": stamp}))
}

fn text(row: &Row<'_>, at: usize) -> Result<String> {
    row.get(at).db()
}

fn optional(row: &Row<'_>, at: usize) -> Result<Option<String>> {
    row.get(at).db()
}

/// The object without the members that are null.
fn compact(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, member| !member.is_null());
    }
    value
}
