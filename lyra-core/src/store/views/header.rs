//! Parses the comment block at the top of a template: the view's description, parameters and columns.
//!
//! ```text
//! -- What the view answers; as many lines as it takes.
//! -- Parameters:
//! --   task_id (text, optional): What it does.
//! --   include_rejected (boolean, default false): A longer text goes on
//! --     in lines that stand deeper.
//! -- Columns:
//! --   claim_id: What the column holds.
//! --   domain (all): What a column holds that only `ViewColumns::All` brings.
//! -- Order: claim_id
//! ```
//!
//! `Parameters` and `Order` are optional. The block ends at the first line without `--`.

use super::params::{ParameterType, ViewParameter};

/// A template split into its header and its SQL.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) description: String,
    pub(super) parameters: Vec<ViewParameter>,
    pub(super) columns: Vec<Column>,
    pub(super) order: Option<String>,
    /// Byte offset at which the SQL starts.
    pub(super) body_start: usize,
    /// Line at which the SQL starts, counted from 1.
    pub(super) body_line: usize,
}

impl Header {
    /// An error in the SQL, with its line in the file.
    pub(super) fn in_file(&self, fault: TemplateFault) -> TemplateFault {
        TemplateFault {
            line: fault.line + self.body_line - 1,
            ..fault
        }
    }
}

/// An error in a template, and its line (counted from 1).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TemplateFault {
    pub(super) line: usize,
    pub(super) reason: String,
}

impl TemplateFault {
    pub(super) fn new(line: usize, reason: impl Into<String>) -> Self {
        Self {
            line,
            reason: reason.into(),
        }
    }
}

/// Maximum indentation of an entry after the `--`; lines with a deeper indentation continue the previous
/// entry.
const ENTRY_INDENT: usize = 3;

/// A column of a view.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) description: String,
    /// Left out if only the main columns are requested.
    pub(super) is_extra: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum HeaderSection {
    #[default]
    Description,
    Parameters,
    Columns,
    Order,
}

/// Parses the header of `source`.
pub(super) fn parse(source: &str) -> Result<Header, TemplateFault> {
    let mut block = HeaderBlock::default();
    let (mut body_start, mut body_line) = (0, 1);
    for (index, line) in source.split_inclusive('\n').enumerate() {
        let Some(comment) = line.strip_prefix("--") else {
            break;
        };
        block
            .read(index + 1, comment)
            .map_err(|reason| TemplateFault::new(index + 1, reason))?;
        body_start += line.len();
        body_line = index + 2;
    }
    if block.description.is_empty() {
        let reason = "the file must start with a comment (--) that says what it answers";
        return Err(TemplateFault::new(1, reason));
    }
    let (parameters, columns) = split_entries(block.entries)?;
    if columns.is_empty() {
        let reason = "the header has no \"-- Columns:\" with at least one column";
        return Err(TemplateFault::new(body_line, reason));
    }
    Ok(Header {
        description: block.description.join(" "),
        parameters,
        columns,
        order: block.order,
        body_start,
        body_line,
    })
}

/// The part of a header that has been read so far.
#[derive(Default)]
struct HeaderBlock {
    section: HeaderSection,
    description: Vec<String>,
    /// Line, section and text of each entry; the text is parsed at the end.
    entries: Vec<(usize, HeaderSection, String)>,
    order: Option<String>,
}

impl HeaderBlock {
    /// Reads one line without its `--`.
    fn read(&mut self, line: usize, comment: &str) -> Result<(), String> {
        let text = comment.trim();
        let indent = comment.len() - comment.trim_start().len();
        match (text, self.section) {
            ("", _) => {}
            ("Parameters:", HeaderSection::Description) => self.section = HeaderSection::Parameters,
            ("Columns:", HeaderSection::Description | HeaderSection::Parameters) => {
                self.section = HeaderSection::Columns;
            }
            (text, HeaderSection::Columns) if text.starts_with("Order:") => {
                self.section = HeaderSection::Order;
                self.order = text.strip_prefix("Order:").map(|o| o.trim().to_owned());
            }
            (text, HeaderSection::Description) => self.description.push(text.to_owned()),
            (text, HeaderSection::Order) => {
                return Err(format!("nothing may follow Order: {text:?}"));
            }
            (text, section) if indent <= ENTRY_INDENT => {
                self.entries.push((line, section, text.to_owned()));
            }
            (text, section) => match self.entries.last_mut() {
                Some((_, at, entry)) if *at == section => {
                    entry.push(' ');
                    entry.push_str(text);
                }
                _ => {
                    return Err(
                        "this line continues an entry, but there is no entry before it".to_owned(),
                    );
                }
            },
        }
        Ok(())
    }
}

type HeaderEntries = (Vec<ViewParameter>, Vec<Column>);

