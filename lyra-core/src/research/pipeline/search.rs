//! Processes targets: for a query, searches and reads the pages; for an address or a DOI, reads it.

use super::budget::Budget;
use super::identify::{Identified, ProviderAnswer, merge};
use super::locate::LocateOutcome;
use super::metrics::Harvest;
use super::options::SearchOptions;
use super::outcome::{AuthNeed, FollowUp, FoundClaim, SearchReport, StageOutcome};
use super::page::{Arrival, PageOutcome, PageReport};
use super::plan::expand;
use super::question::ResearchQuestion;
use super::stages::Pipeline;
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{SearchProvider, SearchQuery, TextRole};
use crate::store::graph::{HitFate, NewHit, Reader, SearchFigures, SearchRequest};
use crate::store::model::{JobKind, QueryStatus, Target, TaskPageReason, random_id};
use crate::store::text::url::is_of_domains;
use serde::Serialize;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Factor for the number of hits when a query is repeated: new results may rank below all known ones.
const DEPTH_OF_REPEAT: usize = 5;

/// The results from the pages of one search so far.
#[derive(Debug, Default)]
struct SearchProgress {
    harvest: Harvest,
    claims: Vec<FoundClaim>,
    /// Pages that a repeated query found again.
    known: u32,
    timed_out: bool,
    errors: Vec<String>,
}

impl SearchProgress {
    /// Counts a page that was read.
    fn take(&mut self, mut page: PageReport, url: &str, repeat: bool) -> HitFate {
        if repeat && !page.fresh_fragments.contains(&true) {
            page.fresh_fragments.clear();
            self.known += 1;
        }
        count(&mut self.harvest, &page);
        self.claims.extend(page.claims);
        let problems = page.problems.into_iter();
        self.errors
            .extend(problems.map(|why| format!("{url}: {why}")));
        HitFate {
            page_id: Some(page.page_id),
            ..HitFate::of("fetched", None)
        }
    }
}

impl Pipeline {
    /// Researches one target of a task.
    pub async fn run_target(
        &self,
        task_id: &str,
        target: &Target,
        options: &SearchOptions,
        cause_id: Option<&str>,
    ) -> Result<StageOutcome> {
        let follow_ups = [JobKind::VerifyNli, JobKind::CitationGraph].map(|kind| FollowUp { kind });
        let mut needs_auth = Vec::new();
        let output = match target {
            Target::Query { query } => {
                let report = self
                    .search_with(task_id, query, options, cause_id, &mut needs_auth)
                    .await?;
                to_json(&report)
            }
            Target::Url { url, depth, reason } => {
                let arrival = Arrival {
                    reason: reason_of(reason.as_deref()),
                    depth: *depth,
                };
                let mut question = self.question(task_id, "", cause_id).await?;
                question.refresh = options.refresh;
                let reading = self.read_one(url, &question, &arrival, &mut needs_auth);
                self.in_time(task_id, reading).await?
            }
            Target::Doi { doi, depth, reason } => {
                let arrival = Arrival {
                    reason: reason_of(reason.as_deref()),
                    depth: *depth,
                };
                let reading =
                    self.read_doi(task_id, doi, options, &arrival, cause_id, &mut needs_auth);
                self.in_time(task_id, reading).await?
            }
        };
        let is_blocked =
            !needs_auth.is_empty() && output["pages_fetched"].as_u64().unwrap_or(0) == 0;
        Ok(StageOutcome {
            output,
            follow_ups: follow_ups.to_vec(),
            needs_auth,
            is_blocked,
        })
    }

    /// Searches all providers for a query and reads what they find.
    ///
    /// The ids in the report are those in the database.
    pub async fn search(
        &self,
        task_id: &str,
        query: &str,
        options: &SearchOptions,
    ) -> Result<SearchReport> {
        self.search_with(task_id, query, options, None, &mut Vec::new())
            .await
    }

