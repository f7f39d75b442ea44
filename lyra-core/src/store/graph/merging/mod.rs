//! Merges several graphs into one.
//!
//! The rules for each table are in `rules`; docs/merge.md explains them. The source graphs are only
//! read. All of them are merged in one transaction, or none.
//!
//! | file | what is in it |
//! |---|---|
//! | `rules` | which of two rows with the same key stays |
//! | `texts` | versions of a page's text; references and authors, which are merged as whole lists |
//! | `adoption`, `jobs`, `logs` | tables that need more than a rule |
//! | `checks` | graphs that cannot be merged |
//! | `words` | the full-text indexes |
//! | `between` | the folder of a merge of many sources |

mod adoption;
mod between;
mod checks;
mod jobs;
mod logs;
mod rules;
#[cfg(test)]
mod tests;
mod texts;
mod words;

use super::blocked_evidence;
use super::forget::forget_rows;
use crate::error::Result;
use crate::store::database::{
    Bulk, Database, FileStamp, SqliteResultExt, Statements, near_duplicates,
};
use between::Between;
use rules::Rule;
use rusqlite::{Connection, Transaction, params};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Number of graphs that SQLite can have open beside the target.
const AT_ONCE: usize = 10;

/// Maximum number of decisions listed per table; all are counted.
const NAMED: usize = 100;

/// The result of a merge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MergeReport {
    /// Number of merged graphs.
    pub sources: usize,
    /// New rows by table; tables without new rows are left out.
    pub inserted: BTreeMap<String, usize>,
    /// Rows that changed because a source had more or newer information, by table.
    pub updated: BTreeMap<String, usize>,
    /// Tasks that were deleted because they were deleted in one of the graphs.
    pub forgotten: usize,
    /// Rows that differed and for which a rule chose, by table; only on request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub decided: BTreeMap<String, Decided>,
}

/// Rows of a table for which a rule chose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// Rows for which the target's values were kept.
    pub kept: usize,
    /// Rows that took values from the source.
    pub taken: usize,
    /// The keys of the first hundred, prefixed with `kept` or `taken`.
    pub rows: Vec<String>,
}

/// Merges graphs into this one: all of them, or none. `report` says whether the decisions of the rules
/// are reported.
///
/// # Errors
/// [`crate::ErrorKind::NotFound`] if a file does not exist; [`crate::ErrorKind::Storage`] for a file
/// that is not a graph, or is of another version; [`crate::ErrorKind::InvalidInput`] if the same id
/// means different things in two graphs.
pub(crate) fn merge(
    db: &Database,
    sources: &[PathBuf],
    now: &str,
    report: bool,
) -> Result<MergeReport> {
    for source in sources {
        checks::is_another_file(db.path(), source)?;
    }
    // Which graphs are merged in between makes no difference to the result.
    let mut between = Vec::new();
    let mut waiting: Vec<PathBuf> = sources.to_vec();
    while waiting.len() > AT_ONCE {
        let place = Between::beside(db.path())?;
        let first: Vec<PathBuf> = waiting.drain(..AT_ONCE).collect();
        merge_at_once(
            &Database::open(&place.graph())?,
            &first,
            now,
            Purpose::Between,
        )?;
        waiting.push(place.graph());
        between.push(place);
    }
    let mut done = merge_at_once(db, &waiting, now, Purpose::Result { report })?;
    done.sources = sources.len();
    Ok(done)
}

/// The purpose of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The requested graph, with a report of the rules' decisions on request.
    Result { report: bool },
    /// A graph that is merged into another one and then deleted. It gets only rows: no full text,
    /// copies, counts, checksums or log, and not all indexes.
    /// counts, checksums or log, and not all indexes.
    Between,
}

fn merge_at_once(
    db: &Database,
    sources: &[PathBuf],
    now: &str,
    purpose: Purpose,
) -> Result<MergeReport> {
    db.attaching(|| {
        let attached = db.maintain(|connection| attach(connection, sources));
        let done = attached.and_then(|stamps| {
            let derive = purpose != Purpose::Between;
            db.write_in_bulk(derive, |transaction| {
                let mut merge = Merge::new(transaction, sources.len(), purpose)?;
                for number in 0..sources.len() {
                    merge.source(&name(number))?;
                }
                let done = merge.finish(now)?;
                stamps.iter().try_for_each(FileStamp::check)?;
                Ok(done)
            })
        });
        let detached = db.maintain(detach);
        let done = done?;
        detached?;
        Ok(done)
    })
}

