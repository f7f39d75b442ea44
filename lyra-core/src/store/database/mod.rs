//! The database file: connections, schema, migrations, derived counts, the full-text tokenizer.

pub(crate) mod aggregates;
mod backup;
mod bulk;
pub(crate) mod checksums;
mod deferred;
mod errors;
mod interrupt;
mod migrate;
pub(crate) mod near_duplicates;
mod open;
mod ownership;
mod parallel;
mod pool;
mod private;
mod queue;
mod source;
mod statements;
mod tokenizer;

pub(crate) use backup::{backup, vacuum};
pub(crate) use bulk::Bulk;
pub(in crate::store) use errors::SqliteResultExt;
pub use interrupt::Interrupter;
pub(crate) use migrate::SCHEMA_VERSION;
#[cfg(test)]
pub(crate) use migrate::in_memory;
pub(crate) use ownership::APPLICATION_ID;
pub(crate) use parallel::run_in_parallel;
pub(crate) use pool::Database;
pub(crate) use private::mode_for_others;
pub(crate) use source::{
    DatabaseFile, FileStamp, ReadConnection, file_address, immutable_address, is_alone,
};
pub(in crate::store) use statements::Statements;
pub(crate) use tokenizer::{Tokens, with_tokens};
