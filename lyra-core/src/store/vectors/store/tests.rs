//! Tests of [`super`].

use super::*;
use crate::error::Error;
use crate::ports::SystemClock;
use crate::store::graph::{EvidenceGraph, encode_vector};
use crate::store::vectors::{Ranking, SearchMode, VectorReply, VectorRequest};
use proptest::prelude::*;
use rusqlite::params;
use std::collections::BTreeMap;

const CLAIM: EmbeddingTarget = EmbeddingTarget::Claim;
const FRAGMENT: EmbeddingTarget = EmbeddingTarget::Fragment;

fn model(id: &str) -> EmbedderInfo {
    EmbedderInfo {
        model_id: id.into(),
        dimension: 3,
        builtin: true,
        fusion_weight: 0.7,
        fusion_weight_cjk: 0.7,
        related_threshold: 0.3,
    }
}

fn open() -> (tempfile::TempDir, EvidenceGraph) {
    let folder = tempfile::tempdir().unwrap();
    let graph = open_again(&folder);
    (folder, graph)
}

/// Separate connections to the same file.
fn open_again(folder: &tempfile::TempDir) -> EvidenceGraph {
    EvidenceGraph::open(&folder.path().join("g.db"), Arc::new(SystemClock)).unwrap()
}

fn sql(graph: &EvidenceGraph, sql: &str) {
    graph.write(|w| w.db.execute_batch(sql).db()).unwrap();
}

fn embed(graph: &EvidenceGraph, target: EmbeddingTarget, id: &str, vector: &[f32]) {
    graph
        .write(|w| w.put_embedding(target, id, "m", vector))
        .unwrap();
}

type Contents = BTreeMap<String, Option<Vec<f32>>>;

/// The contents of the store, and those of a fresh load in the same snapshot.
fn both(store: &VectorStore, reader: &Reader<'_>, target: EmbeddingTarget) -> [Contents; 2] {
    let held = store
        .with_matrix(reader, target, &model("m"), |m, _| Ok(m.contents()))
        .unwrap();
    let key = MatrixKey {
        target,
        model_id: "m".into(),
        dimension: 3,
    };
    let mut anew = Matrix::new(3);
    let stamp = TableStamp::read(reader).unwrap();
    anew.catch_up(reader, &key, stamp).unwrap();
    [held, anew.contents()]
}

fn assert_current(store: &VectorStore, graph: &EvidenceGraph) {
    for target in [CLAIM, FRAGMENT] {
        let [held, anew] = graph.read(|r| Ok(both(store, r, target))).unwrap();
        assert_eq!(held, anew, "{target}");
    }
}

#[derive(Debug, Clone)]
enum Change {
    Put {
        id: u8,
        length: usize,
        value: i8,
    },
    PutElsewhere {
        id: u8,
        kind: bool,
    },
    Delete {
        id: u8,
    },
    Commit {
        search_here: bool,
        search_there: bool,
    },
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        (0_u8..6, 2_usize..4, -5_i8..5).prop_map(|(id, length, value)| Change::Put {
            id,
            length,
            value
        }),
        (0_u8..6, any::<bool>()).prop_map(|(id, kind)| Change::PutElsewhere { id, kind }),
        (0_u8..6).prop_map(|id| Change::Delete { id }),
        (any::<bool>(), any::<bool>()).prop_map(|(search_here, search_there)| {
            Change::Commit {
                search_here,
                search_there,
            }
        }),
    ];
    prop::collection::vec(change, 1..40)
}

