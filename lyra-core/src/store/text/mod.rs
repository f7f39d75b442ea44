//! Pure functions over text: no I/O, no clock, no state.
//!
//! | module | what it answers |
//! |---|---|
//! | [`segment`] | blocks of a parsed document → one text and exact, paragraph-sized slices of it |
//! | [`sentence`] | where the sentences of a text begin and end, English and Japanese |
//! | [`url`] | one name for each address; the domain that somebody registered |
//! | [`identifiers`] | DOI, PMID, PMCID, arXiv, OpenAlex and S2 ids in texts and addresses; the id of a work |
//! | [`targets`] | what a user typed → what a task is to research |
//! | [`tokenize`] | words and, for scripts without spaces, pairs of characters |
//! | [`similarity`] | whether two texts are nearly the same |
//! | [`language`] | in which language a text is written, as far as its script says |
//! | [`names`] | which name was probably meant |
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

pub use details::{details, points_back};
pub use headings::missing_headings;
pub use measures::without_measures;
pub use questions::{is_question, only_asks};
pub(crate) use spellings::{number_in_words, number_of_one, number_of_two, other_spellings};
pub(crate) use subject::names_subject;
pub use tokens::{
    Token, TokenKind, TokenMode, for_each_token, is_cjk, is_hiragana, is_stop_word, ranking_terms,
    tokenize,
};
