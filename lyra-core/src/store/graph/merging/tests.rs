//! Merge laws on random graphs, and refused inputs.

use super::super::forget::forget_task;
use super::super::handles::Writer;
use super::super::interchange::testing;
use super::super::verify;
use super::*;
use crate::store::database::backup;
use crate::store::graph::{Feedback, Screening};
use crate::store::model::{Relation, ScreeningDecision, content_id};
use crate::store::text::hash::sha256_hex;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;
mod reports;

const NOW: &str = "2026-05-01T00:00:00.000Z";

/// Tables that are not compared: those that a merge does not touch or that record the merge itself; and
/// jobs, because a job may be cancelled in favour of another that is still running.
const APART: [&str; 4] = [
    "event_log",
    "calibration_versions",
    "calibration_evaluations",
    "jobs",
];

/// Random choices from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn of<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        let place = self.below(values.len() as u64);
        &values[usize::try_from(place).unwrap()]
    }

    fn time(&mut self) -> String {
        format!("2026-01-0{}T00:00:00.000Z", 1 + self.below(5))
    }
}

const STORY: &str = "Night work shortens sleep in nurses who change shifts every week. ";

/// The texts that a page may have had; the first texts of all pages are copies of one another.
fn text(page: u64, number: u64) -> String {
    let own = match number {
        0 => String::new(),
        _ => format!("Page {page} says {number} more things. "),
    };
    format!("{}{own}Its end.", STORY.repeat(4))
}

/// The possible rows of a graph: an id means the same in all graphs.
fn lines(dice: &mut Dice) -> Vec<Value> {
    let mut lines = Vec::new();
    let tasks: Vec<u64> = (0..3).filter(|_| !dice.one_in(3)).collect();
    for task in &tasks {
        lines.push(json!({"type": "task", "id": format!("t{task}"), "hypothesis": format!("Hypothesis {task}"),
            "created_at": dice.time(), "status": dice.of(&["created", "exploring", "paused"])}));
    }
    for work in 0..2 {
        if dice.one_in(3) {
            continue;
        }
        let title = dice.of(&[None, Some("A title"), Some("Another title")]);
        lines.push(
            json!({"type": "work", "canonical_id": format!("w{work}"), "title": title,
            "year": 2000 + dice.below(2), "is_retracted": dice.one_in(4)}),
        );
        for position in 0..dice.below(3) {
            lines.push(json!({"type": "work_author", "canonical_id": format!("w{work}"), "position": position,
                "name": dice.of(&["Ann", "Bo"])}));
        }
        lines.push(
            json!({"type": "work_identifier", "canonical_id": format!("w{work}"), "provider": "x",
            "provider_paper_id": format!("{work}"), "pmid": dice.of(&[None, Some("7")])}),
        );
        for page in 0..2 {
            page_lines(dice, work * 2 + page, &tasks, &mut lines);
        }
    }
    lines
}

fn page_lines(dice: &mut Dice, number: u64, tasks: &[u64], lines: &mut Vec<Value>) {
    if dice.one_in(4) {
        return;
    }
    let page = format!("p{number}");
    let work = dice.of(&[None, Some(format!("w{}", number / 2))]).clone();
    let read = (!dice.one_in(3)).then(|| dice.time());
    lines.push(json!({"type": "page", "id": page, "url": format!("https://site{number}.example/{number}"),
        "domain": format!("site{number}.example"), "title": dice.of(&["One", "Two"]), "canonical_id": work,
        "fetched_at": read, "http_status": dice.of(&[200, 304])}));
    for position in 0..dice.below(3) {
        lines.push(
            json!({"type": "page_reference", "page_id": page, "position": position,
            "doi": format!("10.1/{}", dice.below(3)), "citation_source": "reference_list"}),
        );
    }
    let mut version = 0;
    for told in 0..3 {
        let order = (told + number) % 3;
        if dice.one_in(2) {
            continue;
        }
        version += 1;
        text_lines(dice, (number, order, version), tasks, lines);
    }
    for task in tasks {
        if dice.one_in(2) {
            lines.push(
                json!({"type": "task_page", "task_id": format!("t{task}"), "page_id": page,
                "reason": dice.of(&["search", "manual"]), "depth": dice.below(2)}),
            );
        }
    }
}

