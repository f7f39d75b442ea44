//! One document for one task: read, select, extract, persist.

use super::AuthNeed;
use super::claims::{DraftClaim, Drafts, draft_claims};
use super::identify::Identified;
use super::metrics::is_primary_source;
use super::outcome::FoundClaim;
use super::question::ResearchQuestion;
use super::select::{PassageFeatures, select};
use super::source::source_of;
use super::stages::Pipeline;
use super::works::{abstract_document, known_meta, record_work};
use crate::clock::parse_ms;
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{FetchRequest, SiteSession, TextRole, Validators};
use crate::research::ingest::{PreparedDocument, Read, fresh_until, page_key, store, within};
use crate::security::url_policy::Refusal;
use crate::store::graph::{Reader, StoredFragment, Writer};
use crate::store::model::{
    AdoptionStatus, ClaimRecord, EdgeRecord, EmbeddingTarget, NodeKind, PageRecord, Relation,
    TaskPageReason, TaskPageRecord, content_id,
};
use std::time::Duration;

/// How a page was found for the task.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    pub(super) reason: TaskPageReason,
    pub(super) depth: u32,
}

/// The result of reading a page for a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageReport {
    /// The page.
    pub page_id: String,
    /// Its address.
    pub url: String,
    /// Characters of text.
    pub chars: usize,
    /// The source that the evidence counts for: publisher or venue, registrable domain, or the page
    /// itself. For a page that repeats the text of another page, the source of the other page.
    pub source: String,
    /// Whether the domain is that of a primary source.
    pub is_primary: bool,
    /// For each fragment, whether it is new to the task.
    pub fresh_fragments: Vec<bool>,
    /// Claims as stored.
    pub claims: Vec<FoundClaim>,
    /// Problems that did not make the page fail: a model that failed, claims that were rejected.
    pub problems: Vec<String>,
}

/// The outcome for a page.
#[derive(Debug)]
pub(super) enum PageOutcome {
    Read(Box<PageReport>),
    NeedsAuth(AuthNeed),
}

/// A document with everything that the later steps need, whether stored already or not.
struct Document {
    page: PageRecord,
    fragments: Vec<StoredFragment>,
    vectors: Vec<Vec<f32>>,
    /// Fragments whose vectors are new and not stored yet.
    unstored: Vec<usize>,
    fresh: Option<Box<PreparedDocument>>,
    /// Whether the server has just confirmed that the stored copy is current.
    is_confirmed: bool,
    /// How long the server allows the copy that it has just confirmed to be used.
    fresh_for: Option<Duration>,
}

impl Pipeline {
    /// Reads one page for a task, in one transaction. `known` is the data on the work from a
    /// provider, if one found the page.
    pub(super) async fn read_page(
        &self,
        url: &str,
        known: Option<&Identified>,
        question: &ResearchQuestion,
        arrival: &Arrival,
    ) -> Result<PageOutcome> {
        self.refuse_blocked(url, None, None)?;
        self.refuse_excluded(&question.task_id, url, known)?;
        let mut document = match self.document(url, known, question).await? {
            Ok(document) => document,
            Err(need) => return Ok(PageOutcome::NeedsAuth(need)),
        };
        // Checked again, because redirects and the publisher of a file are known only now.
        let page = &document.page;
        self.refuse_blocked(&page.url, page.final_url.as_deref(), page.domain.as_deref())?;
        let drafts =
            match question.refresh && document.fresh.is_none() && self.has_told(page, question)? {
                true => Drafts::default(),
                false => self.draft(&mut document, question).await?,
            };
        let texts: Vec<&str> = drafts.claims.iter().map(|d| d.text.as_str()).collect();
        let vectors = self
            .reading
            .embedder
            .embed(&texts, TextRole::Document)
            .await?;
        let report = self.graph.write(|w| {
            self.persist(w, &mut document, known)?;
            let mut report =
                self.persist_for_task(w, &document, question, arrival, (&drafts.claims, &vectors))?;
            report.problems.clone_from(&drafts.problems);
            w.settle_screening(&question.task_id)?;
            Ok(report)
        })?;
        Ok(PageOutcome::Read(Box::new(report)))
    }

