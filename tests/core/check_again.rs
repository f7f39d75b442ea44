//! Drafts whose sources are read first, and drafts that are checked a second time.

use async_trait::async_trait;
use lyra_core::check::{CheckCode, CheckReport, CheckRequest, DraftFormat};
use lyra_core::models::BuiltinStanceJudge;
use lyra_core::ports::{StanceJudge, StancePair, Verdict};
use lyra_core::{Engine, EngineConfig, Result};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const PAGE: &str = "<!doctype html><html><head><title>Night work and sleep</title></head><body><article>\
    <h1>Night work and sleep</h1><p>In a cohort of 412 nurses, night work shortened sleep by 74 minutes \
    a day. The nurses were followed for three years by questionnaires and wrist monitors. Night work did \
    not change blood pressure in any of the age groups that were compared.</p></article></body></html>";

/// Serves the page at `/sleep`, and nothing else.
fn site() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream);
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let first = lines
        .next()
        .and_then(std::result::Result::ok)
        .unwrap_or_default();
    // The rest of the head, so that the connection is not reset.
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let (status, body) = match first.split(' ').nth(1) {
        Some("/sleep") => ("200 OK", PAGE),
        _ => ("404 Not Found", ""),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

/// The built-in judge, which counts what it is asked.
#[derive(Debug, Default)]
struct Counting(Arc<AtomicUsize>);

#[async_trait]
impl StanceJudge for Counting {
    fn judge_id(&self) -> &str {
        BuiltinStanceJudge.judge_id()
    }

    fn is_builtin(&self) -> bool {
        true
    }

    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        self.0.fetch_add(pairs.len(), Ordering::Relaxed);
        BuiltinStanceJudge.judge(pairs).await
    }
}

/// The built-in judge, which notes what it reads.
#[derive(Debug)]
struct Listening(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl StanceJudge for Listening {
    fn judge_id(&self) -> &str {
        BuiltinStanceJudge.judge_id()
    }

    fn is_builtin(&self) -> bool {
        true
    }

    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        let read = pairs.iter().map(|pair| pair.premise.clone());
        self.0.lock().unwrap().extend(read);
        BuiltinStanceJudge.judge(pairs).await
    }
}

fn codes(report: &CheckReport) -> Vec<CheckCode> {
    let verdicts = report.sentences.iter().filter_map(|s| s.verdict);
    verdicts.collect()
}

fn config(folder: &Path) -> EngineConfig {
    let mut config = EngineConfig::new(folder.join("evidence.db"));
    config.allow_private_hosts = true;
    config
}

#[tokio::test]
async fn what_a_draft_cites_is_read_when_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("secret.md"),
        "# Secret\n\nNobody is to read this.",
    )
    .unwrap();
    let engine = Engine::open(config(folder.path())).unwrap();
    let address = site();
    let secret = folder.path().join("secret.md");
    let draft = format!(
        "Night work shortened the sleep of nurses by 47 minutes a day [1]. It is told elsewhere \
         ([page](http://{address}/gone)), and in a file ([file](file://{secret}), [path]({secret})).\n\n\
         ## References\n\n1. [Night work and sleep](http://{address}/sleep)\n",
        secret = secret.display()
    );
    let request = CheckRequest::new(draft, DraftFormat::Markdown);
    let before = engine.check(&request, &|_| {}).await.unwrap();
    assert_eq!(codes(&before)[0], CheckCode::ReferenceNotFound);
    let hypothesis = "The sources of the draft say what it says";
    let seen = AtomicUsize::new(0);
    let progress = |done: usize, all: usize| seen.store(10 * done + all, Ordering::Relaxed);
    let read = engine
        .read_cited(&request, hypothesis, &progress)
        .await
        .unwrap();
    assert_eq!(
        (read.tried, seen.load(Ordering::Relaxed)),
        (2, 22),
        "{read:?}"
    );
    assert_eq!(read.failed.len(), 1, "{read:?}");
    assert!(read.failed[0].0.ends_with("/gone"), "{read:?}");
    let after = engine.check(&request, &|_| {}).await.unwrap();
    assert_eq!(codes(&after)[0], CheckCode::NumberMismatch);
    assert_eq!(after.summary.sources_known, 1, "no file was read");
    // What has a text is not read again, and a draft without anything to read makes no task.
    let read = engine
        .read_cited(&request, hypothesis, &|_, _| {})
        .await
        .unwrap();
    assert_eq!(read.tried, 1, "{read:?}");
    let plain = CheckRequest::new("Nothing is cited.", DraftFormat::Markdown);
    let read = engine
        .read_cited(&plain, hypothesis, &|_, _| {})
        .await
        .unwrap();
    assert_eq!((read.tried, read.task_id), (0, None));
    assert_eq!(engine.tasks().unwrap().len(), 2);
}

