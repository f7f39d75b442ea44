//! Numbers in words: `twenty-five`, `two million`, `two thirds`, `doubled`.

use super::units::{Meaning, Unit, meanings};
use super::windows::{behind, in_front};
use crate::store::text::number_of_one;
use std::ops::Range;

pattern!(WORD, r"[A-Za-z]+");
pattern!(
    PART,
    r"(?i)\b(?P<count>an?|one|two|three|four|five|seven|nine)[ -](?P<part>half|third|quarter|fifth|sixth|eighth|tenth)(?P<many>s?)\b|\bhalf\b"
);
pattern!(
    HALVES,
    r"(?i)\b(?:(?P<count>one|two|three|four|five|six|seven|eight|nine|ten) and a half|half an?)\b"
);
// "A third of the nurses" is a share; "a third nurse" and "a quarter of an hour" are not.
pattern!(
    OF_WHOLE,
    r"(?i)^ (?:of (?:the|all|those|these|them|its|their|our|his|her|\p{L}+s\b)|the|as|all)\b"
);
pattern!(
    OF_TIME,
    r"(?i)^ of (?:an?|the (?:hour|year|day|century|mile|\d))\b"
);
pattern!(
    RATE,
    r"(?i)\b(?:(?P<count>[1-9]\d?|one|two|three|four|five|six|seven|eight|nine) (?:in|out of)(?: every)? (?P<whole>1(?:00,?000|0?,?000|00)|[1-9]\d?|three|four|five|six|seven|eight|nine|ten|twenty|a hundred|a thousand)|(?P<over>[1-9])/(?P<under>[2-9]|10)(?P<part> of))\b"
);
pattern!(BY, r"(?i)\b(?:by|in|to|than) $");
pattern!(
    AT_END,
    r"^(?:[.,;:)]|$| (?:to|in|from|over|after|since|between|during|compared|when|and)\b)"
);
pattern!(
    NO_SHARE,
    r"(?i)\b(?:first|second|third|fourth|other|latter|\p{L}+(?:er|ern)|last|top|bottom|final|this|each|and a) $"
);
pattern!(
    MULTIPLE,
    r"(?i)\b(?:(?P<two>doubl(?:ed|es|ing)|twofold|(?:twice|double) (?:as|the|that|its|their))|(?P<three>(?:tripl|trebl)(?:ed|es|ing)|threefold|triple (?:the|that|its|their))|(?P<four>quadrupl(?:ed|es|ing)|fourfold)|(?P<five>fivefold)|(?P<ten>tenfold)|(?P<half>halv(?:ed|es|ing)))\b"
);

/// A number in words.
pub(super) struct Spoken {
    pub(super) span: Range<usize>,
    pub(super) value: f64,
    /// The value of one unit in its last word.
    pub(super) step: f64,
    /// A share or a multiple; for other numbers the unit follows.
    pub(super) meaning: Option<Meaning>,
}

/// All numbers in words, from "two" on.
pub(super) fn spoken(text: &str) -> Vec<Spoken> {
    let mut found = parts(text);
    found.extend(multiples(text));
    found.extend(halves(text));
    found.sort_by_key(|one| one.span.start);
    let is_free = |span: &Range<usize>| {
        let next = found.partition_point(|one: &Spoken| one.span.end <= span.start);
        found.get(next).is_none_or(|one| span.end <= one.span.start)
    };
    let mut counts = counts(text);
    counts.retain(|one| is_free(&one.span));
    found.extend(counts);
    found
}

fn of_kind(span: Range<usize>, kind: &str, value: f64) -> Spoken {
    Spoken {
        span,
        value,
        step: if kind == "share" { 0.01 } else { 0.1 },
        meaning: Some(Meaning {
            scale: 1.0,
            unit: Some(Unit::new(kind, 1.0)),
        }),
    }
}