fn name(number: usize) -> String {
    format!("source{number}")
}

fn attach(db: &Connection, sources: &[PathBuf]) -> Result<Vec<FileStamp>> {
    let attach = |(number, source): (usize, &PathBuf)| {
        let name = name(number);
        let (address, stamp) = checks::address(source)?;
        db.execute(&format!("ATTACH ?1 AS {name}"), [address])
            .db()
            .and_then(|_| checks::is_graph(db, &name))
            .map_err(|e| e.context(source.display()))?;
        Ok(stamp)
    };
    sources.iter().enumerate().map(attach).collect()
}

fn detach(db: &Connection) -> Result<()> {
    let names: Vec<String> = db.all(
        "SELECT name FROM pragma_database_list WHERE name GLOB 'source*'",
        [],
        |r| r.get(0),
    )?;
    for name in names {
        db.execute_batch(&format!("DETACH {name}")).db()?;
    }
    Ok(())
}

struct Merge<'t> {
    db: &'t Transaction<'t>,
    report: MergeReport,
    purpose: Purpose,
    last: words::Last,
    bulk: Option<Bulk<'t>>,
    /// Whether all graphs so far have the same information on copies.
    copies_agree: bool,
}

/// Temporary tables for intermediate results.
const TEMPORARY: [(&str, &str); 10] = [
    ("merge_forgotten_claims", "id TEXT PRIMARY KEY"),
    ("merge_pages", "page_id TEXT PRIMARY KEY"),
    (
        "merge_texts",
        "page_id TEXT, version INTEGER, target_version INTEGER, source_version INTEGER, fetched_at TEXT,
         PRIMARY KEY (page_id, version)",
    ),
    ("merge_lists", "id TEXT PRIMARY KEY"),
    ("merge_said", "side INTEGER, claim_id TEXT, at TEXT, PRIMARY KEY (side, claim_id)"),
    ("merge_second_jobs", "id TEXT PRIMARY KEY"),
    ("merge_changing", "seq INTEGER PRIMARY KEY"),
    ("merge_reindexed", "seq INTEGER PRIMARY KEY"),
    ("merge_better_vectors", "seq INTEGER PRIMARY KEY"),
    ("merge_gone_tasks", "id TEXT PRIMARY KEY"),
];

impl<'t> Merge<'t> {
    fn new(db: &'t Transaction<'t>, sources: usize, purpose: Purpose) -> Result<Self> {
        for (table, columns) in TEMPORARY {
            db.execute_batch(&format!("CREATE TEMP TABLE {table} ({columns})"))
                .db()?;
        }
        let mut merge = Self {
            db,
            report: MergeReport::default(),
            purpose,
            last: words::Last::of(db)?,
            bulk: None,
            copies_agree: true,
        };
        for number in 0..sources {
            merge.forget(&name(number))?;
        }
        merge.last = words::Last::of(db)?;
        let rows = |schema: &str| -> Result<i64> {
            let counted = [
                "pages",
                "fragments",
                "claims",
                "edges",
                "embeddings",
                "nli_verdicts",
            ]
            .map(|table| format!("(SELECT coalesce(max(rowid), 0) FROM {schema}.{table})"));
            db.one(&format!("SELECT {}", counted.join(" + ")), [], |r| r.get(0))
        };
        let mut added = 0;
        for number in 0..sources {
            added += rows(&name(number))?;
        }
        if added >= rows("main")?.max(super::interchange::MANY_ROWS as i64) {
            merge.bulk = Some(Bulk::begin(db)?);
        }
        Ok(merge)
    }

    /// A task that is deleted on one side is deleted on all, with everything that belongs to it. Pages
    /// stay.
    fn forget(&mut self, source: &str) -> Result<()> {
        self.db.run(
            &format!(
                "INSERT INTO main.forgotten AS t (task_id, forgotten_at)
                   SELECT task_id, forgotten_at FROM {source}.forgotten WHERE TRUE
                   ON CONFLICT (task_id) DO UPDATE SET forgotten_at = excluded.forgotten_at
                     WHERE excluded.forgotten_at < t.forgotten_at"
            ),
            [],
        )?;
        let gone: Vec<String> = self.db.all(
            "SELECT id FROM main.tasks WHERE id IN (SELECT task_id FROM main.forgotten)",
            [],
            |r| r.get(0),
        )?;
        for task in &gone {
            forget_rows(self.db, task)?;
            self.db.run(
                "INSERT OR IGNORE INTO temp.merge_gone_tasks VALUES (?1)",
                [task],
            )?;
        }
        Ok(())
    }

