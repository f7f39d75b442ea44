//! Page headers of a column. A header states the unpacked size and the number of values of its page, and
//! the Parquet library allocates that memory before it reads the page. So the headers are checked first.

use super::super::fields::MAX_DIMENSION;
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// Snappy expands three bytes to at most 64.
pub(super) const SNAPPY_EXPANSION: u64 = 22;

/// Maximum page size. Programs that write Parquet use pages far smaller than this.
const MOST_PAGE_BYTES: u64 = 512 << 20;

/// Maximum length in bytes of a 64-bit varint.
const MOST_VARINT_BYTES: u32 = 10;

/// Number of values in the pages of a column, repeated ones included.
///
/// # Errors
/// Headers that cannot be read, and pages whose stated size is impossible.
pub(super) fn count_values(file: &File, column: &ColumnChunkMetaData, rows: u64) -> Result<u64> {
    let is_list = column.column_descr().max_rep_level() > 0;
    let most = rows.saturating_mul(MAX_DIMENSION.unsigned_abs());
    let mut heads = Heads::of(file, column)?;
    let mut values: u64 = 0;
    while let Some(head) = heads.next()? {
        head.check(column.compression())?;
        if !head.is_dictionary {
            values = values.saturating_add(head.values);
        }
        if is_list && values > most {
            return Err(ParquetError::General(format!(
                "{values} values in {rows} lists; expected at most {MAX_DIMENSION} for each"
            )));
        }
    }
    Ok(values)
}

#[derive(Debug, Default, PartialEq)]
struct PageHeader {
    stored: u64,
    unpacked: u64,
    values: u64,
    is_dictionary: bool,
}

impl PageHeader {
    fn check(&self, compression: Compression) -> Result<()> {
        let most = match compression {
            Compression::UNCOMPRESSED => MOST_PAGE_BYTES,
            _ => MOST_PAGE_BYTES.min(self.stored.saturating_mul(SNAPPY_EXPANSION)),
        };
        // Each value of a dictionary takes at least one byte.
        if self.unpacked > most || (self.is_dictionary && self.values > self.unpacked) {
            return Err(ParquetError::General(format!(
                "a page of {} bytes states {} bytes and {} values; expected at most {most} bytes",
                self.stored, self.unpacked, self.values
            )));
        }
        Ok(())
    }
}

/// Reads the headers one after the other. They use Thrift's compact protocol.
struct Heads<R> {
    bytes: R,
    /// Number of unread bytes of the column.
    left: u64,
}

impl Heads<BufReader<File>> {
    fn of(file: &File, column: &ColumnChunkMetaData) -> Result<Self> {
        let (start, left) = column.byte_range();
        let mut bytes = BufReader::new(file.try_clone()?);
        bytes.seek(SeekFrom::Start(start))?;
        Ok(Self { bytes, left })
    }
}

impl<R: Read + Seek> Heads<R> {
    fn next(&mut self) -> Result<Option<PageHeader>> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut fields = HeaderFields::default();
        self.structure(&[], &mut fields)?;
        let head = fields.head()?;
        self.skip(head.stored)?;
        Ok(Some(head))
    }

    /// Reads the fields of a structure; `path` holds the numbers of the enclosing fields.
    fn structure(&mut self, path: &[u64], fields: &mut HeaderFields) -> Result<()> {
        let mut number = 0;
        loop {
            let [byte] = self.read()?;
            if byte == 0 {
                return Ok(());
            }
            number = match byte >> 4 {
                0 => zigzag(self.varint()?).unsigned_abs(),
                step => number + u64::from(step),
            };
            // The library keeps sixteen bits, and would mistake a greater number for another field.
            if number > i16::MAX.unsigned_abs().into() {
                return Err(unsound());
            }
            let path = [path, &[number]].concat();
            self.value(byte & 15, &path, fields)?;
        }
    }

    fn value(&mut self, kind: u8, path: &[u64], fields: &mut HeaderFields) -> Result<()> {
        match kind {
            // The value of a boolean is encoded in its type.
            1 | 2 => Ok(()),
            3 => self.skip(1),
            4..=6 => {
                let value = zigzag(self.varint()?);
                fields.note(path, value)
            }
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            // A header contains the header of its page kind, and that one contains statistics.
            12 if path.len() < 3 => self.structure(path, fields),
            _ => Err(unsound()),
        }
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for place in 0..MOST_VARINT_BYTES {
            let [byte] = self.read()?;
            value |= u64::from(byte & 127) << (7 * place);
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(unsound())
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N as u64)?;
        let mut bytes = [0; N];
        self.bytes.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        self.take(count)?;
        self.bytes.seek_relative(count.cast_signed())?;
        Ok(())
    }

    fn take(&mut self, count: u64) -> Result<()> {
        self.left = self.left.checked_sub(count).ok_or_else(unsound)?;
        Ok(())
    }
}

