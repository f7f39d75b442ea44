//! Character maps of a PDF that would not fit into memory.
//!
//! The library that reads a map makes an entry for each code of each range, for each font that names
//! the map, and recurses over its brackets. So maps are measured first.

use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

/// Most bytes of a map.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Most codes of all maps of a file, a map counted for each font that names it.
const MOST_CODES: u64 = 1_000_000;

/// Brackets inside one another.
const MOST_NESTED: usize = 16;

/// A map of nothing.
const EMPTY: &[u8] = b"0 beginbfchar\nendbfchar\n";

/// Empties the maps that are too large.
pub(super) fn tame(file: &mut Document) {
    let mut left = MOST_CODES;
    for id in named_maps(file) {
        let Ok(Object::Stream(stream)) = file.get_object(id) else {
            continue;
        };
        let unpacked = stream.decompressed_content();
        let map = unpacked.as_ref().unwrap_or(&stream.content);
        match codes(map).and_then(|codes| left.checked_sub(codes)) {
            Some(rest) => left = rest,
            None => {
                let empty = Stream::new(Dictionary::new(), EMPTY.to_vec());
                file.objects.insert(id, Object::Stream(empty));
            }
        }
    }
}

/// What fonts name as their maps, once for each font.
fn named_maps(file: &Document) -> Vec<ObjectId> {
    let mut maps = Vec::new();
    let mut waiting: Vec<&Object> = file.objects.values().collect();
    while let Some(object) = waiting.pop() {
        let dictionary = match object {
            Object::Array(items) => {
                waiting.extend(items);
                continue;
            }
            Object::Dictionary(dictionary) => dictionary,
            Object::Stream(stream) => &stream.dict,
            _ => continue,
        };
        for (key, value) in dictionary {
            let named = matches!(key.as_slice(), b"ToUnicode" | b"Encoding")
                .then(|| file.dereference(value).ok());
            match named.flatten() {
                Some((Some(id), Object::Stream(_))) => maps.push(id),
                _ => waiting.push(value),
            }
        }
    }
    maps
}

/// A word of a map, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    /// A code between angle brackets.
    Code(u32),
    /// An array, whatever is in it.
    Array,
    /// The start of ranges.
    Ranges,
    Other,
}

/// How many codes the ranges of a map have; none for a map that is not read.
fn codes(map: &[u8]) -> Option<u64> {
    if map.len() > MOST_BYTES {
        return None;
    }
    let words = words(map)?;
    let mut codes = 0_u64;
    let mut at = 0;
    while at < words.len() {
        let is_start = words[at] == Word::Ranges;
        at += 1;
        while is_start && let Some([Word::Code(low), Word::Code(high), to]) = words.get(at..at + 3)
        {
            if matches!(to, Word::Other | Word::Ranges) {
                break;
            }
            // A range that ends before it begins is empty, or ends the reading.
            codes += u64::from(high.saturating_sub(*low)) + 1;
            at += 3;
        }
    }
    Some(codes)
}

/// The words of a map; none where brackets are too deep, or codes in strings.
fn words(map: &[u8]) -> Option<Vec<Word>> {
    let (mut words, mut at, mut depth) = (Vec::new(), 0, 0_usize);
    while let Some(byte) = map.get(at) {
        let rest = &map[at..];
        let length = |is_part: fn(&u8) -> bool| {
            rest.iter()
                .skip(1)
                .position(|b| !is_part(b))
                .map_or(rest.len(), |n| n + 1)
        };
        let (taken, word) = match byte {
            b'%' => (length(|b| !matches!(b, b'\r' | b'\n')), None),
            b'<' if rest.starts_with(b"<<") => {
                depth += 1;
                (2, Some(Word::Other))
            }
            b'>' if rest.starts_with(b">>") => {
                depth = depth.saturating_sub(1);
                (2, Some(Word::Other))
            }
            b'<' => {
                let end = length(|b| *b != b'>');
                (end + 1, Some(Word::Code(code(&rest[1..end]))))
            }
            b'[' => {
                depth += 1;
                let end = rest.iter().take(MOST_BYTES).position(|b| *b == b']');
                let inner = &rest[1..end.unwrap_or(rest.len())];
                if inner.contains(&b'[') || inner.contains(&b'(') {
                    return None;
                }
                depth -= 1;
                (end.map_or(rest.len(), |end| end + 1), Some(Word::Array))
            }
            b'(' => {
                // Names of registries stand in short strings; nothing else does.
                let end = length(|b| !matches!(b, b')' | b'(' | b'\\'));
                if rest.get(end) != Some(&b')') {
                    return None;
                }
                (end + 1, Some(Word::Other))
            }
            b if b.is_ascii_alphanumeric() => {
                let end = length(u8::is_ascii_alphanumeric);
                let word = match &rest[..end] {
                    b"beginbfrange" => Word::Ranges,
                    _ => Word::Other,
                };
                (end, Some(word))
            }
            _ => (1, None),
        };
        if depth > MOST_NESTED {
            return None;
        }
        words.extend(word);
        at += taken;
    }
    Some(words)
}

/// The number that hexadecimal digits are, as the library reads it.
fn code(digits: &[u8]) -> u32 {
    let digits = digits.iter().filter_map(|b| char::from(*b).to_digit(16));
    digits.fold(0, |code, digit| code << 4 | digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_ranges_are_counted() {
        for (map, want) in [
            (
                "1 beginbfrange <0000> <ffff> <0000> endbfrange",
                Some(65_536),
            ),
            (
                "2 beginbfrange <00><01><0041> <05> <06> [<41> <42>] endbfrange",
                Some(4),
            ),
            (
                "/CIDInit /ProcSet findresource begin 2 beginbfchar <01> <02> endbfchar",
                Some(0),
            ),
            ("9 beginbfrange <0> <ffffffff> <0000>", Some(1 << 32)),
            (
                "/Registry (Adobe) def 1 beginbfrange <1> <3> <1> endbfrange",
                Some(3),
            ),
            ("1 beginbfrange (\\0) <ffffffff> <0000>", None),
            ("1 beginbfrange <00> <02> [[<41>]] endbfrange", None),
        ] {
            assert_eq!(codes(map.as_bytes()), want, "{map}");
        }
        for deep in ["[", "(", "<<"] {
            assert_eq!(codes(deep.repeat(100_000).as_bytes()), None, "{deep}");
        }
    }
}
