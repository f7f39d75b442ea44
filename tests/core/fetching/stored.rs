//! What happens to pages that are stored already, and to documents of all kinds.

use super::*;

const HYPOTHESIS: &str = "Drug X increases the risk of falls in older adults";

/// An engine over an empty graph, with a clock that can be set.
fn engine() -> (Engine, Arc<ManualClock>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(1_767_225_600_000));
    let engine = engine_in(&folder, &clock);
    (engine, clock, folder)
}

fn engine_in(folder: &tempfile::TempDir, clock: &Arc<ManualClock>) -> Engine {
    let mut config = EngineConfig::new(folder.path().join("web.db"));
    config.allow_private_hosts = true;
    config.clock = clock.clone();
    Engine::open(config).unwrap()
}

#[allow(clippy::disallowed_methods, reason = "does what no user can")]
fn connection(folder: &tempfile::TempDir) -> rusqlite::Connection {
    rusqlite::Connection::open(folder.path().join("web.db")).unwrap()
}

async fn research(engine: &Engine, url: &str) -> StatusReport {
    let task = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let targets = [json!({ "kind": "url", "url": url })];
    engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    engine.run(&task.id, None).await.unwrap();
    engine.status(&task.id, StatusDetail::Full).unwrap()
}

/// The first row of an answer.
fn row(engine: &Engine, sql: &str) -> Vec<Value> {
    let request = SqlRequest {
        sql: sql.to_owned(),
        params: SqlParams::None,
        options: SqlOptions {
            limit: 10,
            timeout_ms: 2_000,
            ..SqlOptions::default()
        },
    };
    let rows = engine.query_sql(&request).unwrap().rows;
    rows[0].values().cloned().collect()
}

fn finding(percent: u32) -> String {
    let methods = "We followed 1,200 adults aged 65 or older in 14 clinics for two years and counted every fall. ";
    format!(
        "<!doctype html><html lang=en><title>Falls and drug X</title><main><article><h1>Falls and drug X</h1><p>{}</p>\
         <p>Drug X increased the risk of falls in older adults by {percent} percent compared with placebo.</p></article></main>",
        methods.repeat(3)
    )
}

