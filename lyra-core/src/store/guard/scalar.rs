//! Registration and errors of our SQL functions.

use super::heap;
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags, SqlFnOutput};

/// Deterministic, and harmless in a view.
pub(super) const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// Registers a function whose arguments are all readable when it is called.
pub(super) fn scalar<T: SqlFnOutput>(
    connection: &Connection,
    name: &str,
    arguments: i32,
    function: impl Fn(&Context<'_>) -> rusqlite::Result<T> + Send + 'static,
) -> rusqlite::Result<()> {
    connection.create_scalar_function(name, arguments, PURE, move |context: &Context<'_>| {
        read_arguments(context)?;
        function(context)
    })
}

/// Makes SQLite convert all arguments to the form in which they are read. This may need memory, but only
/// the first time.
pub(super) fn read_arguments(context: &Context<'_>) -> rusqlite::Result<()> {
    (0..context.len()).try_for_each(|index| {
        heap::read_value(|| {
            let _ = context.get_raw(index);
            Ok(())
        })
    })
}

/// An error that states what a function expected.
pub(super) fn wrong(message: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::UserFunctionError(message.into().into())
}
