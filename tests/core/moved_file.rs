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
    let warned = || match engine.status(&task.id, StatusDetail::Summary) {
        Ok(status) => {
            let mut found = status.warnings.into_iter();
            found
                .find(|warning| warning.kind == WarningKind::Database)
                .map(|warning| warning.text)
        }
        Err(error) => error.hint().map(str::to_owned),
    };
    assert_eq!(warned(), None);
    std::fs::rename(&path, &away).unwrap();
    let said = warned().expect("a warning");
    assert!(said.contains("put it back"), "{said}");
    let refused = engine.create_task("Coffee helps", TaskConfig::default());
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Storage);
    assert!(refused.message().contains("removed"), "{refused}");
    std::fs::rename(&away, &path).unwrap();
    assert_eq!(warned(), None);
    let created = engine.create_task("Coffee helps", TaskConfig::default());
    assert!(created.is_ok());
    // A program that opens another file of that name takes the log as its own.
    std::fs::rename(&path, &away).unwrap();
    drop(Engine::open(EngineConfig::new(&path)).unwrap());
    assert!(warned().expect("a warning").contains("replaced"));
    std::fs::rename(&away, &path).unwrap();
    assert!(warned().expect("a warning").contains("log"));
    let refused = engine.create_task("Milk helps", TaskConfig::default());
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Storage);
}
