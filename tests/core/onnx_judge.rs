//! Cross-encoders in ONNX files as judges, beside what Python's onnxruntime and tokenizers make of the
//! same files. The models are tiny, with random weights, and are written by scripts/tiny_onnx_judge.py;
//! without Python and its packages these tests are skipped.

use crate::onnx::{PYTHON, Python, edit, options};
use lyra_core::models::{BuiltinStanceJudge, OnnxOptions, OnnxStanceJudge};
use lyra_core::ports::testing::check_stance_judge;
use lyra_core::ports::{StanceJudge, StancePair, Verdict};
use lyra_core::store::guard::SqlRequest;
use lyra_core::store::model::Relation;
use lyra_core::{Engine, EngineConfig, Error, ErrorKind, TaskConfig};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Pairs of many lengths: empty ones, Japanese ones, some that the model cuts in one text or in both.
fn pairs() -> Vec<StancePair> {
    let mut pairs: Vec<(String, String)> = [
        (
            "Drug X increased the risk of falls (RR 1.41).",
            "Drug X increases the risk of falls.",
        ),
        ("Mortality fell.", "Drug X reduces mortality."),
        ("", ""),
        ("", "Drug X reduces mortality."),
        ("No effect was seen.", " \n"),
        ("薬剤Xは高齢者の転倒リスクを有意に増加させた。", "薬剤 転倒"),
        ("  The HAZARD ratio was 1.27  ", "naïve café 👩‍⚕️ [SEP] ##ing"),
        ("x", "y"),
    ]
    .map(|(premise, hypothesis)| (premise.to_owned(), hypothesis.to_owned()))
    .to_vec();
    for n in 1..12 {
        pairs.push(("falls and drugs ".repeat(n), "the risk ".repeat(n % 5)));
        pairs.push((format!("Adults with {n} falls"), format!("risk of {n}")));
    }
    let long = "The risk of falls rose with drug X in every clinic. ".repeat(20);
    pairs.push((long.clone(), "Drug X is safe.".to_owned()));
    pairs.push(("Drug X is safe.".to_owned(), long.clone()));
    pairs.push((String::new(), long.clone()));
    pairs.push((long.clone(), long));
    let pair = |(premise, hypothesis)| StancePair::new(premise, hypothesis);
    pairs.into_iter().map(pair).collect()
}

/// Writes a model with these options; answers its folder.
fn write_model(python: &Python, scratch: &Path, options: &[&str]) -> PathBuf {
    let folder = scratch.join("judge");
    run_script(python, scratch, &folder, options);
    folder
}

