//! FTS5's `snippet()` and `highlight()`, linear in the length of the text.
//!
//! The time of SQLite's `snippet()` is quadratic in the number of matches of a row, and it cannot be
//! interrupted: a hostile page that repeats one word can hold up a query for a minute.
//!
//! The interface is described at <https://sqlite.org/fts5.html#custom_auxiliary_functions>.
#![allow(
    unsafe_code,
    reason = "FTS5 takes auxiliary functions only through its C interface"
)]

use super::budget::QueryBudget;
use super::heap::Held;
use super::limits::VALUE_BYTES;
use crate::error::{Error, Result};
use rusqlite::{Connection, ffi};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::{ptr, slice};

/// Maximum number of tokens in a snippet, as in SQLite.
const SNIPPET_TOKENS: c_int = 64;

/// Matches or tokens between two checks of the deadline.
const STEPS_PER_CHECK: usize = 1_024;

/// An SQLite error code.
type Code = c_int;

/// Replaces both functions on a connection.
pub(super) fn register(connection: &Connection, budget: &Arc<QueryBudget>) -> Result<()> {
    let api = interface(connection)?;
    create(api, c"snippet", budget, snippet_entry)?;
    create(api, c"highlight", budget, highlight_entry)
}

/// Asks a connection for its FTS5 interface, as the FTS5 documentation prescribes.
fn interface(connection: &Connection) -> Result<*mut ffi::fts5_api> {
    let mut api: *mut ffi::fts5_api = ptr::null_mut();
    let mut statement = ptr::null_mut();
    // SAFETY: the connection is open and only this thread uses it. The statement is finalized before
    // anything else happens (SQLite allows that for null, too), and `api` outlives it.
    unsafe {
        let sql = c"SELECT fts5(?1)".as_ptr();
        let handle = connection.handle();
        ffi::sqlite3_prepare_v2(handle, sql, -1, &raw mut statement, ptr::null_mut());
        let slot = (&raw mut api).cast::<c_void>();
        ffi::sqlite3_bind_pointer(statement, 1, slot, c"fts5_api_ptr".as_ptr(), None);
        ffi::sqlite3_step(statement);
        ffi::sqlite3_finalize(statement);
    }
    if api.is_null() {
        return Err(Error::internal("this SQLite was built without FTS5"));
    }
    Ok(api)
}

/// Called only by FTS5, as an auxiliary function.
type AuxiliaryFunction = unsafe extern "C" fn(
    *const ffi::Fts5ExtensionApi,
    *mut ffi::Fts5Context,
    *mut ffi::sqlite3_context,
    c_int,
    *mut *mut ffi::sqlite3_value,
);

fn create(
    api: *mut ffi::fts5_api,
    name: &CStr,
    budget: &Arc<QueryBudget>,
    entry: AuxiliaryFunction,
) -> Result<()> {
    let data = Arc::into_raw(Arc::clone(budget))
        .cast_mut()
        .cast::<c_void>();
    // SAFETY: `api` came from an open connection; FTS5 copies the name and keeps `data` until it passes
    // it to `release_budget`, once.
    let code = unsafe {
        match (*api).xCreateFunction {
            Some(create) => create(api, name.as_ptr(), data, Some(entry), Some(release_budget)),
            None => ffi::SQLITE_ERROR,
        }
    };
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(Error::internal(format!(
            "FTS5 refused {name:?} (code {code})"
        )))
    }
}

/// # Safety
/// `data` is the pointer that [`create`] passed to FTS5, and this is its last use.
unsafe extern "C" fn release_budget(data: *mut c_void) {
    // SAFETY: `data` is what `create` made with Arc::into_raw, and FTS5 releases it once.
    drop(unsafe { Arc::from_raw(data.cast_const().cast::<QueryBudget>()) });
}

/// # Safety
/// As [`answer`].
unsafe extern "C" fn snippet_entry(
    api: *const ffi::Fts5ExtensionApi,
    context: *mut ffi::Fts5Context,
    result: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: the arguments come from FTS5 and are valid during this call.
    unsafe { answer(api, context, result, count, values, snippet) }
}

/// # Safety
/// As [`answer`].
unsafe extern "C" fn highlight_entry(
    api: *const ffi::Fts5ExtensionApi,
    context: *mut ffi::Fts5Context,
    result: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: the arguments come from FTS5 and are valid during this call.
    unsafe { answer(api, context, result, count, values, highlight) }
}

