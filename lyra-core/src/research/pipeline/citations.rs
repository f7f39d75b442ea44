//! Turns references into `cites` edges: those that pages contain, and for the most important papers
//! those that providers know.

use super::StageOutcome;
use super::identify::{Identified, ProviderAnswer, identity, merge};
use super::stages::Pipeline;
use super::works::record_work;
use crate::error::Result;
use crate::ports::{TextRole, WorkId};
use crate::research::ingest::page_key;
use crate::store::graph::Writer;
use crate::store::model::{EdgeRecord, NodeKind, PageRecord, Reference, Relation, content_id};
use crate::store::text::url::{normalize_url, registrable_domain, request_url};
use serde::Serialize;

/// The result of a citation run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CitationReport {
    /// Pages whose references were processed.
    pub pages: usize,
    /// New edges.
    pub cites: usize,
    /// Pages known only because something cites them.
    pub placeholders: usize,
    /// Pages for which a provider was asked for references and answered. The job's output stores
    /// them, so that they are not asked for again.
    pub asked: Vec<String>,
    /// Providers that failed, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// Maximum number of references requested from a provider; the most relevant of them are linked.
const REFERENCES_ASKED: usize = 100;

/// A paper of the task whose references have not been requested yet.
struct Paper {
    page_id: String,
    id: WorkId,
}

impl Pipeline {
    /// Turns the references of the task's pages into edges. A cited work that is not known becomes
    /// a page without text, which `v_reference_candidates` lists.
    ///
    /// For the papers with the most claims of the task, providers are asked for the references, of
    /// which the most relevant are linked. A provider that fails is named in the report.
    pub async fn link_citations(
        &self,
        task_id: &str,
        cause_id: Option<&str>,
    ) -> Result<StageOutcome> {
        let page_ids = self.graph.read(|r| {
            r.task(task_id)?;
            r.task_page_ids(task_id)
        })?;
        let mut report = CitationReport::default();
        for page_id in page_ids {
            self.graph
                .write(|w| link_page(w, &page_id, cause_id, &mut report))?;
        }
        self.ask_for_references(task_id, cause_id, &mut report)
            .await?;
        let output = serde_json::to_value(report).unwrap_or_default();
        Ok(StageOutcome {
            output,
            ..StageOutcome::default()
        })
    }

    async fn ask_for_references(
        &self,
        task_id: &str,
        cause_id: Option<&str>,
        report: &mut CitationReport,
    ) -> Result<()> {
        if self.providers.is_empty() {
            return Ok(());
        }
        let papers = self.papers_to_ask(task_id)?;
        if papers.is_empty() {
            return Ok(());
        }
        let hypothesis = self.graph.read(|r| r.task(task_id))?.hypothesis;
        let vectors = self
            .reading
            .embedder
            .embed(&[&hypothesis], TextRole::Query)
            .await?;
        let question = vectors.into_iter().next().unwrap_or_default();
        for paper in papers {
            let failures = report.errors.len();
            let cited = self.references_of(&paper.id, &mut report.errors).await?;
            if cited.is_empty() {
                // After a failure, an empty result is not an answer, so another run may ask again.
                if report.errors.len() == failures {
                    report.asked.push(paper.page_id);
                }
                continue;
            }
            let chosen = self.most_relevant(cited, &question).await?;
            self.graph
                .write(|w| self.link_works(w, &paper.page_id, &chosen, cause_id, report))?;
            report.asked.push(paper.page_id);
        }
        Ok(())
    }

    /// Papers ordered by the number of their claims in the task, most first.
    fn papers_to_ask(&self, task_id: &str) -> Result<Vec<Paper>> {
        let limit = self.limits.cited_papers;
        let papers = self.graph.read(|r| r.papers_not_asked(task_id, limit))?;
        let known = papers.into_iter().filter_map(|paper| {
            let id = WorkId::parse(&paper.canonical_id).or_else(|| paper.doi.map(WorkId::Doi))?;
            Some(Paper {
                page_id: paper.page_id,
                id,
            })
        });
        Ok(known.collect())
    }

