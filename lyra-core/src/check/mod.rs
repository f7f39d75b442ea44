//! Checks a draft: compares every sentence with what its cited sources say.
//!
//! [`Engine::check`](crate::Engine::check) reads a draft, identifies the sentences that make an
//! assertion, resolves their citations to sources of the graph, and compares them: quotations and
//! numbers exactly, the rest with the stance judge. Nothing in the draft is opened, fetched or
//! followed, and nothing of it is stored: the graph only remembers the judge's answer for a hash.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let papers = folder.path().join("papers");
//! # std::fs::create_dir(&papers).unwrap();
//! # std::fs::write(papers.join("a.md"), "# Night work\n\nNight work shortened sleep by 74 minutes in 412 nurses.").unwrap();
//! use lyra_core::check::{CheckCode, CheckRequest, DraftFormat};
//! use lyra_core::{Engine, EngineConfig};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let mut config = EngineConfig::new(folder.path().join("evidence.db"));
//! config.corpus.push(papers);
//! let engine = Engine::open(config)?;
//! engine.sync_corpus(&|_| {}).await?;
//! let draft = "Night work shortened the sleep of nurses by 47 minutes ([source](a.md)).";
//! let report = engine.check(&CheckRequest::new(draft, DraftFormat::Markdown), &|_| {}).await?;
//! assert_eq!(report.sentences[0].verdict, Some(CheckCode::NumberMismatch));
//! # Ok::<(), lyra_core::Error>(()) }).unwrap();
//! ```

mod bibliography;
mod citations;
mod cited;
mod compare;
mod decide;
mod draft;
mod items;
mod kinds;
mod memory;
mod numbers;
mod others;
mod overstated;
mod parts;
mod questions;
mod quotations;
mod references;
mod render;
mod report;
mod request;
mod resolve;
mod source_text;
mod stance;
mod standing;

pub use cited::CitedReading;
pub(crate) use cited::read_cited;
pub use draft::DraftFormat;
pub use render::CheckFormat;
pub use report::{
    CheckCode, CheckReport, CheckSummary, CheckedCitation, CheckedReference, CheckedSentence,
    Evidence, Finding, SentenceKind,
};
use request::Check;
pub use request::{CheckProgress, CheckRequest};
pub(crate) use standing::standing;
pub use standing::{MOST_UNREACHED, SourceStanding, Standing, StandingRequest, Unreached};

use crate::error::Result;
use crate::research::pipeline::Pipeline;
use crate::store::text::hash::sha256_hex;
use draft::Draft;
use items::{Item, Listed};
use resolve::Sources;
use source_text::SourceText;
use std::collections::HashMap;
use std::sync::Arc;

/// Checks a draft.
pub(crate) async fn check(
    pipeline: &Pipeline,
    request: &CheckRequest,
    progress: &(dyn Fn(CheckProgress) + Send + Sync),
) -> Result<CheckReport> {
    let draft = Draft::read(&request.draft, request.format)?;
    let retractions = pipeline.retractions.as_deref();
    let sources = pipeline
        .graph
        .read(|reader| Sources::read(reader, request.task_id.as_deref(), retractions))?;
    let mut check = Check {
        sources: Arc::new(sources),
        pipeline,
        texts: HashMap::new(),
        progress,
        judged: 0,
        pairs: 0,
    };
    let (mut items, mut listed) = items::read(&draft, request, &check.sources)?;
    check.set_aside_what_asserts_nothing(&mut items).await?;
    check.read_texts(&items)?;
    items::resolve_findings(&mut items, &mut listed, &check.sources);
    let claims = check.claims(&items).await?;
    check.compare(&mut items, &claims).await?;
    if request.other_sources {
        check.ask_others(&mut items, &claims).await?;
    }
    Ok(check.report(request, draft, items, listed))
}

impl Check<'_> {
    /// Reads the text of every source that is cited.
    fn read_texts(&mut self, items: &[Item]) -> Result<()> {
        let cited = items.iter().flat_map(Item::sources);
        let mut cited: Vec<usize> = cited.collect();
        cited.sort_unstable();
        cited.dedup();
        self.pipeline.graph.read(|reader| {
            for at in cited {
                let text = SourceText::read(reader, &self.sources.all[at])?;
                self.texts.insert(at, Arc::new(text));
            }
            Ok(())
        })
    }

    fn report(
        self,
        request: &CheckRequest,
        draft: Draft,
        items: Vec<Item>,
        listed: Vec<Listed>,
    ) -> CheckReport {
        let chars: Vec<char> = draft.text.chars().collect();
        let sentences: Vec<CheckedSentence> = items
            .into_iter()
            .map(|item| item.checked(&chars, &self.sources))
            .collect();
        let references: Vec<CheckedReference> = listed
            .into_iter()
            .map(|entry| entry.checked(&self.sources))
            .collect();
        let mut summary = CheckSummary {
            sentences: sentences.len(),
            references: references.len(),
            sources_known: self.sources.all.len(),
            ..CheckSummary::default()
        };
        for sentence in &sentences {
            *summary.kinds.entry(sentence.kind).or_default() += 1;
            if let Some(verdict) = sentence.verdict {
                *summary.verdicts.entry(verdict).or_default() += 1;
            }
        }
        let of_references = references.iter().flat_map(|r| &r.findings);
        let of_sentences = sentences.iter().flat_map(|s| &s.findings);
        for finding in of_sentences.chain(of_references) {
            *summary.findings.entry(finding.code).or_default() += 1;
        }
        CheckReport {
            schema: report::SCHEMA,
            format: request.format,
            sha256: sha256_hex(&request.draft),
            judge: self.pipeline.judge.judge_id().to_owned(),
            summary,
            sentences,
            references,
            text: draft.text,
        }
    }
}
