//! Detects sentence boundaries in English and Japanese.
//!
//! It uses rules and no model: a mark ends a sentence unless the text before it is an abbreviation, an
//! initial or an enumerator, or the text after it cannot begin a sentence. It makes one pass over the
//! text with bounded look-ahead, so hostile text costs linear time.

mod words;

use std::ops::Range;
use words::{BEFORE_NUMBER, MAYBE_LAST, NEVER_LAST, STARTERS};

/// Maximum distance of a bracket from its partner for which the sentence marks inside are ignored.
const BRACKET_REACH: usize = 300;

/// Number of characters of a word that are examined; longer words are not abbreviations.
const WORD_REACH: usize = 24;

/// Letters of a word whose full stop may be followed by the raised numbers of references. Abbreviations before
/// numbers ("fig.3", "vol.2") are shorter.
const LEAST_BEFORE_RAISED: usize = 5;

/// The sentences of `text` as ranges of code points, in order, without surrounding white space.
///
/// A line break always ends a sentence, so that table rows and list items are separate; prose is
/// expected without breaks inside paragraphs, as in the output of
/// [`assemble`](super::segment::assemble). Every non-blank character lies in exactly one range.
///
/// ```
/// use lyra_core::store::text::{segment::slice_chars, sentence::sentences};
/// let text = "Risk rose (HR 1.27, see Fig. 2). Smith et al. disagree. 血糖値が下がった。";
/// let all: Vec<_> = sentences(text)
///     .into_iter()
///     .filter_map(|s| slice_chars(text, s.start, s.end))
///     .collect();
/// assert_eq!(all, ["Risk rose (HR 1.27, see Fig. 2).", "Smith et al. disagree.", "血糖値が下がった。"]);
/// ```
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let chars: Vec<char> = text.chars().collect();
    ranges(&chars)
}

/// The sentences of `text` as found by [`sentences`], each with its slice.
pub fn sentence_texts(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    // The rest of the text, and the number of code points before it.
    let mut rest = (text, 0);
    sentences(text).into_iter().map(move |range| {
        let (_, from) = split_at_char(rest.0, range.start - rest.1);
        let (sentence, behind) = split_at_char(from, range.len());
        rest = (behind, range.end);
        (range, sentence)
    })
}

fn split_at_char(text: &str, chars: usize) -> (&str, &str) {
    let at = text
        .char_indices()
        .nth(chars)
        .map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}

/// [`sentences`] over characters that the caller has already collected.
pub(super) fn ranges(chars: &[char]) -> Vec<Range<usize>> {
    Scan::new(chars).sentences()
}

/// A pass over a text. Results of look-ahead are cached, so that a long run of marks, brackets or blanks
/// is read once and not once for each of its characters.
struct Scan<'a> {
    chars: &'a [char],
    /// Start of the current sentence.
    start: usize,
    /// Position of its first visible character, once it has been computed.
    leading: Option<usize>,
    /// The last run of closing marks that was read.
    closers: Range<usize>,
    /// The result of `following` for the closing marks that end at the given position.
    following: Option<(usize, Following)>,
    /// Number of character accesses.
    #[cfg(test)]
    looks: std::cell::Cell<usize>,
}

/// The text after the closing marks of a sentence.
#[derive(Clone, Copy)]
struct Following {
    /// Position after the citation numbers.
    end: usize,
    /// Position of the next visible character; the end of the text if there is none.
    next: usize,
}

impl<'a> Scan<'a> {
    fn new(chars: &'a [char]) -> Self {
        Self {
            chars,
            start: 0,
            leading: None,
            closers: 0..0,
            following: None,
            #[cfg(test)]
            looks: std::cell::Cell::default(),
        }
    }

    /// All character accesses go through this function.
    fn at(&self, place: usize) -> Option<char> {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        self.chars.get(place).copied()
    }

    /// The characters from a position on.
    fn from(&self, place: usize) -> impl Iterator<Item = char> {
        (place..).map_while(|place| self.at(place))
    }

