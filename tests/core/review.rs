//! The flow of a review: three runs of research, people who screen, and boxes that add up.

mod recount;

use lyra_core::ErrorKind;
use lyra_core::ports::testing::{FakeFetcher, FakeSearchProvider};
use lyra_core::ports::{FetchRequest, FetchedDocument, Fetcher, SearchHit};
use lyra_core::store::graph::Screening;
use lyra_core::store::guard::SqlRequest;
use lyra_core::store::model::ScreeningDecision::{self, Exclude, Include};
use lyra_core::{Engine, EngineConfig, QueueOptions, TaskConfig};
use recount::recounted;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const SITE: &str = "https://trials.example.org";

pub(crate) struct Review {
    folder: tempfile::TempDir,
    pub(crate) task: String,
}

fn paper(title: &str, doi: &str, text: &str) -> String {
    format!(
        "---\ntitle: {title}\nauthors: [Ann Lee]\nyear: 2020\ndoi: {doi}\n---\n\n# Results\n\n{text}\n"
    )
}

/// The web alone: documents of the folder are read as ever.
#[derive(Debug)]
struct Web(FakeFetcher);

#[async_trait::async_trait]
impl Fetcher for Web {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn accepts(&self, url: &str) -> bool {
        url.starts_with("https:")
    }

    async fn fetch(&self, request: &FetchRequest) -> lyra_core::Result<FetchedDocument> {
        self.0.fetch(request).await
    }
}

/// A hit of the index, which knows the DOI.
fn hit(name: &str, doi: Option<&str>) -> SearchHit {
    let mut hit = SearchHit {
        url: format!("{SITE}/{name}"),
        title: Some(format!("Trial {name}")),
        ..SearchHit::default()
    };
    hit.meta.doi = doi.map(str::to_owned);
    hit.meta.title = hit.title.clone();
    hit
}

impl Review {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("papers")).unwrap();
        Self {
            folder,
            task: String::new(),
        }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join("papers").join(name), text).unwrap();
    }

    /// A process of its own, whose index finds these and whose web has what is named `found…`.
    pub(crate) fn engine(&self, hits: Vec<SearchHit>) -> Engine {
        let mut config = EngineConfig::new(self.folder.path().join("graph.db"));
        config.corpus.push(self.folder.path().join("papers"));
        config.limits.pages_per_query = 4;
        let mut fetcher = FakeFetcher::new();
        for n in 0..9 {
            let text = format!(
                "Coffee did not increase blood pressure in {n}12 adults of town {n} in the trial."
            );
            let page =
                format!("<html><title>Trial found{n}</title><body><p>{text}</p></body></html>");
            fetcher = fetcher.with_text(&format!("{SITE}/found{n}"), "text/html", &page);
        }
        config.fetchers.push(Arc::new(Web(fetcher)));
        let index = hits
            .into_iter()
            .fold(FakeSearchProvider::new("index"), |all, hit| {
                all.with_hit(hit)
            });
        config.providers.push(Arc::new(index));
        Engine::open(config).unwrap()
    }

    async fn run(&self, hits: Vec<SearchHit>, targets: &[Value]) -> Engine {
        let engine = self.engine(hits);
        let options = QueueOptions {
            repeat: true,
            ..QueueOptions::default()
        };
        engine.queue_targets(&self.task, targets, &options).unwrap();
        engine.run(&self.task, None).await.unwrap();
        engine
    }
}

/// Three runs: what is found twice, what cannot be read, what is passed over, what says nothing,
/// and what comes later.
pub(crate) async fn three_waves() -> (Review, Engine) {
    let mut review = Review::new();
    review.write(
        "a.md",
        &paper(
            "Trial of coffee",
            "10.1234/a",
            "Coffee increased blood pressure by 8 mmHg in 412 adults.",
        ),
    );
    review.write(
        "b.md",
        &paper(
            "Guide to coffee",
            "10.1234/b",
            "Coffee, blood pressure: what is that? Who would know?",
        ),
    );
    let engine = review.engine(Vec::new());
    review.task = engine
        .create_task("Coffee increases blood pressure", TaskConfig::default())
        .unwrap()
        .id;
    drop(engine);
    let first = vec![
        hit("abstract", Some("10.1234/a")),
        hit("found1", None),
        hit("missing", None),
        hit("found2", None),
        hit("found3", None),
    ];
    let query: Value = "coffee blood pressure".into();
    review
        .run(first.clone(), std::slice::from_ref(&query))
        .await;
    let address = Value::from(format!("{SITE}/found4"));
    review
        .run(first.clone(), &[query.clone(), address.clone()])
        .await;
    review.write(
        "c.md",
        &paper(
            "Newer trial of coffee",
            "10.1234/c",
            "Coffee increased blood pressure by 9 mmHg in 90 adults.",
        ),
    );
    let last = [vec![hit("found5", None), hit("found4", None)], first].concat();
    let broken = Value::from(format!("{SITE}/absent"));
    let engine = review.run(last, &[query, broken]).await;
    (review, engine)
}