fn text_lines(
    dice: &mut Dice,
    (page, order, version): (u64, u64, u64),
    tasks: &[u64],
    lines: &mut Vec<Value>,
) {
    let (id, text) = (format!("p{page}"), text(page, order));
    let hash = sha256_hex(text.as_bytes());
    lines.push(
        json!({"type": "page_text", "page_id": id, "version": version, "text": text,
        "fetched_at": dice.time()}),
    );
    for (place, sentence) in ["Night work shortens sleep", "Its end."]
        .into_iter()
        .enumerate()
    {
        let start = text.find(sentence).unwrap();
        let (start, end) = (start, start + sentence.len());
        let fragment = content_id("frag_", &[&id, &hash, &start.to_string(), &end.to_string()]);
        lines.push(json!({"type": "fragment", "id": fragment, "page_id": id, "page_version": version,
            "position": place, "text_content": sentence, "char_start": start, "char_end": end,
            "heading_context": dice.of(&[None, Some("Results"), Some("Discussion")]), "created_at": dice.time()}));
        if dice.one_in(2) {
            lines.push(
                json!({"type": "embedding", "target_type": "fragment", "target_id": fragment,
                "model_id": "m", "vector": [dice.below(2), 1]}),
            );
        }
        for task in tasks {
            if dice.one_in(2) {
                claim_lines(
                    dice,
                    *task,
                    &fragment,
                    &format!("Claim {place} of {id}"),
                    lines,
                );
            }
        }
    }
}

fn claim_lines(dice: &mut Dice, task: u64, fragment: &str, words: &str, lines: &mut Vec<Value>) {
    let task = format!("t{task}");
    let claim = content_id("claim_", &[&task, words]);
    if lines.iter().any(|line| line["id"] == claim.as_str()) {
        return;
    }
    lines.push(
        json!({"type": "claim", "id": claim, "task_id": task, "claim_text": words,
        "extractor_id": dice.of(&["lyra-a", "model-b", "agent:c:d"]), "created_at": dice.time()}),
    );
    lines.push(json!({"type": "edge", "source_type": "fragment", "source_id": fragment, "target_type": "claim",
        "target_id": claim, "relation": "origin", "created_at": dice.time()}));
    lines.push(
        json!({"type": "hypothesis_stance", "claim_id": claim, "task_id": task,
        "relation": dice.of(&["supports", "refutes"]), "confidence": 0.5,
        "judge_id": dice.of(&["lyra-a", "agent:c:d", "human"]), "created_at": dice.time()}),
    );
    // The deciding verdict is the edge, as in the pipeline.
    let mut best: Option<(usize, String, Value)> = None;
    for (rank, judge) in ["lyra-a", "model-b", "agent:c:d", "human"]
        .into_iter()
        .enumerate()
    {
        if dice.one_in(2) {
            continue;
        }
        let (at, relation) = (dice.time(), dice.of(&["supports", "refutes", "neutral"]));
        lines.push(
            json!({"type": "verdict", "fragment_id": fragment, "claim_id": claim, "judge_id": judge,
            "relation": relation, "confidence": 0.75, "created_at": at}),
        );
        best = Some((rank, at, json!(relation)));
    }
    let Some((rank, at, relation)) = best else {
        return;
    };
    let judge = ["lyra-a", "model-b", "agent:c:d", "human"][rank];
    lines.push(json!({"type": "edge", "source_type": "fragment", "source_id": fragment, "target_type": "claim",
        "target_id": claim, "relation": relation, "nli_edge_confidence": 0.75, "judge_id": judge,
        "edge_human_corrected": judge == "human", "created_at": dice.time(),
        "edge_corrected_at": (judge == "human").then_some(at)}));
}

/// Applies human actions to a graph.
fn acts(dice: &mut Dice, db: &Database) {
    for _ in 0..dice.below(6) {
        let now = dice.time();
        let claims = ids(db, "SELECT id FROM claims ORDER BY id");
        let edges = ids(
            db,
            "SELECT id FROM edges WHERE relation IN ('supports', 'refutes', 'neutral') ORDER BY id",
        );
        let reason = dice.of(&["no", "no indeed"]).to_string();
        let domain_pattern = format!("site{}.example", dice.below(4));
        let feedback = match dice.below(5) {
            0 if !claims.is_empty() => Feedback::ClaimReject {
                claim_id: dice.of(&claims).clone(),
                reason,
            },
            1 if !claims.is_empty() => Feedback::ClaimRestore {
                claim_id: dice.of(&claims).clone(),
                reason: Some(reason),
            },
            2 if !edges.is_empty() => Feedback::EdgeCorrect {
                edge_id: dice.of(&edges).clone(),
                correct_relation: *dice.of(&[Relation::Supports, Relation::Refutes]),
                reason: None,
            },
            3 => Feedback::DomainBlock {
                domain_pattern,
                reason,
            },
            _ => Feedback::DomainUnblock {
                domain_pattern,
                reason,
            },
        };
        // A missing rule cannot be ended, and an edge that was set aside is not found.
        let _ = db.write(|t| {
            Writer {
                db: t,
                now,
                actor: None,
            }
            .apply_feedback(&feedback, "user")
        });
    }
    screen(dice, db);
    let tasks = ids(db, "SELECT id FROM tasks ORDER BY id");
    if dice.one_in(4) && !tasks.is_empty() {
        let task = dice.of(&tasks).clone();
        let (orphans, now) = (dice.one_in(2), dice.time());
        forget_task(db, &task, orphans, &now).unwrap();
    }
}

