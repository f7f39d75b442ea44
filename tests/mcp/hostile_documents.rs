//! Documents that are made to kill, hang or bloat whoever parses them. Each fails alone; the server
//! lives, stays small, and does not try it again. Linux: what processes use is read from /proc.

mod bytes;

use crate::client::{Client, binary};
use bytes::{book, hostile, packed, pdf};
use lyra_core::documents::{Documents, ParserLimits, ParserProcess};
use lyra_core::ports::testing::check_document_parser;
use lyra_core::ports::{Clock, DocumentParser, ManualClock};
use lyra_core::{Engine, EngineConfig, ErrorKind};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lyra-mcp");

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Most memory of a server, in KiB, whatever it is given to read.
const MOST_MEMORY: u64 = 300 * 1024;

fn parser() -> ParserProcess {
    ParserProcess::new(PROGRAM, ["parse-documents"])
}

fn with_limits(limits: ParserLimits) -> ParserProcess {
    parser().with_limits(limits)
}

const MIB: u64 = 1024 * 1024;

const GOOD: &[u8] = b"# Trial\n\nDrug X increased the risk of falls in older adults.\n";

/// A page that is no longer read where memory is short.
fn large_page() -> Vec<u8> {
    let text = "<p>Drug X increased the risk of falls in older adults.</p>";
    format!("<body><article>{text}{}", "<br>".repeat(50_000)).into_bytes()
}

/// A document that takes long: many pages, each with as much as is looked at of one.
fn slow_document() -> Vec<u8> {
    let page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R>>";
    let lines = packed("", &b"1 2 m 3 4 l ".repeat(2_700_000));
    let pages = "<</Type/Pages/Count 48/Kids[".to_owned() + &page.repeat(48) + "]>>";
    let mut objects = book(1, page.to_owned(), lines);
    objects[1] = pages.into_bytes();
    pdf(&objects)
}

/// The parent of a process that runs.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let is_over = matches!(fields.next()?, "Z" | "X");
    fields.next()?.parse().ok().filter(|_| !is_over)
}

/// The processes that a process has started.
fn children(of: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| parent(*pid) == Some(of))
        .collect()
}

fn await_child(of: u32) -> u32 {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(child) = children(of).first() {
            return *child;
        }
        assert!(Instant::now() < end, "no child of {of}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn kill(signal: &str, pid: u32) {
    let status = std::process::Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// A number out of /proc/PID/status, in KiB.
fn memory(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap()
        .trim()
        .strip_suffix(" kB")
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_parser_process_keeps_what_a_parser_promises() {
    check_document_parser(&parser());
}

#[test]
fn hostile_documents_fail_alone_or_are_read() {
    let parser = parser();
    for (name, bytes) in hostile() {
        let begun = Instant::now();
        let parsed = parser.parse(&bytes, None, name);
        let taken = begun.elapsed();
        eprintln!(
            "{name}: {} bytes, {taken:?}, {:?}",
            bytes.len(),
            parsed.as_ref().map(|d| (d.blocks.len(), &d.warnings))
        );
        assert!(taken < Duration::from_secs(20), "{name}: {taken:?}");
        if let Err(error) = parsed {
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::InvalidInput | ErrorKind::HostileDocument | ErrorKind::Timeout
                ),
                "{name}: {error:?}"
            );
        }
        assert!(parser.parse(GOOD, None, "good.md").is_ok(), "after {name}");
    }
}

/// Without a child, the caps alone have to do; they may take longer then, and more memory.
#[test]
fn a_process_that_parses_itself_survives() {
    for (name, bytes) in hostile() {
        let _ = Documents.parse(&bytes, None, name);
        assert!(
            Documents.parse(GOOD, None, "good.md").is_ok(),
            "after {name}"
        );
    }
    let (name, bytes) = &hostile()[0];
    let parsed = Documents.parse(bytes, None, name).unwrap();
    assert!(parsed.blocks[0].text.contains("Drug X"), "{parsed:?}");
    assert!(bytes.len() < 1_000, "{}", bytes.len());
}

#[test]
fn the_limit_that_ended_a_parser_is_named() {
    let usual = ParserLimits::default();
    let small = ParserLimits {
        memory: 16 * MIB,
        ..usual
    };
    let short = ParserLimits {
        processor: Duration::from_secs(1),
        time: PATIENCE,
        ..usual
    };
    let late = ParserLimits {
        time: Duration::from_millis(30),
        ..usual
    };
    for (limits, body, kind, message) in [
        (
            small,
            large_page(),
            ErrorKind::HostileDocument,
            "more than 16 MiB of memory",
        ),
        (
            short,
            slow_document(),
            ErrorKind::HostileDocument,
            "more than 1 s of processor time",
        ),
        (
            late,
            slow_document(),
            ErrorKind::Timeout,
            "not read within 0.03 s",
        ),
    ] {
        let parser = with_limits(limits);
        let error = parser.parse(&body, None, "a").unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.hint().is_some());
        assert!(limits == late || parser.parse(GOOD, None, "good.md").is_ok());
    }
    let gone = ParserProcess::new("/nowhere/lyra-mcp", ["parse-documents"]);
    let silent = ParserProcess::new("/bin/true", ["parse-documents"]);
    let liar = ParserProcess::new("/bin/sh", ["-c", "echo this is no parser at all"]);
    for parser in [gone, silent, liar] {
        let error = parser.parse(GOOD, None, "good.md").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Backend, "{error}");
        assert!(error.message().contains("does not start"), "{error}");
    }
}

