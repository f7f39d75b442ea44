//! Sources as BibTeX entries.

use super::part::Part;
use super::sources::{Source, sources};
use super::{report_of, unwritten};
use crate::error::Result;
use crate::graph::ExportReport;
use std::io::Write;

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let sources = sources(part)?;
    for source in &sources {
        writer
            .write_all(entry(source).as_bytes())
            .map_err(unwritten)?;
    }
    Ok(report_of(&[("entry", sources.len())]))
}

fn entry(source: &Source) -> String {
    let kind = match (source.is_publication, &source.venue) {
        (true, Some(_)) => "article",
        _ => "misc",
    };
    let authors: Vec<String> = source
        .authors
        .iter()
        // In braces, a name is taken whole, whatever words are in it.
        .map(|name| match name.given {
            Some(_) => escaped(&name.inverted()),
            None => format!("{{{}}}", escaped(&name.family)),
        })
        .collect();
    let authors = (!authors.is_empty()).then(|| authors.join(" and "));
    let note = source.is_retracted.then(|| "RETRACTED".to_owned());
    let visited = source
        .accessed
        .as_deref()
        .map(|when| format!("read {}", day(when)));
    // A second pair of braces keeps the capitals of a title.
    let fields = [
        ("title", Some(format!("{{{}}}", escaped(&source.title)))),
        ("author", authors),
        ("journal", source.venue.as_deref().map(escaped)),
        ("year", source.year.map(|y| y.to_string())),
        ("doi", source.doi.as_deref().map(escaped)),
        ("url", source.url.as_deref().map(address)),
        ("note", note.or(visited)),
    ];
    let mut entry = format!("@{kind}{{{},\n", source.key);
    for (name, value) in fields {
        if let Some(value) = value {
            entry.push_str(&format!("  {name} = {{{value}}},\n"));
        }
    }
    entry.push_str("}\n\n");
    entry
}

/// The day of a time stamp.
pub(super) fn day(stamp: &str) -> &str {
    stamp.get(..10).unwrap_or(stamp)
}

/// Text in which nothing is a command.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("{\\textbackslash}"),
            // Braces must balance even where they are escaped.
            '{' => escaped.push_str("{\\textbraceleft}"),
            '}' => escaped.push_str("{\\textbraceright}"),
            '~' => escaped.push_str("{\\textasciitilde}"),
            '^' => escaped.push_str("{\\textasciicircum}"),
            '&' | '%' | '$' | '#' | '_' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// An address stays as it is, save what would end the field.
fn address(url: &str) -> String {
    url.replace('{', "%7B")
        .replace('}', "%7D")
        .replace('\\', "%5C")
}
