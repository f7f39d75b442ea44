//! Right-to-left scripts: converts lines from visual order to logical order.

use unicode_normalization::UnicodeNormalization;

/// Whether a character is written from right to left.
pub(super) fn is_rtl(c: char) -> bool {
    matches!(c,
        '\u{590}'..='\u{65f}' | '\u{66a}'..='\u{6ef}' | '\u{6fa}'..='\u{8ff}'
        | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}')
        && !is_mark(c)
}

/// Whether most letters of a text are written from right to left.
pub(super) fn is_mostly_rtl(text: &str) -> bool {
    let rtl = text.chars().filter(|c| is_rtl(*c)).count();
    rtl > 0 && 2 * rtl >= text.chars().filter(|c| c.is_alphabetic()).count()
}

/// Whether a character is a combining mark.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}'
        | '\u{5c4}'..='\u{5c5}' | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}'
        | '\u{670}' | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}'..='\u{6e8}'
        | '\u{6ea}'..='\u{6ed}')
}

/// The role of a character in the bidirectional order of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BidiClass {
    Right,
    Left,
    Digit,
    /// Occurs inside numbers.
    Separator,
    Neutral,
}

fn kind_of(unit: &str) -> BidiClass {
    if unit.chars().any(is_rtl) {
        return BidiClass::Right;
    }
    match unit.chars().next() {
        Some(c) if c.is_numeric() || matches!(c, '%' | '٪' | '$' | '€' | '°') => {
            BidiClass::Digit
        }
        Some(c) if c.is_alphabetic() => BidiClass::Left,
        Some('.' | ',' | ':' | '/' | '-' | '+' | '%' | '٪' | '$' | '€' | '°') => {
            BidiClass::Separator
        }
        _ => BidiClass::Neutral,
    }
}

/// The text of a line whose characters are given in visual order, from left to right.
pub(super) fn logical(units: Vec<String>) -> String {
    let kinds: Vec<BidiClass> = units.iter().map(|unit| kind_of(unit)).collect();
    let count = |kind: BidiClass| kinds.iter().filter(|k| **k == kind).count();
    let mut out: Vec<String> = Vec::with_capacity(units.len());
    if count(BidiClass::Right) >= count(BidiClass::Left) {
        read_right_to_left(&units, &kinds, &mut out);
    } else {
        let mut at = 0;
        while at < units.len() {
            let length = rtl_length(&kinds[at..]);
            if length > 0 {
                read_right_to_left(&units[at..at + length], &kinds[at..at + length], &mut out);
            } else {
                out.push(units[at].clone());
            }
            at += length.max(1);
        }
    }
    composed(&out.concat())
}

/// Length of the right-to-left run that begins here, up to its last right-to-left character.
fn rtl_length(kinds: &[BidiClass]) -> usize {
    if kinds.first() != Some(&BidiClass::Right) {
        return 0;
    }
    let run = kinds.iter().take_while(|kind| **kind != BidiClass::Left);
    let last = run
        .enumerate()
        .filter(|(_, kind)| **kind == BidiClass::Right)
        .last();
    last.map_or(0, |(at, _)| at + 1)
}

fn read_right_to_left(units: &[String], kinds: &[BidiClass], out: &mut Vec<String>) {
    let mut end = units.len();
    while end > 0 {
        let start = ltr_start(&kinds[..end]);
        if start < end {
            out.extend(units[start..end].iter().cloned());
            end = start;
        } else {
            end -= 1;
            out.push(mirrored(&units[end]));
        }
    }
}

/// The start of the left-to-right run that ends with the last of these.
fn ltr_start(kinds: &[BidiClass]) -> usize {
    let whole = kinds.len();
    if !matches!(kinds.last(), Some(BidiClass::Left | BidiClass::Digit)) {
        return whole;
    }
    let back = |stop: fn(BidiClass) -> bool| {
        kinds
            .iter()
            .rposition(|kind| stop(*kind))
            .map_or(0, |at| at + 1)
    };
    let mut start = back(|kind| kind == BidiClass::Right);
    if !kinds[start..].contains(&BidiClass::Left) {
        // Only numbers: each is a separate run.
        start = back(|kind| !matches!(kind, BidiClass::Digit | BidiClass::Separator));
    }
    let begins = |kind: &BidiClass| matches!(kind, BidiClass::Left | BidiClass::Digit);
    start + kinds[start..].iter().position(begins).unwrap_or(0)
}

fn mirrored(unit: &str) -> String {
    let one = |c: char| match c {
        '(' => ')',
        ')' => '(',
        '[' => ']',
        ']' => '[',
        '{' => '}',
        '}' => '{',
        '<' => '>',
        '>' => '<',
        '«' => '»',
        '»' => '«',
        other => other,
    };
    unit.chars().map(one).collect()
}

/// Replaces the presentation forms of Arabic letters by the letters themselves.
fn composed(text: &str) -> String {
    let is_form = |c: char| matches!(c, '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}');
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_form(c) {
            // An isolated mark is shown over a space or a line, which is not part of a word.
            out.extend(c.nfkc().skip_while(|c| matches!(c, ' ' | '\u{640}')));
        } else {
            out.push(c);
        }
    }
    out
}