/// What a child answers is checked as a document is.
#[test]
fn an_answer_that_is_none_is_not_believed() {
    let reply = |json: &str| {
        let frame = format!(
            "lyra-parser-0001{}{json}",
            String::from_utf8_lossy(&u32::try_from(json.len()).unwrap().to_le_bytes())
        );
        let script = format!(
            "head -c 1 > /dev/null; printf '{}'; sleep 60",
            frame
                .bytes()
                .map(|b| format!("\\{b:03o}"))
                .collect::<String>()
        );
        ParserProcess::new("/bin/sh", ["-c".to_owned(), script])
    };
    let document = |page_type: &str, block: &str| {
        let meta = serde_json::to_value(lyra_core::store::model::DocumentMeta::default()).unwrap();
        format!(
            "{{\"Parsed\":{{\"meta\":{meta},\"blocks\":[{block}],\"page_type\":\"{page_type}\",\"warnings\":[]}}}}"
        )
    };
    let sound = document("text", "[\"paragraph\",0,\"words\"]");
    assert!(reply(&sound).parse(GOOD, None, "good.md").is_ok());
    for wrong in [
        "{}".to_owned(),
        "no JSON".to_owned(),
        document("docx", ""),
        document("text", "[\"paragraph\",0,\" \"]"),
        document("text", "[\"paragraph\",3,\"words\"]"),
        document("text", "[\"heading\",9,\"words\"]"),
    ] {
        let error = reply(&wrong).parse(GOOD, None, "good.md").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HostileDocument, "{wrong}: {error}");
        assert!(
            error.message().contains("an invalid reply"),
            "{wrong}: {error}"
        );
    }
}

