//! Text to tokens: words with a light stem, numbers, Japanese terms, and the cue each one carries.
//!
//! Everything that the claim extractor knows about a text starts here. Scanning is by hand, one pass, no regular expression.

use super::lexicon::{self, Cue};

/// What a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word of a script with spaces.
    Word,
    /// A name-like word: an acronym, a gene, anything with a digit or an inner capital.
    Symbol,
    /// A number; `lower` holds its plain decimal form.
    Number,
    /// A piece of Chinese or Japanese text: a term, a cue or a bigram.
    Cjk,
    /// A punctuation mark.
    Punct,
}

/// One token.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    /// Lower-cased text; a number's plain decimal form.
    pub(super) lower: String,
    /// What two spellings of one word share.
    pub(super) stem: String,
    /// What it is made of.
    pub(super) kind: Kind,
    /// What it says about polarity, if anything.
    pub(super) cue: Cue,
    /// How much sharing it says about being on one topic; 0 for function words and marks.
    pub(super) weight: f64,
    /// A number followed by a percent sign.
    pub(super) percent: bool,
}

impl Token {
    /// Whether sharing this token says something about being on one topic.
    pub(super) fn is_content(&self) -> bool {
        self.weight > 0.0
    }
}

/// The tokens of a text, in order.
pub(super) fn tokenize(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().map(fold_char).collect();
    let mut tokens = Vec::with_capacity(chars.len() / 5 + 4);
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        at = if is_cjk(c) {
            read_cjk(&chars, at, &mut tokens)
        } else if c.is_ascii_digit() && reads_as_number(&chars, at) {
            read_number(&chars, at, &mut tokens)
        } else if c.is_alphanumeric() {
            read_word(&chars, at, &mut tokens)
        } else {
            read_mark(&chars, at, &mut tokens)
        };
    }
    make_falls_of_people_events(&mut tokens);
    tokens
}

/// In "the risk of falls" and "fewer falls" somebody falls; in "glucose falls" a quantity does, and
/// only that is a direction.
fn make_falls_of_people_events(tokens: &mut [Token]) {
    const BEFORE: [&str; 16] = [
        "of",
        "for",
        "from",
        "to",
        "with",
        "by",
        "after",
        "and",
        "or",
        "about",
        "recurrent",
        "injurious",
        "accidental",
        "prevent",
        "prevents",
        "risk",
    ];
    for at in 0..tokens.len() {
        if tokens[at].lower != "falls" {
            continue;
        }
        let is_people = match at.checked_sub(1).map(|before| &tokens[before]) {
            None => true,
            Some(before) => before.cue.is_event() || BEFORE.contains(&before.lower.as_str()),
        };
        if is_people {
            tokens[at].cue = Cue::None;
            tokens[at].weight = tokens[at].weight.max(1.0);
        }
    }
}

/// Full-width forms, typographic dashes and quotes to their plain counterparts.
fn fold_char(c: char) -> char {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{00B7}' | '\u{2027}' | '\u{22C5}' => '·',
        '\u{3000}' | '\u{00A0}' | '\u{2009}' | '\u{202F}' => ' ',
        other => other,
    }
}

/// Whether a character belongs to Chinese or Japanese writing.
pub(super) fn is_cjk(c: char) -> bool {
    is_han(c) || is_katakana(c) || is_hiragana(c)
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '々' | '〆')
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30A1}'..='\u{30FA}' | 'ー' | '\u{31F0}'..='\u{31FF}')
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309F}')
}

/// Reads a maximal stretch of CJK text: known terms first, then katakana words and Han bigrams.
fn read_cjk(chars: &[char], start: usize, out: &mut Vec<Token>) -> usize {
    if let Some((length, term)) = lexicon::japanese_term(&chars[start..]) {
        let lower: String = chars[start..start + length].iter().collect();
        push_japanese_term(lower, term, out);
        return start + length;
    }
    let same_script: fn(char) -> bool = if is_han(chars[start]) {
        is_han
    } else if is_katakana(chars[start]) {
        is_katakana
    } else {
        return start + 1;
    };
    let mut end = start + 1;
    while end < chars.len()
        && same_script(chars[end])
        && lexicon::japanese_term(&chars[end..]).is_none()
    {
        end += 1;
    }
    let run = &chars[start..end];
    if is_katakana(chars[start]) || run.len() <= 2 {
        push_cjk(run.iter().collect(), run.len(), out);
    } else {
        for pair in run.windows(2) {
            push_cjk(pair.iter().collect(), 2, out);
        }
    }
    end
}

fn push_cjk(lower: String, length: usize, out: &mut Vec<Token>) {
    // A single character is a counter or half a word more often than a word.
    let weight = if length == 1 {
        0.3
    } else {
        lexicon::cjk_weight(&lower)
    };
    out.push(Token {
        stem: lower.clone(),
        lower,
        kind: Kind::Cjk,
        cue: Cue::None,
        weight,
        percent: false,
    });
}