    /// The references of a work according to the first provider that knows them.
    async fn references_of(
        &self,
        id: &WorkId,
        errors: &mut Vec<String>,
    ) -> Result<Vec<Identified>> {
        for (place, provider) in self.providers.iter().enumerate() {
            match provider.references(id, REFERENCES_ASKED).await {
                Ok(hits) if hits.is_empty() => {}
                Ok(hits) => {
                    let answer = ProviderAnswer {
                        place: (0, place),
                        engine: provider.name().to_owned(),
                        hits,
                    };
                    return Ok(merge(vec![answer]));
                }
                Err(e) if e.kind().is_of_database() => return Err(e),
                Err(e) => errors.push(format!("provider {}: {e}", provider.name())),
            }
        }
        Ok(Vec::new())
    }

    /// The works that match the hypothesis and are cited often: half similarity, half the rank of
    /// their citation counts.
    async fn most_relevant(
        &self,
        cited: Vec<Identified>,
        question: &[f32],
    ) -> Result<Vec<Identified>> {
        let text_of = |one: &Identified| {
            let title = one.hit.title.as_deref().unwrap_or_default();
            let rest = one.hit.abstract_text.as_deref().unwrap_or_default();
            format!("{title}. {rest}")
        };
        let texts: Vec<String> = cited.iter().map(text_of).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = self
            .reading
            .embedder
            .embed(&texts, TextRole::Document)
            .await?;
        let counts: Vec<i64> = cited
            .iter()
            .map(|one| one.hit.facts.citation_count.unwrap_or(0))
            .collect();
        let impacts = percentiles(&counts);
        let mut scored: Vec<(f64, Identified)> = cited
            .into_iter()
            .zip(vectors.iter().zip(impacts))
            .map(|(one, (vector, impact))| {
                let cosine: f32 = vector.iter().zip(question).map(|(a, b)| a * b).sum();
                (relevance(f64::from(cosine), impact), one)
            })
            .collect();
        // The sort is stable: of equal works, the one earlier in the list comes first.
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        scored.truncate(self.limits.references_per_paper);
        Ok(scored.into_iter().map(|(_, one)| one).collect())
    }

    fn link_works(
        &self,
        w: &Writer<'_>,
        page_id: &str,
        cited: &[Identified],
        cause_id: Option<&str>,
        report: &mut CitationReport,
    ) -> Result<()> {
        for one in cited {
            let target = match known_page(w, one)? {
                Some(known) => known,
                None => {
                    report.placeholders += 1;
                    self.placeholder(w, one)?
                }
            };
            if target == page_id {
                continue;
            }
            let ends = ((NodeKind::Page, page_id), (NodeKind::Page, target.as_str()));
            let mut edge = EdgeRecord::between(ends.0, Relation::Cites, ends.1);
            edge.citation_source = Some(one.engine.clone());
            edge.cause_id = cause_id.map(str::to_owned);
            report.cites += usize::from(w.add_edge(&edge)?);
        }
        Ok(())
    }

    /// A page for a work that has not been read yet.
    fn placeholder(&self, w: &Writer<'_>, one: &Identified) -> Result<String> {
        let canonical_id = one.canonical_id();
        if let Some(id) = &canonical_id {
            record_work(w, id, one, self.retractions.as_deref())?;
        }
        let url = one.hit.url.clone();
        let page_id = w.put_page(&PageRecord {
            id: content_id("page_", &[&url]),
            domain: registrable_domain(&url),
            title: one.hit.title.clone(),
            page_type: Some("placeholder".to_owned()),
            canonical_id,
            url,
            ..PageRecord::default()
        })?;
        w.index_resource("url", &one.hit.url, &page_id, false)?;
        for (kind, value) in indexed_ids(one) {
            w.index_resource(&kind, &value, &page_id, false)?;
        }
        Ok(page_id)
    }
}

/// `0.5 · similarity + 0.5 · percentile of the citation count`.
fn relevance(similarity: f64, impact: f64) -> f64 {
    0.5 * similarity.clamp(0.0, 1.0) + 0.5 * impact
}

/// The percentile of each count, 0 for the least and 1 for the most; equal counts share their mean
/// rank. Logarithms would give the same order.
fn percentiles(counts: &[i64]) -> Vec<f64> {
    if counts.len() < 2 {
        return vec![0.5; counts.len()];
    }
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    #[allow(clippy::cast_precision_loss, reason = "a hundred references")]
    let place = |count: &i64| {
        let below = sorted.partition_point(|other| other < count) as f64;
        let equal = sorted.partition_point(|other| other <= count) as f64 - below;
        (below + (equal - 1.0) / 2.0) / (sorted.len() - 1) as f64
    };
    counts.iter().map(place).collect()
}

