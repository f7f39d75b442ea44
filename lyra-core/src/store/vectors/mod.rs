//! Similarity search over fragments and claims: semantic, lexical, and both combined.
//!
//! | module | what it does |
//! |---|---|
//! | `kernel`, `codes`, `rows`, `memory`, `index` | exact nearest neighbours over vectors in memory |
//! | `matrix`, `scope`, `store` | keep them in step with the database, and determine what may be found |
//! | `lexical`, `search` | lexical search, and the search that callers use |

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
