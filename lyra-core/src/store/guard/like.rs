//! LIKE and GLOB with SQLite's semantics, in at most pattern × text time and with checks of the
//! deadline; SQLite's own functions backtrack for minutes on a hostile pattern.

/// A compiled pattern: pieces between the wildcards for any text.
#[derive(Debug)]
pub(super) struct LikePattern {
    pieces: Vec<PatternPiece>,
    /// Whether ASCII letters match in either case: LIKE does, GLOB does not.
    ignore_case: bool,
    /// The last piece is invalid (an escape without a character, a class without an end) and matches
    /// nothing.
    broken: bool,
}

/// A run of tokens, each of which matches one character.
#[derive(Debug, Default)]
struct PatternPiece {
    tokens: Vec<PatternToken>,
    /// The bytes of the piece, if it has no wildcards.
    literal: Option<Vec<u8>>,
}

#[derive(Debug)]
enum PatternToken {
    Character(u32),
    Any,
    Class {
        ranges: Vec<(u32, u32)>,
        negated: bool,
    },
}

/// The deadline passed while a pattern was being matched.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Late;

/// Comparisons between two checks of the deadline: about a millisecond.
const WORK_PER_CHECK: usize = 400_000;

impl LikePattern {
    /// `%` is any text, `_` any character, and `escape` makes the next one literal.
    pub(super) fn like(pattern: &[u8], escape: Option<char>) -> Self {
        let mut pieces = vec![Vec::new()];
        let mut broken = false;
        let mut characters = Characters::of(pattern);
        while let Some(character) = characters.next() {
            if escape.is_some_and(|e| e as u32 == character) {
                match characters.next() {
                    Some(literal) => push(&mut pieces, PatternToken::Character(fold(literal))),
                    None => broken = true,
                }
            } else if character == u32::from(b'%') {
                pieces.push(Vec::new());
            } else if character == u32::from(b'_') {
                push(&mut pieces, PatternToken::Any);
            } else {
                push(&mut pieces, PatternToken::Character(fold(character)));
            }
        }
        Self::new(pieces, true, broken)
    }

    /// `*` is any text, `?` any character, `[a-z]` one of a class, `[^a-z]` one outside it.
    pub(super) fn glob(pattern: &[u8]) -> Self {
        let mut pieces = vec![Vec::new()];
        let mut broken = false;
        let mut characters = Characters::of(pattern);
        while let Some(character) = characters.next() {
            match u8::try_from(character) {
                Ok(b'*') => pieces.push(Vec::new()),
                Ok(b'?') => push(&mut pieces, PatternToken::Any),
                Ok(b'[') => match class(&mut characters) {
                    Some(token) => push(&mut pieces, token),
                    None => broken = true,
                },
                _ => push(&mut pieces, PatternToken::Character(character)),
            }
        }
        Self::new(pieces, false, broken)
    }

    fn new(pieces: Vec<Vec<PatternToken>>, ignore_case: bool, broken: bool) -> Self {
        let pieces = pieces
            .into_iter()
            .map(|tokens| PatternPiece {
                literal: literal_of(&tokens),
                tokens,
            })
            .collect();
        Self {
            pieces,
            ignore_case,
            broken,
        }
    }

    /// Whether the whole text matches. `is_late` is called about every millisecond.
    ///
    /// The first piece is anchored at the start and the last at the end; those between are matched from
    /// left to right at the leftmost position, which leaves the most room for the rest.
    pub(super) fn matches(&self, text: &[u8], is_late: impl Fn() -> bool) -> Result<bool, Late> {
        if self.broken {
            return Ok(false);
        }
        let Some((first, rest)) = self.pieces.split_first() else {
            return Ok(text.is_empty());
        };
        let Some(mut position) = self.piece_at(first, text, 0) else {
            return Ok(false);
        };
        let Some((last, middle)) = rest.split_last() else {
            return Ok(position == text.len());
        };
        let mut work = 0;
        for piece in middle {
            match self.find(piece, text, position, &mut work, &is_late)? {
                Some(end) => position = end,
                None => return Ok(false),
            }
        }
        Ok(self.ends_with(last, text, position))
    }

