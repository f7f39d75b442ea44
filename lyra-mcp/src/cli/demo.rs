//! `demo`: researches a hypothesis over the example documents, with the same engine that serves
//! assistants, and prints the result.

use super::config::Settings;
use super::research::{PageOptions, Session, of_hypothesis};
use super::{Global, engine_config};
use clap::Args;
use lyra_core::store::model::random_id;
use lyra_core::{Engine, Error, Result, TaskConfig};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The subject of the example documents; the literature does disagree on it.
const HYPOTHESIS: &str = "DPP-4 inhibitors increase the risk of hospitalization for heart failure \
                          in patients with type 2 diabetes.";

/// Queries for the hypothesis above: for both sides, for evidence syntheses, and in another
/// language.
const QUERIES: [&str; 5] = [
    "DPP-4 inhibitors hospitalization for heart failure type 2 diabetes",
    "saxagliptin alogliptin increased risk of heart failure",
    "sitagliptin linagliptin no increase in heart failure hospitalization",
    "meta-analysis dipeptidyl peptidase-4 inhibitors heart failure cohort study",
    "DPP-4阻害薬 心不全 入院",
];

#[derive(Args)]
pub(super) struct Options {
    /// The hypothesis to research instead of that of the example
    #[arg(long, value_name = "TEXT")]
    hypothesis: Option<String>,
    #[command(flatten)]
    page: PageOptions,
}

pub(super) fn run(settings: &Settings, flags: &Global, options: &Options) -> Result<u8> {
    options.page.refuse_foreign()?;
    let mut settings = settings.clone();
    // The demo shows what works without a network.
    settings.providers = super::providers::Resolved::default();
    settings.corpus = match flags.corpus.is_empty() {
        true => vec![example_corpus()?],
        false => flags.corpus.clone(),
    };
    settings.db = match &flags.db {
        Some(path) => path.clone(),
        None => std::env::temp_dir().join(format!("{}.db", random_id("lyra-demo-", 8))),
    };
    crate::log::line(&format!("graph: {}", settings.db.display()));
    let engine = Engine::open(engine_config(&settings)?)?;
    let hypothesis = options.hypothesis.as_deref().unwrap_or(HYPOTHESIS);
    let task = engine.create_task(hypothesis, TaskConfig::default())?;
    let session = Session {
        engine: &engine,
        settings: &settings,
        task_id: &task.id,
        usual_page: settings.db.with_extension("html"),
        page: &options.page,
        refute: false,
        is_example: flags.corpus.is_empty(),
        record: None,
    };
    session.research(&targets(hypothesis))
}

/// The documents that ship with the project: in the working folder, or where the program was built.
fn example_corpus() -> Result<PathBuf> {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/corpus");
    ["examples/corpus", built]
        .into_iter()
        .map(PathBuf::from)
        .find(|folder| folder.is_dir())
        .ok_or_else(|| {
            Error::not_found("the example documents are not here")
                .with_hint("start the demo in the project's folder, or give --corpus DIR")
        })
}

fn targets(hypothesis: &str) -> Vec<Value> {
    if hypothesis == HYPOTHESIS {
        let query = |words| json!({ "kind": "query", "query": words });
        return QUERIES.into_iter().map(query).collect();
    }
    of_hypothesis(hypothesis)
}
