//! Graphs for the tests of this layer.

use super::{export_jsonl, import_jsonl};
use crate::error::Result;
use crate::store::database::{Database, SqliteResultExt};
use std::collections::BTreeSet;
use tempfile::TempDir;

/// The time of all imports in tests.
pub(in crate::store::graph) const NOW: &str = "2026-03-01T12:00:00.000Z";

/// A new database.
pub(in crate::store::graph) fn empty() -> (TempDir, Database) {
    let folder = TempDir::new().unwrap();
    let db = Database::open(&folder.path().join("graph.db")).unwrap();
    (folder, db)
}

/// A database that holds these lines.
pub(in crate::store::graph) fn with(lines: &[impl AsRef<str>]) -> (TempDir, Database) {
    let (folder, db) = empty();
    import(&db, lines).unwrap();
    (folder, db)
}

pub(in crate::store::graph) fn import(
    db: &Database,
    lines: &[impl AsRef<str>],
) -> Result<super::reports::ImportReport> {
    let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
    import_jsonl(db, NOW, lines.join("\n").as_bytes())
}

pub(in crate::store::graph) fn export(db: &Database, task_id: Option<&str>) -> String {
    let mut out = Vec::new();
    export_jsonl(db, &mut out, task_id).unwrap();
    String::from_utf8(out).unwrap()
}

/// The columns of a table that are not row numbers.
pub(in crate::store::graph) fn column_names(db: &Database, table: &str) -> BTreeSet<String> {
    db.read(|connection| {
        let mut statement = connection
            .prepare("SELECT name FROM pragma_table_info(?1) WHERE name <> 'seq'")
            .db()?;
        let names = statement.query_map([table], |r| r.get(0)).db()?;
        names.collect::<rusqlite::Result<_>>().db()
    })
    .unwrap()
}

/// How many rows a table has.
pub(in crate::store::graph) fn rows(db: &Database, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    db.read(|connection| connection.query_row(&sql, [], |r| r.get(0)).db())
        .unwrap()
}

/// A valid graph with every type of line, in arbitrary order, which tests may damage.
///
/// The texts contain Japanese and characters beyond the basic plane, so that an offset in bytes or
/// UTF-16 units is wrong.
pub(in crate::store::graph) fn small_graph() -> Vec<String> {
    [
        r#"{"type":"edge","id":"e1","source_type":"fragment","source_id":"f1","target_type":"claim","target_id":"c1","relation":"origin","quote_start":5,"quote_end":9}"#,
        r#"{"type":"edge","id":"e2","source_type":"fragment","source_id":"f2","target_type":"claim","target_id":"c2","relation":"origin","quote_start":22,"quote_end":25}"#,
        r#"{"type":"edge","id":"e3","source_type":"fragment","source_id":"f3","target_type":"claim","target_id":"c1","relation":"supports","nli_edge_confidence":0.8123456789012345,"judge_id":"lexical"}"#,
        r#"{"type":"edge","id":"e4","source_type":"page","source_id":"p1","target_type":"page","target_id":"p2","relation":"cites","citation_source":"link"}"#,
        r#"{"type":"embedding","id":"m1","target_type":"claim","target_id":"c1","model_id":"static","embedding_blob":[0.5,-1.25]}"#,
        r#"{"type":"embedding","id":"m2","target_type":"fragment","target_id":"f1","model_id":"static","vector":[1,0],"dimension":2}"#,
        r#"{"type":"claim","id":"c1","task_id":"t1","claim_text":"血糖値が下がる","llm_claim_confidence":0.9,"extractor_id":"quotes"}"#,
        r#"{"type":"claim","id":"c2","task_id":"t2","claim_text":"Glucose fell.","claim_type":"opinion"}"#,
        r#"{"type":"fragment","id":"f1","page_id":"p1","position":0,"text_content":"🙂 薬は血糖値を下げる𝕏。","char_start":2,"char_end":15,"heading_context":"結果","heading_hierarchy":["結果"]}"#,
        r#"{"type":"fragment","id":"f2","page_id":"p1","position":1,"text_content":"Glucose fell.","page_version":1}"#,
        r#"{"type":"fragment","id":"f3","page_id":"p2","position":0,"text_content":"Support.","char_start":0,"char_end":8,"page_version":2}"#,
        r#"{"type":"fragment","id":"f4","page_id":"p2","position":1,"fragment_type":"table","text_content":"a\tb\n1\t2"}"#,
        r#"{"type":"page_text","page_id":"p1","version":1,"text":"前置🙂 薬は血糖値を下げる𝕏。\n\nGlucose fell."}"#,
        r#"{"type":"page_text","page_id":"p2","version":2,"text":"Support."}"#,
        r#"{"type":"page_text","page_id":"p2","text":"a\tb\n1\t2"}"#,
        r#"{"type":"task_page","task_id":"t1","page_id":"p1","reason":"search"}"#,
        r#"{"type":"task_page","task_id":"t2","page_id":"p2","reason":"citation_chase","depth":1,"source_page_id":"p1"}"#,
        r#"{"type":"page","id":"p1","url":"https://www.example.org/a","canonical_id":"doi:10.1/w","title":"血糖 \"quoted\" \\ \u2028","fetched_at":"2026-01-01T09:00:00+09:00"}"#,
        r#"{"type":"page","id":"p2","url":"https://example.net/b"}"#,
        r#"{"type":"hypothesis_stance","claim_id":"c1","task_id":"t1","relation":"supports","confidence":0.7,"judge_id":"lexical"}"#,
        r#"{"type":"page_reference","page_id":"p1","position":0,"doi":"10.1/cited","title":"血糖","citation_source":"reference_list"}"#,
        r#"{"type":"resource","identifier_type":"arxiv","identifier_value":"2401.00001","page_id":"p1","status":"fetched"}"#,
        r#"{"type":"work_identifier","canonical_id":"doi:10.1/w","provider":"openalex","provider_paper_id":"W1","pmid":"77"}"#,
        r#"{"type":"work_author","canonical_id":"doi:10.1/w","position":0,"name":"Ann Lee"}"#,
        r#"{"type":"work","canonical_id":"doi:10.1/w","title":"Work","year":2024,"doi":"10.1/w","is_open_access":true}"#,
        r#"{"type":"task","id":"t1","hypothesis":"薬は効く","config_json":{"budget":{"max_pages":5}}}"#,
        r#"{"type":"task","id":"t2","hypothesis":"Other","status":"paused"}"#,
    ]
    .map(str::to_owned)
    .to_vec()
}
