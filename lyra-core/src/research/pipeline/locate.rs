//! Locates a document: on the user's disk, in the graph, with a provider, on the web.

use super::identify::{Identified, ProviderAnswer, identity, merge};
use super::options::SearchOptions;
use super::outcome::AuthNeed;
use super::page::{Arrival, PageOutcome, PageReport};
use super::question::ResearchQuestion;
use super::stages::Pipeline;
use super::works::record_work;
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{SearchHit, WorkId};
use crate::research::ingest::page_key;
use crate::store::text::url::request_url;

/// The result of locating and reading a document.
#[derive(Debug)]
pub(super) enum LocateOutcome {
    Read(Box<PageReport>),
    NeedsAuth(AuthNeed),
}

impl Pipeline {
    /// The providers' data on a DOI. Providers are asked in order until one has the text; failures
    /// are recorded, and the next provider is asked.
    pub(super) async fn look_up_doi(
        &self,
        doi: &str,
        options: &SearchOptions,
        errors: &mut Vec<String>,
    ) -> Result<Option<Identified>> {
        self.check_names(options)?;
        let id = WorkId::Doi(doi.to_owned());
        let mut answers = Vec::new();
        for (place, provider) in self.wanted(options).enumerate() {
            let name = provider.name().to_owned();
            match provider.lookup(&id).await {
                Ok(Some(hit)) => {
                    let is_enough = has_text(&hit);
                    answers.push(ProviderAnswer {
                        place: (0, place),
                        engine: name,
                        hits: vec![hit],
                    });
                    if is_enough {
                        break;
                    }
                }
                Ok(None) => {}
                Err(e) if e.kind().is_of_database() => return Err(e),
                Err(e) => errors.push(format!("provider {name}: {e}")),
            }
            errors.extend(provider.conditions());
        }
        // A provider may return a different work; only this DOI was requested.
        let is_it = |one: &Identified| WorkId::of(&one.hit).contains(&id);
        Ok(merge(answers).into_iter().find(is_it))
    }

    /// Reads a document for a task: the stored text, the user's file, the abstract, or the first of
    /// its addresses that returns a text.
    pub(super) async fn read_found(
        &self,
        one: &Identified,
        question: &ResearchQuestion,
        arrival: &Arrival,
    ) -> Result<LocateOutcome> {
        if let Some(url) = self.known_address(&one.hit)? {
            let known = Identified {
                hit: SearchHit {
                    url,
                    ..one.hit.clone()
                },
                ..one.clone()
            };
            return self.attempt(&known, question, arrival).await;
        }
        let mut first_need = None;
        let mut reasons: Vec<Error> = Vec::new();
        for url in addresses(one) {
            let there = Identified {
                hit: SearchHit {
                    url,
                    ..one.hit.clone()
                },
                ..one.clone()
            };
            match self.attempt(&there, question, arrival).await {
                Ok(LocateOutcome::NeedsAuth(need)) => first_need = first_need.or(Some(need)),
                Ok(read) => return Ok(read),
                Err(e) if is_final(e.kind()) => return Err(e),
                Err(e) => reasons.push(e),
            }
        }
        // Nothing could be read, but the known data of the work is kept.
        if let Some(id) = one.canonical_id() {
            self.graph
                .write(|w| record_work(w, &id, one, self.retractions.as_deref()))?;
        }
        match (first_need, reasons.len()) {
            (Some(need), _) => Ok(LocateOutcome::NeedsAuth(need)),
            (None, 1) => Err(reasons.remove(0)),
            (None, _) => {
                let said: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                Err(Error::new(ErrorKind::Pipeline, said.join("; ")))
            }
        }
    }

    async fn attempt(
        &self,
        one: &Identified,
        question: &ResearchQuestion,
        arrival: &Arrival,
    ) -> Result<LocateOutcome> {
        let outcome = self
            .read_page(&one.hit.url, Some(one), question, arrival)
            .await?;
        Ok(match outcome {
            PageOutcome::Read(page) => LocateOutcome::Read(page),
            PageOutcome::NeedsAuth(need) => LocateOutcome::NeedsAuth(need),
        })
    }

    /// The address under which the text of this version is stored.
    fn known_address(&self, hit: &SearchHit) -> Result<Option<String>> {
        if hit.url.starts_with("file:") {
            return Ok(None);
        }
        self.graph.read(|r| {
            for key in identity(hit) {
                let Some((kind @ ("doi" | "pmid" | "arxiv"), value)) = key.split_once(':') else {
                    continue;
                };
                let Some(page_id) = r.page_by_identifier(kind, value)? else {
                    continue;
                };
                if r.latest_version(&page_id)?.is_some() {
                    return Ok(Some(r.page(&page_id)?.url));
                }
            }
            Ok(None)
        })
    }
}

/// Whether the text is available without fetching from the web.
fn has_text(hit: &SearchHit) -> bool {
    hit.abstract_text.is_some() || hit.url.starts_with("file:")
}

/// Whether an error would also occur with another address.
fn is_final(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Storage
            | ErrorKind::Busy
            | ErrorKind::BudgetExhausted
            | ErrorKind::TaskNotFound
            | ErrorKind::Internal
    )
}

/// The addresses at which a document may be read, best first, without duplicates.
fn addresses(one: &Identified) -> Vec<String> {
    let hit = &one.hit;
    if has_text(hit) {
        return vec![hit.url.clone()];
    }
    let others = [&hit.meta.url, &hit.facts.oa_url, &hit.facts.pdf_url];
    // A merged entry may have the address of another hit.
    let own = match page_key(&one.address) == hit.url {
        true => &one.address,
        false => &hit.url,
    };
    let mut addresses = vec![own.clone()];
    let mut keys = vec![page_key(own)];
    for url in others.into_iter().flatten() {
        let key = page_key(url);
        if !keys.contains(&key) {
            addresses.push(request_url(url).unwrap_or_else(|_| url.clone()));
            keys.push(key);
        }
    }
    addresses
}
