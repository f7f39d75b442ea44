//! A database file that is taken away from under a program.

use lyra_core::{Engine, EngineConfig, ErrorKind, StatusDetail, TaskConfig, WarningKind};

#[test]
#[cfg(unix)]
fn a_graph_without_its_file_says_so_and_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let [path, away] = ["a.db", "away.db"].map(|name| folder.path().join(name));
    let engine = Engine::open(EngineConfig::new(&path)).unwrap();
    let task = engine
        .create_task("Tea helps", TaskConfig::default())
        .unwrap();
    let warned = || {
        let status = engine.status(&task.id, StatusDetail::Summary).unwrap();
        let mut found = status.warnings.into_iter();
        found.find(|warning| warning.kind == WarningKind::Database)
    };
    assert_eq!(warned(), None);
    std::fs::rename(&path, &away).unwrap();
    let said = warned().expect("a warning");
    assert!(said.contains("put it back"), "{said}");
    let refused = engine.create_task("Coffee helps", TaskConfig::default());
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Storage);
    assert!(refused.message().contains("removed"), "{refused}");
    // Another graph in its place is not mixed up with it.
    let other = Engine::open(EngineConfig::new(&path)).unwrap();
    assert!(warned().expect("a warning").contains("replaced"));
    drop(other);
    std::fs::rename(&away, &path).unwrap();
    assert_eq!(warned(), None);
    let created = engine.create_task("Coffee helps", TaskConfig::default());
    assert!(created.is_ok());
}
