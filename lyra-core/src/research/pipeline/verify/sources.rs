//! What verification reads: claims with where they come from, fragments with whom they speak for.

use super::direct::names_subject;
use crate::error::{Result, SqliteResultExt};
use crate::ports::StancePair;
use crate::store::graph::{DomainRules, RETIRED_JUDGES, Reader};
use crate::store::text::missing_headings;
use rusqlite::params;
use serde_json::json;
use std::collections::{HashMap, HashSet};

/// A claim with what tells its own sources from others.
pub(super) struct Subject {
    pub(super) claim_id: String,
    pub(super) text: String,
    /// Pages that it was read in; for a page that repeats another, that other.
    pages: HashSet<String>,
    /// The works of these pages.
    works: HashSet<String>,
}

/// A fragment that may say something about a claim.
pub(super) struct Candidate {
    pub(super) fragment_id: String,
    pub(super) text: String,
    pub(super) char_start: Option<i64>,
    /// The title of the document and the heading above the fragment, where they are known.
    pub(super) headings: Vec<String>,
    /// The page, or the one that it repeats.
    page_id: String,
    work_id: Option<String>,
    domain: String,
    url: String,
    final_url: Option<String>,
}

impl Subject {
    /// Evidence from a page or a work that a claim was read in says nothing new about it.
    pub(super) fn is_from(&self, candidate: &Candidate) -> bool {
        let work = candidate.work_id.as_ref();
        self.pages.contains(&candidate.page_id) || work.is_some_and(|w| self.works.contains(w))
    }

    pub(super) fn has_sources_of(&self, other: &Self) -> bool {
        self.pages == other.pages && self.works == other.works
    }

    /// What is left of `members` without the fragments of the claim's own sources: of a long
    /// document they would take every place among the claim's nearest.
    pub(super) fn others(
        &self,
        reader: &Reader<'_>,
        members: &HashSet<String>,
    ) -> Result<HashSet<String>> {
        let mut statement = reader
            .db
            .prepare_cached(
                "SELECT f.id FROM fragments f WHERE f.page_id IN (
                   SELECT value FROM json_each(?1)
                   UNION SELECT p.id FROM pages p
                     WHERE p.near_duplicate_of IN (SELECT value FROM json_each(?1))
                   UNION SELECT p.id FROM pages p
                     WHERE p.canonical_id IN (SELECT value FROM json_each(?2)))",
            )
            .db()?;
        let list = |ids: &HashSet<String>| json!(ids).to_string();
        let own = statement
            .query_map(params![list(&self.pages), list(&self.works)], |r| r.get(0))
            .db()?;
        let own: HashSet<String> = own.collect::<rusqlite::Result<_>>().db()?;
        Ok(members.difference(&own).cloned().collect())
    }
}

impl Candidate {
    pub(super) fn headings(&self) -> Vec<&str> {
        self.headings.iter().map(String::as_str).collect()
    }

    /// Whom the candidate counts for. Local files without a publisher, and what is known by its DOI
    /// alone, are each their own source: neither a disk nor a resolver publishes anything.
    pub(super) fn source(&self) -> String {
        if matches!(self.domain.as_str(), "local" | "doi.org") {
            self.page_id.clone()
        } else {
            self.domain.clone()
        }
    }

    pub(super) fn is_blocked(&self, rules: &DomainRules) -> bool {
        rules
            .blocking_page(&self.url, self.final_url.as_deref(), Some(&self.domain))
            .is_some()
    }
}

/// The adopted claims of a task, oldest first.
pub(super) fn subjects(reader: &Reader<'_>, task_id: &str) -> Result<Vec<Subject>> {
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT c.id, c.claim_text, coalesce(p.near_duplicate_of, p.id), p.canonical_id FROM claims c
               LEFT JOIN edges o ON o.target_id = c.id AND o.relation = 'origin'
               LEFT JOIN fragments f ON f.id = o.source_id
               LEFT JOIN pages p ON p.id = f.page_id
             WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted'
             ORDER BY c.seq",
        )
        .db()?;
    let mut rows = statement.query([task_id]).db()?;
    let mut subjects: Vec<Subject> = Vec::new();
    while let Some(row) = rows.next().db()? {
        let claim_id: String = row.get(0).db()?;
        if subjects.last().is_none_or(|s| s.claim_id != claim_id) {
            subjects.push(Subject {
                claim_id,
                text: row.get(1).db()?,
                pages: HashSet::new(),
                works: HashSet::new(),
            });
        }
        if let Some(subject) = subjects.last_mut() {
            subject.pages.extend(row.get::<_, Option<String>>(2).db()?);
            subject.works.extend(row.get::<_, Option<String>>(3).db()?);
        }
    }
    Ok(subjects)
}

/// A claim that is to be judged against the hypothesis.
pub(super) struct Unjudged {
    pub(super) id: String,
    text: String,
    /// The sentence before, where the claim points back to it; the title of the document and the heading
    /// above the claim, where they are known.
    headings: Vec<String>,
    /// The passage that it stands in.
    passage: String,
}

impl Unjudged {
    pub(super) fn names_subject(&self, hypothesis: &str) -> bool {
        let told = format!("{} {} {}", self.headings.join(" "), self.text, self.passage);
        names_subject(hypothesis, &told)
    }

