//! Import and export of the verdicts of all judges.

use super::*;

#[test]
fn verdicts_of_several_judges_travel() {
    let (_folder, db) = with(GROUND);
    let verdict = |judge: &str, relation: &str| {
        format!(
            r#"{{"type":"verdict","fragment_id":"f","claim_id":"c","judge_id":"{judge}","relation":"{relation}","confidence":0.5,"created_at":"2026-01-01"}}"#
        )
    };
    let lines = [
        verdict("agent:a:m", "refutes"),
        verdict("lyra-x", "neutral"),
    ];
    let report = import(&db, &lines).unwrap();
    assert_eq!(report.inserted["verdict"], 2);
    // The graph keeps its existing verdict.
    let again = import(&db, &[verdict("lyra-x", "supports")]).unwrap();
    assert_eq!((again.total_inserted, again.skipped["verdict"]), (0, 1));
    let exported = export(&db, None);
    assert_eq!(exported.matches(r#""type":"verdict""#).count(), 2);
    let of_task = export(&db, Some("t"));
    assert_eq!(of_task.matches(r#""type":"verdict""#).count(), 2);
    let (_folder, other) = empty();
    let lines: Vec<&str> = exported.lines().collect();
    import(&other, &lines).unwrap();
    assert_eq!(export(&other, None), exported);
    for wrong in [
        verdict("", "supports"),
        verdict("m", "origin"),
        verdict("m", "supports").replace("\"f\"", "\"nobody\""),
    ] {
        assert!(import(&db, &[wrong.as_str()]).is_err(), "{wrong}");
    }
    // The edge of the pair is a model's although the agent's verdict decides: the file is wrong.
    let checked = verify(&db).unwrap();
    let faults: Vec<&str> = checked
        .violations
        .iter()
        .map(|v| v.check.as_str())
        .collect();
    assert_eq!(faults, ["edge_verdict"], "{:?}", checked.violations);
}