fn apply(change: &Change, db: &Connection) {
    let put = |target: &str, id: &u8, model: &str, vector: &[f32]| {
        db.execute(
                "INSERT OR REPLACE INTO embeddings (id, target_type, target_id, model_id, embedding_blob,
                   dimension, created_at) VALUES (?1 || ?2 || ?3, ?1, ?2, ?3, ?4, ?5, '')",
                params![target, format!("id{id}"), model, encode_vector(vector), vector.len()],
            )
            .unwrap();
    };
    match change {
        Change::Put { id, length, value } => {
            put("claim", id, "m", &[1.0, f32::from(*value), 0.5][..*length]);
        }
        Change::PutElsewhere { id, kind: true } => put("fragment", id, "m", &[1.0; 3]),
        Change::PutElsewhere { id, kind: false } => put("claim", id, "another", &[1.0; 3]),
        Change::Delete { id } => {
            db.execute(
                "DELETE FROM embeddings WHERE target_id = ?1",
                [format!("id{id}")],
            )
            .unwrap();
        }
        Change::Commit { .. } => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Inserts, replaces, deletes and reinserts rows of this model, another model and another length, in
    /// one transaction or several, through two alternating sets of connections.
    #[test]
    fn every_mix_of_changes_is_seen(changes in changes()) {
        let (folder, here) = open();
        let there = open_again(&folder);
        let store = VectorStore::new();
        let commit = |changes: &[Change], graph: &EvidenceGraph| {
            graph
                .write(|w| {
                    changes.iter().for_each(|change| apply(change, w.db));
                    Ok(())
                })
                .unwrap();
        };
        let mut pending = Vec::new();
        let mut writer = [&here, &there].into_iter().cycle();
        for change in changes {
            if let Change::Commit { search_here, search_there } = change {
                commit(&pending, writer.next().unwrap());
                pending.clear();
                if search_here {
                    assert_current(&store, &here);
                }
                if search_there {
                    assert_current(&store, &there);
                }
            } else {
                pending.push(change);
            }
        }
        commit(&pending, &there);
        assert_current(&store, &here);
        assert_current(&store, &there);
    }
}

#[test]
fn a_search_without_a_commit_in_between_asks_the_database_nothing() {
    let (_folder, graph) = open();
    embed(&graph, CLAIM, "c1", &[1.0, 0.0, 0.0]);
    let store = VectorStore::new();
    assert_current(&store, &graph);
    let looked_up = |r: &Reader<'_>| {
        let (id, version) = (connection_id(r.db)?, data_version(r.db)?);
        let looks = store.look(id, version);
        Ok(looks[&id].current.len())
    };
    assert_eq!(graph.read(looked_up).unwrap(), 2, "both kinds are known");
    sql(
        &graph,
        "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '')",
    );
    assert_eq!(
        graph.read(looked_up).unwrap(),
        0,
        "a commit, whatever it wrote"
    );
    assert_current(&store, &graph);
}

#[test]
fn an_older_snapshot_is_answered_from_newer_vectors() {
    let (folder, graph) = open();
    let other = open_again(&folder);
    for id in ["c1", "c2"] {
        embed(&graph, CLAIM, id, &[1.0, 0.0, 0.0]);
    }
    let store = VectorStore::new();
    assert_current(&store, &graph);
    graph
        .read(|old| {
            assert_eq!(connection_id(old.db)?, connection_id(old.db)?);
            sql(&other, "DELETE FROM embeddings WHERE target_id = 'c1'");
            embed(&other, CLAIM, "c3", &[0.0, 1.0, 0.0]);
            assert_current(&store, &other);
            let [held, _] = both(&store, old, CLAIM);
            assert_eq!(held.keys().collect::<Vec<_>>(), ["c2", "c3"]);
            Ok(())
        })
        .unwrap();
    assert_current(&store, &graph);
}

#[test]
fn a_search_sees_what_was_committed_before_it_began_whoever_searches_meanwhile() {
    const COMMITS: usize = 60;
    let (folder, graph) = open();
    let other = open_again(&folder);
    let store = VectorStore::new();
    let committed = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for searching in [&graph, &graph, &other] {
            scope.spawn(|| {
                let mut searches = 0;
                while searches == 0 || committed.load(Ordering::Acquire) < COMMITS {
                    let before = committed.load(Ordering::Acquire);
                    let [held, anew] = searching.read(|r| Ok(both(&store, r, CLAIM))).unwrap();
                    assert!(held.len() >= before && anew.len() >= before);
                    assert!(anew.keys().all(|id| held.contains_key(id)));
                    searches += 1;
                }
            });
        }
        for commit in 0..COMMITS {
            let writing = if commit % 2 == 0 { &graph } else { &other };
            embed(writing, CLAIM, &format!("c{commit}"), &[1.0, 0.5, 0.0]);
            committed.fetch_add(1, Ordering::Release);
        }
    });
    assert_current(&store, &graph);
}

