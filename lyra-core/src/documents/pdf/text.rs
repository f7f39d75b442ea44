//! Interprets the operators on PDF pages that move or show text; all others are ignored.

use super::super::encoding;
use super::super::lines::collapse;
use super::fonts::{Face, Fonts};
use super::limits::decoded;
use super::lines::{Collector, Glyph};
use hayro_font::kurbo::{self, Affine, Point};
use hayro_syntax::Pdf;
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction as Op;
use hayro_syntax::object::dict::keys;
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream};
use hayro_syntax::object::{MaybeRef, Number, Rect, String as PdfString};
use hayro_syntax::page::{Page, Resources};
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

/// Maximum unpacked size of the contents of all pages and forms together, in bytes.
const MOST_OF_ALL: usize = 256 * 1024 * 1024;

/// Maximum unpacked size of the contents of one page, in bytes.
const MOST_OF_PAGE: usize = 32 * 1024 * 1024;

/// Minimum cost of drawing a form, in bytes: forms can draw each other endlessly.
const FORM: usize = 2048;

/// Maximum depth of saved states; deeper ones are not saved.
const MOST_SAVED: usize = 256;

/// Maximum nesting depth of forms; deeper ones are not drawn.
const MOST_NESTED: usize = 16;

/// Number of operators between two checks of the time.
const TICK: usize = 4096;

/// Maximum length of replacement text (ActualText); for whole paragraphs the drawn text is used.
const MOST_ACTUAL: usize = 64;

/// Annotations with one of these flags are not visible on the page.
const HIDDEN: u32 = 1 << 1 | 1 << 5;

/// Shown for characters whose replacement text has already been shown: zero width, in their place.
const SHOWN: &str = "\u{200b}";

/// The caller no longer waits for the rest, or there is too much of it.
pub(super) struct Stopped;

/// The text state.
#[derive(Clone)]
struct TextState<'a> {
    place: Affine,
    font: Option<Rc<RefCell<Face<'a>>>>,
    size: f64,
    char_space: f64,
    word_space: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

/// Open marked content.
struct MarkedContent {
    /// Whether its content does not belong to the text.
    is_hidden: bool,
    /// Its replacement text, until its first character is shown.
    actual: Option<Rc<str>>,
}

/// Reads the pages of one file.
pub(super) struct PageReader<'a, 'c> {
    collector: &'c mut Collector,
    fonts: Fonts<'a>,
    /// Layers that are switched off.
    off: HashSet<ObjectIdentifier>,
    operators: usize,
    unpacked: usize,
    /// Whether anything that may have been text was left out.
    pub(super) cut: bool,
    state: TextState<'a>,
    saved: Vec<TextState<'a>>,
    unsaved: usize,
    marks: Vec<MarkedContent>,
    line: Affine,
    text: Affine,
    /// The visible part of the page.
    visible: kurbo::Rect,
}

impl<'a, 'c> PageReader<'a, 'c> {
    pub(super) fn new(file: &'a Pdf, collector: &'c mut Collector) -> Self {
        Self {
            collector,
            fonts: Fonts::default(),
            off: layers_off(file),
            operators: 0,
            unpacked: 0,
            cut: false,
            state: TextState::new(),
            saved: Vec::new(),
            unsaved: 0,
            marks: Vec::new(),
            line: Affine::IDENTITY,
            text: Affine::IDENTITY,
            visible: kurbo::Rect::ZERO,
        }
    }

