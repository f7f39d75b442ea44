//! `pack` and `unpack`, and the small verifier in Python that must agree.

use crate::client::binary;
use crate::kill_resume::verify;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const VERIFIER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/verify_pack.py");
const FLIPS: u64 = 200;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn run(db: &Path, arguments: &[&str]) -> Output {
    binary(db).args(arguments).output().unwrap()
}

fn done(db: &Path, arguments: &[&str]) -> String {
    let out = run(db, arguments);
    assert!(
        out.status.success(),
        "{arguments:?}: {}{}",
        text(&out.stdout),
        text(&out.stderr)
    );
    text(&out.stdout)
}

/// The program in the examples; none where there is no Python.
fn python(pack: &Path, key: Option<&Path>) -> Option<Output> {
    let program = std::env::var_os("LYRA_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    Command::new(program)
        .arg(VERIFIER)
        .arg(pack)
        .args(key)
        .output()
        .ok()
}

/// A graph with a task over a few papers, of which one says its licence.
fn graph(folder: &Path) -> (PathBuf, String) {
    let papers = folder.join("papers");
    std::fs::create_dir(&papers).unwrap();
    for (n, (place, verb)) in [
        ("call centre", "reduced"),
        ("bank", "did not reduce"),
        ("café 😀", "reduced"),
        ("school", "did not reduce"),
    ]
    .into_iter()
    .enumerate()
    {
        let licence = match n {
            0 => {
                "This is an open access article distributed under the terms of the Creative Commons Attribution License."
            }
            _ => "",
        };
        let text = format!(
            "# A {place}\n\nΣ In {} workers of a {place}, standing desks {verb} back pain by 1.{n} points.\n\n{licence}\n",
            100 + n
        );
        std::fs::write(papers.join(format!("{n}.md")), text).unwrap();
    }
    let db = folder.join("desks.db");
    done(
        &db,
        &[
            "research",
            "Standing desks reduce back pain",
            "--corpus",
            papers.to_str().unwrap(),
            "--no-page",
        ],
    );
    let tasks = done(&db, &["tasks"]);
    (db, tasks.split_whitespace().next().unwrap().to_owned())
}

/// `unpack` without a database.
fn unpack(pack: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lyra-mcp"))
        .args(["unpack", "--verify"])
        .arg(pack)
        .args(arguments)
        .env("XDG_CONFIG_HOME", pack.parent().unwrap())
        .env_remove("LYRA_CONFIG")
        .current_dir(pack.parent().unwrap())
        .output()
        .unwrap()
}

/// What was said where a pack is refused.
fn refusal(pack: &Path) -> Option<String> {
    let out = unpack(pack, &[]);
    (!out.status.success()).then(|| text(&out.stderr))
}

/// The commands of docs/replay.md, in their order, in a folder with papers.
#[cfg(unix)]
#[test]
fn the_commands_of_the_page_do_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir().unwrap();
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).unwrap();
    std::fs::write(papers.join("a.md"), "# Call centres\n\nIn 312 call-centre workers, standing desks reduced back pain by 1.3 points.").unwrap();
    std::fs::write(
        papers.join("b.md"),
        "# A bank\n\nIn a trial of 150 bank clerks, standing desks did not reduce back pain.",
    )
    .unwrap();
    std::fs::copy(VERIFIER, folder.path().join("verify_pack.py")).unwrap();
    let page = std::fs::read_to_string(root.join("docs/replay.md")).unwrap();
    let blocks: Vec<&str> = page
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(blocks.len(), 3);
    let bin = Path::new(env!("CARGO_BIN_EXE_lyra-mcp")).parent().unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let places = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&others));
    let path = std::env::join_paths(places).unwrap();
    for block in blocks {
        let tasks = text(&run(&folder.path().join("evidence.db"), &["tasks"]).stdout);
        let task = tasks
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned();
        let out = Command::new("sh")
            .args(["-ec", &block.replace("task_…", &task)])
            .env("PATH", &path)
            .env("XDG_CONFIG_HOME", folder.path())
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(
            out.status.success(),
            "{block}: {}{}",
            text(&out.stdout),
            text(&out.stderr)
        );
    }
}

