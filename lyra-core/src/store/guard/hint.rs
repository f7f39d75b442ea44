//! Error messages with hints: nearest names, the JOIN to use, the budget that ran out.
//!
//! Words of the statement are examined here to choose a hint, never to decide what is allowed.

use super::authorizer::Denial;
use super::budget::Spent;
use super::limits::{FUNCTION_CALLS, VALUE_BYTES};
use super::request::{MAX_TIMEOUT_MS, MAX_VM_STEPS, SchemaSnapshot, SqlOptions};
use super::table::FUNCTIONS;
use super::temp_files::QUOTA_BYTES;
use crate::error::{Error, ErrorKind};
use crate::store::text::names::nearest;

const READ_ONLY: &str = "queries only read: write one SELECT, or WITH … SELECT, over the tables of include_schema: true";
const SEE_SCHEMA: &str = "include_schema: true with `SELECT 1` lists all tables and columns";

/// Columns that are often expected in the wrong table: (column, table, what to write instead).
const DETOURS: &[(&str, &str, &str)] = &[
    (
        "task_id",
        "fragments",
        "fragments belong to every task; reach one task's through its claims: JOIN edges e ON \
         e.source_type = 'fragment' AND e.source_id = f.id JOIN claims c ON c.id = e.target_id \
         WHERE c.task_id = …",
    ),
    (
        "task_id",
        "edges",
        "edges belong to every task; JOIN claims c ON e.target_type = 'claim' AND \
         c.id = e.target_id and filter by c.task_id",
    ),
    (
        "task_id",
        "pages",
        "pages belong to every task; JOIN task_pages tp ON tp.page_id = p.id and filter by \
         tp.task_id",
    ),
    (
        "task_id",
        "works",
        "works belong to every task; JOIN pages p ON p.canonical_id = w.canonical_id JOIN \
         task_pages tp ON tp.page_id = p.id and filter by tp.task_id",
    ),
    (
        "task_id",
        "serp_items",
        "JOIN queries q ON q.id = s.query_id and filter by q.task_id",
    ),
    (
        "task_id",
        "embeddings",
        "JOIN claims c ON m.target_type = 'claim' AND c.id = m.target_id and filter by c.task_id",
    ),
    (
        "task_id",
        "nli_verdicts",
        "JOIN claims c ON c.id = v.claim_id and filter by c.task_id",
    ),
    (
        "task_id",
        "fragments_fts",
        "JOIN fragments f ON f.seq = fragments_fts.rowid JOIN edges e ON e.source_id = f.id JOIN \
         claims c ON c.id = e.target_id and filter by c.task_id",
    ),
    (
        "task_id",
        "claims_fts",
        "JOIN claims c ON c.seq = claims_fts.rowid and filter by c.task_id",
    ),
    (
        "id",
        "works",
        "the key of works is canonical_id (pages.canonical_id points at it)",
    ),
    (
        "id",
        "page_texts",
        "the key of page_texts is (page_id, version)",
    ),
    (
        "url",
        "fragments",
        "JOIN pages p ON p.id = f.page_id for p.url",
    ),
    (
        "url",
        "works",
        "JOIN pages p ON p.canonical_id = w.canonical_id for p.url",
    ),
    (
        "title",
        "fragments",
        "JOIN pages p ON p.id = f.page_id for p.title",
    ),
    (
        "text",
        "pages",
        "JOIN page_texts t ON t.page_id = p.id for t.text, or fragments for passages",
    ),
    (
        "year",
        "pages",
        "JOIN works w ON w.canonical_id = p.canonical_id for w.year",
    ),
    (
        "doi",
        "pages",
        "JOIN works w ON w.canonical_id = p.canonical_id for w.doi",
    ),
    (
        "venue",
        "pages",
        "JOIN works w ON w.canonical_id = p.canonical_id for w.venue",
    ),
    (
        "citation_count",
        "pages",
        "JOIN works w ON w.canonical_id = p.canonical_id for w.citation_count",
    ),
    (
        "author",
        "works",
        "JOIN work_authors a ON a.canonical_id = w.canonical_id for a.name",
    ),
    (
        "authors",
        "works",
        "JOIN work_authors a ON a.canonical_id = w.canonical_id for a.name",
    ),
    (
        "name",
        "works",
        "JOIN work_authors a ON a.canonical_id = w.canonical_id for a.name",
    ),
    (
        "claim_id",
        "edges",
        "a claim is the target of an edge: e.target_type = 'claim' AND e.target_id = c.id",
    ),
    (
        "fragment_id",
        "edges",
        "a fragment is the source of an edge: e.source_type = 'fragment' AND e.source_id = f.id",
    ),
    (
        "page_id",
        "claims",
        "JOIN edges e ON e.target_id = c.id AND e.source_type = 'fragment' JOIN fragments f ON \
         f.id = e.source_id for f.page_id",
    ),
    (
        "claim_text",
        "edges",
        "JOIN claims c ON e.target_type = 'claim' AND c.id = e.target_id for c.claim_text",
    ),
    (
        "text_content",
        "edges",
        "JOIN fragments f ON e.source_type = 'fragment' AND f.id = e.source_id for f.text_content",
    ),
    (
        "text_content",
        "claims",
        "the text of a claim is claim_text",
    ),
    (
        "bayesian_truth_confidence",
        "claims",
        "it is computed, not stored: read it from v_claim_evidence_summary",
    ),
];