    /// Whether this extractor has already extracted the claims of the newest text of a page for the task.
    fn has_told(&self, page: &PageRecord, question: &ResearchQuestion) -> Result<bool> {
        self.graph.read(|r| {
            let version = r.latest_version(&page.id)?;
            let extractor_id = self.extractor.extractor_id();
            r.has_claims_of((&page.id, version), &question.task_id, extractor_id)
        })
    }

    /// The claims of the passages relevant to the question.
    async fn draft(&self, document: &mut Document, question: &ResearchQuestion) -> Result<Drafts> {
        let fragments = std::mem::take(&mut document.fragments);
        let vectors = std::mem::take(&mut document.vectors);
        let text = format!("{} {}", question.hypothesis, question.query);
        let limits = self.limits;
        let own_weight = self.reading.embedder.info().fusion_weight_for(&text);
        let weight = limits.embedding_weight.unwrap_or(own_weight);
        let vector = question.vector.clone();
        let choosing = within(self.reading.text_time, "choosing passages", move || {
            let rows = fragments.iter().zip(&vectors);
            let passages: Vec<PassageFeatures<'_>> = rows
                .map(|(f, vector)| PassageFeatures {
                    kind: f.fragment_type,
                    text: &f.text,
                    vector,
                })
                .collect();
            let chosen = select(&passages, (&text, &vector), weight, &limits);
            Ok((chosen, fragments, vectors))
        });
        let chosen;
        (chosen, document.fragments, document.vectors) = choosing.await?;
        let chosen: Vec<&StoredFragment> = chosen.iter().map(|i| &document.fragments[*i]).collect();
        draft_claims(self, question, document.page.title.as_deref(), &chosen).await
    }

    /// Fails for domains that a human has blocked.
    fn refuse_blocked(
        &self,
        url: &str,
        final_url: Option<&str>,
        domain: Option<&str>,
    ) -> Result<()> {
        let rules = self.graph.read(|r| r.domain_rules())?;
        let Some(pattern) = rules.blocking_page(url, final_url, domain) else {
            return Ok(());
        };
        let address = url::Url::parse(final_url.unwrap_or(url))
            .map_err(|e| Error::invalid(format!("{url} is not an address: {e}")))?;
        let why = format!("the domain is blocked by the rule {}", pattern.as_str());
        Err(Refusal::BlockedDomain.error(&address, &why))
    }

    /// Fails for documents that people have excluded from the task.
    fn refuse_excluded(&self, task_id: &str, url: &str, known: Option<&Identified>) -> Result<()> {
        let work = known.and_then(Identified::canonical_id);
        let is_excluded =
            |r: &Reader<'_>| r.is_excluded_hit(task_id, &page_key(url), work.as_deref());
        match self.graph.read(is_excluded)? {
            false => Ok(()),
            true => Err(Error::invalid(format!("{url}: screening has excluded it"))
                .with_hint("include the source, and it can be read again")),
        }
    }

    /// The document at an address: the stored copy if it is current, otherwise a fresh one.
    async fn document(
        &self,
        url: &str,
        found: Option<&Identified>,
        question: &ResearchQuestion,
    ) -> Result<Result<Document, AuthNeed>> {
        let key = page_key(url);
        let (known, is_of_task, spelt) = self.graph.read(|r| {
            let (known, is_of_task) = stored_page(r, &key, &question.task_id)?;
            Ok((known, is_of_task, known_spelling(r, url, &key)?))
        })?;
        let url = spelt.as_deref().unwrap_or(url);
        let Some(page) = known else {
            return self.first_reading(url, found).await;
        };
        // A file is compared by its time, which is cheap. A task does not read a web page twice,
        // even after being stopped and resumed, unless it repeats the query.
        let is_file = url.starts_with("file:");
        let is_done = is_of_task && !question.refresh;
        if !is_file && (is_done || self.may_reuse(&page)) {
            return self.stored(page).await.map(Ok);
        }
        let request = FetchRequest {
            url: url.to_owned(),
            validators: Validators {
                etag: page.etag.clone(),
                last_modified: page.last_modified.clone(),
            },
            sessions: self.sessions(url)?,
        };
        let about = found.map(known_meta).unwrap_or_default();
        match self.reading.read_known(&request, about).await {
            Ok(Read::Fresh(document)) => Ok(Ok(Document::fresh(document))),
            Ok(Read::NotModified) => {
                let mut document = self.stored(page).await?;
                document.is_confirmed = !is_file;
                document.fresh_for = self.reading.lifetime(url);
                Ok(Ok(document))
            }
            Err(e) if is_file => Err(e),
            // The text of a page remains evidence even if its server does not answer now, requires
            // a human, or has removed the page.
            Ok(Read::NeedsAuth { .. }) | Err(_) => self.stored(page).await.map(Ok),
        }
    }