type Body = fn(&MatchedRow<'_>, &[*mut ffi::sqlite3_value]) -> std::result::Result<Vec<u8>, Code>;

/// Runs one of the functions and passes its text or its error to SQLite.
///
/// # Safety
/// The arguments must be those of a call by FTS5.
unsafe fn answer(
    api: *const ffi::Fts5ExtensionApi,
    context: *mut ffi::Fts5Context,
    result: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
    body: Body,
) {
    // SAFETY: FTS5 passes a valid interface and the stated number of values; the user data is the budget
    // that `create` passed, which outlives the function.
    let outcome = unsafe {
        let api = &*api;
        let count = usize::try_from(count).unwrap_or(0);
        let values = if count == 0 {
            &[]
        } else {
            slice::from_raw_parts(values, count)
        };
        let budget = api
            .xUserData
            .map(|data| &*data(context).cast_const().cast::<QueryBudget>());
        catch_unwind(AssertUnwindSafe(|| match budget {
            Some(budget) => body(
                &MatchedRow {
                    api,
                    context,
                    budget,
                    held: RefCell::default(),
                },
                values,
            ),
            None => Err(ffi::SQLITE_INTERNAL),
        }))
    };
    // SAFETY: `result` belongs to FTS5; SQLite copies the text before this call returns.
    unsafe {
        match outcome {
            Ok(Ok(text)) => {
                let length = c_int::try_from(text.len()).unwrap_or(0);
                let bytes = text.as_ptr().cast::<c_char>();
                ffi::sqlite3_result_text(result, bytes, length, ffi::SQLITE_TRANSIENT());
            }
            Ok(Err(code)) => ffi::sqlite3_result_error_code(result, code),
            // A panic must not cross into C.
            Err(_) => ffi::sqlite3_result_error_code(result, ffi::SQLITE_INTERNAL),
        }
    }
}

/// `snippet(table, column, open, close, ellipsis, tokens)`: the part of the text that contains the most
/// phrases of the query. A column below 0 stands for the best column.
fn snippet(
    row: &MatchedRow<'_>,
    values: &[*mut ffi::sqlite3_value],
) -> std::result::Result<Vec<u8>, Code> {
    let &[column, open, close, ellipsis, size] = values else {
        return Err(ffi::SQLITE_MISUSE);
    };
    let size = row.integer(size).clamp(1, SNIPPET_TOKENS) as usize;
    let column = row.integer(column);
    let matches = row.matches(column)?;
    let (column, first) = best_window(&matches, size).unwrap_or((column.max(0), 0));
    let text = row.column_text(column)?;
    let total = row.column_tokens(column)?;
    // Near the end of the text, the window moves back so that it is full.
    let first = first.min(total.saturating_sub(size));
    let window = first..first + size;
    let tokens = row.tokens(text, window.clone())?;
    let start = if first == 0 {
        0
    } else {
        tokens.first().map_or(0, |token| token.start)
    };
    let end = if window.end < total {
        tokens.last().map_or(text.len(), |token| token.end)
    } else {
        text.len()
    };
    let mut output = Vec::new();
    if start > 0 {
        output.extend_from_slice(row.text(ellipsis));
    }
    let ranges = byte_ranges(&matches, column, &window, &tokens);
    mark(
        &mut output,
        text,
        start..end,
        &ranges,
        row.text(open),
        row.text(close),
    )?;
    if end < text.len() {
        output.extend_from_slice(row.text(ellipsis));
    }
    if output.len() > VALUE_BYTES {
        Err(ffi::SQLITE_TOOBIG)
    } else {
        Ok(output)
    }
}

/// `highlight(table, column, open, close)`: the whole text with the matches marked.
fn highlight(
    row: &MatchedRow<'_>,
    values: &[*mut ffi::sqlite3_value],
) -> std::result::Result<Vec<u8>, Code> {
    let &[column, open, close] = values else {
        return Err(ffi::SQLITE_MISUSE);
    };
    let column = row.integer(column);
    let matches = row.matches(column)?;
    let text = row.column_text(column)?;
    let tokens = row.tokens(text, 0..usize::MAX)?;
    let ranges = byte_ranges(&matches, column, &(0..usize::MAX), &tokens);
    let mut output = Vec::new();
    mark(
        &mut output,
        text,
        0..text.len(),
        &ranges,
        row.text(open),
        row.text(close),
    )?;
    Ok(output)
}

/// An occurrence of a query phrase in a row: the tokens `first..end` of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Match {
    column: c_int,
    first: usize,
    end: usize,
    phrase: c_int,
}

