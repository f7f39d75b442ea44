//! Re-checks the whole graph: every quote, every reference, every index.

use super::interchange::{PageText, Quote, check_vector, ends_of, matches};
use crate::error::{ErrorKind, Result};
use crate::store::database::Database;
use crate::store::database::checksums::{self, ChecksumVerdict};
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::model::Relation;
use crate::store::text::hash::sha256_hex;
use rusqlite::{Connection, params};
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of a check of the whole graph.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IntegrityReport {
    /// Whether there are no violations. Unverifiable rows are not violations.
    pub ok: bool,
    /// Number of rows that each check examined.
    pub checked: BTreeMap<String, usize>,
    /// Every row that fails a check.
    pub violations: Vec<Violation>,
    /// Number of rows that cannot be verified: fragments of pages that were imported without their text,
    /// extracted claims without an origin, and rows of another program that have no checksum yet. In a
    /// graph that is open read-only, it also includes its two full-text indexes, which are not checked
    /// there.
    pub unverifiable: usize,
    /// The first 100 of these rows.
    pub notes: Vec<Violation>,
}

/// A row that fails a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The check that failed.
    pub check: String,
    /// The table of the row.
    pub table: String,
    /// Its id, or its number if it has no id; empty if the whole table is affected.
    pub id: String,
    /// What is wrong.
    pub detail: String,
}

/// Maximum number of unverifiable rows that are listed.
const MAX_NOTES: usize = 100;

/// The note on a full-text index in a graph that is open read-only.
const NOT_COMPARED: &str = "SQLite compares the full-text index with its table only where the graph \
    is open for writing";

/// The note on a row that another program wrote.
const NO_CHECKSUM: &str =
    "was written by another program, and has no checksum before Lyra next writes to the graph";

/// Checks everything that can be checked, and changes nothing.
///
/// # Errors
/// Only if the database cannot be read at all; damage is reported in the result.
pub(crate) fn verify(db: &Database) -> Result<IntegrityReport> {
    let mut report = IntegrityReport::default();
    // A separate connection: a pooled one may cache the layout of a full-text index from before the
    // latest commit, and the integrity check of FTS5 is the only FTS5 method that does not check whether
    // this cache is current. It would report corruption that does not exist.
    let fresh = db.source().open()?;
    report.attempt("database_file", "", |r| r.check_file(&fresh.connection))?;
    fresh.stamp.check()?;
    db.read(|connection| {
        report.attempt("foreign_key", "", |r| r.check_foreign_keys(connection))?;
        report.attempt("quote", "fragments", |r| r.check_fragments(connection))?;
        report.attempt("text_hash", "page_texts", |r| r.check_texts(connection))?;
        report.attempt("vector", "embeddings", |r| r.check_vectors(connection))?;
        for (number, table) in checksums::TABLES.iter().enumerate() {
            report.attempt("checksum", table, |r| r.check_sums(connection, number))?;
        }
        report.attempt("edge_kinds", "edges", |r| r.check_kinds(connection))?;
        for check in CHECKS {
            report.attempt(check.name, check.table, |r| r.check_rows(connection, check))?;
        }
        report.attempt("origin", "claims", |r| {
            r.note_claims_without_origin(connection)
        })
    })?;
    let indexed = ["fragments", "claims"];
    if db.source().is_read_only() {
        for table in indexed {
            report.note("full_text", table, "", NOT_COMPARED);
        }
    } else {
        // The command that compares an index with its table is written as an INSERT.
        db.maintain(|connection| {
            for table in indexed {
                report.attempt("full_text", table, |r| r.check_index(connection, table))?;
            }
            Ok(())
        })?;
    }
    report.ok = report.violations.is_empty();
    Ok(report)
}

/// A check that consists of one statement, which returns the id and the detail of each row that fails.
struct RowCheck {
    name: &'static str,
    table: &'static str,
    sql: &'static str,
}