fn split_entries(
    entries: Vec<(usize, HeaderSection, String)>,
) -> Result<HeaderEntries, TemplateFault> {
    let mut parameters: Vec<ViewParameter> = Vec::new();
    let mut columns: Vec<Column> = Vec::new();
    for (line, section, text) in entries {
        let fault = |reason: String| TemplateFault::new(line, reason);
        let name_end = text.find([' ', ':']).unwrap_or(text.len());
        let (name, rest) = text.split_at(name_end);
        if !is_name(name) {
            return Err(fault(format!(
                "{name:?} is not a name: use a-z, 0-9 and _, a letter first"
            )));
        }
        if section == HeaderSection::Columns {
            if columns.iter().any(|other| other.name == name) {
                return Err(fault(format!("the column {name:?} appears twice")));
            }
            columns.push(column(name, rest).map_err(fault)?);
        } else {
            if parameters.iter().any(|p| p.name == name) {
                return Err(fault(format!("the parameter {name:?} appears twice")));
            }
            parameters.push(parameter(name, rest).map_err(fault)?);
        }
    }
    Ok((parameters, columns))
}

/// Parses `: what it holds` or ` (all): what it holds`.
fn column(name: &str, rest: &str) -> Result<Column, String> {
    let extra = rest.strip_prefix(" (all)");
    let description = extra.unwrap_or(rest).strip_prefix(':').map(str::trim);
    let description = description.filter(|d| !d.is_empty()).ok_or(
        "a column is written \"name: what it holds\", or \"name (all): what it holds\" where it is \
         left out unless all columns are asked for",
    )?;
    Ok(Column {
        name: name.to_owned(),
        description: description.to_owned(),
        is_extra: extra.is_some(),
    })
}

/// Parses ` (type, required|optional|default …): description`.
fn parameter(name: &str, rest: &str) -> Result<ViewParameter, String> {
    let form =
        "a parameter is written \"name (type, required|optional|default VALUE): what it does\"";
    let (details, description) = rest
        .trim()
        .strip_prefix('(')
        .and_then(|r| r.split_once("):"))
        .ok_or(form)?;
    let (value_type, need) = details.split_once(',').ok_or(form)?;
    let value_type = ParameterType::named(value_type.trim()).ok_or_else(|| {
        format!(
            "{:?} is no type: use text, integer, number or boolean",
            value_type.trim()
        )
    })?;
    let (required, default) = match need.trim() {
        "required" => (true, None),
        "optional" => (false, None),
        need => {
            let text = need.strip_prefix("default ").ok_or(form)?;
            let value = serde_json::from_str(text)
                .ok()
                .filter(|v| value_type.admits(v))
                .ok_or_else(|| {
                    format!("the default {text} is not {} in JSON", value_type.wanted())
                })?;
            (false, Some(value))
        }
    };
    let description = description.trim().to_owned();
    if description.is_empty() {
        return Err(form.to_owned());
    }
    Ok(ViewParameter {
        name: name.to_owned(),
        value_type,
        required,
        description,
        default,
    })
}

/// Whether `name` is valid for a view, a parameter or a column.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_every_part() {
        let source = "-- What it\n-- answers.\n-- Parameters:\n--   a (text, required): First.\n--   b (number, default 0.5): Second,\n--     continued.\n-- Columns:\n--   x: The x.\n--   y (all): The y.\n-- Order: x\n\nSELECT 1 AS x, 2 AS y";
        let header = parse(source).unwrap();
        assert_eq!(header.description, "What it answers.");
        assert_eq!(header.order.as_deref(), Some("x"));
        let column = |name: &str, description: &str, is_extra| Column {
            name: name.to_owned(),
            description: description.to_owned(),
            is_extra,
        };
        assert_eq!(
            header.columns,
            [column("x", "The x.", false), column("y", "The y.", true)]
        );
        assert_eq!(source[header.body_start..].trim(), "SELECT 1 AS x, 2 AS y");
        assert_eq!(header.body_line, 11);
        assert_eq!(header.parameters.len(), 2);
        assert!(header.parameters[0].required);
        assert_eq!(header.parameters[1].default, Some(json!(0.5)));
        assert_eq!(header.parameters[1].description, "Second, continued.");
    }

    #[test]
    fn names_line_and_reason_of_a_fault() {
        let cases = [
            ("SELECT 1", 1, "must start with a comment"),
            ("-- Text.\nSELECT 1", 2, "no \"-- Columns:\""),
            ("-- Text.\n-- Columns:\n--   X: y", 3, "\"X\" is not a name"),
            ("-- Text.\n-- Columns:\n--   x", 3, "a column is written"),
            ("-- Text.\n-- Columns:\n--   x: y\n--   x: y", 4, "twice"),
            ("-- Text.\n-- Columns:\n--       x: y", 3, "no entry before"),
            (
                "-- Text.\n-- Columns:\n--   x: y\n-- Order: x\n-- more",
                5,
                "nothing may follow",
            ),
            (
                "-- Text.\n-- Parameters:\n--   a: y\n-- Columns:\n--   x: y",
                3,
                "a parameter is written",
            ),
            (
                "-- Text.\n-- Parameters:\n--   a (date, optional): y",
                3,
                "\"date\" is no type",
            ),
            (
                "-- Text.\n-- Parameters:\n--   a (integer, default x): y",
                3,
                "the default x is not a whole",
            ),
            (
                "-- Text.\n-- Parameters:\n--   a (integer, maybe): y",
                3,
                "a parameter is written",
            ),
        ];
        for (source, line, reason) in cases {
            let fault = parse(source).unwrap_err();
            assert_eq!(fault.line, line, "{source}: {fault:?}");
            assert!(fault.reason.contains(reason), "{source}: {fault:?}");
        }
    }
}
