//! Where sentences begin and end, in English and Japanese.
//!
//! Rules, no model: a mark ends a sentence unless what stands before it is an abbreviation, an
//! initial or an enumerator, or what stands after it cannot begin a sentence. One pass over the
//! text with bounded look-ahead, so hostile text costs linear time.

use std::ops::Range;

/// How far a bracket may be from its partner to keep the sentence marks inside it from counting.
const BRACKET_REACH: usize = 300;

/// How many characters of a word are looked at; longer ones are no abbreviations.
const WORD_REACH: usize = 24;

/// Abbreviations that something always follows.
const NEVER_LAST: &[&str] = &[
    "approx", "ca", "cf", "dr", "e.g", "eg", "eq", "eqs", "fig", "figs", "gen", "hon", "i.e", "ie",
    "mr", "mrs", "ms", "prof", "resp", "rev", "sen", "st", "suppl", "univ", "viz", "vs",
];

/// Abbreviations only where a number (or `S2`, `IV`) follows: `No. 5`, but "the answer is no."
const BEFORE_NUMBER: &[&str] = &[
    "art", "ch", "chap", "ed", "eds", "no", "nos", "p", "par", "pp", "pt", "ref", "refs", "sec",
    "sect", "tab", "tabs", "v", "vol", "vols",
];

/// Abbreviations that may also be the last word of a sentence.
const MAYBE_LAST: &[&str] = &[
    "al", "co", "corp", "dept", "etc", "inc", "jr", "ltd", "ph.d", "sp", "spp", "sr", "subsp",
];

/// Words that begin a sentence so often that they decide after a [`MAYBE_LAST`] abbreviation.
const STARTERS: &[&str] = &[
    "A",
    "After",
    "All",
    "Although",
    "An",
    "And",
    "As",
    "At",
    "Because",
    "Before",
    "Both",
    "But",
    "By",
    "Compared",
    "Despite",
    "During",
    "Each",
    "Finally",
    "First",
    "For",
    "From",
    "Further",
    "Furthermore",
    "Given",
    "He",
    "Here",
    "How",
    "However",
    "If",
    "In",
    "Indeed",
    "It",
    "Its",
    "Many",
    "Moreover",
    "Most",
    "No",
    "Of",
    "On",
    "One",
    "Our",
    "Overall",
    "Patients",
    "Results",
    "Second",
    "She",
    "Since",
    "So",
    "Some",
    "Such",
    "That",
    "The",
    "Their",
    "Then",
    "There",
    "Therefore",
    "These",
    "They",
    "This",
    "Those",
    "Thus",
    "To",
    "Two",
    "Under",
    "Using",
    "We",
    "What",
    "When",
    "Where",
    "Whereas",
    "Whether",
    "While",
    "With",
    "You",
];

/// The sentences of `text` as ranges of code points, in order, without the space around them.
///
/// A line break always ends a sentence, so that table rows and list items stand alone; prose is
/// expected without breaks inside paragraphs, as [`assemble`](super::segment::assemble) makes it.
/// Every character that is not blank lies in exactly one range.
///
/// ```
/// use lyra_core::text::{segment::slice_chars, sentence::sentences};
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

/// [`sentences`] over characters that the caller has already collected.
pub(super) fn ranges(chars: &[char]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut shielded_until = 0;
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        if is_line_break(c) {
            push_trimmed(&mut found, chars, start..at);
            start = at + 1;
            shielded_until = 0;
        } else if let Some(closer) = partner(c) {
            if at >= shielded_until {
                shielded_until = matching_close(chars, at, c, closer).unwrap_or(0);
            }
        } else if at >= shielded_until
            && let Some(end) = sentence_end(chars, start, at)
        {
            push_trimmed(&mut found, chars, start..end);
            start = end;
            at = end;
            continue;
        }
        at += 1;
    }
    push_trimmed(&mut found, chars, start..chars.len());
    found
}

/// White space, control characters and the byte order mark: nothing that a reader sees.
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

fn push_trimmed(found: &mut Vec<Range<usize>>, chars: &[char], range: Range<usize>) {
    let inside = &chars[range.clone()];
    let Some(first) = inside.iter().position(|c| !is_blank(*c)) else {
        return;
    };
    let last = inside.iter().rposition(|c| !is_blank(*c)).unwrap_or(first);
    found.push(range.start + first..range.start + last + 1);
}

/// The closing bracket of a bracket whose inside may hold whole sentences.
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

/// The index of the bracket that closes the one at `open_at`, if it is near and on the same line.
fn matching_close(chars: &[char], open_at: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, &c) in chars[open_at..].iter().take(BRACKET_REACH).enumerate() {
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

/// One past the sentence that the mark at `at` ends, closing quotes and citation numbers included.
fn sentence_end(chars: &[char], start: usize, at: usize) -> Option<usize> {
    let mark = chars[at];
    match mark {
        '。' | '！' | '？' | '｡' | '।' | '॥' | '؟' | '۔' => {
            Some(skip_closers(chars, at + 1))
        }
        '．' => {
            let between_digits = at > 0
                && chars[at - 1].is_numeric()
                && chars.get(at + 1).is_some_and(|c| c.is_numeric());
            (!between_digits).then(|| skip_closers(chars, at + 1))
        }
        '」' | '』' => bracket_end(chars, at),
        '.' | '!' | '?' | '…' => western_end(chars, start, at, mark),
        _ => None,
    }
}

/// A quotation that ends with a full stop ends the sentence, unless a particle carries it on.
fn bracket_end(chars: &[char], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).map(|i| chars[i])?;
    if !matches!(before, '。' | '！' | '？') {
        return None;
    }
    let end = skip_closers(chars, at);
    match chars.get(end) {
        Some(
            'と' | 'っ' | 'の' | 'を' | 'が' | 'は' | 'に' | 'も' | 'で' | 'や' | 'な' | 'か'
            | '、' | '，',
        ) => None,
        _ => Some(end),
    }
}