const CHECKS: &[RowCheck] = &[
    RowCheck {
        name: "edge_verdict",
        table: "edges",
        sql: "SELECT e.id, 'it is not what ' || v.judge_id || ' says, whose verdict decides'
              FROM nli_verdicts v CROSS JOIN edges e ON e.target_id = v.claim_id AND e.source_id = v.fragment_id
                AND e.relation IN ('supports', 'refutes', 'neutral')
              WHERE v.judge_kind = 'agent' AND e.edge_human_corrected = 0
                AND (e.judge_id IS NOT v.judge_id OR e.relation <> v.relation)
                AND NOT EXISTS (
                  SELECT 1 FROM nli_verdicts n WHERE n.claim_id = v.claim_id AND n.fragment_id = v.fragment_id
                    AND n.judge_kind = 'agent' AND n.judge_id <> v.judge_id AND n.created_at >= v.created_at)",
    },
    RowCheck {
        name: "edge_source",
        table: "edges",
        sql: "SELECT id, 'its source, ' || source_type || ' ' || source_id || ', does not exist'
              FROM edges e WHERE NOT CASE source_type
                WHEN 'fragment' THEN EXISTS (SELECT 1 FROM fragments x WHERE x.id = e.source_id)
                WHEN 'claim' THEN EXISTS (SELECT 1 FROM claims x WHERE x.id = e.source_id)
                ELSE EXISTS (SELECT 1 FROM pages x WHERE x.id = e.source_id) END",
    },
    RowCheck {
        name: "edge_target",
        table: "edges",
        sql: "SELECT id, 'its target, ' || target_type || ' ' || target_id || ', does not exist'
              FROM edges e WHERE NOT CASE target_type
                WHEN 'fragment' THEN EXISTS (SELECT 1 FROM fragments x WHERE x.id = e.target_id)
                WHEN 'claim' THEN EXISTS (SELECT 1 FROM claims x WHERE x.id = e.target_id)
                ELSE EXISTS (SELECT 1 FROM pages x WHERE x.id = e.target_id) END",
    },
    RowCheck {
        name: "edge_quote",
        table: "edges",
        sql: "SELECT e.id, 'its quote ' || coalesce(e.quote_start, '?') || '..' ||
                coalesce(e.quote_end, '?') || ' does not lie within fragment ' || e.source_id || ', ' ||
                coalesce(f.char_start || '..' || f.char_end, 'which has no offsets')
              FROM edges e LEFT JOIN fragments f ON e.source_type = 'fragment' AND f.id = e.source_id
              WHERE (e.quote_start IS NOT NULL OR e.quote_end IS NOT NULL) AND NOT coalesce(
                f.char_start <= e.quote_start AND e.quote_start < e.quote_end
                AND e.quote_end <= f.char_end, 0)",
    },
    RowCheck {
        name: "edge_confidence",
        table: "edges",
        sql: "SELECT id, 'its nli_edge_confidence is ' || nli_edge_confidence
              FROM edges WHERE nli_edge_confidence NOT BETWEEN 0 AND 1",
    },
    RowCheck {
        name: "edge_pair",
        table: "edges",
        sql: "SELECT max(id), count(*) || ' edges of one class for a pair: ' || group_concat(id, ', ')
              FROM edges GROUP BY source_type, source_id, target_type, target_id,
                CASE WHEN relation IN ('supports', 'refutes', 'neutral') THEN 'verdict' ELSE relation END
              HAVING count(*) > 1",
    },
    RowCheck {
        name: "claim_counts",
        table: "stat_claims",
        // A stale count is not an error: the next writer updates it.
        sql: "SELECT c.id, 'the views count ' || coalesce(s.support_count || ' supports, ' ||
                s.refute_count || ' refutes, ' || s.neutral_count || ' neutral', 'nothing') ||
                ' and there are other numbers'
              FROM claims c LEFT JOIN stat_claims s ON s.claim_seq = c.seq
              LEFT JOIN (
                SELECT target_id, count(*) FILTER (WHERE relation = 'supports') AS supports,
                  count(*) FILTER (WHERE relation = 'refutes') AS refutes,
                  count(*) FILTER (WHERE relation = 'neutral') AS neutrals
                FROM edges WHERE source_type = 'fragment' AND target_type = 'claim' GROUP BY target_id
              ) e ON e.target_id = c.id
              WHERE c.seq NOT IN (SELECT claim_seq FROM stale_claims)
                AND c.seq <= (SELECT value FROM stat_state WHERE key = 'last_claim_seq') AND NOT coalesce(
                s.support_count = coalesce(e.supports, 0) AND s.refute_count = coalesce(e.refutes, 0)
                AND s.neutral_count = coalesce(e.neutrals, 0)
                AND s.is_adopted = (c.claim_adoption_status = 'adopted') AND s.task_id = c.task_id, 0)",
    },
    RowCheck {
        name: "counted_claim",
        table: "stat_claims",
        sql: "SELECT claim_id, 'the views count it and there is no such claim' FROM stat_claims
              WHERE claim_seq NOT IN (SELECT seq FROM claims UNION SELECT claim_seq FROM stale_claims)",
    },
    RowCheck {
        name: "page_counts",
        table: "stat_pages",
        sql: "SELECT p.id, 'the views count ' || coalesce(s.citation_count, 0) || ' citations by it and ' ||
                coalesce(s.cited_by_count, 0) || ' of it, and there are ' || p.cites || ' and ' || p.cited
              FROM (
                SELECT id, (SELECT count(*) FROM edges e WHERE e.source_id = x.id AND e.relation = 'cites'
                    AND e.source_type = 'page' AND e.target_type = 'page') AS cites,
                  (SELECT count(*) FROM edges e WHERE e.target_id = x.id AND e.relation = 'cites'
                    AND e.source_type = 'page' AND e.target_type = 'page') AS cited
                FROM pages x
              ) p LEFT JOIN stat_pages s ON s.page_id = p.id
              WHERE p.id NOT IN (SELECT page_id FROM stale_pages)
                AND (p.cites <> coalesce(s.citation_count, 0) OR p.cited <> coalesce(s.cited_by_count, 0))",
    },
    RowCheck {
        name: "near_duplicate",
        table: "pages",
        sql: "SELECT p.id, 'its original, ' || p.near_duplicate_of || CASE WHEN o.id IS NULL
                THEN ', does not exist' ELSE ', is a copy itself' END
              FROM pages p LEFT JOIN pages o ON o.id = p.near_duplicate_of
              WHERE p.near_duplicate_of IS NOT NULL
                AND (o.id IS NULL OR o.id = p.id OR o.near_duplicate_of IS NOT NULL)",
    },
    RowCheck {
        name: "claim_task",
        table: "claims",
        sql: "SELECT id, 'its task, ' || task_id || ', does not exist'
              FROM claims c WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = c.task_id)",
    },
    RowCheck {
        name: "claim_confidence",
        table: "claims",
        sql: "SELECT id, 'its llm_claim_confidence is ' || llm_claim_confidence
              FROM claims WHERE llm_claim_confidence NOT BETWEEN 0 AND 1",
    },
    RowCheck {
        name: "embedding_target",
        table: "embeddings",
        sql: "SELECT id, target_type || ' ' || target_id || ' does not exist'
              FROM embeddings e WHERE NOT CASE target_type
                WHEN 'fragment' THEN EXISTS (SELECT 1 FROM fragments x WHERE x.id = e.target_id)
                ELSE EXISTS (SELECT 1 FROM claims x WHERE x.id = e.target_id) END",
    },
    RowCheck {
        name: "embedding_dimension",
        table: "embeddings",
        sql: "SELECT id, length(embedding_blob) || ' bytes for ' || dimension || ' values of 4'
              FROM embeddings WHERE length(embedding_blob) <> 4 * dimension",
    },
    RowCheck {
        name: "full_text_row",
        table: "fragments",
        sql: "SELECT id, 'is not in the full-text index' FROM fragments
              WHERE seq NOT IN (SELECT id FROM fragments_fts_docsize)
              UNION ALL SELECT id, 'row of the full-text index without a fragment'
              FROM fragments_fts_docsize WHERE id NOT IN (SELECT seq FROM fragments)",
    },
    RowCheck {
        name: "full_text_row",
        table: "claims",
        sql: "SELECT id, 'is not in the full-text index' FROM claims
              WHERE seq NOT IN (SELECT id FROM claims_fts_docsize)
              UNION ALL SELECT id, 'row of the full-text index without a claim'
              FROM claims_fts_docsize WHERE id NOT IN (SELECT seq FROM claims)",
    },
];

