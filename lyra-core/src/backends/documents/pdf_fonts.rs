//! Puts the fonts of a PDF into the form that the text extraction understands.
//!
//! Japanese, Chinese and Korean files name one of the predefined character maps of the PDF standard
//! (`90ms-RKSJ-H`, `UniJIS-UCS2-H` …) where other files carry a map of their own. The extraction
//! knows none of the former, so each is replaced by a map that says the same.

use super::pdf_maps;
use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GBK, SHIFT_JIS};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Widths that one range of a font may list.
const MAX_WIDTHS: i64 = 65_536;

/// What the codes of a predefined map are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Codes {
    /// Two bytes, UTF-16 without surrogates.
    Unicode,
    /// One or two bytes of a legacy encoding.
    Legacy(&'static Encoding),
    /// Two bytes with the high bits of EUC-JP cleared.
    Jis,
}

/// Rewrites every composite font of the file.
pub(super) fn prepare(file: &mut Document) {
    pdf_maps::tame(file);
    let ids: Vec<ObjectId> = file.objects.keys().copied().collect();
    let mut made: HashMap<Codes, (ObjectId, ObjectId)> = HashMap::new();
    for id in ids {
        let Some(font) = file
            .objects
            .get(&id)
            .and_then(|object| object.as_dict().ok())
        else {
            continue;
        };
        let (codes, unknown_map) = (predefined(file, font), names_a_map(file, font));
        let has_map = font.has(b"ToUnicode") && !unknown_map;
        if is_cid_font(font) {
            let widths = font
                .get(b"W")
                .ok()
                .and_then(|widths| listed_widths(file, widths));
            if let (Some(widths), Some(font)) = (widths, dictionary(file, id)) {
                font.set("W", Object::Array(widths));
            }
        }
        let maps = codes.map(|codes| match made.get(&codes) {
            Some(maps) => *maps,
            None => {
                let (code_map, unicode_map) = maps_of(codes);
                let add = |file: &mut Document, map: String| {
                    file.add_object(Object::Stream(Stream::new(
                        Dictionary::new(),
                        map.into_bytes(),
                    )))
                };
                let maps = (add(file, code_map), add(file, unicode_map));
                made.insert(codes, maps);
                maps
            }
        });
        let Some(font) = dictionary(file, id) else {
            continue;
        };
        if unknown_map {
            font.remove(b"ToUnicode");
        }
        if let Some((code_map, unicode_map)) = maps {
            font.set("Encoding", Object::Reference(code_map));
            if !has_map {
                font.set("ToUnicode", Object::Reference(unicode_map));
            }
        }
    }
}

fn dictionary(file: &mut Document, id: ObjectId) -> Option<&mut Dictionary> {
    file.objects.get_mut(&id)?.as_dict_mut().ok()
}

fn name<'a>(file: &'a Document, dictionary: &'a Dictionary, key: &[u8]) -> Option<&'a [u8]> {
    match dictionary.get(key).ok()? {
        Object::Reference(id) => file.get_object(*id).ok()?.as_name().ok(),
        direct => direct.as_name().ok(),
    }
}

fn is_cid_font(font: &Dictionary) -> bool {
    let subtype = font.get(b"Subtype").and_then(Object::as_name).ok();
    matches!(subtype, Some(b"CIDFontType0" | b"CIDFontType2"))
}

/// A map to Unicode that is only named stands for one that the reader should know.
fn names_a_map(file: &Document, font: &Dictionary) -> bool {
    name(file, font, b"ToUnicode").is_some_and(|name| name != b"Identity-H")
}

fn predefined(file: &Document, font: &Dictionary) -> Option<Codes> {
    if name(file, font, b"Subtype") != Some(b"Type0") {
        return None;
    }
    let map = std::str::from_utf8(name(file, font, b"Encoding")?).ok()?;
    let stem = map
        .strip_suffix("-H")
        .or_else(|| map.strip_suffix("-V"))
        .unwrap_or(map);
    Some(match stem.trim_end_matches("-HW") {
        "Identity" => return None,
        "H" | "V" => Codes::Jis,
        stem if stem.starts_with("Uni") => Codes::Unicode,
        stem if stem.contains("RKSJ") => Codes::Legacy(SHIFT_JIS),
        "EUC" => Codes::Legacy(EUC_JP),
        stem if stem.starts_with("GB") => Codes::Legacy(GBK),
        stem if stem.starts_with("KSC") => Codes::Legacy(EUC_KR),
        stem if stem.starts_with("B5") || stem.contains("-B5") => Codes::Legacy(BIG5),
        _ => return None,
    })
}