    fn source(&mut self, source: &str) -> Result<()> {
        let db = self.db;
        checks::ids_agree(db, source)?;
        self.copies_agree = self.copies_agree && checks::copies_agree(db, source)?;
        db.execute_batch(&format!(
            "DELETE FROM temp.merge_forgotten_claims;
             INSERT INTO temp.merge_forgotten_claims SELECT id FROM {source}.claims
               WHERE task_id IN (SELECT task_id FROM main.forgotten);
             INSERT OR IGNORE INTO temp.merge_gone_tasks SELECT id FROM {source}.tasks
               WHERE id IN (SELECT task_id FROM main.forgotten);
             INSERT INTO main.edges SELECT * FROM main.blocked_edges WHERE TRUE ON CONFLICT DO NOTHING;
             DELETE FROM main.blocked_edges"
        ))
        .db()?;
        self.documents(source)?;
        for rule in [
            &rules::CLAIMS,
            &rules::STANCES,
            &rules::EDGES,
            &rules::VERDICTS,
        ] {
            self.rule(source, rule)?;
        }
        adoption::note_decisions(db, source)?;
        self.decisions("claims", &adoption::decided_sql(source))?;
        *self.updated("claims") += adoption::merge(db, source)?;
        self.vectors(source)?;
        for rule in [
            &rules::TASK_PAGES,
            &rules::SCREENINGS,
            &rules::QUERIES,
            &rules::HITS,
        ] {
            self.rule(source, rule)?;
        }
        jobs::settle_targets(db, source)?;
        for rule in [
            &rules::JOBS,
            &rules::AUTH_QUEUE,
            &rules::CORRECTIONS,
            &rules::DOMAIN_RULES,
            &rules::HOSTILE,
        ] {
            self.rule(source, rule)?;
        }
        let [feedback, events] = logs::merge(db, source)?;
        self.count("feedback_log", feedback, feedback);
        self.count("event_log", events, events);
        Ok(())
    }

    fn documents(&mut self, source: &str) -> Result<()> {
        let db = self.db;
        self.rule(source, &rules::TASKS)?;
        self.rule(source, &rules::WORKS)?;
        self.decisions("work_authors", &texts::decided_authors_sql(source))?;
        self.counted("work_authors", |db| texts::merge_authors(db, source))?;
        self.rule(source, &rules::WORK_IDENTIFIERS)?;
        texts::merge_references(db, source)?;
        self.rule(source, &rules::PAGES)?;
        self.counted("page_references", |db| texts::insert_references(db, source))?;
        self.counted("page_texts", |db| texts::merge(db, source))?;
        self.rule(source, &rules::RESOURCES)?;
        self.last.drop_changing(db, source)?;
        self.rule(source, &rules::FRAGMENTS)
    }

    fn rule(&mut self, source: &str, rule: &Rule) -> Result<()> {
        self.decisions(rule.table, &rule.decided_sql(source))?;
        let before = self.rows(rule.table)?;
        let changed = self.db.execute(&rule.sql(source), []).db();
        let changed = changed.map_err(|error| checks::meaning(error, rule.table))?;
        let inserted = self.rows(rule.table)? - before;
        self.count(rule.table, inserted, changed);
        Ok(())
    }

    fn counted(&mut self, table: &str, work: impl FnOnce(&Connection) -> Result<()>) -> Result<()> {
        let before = self.rows(table)?;
        work(self.db)?;
        let inserted = self.rows(table)?.saturating_sub(before);
        self.count(table, inserted, inserted);
        Ok(())
    }