fn run_script(python: &Python, scratch: &Path, folder: &Path, options: &[&str]) {
    let texts: Vec<Value> = pairs()
        .iter()
        .map(|pair| json!([pair.premise, pair.hypothesis]))
        .collect();
    let pairs_file = scratch.join("pairs.json");
    std::fs::write(&pairs_file, json!(texts).to_string()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/tiny_onnx_judge.py");
    let done = Command::new(&python.program)
        .args(["-B", script])
        .arg(folder)
        .arg("--reference")
        .arg(&pairs_file)
        .args(options)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
}

/// What Python says of each pair: the most probable class, and its probability.
fn reference(folder: &Path, classes: &[(&str, Relation)]) -> Vec<Verdict> {
    let text = std::fs::read(folder.join("reference.json")).unwrap();
    let rows: Vec<BTreeMap<String, f64>> = serde_json::from_slice(&text).unwrap();
    let verdict = |row: BTreeMap<String, f64>| {
        assert_eq!(row.len(), 3);
        let best = row.iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        let class = classes.iter().find(|(name, _)| name == best.0).unwrap();
        Verdict::new(class.1, *best.1)
    };
    rows.into_iter().map(verdict).collect()
}

/// Names of classes as several models have them, each with what it stands for.
const ORDERS: [[(&str, Relation); 3]; 3] = [
    [
        ("neutral", Relation::Neutral),
        ("ENTAILMENT", Relation::Supports),
        ("contradiction", Relation::Refutes),
    ],
    [
        ("REFUTES", Relation::Refutes),
        ("NOT ENOUGH INFO", Relation::Neutral),
        ("SUPPORTS", Relation::Supports),
    ],
    [
        ("entail", Relation::Supports),
        ("Contradict", Relation::Refutes),
        ("not_enough_info", Relation::Neutral),
    ],
];

fn labels(order: &[(&str, Relation); 3]) -> String {
    order.map(|(name, _)| name).join(",")
}

/// Compares every verdict with Python's; answers the greatest distance of confidences.
async fn compare(judge: &OnnxStanceJudge, expected: &[Verdict]) -> f64 {
    let pairs = pairs();
    let verdicts = judge.judge(&pairs).await.unwrap();
    assert_eq!(verdicts.len(), expected.len());
    let mut most = 0.0_f64;
    for ((pair, ours), theirs) in pairs.iter().zip(&verdicts).zip(expected) {
        assert_eq!(ours.relation, theirs.relation, "{pair:?}");
        most = most.max((ours.confidence - theirs.confidence).abs());
    }
    most
}

#[tokio::test]
async fn verdicts_are_those_that_python_gives() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let cases: [(usize, &[&str]); 5] = [
        (0, &[]),
        (1, &["--no-token-types"]),
        (2, &["--max-tokens", "11"]),
        (2, &["--output", "scores"]),
        (1, &["--max-tokens", "64"]),
    ];
    for (order, case) in cases {
        let scratch = tempfile::tempdir().unwrap();
        let classes = &ORDERS[order];
        let labels = labels(classes);
        let all = [&["--labels", &labels], case].concat();
        let folder = write_model(python, scratch.path(), &all);
        let expected = reference(&folder, classes);
        let seen: BTreeSet<&str> = expected.iter().map(|v| v.relation.as_str()).collect();
        assert!(seen.len() > 1, "{case:?}: every pair is {seen:?}");
        for max_batch in [8, 1] {
            let options = OnnxOptions {
                max_batch,
                ..options(python, &folder)
            };
            let judge = OnnxStanceJudge::open(&options).unwrap();
            let most = compare(&judge, &expected).await;
            assert!(most < 1e-5, "{case:?}, batches of {max_batch}: {most}");
        }
        let judge = OnnxStanceJudge::open(&options(python, &folder)).unwrap();
        assert!(!judge.is_builtin());
        check_stance_judge(&judge).await;
    }
}

#[tokio::test]
async fn every_relation_is_given_and_the_order_of_the_classes_decides_which() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let folder = write_model(python, scratch.path(), &[]);
    let mut answers = Vec::new();
    let mut ids = BTreeSet::new();
    for order in &ORDERS {
        edit(&folder, "config.json", |config| {
            config["id2label"] = json!({ "0": order[0].0, "1": order[1].0, "2": order[2].0 });
        });
        let judge = OnnxStanceJudge::open(&options(python, &folder)).unwrap();
        let verdicts = judge.judge(&pairs()).await.unwrap();
        let place = |verdict: &Verdict| {
            let found = order.iter().position(|(_, r)| *r == verdict.relation);
            found.unwrap()
        };
        answers.push(verdicts.iter().map(place).collect::<Vec<_>>());
        ids.insert(judge.judge_id().to_owned());
        let said = judge.setup().unwrap();
        let in_order = order.map(|(_, relation)| relation.as_str()).join(", ");
        assert!(said.contains(&format!("scores for {in_order};")), "{said}");
    }
    // The same scores win each time, and all three win somewhere; other classes, another judge.
    assert!(answers.windows(2).all(|two| two[0] == two[1]));
    assert_eq!(answers[0].iter().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(
        ids.iter().all(|id| id.starts_with("onnx:judge:")),
        "{ids:?}"
    );
}

