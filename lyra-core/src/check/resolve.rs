//! Finds the source of the graph that a citation refers to.

use super::citations::CitationTarget;
use super::references::ReferenceEntry;
use crate::error::Result;
use crate::research::pipeline::Retractions;
use crate::store::graph::{CitableSource, Reader};
use crate::store::text::identifiers::{
    Identifiers, author_surname, find_identifiers, normalize_doi, title_normalize,
};
use crate::store::text::url::normalize_url;
use regex::Regex;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The prefix that publishers put before the title of a retracted work. Citations leave it out.
static RETRACTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W*(?:retracted|withdrawn)(?: (?:article|paper|chapter))?\s*[\]):.–—-]\W*")
        .expect("the pattern is sound")
});

/// Minimum length of a title, in letters: shorter ones also match unrelated texts.
const SHORTEST_TITLE: usize = 12;
/// Share of a title's words that an entry must contain to be about that work.
const OF_TITLE: f64 = 0.8;
/// An entry with a smaller share of the title of its DOI's work is about another work.
const OF_OTHER: f64 = 0.5;
/// Entries with fewer words contain no title.
const FEWEST_WORDS: usize = 5;
/// The same if one of the words is the author's name.
const FEWEST_WORDS_WITH_AUTHOR: usize = 10;
/// Minimum number of words before the colon of a title that distinguish it from others.
const FEWEST_OF_MAIN_TITLE: usize = 6;

/// How a citation was resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Resolved {
    /// Indexes into [`Sources::all`], best first; copies and versions of one work are adjacent.
    pub(super) sources: Vec<usize>,
    /// Whether they are different works.
    pub(super) is_ambiguous: bool,
}

/// How an entry differs from its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryFault {
    /// Its DOI belongs to a work with another title.
    Title(usize),
    /// The work has another DOI.
    Doi(usize),
    /// The work appeared in another year.
    Year(usize, i64),
}

/// The sources of the graph, indexed by what a draft may say about them.
pub(super) struct Sources {
    pub(super) all: Vec<CitableSource>,
    titles: Vec<String>,
    /// The titles up to a colon; empty if that is too short to tell works apart.
    main_titles: Vec<String>,
    by_id: HashMap<String, Vec<usize>>,
    by_url: HashMap<String, usize>,
    by_file: HashMap<String, Vec<usize>>,
    by_author_year: HashMap<(String, i64), Vec<usize>>,
    /// Rare words of titles, to limit the number of titles that an entry is compared with.
    by_word: HashMap<String, Vec<usize>>,
    by_page: HashMap<String, usize>,
    /// The fragments of a task, if only its sources count.
    pub(super) members: Option<HashSet<String>>,
}

impl Sources {
    /// Reads the sources of the graph, or only those of a task.
    pub(super) fn read(
        reader: &Reader<'_>,
        task_id: Option<&str>,
        retractions: Option<&Retractions>,
    ) -> Result<Self> {
        let mut all = reader.citable_sources()?;
        // The graph may be older than the list of retractions.
        for source in all.iter_mut().filter(|source| !source.is_retracted) {
            let is_marked = source
                .title
                .as_deref()
                .is_some_and(|t| RETRACTED.is_match(t));
            source.is_retracted = is_marked || retractions.is_some_and(|list| is_on(list, source));
        }
        let Some(task_id) = task_id else {
            return Ok(Self::of(all));
        };
        reader.task(task_id)?;
        let mut kept = Vec::new();
        for source in all {
            if reader.is_task_page(task_id, &source.page_id)? {
                kept.push(source);
            }
        }
        Ok(Self {
            members: Some(reader.task_fragments(task_id)?),
            ..Self::of(kept)
        })
    }

    fn of(all: Vec<CitableSource>) -> Self {
        let mut sources = Self {
            all,
            titles: Vec::new(),
            main_titles: Vec::new(),
            by_id: HashMap::new(),
            by_url: HashMap::new(),
            by_file: HashMap::new(),
            by_author_year: HashMap::new(),
            by_word: HashMap::new(),
            by_page: HashMap::new(),
            members: None,
        };
        for at in 0..sources.all.len() {
            sources.index(at);
        }
        sources
    }

    /// The index of a page.
    pub(super) fn place(&self, page_id: &str) -> Option<usize> {
        self.by_page.get(page_id).copied()
    }

