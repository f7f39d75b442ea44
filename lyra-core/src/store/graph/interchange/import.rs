//! JSON lines → rows, in one transaction.
//!
//! A line is stored as soon as the rows that it refers to exist, so a file in export order is processed
//! without being held in memory. A line that comes too early is kept until the end of the file. Nothing
//! is committed unless every line is valid.

use super::batch::{Batch, ParsedLine, parse_during, prepare};
use super::checks::{self, Quote};
use super::failure::LineFailure;
use super::fields::{LineType, TABLES, Table};
use super::known::KnownIds;
use super::line::{Cell, LineRow, RefusedLine};
use super::lines::{Lines, Problems};
use super::page_text::TextCache;
use super::reports::ImportReport;
use super::resources;
use crate::error::{Error, Result};
use crate::store::database::{
    Bulk, Database, SqliteResultExt, Statements as _, near_duplicates, with_tokens,
};
use crate::store::graph::blocked_evidence;
use rusqlite::{CachedStatement, OptionalExtension, Transaction, ffi, params, params_from_iter};
use std::collections::{HashMap, HashSet};
use std::io::BufRead;

/// Reads JSON lines into the graph: all of them, or none.
///
/// The lines may be in any order, and may already be in the graph. `now` (RFC 3339) replaces missing
/// times.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with the line, the field and the reason, for the first 20 invalid
/// lines; then nothing was written.
pub(crate) fn import_jsonl(db: &Database, now: &str, reader: impl BufRead) -> Result<ImportReport> {
    db.write_in_bulk(true, |transaction| {
        let mut import = Import::new(transaction, now)?;
        import.stream(reader)?;
        import.finish()
    })
}

/// [`import_jsonl`] with the method for few rows.
#[cfg(test)]
pub(super) fn import_row_by_row(
    db: &Database,
    now: &str,
    reader: impl BufRead,
) -> Result<ImportReport> {
    db.write(|transaction| {
        let mut import = Import::new(transaction, now)?;
        import.worth_building = usize::MAX;
        import.stream(reader)?;
        import.finish()
    })
}

/// The outcome of a line.
pub(super) enum LineOutcome {
    Inserted,
    Updated,
    Skipped,
    /// A row that it refers to does not exist yet.
    TooEarly,
}

pub(super) struct Import<'t> {
    pub(super) transaction: &'t Transaction<'t>,
    now: &'t str,
    pub(super) statements: Vec<TableStatements<'t>>,
    /// Rows above this number were inserted by this import, for each table.
    pub(super) last_old_row: Vec<i64>,
    report: ImportReport,
    waiting: Vec<(LineType, u64, String)>,
    problems: Problems,
    /// Ids that a refused line would have defined: lines that refer to them are not reported.
    refused: HashSet<(&'static str, String)>,
    texts: TextCache,
    known: KnownIds,
    /// The lines of fragments that were stored before the text of their page.
    lines_without_text: HashMap<i64, u64>,
    /// Set once the import has added more rows than there were before.
    bulk: Option<Bulk<'t>>,
    /// Number of new rows above which indexes are rebuilt.
    worth_building: usize,
}

/// Minimum number of new rows for which indexes are rebuilt; there must also be no fewer new rows than
/// old ones.
pub(in crate::store::graph) const MANY_ROWS: usize = 4_096;

pub(super) struct TableStatements<'t> {
    insert: CachedStatement<'t>,
    /// The row number and every column of the row with the same key.
    pub(super) find: CachedStatement<'t>,
    /// Whether there is a row with this id, or with this value in the first key column.
    exists: CachedStatement<'t>,
    /// Adds the newest row to its full-text index, if it has one.
    index: Option<CachedStatement<'t>>,
}

impl<'t> TableStatements<'t> {
    fn new(transaction: &'t Transaction<'t>, table: &Table) -> Result<Self> {
        let columns = table.columns();
        let marks = vec!["?"; table.fields.len()].join(", ");
        let key: Vec<String> = table.key.iter().map(|k| format!("{k} = ?")).collect();
        // For edges as in Writer::add_edge; other tables have foreign keys, whose violation requires a
        // rollback.
        let or_fail = if table.record == LineType::Edge {
            "OR FAIL"
        } else {
            ""
        };
        let insert = format!(
            "INSERT {or_fail} INTO {} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING",
            table.name
        );
        let find = format!(
            "SELECT rowid, {columns} FROM {} WHERE {}",
            table.name,
            key.join(" AND ")
        );
        let exists = format!("SELECT 1 FROM {} WHERE {} = ?", table.name, table.key[0]);
        let index = match table.record {
            LineType::Fragment => Some(
                "INSERT INTO fragments_fts (rowid, text_content, heading_context) VALUES (?, ?, ?)",
            ),
            LineType::Claim => Some("INSERT INTO claims_fts (rowid, claim_text) VALUES (?, ?)"),
            _ => None,
        };
        Ok(Self {
            insert: transaction.prepare_cached(&insert).db()?,
            find: transaction.prepare_cached(&find).db()?,
            exists: transaction.prepare_cached(&exists).db()?,
            index: index
                .map(|sql| transaction.prepare_cached(sql))
                .transpose()
                .db()?,
        })
    }
}