/// The column and first token of the window of `size` tokens with the most different phrases, then the
/// most matches, then the first position. Both ends only move forward.
fn best_window(matches: &[Match], size: usize) -> Option<(c_int, usize)> {
    let mut counts = std::collections::HashMap::<c_int, usize>::new();
    let mut best = None;
    let mut best_score = (0, 0);
    let mut next = 0;
    for (index, left) in matches.iter().enumerate() {
        let inside = |m: &Match| m.column == left.column && m.first < left.first + size;
        while let Some(right) = matches.get(next).filter(|m| inside(m)) {
            *counts.entry(right.phrase).or_default() += 1;
            next += 1;
        }
        let score = (counts.len(), next - index);
        if score > best_score {
            best_score = score;
            let span = matches[next - 1].end.saturating_sub(left.first);
            // The remaining room is divided between both sides.
            best = Some((
                left.column,
                left.first.saturating_sub(size.saturating_sub(span) / 2),
            ));
        }
        if let Some(count) = counts.get_mut(&left.phrase) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&left.phrase);
            }
        }
    }
    best
}

/// The byte ranges of a column's matches within the window; overlapping matches are merged.
fn byte_ranges(
    matches: &[Match],
    column: c_int,
    window: &Range<usize>,
    tokens: &[Range<usize>],
) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for found in matches.iter().filter(|m| m.column == column) {
        let first = found.first.max(window.start) - window.start;
        let end = found
            .end
            .min(window.end)
            .saturating_sub(window.start)
            .min(tokens.len());
        let Some(inside) = tokens.get(first..end).filter(|inside| !inside.is_empty()) else {
            continue;
        };
        let (start, end) = (inside[0].start, inside[inside.len() - 1].end);
        match ranges.last_mut() {
            // Overlapping tokens, as of Chinese or Japanese text, would be marked twice.
            Some(last) if start < last.end => last.end = last.end.max(end),
            _ => ranges.push(start..end),
        }
    }
    ranges
}

/// Writes a part of a text with marks around ranges, which are sorted and do not overlap.
fn mark(
    output: &mut Vec<u8>,
    text: &[u8],
    part: Range<usize>,
    ranges: &[Range<usize>],
    open: &[u8],
    close: &[u8],
) -> std::result::Result<(), Code> {
    let mut position = part.start;
    for range in ranges {
        let (Some(before), Some(inside)) =
            (text.get(position..range.start), text.get(range.clone()))
        else {
            continue;
        };
        for bytes in [before, open, inside, close] {
            output.extend_from_slice(bytes);
        }
        position = range.end;
        if output.len() > VALUE_BYTES {
            return Err(ffi::SQLITE_TOOBIG);
        }
    }
    output.extend_from_slice(text.get(position..part.end).unwrap_or_default());
    if output.len() > VALUE_BYTES {
        Err(ffi::SQLITE_TOOBIG)
    } else {
        Ok(())
    }
}

/// The row for which FTS5 calls the function.
struct MatchedRow<'a> {
    api: &'a ffi::Fts5ExtensionApi,
    context: *mut ffi::Fts5Context,
    budget: &'a QueryBudget,
    held: RefCell<Held>,
}

impl<'a> MatchedRow<'a> {
    fn hold(&self, bytes: usize) -> std::result::Result<(), Code> {
        let held = self.held.borrow_mut().hold_more(bytes);
        held.map_err(|_| ffi::SQLITE_NOMEM)
    }

    fn check_deadline(&self) -> std::result::Result<(), Code> {
        if self.budget.is_late() {
            Err(ffi::SQLITE_INTERRUPT)
        } else {
            Ok(())
        }
    }

    fn integer(&self, value: *mut ffi::sqlite3_value) -> c_int {
        // SAFETY: the value is an argument of the running call.
        unsafe { ffi::sqlite3_value_int(value) }
    }