fn push_japanese_term(lower: String, term: &lexicon::JapaneseTerm, out: &mut Vec<Token>) {
    if term.english.is_empty() {
        out.push(Token {
            stem: lower.clone(),
            lower,
            kind: Kind::Cjk,
            cue: term.cue,
            weight: 0.0,
            percent: false,
        });
        return;
    }
    // A term with an English counterpart becomes that counterpart, so that texts in the two
    // languages can be compared; the cue belongs to the first of its words.
    for (i, word) in term.english.iter().enumerate() {
        let stem = lexicon::canonical(stem(word)).to_owned();
        let weight = lexicon::word_weight(word, &stem);
        let cue = if i == 0 { term.cue } else { Cue::None };
        out.push(Token {
            lower: (*word).to_owned(),
            stem,
            kind: Kind::Cjk,
            cue,
            weight,
            percent: false,
        });
    }
}

/// How far a number is followed; longer ones are no numbers that anybody reports.
const NUMBER_REACH: usize = 24;

/// A digit starts a number unless letters follow it directly ("5-HT" and "3xTg" are names).
fn reads_as_number(chars: &[char], start: usize) -> bool {
    let digits = chars[start..]
        .iter()
        .take(NUMBER_REACH)
        .take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '·'))
        .count();
    let at = start + digits;
    match chars.get(at) {
        Some(c) if c.is_alphabetic() && !is_cjk(*c) => false,
        Some('-') => {
            let capital = |i: usize| chars.get(i).is_some_and(|c| c.is_uppercase());
            !(digits == 1 && capital(at + 1) && capital(at + 2))
        }
        _ => true,
    }
}

fn read_number(chars: &[char], start: usize, out: &mut Vec<Token>) -> usize {
    let mut text = String::new();
    let mut at = start;
    while at < chars.len() {
        let next_is_digit = chars.get(at + 1).is_some_and(char::is_ascii_digit);
        match chars[at] {
            d if d.is_ascii_digit() => text.push(d),
            '.' | '·' if next_is_digit && !text.contains('.') => text.push('.'),
            ',' if is_thousands_separator(chars, at) => {}
            _ => break,
        }
        at += 1;
    }
    let percent = chars.get(at) == Some(&'%')
        || (chars.get(at) == Some(&' ') && chars.get(at + 1) == Some(&'%'));
    out.push(Token {
        stem: text.clone(),
        lower: text,
        kind: Kind::Number,
        cue: Cue::None,
        weight: 0.0,
        percent,
    });
    at
}

/// A comma with exactly three digits behind it and none of the list spacing.
fn is_thousands_separator(chars: &[char], at: usize) -> bool {
    let digits = chars[at + 1..]
        .iter()
        .take(4)
        .take_while(|c| c.is_ascii_digit())
        .count();
    digits == 3
}

fn read_word(chars: &[char], start: usize, out: &mut Vec<Token>) -> usize {
    let mut end = start;
    while end < chars.len() && !is_cjk(chars[end]) {
        let c = chars[end];
        let joins = matches!(c, '-' | '\'' | '/')
            && end > start
            && chars
                .get(end + 1)
                .is_some_and(|n| n.is_alphanumeric() && !is_cjk(*n))
            && joins_name(chars, start, end);
        if !(c.is_alphanumeric() || joins) {
            break;
        }
        end += 1;
    }
    let raw: String = chars[start..end]
        .iter()
        .filter(|c| !matches!(c, '-' | '/'))
        .collect();
    push_word(&raw, end - start, out);
    end
}

/// A hyphen belongs to a name when a digit or capitals stand beside it: "DPP-4", "IL-1", "COX-2";
/// an apostrophe belongs to its word ("didn't", "Alzheimer's").
fn joins_name(chars: &[char], start: usize, at: usize) -> bool {
    if chars[at] == '\'' {
        return true;
    }
    if chars[at] == '/' {
        return false;
    }
    let before = &chars[start..at];
    let after_is_digit = chars[at + 1].is_ascii_digit();
    let short_name = before.len() <= 6 && before.iter().any(|c| c.is_uppercase());
    let after_length = chars[at + 1..]
        .iter()
        .take(4)
        .take_while(|c| c.is_alphanumeric() && !is_cjk(**c))
        .count();
    (after_is_digit && short_name && after_length <= 3)
        || (before.len() == 1 && before[0].is_ascii_digit())
}

