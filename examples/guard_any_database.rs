//! Lets a language model, or any other untrusted caller, query a database that is not Lyra's:
//!
//! ```sh
//! cargo run -p lyra-core --example guard_any_database
//! ```
//!
//! Queries can read the tables that the policy names. They cannot change anything or read anything
//! else, and they end at their limits of time, work and memory.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]
#![allow(
    clippy::disallowed_methods,
    reason = "the database is the caller's own"
)]

use lyra_core::store::guard::{GuardPolicy, QueryGuard, SqlRequest};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before the first connection of the process: caps the memory of each query.
    QueryGuard::cap_memory();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("library.db");
    rusqlite::Connection::open(&path)?.execute_batch(
        "CREATE TABLE readers (id INTEGER PRIMARY KEY, town TEXT, card TEXT);
         CREATE TABLE loans (reader INTEGER REFERENCES readers (id), title TEXT, days INTEGER);
         CREATE TABLE staff (name TEXT, wage REAL);
         INSERT INTO readers VALUES (1, 'Bern', 'A-17'), (2, 'Basel', 'B-02');
         INSERT INTO loans VALUES (1, 'Emma', 12), (1, 'Persuasion', 30), (2, 'Emma', 9);
         INSERT INTO staff VALUES ('Jo', 4100)",
    )?;
    let policy = GuardPolicy::new()
        .table_without("readers", ["card"])
        .table("loans")
        .function("overdue", 1, |values| {
            Ok(json!(values[0].as_i64().is_some_and(|days| days > 28)))
        });
    let guard = QueryGuard::open_with(&path, policy, Vec::new())?;
    for sql in [
        "SELECT town, count(*) AS loans, sum(overdue(days)) AS late FROM loans JOIN readers ON id = reader GROUP BY town",
        "SELECT card FROM readers",
        "SELECT * FROM staff",
        "DELETE FROM loans",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    ] {
        println!("{sql}");
        match guard.query(&SqlRequest::new(sql)) {
            Ok(reply) => println!("  {}\n", serde_json::to_string(&reply.rows)?),
            Err(error) => println!("  {}: {}\n", error.kind().code(), error.message()),
        }
    }
    Ok(())
}
