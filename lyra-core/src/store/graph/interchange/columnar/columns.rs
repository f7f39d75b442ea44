//! The columns of a table.

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// UTF-8; times are RFC 3339 in UTC, JSON is its text.
    Text,
    /// Text with few different values.
    Choice,
    /// 64-bit integer.
    Int,
    /// 64-bit float.
    Real,
    /// true or false.
    Flag,
    /// A list of 32-bit floats, of one length in a file.
    Vector,
}

/// One column of a [`FlatTable`](super::FlatTable).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlatColumn {
    pub(crate) name: &'static str,
    pub(crate) holds: ColumnType,
    pub(crate) nullable: bool,
}
