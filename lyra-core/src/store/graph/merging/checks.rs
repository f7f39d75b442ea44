//! Checks for graphs that cannot be merged.

use crate::error::{Error, ErrorKind, Result};
use crate::store::database::{
    APPLICATION_ID, FileStamp, SCHEMA_VERSION, SqliteResultExt, Statements, file_address,
    immutable_address, is_alone,
};
use rusqlite::Connection;
use std::path::Path;

pub(super) fn is_another_file(target: &Path, source: &Path) -> Result<()> {
    let resolved = |path: &Path| {
        std::fs::canonicalize(path).map_err(|error| {
            Error::not_found(format!(
                "there is no database at {}: {error}",
                path.display()
            ))
            .with_hint("give the path of a file that Lyra made")
        })
    };
    if resolved(source)? != resolved(target)? {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{} is also the target of the merge",
        source.display()
    ))
    .with_hint("name the target first, then the graphs that go into it"))
}

/// The address with which SQLite opens a source, and the stamp by which a change is detected. A file
/// without a log beside it is read as it is.
pub(super) fn address(path: &Path) -> Result<(String, FileStamp)> {
    let path = std::fs::canonicalize(path)
        .map_err(|error| Error::not_found(format!("{}: {error}", path.display())))?;
    if path.is_dir() {
        return Err(Error::invalid(format!(
            "{} is a folder; a graph is a file",
            path.display()
        )));
    }
    // Another process may be writing to it: its log is read, and it is not prevented from writing.
    Ok(match is_alone(&path) && !cfg!(windows) {
        true => (immutable_address(&path), FileStamp::of(&path)?),
        false => (file_address(&path, "mode=ro"), FileStamp::unneeded()),
    })
}

/// Refuses a file that is not a graph, or whose tables are not those of this version.
pub(super) fn is_graph(db: &Connection, source: &str) -> Result<()> {
    let number = |pragma: &str| -> Result<i64> {
        db.pragma_query_value(Some(source), pragma, |r| r.get(0))
            .db()
    };
    if number("application_id")? != i64::from(APPLICATION_ID) {
        let message = "this file is no graph of Lyra";
        return Err(Error::new(ErrorKind::Storage, message)
            .with_hint("give the path of a file that Lyra made"));
    }
    let version = number("user_version")?;
    if version != SCHEMA_VERSION {
        let message = format!(
            "the database has schema version {version} and this program merges {SCHEMA_VERSION}"
        );
        return Err(Error::new(ErrorKind::Storage, message).with_hint(
            "open it once with this version, for example with lyra-mcp verify --db FILE",
        ));
    }
    // A view or a virtual table in place of a table could read anything. Columns are compared, and not
    // SQL, because comments in the SQL differ between versions.
    let columns = |schema: &str| {
        format!(
            "(SELECT group_concat(name || ' ' || type || ' ' || hidden, ', ' ORDER BY cid)
              FROM pragma_table_xinfo(m.name, '{schema}'))"
        )
    };
    let other: Option<String> = db.first(
        &format!(
            "SELECT m.name FROM main.sqlite_schema m
             WHERE m.type = 'table' AND m.rootpage > 0 AND m.name NOT GLOB 'sqlite_*' AND NOT EXISTS (
               SELECT 1 FROM {source}.sqlite_schema s
               WHERE s.type = 'table' AND s.rootpage > 0 AND s.name = m.name AND {} IS {}) LIMIT 1",
            columns("main"),
            columns(source)
        ),
        [],
        |r| r.get(0),
    )?;
    other.map_or(Ok(()), |table| {
        let message = format!("the table {table} is not as Lyra makes it");
        Err(Error::new(ErrorKind::Storage, message)
            .with_hint("export that graph, and import what was exported"))
    })
}

/// The meaning that an id must have on both sides: the table, and the columns that must be equal.
const MEANINGS: [(&str, &[&str]); 4] = [
    ("tasks", &["hypothesis"]),
    ("pages", &["url"]),
    ("fragments", &["page_id", "text_hash"]),
    ("claims", &["task_id", "claim_text"]),
];

pub(super) fn ids_agree(db: &Connection, source: &str) -> Result<()> {
    for (table, columns) in MEANINGS {
        let differ: Vec<String> = columns
            .iter()
            .map(|c| format!("t.{c} IS NOT s.{c}"))
            .collect();
        let sql = format!(
            "SELECT s.id FROM {source}.{table} s JOIN main.{table} t ON t.id = s.id WHERE {} LIMIT 1",
            differ.join(" OR ")
        );
        if let Some(id) = db.first::<String>(&sql, [], |r| r.get(0))? {
            let message = format!(
                "{table}: {id} has another {} in the two graphs",
                columns.join(" or ")
            );
            return Err(Error::invalid(message).with_hint(
                "ids that Lyra makes follow from the content; give one of the two rows another id and import it again",
            ));
        }
    }
    let sql = format!(
        "SELECT s.url, s.id, t.id FROM {source}.pages s JOIN main.pages t ON t.url = s.url AND t.id <> s.id LIMIT 1"
    );
    let twice = db.first(&sql, [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
    twice.map_or(Ok(()), |(url, one, other): (String, String, String)| {
        let message =
            format!("the address {url} is page {one} in one graph and {other} in the other");
        Err(Error::invalid(message).with_hint(
            "two pages cannot have one address: give both the same id and import one again",
        ))
    })
}

/// The error for a row that conflicts with an index other than the rule's.
pub(super) fn meaning(error: Error, table: &str) -> Error {
    let is_taken = error.message().contains("UNIQUE constraint failed");
    if !is_taken {
        return error.context(format!("merging {table}"));
    }
    Error::invalid(format!("{table}: an id means different things in the two graphs ({})", error.message()))
        .with_hint("ids that Lyra makes follow from the content; give one of the two rows another id and import it again")
}

/// Whether both sides hold the same texts and the same information on copies.
pub(super) fn copies_agree(db: &Connection, source: &str) -> Result<bool> {
    for columns in [
        "id, near_duplicate_of FROM {db}.pages",
        "page_id, version, text_hash FROM {db}.page_texts",
    ] {
        let [ours, theirs] =
            ["main", source].map(|schema| format!("SELECT {}", columns.replace("{db}", schema)));
        let count = |rows: &str| format!("(SELECT count(*) FROM ({rows}))");
        let sql = format!("SELECT {} = {}", count(&ours), count(&theirs));
        let same_size: bool = db.one(&sql, [], |r| r.get(0))?;
        if !same_size || db.holds(&format!("{ours} EXCEPT {theirs}"), [])? {
            return Ok(false);
        }
    }
    Ok(true)
}