#[tokio::test]
async fn the_judge_is_asked_once_for_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).unwrap();
    std::fs::write(papers.join("sleep.html"), PAGE).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let open = |read_only: bool| {
        let mut config = config(folder.path());
        config.read_only = read_only;
        config.stance_judge = Some(Arc::new(Counting(Arc::clone(&asked))));
        if !read_only {
            config.corpus.push(papers.clone());
        }
        Engine::open(config).unwrap()
    };
    let engine = open(false);
    engine.sync_corpus(&|_| {}).await.unwrap();
    let request = |text: &str| CheckRequest::new(text, DraftFormat::Markdown);
    let short = "Night work raised the blood pressure of nurses ([source](sleep.html)).";
    let first = engine.check(&request(short), &|_| {}).await.unwrap();
    let once = asked.load(Ordering::Relaxed);
    assert!(once > 0);
    drop(engine);
    // Another process that may only look.
    let engine = open(true);
    let again = engine.check(&request(short), &|_| {}).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), once);
    assert_eq!(again, first);
    let longer =
        format!("{short} Night work lengthened the sleep of nurses ([source](sleep.html)).");
    engine.check(&request(&longer), &|_| {}).await.unwrap();
    assert!(
        asked.load(Ordering::Relaxed) > once,
        "a new sentence is a new question"
    );
}

#[tokio::test]
async fn links_that_lead_on_are_no_citations() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(config(folder.path())).unwrap();
    let draft = "Please see [the change log](https://a.example/log) for a history of all releases.\n\n\
        - [Home](https://a.example/)\n\n\
        Night work shortens the sleep of nurses ([page](https://a.example/sleep)).\n\n\
        See also doi:10.1234/nowhere for what was left out here.\n";
    let request = CheckRequest::new(draft, DraftFormat::Markdown);
    let report = engine.check(&request, &|_| {}).await.unwrap();
    let found: Vec<_> = report.sentences.iter().map(|s| s.verdict).collect();
    let not_found = Some(CheckCode::ReferenceNotFound);
    assert_eq!(found, [None, None, not_found, not_found], "{report:#?}");
}

#[tokio::test]
async fn a_link_on_words_of_the_sentence_may_lead_to_more_on_them() {
    let folder = tempfile::tempdir().unwrap();
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).unwrap();
    std::fs::write(papers.join("sleep.html"), PAGE).unwrap();
    let mut config = config(folder.path());
    config.corpus.push(papers);
    let engine = Engine::open(config).unwrap();
    engine.sync_corpus(&|_| {}).await.unwrap();
    let first = async |draft: &str| {
        let request = CheckRequest::new(draft, DraftFormat::Markdown);
        let report = engine.check(&request, &|_| {}).await.unwrap();
        codes(&report).first().copied()
    };
    let said = "Paper mills in the valley closed after";
    let pointer = first(&format!("{said} a long [night of work](sleep.html).")).await;
    assert_eq!(pointer, Some(CheckCode::NotChecked));
    let source = first(&format!(
        "{said} a long night of work ([source](sleep.html))."
    ))
    .await;
    assert_eq!(source, Some(CheckCode::NotInSource));
    let titled = first(&format!("{said}, [Night work and sleep](sleep.html) says.")).await;
    assert_ne!(titled, Some(CheckCode::NotChecked));
    // What is compared letter by letter is a fault either way.
    let number = "Night work shortened the [sleep of nurses](sleep.html) by 47 minutes a day.";
    assert_eq!(first(number).await, Some(CheckCode::NumberMismatch));
}

#[tokio::test]
async fn the_section_that_a_link_names_is_read_first() {
    let folder = tempfile::tempdir().unwrap();
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).unwrap();
    let mut page = String::from("# Night work\n\n");
    for ward in ["first", "second", "third", "fourth", "fifth", "sixth"] {
        page.push_str(&format!(
            "## The {ward} ward\n\nOn the {ward} ward, the length of sleep after night work was 6 hours \
             a day.\n\n"
        ));
    }
    page.push_str("## Day work: rest\n\nRest was undisturbed.\n");
    std::fs::write(papers.join("wards.md"), page).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let mut config = config(folder.path());
    config.corpus.push(papers);
    config.stance_judge = Some(Arc::new(Listening(Arc::clone(&asked))));
    let engine = Engine::open(config).unwrap();
    engine.sync_corpus(&|_| {}).await.unwrap();
    let draft = |link: &str| {
        let text =
            format!("After night work, the length of sleep was 6 hours a day ([wards]({link})).");
        CheckRequest::new(text, DraftFormat::Markdown)
    };
    let heard = |words: &str| {
        asked
            .lock()
            .unwrap()
            .iter()
            .any(|p: &String| p.contains(words))
    };
    engine.check(&draft("wards.md"), &|_| {}).await.unwrap();
    assert!(heard("night work") && !heard("undisturbed"));
    // The nearest sentence says it, so only that is judged, alone and with the next one.
    assert_eq!(asked.lock().unwrap().len(), 2);
    engine
        .check(&draft("wards.md#day-work-rest"), &|_| {})
        .await
        .unwrap();
    assert!(heard("undisturbed"));
}