#[tokio::test]
async fn a_quantised_judge_does_not_depend_on_the_batch() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let folder = write_model(python, scratch.path(), &["--int8"]);
    let exact = OnnxStanceJudge::open(&options(python, &folder)).unwrap();
    // By its place, and in a folder of its own below.
    let by_place = options(python, &folder.join("model_int8.onnx"));
    let small = OnnxStanceJudge::open(&by_place).unwrap();
    assert_ne!(small.judge_id(), exact.judge_id());
    check_stance_judge(&small).await;
    std::fs::create_dir(folder.join("onnx")).unwrap();
    std::fs::rename(folder.join("model.onnx"), folder.join("onnx/model.onnx")).unwrap();
    let below = OnnxStanceJudge::open(&options(python, &folder)).unwrap();
    assert_eq!(below.judge_id(), exact.judge_id());
    let again = ["--only-reference", "model_int8.onnx"];
    run_script(python, scratch.path(), &folder, &again);
    let most = compare(&small, &reference(&folder, &ORDERS[0])).await;
    assert!(most < 1e-5, "{most}");
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    type Break = fn(&Path);
    let cases: [(Break, &[&str], &str, ErrorKind); 8] = [
        (
            |f| {
                edit(f, "config.json", |config| {
                    config.as_object_mut().unwrap().remove("id2label");
                });
            },
            &[],
            "config.json: id2label does not name",
            ErrorKind::Backend,
        ),
        (
            |f| std::fs::remove_file(f.join("config.json")).unwrap(),
            &[],
            "config.json: id2label does not name",
            ErrorKind::Backend,
        ),
        (
            |_| (),
            &["--labels", "LABEL_0,LABEL_1,LABEL_2"],
            "id2label has a class \"LABEL_0\"",
            ErrorKind::Backend,
        ),
        (
            |_| (),
            &["--labels", "entailment,not_entailment"],
            "has 2 classes (entailment, not_entailment)",
            ErrorKind::Unsupported,
        ),
        (
            |f| {
                edit(f, "config.json", |config| {
                    config["id2label"] =
                        json!({ "0": "neutral", "1": "entailment", "2": "contradiction" });
                });
            },
            &["--labels", "entailment,not_entailment"],
            "gives 2 scores a pair (logits); expected 3",
            ErrorKind::Unsupported,
        ),
        (
            |f| std::fs::write(f.join("model.onnx"), "no graph").unwrap(),
            &[],
            "model.onnx cannot be loaded",
            ErrorKind::Backend,
        ),
        (
            |f| {
                edit(f, "tokenizer.json", |tokenizer| {
                    tokenizer["post_processor"] = Value::Null;
                });
            },
            &[],
            "does not say how two texts are put together",
            ErrorKind::Unsupported,
        ),
        (
            |f| {
                edit(f, "tokenizer_config.json", |config| {
                    config["model_max_length"] = json!(6);
                });
            },
            &[],
            "a limit of 6 tokens per text leaves no room beside 3 special tokens",
            ErrorKind::Backend,
        ),
    ];
    let scratch = tempfile::tempdir().unwrap();
    for (break_it, model, why, kind) in cases {
        let folder = write_model_alone(python, scratch.path(), "judge", model);
        break_it(&folder);
        let error: Error = OnnxStanceJudge::open(&options(python, &folder)).unwrap_err();
        assert!(error.message().contains(why), "{why}: {error}");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
}

/// Writes a model without a reference: what is broken afterwards need not fit.
fn write_model_alone(python: &Python, scratch: &Path, what: &str, options: &[&str]) -> PathBuf {
    let folder = scratch.join(what);
    let script = match what {
        "judge" => "tiny_onnx_judge.py",
        _ => "tiny_onnx_model.py",
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../scripts")
        .join(script);
    let mut command = Command::new(&python.program);
    command.arg("-B").arg(script).arg(&folder).args(options);
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    folder
}

#[test]
fn an_encoder_is_no_judge() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let refused = |folder: &Path| OnnxStanceJudge::open(&options(python, folder)).unwrap_err();
    for (output, why) in [
        (&[][..], "no output of the graph (last_hidden_state)"),
        (
            &["--sentence-output"],
            "no output of the graph (sentence_embedding)",
        ),
    ] {
        let folder = write_model_alone(python, scratch.path(), "encoder", output);
        let error = refused(&folder);
        let said = error.message();
        assert!(
            said.contains("is the folder of a sentence encoder"),
            "{error}"
        );
        // Without what tells its folder, the graph does.
        std::fs::remove_file(folder.join("modules.json")).unwrap();
        edit(&folder, "config.json", |config| {
            config["id2label"] = json!({ "0": "neutral", "1": "entailment", "2": "contradiction" });
        });
        let error = refused(&folder);
        assert!(error.message().contains(why), "{error}");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("docs/judges.md"))
        );
    }
}

