//! The text and the widths of the character codes of a PDF font.

use super::limits::{decoded, is_bounded};
use hayro_cmap::{BfString, CMap, CMapName, CidFamily, load_embedded};
use hayro_font::{
    CMapResolverFn, Font, FontCache, FontData, FontGlyph, FontQuery, FontResolverFn, GlyphId,
    StandardFont,
};
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{Array, Dict, Name, Object, Stream, String as PdfString};
use skrifa::{FontRef, MetadataProvider};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Maximum number of characters of a font that have a width.
const MOST_WIDTHS: u64 = 1_000_000;

/// Keys under which a font program may be embedded.
const FILES: &[&[u8]] = &[keys::FONT_FILE, keys::FONT_FILE2, keys::FONT_FILE3];

/// Lengths in a font are given in thousandths of its size.
const UNIT: f64 = 1000.0;

/// What one character code shows.
#[derive(Debug, Clone)]
pub(super) struct ShownGlyph {
    /// Empty if unknown.
    pub(super) text: Rc<str>,
    /// Displacement to the next character, in font sizes: to the right, and upwards.
    pub(super) advance: (f64, f64),
}

/// A font of a page.
pub(super) struct Face<'a> {
    font: Font<'a>,
    composite: Option<Composite>,
    /// What the codes mean, if the library rejects the font's own map.
    mended: Option<CMap>,
    /// Height of the characters in font sizes: a Type 3 font may use any unit.
    pub(super) height: f64,
    codes: HashMap<u32, ShownGlyph>,
}

impl Face<'_> {
    /// The code at `at`, its length in bytes, and what it shows.
    pub(super) fn next(&mut self, bytes: &[u8], at: usize) -> (u32, usize, ShownGlyph) {
        let (code, length) = self.font.read_code(bytes, at);
        let (font, composite, mended) = (&self.font, &self.composite, &self.mended);
        let shown = self
            .codes
            .entry(code)
            .or_insert_with(|| show(font, composite.as_ref(), mended.as_ref(), code));
        (code, length.max(1), shown.clone())
    }

    /// Whether lines run from left to right or from top to bottom.
    pub(super) fn is_horizontal(&self) -> bool {
        self.font.is_horizontal()
    }
}

fn show(
    font: &Font<'_>,
    composite: Option<&Composite>,
    mended: Option<&CMap>,
    code: u32,
) -> ShownGlyph {
    let glyph = font.map_code(code);
    let known = match font.glyph(glyph, code) {
        FontGlyph::Outline(outline) => outline.as_unicode(),
        FontGlyph::Type3(drawn) => drawn.as_unicode(),
    };
    let known = mended.and_then(|map| map.lookup_bf_string(code)).or(known);
    let text = known.map(text_of).filter(|text| is_telling(text));
    let text = text.or_else(|| match composite {
        Some(composite) => composite.text(glyph, code),
        None => usual_text(code).map(String::from),
    });
    let advance = font.code_advance(code);
    ShownGlyph {
        text: text.unwrap_or_default().into(),
        advance: (advance.x / UNIT, advance.y / UNIT),
    }
}

/// The likely text of a code in a font whose encoding names no characters: mostly ASCII and
/// Latin-1, and the ligatures of the two TeX encodings.
fn usual_text(code: u32) -> Option<char> {
    let c = char::from_u32(code)?;
    match c {
        '\u{b}'..='\u{f}' => char::from_u32(0xfb00 + code - 0xb),
        '\u{1b}'..='\u{1f}' => char::from_u32(0xfb00 + code - 0x1b),
        '!'..='~' | '\u{c0}'..='\u{ff}' => Some(c),
        _ => None,
    }
}

fn text_of(text: BfString) -> String {
    match text {
        BfString::Char(c) => c.to_string(),
        BfString::String(text) => text,
    }
}

/// Maps often use the private use area, NUL or the replacement character for unknown codes.
fn is_telling(text: &str) -> bool {
    text.chars()
        .any(|c| !matches!(c, '\0' | '\u{fffd}' | '\u{e000}'..='\u{f8ff}'))
}

/// How the codes of a composite font are read if it has no map to text.
struct Composite {
    /// From codes to the CIDs of a character collection, and from these to text.
    collection: Option<(CMap, CMap)>,
    /// From the glyphs of the embedded font to text.
    glyphs: HashMap<GlyphId, char>,
    /// Whether the codes are character codes.
    is_plain: bool,
    /// Whether the font is neither embedded nor described in the file.
    is_absent: bool,
}

