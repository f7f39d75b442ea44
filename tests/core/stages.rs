//! Reading in parts and judging in pieces: the graph does not show it.

use lyra_core::models::BuiltinStanceJudge;
use lyra_core::research::pipeline::{CandidatePair, JudgeRequest, judge_pairs};
use lyra_core::{
    Engine, EngineConfig, ErrorKind, ReadOutcome, ReadRequest, ReadSource, Stages, TaskConfig,
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const HYPOTHESIS: &str = "DPP-4 inhibitors increase the risk of hospitalization for heart failure";
const NOW: &str = "2026-03-01T12:00:00.000Z";

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples/corpus")
        .join(name)
}

fn stages() -> Stages {
    let mut config = EngineConfig::new("");
    config.limits.claims_per_document = 3;
    Stages::open(config).unwrap()
}

fn graph(folder: &TempDir, name: &str) -> Engine {
    Engine::open(EngineConfig::new(folder.path().join(name))).unwrap()
}

fn request(source: ReadSource) -> ReadRequest {
    ReadRequest {
        now: Some(NOW.to_owned()),
        ..ReadRequest::new(source, HYPOTHESIS)
    }
}

fn lines(outcome: &ReadOutcome) -> Vec<Map<String, Value>> {
    let text = std::str::from_utf8(&outcome.records).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_file_have_the_records_of_the_whole() {
    let stages = stages();
    let file = corpus("dpp4-heart-failure-abstracts.jsonl");
    let whole = request(ReadSource::Path(file));
    let read = stages.read(&whole).await.unwrap();
    assert!(
        read.problems.is_empty() && read.notes.is_empty(),
        "{read:?}"
    );
    let whole_lines = lines(&read);
    let claims = whole_lines.iter().filter(|line| line["type"] == "claim");
    assert!(read.documents == 5 && claims.count() > 5);

    // The task stands once in each part.
    let mut parts = vec![whole_lines[0].clone()];
    for part in [0..1, 1..4, 4..9] {
        let request = ReadRequest {
            lines: Some(part),
            ..whole.clone()
        };
        let part = lines(&stages.read(&request).await.unwrap());
        assert_eq!(part[0], whole_lines[0]);
        parts.extend_from_slice(&part[1..]);
    }
    assert_eq!(parts, whole_lines);
    let again = Stages::open(EngineConfig::new("")).unwrap();
    let other = again.read(&whole).await.unwrap();
    assert_eq!(
        lines(&other)[0]["id"],
        whole_lines[0]["id"],
        "the task follows from the hypothesis"
    );
}

/// The same limits for the graph that verifies and the one that has its pairs judged: a judge takes its
/// time in a debug build.
fn sparing(folder: &TempDir, name: &str) -> Engine {
    let mut config = EngineConfig::new(folder.path().join(name));
    config.limits.verify_pairs = 2;
    Engine::open(config).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn judging_in_pieces_makes_the_graph_that_verification_makes() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (sparing(&folder, "one.db"), sparing(&folder, "other.db"));
    let mut config = EngineConfig::new("");
    config.limits.claims_per_document = 1;
    let stages = Stages::open(config).unwrap();
    let file = ReadSource::Path(corpus("dpp4-heart-failure-abstracts.jsonl"));
    let records = stages.read(&request(file)).await.unwrap().records;
    for graph in [&one, &other] {
        graph.add_records(records.as_slice()).await.unwrap();
    }
    let task = one.tasks().unwrap().remove(0).id;
    let before = one.canonical_hash(None).unwrap();
    assert_eq!(before, other.canonical_hash(None).unwrap());

    let verified = one.pipeline().verify(&task, None).await.unwrap().output;
    assert!(verified["supports"].as_u64().unwrap() + verified["refutes"].as_u64().unwrap() > 0);

    let how = JudgeRequest {
        min_confidence: EngineConfig::new("").limits.min_confidence,
        now: NOW.to_owned(),
    };
    let pairs = other.pipeline().candidate_pairs(&task, 7).await.unwrap();
    let batches: Vec<Vec<CandidatePair>> = pairs.collect::<Result<_, _>>().unwrap();
    assert!(batches.iter().rev().skip(1).all(|batch| batch.len() == 7));
    let count = batches.iter().map(Vec::len).sum::<usize>() as u64;
    let judged = verified["pairs_judged"].as_u64().unwrap() + verified["stances"].as_u64().unwrap();
    assert_eq!(count, judged);
    let mut verdicts = String::new();
    // Whoever judges may be slow: the last batch comes first.
    for batch in batches.iter().rev() {
        // As they are sent.
        let batch: Vec<CandidatePair> =
            serde_json::from_str(&serde_json::to_string(batch).unwrap()).unwrap();
        for record in judge_pairs(&BuiltinStanceJudge, &batch, &how)
            .await
            .unwrap()
        {
            verdicts += &Value::Object(record).to_string();
            verdicts.push('\n');
        }
    }
    other.add_records(verdicts.as_bytes()).await.unwrap();
    let after = one.canonical_hash(None).unwrap();
    assert_ne!(before, after);
    assert_eq!(other.canonical_hash(None).unwrap(), after);
    for graph in [&one, &other] {
        let left = graph.pipeline().candidate_pairs(&task, 7).await.unwrap();
        assert_eq!(left.count(), 0, "what was judged is not judged again");
        let again = graph.pipeline().verify(&task, None).await.unwrap().output;
        assert_eq!(again["pairs_judged"], 0);
        let checked = graph.verify().unwrap();
        assert!(checked.violations.is_empty(), "{:?}", checked.violations);
    }
}

/// The lines of an export that reading makes, without what differs between runs.
fn told(engine: &Engine, task_id: &str) -> Vec<Value> {
    let mut out = Vec::new();
    engine.export_jsonl(&mut out, None).unwrap();
    let text = String::from_utf8(out).unwrap().replace(task_id, "TASK");
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines
        .filter(|line: &Value| line["type"] != "task")
        .map(|mut line: Value| {
            let fields = line.as_object_mut().unwrap();
            for name in ["created_at", "fetched_at", "cause_id", "last_modified"] {
                fields.remove(name);
            }
            line
        })
        .collect();
    // Verdicts and citations come later; a cited page is a placeholder until it is read.
    lines.retain(|line| {
        let is_later = line["type"] == "hypothesis_stance" || line["type"] == "resource";
        !is_later && line["relation"] != "cites" && line["page_type"] != "placeholder"
    });
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_read_as_one_that_is_queued() {
    let folder = tempfile::tempdir().unwrap();
    let file = corpus("savor-timi-53.md").canonicalize().unwrap();
    let mut config = EngineConfig::new(folder.path().join("queued.db"));
    config.corpus.push(file.clone());
    config.limits.claims_per_document = 3;
    let queued = Engine::open(config).unwrap();
    let task = queued
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let url = format!("file://{}", file.display());
    let target = json!({"kind": "url", "url": url});
    queued
        .queue_targets(&task.id, &[target], &Default::default())
        .unwrap();
    queued.run(&task.id, None).await.unwrap();

    let added = graph(&folder, "added.db");
    let read = ReadRequest {
        task_id: Some(task.id.clone()),
        ..request(ReadSource::Url(url))
    };
    let records = stages().read(&read).await.unwrap().records;
    added.add_records(records.as_slice()).await.unwrap();
    let (want, got) = (told(&queued, &task.id), told(&added, &task.id));
    assert!(want.iter().filter(|line| line["type"] == "claim").count() > 0);
    assert_eq!(got, want);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_document_costs_no_other() {
    let stages = stages();
    let bytes = |body: &[u8], url: &str| {
        request(ReadSource::Bytes {
            body: body.to_vec(),
            url: Some(url.to_owned()),
            content_type: None,
        })
    };
    let good = r#"{"id": "a", "text": "Saxagliptin increased hospitalization for heart failure."}"#;
    let file = format!("{good}\nno json\n{good}\n{{\"id\": \"b\", \"year\": 2000}}\n");
    let whole = bytes(file.as_bytes(), "file:///papers/list.jsonl");
    let read = stages.read(&whole).await.unwrap();
    assert_eq!(read.documents, 1);
    let problems: Vec<(&str, &str)> = read
        .problems
        .iter()
        .map(|problem| {
            (
                problem.url.rsplit('#').next().unwrap(),
                problem.error.message(),
            )
        })
        .collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert_eq!(
        problems[0],
        ("a", "line 3: the id \"a\" stands on an earlier line")
    );
    assert!(problems[1].0 == "line-2" && problems[1].1.contains("not one JSON object"));
    assert!(problems[2].0 == "b" && problems[2].1.contains("no title, abstract or text"));

    // Also where the first line with the id is in another part.
    let part = ReadRequest {
        lines: Some(2..3),
        ..whole.clone()
    };
    assert_eq!(stages.read(&part).await.unwrap().documents, 0);
    let alone = bytes(format!("{good}\n").as_bytes(), "file:///papers/list.jsonl");
    assert_eq!(stages.read(&alone).await.unwrap().records, read.records);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_told_apart() {
    let stages = stages();
    let text = |url: Option<&str>| ReadSource::Bytes {
        body: b"Some text.".to_vec(),
        url: url.map(str::to_owned),
        content_type: None,
    };
    let folder = corpus("");
    let with_lines = |source, lines| ReadRequest {
        lines: Some(lines),
        ..request(source)
    };
    let list = ReadSource::Path(corpus("dpp4-heart-failure-abstracts.jsonl"));
    let (from, to) = (3, 3);
    let cases = [
        (request(ReadSource::Path(folder.join("none.md"))), "none.md"),
        (request(ReadSource::Path(folder)), "is a folder"),
        (
            request(ReadSource::Url("ftp://e.org/a".into())),
            "its scheme is \"ftp\"",
        ),
        (request(text(Some("a.md"))), "is no address of a document"),
        (
            request(text(Some("https://e.org/a.jsonl"))),
            "expected a file: address",
        ),
        (with_lines(text(None), 0..1), "is no file of records"),
        (with_lines(list, from..to), "lines are 3 to 3"),
        (ReadRequest::new(text(None), " "), "hypothesis is empty"),
        (
            ReadRequest {
                now: Some("noon".into()),
                ..request(text(None))
            },
            "now is \"noon\"",
        ),
        (
            ReadRequest {
                task_id: Some(String::new()),
                ..request(text(None))
            },
            "task_id is empty",
        ),
    ];
    for (request, want) in cases {
        let error = stages.read(&request).await.unwrap_err();
        assert!(error.message().contains(want), "{want}: {error}");
        let kinds = [ErrorKind::InvalidInput, ErrorKind::NotFound];
        assert!(
            kinds.contains(&error.kind())
                && (want == "none.md" || error.hint().is_some() || want.starts_with("lines"))
        );
    }
    let nameless = stages.read(&request(text(None))).await.unwrap();
    let page = lines(&nameless)
        .into_iter()
        .find(|line| line["type"] == "page");
    assert!(
        page.unwrap()["url"]
            .as_str()
            .unwrap()
            .starts_with("file:///sha256/")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pairs_are_judged_by_the_judge_that_they_were_made_for() {
    let pair = CandidatePair {
        judge_id: "another".to_owned(),
        ..CandidatePair::default()
    };
    let how = JudgeRequest {
        min_confidence: 0.5,
        now: NOW.to_owned(),
    };
    let error = judge_pairs(&BuiltinStanceJudge, &[pair], &how)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("\"another\""), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let engine = graph(&folder, "a.db");
    let unknown = engine.pipeline().candidate_pairs("task_none", 1).await;
    assert_eq!(unknown.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert!(
        engine
            .pipeline()
            .candidate_pairs("task_none", 0)
            .await
            .is_err()
    );
}

#[test]
fn merges_at_the_same_time_do_not_disturb_each_other() {
    let folder = TempDir::new().unwrap();
    let sources = ["a.db", "b.db", "c.db"].map(|name| {
        let hypothesis = format!("{HYPOTHESIS} ({name})");
        let source = graph(&folder, name);
        source
            .create_task(&hypothesis, TaskConfig::default())
            .unwrap();
        folder.path().join(name)
    });
    let target = graph(&folder, "target.db");
    std::thread::scope(|scope| {
        for source in &sources {
            scope.spawn(|| {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                let merged = runtime.block_on(target.merge(std::slice::from_ref(source), false));
                assert_eq!(merged.unwrap().inserted["tasks"], 1);
            });
        }
    });
    assert_eq!(target.tasks().unwrap().len(), 3);
}
