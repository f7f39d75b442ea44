//! The calibration of a judge, from corrections to the confidences of new edges.

use crate::feedback::World;
use lyra_core::ErrorKind;
use lyra_core::store::confidence::{Calibration, Outcome, fit_platt, fit_temperature};
use lyra_core::store::graph::Feedback;
use lyra_core::store::model::Relation;
use serde_json::{Value, json};

const JUDGE: &str = "fake-stance-v1";

/// A world with so many edges of a judge that is always 0.95 certain.
async fn boaster(edges: usize) -> World {
    let world = World::new();
    let mut lines = vec![
        json!({"type": "task", "id": "task_0000beef", "hypothesis": "Tea calms"}),
        json!({"type": "page", "id": "p", "url": "https://x.org/p"}),
        json!({"type": "claim", "id": "c", "task_id": "task_0000beef", "claim_text": "Tea calms people."}),
    ];
    for nth in 0..edges {
        let fragment = format!("f{nth}");
        lines.push(
            json!({"type": "fragment", "id": fragment, "page_id": "p", "position": nth,
            "text_content": format!("Passage {nth} about tea.")}),
        );
        lines.push(
            json!({"type": "edge", "id": format!("e{nth}"), "source_type": "fragment",
            "source_id": fragment, "target_type": "claim", "target_id": "c", "relation": "supports",
            "nli_label": "supports", "nli_edge_confidence": 0.95, "judge_id": JUDGE}),
        );
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    world.engine.import_jsonl(text.as_bytes()).await.unwrap();
    world
}

/// The judge was right about every second edge.
fn correct(world: &World, edges: std::ops::Range<usize>) -> String {
    let mut message = String::new();
    for nth in edges {
        let feedback = Feedback::EdgeCorrect {
            edge_id: format!("e{nth}"),
            correct_relation: [Relation::Supports, Relation::Refutes][nth % 2],
            reason: None,
        };
        message = world.engine.feedback(&feedback, "alice").unwrap().message;
    }
    message
}

fn versions(world: &World) -> Vec<(i64, bool)> {
    let rows = world.rows("SELECT version, is_active FROM calibration_versions ORDER BY version");
    let of = |row: &Value| (row["version"].as_i64().unwrap(), row["is_active"] == 1);
    rows.iter().map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_boaster_is_calibrated_once_there_is_enough_to_learn_from() {
    let world = boaster(24).await;
    correct(&world, 0..19);
    assert_eq!(versions(&world), []);
    let message = correct(&world, 19..20);
    assert!(message.contains("version 1"), "{message}");
    assert_eq!(versions(&world), [(1, true)]);
    let stats = &world.engine.calibration_stats(Some(JUDGE)).unwrap()[0];
    assert_eq!(
        (stats.corrections, stats.right, stats.samples),
        (20, 10, 20)
    );
    assert!(
        (stats.brier_before.unwrap() - 0.4525).abs() < 1e-9,
        "{stats:?}"
    );
    assert!(
        stats.brier_after.unwrap() < 0.2501 && stats.ece_after.unwrap() < 0.01,
        "{stats:?}"
    );

    // More to learn from: a better fit. The same edge corrected again is no further sample, the
    // newest word counts; the fit is no better for it, so it is kept, measured and not used.
    correct(&world, 20..22);
    assert_eq!(versions(&world), [(1, false), (2, false), (3, true)]);
    correct(&world, 21..22);
    assert_eq!(
        versions(&world),
        [(1, false), (2, false), (3, true), (4, false)]
    );
    assert_eq!(
        world.engine.calibration_stats(None).unwrap()[0].corrections,
        22
    );
    let measured = world.engine.calibration_evaluations(None, 50).unwrap();
    let shown: Vec<_> = measured
        .iter()
        .map(|e| (e.version, e.brier_after < e.brier_before))
        .collect();
    assert_eq!(shown, [(4, false), (3, true), (2, true), (1, true)]);
    assert_eq!(measured[3].bins.as_array().unwrap().len(), 10);

    // New edges carry the calibrated confidence; the judge's own is remembered beside it.
    let targets = ["https://a.example.org/1", "https://www.b.net/2"].map(Value::from);
    world
        .engine
        .queue_targets(&world.task, &targets, &Default::default())
        .unwrap();
    world.engine.run(&world.task, None).await.unwrap();
    let rows = world.rows(&format!(
        "SELECT e.nli_edge_confidence AS calibrated, v.confidence AS raw FROM edges e
         JOIN nli_verdicts v ON v.claim_id = e.target_id AND v.fragment_id = e.source_id
         JOIN claims c ON c.id = e.target_id WHERE c.task_id = '{}'",
        world.task
    ));
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in rows {
        assert_eq!(row["raw"], 0.8);
        let calibrated = row["calibrated"].as_f64().unwrap();
        assert!(calibrated > 0.45 && calibrated < 0.6, "{calibrated}");
    }
    assert!(world.engine.verify().unwrap().violations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calibration_is_rolled_back_to_any_version() {
    let world = boaster(24).await;
    correct(&world, 0..22);
    correct(&world, 21..22);
    let in_force = |wanted: i64| {
        let all = versions(&world);
        let expected: Vec<(i64, bool)> = (1..=4)
            .map(|version| (version, version == wanted))
            .collect();
        assert_eq!(all, expected);
    };
    in_force(3);
    let back = |version, reason: &str| {
        world
            .engine
            .rollback_calibration(JUDGE, version, reason, "alice")
    };
    for (version, reason, kind) in [
        (Some(9), "r", ErrorKind::NotFound),
        (Some(3), "r", ErrorKind::Calibration),
        (Some(0), "  ", ErrorKind::InvalidInput),
    ] {
        let error = back(version, reason).unwrap_err();
        assert_eq!(error.kind(), kind, "{version:?}: {error}");
    }
    let unknown = world
        .engine
        .rollback_calibration("nobody", None, "r", "alice")
        .unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);

    // Without a version: to the one that was replaced.
    for (from, to) in [(3, 2), (2, 1), (1, 0)] {
        let report = back(None, "it looked wrong").unwrap();
        assert_eq!((report.from_version, report.to_version), (from, to));
        in_force(to);
    }
    assert_eq!(
        back(None, "again").unwrap_err().kind(),
        ErrorKind::Calibration
    );
    assert_eq!(back(Some(4), "try it").unwrap().to_version, 4);
    in_force(4);
    let reason = world.value("SELECT reason FROM calibration_versions WHERE version = 1");
    assert!(
        reason
            .as_str()
            .unwrap()
            .contains("left for version 0: it looked wrong"),
        "{reason}"
    );
    let logged = "SELECT count(*) FROM event_log WHERE action = 'calibration_rolled_back' AND actor = 'alice'";
    assert_eq!(world.value(logged), 4);

    // Numbers go on from the last one, whatever is in force.
    correct(&world, 22..23);
    assert_eq!(
        versions(&world).last().map(|(version, _)| *version),
        Some(5)
    );
}

/// Prints what is fitted to the data in the file that `LYRA_CALIBRATION_DATA` names, for
/// `scripts/calibration_check.py`, which compares it with what other libraries find.
#[test]
#[ignore = "run by scripts/calibration_check.py"]
#[allow(
    clippy::disallowed_methods,
    reason = "the script has no other way to name its file"
)]
fn fits_for_comparison() {
    let path = std::env::var("LYRA_CALIBRATION_DATA").unwrap();
    let sets: Vec<Vec<(f64, u8)>> =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for rows in sets {
        let of = |(confidence, y): (f64, u8)| Outcome {
            confidence,
            is_right: y == 1,
        };
        let outcomes: Vec<Outcome> = rows.into_iter().map(of).collect();
        let fitted: [Calibration; 2] = [
            fit_temperature(&outcomes).unwrap(),
            fit_platt(&outcomes).unwrap(),
        ];
        println!("fitted {}", json!(fitted));
    }
}
