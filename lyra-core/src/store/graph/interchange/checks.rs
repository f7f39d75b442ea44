//! Constraints between the fields of a line, and between a line and existing rows.

use super::fields::{Absent, Field, LineType, Table};
use super::json::shown;
use super::line::{Cell, LineRow};
use super::page_text::{PageText, first_difference};
use crate::security::injection;
use crate::store::graph::AGENT_PREFIX;
use crate::store::model::{NodeKind, Relation, content_id};
use crate::store::text::hash::sha256_hex;
use crate::store::text::url::registrable_domain;
use rusqlite::types::ValueRef;
use std::borrow::Cow;

/// A span of a page's text, in code points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store::graph) struct Quote {
    pub(in crate::store::graph) start: i64,
    pub(in crate::store::graph) end: i64,
}

/// Computes the columns that follow from others, and checks those that depend on one another.
pub(super) fn complete(row: &mut LineRow<'_>) -> Result<(), String> {
    match row.table.record {
        LineType::Page => {
            if *row.get("domain") == Cell::Null
                && let Some(domain) = domain_of(row.text("url"))
            {
                row.set("domain", Cell::Text(Cow::Owned(domain)));
            }
            Ok(())
        }
        LineType::PageText => hash(row, "text"),
        LineType::Fragment => {
            span(row, "char_start", "char_end")?;
            flag(row);
            hash(row, "text_content")
        }
        LineType::Edge => edge(row),
        LineType::Embedding => embedding(row),
        _ => Ok(()),
    }
}

/// The tables and fields of the rows that this row refers to.
pub(super) fn references(row: &LineRow<'_>) -> Vec<(&'static Table, &'static str)> {
    let end = |kind: &str| match kind {
        "fragment" => LineType::Fragment.table(),
        "page" => LineType::Page.table(),
        _ => LineType::Claim.table(),
    };
    match row.table.record {
        LineType::Edge => vec![
            (end(row.text("source_type")), "source_id"),
            (end(row.text("target_type")), "target_id"),
        ],
        LineType::Embedding => vec![(end(row.text("target_type")), "target_id")],
        _ => {
            let fields = row.table.fields.iter();
            fields
                .filter_map(|f| f.refers.map(|r| (r.table(), f.name)))
                .collect()
        }
    }
}

fn hash(row: &mut LineRow<'_>, column: &str) -> Result<(), String> {
    let hash = sha256_hex(row.text(column).as_bytes());
    match row.get("text_hash").as_text() {
        Some(given) if given != hash => Err(format!(
            "field \"text_hash\": {} is not the SHA-256 of {column:?}, which is {hash}",
            shown(given)
        )),
        _ => {
            row.set("text_hash", Cell::Text(Cow::Owned(hash)));
            Ok(())
        }
    }
}

/// A span has both ends or neither, and is not empty.
fn span(row: &LineRow<'_>, start: &str, end: &str) -> Result<(), String> {
    match (row.int(start), row.int(end)) {
        (Some(from), Some(to)) if from >= to => Err(format!(
            "field {end:?}: {to} is not greater than {start} {from}"
        )),
        (Some(_), None) => Err(format!("field {end:?} is missing beside {start:?}")),
        (None, Some(_)) => Err(format!("field {start:?} is missing beside {end:?}")),
        _ => Ok(()),
    }
}

fn edge(row: &mut LineRow<'_>) -> Result<(), String> {
    span(row, "quote_start", "quote_end")?;
    let relation: Relation = row
        .text("relation")
        .parse()
        .map_err(|_| "field \"relation\"")?;
    let (source, target) = ends_of(relation);
    for (field, wanted) in [("source_type", source), ("target_type", target)] {
        let found = row.text(field);
        if found != wanted.as_str() {
            return Err(format!(
                "field {field:?}: {relation} leads from a {source} to a {target}; found {found:?}"
            ));
        }
    }
    if relation == Relation::Cites && row.int("quote_start").is_some() {
        return Err("field \"quote_start\": only an edge from a fragment has a quote".to_owned());
    }
    if *row.get("id") == Cell::Null {
        let class = if relation.is_nli() {
            "verdict"
        } else {
            relation.as_str()
        };
        let id = content_id(
            "edge_",
            &[row.text("source_id"), class, row.text("target_id")],
        );
        row.set("id", Cell::Text(Cow::Owned(id)));
    }
    Ok(())
}

/// The kinds of nodes that a relation connects.
pub(in crate::store::graph) const fn ends_of(relation: Relation) -> (NodeKind, NodeKind) {
    match relation {
        Relation::Cites => (NodeKind::Page, NodeKind::Page),
        Relation::Origin | Relation::Supports | Relation::Refutes | Relation::Neutral => {
            (NodeKind::Fragment, NodeKind::Claim)
        }
    }
}

fn embedding(row: &mut LineRow<'_>) -> Result<(), String> {
    let Cell::Blob(bytes) = row.get("embedding_blob") else {
        return Ok(());
    };
    let values = i64::try_from(bytes.len() / 4).unwrap_or(i64::MAX);
    if let Some(stated) = row.int("dimension").filter(|d| *d != values) {
        return Err(format!(
            "field \"dimension\": {stated}, but the vector has {values} values"
        ));
    }
    row.set("dimension", Cell::Int(values));
    if *row.get("id") == Cell::Null {
        let parts = ["target_type", "target_id", "model_id"].map(|column| row.text(column));
        let id = content_id("emb_", &parts);
        row.set("id", Cell::Text(Cow::Owned(id)));
    }
    Ok(())
}

/// The default domain of a page without a stated domain; `local` for files.
fn domain_of(address: &str) -> Option<String> {
    if address.starts_with("file://") {
        return Some("local".to_owned());
    }
    address
        .contains("://")
        .then(|| registrable_domain(address))
        .flatten()
}

