//! The database file: connections, schema, migrations, derived counts, the full-text tokenizer.

pub(crate) mod aggregates;
mod aside;
mod backup;
mod bulk;
pub(crate) mod checksums;
mod deferred;
mod interrupt;
mod migrate;
pub(crate) mod near_duplicates;
mod open;
mod pool;
mod private;
mod queue;
mod source;
mod tokenizer;

pub(crate) use aside::aside;
pub(crate) use backup::{backup, vacuum};
pub(crate) use bulk::Bulk;
pub use interrupt::Interrupter;
pub(crate) use migrate::SCHEMA_VERSION;
#[cfg(test)]
pub(crate) use migrate::in_memory;
pub(crate) use open::APPLICATION_ID;
pub(crate) use pool::Database;
pub(crate) use private::mode_for_others;
pub(crate) use source::{Reading, Source, Still, immutable_address, is_alone};
pub(crate) use tokenizer::{Tokens, with_tokens};
