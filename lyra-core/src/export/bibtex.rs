//! Sources as BibTeX entries.

use super::keys::read_sources;
use super::people::Name;
use super::sources::{Source, SourceKind};
use super::written::{report_of, unwritten};
use crate::error::Result;
use crate::security::display::is_harmful;
use crate::store::graph::{ExportReport, Part};
use std::io::Write;

/// Month names that every style defines; they are written without braces.
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let sources = read_sources(part)?;
    for source in &sources {
        writer
            .write_all(entry(source).as_bytes())
            .map_err(unwritten)?;
    }
    Ok(report_of(&[("entry", sources.len())]))
}

fn entry(source: &Source) -> String {
    let is_article = source.kind() == SourceKind::Article;
    let authors: Vec<String> = source.authors.iter().map(author).collect();
    let venue = source.venue.as_deref().map(escaped);
    let (journal, howpublished) = match is_article {
        true => (venue, None),
        false => (None, venue),
    };
    let read = source.accessed.as_deref().map(day);
    let mut notes = source.notes();
    notes.extend(read.map(|day| format!("read {day}")));
    // The repository of the text itself is preferred to the catalogue that lists it.
    let eprint = match (&source.arxiv_id, &source.pmid) {
        (Some(id), _) => Some((id, "arxiv")),
        (None, id) => id.as_ref().map(|id| (id, "pubmed")),
    };
    // A second pair of braces preserves the capitals of a title.
    let fields = [
        ("title", Some(format!("{{{}}}", escaped(&source.title)))),
        (
            "author",
            (!authors.is_empty()).then(|| authors.join(" and ")),
        ),
        ("journal", journal),
        ("howpublished", howpublished),
        ("year", source.year.map(|y| y.to_string())),
        ("doi", source.doi.as_deref().map(escaped)),
        ("eprint", eprint.map(|(id, _)| escaped(id))),
        ("eprinttype", eprint.map(|(_, kind)| kind.to_owned())),
        ("pmid", source.pmid.as_deref().map(escaped)),
        ("pmcid", source.pmcid.as_deref().map(escaped)),
        ("url", source.link().map(address)),
        (
            "note",
            (!notes.is_empty()).then(|| escaped(&notes.join("; "))),
        ),
    ];
    let kind = if is_article { "article" } else { "misc" };
    let mut entry = format!("@{kind}{{{},\n", source.key);
    for (name, value) in fields {
        if let Some(value) = value {
            entry.push_str(&format!("  {name} = {{{value}}},\n"));
        }
    }
    let month = source.issued.and_then(|date| date.month);
    let month = month.and_then(|month| MONTHS.get(usize::try_from(month - 1).ok()?));
    if let Some(month) = month {
        entry.push_str(&format!("  month = {month},\n"));
    }
    entry.push_str("}\n\n");
    entry
}

/// A name in BibTeX's form: `von Last, Jr., First`. A name without parts is enclosed in braces, so
/// that no word in it (`and`) has a special meaning.
fn author(name: &Name) -> String {
    let family = escaped(&name.family);
    let Some(given) = &name.given else {
        return format!("{{{family}}}");
    };
    let mut author = String::new();
    if let Some(particle) = &name.particle {
        author.push_str(&escaped(particle));
        author.push(' ');
    }
    // Words in lower case would be read as particles.
    let has_lower_case = name
        .family
        .split(' ')
        .any(|w| w.starts_with(char::is_lowercase));
    match has_lower_case && name.family.contains(' ') {
        true => author.push_str(&format!("{{{family}}}")),
        false => author.push_str(&family),
    }
    for part in [&name.suffix, &Some(given.clone())].into_iter().flatten() {
        author.push_str(", ");
        author.push_str(&escaped(part));
    }
    author
}

/// The day of a time stamp.
pub(super) fn day(stamp: &str) -> &str {
    stamp.get(..10).unwrap_or(stamp)
}

/// Escapes text so that nothing in it is a command.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("{\\textbackslash}"),
            // Braces must balance even if they are escaped.
            '{' => escaped.push_str("{\\textbraceleft}"),
            '}' => escaped.push_str("{\\textbraceright}"),
            '~' => escaped.push_str("{\\textasciitilde}"),
            '^' => escaped.push_str("{\\textasciicircum}"),
            '&' | '%' | '$' | '#' | '_' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => escaped.push(' '),
            c if is_harmful(c) => {}
            c => escaped.push(c),
        }
    }
    escaped
}

/// An address is written unchanged, except for characters that would end the field.
fn address(url: &str) -> String {
    url.replace('{', "%7B")
        .replace('}', "%7D")
        .replace('\\', "%5C")
        .replace(is_harmful, "")
}
