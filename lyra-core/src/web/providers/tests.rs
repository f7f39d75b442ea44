//! Tests the readers with recorded replies and with known cases. If these are not available, the
//! tests say so and pass.

use super::*;
use crate::ports::{SearchHit, WorkId};
use crate::web::ServiceConfig;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn shared(path: &str) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data")
        .join(path);
    if place.exists() {
        return Some(place);
    }
    eprintln!("skipped: {} is not there", place.display());
    None
}

fn rows(table: &str) -> Vec<Value> {
    let Some(path) = shared(&format!("reference-cases/{table}.jsonl")) else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Invariants of every record, for any reply.
fn check_record(hit: &SearchHit, place: &str) {
    assert!(hit.url.starts_with("http"), "{place}: {hit:?}");
    assert!(hit.rank > 0, "{place}");
    let id = WorkId::of(hit).into_iter().next();
    assert!(id.is_some() || hit.meta.title.is_some(), "{place}: {hit:?}");
    for text in [&hit.meta.title, &hit.abstract_text, &hit.snippet]
        .into_iter()
        .flatten()
    {
        assert!(
            !text.contains("<jats") && !text.contains("</"),
            "{place}: {text}"
        );
        assert!(!text.trim().is_empty(), "{place}");
    }
    assert_eq!(
        hit.meta.authors.is_empty(),
        hit.facts.authors.is_empty(),
        "{place}"
    );
    for orcid in hit
        .facts
        .authors
        .iter()
        .filter_map(|author| author.orcid.as_deref())
    {
        assert!(!orcid.contains('/'), "{place}: {orcid}");
    }
}

/// The number of records in a recorded reply; `None` if it contains no records.
fn read(host: &str, uri: &str, body: &[u8], place: &str) -> Option<usize> {
    let json = || serde_json::from_slice::<Value>(body).ok();
    let hits = match host {
        "api.openalex.org" => {
            let reply = json()?;
            match reply.get("results") {
                Some(_) => openalex::read_list(&reply, 0)?.0,
                None => vec![openalex::record(&reply, 1)?],
            }
        }
        "api.crossref.org" => {
            let reply = json()?;
            match reply["message-type"].as_str()? {
                "work" => vec![crossref::record(&reply["message"], 1)?],
                "work-list" => crossref::read_list(&reply, 0)?.hits,
                _ => return None,
            }
        }
        "api.semanticscholar.org" if uri.contains("/graph/v1/paper") => {
            let reply = json()?;
            let key = if uri.contains("/citations") {
                Some("citingPaper")
            } else {
                uri.contains("/references").then_some("citedPaper")
            };
            if uri.contains("/authors") {
                return None;
            }
            match reply.get("paperId") {
                Some(_) => vec![semantic_scholar::record(&reply, 1)?],
                None => semantic_scholar::read_list(&reply, key, 0)?.0,
            }
        }
        "export.arxiv.org" => match arxiv::read_feed(std::str::from_utf8(body).ok()?, 0) {
            Ok(feed) => feed.hits,
            Err(_) => return None,
        },
        _ => return None,
    };
    for (place_of, hit) in hits.iter().enumerate() {
        check_record(hit, place);
        assert_eq!(hit.rank, place_of + 1, "{place}");
    }
    Some(hits.len())
}

#[test]
fn recorded_replies_are_read_or_refused() {
    let Some(folder) = shared("api-replies/recorded") else {
        return;
    };
    let index = std::fs::read_to_string(folder.join("index.tsv")).unwrap();
    let mut read_by_host: BTreeMap<String, (usize, usize, usize)> = BTreeMap::new();
    for line in index.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [file, _method, status, _bytes, _source, uri] = fields[..] else {
            panic!("{line}");
        };
        let host = file.split('/').next().unwrap();
        // Empty replies are only in the index.
        let body = std::fs::read(folder.join(file)).unwrap_or_default();
        let records = read(host, uri, &body, file);
        let counts = read_by_host.entry(host.to_owned()).or_default();
        match records {
            Some(records) => {
                counts.0 += 1;
                counts.1 += records;
                assert_eq!(status, "200", "{file}: an error is no list of works");
            }
            None => counts.2 += 1,
        }
    }
    eprintln!("replies with records, records, others: {read_by_host:#?}");
    for (host, replies, records) in [
        ("api.openalex.org", 11, 11),
        ("api.crossref.org", 150, 1000),
        ("api.semanticscholar.org", 60, 1000),
        ("export.arxiv.org", 15, 100),
    ] {
        let found = read_by_host[host];
        assert!(
            found.0 >= replies && found.1 >= records,
            "{host}: {found:?}"
        );
    }
}