/// Syntax of other SQL dialects: (what the message names, what to write instead).
const DIALECT: &[(&str, &str)] = &[
    ("ILIKE", "LIKE already ignores the case of ASCII letters"),
    (":", "write CAST(x AS TEXT) for x::text"),
    ("TOP", "write LIMIT n at the end for TOP n"),
    ("INTERVAL", "write date('now', '-30 days')"),
    ("date_trunc", "write strftime('%Y-%m', x)"),
    ("now", "write datetime('now')"),
    (
        "string_to_array",
        "json_each() turns a JSON array into rows",
    ),
    ("unnest", "json_each() turns a JSON array into rows"),
    (
        "percentile_cont",
        "percentile(x, 0 to 100) and median(x) are there",
    ),
    ("array_agg", "json_group_array(x) is there"),
    ("to_char", "strftime() and printf() are there"),
    ("left", "write substr(x, 1, n)"),
    ("right", "write substr(x, -n)"),
    ("year", "write CAST(strftime('%Y', x) AS INTEGER)"),
    ("var_samp", "variance(x) is there"),
    ("stddev_samp", "stddev(x) is there"),
];

/// The error for a statement that the authorizer denied.
pub(super) fn denied(denial: &Denial, schema: &SchemaSnapshot) -> Error {
    match denial {
        Denial::Table(name) => no_such_table(name, schema),
        Denial::SchemaColumn(column) => rejected(format!("sqlite_schema.{column} is not shown"))
            .with_hint(
                "type, name and tbl_name are; for columns use include_schema: true or \
                 SELECT * FROM pragma_table_info('claims')",
            ),
        Denial::Function(name) => no_such_function(name),
        Denial::TooManyCalls => rejected(format!(
            "more than {FUNCTION_CALLS} function calls in one statement"
        ))
        .with_hint("split the query, or compute once in a WITH and use the result"),
        Denial::Pragma(name, argument) => denied_pragma(name, argument.as_deref(), schema),
        Denial::Action(what) => rejected(format!("{what} is not allowed")).with_hint(READ_ONLY),
    }
}

/// The error for a statement that SQLite could not prepare or that failed while it ran.
pub(super) fn failed(message: &str, sql: &str, schema: &SchemaSnapshot) -> Error {
    let named = |prefix: &str| message.strip_prefix(prefix).map(first_name);
    if let Some(column) = named("no such column: ") {
        return no_such_column(column, sql, schema);
    }
    if let Some(table) = named("no such table: ") {
        return no_such_table(table, schema);
    }
    if let Some(function) = named("no such function: ") {
        return no_such_function(function);
    }
    if let Some(column) = named("ambiguous column name: ") {
        return rejected(format!("ambiguous column name: {column}")).with_hint(format!(
            "write which table's {column} is meant, such as c.{column}"
        ));
    }
    let error = rejected(message);
    if let Some(near) = message
        .strip_prefix("near \"")
        .and_then(|m| m.split('"').next())
    {
        let advice =
            dialect(near).unwrap_or("this is SQLite's dialect: one SELECT or WITH … SELECT");
        return error.with_hint(advice);
    }
    if message == "incomplete input" {
        return error.with_hint(
            "the statement ends too early: a value, a name or a parenthesis is missing",
        );
    }
    error.with_hint(READ_ONLY)
}

