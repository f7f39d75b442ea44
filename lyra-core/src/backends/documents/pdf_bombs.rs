//! Makes the streams of a PDF harmless that unpack to more memory than there is.
//!
//! The library that reads the file unpacks a stream whole, without a limit; two kilobytes can be
//! two gigabytes then. So every stream is measured first, by unpacking it into nothing, and what is
//! too large is spoiled: its first bytes are overwritten, so that it does not unpack at all. Pictures
//! are spoiled unseen; nobody looks at them here.

use crate::error::{Error, Result};
use flate2::read::DeflateDecoder;
use pdf_extract::{Document, Object};
use std::io::Read;

/// Most bytes that one stream may unpack to.
const MOST_OF_ONE: u64 = 64 * 1024 * 1024;

/// Most bytes that all streams together may; more is refused, because measuring takes time too.
const MOST_OF_ALL: u64 = 1024 * 1024 * 1024;

/// LZW packs at most about 1,400 : 1; longer streams of that kind are not unpacked.
const MOST_LZW: usize = 128 * 1024;

/// How far before its `stream` keyword the dictionary of a stream may begin.
const DICTIONARY: usize = 4096;

/// How many layers of packing are looked through.
const LAYERS: usize = 4;

/// Spoils what is too large in the bytes of a file; answers how many streams other than pictures.
pub(super) fn defuse(file: &mut [u8]) -> Result<usize> {
    let (mut spoiled, mut total, mut from) = (0, 0, 0);
    while let Some((keyword, start)) = next_stream(file, from) {
        from = start;
        let before = &file[keyword.saturating_sub(DICTIONARY)..keyword];
        let begin = before.windows(3).rposition(|w| w == b"obj").unwrap_or(0);
        let dictionary = &before[begin..];
        if is_picture(dictionary) && own_bytes(&file[start..]) >= SHORTEST {
            spoil(&mut file[start..]);
        } else if is_bomb(&file[start..], dictionary, &mut total)? {
            spoil(&mut file[start..]);
            spoiled += 1;
        }
    }
    Ok(spoiled)
}

/// The same for the objects of a file that was encrypted, when it no longer is.
pub(super) fn defuse_objects(file: &mut Document) -> Result<usize> {
    let (mut spoiled, mut total) = (0, 0);
    for object in file.objects.values_mut() {
        let Object::Stream(stream) = object else {
            continue;
        };
        let filters = format!("{:?}", stream.dict.get(b"Filter"));
        if is_bomb(&stream.content, filters.as_bytes(), &mut total)? {
            spoil(&mut stream.content);
            spoiled += 1;
        }
    }
    Ok(spoiled)
}

/// Where the next `stream` keyword stands, and where its bytes begin.
fn next_stream(file: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        at += file.get(at..)?.windows(6).position(|w| w == b"stream")?;
        let rest = &file[at + 6..];
        let eol = match rest {
            [b'\r', b'\n', ..] => 2,
            [b'\n' | b'\r', ..] => 1,
            _ => 0,
        };
        if eol > 0 && !file[..at].ends_with(b"end") {
            return Some((at, at + 6 + eol));
        }
        at += 6;
    }
}

/// Whether a stream unpacks to too much. Whatever its dictionary says, what can be inflated is.
fn is_bomb(content: &[u8], dictionary: &[u8], total: &mut u64) -> Result<bool> {
    if names(dictionary, b"LZW") && length(dictionary, content) > MOST_LZW {
        return Ok(true);
    }
    let unarmoured;
    let mut packed = content;
    if names(dictionary, b"85Decode") {
        unarmoured = from_ascii85(content);
        packed = &unarmoured;
    }
    let mut layers = 1;
    loop {
        let size = inflated(packed, layers);
        *total += size;
        if *total > MOST_OF_ALL {
            return Err(Error::invalid(format!(
                "the PDF unpacks to more than {MOST_OF_ALL} bytes"
            ))
            .with_hint("save its text alone"));
        }
        if size > MOST_OF_ONE {
            return Ok(true);
        }
        if size == 0 || layers == LAYERS {
            return Ok(false);
        }
        layers += 1;
    }
}

