//! A guarded connection: opened read-only, hardened, and limited to reading.

use super::authorizer::{Authorizer, Phase};
use super::budget::QueryBudget;
use super::policy::GuardPolicy;
use super::request::{SchemaSnapshot, TempView};
use super::table::{Allowlist, MODULES};
use super::{full_text, functions, limits, schema, temp_files};
use crate::error::{Error, Result};
use crate::store::database::SqliteResultExt;
use crate::store::database::{DatabaseFile, FileStamp, ReadConnection};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ffi};
use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

/// One connection with its budget and authorizer. It runs one query at a time.
#[derive(Debug)]
pub(super) struct GuardedConnection {
    pub(super) connection: Connection,
    pub(super) budget: Arc<QueryBudget>,
    pub(super) authorizer: Arc<Authorizer>,
    pub(super) schema: Arc<SchemaSnapshot>,
    pub(super) policy: Arc<GuardPolicy>,
    /// Detects whether the file was replaced, if nothing else does.
    pub(super) stamp: FileStamp,
}

impl GuardedConnection {
    /// Opens the file and locks the connection down. The order matters: the guard's own work (views,
    /// schema, FTS5's first access to its tables) comes before the authorizer is installed.
    pub(super) fn open(
        source: &DatabaseFile,
        views: &[TempView],
        policy: &Arc<GuardPolicy>,
    ) -> Result<Self> {
        temp_files::register()?;
        let ReadConnection {
            mut connection,
            stamp,
        } = source.open_through(Some(temp_files::VFS))?;
        connection.busy_timeout(limits::BUSY_TIMEOUT).db()?;
        let budget = Arc::new(QueryBudget::new());
        functions::register(&connection, &budget, source)?;
        full_text::register(&connection, &budget)?;
        policy.register_functions(&connection)?;
        policy.check(&connection)?;
        // Must precede the views: a change of the temporary store drops its contents.
        harden(&connection)?;
        let names = create_views(&connection, views)?;
        drop_modules(&connection)?;
        let schema = Arc::new(schema::snapshot(&connection, policy, &names)?);
        let indexes = schema::public_indexes(&connection, policy)?;
        load_full_text(&connection, policy)?;
        limits::apply(&connection)?;
        let allowlist = Arc::new(Allowlist::new(Arc::clone(policy), names, indexes));
        let authorizer = Arc::new(Authorizer::new(allowlist));
        let decide = Arc::clone(&authorizer);
        connection
            .authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
                decide.decide(context)
            }))
            .db()?;
        Ok(Self {
            connection,
            budget,
            authorizer,
            schema,
            policy: Arc::clone(policy),
            stamp,
        })
    }

    /// Lets FTS5 read its tables again after the schema has changed under it.
    pub(super) fn reload_full_text(&self) -> Result<()> {
        self.authorizer.enter(Phase::Own);
        load_full_text(&self.connection, &self.policy)
    }
}

/// Creates the views in the connection's temporary schema.
fn create_views(connection: &Connection, views: &[TempView]) -> Result<Vec<String>> {
    // To SQLite, creating temporary views is a write, although not to the file.
    connection.pragma_update(None, "query_only", false).db()?;
    let mut names = Vec::with_capacity(views.len());
    for view in views {
        check_view(view)?;
        connection
            .prepare(&format!(
                "CREATE TEMP VIEW \"{}\" AS {}",
                view.name, view.select_sql
            ))
            .and_then(|mut statement| statement.execute([]))
            .map_err(|e| Error::invalid(format!("view {}: {e}", view.name)).with_source(e))?;
        names.push(view.name.clone());
    }
    connection.pragma_update(None, "query_only", true).db()?;
    // This resolves names without making a plan, which for all views would take longer than the rest of
    // the opening.
    let columns = "SELECT count(*) FROM pragma_table_info(?1)";
    for name in &names {
        connection
            .query_row(columns, [name], |_| Ok(()))
            .map_err(|e| Error::invalid(format!("view {name}: {e}")).with_source(e))?;
    }
    Ok(names)
}

fn check_view(view: &TempView) -> Result<()> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if view.name.starts_with("v_") && view.name.chars().all(plain) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "view name {:?}; expected v_ and a-z, 0-9 or _",
        view.name
    )))
}

fn harden(connection: &Connection) -> Result<()> {
    use DbConfig as C;
    for (option, value) in [
        // No writes to shadow tables or the schema, whatever else fails.
        (C::SQLITE_DBCONFIG_DEFENSIVE, true),
        // Views and indexes in a hostile file cannot call functions with side effects.
        (C::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (C::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (C::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (C::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        // "text" in double quotes gives an error with a hint instead of a silently wrong answer.
        (C::SQLITE_DBCONFIG_DQS_DML, false),
        (C::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        connection.set_db_config(option, value).db()?;
    }
    connection
        .execute_batch(
            // Truncating a mapped file would kill the process, and mapped pages are not checked. Sorts
            // spill to files, so that memory stays near the cache's 2 MiB.
            "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;
             PRAGMA cache_size = -2048; PRAGMA temp_store = FILE;",
        )
        .db()
}

/// Unregisters all virtual tables that no query needs: some expose the raw file.
#[allow(unsafe_code, reason = "the binding has no call for it")]
fn drop_modules(connection: &Connection) -> Result<()> {
    let names: Vec<CString> = MODULES
        .iter()
        .filter_map(|m| CString::new(*m).ok())
        .collect();
    let mut keep: Vec<*const std::ffi::c_char> = names.iter().map(|n| n.as_ptr()).collect();
    keep.push(ptr::null());
    // SAFETY: the handle is that of an open connection that only this thread uses, and `keep` is a
    // null-terminated list of C strings that outlives the call.
    let code = unsafe { ffi::sqlite3_drop_modules(connection.handle(), keep.as_mut_ptr()) };
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(Error::internal(format!(
            "virtual tables could not be unregistered (code {code})"
        )))
    }
}

/// FTS5 reads its configuration when a table is first named; the authorizer would deny that.
fn load_full_text(connection: &Connection, policy: &GuardPolicy) -> Result<()> {
    for table in &policy.full_text {
        let name = table.replace('"', "\"\"");
        let sql = format!("SELECT count(*) FROM \"{name}\" WHERE \"{name}\" MATCH 'lyra'");
        connection
            .query_row(&sql, [], |row| row.get::<_, i64>(0))
            .db()?;
    }
    Ok(())
}