fn screen(dice: &mut Dice, db: &Database) {
    let seen = ids(
        db,
        "SELECT task_id || ' ' || page_id FROM task_pages ORDER BY 1",
    );
    if seen.is_empty() || dice.one_in(2) {
        return;
    }
    let seen = dice.of(&seen).clone();
    let (task, page) = seen.split_once(' ').unwrap();
    let url = format!("https://site{0}.example/{0}", &page[1..]);
    let screening = Screening {
        source: url,
        decision: *dice.of(&[ScreeningDecision::Include, ScreeningDecision::Exclude]),
        reason: Some("out of scope".to_owned()),
        is_final: dice.one_in(2),
    };
    let now = dice.time();
    let reviewer = *dice.of(&["ann", "bo"]);
    db.write(|t| {
        Writer {
            db: t,
            now,
            actor: None,
        }
        .screen(task, &screening, reviewer)
    })
    .unwrap();
}

/// Searches and jobs, some of them for the same target.
fn work(dice: &mut Dice, db: &Database) {
    for task in ids(db, "SELECT id FROM tasks ORDER BY id") {
        for number in 0..2 {
            // Two jobs that may have either target.
            let job = format!("j{}_{task}", 2 * dice.below(2) + number);
            let state = *dice.of(&["queued", "completed", "failed", "cancelled"]);
            let time = dice.time();
            // A target has at most one queued or completed job.
            let _ = db.write(|t| {
                t.run(
                    "INSERT OR IGNORE INTO jobs (id, task_id, kind, priority, state, dedup_key, created_at, queued_at)
                     VALUES (?1, ?2, 'target_queue', 10, ?3, ?4, ?5, ?5)",
                    rusqlite::params![job, task, state, number, time],
                )?;
                t.run(
                    "INSERT OR IGNORE INTO queries (id, task_id, query_text, created_at, finished_at)
                     VALUES (?1, ?2, 'q', '', ?3)",
                    rusqlite::params![format!("s{number}_{task}"), task, time],
                )
            });
        }
    }
}

fn ids(db: &Database, sql: &str) -> Vec<String> {
    db.read(|c| c.all(sql, [], |r| r.get(0))).unwrap()
}

fn graph(folder: &TempDir, name: &str, seed: u64) -> PathBuf {
    let path = folder.path().join(name);
    let db = Database::open(&path).unwrap();
    let mut dice = Dice(seed);
    let lines: Vec<String> = lines(&mut dice).iter().map(Value::to_string).collect();
    testing::import(&db, &lines).unwrap();
    work(&mut dice, &db);
    acts(&mut dice, &db);
    path
}

/// A copy of the first with the others merged into it.
fn merged(folder: &TempDir, name: &str, first: &Path, others: &[&PathBuf]) -> PathBuf {
    let path = folder.path().join(name);
    let source = Database::open(first).unwrap();
    backup(source.source(), &path, false).unwrap();
    drop(source);
    let db = Database::open(&path).unwrap();
    let others: Vec<PathBuf> = others.iter().map(|other| (*other).clone()).collect();
    merge(&db, &others, NOW, true).unwrap();
    let checked = verify(&db).unwrap();
    assert!(checked.ok, "{:?}", checked.violations);
    for index in ["fragments_fts", "claims_fts"] {
        db.write(|t| {
            t.run(
                &format!("INSERT INTO {index} ({index}) VALUES ('integrity-check')"),
                [],
            )
        })
        .unwrap();
    }
    path
}

