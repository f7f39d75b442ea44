//! Services that fail, are slow, or want a key.

use super::*;

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
            let mut api = impatient();
            if matches!(fault, Fault::Slow) {
                api.timeout = Duration::from_millis(300);
            }
            let provider = one(&world, kind, api);
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
        rest: Duration::from_millis(2_000),
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
    tokio::time::sleep(Duration::from_millis(2_050)).await;
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
            "provider brave: brave refused the key, or requires one: answered 401 Unauthorized",
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

/// A refusal that repeats the request is cut somewhere; no part of the key is left at any cut.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_repeats_the_key_shows_no_part_of_it() {
    let world = World::start().await;
    let (engine, folder) = engine(&world, |config| {
        for (kind, _) in KINDS {
            if kind != ProviderKind::Arxiv {
                let key = ApiKey::new("THE_KEY", SECRET).unwrap();
                config.search.services.get_mut(&kind).unwrap().key = Some(key);
            }
        }
    });
    let task = task(&engine);
    let mut said = String::new();
    for before in (0..200).step_by(7) {
        for (_, service) in KINDS {
            world.fails(service, Fault::Echoes(before));
        }
        let options = SearchOptions::default();
        let search = engine.pipeline().search(&task, QUERY, &options);
        said += &search.await.unwrap_err().to_string();
    }
    assert!(said.contains("***"), "{said}");
    let parts: Vec<&str> = (0..=SECRET.len() - 6)
        .map(|at| &SECRET[at..at + 6])
        .collect();
    let shown = |bytes: &[u8]| {
        let part = |part: &&&str| bytes.windows(6).any(|window| window == part.as_bytes());
        parts.iter().find(part).copied()
    };
    assert_eq!(shown(said.as_bytes()), None, "{said}");
    drop(engine);
    for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap();
        assert_eq!(shown(&bytes), None, "{}", file.path().display());
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
