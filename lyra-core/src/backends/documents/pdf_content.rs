//! What a PDF page draws, cut down to its text before the library that reads it sees it.
//!
//! That library takes every operator into memory, keeps every path until it is painted, copies its
//! state at every `q`, and follows forms for as long as they name each other. So the content of a
//! page is scanned first, in one pass, and only what moves or shows text is kept: a fraction of
//! most pages. Forms are resolved here, so that none draws itself and all of them together are
//! bounded.

use pdf_extract::{Dictionary, Document, Object, ObjectId};
use std::collections::HashMap;

/// The operators that move or show text.
const KEPT: &[&[u8]] = &[
    b"BT", b"ET", b"Tc", b"Tw", b"Tz", b"TL", b"Tf", b"Tr", b"Ts", b"Td", b"TD", b"Tm", b"T*",
    b"Tj", b"TJ", b"'", b"\"", b"cm", b"q", b"Q", b"Do",
];

/// Most bytes that the contents of one page unpack to.
const MOST_OF_PAGE: usize = 32 * 1024 * 1024;

/// Most bytes that the contents of all pages and forms together unpack to.
const MOST_OF_ALL: usize = 512 * 1024 * 1024;

/// Most operands and operators that are kept of a page or a form.
const MOST_TOKENS: usize = 400_000;

/// Most operands and operators of a page with everything that its forms draw.
const MOST_DRAWN: usize = 2_000_000;

/// Most bytes that are kept of all forms, which stay in memory.
const MOST_OF_FORMS: usize = 32 * 1024 * 1024;

/// Most bytes of the operands of one operator.
const MOST_OPERANDS: usize = 512 * 1024;

/// Saved states inside one another beyond this are not saved.
const MOST_SAVED: usize = 256;

/// Forms inside one another beyond this are not drawn.
const MOST_NESTED: usize = 16;

/// How far a page looks up for what it does not say itself.
const MOST_PARENTS: usize = 64;

/// The contents of one file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Bytes that were unpacked so far.
    unpacked: usize,
    /// Bytes of forms that were kept so far.
    kept_of_forms: usize,
    /// What a form draws with all that is in it; none while that is being found out, and for what
    /// is not drawn.
    forms: HashMap<ObjectId, Option<usize>>,
    /// Whether anything was left out that may have been text.
    pub(super) cut: bool,
}

impl Contents {
    /// Puts the text alone in the place of what a page draws; answers with the page as it was.
    pub(super) fn lighten(&mut self, file: &mut Document, page: ObjectId) -> Option<Object> {
        let whole = file.objects.get(&page)?.clone();
        let mut light = whole.as_dict().ok()?.clone();
        // The library looks up without an end where a page is its own ancestor.
        for key in [b"Resources".as_slice(), b"MediaBox"] {
            match inherited(file, &light, key) {
                Some(value) => light.set(key, value),
                None => drop(light.remove(key)),
            }
        }
        light.remove(b"Parent");
        let resources = match light.get(b"Resources") {
            Ok(Object::Reference(id)) => *id,
            _ => {
                let direct = light.remove(b"Resources");
                file.add_object(direct.unwrap_or_else(|| Dictionary::new().into()))
            }
        };
        light.set("Resources", Object::Reference(resources));
        let mut content = Vec::new();
        for stream in file.get_page_contents(page) {
            if content.len() >= MOST_OF_PAGE {
                self.cut = true;
                break;
            }
            content.extend(self.unpack(file, stream).unwrap_or_default());
            content.push(b'\n');
        }
        let (text, _) = self.text_of(file, &content, resources, 0);
        let content = file.add_object(pdf_extract::Stream::new(Dictionary::new(), text));
        light.set("Contents", Object::Reference(content));
        file.objects.insert(page, Object::Dictionary(light));
        Some(whole)
    }

    /// Takes back what [`lighten`](Self::lighten) did, and the memory with it.
    pub(super) fn restore(file: &mut Document, page: ObjectId, whole: Object) {
        let content = file.objects.insert(page, whole);
        let content = content.as_ref().and_then(|page| page.as_dict().ok());
        if let Some(Ok(Object::Reference(id))) = content.map(|page| page.get(b"Contents")) {
            file.objects.remove(id);
        }
    }

