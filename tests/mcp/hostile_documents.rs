//! Documents that are made to kill, hang or bloat whoever parses them. Each fails alone; the server
//! lives, stays small, and does not try it again. Linux: what processes use is read from /proc.

use crate::client::{Client, binary};
use lyra_core::backends::{Documents, ParserLimits, ParserProcess};
use lyra_core::ports::testing::check_document_parser;
use lyra_core::ports::{Clock, DocumentParser, ManualClock};
use lyra_core::{Engine, EngineConfig, ErrorKind};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_lyra-mcp");

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Most memory of a server, in KiB, whatever it is given to read.
const MOST_MEMORY: u64 = 300 * 1024;

/// A PDF of these objects, numbered from 1; the first is the catalog.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut places = String::new();
    for (at, object) in objects.iter().enumerate() {
        places += &format!("{:010} 00000 n \n", out.len());
        out.extend(format!("{} 0 obj\n", at + 1).bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let (start, count) = (out.len(), objects.len() + 1);
    out.extend(
        format!(
            "xref\n0 {count}\n0000000000 65535 f \n{places}trailer <</Size {count}/Root 1 0 R>>\n\
             startxref\n{start}\n%%EOF\n"
        )
        .bytes(),
    );
    out
}

fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<<{entries}/Length {}>>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

fn packed(entries: &str, content: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(content).unwrap();
    let content = packer.finish().unwrap();
    stream(&format!("{entries}/Filter/FlateDecode"), &content)
}

const WORDS: &str = "BT /F 12 Tf 50 700 Td (Drug X increased the risk of falls.) Tj ET";

/// A page that draws this content; `resources` stand beside the font, and `more` are the objects
/// from 6 on.
fn page(content: Vec<u8>, resources: &str, more: &[Vec<u8>]) -> Vec<u8> {
    page_of("4 0 R", content, resources, more)
}

/// The same with these references to its content.
fn page_of(contents: &str, content: Vec<u8>, resources: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let page = format!(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {contents}\
         /Resources<</Font<</F 5 0 R>>{resources}>>>>"
    );
    pdf(&[&book(1, page, content), more].concat())
}

/// The objects of a file that has the same page several times.
fn book(pages: usize, page: String, content: Vec<u8>) -> [Vec<u8>; 5] {
    let kids = "3 0 R ".repeat(pages);
    [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Count {pages}/Kids[{kids}]>>").into_bytes(),
        page.into_bytes(),
        content,
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_vec(),
    ]
}

fn form(resources: &str, content: &str) -> Vec<u8> {
    let entries = format!("/Type/XObject/Subtype/Form/BBox[0 0 9 9]{resources}");
    stream(&entries, content.as_bytes())
}

/// The name of each, and its bytes.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let plain = |content: &str| stream("", content.as_bytes());
    let draw = |name: &str| plain(&format!("{WORDS} /{name} Do"));
    let to_self = "/Resources<</XObject<</X 6 0 R>>>>";
    let of_each = |n: usize| format!("/Resources<</XObject<</X {} 0 R>>>>", n + 1);
    let tenfold: Vec<Vec<u8>> = (6..16)
        .map(|n| form(&of_each(n), &"/X Do ".repeat(10)))
        .chain([form("", WORDS)])
        .collect();
    let map = |ranges: &str| {
        let cmap = format!("1 begincodespacerange <00> <ff> endcodespacerange {ranges}");
        let font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>".to_vec();
        let content = plain(&WORDS.replace("/F ", "/G "));
        let both = [font, packed("", cmap.as_bytes())];
        let mut whole = page(content, "", &both);
        let place = whole.windows(8).position(|w| w == b"/F 5 0 R").unwrap();
        whole[place..place + 8].copy_from_slice(b"/G 6 0 R");
        whole
    };
    let range = "1 beginbfrange <00000000> <ffffffff> <0000> endbfrange";
    let parents = "<</Type/Page/Parent 3 0 R/Contents 4 0 R>>";
    let own_parent = pdf(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>".to_vec(),
        parents.into(),
        plain(WORDS),
    ]);
    let often = format!("[{}]", "4 0 R ".repeat(5_000));
    let html = |open: usize, paragraphs: usize| {
        let text = "Drug X increased the risk of falls in older adults.";
        format!(
            "<body>{}{}{text}",
            "<font>".repeat(open),
            "<p>".repeat(paragraphs)
        )
    };
    vec![
        (
            "form.pdf",
            page(draw("X"), "/XObject<</X 6 0 R>>", &[form(to_self, "/X Do")]),
        ),
        (
            "inherited.pdf",
            page(draw("X"), "/XObject<</X 6 0 R>>", &[form("", "/X Do")]),
        ),
        (
            "tenfold.pdf",
            page(draw("X"), "/XObject<</X 6 0 R>>", &tenfold),
        ),
        ("parent.pdf", own_parent),
        ("range.pdf", map(range)),
        (
            "ranges.pdf",
            map(&"1 beginbfrange <0000> <ffff> <0000> endbfrange\n".repeat(20_000)),
        ),
        ("brackets.pdf", map(&"[".repeat(2_000_000))),
        (
            "states.pdf",
            page(packed("", &b"q ".repeat(4_000_000)), "", &[]),
        ),
        (
            "lines.pdf",
            page(packed("", &b"1 2 m 3 4 l ".repeat(5_000_000)), "", &[]),
        ),
        (
            "shows.pdf",
            page(packed("", &b"() Tj ".repeat(9_000_000)), "", &[]),
        ),
        (
            "array.pdf",
            page(
                packed("", &[b"BT [".to_vec(), b"(a)1 ".repeat(9_000_000)].concat()),
                "",
                &[],
            ),
        ),
        (
            "streams.pdf",
            page_of(&often, packed("", &b"() Tj ".repeat(2_000_000)), "", &[]),
        ),
        ("font.html", html(20_000, 20_000).into_bytes()),
        ("fonts.html", html(200_000, 200_000).into_bytes()),
        (
            "paragraphs.html",
            "<p>aaaa</p>".repeat(9 * 1024 * 1024 / 11).into_bytes(),
        ),
        (
            "bold.html",
            "<b>a</b> <i>b</i>".repeat(500_000).into_bytes(),
        ),
        (
            "nested.html",
            format!("{}{}", "<div>".repeat(440), "<p>x".repeat(99_000)).into_bytes(),
        ),
        ("tables.html", "<table><tr><td>".repeat(60_000).into_bytes()),
        (
            "quotes.md",
            ["> ".repeat(200_000), "x".into()].concat().into_bytes(),
        ),
    ]
}

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

/// A document that takes long: sixteen pages with as much as is looked at of each.
fn slow_document() -> Vec<u8> {
    let page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R>>";
    let lines = packed("", &b"1 2 m 3 4 l ".repeat(2_700_000));
    pdf(&book(16, page.to_owned(), lines))
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
        let meta = serde_json::to_value(lyra_core::model::DocumentMeta::default()).unwrap();
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
        assert!(error.message().contains("nonsense"), "{wrong}: {error}");
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
