use super::*;
use crate::clock::{Clock, ManualClock};
use crate::store::graph::Feedback;
use std::sync::Arc;

/// 2023-11-14T22:13:20Z.
const START: i64 = 1_700_000_000_000;
const DAY: i64 = 86_400_000;

const BEFORE: &str = r#"
{"type":"task","id":"task_00000001","hypothesis":"Walking lowers glucose"}
{"type":"task","id":"task_00000002","hypothesis":"Another"}
{"type":"work","canonical_id":"doi:10.1/a","title":"Steps","year":2021}
{"type":"page","id":"p1","url":"https://a.example/1","canonical_id":"doi:10.1/a"}
{"type":"page_text","page_id":"p1","version":1,"text":"It does."}
{"type":"page","id":"p2","url":"https://b.example/2"}
{"type":"fragment","id":"f1","page_id":"p1","page_version":1,"text_content":"It does.","char_start":0,"char_end":8}
{"type":"fragment","id":"f2","page_id":"p2","text_content":"Perhaps."}
{"type":"claim","id":"c1","task_id":"task_00000001","claim_text":"Walking lowers it"}
{"type":"claim","id":"c2","task_id":"task_00000001","claim_text":"Steps count"}
{"type":"claim","id":"c3","task_id":"task_00000002","claim_text":"Elsewhere"}
{"type":"edge","id":"o1","source_type":"fragment","source_id":"f1","target_type":"claim","target_id":"c1","relation":"origin"}
{"type":"edge","id":"e1","source_type":"fragment","source_id":"f2","target_type":"claim","target_id":"c1","relation":"supports","nli_edge_confidence":0.8,"judge_id":"one"}
{"type":"edge","id":"e2","source_type":"fragment","source_id":"f1","target_type":"claim","target_id":"c2","relation":"supports","nli_edge_confidence":0.7,"judge_id":"one"}
{"type":"edge","id":"e3","source_type":"fragment","source_id":"f2","target_type":"claim","target_id":"c2","relation":"neutral","nli_edge_confidence":0.5,"judge_id":"one"}"#;

const AFTER: &str = r#"
{"type":"page","id":"p3","url":"https://c.example/3","title":"A doubt"}
{"type":"fragment","id":"f3","page_id":"p3","text_content":"It does not."}
{"type":"claim","id":"c4","task_id":"task_00000001","claim_text":"It does not","cause_id":"job_x"}
{"type":"edge","id":"o4","source_type":"fragment","source_id":"f3","target_type":"claim","target_id":"c4","relation":"origin"}
{"type":"edge","id":"e4","source_type":"fragment","source_id":"f3","target_type":"claim","target_id":"c1","relation":"refutes","nli_edge_confidence":0.9,"judge_id":"one"}
{"type":"page_text","page_id":"p1","version":2,"text":"It does, a little."}"#;

fn import(graph: &EvidenceGraph, lines: &str) {
    let lines = lines.trim_start().as_bytes();
    crate::store::graph::import_jsonl(graph.database(), &graph.clock().now(), lines).unwrap();
}

/// A file of the first day, and a copy of it with one more day of changes.
struct Both {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
    now: EvidenceGraph,
}

