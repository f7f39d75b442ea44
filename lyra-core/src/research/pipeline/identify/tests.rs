use super::*;
use crate::store::model::DocumentMeta;
use proptest::prelude::*;

fn hit(url: &str, rank: usize, doi: Option<&str>) -> SearchHit {
    SearchHit {
        url: url.to_owned(),
        rank,
        meta: DocumentMeta {
            doi: doi.map(str::to_owned),
            ..DocumentMeta::default()
        },
        ..SearchHit::default()
    }
}

fn described(mut hit: SearchHit, title: &str, author: &str, year: i64) -> SearchHit {
    hit.meta.title = Some(title.to_owned());
    hit.meta.authors = vec![author.to_owned()];
    hit.meta.year = Some(year);
    hit
}

fn answer(place: usize, engine: &str, hits: Vec<SearchHit>) -> ProviderAnswer {
    ProviderAnswer {
        place: (0, place),
        engine: engine.to_owned(),
        hits,
    }
}

fn urls(found: &[Identified]) -> Vec<&str> {
    found.iter().map(|one| one.hit.url.as_str()).collect()
}

#[test]
fn one_entry_a_work() {
    let merged = merge(vec![
        answer(
            0,
            "a",
            vec![
                hit("https://x.org/1", 1, Some("10.1000/A")),
                hit("https://x.org/2", 2, None),
            ],
        ),
        answer(
            1,
            "b",
            vec![
                hit("https://y.org/p", 1, Some("https://doi.org/10.1000/a")),
                hit("https://X.org/2", 2, None),
            ],
        ),
    ]);
    assert_eq!(urls(&merged), ["https://x.org/1", "https://x.org/2"]);
}

#[test]
fn with_and_without_a_doi_is_one_work() {
    let with = described(
        hit("https://doi.org/10.1/a", 1, Some("10.1000/a")),
        "The Same Title",
        "A. Bee",
        2020,
    );
    let without = described(
        hit("https://s2.org/p", 1, None),
        "Same title",
        "Bee, A.",
        2020,
    );
    let another_year = described(
        hit("https://s2.org/q", 2, None),
        "Same title",
        "Bee, A.",
        2011,
    );
    let merged = merge(vec![
        answer(0, "openalex", vec![without, another_year]),
        answer(1, "crossref", vec![with]),
    ]);
    assert_eq!(urls(&merged), ["https://s2.org/p", "https://s2.org/q"]);
    assert_eq!(merged[0].canonical_id().as_deref(), Some("doi:10.1000/a"));
}

#[test]
fn two_dois_are_two_works_whatever_the_title() {
    let editorial = |doi: &str| {
        described(
            hit(&format!("https://doi.org/{doi}"), 1, Some(doi)),
            "Editorial",
            "A Bee",
            2020,
        )
    };
    let nameless = described(hit("https://x.org/e", 9, None), "Editorial", "A Bee", 2020);
    let merged = merge(vec![answer(
        0,
        "a",
        vec![editorial("10.1000/2"), nameless, editorial("10.1000/1")],
    )]);
    assert_eq!(
        merged.len(),
        2,
        "the third joins the one with the smaller id"
    );
    let joined = merged
        .iter()
        .find(|one| one.hit.meta.doi.as_deref() == Some("10.1000/1"));
    assert_eq!(joined.unwrap().hit.rank, 1);
}

#[test]
fn a_third_party_that_knows_both_ids_joins_them() {
    let mut by_pmid = hit("https://pubmed.ncbi.nlm.nih.gov/77/", 1, None);
    by_pmid.meta.pmid = Some("77".to_owned());
    let by_doi = hit("https://doi.org/10.1000/a", 1, Some("10.1000/a"));
    let mut both = hit("https://europepmc.org/article/MED/77", 4, Some("10.1000/a"));
    both.meta.pmid = Some("77".to_owned());
    both.facts.citation_count = Some(12);
    let lists = [
        answer(0, "x", vec![by_pmid]),
        answer(1, "y", vec![by_doi]),
        answer(2, "z", vec![both]),
    ];
    let merged = merge(lists.to_vec());
    assert_eq!(merged.len(), 1);
    assert_eq!(merged[0].hit.facts.citation_count, Some(12));
    assert_eq!(merged[0].canonical_id().as_deref(), Some("doi:10.1000/a"));
}

#[test]
fn a_preprint_and_its_publication_are_linked_and_stay_two() {
    let mut preprint = described(
        hit(
            "https://doi.org/10.48550/arxiv.2301.00001",
            1,
            Some("10.48550/arxiv.2301.00001"),
        ),
        "Falls and drug X in the old",
        "Ann Bee",
        2023,
    );
    preprint.meta.arxiv_id = Some("2301.00001".to_owned());
    preprint.facts.is_preprint = true;
    let mut published = described(
        hit("https://doi.org/10.1000/falls", 1, Some("10.1000/falls")),
        "Falls and drug X in the old",
        "A. Bee",
        2024,
    );
    // As in Semantic Scholar: both ids in one record.
    published.meta.arxiv_id = Some("2301.00001".to_owned());
    let merged = merge(vec![
        answer(0, "arxiv", vec![preprint]),
        answer(1, "s2", vec![published]),
    ]);
    assert_eq!(merged.len(), 2);
    assert_eq!(merged[0].hit.facts.versions, ["doi:10.1000/falls"]);
    assert_eq!(
        merged[0].hit.meta.superseded_by.as_deref(),
        Some("10.1000/falls")
    );
    assert_eq!(
        merged[1].hit.facts.versions,
        ["doi:10.48550/arxiv.2301.00001"]
    );
    assert_eq!(merged[1].hit.meta.superseded_by, None);
}