/// How many bytes come out of so many layers of zlib, at most one more than the limit.
///
/// The library ignores a wrong zlib header and what follows the packed bytes, so both are here.
fn inflated(packed: &[u8], layers: usize) -> u64 {
    let mut reader: Box<dyn Read + '_> = Box::new(packed);
    for _ in 0..layers {
        let mut header = [0; 2];
        if reader.read_exact(&mut header).is_err() {
            return 0;
        }
        reader = Box::new(DeflateDecoder::new(reader));
    }
    let mut limited = reader.take(MOST_OF_ONE + 1);
    let mut buffer = vec![0; 64 * 1024];
    let mut size = 0;
    // What is damaged in the middle gives what came before.
    while let Ok(read @ 1..) = limited.read(&mut buffer) {
        size += read as u64;
    }
    size
}

/// A stream is not spoiled by fewer bytes: the third is the first that an inflater looks at.
const SHORTEST: usize = 3;

/// Bytes of a stream that may be overwritten: at most 32, and none of what follows it.
fn own_bytes(content: &[u8]) -> usize {
    let start = &content[..content.len().min(48)];
    let end = start.windows(9).position(|w| w == b"endstream");
    // The line end before the keyword is not part of the stream.
    let own = end.map_or(start, |end| start[..end].trim_ascii_end());
    own.len().min(32)
}

/// Neither a zlib header nor a block that an inflater takes.
fn spoil(content: &mut [u8]) {
    let length = own_bytes(content).max(SHORTEST).min(content.len());
    content[..length].fill(0xff);
}

