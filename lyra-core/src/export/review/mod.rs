//! The review of a task: the flow of its records, what is new and why, how it searched, who
//! screened, and the work of machines. Everything is counted from stored rows at the time of the
//! call.

mod atom;
mod flow;
mod log;
mod machines;
mod parts;
mod text;

pub use log::ChangeEvent;
pub use parts::{
    FlowBox, MachineItem, NewerVersion, Review, ReviewRun, ScreeningEvent, SearchLine,
};

use crate::error::{Error, Result};
use crate::store::diff_since;
use crate::store::graph::{EvidenceGraph, Reader};
use crate::store::views::{ViewCatalog, ViewParams};

/// The start of the period for which a review reports changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewSince<'a> {
    /// The start of the last run of research.
    LastRun,
    /// A day (`2026-11-01`) or a time (RFC 3339).
    Time(&'a str),
}

impl<'a> ReviewSince<'a> {
    /// Parses `last`, a day or a time; `None` means `last`.
    pub fn parse(text: Option<&'a str>) -> Self {
        match text {
            None | Some("last") => Self::LastRun,
            Some(time) => Self::Time(time),
        }
    }
}

/// The formats of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewFormat {
    /// For a terminal.
    Text,
    /// For a report.
    Markdown,
    /// For programs.
    Json,
    /// The changes as an Atom feed.
    Atom,
    /// The flow diagram.
    Svg,
}

impl ReviewFormat {
    /// All formats, with their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("text", Self::Text),
        ("markdown", Self::Markdown),
        ("json", Self::Json),
        ("atom", Self::Atom),
        ("svg", Self::Svg),
    ];
}

impl std::str::FromStr for ReviewFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            Error::invalid(format!("there is no format {name:?} of a review"))
                .with_hint(format!("expected one of {names}"))
        })
    }
}

impl Review {
    /// Writes the review in a format.
    ///
    /// # Errors
    /// No stored graph leads to an error; `Internal` if JSON cannot be written.
    pub fn write_as(&self, format: ReviewFormat) -> Result<String> {
        match format {
            ReviewFormat::Text => Ok(text::plain(self)),
            ReviewFormat::Markdown => Ok(text::markdown(self)),
            ReviewFormat::Json => serde_json::to_string_pretty(self)
                .map_err(|e| Error::internal("a review is not JSON").with_source(e)),
            ReviewFormat::Atom => Ok(atom::feed(self)),
            ReviewFormat::Svg => Ok(flow::svg(&self.hypothesis, &self.flow)),
        }
    }
}

/// The flow diagram of a task, for other exports; `None` if the log contains no run.
pub(crate) fn diagram(reader: &Reader<'_>, task_id: &str) -> Result<Option<String>> {
    if runs(reader, task_id)?.is_empty() {
        return Ok(None);
    }
    let hypothesis = reader.task(task_id)?.hypothesis;
    Ok(Some(flow::svg(&hypothesis, &flow_boxes(reader, task_id)?)))
}

/// The flow of a task as a Markdown list; empty if the log contains no run.
pub(super) fn flow_in_markdown(reader: &Reader<'_>, task_id: &str) -> Result<String> {
    match runs(reader, task_id)?.is_empty() {
        true => Ok(String::new()),
        false => Ok(text::flow_in_markdown(&flow_boxes(reader, task_id)?)),
    }
}

/// The review of a task in the current state of the graph.
pub(crate) fn review(
    graph: &EvidenceGraph,
    task_id: &str,
    since: ReviewSince<'_>,
) -> Result<Review> {
    let (hypothesis, created_at) = graph.read(|r| {
        let task = r.task(task_id)?;
        Ok((task.hypothesis, task.created_at))
    })?;
    let runs = graph.read(|r| runs(r, task_id))?;
    let last = runs.last().map(|run| run.began_at.clone());
    let last = last.or(created_at).unwrap_or_default();
    let since = match since {
        ReviewSince::LastRun => last.as_str(),
        ReviewSince::Time(time) => time,
    };
    let changes = diff_since(graph, since, Some(task_id))?;
    let from = changes.before.clone();
    graph.read(|r| {
        let list = r.screening_list(task_id, None)?;
        let disputed = list.sources.into_iter().filter(|source| source.is_disputed);
        Ok(Review {
            task_id: task_id.to_owned(),
            hypothesis,
            runs,
            flow: flow_boxes(r, task_id)?,
            changes,
            newer_versions: newer_versions(r, task_id, &from)?,
            screenings: screenings(r, task_id, &from)?,
            agreement: list.agreement,
            disputed: disputed.map(|source| source.url).collect(),
            searches: searches(r, task_id)?,
            machines: machines::items(r, task_id)?,
            log: log::events(r, task_id)?,
        })
    })
}

