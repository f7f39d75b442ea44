//! A line of a page.

/// A line of a page. Lengths are in points; `x` runs along the writing direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PdfLine {
    /// Its text.
    pub(super) text: String,
    /// Page number, from 1.
    pub(super) page: u32,
    /// Where it starts.
    pub(super) left: f64,
    /// Where it ends.
    pub(super) right: f64,
    /// Height of its baseline on the page, growing upwards.
    pub(super) base: f64,
    /// Size of most of its characters.
    pub(super) size: f64,
}
