//! Dependencies point one way: a module of lyra-core uses only modules of lower layers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every room of lyra-core and its layer; a new one fails the test until it has one.
const LAYERS: &[(&str, u8)] = &[
    ("error", 0),
    ("clock", 0),
    ("store::model", 0),
    ("store::text", 1),
    ("store::ranking", 1),
    ("store::confidence", 1),
    ("security", 1),
    ("ports", 1),
    ("store::database", 2),
    ("store::graph", 3),
    ("store::guard", 3),
    ("store::vectors", 4),
    ("store::views", 4),
    ("store::diff", 4),
    ("research::ingest", 4),
    ("export", 5),
    ("research::pipeline", 5),
    ("documents", 5),
    ("models", 5),
    ("web", 5),
    ("check", 6),
    ("record", 6),
    ("pack", 7),
    ("research::jobs", 6),
    ("research::task", 7),
    ("engine", 8),
];

/// Modules whose children are rooms.
const HOUSES: &[&str] = &["store", "research"];

/// Pairs inside one layer that may not know each other, whatever the layer says.
const STRANGERS: &[(&str, &str)] = &[
    ("research::pipeline", "documents"),
    ("research::pipeline", "models"),
    ("research::pipeline", "web"),
    ("store::guard", "store::graph"),
    ("store::graph", "store::guard"),
    ("store::views", "store::vectors"),
];