    /// Reads a document that is not stored: the abstract if a provider gave one, otherwise the
    /// response of its address.
    async fn first_reading(
        &self,
        url: &str,
        found: Option<&Identified>,
    ) -> Result<Result<Document, AuthNeed>> {
        if !url.starts_with("file:")
            && let Some((source, parsed)) = found.and_then(abstract_document)
        {
            let document = self.reading.prepare(source, parsed).await?;
            return Ok(Ok(Document::fresh(Box::new(document))));
        }
        let request = FetchRequest {
            url: url.to_owned(),
            validators: Validators::default(),
            sessions: self.sessions(url)?,
        };
        let about = found.map(known_meta).unwrap_or_default();
        match self.reading.read_known(&request, about).await? {
            Read::Fresh(document) => Ok(Ok(Document::fresh(document))),
            Read::NeedsAuth { auth_type, domain } => Ok(Err(AuthNeed {
                url: url.to_owned(),
                domain,
                auth_type,
            })),
            Read::NotModified => Err(Error::new(
                ErrorKind::Pipeline,
                format!("{url}: not modified, yet not stored"),
            )),
        }
    }

    /// The sessions that humans have opened. All are included, because redirects may lead to any of them.
    fn sessions(&self, url: &str) -> Result<Vec<SiteSession>> {
        if url.starts_with("file:") {
            return Ok(Vec::new());
        }
        self.graph.read(|r| r.site_sessions())
    }

    fn may_reuse(&self, page: &PageRecord) -> bool {
        // A freshness stated by the server, in this process or an earlier one, overrides the default.
        if let Some(until) = page.fresh_until.as_deref().and_then(parse_ms) {
            return self.graph.clock().now_ms() < until;
        }
        let fetched = page.fetched_at.as_deref().and_then(parse_ms);
        let age = fetched.and_then(|then| u64::try_from(self.graph.clock().now_ms() - then).ok());
        let method = page.fetch_method.as_deref();
        self.reading
            .may_reuse(&page.url, method, age.map(Duration::from_millis))
    }

    async fn stored(&self, page: PageRecord) -> Result<Document> {
        let model = self.reading.embedder.info().model_id.clone();
        let (fragments, vectors) = self.graph.read(|r| {
            let fragments = r.page_fragments(&page.id)?;
            let ids: Vec<&str> = fragments.iter().map(|f| f.id.as_str()).collect();
            let vectors = r.vectors_of(EmbeddingTarget::Fragment, &ids, &model)?;
            Ok((fragments, vectors))
        })?;
        let missing: Vec<usize> = (0..vectors.len())
            .filter(|i| vectors[*i].is_none())
            .collect();
        let texts: Vec<&str> = missing
            .iter()
            .map(|i| fragments[*i].text.as_str())
            .collect();
        let made = self
            .reading
            .embedder
            .embed(&texts, TextRole::Document)
            .await?;
        let mut vectors: Vec<Vec<f32>> =
            vectors.into_iter().map(Option::unwrap_or_default).collect();
        for (place, vector) in missing.iter().zip(made) {
            vectors[*place] = vector;
        }
        Ok(Document {
            page,
            fragments,
            vectors,
            unstored: missing,
            fresh: None,
            is_confirmed: false,
            fresh_for: None,
        })
    }