    /// The end of the leftmost match of a piece at or after `position`.
    fn find(
        &self,
        piece: &PatternPiece,
        text: &[u8],
        mut position: usize,
        work: &mut usize,
        is_late: &impl Fn() -> bool,
    ) -> Result<Option<usize>, Late> {
        if piece.tokens.is_empty() {
            return Ok(Some(position));
        }
        loop {
            if let Some(first) = piece.literal.as_ref().and_then(|l| l.first()) {
                match self.next_candidate(*first, &text[position..]) {
                    Some(distance) => {
                        *work += distance / 16;
                        position += distance;
                    }
                    None => return Ok(None),
                }
            }
            if let Some(end) = self.piece_at(piece, text, position) {
                return Ok(Some(end));
            }
            if position >= text.len() {
                return Ok(None);
            }
            position += character_at(text, position).1;
            *work += 1 + piece.tokens.len();
            if *work > WORK_PER_CHECK {
                *work = 0;
                if is_late() {
                    return Err(Late);
                }
            }
        }
    }

    fn next_candidate(&self, first: u8, text: &[u8]) -> Option<usize> {
        if self.ignore_case {
            let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
            text.iter().position(|b| *b == lower || *b == upper)
        } else {
            text.iter().position(|b| *b == first)
        }
    }

    /// The end of a piece that begins at `position`.
    fn piece_at(&self, piece: &PatternPiece, text: &[u8], mut position: usize) -> Option<usize> {
        if let Some(literal) = &piece.literal {
            let window = text.get(position..position + literal.len())?;
            let equal = if self.ignore_case {
                window.eq_ignore_ascii_case(literal)
            } else {
                window == &literal[..]
            };
            return equal.then_some(position + literal.len());
        }
        for token in &piece.tokens {
            if position >= text.len() {
                return None;
            }
            let (character, length) = character_at(text, position);
            if !self.token_matches(token, character) {
                return None;
            }
            position += length;
        }
        Some(position)
    }

    fn token_matches(&self, token: &PatternToken, character: u32) -> bool {
        match token {
            PatternToken::Any => true,
            PatternToken::Character(expected) if self.ignore_case => fold(character) == *expected,
            PatternToken::Character(expected) => character == *expected,
            PatternToken::Class { ranges, negated } => {
                ranges
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&character))
                    != *negated
            }
        }
    }

    /// Whether the text from `position` on ends with a piece: it must have as many characters as the
    /// piece has tokens.
    fn ends_with(&self, piece: &PatternPiece, text: &[u8], position: usize) -> bool {
        let mut start = text.len();
        for _ in &piece.tokens {
            if start <= position {
                return false;
            }
            start -= 1;
            while start > position && is_continuation(text[start]) {
                start -= 1;
            }
        }
        self.piece_at(piece, text, start) == Some(text.len())
    }
}

fn push(pieces: &mut [Vec<PatternToken>], token: PatternToken) {
    if let Some(piece) = pieces.last_mut() {
        piece.push(token);
    }
}

/// The bytes of a piece without wildcards.
fn literal_of(tokens: &[PatternToken]) -> Option<Vec<u8>> {
    let mut literal = String::new();
    for token in tokens {
        match token {
            PatternToken::Character(character) => literal.push(char::from_u32(*character)?),
            PatternToken::Any | PatternToken::Class { .. } => return None,
        }
    }
    Some(literal.into_bytes())
}

/// Reads a class after its `[`: a leading `^` negates, a leading `]` is a member, and `-` between
/// two members is a range.
fn class(characters: &mut Characters<'_>) -> Option<PatternToken> {
    let mut ranges = Vec::new();
    let mut current = characters.next()?;
    let negated = current == u32::from(b'^');
    if negated {
        current = characters.next()?;
    }
    if current == u32::from(b']') {
        ranges.push((current, current));
        current = characters.next()?;
    }
    let mut previous = None;
    while current != u32::from(b']') {
        let range_end = characters.peek().filter(|next| *next != u32::from(b']'));
        match (previous.take(), range_end) {
            (Some(low), Some(high)) if current == u32::from(b'-') => {
                characters.next();
                ranges.push((low, high));
            }
            _ => {
                ranges.push((current, current));
                previous = Some(current);
            }
        }
        current = characters.next()?;
    }
    Some(PatternToken::Class { ranges, negated })
}

/// The characters of a pattern. Invalid UTF-8 is decoded as SQLite does: a lead byte and all
/// continuation bytes that follow.
struct Characters<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Characters<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    fn peek(&self) -> Option<u32> {
        (self.position < self.bytes.len()).then(|| character_at(self.bytes, self.position).0)
    }
}

