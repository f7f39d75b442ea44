//! Decodes bytes to text: byte order marks, declared encodings, detection.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EUC_JP, Encoding, ISO_2022_JP, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Decoded text, and the name of its encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// The text, without NUL and other control characters that do not occur in text.
    pub(crate) text: String,
    /// Name of the encoding as the WHATWG encoding standard spells it.
    pub(crate) encoding: &'static str,
    /// Whether some bytes were invalid in that encoding and were replaced by U+FFFD.
    pub(crate) damaged: bool,
}

/// How many leading bytes are searched for a charset declaration (browsers search 1,024).
const DECLARATION_WINDOW: usize = 4096;

/// How many leading bytes the detection examines.
const DETECTION_WINDOW: usize = 256 * 1024;

/// Decodes `bytes`.
///
/// The order is: byte order mark, then each name in `declared` that is known and plausible, then
/// UTF-8 if the bytes are valid, UTF-16 without a mark, the Japanese encodings, and finally the
/// guess that browsers make for bytes without a declaration (Chinese, Korean, Cyrillic, otherwise
/// windows-1252).
pub(crate) fn decode(bytes: &[u8], declared: &[&str]) -> Decoded {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode_in(encoding, &bytes[mark..]);
    }
    let valid_utf8 = std::str::from_utf8(bytes).is_ok();
    for name in declared {
        let Some(encoding) = Encoding::for_label(name.trim().as_bytes()) else {
            continue;
        };
        if is_plausible(encoding, bytes, valid_utf8) {
            return decode_in(encoding, bytes);
        }
    }
    decode_in(detect(bytes, valid_utf8), bytes)
}

/// Whether a declared encoding can be correct. Two kinds of wrong declaration are common: pages
/// that declare UTF-8 but are not, and UTF-8 pages that keep the server's Latin default.
fn is_plausible(encoding: &'static Encoding, bytes: &[u8], valid_utf8: bool) -> bool {
    if encoding == UTF_8 {
        return valid_utf8
            || detect(bytes, false) == encoding_rs::WINDOWS_1252 && mostly_utf8(bytes);
    }
    if encoding == UTF_16LE || encoding == UTF_16BE {
        // A declaration that was read as ASCII proves that the bytes are not UTF-16.
        return utf16_without_mark(bytes) == Some(encoding);
    }
    // ISO-2022-JP is ASCII with escapes; text in other encodings is not valid UTF-8.
    let needs_ascii = valid_utf8 || encoding == ISO_2022_JP;
    !needs_ascii || bytes.is_ascii()
}

/// Whether the bytes are UTF-8 except for a few damaged places.
fn mostly_utf8(bytes: &[u8]) -> bool {
    let window = &bytes[..bytes.len().min(DETECTION_WINDOW)];
    let text = String::from_utf8_lossy(window);
    let (mut good, mut bad) = (0usize, 0usize);
    for c in text.chars().filter(|c| !c.is_ascii()) {
        if c == char::REPLACEMENT_CHARACTER {
            bad += 1;
        } else {
            good += 1;
        }
    }
    good > bad * 4
}

fn detect(bytes: &[u8], valid_utf8: bool) -> &'static Encoding {
    if let Some(encoding) = utf16_without_mark(bytes) {
        return encoding;
    }
    let window = &bytes[..bytes.len().min(DETECTION_WINDOW)];
    let escapes: [&[u8]; 3] = [b"\x1b$B", b"\x1b$@", b"\x1b(J"];
    if window.is_ascii() && escapes.iter().any(|e| contains(window, e)) {
        return ISO_2022_JP;
    }
    if valid_utf8 {
        return UTF_8;
    }
    let best = [SHIFT_JIS, EUC_JP]
        .into_iter()
        .map(|encoding| (japanese_share(encoding, window), encoding))
        .max_by_key(|(share, _)| *share);
    match best {
        Some((share, encoding)) if share >= 20 => encoding,
        _ if mostly_utf8(bytes) => UTF_8,
        _ => guess(window),
    }
}

