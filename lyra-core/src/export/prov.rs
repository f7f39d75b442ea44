//! The provenance of every claim, in W3C PROV-O (Recommendation of 30 April 2013) as JSON-LD.
//!
//! Pages, texts, fragments and claims are entities. A text was derived from its page, a fragment
//! was quoted from its text (with its offsets in code points), and a claim was derived from the
//! fragments from which it was extracted. Verdicts are also entities, attributed to the judge and
//! derived from fragment and claim. A correction by a human is attributed to the human, and is a
//! revision of the judge's verdict; a rejected claim was invalidated by an activity of the person
//! who rejected it. Identifiers are `urn:lyra:` names of the graph's own ids.

use super::sources::is_web;
use super::written::{report_of, unwritten};
use crate::error::{Error, Result};
use crate::security::display::harmless_json;
use crate::store::graph::{ExportReport, Part, Row};
use crate::store::text::url::file_name;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;

/// Writes the members of `@graph` one after another.
struct Members<'w, W: Write> {
    writer: &'w mut W,
    count: usize,
}

impl<W: Write> Members<'_, W> {
    fn push(&mut self, member: &Value) -> Result<()> {
        let comma: &[u8] = if self.count == 0 { b"" } else { b",\n" };
        self.writer.write_all(comma).map_err(unwritten)?;
        self.count += 1;
        let json = serde_json::to_string(member)
            .map_err(|e| Error::internal("a member is not JSON").with_source(e))?;
        let json = harmless_json(&json);
        self.writer.write_all(json.as_bytes()).map_err(unwritten)
    }
}

/// The agents: programs and people.
#[derive(Default)]
struct Agents {
    programs: BTreeSet<String>,
    people: BTreeSet<String>,
}

impl Agents {
    fn program(&mut self, id: Option<String>) -> Option<Value> {
        let id = id?;
        let agent = json!({"@id": urn("agent", &id)});
        self.programs.insert(id);
        Some(agent)
    }

    fn person(&mut self, name: Option<String>) -> Value {
        // An import records that a human made a correction, but not who.
        let name = name.unwrap_or_else(|| "unknown".to_owned());
        let agent = json!({"@id": urn("person", &name)});
        self.people.insert(name);
        agent
    }