/// The lengths of the codes, and the characters that they mean, as two maps of the PDF standard.
fn maps_of(codes: Codes) -> (String, String) {
    // The extraction takes half of the bytes that are written here for the length of a code.
    let ranges: &[&str] = match codes {
        Codes::Unicode | Codes::Jis => &["<00000000> <0000ffff>"],
        Codes::Legacy(encoding) if encoding == SHIFT_JIS => &[
            "<0000> <0080>",
            "<00a0> <00df>",
            "<00008140> <00009ffc>",
            "<0000e040> <0000fcfc>",
        ],
        Codes::Legacy(_) => &["<0000> <0080>", "<00008140> <0000fefe>"],
    };
    let code_map = format!(
        "{} begincodespacerange\n{}\nendcodespacerange\n1 begincidrange\n<0000> <ffff> 0\nendcidrange\n",
        ranges.len(),
        ranges.join("\n")
    );
    let unicode_map = match codes {
        Codes::Unicode => "1 beginbfrange\n<0000> <ffff> <0000>\nendbfrange\n".to_owned(),
        Codes::Legacy(encoding) => character_map(encoding, 0),
        Codes::Jis => character_map(EUC_JP, 0x8080),
    };
    (code_map, unicode_map)
}

/// Every code of an encoding with its character; `cleared` are the bits that the codes lack.
fn character_map(encoding: &'static Encoding, cleared: u16) -> String {
    let mut lines = String::new();
    let mut count = 0;
    let mut add = |code: &str, bytes: &[u8]| {
        let text = encoding.decode_without_bom_handling_and_without_replacement(bytes);
        if let Some(text) = text.filter(|text| text.chars().count() == 1) {
            let _ = write!(lines, "<{code}> <");
            for unit in text.encode_utf16() {
                let _ = write!(lines, "{unit:04x}");
            }
            lines.push_str(">\n");
            count += 1;
        }
    };
    if cleared == 0 {
        for byte in 0x20..=0xffu8 {
            add(&format!("{byte:02x}"), &[byte]);
        }
    }
    for code in 0x8140..=0xfefeu16 {
        add(&format!("{:04x}", code & !cleared), &code.to_be_bytes());
    }
    format!("{count} beginbfchar\n{lines}endbfchar\n")
}

/// Widths in the form `first [w w w]`; the extraction misreads the other form, `first last w`.
fn listed_widths(file: &Document, widths: &Object) -> Option<Vec<Object>> {
    let resolved = |object: &Object| match object {
        Object::Reference(id) => file.get_object(*id).ok().cloned(),
        direct => Some(direct.clone()),
    };
    let Object::Array(source) = resolved(widths)? else {
        return None;
    };
    let mut listed = Vec::new();
    let mut parts = source.iter();
    while let Some(first) = parts.next() {
        let first = resolved(first)?.as_i64().ok()?;
        match resolved(parts.next()?)? {
            Object::Array(own) => {
                let own: Option<Vec<Object>> = own.iter().map(resolved).collect();
                listed.extend([Object::Integer(first), Object::Array(own?)]);
            }
            last => {
                let last = last.as_i64().ok()?;
                let width = resolved(parts.next()?)?;
                let length = last.checked_sub(first)?.checked_add(1)?;
                if !(0..=MAX_WIDTHS).contains(&length) || listed.len() > 200_000 {
                    return None;
                }
                let own = vec![width; usize::try_from(length).ok()?];
                listed.extend([Object::Integer(first), Object::Array(own)]);
            }
        }
    }
    let is_number = |object: &Object| matches!(object, Object::Integer(_) | Object::Real(_));
    let sound = |object: &Object| match object {
        Object::Array(own) => own.iter().all(is_number),
        other => is_number(other),
    };
    listed.iter().all(sound).then_some(listed)
}

#[cfg(test)]
mod tests {
    use super::super::ParsedDocument;
    use super::super::tests::outline;
    use super::*;
    use crate::error::Result;

