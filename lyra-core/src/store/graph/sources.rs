//! Sources of claims and passages: pages, works, and which of them count as one source.

use super::handles::{Reader, Writer};
use crate::error::Result;
use crate::store::database::Statements;
use crate::store::graph::RETIRED_JUDGES;
use crate::store::model::PageRecord;
use rusqlite::{Row, params};
use serde_json::json;
use std::collections::{HashMap, HashSet};

/// An adopted claim with a page in which it was read.
#[derive(Debug)]
pub(crate) struct ClaimOrigin {
    pub(crate) claim_id: String,
    pub(crate) text: String,
    /// The page, or the one that it duplicates.
    pub(crate) page_id: Option<String>,
    pub(crate) canonical_id: Option<String>,
}

/// A claim that is to be judged against the hypothesis, with its context.
#[derive(Debug)]
pub(crate) struct UnjudgedClaim {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) title: Option<String>,
    pub(crate) heading: Option<String>,
    /// The preceding sentence, if the claim refers back to it.
    pub(crate) preceded_by: Option<String>,
    /// The passage that contains it.
    pub(crate) passage: Option<String>,
}

/// A passage with its page and work.
#[derive(Debug)]
pub(crate) struct PassageSource {
    pub(crate) fragment_id: String,
    pub(crate) text: String,
    pub(crate) char_start: Option<i64>,
    /// The page, or the one that it duplicates.
    pub(crate) page_id: String,
    pub(crate) canonical_id: Option<String>,
    pub(crate) domain: String,
    pub(crate) url: String,
    pub(crate) final_url: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) heading: Option<String>,
}

/// A paper of a task, as citation providers know it.
#[derive(Debug)]
pub(crate) struct TaskPaper {
    pub(crate) page_id: String,
    pub(crate) canonical_id: String,
    pub(crate) doi: Option<String>,
}

/// A page that is cited by a page of the task and was not read.
#[derive(Debug)]
pub(crate) struct ReferenceCandidate {
    pub(crate) edge_id: String,
    pub(crate) page_id: String,
    pub(crate) url: String,
    pub(crate) domain: Option<String>,
    /// The words around the citation.
    pub(crate) context: Option<String>,
    pub(crate) citing_page_id: String,
    /// Citation distance of the citing page from the first results.
    pub(crate) depth: i64,
}

/// An identifier under which a provider knows a work, with the work's own identifiers.
#[derive(Debug)]
pub(crate) struct WorkIdentifier<'a> {
    pub(crate) canonical_id: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) provider_paper_id: &'a str,
    pub(crate) doi: Option<&'a str>,
    pub(crate) pmid: Option<&'a str>,
    pub(crate) pmcid: Option<&'a str>,
    pub(crate) arxiv_id: Option<&'a str>,
}