    pub(super) fn pair(&self, hypothesis: &str) -> StancePair {
        let headings: Vec<&str> = self.headings.iter().map(String::as_str).collect();
        let context = missing_headings(&self.text, &headings, hypothesis);
        StancePair {
            context: (!context.is_empty()).then_some(context),
            ..StancePair::new(&self.text, hypothesis)
        }
    }
}

/// The adopted claims of a task that no judge has placed; or that `judge` has not, if one is named.
pub(super) fn claims_without_stance(
    reader: &Reader<'_>,
    task_id: &str,
    judge: Option<&str>,
) -> Result<Vec<Unjudged>> {
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT c.id, c.claim_text, coalesce(p.title, w.title), f.heading_context,
               json_extract(c.details_json, '$.preceded_by'), f.text_content
             FROM claims c
               LEFT JOIN hypothesis_stances s ON s.claim_id = c.id AND s.judge_id NOT LIKE ?3
                 AND s.judge_id NOT LIKE ?4
                 AND (s.judge_id = ifnull(?2, s.judge_id) OR s.judge_id = 'human' OR s.judge_id GLOB 'agent:*')
               LEFT JOIN edges o ON o.id = (SELECT min(e.id) FROM edges e WHERE e.target_id = c.id AND e.relation = 'origin')
               LEFT JOIN fragments f ON f.id = o.source_id
               LEFT JOIN pages p ON p.id = f.page_id
               LEFT JOIN works w ON w.canonical_id = p.canonical_id
             WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted' AND s.claim_id IS NULL
             ORDER BY c.seq",
        )
        .db()?;
    let [rules, first] = RETIRED_JUDGES;
    let rows = statement
        .query_map(params![task_id, judge, rules, first], |r| {
            let (title, heading): (Option<String>, Option<String>) = (r.get(2)?, r.get(3)?);
            let before: Option<String> = r.get(4)?;
            Ok(Unjudged {
                id: r.get(0)?,
                text: r.get(1)?,
                passage: r.get::<_, Option<String>>(5)?.unwrap_or_default(),
                headings: before.into_iter().chain(title).chain(heading).collect(),
            })
        })
        .db()?;
    rows.collect::<rusqlite::Result<_>>().db()
}

/// How sure the judge is of the side that each claim takes on the hypothesis; claims that take none are
/// left out.
pub(super) fn sides(reader: &Reader<'_>, task_id: &str) -> Result<HashMap<String, f64>> {
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT claim_id, confidence FROM hypothesis_stances
             WHERE task_id = ?1 AND relation IN ('supports', 'refutes')",
        )
        .db()?;
    let rows = statement
        .query_map([task_id], |r| Ok((r.get(0)?, r.get(1)?)))
        .db()?;
    rows.collect::<rusqlite::Result<_>>().db()
}

/// The readable fragments of the newest texts of the task's pages: of those that it has read, and of
/// those that edges lead from to its claims, as in a graph that was imported. Retracted works are no
/// evidence, nor is what people have excluded.
pub(crate) fn task_fragments(reader: &Reader<'_>, task_id: &str) -> Result<HashSet<String>> {
    let excluded = reader.excluded_pages(task_id)?;
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT f.id, p.id FROM pages p
               JOIN fragments f ON f.page_id = p.id
               LEFT JOIN works w ON w.canonical_id = p.canonical_id
             WHERE p.id IN (
                 SELECT page_id FROM task_pages WHERE task_id = ?1
                 UNION SELECT o.page_id FROM claims c
                   JOIN edges e ON e.target_id = c.id AND e.source_type = 'fragment' AND e.target_type = 'claim'
                   JOIN fragments o ON o.id = e.source_id
                 WHERE c.task_id = ?1)
               AND f.fragment_type NOT IN ('heading', 'code')
               AND coalesce(w.is_retracted, 0) = 0
               AND f.page_version IS (SELECT max(version) FROM page_texts t WHERE t.page_id = p.id)",
        )
        .db()?;
    let rows = statement
        .query_map([task_id], |r| Ok((r.get(0)?, r.get(1)?)))
        .db()?;
    let rows: Vec<(String, String)> = rows.collect::<rusqlite::Result<_>>().db()?;
    let kept = rows
        .into_iter()
        .filter(|(_, page)| !excluded.contains(page));
    Ok(kept.map(|(fragment, _)| fragment).collect())
}

pub(super) fn candidate(reader: &Reader<'_>, fragment_id: &str) -> Result<Candidate> {
    reader
        .db
        .prepare_cached(
            "SELECT f.id, f.text_content, f.char_start, coalesce(p.near_duplicate_of, p.id), p.canonical_id, coalesce(p.domain, 'local'),
               p.url, p.final_url, coalesce(p.title, w.title), f.heading_context
             FROM fragments f JOIN pages p ON p.id = f.page_id
               LEFT JOIN works w ON w.canonical_id = p.canonical_id
             WHERE f.id = ?1",
        )
        .db()?
        .query_row(params![fragment_id], |r| {
            let (title, heading): (Option<String>, Option<String>) = (r.get(8)?, r.get(9)?);
            let mut headings: Vec<String> = title.into_iter().chain(heading).collect();
            headings.dedup();
            Ok(Candidate {
                fragment_id: r.get(0)?,
                text: r.get(1)?,
                char_start: r.get(2)?,
                headings,
                page_id: r.get(3)?,
                work_id: r.get(4)?,
                domain: r.get(5)?,
                url: r.get(6)?,
                final_url: r.get(7)?,
            })
        })
        .db()
}