    fn parse(bytes: &[u8]) -> Result<ParsedDocument> {
        super::super::parse(bytes, None, "a.pdf")
    }

    /// A file of one page that shows each line of hex codes in a font with this character map.
    fn file(map: &str, lines: &[String]) -> Vec<u8> {
        let mut content = String::from("BT /F1 10 Tf 15 TL 60 700 Td\n");
        for line in lines {
            let _ = writeln!(content, "<{line}> Tj T*");
        }
        content.push_str("ET");
        let objects = [
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Count 1 /Kids [3 0 R] >>".to_owned(),
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R \
             /Resources << /Font << /F1 5 0 R >> >> >>"
                .to_owned(),
            format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
            format!(
                "<< /Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /{map} /DescendantFonts [6 0 R] >>"
            ),
            "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Own /W [1 95 500] /FontDescriptor 7 0 R \
             /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> >>"
                .to_owned(),
            "<< /Type /FontDescriptor /FontName /Own /Flags 4 >>".to_owned(),
        ];
        let mut out = b"%PDF-1.4\n".to_vec();
        let mut places = String::new();
        for (at, object) in objects.iter().enumerate() {
            let _ = writeln!(places, "{:010} 00000 n ", out.len());
            out.extend(format!("{} 0 obj\n{object}\nendobj\n", at + 1).into_bytes());
        }
        let start = out.len();
        let count = objects.len() + 1;
        out.extend(
            format!(
                "xref\n0 {count}\n0000000000 65535 f \n{places}trailer << /Size {count} /Root 1 0 R >>\n\
                 startxref\n{start}\n%%EOF\n"
            )
            .into_bytes(),
        );
        out
    }

    fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
        bytes
            .into_iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    #[test]
    fn predefined_character_maps_are_read() {
        let lines = [
            "夜勤の人は水を飲む量が少ないことが",
            "知られている。値はHbA1cで表す。",
        ];
        let chinese = ["夜班工人喝水较少", "已知。"];
        let korean = ["밤에 일하는 사람은", "물을 덜 마신다."];
        let utf16 = |line: &str| hex(line.encode_utf16().flat_map(u16::to_be_bytes));
        let legacy = |encoding: &'static Encoding| {
            move |line: &str| hex(encoding.encode(line).0.iter().copied())
        };
        let jis = |line: &str| hex(EUC_JP.encode(line).0.iter().map(|byte| byte & 0x7f));
        type Encode<'a> = &'a dyn Fn(&str) -> String;
        let cases: &[(&str, &[&str], Encode<'_>)] = &[
            ("UniJIS-UCS2-H", &lines, &utf16),
            ("UniJIS-UTF16-V", &lines, &utf16),
            ("90ms-RKSJ-H", &lines, &legacy(SHIFT_JIS)),
            ("EUC-H", &lines, &legacy(EUC_JP)),
            ("H", &lines[..1], &jis),
            ("GBK-EUC-H", &chinese, &legacy(GBK)),
            ("KSCms-UHC-H", &korean, &legacy(EUC_KR)),
        ];
        for (map, lines, encode) in cases {
            let codes: Vec<String> = lines.iter().map(|line| encode(line)).collect();
            let got = parse(&file(map, &codes)).unwrap();
            let want = super::super::lines::join(lines.iter().copied());
            assert_eq!(outline(&got.blocks), format!("paragraph {want}"), "{map}");
            assert_eq!(got.warnings, Vec::<String>::new(), "{map}");
        }
    }

    #[test]
    fn width_ranges_are_listed() {
        let file = Document::new();
        let number = Object::Integer;
        let source = Object::Array(vec![
            number(5),
            number(7),
            number(500),
            number(9),
            Object::Array(vec![number(250)]),
        ]);
        let listed = listed_widths(&file, &source).unwrap();
        assert_eq!(
            listed,
            [
                number(5),
                Object::Array(vec![number(500); 3]),
                number(9),
                Object::Array(vec![number(250)]),
            ]
        );
        for broken in [
            vec![number(5)],
            vec![number(5), number(7)],
            vec![number(9), number(1), number(500)],
            vec![number(0), number(i64::MAX), number(1)],
            vec![number(0), Object::Array(vec![Object::Null])],
        ] {
            assert_eq!(
                listed_widths(&file, &Object::Array(broken.clone())),
                None,
                "{broken:?}"
            );
        }
    }
}
