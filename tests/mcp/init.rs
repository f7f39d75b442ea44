//! init, doctor: what is written into the configuration of a client, and the next step.

use crate::client::binary;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A home folder of its own, as the variables say it, and a database outside of it.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join("home").join(below)
    }

    fn db(&self) -> PathBuf {
        self.folder.path().join("a.db")
    }

    /// The program in this home; `--db` is given.
    fn program(&self) -> Command {
        self.at_home(binary(&self.db()))
    }

    fn at_home(&self, mut program: Command) -> Command {
        program
            .env("HOME", self.path(""))
            .env("USERPROFILE", self.path(""))
            .env("APPDATA", self.path("AppData/Roaming"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .env_remove("CODEX_HOME");
        program
    }

    /// Exit code, standard output and standard error.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        said(self.program().args(arguments))
    }

    /// The same for a command that must not fail.
    fn ok(&self, arguments: &[&str]) -> (String, String) {
        let (code, out, err) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {err}");
        (out, err)
    }
}

fn said(program: &mut Command) -> (i32, String, String) {
    let out = program.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        out.status.code().unwrap(),
        text(out.stdout),
        text(out.stderr),
    )
}

fn put(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn json_of(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Where a client has its file, under which key, and whether entries have a type.
#[cfg(target_os = "linux")]
const CLIENTS: [(&str, &str, &str, bool); 5] = [
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "mcpServers",
        false,
    ),
    ("claude-code", ".claude.json", "mcpServers", true),
    ("cursor", ".cursor/mcp.json", "mcpServers", false),
    ("vscode", ".config/Code/User/mcp.json", "servers", true),
    ("zed", ".config/zed/settings.json", "context_servers", false),
];

#[cfg(target_os = "linux")]
#[test]
fn a_file_is_shown_then_written_once_and_starts_the_server() {
    let home = Home::new();
    for (client, place, key, typed) in CLIENTS {
        let file = home.path(place);
        let (shown, said) = home.ok(&["init", client]);
        assert!(
            shown.starts_with(file.to_str().unwrap()),
            "{client}: {shown}"
        );
        assert!(shown.contains("+     \"lyra\": {"), "{client}: {shown}");
        assert!(said.contains("nothing was written"), "{client}: {said}");
        assert!(!file.exists(), "{client}: a dry run writes nothing");

        let (written, _) = home.ok(&["init", client, "--write"]);
        assert_eq!(written, shown, "{client}");
        let entry = &json_of(&file)[key]["lyra"];
        assert_eq!(entry["args"], json!(["--db", home.db()]), "{client}");
        assert_eq!(
            entry.get("type"),
            typed.then_some(&json!("stdio")),
            "{client}"
        );
        let text = fs::read(&file).unwrap();
        let (again, said) = home.ok(&["init", client, "--write"]);
        assert_eq!(again.lines().count(), 1, "{client}: {again}");
        assert!(said.contains("already"), "{client}: {said}");
        assert_eq!(fs::read(&file).unwrap(), text, "{client}");
        assert!(!file.with_extension("json.bak").exists(), "{client}");

        // What was written starts this program.
        let mut version = Command::new(entry["command"].as_str().unwrap());
        let version = version.arg("--version").output().unwrap();
        assert!(version.stdout.starts_with(b"lyra-mcp "), "{client}");
    }
    let (list, _) = home.ok(&["init"]);
    for (client, place, ..) in CLIENTS {
        let line = format!("{client}\tconfigured\t{}", home.path(place).display());
        assert!(list.lines().any(|one| one == line), "{list}");
    }
    assert!(list.contains("codex\tnot found\t"), "{list}");
}

#[test]
fn a_project_has_a_file_of_its_own() {
    let home = Home::new();
    let project = home.path("work");
    fs::create_dir(&project).unwrap();
    let papers = home.path("papers");
    fs::create_dir(&papers).unwrap();
    for (client, place) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("zed", ".zed/settings.json"),
        ("codex", ".codex/config.toml"),
    ] {
        let arguments = [
            "init",
            client,
            "--project",
            project.to_str().unwrap(),
            "--write",
        ];
        let more = [
            "--corpus",
            papers.to_str().unwrap(),
            "--tools",
            "all",
            "--read-only",
        ];
        home.ok(&[arguments.as_slice(), &more].concat());
        let text = fs::read_to_string(project.join(place)).unwrap();
        let args = json!([
            "--db",
            home.db(),
            "--corpus",
            papers,
            "--tools",
            "all",
            "--read-only"
        ]);
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        assert!(
            plain(&text).contains(&plain(&args.to_string())),
            "{client}: {text}"
        );
    }
    let (code, _, said) = home.run(&[
        "init",
        "claude-desktop",
        "--project",
        project.to_str().unwrap(),
    ]);
    assert_eq!(code, 1);
    assert!(said.contains("no configuration for a project"), "{said}");
}

