//! Numbers of a claim against the numbers of a source.

mod meets;
mod names;
mod units;
mod windows;
mod words;
mod written;

use crate::store::text::is_stop_word;
use meets::{Amount, is_change_by_ratio, is_moment, meets};
use names::{Label, Month};
use std::ops::Range;
use units::{Meaning, Unit};
use windows::{behind, in_front};
use words::Spoken;
use written::Written;

pattern!(
    ABOUT,
    r"(?i)(?:\b(?:about|around|nearly|almost|roughly|approximately|some|over|more than|at least|up to|under|fewer than|less than|close to|just|an estimated|circa|ca\.)|[~≈])\s*[$€£¥]?\s*$"
);
pattern!(
    BOUND,
    r"(?i)(?:(?P<most>\bat most|\b(?:no|not) more than|\bless than|\bfewer than|≤|<)|(?P<least>\bat least|\b(?:no|not) (?:less|fewer) than|\bmore than|≥|>))\s*[$€£¥]?\s*$"
);
pattern!(
    PROBABILITY,
    r"(?i)\bp(?:[- ]values?)?\s?(?:[<=>≤≥]|was|of|is|,)?\s?(?:<|≤|less than|below)?\s?\.?$"
);
pattern!(DASH, r"^\s?(?:[-–—/]|to)\s?[-−]?[$€£¥]?$");
pattern!(UNIT_BETWEEN, r"^[\s-]?\p{L}{1,7} $");
pattern!(AND, r"^ (?:and|or) [$€£¥]?$");
pattern!(BETWEEN, r"(?i)\b(?:between|from|either) [$€£¥]?$");

/// Tolerance for "about": "about 50" may be 48, and "a third" 35 per cent.
const ABOUT_SO: f64 = 0.06;
const IN_WORDS: f64 = 0.1;
/// Numbers in words up to this one are often an author's own count.
const OWN_COUNTS: f64 = 10.0;

/// Which side of a number the amount lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Least,
    Most,
}

/// A number that a text gives.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    /// The value, with "thousand" and "million" applied, in the unit that the text names.
    pub(super) value: f64,
    /// The value as written, without what follows the number.
    bare: f64,
    /// The value of one unit in the last digit.
    step: f64,
    /// Possible meanings in its context, the likeliest first.
    meanings: Vec<Meaning>,
    label: Option<Label>,
    /// The digits, for names.
    written: String,
    is_negative: Option<bool>,
    bound: Option<Bound>,
    /// The relative tolerance, if the surrounding words say that it is rounded.
    play: f64,
    /// `p < 0.05`
    is_probability: bool,
    /// Whether it is written in words.
    is_in_words: bool,
    /// The word before and the word after, lower case.
    around: [String; 2],
    /// Bytes of the text.
    pub(super) span: Range<usize>,
}

impl Quantity {
    fn of_digits(text: &str, digits: &Written) -> Self {
        let currency = units::currency_before(text, digits.span.start);
        let meanings = match digits.is_version || is_dated(text, digits) {
            true => Vec::new(),
            false => units::meanings(text, digits.span.end, currency),
        };
        let is_name = meanings.is_empty() && !digits.is_grouped && digits.is_negative.is_none();
        Self {
            label: names::label(text, &digits.span)
                .filter(|_| is_name)
                .or_else(|| digits.is_version.then(Label::of_version)),
            is_negative: digits.is_negative,
            step: digits.step,
            ..Self::new(text, digits.span.clone(), digits.value, meanings)
        }
    }

    fn of_words(text: &str, words: Spoken) -> Self {
        let is_own = words.meaning.is_some();
        let meanings = match words.meaning {
            Some(meaning) => vec![meaning],
            None => units::meanings(text, words.span.end, None),
        };
        let mut one = Self::new(text, words.span, words.value, meanings);
        one.step = words.step;
        one.written = words.value.to_string();
        one.is_in_words = true;
        if is_own {
            one.play = IN_WORDS;
        }
        one
    }

    fn of_month(text: &str, month: Month) -> Self {
        Self {
            label: Some(month.label),
            written: month.name,
            ..Self::new(text, month.span, 1.0, Vec::new())
        }
    }

    fn new(text: &str, span: Range<usize>, bare: f64, meanings: Vec<Meaning>) -> Self {
        let before = in_front(text, span.start).trim_end_matches(['-', '−', '+', '.', '·']);
        Self {
            value: bare * meanings.first().map_or(1.0, |meaning| meaning.scale),
            bare,
            step: 1.0,
            meanings,
            label: None,
            written: text[span.clone()].chars().take(40).collect(),
            is_negative: None,
            bound: bound(before),
            play: if ABOUT.is_match(before) {
                ABOUT_SO
            } else {
                0.0
            },
            is_probability: PROBABILITY.is_match(before),
            is_in_words: false,
            around: around(text, &span),
            span,
        }
    }