const HOUR: i64 = 3_600_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_page_is_checked_when_it_has_grown_old() {
    let site = Site::new(|path, before, head| {
        if path == "/robots.txt" {
            return answer("404 Not Found", &[], "");
        }
        let tag = if before < 3 { "\"one\"" } else { "\"two\"" };
        if head.contains(&format!("if-none-match: {tag}")) {
            return answer("304 Not Modified", &[("ETag", tag)], "");
        }
        let mut page = html(finding(if before < 3 { 41 } else { 12 }));
        page.headers.push(("ETag", tag.to_owned()));
        page
    })
    .await;
    let (engine, clock, _folder) = engine();
    let url = site.url("/article");
    let state = "SELECT (SELECT max(version) FROM page_texts), fetched_at, etag FROM pages WHERE fetched_at IS NOT NULL";
    // Hours that pass before each task, requests so far, text version, day of the last check.
    for (hours, requests, version, day) in [
        (0, 1, 1, "2026-01-01"),
        (20, 1, 1, "2026-01-01"),
        (5, 2, 1, "2026-01-02"),
        (20, 2, 1, "2026-01-02"),
        (5, 3, 1, "2026-01-03"),
        (25, 4, 2, "2026-01-04"),
        (25, 5, 2, "2026-01-05"),
    ] {
        clock.advance(hours * HOUR);
        let report = research(&engine, &url).await;
        assert_eq!(report.recent_errors, Some(vec![]));
        assert!(report.metrics.total_claims > 0);
        assert_eq!(site.count("/article"), requests, "{hours} hours later");
        let found = row(&engine, state);
        assert_eq!(found[0], json!(version));
        assert!(found[1].as_str().unwrap().starts_with(day), "{found:?}");
    }
    let heads: Vec<bool> = site
        .seen("/article")
        .iter()
        .map(|seen| seen.head.contains("if-none-match: "))
        .collect();
    assert_eq!(heads, [false, true, true, true, true]);
    assert!(engine.verify().unwrap().violations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_say_how_long_a_copy_serves() {
    for (control, later, requests) in [
        ("max-age=600", HOUR / 12, 1),
        ("max-age=600", HOUR / 3, 2),
        ("max-age=172800", 30 * HOUR, 1),
        ("no-store", 1_000, 2),
        ("no-cache", 1_000, 2),
        ("public", 23 * HOUR, 1),
    ] {
        let site = Site::new(move |path, _, _| {
            if path == "/robots.txt" {
                return answer("404 Not Found", &[], "");
            }
            let mut page = html(finding(41));
            page.headers.push(("Cache-Control", control.to_owned()));
            page
        })
        .await;
        let (engine, clock, folder) = engine();
        research(&engine, &site.url("/article")).await;
        clock.advance(later);
        // What the server said outlives the process that heard it.
        drop(engine);
        let engine = engine_in(&folder, &clock);
        research(&engine, &site.url("/article")).await;
        assert_eq!(
            site.count("/article"),
            requests,
            "{control}, {later} ms later"
        );
        assert_eq!(row(&engine, "SELECT count(*) FROM page_texts"), [json!(1)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_stays_evidence_when_its_server_is_gone() {
    let site = Site::new(|path, before, _| match (path, before) {
        ("/article", 0) => html(finding(41)),
        ("/article", 1) => answer("410 Gone", &[], ""),
        ("/article", 2) => answer("401 Unauthorized", &[], ""),
        _ => answer("404 Not Found", &[], ""),
    })
    .await;
    let (engine, clock, _folder) = engine();
    let url = site.url("/article");
    for requests in 1..=3 {
        let report = research(&engine, &url).await;
        assert_eq!(report.recent_errors, Some(vec![]));
        assert_eq!(report.pending_auth_count, 0);
        assert!(report.metrics.total_claims > 0);
        assert_eq!(site.count("/article"), requests);
        clock.advance(30 * HOUR);
    }
    assert_eq!(row(&engine, "SELECT count(*) FROM page_texts"), [json!(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_task_fetches_nothing_twice() {
    let site = Site::new(|path, _, _| match path {
        "/robots.txt" => answer("404 Not Found", &[], ""),
        _ => {
            let mut page = html(finding(41));
            page.headers.push(("Cache-Control", "no-store".to_owned()));
            page
        }
    })
    .await;
    let (engine, clock, folder) = engine();
    let task = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let queue = |url: String| {
        let targets = [json!({ "kind": "url", "url": url })];
        engine
            .queue_targets(&task.id, &targets, &Default::default())
            .unwrap()
    };
    queue(site.url("/a"));
    engine.run(&task.id, None).await.unwrap();
    clock.advance(48 * HOUR);
    // What a worker that was killed after it had stored the page leaves behind.
    let sql = "UPDATE jobs SET state = 'queued' WHERE kind = 'target_queue'";
    assert_eq!(connection(&folder).execute(sql, []).unwrap(), 1);
    queue(site.url("/b"));
    engine.run(&task.id, None).await.unwrap();
    assert_eq!((site.count("/a"), site.count("/b")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn encodings_of_the_world_are_read() {
    let japanese = "薬剤Xは高齢者の転倒のリスクを高めることが、この試験で示された。";
    let chinese = "药物X增加了老年人跌倒的风险，这是本试验的主要发现。";
    let french =
        "Le médicament X a élevé le risque de chute chez les personnes âgées, déjà à faible dose.";
    let cases: &[(&str, &str, &str, bool)] = &[
        ("shift_jis", japanese, "; charset=Shift_JIS", false),
        ("shift_jis", japanese, "", true),
        ("shift_jis", japanese, "", false),
        ("euc-jp", japanese, "; charset=EUC-JP", false),
        ("euc-jp", japanese, "", true),
        ("euc-jp", japanese, "", false),
        ("gbk", chinese, "; charset=gb2312", false),
        ("gbk", chinese, "", true),
        ("gbk", chinese, "", false),
        (
            "big5",
            "藥物增加了老年人跌倒的風險，這是本試驗的主要發現。",
            "",
            false,
        ),
        (
            "euc-kr",
            "약물은 노인의 낙상 위험을 증가시켰으며 이는 이 시험의 주요 결과이다.",
            "",
            false,
        ),
        (
            "windows-1251",
            "Препарат повысил риск падений у пожилых людей по сравнению с плацебо.",
            "",
            false,
        ),
        ("windows-1252", french, "; charset=iso-8859-1", false),
        ("windows-1252", french, "", true),
        ("windows-1252", french, "", false),
        ("utf-8", japanese, "; charset=iso-8859-1", false),
    ];
    for (label, words, in_header, in_meta) in cases {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let meta = if *in_meta {
            format!("<meta charset=\"{label}\">")
        } else {
            String::new()
        };
        let page = format!(
            "<!doctype html><html><head>{meta}<title>{words}</title></head><body><main><article><p>{}</p></article></main>",
            words.repeat(6)
        );
        let body = encoding.encode(&page).0.into_owned();
        let kind = format!("text/html{in_header}");
        let site = Site::new(move |path, _, _| match path {
            "/robots.txt" => answer("404 Not Found", &[], ""),
            _ => answer("200 OK", &[("Content-Type", &kind)], body.clone()),
        })
        .await;
        let (engine, _clock, _folder) = engine();
        let report = research(&engine, &site.url("/x")).await;
        assert_eq!(
            report.recent_errors,
            Some(vec![]),
            "{label} {in_header} {in_meta}"
        );
        let found = row(
            &engine,
            "SELECT title, text FROM pages p JOIN page_texts t ON t.page_id = p.id",
        );
        assert_eq!(found[0], json!(words), "{label} {in_header:?} {in_meta}");
        assert!(
            found[1].as_str().unwrap().contains(words),
            "{label}: {found:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_documents_fail_alone_with_a_reason_each() {
    let site = Site::new(|path, _, _| match path {
        "/nested.html" => html("<div>".repeat(100_000)),
        "/deep.xml" => answer("200 OK", &[("Content-Type", "application/xml")], format!("<article>{}", "<sec>".repeat(100_000))),
        "/broken.xml" => answer("200 OK", &[("Content-Type", "application/xml")], "<article><front></body>"),
        "/laughs.xml" => {
            let entities: String = (1..20).map(|n| format!("<!ENTITY e{n} \"&e{0};&e{0};&e{0};&e{0};\">", n - 1)).collect();
            answer("200 OK", &[("Content-Type", "application/xml")], format!("<!DOCTYPE article [<!ENTITY e0 \"ha\">{entities}]><article><body><p>&e19;</p></body></article>"))
        }
        "/broken.pdf" => answer("200 OK", &[("Content-Type", "application/pdf")], "%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 1 0 R>>\nendobj\ntrailer\n<</Root 1 0 R>>"),
        "/login.pdf" => answer("200 OK", &[("Content-Type", "application/pdf")], "Please come back later."),
        "/binary" => answer("200 OK", &[("Content-Type", "text/html")], (0..=255).collect::<Vec<u8>>().repeat(20)),
        "/endless" => Answer {
            endless: Some(Duration::ZERO),
            ..html("<p>word ".repeat(10_000))
        },
        "/good" => html(finding(41)),
        _ => answer("404 Not Found", &[], ""),
    })
    .await;
    let (engine, _clock, _folder) = engine();
    let task = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let hostile = [
        "/nested.html",
        "/deep.xml",
        "/broken.xml",
        "/broken.pdf",
        "/login.pdf",
        "/binary",
        "/endless",
    ];
    let targets: Vec<Value> = hostile
        .iter()
        .chain(&["/laughs.xml", "/good"])
        .map(|path| json!({ "kind": "url", "url": site.url(path) }))
        .collect();
    engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    let begun = Instant::now();
    engine.run(&task.id, None).await.unwrap();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    let report = engine.status(&task.id, StatusDetail::Full).unwrap();
    assert_eq!(report.metrics.total_pages, 2, "{report:#?}");
    // A billion laughs are not laughed: what is nested so deep is left as it was written.
    let longest = row(&engine, "SELECT max(length(text)) FROM page_texts");
    assert!(longest[0].as_i64().unwrap() < 10_000, "{longest:?}");
    assert!(report.metrics.total_claims > 0);
    let errors = report.recent_errors.unwrap();
    for path in hostile {
        let named = errors.iter().filter(|e| e.error.contains(&site.url(path)));
        let reasons: Vec<&str> = named.map(|e| e.error.as_str()).collect();
        assert_eq!(reasons.len(), 1, "{path}: {errors:#?}");
        assert!(
            !reasons[0].contains("broke the parser"),
            "{path}: {reasons:?}"
        );
    }
}

/// A server is asked what was typed, character for character; two spellings are one page all the
/// same.
#[tokio::test]
async fn an_address_is_asked_for_as_it_was_given() {
    let site = Site::new(|path, _, _| match path {
        "/robots.txt" => answer("404 Not Found", &[], ""),
        _ => html(finding(30)),
    })
    .await;
    let (engine, clock, _folder) = engine();
    let task = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let given = [
        "/a?100",
        "/b?z=1&a=%2f+x&utm_source=y&&",
        "/c?q=%93%FA",
        "/d?",
    ];
    let targets: Vec<Value> = given
        .iter()
        .map(|path| json!(format!("{}#part", site.url(path))))
        .collect();
    for repeat in [false, true] {
        let options = lyra_core::QueueOptions {
            repeat,
            ..Default::default()
        };
        engine.queue_targets(&task.id, &targets, &options).unwrap();
        engine.run(&task.id, None).await.unwrap();
        for path in given {
            assert_eq!(site.count(path), 1 + usize::from(repeat), "{path}");
        }
        clock.advance(30 * HOUR);
    }
    let asked = site.seen.lock().unwrap().len();
    let asked = asked - site.count("/robots.txt");
    assert_eq!(asked, 2 * given.len(), "these and no others");
    for (given, key) in [
        ("/a?100", "/a?100="),
        ("/b?z=1&a=%2f+x&utm_source=y&&", "/b?a=%2F+x&z=1"),
    ] {
        let sql = format!(
            "SELECT final_url FROM pages WHERE url = '{}'",
            site.url(key)
        );
        assert_eq!(row(&engine, &sql), [json!(site.url(given))]);
    }
    assert_eq!(row(&engine, "SELECT count(*) FROM pages"), [json!(4)]);
    let other = [
        json!(site.url("/a?100=")),
        json!(site.url("/b?a=%2F+x&z=1")),
    ];
    let report = engine
        .queue_targets(&task.id, &other, &Default::default())
        .unwrap();
    assert_eq!((report.queued_count, report.skipped_count), (0, 2));
    // Who knows the page by its key alone asks for it as it is known to be asked for.
    let second = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    engine
        .queue_targets(&second.id, &other[..1], &Default::default())
        .unwrap();
    engine.run(&second.id, None).await.unwrap();
    assert_eq!((site.count("/a?100="), site.count("/a?100")), (0, 3));
}
