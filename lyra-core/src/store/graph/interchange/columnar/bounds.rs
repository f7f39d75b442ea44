//! The number of rows that are read at a time. Repeated values take no space in a file, so a few
//! kilobytes may represent gigabytes of rows.

use super::pages::{SNAPPY_EXPANSION, count_values};
use parquet::basic::{Compression, Type};
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::fs::File;

/// Maximum number of rows read at a time.
const MOST_ROWS: u64 = 1_024;

/// Maximum size in bytes of the values of one column in a batch, unless one row is larger.
const BATCH_BYTES: u64 = 16 << 20;

/// The number of rows to read at a time, so that a batch stays small regardless of repeated values.
///
/// # Errors
/// Lists that are longer than any vector, and pages whose stated size is impossible.
pub(super) fn batch_rows(file: &File, metadata: &ParquetMetaData) -> Result<usize> {
    let mut longest = 1;
    for group in metadata.row_groups() {
        let rows = u64::try_from(group.num_rows()).unwrap_or_default();
        for column in group.columns() {
            let values = count_values(file, column, rows)?;
            let bytes = match column.column_type() {
                _ if column.column_descr().max_rep_level() > 0 => list_bytes(values, rows),
                Type::BYTE_ARRAY => text_bytes(column),
                _ => continue,
            };
            longest = longest.max(bytes);
        }
    }
    let rows = (BATCH_BYTES / longest).clamp(1, MOST_ROWS);
    Ok(usize::try_from(rows).unwrap_or(1))
}

/// Upper bound of the length of a text in the column: it lies in one of its pages.
fn text_bytes(column: &ColumnChunkMetaData) -> u64 {
    let stored = u64::try_from(column.compressed_size()).unwrap_or_default();
    match column.compression() {
        Compression::UNCOMPRESSED => stored,
        _ => stored.saturating_mul(SNAPPY_EXPANSION),
    }
}

/// Average size of a list of the column.
fn list_bytes(values: u64, rows: u64) -> u64 {
    values
        .div_ceil(rows.max(1))
        .saturating_mul(size_of::<f64>() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::builder::{Float32Builder, ListBuilder};
    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use std::io::{Read, Seek, SeekFrom, Write};
    use std::sync::Arc;

    fn rows_at_a_time(name: &str, column: ArrayRef) -> Result<usize> {
        let (file, reader) = written(name, column);
        batch_rows(&file, reader.metadata())
    }

    fn written(name: &str, column: ArrayRef) -> (File, SerializedFileReader<File>) {
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
        (file, reader)
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
        // Half a megabyte as one value of a dictionary: twenty kilobytes represent 500 MB.
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

    #[test]
    fn a_page_that_states_more_than_it_holds_is_not_unpacked() {
        let (mut file, reader) = written("claim_text", texts(&"x".repeat(500_000), 2));
        let column = reader.metadata().row_group(0).column(0);
        let head = u64::try_from(column.dictionary_page_offset().unwrap()).unwrap();
        // The kind of the page, and the number of its next field: its size, as three bytes.
        let mut start = [0; 6];
        file.seek(SeekFrom::Start(head)).unwrap();
        file.read_exact(&mut start).unwrap();
        assert!(
            start[..3] == [0x15, 4, 0x15] && start[5] < 128,
            "{start:x?}"
        );
        file.seek(SeekFrom::Start(head + 3)).unwrap();
        file.write_all(&[0xfe, 0xff, 0x7f]).unwrap();
        let error = batch_rows(&file, reader.metadata()).unwrap_err();
        assert!(
            error.to_string().contains("states 1048575 bytes"),
            "{error}"
        );
    }
}
