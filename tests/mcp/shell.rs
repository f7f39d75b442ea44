//! completions, man: for every shell and every command, in a form that the readers parse.

use crate::client::binary;
use std::collections::BTreeSet;
use std::process::{Command, Output};

/// The names of the commands that `--help` lists.
fn commands() -> BTreeSet<String> {
    let help = said(&["--help"]);
    let (_, listed) = help.split_once("\nCommands:\n").unwrap();
    let listed = listed.split("\n\n").next().unwrap();
    let names = listed.lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty()).then(|| name.to_owned())
    });
    let names: BTreeSet<String> = names.collect();
    assert!(names.len() > 20 && names.contains("init"), "{names:?}");
    names
}

fn run(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let out = binary(&folder.path().join("a.db"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    out
}

fn said(arguments: &[&str]) -> String {
    String::from_utf8(run(arguments).stdout).unwrap()
}

#[test]
fn each_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = said(&["completions", shell]);
        for command in commands() {
            assert!(script.contains(&command), "{shell} lacks {command}");
        }
        for flag in ["--project", "--db", "--corpus"] {
            assert!(
                script.contains(flag.trim_start_matches('-')),
                "{shell} lacks {flag}"
            );
        }
        assert!(
            !script.contains("parse-documents"),
            "{shell} shows what is hidden"
        );
        parses(shell, &script);
    }
}

/// Has the shell read the script without running it, where the shell is there.
fn parses(shell: &str, script: &str) {
    let flag = match shell {
        "bash" | "zsh" => "-n",
        "fish" => "--no-execute",
        _ => return,
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), script).unwrap();
    let Ok(out) = Command::new(shell).arg(flag).arg(file.path()).output() else {
        return;
    };
    assert!(
        out.status.success(),
        "{shell}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let page = said(&["man"]);
    for command in commands() {
        let escaped = command.replace('-', "\\-");
        assert!(page.contains(&escaped), "{command} is missing");
    }
    assert!(page.contains(".TH lyra-mcp 1"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    let out = run(&["man", "--out", pages.to_str().unwrap()]);
    assert!(out.stdout.is_empty());
    let mut expected: BTreeSet<String> = commands()
        .iter()
        .map(|name| format!("lyra-mcp-{name}.1"))
        .collect();
    expected.insert("lyra-mcp.1".to_owned());
    let written = std::fs::read_dir(&pages).unwrap();
    let written: BTreeSet<String> = written
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let missing: Vec<_> = expected.difference(&written).collect();
    assert!(missing.is_empty(), "{missing:?} are missing");
    assert!(written.contains("lyra-mcp-models-add.1"), "{written:?}");
    assert!(
        !written.contains("lyra-mcp-parse-documents.1"),
        "{written:?}"
    );
    for name in written {
        let text = std::fs::read_to_string(pages.join(&name)).unwrap();
        assert!(
            text.contains("\n.SH NAME\n") && text.contains("\n.SH SYNOPSIS\n"),
            "{name}"
        );
    }
}

#[test]
fn neither_needs_a_configuration_that_is_right() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lyra.toml"), "psychic = 1\n").unwrap();
    for arguments in [&["completions", "bash"][..], &["man"]] {
        let mut program = binary(&folder.path().join("a.db"));
        let out = program.args(arguments).output().unwrap();
        assert!(
            out.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
    assert!(!folder.path().join("a.db").exists());
}
