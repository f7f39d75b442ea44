//! Tests with a folder of third-party SQL in any dialect, named by the environment variable
//! `LYRA_SQL_FOLDER`: no statement that the guard accepts may write. docs/sql-guard.md describes sources
//! of such folders.

use super::{QueryGuard, SqlOptions, SqlRequest, fixture};
use crate::ErrorKind;
use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// First words of statements that only read. EXPLAIN and PRAGMA are checked further.
const READING: [&str; 5] = ["select", "with", "values", "explain", "pragma"];

/// Number of statements between two hashes of the database file.
const STATEMENTS_PER_HASH: usize = 1_000;

#[test]
fn nothing_of_a_foreign_corpus_writes() {
    #[allow(
        clippy::disallowed_methods,
        reason = "the folder is no part of the project"
    )]
    let folder = std::env::var("LYRA_SQL_FOLDER");
    let Ok(folder) = folder else {
        eprintln!("skipped: LYRA_SQL_FOLDER names no folder of .sql files");
        return;
    };
    let mut files = Vec::new();
    find_sql(Path::new(&folder), &mut files);
    assert!(!files.is_empty(), "no .sql file in {folder}");
    let mut lab = GuardLab::open();
    for file in &files {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
        // The whole file as well: most files contain several statements, and the splitting misreads
        // some.
        lab.run(&text);
        for statement in split(&text) {
            lab.run(&statement);
        }
    }
    lab.check_bytes();
    eprintln!(
        "{} files, {} different texts: {:?}",
        files.len(),
        lab.seen.len(),
        lab.outcomes
    );
    eprintln!("accepted, by their first words: {:?}", lab.accepted);
}

struct GuardLab {
    folder: tempfile::TempDir,
    guard: QueryGuard,
    watcher: Connection,
    data_version: i64,
    hash: Vec<u8>,
    files: BTreeSet<PathBuf>,
    seen: BTreeSet<String>,
    outcomes: BTreeMap<&'static str, usize>,
    accepted: BTreeMap<String, usize>,
}

impl GuardLab {
    #[allow(clippy::disallowed_methods, reason = "it only watches the file")]
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.db");
        drop(fixture::build(&path));
        let guard = QueryGuard::open(&path, fixture::views()).unwrap();
        let watcher = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let mut lab = Self {
            data_version: data_version(&watcher),
            hash: Vec::new(),
            files: files_of(folder.path()),
            folder,
            guard,
            watcher,
            seen: BTreeSet::new(),
            outcomes: BTreeMap::new(),
            accepted: BTreeMap::new(),
        };
        lab.hash = lab.read_hash();
        lab
    }

    fn run(&mut self, sql: &str) {
        if sql.trim().is_empty() || !self.seen.insert(sql.to_owned()) {
            return;
        }
        let options = SqlOptions {
            timeout_ms: 1_000,
            ..SqlOptions::default()
        };
        let outcome = self.guard.query(&SqlRequest {
            sql: sql.to_owned(),
            options,
            ..SqlRequest::default()
        });
        let name = match &outcome {
            Ok(reply) => {
                let kind = kind_of(sql);
                let first = kind.split(' ').next().unwrap_or_default();
                assert!(READING.contains(&first), "accepted: {sql}");
                let explained = kind.strip_prefix("explain ");
                assert!(
                    explained.is_none_or(|first| ["select", "with", "values"].contains(&first)),
                    "accepted: {sql}"
                );
                assert!(
                    !serde_json::to_string(reply).unwrap().contains("CANARY"),
                    "a private value: {sql}"
                );
                *self.accepted.entry(kind).or_default() += 1;
                "accepted"
            }
            Err(error) => match error.kind() {
                ErrorKind::QueryRejected => "rejected",
                ErrorKind::QueryInterrupted => "interrupted",
                other => panic!("{other:?} for {sql}: {error:?}"),
            },
        };
        *self.outcomes.entry(name).or_default() += 1;
        assert_eq!(
            data_version(&self.watcher),
            self.data_version,
            "written by {sql}"
        );
        assert_eq!(files_of(self.folder.path()), self.files, "a file by {sql}");
        if self.seen.len().is_multiple_of(STATEMENTS_PER_HASH) {
            self.check_bytes();
        }
    }

    fn check_bytes(&self) {
        assert_eq!(
            self.read_hash(),
            self.hash,
            "the bytes of the file have changed"
        );
    }

    fn read_hash(&self) -> Vec<u8> {
        let mut hash = Sha256::new();
        for name in ["graph.db", "graph.db-wal"] {
            hash.update(std::fs::read(self.folder.path().join(name)).unwrap_or_default());
        }
        hash.finalize().to_vec()
    }
}

fn data_version(watcher: &Connection) -> i64 {
    watcher
        .query_row("PRAGMA data_version", [], |row| row.get(0))
        .unwrap()
}

/// The files beside the database and in the folder to which relative paths resolve.
fn files_of(folder: &Path) -> BTreeSet<PathBuf> {
    let here = std::env::current_dir().unwrap();
    [folder, &here]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect()
}

fn find_sql(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_sql(&path, into);
        } else if path.extension().is_some_and(|e| e == "sql") {
            into.push(path);
        }
    }
}

/// Splits a text at semicolons outside of quotes and comments.
fn split(text: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '\'' | '"' | '`' => rest[1..].find(next).map(|at| at + 2),
            '-' if rest.starts_with("--") => rest.find('\n'),
            '/' if rest.starts_with("/*") => rest.find("*/").map(|at| at + 2),
            _ => Some(next.len_utf8()),
        };
        let (piece, after) = rest.split_at(length.unwrap_or(rest.len()));
        rest = after;
        if piece == ";" {
            statements.push(String::new());
        } else if let Some(last) = statements.last_mut() {
            last.push_str(piece);
        }
    }
    statements
}

/// The keyword of a statement; for EXPLAIN and PRAGMA, also the next word.
fn kind_of(sql: &str) -> String {
    let mut rest = sql.trim_start_matches(|c: char| c.is_whitespace() || c == ';' || c == '(');
    while rest.starts_with("--") || rest.starts_with("/*") {
        let end = if rest.starts_with("--") { "\n" } else { "*/" };
        rest = rest.split_once(end).map_or("", |(_, after)| after);
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    }
    let words: Vec<String> = rest
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .filter(|word| word != "query" && word != "plan")
        .take(2)
        .collect();
    match words.first().map(String::as_str) {
        Some("explain" | "pragma") => words.join(" "),
        Some(first) => first.to_owned(),
        None => String::new(),
    }
}

#[test]
fn statements_are_split_and_told_apart() {
    for (text, expected) in [
        ("SELECT 1; SELECT ';'", vec!["SELECT 1", " SELECT ';'"]),
        ("a -- ;\n; b /* ; */", vec!["a -- ;\n", " b /* ; */"]),
        ("'open ; end", vec!["'open ; end"]),
        ("\"é;\" ;`;`", vec!["\"é;\" ", "`;`"]),
    ] {
        assert_eq!(split(text), expected, "{text}");
    }
    for (sql, expected) in [
        ("  SELECT 1", "select"),
        ("-- c\n/* d */ With x AS", "with"),
        ("EXPLAIN QUERY PLAN DELETE FROM t", "explain delete"),
        ("PRAGMA table_info(t)", "pragma table_info"),
        ("((VALUES (1)))", "values"),
        ("", ""),
    ] {
        assert_eq!(kind_of(sql), expected, "{sql}");
    }
}