    /// Moves hits from the task's preferred domains to the front.
    fn preferred_first(&self, task_id: &str, found: Vec<Identified>) -> Result<Vec<Identified>> {
        let preferred = self.graph.read(|r| r.task_config(task_id))?;
        let preferred = preferred.priority_domains;
        let is_first = self.graph.read(|r| {
            let first = found
                .iter()
                .map(|hit| is_preferred(r, &hit.hit.url, &preferred));
            first.collect::<Result<Vec<bool>>>()
        })?;
        // The order within the preferred hits, and within the rest, is kept.
        let marked = found.into_iter().zip(is_first);
        let (first, rest): (Vec<_>, Vec<_>) = marked.partition(|(_, is_first)| *is_first);
        Ok(first.into_iter().chain(rest).map(|(hit, _)| hit).collect())
    }

    async fn search_with(
        &self,
        task_id: &str,
        query: &str,
        options: &SearchOptions,
        cause_id: Option<&str>,
        needs_auth: &mut Vec<AuthNeed>,
    ) -> Result<SearchReport> {
        self.check_budget(task_id)?;
        let mut question = self.question(task_id, query, cause_id).await?;
        question.refresh = options.refresh;
        let search_id = random_id("s_", 12);
        self.graph
            .write(|w| w.open_search(&search_id, task_id, query, cause_id))?;
        let (mut errors, mut asked) = (Vec::new(), Vec::new());
        let found = self.find(query, options, &mut errors, &mut asked);
        let found = self.in_time(task_id, found).await;
        if found.is_err() {
            self.graph.write(|w| w.log_requests(&search_id, &asked))?;
            self.close_query(&search_id, &Harvest::default(), QueryStatus::Failed)?;
        }
        let found = found?;
        let found = self.preferred_first(task_id, found)?;
        self.log_hits(&search_id, &found, &asked)?;
        let mut reading = SearchProgress {
            errors,
            ..SearchProgress::default()
        };
        self.read_hits(
            &search_id,
            found,
            &question,
            options,
            &mut reading,
            needs_auth,
        )
        .await?;
        let SearchProgress {
            harvest,
            claims,
            timed_out,
            errors,
            ..
        } = reading;
        let status = if timed_out {
            QueryStatus::Timeout
        } else {
            harvest.status()
        };
        self.close_query(&search_id, &harvest, status)?;
        Ok(SearchReport {
            ok: true,
            search_id,
            query: query.to_owned(),
            status,
            pages_fetched: harvest.pages,
            useful_fragments: harvest.useful,
            harvest_rate: harvest.harvest_rate(),
            claims_found: claims,
            satisfaction_score: harvest.satisfaction(),
            novelty_score: harvest.novelty(),
            budget_remaining: self.budget(task_id)?.remaining(),
            errors,
        })
    }

    /// Reads the hits, best first, until a budget is used up or nothing new is found.
    async fn read_hits(
        &self,
        search_id: &str,
        found: Vec<Identified>,
        question: &ResearchQuestion,
        options: &SearchOptions,
        progress: &mut SearchProgress,
        needs_auth: &mut Vec<AuthNeed>,
    ) -> Result<()> {
        let limit = options.budget_pages.unwrap_or(self.limits.pages_per_query);
        let read_before = self.read_before(question)?;
        let found = match options.refresh {
            true => self.without_passed_over(found, limit as usize, search_id, question)?,
            false => found,
        };
        for identified in found {
            let budget = self.budget(&question.task_id)?;
            progress.timed_out = budget.seconds_used >= budget.seconds_limit;
            let harvest = &progress.harvest;
            if harvest.pages - progress.known >= limit
                || budget.is_exhausted()
                || harvest.is_stale()
            {
                break;
            }
            let url = &identified.hit.url;
            let fate = match self.read_hit(&identified, question).await {
                Ok(None) => HitFate::of("excluded", None),
                Ok(Some(LocateOutcome::Read(mut page))) => {
                    // Pages that this job read before it was killed do not count as a sign of exhaustion.
                    if read_before.contains(url) {
                        page.fresh_fragments.fill(true);
                    }
                    progress.take(*page, url, options.refresh)
                }
                Ok(Some(LocateOutcome::NeedsAuth(need))) => {
                    let fate = HitFate::of("needs_auth", Some(need.auth_type.clone()));
                    needs_auth.push(need);
                    fate
                }
                Err(e) if e.kind().is_of_database() => return Err(e),
                Err(e) if e.kind() == ErrorKind::BudgetExhausted => {
                    progress.timed_out = self.budget(&question.task_id)?.time_left().is_zero();
                    break;
                }
                Err(e) => {
                    progress.errors.push(format!("{url}: {e}"));
                    HitFate::of("failed", Some(e.message().to_owned()))
                }
            };
            self.graph.write(|w| w.mark_hit(search_id, url, &fate))?;
        }
        Ok(())
    }