    fn has_unit(&self) -> bool {
        self.meanings.iter().any(|meaning| meaning.unit.is_some())
    }

    fn is_whole(&self) -> bool {
        self.step >= 1.0 && self.bare.fract() == 0.0
    }

    /// A year is not an amount.
    pub(super) fn is_year(&self) -> bool {
        self.meanings.is_empty()
            && self.label.is_none()
            && self.is_whole()
            && self.written.len() == 4
            && (1500.0..2200.0).contains(&self.value)
    }

    /// A year, a date or a time of day.
    pub(super) fn is_moment(&self) -> bool {
        let mut units = self
            .meanings
            .iter()
            .filter_map(|meaning| meaning.unit.as_ref());
        self.is_year() || units.any(is_moment)
    }

    /// Whether the number is part of a name: `Python 3.11`, `Table 2`.
    pub(super) fn is_name(&self) -> bool {
        self.label.is_some()
    }

    /// Whether the other number names the same kind of thing, and the kind is not one that a draft
    /// numbers itself.
    pub(super) fn is_renumbered(&self, other: &Self) -> bool {
        match (&self.label, &other.label) {
            (Some(label), Some(of_other)) => {
                label.word == of_other.word
                    && !label.word.is_empty()
                    && !label.is_place()
                    && !self.is_numbered_as(other)
            }
            _ => false,
        }
    }

    /// Whether it is a small number in words, or a share or a multiple in words: often the author's own.
    pub(super) fn may_be_own(&self) -> bool {
        let is_small = self.value <= OWN_COUNTS && !self.has_unit();
        let mut units = self
            .meanings
            .iter()
            .filter_map(|meaning| meaning.unit.as_ref());
        self.is_in_words && (is_small || units.any(Unit::is_relative))
    }

    /// Whether both count things of the same name or measure the same kind.
    pub(super) fn is_of_the_same(&self, other: &Self) -> bool {
        match (self.kind(), other.kind()) {
            (Some(kind), Some(of_other)) => kind == of_other,
            (None, None) => self.counts_the_same(other),
            _ => false,
        }
    }

    fn counts_the_same(&self, other: &Self) -> bool {
        let name = |quantity: &Self| quantity.around[1].trim_end_matches('s').to_owned();
        let (own, of_other) = (name(self), name(other));
        !own.is_empty() && !is_stop_word(&self.around[1]) && own == of_other
    }

    fn kind(&self) -> Option<&str> {
        let units = self.meanings.iter().map(|meaning| meaning.unit.as_ref());
        units.flatten().next().map(|unit| unit.kind.as_str())
    }

    /// `angiopoietin 2`, `phase 3`: the number with the word before it, as a name.
    pub(super) fn as_name(&self) -> Option<String> {
        if let Some(label) = &self.label {
            return Some(format!("{} {}", label.word, self.written));
        }
        let is_small = self.meanings.is_empty() && self.is_whole() && self.value < 1000.0;
        let before = &self.around[0];
        let is_noun = before.chars().count() > 2 && !is_stop_word(before);
        (is_small && is_noun).then(|| format!("{before} {}", self.value))
    }

    /// Whether both have the same digits or, for the same name, one is a prefix of the other:
    /// `3.11` and `3.11.2`.
    fn is_numbered_as(&self, other: &Self) -> bool {
        let begins = |long: &str, short: &str| {
            long.strip_prefix(short)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        let (own, of_other) = (&self.written, &other.written);
        let is_part = self.label == other.label && (begins(own, of_other) || begins(of_other, own));
        own == of_other || is_part
    }

    /// Whether this number can stand for the source's number.
    pub(super) fn is_met_by(&self, other: &Self) -> bool {
        let is_listed = |one: &Self| one.label.as_ref().is_some_and(|label| label.is_listed);
        if self.is_name() && self.is_numbered_as(other) {
            return true;
        }
        if is_listed(self) || is_listed(other) || self.opposes(other) {
            return false;
        }
        if self.is_probability && other.is_probability && self.bound == Some(Bound::Most) {
            return other.bare <= self.bare;
        }
        let amounts = self.amounts();
        let others = other.amounts();
        // P = 0.88 is not a ratio.
        let is_change = |a, b| !other.is_probability && is_change_by_ratio(a, b, self.play);
        let is_met = |a| {
            let mut others = others.iter();
            others.any(|b| meets(a, b, self.play) || is_change(a, b))
        };
        amounts.iter().any(is_met)
    }

    /// Whether one is a minimum and the other a maximum, or one is below zero and the other above.
    fn opposes(&self, other: &Self) -> bool {
        let has_other_bound = matches!((self.bound, other.bound), (Some(a), Some(b)) if a != b);
        let is_warmth = |one: &Self| matches!(one.kind(), Some("°C" | "°F"));
        let has_other_sign = match (self.is_negative, other.is_negative) {
            (Some(a), Some(b)) => a != b,
            // "Fell by 3.2" is −3.2 as a change, but 5 °C is not −5 °C.
            (a, b) => {
                is_warmth(self) && is_warmth(other) && a.unwrap_or(false) != b.unwrap_or(false)
            }
        };
        has_other_bound || has_other_sign
    }

    fn amounts(&self) -> Vec<Amount<'_>> {
        if self.meanings.is_empty() {
            return vec![Amount {
                value: self.bare,
                step: self.step,
                unit: None,
            }];
        }
        let amounts = self.meanings.iter().map(|meaning| Amount {
            value: self.bare * meaning.scale,
            step: self.step * meaning.scale,
            unit: meaning.unit.as_ref(),
        });
        amounts.collect()
    }