impl IntegrityReport {
    /// Runs a check. If damage to the file stops it, this is reported as a violation and not as an
    /// error.
    fn attempt(
        &mut self,
        check: &str,
        table: &str,
        run: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        match run(self) {
            Err(e) if e.kind() == ErrorKind::Storage => {
                self.fail(check, table, "", format!("cannot be checked: {e}"));
                Ok(())
            }
            other => other,
        }
    }

    fn fail(&mut self, check: &str, table: &str, id: impl Into<String>, detail: String) {
        let (check, table) = (check.to_owned(), table.to_owned());
        self.violations.push(Violation {
            check,
            table,
            id: id.into(),
            detail,
        });
    }

    fn note(&mut self, check: &str, table: &str, id: &str, detail: &str) {
        self.unverifiable += 1;
        if self.notes.len() < MAX_NOTES {
            let [check, table, id, detail] = [check, table, id, detail].map(str::to_owned);
            self.notes.push(Violation {
                check,
                table,
                id,
                detail,
            });
        }
    }

    fn count(&mut self, check: &str, rows: usize) {
        *self.checked.entry(check.to_owned()).or_default() += rows;
    }

    fn check_file(&mut self, connection: &Connection) -> Result<()> {
        let mut statement = connection.prepare("PRAGMA integrity_check").db()?;
        let mut rows = statement.query([]).db()?;
        while let Some(row) = rows.next().db()? {
            let finding: String = row.get(0).db()?;
            if finding != "ok" {
                self.fail("database_file", "", "", finding);
            }
        }
        self.count("database_file", 1);
        Ok(())
    }

