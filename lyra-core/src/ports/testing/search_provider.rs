//! Checks of a search provider.

use super::promises::{answered, is_a_name, is_fetchable};
use crate::ports::{SearchHit, SearchProvider, SearchQuery};

/// Runs every check of a working search provider; `query` must be one for which it finds something.
/// [`provider_fails_in_an_outage`] needs a provider that does not work.
pub async fn check_search_provider(provider: &dyn SearchProvider, query: &str) {
    provider_names_itself(provider).await;
    provider_ranks_from_one_within_limit(provider, query).await;
    provider_gives_addresses(provider, query).await;
    provider_accepts_a_query_without_hits(provider).await;
    provider_has_no_unknown_doi(provider).await;
}

/// The name of the provider can be stored with a hit.
pub async fn provider_names_itself(provider: &dyn SearchProvider) {
    let name = provider.name();
    assert!(is_a_name(name), "name {name:?} is no name");
}

/// Ranks are 1, 2, 3 … in the order of the answer, and there are at most as many hits as requested.
pub async fn provider_ranks_from_one_within_limit(provider: &dyn SearchProvider, query: &str) {
    let name = provider.name();
    for limit in [0, 1, 2, 10] {
        let hits = search(provider, query, limit).await;
        assert!(
            hits.len() <= limit,
            "{name}: {} hits for {query:?}; the limit was {limit}",
            hits.len()
        );
        assert!(
            limit == 0 || !hits.is_empty(),
            "{name}: no hit for {query:?}, which was said to have some"
        );
        let ranks: Vec<usize> = hits.iter().map(|hit| hit.rank).collect();
        assert!(
            ranks.iter().copied().eq(1..=hits.len()),
            "{name}: ranks {ranks:?} instead of 1, 2, 3 …"
        );
    }
}

/// Every hit has an address that a fetcher can accept.
pub async fn provider_gives_addresses(provider: &dyn SearchProvider, query: &str) {
    for hit in search(provider, query, 10).await {
        assert!(
            is_fetchable(&hit.url),
            "{}: {:?} is no file, http or https address",
            provider.name(),
            hit.url
        );
    }
}

/// A query with meaningless words is not an error; any results are within the limit.
pub async fn provider_accepts_a_query_without_hits(provider: &dyn SearchProvider) {
    let hits = search(provider, "zqxjkvbw qwxzvbkj", 3).await;
    assert!(
        hits.len() <= 3,
        "{}: {} hits; the limit was 3",
        provider.name(),
        hits.len()
    );
}

/// An unregistered DOI gives neither an error nor a document.
pub async fn provider_has_no_unknown_doi(provider: &dyn SearchProvider) {
    let doi = "10.5555/zqxjkvbw-no-such-work";
    let found = answered(
        provider.name(),
        "lookup_doi",
        provider.lookup_doi(doi).await,
    );
    assert!(
        found.is_none(),
        "{}: a document for {doi}, which nobody registered: {found:?}",
        provider.name()
    );
}

/// For a provider whose source is cut off: a meaningful error, never an empty list.
pub async fn provider_fails_in_an_outage(provider: &dyn SearchProvider) {
    let query = SearchQuery {
        text: "anything".to_owned(),
        limit: 3,
    };
    match provider.search(&query).await {
        Ok(hits) => panic!(
            "{}: {} hits in an outage; expected an error",
            provider.name(),
            hits.len()
        ),
        Err(error) => assert!(
            !error.message().trim().is_empty(),
            "{}: the error in an outage says nothing",
            provider.name()
        ),
    }
}

async fn search(provider: &dyn SearchProvider, text: &str, limit: usize) -> Vec<SearchHit> {
    let query = SearchQuery {
        text: text.to_owned(),
        limit,
    };
    let asked = format!("search({text:?}, limit {limit})");
    answered(provider.name(), &asked, provider.search(&query).await)
}
