//! The same document in several places.

use crate::corpus::{World, number, research};
use lyra_core::{Engine, TaskConfig};

/// A copied folder and a moved one are the same sources: no claim and no verdict comes of them.
#[tokio::test(flavor = "multi_thread")]
async fn copies_of_documents_add_no_evidence() {
    let world = World::new();
    for (name, finding) in [
        (
            "tea",
            "The caffeine in tea increased blood pressure in 40 adults over two weeks of the trial.",
        ),
        (
            "cola",
            "Drinks with caffeine did not increase blood pressure in adults of our clinic.",
        ),
        (
            "coffee",
            "The caffeine in coffee increased blood pressure in adults for hours.",
        ),
    ] {
        let text = format!("# A study of {name}\n\n{finding}\n");
        std::fs::write(world.papers().join(format!("{name}.md")), text).unwrap();
    }
    let engine = world.engine();
    let task = engine
        .create_task("Caffeine increases blood pressure", TaskConfig::default())
        .unwrap();
    research(&engine, &task.id, "caffeine blood pressure").await;
    let counts = |engine: &Engine| {
        [
            "SELECT count(*) FROM task_pages",
            "SELECT count(*) FROM claims",
            "SELECT count(*) FROM edges",
        ]
        .map(|sql| number(engine, sql))
    };
    let before = counts(&engine);
    assert_eq!(before[0], 3);
    assert!(before[1] >= 3 && before[2] > before[1], "{before:?}");

    let copy = world.papers().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for name in ["tea", "cola", "coffee"] {
        let file = format!("{name}.md");
        std::fs::copy(world.papers().join(&file), copy.join(&file)).unwrap();
    }
    drop(engine);
    let engine = world.engine();
    research(&engine, &task.id, "does caffeine raise blood pressure").await;
    assert_eq!(counts(&engine), before);

    for name in ["tea", "cola", "coffee"] {
        std::fs::remove_file(world.papers().join(format!("{name}.md"))).unwrap();
    }
    drop(engine);
    let engine = world.engine();
    // The run tells of the files that are gone.
    let queued = engine.queue_targets(
        &task.id,
        &["blood pressure after caffeine".into()],
        &Default::default(),
    );
    assert_eq!(queued.unwrap().queued_count, 1);
    engine.run(&task.id, None).await.unwrap();
    assert_eq!(counts(&engine), before);
    // A text that says something else is a source of its own.
    let path = copy.join("tea.md");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("two weeks", "nine weeks")).unwrap();
    let queued = engine.queue_targets(
        &task.id,
        &["tea and blood pressure".into()],
        &Default::default(),
    );
    assert_eq!(queued.unwrap().queued_count, 1);
    engine.run(&task.id, None).await.unwrap();
    assert_eq!(counts(&engine)[0], before[0] + 1);
    assert!(engine.verify().unwrap().violations.is_empty());
}
