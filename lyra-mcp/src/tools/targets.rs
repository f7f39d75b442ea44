//! queue_targets.

use super::{Call, Outcome};
use crate::wire::Reply;
use lyra_core::QueueOptions;
use lyra_core::store::model::Priority;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Queue {
    task_id: String,
    targets: Vec<Value>,
    options: Options,
}

#[derive(Deserialize)]
struct Options {
    priority: Priority,
    #[serde(default)]
    budget_pages: Option<u32>,
    providers: Vec<String>,
    refute: bool,
    repeat: bool,
}

pub(super) async fn queue(mut call: Call) -> Outcome {
    let Queue {
        task_id,
        targets,
        options,
    } = call.parse()?;
    let options = QueueOptions {
        priority: options.priority,
        budget_pages: options.budget_pages,
        providers: options.providers,
        refute: options.refute,
        repeat: options.repeat,
    };
    let report = call
        .blocking(move |engine| engine.queue_targets(&task_id, &targets, &options))
        .await?;
    Reply::of(&report)
}
