//! Decisions in the report, and sources that change during a merge.

use super::*;
use rusqlite::functions::FunctionFlags;
use std::io::Write;

/// One claim of one page, with values that may differ between two graphs.
fn opinion(folder: &TempDir, name: &str, authors: &[&str], vector: i64, judge: &str) -> PathBuf {
    let path = folder.path().join(name);
    let mut lines = vec![
        json!({"type": "task", "id": "t", "hypothesis": "h", "created_at": "2026-01-01T00:00:00.000Z"}),
        json!({"type": "work", "canonical_id": "w", "title": "Night work"}),
        json!({"type": "page", "id": "p", "url": "https://x.example/", "canonical_id": "w"}),
        json!({"type": "fragment", "id": "f", "page_id": "p", "text_content": "Nurses slept less."}),
        json!({"type": "claim", "id": "c", "task_id": "t", "claim_text": "Nurses slept less."}),
        json!({"type": "edge", "source_type": "fragment", "source_id": "f", "target_type": "claim",
            "target_id": "c", "relation": "supports", "nli_edge_confidence": 0.75, "judge_id": judge,
            "edge_human_corrected": judge == "human"}),
        json!({"type": "embedding", "target_type": "claim", "target_id": "c", "model_id": "m",
            "vector": [vector, 1]}),
    ];
    for (position, author) in authors.iter().enumerate() {
        lines.push(
            json!({"type": "work_author", "canonical_id": "w", "position": position, "name": author}),
        );
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    testing::import(&Database::open(&path).unwrap(), &lines).unwrap();
    path
}

fn reported(target: &Path, source: &Path) -> Value {
    let db = Database::open(target).unwrap();
    let report = merge(&db, &[source.to_owned()], NOW, true).unwrap();
    json!(report.decided)
}

#[test]
fn what_was_chosen_is_reported_of_every_kind() {
    let folder = TempDir::new().unwrap();
    let human = opinion(&folder, "human.db", &["Ann", "Bo"], 1, "human");
    let model = opinion(&folder, "model.db", &["Ann"], 2, "model-b");
    let db = Database::open(&human).unwrap();
    let rejection = Feedback::ClaimReject {
        claim_id: "c".to_owned(),
        reason: "off the question".to_owned(),
    };
    db.write(|t| {
        let writer = Writer {
            db: t,
            now: "2026-02-01T00:00:00.000Z".to_owned(),
            actor: None,
        };
        writer.apply_feedback(&rejection, "user")
    })
    .unwrap();
    drop(db);
    let vector = "claim c m";
    let expected = |place: &str| {
        let one = |key: &str| {
            let (kept, taken) = (u8::from(place == "kept"), u8::from(place == "taken"));
            json!({"kept": kept, "taken": taken, "rows": [format!("{place} {key}")]})
        };
        json!({"claims": one("c"), "edges": one("c f"), "embeddings": one(vector), "work_authors": one("w")})
    };
    let (into_human, into_model) = (same(&folder, &human), model.clone());
    assert_eq!(reported(&into_human, &model), expected("kept"));
    assert_eq!(reported(&into_model, &human), expected("taken"));
    // The same graph again: nothing remains to be decided.
    assert_eq!(reported(&into_model, &human), json!({}));
}

#[test]
fn a_source_that_changes_under_a_merge_is_refused_and_nothing_is_written() {
    let folder = TempDir::new().unwrap();
    let source = graph(&folder, "source.db", 8);
    let target = graph(&folder, "target.db", 9);
    let before = rows(&target);
    assert!(
        crate::store::database::is_alone(&source),
        "it is read as it lies there"
    );
    let db = Database::open(&target).unwrap();
    // As if another file had been copied over the source.
    let touched = source.clone();
    db.maintain(|c| {
        c.create_scalar_function("touch", 0, FunctionFlags::SQLITE_UTF8, move |_| {
            let file = std::fs::File::options().append(true).open(&touched);
            file.and_then(|mut file| file.write_all(b"\0"))
                .map(|()| true)
                .map_err(|e| rusqlite::Error::UserFunctionError(e.into()))
        })
        .db()?;
        c.execute_batch(
            "CREATE TRIGGER meanwhile AFTER INSERT ON page_texts BEGIN SELECT touch(); END",
        )
        .db()
    })
    .unwrap();
    let error = merge(&db, std::slice::from_ref(&source), NOW, false).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("was written to while it was read"),
        "{error}"
    );
    drop(db);
    assert_eq!(rows(&target), before);
}