/// A graph in a folder, verified by one judge after another.
struct World {
    folder: tempfile::TempDir,
    task: String,
}

impl World {
    fn open(&self, judge: Arc<dyn StanceJudge>) -> Engine {
        open(self.folder.path(), judge)
    }

    /// Verifies; answers how many pairs were judged.
    async fn verify(&self, engine: &Engine) -> u64 {
        let outcome = engine.pipeline().verify(&self.task, None).await.unwrap();
        let checked = engine.verify().unwrap();
        assert!(checked.violations.is_empty(), "{:#?}", checked.violations);
        outcome.output["pairs_judged"].as_u64().unwrap()
    }
}

fn open(folder: &Path, judge: Arc<dyn StanceJudge>) -> Engine {
    let mut config = EngineConfig::new(folder.join("graph.db"));
    config.corpus.push(folder.join("corpus"));
    config.stance_judge = Some(judge);
    Engine::open(config).unwrap()
}

/// Who has judged what is stored, and how much of it.
fn judges(engine: &Engine, table: &str) -> Vec<(String, u64)> {
    let sql = format!(
        "SELECT judge_id, count(*) AS n FROM {table} WHERE judge_id IS NOT NULL GROUP BY judge_id"
    );
    let rows = engine.query_sql(&SqlRequest::new(sql)).unwrap().rows;
    let row = |row: serde_json::Map<String, Value>| {
        let judge = row["judge_id"].as_str().unwrap().to_owned();
        (judge, row["n"].as_u64().unwrap())
    };
    rows.into_iter().map(row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_is_verified_by_a_model_which_replaces_the_builtin_judge() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus");
    std::fs::create_dir(&corpus).unwrap();
    for (name, effect) in [
        ("alpha", "increased"),
        ("beta", "did not increase"),
        ("gamma", "increased"),
    ] {
        let text = format!(
            "# The {name} cohort\n\nIn the {name} cohort, drug X {effect} the risk of falls in older adults. \
             Drug X {effect} mortality in the {name} cohort.\n"
        );
        std::fs::write(corpus.join(format!("{name}.md")), text).unwrap();
    }
    let model = write_model(python, folder.path(), &[]);
    let judge = OnnxStanceJudge::open(&options(python, &model)).unwrap();
    let id = judge.judge_id().to_owned();
    let judge: Arc<dyn StanceJudge> = Arc::new(judge);

    let engine = open(folder.path(), Arc::new(BuiltinStanceJudge));
    let task = engine
        .create_task("Drug X increases the risk of falls", TaskConfig::default())
        .unwrap();
    let query = json!("drug X falls mortality");
    engine
        .queue_targets(&task.id, &[query], &Default::default())
        .unwrap();
    engine.run(&task.id, None).await.unwrap();
    let before = judges(&engine, "nli_verdicts");
    assert_eq!(before.len(), 1);
    drop(engine);

    let world = World {
        task: task.id,
        folder,
    };
    let engine = world.open(Arc::clone(&judge));
    let pairs = world.verify(&engine).await;
    assert_eq!(
        pairs, before[0].1,
        "what the stand-in judged is judged again"
    );
    // What the stand-in said is kept beside it.
    let mut kept = vec![before[0].clone(), (id.clone(), pairs)];
    kept.sort();
    let mut found = judges(&engine, "nli_verdicts");
    found.sort();
    assert_eq!(found, kept);
    let edges = judges(&engine, "edges");
    assert!(
        matches!(edges.as_slice(), [(by, n)] if *by == id && *n > 0),
        "{edges:?}"
    );
    assert_eq!(world.verify(&engine).await, 0);
    drop(engine);

    // The stand-in does not take a model's word back.
    let engine = world.open(Arc::new(BuiltinStanceJudge));
    assert_eq!(world.verify(&engine).await, 0);
    assert_eq!(judges(&engine, "edges"), edges);
}
