//! The database file: connections, schema, migrations.

mod tokenizer;