    /// A changed vector gets a new number, by which caches detect the change.
    fn vectors(&mut self, source: &str) -> Result<()> {
        self.decisions(
            "embeddings",
            &format!(
                "SELECT concat_ws(' ', t.target_type, t.target_id, t.model_id),
                   (s.embedding_blob, s.id) <= (t.embedding_blob, t.id)
                 FROM {source}.embeddings s JOIN main.embeddings t ON t.target_type = s.target_type
                   AND t.target_id = s.target_id AND t.model_id = s.model_id
                 WHERE s.embedding_blob <> t.embedding_blob"
            ),
        )?;
        let columns = "id, target_type, target_id, model_id, embedding_blob, dimension, created_at";
        self.db
            .execute_batch(&format!(
                "DELETE FROM temp.merge_better_vectors;
                 INSERT INTO temp.merge_better_vectors
                   SELECT t.seq FROM {source}.embeddings s JOIN main.embeddings t ON t.target_type = s.target_type
                     AND t.target_id = s.target_id AND t.model_id = s.model_id
                   WHERE (s.embedding_blob, s.id) > (t.embedding_blob, t.id)"
            ))
            .db()?;
        let better = self.db.run(
            "DELETE FROM main.embeddings WHERE seq IN temp.merge_better_vectors",
            [],
        )?;
        *self.updated("embeddings") += better;
        let changed = self.db.run(
            &format!(
                "INSERT INTO main.embeddings ({columns}) SELECT {columns} FROM {source}.embeddings s
                 WHERE s.target_id NOT IN temp.merge_forgotten_claims
                 ON CONFLICT (target_type, target_id, model_id) DO NOTHING"
            ),
            [],
        )?;
        self.count("embeddings", changed - better, changed - better);
        Ok(())
    }

    /// Records the decisions for a table: `sql` returns keys, and whether the target keeps its values.
    fn decisions(&mut self, table: &str, sql: &str) -> Result<()> {
        if self.purpose != (Purpose::Result { report: true }) {
            return Ok(());
        }
        let mut decided = self.report.decided.remove(table).unwrap_or_default();
        let mut statement = self.db.prepare(sql).db()?;
        let mut rows = statement.query([]).db()?;
        while let Some(row) = rows.next().db()? {
            let (key, keeps): (String, bool) = (row.get(0).db()?, row.get(1).db()?);
            let (count, word) = match keeps {
                true => (&mut decided.kept, "kept"),
                false => (&mut decided.taken, "taken"),
            };
            *count += 1;
            if decided.rows.len() < NAMED {
                decided.rows.push(format!("{word} {key}"));
            }
        }
        if decided != Decided::default() {
            self.report.decided.insert(table.to_owned(), decided);
        }
        Ok(())
    }

    fn rows(&self, table: &str) -> Result<usize> {
        let sql = format!("SELECT count(*) FROM main.{table}");
        self.db.one(&sql, [], |r| r.get(0))
    }

    fn count(&mut self, table: &str, inserted: usize, changed: usize) {
        *self.report.inserted.entry(table.to_owned()).or_default() += inserted;
        *self.updated(table) += changed - inserted;
    }

    fn updated(&mut self, table: &str) -> &mut usize {
        self.report.updated.entry(table.to_owned()).or_default()
    }

    fn finish(mut self, now: &str) -> Result<MergeReport> {
        let db = self.db;
        if self.purpose == Purpose::Between {
            return Ok(self.report);
        }
        self.last.index(db)?;
        if !self.copies_agree {
            near_duplicates::rebuild(db)?;
        }
        self.report.forgotten = db.one("SELECT count(*) FROM temp.merge_gone_tasks", [], |r| {
            r.get(0)
        })?;
        self.report.inserted.retain(|_, rows| *rows > 0);
        self.report.updated.retain(|_, rows| *rows > 0);
        self.log(now)?;
        // This must come last: from here on, triggers fire again.
        self.bulk.map_or(Ok(()), Bulk::end)?;
        // The consequences of screening are derived from the decisions of all graphs.
        db.run(
            "UPDATE claims SET claim_adoption_status = 'adopted', claim_rejection_reason = NULL,
               claim_rejected_at = NULL
             WHERE claim_adoption_status = 'not_adopted' AND claim_rejection_reason GLOB 'source excluded: *'",
            [],
        )?;
        blocked_evidence::settle(db, now)?;
        for (table, _) in TEMPORARY {
            db.execute_batch(&format!("DROP TABLE temp.{table}")).db()?;
        }
        Ok(self.report)
    }

    fn log(&self, now: &str) -> Result<()> {
        if self.report.inserted.is_empty() && self.report.updated.is_empty() {
            return Ok(());
        }
        let details =
            serde_json::json!({ "inserted": self.report.inserted, "updated": self.report.updated });
        self.db.run(
            "INSERT INTO event_log (at, actor, action, details_json) VALUES (?1, 'library', 'merge', ?2)",
            params![now, details.to_string()],
        )?;
        Ok(())
    }
}
