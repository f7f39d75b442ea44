//! Search services, asked by the real client over the loopback address: what they know becomes
//! works, pages and claims, and what fails is named and loses nothing.

mod world;

use lyra_core::backends::{
    ApiKey, ApiOptions, Backoff, HttpFetcher, HttpOptions, ProviderKind, ProvidersConfig,
    ServiceConfig,
};
use lyra_core::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::pipeline::{SearchOptions, SearchReport};
use lyra_core::ports::testing::{check_search_provider, provider_fails_in_an_outage};
use lyra_core::ports::{
    FetchRequest, FetchedDocument, Fetcher, ProviderFailure, SearchProvider, SearchQuery,
    SystemClock, WorkId,
};
use lyra_core::{
    Engine, EngineConfig, Error, ErrorKind, QueueOptions, Result, StatusDetail, StatusReport,
    TaskConfig,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use world::{Fault, PAPERS, World};

const KINDS: [(ProviderKind, &str); 7] = [
    (ProviderKind::OpenAlex, "openalex"),
    (ProviderKind::Crossref, "crossref"),
    (ProviderKind::SemanticScholar, "s2"),
    (ProviderKind::EuropePmc, "epmc"),
    (ProviderKind::Arxiv, "arxiv"),
    (ProviderKind::Searxng, "searxng"),
    (ProviderKind::Brave, "brave"),
];

const SECRET: &str = "s3cr3t-k3y-0815";
const QUERY: &str = "drug X falls older adults";
const HYPOTHESIS: &str = "Drug X increases the risk of falls in older adults";

/// Quick to give up, and the same in every run.
fn impatient() -> ApiOptions {
    ApiOptions {
        timeout: Duration::from_millis(600),
        attempts: 2,
        backoff: Backoff {
            base: Duration::from_millis(2),
            max: Duration::from_millis(4),
        },
        patience: Duration::from_secs(3),
        opens_after: 1000,
        seed: Some(7),
        ..ApiOptions::default()
    }
}

fn search(world: &World) -> ProvidersConfig {
    let services = KINDS.map(|(kind, path)| {
        let service = ServiceConfig {
            base_url: Some(world.url(&format!("/{path}"))),
            // Brave answers nobody without a key.
            key: (kind == ProviderKind::Brave)
                .then(|| ApiKey::new("LYRA_BRAVE_KEY", SECRET).unwrap()),
            requests_per_second: Some(1000.0),
        };
        (kind, service)
    });
    ProvidersConfig {
        enabled: KINDS.iter().map(|(kind, _)| *kind).collect(),
        mailto: Some("tests@example.org".to_owned()),
        services: services.into_iter().collect(),
        api: impatient(),
    }
}

fn one(world: &World, kind: ProviderKind, api: ApiOptions) -> Arc<dyn SearchProvider> {
    let config = ProvidersConfig {
        enabled: vec![kind],
        api,
        ..search(world)
    };
    build(&config)
}

fn build(config: &ProvidersConfig) -> Arc<dyn SearchProvider> {
    let clock: Arc<dyn lyra_core::ports::Clock> = Arc::new(SystemClock);
    config.build(&clock).unwrap().remove(0)
}

/// The resolver of DOIs, in the world; the rest of the public web is closed.
#[derive(Debug)]
struct Resolver {
    base: String,
    http: HttpFetcher,
}

#[async_trait::async_trait]
impl Fetcher for Resolver {
    fn name(&self) -> &'static str {
        "http"
    }

    fn accepts(&self, url: &str) -> bool {
        url.starts_with("https://")
    }

    fn may_reuse(&self, url: &str, age: std::time::Duration) -> bool {
        self.http.may_reuse(url, age)
    }

    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument> {
        let Some(doi) = request.url.strip_prefix("https://doi.org/") else {
            return Err(Error::new(
                ErrorKind::Backend,
                format!("{}: closed", request.url),
            ));
        };
        let url = format!("{}{doi}", self.base);
        let there = FetchRequest {
            url,
            ..request.clone()
        };
        self.http.fetch(&there).await
    }
}