    fn write<W: Write>(&self, members: &mut Members<'_, W>) -> Result<usize> {
        let programs = self
            .programs
            .iter()
            .map(|name| ("agent", "prov:SoftwareAgent", name));
        let people = self
            .people
            .iter()
            .map(|name| ("person", "prov:Person", name));
        for (kind, class, name) in programs.chain(people) {
            members.push(&json!({
                "@id": urn(kind, name), "@type": ["prov:Agent", class], "dcterms:title": name,
            }))?;
        }
        Ok(self.programs.len() + self.people.len())
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
    let mut agents = Agents::default();
    let pages = documents(part, &mut members)?;
    let fragments = fragments(part, &mut members)?;
    let claims = claims(part, &mut members, &mut agents)?;
    let verdicts = verdicts(part, &mut members, &mut agents)?;
    let agents = agents.write(&mut members)?;
    members.writer.write_all(b"\n]}\n").map_err(unwritten)?;
    Ok(report_of(&[
        ("page", pages),
        ("fragment", fragments),
        ("claim", claims),
        ("verdict", verdicts),
        ("agent", agents),
    ]))
}

/// Pages and their texts.
fn documents<W: Write>(part: &Part<'_>, members: &mut Members<'_, W>) -> Result<usize> {
    let mut pages = 0;
    part.each(
        "SELECT p.id, p.url, coalesce(p.title, w.title), p.content_hash, w.doi, w.is_retracted
         FROM pages p LEFT JOIN works w ON w.canonical_id = p.canonical_id WHERE p.id {pages} ORDER BY p.id",
        |row| {
            pages += 1;
            let is_retracted: Option<bool> = row.get(5)?;
            members.push(&compact(json!({
                "@id": urn("page", &text(row, 0)?),
                "@type": entity("Page"),
                "prov:atLocation": location(&text(row, 1)?),
                "dcterms:title": optional(row, 2)?,
                "lyra:sha256": optional(row, 3)?,
                "dcterms:identifier": optional(row, 4)?.map(|doi| format!("doi:{doi}")),
                "lyra:isRetracted": is_retracted.filter(|retracted| *retracted),
            })))
        },
    )?;
    part.each(
        "SELECT page_id, version, text_hash, fetched_at FROM page_texts WHERE page_id {pages} ORDER BY page_id, version",
        |row| {
            let page = text(row, 0)?;
            let version: i64 = row.get(1)?;
            members.push(&compact(json!({
                "@id": text_urn(&page, version),
                "@type": entity("Text"),
                "prov:wasDerivedFrom": {"@id": urn("page", &page)},
                "lyra:textHash": optional(row, 2)?,
                "prov:generatedAtTime": time(optional(row, 3)?),
            })))
        },
    )?;
    Ok(pages)
}

/// A web address; for a file only its name, since its folders are private.
fn location(url: &str) -> Option<Value> {
    let place = if is_web(url) {
        json!({"@type": "xsd:anyURI", "@value": url})
    } else {
        json!(file_name(url)?)
    };
    Some(json!({"@type": "prov:Location", "lyra:address": place}))
}

fn fragments<W: Write>(part: &Part<'_>, members: &mut Members<'_, W>) -> Result<usize> {
    let mut fragments = 0;
    part.each(
        "SELECT id, page_id, page_version, char_start, char_end, text_content FROM fragments
         WHERE id {fragments} ORDER BY id",
        |row| {
            fragments += 1;
            let page = text(row, 1)?;
            let version: Option<i64> = row.get(2)?;
            members.push(&compact(json!({
                "@id": urn("fragment", &text(row, 0)?),
                "@type": entity("Fragment"),
                "prov:wasQuotedFrom":
                    {"@id": version.map_or_else(|| urn("page", &page), |v| text_urn(&page, v))},
                "lyra:charStart": row.get::<Option<i64>>(3)?,
                "lyra:charEnd": row.get::<Option<i64>>(4)?,
                "prov:value": text(row, 5)?,
            })))
        },
    )?;
    Ok(fragments)
}

fn claims<W: Write>(
    part: &Part<'_>,
    members: &mut Members<'_, W>,
    agents: &mut Agents,
) -> Result<usize> {
    let mut count = 0;
    part.each(
        "SELECT c.id, c.claim_text, c.extractor_id, c.created_at,
           (SELECT group_concat(e.source_id, char(10)) FROM edges e
            WHERE e.target_id = c.id AND e.relation = 'origin' AND e.source_id {fragments}),
           c.claim_adoption_status, c.claim_rejected_at, c.claim_rejection_reason,
           (SELECT l.actor FROM feedback_log l WHERE l.target_type = 'claim' AND l.target_id = c.id
              AND l.action = 'claim_reject' ORDER BY l.id DESC LIMIT 1)
         FROM claims c WHERE c.id {claims} ORDER BY c.id",
        |row| {
            count += 1;
            let id = text(row, 0)?;
            let origins = optional(row, 4)?.unwrap_or_default();
            let origins: Vec<Value> =
                origins.lines().map(|id| json!({"@id": urn("fragment", id)})).collect();
            let is_rejected = text(row, 5)? == "not_adopted";
            let rejection = is_rejected.then(|| urn("rejection", &id));
            members.push(&compact(json!({
                "@id": urn("claim", &id),
                "@type": entity("Claim"),
                "prov:value": text(row, 1)?,
                "prov:wasAttributedTo": agents.program(optional(row, 2)?),
                "prov:wasDerivedFrom": if origins.is_empty() { Value::Null } else { Value::Array(origins) },
                "prov:generatedAtTime": time(optional(row, 3)?),
                "lyra:adoption": text(row, 5)?,
                "prov:wasInvalidatedBy": rejection.as_ref().map(|id| json!({"@id": id})),
                "prov:invalidatedAtTime": rejection.as_ref().and(time(optional(row, 6)?)),
            })))?;
            let Some(rejection) = rejection else {
                return Ok(());
            };
            members.push(&compact(json!({
                "@id": rejection,
                "@type": ["prov:Activity", "lyra:Rejection"],
                "prov:endedAtTime": time(optional(row, 6)?),
                "prov:wasAssociatedWith": agents.person(optional(row, 8)?),
                "lyra:reason": optional(row, 7)?,
            })))
        },
    )?;
    Ok(count)
}

/// Verdicts with their corrections by humans: who, when, why, and the judge's earlier verdict.
const VERDICTS: &str = "
  SELECT e.id, e.relation, e.nli_edge_confidence, e.judge_id, e.source_id, e.target_id, e.created_at,
    e.edge_human_corrected, e.edge_corrected_at, e.edge_correction_reason,
    (SELECT l.actor FROM feedback_log l WHERE l.target_type = 'edge' AND l.target_id = e.id
     ORDER BY l.id DESC LIMIT 1),
    coalesce((SELECT l.previous_json ->> '$.relation' FROM feedback_log l
       WHERE l.target_type = 'edge' AND l.target_id = e.id ORDER BY l.id LIMIT 1), e.nli_label),
    (SELECT l.previous_json ->> '$.nli_edge_confidence' FROM feedback_log l
       WHERE l.target_type = 'edge' AND l.target_id = e.id ORDER BY l.id LIMIT 1)
  FROM edges e WHERE e.id {edges} AND e.relation IN ('supports', 'refutes', 'neutral')
    AND e.source_type = 'fragment' AND e.target_type = 'claim' ORDER BY e.id";

fn verdicts<W: Write>(
    part: &Part<'_>,
    members: &mut Members<'_, W>,
    agents: &mut Agents,
) -> Result<usize> {
    let mut count = 0;
    part.each(VERDICTS, |row| {
        count += 1;
        let id = text(row, 0)?;
        let is_corrected: bool = row.get(7)?;
        let judge = agents.program(optional(row, 3)?);
        let judged_at = time(optional(row, 6)?);
        let judgement = urn("judgement", &id);
        let about = json!([
            {"@id": urn("fragment", &text(row, 4)?)},
            {"@id": urn("claim", &text(row, 5)?)},
        ]);
        let mut verdict = json!({
            "@id": urn("verdict", &id),
            "@type": entity("Verdict"),
            "lyra:relation": text(row, 1)?,
            "lyra:confidence": row.get::<Option<f64>>(2)?,
            "lyra:correctedByHuman": is_corrected,
            "prov:wasAttributedTo": judge,
            "prov:wasDerivedFrom": about,
            "prov:generatedAtTime": judged_at,
        });
        if is_corrected {
            let corrected_at = time(optional(row, 8)?);
            members.push(&compact(json!({
                "@id": judgement,
                "@type": entity("Judgement"),
                "lyra:relation": optional(row, 11)?,
                "lyra:confidence": row.get::<Option<f64>>(12)?,
                "prov:wasAttributedTo": judge,
                "prov:wasDerivedFrom": about,
                "prov:generatedAtTime": judged_at,
                "prov:invalidatedAtTime": corrected_at,
            })))?;
            verdict["prov:wasAttributedTo"] = agents.person(optional(row, 10)?);
            verdict["prov:generatedAtTime"] = json!(corrected_at);
            verdict["prov:wasRevisionOf"] = json!({"@id": judgement});
            verdict["lyra:reason"] = json!(optional(row, 9)?);
        }
        members.push(&compact(verdict))
    })?;
    Ok(count)
}

/// An entity and its kind.
fn entity(kind: &str) -> Value {
    json!(["prov:Entity", format!("lyra:{kind}")])
}

/// `urn:lyra:claim:…`, with characters that a URN does not allow percent-encoded.
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
    row.get(at)
}

fn optional(row: &Row<'_>, at: usize) -> Result<Option<String>> {
    row.get(at)
}

/// The object without null members.
fn compact(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, member| !member.is_null());
    }
    value
}