/// `/Subtype /Image`; `/ImageB` and the like stand in the resources of other streams.
fn is_picture(dictionary: &[u8]) -> bool {
    let text = String::from_utf8_lossy(dictionary);
    text.split("/Subtype").skip(1).any(|rest| {
        let name = rest.trim_start().strip_prefix("/Image");
        name.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

fn names(dictionary: &[u8], name: &[u8]) -> bool {
    dictionary.windows(name.len()).any(|w| w == name)
}

/// The length of a stream as its dictionary says, or of all that follows.
fn length(dictionary: &[u8], content: &[u8]) -> usize {
    let text = String::from_utf8_lossy(dictionary);
    let direct = text
        .split("/Length")
        .nth(1)
        .map(str::trim_start)
        .and_then(|rest| {
            rest.split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        })
        // `/Length 12 0 R` is written elsewhere; the next keyword ends the stream as well.
        .filter(|_| !text.contains(" 0 R"));
    direct.unwrap_or_else(|| {
        let end = content.windows(9).position(|w| w == b"endstream");
        end.unwrap_or(content.len())
    })
}

/// Four bytes for five characters from `!` to `u`; `z` is four zeros, `~` the end.
fn from_ascii85(content: &[u8]) -> Vec<u8> {
    let (mut out, mut group, mut count) = (Vec::new(), 0_u32, 0);
    for byte in content {
        match byte {
            b'z' if count == 0 => out.extend([0; 4]),
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                count += 1;
                if count == 5 {
                    out.extend(group.to_be_bytes());
                    (group, count) = (0, 0);
                }
            }
            b'~' => break,
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::ParsedDocument;
    use crate::error::Result;
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write;

    fn parse(bytes: &[u8]) -> Result<ParsedDocument> {
        super::super::parse(bytes, None, "a.pdf")
    }

    fn pack(content: &[u8]) -> Vec<u8> {
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    /// Zlib bytes that unpack to so many megabytes of spaces.
    fn bomb(megabytes: usize) -> Vec<u8> {
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
        for _ in 0..megabytes {
            packer.write_all(&vec![b' '; 1024 * 1024]).unwrap();
        }
        packer.finish().unwrap()
    }

    fn armour(content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for chunk in content.chunks(4) {
            let mut group = [0; 4];
            group[..chunk.len()].copy_from_slice(chunk);
            let mut value = u32::from_be_bytes(group);
            let mut digits = [0; 5];
            for digit in digits.iter_mut().rev() {
                *digit = (value % 85) as u8 + b'!';
                value /= 85;
            }
            out.extend(digits);
        }
        out.extend(b"~>");
        out
    }

    /// A file of one page for each content stream.
    fn file(streams: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let kids: String = (0..streams.len())
            .map(|n| format!("{} 0 R ", 10 + 2 * n))
            .collect();
        let mut objects = vec![
            (1, b"<</Type/Catalog/Pages 2 0 R>>".to_vec()),
            (
                2,
                format!("<</Type/Pages/Count {}/Kids[{kids}]>>", streams.len()).into_bytes(),
            ),
            (
                3,
                b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_vec(),
            ),
        ];
        for (n, (filter, content)) in streams.iter().enumerate() {
            let page = format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents {} 0 R>>",
                11 + 2 * n
            );
            objects.push((10 + 2 * n, page.into_bytes()));
            let mut stream =
                format!("<</Length {}/Filter{filter}>>\nstream\n", content.len()).into_bytes();
            stream.extend(content);
            stream.extend(b"\nendstream");
            objects.push((11 + 2 * n, stream));
        }
        let mut out = b"%PDF-1.4\n".to_vec();
        let mut table = String::new();
        for (number, body) in objects {
            table += &format!("{number} 1\n{:010} 00000 n \n", out.len());
            out.extend(format!("{number} 0 obj\n").bytes());
            out.extend(body);
            out.extend(b"\nendobj\n");
        }
        let at = out.len();
        out.extend(format!("xref\n0 1\n0000000000 65535 f \n{table}trailer\n<</Root 1 0 R/Size 99>>\nstartxref\n{at}\n%%EOF").bytes());
        out
    }

    const WORDS: &[u8] = b"BT /F 12 Tf 50 700 Td (Drug X increased the risk of falls.) Tj ET";

    #[test]
    fn what_unpacks_without_end_is_left_out_and_the_rest_is_read() {
        let good = ("/FlateDecode", pack(WORDS));
        let plain = parse(&file(std::slice::from_ref(&good))).unwrap();
        assert!(
            plain.blocks[0].text.contains("increased the risk"),
            "{plain:?}"
        );
        assert_eq!(plain.warnings, Vec::<String>::new());
        let cases = [
            ("one layer", "/FlateDecode", bomb(80)),
            ("two layers", "[/FlateDecode/FlateDecode]", pack(&bomb(80))),
            ("an escaped name", "/#46lateDecode", bomb(80)),
            (
                "armoured",
                "[/ASCII85Decode/FlateDecode]",
                armour(&bomb(80)),
            ),
            ("a wrong header", "/FlateDecode", {
                let mut bomb = bomb(80);
                bomb[0] = b'x' + 1;
                bomb
            }),
            ("LZW", "/LZWDecode", vec![0x80; 200 * 1024]),
        ];
        for (name, filter, content) in cases {
            let got = parse(&file(&[(filter, content), good.clone()])).unwrap();
            assert!(
                got.blocks[0].text.contains("increased the risk"),
                "{name}: {got:?}"
            );
            assert_eq!(
                got.warnings[0], "1 parts that unpack without end were left out",
                "{name}"
            );
        }
    }

    #[test]
    fn nothing_but_pictures_is_touched() {
        let mut got = b"%PDF-1.4\n".to_vec();
        let before = got.len();
        let parts: [(&[u8], &[u8], bool); 4] = [
            (b"/Subtype/Image/Length 4", b"abcd", true),
            (b"/Subtype /Image /Length 40", &[b'a'; 40], true),
            (b"/Subtype/Image/Length 2", b"ab", false),
            (
                b"/Subtype/Form/Resources<</ProcSet[/PDF/ImageB]>>/Length 4",
                b"abcd",
                false,
            ),
        ];
        for (dictionary, content, _) in parts {
            got.extend(
                [
                    b"1 0 obj\n<<",
                    dictionary,
                    b">>\nstream\n",
                    content,
                    b"\nendstream\nendobj\n",
                ]
                .concat(),
            );
        }
        let whole = got.clone();
        assert_eq!(super::defuse(&mut got).unwrap(), 0);
        let mut at = before;
        for (dictionary, content, is_picture) in parts {
            let start = at + 10 + dictionary.len() + 10;
            let end = start + content.len();
            assert_eq!(got[at..start], whole[at..start]);
            assert_eq!(
                got[start..end] != whole[start..end],
                is_picture,
                "{dictionary:?}"
            );
            assert_eq!(got[end..end + 18], *b"\nendstream\nendobj\n".as_slice());
            at = end + 18;
        }
    }

    #[test]
    fn many_bombs_are_refused_in_time() {
        let begun = std::time::Instant::now();
        let bombs = vec![("/FlateDecode", bomb(70)); 30];
        let error = parse(&file(&bombs)).unwrap_err();
        assert!(error.message().contains("unpacks to more than"), "{error}");
        // Each keyword inside of a bomb starts a measurement of its own.
        let nested = b"stream\n".repeat(200_000);
        let _ = parse(&file(&[("/FlateDecode", nested)]));
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    }
}