impl Iterator for Characters<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.position >= self.bytes.len() {
            return None;
        }
        let (character, length) = character_at(self.bytes, self.position);
        self.position += length;
        Some(character)
    }
}

/// The character that begins at `position`, which is inside the text, and its length in bytes.
fn character_at(text: &[u8], position: usize) -> (u32, usize) {
    let lead = text[position];
    if lead < 0x80 {
        return (u32::from(lead), 1);
    }
    let bits = match lead {
        0xF0.. => lead & 0x07,
        0xE0.. => lead & 0x0F,
        _ => lead & 0x1F,
    };
    let mut character = u32::from(bits);
    let mut length = 1;
    while let Some(byte) = text.get(position + length).filter(|b| is_continuation(**b)) {
        character = (character << 6) | u32::from(byte & 0x3F);
        length += 1;
    }
    (character, length)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

fn fold(character: u32) -> u32 {
    u8::try_from(character).map_or(character, |byte| u32::from(byte.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rusqlite::{Connection, params};

    fn is(pattern: &LikePattern, text: &str) -> bool {
        pattern.matches(text.as_bytes(), || false).unwrap()
    }

    /// SQLite's own answer, from a connection on which nothing is replaced.
    fn sqlite(sql: &str, text: &str, pattern: &str, escape: Option<char>) -> bool {
        thread_local! {
            #[allow(clippy::disallowed_methods, reason = "a bare SQLite to compare with")]
            static BARE: Connection = Connection::open_in_memory().unwrap();
        }
        BARE.with(|c| {
            let mut statement = c.prepare(sql).unwrap();
            let answer = match escape {
                Some(e) => statement.query_row(params![text, pattern, e.to_string()], |r| r.get(0)),
                None => statement.query_row(params![text, pattern], |r| r.get(0)),
            };
            answer.unwrap()
        })
    }

    #[test]
    fn known_pairs() {
        for (pattern, text, like, glob) in [
            ("", "", true, true),
            ("%", "", true, false),
            ("*", "abc", false, true),
            ("a%c", "ABBC", true, false),
            ("a*c", "abbc", false, true),
            ("_", "é", true, false),
            ("?", "é", false, true),
            ("%É%", "xéx", false, false),
            ("%糖尿病%", "2型糖尿病の", true, false),
            ("*[0-9]*", "a5b", false, true),
            ("[^a]", "b", false, true),
            ("[]]", "]", false, true),
            ("[a", "a", false, false),
            ("%ab%ab", "xabab", true, false),
            ("%ab%ab", "xab", false, false),
        ] {
            assert_eq!(
                is(&LikePattern::like(pattern.as_bytes(), None), text),
                like,
                "{pattern} {text}"
            );
            assert_eq!(
                is(&LikePattern::glob(pattern.as_bytes()), text),
                glob,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn a_pattern_made_to_backtrack_stops_at_the_deadline() {
        let text = "a".repeat(250_000);
        let pattern = format!("%{}b%", "a_".repeat(62));
        let asked = std::cell::Cell::new(0);
        let late = || {
            asked.set(asked.get() + 1);
            asked.get() > 3
        };
        let matched = LikePattern::like(pattern.as_bytes(), None).matches(text.as_bytes(), late);
        assert!(matched.is_err());
        assert_eq!(asked.get(), 4, "it ends where it is late first");
    }

    const TEXT: &str = "[aAbBéÉ日\\-%_*?\\[\\]^!xz.]{0,10}";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn like_is_sqlites(text in TEXT, pattern in TEXT) {
            let ours = is(&LikePattern::like(pattern.as_bytes(), None), &text);
            prop_assert_eq!(ours, sqlite("SELECT ?1 LIKE ?2", &text, &pattern, None));
        }

        #[test]
        fn glob_is_sqlites(text in TEXT, pattern in TEXT) {
            let ours = is(&LikePattern::glob(pattern.as_bytes()), &text);
            prop_assert_eq!(ours, sqlite("SELECT ?1 GLOB ?2", &text, &pattern, None));
        }

        #[test]
        fn escape_is_sqlites(
            text in TEXT,
            pattern in TEXT,
            escape in prop::sample::select(vec!['-', '%', '_', 'a', 'é']),
        ) {
            let ours = is(&LikePattern::like(pattern.as_bytes(), Some(escape)), &text);
            let theirs = sqlite("SELECT ?1 LIKE ?2 ESCAPE ?3", &text, &pattern, Some(escape));
            prop_assert_eq!(ours, theirs);
        }
    }
}
