//! Sources in the RIS format of reference managers.

use super::bibtex::day;
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
            .write_all(record(source).as_bytes())
            .map_err(unwritten)?;
    }
    Ok(report_of(&[("record", sources.len())]))
}

fn record(source: &Source) -> String {
    let kind = match (source.is_publication, &source.venue) {
        (true, Some(_)) => "JOUR",
        (true, None) => "GEN",
        (false, _) => "ELEC",
    };
    let mut tags = vec![
        ("TY", kind.to_owned()),
        ("ID", source.key.clone()),
        ("TI", source.title.clone()),
    ];
    tags.extend(source.authors.iter().map(|name| ("AU", name.inverted())));
    let date = source
        .published
        .as_deref()
        .map(|date| date.replace('-', "/"));
    let optional = [
        ("PY", source.year.map(|y| y.to_string())),
        ("DA", date),
        ("JO", source.venue.clone()),
        ("DO", source.doi.clone()),
        ("UR", source.url.clone()),
        (
            "Y2",
            source
                .accessed
                .as_deref()
                .map(|when| day(when).replace('-', "/")),
        ),
        ("N1", source.is_retracted.then(|| "RETRACTED".to_owned())),
    ];
    tags.extend(
        optional
            .into_iter()
            .filter_map(|(tag, value)| Some((tag, value?))),
    );
    let mut record = String::new();
    for (tag, value) in tags {
        // A value is one line.
        let words = value.split(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let value = words.join(" ");
        record.push_str(&format!("{tag}  - {value}\r\n"));
    }
    record.push_str("ER  - \r\n\r\n");
    record
}