    fn check_foreign_keys(&mut self, connection: &Connection) -> Result<()> {
        let mut statement = connection.prepare("PRAGMA foreign_key_check").db()?;
        let mut rows = statement.query([]).db()?;
        while let Some(row) = rows.next().db()? {
            let table: String = row.get(0).db()?;
            let rowid: Option<i64> = row.get(1).db()?;
            let parent: String = row.get(2).db()?;
            let id = rowid.map(|n| n.to_string()).unwrap_or_default();
            self.fail(
                "foreign_key",
                &table,
                id,
                format!("refers to a row of {parent} that is not there"),
            );
        }
        Ok(())
    }

    fn check_rows(&mut self, connection: &Connection, check: &RowCheck) -> Result<()> {
        let mut statement = connection.prepare(check.sql).db()?;
        let mut rows = statement.query([]).db()?;
        while let Some(row) = rows.next().db()? {
            let id: rusqlite::types::Value = row.get(0).db()?;
            let id = match id {
                rusqlite::types::Value::Text(id) => id,
                rusqlite::types::Value::Integer(seq) => seq.to_string(),
                other => format!("{other:?}"),
            };
            let detail: Option<String> = row.get(1).db()?;
            self.fail(check.name, check.table, id, detail.unwrap_or_default());
        }
        self.count(check.name, row_count(connection, check.table)?);
        Ok(())
    }

    /// Checks that each edge connects nodes of the kinds that its relation allows.
    fn check_kinds(&mut self, connection: &Connection) -> Result<()> {
        let mut statement = connection
            .prepare(
                "SELECT id, source_type, target_type FROM edges
                 WHERE relation = ?1 AND (source_type <> ?2 OR target_type <> ?3)",
            )
            .db()?;
        for relation in Relation::ALL {
            let (source, target) = ends_of(*relation);
            let mut rows = statement.query(params![relation, source, target]).db()?;
            while let Some(row) = rows.next().db()? {
                let (id, from, to): (String, String, String) =
                    (row.get(0).db()?, row.get(1).db()?, row.get(2).db()?);
                let detail =
                    format!("{relation} leads from a {source} to a {target}, not {from} to {to}");
                self.fail("edge_kinds", "edges", id, detail);
            }
        }
        self.count("edge_kinds", row_count(connection, "edges")?);
        Ok(())
    }

