//! Sources in CSL-JSON 1.0, the format of citation processors.

use super::dates::Date;
use super::keys::read_sources;
use super::people::Name;
use super::sources::{Source, SourceKind};
use super::written::{report_of, unwritten};
use crate::error::{Error, Result};
use crate::security::display::is_harmful;
use crate::store::graph::{ExportReport, Part};
use serde_json::{Map, Value, json};
use std::io::Write;

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let sources = read_sources(part)?;
    let items: Vec<Value> = sources.iter().map(item).collect();
    serde_json::to_writer_pretty(&mut *writer, &items)
        .map_err(|e| Error::internal("the items are not JSON").with_source(e))?;
    writer.write_all(b"\n").map_err(unwritten)?;
    Ok(report_of(&[("item", items.len())]))
}

fn item(source: &Source) -> Value {
    let kind = match source.kind() {
        SourceKind::Article => "article-journal",
        // The CSL type for a preprint.
        SourceKind::Preprint => "article",
        SourceKind::Webpage => "webpage",
        SourceKind::Document => "document",
    };
    // A preprint has no container: the repository is its publisher.
    let venue_is = match source.kind() {
        SourceKind::Preprint => "publisher",
        _ => "container-title",
    };
    let authors: Vec<Value> = source.authors.iter().map(name).collect();
    let notes = source.notes();
    let accessed = source.accessed.as_deref().and_then(Date::parse);
    let fields = [
        ("id", Some(json!(source.key))),
        ("type", Some(json!(kind))),
        ("title", Some(json!(source.title))),
        (
            "author",
            (!authors.is_empty()).then(|| Value::Array(authors)),
        ),
        ("issued", source.issued.map(date)),
        (venue_is, source.venue.as_ref().map(|v| json!(v))),
        ("DOI", source.doi.as_ref().map(|d| json!(d))),
        ("PMID", source.pmid.as_ref().map(|id| json!(id))),
        ("PMCID", source.pmcid.as_ref().map(|id| json!(id))),
        (
            "number",
            source
                .arxiv_id
                .as_ref()
                .map(|id| json!(format!("arXiv:{id}"))),
        ),
        ("URL", source.link().map(|u| json!(u))),
        ("accessed", accessed.map(date)),
        ("note", (!notes.is_empty()).then(|| json!(notes.join("; ")))),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    harmless(Value::Object(fields.collect::<Map<_, _>>()))
}

/// The value without harmful characters in its texts: reference lists are read by people.
fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(is_harmful, "")),
        Value::Array(items) => items.into_iter().map(harmless).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(name, value)| (name, harmless(value)))
                    .collect(),
            )
        }
        other => other,
    }
}

fn name(name: &Name) -> Value {
    let Some(given) = &name.given else {
        return json!({"literal": name.family});
    };
    let mut parts = Map::new();
    for (part, text) in [
        ("family", Some(&name.family)),
        ("given", Some(given)),
        ("non-dropping-particle", name.particle.as_ref()),
        ("suffix", name.suffix.as_ref()),
    ] {
        if let Some(text) = text {
            parts.insert(part.to_owned(), json!(text));
        }
    }
    Value::Object(parts)
}

fn date(date: Date) -> Value {
    json!({"date-parts": [date.parts()]})
}