impl Composite {
    fn text(&self, glyph: GlyphId, code: u32) -> Option<String> {
        if self.is_plain {
            return char::from_u32(code).map(String::from);
        }
        let named = self.collection.as_ref().and_then(|(encoding, names)| {
            let cid = (1..=4).find_map(|length| encoding.lookup_cid_code(code, length))?;
            names.lookup_bf_string(cid).map(text_of)
        });
        let own = || self.glyphs.get(&glyph).copied();
        // The fonts of most systems number their first glyphs in the same way.
        let usual =
            || char::from_u32(code + 29).filter(|c| self.is_absent && matches!(c, ' '..='~'));
        named.or_else(|| own().or_else(usual).map(String::from))
    }

    fn of(dict: &Dict<'_>, font: &Font<'_>, cmaps: &CMapResolverFn) -> Self {
        let descriptor = descendant(dict).and_then(|inner| inner.get::<Dict<'_>>(keys::FONT_DESC));
        let is_there = |file: &&[u8]| descriptor.as_ref().is_some_and(|d| d.contains_key(file));
        Self {
            collection: collection(dict, cmaps),
            glyphs: characters_of_glyphs(font),
            is_plain: dict.get::<Name<'_>>(keys::TO_UNICODE).is_some(),
            is_absent: !dict.contains_key(keys::TO_UNICODE) && !FILES.iter().any(is_there),
        }
    }
}

/// The map from codes to the CIDs of a character collection by Adobe, and from these to text.
fn collection(dict: &Dict<'_>, cmaps: &CMapResolverFn) -> Option<(CMap, CMap)> {
    let named = |name: CMapName<'_>| {
        let inner = Arc::clone(cmaps);
        CMap::parse(cmaps(name)?, move |name| inner(name))
    };
    let encoding = match dict.get::<Object<'_>>(keys::ENCODING)? {
        Object::Name(name) => match CMapName::from_bytes(name.as_ref()) {
            CMapName::IdentityH | CMapName::IdentityV => CMap::identity_h(),
            other => named(other)?,
        },
        Object::Stream(stream) => {
            let inner = Arc::clone(cmaps);
            CMap::parse(&decoded(&stream)?, move |name| inner(name))?
        }
        _ => return None,
    };
    let info = descendant(dict)?.get::<Dict<'_>>(keys::CIDSYSTEMINFO)?;
    let part = |key: &[u8]| info.get::<PdfString<'_>>(key);
    let (registry, ordering) = (part(keys::REGISTRY)?, part(keys::ORDERING)?);
    let family = CidFamily::from_registry_ordering(registry.as_bytes(), ordering.as_bytes());
    Some((encoding, named(family.ucs2_cmap()?)?))
}

/// The text of the glyphs of an embedded font, by the font's own character map.
fn characters_of_glyphs(font: &Font<'_>) -> HashMap<GlyphId, char> {
    let FontGlyph::Outline(any) = font.glyph(GlyphId::NOTDEF, 0) else {
        return HashMap::new();
    };
    let Some(data) = any.font_data() else {
        return HashMap::new();
    };
    let Ok(file) = FontRef::new((*data.data).as_ref()) else {
        return HashMap::new();
    };
    let known = file.charmap().mappings().filter_map(|(code, glyph)| {
        let c = char::from_u32(code).filter(|c| is_telling(c.encode_utf8(&mut [0; 4])))?;
        Some((GlyphId::new(glyph.to_u32()), c))
    });
    let mut out = HashMap::new();
    for (glyph, c) in known {
        out.entry(glyph).or_insert(c);
    }
    out
}

fn descendant<'a>(dict: &Dict<'a>) -> Option<Dict<'a>> {
    dict.get::<Array<'a>>(keys::DESCENDANT_FONTS)?
        .iter::<Dict<'a>>()
        .next()
}

/// The fonts of a file, each read once.
pub(super) struct Fonts<'a> {
    cache: FontCache<'a>,
    programs: FontResolverFn,
    cmaps: CMapResolverFn,
    /// Keyed by the offset of their dictionaries.
    faces: HashMap<usize, Rc<RefCell<Face<'a>>>>,
    fallback: Option<Rc<RefCell<Face<'a>>>>,
}

impl Default for Fonts<'_> {
    fn default() -> Self {
        let data = |font: StandardFont| -> (FontData, u32) { font.get_font_data() };
        Self {
            cache: FontCache::new(),
            programs: Arc::new(move |query| {
                Some(match query {
                    FontQuery::Standard(font) => data(*font),
                    FontQuery::Fallback(font) => data(font.pick_standard_font()),
                })
            }),
            cmaps: Arc::new(load_embedded),
            faces: HashMap::new(),
            fallback: None,
        }
    }
}