/// The guess of Firefox's detector. For an English text with a few typographic characters it
/// returns the first entry of its tables, so bytes with few non-ASCII characters stay windows-1252.
fn guess(window: &[u8]) -> &'static Encoding {
    let foreign = window.iter().filter(|byte| !byte.is_ascii()).count();
    if foreign * 20 < window.len() {
        return encoding_rs::WINDOWS_1252;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(window, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Detects UTF-16 text, in which every other byte of the ASCII part is zero.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let window = &bytes[..bytes.len().min(1024)];
    if window.len() < 8 {
        return None;
    }
    let zeros = |start: usize| {
        window
            .iter()
            .skip(start)
            .step_by(2)
            .filter(|b| **b == 0)
            .count()
    };
    let (even, odd, pairs) = (zeros(0), zeros(1), window.len() / 2);
    if odd * 10 >= pairs * 4 && even * 20 <= pairs {
        Some(UTF_16LE)
    } else if even * 10 >= pairs * 4 && odd * 20 <= pairs {
        Some(UTF_16BE)
    } else {
        None
    }
}

/// Percentage of the non-ASCII characters that are kana or Japanese punctuation. Every Japanese
/// text has many of these and wrongly decoded text has hardly any; 0 for damaged text.
fn japanese_share(encoding: &'static Encoding, window: &[u8]) -> usize {
    let (text, _, _) = encoding.decode(window);
    let (mut all, mut kana, mut bad) = (0usize, 0usize, 0usize);
    for c in text.chars().filter(|c| !c.is_ascii()) {
        all += 1;
        match c {
            '\u{3041}'..='\u{30ff}' | '、' | '。' => kana += 1,
            char::REPLACEMENT_CHARACTER => bad += 1,
            _ => {}
        }
    }
    // A cut at the end of the window leaves one invalid sequence.
    if all < 4 || bad > 1 + all / 50 {
        0
    } else {
        kana * 100 / all
    }
}

fn decode_in(encoding: &'static Encoding, bytes: &[u8]) -> Decoded {
    let (text, damaged) = encoding.decode_without_bom_handling(bytes);
    Decoded {
        text: clean(&text),
        encoding: encoding.name(),
        damaged,
    }
}

/// Drops control characters that do not occur in text, and normalises line ends to `
/// `.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' | '\u{c}' => out.push(c),
            '\u{feff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// The charset in an HTTP content type, such as `text/html; charset=Shift_JIS`.
pub(crate) fn charset_of_content_type(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches(['"', '\'']))
    })
}