fn runs(reader: &Reader<'_>, task_id: &str) -> Result<Vec<ReviewRun>> {
    let sql = "SELECT coalesce(wave, 0) AS run, min(created_at), max(finished_at), sum(kind = 'target_queue')
      FROM jobs WHERE task_id = ?1 GROUP BY run HAVING sum(kind = 'target_queue') > 0 ORDER BY run";
    reader.select(sql, (task_id,), |row| {
        Ok(ReviewRun {
            wave: row.get(0)?,
            began_at: row.get(1)?,
            ended_at: row.get(2)?,
            targets: row.get(3)?,
        })
    })
}

/// The boxes of `v_prisma`: one statement serves the view, the page and the review.
fn flow_boxes(reader: &Reader<'_>, task_id: &str) -> Result<Vec<FlowBox>> {
    let params = ViewParams::new(1970).with_task(task_id);
    let rendered = ViewCatalog::builtin()?.render("v_prisma", &params)?;
    let rows = reader.select(&rendered.sql, &[(":task_id", task_id)], |row| {
        let detail: Option<String> = row.named("detail")?;
        let records: i64 = row.named("records")?;
        let of_box = (row.named("wave")?, row.named("box")?);
        Ok((of_box, detail, records))
    })?;
    let mut boxes: Vec<FlowBox> = Vec::new();
    for ((wave, name), detail, records) in rows {
        match (detail, boxes.last_mut()) {
            (Some(detail), Some(last)) => last.details.push((detail, records)),
            _ => boxes.push(FlowBox {
                wave,
                name,
                records,
                details: Vec::new(),
            }),
        }
    }
    for one in &mut boxes {
        one.details
            .sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    }
    Ok(boxes)
}

fn newer_versions(reader: &Reader<'_>, task_id: &str, from: &str) -> Result<Vec<NewerVersion>> {
    let sql = "SELECT p.url, coalesce(w.title, p.title), n.url, e.created_at
      FROM task_pages t JOIN pages p ON p.id = t.page_id
        JOIN edges e ON e.source_id = p.id AND e.relation = 'cites' AND e.citation_source = 'superseded_by'
        JOIN pages n ON n.id = e.target_id LEFT JOIN works w ON w.canonical_id = p.canonical_id
      WHERE t.task_id = ?1 AND e.created_at >= ?2 ORDER BY e.created_at, p.url";
    reader.select(sql, (task_id, from), |row| {
        Ok(NewerVersion {
            url: row.get(0)?,
            title: row.get(1)?,
            newer_url: row.get(2)?,
            at: row.get(3)?,
        })
    })
}

fn screenings(reader: &Reader<'_>, task_id: &str, from: &str) -> Result<Vec<ScreeningEvent>> {
    let sql = "SELECT url, reviewer, decision, reason, is_final, decided_at FROM screenings
      WHERE task_id = ?1 AND decided_at >= ?2 ORDER BY revision, id";
    reader.select(sql, (task_id, from), |row| {
        Ok(ScreeningEvent {
            url: row.get(0)?,
            reviewer: row.get(1)?,
            decision: row.get(2)?,
            reason: row.get(3)?,
            is_final: row.get(4)?,
            at: row.get(5)?,
        })
    })
}

fn searches(reader: &Reader<'_>, task_id: &str) -> Result<Vec<SearchLine>> {
    let sql = "SELECT coalesce(j.wave, 0), coalesce(a.value ->> 'provider', (
          SELECT group_concat(DISTINCT s.engine) FROM serp_items s WHERE s.query_id = q.id), 'unknown'),
        coalesce(a.value ->> 'query', q.query_text), q.created_at,
        CASE WHEN q.requests_json IS NULL THEN (SELECT count(*) FROM serp_items s WHERE s.query_id = q.id)
          ELSE a.value ->> 'hits' END,
        a.value ->> 'error'
      FROM queries q LEFT JOIN jobs j ON j.id = q.cause_id
        LEFT JOIN json_each(coalesce(q.requests_json, '[{}]')) a
      WHERE q.task_id = ?1 ORDER BY q.created_at, q.rowid, a.key";
    reader.select(sql, (task_id,), |row| {
        Ok(SearchLine {
            wave: row.get(0)?,
            provider: row.get(1)?,
            query: row.get(2)?,
            at: row.get(3)?,
            hits: row.get(4)?,
            error: row.get(5)?,
        })
    })
}