fn indexed_ids(one: &Identified) -> Vec<(String, String)> {
    let split = |key: String| {
        let (kind, value) = key.split_once(':')?;
        let is_indexed = matches!(kind, "doi" | "pmid" | "arxiv");
        is_indexed.then(|| (kind.to_owned(), value.to_owned()))
    };
    identity(&one.hit).into_iter().filter_map(split).collect()
}

fn known_page(w: &Writer<'_>, one: &Identified) -> Result<Option<String>> {
    for (kind, value) in indexed_ids(one) {
        if let Some(page) = w.reader().page_by_identifier(&kind, &value)? {
            return Ok(Some(page));
        }
    }
    Ok(w.reader().page_by_url(&one.hit.url)?.map(|page| page.id))
}

fn link_page(
    w: &Writer<'_>,
    page_id: &str,
    cause_id: Option<&str>,
    report: &mut CitationReport,
) -> Result<()> {
    let references = w.reader().page_references(page_id)?;
    report.pages += usize::from(!references.is_empty());
    for reference in references {
        let Some(cited) = resolve(w, &reference, report)? else {
            continue;
        };
        if cited == page_id {
            continue;
        }
        let mut edge = EdgeRecord::between(
            (NodeKind::Page, page_id),
            Relation::Cites,
            (NodeKind::Page, &cited),
        );
        edge.citation_source = Some(reference.source);
        edge.citation_context = reference.context;
        edge.cause_id = cause_id.map(str::to_owned);
        report.cites += usize::from(w.add_edge(&edge)?);
    }
    Ok(())
}

/// The page that a reference names; a placeholder if it has not been read yet.
fn resolve(
    w: &Writer<'_>,
    reference: &Reference,
    report: &mut CitationReport,
) -> Result<Option<String>> {
    let url = reference.url.as_deref().and_then(|u| normalize_url(u).ok());
    let known = match (&reference.doi, &url) {
        (Some(doi), _) => w.reader().page_by_identifier("doi", doi)?,
        (None, Some(url)) => w.reader().page_by_identifier("url", url)?,
        (None, None) => None,
    };
    if known.is_some() {
        return Ok(known);
    }
    let address = match (&reference.doi, url) {
        (Some(doi), _) => format!("https://doi.org/{doi}"),
        (None, Some(url)) => url,
        (None, None) => return Ok(None),
    };
    if let Some(page) = w.reader().page_by_url(&address)? {
        return Ok(Some(page.id));
    }
    let given = reference.url.as_deref().and_then(|u| request_url(u).ok());
    let page = PageRecord {
        id: content_id("page_", &[&address]),
        final_url: given.filter(|given| page_key(given) == address && *given != address),
        domain: registrable_domain(&address),
        title: reference.title.clone(),
        page_type: Some("placeholder".to_owned()),
        url: address,
        ..PageRecord::default()
    };
    w.put_page(&page)?;
    w.index_resource("url", &page.url, &page.id, false)?;
    if let Some(doi) = &reference.doi {
        w.index_resource("doi", doi, &page.id, false)?;
    }
    report.placeholders += 1;
    Ok(Some(page.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impacts_as_the_reference_has_them() {
        for (counts, expected) in [
            (vec![0], vec![0.5]),
            (vec![5, 5, 5, 5], vec![0.5; 4]),
            (vec![0, 0, 1, 1, 100], vec![0.125, 0.125, 0.625, 0.625, 1.0]),
            (vec![3, 1, 2], vec![1.0, 0.0, 0.5]),
            (vec![], vec![]),
        ] {
            assert_eq!(percentiles(&counts), expected, "{counts:?}");
        }
        assert!((relevance(0.8, 0.5) - 0.65).abs() < 1e-12);
        assert!((relevance(-0.3, 1.0) - 0.5).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn more_citations_never_rank_lower(counts in prop::collection::vec(0_i64..50, 2..20)) {
            let places = percentiles(&counts);
            for (a, x) in counts.iter().zip(&places) {
                prop_assert!((0.0..=1.0).contains(x));
                for (b, y) in counts.iter().zip(&places) {
                    prop_assert_eq!(a.cmp(b), x.total_cmp(y));
                }
            }
        }
    }
}
