//! The pages of the documentation name what there is, all of it and nothing else.

mod commands;
#[cfg(feature = "http")]
mod graph;
#[cfg(feature = "http")]
mod tools;

use crate::client::binary;
use std::collections::BTreeSet;
use std::path::Path;

/// Compares a page that a test writes with the file, or writes the file where the variable
/// `LYRA_UPDATE_DOCS` asks for it.
#[cfg(feature = "http")]
fn compare(file: &str, page: &str) {
    if std::env::var_os("LYRA_UPDATE_DOCS").is_some() {
        return std::fs::write(file, page).unwrap();
    }
    let is = std::fs::read_to_string(file).unwrap_or_default();
    for (nth, (is, should)) in is.lines().zip(page.lines()).enumerate() {
        assert_eq!(
            is,
            should,
            "{file}:{}: LYRA_UPDATE_DOCS=1 writes it anew",
            nth + 1
        );
    }
    assert_eq!(
        is.lines().count(),
        page.lines().count(),
        "{file}: LYRA_UPDATE_DOCS=1 writes it anew"
    );
}

/// A page of the documentation.
fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What the program says to `arguments`, on both of its outputs.
fn said(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = binary(&folder.path().join("a.db"))
        .args(arguments)
        .output()
        .unwrap();
    let both = [out.stdout, out.stderr].concat();
    String::from_utf8(both).unwrap()
}

/// The words of a text that begin with `prefix` and go on with what `goes_on` allows.
fn words(text: &str, prefix: &str, goes_on: fn(char) -> bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(prefix) {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || "-_".contains(c)) {
            continue;
        }
        let rest = &text[at + prefix.len()..];
        let end = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
        let word = rest[..end].trim_end_matches(['-', '_']);
        if !word.is_empty() {
            found.insert(format!("{prefix}{word}"));
        }
    }
    found
}

/// Asserts that both sets are the same, naming what is missing on each side.
fn same(page: &str, named: &BTreeSet<String>, there: &BTreeSet<String>) {
    let missing: Vec<_> = there.difference(named).collect();
    let invented: Vec<_> = named.difference(there).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "{page} lacks {missing:?} and invents {invented:?}"
    );
}