    fn set_meanings(&mut self, meanings: Vec<Meaning>) {
        self.value = self.bare * meanings.first().map_or(1.0, |meaning| meaning.scale);
        self.meanings = meanings;
        self.label = None;
    }
}

fn bound(before: &str) -> Option<Bound> {
    let found = BOUND.captures(before)?;
    let is_most = found.name("most").is_some();
    Some(if is_most { Bound::Most } else { Bound::Least })
}

/// The numbers of a text, except those inside names (`HbA1c`, `TIMI-53`) and addresses.
pub(super) fn quantities(text: &str) -> Vec<Quantity> {
    let mut taken = names::addresses(text);
    let mut moments = names::moments(text);
    moments.retain(|moment| is_free(&taken, moment.span.start));
    taken.extend(moments.iter().map(|moment| moment.span.clone()));
    taken.sort_by_key(|span| span.start);
    let mut rates = words::rates(text);
    rates.retain(|rate| is_free(&taken, rate.span.start));
    taken.extend(rates.iter().map(|rate| rate.span.clone()));
    taken.sort_by_key(|span| span.start);
    let moments = moments
        .into_iter()
        .map(|moment| Quantity::new(text, moment.span, moment.value, vec![moment.meaning]));
    let mut found: Vec<Quantity> = moments.collect();
    found.extend(in_digits(text, &taken));
    found.extend(rates.into_iter().map(|rate| Quantity::of_words(text, rate)));
    let months = names::months(text).into_iter();
    found.extend(months.map(|month| Quantity::of_month(text, month)));
    let spoken = words::spoken(text).into_iter();
    let spoken = spoken.filter(|words| is_free(&taken, words.span.start));
    found.extend(spoken.map(|words| Quantity::of_words(text, words)));
    found.sort_by_key(|one| one.span.start);
    share_units(text, &mut found);
    join_times(text, found)
}

/// Whether a position is outside all of the spans, which are in order.
fn is_free(taken: &[Range<usize>], at: usize) -> bool {
    let next = taken.partition_point(|span| span.end <= at);
    taken.get(next).is_none_or(|span| at < span.start)
}

fn in_digits(text: &str, taken: &[Range<usize>]) -> Vec<Quantity> {
    let mut found = Vec::new();
    let mut last_name: Option<(Label, usize)> = None;
    for digits in written::written(text, |at| names::is_listed(text, at)) {
        let is_tail = last_name
            .as_ref()
            .is_some_and(|(_, end)| is_tail(&text[*end..digits.span.start]));
        let mut one = Quantity::of_digits(text, &digits);
        if !is_free(taken, digits.span.start) || is_tail || is_in_a_word(text, &digits, &one) {
            if is_tail {
                last_name = last_name.map(|(label, _)| (label, digits.span.end));
            }
            continue;
        }
        one.share_name(text, last_name.as_ref());
        last_name = one.label.clone().map(|label| (label, digits.span.end));
        found.push(one);
    }
    found
}

impl Quantity {
    /// `Tables 2 and 3` are two tables.
    fn share_name(&mut self, text: &str, last: Option<&(Label, usize)>) {
        let Some((label, end)) = last else {
            return;
        };
        let is_bare = self.label.is_none() && self.meanings.is_empty();
        if is_bare && label.is_listed && names::goes_on(&text[*end..self.span.start]) {
            self.label = Some(label.clone());
        }
    }
}

/// `:2015` of `ISO 9001:2015`, `-1` of `IEC 60601-1`.
fn is_tail(between: &str) -> bool {
    matches!(between, ":" | "-")
}

