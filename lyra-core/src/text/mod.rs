//! Pure functions over text: addresses, identifiers, segments, tokens, hashes.

mod tokens;

pub use tokens::{
    Token, TokenKind, TokenMode, for_each_token, is_cjk, is_stop_word, ranking_terms, tokenize,
};