    fn text(&self, value: *mut ffi::sqlite3_value) -> &'a [u8] {
        // SAFETY: the value is an argument of the running call and does not change until that returns;
        // SQLite gives the length of its text after it has converted it.
        unsafe {
            let text = ffi::sqlite3_value_text(value);
            let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or(0);
            if text.is_null() {
                b""
            } else {
                slice::from_raw_parts(text, length)
            }
        }
    }

    /// The matches of the row in order, in one column or, if negative, in all.
    fn matches(&self, column: c_int) -> std::result::Result<Vec<Match>, Code> {
        self.check_deadline()?;
        let (Some(count), Some(get), Some(phrase_size)) =
            (self.api.xInstCount, self.api.xInst, self.api.xPhraseSize)
        else {
            return Err(ffi::SQLITE_INTERNAL);
        };
        let mut total = 0;
        // SAFETY: the context belongs to the running call; FTS5 writes one integer.
        check(unsafe { count(self.context, &raw mut total) })?;
        let size = usize::try_from(total).unwrap_or(0);
        self.hold(size * size_of::<Match>())?;
        let mut matches = Vec::with_capacity(size);
        for index in 0..total {
            let (mut phrase, mut found_in, mut first) = (0, 0, 0);
            // SAFETY: as above, with an index below the count; FTS5 writes three integers.
            let tokens = unsafe {
                check(get(
                    self.context,
                    index,
                    &raw mut phrase,
                    &raw mut found_in,
                    &raw mut first,
                ))?;
                phrase_size(self.context, phrase)
            };
            if column < 0 || found_in == column {
                let first = usize::try_from(first).unwrap_or(0);
                let end = first + usize::try_from(tokens).unwrap_or(0);
                matches.push(Match {
                    column: found_in,
                    first,
                    end,
                    phrase,
                });
            }
            if index as usize % STEPS_PER_CHECK == STEPS_PER_CHECK - 1 {
                self.check_deadline()?;
            }
        }
        matches.sort_unstable();
        Ok(matches)
    }

    fn column_text(&self, column: c_int) -> std::result::Result<&'a [u8], Code> {
        let (Some(count), Some(get)) = (self.api.xColumnCount, self.api.xColumnText) else {
            return Err(ffi::SQLITE_INTERNAL);
        };
        let (mut text, mut length) = (ptr::null(), 0);
        // SAFETY: the context belongs to the running call; the text stays in place until that returns,
        // because no other row is requested.
        unsafe {
            if !(0..count(self.context)).contains(&column) {
                return Err(ffi::SQLITE_RANGE);
            }
            check(get(self.context, column, &raw mut text, &raw mut length))?;
            let length = usize::try_from(length).unwrap_or(0);
            Ok(if text.is_null() {
                b""
            } else {
                slice::from_raw_parts(text.cast::<u8>(), length)
            })
        }
    }

    fn column_tokens(&self, column: c_int) -> std::result::Result<usize, Code> {
        let Some(get) = self.api.xColumnSize else {
            return Err(ffi::SQLITE_INTERNAL);
        };
        let mut total = 0;
        // SAFETY: the context belongs to the running call; FTS5 writes one integer.
        check(unsafe { get(self.context, column, &raw mut total) })?;
        Ok(usize::try_from(total).unwrap_or(0))
    }

    /// The byte ranges of a window's tokens in a text.
    fn tokens(
        &self,
        text: &[u8],
        window: Range<usize>,
    ) -> std::result::Result<Vec<Range<usize>>, Code> {
        let Some(tokenize) = self.api.xTokenize else {
            return Err(ffi::SQLITE_INTERNAL);
        };
        let mut reader = TokenReader {
            window,
            next: 0,
            tokens: Vec::new(),
            budget: self.budget,
            late: false,
        };
        let length = c_int::try_from(text.len()).map_err(|_| ffi::SQLITE_TOOBIG)?;
        // At most one token per byte, in a vector whose capacity may be twice its length.
        let most = text.len().min(reader.window.len());
        self.hold(2 * most * size_of::<Range<usize>>())?;
        // SAFETY: the context belongs to the running call; text and reader outlive it, and `read_token`
        // receives the reader that is passed here.
        let code = unsafe {
            tokenize(
                self.context,
                text.as_ptr().cast(),
                length,
                (&raw mut reader).cast(),
                Some(read_token),
            )
        };
        if reader.late {
            return Err(ffi::SQLITE_INTERRUPT);
        }
        if code != ffi::SQLITE_DONE {
            check(code)?;
        }
        Ok(reader.tokens)
    }
}

fn check(code: Code) -> std::result::Result<(), Code> {
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(code)
    }
}

struct TokenReader<'a> {
    window: Range<usize>,
    next: usize,
    tokens: Vec<Range<usize>>,
    budget: &'a QueryBudget,
    late: bool,
}

impl TokenReader<'_> {
    fn read(&mut self, start: c_int, end: c_int) -> Code {
        if self.window.contains(&self.next) {
            let at = |offset: c_int| usize::try_from(offset).unwrap_or(0);
            self.tokens.push(at(start)..at(end));
        }
        self.next += 1;
        if self.next.is_multiple_of(STEPS_PER_CHECK) && self.budget.is_late() {
            self.late = true;
            return ffi::SQLITE_INTERRUPT;
        }
        if self.next >= self.window.end {
            ffi::SQLITE_DONE
        } else {
            ffi::SQLITE_OK
        }
    }
}

/// # Safety
/// Called by the tokenizer with the reader that `MatchedRow::tokens` passed to it.
unsafe extern "C" fn read_token(
    reader: *mut c_void,
    flags: c_int,
    _token: *const c_char,
    _length: c_int,
    start: c_int,
    end: c_int,
) -> c_int {
    if flags & ffi::FTS5_TOKEN_COLOCATED != 0 {
        return ffi::SQLITE_OK;
    }
    // SAFETY: `reader` is the one that `MatchedRow::tokens` passed in, and nothing else uses it while
    // the tokenizer runs.
    unsafe { (*reader.cast::<TokenReader<'_>>()).read(start, end) }
}

#[cfg(test)]
mod tests;
