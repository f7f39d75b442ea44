//! Bibliographies supplied with a draft: BibTeX, BibLaTeX, CSL-JSON.

use super::references::{MOST_REFERENCES, ReferenceEntry, not_more};
use crate::error::{Error, Result};
use biblatex::{Bibliography, ChunksExt, Field, RawBibliography, RawChunk, RawEntry};
use serde_json::Value;
use std::collections::HashMap;

/// Maximum size of a bibliography.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Maximum nesting depth of braces.
const DEEPEST: usize = 100;
/// Maximum number of `#` concatenations: `"a" # b`.
const MOST_JOINED: usize = 20_000;
/// Maximum length of a `@string` that is used, in bytes.
const LONGEST_STRING: usize = 1_000;
/// The fields of an entry that are read. Other fields, and what they refer to, are ignored.
const FIELDS: [&str; 6] = ["author", "date", "year", "title", "doi", "url"];

/// The entries of a bibliography in BibTeX, BibLaTeX or CSL-JSON.
pub(super) fn bibliography(text: &str) -> Result<Vec<ReferenceEntry>> {
    check_shape(text)?;
    if text.trim_start().starts_with(['[', '{']) {
        return csl(text);
    }
    let parsed = RawBibliography::parse(text).map_err(|e| {
        Error::invalid(format!("the bibliography is no BibTeX: {e}"))
            .with_hint("give a .bib file, or CSL-JSON as reference managers export it")
    })?;
    let strings = parsed.abbreviations.iter();
    let strings: HashMap<&str, &Field<'_>> =
        strings.map(|pair| (pair.key.v, &pair.value.v)).collect();
    not_more(parsed.entries.len(), MOST_REFERENCES, "references")?;
    let entries = parsed.entries.into_iter();
    Ok(entries.map(|entry| bibtex(entry.v, &strings)).collect())
}

/// Refuses input that would exhaust the stack of a BibTeX parser, or take it too long.
fn check_shape(text: &str) -> Result<()> {
    let (mut depth, mut deepest, mut joined) = (0_usize, 0, 0);
    for byte in text.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'#' if depth <= 1 => joined += 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    for (found, most, what) in [
        (text.len(), MOST_BYTES, "bytes"),
        (deepest, DEEPEST, "levels of nested braces"),
        (joined, MOST_JOINED, "texts joined by #"),
    ] {
        if found > most {
            let message = format!("the bibliography has {found} {what}; at most {most} are read");
            return Err(Error::invalid(message).with_hint("give only the entries that are cited"));
        }
    }
    Ok(())
}

fn bibtex<'b>(raw: RawEntry<'b>, strings: &HashMap<&'b str, &Field<'b>>) -> ReferenceEntry {
    let key = raw.key.v.to_owned();
    let mut fields: HashMap<String, String> = HashMap::new();
    for mut pair in raw.fields {
        let name = pair.key.v.to_ascii_lowercase();
        if !FIELDS.contains(&name.as_str()) {
            continue;
        }
        pair.value.v = with_strings(pair.value.v, strings);
        let written: String = pair.value.v.iter().map(|chunk| letters(&chunk.v)).collect();
        // Fields are formatted one at a time, so that an unreadable command does not affect the others.
        let alone = RawEntry {
            key: raw.key.clone(),
            kind: raw.kind.clone(),
            fields: vec![pair],
        };
        fields.insert(name.clone(), formatted(alone, &name).unwrap_or(written));
    }
    let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
    let year = if field("date").is_empty() {
        "year"
    } else {
        "date"
    };
    let text = format!(
        "{} ({}). {}. {} {}",
        field("author"),
        field(year),
        field("title"),
        field("doi"),
        field("url")
    );
    ReferenceEntry {
        title: fields.get("title").cloned(),
        ..ReferenceEntry::new(Some(key), text.trim().to_owned(), None)
    }
}

/// A value with its `@string`s expanded. Long strings are left out, and so are strings that refer
/// to other strings, because the references may be circular.
fn with_strings<'b>(value: Field<'b>, strings: &HashMap<&'b str, &Field<'b>>) -> Field<'b> {
    let is_short = |chunk: &RawChunk<'_>| match chunk {
        RawChunk::Normal(text) => text.len() <= LONGEST_STRING,
        RawChunk::Abbreviation(_) => false,
    };
    let is_plain = |field: &Field<'_>| field.len() <= 1 && field.iter().all(|c| is_short(&c.v));
    let each = value.into_iter().flat_map(|mut chunk| {
        let RawChunk::Abbreviation(name) = chunk.v else {
            return vec![chunk];
        };
        if let Some(known) = strings.get(name).filter(|field| is_plain(field)) {
            return (*known).clone();
        }
        chunk.v = RawChunk::Normal(name);
        vec![chunk]
    });
    each.collect()
}