#[test]
fn errors_in_a_feed_are_refusals() {
    let Some(folder) = shared("api-replies/recorded/export.arxiv.org") else {
        return;
    };
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let text = std::fs::read_to_string(entry.path()).unwrap();
        match arxiv::read_feed(&text, 0) {
            Ok(_) => assert!(name.starts_with("200"), "{name}"),
            Err(arxiv::Unread::Refused(why)) => {
                assert!(name.starts_with("400") && !why.is_empty(), "{name}: {why}");
            }
            Err(other) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn other_collections_are_read() {
    let json =
        |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    if let Some(folder) = shared("api-replies/brave-search") {
        for name in ["brave_response.json", "brave_search.json"] {
            let hits = brave::read_list(&json(&folder.join(name))).unwrap();
            assert!(hits.len() >= 10, "{name}: {}", hits.len());
            hits.iter().for_each(|hit| check_record(hit, name));
        }
    }
    if let Some(path) = shared("api-replies/searxng/searxng_response.trimmed.json") {
        let hits = searxng::read_list(&json(&path)).unwrap();
        assert_eq!(hits.len(), 5);
    }
    if let Some(folder) = shared("api-replies/pygetpapers") {
        let (mut openalex, mut europe_pmc) = (0, 0);
        let mut waiting = vec![folder];
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                waiting.extend(std::fs::read_dir(path).unwrap().flatten().map(|e| e.path()));
                continue;
            }
            let place = path.display().to_string();
            match path.file_name().and_then(|name| name.to_str()) {
                Some("openalex-result.json") => {
                    let hit = super::openalex::record(&json(&path), 1).unwrap();
                    check_record(&hit, &place);
                    assert!(hit.facts.openalex_id.is_some(), "{place}");
                    openalex += 1;
                }
                Some("openalex.json") => {
                    let (hits, next) = super::openalex::read_list(&json(&path), 0).unwrap();
                    assert!(hits.len() == 20 && next.is_some(), "{place}");
                }
                Some("eupmc_result.json") => {
                    let hit = super::europe_pmc::record(&json(&path)["full"], 1).unwrap();
                    check_record(&hit, &place);
                    assert!(
                        hit.meta.pmcid.is_some() && hit.abstract_text.is_some(),
                        "{place}"
                    );
                    europe_pmc += 1;
                }
                _ => {}
            }
        }
        assert!(openalex >= 5 && europe_pmc >= 2, "{openalex} {europe_pmc}");
    }
}

/// Intended differences from the reference: table, field, and why. A difference that no longer
/// exists fails the test.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "openalex_paper",
        "abstract",
        "one letter is no abstract: it would end as a fragment and stop the fetch",
    ),
    (
        "openalex_paper",
        "doi",
        "no registrant has so few digits: 10.1/X is no DOI",
    ),
    (
        "openalex_paper",
        "authors",
        "an ORCID is kept bare, without its address",
    ),
    (
        "openalex_paper",
        "pdf_url",
        "an open copy need not be a PDF; the reference calls every one a PDF",
    ),
    ("s2_paper", "title", "a missing title is missing, not empty"),
    (
        "s2_paper",
        "citation_count",
        "an unknown count is unknown, not zero",
    ),
    (
        "s2_paper",
        "reference_count",
        "an unknown count is unknown, not zero",
    ),
    (
        "s2_paper",
        "is_open_access",
        "what is not said is unknown, not false",
    ),
    ("s2_paper", "abstract", "one letter is no abstract"),
    (
        "s2_paper",
        "doi",
        "no registrant has so few digits: 10.1/X is no DOI",
    ),
];

/// A hit in the form of the reference's tables.
fn as_reference(hit: &SearchHit, source: &str, id: Option<String>) -> Value {
    let authors = hit.facts.authors.iter();
    let authors: Vec<Value> = authors
        .map(
            |a| serde_json::json!({"name": a.name, "affiliation": a.affiliation, "orcid": a.orcid}),
        )
        .collect();
    serde_json::json!({
        "id": id, "title": hit.meta.title, "abstract": hit.abstract_text, "authors": authors,
        "year": hit.meta.year, "published_date": hit.meta.published_date, "doi": hit.meta.doi,
        "arxiv_id": hit.meta.arxiv_id, "venue": hit.meta.venue,
        "citation_count": hit.facts.citation_count, "reference_count": hit.facts.reference_count,
        "is_open_access": hit.facts.is_open_access, "oa_url": hit.facts.oa_url,
        "pdf_url": hit.facts.pdf_url, "source_api": source,
    })
}

#[test]
fn papers_agree_with_the_reference() {
    let mut differed = std::collections::BTreeSet::new();
    let mut compared = 0;
    for (table, source) in [
        ("openalex_paper", "openalex"),
        ("s2_paper", "semantic_scholar"),
    ] {
        for row in rows(table) {
            let ours = match table {
                "openalex_paper" => {
                    let hit = openalex::record(&row["in"], 1).unwrap();
                    let id = hit
                        .facts
                        .openalex_id
                        .as_ref()
                        .map(|id| format!("openalex:{id}"));
                    as_reference(&hit, source, id)
                }
                _ => {
                    let hit = semantic_scholar::record(&row["in"], 1).unwrap();
                    let id = hit.facts.s2_id.as_ref().map(|id| format!("s2:{id}"));
                    as_reference(&hit, source, id)
                }
            };
            for (field, expected) in row["out"].as_object().unwrap() {
                compared += 1;
                if ours[field] == *expected {
                    continue;
                }
                let known = DIFFERENCES
                    .iter()
                    .any(|(t, f, _)| (*t, *f) == (table, field.as_str()));
                assert!(known, "{table} {field}: {} is not {expected}", ours[field]);
                differed.insert((table, field.clone()));
            }
        }
    }
    for (table, field, why) in DIFFERENCES {
        let differs = differed.contains(&(*table, (*field).to_owned()));
        assert!(
            compared == 0 || differs,
            "{table} {field} agrees by now: {why}"
        );
    }
}