pub(crate) fn rows(engine: &Engine, sql: &str) -> Vec<Vec<Value>> {
    let mut all = Vec::new();
    loop {
        let mut request = SqlRequest::new(sql);
        (request.options.limit, request.options.offset) = (200, all.len());
        request.options.max_bytes = 1 << 20;
        let found = engine.query_sql(&request).unwrap();
        let columns = &found.columns;
        let row =
            |row: &serde_json::Map<String, Value>| columns.iter().map(|c| row[c].clone()).collect();
        all.extend(found.rows.iter().map(row));
        if !found.truncated {
            return all;
        }
    }
}

type Boxes = BTreeMap<(Option<i64>, String), i64>;

/// The boxes of the view, without their details.
fn boxes(engine: &Engine, task: &str) -> Boxes {
    let sql = format!(
        "SELECT wave, box, records FROM v_prisma WHERE task_id = '{task}' AND detail IS NULL"
    );
    let row = |row: Vec<Value>| {
        let name = row[1].as_str().unwrap().to_owned();
        ((row[0].as_i64(), name), row[2].as_i64().unwrap())
    };
    rows(engine, &sql).into_iter().map(row).collect()
}

fn assert_they_add_up(engine: &Engine, task: &str) -> Boxes {
    let all = boxes(engine, task);
    let waves: BTreeSet<Option<i64>> = all.keys().map(|(wave, _)| *wave).collect();
    for wave in &waves {
        let n = |name: &str| all[&(*wave, name.to_owned())];
        assert_eq!(
            n("identified"),
            n("duplicates") + n("screened"),
            "{wave:?} {all:?}"
        );
        assert_eq!(
            n("screened"),
            n("records_excluded") + n("sought"),
            "{wave:?} {all:?}"
        );
        assert_eq!(
            n("sought"),
            n("not_retrieved") + n("assessed"),
            "{wave:?} {all:?}"
        );
        assert_eq!(
            n("assessed"),
            n("reports_excluded") + n("included"),
            "{wave:?} {all:?}"
        );
    }
    for name in ["identified", "assessed", "included"] {
        let waves: i64 = all
            .iter()
            .filter(|((w, n), _)| w.is_some() && n == name)
            .map(|(_, n)| n)
            .sum();
        assert_eq!(waves, all[&(None, name.to_owned())], "{name}: {all:?}");
    }
    let sql = format!(
        "SELECT box, sum(CASE WHEN detail IS NULL THEN -records ELSE records END) FROM v_prisma
         WHERE task_id = '{task}' AND step IN (1, 2, 4, 6) GROUP BY box, wave"
    );
    for row in rows(engine, &sql) {
        assert_eq!(row[1], 0, "the details of {} add up", row[0]);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_boxes_of_three_waves_add_up_and_equal_a_recount() {
    let (review, engine) = three_waves().await;
    let all = assert_they_add_up(&engine, &review.task);
    assert_eq!(all, recounted(&engine, &review.task, &BTreeSet::new()));
    let n = |wave: Option<i64>, name: &str| all[&(wave, name.to_owned())];
    assert_eq!(all.len(), 4 * 9, "three runs and the whole task");
    // a.md and the index's record of the same DOI; b.md says nothing; one address cannot be read.
    assert_eq!(n(Some(1), "identified"), 7);
    assert_eq!(n(Some(1), "duplicates"), 1);
    assert!(
        n(Some(1), "records_excluded") >= 1,
        "beyond four pages: {all:?}"
    );
    assert!(n(None, "not_retrieved") >= 1, "{all:?}");
    assert!(n(Some(3), "assessed") >= 1, "something is new: {all:?}");
    let sources = rows(
        &engine,
        "SELECT detail, records FROM v_prisma WHERE wave = 2 AND box = 'identified' AND detail IS NOT NULL ORDER BY detail",
    );
    assert_eq!(
        sources,
        [
            ["corpus".into(), 2.into()],
            ["index".into(), 5.into()],
            ["manual".into(), Value::from(1)]
        ]
    );
    let asked = rows(
        &engine,
        "SELECT requests_json FROM queries ORDER BY rowid LIMIT 1",
    );
    let asked: Value = serde_json::from_str(asked[0][0].as_str().unwrap()).unwrap();
    assert_eq!(asked[1]["provider"], "index");
    assert_eq!(asked[1]["hits"], 5);
    assert!(engine.verify().unwrap().violations.is_empty());
}

fn decide(
    engine: &Engine,
    task: &str,
    source: &str,
    decision: ScreeningDecision,
    by: &str,
) -> bool {
    let screening = Screening {
        source: source.to_owned(),
        decision,
        reason: Some("wrong population".to_owned()),
        is_final: by == "judge",
    };
    engine.screen(task, &screening, by).unwrap().counts
}

/// Everything that a reader counts.
fn counted(engine: &Engine, task: &str) -> Vec<Vec<Value>> {
    let mut all = Vec::new();
    for view in [
        "v_claim_evidence_summary",
        "v_evidence_chain",
        "v_hypothesis_evidence",
        "v_source_impact",
        "v_prisma",
    ] {
        all.extend(rows(
            engine,
            &format!("SELECT * FROM {view} WHERE task_id = '{task}'"),
        ));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn an_excluded_source_leaves_the_counts_and_an_include_brings_them_back() {
    let (review, engine) = three_waves().await;
    let task = review.task.as_str();
    let before = counted(&engine, task);
    let verdicts =
        "SELECT count(*) FROM edges WHERE relation IN ('supports', 'refutes', 'neutral')";
    let edges = rows(&engine, verdicts);
    assert!(!decide(&engine, task, "10.1234/a", Exclude, "ann"));
    let of_source = "SELECT count(*) FROM v_evidence_chain v WHERE v.page_id IN (SELECT id FROM pages WHERE canonical_id = 'doi:10.1234/a')";
    assert_eq!(rows(&engine, of_source)[0][0], 0);
    assert_ne!(counted(&engine, task), before);
    assert_they_add_up(&engine, task);
    let out = BTreeSet::from(["doi:10.1234/a".to_owned()]);
    assert_eq!(boxes(&engine, task), recounted(&engine, task, &out));
    let told = rows(
        &engine,
        "SELECT outcome, reason FROM v_review_records WHERE source_key = 'doi:10.1234/a' AND outcome <> 'duplicate'",
    );
    assert_eq!(told, [["report_excluded", "by a person: wrong population"]]);

    // Its claims are out with it, and do not come back without it.
    let claim = rows(
        &engine,
        "SELECT id FROM claims WHERE claim_rejection_reason = 'source excluded: wrong population'",
    );
    let claim_id = claim[0][0].as_str().unwrap().to_owned();
    let restore = lyra_core::store::graph::Feedback::ClaimRestore {
        claim_id,
        reason: None,
    };
    assert_eq!(
        engine.feedback(&restore, "ann").unwrap_err().kind(),
        ErrorKind::InvalidInput
    );

    // Another run neither reads nor judges it.
    review
        .run(
            vec![hit("found6", None)],
            &["coffee pressure adults".into()],
        )
        .await;
    assert_eq!(rows(&engine, of_source)[0][0], 0);
    assert_they_add_up(&engine, task);
    assert!(decide(&engine, task, "10.1234/a", Include, "ann"));
    assert_eq!(
        rows(&engine, "SELECT count(*) FROM screenings")[0][0],
        2,
        "both stay in the log"
    );

    // Without the new run, to the last row.
    let (review, engine) = three_waves().await;
    let before = counted(&engine, &review.task);
    decide(&engine, &review.task, "10.1234/a", Exclude, "ann");
    decide(&engine, &review.task, "10.1234/a", Include, "ann");
    assert_eq!(counted(&engine, &review.task), before);
    assert_eq!(rows(&engine, verdicts), edges);
    assert!(engine.verify().unwrap().violations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_screen_blind_and_a_third_settles_what_they_dispute() {
    let (review, engine) = three_waves().await;
    let task = review.task.as_str();
    let (a, c) = ("doi:10.1234/a", format!("{SITE}/found2"));
    let found1 = format!("{SITE}/found1");
    let missing = format!("{SITE}/missing");
    for (source, ann, bob) in [
        (a, Exclude, Include),
        (&c, Include, Include),
        (&found1, Exclude, Exclude),
        (&missing, Include, Exclude),
    ] {
        decide(&engine, task, source, ann, "ann");
        decide(&engine, task, source, bob, "bob");
    }
    let own = engine.screening(task, Some("ann")).unwrap();
    assert!(own.agreement.is_empty());
    assert!(
        own.sources
            .iter()
            .flat_map(|s| &s.decisions)
            .all(|vote| vote.reviewer == "ann")
    );
    assert!(
        own.sources
            .iter()
            .all(|s| s.state.is_none() && !s.is_disputed)
    );
    let all = engine.screening(task, None).unwrap();
    let disputed: Vec<&str> = all
        .sources
        .iter()
        .filter(|s| s.is_disputed)
        .map(|s| s.source_key.as_str())
        .collect();
    assert_eq!(disputed.len(), 2, "{disputed:?}");
    // Two of four agree; each says exclude twice: by chance half would agree.
    let agreement = &all.agreement[0];
    assert_eq!(
        (
            agreement.source_count,
            agreement.agreement_count,
            agreement.kappa
        ),
        (4, 2, Some(0.0))
    );
    let view = rows(
        &engine,
        "SELECT source_count, agreement_count, kappa FROM v_screening_agreement",
    );
    assert_eq!(view, [[Value::from(4), 2.into(), 0.0.into()]]);
    // A dispute leaves the source in; who adjudicates settles it.
    let state = |key: &str| {
        let list = engine.screening(task, None).unwrap();
        list.sources
            .into_iter()
            .find(|s| s.source_key == key)
            .unwrap()
            .state
    };
    assert_eq!(state(a), Some(Include));
    assert!(!decide(&engine, task, a, Exclude, "judge"));
    assert_eq!(state(a), Some(Exclude));
    assert!(
        !decide(&engine, task, a, Include, "ann"),
        "settled is settled"
    );
    assert!(decide(&engine, task, a, Include, "judge"));
    assert_they_add_up(&engine, task);

    let wrong = |source: &str, reason: Option<&str>| {
        let screening = Screening {
            source: source.into(),
            decision: Exclude,
            reason: reason.map(str::to_owned),
            is_final: false,
        };
        engine.screen(task, &screening, "ann").unwrap_err().kind()
    };
    assert_eq!(wrong("10.9999/none", Some("x")), ErrorKind::NotFound);
    assert_eq!(wrong(a, None), ErrorKind::InvalidInput);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_excluded_stays_so_in_an_export() {
    let (review, engine) = three_waves().await;
    let task = review.task.as_str();
    let before = rows(&engine, "SELECT * FROM v_evidence_chain");
    decide(&engine, task, "10.1234/a", Exclude, "ann");
    let (mut whole, mut part) = (Vec::new(), Vec::new());
    engine.export_jsonl(&mut whole, None).unwrap();
    engine.export_jsonl(&mut part, Some(task)).unwrap();
    for (scope, lines) in [(None, whole), (Some(task), part)] {
        let folder = tempfile::tempdir().unwrap();
        let other = Engine::open(EngineConfig::new(folder.path().join("b.db"))).unwrap();
        other
            .import_jsonl(std::io::Cursor::new(lines.clone()))
            .await
            .unwrap();
        assert_eq!(
            rows(&other, "SELECT * FROM v_evidence_chain"),
            rows(&engine, "SELECT * FROM v_evidence_chain")
        );
        let mut again = Vec::new();
        other.export_jsonl(&mut again, scope).unwrap();
        assert_eq!(again.len(), lines.len());
        assert_they_add_up(&other, task);
        assert!(decide(&other, task, "10.1234/a", Include, "ann"));
        assert_eq!(rows(&other, "SELECT * FROM v_evidence_chain"), before);
        assert!(other.verify().unwrap().violations.is_empty());
    }
}
