//! The authorizer: SQLite calls it for every action of a statement, and it denies everything that is not
//! on the lists of `table`.
//!
//! SQLite reports a denial only as "not authorized", so the reason is stored here.

use super::limits::FUNCTION_CALLS;
use super::table::{Allowlist, SCHEMA_TABLE_COLUMNS, Visibility, is_brief_function};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The origin of the statement that the authorizer checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The caller's statement is being prepared: every rule applies.
    Prepare = 0,
    /// The caller's statement runs; FTS5 and the pragma functions prepare inner statements on its
    /// behalf, so FTS5's internal tables may be read.
    Run = 1,
    /// A fixed statement of the guard.
    Own = 2,
}

/// Why a statement was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Denial {
    /// A table that queries may not see.
    Table(String),
    /// A column of `sqlite_schema` that is not shown.
    SchemaColumn(String),
    /// A function that is not on the list.
    Function(String),
    /// More calls than allowed in a statement.
    TooManyCalls,
    /// A pragma other than those that describe public tables, with its argument.
    Pragma(String, Option<String>),
    /// An action other than reading.
    Action(&'static str),
}

/// The authorizer's state; shared between the callback and the code that runs the statement.
#[derive(Debug)]
pub(super) struct Authorizer {
    allowlist: Arc<Allowlist>,
    phase: AtomicU8,
    calls: AtomicU32,
    /// Whether one step of the statement may take long: it calls a function or reads a virtual table,
    /// whose work is not limited to one pass over a value.
    slow_steps: AtomicBool,
    denial: Mutex<Option<Denial>>,
    /// Names in FROM clauses that SQLite reported without a database and without a column: a CTE, a
    /// subquery, or a table of which no column is used.
    unresolved: Mutex<Vec<String>>,
}

impl Authorizer {
    pub(super) fn new(allowlist: Arc<Allowlist>) -> Self {
        Self {
            allowlist,
            phase: AtomicU8::new(Phase::Own as u8),
            calls: AtomicU32::new(0),
            slow_steps: AtomicBool::new(false),
            denial: Mutex::new(None),
            unresolved: Mutex::new(Vec::new()),
        }
    }

    /// Resets the state and applies the rules to the next statement.
    pub(super) fn begin_prepare(&self) {
        self.calls.store(0, Relaxed);
        self.slow_steps.store(false, Relaxed);
        *lock(&self.denial) = None;
        lock(&self.unresolved).clear();
        self.enter(Phase::Prepare);
    }

    /// Whether one step of the last prepared statement may take long.
    pub(super) fn has_slow_steps(&self) -> bool {
        self.slow_steps.load(Relaxed)
    }

