//! The research pipeline: plan → search → identify → fetch → extract → select → claims → persist →
//! verify → follow-ups. Stages take data and return values; only the job queue queues work.
//!
//! [`Engine::run`](crate::Engine::run) runs all of it; [`Pipeline::search`] runs a single search
//! and returns its result:
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let papers = folder.path().join("papers");
//! # std::fs::create_dir(&papers).unwrap();
//! # std::fs::write(papers.join("a.md"), "# Nurses\n\nNight work shortened sleep by 74 minutes in 412 nurses.").unwrap();
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use lyra_core::{Engine, EngineConfig, TaskConfig, research::pipeline::SearchOptions};
//! let mut config = EngineConfig::new(folder.path().join("evidence.db"));
//! config.corpus.push(papers);
//! let engine = Engine::open(config)?;
//! let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
//! let report = engine.pipeline().search(&task.id, "night work", &SearchOptions::default()).await?;
//! assert_eq!((report.pages_fetched, report.claims_found.len()), (1, 1));
//! # Ok::<(), lyra_core::Error>(()) }).unwrap();
//! ```

mod budget;
mod citations;
mod claims;
mod earlier;
mod embed;
mod embedding_turn;
mod identify;
mod limits;
mod locate;
mod metrics;
mod options;
mod outcome;
mod page;
mod plan;
mod question;
mod retractions;
mod search;
mod select;
mod source;
mod stages;
mod verify;
mod works;

pub use budget::Budget;
pub use citations::CitationReport;
pub(crate) use embed::EmbedProgress;
pub use limits::Limits;
pub use metrics::{is_primary_source, satisfaction};
pub use options::SearchOptions;
pub use outcome::{AuthNeed, FollowUp, FoundClaim, SearchReport, StageOutcome};
pub use page::PageReport;
pub use retractions::Retractions;
pub use stages::{Pipeline, PremiseChooser};
pub(crate) use verify::{Asked, Side, VerificationCache};
pub use verify::{CandidatePair, CandidatePairs, JudgeRequest, VerifyReport, judge_pairs};
