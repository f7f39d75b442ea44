//! Fakes for every port, and the suite that any implementation of a port can be run through.
//!
//! A port is a promise written in its trait's documentation. Each promise that a program can check
//! is one public function here, named after it; `check_embedder` and its kin run all functions of a
//! port. They are a test suite: a broken promise is a panic whose message names the implementation,
//! what it was given and what it answered. Nothing here is used when the library runs.
//!
//! ```
//! use lyra_core::models::StaticEmbedder;
//! use lyra_core::ports::testing::check_embedder;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! check_embedder(&StaticEmbedder::new()?).await;
//! # Ok::<(), lyra_core::Error>(()) }).unwrap();
//! ```
//!
//! Where time matters to a test, [`ManualClock`](super::ManualClock) is the fake clock.

mod claim_extractor;
mod document_parser;
mod embedder;
mod fakes;
mod fetcher;
mod search_provider;
mod stance_judge;

pub use claim_extractor::{
    check_claim_extractor, extractor_confidences_lie_in_zero_to_one,
    extractor_gives_nothing_for_nothing, extractor_gives_texts, extractor_keeps_max_claims,
    extractor_names_itself, extractor_quotes_lie_in_their_passages,
};
pub use document_parser::{
    check_document_parser, parser_gives_blocks_with_text, parser_is_deterministic,
    parser_never_panics, parser_says_what_a_document_is,
};
pub use embedder::{
    check_embedder, embedder_accepts_an_empty_batch, embedder_accepts_empty_text,
    embedder_describes_itself, embedder_gives_one_vector_a_text, embedder_gives_unit_vectors,
    embedder_is_the_same_alone_or_in_a_batch,
};
pub use fakes::{
    FakeClaimExtractor, FakeEmbedder, FakeFetcher, FakeSearchProvider, FakeStanceJudge,
};
pub use fetcher::{
    check_fetcher, fetcher_accepts_fetchable_addresses_only, fetcher_finds,
    fetcher_finds_the_same_again, fetcher_names_itself, fetcher_refuses,
    fetcher_refuses_what_is_no_address, fetcher_takes_its_own_validators,
};
pub use search_provider::{
    check_search_provider, provider_accepts_a_query_without_hits, provider_fails_in_an_outage,
    provider_gives_addresses, provider_has_no_unknown_doi, provider_names_itself,
    provider_ranks_from_one_within_limit,
};
pub use stance_judge::{
    check_stance_judge, judge_accepts_empty_texts, judge_confidences_lie_in_zero_to_one,
    judge_gives_nothing_for_nothing, judge_gives_one_nli_verdict_a_pair,
    judge_is_the_same_alone_or_in_a_batch, judge_names_itself,
};

use crate::error::Result;

/// How far two answers to one question may lie apart: models round differently in batches.
const SAME: f64 = 1e-4;

/// Texts that a research run meets, the odd ones included.
const TEXTS: &[&str] = &[
    "Drug X increased the risk of falls in older adults.",
    "The hazard ratio was 1.27 (95% CI 1.07 to 1.51; P = 0.007).",
    "該当する患者では、心不全による入院が有意に増加した。",
    "Ünïcödé, naïve café — “quotes” and 𝒎𝒂𝒕𝒉 👩‍⚕️.",
    "a",
    "?!…",
    "line one\nline two\ttabbed",
];

/// The answer, or a panic that says what was asked and what went wrong.
fn answered<T>(who: &str, asked: &str, answer: Result<T>) -> T {
    match answer {
        Ok(value) => value,
        Err(error) => panic!("{who}: {asked}: an error instead of an answer: {error}"),
    }
}

/// A name that is stored in a column and shown to people.
fn is_a_name(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.chars().any(char::is_control)
}

/// Whether a document may stand at such an address.
fn is_fetchable(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|url| matches!(url.scheme(), "file" | "http" | "https"))
}
