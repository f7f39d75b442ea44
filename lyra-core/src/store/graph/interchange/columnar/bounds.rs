//! How many rows are read at a time. Repeated values take no place in a file, so a few kilobytes may
//! stand for gigabytes of rows.

use super::super::fields::MAX_DIMENSION;
use parquet::basic::{Compression, Type};
use parquet::column::page::PageReader;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::fs::File;
use std::sync::Arc;

/// Rows that are read at a time where they are small.
const MOST_ROWS: u64 = 1_024;

/// Bytes that the values of one column of a batch may take, if one row does not take more.
const BATCH_BYTES: u64 = 16 << 20;

/// Snappy writes at most 64 bytes for three.
const SNAPPY_EXPANSION: u64 = 22;

/// Rows to read at a time, so that a batch stays small whatever the rows repeat.
///
/// # Errors
/// Lists that are longer than any vector, and pages that cannot be read.
pub(super) fn batch_rows(file: &Arc<File>, metadata: &ParquetMetaData) -> Result<usize> {
    let mut longest = 1;
    for group in metadata.row_groups() {
        let rows = u64::try_from(group.num_rows()).unwrap_or_default();
        for column in group.columns() {
            let bytes = match column.column_type() {
                _ if column.column_descr().max_rep_level() > 0 => list_bytes(file, column, rows)?,
                Type::BYTE_ARRAY => text_bytes(column),
                _ => continue,
            };
            longest = longest.max(bytes);
        }
    }
    let rows = (BATCH_BYTES / longest).clamp(1, MOST_ROWS);
    Ok(usize::try_from(rows).unwrap_or(1))
}

/// No text of the column is longer: it lies in one of its pages.
fn text_bytes(column: &ColumnChunkMetaData) -> u64 {
    let stored = u64::try_from(column.compressed_size()).unwrap_or_default();
    match column.compression() {
        Compression::UNCOMPRESSED => stored,
        _ => stored.saturating_mul(SNAPPY_EXPANSION),
    }
}

/// What a list of the column takes on average. The heads of the pages say how many values there are,
/// and nothing is unpacked for it.
fn list_bytes(file: &Arc<File>, column: &ColumnChunkMetaData, rows: u64) -> Result<u64> {
    let most = rows.saturating_mul(MAX_DIMENSION.unsigned_abs());
    let count = usize::try_from(rows).unwrap_or(usize::MAX);
    let mut pages = SerializedPageReader::new(Arc::clone(file), column, count, None)?;
    let mut values: u64 = 0;
    while let Some(page) = pages.peek_next_page()? {
        values = values.saturating_add(page.num_levels.unwrap_or_default() as u64);
        if values > most {
            return Err(ParquetError::General(format!(
                "{values} values in {rows} lists; expected at most {MAX_DIMENSION} for each"
            )));
        }
        pages.skip_next_page()?;
    }
    Ok(values
        .div_ceil(rows.max(1))
        .saturating_mul(size_of::<f64>() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{Float32Builder, ListBuilder};
    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn rows_at_a_time(name: &str, column: ArrayRef) -> Result<usize> {
        let file = tempfile::tempfile().unwrap();
        let batch = RecordBatch::try_from_iter([(name, column)]).unwrap();
        let snappy = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_page_size_limit(1 << 30);
        let copy = file.try_clone().unwrap();
        let mut writer = ArrowWriter::try_new(copy, batch.schema(), Some(snappy.build())).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let reader = SerializedFileReader::new(file.try_clone().unwrap()).unwrap();
        batch_rows(&Arc::new(file), reader.metadata())
    }

    fn texts(text: &str, rows: usize) -> ArrayRef {
        Arc::new(StringArray::from(vec![text; rows]))
    }

    fn lists(length: usize, rows: usize) -> ArrayRef {
        let mut lists = ListBuilder::new(Float32Builder::new());
        for _ in 0..rows {
            lists.append_value(vec![Some(0.0); length]);
        }
        Arc::new(lists.finish())
    }

    #[test]
    fn a_batch_is_small_whatever_its_rows_repeat() {
        let rows = |column| rows_at_a_time("claim_text", column).unwrap();
        assert_eq!(rows(texts("Night work shortens sleep", 5_000)), 1_024);
        // Half a megabyte as one value of a dictionary: twenty kilobytes stand for 500 MB.
        let long = rows(texts(&"x".repeat(500_000), 1_000));
        assert!((1..=33).contains(&long), "{long}");
        assert_eq!(rows(lists(256, 5_000)), 1_024);
        let long = rows(lists(65_536, 50));
        assert!((1..=64).contains(&long), "{long}");
    }

    #[test]
    fn lists_that_are_longer_than_any_vector_are_not_unpacked() {
        let error = rows_at_a_time("vector", lists(400_000, 2)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("in 2 lists; expected at most 65536"),
            "{error}"
        );
    }
}
