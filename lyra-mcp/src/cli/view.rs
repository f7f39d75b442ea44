//! `view`: prints a view as a table, as CSV or as JSON. `views --dialect`: prints all of them as a
//! script.

use super::layout::{cut, plain, width};
use super::output::{Output, json};
use clap::{Args, ValueEnum};
use lyra_core::security::display::spreadsheet_cell;
use lyra_core::store::views::ViewCatalog;
use lyra_core::{Engine, Error, ErrorKind, Result, ViewRequest};
use serde_json::{Map, Value};

/// Number of rows that are requested at a time, which is the maximum of a view.
const PAGE: usize = 200;

/// Maximum width of a table column, in terminal columns.
const WIDEST: usize = 60;

#[derive(Args)]
pub(super) struct Options {
    /// The name of the view; `views` lists the names
    name: String,
    /// Only this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// A parameter of the view; may be given several times
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter)]
    params: Vec<(String, Value)>,
    /// Maximum number of rows [default: all rows]
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Only these columns, in this order
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Vec<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns for reading; long texts are cut
    Table,
    /// Comma-separated values with a header line; text that a spreadsheet would read as a formula
    /// is prefixed with an apostrophe
    Csv,
    /// One JSON object per line
    Json,
}

/// Options of `views`.
#[derive(Args)]
pub(super) struct ListOptions {
    /// Print a script that creates the views in another database, over an export to Parquet
    #[arg(long, value_enum)]
    dialect: Option<Dialect>,
    /// The folder of the export, as a path that the other database can open
    #[arg(long, value_name = "DIR", requires = "dialect")]
    dir: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Dialect {
    /// DuckDB
    Duckdb,
}

impl ListOptions {
    /// Whether the script is requested instead of the list.
    pub(super) fn is_script(&self) -> bool {
        self.dialect.is_some()
    }
}

/// Prints the script.
pub(super) fn script(options: &ListOptions) -> Result<()> {
    let script = ViewCatalog::duckdb_script(options.dir.as_deref().unwrap_or_default())?;
    let mut out = Output::new();
    for line in script.lines() {
        out.line(line)?;
    }
    out.finish()
}

pub(super) fn run(engine: &Engine, options: &Options) -> Result<()> {
    let (columns, rows) = rows(engine, options)?;
    let mut out = Output::new();
    match options.format {
        Format::Json => {
            for row in &rows {
                out.line(&json(row)?)?;
            }
        }
        Format::Csv => {
            let text = csv_text(&columns, &rows);
            for line in text?.lines() {
                out.line(line)?;
            }
        }
        Format::Table => {
            for line in table(&columns, &rows) {
                out.line(&line)?;
            }
            if rows.is_empty() {
                crate::log::line("no rows");
            }
        }
    }
    out.finish()
}

type Row = Map<String, Value>;

/// All requested rows, page by page.
fn rows(engine: &Engine, options: &Options) -> Result<(Vec<String>, Vec<Row>)> {
    let wanted = options.rows.unwrap_or(usize::MAX);
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    // Even without rows, a reply names the columns.
    while columns.is_empty() || rows.len() < wanted {
        let reply = engine.query_view(&ViewRequest {
            task_id: options.task.clone(),
            params: options.params.iter().cloned().collect(),
            limit: PAGE.min(wanted - rows.len()).max(1),
            offset: rows.len(),
            ..ViewRequest::new(&options.name)
        })?;
        columns = reply.columns;
        let is_last = !reply.truncated || reply.rows.is_empty();
        rows.extend(reply.rows);
        if is_last {
            break;
        }
    }
    rows.truncate(wanted);
    for column in &options.columns {
        if !columns.contains(column) {
            let message = format!("{} has no column {column:?}", options.name);
            let hint = format!("its columns are {}", columns.join(", "));
            return Err(Error::invalid(message).with_hint(hint));
        }
    }
    if !options.columns.is_empty() {
        columns.clone_from(&options.columns);
        for row in &mut rows {
            row.retain(|name, _| columns.contains(name));
        }
    }
    Ok((columns, rows))
}

fn csv_text(columns: &[String], rows: &[Row]) -> Result<String> {
    let unwritable = |e: csv::Error| Error::new(ErrorKind::Backend, format!("CSV: {e}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns).map_err(unwritable)?;
    for row in rows {
        let cells = columns.iter().map(|column| match &row[column] {
            Value::String(text) => spreadsheet_cell(text).into_owned(),
            value => shown(value),
        });
        writer.write_record(cells).map_err(unwritable)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|e| unwritable(e.into_error().into()))?;
    String::from_utf8(bytes).map_err(|e| Error::internal(e.to_string()))
}

fn table(columns: &[String], rows: &[Row]) -> Vec<String> {
    let line_of = |cells: Vec<String>| -> Vec<String> {
        cells.iter().map(|cell| cut(&plain(cell), WIDEST)).collect()
    };
    let mut lines = vec![line_of(columns.to_vec())];
    lines.extend(
        rows.iter()
            .map(|row| line_of(columns.iter().map(|c| rounded(&row[c])).collect())),
    );
    let widths: Vec<usize> = (0..columns.len())
        .map(|i| lines.iter().map(|line| width(&line[i])).max().unwrap_or(0))
        .collect();
    let print = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths);
        let padded = cells.map(|(cell, w)| format!("{cell}{}", " ".repeat(w - width(cell))));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(print).collect()
}

/// A fraction with three digits, anything else as it is.
fn rounded(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() => format!("{number:.3}"),
        _ => shown(value),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Numbers and booleans are parsed; everything else is text.
fn parameter(given: &str) -> std::result::Result<(String, Value), String> {
    let (name, value) = given.split_once('=').ok_or("expected NAME=VALUE")?;
    let value = match serde_json::from_str(value) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => Value::from(value),
    };
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> (Vec<String>, Vec<Row>) {
        let row = json!({"n": 1, "text": "=HYPERLINK(\"x\")\u{202e}", "none": null});
        let rows = row.as_object().cloned().into_iter().collect();
        (["text", "n", "none"].map(str::to_owned).to_vec(), rows)
    }

    #[test]
    fn csv_is_quoted_and_holds_no_formula() {
        let (columns, rows) = sample();
        let text = csv_text(&columns, &rows).expect("CSV");
        assert_eq!(text, "text,n,none\n\"'=HYPERLINK(\"\"x\"\")\u{fffd}\",1,\n");
    }

    #[test]
    fn a_table_is_aligned_and_commands_no_terminal() {
        let (columns, rows) = sample();
        let expected = ["text             n  none", "=HYPERLINK(\"x\")  1"];
        assert_eq!(table(&columns, &rows), expected);
    }

    #[test]
    fn parameters_are_numbers_or_text() {
        assert_eq!(parameter("n=5"), Ok(("n".into(), json!(5))));
        assert_eq!(parameter("id=claim_5"), Ok(("id".into(), json!("claim_5"))));
        assert!(parameter("n").is_err());
    }
}
