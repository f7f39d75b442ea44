//! The files of lyra-core import each other in one direction: no circle leads back to a file.

use crate::layers::rust_files;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module, or an item in one: the names from the crate's root on.
type Name = Vec<String>;

/// Files and the files that they import from, with a name that they import.
type Edges = BTreeMap<(Name, Name), String>;

/// What the text of one file says.
#[derive(Default)]
struct Seen {
    /// What `use` brings into a module: the module, the name there, and what it stands for.
    imports: Vec<(Name, String, Name)>,
    /// Paths in code, each with its module.
    paths: BTreeSet<(Name, Name)>,
    /// Modules that are compiled for tests alone.
    of_tests: Vec<Name>,
}

impl Seen {
    /// Reads the tokens of a module; strings and comments are none.
    fn read(&mut self, module: &[String], tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Punct(_) if is_of_tests(&tokens[at..]) => {
                    let end = end_of_item(&tokens, at);
                    if let Some(name) = module_at(&tokens[at..end]) {
                        self.of_tests.push(below(module, &name));
                    }
                    at = end;
                    continue;
                }
                TokenTree::Ident(word) if word == "use" => {
                    let end = end_of_item(&tokens, at);
                    self.read_use(module, &tokens[at + 1..end], &[]);
                    at = end;
                    continue;
                }
                // What may see an item is no import.
                TokenTree::Ident(word) if word == "pub" => {
                    let is_group = matches!(tokens.get(at + 1), Some(TokenTree::Group(_)));
                    at += 1 + usize::from(is_group);
                    continue;
                }
                TokenTree::Ident(word) if word == "mod" => {
                    let inline = &tokens[at..];
                    if let [_, TokenTree::Ident(name), TokenTree::Group(body), ..] = inline {
                        self.read(&below(module, &name.to_string()), body.stream());
                        at += 2;
                    }
                }
                TokenTree::Ident(_) => {
                    let (path, next) = path_at(&tokens, at);
                    if path.len() > 1 {
                        self.paths.insert((module.to_vec(), path));
                    }
                    at = next;
                    continue;
                }
                TokenTree::Group(group) => self.read(module, group.stream()),
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads what stands behind `use`, or between the braces of one.
    fn read_use(&mut self, module: &[String], tokens: &[TokenTree], before: &[String]) {
        for one in tokens.split(|token| is_sign(token, ',') || is_sign(token, ';')) {
            if one.is_empty() {
                continue;
            }
            let (path, next) = path_at(one, 0);
            let mut full = [before, &path].concat();
            if let Some(TokenTree::Group(group)) = one.get(next) {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                self.read_use(module, &inside, &full);
                continue;
            }
            if full.len() > 1 && full.last().is_some_and(|name| name == "self") {
                full.pop();
            }
            let renamed = one[next..].iter().filter_map(ident).nth(1);
            let name = renamed.or_else(|| full.last().cloned());
            if let Some(name) = name {
                self.imports.push((module.to_vec(), name, full));
            }
        }
    }
}

/// The token behind the item that begins here: behind its `;` or its braces, but not those of a `use`.
fn end_of_item(tokens: &[TokenTree], at: usize) -> usize {
    let is_end = |place: &usize| match &tokens[*place] {
        TokenTree::Group(group) => {
            group.delimiter() == Delimiter::Brace && !is_sign(&tokens[*place - 1], ':')
        }
        other => is_sign(other, ';'),
    };
    let end = (at + 1..tokens.len()).find(is_end);
    end.map_or(tokens.len(), |end| end + 1)
}

/// Whether an item begins here that is compiled for tests alone.
fn is_of_tests(tokens: &[TokenTree]) -> bool {
    let [sign, TokenTree::Group(attribute), ..] = tokens else {
        return false;
    };
    is_sign(sign, '#') && attribute.to_string().replace(' ', "") == "[cfg(test)]"
}

/// The name behind the first `mod`.
fn module_at(tokens: &[TokenTree]) -> Option<String> {
    let at = tokens
        .iter()
        .position(|token| matches!(token, TokenTree::Ident(word) if word == "mod"))?;
    tokens.get(at + 1).and_then(ident)
}

/// The names that `::` joins from here on, and the token behind them.
fn path_at(tokens: &[TokenTree], mut at: usize) -> (Name, usize) {
    let mut path = Name::new();
    while let Some(name) = tokens.get(at).and_then(ident) {
        path.push(name);
        at += 1;
        let joins = |at: usize| tokens.get(at).is_some_and(|token| is_sign(token, ':'));
        if !joins(at) || !joins(at + 1) {
            break;
        }
        at += 2;
    }
    (path, at)
}

fn ident(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    }
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn below(module: &[String], name: &str) -> Name {
    [module, &[name.to_owned()]].concat()
}

/// All files, by the module that each of them is.
struct Crate {
    files: BTreeSet<Name>,
    seen: BTreeMap<Name, Seen>,
    imports: BTreeMap<(Name, String), Name>,
}

impl Crate {
    fn of(texts: &[(Name, String)]) -> Self {
        let mut seen = BTreeMap::new();
        for (module, text) in texts {
            let mut one = Seen::default();
            one.read(module, text.parse().unwrap());
            seen.insert(module.clone(), one);
        }
        let of_tests: Vec<Name> = seen.values().flat_map(|one| one.of_tests.clone()).collect();
        seen.retain(|module, _| !of_tests.iter().any(|tests| module.starts_with(tests)));
        let mut all = Self {
            files: seen.keys().cloned().collect(),
            seen,
            imports: BTreeMap::new(),
        };
        for (module, name, path) in all.seen.values().flat_map(|one| &one.imports) {
            if let Some(path) = all.absolute(module, path) {
                all.imports.insert((module.clone(), name.clone()), path);
            }
        }
        all
    }