/// The error for a query that failed while it ran because a function does not accept its arguments.
pub(super) fn failed_while_running(message: &str, sql: &str) -> Error {
    let uses_full_text = sql.to_ascii_lowercase().contains("_fts");
    let advice = if message.contains("fts5") || uses_full_text {
        "MATCH takes words, \"phrases\", prefix*, AND, OR, NOT, NEAR(); put a word with \
         punctuation in double quotes inside the single-quoted pattern"
    } else if message.contains("JSON") {
        "json_valid(x) tells which rows hold JSON"
    } else {
        "a function got an argument of the wrong type or form; typeof(x) shows its type"
    };
    rejected(without_values(message)).with_hint(advice)
}

/// A message of SQLite without the stored text that it may quote: the value that a query was processing
/// when it failed is data, may be long, and must not be mistaken for our words. A short word is kept.
fn without_values(message: &str) -> String {
    let quote = |c: char| matches!(c, '\'' | '"');
    let text = match (message.find(quote), message.rfind(quote)) {
        (Some(from), Some(to)) if from < to => {
            let value = &message[from + 1..to];
            let is_word = value.len() <= 40 && !value.contains(char::is_whitespace);
            let value = if is_word { value } else { "…" };
            format!("{}{value}{}", &message[..=from], &message[to..])
        }
        _ => message.to_owned(),
    };
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The error for a query that exceeded a budget.
pub(super) fn interrupted(spent: Spent, options: &SqlOptions) -> Error {
    let (message, field, maximum) = match spent {
        Spent::Time => (
            format!("the deadline of {} ms passed", options.timeout_ms),
            "timeout_ms",
            MAX_TIMEOUT_MS,
        ),
        Spent::Steps => (
            format!("the budget of {} steps is used up", options.max_vm_steps),
            "max_vm_steps",
            MAX_VM_STEPS,
        ),
        Spent::Memory => return too_large(),
    };
    Error::new(ErrorKind::QueryInterrupted, message)
        .with_hint(format!(
            "narrow it with WHERE or a smaller join (task_id, source_id and target_id are \
             indexed), aggregate in the query, or raise {field} (at most {maximum})"
        ))
        .with_source(spent)
}

/// The error for a query whose time ran out while other queries ran.
pub(super) fn waited(options: &SqlOptions) -> Error {
    let message = format!(
        "the deadline of {} ms passed while other queries ran",
        options.timeout_ms
    );
    Error::new(ErrorKind::QueryInterrupted, message).with_hint(format!(
        "waiting for a turn is a part of timeout_ms (at most {MAX_TIMEOUT_MS}): raise it, or send \
         fewer queries at a time"
    ))
}

/// The error for a query that arrives while other queries cannot be stopped.
pub(super) fn busy() -> Error {
    Error::new(ErrorKind::QueryInterrupted, "all query workers are busy")
        .with_hint("try again in a moment; at most four queries run at a time")
}

/// Which of the budgets that a caller can choose ran out, if that ended the query.
pub(crate) fn spent(error: &Error) -> Option<Spent> {
    std::error::Error::source(error)?.downcast_ref().copied()
}

/// The error for a value that became too long, or that is too long to be read.
pub(super) fn too_long(sql: &str) -> Error {
    let error = Error::new(ErrorKind::QueryInterrupted, "a string or blob is too long");
    if words_of(sql).contains(&"page_texts") {
        // Reading the column fails; octet_length() does not need to read it.
        return error.with_hint(format!(
            "no function reads a stored text of more than {VALUE_BYTES} bytes, not even length() or \
             substr(): leave such texts out with WHERE octet_length(text) <= {VALUE_BYTES}, and \
             read them with page_text_slice(page_id, version, start, length)"
        ));
    }
    error.with_hint(format!(
        "one value holds at most {VALUE_BYTES} bytes: use fewer rows, or substr() before joining \
         strings"
    ))
}

/// The error for a query whose intermediate results need too much memory.
fn too_large() -> Error {
    Error::new(
        ErrorKind::QueryInterrupted,
        "the memory of a query is used up",
    )
    .with_hint("use fewer rows, fewer long texts in a row, and substr() before joining strings")
}

/// The error for a query whose temporary files ran out of space: in its quota, or on the disk.
pub(super) fn out_of_space(quota: bool) -> Error {
    if quota {
        return Error::new(
            ErrorKind::QueryInterrupted,
            "the space of a query is used up",
        )
        .with_hint(format!(
            "sorts, DISTINCT, GROUP BY and materialised CTEs write at most {} MiB of temporary \
             files: filter first, and leave long texts out of what is sorted",
            QUOTA_BYTES >> 20
        ));
    }
    Error::new(
        ErrorKind::QueryInterrupted,
        "the disk for temporary files is full",
    )
    .with_hint("sort fewer rows, or free some space in the folder for temporary files")
}

/// A statement that may not run.
pub(super) fn rejected(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::QueryRejected, message)
}

