//! A hypothesis researched over a folder of documents, in about twenty lines.
//!
//! `cargo run --release -p lyra-core --example first_question -- examples/corpus "your hypothesis"`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use lyra_core::{Engine, EngineConfig, Result, TaskConfig, ViewRequest};

#[tokio::main]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().unwrap_or_else(|| "examples/corpus".to_owned());
    let hypothesis = words.next().unwrap_or_else(|| {
        "Sitagliptin does not increase hospitalization for heart failure".to_owned()
    });

    let mut config = EngineConfig::new(std::env::temp_dir().join("first_question.db"));
    config.corpus.push(folder.into());
    let engine = Engine::open(config)?;
    let task = engine.create_task(&hypothesis, TaskConfig::default())?;
    engine.queue_targets(&task.id, &[hypothesis.into()], &Default::default())?;
    let status = engine.run(&task.id, None).await?;
    println!(
        "{} claims from {} documents",
        status.metrics.total_claims, status.metrics.total_pages
    );

    let contradictions = ViewRequest::new("v_contradictions").for_task(&task.id);
    for row in engine.query_view(&contradictions)?.rows.iter().take(5) {
        println!(
            "{} for, {} against: {}",
            row["support_count"], row["refute_count"], row["claim_text"]
        );
    }
    Ok(())
}