    fn index(&mut self, at: usize) {
        let source = &self.all[at];
        let printed = source.title.as_deref().unwrap_or_default();
        let printed = RETRACTED.replace(printed, "");
        let title = title_normalize(&printed);
        let main = printed
            .split_once(':')
            .map(|(main, _)| title_normalize(main));
        self.by_page.insert(source.page_id.clone(), at);
        let mut ids: HashSet<String> = source.work_id.iter().cloned().collect();
        ids.extend(
            source
                .doi
                .as_deref()
                .and_then(normalize_doi)
                .map(|doi| format!("doi:{doi}")),
        );
        ids.extend(find_identifiers(&source.url).canonical_id());
        for id in ids {
            self.by_id.entry(id).or_default().push(at);
        }
        let url = normalize_url(&source.url).unwrap_or_else(|_| source.url.clone());
        // A link to a file of records cites all of them.
        let whole = source.url.split('#').next().unwrap_or_default();
        if let Some((_, file)) = whole.rsplit_once('/').filter(|(_, file)| !file.is_empty()) {
            self.by_file
                .entry(file.to_lowercase())
                .or_default()
                .push(at);
        }
        self.by_url.insert(url, at);
        let surname = source.authors.first().and_then(|name| author_surname(name));
        if let Some((surname, year)) = surname.zip(source.year) {
            self.by_author_year
                .entry((surname, year))
                .or_default()
                .push(at);
        }
        if title.chars().count() >= SHORTEST_TITLE {
            for word in words(&title) {
                self.by_word.entry(word.to_owned()).or_default().push(at);
            }
        }
        let is_telling = |main: &String| words(main).count() >= FEWEST_OF_MAIN_TITLE;
        self.main_titles
            .push(main.filter(is_telling).unwrap_or_default());
        self.titles.push(title);
    }

    /// Resolves a citation that is not an entry of the list.
    pub(super) fn target(&self, target: &CitationTarget) -> Resolved {
        match target {
            CitationTarget::Label(_) => Resolved::default(),
            CitationTarget::AuthorYear(who, year, _) => {
                let surname = author_surname(who).unwrap_or_default();
                let found = self.by_author_year.get(&(surname, *year));
                self.resolved(found.cloned().unwrap_or_default())
            }
            CitationTarget::Address(address) => self.address(address),
        }
    }

    fn address(&self, address: &str) -> Resolved {
        let by_id = self.identifiers(&find_identifiers(address));
        if !by_id.sources.is_empty() {
            return by_id;
        }
        let plain = address.split('#').next().unwrap_or(address);
        let url = normalize_url(plain).unwrap_or_else(|_| plain.to_owned());
        if let Some(at) = self.by_url.get(&url) {
            return self.resolved(vec![*at]);
        }
        if plain.contains("://") {
            return Resolved::default();
        }
        // A path relative to the draft.
        let file = plain
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or(plain)
            .to_lowercase();
        let found = self.by_file.get(&file).cloned().unwrap_or_default();
        self.of_file(found, address.split_once('#').map(|(_, record)| record))
    }

    /// The first file that a text names. Bibliographies, such as those that Lyra exports, name a file
    /// without a title by its name.
    fn file_in(&self, text: &str) -> Resolved {
        let words = text.split_whitespace();
        let mut names = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let is_file = |at: &usize| self.all[*at].url.starts_with("file:");
        let of_file = |name: &str| self.by_file.get(&name.to_lowercase());
        let named = names.find(|name| {
            name.contains('.') && of_file(name).is_some_and(|all| all.iter().all(is_file))
        });
        named.map_or_else(Resolved::default, |name| self.address(name))
    }

    /// One record of a file, or all of them.
    fn of_file(&self, found: Vec<usize>, record: Option<&str>) -> Resolved {
        let parts = |at: &usize| self.all[*at].url.split_once('#');
        let named = found.iter().find(|at| {
            let own = parts(at).map(|(_, own)| own);
            own.is_some() && own == record
        });
        if let Some(at) = named {
            return self.resolved(vec![*at]);
        }
        let files: HashSet<Option<&str>> = found
            .iter()
            .map(|at| parts(at).map(|(file, _)| file))
            .collect();
        let is_one_file = files.len() == 1 && !files.contains(&None);
        let resolved = self.resolved(found);
        Resolved {
            is_ambiguous: resolved.is_ambiguous && !is_one_file,
            ..resolved
        }
    }

    fn identifiers(&self, ids: &Identifiers) -> Resolved {
        let names = [
            ("doi", &ids.doi),
            ("pmid", &ids.pmid),
            ("pmcid", &ids.pmcid),
            ("arxiv", &ids.arxiv_id),
            ("openalex", &ids.openalex_id),
            ("s2", &ids.s2_id),
        ];
        let found = names
            .into_iter()
            .find_map(|(kind, id)| self.by_id.get(&format!("{kind}:{}", id.as_ref()?)));
        self.resolved(found.cloned().unwrap_or_default())
    }

    /// The source of an entry: by its identifiers, otherwise by its addresses, otherwise by its title.
    pub(super) fn entry(&self, entry: &ReferenceEntry) -> (Resolved, Vec<EntryFault>) {
        let mut found = self.identifiers(&entry.ids);
        for url in &entry.urls {
            if found.sources.is_empty() {
                found = self.address(url);
            }
        }
        let by_identifier = !found.sources.is_empty();
        let titled = self.by_title(entry);
        let is_named = titled.iter().any(|at| {
            found
                .sources
                .iter()
                .any(|known| self.work(*known) == self.work(*at))
        });
        if by_identifier && !titled.is_empty() && !is_named {
            // The author more likely read the work with this title than the one with this identifier.
            let fault = found.sources.first().map(|at| EntryFault::Title(*at));
            return (self.resolved(titled), fault.into_iter().collect());
        }
        if !by_identifier {
            found = self.resolved(titled);
        }
        let Some(first) = found.sources.first() else {
            return (self.file_in(&entry.text), Vec::new());
        };
        let faults = self.faults(entry, *first, by_identifier);
        (found, faults)
    }