impl Both {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let before = folder.path().join("before.db");
        let graph = EvidenceGraph::open(&before, clock.clone()).unwrap();
        import(&graph, BEFORE);
        let path = folder.path().join("now.db");
        let copy = |db: &Connection| db.execute("VACUUM INTO ?1", [path.to_str()]).db();
        graph.database().maintain(copy).unwrap();
        clock.advance(DAY);
        let now = EvidenceGraph::open(&path, clock.clone()).unwrap();
        Self { folder, clock, now }
    }

    fn before(&self) -> PathBuf {
        self.folder.path().join("before.db")
    }

    fn go_on(&self) {
        import(&self.now, AFTER);
        let edge_correct = Feedback::EdgeCorrect {
            edge_id: "e3".into(),
            correct_relation: Relation::Refutes,
            reason: Some("read it again".into()),
        };
        let claim_reject = Feedback::ClaimReject {
            claim_id: "c3".into(),
            reason: "off the question".into(),
        };
        self.now
            .write(|w| {
                w.apply_feedback(&edge_correct, "ada")?;
                w.apply_feedback(&claim_reject, "ada")
            })
            .unwrap();
    }

    fn sql(&self, sql: &str) {
        self.now.write(|w| w.db.execute_batch(sql).db()).unwrap();
    }

    fn since_the_file(&self, task: Option<&str>) -> GraphDiff {
        diff_from(&self.now, &self.before(), task).unwrap()
    }

    fn since_the_day(&self, task: Option<&str>) -> GraphDiff {
        let ms = self.clock.now_ms() - DAY / 2;
        diff_since(&self.now, &format_ms(ms), task).unwrap()
    }
}

fn ids(claims: &[ClaimChange]) -> Vec<&str> {
    claims.iter().map(|c| c.claim_id.as_str()).collect()
}

/// Results that both kinds of comparison must give after [`Both::go_on`].
fn check_common(diff: &GraphDiff) {
    assert_eq!(ids(&diff.new_claims), ["c4"]);
    assert_eq!(diff.new_claims[0].cause.job_id.as_deref(), Some("job_x"));
    assert_eq!(
        diff.new_claims[0].url.as_deref(),
        Some("https://c.example/3")
    );
    assert_eq!(ids(&diff.rejected_claims), ["c3"]);
    let cause = &diff.rejected_claims[0].cause;
    assert_eq!(
        (cause.actor.as_deref(), cause.reason.as_deref()),
        (Some("ada"), Some("off the question"))
    );
    assert!(diff.vanished_claims.is_empty() && diff.restored_claims.is_empty());
    // c1: (1 + 0.8) / (2 + 0.8) before, (1 + 0.8) / (2 + 0.8 + 0.9) now; c2 went from 1.7 / 2.7 to
    // 1.7 / 3.7, because a corrected edge counts in full.
    let moved: Vec<(&str, f64, f64)> = diff
        .moved_claims
        .iter()
        .map(|c| (c.claim_id.as_str(), c.before, c.after))
        .collect();
    assert_eq!(moved, [("c1", 0.6429, 0.4865), ("c2", 0.6296, 0.4595)]);
    let causes: Vec<(&str, EdgeEvent)> = diff
        .moved_claims
        .iter()
        .flat_map(|c| c.edges.iter().map(|e| (e.edge_id.as_str(), e.event)))
        .collect();
    assert_eq!(
        causes,
        [("e4", EdgeEvent::Added), ("e3", EdgeEvent::Corrected)]
    );
    let corrected = &diff.moved_claims[1].edges[0];
    assert_eq!(corrected.relation_before, Some(Relation::Neutral));
    assert_eq!(corrected.cause.reason.as_deref(), Some("read it again"));
    let against: Vec<&str> = diff
        .new_contradictions
        .iter()
        .map(|e| e.edge_id.as_str())
        .collect();
    assert_eq!(against, ["e4", "e3"]);
    assert_eq!(diff.superseded_texts.len(), 1);
    let text = &diff.superseded_texts[0];
    assert_eq!(
        (
            text.version_before,
            text.version_after,
            text.claims_on_older_text
        ),
        (1, 2, 1)
    );
    assert_eq!(diff.new_sources.len(), 1);
    assert_eq!(diff.new_sources[0].page_id, "p3");
}

#[test]
fn both_kinds_of_comparison_find_what_changed_and_why() {
    let both = Both::new();
    assert_eq!(both.since_the_file(None).total(), 0);
    assert_eq!(both.since_the_day(None).total(), 0);
    both.go_on();
    check_common(&both.since_the_file(None));
    check_common(&both.since_the_day(None));
    for diff in [
        both.since_the_file(Some("task_00000002")),
        both.since_the_day(Some("task_00000002")),
    ] {
        assert_eq!(ids(&diff.rejected_claims), ["c3"]);
        assert_eq!(diff.total(), 1, "{diff:?}");
    }
    assert_eq!(both.since_the_file(None), both.since_the_file(None));
}

