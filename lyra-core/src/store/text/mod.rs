//! Pure functions over text: no I/O, no clock, no state.
//!
//! | module | purpose |
//! |---|---|
//! | [`segment`] | blocks of a parsed document → one text and exact, paragraph-sized slices of it |
//! | [`sentence`] | sentence boundaries of a text, English and Japanese |
//! | [`url`] | the canonical form of addresses; the registrable domain |
//! | [`identifiers`] | DOI, PMID, PMCID, arXiv, OpenAlex and S2 ids in texts and addresses; the id of a work |
//! | [`targets`] | user input → targets of a task |
//! | [`tokenize`] | words and, for scripts without spaces, pairs of characters |
//! | [`similarity`] | whether two texts are nearly the same |
//! | [`language`] | the language of a text, as far as its script shows it |
//! | [`names`] | the most likely intended name |
//! | [`hash`] | SHA-256 as hex |
//!
//! Offsets are Unicode code points everywhere, because that is what SQLite's `substr` counts.
//!
//! ```
//! use lyra_core::store::text::{identifiers, url};
//! assert_eq!(identifiers::normalize_doi("https://doi.org/10.1234/ABC").as_deref(), Some("10.1234/abc"));
//! assert_eq!(url::normalize_url("HTTP://Example.com:80/?utm_source=x")?, "http://example.com/");
//! # Ok::<(), lyra_core::Error>(())
//! ```

mod details;
pub mod hash;
mod headings;
pub mod identifiers;
pub mod language;
mod measures;
pub mod names;
mod questions;
pub(crate) mod quotes;
pub mod segment;
pub mod sentence;
pub mod similarity;
mod spellings;
mod subject;
pub mod targets;
#[cfg(test)]
pub(crate) mod testing;
mod tokens;
pub mod url;
pub(crate) mod word_vectors;

pub use details::{details, points_back};
pub use headings::missing_headings;
pub use measures::without_measures;
pub use questions::{is_question, only_asks};
pub(crate) use spellings::{number_in_words, number_of_one, number_of_two, other_spellings};
pub(crate) use subject::{names_subject, subject_and_outcome};
pub use tokens::{
    Token, TokenKind, TokenMode, for_each_token, is_cjk, is_hiragana, is_stop_word, ranking_terms,
    tokenize,
};