    fn faults(&self, entry: &ReferenceEntry, at: usize, by_identifier: bool) -> Vec<EntryFault> {
        let mut faults = Vec::new();
        let prose = title_normalize(&entry.prose());
        let named = words(&prose).count();
        let title = &self.titles[at];
        let author = self.all[at]
            .authors
            .first()
            .and_then(|name| author_surname(name));
        // "Roe et al. 2019, the NIGHT trial" is too short to contain a title.
        let fewest = match author.is_some_and(|author| holds(&prose, &author)) {
            true => FEWEST_WORDS_WITH_AUTHOR,
            false => FEWEST_WORDS,
        };
        if by_identifier
            && named >= fewest
            && title.chars().count() >= SHORTEST_TITLE
            && share(title, &prose) < OF_OTHER
        {
            faults.push(EntryFault::Title(at));
        } else if !by_identifier && entry.ids.doi.is_some() && self.all[at].doi.is_some() {
            faults.push(EntryFault::Doi(at));
        } else if let Some(year) = self.all[at].year
            && !entry.years.is_empty()
            && !entry.years.contains(&year)
        {
            faults.push(EntryFault::Year(at, year));
        }
        faults
    }

    /// The works whose titles an entry contains.
    fn by_title(&self, entry: &ReferenceEntry) -> Vec<usize> {
        let text = entry.title.clone().unwrap_or_else(|| entry.prose());
        let prose = title_normalize(&text);
        let mut candidates: HashMap<usize, usize> = HashMap::new();
        for word in words(&prose).collect::<HashSet<_>>() {
            for at in self.by_word.get(word).into_iter().flatten() {
                *candidates.entry(*at).or_default() += 1;
            }
        }
        let mut found: Vec<(f64, usize)> = Vec::new();
        for at in candidates.into_keys() {
            let main = &self.main_titles[at];
            let score = match !main.is_empty() && holds(&prose, main) {
                true => 1.0,
                false => share(&self.titles[at], &prose),
            };
            if score >= OF_TITLE {
                found.push((score, at));
            }
        }
        // If one title is part of another, the longer one is meant.
        let length = |at: usize| self.titles[at].len();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(length(b.1).cmp(&length(a.1))));
        let best = found.first().copied();
        let same = found.into_iter().filter(|(score, at)| {
            best.is_some_and(|(top, first)| *score >= top && length(*at) >= length(first))
        });
        same.map(|(_, at)| at).collect()
    }

    /// Adds the other pages of the same works; those with a text come first.
    fn resolved(&self, found: Vec<usize>) -> Resolved {
        let works: HashSet<&str> = found.iter().map(|at| self.work(*at)).collect();
        let mut sources = found.clone();
        for at in &found {
            let id = self.all[*at].work_id.as_ref();
            let others = id.and_then(|id| self.by_id.get(id)).into_iter().flatten();
            for other in others {
                if !sources.contains(other) {
                    sources.push(*other);
                }
            }
        }
        sources.sort_by_key(|at| self.all[*at].version.is_none());
        Resolved {
            is_ambiguous: works.len() > 1,
            sources,
        }
    }

    /// The key that makes two pages one source.
    pub(super) fn work(&self, at: usize) -> &str {
        let source = &self.all[at];
        if let Some(work) = &source.work_id {
            return work;
        }
        // A copy counts as its original, which may be a publication.
        let original = source.copy_of.as_deref().and_then(|page| self.place(page));
        let original = original.map_or(source, |at| &self.all[at]);
        original.work_id.as_ref().unwrap_or(&original.page_id)
    }
}

fn is_on(list: &Retractions, source: &CitableSource) -> bool {
    let id = source.work_id.as_deref().and_then(|id| id.split_once(':'));
    let pmid = id.and_then(|(kind, id)| (kind == "pmid").then_some(id));
    let doi = source.doi.as_deref().and_then(normalize_doi);
    list.holds(doi.as_deref(), pmid)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|word| !word.is_empty())
}

/// Whether a text contains these words in this order.
fn holds(text: &str, words: &str) -> bool {
    format!(" {text} ").contains(&format!(" {words} "))
}

/// The share of the title's words that the text contains; 1 only if it contains the whole title.
fn share(title: &str, text: &str) -> f64 {
    if holds(text, title) {
        return 1.0;
    }
    let held: HashSet<&str> = words(text).collect();
    let (mut all, mut there) = (0.0, 0.0);
    for word in words(title).filter(|word| word.len() > 3) {
        all += 1.0;
        there += f64::from(u8::from(held.contains(word)));
    }
    // An exact match beats words that only occur.
    if all == 0.0 { 0.0 } else { 0.99 * there / all }
}
