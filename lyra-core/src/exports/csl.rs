//! Sources in CSL-JSON 1.0, of citation processors.

use super::part::Part;
use super::sources::{Name, Source, sources};
use super::{report_of, unwritten};
use crate::error::{Error, Result};
use crate::graph::ExportReport;
use serde_json::{Map, Value, json};
use std::io::Write;

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let sources = sources(part)?;
    let items: Vec<Value> = sources.iter().map(item).collect();
    serde_json::to_writer_pretty(&mut *writer, &items)
        .map_err(|e| Error::internal("the items are not JSON").with_source(e))?;
    writer.write_all(b"\n").map_err(unwritten)?;
    Ok(report_of(&[("item", items.len())]))
}

fn item(source: &Source) -> Value {
    let kind = match (source.is_publication, &source.venue) {
        (true, Some(_)) => "article-journal",
        (true, None) => "document",
        (false, _) => "webpage",
    };
    let authors: Vec<Value> = source.authors.iter().map(name).collect();
    let issued = source.published.as_deref().and_then(date);
    let issued = issued.or_else(|| source.year.map(|y| json!({"date-parts": [[y]]})));
    let fields = [
        ("id", Some(json!(source.key))),
        ("type", Some(json!(kind))),
        ("title", Some(json!(source.title))),
        (
            "author",
            (!authors.is_empty()).then(|| Value::Array(authors)),
        ),
        ("issued", issued),
        ("container-title", source.venue.as_ref().map(|v| json!(v))),
        ("DOI", source.doi.as_ref().map(|d| json!(d))),
        ("URL", source.url.as_ref().map(|u| json!(u))),
        ("accessed", source.accessed.as_deref().and_then(date)),
        ("note", source.is_retracted.then(|| json!("RETRACTED"))),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn name(name: &Name) -> Value {
    match &name.given {
        Some(given) => json!({"family": name.family, "given": given}),
        None => json!({"literal": name.family}),
    }
}

/// `2021-03-04`, `2021-03` and `2021` as date parts; what comes after the day is left out.
fn date(text: &str) -> Option<Value> {
    let day = text.get(..10).unwrap_or(text);
    let parts: Option<Vec<i64>> = day.split('-').map(|part| part.parse().ok()).collect();
    parts.map(|parts| json!({"date-parts": [parts]}))
}