/// The relevant fields of a header, by their numbers in the format's definition.
#[derive(Default)]
struct HeaderFields {
    unpacked: Option<u64>,
    stored: Option<u64>,
    values: Option<u64>,
    is_dictionary: bool,
}

impl HeaderFields {
    fn note(&mut self, path: &[u64], value: i64) -> Result<()> {
        let field = match path {
            [2] => &mut self.unpacked,
            [3] => &mut self.stored,
            [5 | 7 | 8, 1] => &mut self.values,
            _ => return Ok(()),
        };
        self.is_dictionary |= path == [7, 1];
        let value = u64::try_from(value).map_err(|_| unsound())?;
        // The library would use the last of two equal fields; this reader must not use another one.
        match field.replace(value) {
            None => Ok(()),
            Some(_) => Err(unsound()),
        }
    }

    fn head(&self) -> Result<PageHeader> {
        Ok(PageHeader {
            stored: self.stored.ok_or_else(unsound)?,
            unpacked: self.unpacked.ok_or_else(unsound)?,
            // An index page has no values.
            values: self.values.unwrap_or_default(),
            is_dictionary: self.is_dictionary,
        })
    }
}

fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

fn unsound() -> ParquetError {
    ParquetError::General("the head of a page cannot be read".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn heads(bytes: &[u8]) -> Heads<Cursor<&[u8]>> {
        Heads {
            bytes: Cursor::new(bytes),
            left: bytes.len() as u64,
        }
    }

    /// A dictionary page: kind 2, `unpacked` and `stored` sizes, one value, and then the bytes.
    fn page(unpacked: &[u8], stored: u8) -> Vec<u8> {
        let mut bytes = vec![0x15, 4, 0x15];
        bytes.extend_from_slice(unpacked);
        bytes.extend_from_slice(&[0x15, stored << 1, 0x4c, 0x15, 2, 0x15, 0, 0, 0]);
        bytes.extend(std::iter::repeat_n(7, stored.into()));
        bytes
    }

    #[test]
    fn the_pages_of_a_column_one_by_one() {
        let bytes = [page(&[20], 10), page(&[0xa0, 1], 4)].concat();
        let mut heads = heads(&bytes);
        let head = |stored, unpacked| PageHeader {
            stored,
            unpacked,
            values: 1,
            is_dictionary: true,
        };
        assert_eq!(heads.next().unwrap(), Some(head(10, 10)));
        assert_eq!(heads.next().unwrap(), Some(head(4, 80)));
        assert_eq!(heads.next().unwrap(), None);
    }

    #[test]
    fn heads_that_break_off_or_contradict_themselves_are_refused() {
        let sound = page(&[20], 10);
        for end in 1..sound.len() {
            assert!(heads(&sound[..end]).next().is_err(), "{end} bytes");
        }
        // The size a second time, with its full field number.
        let mut twice = sound.clone();
        twice.splice(6..6, [0x05, 4, 0x22]);
        assert!(heads(&twice).next().is_err());
        // Field 65,538, which is field 2 in sixteen bits.
        let mut wrapped = sound;
        wrapped.splice(6..6, [0x05, 0x84, 0x80, 0x08, 0x22]);
        assert!(heads(&wrapped).next().is_err());
        let negative = page(&[21], 10);
        assert!(heads(&negative).next().is_err());
        let endless = [0x15; 40].map(|_| 0xff);
        assert!(heads(&endless).next().is_err());
        let nested = [0x1c; 40];
        assert!(heads(&nested).next().is_err());
    }

    #[test]
    fn a_page_states_no_more_than_it_can_hold() {
        let dictionary = |stored, unpacked, values| PageHeader {
            stored,
            unpacked,
            values,
            is_dictionary: true,
        };
        let snappy = |head: PageHeader| head.check(Compression::SNAPPY);
        assert!(snappy(dictionary(100, 2_200, 550)).is_ok());
        assert!(snappy(dictionary(100, 2_201, 550)).is_err());
        assert!(snappy(dictionary(100, 90, 91)).is_err());
        assert!(snappy(dictionary(1 << 30, 1 << 30, 1)).is_err());
        let plain = dictionary(100, 1 << 30, 1).check(Compression::UNCOMPRESSED);
        assert!(plain.is_err());
    }
}
