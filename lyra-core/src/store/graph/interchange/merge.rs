//! Lines whose rows, or equivalent rows, already exist.

use super::checks;
use super::failure::LineFailure;
use super::fields::LineType;
use super::import::{Import, LineOutcome, lacks_parent};
use super::line::{Cell, LineRow};
use crate::error::Error;
use rusqlite::{params, params_from_iter};

impl Import<'_> {
    /// Handles a line whose row, or an equivalent row, already exists.
    pub(super) fn merge(&mut self, row: &LineRow<'_>) -> Result<LineOutcome, LineFailure> {
        let last_old_row = self.last_old_row[row.table.record.index()];
        let keys: Vec<&Cell<'_>> = row.table.key.iter().map(|k| row.get(k)).collect();
        let find = &mut self.statements[row.table.record.index()].find;
        let mut rows = find.query(params_from_iter(keys))?;
        let Some(stored) = rows.next()? else {
            drop(rows);
            return self.merge_twin(row, last_old_row);
        };
        let was_before = stored.get::<_, i64>(0)? <= last_old_row;
        let fills = checks::compare(row, stored, was_before)?;
        drop(rows);
        if fills.is_empty() {
            return Ok(LineOutcome::Skipped);
        }
        let columns: Vec<String> = fills
            .iter()
            .map(|place| format!("{} = ?", row.table.fields[*place].name))
            .collect();
        let key: Vec<String> = row.table.key.iter().map(|k| format!("{k} = ?")).collect();
        let sql = format!(
            "UPDATE {} SET {} WHERE {}",
            row.table.name,
            columns.join(", "),
            key.join(" AND ")
        );
        let values = fills.iter().map(|place| &row.cells[*place]);
        let values = values.chain(row.table.key.iter().map(|k| row.get(k)));
        match self
            .transaction
            .prepare_cached(&sql)?
            .execute(params_from_iter(values))
        {
            Ok(_) => Ok(LineOutcome::Updated),
            Err(error) if lacks_parent(&error) => Ok(LineOutcome::TooEarly),
            Err(error) => Err(error.into()),
        }
    }

    /// The same for an equivalent row with another id.
    fn merge_twin(
        &mut self,
        row: &LineRow<'_>,
        last_old_row: i64,
    ) -> Result<LineOutcome, LineFailure> {
        match row.table.record {
            LineType::Page => {
                let id: String = self
                    .transaction
                    .prepare_cached("SELECT id FROM pages WHERE url = ?")?
                    .query_row([row.get("url")], |r| r.get(0))?;
                Err(LineFailure::Line(format!(
                    "field \"url\": that address already belongs to page {id}; two pages cannot have \
                     one address"
                )))
            }
            LineType::Edge => self.merge_edge_twin(row, last_old_row),
            LineType::Embedding => self.merge_vector_twin(row, last_old_row),
            _ => Err(Error::internal(format!("{} met no row of its key", row.label())).into()),
        }
    }

    /// A pair has one origin, one verdict and one citation. An edge that existed before the import
    /// stays; of two in the file, the one that a human corrected is kept, then the one with the lower
    /// id, so that the order of the lines does not matter.
    fn merge_edge_twin(
        &mut self,
        row: &LineRow<'_>,
        last_old_row: i64,
    ) -> Result<LineOutcome, LineFailure> {
        // The conditions of the unique indexes, which exist even when all other indexes of edges are
        // dropped.
        let class = match row.text("relation") {
            "origin" => "relation = 'origin'",
            "cites" => "relation = 'cites'",
            _ => {
                "source_type = 'fragment' AND target_type = 'claim'
                 AND relation IN ('supports', 'refutes', 'neutral')"
            }
        };
        let (rowid, id, corrected): (i64, String, i64) = self
            .transaction
            .prepare_cached(&format!(
                "SELECT rowid, id, edge_human_corrected FROM edges
                 WHERE source_id = ?1 AND target_id = ?2 AND {class}"
            ))?
            .query_row(params![row.get("source_id"), row.get("target_id")], |r| {
                Ok((r.get(0)?, r.get(1)?, r.get(2)?))
            })?;
        let rank = |corrected: i64| -corrected;
        let new = (
            rank(row.int("edge_human_corrected").unwrap_or(0)),
            row.text("id"),
        );
        if rowid > last_old_row && new < (rank(corrected), id.as_str()) {
            self.transaction
                .prepare_cached("DELETE FROM edges WHERE rowid = ?")?
                .execute([rowid])?;
            self.insert(row)?;
        }
        Ok(LineOutcome::Skipped)
    }

    /// A target has one vector per model.
    fn merge_vector_twin(
        &mut self,
        row: &LineRow<'_>,
        last_old_row: i64,
    ) -> Result<LineOutcome, LineFailure> {
        let key = params![
            row.get("target_type"),
            row.get("target_id"),
            row.get("model_id")
        ];
        let (seq, id, blob): (i64, String, Vec<u8>) = self
            .transaction
            .prepare_cached(
                "SELECT seq, id, embedding_blob FROM embeddings
                 WHERE target_type = ?1 AND target_id = ?2 AND model_id = ?3",
            )?
            .query_row(key, |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
        if *row.get("embedding_blob") != Cell::Blob(blob) {
            return Err(LineFailure::Line(format!(
                "field \"embedding_blob\": {} {} has another vector of model {} already, as {id}",
                row.text("target_type"),
                row.text("target_id"),
                row.text("model_id"),
            )));
        }
        if seq > last_old_row && row.text("id") < id.as_str() {
            self.transaction
                .prepare_cached("UPDATE embeddings SET id = ?1 WHERE seq = ?2")?
                .execute(params![row.get("id"), seq])?;
        }
        Ok(LineOutcome::Skipped)
    }
}