/// Numbers that look random and are always the same.
fn next(seed: &mut u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// The file of a pack that a byte belongs to, by the headers; none for the archive's own bytes.
fn owner(pack: &[u8], place: usize) -> Option<String> {
    let number = |at: usize| u32::from_le_bytes(pack[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 0;
    while pack[at..].starts_with(b"PK\x03\x04") {
        let named = usize::from(u16::from_le_bytes([pack[at + 26], pack[at + 27]]));
        let (content, size) = (at + 30 + named, number(at + 18));
        if (content..content + size).contains(&place) {
            return Some(text(&pack[at + 30..content]));
        }
        at = content + size;
    }
    None
}

#[test]
fn a_pack_is_the_same_twice_and_any_flipped_byte_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (db, task) = graph(folder.path());
    let (one, two) = (folder.path().join("one.zip"), folder.path().join("two.zip"));
    for place in [&one, &two] {
        done(
            &db,
            &["pack", "--task", &task, "--out", place.to_str().unwrap()],
        );
    }
    let pack = std::fs::read(&one).unwrap();
    assert_eq!(pack, std::fs::read(&two).unwrap());
    let key = folder.path().join("no-config/lyra/pack-key.pem.pub");
    assert!(key.is_file());
    let new = folder.path().join("new.db");
    let said = done(
        &new,
        &[
            "unpack",
            one.to_str().unwrap(),
            "--verify",
            "--key",
            key.to_str().unwrap(),
        ],
    );
    assert!(said.contains(&task), "{said}");
    verify(&new);
    let has_python = python(&one, Some(&key));
    if let Some(out) = &has_python {
        assert!(
            out.status.success(),
            "{}{}",
            text(&out.stdout),
            text(&out.stderr)
        );
    }

    let (mut seed, mut named) = (23, 0);
    let broken = folder.path().join("broken.zip");
    for flip in 0..FLIPS {
        let place = next(&mut seed) as usize % pack.len();
        let mut flipped = pack.clone();
        flipped[place] ^= 1 << (next(&mut seed) % 8);
        std::fs::write(&broken, &flipped).unwrap();
        let said = refusal(&broken).unwrap_or_else(|| panic!("flip {flip} at {place} passed"));
        let owner = owner(&pack, place);
        named += usize::from(owner.is_some());
        // A header's own checksum is taken for the file's; both say so of the same file.
        if let Some(name) = &owner {
            let is_named = said.contains(&format!("error: {name}: "));
            assert!(is_named, "flip {flip} at {place} of {name}: {said}");
        }
        if has_python.is_some() {
            let out = python(&broken, None).unwrap();
            let reason = text(&out.stdout);
            let file = reason.split(": ").next().unwrap_or_default();
            assert!(!out.status.success(), "flip {flip} at {place} passed");
            assert!(said.contains(&format!("error: {file}: ")), "{reason}{said}");
        }
    }
    assert!(named > 0);
}

#[test]
fn texts_go_in_as_their_licences_allow() {
    let folder = tempfile::tempdir().unwrap();
    let (db, task) = graph(folder.path());
    let texts = |arguments: &[&str]| {
        let place = folder.path().join("texts.zip");
        let all = [
            &["pack", "--task", &task, "--out", place.to_str().unwrap()],
            arguments,
        ]
        .concat();
        let said = text(&run(&db, &all).stderr);
        assert!(refusal(&place).is_none(), "{said}");
        let summary: serde_json::Value = serde_json::from_str(
            said.trim()
                .strip_prefix("lyra-mcp: packed ")
                .unwrap_or_else(|| panic!("{said}")),
        )
        .unwrap();
        let count = |name: &str| summary[name].as_u64().unwrap();
        (count("texts_included"), count("texts_withheld"))
    };
    let (all, none) = texts(&["--texts", "all"]);
    assert_eq!((all, none), (4, 0));
    assert_eq!(texts(&["--texts", "none"]), (0, all));
    let (included, withheld) = texts(&[]);
    assert!(
        included + withheld == all && withheld > 0,
        "{included} {withheld}"
    );
    assert_eq!(texts(&["--licence", "file:=CC-BY-4.0"]), (all, 0));
}

#[cfg(unix)]
#[test]
fn keys_are_their_owner_s_alone_and_foreign_archives_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (db, task) = graph(folder.path());
    let (pack, key) = (folder.path().join("a.zip"), folder.path().join("key.pem"));
    let arguments = [
        "pack",
        "--task",
        &task,
        "--out",
        pack.to_str().unwrap(),
        "--key",
        key.to_str().unwrap(),
    ];
    done(&db, &arguments);
    assert_eq!(
        std::fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = run(&db, &arguments);
    assert!(text(&refused.stderr).contains("others may read the key"));

    let other = folder.path().join("other.pem");
    let second = folder.path().join("b.zip");
    done(
        &db,
        &[
            "pack",
            "--task",
            &task,
            "--out",
            second.to_str().unwrap(),
            "--key",
            other.to_str().unwrap(),
        ],
    );
    let public = folder.path().join("key.pem.pub");
    let refused = unpack(&second, &["--key", public.to_str().unwrap()]);
    assert!(
        text(&refused.stderr).contains("was not signed with the key"),
        "{}",
        text(&refused.stderr)
    );

    // Names that lead out, a file twice, and one that nobody signed for.
    let bytes = std::fs::read(&pack).unwrap();
    let place = folder.path().join("c.zip");
    for (from, to) in [
        ("texts.jsonl", "../../a.txt"),
        ("texts.jsonl", "/etc/passwd"),
        ("quotes.jsonl", "sources.json"),
        ("texts.jsonl", "other.jsonl"),
    ] {
        let changed = replaced(&bytes, from.as_bytes(), to.as_bytes());
        std::fs::write(&place, changed).unwrap();
        assert!(refusal(&place).is_some(), "{from} {to}");
    }
    let grown = [&bytes[..], b"more"].concat();
    std::fs::write(&place, grown).unwrap();
    assert!(refusal(&place).unwrap().contains("archive: "));
    std::fs::write(&place, &bytes[..bytes.len() / 2]).unwrap();
    assert!(refusal(&place).is_some());

    // What was unpacked is there whole; a folder with something in it is left alone.
    let out = folder.path().join("out");
    assert!(
        unpack(&pack, &["--out", out.to_str().unwrap()])
            .status
            .success()
    );
    assert!(out.join("evidence.html").is_file() && out.join("ro-crate-metadata.json").is_file());
    let again = unpack(&pack, &["--out", out.to_str().unwrap()]);
    assert!(!again.status.success());
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut changed = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|part| part == from) {
        changed.extend_from_slice(&rest[..at]);
        changed.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    changed.extend_from_slice(rest);
    changed
}
