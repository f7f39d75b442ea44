//! The sources of a part of the graph, each once: publications, and pages that are none.

use super::part::Part;
use crate::error::Result;
use std::collections::{BTreeMap, HashMap, HashSet};
use unicode_normalization::UnicodeNormalization;

/// A publication, or a page without one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Source {
    /// `works.canonical_id`, or `pages.id`.
    pub(super) id: String,
    /// A key that no other source has: author, year, word of the title.
    pub(super) key: String,
    pub(super) is_publication: bool,
    pub(super) title: String,
    pub(super) authors: Vec<Name>,
    pub(super) year: Option<i64>,
    /// As the provider gave it: a year, a month or a day (ISO 8601).
    pub(super) published: Option<String>,
    pub(super) venue: Option<String>,
    pub(super) doi: Option<String>,
    pub(super) url: Option<String>,
    pub(super) is_retracted: bool,
    /// When the page was read.
    pub(super) accessed: Option<String>,
}

/// A name in parts, where it has parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) family: String,
    pub(super) given: Option<String>,
}

impl Name {
    /// `Byron, Ada` and `Ada Byron` have parts; `WHO` and `山田太郎` are taken whole.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts = match text.split_once(',') {
            Some((family, given)) => Some((family.trim(), given.trim())),
            None => text.rsplit_once(' ').map(|(given, family)| (family, given)),
        };
        match parts {
            Some((family, given)) if !family.is_empty() && !given.is_empty() => Self {
                family: family.to_owned(),
                given: Some(given.to_owned()),
            },
            _ => Self {
                family: text,
                given: None,
            },
        }
    }

    /// `Byron, Ada`.
    pub(super) fn inverted(&self) -> String {
        match &self.given {
            Some(given) => format!("{}, {given}", self.family),
            None => self.family.clone(),
        }
    }
}

/// All sources of the part, by id: publications first.
pub(super) fn sources(part: &Part<'_>) -> Result<Vec<Source>> {
    let mut authors: HashMap<String, Vec<Name>> = HashMap::new();
    part.each(
        "SELECT canonical_id, name FROM work_authors WHERE canonical_id {works} ORDER BY canonical_id, position",
        |row| {
            use crate::error::SqliteResultExt;
            let name: String = row.get(1).db()?;
            authors.entry(row.get(0).db()?).or_default().push(Name::parse(&name));
            Ok(())
        },
    )?;
    let mut found = part.list(
        "SELECT w.canonical_id, w.title, w.year, w.published_date, w.venue, w.doi, w.is_retracted,
           (SELECT p.url FROM pages p WHERE p.canonical_id = w.canonical_id ORDER BY p.id LIMIT 1)
         FROM works w WHERE w.canonical_id {works} ORDER BY w.canonical_id",
        |row| {
            let id: String = row.get(0)?;
            let title: Option<String> = row.get(1)?;
            Ok(Source {
                key: String::new(),
                is_publication: true,
                title: title.unwrap_or_else(|| id.clone()),
                authors: authors.remove(&id).unwrap_or_default(),
                year: row.get(2)?,
                published: row.get(3)?,
                venue: row.get(4)?,
                doi: row.get(5)?,
                is_retracted: row.get(6)?,
                url: row.get(7)?,
                accessed: None,
                id,
            })
        },
    )?;
    found.extend(part.list(
        "SELECT id, title, url, fetched_at FROM pages
         WHERE canonical_id IS NULL AND id {pages} ORDER BY id",
        |row| {
            let url: String = row.get(2)?;
            let title: Option<String> = row.get(1)?;
            Ok(Source {
                id: row.get(0)?,
                key: String::new(),
                is_publication: false,
                title: title.unwrap_or_else(|| url.clone()),
                authors: Vec::new(),
                year: None,
                published: None,
                venue: None,
                doi: None,
                url: Some(url),
                is_retracted: false,
                accessed: row.get(3)?,
            })
        },
    )?);
    give_keys(&mut found);
    Ok(found)
}

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

/// `byron1843notes`: letters and digits of ASCII only, because that is what every program takes.
fn base_key(source: &Source) -> String {
    let author = source.authors.first().map(|name| ascii(&name.family));
    let word = source
        .title
        .split_whitespace()
        .map(ascii)
        .find(|w| w.len() > 3);
    let year = source.year.map(|y| y.to_string());
    let key: String = [author, year, word].into_iter().flatten().collect();
    if key.is_empty() {
        "source".to_owned()
    } else {
        key
    }
}

fn ascii(text: &str) -> String {
    let plain = text.nfkd().filter(char::is_ascii_alphanumeric);
    plain.map(|c| c.to_ascii_lowercase()).take(24).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts_where_they_have_parts() {
        for (text, family, given) in [
            ("Ada Byron", "Byron", Some("Ada")),
            ("Byron,  Ada King", "Byron", Some("Ada King")),
            ("Ludwig van  Beethoven", "Beethoven", Some("Ludwig van")),
            ("WHO", "WHO", None),
            ("山田太郎", "山田太郎", None),
            ("Byron, ", "Byron,", None),
        ] {
            let name = Name::parse(text);
            assert_eq!(
                (name.family.as_str(), name.given.as_deref()),
                (family, given),
                "{text}"
            );
        }
    }
}