/// `GPT4`, `COVID-19`, `12th`, `1,2-diol`.
fn is_in_a_word(text: &str, digits: &Written, quantity: &Quantity) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() || c == '_');
    let mut before = in_front(text, digits.span.start).chars().rev();
    let last = before.next();
    let is_hyphened = matches!(last, Some('-' | '‐' | '‑')) && is_letter(before.next());
    let mut after = behind(text, digits.span.end).chars();
    let next = after.next();
    let is_locant = next == Some('-') && is_letter(after.next());
    let is_list = is_locant && text[digits.span.clone()].contains(',') && !digits.is_grouped;
    let is_begun = is_letter(next) && quantity.meanings.is_empty() && !is_dated(text, digits);
    is_letter(last) || is_hyphened || is_begun || is_list
}

/// `1990s`, and the year of "in 2019 A. Roe", in which "A" is not the unit ampere.
fn is_dated(text: &str, digits: &Written) -> bool {
    let mut rest = behind(text, digits.span.end).chars();
    let (first, second) = (rest.next(), rest.next());
    let third = if first == Some('s') {
        second
    } else {
        rest.next()
    };
    let is_letter = first == Some('s')
        || (first.is_some_and(char::is_whitespace) && second.is_some_and(char::is_alphabetic));
    let is_year = digits.span.len() == 4 && (1500.0..2200.0).contains(&digits.value);
    is_year && is_letter && !third.is_some_and(char::is_alphanumeric)
}

/// "5–7 %" and "$5–7 million": a unit next to one end of a range applies to both.
fn share_units(text: &str, found: &mut [Quantity]) {
    for at in (1..found.len()).rev() {
        let (first, second) = found.split_at_mut(at);
        let (Some(first), Some(second)) = (first.last_mut(), second.first_mut()) else {
            continue;
        };
        if !is_range(text, first, second) {
            continue;
        }
        let has_scale = |one: &Quantity| one.meanings.iter().any(|meaning| meaning.scale > 1.0);
        if first.meanings.is_empty() && first.bare < 1000.0 {
            first.set_meanings(second.meanings.clone());
        } else if first.has_unit() && !has_scale(first) && !second.has_unit() {
            let shared = scaled(first, second);
            first.set_meanings(shared.clone());
            second.set_meanings(shared);
        } else if first.kind() == second.kind() && has_scale(second) && !has_scale(first) {
            // "$3 to $5 million" may begin at three million.
            let mut meanings = first.meanings.clone();
            meanings.extend(scaled(first, second));
            first.set_meanings(meanings);
        }
    }
}

/// The meanings of the first number, scaled to the thousands or millions of the second.
fn scaled(first: &Quantity, second: &Quantity) -> Vec<Meaning> {
    let scale = second.meanings.first().map_or(1.0, |meaning| meaning.scale);
    let mut shared = first.meanings.clone();
    shared.iter_mut().for_each(|meaning| meaning.scale = scale);
    shared
}

/// "1 h 14 min" is one time: both parts get the combined value.
fn join_times(text: &str, found: Vec<Quantity>) -> Vec<Quantity> {
    let mut all: Vec<Quantity> = Vec::with_capacity(found.len());
    for one in found {
        let joined = all.last().and_then(|last| joined(text, last, &one));
        match (joined, all.last_mut()) {
            (Some(joined), Some(last)) => *last = joined,
            _ => all.push(one),
        }
    }
    all
}

fn joined(text: &str, first: &Quantity, second: &Quantity) -> Option<Quantity> {
    let factor = |one: &Quantity| {
        let unit = one.meanings.first()?.unit.as_ref()?;
        (unit.kind == "time" && !one.is_moment()).then_some(unit.factor)
    };
    let (larger, smaller) = (factor(first)?, factor(second)?);
    let between = text.get(first.span.end..second.span.start)?;
    let is_next = larger > smaller && first.is_whole() && UNIT_BETWEEN.is_match(between);
    let bare = first.bare * larger / smaller + second.bare;
    is_next.then(|| Quantity {
        value: bare,
        bare,
        span: first.span.start..second.span.end,
        play: first.play,
        bound: first.bound,
        ..second.clone()
    })
}

fn is_range(text: &str, first: &Quantity, second: &Quantity) -> bool {
    let Some(between) = text.get(first.span.end..second.span.start) else {
        return false;
    };
    let is_amount = |one: &Quantity| !one.is_name() && !one.is_moment();
    let is_joined = DASH.is_match(between)
        || (AND.is_match(between) && BETWEEN.is_match(in_front(text, first.span.start)));
    is_joined && is_amount(first) && is_amount(second)
}

/// The words before and after a span.
fn around(text: &str, span: &Range<usize>) -> [String; 2] {
    let is_edge = |c: char| !c.is_alphanumeric();
    let word = |word: Option<&str>| {
        let word = word.unwrap_or_default().trim_matches(is_edge);
        word.to_lowercase()
    };
    [
        word(in_front(text, span.start).split_whitespace().next_back()),
        word(behind(text, span.end).split_whitespace().next()),
    ]
}

#[cfg(test)]
mod tests;