#[test]
fn a_child_that_is_killed_fails_one_document() {
    let own = std::process::id();
    let parser = Arc::new(with_limits(
        ParserLimits {
            memory: 2048 * MIB,
            ..ParserLimits::default()
        }
        .with_seconds(60),
    ));
    // Other tests of this process have children, too.
    let before = children(own);
    let reading = Arc::clone(&parser);
    let slow = std::thread::spawn(move || reading.parse(&slow_document(), None, "slow.pdf"));
    let child = loop {
        let new = children(own).into_iter().find(|child| {
            let name = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            let name = String::from_utf8_lossy(&name).into_owned();
            !before.contains(child) && name.contains("2147483648")
        });
        if let Some(child) = new {
            break child;
        }
    };
    std::thread::sleep(Duration::from_millis(300));
    kill("-9", child);
    let error = slow.join().unwrap().unwrap_err();
    assert!(
        error.message().contains("killed from outside (signal 9)"),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(parser.parse(GOOD, None, "good.md").is_ok());
}

/// A secret in the environment, and an open file that children of children would get.
#[test]
fn a_child_has_no_secrets_and_no_files() {
    let script = "exec 9</proc/version; exec \"$0\" parse-documents \"$@\"";
    let limits = ParserLimits {
        memory: 300 * MIB,
        ..ParserLimits::default()
    };
    let parser = ParserProcess::new("/bin/sh", ["-c", script, PROGRAM]).with_limits(limits);
    assert!(parser.parse(GOOD, None, "good.md").is_ok());
    let own = |child: &u32| {
        let name = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&name).contains("314572800")
    };
    let child = children(std::process::id()).into_iter().find(own).unwrap();
    let environment = std::fs::read(format!("/proc/{child}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let names: Vec<&str> = environment
        .split('\0')
        .filter_map(|v| v.split('=').next())
        .collect();
    let of_the_shell = ["PWD", "_", "SHLVL", "OLDPWD", ""];
    assert!(
        names.iter().all(|name| of_the_shell.contains(name)),
        "{names:?}"
    );
    let files = std::fs::read_dir(format!("/proc/{child}/fd"))
        .unwrap()
        .flatten();
    let files: Vec<PathBuf> = files
        .filter_map(|file| std::fs::read_link(file.path()).ok())
        .collect();
    assert!(
        !files.contains(&PathBuf::from("/proc/version")),
        "{files:?}"
    );
    let limits = std::fs::read_to_string(format!("/proc/{child}/limits")).unwrap();
    for name in ["Max open files", "Max file size", "Max core file size"] {
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        assert!(line.trim().starts_with("0 "), "{name}{line}");
    }
    drop(parser);
    assert!(
        !Path::new(&format!("/proc/{child}")).exists(),
        "it was not reaped"
    );
}

/// A folder with a database to be and papers.
struct Desk {
    folder: tempfile::TempDir,
    db: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("papers")).unwrap();
        let db = folder.path().join("evidence.db");
        let desk = Self { folder, db };
        desk.write("good.md", GOOD);
        desk
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.folder.path().join("papers").join(name), bytes).unwrap();
    }

    fn serve(&self, settings: &str) -> Client {
        std::fs::write(self.folder.path().join("lyra.toml"), settings).unwrap();
        Client::connect(&self.db, &["--corpus", "papers"])
    }

    fn doctor(&self) -> String {
        let out = binary(&self.db)
            .args(["doctor", "--corpus", "papers"])
            .output()
            .unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    }
}

fn ask(client: &mut Client) -> String {
    let task = client.ok(
        "create_task",
        json!({"hypothesis": "Drug X increases falls"}),
    );
    let task = task["task_id"].as_str().unwrap().to_owned();
    client.ok(
        "queue_targets",
        json!({"task_id": task, "targets": ["drug X falls"]}),
    );
    task
}

/// The status of a task whose searches are done.
fn searched(client: &mut Client, task: &str) -> Value {
    let end = Instant::now() + 3 * PATIENCE;
    loop {
        let status = client.ok(
            "get_status",
            json!({"task_id": task, "detail": "full", "wait": 5}),
        );
        if status["milestones"]["nli_verification_done"] == true {
            return status;
        }
        assert!(Instant::now() < end, "{status}");
    }
}