    /// Reads a hit; none if people have excluded it.
    async fn read_hit(
        &self,
        hit: &Identified,
        question: &ResearchQuestion,
    ) -> Result<Option<LocateOutcome>> {
        let (url, work) = (&hit.hit.url, hit.canonical_id());
        let is_excluded =
            |r: &Reader<'_>| r.is_excluded_hit(&question.task_id, url, work.as_deref());
        if self.graph.read(is_excluded)? {
            return Ok(None);
        }
        let arrival = Arrival {
            reason: self.reason_of_hit(hit),
            depth: 0,
        };
        let reading = self.read_found(hit, question, &arrival);
        self.in_time(&question.task_id, reading).await.map(Some)
    }

    fn reason_of_hit(&self, found: &Identified) -> TaskPageReason {
        let provider = self.providers.iter().find(|p| p.name() == found.engine);
        match provider {
            Some(provider) if provider.is_academic() => TaskPageReason::AcademicApi,
            _ => TaskPageReason::Search,
        }
    }

    /// Asks all providers concurrently. A failed provider is reported; it is an error if all fail.
    async fn find(
        &self,
        query: &str,
        options: &SearchOptions,
        errors: &mut Vec<String>,
        asked: &mut Vec<SearchRequest>,
    ) -> Result<Vec<Identified>> {
        let providers = self.chosen_providers(options)?;
        let depth = if options.refresh { DEPTH_OF_REPEAT } else { 1 };
        let mut searches = JoinSet::new();
        for (order, text) in expand(query, options.refute).into_iter().enumerate() {
            for (place, provider) in providers.iter().enumerate() {
                let provider = Arc::clone(provider);
                let query = SearchQuery {
                    text: text.clone(),
                    limit: self.limits.hits_per_query * depth,
                };
                searches.spawn(async move {
                    let answer = provider.search(&query).await;
                    let request = SearchRequest::of(provider.name(), query.text, &answer);
                    ((order, place), request, answer)
                });
            }
        }
        let mut answers = Vec::with_capacity(searches.len());
        let (mut failures, mut requests) = (Vec::new(), Vec::new());
        while let Some(joined) = searches.join_next().await {
            let (place, request, answer) = match joined {
                Ok(answered) => answered,
                Err(e) => {
                    failures.push(((usize::MAX, 0), format!("a provider gave up: {e}")));
                    continue;
                }
            };
            let engine = request.provider.clone();
            requests.push((place, request));
            match answer {
                Ok(hits) => answers.push(ProviderAnswer {
                    place,
                    engine,
                    hits,
                }),
                Err(e) => failures.push((place, format!("provider {engine}: {e}"))),
            }
        }
        requests.sort_by_key(|(place, _)| *place);
        asked.extend(requests.into_iter().map(|(_, request)| request));
        // Providers answer in any order, which must not affect the list or the merge.
        failures.sort();
        errors.extend(failures.into_iter().map(|(_, failure)| failure));
        errors.extend(providers.iter().flat_map(|provider| provider.conditions()));
        if answers.is_empty() {
            return Err(Error::new(
                ErrorKind::Backend,
                format!("no search provider answered: {}", errors.join("; ")),
            ));
        }
        Ok(merge(answers))
    }