/// The charset that an HTML page (`<meta charset>`) or an XML declaration names.
pub(crate) fn charset_in_markup(bytes: &[u8]) -> Option<&str> {
    static DECLARED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r#"(?i)(?-u:<meta[^>]{0,200}charset\s*=\s*["']?\s*([a-z0-9_.:-]+)|^\s*<\?xml[^>]{0,100}encoding\s*=\s*["']([a-z0-9_.:-]+))"#,
        )
        .expect("the pattern is a constant")
    });
    let window = &bytes[..bytes.len().min(DECLARATION_WINDOW)];
    let found = DECLARED.captures(window)?;
    std::str::from_utf8(found.get(1).or_else(|| found.get(2))?.as_bytes()).ok()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const JAPANESE: &str = "血糖値は、朝食の前に測ります。インスリンの量はその値で決めます。";

    const CHINESE: &str = "药物增加了老年人跌倒的风险，这是本试验的主要发现。";
    const FRENCH: &str =
        "L'été où l'élève âgé déjà préféré a été relevé à côté, près de l'hôpital.";

    fn encode(encoding: &'static Encoding, text: &str) -> Vec<u8> {
        encoding.encode(text).0.into_owned()
    }

    #[test]
    fn bytes_become_the_characters_that_were_meant() {
        let utf16: Vec<u8> = "Plain words"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let utf16_marked: Vec<u8> = [0xfe, 0xff]
            .into_iter()
            .chain(JAPANESE.encode_utf16().flat_map(u16::to_be_bytes))
            .collect();
        let marked: Vec<u8> = b"\xef\xbb\xbf"
            .iter()
            .copied()
            .chain(JAPANESE.bytes())
            .collect();
        type Case<'a> = (&'a str, Vec<u8>, &'a [&'a str], &'a str, &'a str);
        let cases: &[Case<'_>] = &[
            ("UTF-8", JAPANESE.into(), &[], "UTF-8", JAPANESE),
            (
                "UTF-8 under a name of seven bits",
                JAPANESE.into(),
                &["iso-2022-jp"],
                "UTF-8",
                JAPANESE,
            ),
            (
                "UTF-8 with a mark",
                marked,
                &["shift_jis"],
                "UTF-8",
                JAPANESE,
            ),
            (
                "UTF-16 without a mark",
                utf16,
                &[],
                "UTF-16LE",
                "Plain words",
            ),
            (
                "UTF-16 with a mark",
                utf16_marked,
                &[],
                "UTF-16BE",
                JAPANESE,
            ),
            (
                "Shift_JIS, silent",
                encode(SHIFT_JIS, JAPANESE),
                &[],
                "Shift_JIS",
                JAPANESE,
            ),
            (
                "Shift_JIS, declared",
                encode(SHIFT_JIS, "値"),
                &["x-sjis"],
                "Shift_JIS",
                "値",
            ),
            (
                "Shift_JIS that says UTF-8",
                encode(SHIFT_JIS, JAPANESE),
                &["utf-8"],
                "Shift_JIS",
                JAPANESE,
            ),
            (
                "EUC-JP, silent",
                encode(EUC_JP, JAPANESE),
                &[],
                "EUC-JP",
                JAPANESE,
            ),
            (
                "ISO-2022-JP, silent",
                encode(ISO_2022_JP, JAPANESE),
                &[],
                "ISO-2022-JP",
                JAPANESE,
            ),
            (
                "windows-1252",
                b"na\xefve caf\xe9 \x96 \x93quoted\x94".to_vec(),
                &[],
                "windows-1252",
                "naïve café – “quoted”",
            ),
            (
                "windows-1252 that says UTF-8",
                b"caf\xe9 M\xfcller".to_vec(),
                &["utf-8"],
                "windows-1252",
                "café Müller",
            ),
            (
                "GBK, silent",
                encode(encoding_rs::GBK, CHINESE),
                &[],
                "GBK",
                CHINESE,
            ),
            (
                "GBK, declared by its older name",
                encode(encoding_rs::GBK, "药物"),
                &["gb2312"],
                "GBK",
                "药物",
            ),
            (
                "windows-1252, a dense text",
                encode(encoding_rs::WINDOWS_1252, FRENCH),
                &[],
                "windows-1252",
                FRENCH,
            ),
            (
                "UTF-8 that says Latin 1",
                "café".into(),
                &["iso-8859-1"],
                "UTF-8",
                "café",
            ),
            (
                "unknown name",
                "café".into(),
                &["no-such-charset"],
                "UTF-8",
                "café",
            ),
            (
                "line ends and controls",
                b"a\r\nb\rc\x00\x07d".to_vec(),
                &[],
                "UTF-8",
                "a\nb\ncd",
            ),
        ];
        for (name, bytes, declared, encoding, text) in cases {
            let got = decode(bytes, declared);
            assert_eq!(
                (got.encoding, got.text.as_str()),
                (*encoding, *text),
                "{name}"
            );
            assert!(!got.damaged, "{name}");
        }
    }

    #[test]
    fn a_damaged_place_does_not_change_the_encoding_of_the_rest() {
        let mut bytes = JAPANESE.repeat(20).into_bytes();
        bytes[90] = 0xff;
        let got = decode(&bytes, &[]);
        assert_eq!(got.encoding, "UTF-8");
        assert!(got.damaged);
        let mut bytes = encode(SHIFT_JIS, &JAPANESE.repeat(3));
        bytes.pop();
        assert_eq!(decode(&bytes, &[]).encoding, "Shift_JIS");
    }

    #[test]
    fn declarations_are_found() {
        assert_eq!(
            charset_of_content_type("text/html; Charset=\"EUC-JP\""),
            Some("EUC-JP")
        );
        assert_eq!(charset_of_content_type("text/html"), None);
        assert_eq!(
            charset_in_markup(b"<head><META CHARSET=shift_jis>"),
            Some("shift_jis")
        );
        assert_eq!(
            charset_in_markup(
                b"<meta http-equiv='Content-Type' content='text/html; charset=utf-8'>"
            ),
            Some("utf-8")
        );
        assert_eq!(
            charset_in_markup(b"<?xml version='1.0' encoding='ISO-8859-1'?>"),
            Some("ISO-8859-1")
        );
        assert_eq!(charset_in_markup(b"<p>charset=none</p>"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_decode(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let got = decode(&bytes, &["utf-8", "shift_jis"]);
            prop_assert!(!got.text.contains('\0'));
            charset_in_markup(&bytes);
        }
    }
}