    fn unpack(&mut self, file: &Document, id: ObjectId) -> Option<Vec<u8>> {
        let stream = file.get_object(id).ok()?.as_stream().ok()?;
        if self.unpacked > MOST_OF_ALL {
            self.cut = true;
            return None;
        }
        let unpacked = stream
            .decompressed_content()
            .unwrap_or_else(|_| stream.content.clone());
        self.unpacked += unpacked.len();
        Some(unpacked)
    }

    /// The text of a content, and how much it draws with its forms.
    fn text_of(
        &mut self,
        file: &mut Document,
        content: &[u8],
        resources: ObjectId,
        depth: usize,
    ) -> (Vec<u8>, usize) {
        let mut kept = Kept::default();
        let mut scan = Scan::new(content);
        let mut drawn_by_forms = 0;
        let mut known: HashMap<Vec<u8>, Option<usize>> = HashMap::new();
        while let Some(operator) = scan.next_operator() {
            if operator != b"Do" {
                kept.take(operator, &scan);
            } else if let Some(name) = scan
                .operands
                .last()
                .map(|name| decoded(&content[name.clone()]))
            {
                let draws = *known
                    .entry(name)
                    .or_insert_with_key(|name| self.form(file, name, resources, depth + 1));
                let room = MOST_DRAWN.saturating_sub(drawn_by_forms + kept.tokens);
                if let Some(draws) = draws.filter(|draws| *draws <= room) {
                    drawn_by_forms += draws;
                    kept.take(operator, &scan);
                }
            }
        }
        self.cut |= kept.cut || scan.cut;
        (kept.bytes, kept.tokens + drawn_by_forms)
    }

    /// What a form draws, if it is one and may be drawn. It holds its text alone afterwards.
    fn form(
        &mut self,
        file: &mut Document,
        name: &[u8],
        resources: ObjectId,
        depth: usize,
    ) -> Option<usize> {
        let id = xobject(file, resources, name)?;
        if let Some(known) = self.forms.get(&id) {
            // None where a form is inside itself.
            return *known;
        }
        if depth > MOST_NESTED || self.kept_of_forms > MOST_OF_FORMS {
            self.cut = true;
            return None;
        }
        self.forms.insert(id, None);
        let stream = file.get_object(id).ok()?.as_stream().ok()?;
        if stream.dict.get(b"Subtype").and_then(Object::as_name).ok() == Some(b"Image") {
            return None;
        }
        let own = match stream.dict.get(b"Resources") {
            Ok(Object::Reference(own)) if file.get_dictionary(*own).is_ok() => Some(*own),
            Ok(Object::Dictionary(direct)) => {
                let direct = direct.clone();
                Some(file.add_object(direct))
            }
            // What a form lacks it finds where it is drawn.
            _ => None,
        };
        let own = own.unwrap_or(resources);
        let content = self.unpack(file, id)?;
        let (text, draws) = self.text_of(file, &content, own, depth);
        self.kept_of_forms += text.len();
        let stream = file.get_object_mut(id).ok()?.as_stream_mut().ok()?;
        stream.dict.remove(b"Filter");
        stream.dict.remove(b"DecodeParms");
        stream.dict.set("Resources", Object::Reference(own));
        stream.set_content(text);
        self.forms.insert(id, Some(draws));
        Some(draws)
    }
}

/// The object behind a name in the resources.
fn xobject(file: &Document, resources: ObjectId, name: &[u8]) -> Option<ObjectId> {
    let resources = file.get_dictionary(resources).ok()?;
    let (_, forms) = file.dereference(resources.get(b"XObject").ok()?).ok()?;
    let (id, _) = file
        .dereference(forms.as_dict().ok()?.get(name).ok()?)
        .ok()?;
    id
}