    /// Collects the text of one page.
    pub(super) fn page(&mut self, page: &Page<'a>, number: u32) -> Result<(), Stopped> {
        self.collector.begin(number);
        self.reset();
        let visible = page.intersected_crop_box();
        self.visible =
            kurbo::Rect::new(visible.x0, visible.y0, visible.x1, visible.y1).inflate(1.0, 1.0);
        let mut content = Vec::new();
        if let Some(stream) = page.raw().get::<Stream<'_>>(keys::CONTENTS) {
            self.unpack(&stream, &mut content)?;
        } else if let Some(parts) = page.raw().get::<Array<'_>>(keys::CONTENTS) {
            for part in parts.iter::<Stream<'_>>() {
                self.unpack(&part, &mut content)?;
            }
        }
        self.draw(&content, page.resources(), 0)?;
        if let Some(notes) = page.raw().get::<Array<'a>>(keys::ANNOTS) {
            for note in notes.iter::<Dict<'a>>() {
                self.note(&note, page.resources())?;
            }
        }
        Ok(())
    }

    /// The text of a form field or of a text annotation.
    fn note(&mut self, note: &Dict<'a>, resources: &Resources<'a>) -> Result<(), Stopped> {
        let kind = note.get::<Name<'_>>(keys::SUBTYPE);
        let is_text =
            kind.is_some_and(|kind| matches!(kind.as_ref(), b"Widget" | b"FreeText" | b"Stamp"));
        let flags = note.get::<u32>(keys::F).unwrap_or(0);
        let (Some(form), Some(place)) = (appearance(note), note.get::<Rect>(keys::RECT)) else {
            return Ok(());
        };
        if !is_text || flags & HIDDEN != 0 {
            return Ok(());
        }
        self.reset();
        let matrix = form
            .dict()
            .get::<[f64; 6]>(keys::MATRIX)
            .map_or(Affine::IDENTITY, Affine::new);
        let own = form.dict().get::<Rect>(keys::BBOX).unwrap_or(place);
        let own = matrix.transform_rect_bbox(kurbo::Rect::new(own.x0, own.y0, own.x1, own.y1));
        let by = (place.x0 - own.x0, place.y0 - own.y0);
        self.state.place = Affine::translate(by);
        self.form(&form, resources, 0)
    }

    fn reset(&mut self) {
        self.state = TextState::new();
        self.saved.clear();
        self.marks.clear();
        self.unsaved = 0;
    }

    /// Converts the collected characters of a page to lines.
    pub(super) fn finish_page(&mut self) {
        self.collector.finish_page();
    }

    fn unpack(&mut self, stream: &Stream<'_>, content: &mut Vec<u8>) -> Result<(), Stopped> {
        let part = decoded(stream);
        self.unpacked += part.as_ref().map_or(0, Vec::len);
        match part {
            Some(part) if part.len() + content.len() <= MOST_OF_PAGE => {
                content.extend(part);
                content.push(b'\n');
            }
            _ => self.cut = true,
        }
        self.go_on()
    }

    /// An error if there is too much content, or if the caller no longer waits.
    fn go_on(&mut self) -> Result<(), Stopped> {
        if self.unpacked > MOST_OF_ALL {
            self.cut = true;
            return Err(Stopped);
        }
        if self.collector.is_late() {
            return Err(Stopped);
        }
        Ok(())
    }

    fn draw(
        &mut self,
        content: &[u8],
        resources: &Resources<'a>,
        depth: usize,
    ) -> Result<(), Stopped> {
        let mut operators = TypedIter::new(content);
        while let Some(operator) = operators.next() {
            self.operators += 1;
            if self.operators.is_multiple_of(TICK) {
                self.go_on()?;
            }
            match operator {
                Op::XObject(form) => {
                    if let Some(form) = resources.get_x_object(form.0) {
                        self.form(&form, resources, depth)?;
                    }
                }
                Op::TextFont(font) => {
                    self.state.font = resources
                        .get_font(font.0)
                        .and_then(|dict| self.fonts.face(&dict));
                    self.state.size = font.1.as_f64();
                }
                Op::SetGraphicsState(named) => {
                    self.graphics_state(resources.get_ext_g_state(named.0))
                }
                Op::BeginMarkedContent(_) => self.mark(None, None, resources),
                Op::BeginMarkedContentWithProperties(mark) => {
                    self.mark(Some(mark.0), Some(mark.1), resources);
                }
                Op::EndMarkedContent(_) => {
                    self.marks.pop();
                }
                other => self.place_or_show(&other)?,
            }
        }
        Ok(())
    }

    fn place_or_show(&mut self, operator: &Op<'_, '_>) -> Result<(), Stopped> {
        let state = &mut self.state;
        match operator {
            Op::SaveState(_) => self.save(),
            Op::RestoreState(_) => self.restore(),
            Op::Transform(m) => {
                state.place *= affine([m.0, m.1, m.2, m.3, m.4, m.5]);
            }
            Op::BeginText(_) => {
                self.line = Affine::IDENTITY;
                self.text = self.line;
            }
            Op::SetTextMatrix(m) => {
                self.line = affine([m.0, m.1, m.2, m.3, m.4, m.5]);
                self.text = self.line;
            }
            Op::CharacterSpacing(space) => state.char_space = space.0.as_f64(),
            Op::WordSpacing(space) => state.word_space = space.0.as_f64(),
            Op::HorizontalScaling(scale) => state.stretch = scale.0.as_f64() / 100.0,
            Op::TextLeading(leading) => state.leading = leading.0.as_f64(),
            Op::TextRise(rise) => state.rise = rise.0.as_f64(),
            Op::NextLine(by) => self.next_line(by.0.as_f64(), by.1.as_f64()),
            Op::NextLineAndSetLeading(by) => {
                state.leading = -by.1.as_f64();
                self.next_line(by.0.as_f64(), by.1.as_f64());
            }
            Op::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.leading),
            Op::ShowText(text) => return self.show(text.0),
            Op::ShowTexts(texts) => return self.show_spaced(texts.0),
            Op::NextLineAndShowText(text) => {
                self.next_line(0.0, -self.state.leading);
                return self.show(text.0);
            }
            Op::ShowTextWithParameters(text) => {
                state.word_space = text.0.as_f64();
                state.char_space = text.1.as_f64();
                self.next_line(0.0, -self.state.leading);
                return self.show(text.2);
            }
            _ => {}
        }
        Ok(())
    }

    fn save(&mut self) {
        if self.saved.len() < MOST_SAVED {
            self.saved.push(self.state.clone());
        } else {
            self.unsaved += 1;
        }
    }

    fn restore(&mut self) {
        if self.unsaved > 0 {
            self.unsaved -= 1;
        } else if let Some(state) = self.saved.pop() {
            self.state = state;
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line *= Affine::translate((x, y));
        self.text = self.line;
    }

    fn graphics_state(&mut self, named: Option<Dict<'a>>) {
        let font = named.and_then(|dict| dict.get::<Array<'a>>(keys::FONT));
        let mut parts = font.iter().flat_map(Array::iter::<Object<'a>>);
        if let (Some(Object::Dict(dict)), Some(Object::Number(size))) = (parts.next(), parts.next())
        {
            self.state.font = self.fonts.face(&dict);
            self.state.size = size.as_f64();
        }
    }

    /// Draws a form at its position, with a separate state.
    fn form(
        &mut self,
        form: &Stream<'a>,
        outer: &Resources<'a>,
        depth: usize,
    ) -> Result<(), Stopped> {
        let dict = form.dict();
        let is_form = dict
            .get::<Name<'_>>(keys::SUBTYPE)
            .is_some_and(|name| name.as_ref() == keys::FORM);
        let is_off = dict
            .get_ref(keys::OC)
            .is_some_and(|layer| self.off.contains(&layer.into()));
        if !is_form || is_off || depth >= MOST_NESTED {
            return Ok(());
        }
        self.unpacked += FORM;
        let mut content = Vec::new();
        self.unpack(form, &mut content)?;
        let own = dict.get::<Dict<'a>>(keys::RESOURCES).map(Resources::new);
        let outside = (self.state.clone(), self.line, self.text);
        let (saved, unsaved) = (
            std::mem::take(&mut self.saved),
            std::mem::take(&mut self.unsaved),
        );
        let marks = self.marks.len();
        if let Some(matrix) = dict.get::<[f64; 6]>(keys::MATRIX) {
            self.state.place *= Affine::new(matrix);
        }
        let drawn = self.draw(&content, own.as_ref().unwrap_or(outer), depth + 1);
        self.marks.truncate(marks);
        (self.saved, self.unsaved) = (saved, unsaved);
        (self.state, self.line, self.text) = outside;
        drawn
    }

    /// Begins marked content: it may be a running head, a layer, or have replacement text.
    fn mark(
        &mut self,
        tag: Option<&Name<'_>>,
        properties: Option<&Object<'_>>,
        resources: &Resources<'a>,
    ) {
        let mut mark = MarkedContent {
            is_hidden: self.marks.last().is_some_and(|mark| mark.is_hidden),
            actual: None,
        };
        let mut look = |dict: &Dict<'_>| {
            let kind = dict.get::<Name<'_>>(keys::TYPE);
            mark.is_hidden |= tag.is_some_and(|tag| tag.as_ref() == b"Artifact")
                && kind.is_some_and(|kind| kind.as_ref() == b"Pagination");
            mark.actual = dict
                .get::<PdfString<'_>>(keys::ACTUAL_TEXT)
                .map(|text| decode(text.as_bytes()))
                .filter(|text| text.chars().count() <= MOST_ACTUAL)
                .map(Rc::from);
        };
        match properties {
            Some(Object::Dict(dict)) => look(dict),
            Some(Object::Name(name)) => {
                if let Some(dict) = resources.properties.get::<Dict<'_>>(name.as_ref()) {
                    look(&dict);
                }
                let layer = resources.properties.get_ref(name.as_ref());
                mark.is_hidden |= layer.is_some_and(|layer| self.off.contains(&layer.into()));
            }
            _ => {}
        }
        if self.marks.len() < MOST_SAVED {
            self.marks.push(mark);
        }
    }

    fn show_spaced(&mut self, texts: &Array<'_>) -> Result<(), Stopped> {
        for part in texts.iter::<Object<'_>>() {
            match part {
                Object::Number(by) => {
                    let by = -by.as_f64() / 1000.0 * self.state.size;
                    self.advance(by * self.state.stretch, by);
                }
                Object::String(text) => self.show(&text)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn advance(&mut self, right: f64, up: f64) {
        let horizontal = self
            .state
            .font
            .as_ref()
            .is_none_or(|font| font.borrow().is_horizontal());
        let by = if horizontal { (right, 0.0) } else { (0.0, up) };
        self.text *= Affine::translate(by);
    }

    fn show(&mut self, text: &PdfString<'_>) -> Result<(), Stopped> {
        let Some(font) = self.state.font.clone().or_else(|| self.fonts.fallback()) else {
            return Ok(());
        };
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut font = font.borrow_mut();
        let (horizontal, height) = (font.is_horizontal(), font.height);
        while at < bytes.len() {
            let (code, length, shown) = font.next(bytes, at);
            at += length;
            self.operators += 1;
            if self.operators.is_multiple_of(TICK) {
                self.go_on()?;
            }
            let state = &self.state;
            let word = if length == 1 && code == 32 {
                state.word_space
            } else {
                0.0
            };
            let space = state.char_space + word;
            let (right, up) = (shown.advance.0 * state.size, shown.advance.1 * state.size);
            let placed = state.place * self.text;
            let by = if horizontal {
                (right * state.stretch, 0.0)
            } else {
                (0.0, up)
            };
            self.collect(placed, by, height, shown.text);
            let by = if horizontal {
                ((right + space) * self.state.stretch, 0.0)
            } else {
                (0.0, up + space)
            };
            self.text *= Affine::translate(by);
        }
        Ok(())
    }

    fn collect(&mut self, placed: Affine, by: (f64, f64), height: f64, text: Rc<str>) {
        let text = match self.marks.last_mut() {
            Some(mark) if mark.is_hidden => return,
            Some(MarkedContent {
                actual: Some(actual),
                ..
            }) => std::mem::replace(actual, Rc::from(SHOWN)),
            _ => text,
        };
        let state = &self.state;
        let from = placed * Point::new(0.0, state.rise);
        let to = placed * Point::new(by.0, by.1 + state.rise);
        if !self.visible.contains(from) && !self.visible.contains(to) {
            return;
        }
        let [a, b, c, d, ..] = placed.as_coeffs();
        let size = c.hypot(d) * state.size.abs() * height;
        let sign = (state.size * state.stretch).signum();
        let along = if by.0 == 0.0 && by.1 != 0.0 {
            (c * by.1, d * by.1)
        } else {
            (a * sign, b * sign)
        };
        self.collector.show(&Glyph {
            text,
            from: (from.x, from.y),
            to: (to.x, to.y),
            along,
            size,
        });
    }
}

impl TextState<'_> {
    fn new() -> Self {
        Self {
            place: Affine::IDENTITY,
            font: None,
            size: 1.0,
            char_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

fn affine(numbers: [Number; 6]) -> Affine {
    Affine::new(numbers.map(|number| number.as_f64()))
}

/// The appearance of an annotation.
fn appearance<'a>(note: &Dict<'a>) -> Option<Stream<'a>> {
    match note.get::<Dict<'a>>(keys::AP)?.get::<Object<'a>>(keys::N)? {
        Object::Stream(form) => Some(form),
        Object::Dict(states) => states.get::<Stream<'a>>(note.get::<Name<'_>>(keys::AS)?),
        _ => None,
    }
}

/// The layers that are switched off in a file.
fn layers_off(file: &Pdf) -> HashSet<ObjectIdentifier> {
    let catalog = file.xref().get::<Dict<'_>>(file.xref().root_id());
    let layers = catalog.and_then(|catalog| catalog.get::<Dict<'_>>(keys::OCPROPERTIES));
    let usual = layers.and_then(|layers| layers.get::<Dict<'_>>(keys::D));
    let off = usual.and_then(|usual| usual.get::<Array<'_>>(keys::OFF));
    off.iter()
        .flat_map(Array::raw_iter)
        .filter_map(|layer| match layer {
            MaybeRef::Ref(id) => Some(id.into()),
            MaybeRef::NotRef(_) => None,
        })
        .collect()
}

/// Decodes a text string: UTF-16 or UTF-8 with a byte order mark, otherwise a Latin encoding.
pub(super) fn decode(bytes: &[u8]) -> String {
    collapse(&encoding::decode(bytes, &["windows-1252"]).text)
}