fn engine(world: &World, change: impl FnOnce(&mut EngineConfig)) -> (Engine, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = EngineConfig::new(folder.path().join("research.db"));
    config.allow_private_hosts = true;
    config.search = search(world);
    let options = HttpOptions {
        allow_private_hosts: true,
        timeout: Duration::from_secs(2),
        ..HttpOptions::default()
    };
    config.fetchers.push(Arc::new(Resolver {
        base: world.url("/doi/"),
        http: HttpFetcher::new(options).unwrap(),
    }));
    change(&mut config);
    (Engine::open(config).unwrap(), folder)
}

fn task(engine: &Engine) -> String {
    engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap()
        .id
}

async fn ask(engine: &Engine, query: &str) -> SearchReport {
    let task = task(engine);
    let options = SearchOptions::default();
    engine
        .pipeline()
        .search(&task, query, &options)
        .await
        .unwrap()
}

async fn research(engine: &Engine, targets: &[Value]) -> StatusReport {
    let task = task(engine);
    engine
        .queue_targets(&task, targets, &QueueOptions::default())
        .unwrap();
    engine.run(&task, None).await.unwrap();
    engine.status(&task, StatusDetail::Full).unwrap()
}

fn rows(engine: &Engine, sql: &str) -> Vec<serde_json::Map<String, Value>> {
    let request = SqlRequest {
        sql: sql.to_owned(),
        params: SqlParams::None,
        options: SqlOptions {
            limit: 200,
            timeout_ms: 2000,
            ..SqlOptions::default()
        },
    };
    engine.query_sql(&request).unwrap().rows
}

/// The values of a query of one column, in order.
fn column(engine: &Engine, sql: &str) -> Vec<String> {
    let rows = rows(engine, sql);
    let values = rows.iter().flat_map(|row| row.values());
    values
        .map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect()
}

fn assert_sound(engine: &Engine) {
    let verified = engine.verify().unwrap();
    assert!(verified.violations.is_empty(), "{:#?}", verified.violations);
}

/// What was read: the DOIs behind the pages with a text, and the addresses of those without one.
fn read(engine: &Engine) -> Vec<String> {
    column(
        engine,
        "SELECT iif(p.canonical_id LIKE 'doi:%', p.canonical_id, p.url) FROM pages p
         WHERE EXISTS (SELECT 1 FROM page_texts t WHERE t.page_id = p.id) ORDER BY 1",
    )
}

