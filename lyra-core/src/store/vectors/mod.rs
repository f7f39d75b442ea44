//! Similarity search over fragments and claims: by meaning, by words, and by both.
//!
//! | module | what it does |
//! |---|---|
//! | `kernel`, `codes`, `rows`, `memory`, `index` | exact nearest neighbours over vectors in memory |
//! | `matrix`, `scope`, `store` | keeps them in step with the database, and knows who may be found |
//! | `lexical`, `search` | words, and the search that a user asks for |

mod block;
mod codes;
mod index;
mod kernel;
mod lexical;
mod matrix;
mod memory;
mod rows;
mod scope;
mod search;
mod store;

pub use index::{ExactIndex, Found, Neighbour};
pub use lexical::match_expression;
pub use rows::RowSet;
pub use search::{Cutoff, Ranking, Scored, SearchMode, VectorHit, VectorReply, VectorRequest};
pub use store::VectorStore;
