//! Works by their identifiers, and their references.

use super::*;

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
    let target = lyra_core::store::model::Target::Doi {
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