/// `a third of`, `three quarters`, `by half`.
fn parts(text: &str) -> Vec<Spoken> {
    let hits = PART.captures_iter(text).filter_map(|hit| {
        let span = hit.get(0)?.range();
        let (before, after) = (in_front(text, span.start), behind(text, span.end));
        let is_clear = OF_WHOLE.is_match(after) || (BY.is_match(before) && AT_END.is_match(after));
        if OF_TIME.is_match(after) || NO_SHARE.is_match(before) || after.starts_with('-') {
            return None;
        }
        let Some(part) = hit.name("part") else {
            return is_clear.then(|| of_kind(span, "share", 0.5));
        };
        let count = hit["count"].to_lowercase();
        let count = match count.as_str() {
            "a" | "an" if is_clear => 1.0,
            "a" | "an" => return None,
            one => number_of_one(one)?.parse().ok()?,
        };
        let whole = match part.as_str().to_lowercase().as_str() {
            "half" => 2.0,
            "third" => 3.0,
            "quarter" => 4.0,
            "fifth" => 5.0,
            "sixth" => 6.0,
            "eighth" => 8.0,
            _ => 10.0,
        };
        let is_plural = !hit["many"].is_empty();
        (count < whole && is_plural == (count > 1.0)).then(|| of_kind(span, "share", count / whole))
    });
    hits.collect()
}

/// `4 in 10`, `one out of five`, `2/3 of`: a share. "Four in ten years" is not one.
pub(super) fn rates(text: &str) -> Vec<Spoken> {
    let number = |found: Option<regex::Match<'_>>| -> Option<f64> {
        let digits = found?.as_str().to_lowercase().replace(',', "");
        match digits.as_str() {
            "a hundred" => Some(100.0),
            "a thousand" => Some(1_000.0),
            one => number_of_one(one)
                .unwrap_or_else(|| one.to_owned())
                .parse()
                .ok(),
        }
    };
    let hits = RATE.captures_iter(text).filter_map(|hit| {
        let span = hit.get(0)?.range();
        let count = number(hit.name("count").or_else(|| hit.name("over")))?;
        let whole = number(hit.name("whole").or_else(|| hit.name("under")))?;
        let span = span.start..span.end - hit.name("part").map_or(0, |of| of.len());
        let is_measured = !meanings(text, span.end, None).is_empty();
        let follows_digits = in_front(text, span.start).ends_with(['.', ',', '/', '-']);
        let mut after = behind(text, span.end).chars();
        let goes_on = matches!(after.next(), Some('.' | ',' | '/'))
            && after.next().is_some_and(|c| c.is_ascii_digit());
        let is_share = count < whole && !is_measured && !follows_digits && !goes_on;
        is_share.then(|| of_kind(span, "share", count / whole))
    });
    hits.collect()
}

/// `half an hour`, `two and a half years`: the unit follows.
fn halves(text: &str) -> Vec<Spoken> {
    let hits = HALVES.captures_iter(text).filter_map(|hit| {
        let span = hit.get(0)?.range();
        let whole: f64 = match hit.name("count") {
            Some(count) => number_of_one(&count.as_str().to_lowercase())?
                .parse()
                .ok()?,
            None if meanings(text, span.end, None).is_empty() => return None,
            None => 0.0,
        };
        Some(Spoken {
            span,
            value: whole + 0.5,
            step: 0.1,
            meaning: None,
        })
    });
    hits.collect()
}

/// `doubled`, `twice as many`, `halved`.
fn multiples(text: &str) -> Vec<Spoken> {
    let hits = MULTIPLE.captures_iter(text).filter_map(|hit| {
        let names = [
            ("two", 2.0),
            ("three", 3.0),
            ("four", 4.0),
            ("five", 5.0),
            ("ten", 10.0),
            ("half", 0.5),
        ];
        let value = names.iter().find(|(name, _)| hit.name(name).is_some())?.1;
        Some(of_kind(hit.get(0)?.range(), "times", value))
    });
    hits.collect()
}

#[derive(Clone, Copy)]
enum NumberWord {
    Ones(f64),
    Tens(f64),
    Hundred,
    /// A thousand or more.
    Scale(f64),
    Dozen,
    And,
    Article,
}

fn part(word: &str) -> Option<NumberWord> {
    if word.len() > 9 {
        return None;
    }
    let lower = word.to_lowercase();
    match lower.as_str() {
        "a" => return Some(NumberWord::Article),
        "and" => return Some(NumberWord::And),
        "dozen" => return Some(NumberWord::Dozen),
        "million" => return Some(NumberWord::Scale(1e6)),
        "billion" => return Some(NumberWord::Scale(1e9)),
        _ => {}
    }
    let value: f64 = number_of_one(&lower)?.parse().ok()?;
    let kind = match value {
        _ if value < 20.0 => NumberWord::Ones(value),
        _ if value < 100.0 => NumberWord::Tens(value),
        _ if value < 1_000.0 => NumberWord::Hundred,
        _ => NumberWord::Scale(value),
    };
    (value >= 1.0).then_some(kind)
}

