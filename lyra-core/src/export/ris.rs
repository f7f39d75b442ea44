//! Sources in the RIS format of reference managers.

use super::dates::Date;
use super::keys::read_sources;
use super::people::Name;
use super::sources::{Source, SourceKind};
use super::written::{report_of, unwritten};
use crate::error::Result;
use crate::security::display::is_harmful;
use crate::store::graph::{ExportReport, Part};
use std::io::Write;

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let sources = read_sources(part)?;
    for source in &sources {
        writer
            .write_all(record(source).as_bytes())
            .map_err(unwritten)?;
    }
    Ok(report_of(&[("record", sources.len())]))
}

fn record(source: &Source) -> String {
    let kind = match source.kind() {
        SourceKind::Article => "JOUR",
        SourceKind::Preprint => "UNPB",
        SourceKind::Webpage => "ELEC",
        SourceKind::Document => "GEN",
    };
    let mut tags = vec![
        ("TY", kind.to_owned()),
        ("ID", source.key.clone()),
        ("TI", source.title.clone()),
    ];
    tags.extend(source.authors.iter().map(|name| ("AU", author(name))));
    let journal = source
        .venue
        .clone()
        .filter(|_| source.kind() == SourceKind::Article);
    let arxiv = source.arxiv_id.as_ref().map(|id| format!("arXiv:{id}"));
    let accessed = source.accessed.as_deref().and_then(Date::parse);
    let optional = [
        ("PY", source.year.map(|y| y.to_string())),
        (
            "DA",
            source.issued.filter(|d| d.month.is_some()).map(slashed),
        ),
        ("T2", source.venue.clone()),
        ("JO", journal),
        ("DO", source.doi.clone()),
        ("AN", source.pmid.clone().or(arxiv)),
        ("C2", source.pmcid.clone()),
        ("UR", source.link().map(str::to_owned)),
        ("Y2", accessed.map(slashed)),
    ];
    tags.extend(
        optional
            .into_iter()
            .filter_map(|(tag, value)| Some((tag, value?))),
    );
    tags.extend(source.notes().into_iter().map(|note| ("N1", note)));
    let mut record = String::new();
    for (tag, value) in tags {
        // A value must be a single line.
        let words = value.split(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let value = words.join(" ").replace(is_harmful, "");
        record.push_str(&format!("{tag}  - {value}\r\n"));
    }
    record.push_str("ER  - \r\n\r\n");
    record
}

/// `Last, First, Suffix`. After a name without parts, a comma keeps programs from treating its last
/// word as the family name; if the name already contains a comma, none can be added.
fn author(name: &Name) -> String {
    match (&name.given, name.family.contains(',')) {
        (None, false) => format!("{},", name.family),
        _ => name.inverted(),
    }
}

/// `YYYY/MM/DD/`; unknown parts are empty.
fn slashed(date: Date) -> String {
    let two = |part: Option<i64>| part.map(|n| format!("{n:02}")).unwrap_or_default();
    format!("{:04}/{}/{}/", date.year, two(date.month), two(date.day))
}