fn everything(world: &World) -> Vec<String> {
    let mut all: Vec<String> = PAPERS
        .iter()
        .map(|paper| format!("doi:{}", paper.doi()))
        .collect();
    all.push(world.url("/landing/web"));
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn all_services_together_find_every_work_once() {
    let world = World::start().await;
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("retractions.csv");
    std::fs::write(
        &list,
        "Title,OriginalPaperDOI,OriginalPaperPubMedID,RetractionNature\nWards,10.5555/FALLS.6,0,Retraction\nshort row\n",
    )
    .unwrap();
    let (engine, _folder) = engine(&world, |config| config.retractions_csv = Some(list));
    let report = ask(&engine, QUERY).await;
    assert_eq!(report.errors, Vec::<String>::new());
    assert_eq!(read(&engine), everything(&world));
    assert_eq!(report.pages_fetched, 7);
    assert!(
        report
            .claims_found
            .iter()
            .any(|c| c.text.contains("increased the risk of falls"))
    );
    // The abstract of a work that was found by several services is read once and not fetched.
    assert!(
        world
            .asked("doi")
            .iter()
            .all(|asked| asked.path == "/doi/10.5555/falls.5")
    );
    let first = &rows(&engine, "SELECT * FROM works WHERE doi = '10.5555/falls.1'")[0];
    for (name, value) in [
        ("title", json!(PAPERS[0].title)),
        ("year", json!(2020)),
        ("venue", json!("Journal of Falls")),
        ("citation_count", json!(99)),
        ("is_retracted", json!(0)),
    ] {
        assert_eq!(first[name], value, "{name}");
    }
    let retracted = column(
        &engine,
        "SELECT doi FROM works WHERE is_retracted ORDER BY doi",
    );
    assert_eq!(retracted, ["10.5555/falls.4", "10.5555/falls.6"]);
    let author = &rows(
        &engine,
        "SELECT name, affiliation, orcid FROM work_authors WHERE canonical_id = 'doi:10.5555/falls.1'",
    )[0];
    assert_eq!(author["orcid"], "0000-0002-1825-0097");
    assert_eq!(author["affiliation"], "University of Falls");
    let ids = column(
        &engine,
        "SELECT provider || ' ' || provider_paper_id FROM work_identifiers
         WHERE canonical_id = 'doi:10.5555/falls.1' ORDER BY 1",
    );
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(ids.contains(&"openalex W1".to_owned()) && ids.contains(&"pubmed 111".to_owned()));
    let text = column(
        &engine,
        "SELECT text FROM page_texts t JOIN pages p ON p.id = t.page_id WHERE p.canonical_id = 'doi:10.5555/falls.1'",
    );
    assert!(
        text[0].contains("two years & counted every fall. Drug X increased"),
        "{text:?}"
    );
    assert!(!text[0].contains("jats"), "{text:?}");
    let engines = column(&engine, "SELECT DISTINCT engine FROM serp_items ORDER BY 1");
    assert_eq!(
        engines,
        ["arxiv", "brave", "crossref", "europe_pmc", "openalex"]
    );
    assert_sound(&engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preprint_leads_to_its_publication() {
    let world = World::start().await;
    let (engine, _folder) = engine(&world, |_| ());
    let report = research(&engine, &[json!({"kind": "query", "query": QUERY})]).await;
    assert_eq!(report.recent_errors, Some(vec![]));
    let link = column(
        &engine,
        "SELECT b.canonical_id FROM edges e JOIN pages a ON a.id = e.source_id JOIN pages b ON b.id = e.target_id
         WHERE e.citation_source = 'superseded_by' AND a.canonical_id = 'doi:10.48550/arxiv.2401.00002'",
    );
    assert_eq!(link, ["doi:10.5555/falls.3"]);
    let preprint = column(
        &engine,
        "SELECT arxiv_id FROM work_identifiers WHERE canonical_id = 'doi:10.5555/falls.3' AND provider = 'semantic_scholar'",
    );
    assert_eq!(preprint, ["2401.00002"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_fails_is_named_and_costs_only_its_own() {
    let world = World::start().await;
    let only: &[(&str, &[usize])] = &[
        // Who fails, and which papers nobody else lists.
        ("openalex", &[4]),
        ("crossref", &[5]),
        ("s2", &[]),
        ("epmc", &[6]),
        ("arxiv", &[2]),
        ("searxng", &[]),
        ("brave", &[]),
    ];
    let faults = [
        (
            Fault::Status(500, ""),
            "is down or out of reach: answered 500",
        ),
        (
            Fault::Status(429, "Retry-After: 3600\r\n"),
            "limits the rate of requests: answered 429",
        ),
        (Fault::Status(400, ""), "refused the request: answered 400"),
        (
            Fault::Status(301, "Location: http://elsewhere.example/\r\n"),
            "to another host, which is not followed",
        ),
        (Fault::Garbage, "cannot be read"),
        (Fault::Foreign, "cannot be read"),
        (Fault::Truncated, "is down or out of reach"),
        (Fault::Slow, "is down or out of reach: no answer in time"),
    ];
    for (place, (service, lost)) in only.iter().enumerate() {
        let name = KINDS[place].0.name();
        // All faults for two services, and one each for the others: the code is the same.
        for (number, (fault, why)) in faults.iter().enumerate() {
            if place > 1 && number % 5 != place % 5 {
                continue;
            }
            world.recovers();
            world.fails(service, fault.clone());
            let (engine, _folder) = engine(&world, |_| ());
            let report = ask(&engine, QUERY).await;
            let case = format!("{service} {fault:?}: {:?}", report.errors);
            assert_eq!(report.errors.len(), 1, "{case}");
            assert!(
                report.errors[0].starts_with(&format!("provider {name}: {name} ")),
                "{case}"
            );
            assert!(report.errors[0].contains(why), "{case}");
            let lost: Vec<String> = lost
                .iter()
                .map(|n| format!("doi:{}", PAPERS[n - 1].doi()))
                .collect();
            let mut left = everything(&world);
            left.retain(|id| !lost.contains(id));
            assert_eq!(read(&engine), left, "{case}");
            assert_sound(&engine);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_all_fail_the_search_fails_and_says_so() {
    let world = World::start().await;
    for (_, service) in KINDS {
        world.fails(service, Fault::Status(503, ""));
    }
    let (engine, _folder) = engine(&world, |_| ());
    let report = research(&engine, &[json!({"kind": "query", "query": QUERY})]).await;
    let said = &report.recent_errors.as_deref().unwrap()[0].error;
    assert!(said.starts_with("no search provider answered"), "{said}");
    for (kind, _) in KINDS {
        assert!(said.contains(&format!("{kind} is down")), "{kind}: {said}");
    }
    assert_eq!(column(&engine, "SELECT status FROM queries"), ["failed"]);
    // Nothing found is another thing: no error, and nothing read.
    world.recovers();
    let (engine, _folder) = self::engine(&world, |config| {
        config.search.enabled = vec![ProviderKind::OpenAlex, ProviderKind::EuropePmc];
    });
    let report = ask(&engine, "nothing of the kind").await;
    assert_eq!((report.errors.len(), report.pages_fetched), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_is_waited_for() {
    let world = World::start().await;
    let query = SearchQuery {
        text: QUERY.to_owned(),
        limit: 10,
    };
    for fault in [
        Fault::Status(503, ""),
        Fault::Status(429, ""),
        Fault::Status(408, ""),
        Fault::Truncated,
        Fault::Slow,
    ] {
        let provider = one(&world, ProviderKind::OpenAlex, impatient());
        world.fails_once("openalex", fault.clone());
        let hits = provider.search(&query).await;
        assert_eq!(hits.unwrap().len(), 3, "{fault:?}");
    }
    let begun = Instant::now();
    let provider = one(&world, ProviderKind::OpenAlex, impatient());
    world.fails_once("openalex", Fault::Status(429, "Retry-After: 1\r\n"));
    assert!(provider.search(&query).await.is_ok());
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "Retry-After is kept"
    );
    // By date, compared with the service's own clock.
    let dates =
        "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\n";
    let begun = Instant::now();
    world.fails_once("openalex", Fault::Status(503, dates));
    assert!(provider.search(&query).await.is_ok());
    assert!(begun.elapsed() >= Duration::from_secs(1));
    // More patience than that nobody has.
    world.fails_once("openalex", Fault::Status(429, "Retry-After: 86400\r\n"));
    let error = provider.search(&query).await.unwrap_err();
    let failure = ProviderFailure::of(&error).unwrap();
    assert_eq!(
        *failure,
        ProviderFailure::RateLimited {
            retry_after: Some(86400)
        }
    );
    let before = world.asked("openalex").len();
    let error = provider.search(&query).await.unwrap_err();
    assert!(matches!(
        ProviderFailure::of(&error),
        Some(ProviderFailure::RateLimited { .. })
    ));
    assert_eq!(
        world.asked("openalex").len(),
        before,
        "it is not even asked"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_tell_what_went_wrong() {
    let world = World::start().await;
    for (fault, expected) in [
        (Fault::Status(500, ""), ProviderFailure::Outage),
        (Fault::Slow, ProviderFailure::Outage),
        (
            Fault::Status(429, ""),
            ProviderFailure::RateLimited { retry_after: None },
        ),
        (Fault::Garbage, ProviderFailure::BadReply),
        (Fault::Foreign, ProviderFailure::BadReply),
        (Fault::Status(401, ""), ProviderFailure::BadKey),
        (Fault::Status(422, ""), ProviderFailure::Refused),
    ] {
        world.recovers();
        for (kind, service) in KINDS {
            world.fails(service, fault.clone());
            let provider = one(&world, kind, impatient());
            let query = SearchQuery {
                text: QUERY.to_owned(),
                limit: 5,
            };
            let error = provider.search(&query).await.unwrap_err();
            assert_eq!(
                ProviderFailure::of(&error),
                Some(&expected),
                "{kind} {fault:?}: {error}"
            );
            assert!(!error.message().contains("127.0.0.1"), "{error}");
        }
    }
    let gone = ProvidersConfig {
        enabled: vec![ProviderKind::Crossref],
        services: [(
            ProviderKind::Crossref,
            ServiceConfig {
                base_url: Some("http://127.0.0.1:9".to_owned()),
                ..ServiceConfig::default()
            },
        )]
        .into_iter()
        .collect(),
        api: impatient(),
        ..ProvidersConfig::default()
    };
    provider_fails_in_an_outage(build(&gone).as_ref()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stays_down_is_left_alone() {
    let world = World::start().await;
    let api = ApiOptions {
        opens_after: 3,
        rest: Duration::from_millis(700),
        ..impatient()
    };
    let provider = one(&world, ProviderKind::Crossref, api);
    let id = WorkId::Doi(PAPERS[0].doi());
    world.fails("crossref", Fault::Status(502, ""));
    for _ in 0..5 {
        let error = provider.lookup(&id).await.unwrap_err();
        assert_eq!(ProviderFailure::of(&error), Some(&ProviderFailure::Outage));
        assert!(error.message().contains("answered 502"), "{error}");
    }
    assert_eq!(world.asked("crossref").len(), 3, "the breaker is open");
    tokio::time::sleep(Duration::from_millis(750)).await;
    world.recovers();
    assert!(
        provider.lookup(&id).await.unwrap().is_some(),
        "the probe closes it"
    );
    assert!(provider.lookup(&id).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_is_left_out_and_nobody_sees_it() {
    let world = World::start().await;
    let keyed = [
        ProviderKind::OpenAlex,
        ProviderKind::Crossref,
        ProviderKind::SemanticScholar,
    ];
    let (engine, folder) = engine(&world, |config| {
        for kind in keyed {
            let key = ApiKey::new(format!("THE_{kind}_KEY"), SECRET).unwrap();
            config.search.services.get_mut(&kind).unwrap().key = Some(key);
        }
    });
    world.fails("openalex", Fault::RefusesKey(403));
    world.fails("s2", Fault::RefusesKey(401));
    world.fails("brave", Fault::RefusesKey(401));
    let report = ask(&engine, QUERY).await;
    assert_eq!(read(&engine), everything(&world), "{:?}", report.errors);
    assert_eq!(
        report.errors,
        [
            "provider brave: brave refused the key, or wants one: answered 401 Unauthorized",
            "openalex: the key from THE_openalex_KEY was refused; it is asked without a key",
            "semantic_scholar: the key from THE_semantic_scholar_KEY was refused; it is asked without a key",
        ]
    );
    let keyed_requests = |service: &str| {
        let asked = world.asked(service);
        asked
            .iter()
            .filter(|a| a.head.contains(SECRET) || a.path.contains(SECRET))
            .count()
    };
    assert_eq!(
        (keyed_requests("openalex"), keyed_requests("s2")),
        (1, 1),
        "once is enough"
    );
    assert_eq!(keyed_requests("crossref"), world.asked("crossref").len());
    assert_eq!(keyed_requests("epmc"), 0);
    for asked in world.asked("openalex") {
        assert!(
            asked
                .head
                .to_lowercase()
                .contains("mailto:tests@example.org"),
            "{}",
            asked.head
        );
    }
    let doctor = engine.doctor();
    let of = |name: &str| doctor.iter().find(|check| check.name == name).unwrap();
    assert!(!of("provider openalex").ok && of("provider openalex").detail.contains("key refused"));
    assert!(
        of("provider crossref").ok
            && of("provider crossref")
                .detail
                .contains("key from THE_crossref_KEY")
    );
    assert!(of("provider arxiv").detail.ends_with("no key"));
    // Also what fails must not show it.
    for kind in KINDS {
        world.fails(kind.1, Fault::Status(500, ""));
    }
    let task = task(&engine);
    let failed = engine
        .pipeline()
        .search(&task, QUERY, &SearchOptions::default())
        .await
        .unwrap_err();
    let shown = format!("{failed:?} {engine:?} {doctor:?} {report:?}");
    assert!(!shown.contains(SECRET));
    drop(engine);
    for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap();
        let found = bytes
            .windows(SECRET.len())
            .any(|window| window == SECRET.as_bytes());
        assert!(!found, "{}", file.path().display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_key_brave_is_not_asked() {
    let world = World::start().await;
    let (engine, _folder) = engine(&world, |config| {
        config
            .search
            .services
            .get_mut(&ProviderKind::Brave)
            .unwrap()
            .key = None;
    });
    let report = ask(&engine, QUERY).await;
    assert_eq!(report.errors.len(), 1, "{:?}", report.errors);
    assert!(
        report.errors[0].contains("it needs a key"),
        "{:?}",
        report.errors
    );
    assert!(world.asked("brave").is_empty());
    let doctor = engine.doctor();
    let brave = doctor
        .iter()
        .find(|check| check.name == "provider brave")
        .unwrap();
    assert!(
        !brave.ok && brave.detail.contains("needs a key and has none"),
        "{brave:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_providers_keep_their_promises() {
    let world = World::start().await;
    for (kind, _) in KINDS {
        let provider = one(&world, kind, impatient());
        assert_eq!(provider.name(), kind.name());
        check_search_provider(provider.as_ref(), QUERY).await;
        world.fails(
            KINDS.iter().find(|(k, _)| *k == kind).unwrap().1,
            Fault::Status(500, ""),
        );
        provider_fails_in_an_outage(provider.as_ref()).await;
        world.recovers();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn works_are_looked_up_by_every_identifier_that_a_service_knows() {
    let world = World::start().await;
    let doi = |n: usize| WorkId::Doi(PAPERS[n - 1].doi());
    for (kind, id, found) in [
        (ProviderKind::OpenAlex, doi(1), true),
        (
            ProviderKind::OpenAlex,
            WorkId::OpenAlex("W3".to_owned()),
            true,
        ),
        (ProviderKind::OpenAlex, doi(6), false),
        (ProviderKind::Crossref, doi(1), true),
        (
            ProviderKind::Crossref,
            WorkId::Pmid("111".to_owned()),
            false,
        ),
        (ProviderKind::SemanticScholar, doi(3), true),
        (ProviderKind::SemanticScholar, doi(4), false),
        (ProviderKind::EuropePmc, doi(6), true),
        (
            ProviderKind::EuropePmc,
            WorkId::Pmid("111".to_owned()),
            true,
        ),
        (ProviderKind::EuropePmc, doi(4), false),
        (
            ProviderKind::Arxiv,
            WorkId::Arxiv("2401.00002".to_owned()),
            true,
        ),
        (ProviderKind::Arxiv, doi(2), true),
        (ProviderKind::Arxiv, doi(1), false),
        (ProviderKind::Searxng, doi(1), false),
        (ProviderKind::Brave, doi(1), false),
    ] {
        let provider = one(&world, kind, impatient());
        let hit = provider.lookup(&id).await.unwrap();
        assert_eq!(hit.is_some(), found, "{kind} {id}");
        if let Some(hit) = hit {
            assert_eq!(hit.rank, 1);
            assert!(!hit.meta.authors.is_empty(), "{kind} {id}");
        }
    }
    for (kind, references, citations) in [
        (ProviderKind::OpenAlex, 12, 1),
        (ProviderKind::Crossref, 1, 0),
        (ProviderKind::SemanticScholar, 1, 0),
        (ProviderKind::EuropePmc, 1, 0),
        (ProviderKind::Arxiv, 0, 0),
    ] {
        let provider = one(&world, kind, impatient());
        let id = match kind {
            // It knows the trial by an id of its own.
            ProviderKind::SemanticScholar => WorkId::S2(format!("{:040x}", 0xabc1)),
            _ => doi(1),
        };
        let cited = provider.references(&id, 50).await.unwrap();
        assert_eq!(cited.len(), references, "{kind}");
        let citing = match kind {
            ProviderKind::EuropePmc => Vec::new(),
            _ => provider.citations(&id, 50).await.unwrap(),
        };
        assert_eq!(citing.len(), citations, "{kind}");
        let few = provider.references(&id, 3).await.unwrap();
        assert_eq!(few.len(), references.min(3), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doi_is_looked_up_and_only_fetched_without_an_abstract() {
    let world = World::start().await;
    let (engine, _folder) = engine(&world, |_| ());
    let dois = [1, 5, 6].map(|n| json!({"kind": "doi", "doi": PAPERS[n - 1].doi()}));
    let report = research(&engine, &dois).await;
    assert_eq!(report.recent_errors, Some(vec![]));
    assert_eq!(report.metrics.total_pages, 3);
    let pages = rows(
        &engine,
        "SELECT url, fetch_method, page_type, title FROM pages WHERE fetched_at IS NOT NULL ORDER BY url",
    );
    let methods: Vec<&str> = pages
        .iter()
        .map(|p| p["fetch_method"].as_str().unwrap())
        .collect();
    assert_eq!(methods, ["api", "http", "api"]);
    assert_eq!(pages[1]["title"], PAPERS[4].title);
    assert_eq!(world.asked("doi").len(), 1, "{:?}", world.asked("doi"));
    // OpenAlex has the abstract of the first: nobody else was asked for it.
    let of_first = |service: &str| {
        let asked = world.asked(service);
        asked
            .iter()
            .filter(|a| a.path.contains("falls.1") && !a.path.contains("references"))
            .count()
    };
    assert_eq!((of_first("openalex") > 0, of_first("s2")), (true, 0));
    let claims = column(&engine, "SELECT claim_text FROM claims");
    for n in [1, 5, 6] {
        assert!(
            claims
                .iter()
                .any(|claim| claim.contains(&PAPERS[n - 1].finding[..40])),
            "{n}: {claims:#?}"
        );
    }
    // A second task reads what is stored, and asks no landing page again.
    let second = research(&engine, &dois).await;
    assert_eq!(second.metrics.total_pages, 3);
    assert_eq!(world.asked("doi").len(), 1, "{:?}", world.asked("doi"));
    assert_sound(&engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_doi_survives_the_services_and_names_them() {
    let world = World::start().await;
    for (_, service) in KINDS {
        world.fails(service, Fault::Status(500, ""));
    }
    let (engine, _folder) = engine(&world, |_| ());
    let report = research(&engine, &[json!({"kind": "doi", "doi": PAPERS[4].doi()})]).await;
    assert_eq!(report.metrics.total_pages, 1, "the landing page is read");
    let failed: Vec<_> = report.recent_errors.unwrap();
    assert!(
        failed
            .iter()
            .all(|error| error.kind != "target_queue" || error.error.starts_with("provider ")),
        "{failed:?}"
    );
    assert!(
        report.warnings.iter().any(|w| w.contains("met problems")),
        "{:?}",
        report.warnings
    );
    let output = column(
        &engine,
        "SELECT output_json FROM jobs WHERE kind = 'target_queue'",
    );
    for name in ["openalex", "crossref", "semantic_scholar", "europe_pmc"] {
        assert!(
            output[0].contains(&format!("provider {name}: {name} is down")),
            "{output:?}"
        );
    }
    // With the landing page gone as well, every reason is there.
    let report = research(&engine, &[json!({"kind": "doi", "doi": "10.5555/nowhere"})]).await;
    let said = &report.recent_errors.as_deref().unwrap()[0].error;
    for reason in ["provider openalex", "provider europe_pmc", "answered 404"] {
        assert!(said.contains(reason), "{reason}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_an_unreadable_work_is_kept() {
    let world = World::start().await;
    world.fails("doi", Fault::Status(404, ""));
    world.fails("landing", Fault::Status(404, ""));
    let (engine, _folder) = engine(&world, |_| ());
    let report = research(&engine, &[json!({"kind": "doi", "doi": PAPERS[4].doi()})]).await;
    let said = &report.recent_errors.as_deref().unwrap()[0].error;
    assert!(said.contains("answered 404"), "{said}");
    assert_eq!(
        column(&engine, "SELECT title FROM works"),
        [PAPERS[4].title]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_relevant_references_join_the_graph() {
    let world = World::start().await;
    let (engine, _folder) = engine(&world, |_| ());
    let report = research(&engine, &[json!({"kind": "doi", "doi": PAPERS[0].doi()})]).await;
    assert_eq!(report.recent_errors, Some(vec![]));
    let cited = column(
        &engine,
        "SELECT p.title FROM edges e JOIN pages p ON p.id = e.target_id
         WHERE e.relation = 'cites' AND e.citation_source = 'openalex' ORDER BY 1",
    );
    assert_eq!(cited.len(), 10, "{cited:?}");
    // Twelve are cited; the two that are left out are neither relevant nor much cited.
    assert!(
        !cited.contains(&"Cooking rice, part 1".to_owned()),
        "{cited:?}"
    );
    assert!(
        cited.contains(&"Falls of older adults with drug X, part 10".to_owned()),
        "{cited:?}"
    );
    let candidates = column(
        &engine,
        "SELECT count(*) FROM pages WHERE page_type = 'placeholder' AND canonical_id LIKE 'doi:10.5555/cited.%'",
    );
    assert_eq!(candidates, ["10"]);
    let asked = world.asked("openalex").len();
    let again = engine
        .pipeline()
        .link_citations(&report.task_id, None)
        .await
        .unwrap();
    assert_eq!(again.output["cites"], 0, "{}", again.output);
    assert_eq!(
        world.asked("openalex").len(),
        asked,
        "a run remembers whom it asked for what"
    );
    assert_sound(&engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_reference_service_is_named_and_the_next_is_asked() {
    let world = World::start().await;
    let (engine, _folder) = engine(&world, |_| ());
    let options = SearchOptions::default();
    let task = task(&engine);
    let target = lyra_core::model::Target::Doi {
        doi: PAPERS[0].doi(),
        depth: 0,
        reason: None,
    };
    engine
        .pipeline()
        .run_target(&task, &target, &options, None)
        .await
        .unwrap();
    world.fails("openalex", Fault::Status(500, ""));
    let outcome = engine.pipeline().link_citations(&task, None).await.unwrap();
    assert!(
        outcome.output["errors"][0]
            .as_str()
            .unwrap()
            .starts_with("provider openalex: openalex is down")
    );
    let cited = column(
        &engine,
        "SELECT citation_source FROM edges WHERE relation = 'cites'",
    );
    assert_eq!(cited, ["crossref"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_chosen_providers_are_asked() {
    let world = World::start().await;
    let (engine, _folder) = engine(&world, |_| ());
    let task = task(&engine);
    let options = QueueOptions {
        providers: vec!["altavista".to_owned()],
        ..QueueOptions::default()
    };
    let error = engine
        .queue_targets(&task, &[json!(QUERY)], &options)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(
        error.message(),
        "no provider \"altavista\"; there are: openalex, crossref, semantic_scholar, europe_pmc, arxiv, searxng, brave"
    );
    let options = QueueOptions {
        providers: vec!["europe_pmc".to_owned()],
        ..QueueOptions::default()
    };
    let targets = [
        json!({"kind": "query", "query": QUERY}),
        json!({"kind": "doi", "doi": PAPERS[5].doi()}),
    ];
    engine.queue_targets(&task, &targets, &options).unwrap();
    engine.run(&task, None).await.unwrap();
    assert!(!world.asked("epmc").is_empty());
    for (_, service) in KINDS.iter().filter(|(_, service)| *service != "epmc") {
        // References may be asked for anywhere; searches and look-ups may not.
        let asked = world.asked(service);
        let searches = asked
            .iter()
            .filter(|a| a.path.contains("search") || a.path.contains("query"));
        assert_eq!(searches.count(), 0, "{service}: {asked:?}");
    }
}
