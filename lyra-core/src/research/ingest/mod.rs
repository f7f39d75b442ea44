//! Turns an address into rows: fetched, parsed, segmented, embedded, and stored in one transaction.

mod blocking;
mod fetch;
mod prepare;
mod store;

pub(crate) use blocking::{blocking, within};
pub(crate) use fetch::page_key;
pub use fetch::{Read, Reading, TEXT_TIME};
pub use prepare::{DocumentSource, PreparedDocument, PreparedFragment, prepare};
pub(crate) use store::fresh_until;
pub use store::store;