#[test]
fn a_server_that_is_fed_hostile_documents_stays_small_and_reads_the_rest() {
    let desk = Desk::new();
    for (name, bytes) in hostile() {
        desk.write(name, &bytes);
    }
    let mut client = desk.serve("");
    let task = ask(&mut client);
    let status = searched(&mut client, &task);
    assert!(
        status["metrics"]["total_claims"].as_u64().unwrap() >= 1,
        "{status}"
    );
    let peak = memory(client.pid(), "VmHWM:");
    assert!(peak < MOST_MEMORY, "{peak} KiB");
    assert!(children(client.pid()).len() <= 2);
    // The catalogue of what is wrong reaches the client.
    assert!(
        status["warnings"].to_string().contains("not read"),
        "{status}"
    );
    drop(client);
    let verified = binary(&desk.db).arg("verify").output().unwrap();
    assert!(verified.status.success());
}

#[test]
fn sigterm_ends_a_server_that_parses_and_leaves_no_child() {
    let desk = Desk::new();
    desk.write("slow.pdf", &slow_document());
    let mut client = desk.serve("parser_memory = 2048\nparser_seconds = 100");
    ask(&mut client);
    let child = await_child(client.pid());
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    kill("-TERM", client.pid());
    assert_eq!(client.exit(PATIENCE), Some(0));
    let taken = begun.elapsed();
    assert!(taken < Duration::from_secs(20), "{taken:?}");
    eprintln!("SIGTERM: {taken:?}");
    let end = Instant::now() + PATIENCE;
    while parent(child).is_some() {
        assert!(Instant::now() < end, "an orphan");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_document_that_ended_its_parser_is_named_and_tried_again_when_it_changes() {
    let desk = Desk::new();
    let short = "parser_memory = 16";
    desk.write("large.html", &large_page());
    let told = |client: &mut Client| {
        let task = ask(client);
        let warnings = searched(client, &task)["warnings"].to_string();
        assert!(warnings.contains("large.html"), "{warnings}");
        assert!(warnings.contains("16 MiB of memory"), "{warnings}");
        warnings
    };
    let mut client = desk.serve(short);
    assert!(!told(&mut client).contains("not tried again"));
    assert!(told(&mut client).contains("not tried again"));
    drop(client);
    let doctor = desk.doctor();
    assert!(
        doctor.contains("hostile document") && doctor.contains("large.html"),
        "{doctor}"
    );

    let mut client = desk.serve(short);
    assert!(told(&mut client).contains("not tried again"));
    desk.write(
        "large.html",
        b"<article><p>Drug X did not change the risk of falls.</article>",
    );
    let task = ask(&mut client);
    let warnings = searched(&mut client, &task)["warnings"].to_string();
    assert!(!warnings.contains("large.html"), "{warnings}");
    drop(client);
    assert!(!desk.doctor().contains("hostile document"));

    // With other limits the same bytes are another matter.
    desk.write("large.html", &large_page());
    told(&mut desk.serve(short));
    let mut client = desk.serve("parser_memory = 1024\nparser_seconds = 100");
    let task = ask(&mut client);
    let warnings = searched(&mut client, &task)["warnings"].to_string();
    assert!(!warnings.contains("large.html"), "{warnings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_honest_corpus_gives_the_same_graph_wherever_it_is_parsed() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(1_767_225_600_000));
    let mut graphs = Vec::new();
    for parser in [None, Some(Arc::new(parser()) as Arc<dyn DocumentParser>)] {
        let mut config = EngineConfig::new(folder.path().join(format!("{}.db", graphs.len())));
        config.corpus = vec![
            root.join("examples/corpus"),
            root.join("tests/data/documents"),
        ];
        (config.parser, config.clock) = (parser, Arc::clone(&clock));
        let engine = Engine::open(config).unwrap();
        let report = engine.sync_corpus(&|_| ()).await.unwrap().unwrap();
        assert!(report.read > 20, "{report:?}");
        let mut lines = Vec::new();
        engine.export_jsonl(&mut lines, None).unwrap();
        graphs.push(String::from_utf8(lines).unwrap());
    }
    assert!(graphs[0] == graphs[1], "the graphs differ");
}