fn push_word(raw: &str, length: usize, out: &mut Vec<Token>) {
    let mut lower = raw.to_lowercase();
    if let Some(base) = lower.strip_suffix("n't") {
        let base = base.to_owned();
        out.push(word_token(base, Kind::Word));
        lower = "not".to_owned();
    } else if let Some(base) = lower.strip_suffix("'s") {
        lower = base.to_owned();
    }
    let has_digit = raw.chars().any(|c| c.is_ascii_digit());
    let capitals = raw.chars().filter(|c| c.is_uppercase()).count();
    let inner_capital = raw.chars().skip(1).any(char::is_uppercase);
    // A long word in capitals is a heading ("CONCLUSIONS"), not a name.
    let symbol =
        length >= 2 && (has_digit || (inner_capital && !(capitals == length && length > 6)));
    out.push(word_token(
        lower,
        if symbol { Kind::Symbol } else { Kind::Word },
    ));
}

fn word_token(lower: String, kind: Kind) -> Token {
    let base = stem(&lower);
    let cue = lexicon::cue(&lower, base);
    let mut stemmed = match kind {
        Kind::Symbol => lower
            .strip_suffix('s')
            .filter(|s| s.len() >= 3)
            .unwrap_or(&lower),
        _ => base,
    };
    stemmed = lexicon::canonical(stemmed);
    let stemmed = stemmed.to_owned();
    let weight = match kind {
        Kind::Symbol if !lexicon::is_stop_word(&lower) => 1.5,
        _ => lexicon::word_weight(&lower, &stemmed),
    };
    Token {
        lower,
        stem: stemmed,
        kind,
        cue,
        weight,
        percent: false,
    }
}

fn read_mark(chars: &[char], at: usize, out: &mut Vec<Token>) -> usize {
    let mark = match chars[at] {
        '。' | '．' | '｡' => "。",
        '、' | '，' | '､' => "、",
        ',' => ",",
        '.' => ".",
        ';' => ";",
        ':' => ":",
        '(' | '[' | '（' | '［' => "(",
        ')' | ']' | '）' | '］' => ")",
        '?' => "?",
        '!' => "!",
        '-' | '~' | '〜' | '～' => "-",
        '<' | '≤' | '≦' => "<",
        '>' | '≥' | '≧' => ">",
        '=' => "=",
        _ => return at + 1,
    };
    out.push(Token {
        lower: mark.to_owned(),
        stem: String::new(),
        kind: Kind::Punct,
        cue: Cue::None,
        weight: 0.0,
        percent: false,
    });
    at + 1
}

/// Endings that light stemming removes, longest first; at least four characters must stay.
const ENDINGS: &[&str] = &[
    "izations", "isations", "ization", "isation", "ically", "ations", "ation", "ating", "ional",
    "izing", "ising", "ities", "ments", "ively", "ingly", "ated", "ates", "ized", "ised", "izes",
    "ises", "ions", "ives", "ical", "ally", "ment", "ness", "edly", "ate", "ion", "ive", "ing",
    "ity", "ics", "ies", "ous", "ize", "ise", "ic", "ed", "es", "al", "ly", "y", "s", "e",
];

/// The part of a lower-cased English word that its forms share: "hospitalised" and
/// "hospitalization" both give "hospital".
pub(super) fn stem(word: &str) -> &str {
    if !word.is_ascii() {
        return word;
    }
    let last = word.as_bytes().last();
    for ending in ENDINGS {
        // Nearly all endings fall out here, without a call to compare them.
        if ending.as_bytes().last() == last
            && let Some(rest) = word.strip_suffix(ending)
            && rest.len() >= 4
            && !(*ending == "s" && rest.ends_with('s'))
        {
            return rest;
        }
    }
    word.strip_suffix('s')
        .filter(|r| r.len() >= 3 && !r.ends_with(['s', 'u', 'i']))
        .unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_their_stem() {
        for forms in [
            &["hospitalization", "hospitalised", "hospitalizations"][..],
            &["increase", "increased", "increasing", "increases"],
            &["inhibits", "inhibited", "inhibition", "inhibiting"],
            &["risk", "risks"],
            &["diabetes", "diabetic"],
        ] {
            let stems: Vec<&str> = forms.iter().map(|w| stem(w)).collect();
            assert!(stems.iter().all(|s| *s == stems[0]), "{forms:?} {stems:?}");
        }
        assert_ne!(stem("glucose"), stem("glucagon"));
    }

    #[test]
    fn texts_become_tokens() {
        let cases = [
            ("DPP-4 inhibitors", "dpp4 inhibitors"),
            ("COVID-19, IL-6", "covid19 , il6"),
            ("a meta-analysis", "a meta - analysis"),
            ("didn't", "did not"),
            ("1,234 of 0·83–1.20", "1234 of 0.83 - 1.20"),
            ("Ｈ２Ｏ", "h2o"),
            ("血糖値が上昇した", "glucose 値 上昇"),
            ("サキサグリプチン", "サキサグリプチン"),
        ];
        for (text, expected) in cases {
            let found: Vec<String> = tokenize(text).into_iter().map(|t| t.lower).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