#[test]
fn abstracts_and_ids_agree_with_the_reference() {
    for row in rows("openalex_abstract") {
        assert_eq!(
            openalex::uninvert(&row["inv"]).as_deref(),
            row["abstract"].as_str(),
            "{row}"
        );
    }
    for row in rows("openalex_id") {
        let given = row["in"].as_str().unwrap();
        let work = serde_json::json!({"id": given, "title": "A title"});
        let ours = openalex::record(&work, 1).and_then(|hit| hit.facts.openalex_id);
        // The reference passes a DOI as if it were an OpenAlex id.
        let expected = row["out"].as_str().filter(|id| id.starts_with('W'));
        assert_eq!(ours.as_deref(), expected, "{row}");
    }
    for row in rows("s2_id") {
        let given = row["in"].as_str().unwrap();
        let id = match given.split_once(':') {
            Some(("DOI", doi)) => WorkId::Doi(doi.to_owned()),
            Some(("PMID", pmid)) => WorkId::Pmid(pmid.to_owned()),
            Some((_, id)) => WorkId::S2(id.to_owned()),
            None => WorkId::S2(given.to_owned()),
        };
        assert_eq!(
            semantic_scholar::key_of(&id).as_deref(),
            row["out"].as_str(),
            "{row}"
        );
    }
}

#[test]
fn abstracts_out_of_hostile_indexes() {
    for (index, expected) in [
        (
            serde_json::json!({"b": [1, 3], "a": [0, 2]}),
            Some("a b a b"),
        ),
        (serde_json::json!({"a": [99_999_999]}), None),
        (serde_json::json!({"a": ["0"]}), None),
        (serde_json::json!({"a": 0}), None),
        (serde_json::json!([]), None),
    ] {
        assert_eq!(openalex::uninvert(&index).as_deref(), expected, "{index}");
    }
}

#[test]
fn crossref_names_what_is_taken_back() {
    let work = serde_json::json!({
        "DOI": "10.5555/Old", "title": ["A finding"], "type": "journal-article",
        "updated-by": [{"DOI": "10.5555/notice", "type": "retraction"}],
        "published": {"date-parts": [[2019, 3]]},
    });
    let hit = crossref::record(&work, 1).unwrap();
    assert!(hit.meta.is_retracted && hit.facts.retracts.is_empty());
    assert_eq!(hit.meta.published_date.as_deref(), Some("2019-03"));
    let notice = serde_json::json!({
        "DOI": "10.5555/notice", "title": ["Retraction: A finding"],
        "update-to": [{"DOI": "10.5555/Old", "type": "retraction"}, {"DOI": "10.5555/other", "type": "correction"}],
    });
    let hit = crossref::record(&notice, 1).unwrap();
    assert!(!hit.meta.is_retracted);
    assert_eq!(hit.facts.retracts, ["10.5555/old"]);
    let corrected = serde_json::json!({
        "DOI": "10.5555/c", "title": ["A finding"],
        "updated-by": [{"DOI": "10.5555/e", "type": "erratum"}],
    });
    assert!(!crossref::record(&corrected, 1).unwrap().meta.is_retracted);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let clock: Arc<dyn Clock> = Arc::new(crate::ports::ManualClock::new(0));
    let build = |kind: ProviderKind, service: ServiceConfig| {
        let config = ProvidersConfig {
            enabled: vec![kind],
            services: [(kind, service)].into_iter().collect(),
            ..ProvidersConfig::default()
        };
        config.build(&clock).map(|providers| providers.len())
    };
    let at = |url: &str| ServiceConfig {
        base_url: Some(url.to_owned()),
        ..ServiceConfig::default()
    };
    assert_eq!(
        build(ProviderKind::Searxng, at("http://localhost:8080")).unwrap(),
        1
    );
    for (kind, service, why) in [
        (
            ProviderKind::Searxng,
            ServiceConfig::default(),
            "there is no base URL",
        ),
        (
            ProviderKind::OpenAlex,
            at("ftp://x"),
            "not an http(s) address",
        ),
        (
            ProviderKind::OpenAlex,
            at("nonsense"),
            "not an http(s) address",
        ),
        (
            ProviderKind::Arxiv,
            ServiceConfig {
                requests_per_second: Some(0.0),
                ..ServiceConfig::default()
            },
            "expected more than 0",
        ),
    ] {
        let error = build(kind, service).unwrap_err();
        assert!(error.message().contains(why), "{error}");
    }
    let error = "altavista".parse::<ProviderKind>().unwrap_err();
    assert!(
        error
            .message()
            .contains("openalex, crossref, semantic_scholar"),
        "{error}"
    );
    assert_eq!(
        "EuropePMC".parse::<ProviderKind>().unwrap(),
        ProviderKind::EuropePmc
    );
}