    /// Stores what is not stored yet.
    fn persist(
        &self,
        w: &Writer<'_>,
        document: &mut Document,
        found: Option<&Identified>,
    ) -> Result<()> {
        let own_id = document.page.canonical_id.clone();
        let canonical_id = own_id.or_else(|| found.and_then(Identified::canonical_id));
        if let (Some(id), Some(found)) = (&canonical_id, found) {
            record_work(w, id, found, self.retractions.as_deref())?;
            document.page.canonical_id = Some(id.clone());
        }
        self.persist_text(w, document)?;
        if let Some(id) = canonical_id {
            w.set_work_of_page(&document.page.id, &id)?;
            if let Some(retractions) = &self.retractions {
                retractions.mark(w, &id)?;
            }
        }
        Ok(())
    }

    fn persist_text(&self, w: &Writer<'_>, document: &mut Document) -> Result<()> {
        if let Some(fresh) = &mut document.fresh {
            store(w, fresh)?;
            document.page.id.clone_from(&fresh.page.id);
            for (fragment, prepared) in document.fragments.iter_mut().zip(&fresh.fragments) {
                fragment.id.clone_from(&prepared.record.id);
            }
        }
        if document.is_confirmed {
            document.page.fetched_at = Some(w.now().to_owned());
            document.page.fresh_until = fresh_until(w.now(), document.fresh_for);
            w.put_page(&document.page)?;
        }
        let model = &self.reading.embedder.info().model_id;
        for place in document.unstored.drain(..) {
            let vector = &document.vectors[place];
            if vector.iter().any(|v| *v != 0.0) {
                let id = &document.fragments[place].id;
                w.put_embedding(EmbeddingTarget::Fragment, id, model, vector)?;
            }
        }
        Ok(())
    }

    fn persist_for_task(
        &self,
        w: &Writer<'_>,
        document: &Document,
        question: &ResearchQuestion,
        arrival: &Arrival,
        (drafts, vectors): (&[DraftClaim], &[Vec<f32>]),
    ) -> Result<PageReport> {
        let page = &document.page;
        if w.reader().repeats_another(&question.task_id, &page.id)? {
            return Ok(PageReport {
                page_id: page.id.clone(),
                url: page.url.clone(),
                source: source_of(&w.reader(), &page.id)?,
                ..PageReport::default()
            });
        }
        let is_chased = arrival.reason == TaskPageReason::CitationChase;
        let citing = is_chased.then(|| w.reader().citing_page(&question.task_id, page));
        let is_new_here = w.add_task_page(&TaskPageRecord {
            task_id: question.task_id.clone(),
            page_id: page.id.clone(),
            reason: arrival.reason,
            depth: i64::from(arrival.depth),
            source_page_id: citing.transpose()?.flatten(),
        })?;
        // Checked here and not earlier, because another worker may have used the last page in the meantime.
        let limit = w.reader().task_config(&question.task_id)?.budget.max_pages;
        if is_new_here && w.reader().pages_used(&question.task_id)? > limit {
            let message = format!("the budget of {limit} pages is used up");
            return Err(Error::new(ErrorKind::BudgetExhausted, message)
                .with_hint("explore what is there, or create a task with a larger budget"));
        }
        let domain = page.domain.as_deref().unwrap_or("local");
        let is_primary = is_primary_source(domain);
        let said = w.reader().said_by_other_files(&question.task_id, page)?;
        let mut claims = Vec::with_capacity(drafts.len());
        let new = drafts.iter().zip(vectors);
        for (draft, vector) in new.filter(|(draft, _)| !said.contains(&draft.text)) {
            let fragment = document
                .fragments
                .iter()
                .find(|f| f.char_start == draft.fragment_start && f.text == draft.fragment_text)
                .ok_or_else(|| Error::internal("a claim names a fragment that is not there"))?;
            let id = self.add_claim(w, question, draft, fragment, vector)?;
            claims.push(FoundClaim {
                id,
                text: draft.text.clone(),
                confidence: draft.confidence,
                source_url: page.url.clone(),
                is_primary_source: is_primary,
            });
        }
        Ok(PageReport {
            page_id: page.id.clone(),
            url: page.url.clone(),
            chars: document
                .fragments
                .iter()
                .map(|f| f.text.chars().count())
                .sum(),
            source: source_of(&w.reader(), &page.id)?,
            is_primary,
            fresh_fragments: vec![is_new_here; document.fragments.len()],
            claims,
            problems: Vec::new(),
        })
    }

