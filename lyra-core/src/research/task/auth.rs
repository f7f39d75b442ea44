//! Pages that a human must open first, and the answers of humans.

use super::targets::blocked_url;
use crate::error::{Error, Result};
use crate::ports::SiteSession;
use crate::research::jobs::resume_waiting;
use crate::store::graph::{
    AuthItem, AuthScope, DomainRules, EvidenceGraph, Reader, WaitingPage, Writer,
};
use crate::store::text::url::registrable_domain;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt;

/// Maximum length of a `Cookie` header; servers refuse longer ones.
const MAX_COOKIES: usize = 8_192;

/// What a human's answer refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthTarget {
    /// One item of the queue, by its id, and the same page if it waits more than once.
    Item(String),
    /// Every waiting page of a domain, in any task.
    Domain(String),
    /// Every waiting page of a task.
    Task(String),
}

/// The action of a human.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthAction {
    /// The challenge was passed: the waiting jobs run again, with the session if one is given.
    Complete(Option<Cookies>),
    /// The challenge was tried but not passed: the waiting jobs fail.
    NotPassed,
    /// The challenge was not tried: the waiting jobs fail.
    Skip,
}

/// The cookies of a human's session, in the form of a `Cookie` header. They are sent to their own
/// site and shown nowhere, not even in this type's `Debug` form.
///
/// ```
/// use lyra_core::Cookies;
/// let cookies = Cookies::parse("cf_clearance=abc; session=1")?;
/// assert!(!format!("{cookies:?}").contains("abc"));
/// let error = Cookies::parse("abc").unwrap_err();
/// assert!(!error.message().contains("abc"));
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Cookies(String);

impl Cookies {
    /// Parses `name=value; name=value`.
    ///
    /// # Errors
    /// If the header does not have that form, or is longer than 8,192 bytes. The message does not
    /// repeat it.
    pub fn parse(header: &str) -> Result<Self> {
        let header = header.trim();
        let well_formed = |pair: &str| {
            let name = pair.trim().split_once('=').map_or("", |(name, _)| name);
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && b != b',')
        };
        let is_plain = header.bytes().all(|b| (b' '..=b'~').contains(&b));
        if header.len() <= MAX_COOKIES
            && is_plain
            && header.trim_end_matches(';').split(';').all(well_formed)
        {
            return Ok(Self(header.to_owned()));
        }
        Err(Error::invalid(format!(
            "the cookies do not have the form of a Cookie header of at most {MAX_COOKIES} bytes"
        ))
        .with_hint("write them as the browser sends them: name=value; name=value"))
    }
}

impl fmt::Debug for Cookies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cookies(…)")
    }
}

/// The effects of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AuthResolution {
    /// Items that no longer wait.
    pub resolved_count: usize,
    /// Jobs that run again.
    pub requeued_count: usize,
    /// Jobs that were given up.
    pub failed_count: usize,
    /// The items.
    pub queue_ids: Vec<String>,
    /// Why nothing changed, or why pages that were opened are not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The items that wait for a human, of one task or of all, oldest first.
pub(crate) fn auth_items(reader: &Reader<'_>, task_id: Option<&str>) -> Result<Vec<AuthItem>> {
    let found = reader.waiting_pages(AuthScope::Open(task_id))?;
    Ok(found.into_iter().map(|waiting| waiting.item).collect())
}

/// Applies the human's answer in one transaction.
pub(crate) fn resolve_auth(
    graph: &EvidenceGraph,
    target: &AuthTarget,
    action: &AuthAction,
) -> Result<AuthResolution> {
    graph.write(|w| {
        let open = match open_items(&w.reader(), target)? {
            Ok(open) => open,
            Err(hint) => {
                return Ok(AuthResolution {
                    hint: Some(hint),
                    ..AuthResolution::default()
                });
            }
        };
        let (status, event) = match action {
            AuthAction::Complete(_) => ("completed", "auth_completed"),
            AuthAction::NotPassed => ("skipped", "auth_not_passed"),
            AuthAction::Skip => ("skipped", "auth_skipped"),
        };
        close(w, &open, status)?;
        if let AuthAction::Complete(Some(cookies)) = action {
            keep_session(w, &open, cookies)?;
        }
        let rules = w.reader().domain_rules()?;
        let mut resolution = AuthResolution::default();
        for waiting in &open {
            let outcome = settle(w, waiting, action, &rules)?;
            let item = &waiting.item;
            resolution.requeued_count += usize::from(outcome.requeued);
            resolution.failed_count += usize::from(outcome.failed);
            resolution.queue_ids.push(item.id.clone());
            let details = json!({ "domain": item.domain, "auth_type": item.auth_type,
                "requeued": outcome.requeued, "failed": outcome.failed, "blocked": outcome.blocked });
            let actor = w.actor_or("user");
            w.log_event(
                actor,
                event,
                Some(&item.task_id),
                Some(&item.id),
                &details,
            )?;
            if let Some(reason) = outcome.blocked {
                resolution.hint = Some(format!("{} is not read: {reason}", item.url));
            }
        }
        resolution.resolved_count = open.len();
        Ok(resolution)
    })
}

/// The outcome for the job of an item.
#[derive(Debug, Default)]
struct Settled {
    requeued: bool,
    failed: bool,
    /// Why the page is not read although a human has opened it.
    blocked: Option<String>,
}

