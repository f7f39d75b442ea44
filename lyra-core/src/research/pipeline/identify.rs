//! Merges hits so that each document has one entry, however many providers and queries found it.
//!
//! Two hits are one work if they share an identifier or an address, or otherwise if title, first
//! author and year agree and nothing contradicts it. A preprint and its publication are two works
//! that refer to each other. The result depends on what was found, not on the order of the answers.

use crate::ports::{SearchHit, WorkFacts, WorkId};
use crate::store::text::identifiers::{author_surname, title_key, title_normalize};
use crate::store::text::url::normalize_url;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum number of years between a preprint and its publication.
const VERSION_YEARS: i64 = 3;

/// A hit and the provider that found it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Identified {
    /// The hit's address is the key of the page.
    pub(super) hit: SearchHit,
    /// The address as given by the provider, used for requests.
    pub(super) address: String,
    pub(super) engine: String,
    /// The index of the query, and of the provider among those that were asked.
    pub(super) place: (usize, usize),
    /// The provider of each record merged into this one, starting with its own.
    pub(super) found_by: Vec<String>,
}

impl Identified {
    /// A document of which only the DOI is known.
    pub(super) fn doi(doi: &str) -> Self {
        let mut hit = SearchHit {
            url: format!("https://doi.org/{doi}"),
            rank: 1,
            ..SearchHit::default()
        };
        hit.meta.doi = Some(doi.to_owned());
        Self {
            address: hit.url.clone(),
            hit,
            engine: "doi".to_owned(),
            place: (0, 0),
            found_by: vec!["doi".to_owned()],
        }
    }

    /// The strongest identifier, otherwise a key of title, author and year; `None` for a bare address.
    pub(super) fn canonical_id(&self) -> Option<String> {
        strongest(&self.hit)
    }
}

/// The answer of one provider to one query.
#[derive(Debug, Clone)]
pub(super) struct ProviderAnswer {
    pub(super) place: (usize, usize),
    pub(super) engine: String,
    pub(super) hits: Vec<SearchHit>,
}

/// Merges hits that are the same work, in an order that alternates between the lists, best first.
pub(super) fn merge(answers: Vec<ProviderAnswer>) -> Vec<Identified> {
    let all = answers.into_iter().flat_map(|answer| {
        let ProviderAnswer {
            place,
            engine,
            hits,
        } = answer;
        hits.into_iter().map(move |hit| Identified {
            address: hit.url.clone(),
            hit,
            engine: engine.clone(),
            place,
            found_by: vec![engine.clone()],
        })
    });
    merge_found(all.collect())
}

fn merge_found(mut found: Vec<Identified>) -> Vec<Identified> {
    for one in &mut found {
        if let Ok(url) = normalize_url(&one.hit.url) {
            one.hit.url = url;
        }
    }
    // A merged entry may have enough data to match another one, so this repeats until nothing changes.
    loop {
        let before = found.len();
        sort(&mut found);
        found = join(found, by_identifier);
        sort(&mut found);
        found = join(found, by_description);
        if found.len() == before {
            break;
        }
    }
    sort(&mut found);
    link_versions(&mut found);
    found
}

/// A total order, so that ties do not depend on the order of the answers.
fn sort(found: &mut [Identified]) {
    found.sort_by_cached_key(|one| {
        let all = format!("{:?}", one.hit);
        (
            one.hit.rank,
            one.place,
            one.engine.clone(),
            one.hit.url.clone(),
            all,
        )
    });
}

/// Merges the entries to which `group` gives the same number.
fn join(found: Vec<Identified>, group: fn(&[Identified]) -> Vec<usize>) -> Vec<Identified> {
    let groups = group(&found);
    let mut place: HashMap<usize, usize> = HashMap::new();
    let mut joined: Vec<Identified> = Vec::new();
    for (one, group) in found.into_iter().zip(groups) {
        match place.get(&group) {
            Some(at) => complete(&mut joined[*at], one),
            None => {
                place.insert(group, joined.len());
                joined.push(one);
            }
        }
    }
    joined
}

/// Groups by common identifiers and addresses, including transitive matches.
fn by_identifier(found: &[Identified]) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..found.len()).collect();
    let mut first: HashMap<String, usize> = HashMap::new();
    for (at, one) in found.iter().enumerate() {
        let mut keys = identity(&one.hit);
        keys.push(format!("url:{}", one.hit.url));
        for key in keys {
            let other = *first.entry(key).or_insert(at);
            let (a, b) = (root(&parent, at), root(&parent, other));
            parent[a.max(b)] = a.min(b);
        }
    }
    (0..found.len()).map(|at| root(&parent, at)).collect()
}