#[test]
fn what_is_rolled_back_leaves_nothing_behind() {
    let (_folder, graph) = open();
    embed(&graph, CLAIM, "c1", &[1.0, 0.0, 0.0]);
    let store = VectorStore::new();
    assert_current(&store, &graph);
    let refused = graph.write(|w| -> Result<()> {
        w.put_embedding(CLAIM, "c2", "m", &[0.0, 1.0, 0.0])?;
        let [held, anew] = both(&store, &w.reader(), CLAIM);
        assert_eq!(held, anew);
        assert!(held.contains_key("c2"), "a transaction sees what it wrote");
        Err(Error::invalid("no"))
    });
    assert_eq!(refused.unwrap_err().to_string(), "no");
    // The same sequence number is assigned again, to another vector.
    embed(&graph, CLAIM, "c2", &[0.0, 0.0, 1.0]);
    assert_current(&store, &graph);
}

#[test]
fn a_file_put_back_from_a_copy_is_read_again() {
    let (folder, graph) = open();
    let other = open_again(&folder);
    for id in ["c1", "c2", "c3"] {
        embed(&graph, CLAIM, id, &[1.0, 0.0, 0.0]);
    }
    let store = VectorStore::new();
    assert_current(&store, &graph);
    sql(
        &other,
        "DELETE FROM embeddings; UPDATE sqlite_sequence SET seq = 0 WHERE name = 'embeddings'",
    );
    embed(&other, CLAIM, "c1", &[0.0, 1.0, 0.0]);
    assert_current(&store, &graph);
}

#[test]
fn a_load_that_broke_off_starts_again() {
    let (_folder, graph) = open();
    embed(&graph, CLAIM, "c1", &[1.0, 0.0, 0.0]);
    let store = VectorStore::new();
    assert_current(&store, &graph);
    let matrices = store.matrices.lock().unwrap().clone();
    matrices
        .values()
        .for_each(|m| m.write().unwrap().break_off());
    sql(&graph, "DELETE FROM embeddings");
    embed(&graph, CLAIM, "c2", &[1.0, 0.0, 0.0]);
    assert_current(&store, &graph);
}

#[test]
fn memory_that_nobody_uses_is_given_back_and_read_again() {
    let (_folder, graph) = open();
    embed(&graph, CLAIM, "c1", &[1.0, 0.0, 0.0]);
    let store = VectorStore::new();
    assert!(!store.release_unused(Duration::ZERO), "nothing is held");
    assert_current(&store, &graph);
    assert!(!store.release_unused(Duration::from_secs(600)), "just used");
    assert!(store.release_unused(Duration::ZERO));
    let matrices = store.matrices.lock().unwrap().clone();
    for matrix in matrices.values() {
        assert!(matrix.read().unwrap().contents().is_empty());
    }
    assert!(!store.release_unused(Duration::ZERO), "given back already");
    embed(&graph, CLAIM, "c2", &[0.0, 1.0, 0.0]);
    assert_current(&store, &graph);
}