    pub(super) fn allowlist(&self) -> &Allowlist {
        &self.allowlist
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    pub(super) fn phase(&self) -> Phase {
        match self.phase.load(Relaxed) {
            0 => Phase::Prepare,
            1 => Phase::Run,
            _ => Phase::Own,
        }
    }

    /// The first reason for which the statement was denied.
    pub(super) fn denial(&self) -> Option<Denial> {
        lock(&self.denial).clone()
    }

    /// The names to check against the schema once the statement is prepared.
    pub(super) fn take_unresolved(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.unresolved))
    }

    /// The callback.
    pub(super) fn decide(&self, context: AuthContext<'_>) -> Authorization {
        let running = match self.phase() {
            Phase::Own => return Authorization::Allow,
            Phase::Run => true,
            Phase::Prepare => false,
        };
        match context.action {
            AuthAction::Select | AuthAction::Recursive => Authorization::Allow,
            AuthAction::Read {
                table_name,
                column_name,
            } => self.decide_read(table_name, column_name, context.database_name, running),
            AuthAction::Function { function_name } => self.decide_call(function_name, running),
            AuthAction::Pragma {
                pragma_name,
                pragma_value,
            } => self.decide_pragma(pragma_name, pragma_value, running),
            other => self.deny(Denial::Action(kind_of_action(&other))),
        }
    }

    /// The view or CTE that SQLite names as the context of an access is not considered: a CTE with the
    /// name of a view would be mistaken for the view.
    fn decide_read(
        &self,
        table: &str,
        column: &str,
        database: Option<&str>,
        running: bool,
    ) -> Authorization {
        if !matches!(database, None | Some("main" | "temp")) {
            return self.deny(Denial::Table(table.to_owned()));
        }
        if self.allowlist.is_virtual_table(table) {
            self.slow_steps.store(true, Relaxed);
        }
        match self.allowlist.visibility(table) {
            // This also applies while the statement runs: SQLite prepares it again if the schema has
            // changed.
            Visibility::Public(private) if contains(private, column) => Authorization::Ignore,
            Visibility::Public(_) => Authorization::Allow,
            Visibility::SchemaTable
                if column.is_empty() || contains(&SCHEMA_TABLE_COLUMNS, column) =>
            {
                Authorization::Allow
            }
            Visibility::SchemaTable => self.deny(Denial::SchemaColumn(column.to_owned())),
            Visibility::Internal if running => Authorization::Allow,
            Visibility::Unknown if column.is_empty() && database.is_none() => {
                lock(&self.unresolved).push(table.to_owned());
                Authorization::Allow
            }
            Visibility::Internal | Visibility::Unknown => {
                self.deny(Denial::Table(table.to_owned()))
            }
        }
    }

    fn decide_call(&self, function: &str, running: bool) -> Authorization {
        if !self.allowlist.function_allowed(function) {
            return self.deny(Denial::Function(function.to_owned()));
        }
        if !is_brief_function(function) {
            self.slow_steps.store(true, Relaxed);
        }
        if !running && self.calls.fetch_add(1, Relaxed) >= FUNCTION_CALLS {
            return self.deny(Denial::TooManyCalls);
        }
        Authorization::Allow
    }

    fn decide_pragma(&self, name: &str, value: Option<&str>, running: bool) -> Authorization {
        // FTS5 queries the data version to check its cache.
        let by_fts5 = running && value.is_none() && name.eq_ignore_ascii_case("data_version");
        if by_fts5 || self.allowlist.pragma_allowed(name, value) {
            return Authorization::Allow;
        }
        self.deny(Denial::Pragma(name.to_owned(), value.map(str::to_owned)))
    }

    fn deny(&self, reason: Denial) -> Authorization {
        lock(&self.denial).get_or_insert(reason);
        Authorization::Deny
    }
}

fn contains(columns: &[impl AsRef<str>], column: &str) -> bool {
    columns
        .iter()
        .any(|c| c.as_ref().eq_ignore_ascii_case(column))
}

