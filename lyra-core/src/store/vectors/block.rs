//! How the bytes of sixteen rows stand side by side.

/// Rows that one block holds side by side.
pub(super) const BLOCK_ROWS: usize = 16;

/// Dimensions of a row that stand together in a line.
pub(super) const GROUP: usize = 4;

/// Groups whose products fit into 32 bits when added up: 127 · 32,512 · 512 < 2^31.
pub(super) const CHUNK_GROUPS: usize = 128;

/// Four dimensions of sixteen rows, a byte each, 128 standing for zero; row r has bytes 4r to 4r+3.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u8; BLOCK_ROWS * GROUP]);

/// Sixteen floats, one for each row of a block.
pub(super) type Lanes = [f32; BLOCK_ROWS];