    fn add_claim(
        &self,
        w: &Writer<'_>,
        question: &ResearchQuestion,
        draft: &DraftClaim,
        fragment: &StoredFragment,
        vector: &[f32],
    ) -> Result<String> {
        // The id depends on page and words, not on the position: after a change elsewhere in the
        // document the claim stays the same.
        let id = content_id(
            "claim_",
            &[&question.task_id, &fragment.page_id, &draft.text],
        );
        let is_new = w.add_claim(&ClaimRecord {
            id: id.clone(),
            task_id: question.task_id.clone(),
            claim_text: draft.text.clone(),
            claim_type: draft.claim_type,
            granularity: Some("sentence".to_owned()),
            details_json: draft.details.clone(),
            llm_claim_confidence: Some(draft.confidence),
            extractor_id: Some(draft.extractor_id.clone()),
            claim_adoption_status: AdoptionStatus::Adopted,
            claim_rejection_reason: None,
            claim_rejected_at: None,
            created_at: None,
            cause_id: question.cause_id.clone(),
        })?;
        let ends = (
            (NodeKind::Fragment, fragment.id.as_str()),
            (NodeKind::Claim, id.as_str()),
        );
        let mut origin = EdgeRecord::between(ends.0, Relation::Origin, ends.1);
        origin.quote_start = Some(draft.quote.0);
        origin.quote_end = Some(draft.quote.1);
        origin.cause_id.clone_from(&question.cause_id);
        w.add_edge(&origin)?;
        if is_new && vector.iter().any(|v| *v != 0.0) {
            let model = &self.reading.embedder.info().model_id;
            w.put_embedding(EmbeddingTarget::Claim, &id, model, vector)?;
        }
        Ok(id)
    }
}

impl Document {
    fn fresh(prepared: Box<PreparedDocument>) -> Self {
        let fragments = prepared.fragments.iter().map(|f| StoredFragment {
            id: String::new(),
            page_id: prepared.page.id.clone(),
            fragment_type: f.record.fragment_type,
            text: f.record.text_content.clone(),
            heading: f.record.heading_context.clone(),
            char_start: f.record.char_start,
        });
        Self {
            page: prepared.page.clone(),
            fragments: fragments.collect(),
            vectors: prepared
                .fragments
                .iter()
                .map(|f| f.vector.clone())
                .collect(),
            unstored: Vec::new(),
            fresh: Some(prepared),
            is_confirmed: false,
            fresh_for: None,
        }
    }
}

/// The page with that address, if its text is stored, and whether it already belongs to the task.
fn stored_page(
    reader: &Reader<'_>,
    url: &str,
    task_id: &str,
) -> Result<(Option<PageRecord>, bool)> {
    let Some(page) = reader.page_by_url(url)? else {
        return Ok((None, false));
    };
    if reader.latest_version(&page.id)?.is_none() {
        return Ok((None, false));
    }
    let is_of_task = reader.is_task_page(task_id, &page.id)?;
    Ok((Some(page), is_of_task))
}

/// The address to request for a page that is given by its key, if the key is not an address that
/// was actually given.
fn known_spelling(reader: &Reader<'_>, url: &str, key: &str) -> Result<Option<String>> {
    if url != key {
        return Ok(None);
    }
    let page = reader.page_by_url(key)?;
    let spelt = page.and_then(|page| page.final_url);
    Ok(spelt.filter(|spelt| page_key(spelt) == key))
}