    fn sentences(&mut self) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut shielded_until = 0;
        let mut at = 0;
        while let Some(c) = self.at(at) {
            if is_line_break(c) {
                self.push_trimmed(&mut found, at);
                self.begin(at + 1);
                shielded_until = 0;
            } else if let Some(closer) = partner(c) {
                if at >= shielded_until {
                    shielded_until = self.matching_close(at, c, closer).unwrap_or(0);
                }
            } else if at >= shielded_until
                && let Some(end) = self.sentence_end(at, c)
            {
                self.push_trimmed(&mut found, end);
                self.begin(end);
                at = end;
                continue;
            }
            at += 1;
        }
        self.push_trimmed(&mut found, self.chars.len());
        found
    }

    fn begin(&mut self, start: usize) {
        self.start = start;
        self.leading = None;
    }

    fn push_trimmed(&self, found: &mut Vec<Range<usize>>, end: usize) {
        let is_visible = |place: &usize| self.at(*place).is_some_and(|c| !is_blank(c));
        let first = (self.start..end).find(is_visible);
        let last = (self.start..end).rev().find(is_visible);
        if let (Some(first), Some(last)) = (first, last) {
            found.push(first..last + 1);
        }
    }

    /// The index of the bracket that closes the one at `open_at`, if it is near and on the same line.
    fn matching_close(&self, open_at: usize, open: char, close: char) -> Option<usize> {
        let mut depth = 0_usize;
        for (offset, c) in self.from(open_at).take(BRACKET_REACH).enumerate() {
            if c == open {
                depth += 1;
            } else if c == close {
                depth -= 1;
                if depth == 0 {
                    return Some(open_at + offset);
                }
            } else if is_line_break(c) {
                return None;
            }
        }
        None
    }

    /// The end of the sentence that the mark at `at` ends, including closing quotes and citation
    /// numbers.
    fn sentence_end(&mut self, at: usize, mark: char) -> Option<usize> {
        match mark {
            '。' | '！' | '？' | '｡' | '।' | '॥' | '؟' | '۔' => {
                Some(self.skip_closers(at + 1))
            }
            '．' => {
                let is_digit = |place: usize| self.at(place).is_some_and(char::is_numeric);
                let between_digits = at > 0 && is_digit(at - 1) && is_digit(at + 1);
                (!between_digits).then(|| self.skip_closers(at + 1))
            }
            '」' | '』' => self.bracket_end(at),
            '.' | '!' | '?' | '…' => self.western_end(at, mark),
            _ => None,
        }
    }

    /// A quotation that ends with a full stop ends the sentence, unless a particle continues it.
    fn bracket_end(&mut self, at: usize) -> Option<usize> {
        let before = self.at(at.checked_sub(1)?)?;
        if !matches!(before, '。' | '！' | '？') {
            return None;
        }
        let end = self.skip_closers(at);
        match self.at(end) {
            Some(
                'と' | 'っ' | 'の' | 'を' | 'が' | 'は' | 'に' | 'も' | 'で' | 'や' | 'な' | 'か'
                | '、' | '，',
            ) => None,
            _ => Some(end),
        }
    }

    /// The end of the run of closing marks that contains `from`.
    fn skip_closers(&mut self, from: usize) -> usize {
        if !self.closers.contains(&from) {
            let length = self.from(from).take_while(|c| is_closer(*c)).count();
            self.closers = from..from + length;
        }
        self.closers.end
    }

    /// Examines the text after the closing marks that end at `closed`.
    fn following(&mut self, closed: usize) -> Following {
        if let Some((known, following)) = self.following
            && known == closed
        {
            return following;
        }
        let end = self.skip_reference_numbers(closed);
        let next = end + self.from(end).take_while(|c| is_blank(*c)).count();
        let following = Following { end, next };
        self.following = Some((closed, following));
        following
    }

    fn western_end(&mut self, at: usize, mark: char) -> Option<usize> {
        let closed = self.skip_closers(at + 1);
        let Following { end, next } = self.following(closed);
        let Some(behind) = self.at(end) else {
            return Some(end);
        };
        if is_line_break(behind) {
            return Some(end);
        }
        if next == end {
            // Without a space, the mark belongs to a number, a name or an address; CJK text has no
            // spaces.
            let before = at.checked_sub(1).filter(|before| *before >= self.start);
            let before = before.and_then(|before| self.at(before));
            return (is_cjk(behind) && before.is_some_and(is_cjk)).then_some(end);
        }
        if next == self.chars.len() {
            return Some(end);
        }
        if !self.may_begin(next) {
            return None;
        }
        if mark == '.' && end > at + 1 && self.is_initial_in_brackets(at) {
            return None;
        }
        let single_dot = mark == '.' && end == at + 1;
        (!single_dot || !self.is_abbreviation(at, next)).then_some(end)
    }

    /// Whether the dot ends an initial that is alone in brackets, as after the name of a species:
    /// "Sorghum bicolor (L.) Moench".
    fn is_initial_in_brackets(&self, at: usize) -> bool {
        let before = |n: usize| at.checked_sub(n).and_then(|place| self.at(place));
        before(1).is_some_and(char::is_uppercase) && matches!(before(2), Some('(' | '['))
    }

    /// Skips `[12]`, `[3,4]`, `[5-7]` directly after the end of a sentence, as in encyclopaedias.
    fn skip_reference_numbers(&self, from: usize) -> usize {
        let mut at = from;
        while self.at(at) == Some('[') {
            let is_inside = |c: &char| c.is_ascii_digit() || matches!(c, ',' | '-' | '–' | ' ');
            let inside = self.from(at + 1).take(WORD_REACH - 1);
            let close = at + 1 + inside.take_while(is_inside).count();
            if close - at >= WORD_REACH || self.at(close) != Some(']') {
                break;
            }
            at = close + 1;
        }
        if at == from {
            self.skip_raised_numbers(from)
        } else {
            at
        }
    }

    /// One past the numbers of references that follow a full stop without brackets, as superscripts do in plain
    /// text: `levels.1,2 The`. They follow a whole word, and a capital follows them.
    fn skip_raised_numbers(&self, from: usize) -> usize {
        let letters = (2..2 + WORD_REACH).map_while(|back| self.at(from.checked_sub(back)?));
        let letters = letters.take_while(|c| c.is_lowercase()).count();
        if self.before(from, 1) != Some('.') || letters < LEAST_BEFORE_RAISED {
            return from;
        }
        let is_inside = |c: &char| c.is_ascii_digit() || matches!(c, ',' | '-' | '–' | ' ');
        let inside: String = self
            .from(from)
            .take(WORD_REACH)
            .take_while(is_inside)
            .collect();
        let numbers = inside.trim_end();
        let is_list = inside.starts_with(|c: char| c.is_ascii_digit())
            && numbers
                .split([',', '-', '–', ' '])
                .all(|number| number.len() <= 3);
        let next = self.at(from + inside.chars().count());
        let begins = next.is_some_and(char::is_uppercase) && numbers.len() < inside.len();
        match is_list && begins {
            true => from + numbers.chars().count(),
            false => from,
        }
    }

    /// Whether a sentence may begin with the word at `place`: not with a plain lower-case word or a
    /// further dot, but with `mRNA`, `p53` and `α-synuclein`.
    fn may_begin(&self, place: usize) -> bool {
        let opening = |c: &char| matches!(c, '(' | '[' | '"' | '\'' | '“' | '‘' | '«' | '*' | '_');
        let place = place + self.from(place).take(4).take_while(opening).count();
        let Some(first) = self.at(place) else {
            return true;
        };
        if first == '.' {
            // ".NET", but not the next dot of a row ". . . ." in a table of contents.
            return self.at(place + 1).is_some_and(char::is_alphanumeric);
        }
        if !first.is_lowercase() {
            return !matches!(first, ',' | ';' | ':' | '%' | '=' | '<' | '>' | '±');
        }
        let greek = matches!(first, 'α'..='ω');
        greek
            || self
                .from(place + 1)
                .take(11)
                .take_while(|c| !is_blank(*c))
                .any(|c| c.is_uppercase() || c.is_numeric())
    }

    /// Whether the dot at `dot` belongs to the word before it and does not end a sentence.
    fn is_abbreviation(&mut self, dot: usize, next_at: usize) -> bool {
        let Some(word_at) = self.word_start(dot) else {
            return false;
        };
        let word: String = self.from(word_at).take(dot - word_at).collect();
        let lower = word.to_lowercase();
        let next: String = self
            .from(next_at)
            .take(WORD_REACH)
            .take_while(|c| !is_blank(*c))
            .collect();
        if word.is_empty() {
            return false;
        }
        if word_at == self.leading() && is_enumerator(&word) {
            return true;
        }
        if NEVER_LAST.binary_search(&lower.as_str()).is_ok() {
            // "It took 40 ms. The …" and "patients with MS. In …", but "in 2019 Ms. Roe".
            return match word.as_str() {
                "ms" => !self.is_after_number(word_at),
                "MS" => false,
                _ => true,
            };
        }
        let is_capital = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
        // "p. 12" is a page, and "P. Roe" a person.
        if !is_capital && BEFORE_NUMBER.binary_search(&lower.as_str()).is_ok() {
            return is_numberish(&next);
        }
        let begins_sentence = STARTERS
            .binary_search(&next.trim_end_matches([',', ';']))
            .is_ok();
        if MAYBE_LAST.binary_search(&lower.as_str()).is_ok() || is_dotted(&word) {
            return !begins_sentence;
        }
        is_capital && !self.ends_as_capital(word_at, begins_sentence)
    }

    /// Whether a single capital is the last word of a sentence: "J. Smith" continues; "at 37 °C. We …",
    /// "hepatitis C. The …", "LDL-C. We …", "H&E. Our …" and "at 300 K. The …" end.
    fn ends_as_capital(&self, word_at: usize, begins_sentence: bool) -> bool {
        let is_of_unit = |c| matches!(c, Some('°' | 'º' | '/'));
        if is_of_unit(self.before(word_at, 1)) || is_of_unit(self.before(word_at, 2)) {
            return true;
        }
        let is_of_word = |n| self.before(word_at, n).is_some_and(char::is_alphanumeric);
        match self.before(word_at, 1) {
            // But not the second initial of "J-P. Roe".
            Some('-') if is_of_word(2) && is_of_word(3) => return true,
            Some('&') if is_of_word(2) => return true,
            _ => {}
        }
        let is_after_word = self.before(word_at, 2).is_some_and(char::is_lowercase);
        begins_sentence && (is_after_word || self.is_after_number(word_at))
    }

    /// Whether a number precedes a word, so that the word may be its unit.
    fn is_after_number(&self, word_at: usize) -> bool {
        let is_apart = self.before(word_at, 1).is_some_and(is_blank);
        is_apart && self.before(word_at, 2).is_some_and(char::is_numeric)
    }

    /// The character of the sentence at this distance before a position.
    fn before(&self, place: usize, distance: usize) -> Option<char> {
        let place = place.checked_sub(distance)?;
        (place >= self.start).then(|| self.at(place)).flatten()
    }

    /// The start of the word that ends at `dot`; `None` if it is too long to matter.
    fn word_start(&self, dot: usize) -> Option<usize> {
        let of_word = |place: &usize| {
            let c = self.at(*place);
            c.is_some_and(|c| c.is_alphanumeric() || c == '.')
        };
        let word = (self.start..dot).rev().take(WORD_REACH + 1);
        let length = word.take_while(of_word).count();
        (length <= WORD_REACH).then_some(dot - length)
    }

    /// Position of the first visible character of the current sentence.
    fn leading(&mut self) -> usize {
        let known = self.leading;
        let leading = known.unwrap_or_else(|| {
            self.start + self.from(self.start).take_while(|c| is_blank(*c)).count()
        });
        self.leading = Some(leading);
        leading
    }
}