impl Reader<'_> {
    /// The venue of a work.
    pub(crate) fn venue(&self, canonical_id: &str) -> Result<Option<String>> {
        let sql = "SELECT venue FROM works WHERE canonical_id = ?1";
        let venue = self.db.first(sql, [canonical_id], |r| r.get(0))?;
        Ok(venue.flatten())
    }

    /// The pages that a task has read.
    pub(crate) fn task_page_ids(&self, task_id: &str) -> Result<Vec<String>> {
        let sql = "SELECT page_id FROM task_pages WHERE task_id = ?1 ORDER BY page_id";
        self.db.all(sql, [task_id], |r| r.get(0))
    }

    /// The page of the task that cites a page; if there are several, the one closest to the original
    /// targets.
    pub(crate) fn citing_page(&self, task_id: &str, page: &PageRecord) -> Result<Option<String>> {
        self.db.first(
            "SELECT e.source_id FROM edges e
               JOIN task_pages t ON t.task_id = ?1 AND t.page_id = e.source_id
             WHERE e.relation = 'cites' AND e.target_id IN (
               SELECT ?2 UNION SELECT id FROM pages WHERE canonical_id = ?3)
             ORDER BY t.depth, e.created_at, e.id LIMIT 1",
            params![task_id, page.id, page.canonical_id],
            |r| r.get(0),
        )
    }

    /// Papers of the task whose references were not yet requested from a provider, those with the most
    /// claims first.
    pub(crate) fn papers_not_asked(&self, task_id: &str, limit: usize) -> Result<Vec<TaskPaper>> {
        let sql = "SELECT p.id, w.canonical_id, w.doi
            FROM task_pages tp JOIN pages p ON p.id = tp.page_id
              JOIN works w ON w.canonical_id = p.canonical_id
            WHERE tp.task_id = ?1
              AND (w.doi IS NOT NULL OR substr(w.canonical_id, 1, 5) NOT IN ('meta:', 'url:'))
              AND p.id NOT IN (SELECT asked.value FROM jobs j, json_each(j.output_json, '$.asked') asked
                               WHERE j.task_id = ?1 AND j.kind = 'citation_graph' AND j.output_json IS NOT NULL)
            ORDER BY (SELECT count(*) FROM fragments f
                        JOIN edges o ON o.source_type = 'fragment' AND o.source_id = f.id AND o.relation = 'origin'
                        JOIN claims c ON c.id = o.target_id AND c.task_id = ?1
                      WHERE f.page_id = p.id) DESC,
              coalesce(w.citation_count, 0) DESC, p.id
            LIMIT ?2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.db.all(sql, params![task_id, limit], |r| {
            Ok(TaskPaper {
                page_id: r.get(0)?,
                canonical_id: r.get(1)?,
                doi: r.get(2)?,
            })
        })
    }

    /// The rows of `v_reference_candidates`, in its order.
    pub(crate) fn reference_candidates(&self, task_id: &str) -> Result<Vec<ReferenceCandidate>> {
        let sql = "SELECT e.id, cited.id, cited.url, cited.domain, e.citation_context, s.citing_page_id, s.depth
             FROM stat_references s
             JOIN edges e ON e.id = s.citation_edge_id
             JOIN pages cited ON cited.id = s.candidate_page_id
             WHERE s.task_id = ?1
             ORDER BY s.depth, s.created_at DESC, s.citation_edge_id";
        self.db.all(sql, [task_id], |r| {
            Ok(ReferenceCandidate {
                edge_id: r.get(0)?,
                page_id: r.get(1)?,
                url: r.get(2)?,
                domain: r.get(3)?,
                context: r.get(4)?,
                citing_page_id: r.get(5)?,
                depth: r.get(6)?,
            })
        })
    }

    /// Whether claims by an extractor are stored for a version of a page in a task.
    pub(crate) fn has_claims_of(
        &self,
        page: (&str, Option<i64>),
        task_id: &str,
        extractor_id: &str,
    ) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM fragments f JOIN edges e ON e.source_id = f.id AND e.relation = 'origin'
               JOIN claims c ON c.id = e.target_id
             WHERE f.page_id = ?1 AND f.page_version = ?2 AND c.task_id = ?3 AND c.extractor_id = ?4",
            params![page.0, page.1, task_id, extractor_id],
        )
    }

    /// The claims that a task has from other files of the page's publication: extracted again, they
    /// would count twice.
    pub(crate) fn said_by_other_files(
        &self,
        task_id: &str,
        page: &PageRecord,
    ) -> Result<HashSet<String>> {
        self.db.all(
            "SELECT c.claim_text FROM pages p
               JOIN fragments f ON f.page_id = p.id
               JOIN edges e ON e.source_id = f.id AND e.relation = 'origin'
               JOIN claims c ON c.id = e.target_id AND c.task_id = ?1
             WHERE p.canonical_id = ?2 AND p.id <> ?3",
            params![task_id, page.canonical_id, page.id],
            |r| r.get(0),
        )
    }

    /// Whether a page that is new to a task has exactly the same text as one that the task has read, and
    /// names no other work, as in a moved or copied folder or a mirror. It is then the same source.
    pub(crate) fn repeats_another(&self, task_id: &str, page_id: &str) -> Result<bool> {
        self.db.holds(
            "WITH newest AS (
               SELECT t.page_id, t.text_hash FROM page_texts t
               WHERE t.version = (SELECT max(version) FROM page_texts l WHERE l.page_id = t.page_id))
             SELECT 1 FROM pages p
               JOIN newest own ON own.page_id = p.id
               JOIN pages o ON o.id = p.near_duplicate_of OR o.near_duplicate_of = p.near_duplicate_of
               JOIN newest other ON other.page_id = o.id AND other.text_hash = own.text_hash
               JOIN task_pages k ON k.task_id = ?1 AND k.page_id = o.id
             WHERE p.id = ?2 AND p.near_duplicate_of IS NOT NULL AND o.id <> p.id
               -- Two DOIs are two works, whatever they say.
               AND coalesce(p.canonical_id, o.canonical_id, '') = coalesce(o.canonical_id, p.canonical_id, '')
               AND NOT EXISTS (SELECT 1 FROM task_pages WHERE task_id = ?1 AND page_id = ?2)",
            [task_id, page_id],
        )
    }

    /// The adopted claims of a task, oldest first, once for every page in which it was read.
    pub(crate) fn claim_origins(&self, task_id: &str) -> Result<Vec<ClaimOrigin>> {
        let sql = "SELECT c.id, c.claim_text, coalesce(p.near_duplicate_of, p.id), p.canonical_id FROM claims c
               LEFT JOIN edges o ON o.target_id = c.id AND o.relation = 'origin'
               LEFT JOIN fragments f ON f.id = o.source_id
               LEFT JOIN pages p ON p.id = f.page_id
             WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted'
             ORDER BY c.seq";
        self.db.all(sql, [task_id], |r| {
            Ok(ClaimOrigin {
                claim_id: r.get(0)?,
                text: r.get(1)?,
                page_id: r.get(2)?,
                canonical_id: r.get(3)?,
            })
        })
    }

    /// The adopted claims of a task without a stance from any judge, or from `judge` if one is given.
    pub(crate) fn claims_without_stance(
        &self,
        task_id: &str,
        judge: Option<&str>,
    ) -> Result<Vec<UnjudgedClaim>> {
        let sql = "SELECT c.id, c.claim_text, coalesce(p.title, w.title), f.heading_context,
               CAST(json_extract(c.details_json, '$.preceded_by') AS TEXT), f.text_content
             FROM claims c
               LEFT JOIN hypothesis_stances s ON s.claim_id = c.id AND s.judge_id NOT LIKE ?3
                 AND s.judge_id NOT LIKE ?4
                 AND (s.judge_id = ifnull(?2, s.judge_id) OR s.judge_id = 'human' OR s.judge_id GLOB 'agent:*')
               LEFT JOIN edges o ON o.id = (SELECT min(e.id) FROM edges e WHERE e.target_id = c.id AND e.relation = 'origin')
               LEFT JOIN fragments f ON f.id = o.source_id
               LEFT JOIN pages p ON p.id = f.page_id
               LEFT JOIN works w ON w.canonical_id = p.canonical_id
             WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted' AND s.claim_id IS NULL
             ORDER BY c.seq";
        let [rules, first] = RETIRED_JUDGES;
        self.db
            .all(sql, params![task_id, judge, rules, first], |r| {
                Ok(UnjudgedClaim {
                    id: r.get(0)?,
                    text: r.get(1)?,
                    title: r.get(2)?,
                    heading: r.get(3)?,
                    preceded_by: r.get(4)?,
                    passage: r.get(5)?,
                })
            })
    }

    /// Who extracted the claims of a task (0), judged its passages (1) and judged its claims against the
    /// hypothesis (2), with the number of each.
    pub(crate) fn makers(&self, task_id: &str) -> Result<Vec<(usize, String, i64)>> {
        let sql = "SELECT what, maker, count(*) FROM (
    SELECT 0 AS what, coalesce(extractor_id, 'whoever added them') AS maker FROM claims
      WHERE task_id = ?1 AND claim_adoption_status = 'adopted'
    UNION ALL
    SELECT 1, coalesce(e.judge_id, 'whoever added them') FROM edges e JOIN claims c ON c.id = e.target_id
      WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted' AND e.target_type = 'claim'
        AND e.relation IN ('supports', 'refutes', 'neutral')
    UNION ALL
    SELECT 2, s.judge_id FROM hypothesis_stances s JOIN claims c ON c.id = s.claim_id
      WHERE s.task_id = ?1 AND c.claim_adoption_status = 'adopted'
  ) GROUP BY what, maker ORDER BY what, count(*) DESC, maker";
        self.db
            .all(sql, [task_id], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
    }

    /// Whether a claim exists and is adopted.
    pub(crate) fn is_adopted(&self, claim_id: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM claims WHERE id = ?1 AND claim_adoption_status = 'adopted'";
        self.db.holds(sql, [claim_id])
    }

    /// The judge's confidence in the stance of each claim on the hypothesis; neutral claims are left
    /// out.
    pub(crate) fn sides(&self, task_id: &str) -> Result<HashMap<String, f64>> {
        self.db.all(
            "SELECT claim_id, confidence FROM hypothesis_stances
             WHERE task_id = ?1 AND relation IN ('supports', 'refutes')",
            [task_id],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
    }

    /// The readable fragments of the newest texts of the task's pages: of those that it has read, and of
    /// those from which edges lead to its claims, as in an imported graph. Retracted works and sources
    /// that people excluded are not evidence and are left out.
    pub(crate) fn task_fragments(&self, task_id: &str) -> Result<HashSet<String>> {
        let excluded = self.excluded_pages(task_id)?;
        let found: Vec<(String, String)> = self.db.all(
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
            [task_id],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )?;
        let kept = found
            .into_iter()
            .filter(|(_, page)| !excluded.contains(page));
        Ok(kept.map(|(fragment, _)| fragment).collect())
    }

    /// The fragments of these pages and works, and of pages that duplicate them.
    pub(crate) fn fragments_of(
        &self,
        pages: &HashSet<String>,
        works: &HashSet<String>,
    ) -> Result<HashSet<String>> {
        self.db.all(
            "SELECT f.id FROM fragments f WHERE f.page_id IN (
               SELECT value FROM json_each(?1)
               UNION SELECT p.id FROM pages p
                 WHERE p.near_duplicate_of IN (SELECT value FROM json_each(?1))
               UNION SELECT p.id FROM pages p
                 WHERE p.canonical_id IN (SELECT value FROM json_each(?2)))",
            [json!(pages).to_string(), json!(works).to_string()],
            |r| r.get(0),
        )
    }

    /// A passage with its page and work.
    pub(crate) fn passage_source(&self, fragment_id: &str) -> Result<PassageSource> {
        let sql = "SELECT f.id, f.text_content, f.char_start, coalesce(p.near_duplicate_of, p.id), p.canonical_id,
               coalesce(p.domain, 'local'), p.url, p.final_url, coalesce(p.title, w.title), f.heading_context
             FROM fragments f JOIN pages p ON p.id = f.page_id
               LEFT JOIN works w ON w.canonical_id = p.canonical_id
             WHERE f.id = ?1";
        self.db.one(sql, [fragment_id], passage_source)
    }
}

