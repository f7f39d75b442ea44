//! How the sources of the graph relate to one statement.

use super::decide::{ClaimDecision, Heard, side};
use super::memory;
use super::others::related;
use super::report::Evidence;
use super::resolve::Sources;
use super::stance::StatedClaim;
use super::stance::{candidates, judged};
use crate::error::{Error, Result};
use crate::ports::TextRole;
use crate::research::pipeline::Pipeline;
use crate::store::model::Relation;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Maximum number of sources that are judged.
const MOST_SOURCES: usize = 20;
/// Maximum length of a statement, in code points; longer ones are refused.
const LONGEST: usize = 2_000;
/// Maximum number of sources without a text that are listed.
pub const MOST_UNREACHED: usize = 50;

/// A request for how the sources relate to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRequest {
    /// The statement, one sentence.
    pub text: String,
    /// Restricts the answer to the sources of this task.
    pub task_id: Option<String>,
}

/// How a source relates to a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceStanding {
    /// The source's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The source's address.
    pub url: String,
    /// Page of the graph.
    pub page_id: String,
    /// `supports`, `refutes` or `neutral`.
    pub relation: Relation,
    /// 0 to 1: the confidence in the relation.
    pub confidence: f64,
    /// The words that decided; for a silent source, the nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Whether the source was retracted; it then counts for neither side.
    pub is_retracted: bool,
}

/// A source that could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreached {
    /// Page of the graph.
    pub page_id: String,
    /// Its address.
    pub url: String,
    /// The reason.
    pub reason: String,
}

/// How the sources relate to a statement. Copies and versions of one work are one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The statement.
    pub text: String,
    /// The stance judge.
    pub judge: String,
    /// Independent sources that say it, without retracted ones.
    pub independent_for: usize,
    /// Independent sources that say the opposite.
    pub independent_against: usize,
    /// Sources that say it, most confident first.
    #[serde(rename = "for")]
    pub supporting: Vec<SourceStanding>,
    /// Sources that say the opposite, most confident first.
    pub against: Vec<SourceStanding>,
    /// Sources on the subject that say neither, nearest first.
    pub silent: Vec<SourceStanding>,
    /// Number of sources with a text that were searched.
    pub sources_searched: usize,
    /// Sources that could not be judged, up to 50.
    pub unreached: Vec<Unreached>,
}

/// Computes how the sources relate to a statement.
pub(crate) async fn standing(pipeline: &Pipeline, request: &StandingRequest) -> Result<Standing> {
    let text = request.text.trim();
    let claim = statement(pipeline, text).await?;
    let mut asked = Vec::new();
    let mut answer = Standing {
        text: text.to_owned(),
        judge: pipeline.judge.judge_id().to_owned(),
        independent_for: 0,
        independent_against: 0,
        supporting: Vec::new(),
        against: Vec::new(),
        silent: Vec::new(),
        sources_searched: 0,
        unreached: Vec::new(),
    };
    pipeline.graph.read(|reader| {
        let retractions = pipeline.retractions.as_deref();
        let sources = Sources::read(reader, request.task_id.as_deref(), retractions)?;
        answer.sources_searched = sources.all.iter().filter(|s| s.version.is_some()).count();
        answer.unreached = unreached(&sources);
        if answer.sources_searched == 0 {
            return Ok(());
        }
        for source in related(pipeline, reader, &sources, (&claim.text, &claim.vector))? {
            if asked.len() == MOST_SOURCES {
                break;
            }
            let candidates = candidates(pipeline, reader, &source, &claim)?;
            asked.push((Arc::new(source), candidates));
        }
        Ok(())
    })?;
    let pairs = asked.iter().flat_map(|(_, candidates)| candidates);
    let pairs: Vec<_> = pairs.map(|one| one.pair.clone()).collect();
    let mut said = memory::said(pipeline, &pairs).await?.into_iter();
    for (source, candidates) in asked {
        let both = candidates.iter().zip(said.by_ref());
        answer.add(&Heard {
            judged: both.map(|(of, said)| judged(of, said)).collect(),
            together: None,
            source,
        });
    }
    for list in [&mut answer.supporting, &mut answer.against] {
        list.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    }
    Ok(answer)
}

/// A statement as a claim to compare with sources.
async fn statement(pipeline: &Pipeline, text: &str) -> Result<StatedClaim> {
    let length = text.chars().count();
    if length == 0 || length > LONGEST {
        let message = format!("the statement has {length} characters; expected 1 to {LONGEST}");
        return Err(Error::invalid(message).with_hint("give one sentence, such as a claim"));
    }
    if text.ends_with(['?', '？']) {
        let message = "the text is a question; expected a statement that can be right or wrong";
        return Err(Error::invalid(message).with_hint("write the answer that you expect"));
    }
    if text.is_ascii() && !text.contains(char::is_whitespace) {
        let message =
            format!("{text:?} is one word; expected a statement that can be right or wrong");
        return Err(Error::invalid(message).with_hint("give a sentence, not a word or an id"));
    }
    let embedder = &pipeline.reading.embedder;
    let vectors = embedder.embed(&[text], TextRole::Query).await?;
    Ok(StatedClaim {
        item: 0,
        text: text.to_owned(),
        vector: vectors.into_iter().next().unwrap_or_default(),
        sections: Vec::new(),
    })
}

fn unreached(sources: &Sources) -> Vec<Unreached> {
    let without = sources.all.iter().filter(|source| source.version.is_none());
    let named = without.take(MOST_UNREACHED).map(|source| Unreached {
        page_id: source.page_id.clone(),
        url: source.url.clone(),
        reason: "no text of it was read".to_owned(),
    });
    named.collect()
}

impl Standing {
    fn add(&mut self, heard: &Heard) {
        let source = &heard.source.source;
        let (relation, confidence, evidence) = match side(heard) {
            ClaimDecision::Supports(evidence, sure) => (Relation::Supports, sure, Some(evidence)),
            ClaimDecision::Refutes(evidence, sure) => (Relation::Refutes, sure, Some(evidence)),
            ClaimDecision::Overstates(evidence, _) => (Relation::Neutral, 0.0, Some(evidence)),
            ClaimDecision::Silent(evidence, sure) => (Relation::Neutral, sure, evidence),
        };
        let one = SourceStanding {
            title: source.title.clone(),
            url: source.url.clone(),
            page_id: source.page_id.clone(),
            relation,
            confidence: (confidence * 1000.0).round() / 1000.0,
            evidence,
            is_retracted: source.is_retracted,
        };
        let counts = usize::from(!source.is_retracted);
        match relation {
            Relation::Supports => {
                self.independent_for += counts;
                self.supporting.push(one);
            }
            Relation::Refutes => {
                self.independent_against += counts;
                self.against.push(one);
            }
            _ => self.silent.push(one),
        }
    }
}