fn root(parent: &[usize], mut at: usize) -> usize {
    while parent[at] != at {
        at = parent[at];
    }
    at
}

/// The identifiers that belong only to this version of the work.
pub(super) fn identity(hit: &SearchHit) -> Vec<String> {
    let ids = WorkId::of(hit);
    let arxiv_of_doi = ids.iter().find_map(|id| match id {
        WorkId::Doi(doi) => Some(doi.strip_prefix("10.48550/arxiv.").map(str::to_owned)),
        WorkId::Pmid(_) => Some(None),
        _ => None,
    });
    let mut keys = Vec::new();
    for id in ids {
        match (&id, &arxiv_of_doi) {
            // Next to a publisher's DOI, the arXiv id belongs to another version.
            (WorkId::Arxiv(_), Some(None)) => {}
            _ => keys.push(id.to_string()),
        }
    }
    if let Some(Some(arxiv)) = arxiv_of_doi {
        keys.push(format!("arxiv:{arxiv}"));
    }
    keys
}

/// The kind of version of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    Published,
    Preprint,
    /// It has no identifier that shows the kind.
    Unknown,
}

fn version(hit: &SearchHit) -> Version {
    if hit.facts.is_preprint {
        return Version::Preprint;
    }
    let mut ids = WorkId::of(hit).into_iter();
    if ids.any(|id| matches!(id, WorkId::Doi(_) | WorkId::Pmid(_) | WorkId::Pmcid(_))) {
        Version::Published
    } else {
        Version::Unknown
    }
}

/// Groups by title, first author and year, unless identifiers contradict it.
fn by_description(found: &[Identified]) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..found.len()).collect();
    let mut described: BTreeMap<String, Vec<(Version, String, usize)>> = BTreeMap::new();
    for (at, one) in found.iter().enumerate() {
        if let Some(key) = description(&one.hit) {
            let id = strongest(&one.hit).unwrap_or_default();
            described
                .entry(key)
                .or_default()
                .push((version(&one.hit), id, at));
        }
    }
    for mut same in described.into_values() {
        same.sort();
        // The version of each group so far, with all its members.
        let mut heads: Vec<(Version, Vec<usize>)> = Vec::new();
        for (version, _, at) in same {
            let fits = |(kind, members): &&mut (Version, Vec<usize>)| {
                (version == Version::Unknown || *kind == version)
                    && members
                        .iter()
                        .all(|m| !conflict(&found[*m].hit, &found[at].hit))
            };
            match heads.iter_mut().find(fits) {
                Some((_, members)) => {
                    groups[at] = members[0];
                    members.push(at);
                }
                None => heads.push((version, vec![at])),
            }
        }
    }
    groups
}

/// The key of title, first author and year; all three must be known.
fn description(hit: &SearchHit) -> Option<String> {
    let meta = &hit.meta;
    meta.year
        .or_else(|| meta.published_date.as_deref()?.get(..4)?.parse().ok())?;
    author_surname(meta.authors.first()?)?;
    title_key(meta)
}

/// Whether two hits have different identifiers of the same kind.
fn conflict(a: &SearchHit, b: &SearchHit) -> bool {
    let (a, b) = (WorkId::of(a), WorkId::of(b));
    let differ = |x: &WorkId, y: &WorkId| match (x, y) {
        (WorkId::Doi(x), WorkId::Doi(y))
        | (WorkId::Pmid(x), WorkId::Pmid(y))
        | (WorkId::Pmcid(x), WorkId::Pmcid(y)) => x != y,
        _ => false,
    };
    a.iter().any(|x| b.iter().any(|y| differ(x, y)))
}

/// A title alone, or with a date, does not identify a work: every web page has one.
fn strongest(hit: &SearchHit) -> Option<String> {
    let id = WorkId::of(hit).into_iter().next().map(|id| id.to_string());
    let has_author = !hit.meta.authors.is_empty();
    id.or_else(|| title_key(&hit.meta).filter(|_| has_author))
}

