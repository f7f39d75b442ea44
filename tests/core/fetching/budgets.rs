//! What is charged to a task's time, and what happens when it ends.

use super::*;
use lyra_core::store::model::{Priority, TaskBudget};
use lyra_core::{AuthAction, AuthTarget, QueueOptions};

const HOUR: i64 = 3_600_000;

fn task(engine: &Engine, seconds: u32) -> String {
    let config = TaskConfig {
        budget: TaskBudget {
            max_seconds: seconds,
            ..TaskBudget::default()
        },
        ..TaskConfig::default()
    };
    engine.create_task("Drug X helps", config).unwrap().id
}

async fn research(engine: &Engine, task: &str, url: &str, priority: Priority) -> StatusReport {
    let targets = [json!({ "kind": "url", "url": url })];
    let options = QueueOptions {
        priority,
        ..QueueOptions::default()
    };
    engine.queue_targets(task, &targets, &options).unwrap();
    engine.run(task, None).await.unwrap();
    engine.status(task, StatusDetail::Full).unwrap()
}

fn engine(change: impl FnOnce(&mut EngineConfig)) -> (Engine, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = EngineConfig::new(folder.path().join("web.db"));
    config.allow_private_hosts = true;
    change(&mut config);
    (Engine::open(config).unwrap(), folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_that_a_page_waits_for_a_human_is_nobodys_work() {
    let site = Site::new(|path, _, _| match path {
        "/robots.txt" => answer("404 Not Found", &[], ""),
        "/gate" => html("<div class=\"h-captcha\" data-sitekey=\"k\"></div>"),
        _ => text("Drug X helps most people who take it."),
    })
    .await;
    let clock = Arc::new(ManualClock::new(1_767_225_600_000));
    let (engine, _folder) = engine(|config| config.clock = clock.clone());
    let task = task(&engine, 60);
    research(&engine, &task, &site.url("/gate"), Priority::High).await;
    let [item] = &engine.auth_queue(Some(&task)).unwrap()[..] else {
        panic!("one page waits");
    };
    assert_eq!(item.priority, "high", "as urgent as what was asked");
    clock.advance(HOUR);
    let item = AuthTarget::Item(item.id.clone());
    engine.resolve_auth(&item, &AuthAction::Skip).unwrap();
    let status = research(&engine, &task, &site.url("/open"), Priority::Low).await;
    assert_eq!(status.budget.seconds_used, 0);
    assert_eq!(status.metrics.total_pages, 1, "{:?}", status.warnings);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_takes_longer_than_the_task_has_time_is_given_up() {
    let site = Site::new(|path, _, _| match path {
        "/robots.txt" => answer("404 Not Found", &[], ""),
        _ => Answer {
            endless: Some(Duration::from_millis(200)),
            ..text("Drug X helps. ")
        },
    })
    .await;
    let (engine, _folder) = engine(|_| ());
    let task = task(&engine, 1);
    let status = research(&engine, &task, &site.url("/slow"), Priority::Medium).await;
    let errors = serde_json::to_string(&status.recent_errors).unwrap();
    assert!(errors.contains("the budget is used up"), "{errors}");
    assert_eq!(status.metrics.total_pages, 0);
}