pub(crate) fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The room that a path inside the crate leads to: `store::graph` of `store::graph::Reader`.
fn room(path: &str) -> String {
    let ident = |s: &str| -> String {
        s.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let first = ident(path);
    match path[first.len()..].strip_prefix("::") {
        Some(rest) if HOUSES.contains(&first.as_str()) => format!("{first}::{}", ident(rest)),
        _ => first,
    }
}

/// The rooms that a source text names through `crate::…`, tests and comments left out.
fn used(source: &str) -> Vec<String> {
    let code: String = source
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let names = |path: &str| -> Vec<String> {
        let (house, group) = match path.split_once("::{") {
            Some((house, group)) if HOUSES.contains(&house) => (format!("{house}::"), Some(group)),
            _ => (String::new(), path.strip_prefix('{')),
        };
        let Some(group) = group else {
            return vec![room(path)];
        };
        let inside = group.split('}').next().unwrap_or(group);
        inside
            .split(',')
            .map(|part| room(&format!("{house}{}", part.trim())))
            .collect()
    };
    // `pub(in crate::store)` uses nothing.
    let code = code.replace("(in crate::", "(");
    code.split("crate::").skip(1).flat_map(names).collect()
}

/// The room of a file, from its path below `src`; none for a file that only lists modules.
fn room_of(inside: &Path) -> Option<String> {
    let parts: Vec<_> = inside
        .iter()
        .map(|part| part.to_str().unwrap().trim_end_matches(".rs"))
        .collect();
    match parts.as_slice() {
        ["lib"] => None,
        [house, "mod"] if HOUSES.contains(house) => None,
        [house, room, ..] if HOUSES.contains(house) => Some(format!("{house}::{room}")),
        [room, ..] => Some((*room).to_owned()),
        [] => None,
    }
}

#[test]
fn modules_use_only_lower_layers() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let layers: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let mut faults = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&source).unwrap();
        let Some(module) = room_of(inside) else {
            continue;
        };
        if inside.components().any(|c| c.as_os_str() == "tests") {
            continue;
        }
        let Some(layer) = layers.get(module.as_str()) else {
            faults.push(format!("{} has no layer", inside.display()));
            continue;
        };
        for name in used(&std::fs::read_to_string(&file).unwrap()) {
            let upward = layers.get(name.as_str()).is_some_and(|other| other > layer);
            let strangers = STRANGERS.contains(&(module.as_str(), name.as_str()));
            if upward || strangers || HOUSES.contains(&name.as_str()) {
                faults.push(format!("{} uses crate::{name}", inside.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whether a file is compiled for tests alone.
fn is_of_tests(inside: &Path) -> bool {
    let names = [
        "tests",
        "testing",
        "lives",
        "jumps.rs",
        "milestones.rs",
        "tests.rs",
    ];
    inside
        .iter()
        .any(|part| names.contains(&part.to_str().unwrap()))
}

#[test]
fn sqlite_is_named_in_the_store_alone() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    for other in ["../lyra-mcp/src", "../lyra-py/src"] {
        rust_files(&source.join("..").join(other), &mut files);
    }
    let (inside, outside): (Vec<PathBuf>, Vec<PathBuf>) = files
        .into_iter()
        .filter(|file| !is_of_tests(file))
        .partition(|file| file.starts_with(source.join("store")));
    let names_sqlite = |file: &&PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        code.contains("rusqlite")
    };
    assert!(inside.iter().filter(names_sqlite).count() > 50);
    let faults: Vec<_> = outside.iter().filter(names_sqlite).collect();
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn the_scanner_sees_groups_and_paths() {
    let source = "use crate::store::graph::Reader;\nuse crate::{store::model::X, check};\n// crate::engine\nlet x = crate::security::y();\nuse crate::store::{views, guard::A};";
    assert_eq!(
        used(source),
        [
            "store::graph",
            "store::model",
            "check",
            "security",
            "store::views",
            "store::guard"
        ]
    );
}

/// Nobody reads a longer file from its beginning to its end.
const MAX_LINES: usize = 600;

#[test]
fn files_are_short_enough_to_be_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in [
        "lyra-core/src",
        "lyra-mcp/src",
        "lyra-py/src",
        "tests",
        "examples",
        "benches",
    ] {
        rust_files(&root.join(folder), &mut files);
    }
    assert!(files.len() > 200, "{}", files.len());
    let lines = |file: &PathBuf| std::fs::read_to_string(file).unwrap().lines().count();
    let long: Vec<_> = files
        .iter()
        .filter(|file| lines(file) > MAX_LINES)
        .collect();
    assert!(long.is_empty(), "longer than {MAX_LINES} lines: {long:?}");
}

/// The numbers of the lines with `unsafe` code of which nothing close above says why it is sound.
fn unexplained(source: &str) -> Vec<usize> {
    let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
    let is_unsafe = |line: &str| {
        ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
            .iter()
            .any(|kind| line.contains(kind))
            && !line.starts_with("//")
            // A type promises nothing by itself.
            && !line.contains(": unsafe extern")
            && !line.contains("= unsafe extern")
    };
    let is_explained = |index: usize| {
        lines[index.saturating_sub(12)..index]
            .iter()
            .rev()
            // Not the reason of what stands before.
            .take_while(|line| !line.starts_with('}') && !line.is_empty())
            .any(|line| line.starts_with("// SAFETY: ") || line.starts_with("/// # Safety"))
    };
    (0..lines.len())
        .filter(|index| {
            let continues = *index > 0 && lines[index - 1].ends_with('=');
            is_unsafe(lines[*index]) && !continues && !is_explained(*index)
        })
        .map(|index| index + 1)
        .collect()
}

/// Clippy asks this of blocks only, and not of what macros make.
#[test]
fn everything_unsafe_says_why_it_is_sound() {
    assert_eq!(
        unexplained("// SAFETY: so\nunsafe { x() }\n\nunsafe { y() }"),
        [4]
    );
    assert_eq!(
        unexplained("type F =\n    unsafe extern \"C\" fn();\nunsafe fn f() {}"),
        [3]
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in [
        "lyra-core",
        "lyra-mcp",
        "lyra-py",
        "tests",
        "examples",
        "benches",
        "fuzz/fuzz_targets",
    ] {
        rust_files(&root.join(folder), &mut files);
    }
    let mut missing = Vec::new();
    for file in files
        .iter()
        .filter(|file| !file.ends_with("tests/core/layers.rs"))
    {
        let source = std::fs::read_to_string(file).unwrap();
        missing.extend(
            unexplained(&source)
                .into_iter()
                .map(|line| format!("{}:{line}", file.display())),
        );
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