    fn chosen_providers(&self, options: &SearchOptions) -> Result<Vec<Arc<dyn SearchProvider>>> {
        self.check_names(options)?;
        let chosen: Vec<_> = self.wanted(options).cloned().collect();
        if chosen.is_empty() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "there is nothing to search: no provider is configured",
            )
            .with_hint(
                "point --corpus at a folder of documents, or queue addresses instead of queries",
            ));
        }
        Ok(chosen)
    }

    /// Rejects unknown providers; the error lists the configured ones.
    pub(super) fn check_names(&self, options: &SearchOptions) -> Result<()> {
        self.check_providers(&options.providers)
    }

    /// Rejects names of providers that are not configured; the error lists the configured ones.
    pub fn check_providers(&self, wanted: &[String]) -> Result<()> {
        let names: Vec<&str> = self.providers.iter().map(|p| p.name()).collect();
        match wanted.iter().find(|name| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some(unknown) if names.is_empty() => Err(Error::invalid(format!(
                "no provider {unknown:?}; none is configured"
            ))),
            Some(unknown) => Err(Error::invalid(format!(
                "no provider {unknown:?}; there are: {}",
                names.join(", ")
            ))),
        }
    }

    /// The providers that a target may use.
    pub(super) fn wanted<'a>(
        &'a self,
        options: &'a SearchOptions,
    ) -> impl Iterator<Item = &'a Arc<dyn SearchProvider>> {
        let is_wanted = |p: &&Arc<dyn SearchProvider>| {
            options.providers.is_empty() || options.providers.iter().any(|name| name == p.name())
        };
        self.providers.iter().filter(is_wanted)
    }

    async fn read_one(
        &self,
        url: &str,
        question: &ResearchQuestion,
        arrival: &Arrival,
        needs_auth: &mut Vec<AuthNeed>,
    ) -> Result<serde_json::Value> {
        self.check_budget(&question.task_id)?;
        match self.read_page(url, None, question, arrival).await? {
            PageOutcome::Read(page) => Ok(report_of(&page)),
            PageOutcome::NeedsAuth(need) => {
                needs_auth.push(need);
                Ok(serde_json::json!({ "url": url, "needs_auth": true }))
            }
        }
    }

    /// Reads the document of a DOI: with the data of a provider that knows it, otherwise from the
    /// DOI resolver.
    async fn read_doi(
        &self,
        task_id: &str,
        doi: &str,
        options: &SearchOptions,
        arrival: &Arrival,
        cause_id: Option<&str>,
        needs_auth: &mut Vec<AuthNeed>,
    ) -> Result<serde_json::Value> {
        self.check_budget(task_id)?;
        let mut errors = Vec::new();
        let found = self.look_up_doi(doi, options, &mut errors).await?;
        let found = found.unwrap_or_else(|| Identified::doi(doi));
        let mut question = self.question(task_id, "", cause_id).await?;
        question.refresh = options.refresh;
        let mut output = match self.read_found(&found, &question, arrival).await {
            Ok(LocateOutcome::Read(page)) => {
                errors.extend(page.problems.iter().cloned());
                report_of(&page)
            }
            Ok(LocateOutcome::NeedsAuth(need)) => {
                let url = need.url.clone();
                needs_auth.push(need);
                serde_json::json!({ "url": url, "needs_auth": true })
            }
            // The providers' errors are part of the reason why the text is missing.
            Err(e) if errors.is_empty() => return Err(e),
            Err(e) => return Err(e.context(errors.join("; "))),
        };
        if !errors.is_empty() {
            output["errors"] = to_json(&errors);
        }
        Ok(output)
    }

    async fn question(
        &self,
        task_id: &str,
        query: &str,
        cause_id: Option<&str>,
    ) -> Result<ResearchQuestion> {
        let hypothesis = self.graph.read(|r| r.task(task_id))?.hypothesis;
        let text = format!("{hypothesis} {query}");
        let vectors = self
            .reading
            .embedder
            .embed(&[&text], TextRole::Query)
            .await?;
        Ok(ResearchQuestion {
            task_id: task_id.to_owned(),
            hypothesis,
            query: query.to_owned(),
            vector: vectors.into_iter().next().unwrap_or_default(),
            cause_id: cause_id.map(str::to_owned),
            refresh: false,
        })
    }

    fn budget(&self, task_id: &str) -> Result<Budget> {
        let now = self.graph.clock().now_ms();
        self.graph.read(|r| Budget::of(r, task_id, now))
    }

    fn check_budget(&self, task_id: &str) -> Result<()> {
        let budget = self.budget(task_id)?;
        match budget.is_exhausted() {
            true => Err(exhausted(&budget)),
            false => Ok(()),
        }
    }

    /// Runs work within the task's remaining time. Work that takes longer is cancelled, and no part
    /// of it is stored.
    async fn in_time<T>(&self, task_id: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let left = self.budget(task_id)?.time_left();
        match tokio::time::timeout(left, work).await {
            Ok(done) => done,
            Err(_) => Err(exhausted(&self.budget(task_id)?)),
        }
    }

    fn log_hits(
        &self,
        search_id: &str,
        found: &[Identified],
        asked: &[SearchRequest],
    ) -> Result<()> {
        self.graph.write(|w| {
            w.log_requests(search_id, asked)?;
            for (rank, one) in (1_i64..).zip(found) {
                let work_id = one.canonical_id();
                w.log_hit(&NewHit {
                    search_id,
                    engine: &one.engine,
                    rank,
                    url: &one.hit.url,
                    title: one.hit.title.as_deref(),
                    snippet: one.hit.snippet.as_deref(),
                    published_date: one.hit.meta.published_date.as_deref(),
                    work_id: work_id.as_deref(),
                    found_by: &one.found_by,
                })?;
            }
            Ok(())
        })
    }

    fn close_query(&self, search_id: &str, harvest: &Harvest, status: QueryStatus) -> Result<()> {
        self.graph.write(|w| {
            w.close_search(
                search_id,
                status,
                &SearchFigures {
                    pages: harvest.pages,
                    useful: harvest.useful,
                    harvest_rate: harvest.harvest_rate(),
                    satisfaction: harvest.satisfaction(),
                    novelty: harvest.novelty(),
                },
            )
        })
    }
}

