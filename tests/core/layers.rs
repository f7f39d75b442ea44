//! Dependencies point one way: a module of lyra-core uses only modules of lower layers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every module of lyra-core and its layer; a new module fails the test until it has one.
const LAYERS: &[(&str, u8)] = &[
    ("error", 0),
    ("model", 0),
    ("clock", 0),
    ("text", 1),
    ("ranking", 1),
    ("confidence", 1),
    ("security", 1),
    ("ports", 1),
    ("storage", 2),
    ("graph", 3),
    ("guard", 3),
    ("vectors", 4),
    ("views", 4),
    ("ingest", 4),
    ("exports", 5),
    ("pipeline", 5),
    ("backends", 5),
    ("check", 6),
    ("jobs", 6),
    ("task", 7),
    ("engine", 8),
];

/// Pairs inside one layer that may not know each other, whatever the layer says.
const STRANGERS: &[(&str, &str)] = &[
    ("pipeline", "backends"),
    ("guard", "graph"),
    ("graph", "guard"),
    ("views", "vectors"),
];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The modules that a source text names through `crate::…`, tests and comments left out.
fn used(source: &str) -> Vec<String> {
    let code: String = source
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n");
    let names = |rest: &str| -> Vec<String> {
        let ident = |s: &str| {
            s.chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect()
        };
        match rest.strip_prefix('{') {
            Some(group) => {
                let inside = group.split('}').next().unwrap_or(group);
                inside.split(',').map(|part| ident(part.trim())).collect()
            }
            None => vec![ident(rest)],
        }
    };
    code.split("crate::").skip(1).flat_map(names).collect()
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
        let first = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy()
            .into_owned();
        let module = first.trim_end_matches(".rs").to_owned();
        if module == "lib" || inside.components().any(|c| c.as_os_str() == "tests") {
            continue;
        }
        let Some(layer) = layers.get(module.as_str()) else {
            faults.push(format!("{} has no layer", inside.display()));
            continue;
        };
        for name in used(&std::fs::read_to_string(&file).unwrap()) {
            let upward = layers.get(name.as_str()).is_some_and(|other| other > layer);
            let strangers = STRANGERS.contains(&(module.as_str(), name.as_str()));
            if upward || strangers {
                faults.push(format!("{} uses crate::{name}", inside.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_scanner_sees_groups_and_paths() {
    let source = "use crate::graph::Reader;\nuse crate::{model::X, jobs};\n// crate::engine\nlet x = crate::text::y();";
    assert_eq!(used(source), ["graph", "model", "jobs", "text"]);
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