/// The description of an action other than reading, for error messages.
fn kind_of_action(action: &AuthAction<'_>) -> &'static str {
    use AuthAction as A;
    match action {
        A::Insert { .. } | A::Update { .. } | A::Delete { .. } => "writing",
        A::Attach { .. } | A::Detach { .. } => "attaching or detaching files",
        A::Transaction { .. } | A::Savepoint { .. } => "controlling transactions",
        A::CreateIndex { .. }
        | A::CreateTable { .. }
        | A::CreateTempIndex { .. }
        | A::CreateTempTable { .. }
        | A::CreateTempTrigger { .. }
        | A::CreateTempView { .. }
        | A::CreateTrigger { .. }
        | A::CreateView { .. }
        | A::CreateVtable { .. }
        | A::DropIndex { .. }
        | A::DropTable { .. }
        | A::DropTempIndex { .. }
        | A::DropTempTable { .. }
        | A::DropTempTrigger { .. }
        | A::DropTempView { .. }
        | A::DropTrigger { .. }
        | A::DropView { .. }
        | A::DropVtable { .. }
        | A::AlterTable { .. } => "changing the schema",
        _ => "maintenance",
    }
}

/// Poisoning can be ignored: a panic elsewhere leaves these small values consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorizer() -> Authorizer {
        Authorizer::new(Arc::new(Allowlist::new(
            super::super::policy::GuardPolicy::of_graph(),
            vec!["v_chain".into()],
            vec![],
        )))
    }

    fn ask(
        authorizer: &Authorizer,
        action: AuthAction<'_>,
        database: Option<&str>,
    ) -> Authorization {
        authorizer.decide(AuthContext {
            action,
            database_name: database,
            accessor: None,
        })
    }

    #[test]
    fn reads_follow_the_phase() {
        use Authorization::{Allow, Deny, Ignore};
        for (table, column, database, prepared, run) in [
            ("claims", "id", Some("main"), Allow, Allow),
            ("CLAIMS", "", None, Allow, Allow),
            ("auth_queue", "Session_Data", Some("main"), Ignore, Ignore),
            ("event_log", "details_json", Some("main"), Ignore, Ignore),
            ("event_log", "actor", Some("main"), Allow, Allow),
            ("claims", "id", Some("other"), Deny, Deny),
            ("fragments_fts_data", "block", Some("main"), Deny, Allow),
            ("secrets", "value", Some("main"), Deny, Deny),
            ("secrets", "", Some("main"), Deny, Deny),
            ("some_cte", "", None, Allow, Allow),
            ("sqlite_master", "name", Some("main"), Allow, Allow),
            ("sqlite_master", "sql", Some("main"), Deny, Deny),
            ("v_chain", "x", Some("temp"), Allow, Allow),
        ] {
            for (phase, expected) in [(Phase::Prepare, prepared), (Phase::Run, run)] {
                let authorizer = authorizer();
                authorizer.begin_prepare();
                authorizer.enter(phase);
                let action = AuthAction::Read {
                    table_name: table,
                    column_name: column,
                };
                let decision = ask(&authorizer, action, database);
                assert_eq!(
                    decision, expected,
                    "{table}.{column} in {database:?}, {phase:?}"
                );
                assert_eq!(authorizer.denial().is_some(), expected == Deny);
            }
        }
    }

    #[test]
    fn names_that_may_be_ctes_are_handed_on() {
        let authorizer = authorizer();
        authorizer.begin_prepare();
        let action = AuthAction::Read {
            table_name: "x",
            column_name: "",
        };
        assert_eq!(ask(&authorizer, action, None), Authorization::Allow);
        assert_eq!(authorizer.take_unresolved(), ["x"]);
        assert!(authorizer.take_unresolved().is_empty());
    }

    #[test]
    fn calls_are_counted_and_the_first_reason_is_kept() {
        let authorizer = authorizer();
        authorizer.begin_prepare();
        for _ in 0..FUNCTION_CALLS {
            let call = AuthAction::Function {
                function_name: "ABS",
            };
            assert_eq!(ask(&authorizer, call, None), Authorization::Allow);
        }
        let call = AuthAction::Function {
            function_name: "abs",
        };
        assert_eq!(ask(&authorizer, call, None), Authorization::Deny);
        let call = AuthAction::Function {
            function_name: "load_extension",
        };
        assert_eq!(ask(&authorizer, call, None), Authorization::Deny);
        assert_eq!(authorizer.denial(), Some(Denial::TooManyCalls));
        authorizer.begin_prepare();
        assert_eq!(authorizer.denial(), None);
    }

    #[test]
    fn everything_else_is_denied() {
        for (action, kind) in [
            (
                AuthAction::Insert {
                    table_name: "claims",
                },
                "writing",
            ),
            (
                AuthAction::Attach { filename: "x" },
                "attaching or detaching files",
            ),
            (
                AuthAction::CreateTempView { view_name: "x" },
                "changing the schema",
            ),
            (AuthAction::Reindex { index_name: "x" }, "maintenance"),
            (
                AuthAction::Unknown {
                    code: 99,
                    arg1: None,
                    arg2: None,
                },
                "maintenance",
            ),
        ] {
            let authorizer = authorizer();
            authorizer.begin_prepare();
            assert_eq!(ask(&authorizer, action, None), Authorization::Deny);
            assert_eq!(authorizer.denial(), Some(Denial::Action(kind)));
        }
    }
}