/// Adds the names of instruction-like patterns found in the text to those that the line gives, so that
/// an import cannot bypass the scan that all other input passes through.
fn flag(row: &mut LineRow<'_>) {
    let found = injection::scan(row.text("text_content"));
    if found.is_empty() {
        return;
    }
    let mut flags: Vec<&str> = row.text("security_flags").split(',').collect();
    flags.retain(|f| !f.is_empty());
    for name in found {
        if !flags.contains(&name) {
            flags.push(name);
        }
    }
    let flags = flags.join(",");
    row.set("security_flags", Cell::Text(Cow::Owned(flags)));
}

/// Checks the offsets of a fragment, or computes them if the line leaves them out.
pub(super) fn place(
    row: &mut LineRow<'_>,
    text: &PageText<'_>,
    version: i64,
) -> Result<(), String> {
    let quote = row.text("text_content");
    match row.int("char_start").zip(row.int("char_end")) {
        Some((start, end)) => matches(quote, Quote { start, end }, text)?,
        None => {
            let Quote { start, end } = only_place(quote, text)?;
            row.set("char_start", Cell::Int(start));
            row.set("char_end", Cell::Int(end));
            row.mark_given("char_start");
            row.mark_given("char_end");
        }
    }
    row.set("page_version", Cell::Int(version));
    row.mark_given("page_version");
    Ok(())
}

/// Whether the text at this span is exactly `quote`.
pub(in crate::store::graph) fn matches(
    quote: &str,
    at: Quote,
    text: &PageText<'_>,
) -> Result<(), String> {
    let Quote { start, end } = at;
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let Some(there) = range.and_then(|(from, to)| text.slice(from..to)) else {
        return Err(format!(
            "field \"char_end\": {start}..{end} is not within the page's text of {} characters",
            text.length()
        ));
    };
    if there == quote {
        return Ok(());
    }
    let (at, of_page, of_quote) = first_difference(there, quote);
    Err(format!(
        "field \"text_content\": differs from characters {start}..{end} of the page's text, first at \
         character {at}, where the page has {of_page:?} and the fragment {of_quote:?}"
    ))
}

/// The only occurrence of the quote in the text.
pub(super) fn only_place(quote: &str, text: &PageText<'_>) -> Result<Quote, String> {
    let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    match text.find(quote) {
        Some((range, false)) => Ok(Quote {
            start: number(range.start),
            end: number(range.end),
        }),
        Some((_, true)) => Err(
            "field \"char_start\": the text occurs more than once in the page; give char_start and \
             char_end"
                .to_owned(),
        ),
        None => Err("field \"text_content\": is not in the page's text".to_owned()),
    }
}

/// Whether the quote lies within the fragment's span.
pub(super) fn inside(quote: Quote, from: i64, to: i64) -> Result<(), String> {
    if from <= quote.start && quote.end <= to {
        return Ok(());
    }
    Err(format!(
        "field \"quote_start\": {}..{} does not lie within the source fragment, {from}..{to} \
         (both count characters of the page's text)",
        quote.start, quote.end
    ))
}

/// Compares the line with the stored row of its key: returns the fields to fill in, or the difference.
///
/// `was_before`: the row existed before this import. Then fields that change during the life of a row
/// keep the stored value. Within one file they must agree, or the greater value is taken; otherwise the
/// result would depend on the order of the lines.
pub(super) fn compare(
    row: &LineRow<'_>,
    stored: &rusqlite::Row<'_>,
    was_before: bool,
) -> Result<Vec<usize>, super::failure::LineFailure> {
    let column = |name: &str| row.table.fields.iter().position(|f| f.name == name);
    let value = |place: usize| stored.get_ref(place + 1);
    // A stored verdict of a human or an agent outranks a model's verdict in the file.
    let corrected = match column("edge_human_corrected").zip(column("judge_id")) {
        Some((corrected, judge)) => {
            let is_agents = matches!(value(judge)?, ValueRef::Text(id) if id.starts_with(AGENT_PREFIX.as_bytes()));
            was_before && (is_agents || value(corrected)? == ValueRef::Integer(1))
        }
        None => false,
    };
    let mut fills = Vec::new();
    for (place, field) in row.table.fields.iter().enumerate() {
        let (cell, stored) = (&row.cells[place], value(place)?);
        if !row.gives(place) || cell.equals(stored) {
            continue;
        }
        if field.fills && is_blank(field, stored) {
            fills.push(place);
        } else if field.fills && *cell == blank(field) {
            // The line has no value where the row has one.
        } else if field.greatest && !was_before {
            if cell.exceeds(stored) {
                fills.push(place);
            }
        } else if !(was_before && (field.stored_stays || (corrected && is_verdict(field)))) {
            return Err(super::failure::LineFailure::Line(format!(
                "field {:?}: {} already exists with another {}",
                field.name,
                row.label(),
                field.name
            )));
        }
    }
    Ok(fills)
}

/// Whether the field belongs to a verdict, which a judge gives and a human may correct.
fn is_verdict(field: &Field) -> bool {
    matches!(
        field.name,
        "relation"
            | "nli_label"
            | "nli_edge_confidence"
            | "nli_probabilities"
            | "judge_id"
            | "quote_start"
            | "quote_end"
    )
}

/// The content of a column that has no value yet.
fn blank(field: &Field) -> Cell<'static> {
    match field.absent {
        Absent::Int(number) => Cell::Int(number),
        _ => Cell::Null,
    }
}

fn is_blank(field: &Field, stored: ValueRef<'_>) -> bool {
    blank(field).equals(stored)
}
