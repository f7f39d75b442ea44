//! A table for spreadsheets: one row per claim and piece of evidence.

use super::keys::read_sources;
use super::sources::Source;
use super::written::{report_of, unwritten};
use crate::error::{Error, Result};
use crate::security::display::spreadsheet_cell;
use crate::store::graph::{ExportReport, Part, Row};
use csv::{Terminator, WriterBuilder};
use std::collections::HashMap;
use std::io::Write;

const COLUMNS: [&str; 18] = [
    "claim",
    "stance",
    "confidence",
    "quote",
    "title",
    "authors",
    "year",
    "doi",
    "address",
    "judge",
    "retracted",
    "corrected_by_human",
    "hypothesis",
    "hypothesis_stance",
    "hypothesis_confidence",
    "task_id",
    "claim_id",
    "edge_id",
];

/// Claims that were not rejected, each with its evidence: first the origin, then the evidence for
/// it, against it and neutral, most certain first. A claim without evidence has one row.
const ROWS: &str = "
  SELECT c.claim_text, e.relation, e.nli_edge_confidence,
    CASE WHEN e.quote_end IS NOT NULL AND f.char_start IS NOT NULL THEN
      substr(f.text_content, e.quote_start - f.char_start + 1, e.quote_end - e.quote_start)
    ELSE f.text_content END,
    coalesce(p.canonical_id, p.id), e.judge_id, e.edge_human_corrected,
    t.hypothesis, s.relation, s.confidence, t.id, c.id, e.id
  FROM claims c JOIN tasks t ON t.id = c.task_id
    LEFT JOIN hypothesis_stances s ON s.claim_id = c.id
    LEFT JOIN edges e ON e.target_id = c.id AND e.target_type = 'claim' AND e.source_type = 'fragment'
    LEFT JOIN fragments f ON f.id = e.source_id
    LEFT JOIN pages p ON p.id = f.page_id
  WHERE c.id {claims} AND c.claim_adoption_status = 'adopted'
  ORDER BY t.created_at, t.id, c.id,
    CASE e.relation WHEN 'origin' THEN 0 WHEN 'supports' THEN 1 WHEN 'refutes' THEN 2 ELSE 3 END,
    e.nli_edge_confidence DESC, e.id";

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let sources = read_sources(part)?;
    let by_id: HashMap<&str, &Source> = sources.iter().map(|s| (s.id.as_str(), s)).collect();
    let mut table = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(writer);
    table.write_record(COLUMNS).map_err(unwritable)?;
    let mut rows = 0;
    part.each(ROWS, |row| {
        let source: Option<String> = row.get(4)?;
        let source = source.and_then(|id| by_id.get(id.as_str()).copied());
        let cells = cells(row, source)?;
        rows += 1;
        table.write_record(&cells).map_err(unwritable)
    })?;
    table.flush().map_err(unwritten)?;
    Ok(report_of(&[("row", rows)]))
}

/// The cells of a row, in the order of [`COLUMNS`]. Fetched or typed text never becomes a formula.
fn cells(row: &Row<'_>, source: Option<&Source>) -> Result<[String; 18]> {
    let text = |at: usize| -> Result<String> {
        let text: Option<String> = row.get(at)?;
        Ok(spreadsheet_cell(&text.unwrap_or_default()).into_owned())
    };
    let share = |at: usize| -> Result<String> {
        let share: Option<f64> = row.get(at)?;
        Ok(share.map(|share| format!("{share:.4}")).unwrap_or_default())
    };
    let of_source = |tell: &dyn Fn(&Source) -> Option<String>| {
        let told = source.and_then(tell).unwrap_or_default();
        spreadsheet_cell(&told).into_owned()
    };
    let is_corrected: Option<bool> = row.get(6)?;
    Ok([
        text(0)?,
        text(1)?,
        share(2)?,
        text(3)?,
        of_source(&|s| Some(s.title.clone())),
        of_source(&|s| {
            let names: Vec<String> = s.authors.iter().map(|name| name.inverted()).collect();
            Some(names.join("; "))
        }),
        of_source(&|s| s.year.map(|year| year.to_string())),
        of_source(&|s| s.doi.clone()),
        of_source(&|s| s.link().map(str::to_owned).or_else(|| s.file_name())),
        text(5)?,
        of_source(&|s| Some(yes_or_no(s.is_retracted).to_owned())),
        is_corrected.map(yes_or_no).unwrap_or_default().to_owned(),
        text(7)?,
        text(8)?,
        share(9)?,
        text(10)?,
        text(11)?,
        text(12)?,
    ])
}

fn yes_or_no(is_so: bool) -> &'static str {
    match is_so {
        true => "yes",
        false => "no",
    }
}

fn unwritable(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => unwritten(error),
        other => Error::internal(format!("CSV: {other:?}")),
    }
}