#[test]
fn what_is_in_a_file_stays_and_every_copy_is_kept() {
    let home = Home::new();
    let file = home.path(".cursor/mcp.json");
    let before = "{\n    \"theme\": \"x\",\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"y\"\n        }\n    },\n    \"a\": 1\n}\n";
    put(&file, before);
    let earlier = home.path(".cursor/mcp.json.bak");
    put(&earlier, "an earlier copy");
    let (_, said) = home.ok(&["init", "cursor", "--write"]);
    assert!(said.contains("mcp.json.bak.2"), "{said}");
    assert_eq!(fs::read_to_string(&earlier).unwrap(), "an earlier copy");
    let copy = home.path(".cursor/mcp.json.bak.2");
    assert_eq!(fs::read_to_string(copy).unwrap(), before);
    let after = fs::read_to_string(&file).unwrap();
    assert!(
        after.starts_with("{\n    \"theme\": \"x\",\n    \"mcpServers\": {\n        \"other\"")
    );
    assert!(after.ends_with("    \"a\": 1\n}\n"), "{after}");

    // Another place of the database changes the entry, and nothing that was added to it.
    let mut changed = json_of(&file);
    changed["mcpServers"]["lyra"]["env"] = json!({"LYRA_LLM": "ollama:x"});
    put(&file, &serde_json::to_string_pretty(&changed).unwrap());
    home.ok(&["init", "cursor", "--write", "--read-only"]);
    let entry = &json_of(&file)["mcpServers"]["lyra"];
    assert_eq!(entry["args"], json!(["--db", home.db(), "--read-only"]));
    assert_eq!(entry["env"], json!({"LYRA_LLM": "ollama:x"}));
    assert!(home.path(".cursor/mcp.json.bak.3").exists());
}

#[test]
fn a_table_is_appended_to_codex_and_comments_stay() {
    let home = Home::new();
    let file = home.path(".codex/config.toml");
    put(
        &file,
        "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n",
    );
    home.ok(&["init", "codex", "--write"]);
    let after = fs::read_to_string(&file).unwrap();
    assert!(
        after.starts_with("# mine\nmodel = \"x\"\n\n[mcp_servers.other]\n"),
        "{after}"
    );
    let table: toml::Table = after.parse().unwrap();
    let entry = &table["mcp_servers"]["lyra"];
    assert_eq!(
        entry["args"].as_array().unwrap()[1].as_str(),
        home.db().to_str()
    );
    let (_, said) = home.ok(&["init", "codex", "--write"]);
    assert!(said.contains("already"), "{said}");
}