/// A number that is being read.
#[derive(Default)]
struct PartialNumber {
    /// The part in thousands or more.
    large: f64,
    /// The part below a thousand.
    small: Option<f64>,
    step: f64,
    is_after_article: bool,
    is_after_and: bool,
    /// Where the last word of the number ended.
    end: usize,
    words: usize,
}

impl PartialNumber {
    /// Accepts a word, or returns false if it does not belong to the number.
    fn take(&mut self, part: NumberWord, end: usize) -> bool {
        let small = self.small.unwrap_or(0.0);
        let is_round = small % 100.0 == 0.0;
        let counted = if self.is_after_article {
            Some(1.0)
        } else {
            self.small
        };
        match part {
            NumberWord::Article if self.words == 0 && !self.is_after_article => {
                self.is_after_article = true;
                return true;
            }
            NumberWord::And if !self.is_after_and && self.is_whole_hundred() => {
                self.is_after_and = true;
                return true;
            }
            _ if self.is_after_article
                && matches!(part, NumberWord::Ones(_) | NumberWord::Tens(_)) =>
            {
                return false;
            }
            NumberWord::Ones(n)
                if is_round || (n < 10.0 && small % 100.0 >= 20.0 && small % 10.0 == 0.0) =>
            {
                self.small = Some(small + n);
                self.step = 1.0;
            }
            NumberWord::Tens(n) if is_round => {
                self.small = Some(small + n);
                self.step = 1.0;
            }
            NumberWord::Hundred if counted.is_some_and(|n| (1.0..100.0).contains(&n)) => {
                self.small = counted.map(|n| n * 100.0);
            }
            NumberWord::Dozen if counted.is_some_and(|n| n <= 20.0) => {
                self.small = counted.map(|n| n * 12.0);
            }
            NumberWord::Scale(scale) if counted.is_some() => {
                self.large += counted.unwrap_or(1.0) * scale;
                self.small = None;
                self.step = scale;
            }
            _ => return false,
        }
        self.is_after_article = false;
        self.is_after_and = false;
        self.end = end;
        self.words += 1;
        true
    }

    /// "Two hundred and five", but not "five and two".
    fn is_whole_hundred(&self) -> bool {
        match self.small {
            Some(small) => small > 0.0 && small % 100.0 == 0.0,
            None => self.large > 0.0,
        }
    }

    fn value(&self) -> f64 {
        self.large + self.small.unwrap_or(0.0)
    }
}

fn counts(text: &str) -> Vec<Spoken> {
    let mut found = Vec::new();
    let mut reading: Option<(usize, PartialNumber)> = None;
    let mut last_end = 0;
    for word in WORD.find_iter(text) {
        let part = part(word.as_str()).filter(|_| stands_alone(text, &word.range()));
        let is_next = matches!(&text[last_end..word.start()], " " | "-" | "\u{a0}");
        last_end = word.end();
        let goes_on = match (&mut reading, part) {
            (Some((_, reading)), Some(part)) if is_next => reading.take(part, word.end()),
            _ => false,
        };
        if goes_on {
            continue;
        }
        found.extend(
            reading
                .take()
                .and_then(|(start, reading)| count(text, start, &reading)),
        );
        let mut begun = PartialNumber {
            step: 1.0,
            ..PartialNumber::default()
        };
        if part.is_some_and(|part| begun.take(part, word.end())) {
            reading = Some((word.start(), begun));
        }
    }
    found.extend(reading.and_then(|(start, reading)| count(text, start, &reading)));
    found
}

/// Whether it is not part of `one2` or of a word with accents.
fn stands_alone(text: &str, span: &Range<usize>) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    !text[..span.start].ends_with(is_of_word) && !text[span.end..].starts_with(is_of_word)
}

/// "One" alone is often a pronoun, and "half a dozen" is not a dozen.
fn count(text: &str, start: usize, reading: &PartialNumber) -> Option<Spoken> {
    let value = reading.value();
    let is_half = in_front(text, start).to_lowercase().ends_with("half ");
    (reading.words > 0 && value > 1.0 && !is_half).then_some(Spoken {
        span: start..reading.end,
        value,
        step: reading.step,
        meaning: None,
    })
}