    /// A path from the root on, however it is written; none if it leads out of the crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Name> {
        let mut from = module.to_vec();
        let mut rest = path;
        match path[0].as_str() {
            "crate" => (from, rest) = (Name::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    from.pop();
                    rest = &rest[1..];
                }
            }
            name => {
                if let Some(path) = self.imports.get(&(from.clone(), name.to_owned())) {
                    return Some([path, &rest[1..]].concat());
                }
                if !self.files.contains(&below(&from, name)) {
                    return None;
                }
            }
        }
        Some([&from, rest].concat())
    }

    /// The file in which a name is defined, behind all re-exports; none for a module itself.
    fn home(&self, name: &[String]) -> Option<Name> {
        let mut name = name.to_vec();
        for _ in 0..8 {
            let is_file = |length: &usize| self.files.contains(&name[..*length]);
            let length = (0..=name.len()).rev().find(is_file)?;
            let (file, rest) = name.split_at(length);
            let first = rest.first()?;
            match self.imports.get(&(file.to_vec(), first.clone())) {
                Some(path) if *path != name => name = [path, &rest[1..]].concat(),
                _ => return Some(file.to_vec()),
            }
        }
        None
    }

    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (file, seen) in &self.seen {
            let imported = seen.imports.iter().map(|(module, _, path)| (module, path));
            let named = seen.paths.iter().map(|(module, path)| (module, path));
            for (module, path) in imported.chain(named) {
                let path = self.absolute(module, path);
                let Some((path, home)) = path.and_then(|p| self.home(&p).map(|h| (p, h))) else {
                    continue;
                };
                if home != *file {
                    edges.insert((file.clone(), home), path.join("::"));
                }
            }
        }
        edges
    }
}

/// What is left when nothing is that imports nothing or that nothing imports: circles, and what lies
/// between them.
fn circles(mut edges: Edges) -> Vec<String> {
    loop {
        let importing: BTreeSet<Name> = edges.keys().map(|(from, _)| from.clone()).collect();
        let imported: BTreeSet<Name> = edges.keys().map(|(_, to)| to.clone()).collect();
        let before = edges.len();
        edges.retain(|(from, to), _| imported.contains(from) && importing.contains(to));
        if edges.len() == before {
            break;
        }
    }
    let told = edges
        .iter()
        .map(|((from, to), name)| format!("{} -> {}: {name}", from.join("::"), to.join("::")));
    told.collect()
}

/// The module that a file is, from its path below `src`.
fn module_of(inside: &Path) -> Name {
    let inside = inside.with_extension("");
    let mut module: Name = inside
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect();
    if module.last().is_some_and(|name| name == "mod") || module == ["lib"] {
        module.pop();
    }
    module
}

#[test]
fn no_circle_of_imports_leads_back_to_a_file() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    // The scanner would leave these out, too, but only after reading them.
    let is_of_tests = |file: &Path| {
        file.iter()
            .any(|part| part == "tests" || part == "tests.rs")
    };
    files.retain(|file| !is_of_tests(file.strip_prefix(&source).unwrap()));
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        (module_of(file.strip_prefix(&source).unwrap()), text)
    };
    let texts: Vec<(Name, String)> = files.iter().map(read).collect();
    let edges = Crate::of(&texts).edges();
    // A scanner that sees nothing finds no circle.
    assert!(edges.len() > 1000, "{}", edges.len());
    let circles = circles(edges);
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn the_scanner_follows_imports_to_the_file_that_defines_an_item() {
    let texts = [
        ("", "pub use a::{self, One, deep::Two as Second}; mod b;"),
        (
            "a",
            "//! crate::b::In\nmod deep; pub use deep::One; pub(in crate::b) struct Own; #[cfg(test)] mod tests;",
        ),
        (
            "a::deep",
            "pub struct One; const S: &str = \"crate::b::X\";",
        ),
        ("a::tests", "use crate::b::X;"),
        (
            "b",
            "use crate::{One, a}; use std::fmt; mod inner { use super::super::a::Own; } fn f() { a::deep::g(); \
             crate::Second::new() } #[cfg(test)] mod tests { use crate::c::X; }",
        ),
        ("c", "use super::d::X; fn f() { fmt::g() }"),
        ("d", "fn f(x: crate::c::Y) {}"),
    ];
    let name = |module: &str| -> Name {
        let parts = module.split("::").filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let texts = texts.map(|(module, text)| (name(module), text.to_owned()));
    let edges = Crate::of(&texts).edges();
    let told: Vec<String> = edges
        .keys()
        .map(|(from, to)| format!("{} {}", from.join("::"), to.join("::")))
        .collect();
    let expected = [" a::deep", "a a::deep", "b a", "b a::deep", "c d", "d c"];
    assert_eq!(told, expected);
    assert_eq!(circles(edges), ["c -> d: d::X", "d -> c: c::Y"]);
}
