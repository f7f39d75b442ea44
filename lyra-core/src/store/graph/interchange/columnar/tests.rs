//! Round trips keep a graph unchanged; folders that are not an export are refused without any change.

use super::super::canonical_hash;
use super::super::testing::{NOW, empty, export, rows, small_graph, with};
use super::{export_parquet, import_parquet};
use crate::error::{ErrorKind, Result};
use crate::store::database::Database;
use std::path::Path;
use tempfile::TempDir;

fn out(db: &Database, by_task: bool) -> (TempDir, std::path::PathBuf) {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("graph");
    export_parquet(db, &dir, None, by_task, "-- views").unwrap();
    (folder, dir)
}

/// The graph in a folder, as lines.
fn back(dir: &Path) -> Result<(TempDir, Database)> {
    let (folder, db) = empty();
    import_parquet(&db, NOW, dir)?;
    Ok((folder, db))
}

/// [`small_graph`] with vectors of two models and two lengths, and text with special meaning elsewhere.
fn graph() -> Vec<String> {
    let mut lines = small_graph();
    let more = [
        r#"{"type":"embedding","target_type":"claim","target_id":"c1","model_id":"other","vector":[0.1,-0.0,3e-45]}"#,
        r#"{"type":"embedding","target_type":"claim","target_id":"c2","model_id":"static","vector":[1,2,3,4]}"#,
        r#"{"type":"task","id":"a/b=c %é'\"","hypothesis":"x' OR 1=1; --","error_message":"\n\u001b[31m"}"#,
        r#"{"type":"claim","id":"c3","task_id":"a/b=c %é'\"","claim_text":"a,b\r\n\t\u202eb"}"#,
        r#"{"type":"screening","id":"s1","task_id":"t1","url":"https://example.net/b","page_id":"p2","revision":1,"reviewer":"r","decision":"exclude","is_final":true}"#,
        r#"{"type":"verdict","fragment_id":"f3","claim_id":"c1","judge_id":"human","relation":"refutes","confidence":0.1}"#,
    ];
    lines.extend(more.map(str::to_owned));
    lines
}

#[test]
fn a_graph_comes_back_as_it_was() {
    let (_db_folder, db) = with(&graph());
    assert!(rows(&db, "blocked_edges") > 0, "a verdict is aside");
    for by_task in [false, true] {
        let (_folder, dir) = out(&db, by_task);
        let (_copy_folder, copy) = back(&dir).unwrap();
        assert_eq!(export(&copy, None), export(&db, None), "{by_task}");
        assert_eq!(
            canonical_hash(&copy, None).unwrap(),
            canonical_hash(&db, None).unwrap()
        );
        // A second import changes nothing.
        import_parquet(&copy, NOW, &dir).unwrap();
        assert_eq!(export(&copy, None), export(&db, None), "{by_task}");
        // Equal graphs give equal files.
        let (_other_folder, other) = out(&copy, by_task);
        let sums = |dir: &Path| std::fs::read_to_string(dir.join("SHA256SUMS")).unwrap();
        assert_eq!(sums(&dir), sums(&other));
        assert!(sums(&dir).lines().count() > 27);
    }
}

#[test]
fn an_empty_graph_and_one_task_come_back() {
    let (_empty_folder, nothing) = empty();
    for by_task in [false, true] {
        let (_folder, dir) = out(&nothing, by_task);
        let (_copy_folder, copy) = back(&dir).unwrap();
        assert_eq!(export(&copy, None), "");
    }
    let (_db_folder, db) = with(&graph());
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("graph");
    export_parquet(&db, &dir, Some("t2"), false, "").unwrap();
    let (_copy_folder, copy) = back(&dir).unwrap();
    assert_eq!(export(&copy, None), export(&db, Some("t2")));
    let unknown = export_parquet(&db, &dir, Some("t9"), false, "").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::TaskNotFound);
}

#[test]
fn an_export_replaces_its_like_alone() {
    let (_db_folder, db) = with(&graph());
    let (folder, dir) = out(&db, false);
    export_parquet(&db, &dir, None, true, "").unwrap();
    assert!(!dir.join("claims/part-0.parquet").exists());
    std::fs::write(dir.join("claims/notes.txt"), "mine").unwrap();
    let refused = export_parquet(&db, &dir, None, false, "").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert!(refused.message().contains("notes.txt"), "{refused}");
    assert!(dir.join("claims/notes.txt").exists());
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    assert!(export_parquet(&db, &file, None, false, "").is_err());
    // No other files are left.
    let names = std::fs::read_dir(folder.path()).unwrap().flatten();
    let hidden = names.filter(|n| n.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn what_is_unknown_is_refused() {
    let (_db_folder, db) = with(&graph());
    let (_folder, dir) = out(&db, false);
    let refused = |what: &str| {
        let (_folder, db) = with(&small_graph());
        let before = export(&db, None);
        let error = import_parquet(&db, NOW, &dir).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.message().contains(what), "{error}");
        assert_eq!(export(&db, None), before);
    };
    std::fs::create_dir(dir.join("papers")).unwrap();
    refused("papers is unknown");
    std::fs::remove_dir(dir.join("papers")).unwrap();
    std::fs::remove_file(dir.join("SHA256SUMS")).unwrap();
    // A file of another table: its columns are unknown here.
    let (from, to) = (
        dir.join("claims/part-0.parquet"),
        dir.join("pages/part-1.parquet"),
    );
    std::fs::copy(&from, &to).unwrap();
    refused("pages/part-1.parquet: unknown column");
    std::fs::remove_file(&to).unwrap();
    // Claims without their tasks.
    std::fs::remove_dir_all(dir.join("tasks")).unwrap();
    let (_other_folder, other) = empty();
    let error = import_parquet(&other, NOW, &dir).unwrap_err();
    assert!(
        error
            .message()
            .contains("claims/part-0.parquet, row 1: field \"task_id\""),
        "{error}"
    );
    let nowhere = TempDir::new().unwrap();
    assert!(import_parquet(&db, NOW, nowhere.path()).is_err());
    assert!(import_parquet(&db, NOW, &nowhere.path().join("none")).is_err());
}

#[test]
fn a_damaged_file_is_an_error_and_no_panic() {
    let (_db_folder, db) = with(&graph());
    let (_folder, dir) = out(&db, false);
    let file = dir.join("claims/part-0.parquet");
    let sound = std::fs::read(&file).unwrap();
    // The checksum detects a single flipped bit, even if Parquet does not.
    let mut bytes = sound.clone();
    bytes[sound.len() / 3] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let (_empty_folder, empty_db) = empty();
    let error = import_parquet(&empty_db, NOW, &dir).unwrap_err();
    assert!(
        error
            .message()
            .contains("claims/part-0.parquet is not as it was"),
        "{error}"
    );
    std::fs::remove_file(dir.join("SHA256SUMS")).unwrap();
    let mut refused = 0;
    let mut import = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let (_folder, db) = empty();
        if let Err(error) = import_parquet(&db, NOW, &dir) {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            assert_eq!(export(&db, None), "");
            refused += 1;
        }
    };
    for length in [0, 3, sound.len() / 2, sound.len() - 1] {
        import(&sound[..length]);
    }
    let cut = 4;
    for at in (0..sound.len()).step_by(sound.len() / 60) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0xff;
        import(&bytes);
    }
    assert!(refused > cut, "{refused}");
}
