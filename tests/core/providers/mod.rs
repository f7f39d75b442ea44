//! Search services, asked by the real client over the loopback address: what they know becomes
//! works, pages and claims, and what fails is named and loses nothing.

mod trouble;
mod works;
mod world;

use lyra_core::ports::testing::{check_search_provider, provider_fails_in_an_outage};
use lyra_core::ports::{
    FetchRequest, FetchedDocument, Fetcher, ProviderFailure, SearchProvider, SearchQuery,
    SystemClock, WorkId,
};
use lyra_core::research::pipeline::{SearchOptions, SearchReport};
use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::web::{
    ApiKey, ApiOptions, Backoff, HttpFetcher, HttpOptions, ProviderKind, ProvidersConfig,
    ServiceConfig,
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
        timeout: Duration::from_secs(2),
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
        http: HttpFetcher::new(options),
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
    let reasons = column(
        &engine,
        "SELECT DISTINCT s.engine || ' ' || t.reason FROM serp_items s
         JOIN pages p ON p.url = s.url JOIN task_pages t ON t.page_id = p.id ORDER BY 1",
    );
    assert_eq!(
        reasons,
        [
            "arxiv academic_api",
            "brave search",
            "crossref academic_api",
            "europe_pmc academic_api",
            "openalex academic_api"
        ]
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