/// What a page or its nearest ancestor that says so has under a key.
fn inherited(file: &Document, page: &Dictionary, key: &[u8]) -> Option<Object> {
    let mut node = page;
    for _ in 0..MOST_PARENTS {
        if let Ok(value) = node.get(key) {
            let is_sound = match file.dereference(value) {
                Ok((_, Object::Dictionary(_))) => key == b"Resources",
                Ok((_, Object::Array(_))) => key == b"MediaBox",
                _ => false,
            };
            if is_sound {
                return Some(value.clone());
            }
        }
        let parent = node.get(b"Parent").and_then(Object::as_reference).ok()?;
        node = file.get_dictionary(parent).ok()?;
    }
    None
}

/// A name without its slash, `#41` read as `A`.
fn decoded(name: &[u8]) -> Vec<u8> {
    let name = name.strip_prefix(b"/").unwrap_or(name);
    let mut out = Vec::with_capacity(name.len());
    let mut at = 0;
    while let Some(byte) = name.get(at) {
        let code = name.get(at + 1..at + 3).filter(|_| *byte == b'#');
        let code = code.and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    out
}

/// The operators that were kept, with their operands.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    tokens: usize,
    saved: usize,
    /// States that were not saved, and that are not restored.
    over: usize,
    cut: bool,
}

impl Kept {
    fn take(&mut self, operator: &[u8], scan: &Scan<'_>) {
        if !KEPT.contains(&operator) || !self.may_be_nested(operator) {
            return;
        }
        let tokens = scan.operands.len() + 1;
        if self.tokens + tokens > MOST_TOKENS {
            self.cut = true;
            return;
        }
        self.tokens += tokens;
        for operand in &scan.operands {
            self.bytes.extend(&scan.content[operand.clone()]);
            self.bytes.push(b' ');
        }
        self.bytes.extend(operator);
        self.bytes.push(b'\n');
    }

    fn may_be_nested(&mut self, operator: &[u8]) -> bool {
        match operator {
            b"q" if self.saved == MOST_SAVED => self.over += 1,
            b"q" => {
                self.saved += 1;
                return true;
            }
            b"Q" if self.over > 0 => self.over -= 1,
            b"Q" if self.saved > 0 => {
                self.saved -= 1;
                return true;
            }
            b"Q" => {}
            _ => return true,
        }
        false
    }
}

/// A pass over a content.
struct Scan<'a> {
    content: &'a [u8],
    at: usize,
    /// The operands of the operator that was found last.
    operands: Vec<std::ops::Range<usize>>,
    /// Brackets that are open.
    open: usize,
    cut: bool,
}

impl<'a> Scan<'a> {
    fn new(content: &'a [u8]) -> Self {
        Self {
            content,
            at: 0,
            operands: Vec::new(),
            open: 0,
            cut: false,
        }
    }

    /// Goes on to the next operator outside of brackets.
    fn next_operator(&mut self) -> Option<&'a [u8]> {
        self.forget();
        while let Some(first) = self.content.get(self.at) {
            let start = self.at;
            match first {
                b'%' => self.skip(|b| !matches!(b, b'\r' | b'\n')),
                b'(' => self.string(),
                b'<' if self.content.get(start + 1) == Some(&b'<') => self.bracket(2, true),
                b'>' if self.content.get(start + 1) == Some(&b'>') => self.bracket(2, false),
                b'[' => self.bracket(1, true),
                b']' => self.bracket(1, false),
                b'<' => {
                    self.skip(|b| *b != b'>');
                    self.at = (self.at + 1).min(self.content.len());
                    self.operand(start);
                }
                b'/' => {
                    self.at += 1;
                    self.skip(is_regular);
                    self.operand(start);
                }
                b'0'..=b'9' | b'+' | b'-' | b'.' => {
                    self.skip(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.'));
                    self.operand(start);
                }
                first if is_letter(first) => {
                    self.skip(is_letter);
                    let word = &self.content[start..self.at];
                    match word {
                        b"true" | b"false" | b"null" => self.operand(start),
                        b"BI" => self.inline_image(),
                        // A bracket that is not closed, or too much to be an operand.
                        _ if self.open > 0 || self.cut_operands() => self.forget(),
                        _ => return Some(word),
                    }
                }
                _ => self.at += 1,
            }
        }
        None
    }