fn denied_pragma(name: &str, argument: Option<&str>, schema: &SchemaSnapshot) -> Error {
    let known = super::table::PRAGMAS
        .iter()
        .any(|p| p.eq_ignore_ascii_case(name));
    match argument {
        Some(argument) if known && !name.eq_ignore_ascii_case("index_info") => {
            no_such_table(argument, schema)
        }
        _ => rejected(format!("PRAGMA {name} is not allowed")).with_hint(
            "pragma_table_info('claims'), pragma_foreign_key_list('edges') and \
             pragma_index_list('claims') are",
        ),
    }
}

fn no_such_table(name: &str, schema: &SchemaSnapshot) -> Error {
    let name = name.rsplit('.').next().unwrap_or(name);
    let near = nearest(name, schema.tables.iter().map(|t| t.name.as_str()));
    rejected(format!("no such table: {name}")).with_hint(did_you_mean(&near, SEE_SCHEMA))
}

fn no_such_function(name: &str) -> Error {
    let near = nearest(name, FUNCTIONS.iter().copied());
    let advice = dialect(name).map_or_else(
        || {
            did_you_mean(
                &near,
                "SQLite's text, date, JSON, window and math functions are there",
            )
        },
        str::to_owned,
    );
    rejected(format!("no such function: {name}")).with_hint(advice)
}

fn no_such_column(written: &str, sql: &str, schema: &SchemaSnapshot) -> Error {
    let column = written
        .rsplit('.')
        .next()
        .unwrap_or(written)
        .trim_matches('"');
    let error = rejected(format!("no such column: {written}"));
    if sql.contains(&format!("\"{column}\"")) && !is_column(column, schema) {
        return error.with_hint(format!("text stands in single quotes: '{column}'"));
    }
    let words = words_of(sql);
    let used = |table: &str| words.iter().any(|w| w.eq_ignore_ascii_case(table));
    let detour = DETOURS
        .iter()
        .find(|(c, table, _)| c.eq_ignore_ascii_case(column) && used(table));
    if let Some((_, _, advice)) = detour {
        return error.with_hint(*advice);
    }
    let mentioned: Vec<&str> = schema
        .tables
        .iter()
        .filter(|t| used(&t.name))
        .flat_map(|t| t.columns.iter().map(String::as_str))
        .collect();
    let near = nearest(column, mentioned.iter().copied());
    if !near.is_empty() {
        return error.with_hint(did_you_mean(&near, SEE_SCHEMA));
    }
    let holders: Vec<&str> = schema
        .tables
        .iter()
        .filter(|t| t.columns.iter().any(|c| c.eq_ignore_ascii_case(column)))
        .map(|t| t.name.as_str())
        .collect();
    if !holders.is_empty() {
        return error.with_hint(format!("{column} is a column of {}", holders.join(", ")));
    }
    if mentioned.is_empty() {
        return error.with_hint(SEE_SCHEMA);
    }
    error.with_hint(format!(
        "columns of the tables named: {}",
        mentioned.join(", ")
    ))
}

fn is_column(name: &str, schema: &SchemaSnapshot) -> bool {
    schema
        .tables
        .iter()
        .any(|t| t.columns.iter().any(|c| c.eq_ignore_ascii_case(name)))
}

fn dialect(name: &str) -> Option<&'static str> {
    DIALECT
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(name))
        .map(|(_, advice)| *advice)
}

fn did_you_mean(near: &[&str], otherwise: &str) -> String {
    if near.is_empty() {
        otherwise.to_owned()
    } else {
        format!("did you mean {}?", near.join(", "))
    }
}

/// The name at the start of the rest of an SQLite message: `claims`, `c.text`, `"fact" - should…`.
fn first_name(rest: &str) -> &str {
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted.split('"').next().unwrap_or(quoted);
    }
    rest.split(" - ").next().unwrap_or(rest).trim()
}

fn words_of(sql: &str) -> Vec<&str> {
    sql.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|w| !w.is_empty())
        .collect()
}

#[cfg(test)]
mod tests;