impl<'a> Fonts<'a> {
    /// The font of a dictionary; one of the standard fonts if it cannot be read.
    pub(super) fn face(&mut self, dict: &Dict<'a>) -> Option<Rc<RefCell<Face<'a>>>> {
        let key = dict.data().as_ptr().addr();
        if let Some(face) = self.faces.get(&key) {
            return Some(Rc::clone(face));
        }
        let face = match self.read(dict) {
            Some(face) => Rc::new(RefCell::new(face)),
            None => self.fallback()?,
        };
        self.faces.insert(key, Rc::clone(&face));
        Some(face)
    }

    /// The font for text that names none.
    pub(super) fn fallback(&mut self) -> Option<Rc<RefCell<Face<'a>>>> {
        if self.fallback.is_none() {
            let font = self
                .cache
                .standard_font(StandardFont::Helvetica, &self.programs)?;
            let face = Face {
                font,
                composite: None,
                mended: None,
                height: 1.0,
                codes: HashMap::new(),
            };
            self.fallback = Some(Rc::new(RefCell::new(face)));
        }
        self.fallback.clone()
    }

    fn read(&self, dict: &Dict<'a>) -> Option<Face<'a>> {
        if !is_sane(dict) {
            return None;
        }
        let font = self.cache.font(dict, &self.programs, &self.cmaps)?;
        let is_composite = dict.contains_key(keys::DESCENDANT_FONTS);
        let composite = is_composite.then(|| Composite::of(dict, &font, &self.cmaps));
        let height = height_of(dict, &font);
        Some(Face {
            font,
            composite,
            mended: mended(dict, &self.cmaps),
            height,
            codes: HashMap::new(),
        })
    }
}

/// The map from codes to text, if the library rejects it because a code has no text: such a code
/// becomes a zero-width space here.
fn mended(dict: &Dict<'_>, cmaps: &CMapResolverFn) -> Option<CMap> {
    let parsed = |map: &[u8]| {
        let inner = Arc::clone(cmaps);
        CMap::parse(map, move |name| inner(name))
    };
    let map = decoded(&dict.get::<Stream<'_>>(keys::TO_UNICODE)?)?;
    let is_empty = |at: &usize| map[*at..].starts_with(b"<>");
    let first = (0..map.len()).find(is_empty)?;
    if parsed(&map).is_some() {
        return None;
    }
    let mut whole = map[..first].to_vec();
    for (at, byte) in map.iter().enumerate().skip(first) {
        whole.push(*byte);
        if is_empty(&at) {
            whole.extend(b"200B");
        }
    }
    parsed(&whole)
}

/// The height of a font's characters in font sizes. Type 3 fonts define their own units.
fn height_of(dict: &Dict<'_>, font: &Font<'_>) -> f64 {
    let FontGlyph::Type3(any) = font.glyph(GlyphId::NOTDEF, 0) else {
        return 1.0;
    };
    let scale = any.font().matrix().as_coeffs()[3].abs();
    let box_height = dict
        .get::<[f64; 4]>(keys::FONT_BBOX)
        .map_or(0.0, |b| (b[3] - b[1]).abs());
    let height = scale * box_height;
    if height > 0.0 && height.is_finite() {
        height
    } else {
        1000.0 * scale
    }
}

/// Whether the cost of reading a font is acceptable.
fn is_sane(dict: &Dict<'_>) -> bool {
    let streams = |dict: &Dict<'_>, names: &[&[u8]]| {
        names.iter().all(|name| {
            dict.get::<Stream<'_>>(name)
                .is_none_or(|stream| is_bounded(&stream))
        })
    };
    let descriptor = |dict: &Dict<'_>| {
        dict.get::<Dict<'_>>(keys::FONT_DESC)
            .is_none_or(|d| streams(&d, FILES))
    };
    streams(dict, &[keys::TO_UNICODE, keys::ENCODING])
        && descriptor(dict)
        && descendant(dict).is_none_or(|inner| {
            streams(&inner, &[keys::CID_TO_GID_MAP])
                && descriptor(&inner)
                && widths(&inner) <= MOST_WIDTHS
        })
}

/// How many characters have a width; a range of a few bytes can name four thousand million.
fn widths(dict: &Dict<'_>) -> u64 {
    let range = |first: u32, last: u32| u64::from(last.saturating_sub(first)) + 1;
    let mut count: u64 = 0;
    for (key, of_one) in [(keys::W, 1), (keys::W2, 3)] {
        let Some(widths) = dict.get::<Array<'_>>(key) else {
            continue;
        };
        let mut parts = widths.flex_iter();
        loop {
            count += if let Some((_, each)) = parts.next::<(u32, Array<'_>)>() {
                each.raw_iter().count() as u64
            } else if of_one == 1
                && let Some((first, last, _)) = parts.next::<(u32, u32, f32)>()
            {
                range(first, last)
            } else if let Some((first, last, ..)) = parts.next::<(u32, u32, f32, f32, f32)>() {
                range(first, last)
            } else {
                break;
            };
        }
    }
    count
}