#[test]
fn the_own_copy_is_read_first_and_retractions_stick() {
    let own = hit("file:///papers/a.pdf", 5, Some("10.1000/a"));
    let mut theirs = hit("https://doi.org/10.1000/a", 1, Some("10.1000/a"));
    theirs.meta.is_retracted = true;
    let merged = merge(vec![
        answer(0, "corpus", vec![own]),
        answer(1, "openalex", vec![theirs]),
    ]);
    assert_eq!(urls(&merged), ["file:///papers/a.pdf"]);
    assert!(merged[0].hit.meta.is_retracted);
    assert_eq!(merged[0].hit.rank, 1);
}

#[test]
fn an_abstract_stands_under_the_address_of_whoever_gave_it() {
    let web = hit("https://publisher.example/a", 1, Some("10.1000/a"));
    let mut known = hit("https://doi.org/10.1000/a", 3, Some("10.1000/a"));
    known.abstract_text = Some("We found that.".to_owned());
    let merged = merge(vec![
        answer(0, "openalex", vec![known]),
        answer(1, "searxng", vec![web]),
    ]);
    assert_eq!(urls(&merged), ["https://doi.org/10.1000/a"]);
    let landing = merged[0].hit.meta.url.as_deref();
    assert_eq!(landing, Some("https://publisher.example/a"));
}

/// The reference keeps a paper with a DOI apart from the same paper without one; here they are merged.
#[test]
fn papers_agree_with_the_reference() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/data/reference-cases/paper_identity.jsonl"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {path} is not there");
        return;
    };
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let papers = row["papers"].as_array().unwrap();
        let hits: Vec<SearchHit> = papers
            .iter()
            .enumerate()
            .map(|(place, paper)| SearchHit {
                url: format!("https://host.example/{place}"),
                rank: place + 1,
                meta: DocumentMeta {
                    // DOIs with so few digits have no registrant; the reference is not strict.
                    doi: paper["doi"]
                        .as_str()
                        .map(|doi| doi.replace("10.1/", "10.1000/")),
                    title: paper["title"].as_str().map(str::to_owned),
                    authors: paper["authors"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(|name| name.as_str().map(str::to_owned))
                        .collect(),
                    year: paper["year"].as_i64(),
                    ..DocumentMeta::default()
                },
                ..SearchHit::default()
            })
            .collect();
        let has_pair = papers.iter().any(|p| !p["doi"].is_null()) && papers.len() > 1;
        let distinct = row["distinct"].as_u64().unwrap() - u64::from(has_pair);
        let merged = merge(vec![answer(0, "openalex", hits)]);
        assert_eq!(merged.len() as u64, distinct, "{line}");
    }
}

/// Hits from a small set of values, so that they match in every way.
fn some_hit() -> impl Strategy<Value = SearchHit> {
    let id = || prop::option::weighted(0.4, 0_u8..4);
    (
        (id(), id(), id(), id(), id()),
        (0_u8..3, 0_u8..3, 2019_i64..2022, any::<bool>()),
        (
            1_usize..6,
            0_u8..6,
            prop::option::of(0_i64..9),
            any::<bool>(),
        ),
    )
        .prop_map(
            |(
                (doi, pmid, arxiv, openalex, s2),
                (title, author, year, whole),
                (rank, url, cited, retracted),
            )| {
                SearchHit {
                    url: format!("https://host{url}.org/{}", url % 2),
                    rank,
                    meta: DocumentMeta {
                        title: Some(format!("A long enough title {title}")),
                        authors: if whole {
                            vec![format!("Ann Bee{author}")]
                        } else {
                            Vec::new()
                        },
                        year: Some(year),
                        arxiv_id: arxiv.map(|n| format!("2301.0000{n}")),
                        doi: doi.map(|n| match n {
                            3 => "10.48550/arxiv.2301.00003".to_owned(),
                            n => format!("10.1000/{n}"),
                        }),
                        pmid: pmid.map(|n| format!("10{n}")),
                        is_retracted: retracted,
                        ..DocumentMeta::default()
                    },
                    facts: WorkFacts {
                        openalex_id: openalex.map(|n| format!("W{n}")),
                        s2_id: s2.map(|n| format!("s{n}")),
                        citation_count: cited,
                        is_preprint: doi == Some(3)
                            || (doi.is_none() && pmid.is_none() && arxiv.is_some()),
                        ..WorkFacts::default()
                    },
                    ..SearchHit::default()
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn who_answers_first_does_not_matter(
        lists in prop::collection::vec(prop::collection::vec(some_hit(), 0..6), 1..5),
        shuffle in any::<u64>(),
    ) {
        let answers: Vec<ProviderAnswer> = lists
            .into_iter()
            .enumerate()
            .map(|(place, hits)| answer(place, &format!("engine{place}"), hits))
            .collect();
        let mut shuffled = answers.clone();
        let turns = usize::try_from(shuffle % 7).unwrap() % shuffled.len();
        shuffled.rotate_left(turns);
        if shuffle % 2 == 0 {
            shuffled.reverse();
        }
        for answer in &mut shuffled {
            answer.hits.reverse();
        }
        let merged = merge(answers);
        prop_assert_eq!(&merged, &merge(shuffled));
        // Merging is idempotent.
        prop_assert_eq!(&merged, &merge_found(merged.clone()));
        // No identifier occurs in two works, and none is lost.
        let mut seen = BTreeSet::new();
        for one in &merged {
            let mut keys = identity(&one.hit);
            keys.sort();
            keys.dedup();
            for key in keys {
                prop_assert!(seen.insert(key.clone()), "{} twice", key);
            }
        }
    }
}
