//! What queries may read and call: public tables with their private columns, functions, pragmas.
//!
//! Everything that is not named here is denied.

use super::policy::GuardPolicy;
use std::sync::Arc;

/// Suffixes of the tables in which FTS5 stores each of its tables; they are private, but FTS5 itself
/// reads them while a query runs.
const SHADOW_SUFFIXES: [&str; 5] = ["_data", "_idx", "_content", "_docsize", "_config"];

/// Table-valued functions that compute from their arguments alone.
const TABLE_FUNCTIONS: [&str; 2] = ["json_each", "json_tree"];

/// Pragmas that describe one table or index, also as `pragma_…` table-valued functions.
pub(super) const PRAGMAS: [&str; 5] = [
    "table_info",
    "table_xinfo",
    "foreign_key_list",
    "index_list",
    "index_info",
];

/// Columns of `sqlite_schema` that queries may read. Its `sql` and `rootpage` also describe internal
/// tables, and an authorizer cannot distinguish rows.
pub(super) const SCHEMA_TABLE_COLUMNS: [&str; 3] = ["type", "name", "tbl_name"];

/// Modules that a connection keeps; all others are unregistered when it is opened.
pub(super) const MODULES: [&str; 3] = ["fts5", "json_each", "json_tree"];

/// The functions that queries may call: SQLite's own that are bounded by the length limit and
/// linear in their input, and those of `functions`.
#[rustfmt::skip]
pub(super) const FUNCTIONS: &[&str] = &[
    "->", "->>", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "avg", "bm25",
    "ceil", "ceiling", "char", "coalesce", "concat", "concat_ws", "cos", "cosh", "count",
    "cume_dist", "current_date", "current_time", "current_timestamp", "date", "datetime",
    "degrees", "dense_rank", "exp", "first_value", "floor", "format", "glob", "group_concat",
    "hex", "highlight", "if", "ifnull", "iif", "instr", "json", "json_array", "json_array_insert",
    "json_array_length", "json_error_position", "json_extract", "json_group_array",
    "json_group_object", "json_insert", "json_object", "json_patch", "json_pretty", "json_quote",
    "json_remove", "json_replace", "json_set", "json_type", "json_valid", "jsonb", "jsonb_array",
    "jsonb_extract", "jsonb_group_array", "jsonb_group_object", "jsonb_insert", "jsonb_object",
    "jsonb_remove", "jsonb_replace", "jsonb_set", "julianday", "lag", "last_value", "lead",
    "length", "like", "likelihood", "likely", "ln", "log", "log10", "log2", "lower", "ltrim",
    "match", "max", "median", "min", "mod", "nth_value", "ntile", "nullif", "octet_length",
    "page_text_slice", "percent_rank", "percentile", "pi", "pow", "power", "printf", "quote",
    "radians", "random", "randomblob", "rank", "regexp", "replace", "round", "row_number",
    "rtrim", "sign", "sin", "sinh", "snippet", "soundex", "sqlite_version", "sqrt", "stddev",
    "strftime", "string_agg", "substr", "substring", "subtype", "sum", "tan", "tanh", "time",
    "timediff", "total", "trim", "trunc", "typeof", "unhex", "unicode", "unistr", "unistr_quote",
    "unixepoch", "unlikely", "upper", "variance", "zeroblob",
];

/// Those of [`FUNCTIONS`] that read each argument about once, or that check the deadline themselves: a
/// query that calls no others may start on its caller's thread. `count` is not included: counting a
/// whole table is a single step.
#[rustfmt::skip]
const BRIEF_FUNCTIONS: &[&str] = &[
    "abs", "avg", "ceil", "ceiling", "coalesce", "date", "datetime", "dense_rank",
    "first_value", "floor", "glob", "if", "ifnull", "iif", "julianday", "lag", "last_value",
    "lead", "length", "like", "ln", "log", "log10", "log2", "lower", "max", "min", "mod",
    "nullif", "octet_length", "pow", "power", "rank", "round", "row_number", "sign", "sqrt",
    "strftime", "substr", "substring", "sum", "total", "trunc", "typeof", "unixepoch", "upper",
];

/// The access that a query has to a table name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility<'p> {
    /// Readable, except for these columns.
    Public(&'p [String]),
    /// SQLite's schema table: some columns are readable.
    SchemaTable,
    /// Read by FTS5 on its own behalf while a query runs.
    Internal,
    /// Not readable.
    Unknown,
}

/// The tables and views of one database file and its guard.
#[derive(Debug)]
pub(super) struct Allowlist {
    policy: Arc<GuardPolicy>,
    /// The `v_…` views of this guard, lower case.
    views: Vec<String>,
    /// Indexes of public tables, which the index pragmas may describe.
    indexes: Vec<String>,
}

impl Allowlist {
    pub(super) fn new(policy: Arc<GuardPolicy>, views: Vec<String>, indexes: Vec<String>) -> Self {
        Self {
            policy,
            views,
            indexes,
        }
    }