    fn forget(&mut self) {
        self.operands.clear();
        self.open = 0;
    }

    fn cut_operands(&mut self) -> bool {
        let length = |range: &std::ops::Range<usize>| range.len();
        let is_long = self.operands.iter().map(length).sum::<usize>() > MOST_OPERANDS;
        self.cut |= is_long;
        is_long
    }

    fn operand(&mut self, start: usize) {
        if self.operands.len() <= MOST_TOKENS {
            self.operands.push(start..self.at);
        }
    }

    fn skip(&mut self, is_part: impl Fn(&u8) -> bool) {
        let rest = &self.content[self.at..];
        let length = rest.iter().position(|b| !is_part(b));
        self.at += length.unwrap_or(rest.len());
    }

    fn bracket(&mut self, length: usize, opens: bool) {
        let start = self.at;
        self.at += length;
        match (opens, self.open) {
            (true, _) => self.open += 1,
            (false, 0) => return,
            (false, _) => self.open -= 1,
        }
        self.operand(start);
    }

    fn string(&mut self) {
        let (start, mut depth) = (self.at, 0);
        while let Some(byte) = self.content.get(self.at) {
            self.at += 1;
            match byte {
                b'\\' => self.at = (self.at + 1).min(self.content.len()),
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.operand(start);
                return;
            }
        }
    }

    /// Goes behind `EI`; a picture has no text.
    fn inline_image(&mut self) {
        self.forget();
        let rest = &self.content[self.at..];
        let Some(data) = rest.windows(2).position(|w| w == b"ID") else {
            return;
        };
        let data = self.at + data + 2;
        let ends = |w: &[u8]| {
            w[0].is_ascii_whitespace()
                && &w[1..3] == b"EI"
                && w.get(3).is_none_or(|b| !is_regular(b))
        };
        let end = self.content[data..].windows(4).position(ends);
        self.at = end.map_or(self.content.len(), |end| data + end + 3);
    }
}

fn is_letter(byte: &u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'*' | b'\'' | b'"')
}

fn is_regular(byte: &u8) -> bool {
    !byte.is_ascii_whitespace() && *byte != 0 && !b"()<>[]{}/%".contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(content: &[u8]) -> String {
        let mut kept = Kept::default();
        let mut scan = Scan::new(content);
        while let Some(operator) = scan.next_operator() {
            kept.take(operator, &scan);
        }
        String::from_utf8(kept.bytes).unwrap().replace('\n', ";")
    }

    #[test]
    fn what_moves_and_shows_text_is_kept() {
        for (content, want) in [
            (
                "q 1 0 0 1 5 5cm BT/F1 12 Tf(a)Tj ET Q",
                "q;1 0 0 1 5 5 cm;BT;/F1 12 Tf;(a) Tj;ET;Q;",
            ),
            ("0 0 m 5 5 l S 1 0 0 rg /CS0 cs W n", ""),
            ("[(a\\)(b)) -20 <0041>] TJ", "[ (a\\)(b)) -20 <0041> ] TJ;"),
            ("/P <</MCID 0 /X [1 2]>> BDC (x) ' EMC", "(x) ';"),
            ("BI /W 1 /H 1 ID \x01(EI EI Q Q q", "q;"),
            ("% (a) Tj\n(b) Tj", "(b) Tj;"),
            ("[(a) Tj (b) Tj", "(b) Tj;"),
            ("] >> (a Tj", ""),
            ("T* (a)\" \x00\x07{} q", "T*;(a) \";q;"),
        ] {
            assert_eq!(kept(content.as_bytes()), want, "{content}");
        }
    }

    #[test]
    fn states_are_saved_to_a_depth() {
        let content = format!(
            "{}(a) Tj {}(b) Tj",
            "q ".repeat(100_000),
            "Q ".repeat(100_001)
        );
        let got = kept(content.as_bytes());
        let count = |operator: &str| got.matches(operator).count();
        assert_eq!((count("q;"), count("Q;")), (MOST_SAVED, MOST_SAVED));
        assert!(got.ends_with("Q;(b) Tj;"));
    }
}