/// Every row, without numbers that carry no meaning.
fn rows(path: &Path) -> BTreeMap<String, Vec<String>> {
    let db = Database::open(path).unwrap();
    let mut all = BTreeMap::new();
    for table in crate::store::database::checksums::TABLES {
        if APART.contains(&table) {
            continue;
        }
        let columns = ids(
            &db,
            &format!(
                "SELECT name FROM pragma_table_info('{table}')
                 WHERE name <> 'seq' AND NOT (name = 'id' AND '{table}' = 'feedback_log')"
            ),
        );
        let read = |column: &String| match column.as_str() {
            "embedding_blob" => "hex(embedding_blob)".to_owned(),
            // The time of the merge, if the rejection follows from screening.
            "claim_rejected_at" => {
                "iif(claim_rejection_reason GLOB 'source excluded*', NULL, claim_rejected_at)"
                    .to_owned()
            }
            _ => column.clone(),
        };
        let columns: Vec<String> = columns.iter().map(read).collect();
        let sql = format!(
            "SELECT json_array({}) FROM {table} ORDER BY 1",
            columns.join(", ")
        );
        all.insert(table.to_owned(), ids(&db, &sql));
    }
    all
}

fn assert_same(law: &str, seed: [u64; 3], one: &Path, other: &Path) {
    let (one, other) = (rows(one), rows(other));
    for (table, rows) in &one {
        assert_eq!(rows, &other[table], "{law}, {table}, seeds {seed:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn order_and_repetition_make_no_difference(seed in any::<[u64; 3]>()) {
        let folder = TempDir::new().unwrap();
        let [a, b, c] = [0, 1, 2].map(|n| graph(&folder, &format!("{n}.db"), seed[n]));
        let ab = merged(&folder, "ab.db", &a, &[&b]);
        assert_same("commutative", seed, &ab, &merged(&folder, "ba.db", &b, &[&a]));
        assert_same("idempotent", seed, &ab, &merged(&folder, "abb.db", &ab, &[&b]));
        assert_same("idempotent with itself", seed, &a, &merged(&folder, "aa.db", &a, &[&same(&folder, &a)]));
        let ab_c = merged(&folder, "ab_c.db", &ab, &[&c]);
        let bc = merged(&folder, "bc.db", &b, &[&c]);
        assert_same("associative", seed, &ab_c, &merged(&folder, "a_bc.db", &a, &[&bc]));
        assert_same("at once", seed, &ab_c, &merged(&folder, "abc.db", &a, &[&b, &c]));
    }
}

#[test]
fn of_two_jobs_for_one_target_one_is_cancelled() {
    let folder = TempDir::new().unwrap();
    let [a, b] = [("j1", "queued"), ("j2", "completed")].map(|(job, state)| {
        let path = folder.path().join(format!("{job}.db"));
        let db = Database::open(&path).unwrap();
        let task = r#"{"type":"task","id":"t","hypothesis":"h"}"#;
        testing::import(&db, &[task]).unwrap();
        let sql = "INSERT INTO jobs (id, task_id, kind, priority, state, dedup_key, created_at, queued_at)
                   VALUES (?1, 't', 'target_queue', 10, ?2, 'url', '', '')";
        db.write(|t| t.run(sql, [job, state])).unwrap();
        path
    });
    for (name, first, second) in [("ab.db", &a, &b), ("ba.db", &b, &a)] {
        let both = Database::open(&merged(&folder, name, first, &[second])).unwrap();
        let states = ids(&both, "SELECT id || ' ' || state FROM jobs ORDER BY id");
        assert_eq!(states, ["j1 cancelled", "j2 completed"], "{name}");
    }
}

fn same(folder: &TempDir, graph: &Path) -> PathBuf {
    let copy = folder.path().join("same.db");
    let db = Database::open(graph).unwrap();
    backup(db.source(), &copy, false).unwrap();
    copy
}

#[test]
fn every_column_is_merged() {
    let (_folder, db) = testing::empty();
    let rules = [
        &rules::TASKS,
        &rules::WORKS,
        &rules::WORK_IDENTIFIERS,
        &rules::PAGES,
        &rules::RESOURCES,
        &rules::FRAGMENTS,
        &rules::CLAIMS,
        &rules::STANCES,
        &rules::EDGES,
        &rules::VERDICTS,
        &rules::TASK_PAGES,
        &rules::SCREENINGS,
        &rules::QUERIES,
        &rules::HITS,
        &rules::JOBS,
        &rules::AUTH_QUEUE,
        &rules::CORRECTIONS,
        &rules::DOMAIN_RULES,
        &rules::HOSTILE,
    ];
    for rule in rules {
        let named: std::collections::BTreeSet<String> = rule.columns().map(str::to_owned).collect();
        assert_eq!(
            named,
            testing::column_names(&db, rule.table),
            "{}",
            rule.table
        );
    }
}

#[test]
fn more_graphs_than_sqlite_can_attach_are_merged() {
    let folder = TempDir::new().unwrap();
    let sources: Vec<PathBuf> = (0..13_u64)
        .map(|n| graph(&folder, &format!("{n}.db"), n + 1))
        .collect();
    let (first, rest) = sources.split_first().unwrap();
    let rest: Vec<&PathBuf> = rest.iter().collect();
    let backwards: Vec<&PathBuf> = sources[..12].iter().rev().collect();
    let forth = merged(&folder, "forth.db", first, &rest);
    let back = merged(&folder, "back.db", &sources[12], &backwards);
    assert_same("many", [0; 3], &forth, &back);
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .collect();
    assert!(
        left.iter()
            .all(|entry| !entry.file_name().to_string_lossy().starts_with(".lyra"))
    );
}

#[test]
fn what_cannot_be_merged_is_refused_and_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let target = graph(&folder, "target.db", 5);
    let before = rows(&target);
    let cases = [
        (
            r#"{"type":"task","id":"t0","hypothesis":"Something else"}"#,
            "tasks: t0 has another hypothesis",
        ),
        (
            r#"{"type":"page","id":"p0","url":"https://other.example/"}"#,
            "pages: p0 has another url",
        ),
        (
            r#"{"type":"page","id":"other","url":"https://site0.example/0"}"#,
            "is page other in one graph",
        ),
    ];
    let db = Database::open(&target).unwrap();
    db.write(|t| {
        t.run("INSERT OR IGNORE INTO tasks (id, hypothesis, created_at) VALUES ('t0', 'Hypothesis 0', '')", [])?;
        t.run("INSERT OR IGNORE INTO pages (id, url) VALUES ('p0', 'https://site0.example/0')", [])
    })
    .unwrap();
    let before_all = rows(&target);
    for (number, (line, expected)) in cases.into_iter().enumerate() {
        let path = folder.path().join(format!("bad{number}.db"));
        testing::import(&Database::open(&path).unwrap(), &[line]).unwrap();
        let error = merge(&db, &[path], NOW, false).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(rows(&target), before_all);
    }
    assert!(before.len() == before_all.len());
    let text = folder.path().join("text.db");
    std::fs::write(&text, "no database").unwrap();
    for (path, expected) in [
        (&text, "text.db"),
        (&target, "is also the target of the merge"),
    ] {
        let error = merge(&db, std::slice::from_ref(path), NOW, false).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let missing = merge(&db, &[folder.path().join("none.db")], NOW, false).unwrap_err();
    assert_eq!(missing.kind(), crate::ErrorKind::NotFound);
    // Attached databases are detached: the next merge works.
    let good = graph(&folder, "good.db", 6);
    merge(&db, &[good], NOW, false).unwrap();
}

#[test]
fn a_graph_that_is_open_for_writing_is_merged_with_its_log() {
    let folder = TempDir::new().unwrap();
    let source = graph(&folder, "source.db", 7);
    let writer = Database::open(&source).unwrap();
    let add = "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t9', 'Hypothesis 9', '')";
    writer.write(|t| t.run(add, [])).unwrap();
    // Any program may create statistics tables.
    writer
        .maintain(|c| c.execute_batch("ANALYZE").db())
        .unwrap();
    let target = Database::open(&folder.path().join("target.db")).unwrap();
    target
        .maintain(|c| c.execute_batch("ANALYZE").db())
        .unwrap();
    writer
        .write(|held| {
            merge(&target, std::slice::from_ref(&source), NOW, false)?;
            held.run("DELETE FROM tasks WHERE id = 't9'", [])
        })
        .unwrap();
    assert_eq!(ids(&target, "SELECT id FROM tasks WHERE id = 't9'"), ["t9"]);
}

#[test]
fn a_view_in_the_place_of_a_table_is_refused() {
    let folder = TempDir::new().unwrap();
    let source = graph(&folder, "source.db", 7);
    let db = Database::open(&source).unwrap();
    db.maintain(|c| {
        c.execute_batch("DROP TABLE work_authors; CREATE VIEW work_authors AS SELECT * FROM works")
            .db()
    })
    .unwrap();
    drop(db);
    let target = Database::open(&folder.path().join("target.db")).unwrap();
    let error = merge(&target, &[source], NOW, false).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("work_authors is not as Lyra makes it"),
        "{error}"
    );
}