fn letters<'b>(chunk: &RawChunk<'b>) -> &'b str {
    match chunk {
        RawChunk::Normal(text) | RawChunk::Abbreviation(text) => text,
    }
}

/// The text of an entry's only field, without LaTeX commands.
fn formatted(entry: RawEntry<'_>, name: &str) -> Option<String> {
    let raw = RawBibliography {
        preamble: String::new(),
        entries: vec![biblatex::Spanned::detached(entry)],
        abbreviations: Vec::new(),
    };
    let read = Bibliography::from_raw(raw).ok()?;
    let entry = read.iter().next()?;
    Some(entry.get(name)?.format_verbatim())
}

fn csl(text: &str) -> Result<Vec<ReferenceEntry>> {
    let parsed: Value = serde_json::from_str(text).map_err(|e| {
        Error::invalid(format!("the bibliography is no CSL-JSON: {e}"))
            .with_hint("expected a list of objects with id, title, author, issued, DOI, URL")
    })?;
    let items = parsed.as_array().or_else(|| parsed["items"].as_array());
    let items = items.ok_or_else(|| Error::invalid("the bibliography is no list of entries"))?;
    Ok(items
        .iter()
        .map(|item| {
            let field = |name: &str| item[name].as_str().unwrap_or_default();
            let authors = item["author"].as_array().into_iter().flatten();
            let authors: Vec<&str> = authors.filter_map(|a| a["family"].as_str()).collect();
            let year = &item["issued"]["date-parts"][0][0];
            let (authors, title) = (authors.join(", "), field("title"));
            let (doi, url) = (field("DOI"), field("URL"));
            let mut made = ReferenceEntry::new(
                Some(field("id").to_owned()),
                format!("{authors} ({year}). {title}. {doi} {url}")
                    .trim()
                    .to_owned(),
                None,
            );
            made.title = Some(title.to_owned()).filter(|title| !title.is_empty());
            made
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorKind;

    fn texts(bibliography: &str) -> Vec<String> {
        let entries = super::bibliography(bibliography).unwrap();
        entries.into_iter().map(|entry| entry.text).collect()
    }

    #[test]
    fn entries_are_read_with_their_letters_and_strings() {
        let text = "@string{who = {M{\\\"u}ller, A.}}\n@article{a, author = who # { and Roe, B.}, \
            title = {{Night} work and sleep}, year = 2019, month = jan, doi = {10.1234/a}}\n\
            @book{b, title = \"Unknown \" # macros, date = {2020-01}, journal = nobody # knows}";
        assert_eq!(
            texts(text),
            [
                "Müller, A. and Roe, B. (2019). Night work and sleep. 10.1234/a",
                "(2020-01). Unknown macros."
            ]
        );
    }

    #[test]
    fn what_refers_to_itself_or_to_much_is_read_as_it_is() {
        assert_eq!(texts("@string{a = a # a}@misc{k, title = a}"), ["(). a."]);
        let chain: String = (0..40)
            .map(|n| format!("@string{{s{} = s{n} # s{n}}}", n + 1))
            .collect();
        assert_eq!(
            texts(&format!(
                "@string{{s0 = {{x}}}}{chain}@misc{{k, title = s40}}"
            )),
            ["(). s40."]
        );
        let linked: String = (0..20)
            .map(|n| {
                format!(
                    "@misc{{k{n}, title = {{t}}, crossref = {{k{}}}}}",
                    (n + 1) % 20
                )
            })
            .collect();
        assert_eq!(texts(&linked).len(), 20);
    }

    #[test]
    fn what_would_exhaust_the_parser_is_refused() {
        let nested = format!("@misc{{k, title = {}{}}}", "{".repeat(500), "}".repeat(500));
        let joined = format!("@misc{{k, title = {} a}}", "a # ".repeat(50_000));
        let many = "@misc{k, title = {a}}".repeat(6_000);
        for text in [nested, joined, many, " ".repeat(5 << 20)] {
            let error = super::bibliography(&text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
    }

    #[test]
    fn no_change_of_a_few_letters_makes_it_panic() {
        let text = "@string{who = {M{\\\"u}ller}}\n@article{a-1, author = who # { and Roe}, title = {A \\emph{b} $c$ \\'e}, \
            year = 2019, url = \"https://x.org/a_b?c=%20\"}\n@comment{x}\n@preamble{y}";
        let letters: Vec<char> = "{}\"\\@#=,$%~^_-é a1\n".chars().collect();
        let mut state = 7_u64;
        let mut next = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let mut changed: Vec<char> = text.chars().collect();
            for _ in 0..=next(4) {
                let at = next(changed.len());
                changed[at] = letters[next(letters.len())];
            }
            let _ = super::bibliography(&changed.into_iter().collect::<String>());
        }
    }
}