/// Two tasks with one claim each and one in common, a page in two versions, and vectors.
const GRAPH: &str = "
        INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t1', 'h', ''), ('t2', 'h', '');
        INSERT INTO pages (id, url) VALUES ('p1', 'https://a.example/');
        INSERT INTO page_texts (page_id, version, text, text_hash, fetched_at)
          VALUES ('p1', 1, 'old glucose', '', ''), ('p1', 2, 'new glucose', '', '');
        INSERT INTO fragments (id, page_id, page_version, text_content, text_hash, created_at)
          VALUES ('f_old', 'p1', 1, 'old glucose', '', ''), ('f_new', 'p1', 2, 'new glucose', '', ''),
                 ('f_none', 'p1', NULL, 'glucose without a text', '', '');
        INSERT INTO claims (id, task_id, claim_text, created_at)
          VALUES ('c1', 't1', 'insulin one', ''), ('c2', 't2', 'insulin two', ''), ('c3', 't1', 'insulin three', '');
        INSERT INTO edges (id, source_type, source_id, target_type, target_id, relation, created_at)
          VALUES ('e1', 'fragment', 'f_old', 'claim', 'c1', 'origin', ''),
                 ('e2', 'fragment', 'f_old', 'claim', 'c1', 'supports', '');
        INSERT INTO claims_fts (rowid, claim_text) SELECT seq, claim_text FROM claims;
        INSERT INTO fragments_fts (rowid, text_content) SELECT seq, text_content FROM fragments;";

fn search(
    store: &VectorStore,
    graph: &EvidenceGraph,
    target: EmbeddingTarget,
    (task_id, mode): (Option<&str>, SearchMode),
) -> Result<(Vec<String>, VectorReply)> {
    let mut request = VectorRequest::new("glucose insulin");
    request.target = target;
    request.task_id = task_id.map(str::to_owned);
    request.mode = mode;
    let reply = graph.read(|r| store.search(r, &model("m"), &[1.0, 0.0, 0.0], &request))?;
    let mut ids: Vec<String> = reply.results.iter().map(|hit| hit.id.clone()).collect();
    ids.sort();
    Ok((ids, reply))
}

#[test]
fn a_search_finds_what_is_in_its_scope() {
    let (folder, graph) = open();
    let other = open_again(&folder);
    sql(&graph, GRAPH);
    for id in ["f_old", "f_new", "f_none"] {
        embed(&graph, FRAGMENT, id, &[1.0, 0.1, 0.0]);
    }
    for id in ["c1", "c2"] {
        embed(&graph, CLAIM, id, &[2.0, 0.2, 0.0]);
    }
    embed(&graph, CLAIM, "c3", &[1.0, 0.0]);
    let store = VectorStore::new();
    let semantic = SearchMode::Semantic;
    let check = |target, task, mode, expected: &[&str], (searched, skipped)| {
        for graph in [&graph, &other, &graph] {
            let (ids, reply) = search(&store, graph, target, (task, mode)).unwrap();
            assert_eq!(ids, expected, "{target} {task:?} {mode:?}");
            assert_eq!((reply.total_searched, reply.skipped), (searched, skipped));
        }
    };
    check(CLAIM, None, semantic, &["c1", "c2"], (2, 1));
    check(CLAIM, Some("t1"), semantic, &["c1"], (1, 1));
    // Vectors of another model are not compared, and are counted.
    sql(
        &graph,
        "INSERT INTO embeddings (id, target_type, target_id, model_id, embedding_blob, dimension, created_at)
         SELECT 'x' || id, 'claim', id, 'another', x'0000803F', 1, '' FROM claims",
    );
    check(CLAIM, None, semantic, &["c1", "c2"], (2, 3));
    check(CLAIM, Some("t1"), semantic, &["c1"], (1, 2));
    sql(&graph, "DELETE FROM embeddings WHERE model_id = 'another'");
    check(
        CLAIM,
        Some("t1"),
        SearchMode::Lexical,
        &["c1", "c3"],
        (1, 1),
    );
    check(CLAIM, Some("t1"), SearchMode::Hybrid, &["c1", "c3"], (1, 1));
    // An old text is found only where a claim depends on it.
    check(FRAGMENT, None, semantic, &["f_new", "f_none"], (2, 0));
    check(
        FRAGMENT,
        None,
        SearchMode::Lexical,
        &["f_new", "f_none"],
        (2, 0),
    );
    check(FRAGMENT, Some("t1"), semantic, &["f_old"], (1, 0));
    let ranked = graph
        .read(|r| {
            let ranking = Ranking {
                query: "glucose",
                vector: &[1.0, 0.0, 0.0],
                members: None,
                mode: SearchMode::Hybrid,
                limit: 9,
            };
            store.rank_fragments(r, &model("m"), &ranking)
        })
        .unwrap();
    let mut ids: Vec<&str> = ranked.iter().map(|s| s.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["f_new", "f_none"]);
    // Scopes are kept between searches; commits of other connections are visible.
    sql(
        &other,
        "UPDATE claims SET claim_adoption_status = 'not_adopted' WHERE id = 'c1'",
    );
    check(CLAIM, None, semantic, &["c2"], (1, 1));
    sql(
        &other,
        "UPDATE edges SET source_id = 'f_new' WHERE id = 'e1'",
    );
    check(FRAGMENT, Some("t1"), semantic, &["f_new", "f_old"], (2, 0));
    let error = search(&store, &graph, CLAIM, (Some("t1"), semantic)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("none of the 1 claims of task t1"),
        "{error}"
    );
    let error = search(&store, &graph, FRAGMENT, (Some("t2"), semantic)).unwrap_err();
    assert!(
        error.to_string().contains("no fragments of task t2"),
        "{error}"
    );
}

