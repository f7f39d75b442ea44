//! A guarded connection: opened read-only, hardened, and closed to everything but reading.

use super::authorizer::{Authorizer, Phase};
use super::budget::Budget;
use super::policy::GuardPolicy;
use super::request::{SchemaSnapshot, TempView};
use super::table::{Allowlist, MODULES};
use super::{full_text, functions, limits, schema, temp_files};
use crate::error::{Error, Result};
use crate::store::database::SqliteResultExt;
use crate::store::database::{FileStamp, Reading, Source};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ffi};
use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

/// One connection with its budget and authorizer. It runs one query at a time.
#[derive(Debug)]
pub(super) struct GuardedConnection {
    pub(super) connection: Connection,
    pub(super) budget: Arc<Budget>,
    pub(super) authorizer: Arc<Authorizer>,
    pub(super) schema: Arc<SchemaSnapshot>,
    pub(super) policy: Arc<GuardPolicy>,
    /// Whether the file is still the one that was opened, where nothing else tells.
    pub(super) stamp: FileStamp,
}

impl GuardedConnection {
    /// Opens the file and closes every door. The order matters: what the guard itself has to do
    /// (views, schema, FTS5's first look at its tables) comes before the authorizer.
    pub(super) fn open(
        source: &Source,
        views: &[TempView],
        policy: &Arc<GuardPolicy>,
    ) -> Result<Self> {
        temp_files::register()?;
        let Reading {
            mut connection,
            stamp,
        } = source.open_through(Some(temp_files::VFS))?;
        connection.busy_timeout(limits::BUSY_TIMEOUT).db()?;
        let budget = Arc::new(Budget::new());
        functions::register(&connection, &budget, source)?;
        full_text::register(&connection, &budget)?;
        policy.register_functions(&connection)?;
        policy.check(&connection)?;
        // Before the views: a change of the temporary store drops what is in it.
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

/// Creates the views in the connection's own temporary schema.
fn create_views(connection: &Connection, views: &[TempView]) -> Result<Vec<String>> {
    // Temporary views are a write to SQLite, if not to the file.
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
    // Names are resolved for it, and no plan is made, which for all views takes longer than the rest
    // of the opening.
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
        // No write to shadow tables or the schema, whatever else fails.
        (C::SQLITE_DBCONFIG_DEFENSIVE, true),
        // A view or an index in a hostile file calls no function with side effects.
        (C::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (C::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (C::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (C::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        // "text" in double quotes is an error with a hint and not a silently wrong answer.
        (C::SQLITE_DBCONFIG_DQS_DML, false),
        (C::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        connection.set_db_config(option, value).db()?;
    }
    connection
        .execute_batch(
            // A file that is cut short under a mapping would kill the process; a mapped page is
            // not checked either. Sorts spill to files, so that memory stays near the cache's 2 MiB.
            "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;
             PRAGMA cache_size = -2048; PRAGMA temp_store = FILE;",
        )
        .db()
}

/// Unregisters all virtual tables that no query needs: some show the raw file.
#[allow(unsafe_code, reason = "the binding has no call for it")]
fn drop_modules(connection: &Connection) -> Result<()> {
    let names: Vec<CString> = MODULES
        .iter()
        .filter_map(|m| CString::new(*m).ok())
        .collect();
    let mut keep: Vec<*const std::ffi::c_char> = names.iter().map(|n| n.as_ptr()).collect();
    keep.push(ptr::null());
    // SAFETY: the handle is that of an open connection that this thread alone uses, and `keep` is
    // a list of C strings, ended by a null pointer, that outlives the call.
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
