//! docs/configuration.md and docs/errors.md: commands, flags, keys, variables, codes.

use super::{page, said, same, words};
use std::collections::BTreeSet;
use std::path::Path;

const CONFIGURATION: &str = "configuration.md";

/// The commands that the program lists, with those inside them: `models list`.
fn commands() -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let arguments: Vec<&str> = command
            .iter()
            .map(String::as_str)
            .chain(["--help"])
            .collect();
        let help = said(&arguments);
        let listed = help
            .split_once("\nCommands:\n")
            .map_or("", |(_, rest)| rest);
        let listed = listed.split("\n\n").next().unwrap_or_default();
        let inner = listed.lines().filter_map(|line| {
            let name = line.strip_prefix("  ")?.split(' ').next()?;
            (!name.is_empty()).then(|| [command.clone(), vec![name.to_owned()]].concat())
        });
        let inner: Vec<Vec<String>> = inner.collect();
        if inner.is_empty() {
            found.push(command);
        }
        open.extend(inner);
    }
    found
}

fn is_flag(c: char) -> bool {
    c.is_ascii_lowercase() || c == '-'
}

fn is_variable(c: char) -> bool {
    c.is_ascii_uppercase() || c == '_'
}

/// The text under a heading, up to the next one of its rank.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("no section {heading}"));
    rest.split("\n## ").next().unwrap_or_default()
}

#[test]
fn every_command_and_every_flag_is_described() {
    let text = page(CONFIGURATION);
    let mut named = BTreeSet::new();
    for row in section(&text, "Commands")
        .lines()
        .filter(|line| line.starts_with("| `"))
    {
        let usage = row.split('`').nth(1).unwrap();
        let name: Vec<&str> = usage
            .split(' ')
            .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
            .collect();
        named.insert(name.join(" "));
    }
    let commands = commands();
    let there = commands.iter().map(|command| command.join(" ")).collect();
    same("the table of commands", &named, &there);

    let global = words(&said(&["verify", "--help"]), "--", is_flag);
    let mut flags = global.clone();
    for command in &commands {
        let arguments: Vec<&str> = command
            .iter()
            .map(String::as_str)
            .chain(["--help"])
            .collect();
        let own = words(&said(&arguments), "--", is_flag);
        let usage = format!("| `{}", command.join(" "));
        let row = section(&text, "Commands")
            .lines()
            .find(|line| line.starts_with(&usage))
            .unwrap();
        same(
            &usage,
            &words(row, "--", is_flag),
            &own.difference(&global).cloned().collect(),
        );
        flags.extend(own);
    }
    flags.insert("--version".to_owned());
    flags.insert("--help".to_owned());
    same(CONFIGURATION, &words(&text, "--", is_flag), &flags);
}

#[test]
fn every_key_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lyra.toml");
    let known = |text: &str| -> BTreeSet<String> {
        std::fs::write(&file, text).unwrap();
        let complaint = said(&["views", "--config", file.to_str().unwrap()]);
        let (_, list) = complaint
            .split_once("expected one of ")
            .unwrap_or_else(|| panic!("{complaint}"));
        let list = list.lines().next().unwrap();
        list.split(", ")
            .map(|key| key.trim_end_matches([';', '.']).to_owned())
            .collect()
    };
    let mut there = known("psychic = 1\n");
    there.remove("provider");
    let of_provider = known("[provider.openalex]\npsychic = 1\n");
    there.extend(
        of_provider
            .iter()
            .map(|key| format!("[provider.NAME] {key}")),
    );
    let text = page(CONFIGURATION);
    let settings = section(&text, "Settings")
        .lines()
        .filter(|line| line.starts_with("| `"))
        .skip(1);
    let named = settings
        .map(|row| row.split('`').nth(1).unwrap().to_owned())
        .collect();
    same(CONFIGURATION, &named, &there);
}

#[test]
fn every_variable_is_described() {
    let mut there = BTreeSet::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let variable = |name: &str| format!("LYRA_{}", name.to_uppercase());
    let config = std::fs::read_to_string(sources.join("config.rs")).unwrap();
    let (_, keys) = config.split_once("const KEYS").unwrap();
    let keys = keys.split("];").next().unwrap();
    let of_file = ["llm_key_env", "provider"];
    let keys = keys.split('"').skip(1).step_by(2);
    there.extend(keys.filter(|key| !of_file.contains(key)).map(variable));
    for entry in std::fs::read_dir(&sources).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("mod tests").next().unwrap();
            there.extend(words(code, "LYRA_", is_variable));
            let servers = code.split("key(sources, \"").skip(1);
            let servers = servers.filter_map(|rest| rest.split('"').next());
            there.extend(servers.map(|server| variable(server) + "_KEY"));
        }
    }
    let text = page(CONFIGURATION);
    same(CONFIGURATION, &words(&text, "LYRA_", is_variable), &there);
}

/// docs/errors.md has a row for every code and every kind, and the exit codes of the program.
#[test]
fn every_error_code_is_described() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lyra-core/src/error.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let (_, table) = source.split_once("match self {").unwrap();
    let table = table.split("\n        }").next().unwrap();
    let mut there = BTreeSet::new();
    for arm in table.lines().filter(|line| line.contains("=>")) {
        let code = arm.split('"').nth(1).unwrap();
        for kind in arm.split("=>").next().unwrap().split('|') {
            there.insert(format!(
                "{code} {}",
                kind.trim().trim_start_matches("Self::")
            ));
        }
    }
    assert!(there.len() >= 14, "{there:?}");
    let mut named = BTreeSet::new();
    let text = page("errors.md");
    for row in text.lines().filter(|line| line.starts_with("| `")).skip(1) {
        let cells: Vec<&str> = row.split('|').collect();
        let code = cells[1].trim().trim_matches('`');
        for kind in cells[3].split(',') {
            named.insert(format!("{code} {}", kind.trim().trim_matches('`')));
        }
    }
    same("errors.md", &named, &there);
    let exits = section(&text, "Exit codes of the command line");
    for code in ["| 0 |", "| 1 |", "| 2 |", "| 130 |"] {
        assert!(exits.contains(code), "{code}");
    }
}