/// Fills in missing data. The first entry takes precedence; counts use the larger value.
fn complete(kept: &mut Identified, other: Identified) {
    kept.found_by.extend(other.found_by);
    let (kept, other) = (&mut kept.hit, other.hit);
    // The user's own copy takes precedence over anything on the web, and an abstract is stored
    // under the address of the provider that gave it.
    let is_own = |url: &str| url.starts_with("file:");
    let brings_text = kept.abstract_text.is_none() && other.abstract_text.is_some();
    if !is_own(&kept.url) && (is_own(&other.url) || brings_text) {
        let before = std::mem::replace(&mut kept.url, other.url);
        kept.meta.url.get_or_insert(before);
    }
    let had_doi = kept.meta.doi.is_some();
    kept.title = kept.title.take().or(other.title);
    kept.snippet = kept.snippet.take().or(other.snippet);
    kept.abstract_text = kept.abstract_text.take().or(other.abstract_text);
    let (meta, theirs) = (&mut kept.meta, other.meta);
    meta.title = meta.title.take().or(theirs.title);
    if meta.authors.is_empty() {
        meta.authors = theirs.authors;
    }
    meta.year = meta.year.or(theirs.year);
    meta.published_date = meta.published_date.take().or(theirs.published_date);
    meta.venue = meta.venue.take().or(theirs.venue);
    meta.doi = meta.doi.take().or(theirs.doi);
    meta.pmid = meta.pmid.take().or(theirs.pmid);
    meta.pmcid = meta.pmcid.take().or(theirs.pmcid);
    meta.arxiv_id = meta.arxiv_id.take().or(theirs.arxiv_id);
    meta.url = meta.url.take().or(theirs.url);
    meta.language = meta.language.take().or(theirs.language);
    meta.is_retracted |= theirs.is_retracted;
    meta.superseded_by = meta.superseded_by.take().or(theirs.superseded_by);
    if meta.references.len() < theirs.references.len() {
        meta.references = theirs.references;
    }
    // The record with the DOI knows which version it is.
    if !had_doi && meta.doi.is_some() {
        kept.facts.is_preprint = other.facts.is_preprint;
    }
    complete_facts(&mut kept.facts, other.facts);
}

fn complete_facts(facts: &mut WorkFacts, theirs: WorkFacts) {
    facts.openalex_id = facts.openalex_id.take().or(theirs.openalex_id);
    facts.s2_id = facts.s2_id.take().or(theirs.s2_id);
    if facts.authors.is_empty() {
        facts.authors = theirs.authors;
    }
    facts.citation_count = facts.citation_count.max(theirs.citation_count);
    facts.reference_count = facts.reference_count.max(theirs.reference_count);
    facts.is_open_access = facts.is_open_access.or(theirs.is_open_access);
    facts.oa_url = facts.oa_url.take().or(theirs.oa_url);
    facts.pdf_url = facts.pdf_url.take().or(theirs.pdf_url);
    for (mine, theirs) in [
        (&mut facts.versions, theirs.versions),
        (&mut facts.retracts, theirs.retracts),
    ] {
        mine.extend(theirs);
        mine.sort();
        mine.dedup();
    }
}

/// Links preprints and publications with the same title and author.
fn link_versions(found: &mut [Identified]) {
    let mut links: Vec<BTreeSet<String>> = vec![BTreeSet::new(); found.len()];
    for (at, preprint) in found.iter().enumerate() {
        if version(&preprint.hit) != Version::Preprint {
            continue;
        }
        for (other, published) in found.iter().enumerate() {
            if version(&published.hit) == Version::Published
                && are_versions(&preprint.hit, &published.hit)
                && let (Some(mine), Some(theirs)) =
                    (strongest(&preprint.hit), strongest(&published.hit))
            {
                links[at].insert(theirs);
                links[other].insert(mine);
            }
        }
    }
    for (one, links) in found.iter_mut().zip(links) {
        let is_preprint = version(&one.hit) == Version::Preprint;
        let facts = &mut one.hit.facts;
        facts.versions.extend(links);
        facts.versions.sort();
        facts.versions.dedup();
        if is_preprint && one.hit.meta.superseded_by.is_none() {
            let publication = facts.versions.iter().find_map(|id| id.strip_prefix("doi:"));
            one.hit.meta.superseded_by = publication.map(str::to_owned);
        }
    }
}

fn are_versions(preprint: &SearchHit, published: &SearchHit) -> bool {
    let names = |a: &SearchHit, b: &SearchHit| {
        strongest(b).is_some_and(|id| a.facts.versions.contains(&id))
    };
    if names(preprint, published) || names(published, preprint) {
        return true;
    }
    let described = |hit: &SearchHit| {
        let title = title_normalize(hit.meta.title.as_deref()?);
        let surname = author_surname(hit.meta.authors.first()?)?;
        // "Introduction" by two authors named Smith is not a pair of versions.
        (title.chars().count() >= 12).then_some(((title, surname), hit.meta.year?))
    };
    match (described(preprint), described(published)) {
        (Some((a, from)), Some((b, to))) => a == b && (to - from).abs() <= VERSION_YEARS,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