    /// Checks the quotes and hashes of all fragments, page by page, so that each text is read once.
    fn check_fragments(&mut self, connection: &Connection) -> Result<()> {
        let mut statement = connection
            .prepare(
                "SELECT id, page_id, page_version, char_start, char_end, text_content, text_hash
                 FROM fragments ORDER BY page_id, page_version",
            )
            .db()?;
        let mut rows = statement.query([]).db()?;
        let mut open: Option<(String, i64, Option<PageText<'_>>)> = None;
        while let Some(row) = rows.next().db()? {
            let (id, page_id): (String, String) = (row.get(0).db()?, row.get(1).db()?);
            let version: Option<i64> = row.get(2).db()?;
            let start: Option<i64> = row.get(3).db()?;
            let end: Option<i64> = row.get(4).db()?;
            let (quote, hash): (String, String) = (row.get(5).db()?, row.get(6).db()?);
            self.count("quote", 1);
            if sha256_hex(quote.as_bytes()) != hash {
                self.fail(
                    "text_hash",
                    "fragments",
                    &id,
                    "is not the hash of its text".to_owned(),
                );
            }
            let Some((start, end)) = start.zip(end) else {
                if has_text(connection, &page_id)? {
                    let detail = "has no offsets, though its page has a text".to_owned();
                    self.fail("quote", "fragments", id, detail);
                } else {
                    self.note("quote", "fragments", &id, "its page has no text");
                }
                continue;
            };
            let version = version.unwrap_or(1);
            if !matches!(&open, Some((p, v, _)) if *p == page_id && *v == version) {
                let text = text_of(connection, &page_id, version)?;
                open = Some((page_id.clone(), version, text));
            }
            match &open {
                Some((.., Some(text))) => {
                    if let Err(reason) = matches(&quote, Quote { start, end }, text) {
                        self.fail("quote", "fragments", id, reason);
                    }
                }
                _ => {
                    let detail = format!("page {page_id} has no text of version {version}");
                    self.fail("quote", "fragments", id, detail);
                }
            }
        }
        Ok(())
    }

    fn check_texts(&mut self, connection: &Connection) -> Result<()> {
        let mut statement = connection
            .prepare("SELECT page_id, version, text, text_hash FROM page_texts")
            .db()?;
        let mut rows = statement.query([]).db()?;
        while let Some(row) = rows.next().db()? {
            let (page_id, version): (String, i64) = (row.get(0).db()?, row.get(1).db()?);
            let (text, hash): (String, String) = (row.get(2).db()?, row.get(3).db()?);
            self.count("text_hash", 1);
            if sha256_hex(text.as_bytes()) != hash {
                let detail = format!("is not the hash of text version {version}");
                self.fail("text_hash", "page_texts", page_id, detail);
            }
        }
        Ok(())
    }

    fn check_vectors(&mut self, connection: &Connection) -> Result<()> {
        let mut statement = connection
            .prepare("SELECT id, embedding_blob FROM embeddings")
            .db()?;
        let mut rows = statement.query([]).db()?;
        while let Some(row) = rows.next().db()? {
            self.count("vector", 1);
            let blob = row.get_ref(1).db()?.as_blob().unwrap_or_default();
            if let Err(reason) = check_vector(blob) {
                self.fail(
                    "vector",
                    "embeddings",
                    row.get::<_, String>(0).db()?,
                    reason,
                );
            }
        }
        Ok(())
    }

    /// Checks that each row still matches its checksum.
    fn check_sums(&mut self, connection: &Connection, number: usize) -> Result<()> {
        let table = checksums::TABLES[number];
        checksums::check(connection, number, |id, verdict| {
            self.count("checksum", 1);
            match verdict {
                ChecksumVerdict::Right => {}
                ChecksumVerdict::Wrong => {
                    let detail = "is not what was stored: its checksum differs".to_owned();
                    self.fail("checksum", table, id, detail);
                }
                ChecksumVerdict::Unknown => self.note("checksum", table, &id, NO_CHECKSUM),
            }
        })
    }

    /// Compares a full-text index with its table, word by word.
    fn check_index(&mut self, connection: &Connection, table: &str) -> Result<()> {
        let sql =
            format!("INSERT INTO {table}_fts ({table}_fts, rank) VALUES ('integrity-check', 1)");
        match connection.execute(&sql, []).db() {
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::Storage => {
                let detail = format!(
                    "the full-text index differs from the table; make it anew with \
                     INSERT INTO {table}_fts ({table}_fts) VALUES ('rebuild')"
                );
                self.fail("full_text", table, "", detail);
            }
            Err(e) => return Err(e),
        }
        self.count("full_text", 1);
        Ok(())
    }

    /// Claims added by programs may have no origin; extracted claims must have one.
    fn note_claims_without_origin(&mut self, connection: &Connection) -> Result<()> {
        let mut statement = connection
            .prepare(
                "SELECT id FROM claims c WHERE extractor_id IS NOT NULL AND NOT EXISTS (
                   SELECT 1 FROM edges e WHERE e.target_id = c.id AND e.relation = 'origin')",
            )
            .db()?;
        let mut rows = statement.query([]).db()?;
        while let Some(row) = rows.next().db()? {
            let id: String = row.get(0).db()?;
            self.note("origin", "claims", &id, "was extracted, but has no origin");
        }
        Ok(())
    }
}

fn row_count(connection: &Connection, table: &str) -> Result<usize> {
    let sql = format!("SELECT count(*) FROM {table}");
    let rows: i64 = connection.query_row(&sql, [], |r| r.get(0)).db()?;
    Ok(usize::try_from(rows).unwrap_or_default())
}

fn has_text(connection: &Connection, page_id: &str) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM page_texts WHERE page_id = ?1")
        .and_then(|mut statement| statement.exists([page_id]))
        .db()
}

fn text_of(
    connection: &Connection,
    page_id: &str,
    version: i64,
) -> Result<Option<PageText<'static>>> {
    let text: Option<String> = connection.first(
        "SELECT text FROM page_texts WHERE page_id = ?1 AND version = ?2",
        params![page_id, version],
        |r| r.get(0),
    )?;
    Ok(text.map(PageText::new))
}

#[cfg(test)]
mod tests;