impl<'t> Import<'t> {
    fn new(transaction: &'t Transaction<'t>, now: &'t str) -> Result<Self> {
        let last_row = |table: &Table| {
            let sql = format!("SELECT coalesce(max(rowid), 0) FROM {}", table.name);
            transaction.query_row(&sql, [], |r| r.get(0)).db()
        };
        let last_old_row = TABLES.iter().map(last_row).collect::<Result<Vec<i64>>>()?;
        let before = usize::try_from(last_old_row.iter().sum::<i64>()).unwrap_or(usize::MAX);
        Ok(Self {
            transaction,
            now,
            statements: TABLES
                .iter()
                .map(|t| TableStatements::new(transaction, t))
                .collect::<Result<_>>()?,
            last_old_row,
            report: ImportReport::default(),
            waiting: Vec::new(),
            problems: Problems::default(),
            refused: HashSet::new(),
            texts: TextCache::default(),
            known: KnownIds::default(),
            lines_without_text: HashMap::new(),
            bulk: None,
            worth_building: MANY_ROWS.max(before),
        })
    }

    fn stream(&mut self, reader: impl BufRead) -> Result<()> {
        let mut lines = Lines::new(reader);
        let (mut even, mut odd) = (Batch::default(), Batch::default());
        let mut parsed = self.advance(&mut lines, &mut even, Vec::new())?;
        loop {
            // Two batches alternate: one is parsed while the rows of the other are stored.
            let next = self.advance(&mut lines, &mut odd, parsed)?;
            if next.is_empty() {
                return Ok(());
            }
            parsed = self.advance(&mut lines, &mut even, next)?;
            if parsed.is_empty() {
                return Ok(());
            }
        }
    }