fn passage_source(r: &Row<'_>) -> rusqlite::Result<PassageSource> {
    Ok(PassageSource {
        fragment_id: r.get(0)?,
        text: r.get(1)?,
        char_start: r.get(2)?,
        page_id: r.get(3)?,
        canonical_id: r.get(4)?,
        domain: r.get(5)?,
        url: r.get(6)?,
        final_url: r.get(7)?,
        title: r.get(8)?,
        heading: r.get(9)?,
    })
}

impl Writer<'_> {
    /// Sets the work of a page, unless the page has one or the work is unknown.
    pub(crate) fn set_work_of_page(&self, page_id: &str, canonical_id: &str) -> Result<()> {
        self.db.run(
            "UPDATE pages SET canonical_id = ?2 WHERE id = ?1 AND canonical_id IS NULL
               AND EXISTS (SELECT 1 FROM works WHERE canonical_id = ?2)",
            [page_id, canonical_id],
        )?;
        Ok(())
    }

    /// Stores an identifier of a work; missing values of a known identifier are filled in.
    pub(crate) fn add_work_identifier(&self, id: &WorkIdentifier<'_>) -> Result<()> {
        self.db.run(
            "INSERT INTO work_identifiers (canonical_id, provider, provider_paper_id, doi, pmid, pmcid, arxiv_id)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (provider, provider_paper_id) DO UPDATE SET
               doi = coalesce(doi, excluded.doi), pmid = coalesce(pmid, excluded.pmid),
               pmcid = coalesce(pmcid, excluded.pmcid), arxiv_id = coalesce(arxiv_id, excluded.arxiv_id)",
            params![
                id.canonical_id,
                id.provider,
                id.provider_paper_id,
                id.doi,
                id.pmid,
                id.pmcid,
                id.arxiv_id
            ],
        )?;
        Ok(())
    }
}
