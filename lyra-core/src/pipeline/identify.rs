//! One entry for each document, however many providers and queries found it.

use crate::ports::SearchHit;
use crate::text::identifiers::canonical_id;
use crate::text::url::normalize_url;
use std::collections::HashMap;

/// A hit and who found it.
#[derive(Debug, Clone)]
pub(super) struct Identified {
    pub(super) hit: SearchHit,
    pub(super) engine: String,
}

/// Merges hits that are the same work (by its strongest identifier) or the same address, in an
/// order that takes the best of each list in turn.
pub(super) fn merge(lists: Vec<(String, Vec<SearchHit>)>) -> Vec<Identified> {
    let mut all: Vec<Identified> = lists
        .into_iter()
        .flat_map(|(engine, hits)| {
            hits.into_iter().map(move |hit| Identified {
                hit,
                engine: engine.clone(),
            })
        })
        .collect();
    all.sort_by_key(|found| found.hit.rank);
    let mut place: HashMap<String, usize> = HashMap::new();
    let mut merged: Vec<Identified> = Vec::new();
    for mut found in all {
        found.hit.url = normalize_url(&found.hit.url).unwrap_or(found.hit.url);
        let work = canonical_id(&found.hit.meta);
        let keys = [Some(found.hit.url.clone()), work];
        let known = keys
            .iter()
            .flatten()
            .find_map(|key| place.get(key).copied());
        let at = known.unwrap_or(merged.len());
        for key in keys.into_iter().flatten() {
            place.entry(key).or_insert(at);
        }
        match known {
            Some(at) => complete(&mut merged[at].hit, found.hit),
            None => merged.push(found),
        }
    }
    merged
}

fn complete(kept: &mut SearchHit, other: SearchHit) {
    kept.title = kept.title.take().or(other.title);
    kept.snippet = kept.snippet.take().or(other.snippet);
    kept.abstract_text = kept.abstract_text.take().or(other.abstract_text);
    kept.meta.doi = kept.meta.doi.take().or(other.meta.doi);
    kept.meta.year = kept.meta.year.or(other.meta.year);
    kept.meta.venue = kept.meta.venue.take().or(other.meta.venue);
    kept.meta.is_retracted |= other.meta.is_retracted;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DocumentMeta;

    fn hit(url: &str, rank: usize, doi: Option<&str>) -> SearchHit {
        let meta = DocumentMeta {
            doi: doi.map(str::to_owned),
            ..DocumentMeta::default()
        };
        SearchHit {
            url: url.to_owned(),
            rank,
            title: None,
            snippet: None,
            meta,
            abstract_text: None,
        }
    }

    #[test]
    fn one_entry_a_work() {
        let merged = merge(vec![
            (
                "a".to_owned(),
                vec![
                    hit("https://x.org/1", 1, Some("10.1000/A")),
                    hit("https://x.org/2", 2, None),
                ],
            ),
            (
                "b".to_owned(),
                vec![
                    hit("https://y.org/p", 1, Some("https://doi.org/10.1000/a")),
                    hit("https://X.org/2", 2, None),
                ],
            ),
        ]);
        let urls: Vec<_> = merged.iter().map(|m| m.hit.url.as_str()).collect();
        assert_eq!(urls, ["https://x.org/1", "https://x.org/2"]);
    }
}
