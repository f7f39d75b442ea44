//! Limits on decompression in PDFs. Two kilobytes can unpack to two gigabytes, and the library that
//! unpacks them has no limit.

use crate::error::{Error, ErrorKind, Result};
use flate2::read::ZlibDecoder;
use hayro_syntax::Filter;
use hayro_syntax::object::Stream;
use std::io::Read;

/// Maximum unpacked size of one stream, in bytes.
const MOST_OF_ONE: u64 = 32 * 1024 * 1024;

/// Maximum unpacked size, in bytes, of the streams that index the objects of the file.
const MOST_OF_INDEXES: u64 = 8 * 1024 * 1024;

/// Maximum unpacked size, in bytes, of all object streams together.
const MOST_OF_OBJECTS: u64 = 128 * 1024 * 1024;

/// Maximum length of a stream that is unpacked without measuring its result: for some filters only
/// the library can tell.
const UNMEASURED: usize = 128 * 1024;

/// Maximum compression ratio of Deflate.
const FLATE_RATIO: u64 = 1032;

/// How far after the type of a stream its content may begin.
const DICTIONARY: usize = 4096;

/// The content of a stream; `None` for pictures and for streams that are too large.
pub(super) fn decoded(stream: &Stream<'_>) -> Option<Vec<u8>> {
    if !is_bounded(stream) {
        return None;
    }
    stream.decoded_data().ok().map(std::borrow::Cow::into_owned)
}

/// Whether the unpacked size of a stream is within the limits.
pub(super) fn is_bounded(stream: &Stream<'_>) -> bool {
    let raw = stream.raw_data();
    match stream.filters().as_slice() {
        [] => true,
        [Filter::FlateDecode] => {
            raw.len() as u64 * FLATE_RATIO <= MOST_OF_ONE
                || unpacked(&raw, MOST_OF_ONE) <= MOST_OF_ONE
        }
        filters => {
            let packs = |filter: &Filter| {
                !matches!(
                    filter,
                    Filter::AsciiHexDecode | Filter::Ascii85Decode | Filter::Crypt
                )
            };
            match filters.iter().filter(|filter| packs(filter)).count() {
                0 => true,
                1 => raw.len() <= UNMEASURED,
                _ => raw.len() <= UNMEASURED / 64,
            }
        }
    }
}

/// Refuses a file whose objects unpack to too much; the library unpacks them unconditionally.
pub(super) fn check_objects(file: &[u8]) -> Result<()> {
    let mut total = 0;
    for (name, most) in [(&b"/XRef"[..], MOST_OF_INDEXES), (b"/ObjStm", MOST_OF_ONE)] {
        for start in streams_after(file, name) {
            let size = unpacked(&file[start..], most);
            total += size;
            if size > most || total > MOST_OF_OBJECTS {
                return Err(Error::new(
                    ErrorKind::HostileDocument,
                    "the PDF has parts that are too large when unpacked",
                )
                .with_hint("save its text in another format"));
            }
        }
    }
    Ok(())
}

/// The positions of the streams whose dictionaries contain this name.
fn streams_after<'f>(file: &'f [u8], name: &'f [u8]) -> impl Iterator<Item = usize> + 'f {
    let mut from = 0;
    let mut last = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + find(&file[from..], name)?;
            from = at + name.len();
            // The rest of the dictionary may be on either side of the name.
            let near = &file[from..file.len().min(from + DICTIONARY)];
            let Some(keyword) = find(near, b"stream") else {
                continue;
            };
            let mut start = from + keyword + b"stream".len();
            start += usize::from(file.get(start) == Some(&b'\r'));
            start += usize::from(file.get(start) == Some(&b'\n'));
            if start > last {
                last = start;
                return Some(start);
            }
        }
    })
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut from = 0;
    loop {
        from += bytes.get(from..)?.iter().position(|byte| *byte == first)?;
        if bytes[from..].starts_with(what) {
            return Some(from);
        }
        from += 1;
    }
}

/// The unpacked size in bytes, counted up to just above `most`.
fn unpacked(packed: &[u8], most: u64) -> u64 {
    let mut out = ZlibDecoder::new(packed).take(most + 1);
    let mut buffer = [0; 16 * 1024];
    let mut total = 0;
    while let Ok(read @ 1..) = out.read(&mut buffer) {
        total += read as u64;
    }
    total
}
