//! The memory layout of blocks of sixteen rows.

/// Number of rows in one block.
pub(super) const BLOCK_ROWS: usize = 16;

/// Number of dimensions of a row that are adjacent in a line.
pub(super) const GROUP: usize = 4;

/// Number of groups whose summed products fit into 32 bits: 127 · 32,512 · 512 < 2^31.
pub(super) const CHUNK_GROUPS: usize = 128;

/// Four dimensions of sixteen rows, a byte each, offset by 128; row r has bytes 4r to 4r+3.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct CacheLine(pub(super) [u8; BLOCK_ROWS * GROUP]);

/// Sixteen floats, one for each row of a block.
pub(super) type Lanes = [f32; BLOCK_ROWS];
