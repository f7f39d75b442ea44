//! The database file: connections, schema, migrations, the full-text tokenizer.

mod migrate;
mod open;
mod pool;
mod tokenizer;

pub(crate) use open::open_reader;
pub(crate) use pool::Database;