#[test]
fn a_file_that_cannot_be_kept_is_refused_and_stays_as_it_is() {
    let home = Home::new();
    for (client, place, text, words) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": ",
            "is not valid JSON",
        ),
        ("cursor", ".cursor/mcp.json", "[1]", "holds no JSON object"),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": 1}",
            "that is no object",
        ),
        (
            "claude-code",
            ".claude.json",
            "{ // mine\n}",
            "has comments",
        ),
        (
            "codex",
            ".codex/config.toml",
            "a = = 1",
            "is not valid TOML",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.lyra]\ncommand = \"z\"\n",
            "has another",
        ),
    ] {
        let file = home.path(place);
        put(&file, text);
        for write in [&[][..], &["--write"]] {
            let (code, _, said) = home.run(&[&["init", client], write].concat());
            assert_eq!(code, 1, "{client}: {said}");
            assert!(
                said.contains(words) && said.contains("nothing was written"),
                "{said}"
            );
            let db = home.db();
            assert!(
                said.contains(db.to_str().unwrap()),
                "the entry to paste: {said}"
            );
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{client}");
        }
        let folder = fs::read_dir(file.parent().unwrap()).unwrap();
        let names: Vec<_> = folder.map(|entry| entry.unwrap().file_name()).collect();
        assert!(
            !names
                .iter()
                .any(|name| name.to_string_lossy().contains(".bak")),
            "{names:?}"
        );
    }
    for (arguments, code, words) in [
        (vec!["init", "notepad"], 2, "notepad"),
        (vec!["init", "--write"], 2, "CLIENT"),
        (
            vec!["init", "cursor", "--project", "/no/such"],
            1,
            "is not a folder",
        ),
        (
            vec!["init", "zed", "--corpus", "/no/such"],
            1,
            "there is no folder",
        ),
    ] {
        let (is, _, said) = home.run(&arguments);
        assert_eq!(is, code, "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let real = home.path("dotfiles/mcp.json");
    put(&real, "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.path(".cursor")).unwrap();
    let link = home.path(".cursor/mcp.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    home.ok(&["init", "cursor", "--write"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(json_of(&real)["mcpServers"]["lyra"].is_object());
    for file in [&real, &home.path("dotfiles/mcp.json.bak")] {
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{}", file.display());
    }
}

/// The last line of `doctor`, which has a folder of documents.
fn next(home: &Home) -> String {
    let papers = home.path("papers");
    put(
        &papers.join("a.md"),
        "# Tea\n\nTea lowers blood pressure in 90 adults.\n",
    );
    let (out, _) = home.ok(&["doctor", "--corpus", papers.to_str().unwrap()]);
    let line = out.lines().last().unwrap().to_owned();
    assert!(line.starts_with("Next: "), "{out}");
    line
}

#[test]
fn doctor_names_the_next_step() {
    let home = Home::new();
    // Without documents there is nothing to search, which the next step mends.
    let (code, out, _) = home.run(&["doctor"]);
    let last = out.lines().last().unwrap();
    assert!(
        code == 1 && last.contains("lyra-mcp demo") && last.contains("--corpus DIR"),
        "{out}"
    );
    assert!(next(&home).contains("lyra-mcp demo"), "the graph is empty");
    let file = home.path("graph.jsonl");
    put(
        &file,
        &json!({"type": "task", "id": "task_0a1b2c3d", "hypothesis": "Tea helps"}).to_string(),
    );
    home.ok(&["import", file.to_str().unwrap()]);
    assert_eq!(
        next(&home),
        "Next: `lyra-mcp init` lists the clients that can be configured"
    );
    fs::create_dir(home.path(".cursor")).unwrap();
    fs::create_dir(home.path(".codex")).unwrap();
    let line = next(&home);
    let db = home.db();
    let papers = home.path("papers");
    let (db, papers) = (db.display(), papers.display());
    let command = format!("`lyra-mcp init cursor --write --db {db} --corpus {papers}`");
    assert!(line.contains(&command) && line.contains("codex"), "{line}");
    home.ok(&["init", "cursor", "--write"]);
    assert!(next(&home).contains("ask cursor"), "{}", next(&home));

    fs::write(home.db(), "no database").unwrap();
    let (code, out, _) = home.run(&["doctor"]);
    assert_eq!(code, 1);
    assert!(out.lines().last().unwrap().contains("marked FAIL"), "{out}");
}