fn skip_closers(chars: &[char], from: usize) -> usize {
    let mut at = from;
    while let Some(&c) = chars.get(at) {
        let closes = matches!(
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
        );
        if !closes {
            break;
        }
        at += 1;
    }
    at
}

fn western_end(chars: &[char], start: usize, at: usize, mark: char) -> Option<usize> {
    let end = skip_reference_numbers(chars, skip_closers(chars, at + 1));
    let Some(&next) = chars.get(end) else {
        return Some(end);
    };
    if is_line_break(next) {
        return Some(end);
    }
    if !is_blank(next) {
        // Without a space the mark belongs to a number, a name or an address; CJK has no spaces.
        let glued_cjk = is_cjk(next) && at > start && is_cjk(chars[at - 1]);
        return glued_cjk.then_some(end);
    }
    let Some(next_at) = (end..chars.len()).find(|&i| !is_blank(chars[i])) else {
        return Some(end);
    };
    if !may_begin(&chars[next_at..]) {
        return None;
    }
    let single_dot = mark == '.' && end == at + 1;
    (!single_dot || !is_abbreviation(chars, start, at, next_at)).then_some(end)
}

/// Skips `[12]`, `[3,4]`, `[5-7]` glued to the end of a sentence, as encyclopaedias print them.
fn skip_reference_numbers(chars: &[char], from: usize) -> usize {
    let mut at = from;
    while chars.get(at) == Some(&'[') {
        let Some(length) = chars[at..].iter().take(WORD_REACH).position(|&c| c == ']') else {
            break;
        };
        let inside = &chars[at + 1..at + length];
        if !inside
            .iter()
            .all(|c| c.is_ascii_digit() || matches!(c, ',' | '-' | '–' | ' '))
        {
            break;
        }
        at += length + 1;
    }
    at
}

/// Whether a sentence may begin with this word: not with a plain lower-case one; but `mRNA`, `p53`
/// and `α-synuclein` may.
fn may_begin(rest: &[char]) -> bool {
    let opening = |c: &char| matches!(c, '(' | '[' | '"' | '\'' | '“' | '‘' | '«' | '*' | '_');
    let word = &rest[rest.iter().take(4).take_while(|c| opening(c)).count()..];
    let Some(first) = word.first() else {
        return true;
    };
    if !first.is_lowercase() {
        return !matches!(first, ',' | ';' | ':' | '%' | '=' | '<' | '>' | '±');
    }
    let greek = matches!(first, 'α'..='ω');
    greek
        || word
            .iter()
            .take(12)
            .skip(1)
            .take_while(|c| !is_blank(**c))
            .any(|c| c.is_uppercase() || c.is_numeric())
}

/// Whether the dot at `dot` belongs to the word before it and does not end a sentence.
fn is_abbreviation(chars: &[char], start: usize, dot: usize, next_at: usize) -> bool {
    let Some(word_at) = word_start(chars, start, dot) else {
        return false;
    };
    let word: String = chars[word_at..dot].iter().collect();
    let lower = word.to_lowercase();
    let next: String = chars[next_at..]
        .iter()
        .take(WORD_REACH)
        .take_while(|c| !is_blank(**c))
        .collect();
    if word.is_empty() {
        return false;
    }
    if word_at == leading(chars, start) && is_enumerator(&word) {
        return true;
    }
    if NEVER_LAST.binary_search(&lower.as_str()).is_ok() {
        return true;
    }
    if BEFORE_NUMBER.binary_search(&lower.as_str()).is_ok() {
        return is_numberish(&next);
    }
    let begins_sentence = STARTERS
        .binary_search(&next.trim_end_matches([',', ';']))
        .is_ok();
    if MAYBE_LAST.binary_search(&lower.as_str()).is_ok() || is_dotted(&word) {
        return !begins_sentence;
    }
    if word.chars().count() == 1 && word.chars().all(char::is_uppercase) {
        // "J. Smith" goes on; "at 37 °C. We …" and "hepatitis C. The …" do not.
        if word_at > start && matches!(chars[word_at - 1], '°' | 'º' | '/') {
            return false;
        }
        let after_lower_case = word_at > start + 1 && chars[word_at - 2].is_lowercase();
        return !(begins_sentence && after_lower_case);
    }
    false
}

/// Where the word that ends at `dot` begins; `None` where it is too long to matter.
fn word_start(chars: &[char], start: usize, dot: usize) -> Option<usize> {
    let mut at = dot;
    while at > start && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '.') {
        at -= 1;
        if dot - at > WORD_REACH {
            return None;
        }
    }
    Some(at)
}

fn leading(chars: &[char], start: usize) -> usize {
    (start..chars.len())
        .find(|&i| !is_blank(chars[i]))
        .unwrap_or(start)
}

/// `1`, `12`, `IV`, `2.1`: what stands before the dot of a numbered heading or list item.
fn is_enumerator(word: &str) -> bool {
    let digits = word.len() <= 6
        && word
            .split('.')
            .all(|part| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()));
    let roman = word.len() <= 4 && word.bytes().all(|b| b"IVX".contains(&b));
    digits || roman
}

/// `5`, `S2`, `IV`, `A1`: what follows `Fig.` or `No.`
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
