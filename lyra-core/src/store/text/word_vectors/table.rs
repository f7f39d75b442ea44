//! The file format of the table; `scripts/static_table/encode.py` writes it.
//!
//! Little-endian: magic `LYRATAB1`, u32 version, u32 rows, u32 dimension, u32 bytes of vocabulary,
//! f32 tf_power, f32 cjk_unit; the pieces joined by newlines; one f32 scale a row; the i8 rows.

use std::collections::HashMap;
use std::sync::OnceLock;

const MAGIC: &[u8; 8] = b"LYRATAB1";
const VERSION: u32 = 1;
const HEADER: usize = 32;

/// A parsed table; the rows are not copied.
#[derive(Debug)]
pub(crate) struct EmbeddingTable {
    pieces: &'static str,
    /// Made for the first text, so that a program that embeds nothing starts without it.
    rows_by_piece: OnceLock<HashMap<&'static str, u32>>,
    scales: &'static [u8],
    rows: &'static [i8],
    dimension: usize,
    tf_power: f32,
    cjk_unit: f32,
}

impl EmbeddingTable {
    pub(crate) fn parse(data: &'static [u8]) -> Result<Self, String> {
        let number = |at: usize| -> Result<usize, String> {
            let bytes = data
                .get(at..at + 4)
                .and_then(|b| b.try_into().ok())
                .ok_or("too short")?;
            Ok(u32::from_le_bytes(bytes) as usize)
        };
        let real = |at: usize| -> Result<f32, String> {
            let bytes = data
                .get(at..at + 4)
                .and_then(|b| b.try_into().ok())
                .ok_or("too short")?;
            Ok(f32::from_le_bytes(bytes))
        };
        if data.get(..8) != Some(MAGIC) || number(8)? != VERSION as usize {
            return Err("not a table of this version".to_owned());
        }
        let (count, dimension, vocabulary) = (number(12)?, number(16)?, number(20)?);
        let scales_at = HEADER + vocabulary;
        let rows_at = scales_at + 4 * count;
        if data.len() != rows_at + count * dimension || dimension == 0 {
            return Err(format!(
                "{} bytes do not hold {count} rows of {dimension}",
                data.len()
            ));
        }
        let pieces = std::str::from_utf8(&data[HEADER..scales_at]).map_err(|e| e.to_string())?;
        let named = pieces.split('\n').count();
        if named != count {
            return Err(format!("{named} pieces for {count} rows"));
        }
        Ok(Self {
            pieces,
            rows_by_piece: OnceLock::new(),
            scales: &data[scales_at..rows_at],
            rows: as_signed(&data[rows_at..]),
            dimension,
            tf_power: real(24)?,
            cjk_unit: real(28)?,
        })
    }

    pub(crate) fn row_of(&self, piece: &str) -> Option<u32> {
        let rows = self
            .rows_by_piece
            .get_or_init(|| self.pieces.split('\n').zip(0..).collect());
        rows.get(piece).copied()
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    pub(crate) fn cjk_unit(&self) -> f32 {
        self.cjk_unit
    }

    /// The weight of a term that occurs `count` times.
    pub(crate) fn tf_weight(&self, count: u32) -> f32 {
        #[allow(clippy::cast_precision_loss, reason = "a count within one text")]
        let count = count as f32;
        if count == 1.0 {
            1.0
        } else {
            count.powf(self.tf_power)
        }
    }

    pub(crate) fn add_row(&self, total: &mut [f32], row: u32, weight: f32) {
        let row = row as usize;
        let scale: [u8; 4] = std::array::from_fn(|byte| self.scales[4 * row + byte]);
        let factor = f32::from_le_bytes(scale) * weight;
        let values = &self.rows[row * self.dimension..(row + 1) * self.dimension];
        for (sum, value) in total.iter_mut().zip(values) {
            *sum += factor * f32::from(*value);
        }
    }
}

#[allow(
    unsafe_code,
    reason = "a view of bytes as signed bytes, which the standard library lacks"
)]
fn as_signed(bytes: &'static [u8]) -> &'static [i8] {
    // SAFETY: u8 and i8 have the same size, alignment and no invalid values.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<i8>(), bytes.len()) }
}

#[cfg(test)]
mod tests {
    use super::super::builtin;
    use std::collections::HashSet;

    #[test]
    fn every_row_of_the_built_in_table_has_a_piece() {
        let table = builtin().unwrap();
        let pieces: HashSet<&str> = table.pieces.split('\n').collect();
        assert_eq!(pieces.len() * table.dimension, table.rows.len());
        assert!(pieces.iter().all(|piece| table.row_of(piece).is_some()));
    }
}
