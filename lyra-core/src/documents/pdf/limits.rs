//! How much of a PDF is unpacked. Two kilobytes can unpack to two gigabytes, and the library that
//! unpacks them has no limit.

use crate::error::{Error, ErrorKind, Result};
use flate2::read::ZlibDecoder;
use hayro_syntax::Filter;
use hayro_syntax::object::Stream;
use std::io::Read;

/// Most bytes that one stream may unpack to.
const MOST_OF_ONE: u64 = 32 * 1024 * 1024;

/// Most bytes that the streams may unpack to that say where the objects of the file are.
const MOST_OF_INDEXES: u64 = 8 * 1024 * 1024;

/// Most bytes that all streams together may unpack to that hold objects.
const MOST_OF_OBJECTS: u64 = 128 * 1024 * 1024;

/// Longest stream that is unpacked without measuring what comes out: of some kinds only the library
/// knows that.
const UNMEASURED: usize = 128 * 1024;

/// Deflate packs at most so many bytes into one.
const FLATE_RATIO: u64 = 1032;

/// How far behind the type of a stream its content may begin.
const DICTIONARY: usize = 4096;

/// The content of a stream; none for pictures and for what is too large.
pub(super) fn decoded(stream: &Stream<'_>) -> Option<Vec<u8>> {
    if !is_bounded(stream) {
        return None;
    }
    stream.decoded_data().ok().map(std::borrow::Cow::into_owned)
}

/// Whether a stream unpacks to what there is memory for.
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

/// Refuses a file whose objects unpack without end; the library unpacks them unasked.
pub(super) fn check_objects(file: &[u8]) -> Result<()> {
    let mut total = 0;
    for (name, most) in [(&b"/XRef"[..], MOST_OF_INDEXES), (b"/ObjStm", MOST_OF_ONE)] {
        for start in streams_after(file, name) {
            let size = unpacked(&file[start..], most);
            total += size;
            if size > most || total > MOST_OF_OBJECTS {
                return Err(Error::new(
                    ErrorKind::HostileDocument,
                    "the PDF holds parts that unpack without end",
                )
                .with_hint("save its text in another format"));
            }
        }
    }
    Ok(())
}

/// Where the streams begin in whose dictionaries this name stands.
fn streams_after<'f>(file: &'f [u8], name: &'f [u8]) -> impl Iterator<Item = usize> + 'f {
    let mut from = 0;
    let mut last = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + find(&file[from..], name)?;
            from = at + name.len();
            // The rest of the dictionary may stand on either side of the name.
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

/// How many bytes come out, counted up to just above `most`.
fn unpacked(packed: &[u8], most: u64) -> u64 {
    let mut out = ZlibDecoder::new(packed).take(most + 1);
    let mut buffer = [0; 16 * 1024];
    let mut total = 0;
    while let Ok(read @ 1..) = out.read(&mut buffer) {
        total += read as u64;
    }
    total
}
