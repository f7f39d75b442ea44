//! Fakes for every port, and a test suite for any implementation of a port.
//!
//! The documentation of a port's trait states its requirements. Each requirement that a program can
//! check is one public function here, named after it; `check_embedder` and similar functions run
//! all checks of a port. They are a test suite: a violated requirement causes a panic whose message
//! names the implementation, its input and its answer. Nothing here is used when the library runs.
//!
//! ```
//! use lyra_core::models::StaticEmbedder;
//! use lyra_core::ports::testing::check_embedder;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! check_embedder(&StaticEmbedder::new()?).await;
//! # Ok::<(), lyra_core::Error>(()) }).unwrap();
//! ```
//!
//! If a test depends on time, [`ManualClock`](super::ManualClock) is the fake clock.

mod claim_extractor;
mod document_parser;
mod embedder;
mod fakes;
mod fetcher;
mod promises;
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