/// White space, control characters and the byte order mark: characters that are not visible.
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\u{FEFF}'
}

/// Ideographs, kana, hangul and their punctuation: written without spaces between sentences.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}' | '\u{FF00}'..='\u{FFEF}'
        | '\u{20000}'..='\u{3FFFF}')
}

fn is_line_break(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The closing bracket for an opening bracket that may enclose whole sentences.
fn partner(open: char) -> Option<char> {
    Some(match open {
        '「' => '」',
        '『' => '』',
        '（' => '）',
        '【' => '】',
        '〈' => '〉',
        '《' => '》',
        _ => return None,
    })
}

/// Whether the character may occur between the mark that ends a sentence and the next sentence.
fn is_closer(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | '…'
            | '。'
            | '！'
            | '？'
            | '"'
            | '\''
            | ')'
            | ']'
            | '}'
            | '”'
            | '’'
            | '»'
            | '」'
            | '』'
            | '）'
            | '】'
            | '〕'
            | '〉'
            | '》'
            | '］'
            | '｣'
    )
}

/// `1`, `12`, `IV`, `2.1`: the text before the dot of a numbered heading or list item.
fn is_enumerator(word: &str) -> bool {
    let digits = word.len() <= 6
        && word
            .split('.')
            .all(|part| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()));
    let roman = word.len() <= 4 && word.bytes().all(|b| b"IVX".contains(&b));
    digits || roman
}

/// `5`, `S2`, `IV`, `A1`: the text after `Fig.` or `No.`
fn is_numberish(next: &str) -> bool {
    let core = next
        .trim_start_matches(['(', '['])
        .trim_end_matches(|c: char| !c.is_alphanumeric());
    core.chars().take(3).any(|c| c.is_numeric())
        || (!core.is_empty() && core.bytes().all(|b| b"IVXLC".contains(&b)))
}

/// `U.S`, `a.m`, `J.R.R`: single letters with dots between them.
fn is_dotted(word: &str) -> bool {
    word.contains('.')
        && word
            .split('.')
            .all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic))
}

#[cfg(test)]
mod tests;
