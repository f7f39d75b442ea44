//! BERT's WordPiece for text with spaces, characters and their pairs for text without.
//! The steps and their order are those of `scripts/static_table/encode.py`.

use super::table::EmbeddingTable;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory as C, UnicodeGeneralCategory};

/// Longer words are unknown.
const MAX_WORD: usize = 100;
/// Maximum number of pieces of one text that count, including unknown ones.
const MAX_PIECES: usize = 512;
/// Maximum number of hashed terms of one text that count.
const MAX_CJK: usize = 2048;

/// The terms of a text.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    /// Rows of the table; `None` for a word that its pieces do not cover.
    pub(crate) pieces: Vec<Option<u32>>,
    /// Characters and pairs to be hashed.
    pub(crate) hashed: Vec<(String, Weight)>,
}

/// The weight of a hashed term, by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Weight {
    /// A pair without hiragana.
    Pair,
    /// A pair with one hiragana.
    MixedPair,
    /// A pair of hiragana: mostly grammar.
    KanaPair,
    /// A single character that is a word.
    Single,
    /// One hiragana or katakana.
    SingleKana,
}

impl Weight {
    pub(crate) fn value(self) -> f32 {
        match self {
            Self::Pair => 1.0,
            Self::MixedPair => 0.2,
            Self::KanaPair | Self::SingleKana => 0.05,
            Self::Single => 0.7,
        }
    }
}

/// Splits a text into terms.
pub(crate) fn terms(text: &str, table: &EmbeddingTable) -> Terms {
    let mut cutter = Cutter {
        table,
        known: Terms::default(),
    };
    let mut run = String::new();
    let mut run_is_cjk = false;
    for c in text.nfkc().collect::<String>().to_lowercase().chars() {
        let Some(c) = cleaned(c) else { continue };
        if is_cjk(c) != run_is_cjk {
            cutter.take(&run, run_is_cjk);
            run.clear();
            run_is_cjk = !run_is_cjk;
        }
        run.push(c);
    }
    cutter.take(&run, run_is_cjk);
    cutter.known.hashed.truncate(MAX_CJK);
    cutter.known
}

fn cleaned(c: char) -> Option<char> {
    match c {
        '\t' | '\n' | '\r' => Some(' '),
        '\u{FFFD}' => None,
        _ if c.is_ascii_graphic() || c == ' ' => Some(c),
        _ => match c.general_category() {
            C::SpaceSeparator | C::LineSeparator | C::ParagraphSeparator => Some(' '),
            C::Control | C::Format | C::Surrogate | C::PrivateUse => None,
            _ => Some(c),
        },
    }
}

struct Cutter<'t> {
    table: &'t EmbeddingTable,
    known: Terms,
}

impl Cutter<'_> {
    fn take(&mut self, run: &str, is_cjk: bool) {
        if is_cjk {
            if self.known.hashed.len() < MAX_CJK {
                self.take_cjk(run);
            }
            return;
        }
        let mut word = String::new();
        for c in run.nfd() {
            if self.known.pieces.len() >= MAX_PIECES {
                return;
            }
            match c {
                ' ' => self.take_word(&mut word),
                _ if is_mark(c) => {}
                _ if is_punctuation(c) => {
                    self.take_word(&mut word);
                    word.push(c);
                    self.take_word(&mut word);
                }
                _ => word.push(c),
            }
        }
        self.take_word(&mut word);
    }

    /// Greedy longest match; a word that cannot be covered is one unknown piece.
    fn take_word(&mut self, word: &mut String) {
        if word.is_empty() || self.known.pieces.len() >= MAX_PIECES {
            word.clear();
            return;
        }
        match self.pieces_of(word) {
            Some(pieces) => {
                let room = MAX_PIECES - self.known.pieces.len();
                let pieces = pieces.into_iter().take(room);
                self.known.pieces.extend(pieces.map(Some));
            }
            None => self.known.pieces.push(None),
        }
        word.clear();
    }

    fn pieces_of(&self, word: &str) -> Option<Vec<u32>> {
        if word.chars().count() > MAX_WORD {
            return None;
        }
        let mut pieces = Vec::with_capacity(4);
        let mut rest = word;
        let mut probe = String::with_capacity(word.len() + 2);
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let (end, row) = ends.into_iter().find_map(|end| {
                probe.clear();
                if !pieces.is_empty() {
                    probe.push_str("##");
                }
                probe.push_str(&rest[..end]);
                self.table.row_of(&probe).map(|row| (end, row))
            })?;
            pieces.push(row);
            rest = &rest[end..];
        }
        Some(pieces)
    }

    fn take_cjk(&mut self, run: &str) {
        let chars: Vec<char> = run.chars().collect();
        for (i, &c) in chars.iter().enumerate() {
            let single = if is_hiragana(c) || is_katakana(c) {
                Weight::SingleKana
            } else {
                Weight::Single
            };
            self.known.hashed.push((c.to_string(), single));
            if let Some(&next) = chars.get(i + 1) {
                let pair = match (is_hiragana(c), is_hiragana(next)) {
                    (false, false) => Weight::Pair,
                    (true, true) => Weight::KanaPair,
                    _ => Weight::MixedPair,
                };
                self.known.hashed.push(([c, next].iter().collect(), pair));
            }
        }
    }
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.general_category() == C::NonspacingMark
}

fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    matches!(
        c.general_category(),
        C::ConnectorPunctuation
            | C::DashPunctuation
            | C::OpenPunctuation
            | C::ClosePunctuation
            | C::InitialPunctuation
            | C::FinalPunctuation
            | C::OtherPunctuation
    )
}

/// Han, hiragana, katakana, hangul and their marks, as in the fitting of the table.
fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x3005..=0x3007 | 0x3041..=0x3096 | 0x309D..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF
        | 0x1100..=0x11FF | 0x3131..=0x318E | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xA960..=0xA97C | 0xAC00..=0xD7FB | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

fn is_hiragana(c: char) -> bool {
    matches!(u32::from(c), 0x3041..=0x3096 | 0x309D..=0x309F)
}

fn is_katakana(c: char) -> bool {
    matches!(u32::from(c), 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x31F0..=0x31FF)
}
