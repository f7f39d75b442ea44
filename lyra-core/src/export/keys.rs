//! Citation keys of sources: `byron1843notes`.

use super::people::Name;
use super::sources::{self, Source};
use crate::error::Result;
use crate::store::graph::Part;
use crate::store::text::url::registrable_domain;
use std::collections::{BTreeMap, HashSet};
use unicode_normalization::UnicodeNormalization;

/// Maximum length of a part of a key, in characters.
const LONGEST: usize = 24;

/// Words that carry no information about a title.
const EMPTY_WORDS: &[&str] = &[
    "about", "after", "among", "between", "does", "from", "have", "into", "over", "than", "that",
    "their", "them", "these", "this", "those", "using", "what", "when", "where", "which", "will",
    "with", "your",
];

/// Resolvers and catalogues, whose names carry no information about a source.
const RESOLVERS: &[&str] = &["doi.org", "nih.gov", "handle.net", "openalex.org"];

/// The sources that were read or gave evidence, by id: publications first. Sources that are only
/// cited are left out.
pub(super) fn read_sources(part: &Part<'_>) -> Result<Vec<Source>> {
    let mut found = sources::sources(part)?;
    found.retain(|source| source.was_read);
    give_keys(&mut found);
    Ok(found)
}

/// All sources of the part, including those known only by name, by id: publications first.
pub(super) fn all_sources(part: &Part<'_>) -> Result<Vec<Source>> {
    let mut found = sources::sources(part)?;
    give_keys(&mut found);
    Ok(found)
}

/// Gives each source a unique key.
fn give_keys(sources: &mut [Source]) {
    let mut taken: HashSet<String> = HashSet::new();
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources {
        let base = base_key(source);
        let mut key = base.clone();
        while !taken.insert(key.clone()) {
            let n = next.entry(base.clone()).or_insert(1);
            *n += 1;
            key = format!("{base}-{n}");
        }
        source.key = key;
    }
}

/// Author (or the site), year and a word of the title: only ASCII letters and digits, because every
/// program accepts these, starting with a letter.
fn base_key(source: &Source) -> String {
    let author = source.authors.first().map(author_part).unwrap_or_default();
    let who = if author.is_empty() {
        place(source)
    } else {
        author
    };
    let year = source.issued.map(|date| date.year.to_string());
    // A file without a title has its name as title.
    let is_titled = source.file_name().as_ref() != Some(&source.title);
    let word = is_titled.then(|| title_word(&source.title)).flatten();
    let mut key: String = [Some(who), year, word].into_iter().flatten().collect();
    if !key.starts_with(|c: char| c.is_ascii_alphabetic()) {
        key.insert_str(0, "source");
    }
    key
}

/// `vanderberg`; for an organisation its acronym, otherwise its initials.
fn author_part(name: &Name) -> String {
    let family = name.full_family();
    let words: Vec<&str> = family.split(' ').collect();
    if name.given.is_some() || words.len() < 3 {
        return ascii(&family);
    }
    let is_acronym = |w: &&&str| w.len() >= 3 && w.bytes().all(|b| b.is_ascii_uppercase());
    if let Some(acronym) = words.iter().find(is_acronym) {
        return ascii(acronym);
    }
    let first_letters = words.iter().filter_map(|word| word.chars().next());
    ascii(
        &first_letters
            .filter(|c| c.is_uppercase())
            .collect::<String>(),
    )
}

/// The name of the site, or of the file.
fn place(source: &Source) -> String {
    if let Some(domain) = source.link().and_then(registrable_domain)
        && !RESOLVERS.contains(&domain.as_str())
    {
        return ascii(domain.split('.').next().unwrap_or_default());
    }
    let file = source.file_name().unwrap_or_default();
    ascii(file.split('.').next().unwrap_or_default())
}

/// The first informative word of the title. Markup and addresses are skipped.
fn title_word(title: &str) -> Option<String> {
    let mut text = String::with_capacity(title.len());
    let mut in_tag = false;
    let mut letters = title.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '<' if letters
                .peek()
                .is_some_and(|next| next.is_ascii_alphabetic() || *next == '/') =>
            {
                in_tag = true;
                text.push(' ');
            }
            '>' if in_tag => in_tag = false,
            _ if in_tag => {}
            _ => text.push(c),
        }
    }
    let words = text
        .split(|c: char| c.is_whitespace() || matches!(c, '—' | '–'))
        .filter(|word| !word.contains("://") && !word.starts_with("10."));
    words.map(ascii).find(|word| {
        word.len() > 3
            && word.bytes().any(|b| b.is_ascii_alphabetic())
            && !EMPTY_WORDS.contains(&word.as_str())
    })
}

fn ascii(text: &str) -> String {
    let plain = text.nfkd().filter(char::is_ascii_alphanumeric);
    plain
        .map(|c| c.to_ascii_lowercase())
        .take(LONGEST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::dates::Date;
    use super::*;

    #[test]
    fn keys_say_who_when_and_what() {
        // Author, year, title, address, key.
        for (author, year, title, url, key) in [
            ("Ada Byron", 1843, "Notes on it", "", "byron1843notes"),
            ("Jan van der Berg", 2020, "A walk", "", "vanderberg2020walk"),
            ("Jan van der Berg", 0, "", "", "vanderberg"),
            ("Zoë Müller", 2020, "", "", "muller2020"),
            (
                "World Health Organization",
                2021,
                "This Guideline",
                "",
                "who2021guideline",
            ),
            ("RECOVERY Collaborative Group", 2021, "", "", "recovery2021"),
            ("", 2022, "", "https://www.who.int/a", "who2022"),
            ("", 2022, "", "", "source2022"),
            ("", 0, "", "", "source"),
            ("", 2022, "3000 steps", "", "source2022steps"),
            (
                "Иван Петров",
                2020,
                "Сон",
                "https://journal.example.org/1",
                "example2020",
            ),
            ("山田太郎", 2020, "血糖値", "", "source2020"),
            (
                "Ada Byron",
                2020,
                "<script>x</script> Sleep",
                "",
                "byron2020sleep",
            ),
            (
                "Ada Byron",
                2020,
                "p < 0.05 matters",
                "",
                "byron2020matters",
            ),
            (
                "",
                0,
                "https://doi.org/10.7326/a",
                "https://doi.org/10.7326/a",
                "source",
            ),
            ("", 0, "", "file:///home/me/sleep%20notes.md", "sleepnotes"),
        ] {
            let mut sources = [Source {
                title: title.to_owned(),
                authors: (!author.is_empty())
                    .then(|| Name::parse(author))
                    .into_iter()
                    .collect(),
                issued: Date::of_year(year),
                url: (!url.is_empty()).then(|| url.to_owned()),
                ..Source::default()
            }];
            give_keys(&mut sources);
            assert_eq!(sources[0].key, key, "{author} {year} {title} {url}");
        }
    }

    #[test]
    fn no_two_sources_have_one_key() {
        let mut sources = vec![Source::default(); 3];
        give_keys(&mut sources);
        let keys: Vec<&str> = sources.iter().map(|s| s.key.as_str()).collect();
        assert_eq!(keys, ["source", "source-2", "source-3"]);
    }
}