#[test]
fn what_shows_as_the_floor_reaches_it_and_ties_go_by_id() {
    let (_folder, graph) = open();
    sql(&graph, GRAPH);
    for id in ["c3", "c2", "c1"] {
        embed(&graph, CLAIM, id, &[0.3, 0.1, 0.7]);
    }
    let store = VectorStore::new();
    let mut request = VectorRequest::new("x");
    request.min_similarity = Some(1.0);
    request.mode = SearchMode::Semantic;
    request.top_k = 2;
    let reply = graph
        .read(|r| store.search(r, &model("m"), &[0.3, 0.1, 0.7], &request))
        .unwrap();
    let hits: Vec<(&str, f64)> = reply
        .results
        .iter()
        .map(|hit| (hit.id.as_str(), hit.similarity))
        .collect();
    assert_eq!(hits, [("c1", 1.0), ("c2", 1.0)]);
}

#[test]
fn an_empty_answer_says_why_and_words_are_found_below_the_floor() {
    let (_folder, graph) = open();
    sql(&graph, GRAPH);
    embed(&graph, CLAIM, "c1", &[1.0, 0.0, 0.0]);
    embed(&graph, CLAIM, "c2", &[0.2, 1.0, 0.0]);
    let store = VectorStore::new();
    let search = |change: &dyn Fn(&mut VectorRequest)| {
        let mut request = VectorRequest::new("two");
        change(&mut request);
        let across = [0.0, 0.0, 1.0];
        let reply = graph.read(|r| store.search(r, &model("m"), &across, &request));
        let reply = reply.unwrap();
        let ids: Vec<String> = reply.results.into_iter().map(|hit| hit.id).collect();
        (ids, reply.hint)
    };
    // No vector is near; the word occurs in one claim.
    assert_eq!(search(&|_| {}), (vec!["c2".to_owned()], None));
    let (found, hint) = search(&|r| r.mode = SearchMode::Semantic);
    assert!(found.is_empty());
    let hint = hint.unwrap();
    assert!(
        hint.contains("0.30") && hint.contains("mode=hybrid"),
        "{hint}"
    );
    // With the minimum at 0 both are found, one per page.
    let page =
        |offset: usize| search(&|r| (r.min_similarity, r.top_k, r.offset) = (Some(0.0), 1, offset));
    let (first, second) = (page(0).0, page(1).0);
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_ne!(first, second);
    let (none, hint) = page(2);
    assert!(none.is_empty() && hint.unwrap().contains("lower offset"));
    let mut request = VectorRequest::new("two");
    request.offset = 10_001;
    assert!(request.validate().is_err());
}