#[test]
fn files_also_tell_what_no_time_is_kept_of() {
    let both = Both::new();
    both.sql(
        "UPDATE works SET is_retracted = 1;
         INSERT INTO hypothesis_stances VALUES ('c1', 'task_00000001', 'refutes', 0.8, 'two', '2023-11-15');
         DELETE FROM edges WHERE id = 'e1';
         INSERT INTO nli_verdicts (fragment_id, claim_id, judge_id, relation, confidence, created_at) VALUES ('f2', 'c1', 'two', 'neutral', 0.4, '2023-11-15');
         UPDATE edges SET relation = 'refutes', judge_id = 'two' WHERE id = 'e2';
         DELETE FROM tasks WHERE id = 'task_00000002'",
    );
    let diff = both.since_the_file(None);
    let work = &diff.retracted_works[0];
    assert_eq!(work.canonical_id, "doi:10.1/a");
    assert_eq!(work.claims_read_in_it, ["c1"]);
    assert_eq!(work.claims_judged_by_it, ["c2"]);
    assert_eq!(ids(&diff.vanished_claims), ["c3"]);
    let cause = &diff.vanished_claims[0].cause;
    assert_eq!(cause.reason.as_deref(), Some("its task is gone"));
    assert_eq!(diff.flipped_stances.len(), 1);
    assert_eq!(
        (
            diff.flipped_stances[0].before,
            diff.flipped_stances[0].after
        ),
        (None, Some(Relation::Refutes))
    );
    let edges: Vec<(&str, EdgeEvent, Option<&str>, Option<&str>)> = diff
        .moved_claims
        .iter()
        .flat_map(|c| &c.edges)
        .map(|e| {
            let cause = &e.cause;
            let (judge, reason) = (cause.judge_id.as_deref(), cause.reason.as_deref());
            (e.edge_id.as_str(), e.event, judge, reason)
        })
        .collect();
    assert_eq!(
        edges,
        [
            (
                "e1",
                EdgeEvent::Removed,
                Some("two"),
                Some("judged again: neutral 0.40")
            ),
            ("e2", EdgeEvent::Rejudged, Some("two"), None),
        ]
    );
    // A task that only one side has is accepted.
    assert_eq!(both.since_the_file(Some("task_00000002")).total(), 1);
}

#[test]
fn a_restored_claim_is_told() {
    let both = Both::new();
    let before = EvidenceGraph::open(&both.before(), both.clock.clone()).unwrap();
    before
        .write(|w| {
            let claim_id = "c1".to_owned();
            let reason = "by mistake".to_owned();
            w.apply_feedback(&Feedback::ClaimReject { claim_id, reason }, "ada")
        })
        .unwrap();
    drop(before);
    let diff = both.since_the_file(None);
    assert_eq!(ids(&diff.restored_claims), ["c1"]);
    assert_eq!(diff.total(), 1);
}

#[test]
fn the_older_file_stays_as_it_was() {
    let both = Both::new();
    both.go_on();
    let bytes = std::fs::read(both.before()).unwrap();
    both.since_the_file(None);
    assert!(std::fs::read(both.before()).unwrap() == bytes);
    let names = std::fs::read_dir(both.folder.path()).unwrap();
    let beside = names
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.starts_with("before"));
    assert_eq!(beside.collect::<Vec<_>>(), ["before.db"]);
}

