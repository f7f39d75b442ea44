//! From an address to rows: fetched, parsed, cut, embedded, stored in one transaction.

mod fetch;
mod prepare;
mod store;

pub use fetch::{Read, Reading};
pub use prepare::{DocumentSource, PreparedDocument, PreparedFragment, prepare};
pub(crate) use store::fresh_until;
pub use store::store;
