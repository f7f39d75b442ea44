//! The FTS5 tokenizer `lyra`: [`crate::store::text::for_each_token`] behind SQLite's C interface, so
//! that the index, a `MATCH` written by an agent and our own ranking split text in the same way.
//!
//! The interface is described at <https://sqlite.org/fts5.html#custom_tokenizers>.
#![allow(
    unsafe_code,
    reason = "FTS5 takes tokenizers only through its C interface"
)]

use crate::error::{Error, Result};
use crate::store::text::{TokenMode, for_each_token};
use rusqlite::{Connection, ffi};
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Registers the tokenizer on a connection. Every connection of Lyra calls this before it accesses a
/// full-text table.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    let api = fts5_api(connection)?;
    let mut tokenizer = ffi::fts5_tokenizer {
        xCreate: Some(create),
        xDelete: Some(delete),
        xTokenize: Some(cut),
    };
    // SAFETY: `api` came from this connection, which is open; SQLite copies the struct and the functions
    // are 'static. The user data is unused.
    let code = unsafe {
        match (*api).xCreateTokenizer {
            Some(create_tokenizer) => create_tokenizer(
                api,
                c"lyra".as_ptr(),
                ptr::null_mut(),
                &raw mut tokenizer,
                None,
            ),
            None => ffi::SQLITE_ERROR,
        }
    };
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(Error::internal(format!(
            "FTS5 refused the tokenizer (code {code})"
        )))
    }
}

/// Asks the connection for its FTS5 interface, as the FTS5 documentation prescribes:
/// `SELECT fts5(?1)` with a pointer of type "fts5_api_ptr".
fn fts5_api(connection: &Connection) -> Result<*mut ffi::fts5_api> {
    let mut api: *mut ffi::fts5_api = ptr::null_mut();
    let raw = RawStatement::of(connection, "SELECT fts5(?1)")?;
    // SAFETY: the statement is ours, prepared above on an open connection; the bound pointer outlives
    // the step, which is the only call that writes through it.
    unsafe {
        ffi::sqlite3_bind_pointer(
            raw.0,
            1,
            (&raw mut api).cast::<c_void>(),
            c"fts5_api_ptr".as_ptr(),
            None,
        );
        ffi::sqlite3_step(raw.0);
    }
    drop(raw);
    if api.is_null() {
        return Err(Error::internal("this SQLite was built without FTS5"));
    }
    Ok(api)
}

struct RawStatement(*mut ffi::sqlite3_stmt);

impl RawStatement {
    fn of(connection: &Connection, sql: &str) -> Result<Self> {
        let mut statement = ptr::null_mut();
        let length = c_int::try_from(sql.len()).map_err(|_| Error::internal("SQL too long"))?;
        // SAFETY: the handle belongs to an open connection, and text and length describe `sql`.
        let code = unsafe {
            ffi::sqlite3_prepare_v2(
                connection.handle(),
                sql.as_ptr().cast::<c_char>(),
                length,
                &raw mut statement,
                ptr::null_mut(),
            )
        };
        if code == ffi::SQLITE_OK && !statement.is_null() {
            Ok(Self(statement))
        } else {
            Err(Error::internal(format!(
                "preparing {sql:?} failed (code {code})"
            )))
        }
    }
}

impl Drop for RawStatement {
    fn drop(&mut self) {
        // SAFETY: prepared by us, finalised once.
        unsafe { ffi::sqlite3_finalize(self.0) };
    }
}

/// The tokenizer has no state, but FTS5 requires a pointer that is not null.
///
/// # Safety
/// Called by FTS5 with a place for the result.
unsafe extern "C" fn create(
    _context: *mut c_void,
    _arguments: *mut *const c_char,
    _count: c_int,
    out: *mut *mut ffi::Fts5Tokenizer,
) -> c_int {
    // SAFETY: FTS5 passes a valid place for the result. The address is never read through.
    unsafe {
        *out = ptr::NonNull::<u8>::dangling()
            .as_ptr()
            .cast::<ffi::Fts5Tokenizer>()
    };
    ffi::SQLITE_OK
}

/// # Safety
/// Any argument is allowed: it is ignored.
unsafe extern "C" fn delete(_tokenizer: *mut ffi::Fts5Tokenizer) {}

/// Must be called while FTS5 runs the tokenizer, with the context that FTS5 passed.
type TokenCallback =
    unsafe extern "C" fn(*mut c_void, c_int, *const c_char, c_int, c_int, c_int) -> c_int;

/// # Safety
/// Called by FTS5 with `length` bytes at `text`, and with a callback that takes `context`.
unsafe extern "C" fn cut(
    _tokenizer: *mut ffi::Fts5Tokenizer,
    context: *mut c_void,
    flags: c_int,
    text: *const c_char,
    length: c_int,
    callback: Option<TokenCallback>,
) -> c_int {
    let Some(callback) = callback else {
        return ffi::SQLITE_ERROR;
    };
    let Ok(length) = usize::try_from(length) else {
        return ffi::SQLITE_OK;
    };
    if text.is_null() || length == 0 {
        return ffi::SQLITE_OK;
    }
    // SAFETY: FTS5 guarantees `length` readable bytes at `text` for the duration of this call.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    // A text column holds the bytes that were stored; only another program can have stored invalid
    // UTF-8.
    let Ok(text) = std::str::from_utf8(bytes) else {
        return ffi::SQLITE_OK;
    };
    let mode = if flags & ffi::FTS5_TOKENIZE_QUERY != 0 {
        TokenMode::Query
    } else {
        TokenMode::Index
    };
    let mut code = ffi::SQLITE_OK;
    let visit = |token: &str, span: Range<usize>| {
        let sizes = (
            c_int::try_from(token.len()),
            c_int::try_from(span.start),
            c_int::try_from(span.end),
        );
        let (Ok(bytes), Ok(start), Ok(end)) = sizes else {
            return false;
        };
        // SAFETY: the callback is FTS5's own; the token lives until it returns.
        code = unsafe {
            callback(
                context,
                0,
                token.as_ptr().cast::<c_char>(),
                bytes,
                start,
                end,
            )
        };
        code == ffi::SQLITE_OK
    };
    let cut_all = AssertUnwindSafe(|| for_each_known_token(text, mode, visit));
    // Unwinding into C is undefined behaviour.
    if catch_unwind(cut_all).is_err() {
        ffi::SQLITE_ERROR
    } else {
        code
    }
}