#[test]
fn names_mean_files_and_open_files_can_be_compared_with() {
    let both = Both::new();
    both.go_on();
    let odd = both.folder.path().join("a ?mode=rw&100%#.db");
    std::fs::copy(both.before(), &odd).unwrap();
    check_common(&diff_from(&both.now, &odd, None).unwrap());
    // While the file is open, another program's writes are in the log.
    let open = EvidenceGraph::open(&odd, both.clock.clone()).unwrap();
    import(&open, AFTER);
    let diff = diff_from(&both.now, &odd, None).unwrap();
    assert!(diff.new_claims.is_empty() && diff.new_sources.is_empty());
}

/// A database of another program.
#[allow(clippy::disallowed_methods, reason = "makes a file that is not ours")]
fn foreign(folder: &Path) -> PathBuf {
    let path = folder.join("albums.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE albums (x); PRAGMA user_version = 3")
        .unwrap();
    path
}

#[test]
fn what_cannot_be_compared_is_refused_with_advice() {
    let both = Both::new();
    let folder = both.folder.path();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    for (path, task, kind) in [
        (folder.join("none.db"), None, ErrorKind::NotFound),
        (both.now.path().to_owned(), None, ErrorKind::InvalidInput),
        (file("empty.db", b""), None, ErrorKind::Storage),
        (foreign(folder), None, ErrorKind::Storage),
        (
            file("text.db", &b"no database ".repeat(20)),
            None,
            ErrorKind::Storage,
        ),
        (
            both.before(),
            Some("task_ffffffff"),
            ErrorKind::TaskNotFound,
        ),
    ] {
        let error = diff_from(&both.now, &path, task).unwrap_err();
        assert_eq!(error.kind(), kind, "{}: {error}", path.display());
        assert!(error.hint().is_some(), "{error}");
    }
    for since in ["yesterday", "2026-13-01", ""] {
        let error = diff_since(&both.now, since, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{since}");
        assert!(error.hint().is_some());
    }
    assert!(diff_since(&both.now, "2026-11-01", None).is_ok());
}

/// The result must still include a correction that hardly moves its claim, a claim that was added and
/// rejected, and a verdict on the hypothesis that is lost.
#[test]
fn small_corrections_new_rejections_and_lost_stances_are_told() {
    let both = Both::new();
    both.sql(
        "UPDATE edges SET nli_edge_confidence = 0.02 WHERE id = 'e3';
         INSERT INTO claims (id, task_id, claim_text, created_at)
           VALUES ('c5', 'task_00000001', 'A new one', '2023-11-15T22:13:20.000Z');",
    );
    let correct = Feedback::EdgeCorrect {
        edge_id: "e1".into(),
        correct_relation: Relation::Supports,
        reason: Some("so it says".into()),
    };
    let reject = Feedback::ClaimReject {
        claim_id: "c5".into(),
        reason: "no".into(),
    };
    both.now
        .write(|w| {
            w.apply_feedback(&correct, "ada")?;
            w.apply_feedback(&reject, "ada")
        })
        .unwrap();
    for diff in [both.since_the_file(None), both.since_the_day(None)] {
        let verdicts = &diff.corrected_verdicts;
        assert_eq!(verdicts.len(), 1, "{}", diff.before);
        let cause = &verdicts[0].cause;
        assert_eq!(
            (&*verdicts[0].edge_id, cause.actor.as_deref()),
            ("e1", Some("ada"))
        );
        assert_eq!(cause.reason.as_deref(), Some("so it says"));
        assert!(diff.new_claims.is_empty());
        assert_eq!(ids(&diff.rejected_claims), ["c5"]);
    }
    let before = EvidenceGraph::open(&both.before(), both.clock.clone()).unwrap();
    let judged = "INSERT INTO hypothesis_stances VALUES ('c1', 'task_00000001', 'supports', 0.8, 'one', '2023-11-14')";
    before.write(|w| w.db.execute_batch(judged).db()).unwrap();
    drop(before);
    let flipped = both.since_the_file(None).flipped_stances;
    assert_eq!(
        (flipped[0].before, flipped[0].after, flipped[0].confidence),
        (Some(Relation::Supports), None, None)
    );
}