fn count(harvest: &mut Harvest, page: &PageReport) {
    let fresh = page.fresh_fragments.iter().copied();
    harvest.add_page(page.chars, Some(&page.source), page.is_primary, fresh);
}

fn report_of(page: &PageReport) -> serde_json::Value {
    let mut report = serde_json::json!({
        "url": page.url, "page_id": page.page_id, "fragments": page.fresh_fragments.len(),
        "claims_found": to_json(&page.claims),
    });
    if !page.problems.is_empty() {
        report["errors"] = to_json(&page.problems);
    }
    report
}

fn reason_of(reason: Option<&str>) -> TaskPageReason {
    reason
        .and_then(|r| r.parse().ok())
        .unwrap_or(TaskPageReason::Manual)
}

fn to_json(value: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn exhausted(budget: &Budget) -> Error {
    Error::new(
        ErrorKind::BudgetExhausted,
        format!(
            "the budget is used up: {} of {} pages, {} of {} seconds",
            budget.pages_used, budget.pages_limit, budget.seconds_used, budget.seconds_limit
        ),
    )
    .with_hint("explore what is there, or create a task with a larger budget")
}

/// Whether an address, or the address that a local file states as its own, belongs to one of the domains.
fn is_preferred(reader: &Reader<'_>, url: &str, domains: &[String]) -> Result<bool> {
    if domains.is_empty() || is_of_domains(url, domains) {
        return Ok(true);
    }
    let domain = reader.page_by_url(url)?.and_then(|page| page.domain);
    Ok(domain.is_some_and(|domain| is_of_domains(&format!("https://{domain}/"), domains)))
}