/// A text to be indexed, tokenized on a different thread than the one that indexes it.
#[derive(Debug)]
pub(crate) struct Tokens {
    text: String,
    /// The tokens, concatenated.
    tokens: String,
    /// The end of each token in `tokens`, and its position in the text.
    places: Vec<(usize, Range<usize>)>,
}

impl Tokens {
    pub(crate) fn of(text: &str) -> Self {
        let mut cut = Self {
            text: text.to_owned(),
            tokens: String::with_capacity(text.len()),
            places: Vec::with_capacity(text.len() / 5),
        };
        for_each_token(text, TokenMode::Index, |token, span, _| {
            cut.tokens.push_str(token);
            cut.places.push((cut.tokens.len(), span));
            true
        });
        cut
    }

    fn visit(&self, mut visit: impl FnMut(&str, Range<usize>) -> bool) {
        let mut from = 0;
        for (to, span) in &self.places {
            if !visit(&self.tokens[from..*to], span.clone()) {
                return;
            }
            from = *to;
        }
    }
}

thread_local! {
    static KNOWN: RefCell<Vec<Tokens>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work`; texts that this thread indexes meanwhile are not tokenized again if they are in the
/// list.
pub(crate) fn with_tokens<T>(tokens: Vec<Tokens>, work: impl FnOnce() -> T) -> T {
    if tokens.is_empty() {
        return work();
    }
    KNOWN.set(tokens);
    let done = work();
    KNOWN.take();
    done
}

fn for_each_known_token(
    text: &str,
    mode: TokenMode,
    mut visit: impl FnMut(&str, Range<usize>) -> bool,
) {
    KNOWN.with_borrow(|known| {
        let known = known.iter().find(|tokens| tokens.text == text);
        match known.filter(|_| mode == TokenMode::Index) {
            Some(tokens) => tokens.visit(visit),
            None => for_each_token(text, mode, |token, span, _| visit(token, span)),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str) -> Vec<i64> {
        let db = Connection::open_in_memory().unwrap();
        register(&db).unwrap();
        db.execute_batch(
            "CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'lyra');
             INSERT INTO t(rowid, x) VALUES
               (1, 'DPP-4阻害薬は血糖値を下げる'), (2, 'Heart failures were increasing'),
               (3, 'ＨｂＡ１ｃの改善'), (4, 'がんの危険'), (5, '心血');",
        )
        .unwrap();
        let mut statement = db
            .prepare("SELECT rowid FROM t WHERE t MATCH ?1 ORDER BY rowid")
            .unwrap();
        let rows = statement.query_map([query], |r| r.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn matches_across_scripts() {
        let cases: &[(&str, &[i64])] = &[
            ("血糖値", &[1]),
            ("血糖", &[1]),
            ("糖血", &[]),
            ("阻害薬", &[1]),
            ("increased failure", &[2]),
            ("hba1c", &[3]),
            ("がん", &[4]),
            ("血*", &[1, 5]),
            ("\"heart failure\"", &[2]),
            ("dpp", &[1]),
        ];
        for (query, expected) in cases {
            assert_eq!(found(query), *expected, "{query}");
        }
    }

    /// The contents of an index, for one text in two columns.
    fn vocabulary(known: &[&str]) -> Vec<(String, i64, String)> {
        let db = Connection::open_in_memory().unwrap();
        register(&db).unwrap();
        db.execute_batch(
            "CREATE VIRTUAL TABLE t USING fts5(x, y, tokenize = 'lyra');
             CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)",
        )
        .unwrap();
        let known = known.iter().map(|text| Tokens::of(text)).collect();
        let (x, y) = (
            "DPP-4阻害薬は血糖値を下げる failures, Failing",
            "ＨｂＡ１ｃ がん e\u{301}",
        );
        with_tokens(known, || {
            db.execute("INSERT INTO t VALUES (?1, ?2)", [x, y]).unwrap();
        });
        let sql = "SELECT term, offset, col FROM v ORDER BY col, offset, term";
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)));
        rows.unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn tokens_that_are_known_are_those_that_would_be_cut() {
        let cut = vocabulary(&[]);
        assert!(cut.len() > 8, "{cut:?}");
        let (x, y) = (
            "DPP-4阻害薬は血糖値を下げる failures, Failing",
            "ＨｂＡ１ｃ がん e\u{301}",
        );
        for known in [&[x, y][..], &[y], &["something else", x]] {
            assert_eq!(vocabulary(known), cut, "{known:?}");
        }
        // The thread no longer holds them afterwards.
        KNOWN.with_borrow(|known| assert!(known.is_empty()));
    }
}