    /// Reads `batch`, stores `parsed`, and returns the parsed rows of `batch`: none at the end.
    fn advance<'b>(
        &mut self,
        lines: &mut Lines<impl BufRead>,
        batch: &'b mut Batch,
        parsed: Vec<ParsedLine<'_>>,
    ) -> Result<Vec<ParsedLine<'b>>>
    where
        't: 'b,
    {
        batch.clear();
        let read = if self.problems.full() {
            Ok(())
        } else {
            lines.fill(batch)
        };
        let now = self.now;
        let (next, stored) = parse_during(batch, now, || self.store_all(parsed));
        stored?;
        if read.is_ok() || self.problems.full() {
            return Ok(next);
        }
        // Lines read before the reader failed may contain an error that is reported first.
        self.store_all(next)?;
        if !self.problems.full() {
            read?;
        }
        Ok(Vec::new())
    }

    fn store_all(&mut self, parsed: Vec<ParsedLine<'_>>) -> Result<()> {
        for ParsedLine {
            number,
            line,
            row,
            words,
        } in parsed
        {
            if self.problems.full() {
                break;
            }
            self.report.lines += 1;
            with_tokens(words, || self.line(number, line, row, false))?;
        }
        if self.bulk.is_none() && self.report.total_inserted >= self.worth_building {
            self.bulk = Some(Bulk::begin(self.transaction)?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ImportReport> {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(|(record, number, _)| (*record, *number));
        let after_fragments = waiting.partition_point(|(record, ..)| *record <= LineType::Fragment);
        for (_, number, line) in &waiting[..after_fragments] {
            self.line(*number, line, prepare(line, self.now), true)?;
        }
        self.locate_fragments()?;
        for (_, number, line) in &waiting[after_fragments..] {
            self.line(*number, line, prepare(line, self.now), true)?;
        }
        self.problems.into_result()?;
        if self.report.total_inserted > 0 {
            resources::derive(self.transaction, self.last_old_row[LineType::Page.index()])?;
            near_duplicates::refresh(self.transaction)?;
            self.transaction
                .execute(
                    "DELETE FROM forgotten WHERE task_id IN (SELECT id FROM tasks)",
                    [],
                )
                .db()?;
            log_import(self.transaction, self.now, &self.report)?;
        }
        // This must come last: from here on, triggers fire again.
        self.bulk.map_or(Ok(()), Bulk::end)?;
        if self.report.total_inserted > 0 {
            blocked_evidence::settle(self.transaction, self.now)?;
        }
        Ok(self.report)
    }

    /// Stores one line. `at_end`: no more lines will come.
    fn line(
        &mut self,
        number: u64,
        line: &str,
        row: Result<LineRow<'_>, RefusedLine>,
        at_end: bool,
    ) -> Result<()> {
        if self.problems.full() {
            return Ok(());
        }
        let mut row = match row {
            Ok(row) => row,
            Err(refusal) => {
                self.refused
                    .extend(refusal.names.map(|(table, id)| (table.name, id)));
                self.problems.add(number, refusal.reason);
                return Ok(());
            }
        };
        let tag = row.table.tag;
        match self.store(&mut row, number, at_end) {
            Ok(LineOutcome::Inserted) => {
                *self.report.inserted.entry(tag.to_owned()).or_default() += 1;
                self.report.total_inserted += 1;
            }
            Ok(LineOutcome::Updated) => {
                *self.report.updated.entry(tag.to_owned()).or_default() += 1;
            }
            Ok(LineOutcome::Skipped) => {
                *self.report.skipped.entry(tag.to_owned()).or_default() += 1;
            }
            Ok(LineOutcome::TooEarly) if at_end => {
                return Err(Error::internal(format!("line {number} is still too early")));
            }
            Ok(LineOutcome::TooEarly) => {
                self.waiting
                    .push((row.table.record, number, line.to_owned()));
            }
            Err(LineFailure::Line(reason)) => {
                self.remember_refused(&row);
                self.problems.add(number, reason);
            }
            Err(LineFailure::Fatal(error)) => return Err(error.context(format!("line {number}"))),
        }
        Ok(())
    }

    fn remember_refused(&mut self, row: &LineRow<'_>) {
        self.refused
            .extend(row.single_key().map(|(table, id)| (table.name, id)));
    }

    fn store(
        &mut self,
        row: &mut LineRow<'_>,
        number: u64,
        at_end: bool,
    ) -> Result<LineOutcome, LineFailure> {
        if at_end {
            match self.missing(row)? {
                None => {}
                Some((table, id, _)) if self.refused.contains(&(table.name, id.clone())) => {
                    // The line that defines it was refused with a reason; repeating that for each line
                    // that refers to it would hide the reason.
                    self.remember_refused(row);
                    return Ok(LineOutcome::Skipped);
                }
                Some((table, id, field)) => {
                    return Err(LineFailure::Line(format!(
                        "field {field:?}: there is no {} {}, neither here nor in the graph",
                        table.tag,
                        super::json::shown(&id)
                    )));
                }
            }
        }
        let ready = match row.table.record {
            LineType::Fragment => self.place_fragment(row, at_end)?,
            LineType::Edge => self.edge_fits(row, at_end)?,
            LineType::Embedding => self.missing(row)?.is_none(),
            _ => true,
        };
        if !ready {
            return Ok(LineOutcome::TooEarly);
        }
        match self.insert(row) {
            Ok(Some(rowid)) => {
                if row.table.record == LineType::Fragment && *row.get("char_start") == Cell::Null {
                    self.lines_without_text.insert(rowid, number);
                }
                Ok(LineOutcome::Inserted)
            }
            Ok(None) => self.merge(row),
            Err(error) if lacks_parent(&error) && !at_end => Ok(LineOutcome::TooEarly),
            Err(error) => Err(error.into()),
        }
    }

    /// Inserts and indexes the row; returns its number, or none if a unique value is taken.
    pub(super) fn insert(&mut self, row: &LineRow<'_>) -> rusqlite::Result<Option<i64>> {
        let statements = &mut self.statements[row.table.record.index()];
        if statements.insert.execute(params_from_iter(&row.cells))? == 0 {
            return Ok(None);
        }
        let rowid = self.transaction.last_insert_rowid();
        if let (LineType::Page | LineType::Fragment | LineType::Claim, [key]) =
            (row.table.record, row.table.key)
        {
            self.known.add(row.table.record, row.text(key));
        }
        if let Some(index) = &mut statements.index {
            match row.table.record {
                LineType::Claim => index.execute(params![rowid, row.get("claim_text")])?,
                _ => {
                    let (text, heading) = (row.get("text_content"), row.get("heading_context"));
                    index.execute(params![rowid, text, heading])?
                }
            };
        }
        Ok(Some(rowid))
    }

    /// A missing row that the line refers to: its table, its id, and the field.
    fn missing(
        &mut self,
        row: &LineRow<'_>,
    ) -> rusqlite::Result<Option<(&'static Table, String, &'static str)>> {
        for (table, field) in checks::references(row) {
            let Some(id) = row.get(field).as_text() else {
                continue;
            };
            if self.known.holds(table.record, id) {
                continue;
            }
            if !self.statements[table.record.index()].exists.exists([id])? {
                return Ok(Some((table, id.to_owned(), field)));
            }
            self.known.add(table.record, id);
        }
        Ok(None)
    }

    // ------------------------------------------------------------ quotes

    /// Checks the fragment against the text of its page, and computes its offsets if the line leaves
    /// them out. Returns false if the text may still come.
    fn place_fragment(&mut self, row: &mut LineRow<'_>, at_end: bool) -> Result<bool, LineFailure> {
        let page_id = row.text("page_id");
        let version = row.int("page_version").unwrap_or(1);
        let Some(text) = self.texts.get(self.transaction, page_id, version)? else {
            let wants_text = row.int("char_start").is_some() || self.has_text(page_id)?;
            return match (wants_text, at_end) {
                (false, _) => Ok(true),
                (true, false) => Ok(false),
                (true, true) => Err(LineFailure::Line(format!(
                    "field \"page_version\": page {page_id} has no text of version {version} in \
                     the file or the database, so the quote cannot be checked"
                ))),
            };
        };
        checks::place(row, &text, version)?;
        Ok(true)
    }

    fn has_text(&self, page_id: &str) -> rusqlite::Result<bool> {
        self.transaction
            .prepare_cached("SELECT 1 FROM page_texts WHERE page_id = ?")?
            .exists([page_id])
    }

    /// Computes offsets of fragments that were stored before the text of their page.
    fn locate_fragments(&mut self) -> Result<()> {
        let mut statement = self
            .transaction
            .prepare(
                "SELECT f.seq, f.id, f.page_id, coalesce(f.page_version, 1), f.text_content
                 FROM page_texts t JOIN fragments f ON f.page_id = t.page_id
                 WHERE t.rowid > ?1 AND f.char_start IS NULL GROUP BY f.seq",
            )
            .db()?;
        let without: Vec<(i64, String, String, i64, String)> = statement
            .query_map([self.last_old_row[LineType::PageText.index()]], |r| {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?))
            })
            .db()?
            .collect::<rusqlite::Result<_>>()
            .db()?;
        for (seq, id, page_id, version, quote) in without {
            let place = match self.texts.get(self.transaction, &page_id, version).db()? {
                Some(text) => checks::only_place(&quote, &text),
                None => Err(format!(
                    "field \"page_version\": page {page_id} has texts, but none of version {version}"
                )),
            };
            match (place, self.lines_without_text.get(&seq)) {
                (Ok(Quote { start, end }), _) => {
                    self.transaction.run(
                        "UPDATE fragments SET page_version = ?2, char_start = ?3, char_end = ?4
                             WHERE seq = ?1",
                        params![seq, version, start, end],
                    )?;
                }
                (Err(reason), Some(number)) => self.problems.add(*number, reason),
                (Err(reason), None) => {
                    self.problems.add(
                        0,
                        format!("fragment {id}, which was there before: {reason}"),
                    );
                }
            }
        }
        Ok(())
    }

    /// Whether both ends of the edge exist, with the quote inside the fragment.
    fn edge_fits(&mut self, row: &LineRow<'_>, at_end: bool) -> Result<bool, LineFailure> {
        let Some((start, end)) = row.int("quote_start").zip(row.int("quote_end")) else {
            return Ok(self.missing(row)?.is_none());
        };
        let span: Option<(Option<i64>, Option<i64>)> = self
            .transaction
            .prepare_cached("SELECT char_start, char_end FROM fragments WHERE id = ?")?
            .query_row([row.text("source_id")], |r| Ok((r.get(0)?, r.get(1)?)))
            .optional()?;
        match span {
            Some((Some(from), Some(to))) => checks::inside(Quote { start, end }, from, to)?,
            Some(_) if at_end => {
                return Err(LineFailure::Line(format!(
                    "field \"quote_start\": fragment {} has no offsets that a quote could lie in",
                    row.text("source_id")
                )));
            }
            _ => return Ok(false),
        }
        Ok(self.missing(row)?.is_none())
    }
}

pub(super) fn lacks_parent(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|e| e.extended_code == ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}

fn log_import(transaction: &Transaction<'_>, now: &str, report: &ImportReport) -> Result<()> {
    let details = serde_json::to_string(report)
        .map_err(|e| Error::internal("an import report is not JSON").with_source(e))?;
    transaction
        .execute(
            "INSERT INTO event_log (at, actor, action, details_json)
             VALUES (?1, 'library', 'import', ?2)",
            params![now, details],
        )
        .db()?;
    Ok(())
}
