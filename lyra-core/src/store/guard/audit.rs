//! Checks the compiled program of statements that SQLite's authorizer does not see in full.
//!
//! `a JOIN b USING (x)` and `a NATURAL JOIN b` read their common columns without a call of the
//! authorizer: with `FULL JOIN (SELECT NULL AS session_data) USING (session_data)`, a query could read a
//! private column or a whole private table. The program that SQLite compiles cannot hide this: it has to
//! open the table and fetch the column.

use super::authorizer::{Denial, Phase};
use super::connection::GuardedConnection;
use super::hint;
use super::table::Visibility;
use crate::error::{Error, Result};
use std::collections::HashMap;

/// Whether a statement may contain such a join. A statement without one of these words cannot; a
/// statement with one is checked, whatever the word means there.
pub(super) fn is_needed(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    sql.contains("using") || sql.contains("natural")
}

/// Refuses a statement whose program opens a table, or fetches a column, that is not public.
///
/// The statement has already been prepared under the authorizer.
pub(super) fn check(guarded: &GuardedConnection, sql: &str) -> Result<()> {
    // Inside a transaction, the map of tables and the program belong to the same schema.
    guarded.authorizer.enter(Phase::Own);
    run_own(guarded, "BEGIN").map_err(storage)?;
    let verdict = check_program(guarded, sql);
    guarded.authorizer.enter(Phase::Own);
    run_own(guarded, "COMMIT").map_err(storage)?;
    verdict
}

fn check_program(guarded: &GuardedConnection, sql: &str) -> Result<()> {
    let tables = Tables::read(guarded).map_err(storage)?;
    guarded.authorizer.begin_prepare();
    let program = read_program(guarded, sql).map_err(|e| {
        hint::rejected(format!("the statement cannot be examined: {e}"))
            .with_hint("put nothing before SELECT, and write JOIN … ON instead of USING")
    })?;
    let mut private_cursors: HashMap<i64, &[i64]> = HashMap::new();
    for step in &program {
        match step.opcode.as_str() {
            "OpenRead" => {
                let table = tables.by_root(step.p3, step.p2);
                match guarded.authorizer.allowlist().visibility(table) {
                    Visibility::Public(_) => {}
                    _ => {
                        return Err(hint::denied(
                            &Denial::Table(table.to_owned()),
                            &guarded.schema,
                        ));
                    }
                }
                private_cursors.insert(step.p1, tables.private_columns(table));
            }
            "Column"
                if private_cursors
                    .get(&step.p1)
                    .is_some_and(|cols| cols.contains(&step.p2)) =>
            {
                return Err(hint::rejected("a private column cannot be joined on")
                    .with_hint("write JOIN … ON, and name the columns that you want"));
            }
            _ => {}
        }
    }
    Ok(())
}

struct Step {
    opcode: String,
    p1: i64,
    p2: i64,
    p3: i64,
}

fn read_program(guarded: &GuardedConnection, sql: &str) -> rusqlite::Result<Vec<Step>> {
    let mut statement = guarded.connection.prepare(&format!("EXPLAIN {sql}"))?;
    let mut rows = statement.raw_query();
    let mut program = Vec::new();
    while let Some(row) = rows.next()? {
        program.push(Step {
            opcode: row.get("opcode")?,
            p1: row.get("p1")?,
            p2: row.get("p2")?,
            p3: row.get("p3")?,
        });
    }
    Ok(program)
}

/// The table at each root page, and the positions of its private columns.
struct Tables {
    by_root: HashMap<i64, String>,
    private: Vec<(String, Vec<i64>)>,
}

impl Tables {
    fn read(guarded: &GuardedConnection) -> rusqlite::Result<Self> {
        let connection = &guarded.connection;
        let mut by_root = HashMap::new();
        let mut statement = connection
            .prepare("SELECT rootpage, tbl_name FROM main.sqlite_schema WHERE rootpage > 0")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            by_root.insert(row.get(0)?, row.get(1)?);
        }
        let mut private = Vec::new();
        for table in &guarded.policy.tables {
            let mut positions = Vec::new();
            for column in &table.private_columns {
                let sql = "SELECT cid FROM pragma_table_info(?1) WHERE name = ?2 COLLATE NOCASE";
                positions.push(connection.query_row(sql, [&table.name, column], |row| row.get(0))?);
            }
            if !positions.is_empty() {
                private.push((table.name.clone(), positions));
            }
        }
        Ok(Self { by_root, private })
    }

    /// The table of a root page in database 0, the file. There are no temporary tables.
    fn by_root(&self, database: i64, root: i64) -> &str {
        let unknown = "sqlite_schema";
        if database == 0 {
            self.by_root.get(&root).map_or(unknown, String::as_str)
        } else {
            unknown
        }
    }

    fn private_columns(&self, table: &str) -> &[i64] {
        let of_table = self
            .private
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(table));
        of_table.map_or(&[], |(_, positions)| positions)
    }
}

fn run_own(guarded: &GuardedConnection, sql: &str) -> rusqlite::Result<()> {
    guarded.connection.execute_batch(sql)
}

fn storage(error: rusqlite::Error) -> Error {
    Error::sqlite(error)
}
