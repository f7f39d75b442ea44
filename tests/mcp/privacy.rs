//! What the machine's other users, its terminals and its reference managers get to see.

use crate::client::binary;
use serde_json::json;
use std::path::Path;
use std::process::Output;

fn run(db: &Path, arguments: &[&str]) -> Output {
    binary(db).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Characters that nobody may be shown, each in the middle of a word.
fn hostile() -> Vec<String> {
    let one = [
        '\u{0}', '\u{7}', '\u{8}', '\u{b}', '\u{c}', '\u{1b}', '\u{7f}', '\u{80}', '\u{84}',
    ]
    .into_iter()
    .chain([
        '\u{85}', '\u{8d}', '\u{90}', '\u{98}', '\u{9b}', '\u{9c}', '\u{9d}', '\u{9f}',
    ])
    .chain(['\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'])
    .chain('\u{202a}'..='\u{202e}')
    .chain('\u{2066}'..='\u{206f}')
    .chain([
        '\u{fff9}',
        '\u{fffa}',
        '\u{fffb}',
        '\u{e0001}',
        '\u{e0041}',
        '\u{e007f}',
    ])
    .map(String::from);
    let sequences = [
        "\u{1b}[2J",
        "\u{1b}]0;t\u{7}",
        "\u{1b}]8;;http://e.org\u{1b}\\",
        "\u{9b}31m",
        "\u{1b}P\u{1b}\\",
        "\rfake",
        "\u{202e}fdp.exe",
        "\u{2067}abc\u{2069}",
    ];
    one.chain(sequences.map(str::to_owned)).collect()
}

/// What [`hostile`] is made of, save the tabs and line ends that a file is made of.
fn is_harmful(c: char) -> bool {
    let of_lines = matches!(c, '\n' | '\t');
    !of_lines
        && (c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'))
}

#[test]
fn titles_and_names_are_harmless_wherever_they_are_shown() {
    let hostile = hostile();
    assert!(hostile.len() >= 50, "{}", hostile.len());
    // A query reads twenty pages.
    for some in hostile.chunks(16) {
        assert_harmless(some);
    }
}

fn assert_harmless(hostile: &[String]) {
    let folder = tempfile::tempdir().unwrap();
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).unwrap();
    for (nth, harm) in hostile.iter().enumerate() {
        let name = format!("{nth}.txt");
        let said = format!(
            "Trial {nth}\n\nIn {} adults of trial {nth}, coffee{harm}x increased blood pressure by {nth}.5 units.",
            100 + nth
        );
        std::fs::write(papers.join(&name), said).unwrap();
        let about = json!({
            "title": format!("Coffee {harm}and{harm} blood pressure, trial {nth}"),
            "authors": [format!("Ann{harm}e Le{harm}e{nth}"), format!("{harm}Institute of {harm}Trials")],
            "venue": format!("Jour{harm}nal"),
            "year": 2000 + nth % 20,
            "doi": format!("10.1234/trial.{nth}"),
        });
        std::fs::write(papers.join(name + ".meta.json"), about.to_string()).unwrap();
    }
    let hypothesis = "Coffee increases\u{202e} blood\u{9b}31m pressure";
    let db = folder.path().join("evidence.db");
    let papers = papers.to_str().unwrap();
    let research = ["research", hypothesis, "--corpus", papers];
    let mut shown: Vec<(String, String)> = Vec::new();
    let mut note = |what: &str, out: Output| {
        assert!(out.status.success(), "{what}: {}", text(&out.stderr));
        shown.push((format!("{what}, output"), text(&out.stdout)));
        shown.push((format!("{what}, log"), text(&out.stderr)));
    };
    note("research", run(&db, &research));
    note("tasks", run(&db, &["tasks"]));
    note("tasks as JSON", run(&db, &["tasks", "--format", "json"]));
    note("diff", run(&db, &["diff", "--since", "2020-01-01"]));
    note("doctor", run(&db, &["doctor", "--corpus", papers]));
    note("verify", run(&db, &["verify"]));
    for format in ["markdown", "bibtex", "ris", "html"] {
        let out = folder.path().join(format);
        let arguments = ["export", "--format", format, "--out", out.to_str().unwrap()];
        note(format, run(&db, &arguments));
        let file = std::fs::read_to_string(&out).unwrap();
        // The titles are there, with what a reader reads of them.
        let titles = file.matches("blood pressure, trial").count();
        assert!(titles * 2 >= hostile.len(), "{format}: {titles}");
        let file = if format == "ris" {
            file.replace("\r\n", "\n")
        } else {
            file
        };
        let page = include_str!("../../lyra-core/src/export/page/page.html");
        let own: Vec<char> = page.chars().filter(|c| is_harmful(*c)).collect();
        let found = file
            .chars()
            .filter(|c| is_harmful(*c) && !(format == "html" && own.contains(c)));
        assert_eq!(found.collect::<String>(), "", "{format}");
    }
    for (what, text) in shown {
        let found = text.lines().find(|line| line.contains(is_harmful));
        assert_eq!(found, None, "{what}");
    }
}

#[cfg(unix)]
#[test]
fn the_database_is_its_owner_s_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lyra-mcp"));
        command.env_clear().env("HOME", home.path());
        command.env("XDG_DATA_HOME", home.path().join("data"));
        command.args(arguments).output().unwrap()
    };
    let folder = home.path().join("data/lyra");
    let db = folder.join("lyra.db");
    let text_of = |out: &Output| format!("{}{}", text(&out.stdout), text(&out.stderr));
    let import = run(&["import", "-"]);
    assert!(import.status.success(), "{}", text_of(&import));
    let doctor = run(&["doctor"]);
    assert_eq!(
        (mode(&folder), mode(&db)),
        (0o700, 0o600),
        "{}",
        text_of(&doctor)
    );
    assert!(
        !text_of(&doctor).contains("other users of this machine"),
        "{}",
        text_of(&doctor)
    );
    // What SQLite puts beside it, while it is open.
    let mut client = crate::client::Client::connect(&db, &[]);
    client.ok(
        "create_task",
        json!({"hypothesis": "Coffee increases blood pressure"}),
    );
    for beside in ["lyra.db-wal", "lyra.db-shm"] {
        assert_eq!(mode(&folder.join(beside)), 0o600, "{beside}");
    }
    drop(client);
    // One that was made otherwise stays as it is, and is named.
    std::fs::set_permissions(&db, PermissionsExt::from_mode(0o644)).unwrap();
    for arguments in [&["doctor"][..], &["serve"]] {
        let said = text_of(&run(arguments));
        assert!(
            said.contains("has the mode 0644") && said.contains("chmod 600"),
            "{said}"
        );
    }
    assert_eq!(mode(&db), 0o644);
}