/// Requeues the jobs that waited for the page, or gives them up.
fn settle(
    w: &Writer<'_>,
    waiting: &WaitingPage,
    action: &AuthAction,
    rules: &DomainRules,
) -> Result<Settled> {
    let WaitingPage { item, job_id } = waiting;
    let mut settled = Settled::default();
    let reason = match action {
        // The domain may have been blocked while the page waited.
        AuthAction::Complete(_) => match blocked_url(rules, &item.url) {
            None => {
                settled.requeued = resume_waiting(w, &item.task_id, job_id.as_deref(), &item.url)?;
                return Ok(settled);
            }
            Some(reason) => settled.blocked.insert(reason).clone(),
        },
        AuthAction::NotPassed | AuthAction::Skip => reason(item, action),
    };
    if let Some(job_id) = job_id {
        settled.failed = w.give_up_waiting_job(job_id, &reason)?;
    }
    Ok(settled)
}

fn reason(item: &AuthItem, action: &AuthAction) -> String {
    let what = match action {
        AuthAction::NotPassed => "was not passed",
        _ => "was skipped by a human",
    };
    format!("the {} gate of {} {what}", item.auth_type, item.domain)
}

/// The open items that an answer refers to, or why there are none.
fn open_items(
    reader: &Reader<'_>,
    target: &AuthTarget,
) -> Result<std::result::Result<Vec<WaitingPage>, String>> {
    let (all, what) = match target {
        AuthTarget::Item(id) => {
            let named = reader.waiting_pages(AuthScope::Item(id))?;
            let Some(item) = named.first().map(|waiting| &waiting.item) else {
                return Err(unknown(format!("no page waits under the id {id:?}")));
            };
            if !is_open(item) {
                let hint = format!("{id} is {} already; nothing was changed", item.status);
                return Ok(Err(hint));
            }
            let mut same_page = reader.waiting_pages(AuthScope::Task(&item.task_id))?;
            same_page.retain(|waiting| waiting.item.url == item.url);
            (same_page, String::new())
        }
        AuthTarget::Domain(given) => {
            let domain = registrable_domain(given).unwrap_or_else(|| given.to_lowercase());
            let all = reader.waiting_pages(AuthScope::Domain(&domain))?;
            if all.is_empty() {
                return Err(unknown(format!("no page of {domain:?} waits for a human")));
            }
            (all, format!("of {domain}"))
        }
        AuthTarget::Task(task_id) => {
            reader.task(task_id)?;
            let all = reader.waiting_pages(AuthScope::Task(task_id))?;
            (all, format!("of {task_id}"))
        }
    };
    let open: Vec<WaitingPage> = all.into_iter().filter(|w| is_open(&w.item)).collect();
    if open.is_empty() {
        return Ok(Err(format!(
            "no page {what} waits any more; nothing was changed"
        )));
    }
    Ok(Ok(open))
}

fn is_open(item: &AuthItem) -> bool {
    matches!(item.status.as_str(), "pending" | "in_progress")
}

fn unknown(message: String) -> Error {
    Error::not_found(message).with_hint("get_auth_queue lists what waits, with ids and domains")
}

fn close(w: &Writer<'_>, items: &[WaitingPage], status: &str) -> Result<()> {
    items
        .iter()
        .try_for_each(|waiting| w.close_auth(&waiting.item.id, status))
}

fn keep_session(w: &Writer<'_>, items: &[WaitingPage], cookies: &Cookies) -> Result<()> {
    let domains: BTreeSet<&str> = items.iter().map(|w| w.item.domain.as_str()).collect();
    let mut domains = domains.into_iter();
    let (Some(domain), None) = (domains.next(), domains.next()) else {
        return Err(Error::invalid(
            "session_data belongs to one site, but pages of several sites wait",
        )
        .with_hint("resolve each domain by itself, with its own session_data"));
    };
    let session = SiteSession {
        domain: domain.to_owned(),
        cookies: cookies.0.clone(),
        secure_only: items.iter().all(|w| w.item.url.starts_with("https:")),
    };
    let ids: Vec<&str> = items.iter().map(|w| w.item.id.as_str()).collect();
    w.keep_session(&session, &ids)
}

/// Gives up pages that no human handled in time; returns their number.
pub(crate) fn expire_auth(graph: &EvidenceGraph) -> Result<usize> {
    let now = graph.clock().now();
    let expired = AuthScope::Expired(&now);
    if graph.read(|r| r.waiting_pages(expired))?.is_empty() {
        return Ok(0);
    }
    graph.write(|w| {
        let late = w.reader().waiting_pages(expired)?;
        close(w, &late, "expired")?;
        for WaitingPage { item, job_id } in &late {
            let reason = format!(
                "nobody passed the {} gate of {} in time",
                item.auth_type, item.domain
            );
            let failed = match job_id {
                Some(job_id) => w.give_up_waiting_job(job_id, &reason)?,
                None => false,
            };
            let details = json!({ "domain": item.domain, "failed": failed });
            w.log_event(
                "system",
                "auth_expired",
                Some(&item.task_id),
                Some(&item.id),
                &details,
            )?;
        }
        Ok(late.len())
    })
}
