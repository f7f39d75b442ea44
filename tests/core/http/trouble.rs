//! Pages that cannot be read, and targets that are asked for twice.

use super::*;

/// The reason why the only target of a task failed.
fn reason(report: &StatusReport) -> String {
    let errors = report.recent_errors.as_deref().unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].kind, "target_queue");
    errors[0].error.clone()
}

fn assert_nothing_stored(engine: &Engine) {
    for table in ["pages", "page_texts", "fragments", "claims", "edges"] {
        let count = column(engine, &format!("SELECT count(*) FROM {table}"));
        assert_eq!(count, "0", "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_failure_names_its_reason() {
    let server = Server::start().await;
    let impatient = HttpOptions {
        allow_private_hosts: true,
        timeout: Duration::from_millis(1_500),
        retry_base: Duration::from_millis(10),
        max_bytes: 200_000,
        ..HttpOptions::default()
    };
    let (engine, _folder) = engine(|config| {
        let fetcher = HttpFetcher::new(impatient);
        config.fetchers.push(Arc::new(fetcher));
    });
    for (path, why) in [
        ("/nowhere", "answered 404 Not Found"),
        ("/broken", "answered 500 Internal Server Error, 3 times"),
        ("/endless", "larger than 200000 bytes"),
        ("/silent", "no answer"),
        ("/circle", "more than 10 redirects"),
        ("/to-file", "its scheme is not http or https"),
        ("/to-password", "it carries a user name or password"),
        ("/picture", "the document is binary, not text"),
        ("/blank", "the page holds no text"),
    ] {
        let report = research(&engine, &[server.url(path)]).await;
        let said = reason(&report);
        assert!(said.contains(why), "{path}: {said}");
        assert!(said.contains(&server.url(path)), "{path}: {said}");
        assert!(
            !said.contains("secret") && !said.contains("stack trace"),
            "{path}: {said}"
        );
        assert!(
            report.milestones.target_queue_drained && report.pending_auth_count == 0,
            "{path}"
        );
    }
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let said = reason(&research(&engine, &[gone]).await);
    assert!(said.to_lowercase().contains("connection refused"), "{said}");
    assert_nothing_stored(&engine);
    let circles = server
        .requests()
        .iter()
        .filter(|path| *path == "/circle")
        .count();
    assert_eq!(circles, 11, "ten redirects and the page itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_s_own_fetcher_bounds_what_it_reads() {
    let server = Server::start().await;
    let (engine, _folder) = engine(|_| ());
    let said = reason(&research(&engine, &[server.url("/endless")]).await);
    assert!(said.contains("larger than 16777216 bytes"), "{said}");
    assert_nothing_stored(&engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_behind_a_login_waits_for_a_human() {
    let server = Server::start().await;
    let (engine, _folder) = engine(|_| ());
    let url = server.url("/members");
    let report = research(&engine, std::slice::from_ref(&url)).await;
    assert_eq!(report.recent_errors, Some(vec![]));
    assert_eq!(report.pending_auth_count, 1);
    let waiting = &report.pending_auth_detail.as_deref().unwrap()[0];
    assert_eq!(
        (
            waiting.url.as_str(),
            waiting.domain.as_str(),
            waiting.auth_type.as_str()
        ),
        (url.as_str(), "127.0.0.1", "login")
    );
    let items = report.queue_items.as_deref().unwrap();
    assert_eq!(items[0].state, "awaiting_auth");
    assert!(!report.milestones.target_queue_drained);
    assert_nothing_stored(&engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn private_addresses_are_closed_unless_they_are_opened() {
    let server = Server::start().await;
    let (engine, _folder) = engine(|config| config.allow_private_hosts = false);
    let port = server.address.port();
    for (url, why) in [
        (server.url("/article"), "private or reserved network"),
        (
            format!("http://2130706433:{port}/article"),
            "private or reserved network",
        ),
        (
            format!("http://[::ffff:127.0.0.1]:{port}/article"),
            "private or reserved network",
        ),
        (
            format!("http://localhost:{port}/article"),
            "no public address",
        ),
        (
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            "private or reserved network",
        ),
    ] {
        let said = reason(&research(&engine, std::slice::from_ref(&url)).await);
        assert!(said.contains(why), "{url}: {said}");
    }
    assert_eq!(server.requests(), Vec::<String>::new());
    assert_nothing_stored(&engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_task_reads_the_stored_page() {
    let server = Server::start().await;
    let (engine, _folder) = engine(|_| ());
    let url = server.url("/article");
    let first = research(&engine, std::slice::from_ref(&url)).await;
    let second = research(&engine, std::slice::from_ref(&url)).await;
    assert_eq!(server.requests(), ["/article"]);
    assert_eq!(second.recent_errors, Some(vec![]));
    assert_eq!(first.metrics.total_claims, second.metrics.total_claims);
    for report in [&first, &second] {
        let counts = rows(
            &engine,
            &format!(
                "SELECT count(DISTINCT c.id) AS claims, count(DISTINCT e.id) AS edges
                 FROM claims c JOIN edges e ON e.target_id = c.id AND e.relation = 'origin'
                 WHERE c.task_id = '{}'",
                report.task_id
            ),
        );
        assert_eq!(counts[0]["claims"], report.metrics.total_claims);
        assert_eq!(counts[0]["edges"], report.metrics.total_claims);
    }
    assert_eq!(column(&engine, "SELECT count(*) FROM page_texts"), "1");
    assert_quotes(&engine, 2 * first.metrics.total_claims);
    assert_sound(&engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_spellings_of_an_address_are_one_target() {
    let server = Server::start().await;
    let (engine, _folder) = engine(|_| ());
    let task = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let port = server.address.port();
    let same = [
        format!("http://127.0.0.1:{port}/article?b=2&a=1"),
        format!("HTTP://127.0.0.1:{port}/article?a=1&b=2&utm_source=letter&fbclid=9"),
        format!("http://127.0.0.1:{port}/x/../article?a=1&b=2#results"),
    ];
    let default_port = ["http://127.0.0.1:80/", "http://127.0.0.1/"].map(str::to_owned);
    let queue = |urls: &[String]| {
        let targets: Vec<Value> = urls.iter().map(|url| json!(url)).collect();
        let options = Default::default();
        engine.queue_targets(&task.id, &targets, &options).unwrap()
    };
    let report = queue(&same);
    assert_eq!(
        (report.queued_count, report.skipped_count),
        (1, 2),
        "{report:?}"
    );
    for (skipped, given) in report.skipped.iter().zip(&same[1..]) {
        assert_eq!(skipped.target, json!(given));
        assert!(skipped.reason.contains("already"), "{skipped:?}");
    }
    engine.run(&task.id, None).await.unwrap();
    assert_eq!(server.requests(), ["/article?b=2&a=1"]);
    let after = queue(&same);
    assert_eq!(
        (after.queued_count, after.skipped_count),
        (0, 3),
        "done is done"
    );
    let ports = queue(&default_port);
    assert_eq!(
        (ports.queued_count, ports.skipped_count),
        (1, 1),
        "{ports:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_targets_of_one_call_are_read_in_their_order() {
    let server = Server::start().await;
    let (engine, _folder) = engine(|_| ());
    let paths: Vec<String> = (0..8)
        .map(|n| format!("/nowhere?n={}", n * 7 % 8))
        .collect();
    let urls: Vec<String> = paths.iter().map(|path| server.url(path)).collect();
    research(&engine, &urls).await;
    assert_eq!(server.requests(), paths);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fetcher_keeps_its_promises() {
    let server = Server::start().await;
    let options = HttpOptions {
        allow_private_hosts: true,
        ..HttpOptions::default()
    };
    let fetcher = HttpFetcher::new(options);
    for found in ["/article", "/old", "/cached", "/zipped"] {
        let refused = server.url("/nowhere");
        check_fetcher(&fetcher, &server.url(found), &refused).await;
    }
    let closed = HttpFetcher::new(HttpOptions::default());
    for url in [server.url("/article"), "http://10.0.0.1/a".to_owned()] {
        lyra_core::ports::testing::fetcher_refuses(&closed, &url).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_costs_no_more_than_the_timeout() {
    let server = Server::start().await;
    let options = HttpOptions {
        allow_private_hosts: true,
        timeout: Duration::from_millis(300),
        ..HttpOptions::default()
    };
    let fetcher = HttpFetcher::new(options);
    let request = FetchRequest {
        url: server.url("/silent"),
        ..FetchRequest::default()
    };
    let begun = Instant::now();
    let error = fetcher.fetch(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.message().contains(&request.url), "{error}");
    assert!(!error.message().contains("within 0 s"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}
