//! A database other than Lyra's, with its owner's policy.

use crate::ErrorKind;
use crate::store::guard::{GuardPolicy, QueryGuard, SqlReply, SqlRequest, TempView};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::PathBuf;

struct Shop {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Shop {
    #[allow(clippy::disallowed_methods, reason = "a database of somebody else's")]
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, town TEXT, email TEXT);
             CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id), price REAL);
             CREATE TABLE secrets (word TEXT);
             CREATE TABLE cards (number TEXT UNIQUE, holder TEXT);
             CREATE VIEW spent AS SELECT customer, sum(price) AS total FROM orders GROUP BY customer;
             CREATE VIEW told AS SELECT word FROM secrets;
             CREATE VIRTUAL TABLE notes USING fts5 (text);
             CREATE VIRTUAL TABLE diary USING fts5 (text);
             INSERT INTO customers VALUES (1, 'Bern', 'ada@example.org'), (2, 'Basel', 'bo@example.org');
             INSERT INTO orders VALUES (1, 1, 4.0), (2, 1, 6.0), (3, 2, 1.0);
             INSERT INTO secrets VALUES ('xyzzy');
             INSERT INTO notes VALUES ('cheese and bread'), ('milk');
             INSERT INTO diary VALUES ('cheese in secret')",
        )
        .unwrap();
        Self {
            _folder: folder,
            path,
        }
    }

    fn policy() -> GuardPolicy {
        GuardPolicy::new()
            .table_without("customers", ["email"])
            .table("orders")
            .table("spent")
            .table("told")
            .full_text_table("notes")
            .function("tax", 1, |values| match values[0].as_f64() {
                Some(price) => Ok(json!(price * 0.5)),
                None => Err(format!("{} is no price", values[0])),
            })
    }

    fn guard(&self) -> QueryGuard {
        let views = vec![TempView {
            name: "v_towns".to_owned(),
            select_sql: "SELECT DISTINCT town FROM customers ORDER BY town".to_owned(),
        }];
        QueryGuard::open_with(&self.path, Self::policy(), views).unwrap()
    }
}

fn rows(guard: &QueryGuard, sql: &str) -> Vec<Value> {
    let reply: SqlReply = guard
        .query(&SqlRequest::new(sql))
        .unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    reply.rows.into_iter().map(Value::Object).collect()
}

#[test]
fn what_the_policy_names_can_be_asked() {
    let shop = Shop::new();
    let guard = shop.guard();
    for (sql, expected) in [
        (
            "SELECT town, email, total FROM customers JOIN spent ON customer = customers.id ORDER BY town",
            json!([{"town": "Basel", "email": null, "total": 1.0}, {"town": "Bern", "email": null, "total": 10.0}]),
        ),
        (
            "SELECT text FROM notes WHERE notes MATCH 'cheese'",
            json!([{"text": "cheese and bread"}]),
        ),
        (
            "SELECT sum(tax(price)) AS tax, median(price) AS middle FROM orders",
            json!([{"tax": 5.5, "middle": 4.0}]),
        ),
        (
            "SELECT town FROM v_towns",
            json!([{"town": "Basel"}, {"town": "Bern"}]),
        ),
    ] {
        assert_eq!(Value::Array(rows(&guard, sql)), expected, "{sql}");
    }
    let schema = guard.schema();
    let names: Vec<&str> = schema
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["customers", "notes", "orders", "spent", "told", "v_towns"]
    );
    assert_eq!(schema.tables[0].columns, ["id", "town"]);
}

#[test]
fn what_it_does_not_name_is_not_there() {
    let shop = Shop::new();
    let guard = shop.guard();
    for sql in [
        "SELECT * FROM secrets",
        "SELECT count(*) FROM secrets",
        "SELECT * FROM told",
        "SELECT * FROM diary",
        "SELECT * FROM diary WHERE diary MATCH 'secret'",
        "SELECT * FROM notes_content",
        "SELECT sql FROM sqlite_schema",
        "SELECT * FROM claims",
        "SELECT * FROM pragma_table_info('secrets')",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM secrets WHERE word = 'xyzzy')",
        "WITH x AS (SELECT word FROM secrets) SELECT * FROM x",
        "SELECT town FROM customers a JOIN customers b USING (email)",
        "SELECT price(1)",
        "SELECT load_extension('x')",
        "UPDATE orders SET price = 0",
        "DELETE FROM notes",
        "ATTACH 'other.db' AS other",
        "PRAGMA user_version = 3",
    ] {
        let error = guard.query(&SqlRequest::new(sql)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QueryRejected, "{sql}: {error:?}");
    }
    // The error message of a caller's function is returned.
    let error = guard
        .query(&SqlRequest::new("SELECT tax('bread')"))
        .unwrap_err();
    assert!(error.message().contains("is no price"), "{error:?}");
    // A private column reads as null everywhere.
    assert!(rows(&guard, "SELECT id FROM customers WHERE email LIKE '%org'").is_empty());
}

#[test]
fn a_policy_that_names_what_is_not_there_is_refused() {
    let shop = Shop::new();
    for (policy, named) in [
        (GuardPolicy::new().table("customer"), "customer"),
        (
            GuardPolicy::new().table_without("customers", ["phone"]),
            "phone",
        ),
        (
            GuardPolicy::new().table_without("cards", ["NUMBER"]),
            "an index holds it",
        ),
        (GuardPolicy::new().full_text_table("texts"), "texts"),
    ] {
        let error = QueryGuard::open_with(&shop.path, policy, Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
        assert!(error.message().contains(named), "{error:?}");
    }
    // Without named tables nothing is readable, except computed values.
    let guard = QueryGuard::open_with(&shop.path, GuardPolicy::new(), Vec::new()).unwrap();
    assert_eq!(
        rows(&guard, "SELECT sqrt(9.0) AS three"),
        [json!({"three": 3.0})]
    );
    assert!(
        guard
            .query(&SqlRequest::new("SELECT * FROM orders"))
            .is_err()
    );
}
