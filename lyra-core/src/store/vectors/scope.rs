//! The scope of a search: ids in the database, and their rows in memory.

use super::matrix::Matrix;
use super::rows::RowSet;
use crate::error::{Error, Result};
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::graph::Reader;
use crate::store::model::EmbeddingTarget;
use rusqlite::params;
use std::collections::HashSet;

/// The members of a search's scope, determined in one snapshot for one state of a matrix.
#[derive(Debug, Default)]
pub(super) struct Scope {
    rows: RowSet,
    without_row: HashSet<String>,
    /// Number of vectors of members from other models, not counting the first one of a member without a
    /// row.
    foreign: usize,
    /// The state of the matrix to which the row numbers belong.
    generation: u64,
}

impl Scope {
    /// Claims that were not rejected, of the task if one is given; fragments that are connected by an
    /// edge to a claim of the task, or all fragments of the newest text of their page.
    pub(super) fn read(
        reader: &Reader<'_>,
        matrix: &Matrix,
        (target, model_id): (EmbeddingTarget, &str),
        task_id: Option<&str>,
    ) -> Result<Self> {
        let sql = match (target, task_id) {
            (EmbeddingTarget::Claim, Some(_)) => {
                "SELECT id FROM claims WHERE task_id = ?1 AND claim_adoption_status = 'adopted'"
            }
            (EmbeddingTarget::Claim, None) => {
                "SELECT id FROM claims WHERE claim_adoption_status = 'adopted' AND ?1 IS NULL"
            }
            // The join order is fixed, because without statistics SQLite chooses another one.
            (EmbeddingTarget::Fragment, Some(_)) => {
                "SELECT e.source_id FROM claims c CROSS JOIN edges e
                 WHERE c.task_id = ?1 AND e.target_id = c.id AND e.source_type = 'fragment'"
            }
            (EmbeddingTarget::Fragment, None) => "SELECT id FROM fragments WHERE ?1 IS NULL",
        };
        let left_out = match (target, task_id) {
            (EmbeddingTarget::Fragment, None) => superseded(reader)?,
            _ => HashSet::new(),
        };
        let mut scope = Self::of(matrix, []);
        let mut statement = reader.db.prepare_cached(sql).db()?;
        let mut rows = statement.query(params![task_id]).db()?;
        while let Some(row) = rows.next().db()? {
            match row.get_ref(0).db()?.as_str() {
                Ok(id) if left_out.contains(id) => {}
                Ok(id) => scope.add(matrix, id),
                Err(e) => return Err(Error::internal(format!("an id is no text: {e}"))),
            }
        }
        scope.count_foreign(reader, matrix, (target, model_id))?;
        Ok(scope)
    }

    /// Counts the vectors that cannot be compared because they come from another model.
    fn count_foreign(
        &mut self,
        reader: &Reader<'_>,
        matrix: &Matrix,
        (target, model_id): (EmbeddingTarget, &str),
    ) -> Result<()> {
        let sql = "SELECT target_id FROM embeddings WHERE target_type = ?1 AND model_id <> ?2";
        let mut statement = reader.db.prepare_cached(sql).db()?;
        let mut rows = statement.query(params![target, model_id]).db()?;
        let mut counted = HashSet::new();
        while let Some(row) = rows.next().db()? {
            let id: String = row.get(0).db()?;
            if self.without_row.contains(&id) {
                // The member itself is counted already.
                self.foreign += usize::from(!counted.insert(id));
            } else if self.contains(matrix, &id) {
                self.foreign += 1;
            }
        }
        Ok(())
    }

    /// The given ids.
    pub(super) fn of<'i>(matrix: &Matrix, ids: impl IntoIterator<Item = &'i str>) -> Self {
        let mut scope = Self {
            generation: matrix.generation(),
            ..Self::default()
        };
        ids.into_iter().for_each(|id| scope.add(matrix, id));
        scope
    }

    fn add(&mut self, matrix: &Matrix, id: &str) {
        match matrix.row(id) {
            Some(row) => self.rows.insert(row),
            None if self.without_row.contains(id) => {}
            None => {
                self.without_row.insert(id.to_owned());
            }
        }
    }

    /// Whether its rows belong to the matrix in its current state.
    pub(super) fn fits(&self, matrix: &Matrix) -> bool {
        self.generation == matrix.generation()
    }

    /// The rows of the members that have a comparable vector.
    pub(super) fn rows(&self) -> &RowSet {
        &self.rows
    }

    /// Number of vectors that are not compared, and of members without a vector.
    pub(super) fn skipped(&self) -> usize {
        self.without_row.len() + self.foreign
    }

    /// Number of members without a comparable vector.
    pub(super) fn missing(&self) -> usize {
        self.without_row.len()
    }

    /// Number of members.
    pub(super) fn len(&self) -> usize {
        self.rows.len() + self.without_row.len()
    }

    /// Whether an id is a member.
    pub(super) fn contains(&self, matrix: &Matrix, id: &str) -> bool {
        match matrix.row(id) {
            Some(row) => self.rows.contains(row),
            None => self.without_row.contains(id),
        }
    }
}

/// Fragments of a text that a later version of its page has replaced. They are found through the few
/// pages that have several versions: checking each fragment would take longer than the search.
fn superseded(reader: &Reader<'_>) -> Result<HashSet<String>> {
    reader.db.all(
        "SELECT f.id FROM (SELECT page_id, max(version) AS newest FROM page_texts
                               GROUP BY page_id HAVING newest > 1) t
             CROSS JOIN fragments f WHERE f.page_id = t.page_id AND f.page_version < t.newest",
        [],
        |r| r.get(0),
    )
}
