//! Similarity search over fragments and claims: by meaning, by words, and by both.

mod lexical;
mod scan;
mod search;
mod store;

pub use lexical::match_expression;
pub use search::{
    Cutoff, Scored, SearchMode, VectorHit, VectorReply, VectorRequest, rank_fragments,
};
pub use store::VectorStore;