    /// Looks up a table name, ignoring case.
    pub(super) fn visibility(&self, name: &str) -> Visibility<'_> {
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        if let Some(table) = self.policy.tables.iter().find(|t| same(&t.name)) {
            return Visibility::Public(&table.private_columns);
        }
        if self.policy.derived.iter().any(|t| same(t)) {
            return Visibility::Public(&[]);
        }
        if self.views.iter().any(|v| same(v)) || TABLE_FUNCTIONS.into_iter().any(same) {
            return Visibility::Public(&[]);
        }
        if same("sqlite_master") || same("sqlite_schema") {
            return Visibility::SchemaTable;
        }
        if pragma_function(name).is_some_and(is_public_pragma) {
            return Visibility::Public(&[]);
        }
        if self.is_shadow_table(name) {
            Visibility::Internal
        } else {
            Visibility::Unknown
        }
    }

    /// Whether `PRAGMA name(argument)` may describe its argument.
    pub(super) fn pragma_allowed(&self, name: &str, argument: Option<&str>) -> bool {
        let Some(argument) = argument else {
            return false;
        };
        let about_index = name.eq_ignore_ascii_case("index_info");
        let known = if about_index {
            self.indexes
                .iter()
                .any(|i| i.eq_ignore_ascii_case(argument))
        } else {
            matches!(self.visibility(argument), Visibility::Public(_))
        };
        is_public_pragma(name) && known
    }

    /// Whether a function is on the list.
    pub(super) fn function_allowed(&self, name: &str) -> bool {
        FUNCTIONS.iter().any(|f| f.eq_ignore_ascii_case(name)) || self.policy.has_function(name)
    }

    /// Whether this is the name of a table with computed rows.
    pub(super) fn is_virtual_table(&self, name: &str) -> bool {
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        self.policy.full_text.iter().any(|t| same(t))
            || TABLE_FUNCTIONS.into_iter().any(same)
            || pragma_function(name).is_some()
    }

    /// Whether this is the name of a table in which FTS5 stores its index.
    pub(super) fn is_shadow_table(&self, name: &str) -> bool {
        self.policy.full_text.iter().any(|table| {
            name.get(..table.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(table))
                && SHADOW_SUFFIXES
                    .into_iter()
                    .any(|suffix| name[table.len()..].eq_ignore_ascii_case(suffix))
        })
    }
}

/// Whether a function is one of [`BRIEF_FUNCTIONS`].
pub(super) fn is_brief_function(name: &str) -> bool {
    BRIEF_FUNCTIONS.iter().any(|f| f.eq_ignore_ascii_case(name))
}

/// The pragma of a `pragma_…` table-valued function.
pub(super) fn pragma_function(name: &str) -> Option<&str> {
    let (head, tail) = name.split_at_checked("pragma_".len())?;
    head.eq_ignore_ascii_case("pragma_").then_some(tail)
}

fn is_public_pragma(name: &str) -> bool {
    PRAGMAS.into_iter().any(|p| p.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::super::public::PUBLIC_TABLES;
    use super::*;

    const SCHEMA: &str = include_str!("../database/sql/schema.sql");

    #[test]
    fn every_table_of_the_schema_is_public_and_no_other() {
        let declared: Vec<&str> = SCHEMA
            .lines()
            .filter_map(|line| {
                let rest = line
                    .strip_prefix("CREATE TABLE ")
                    .or_else(|| line.strip_prefix("CREATE VIRTUAL TABLE "))?;
                rest.split_whitespace().next()
            })
            .collect();
        let public: Vec<&str> = PUBLIC_TABLES.iter().map(|t| t.name).collect();
        assert_eq!(declared, public);
    }

    #[test]
    fn names_are_looked_up_in_any_case() {
        let allow = Allowlist::new(
            GuardPolicy::of_graph(),
            vec!["v_chain".into()],
            vec!["claims_in_order".into()],
        );
        for (name, expected) in [
            ("claims", Visibility::Public(&[])),
            ("CLAIMS", Visibility::Public(&[])),
            (
                "Auth_Queue",
                Visibility::Public(&["session_data".to_owned()]),
            ),
            ("V_Chain", Visibility::Public(&[])),
            ("json_each", Visibility::Public(&[])),
            ("pragma_table_info", Visibility::Public(&[])),
            ("PRAGMA_index_list", Visibility::Public(&[])),
            ("pragma_database_list", Visibility::Unknown),
            ("pragma_", Visibility::Unknown),
            ("sqlite_master", Visibility::SchemaTable),
            ("SQLITE_SCHEMA", Visibility::SchemaTable),
            ("sqlite_temp_master", Visibility::Unknown),
            ("sqlite_sequence", Visibility::Unknown),
            ("fragments_fts_data", Visibility::Internal),
            ("CLAIMS_fts_CONFIG", Visibility::Internal),
            ("fragments_fts_other", Visibility::Unknown),
            ("claim", Visibility::Unknown),
            ("é", Visibility::Unknown),
            ("", Visibility::Unknown),
        ] {
            assert_eq!(allow.visibility(name), expected, "{name}");
        }
    }

    #[test]
    fn pragmas_describe_public_objects_only() {
        let allow = Allowlist::new(
            GuardPolicy::of_graph(),
            vec!["v_chain".into()],
            vec!["claims_in_order".into()],
        );
        for (name, argument, expected) in [
            ("table_info", Some("claims"), true),
            ("TABLE_XINFO", Some("Claims"), true),
            ("table_info", Some("v_chain"), true),
            ("table_info", Some("claims_fts_data"), false),
            ("table_info", Some("sqlite_master"), false),
            ("table_info", None, false),
            ("index_info", Some("claims_in_order"), true),
            ("index_info", Some("sqlite_autoindex_secrets_1"), false),
            ("index_info", Some("claims"), false),
            ("user_version", Some("claims"), false),
            ("database_list", None, false),
        ] {
            assert_eq!(
                allow.pragma_allowed(name, argument),
                expected,
                "{name}({argument:?})"
            );
        }
    }
}
