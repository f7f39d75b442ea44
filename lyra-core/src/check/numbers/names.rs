//! Numbers that are part of names: `Python 3.11`, `RFC 9110`, `Table 2`, `12 March`, `3 p.m.`

use super::units::{Meaning, Unit};
use super::windows::{behind, in_front};
use crate::store::text::is_stop_word;
use std::ops::Range;

pattern!(
    ADDRESS,
    r"(?i)[a-z][a-z+]{1,9}://\S+|\bwww\.\S+|\b(?:doi|arxiv|pmid|isbn|issn):?\s?[\d.\-/]*\d\S*|\b10\.\d{4,9}/\S+"
);
/// Month names as written in running text and in capitals; "may" and "march" are ordinary words.
const MONTH: &str = "(?:Jan(?:uary)?|JAN(?:UARY)?|Feb(?:ruary)?|FEB(?:RUARY)?|Mar(?:ch)?|MAR(?:CH)?|Apr(?:il)?|APR(?:IL)?|May|MAY|June?|JUNE?|July?|JULY?|Aug(?:ust)?|AUG(?:UST)?|Sept?(?:ember)?|SEPT?(?:EMBER)?|Oct(?:ober)?|OCT(?:OBER)?|Nov(?:ember)?|NOV(?:EMBER)?|Dec(?:ember)?|DEC(?:EMBER)?)";
pattern!(
    DATE,
    &format!(
        r"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{MONTH})\b|(?P<first>{MONTH})\.? (?P<second>\d{{1,2}})(?:st|nd|rd|th)?\b|(?P<y>\d{{4}})-(?P<m>\d{{2}})-(?P<d>\d{{2}})\b)"
    )
);
pattern!(
    MONTH_OF_YEAR,
    &format!(
        r"\b(?P<month>{MONTH})\.?,? (?:(?:of )?|\d{{1,2}}(?:st|nd|rd|th)?,? )(?P<year>\d{{4}})\b|\b(?P<y>\d{{4}})-(?P<m>\d{{2}})\b"
    )
);
pattern!(
    CLOCK,
    r"\b(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))? ?(?P<half>[ap])\.?m\b|\b(?P<h>\d{1,2}):(?P<min>\d{2})\b"
);
pattern!(
    LISTED,
    r"(?i)(?:^|[^\p{L}])(?P<label>tables?|fig(?:ure)?s?\.?|sections?|sec\.|§§?|chapters?|chap\.|ch\.|pages?|pp?\.|lines?|steps?|appendi(?:x|ces)|annex|equations?|eqs?\.|box|panels?|footnotes?|notes?|slides?|examples?|listing|algorithm|articles?|arts?\.|paragraphs?|para\.|phases?|types?|stages?|grades?|versions?|releases?|clauses?|rules?|vol(?:ume)?\.?|issue|no\.|nos\.|schedule|tier|category|class)[ \u{a0}~]?\(?$"
);
pattern!(
    CAPITAL,
    r"(?:^|[\s(/“‘\x22])(?P<label>\p{Lu}[\p{L}\d+#.]*\p{L}[\p{L}\d+#]*)[ \u{a0}]v?$"
);
pattern!(GOES_ON, r"^(?: (?:and|or|to) | ?[-–&] ?)$");
pattern!(
    OF_MANY,
    r"^ (?:people|women|men|children|patients|persons|\p{Ll}{3,}s)\b"
);

/// Words for a draft's own numbered parts. A number that differs there is not a fault.
const PLACES: &[&str] = &[
    "table",
    "fig",
    "figure",
    "section",
    "sec",
    "§",
    "chapter",
    "chap",
    "ch",
    "page",
    "p",
    "pp",
    "line",
    "step",
    "appendix",
    "appendice",
    "annex",
    "equation",
    "eq",
    "box",
    "panel",
    "footnote",
    "note",
    "slide",
    "example",
    "listing",
    "algorithm",
    "no",
];

/// Words before a statistic, whose number is not a name.
const STATISTICS: &[&str] = &[
    "HR", "OR", "RR", "AOR", "AHR", "ARR", "IRR", "SHR", "CI", "SD", "SE", "SEM", "IQR", "AUC",
    "AUROC", "BMI", "ICC", "PPV", "NPV", "NNT", "NNH", "MD", "SMD", "WMD", "RMSE", "MAE", "MSE",
    "IQ", "GDP", "MMSE", "ES", "PR", "EF", "LVEF",
];

/// Bodies and series whose four digits are not a year.
const SERIES: &[&str] = &[
    "RFC", "ISO", "IEC", "IEEE", "PEP", "EN", "DIN", "ANSI", "ASTM", "BS", "NIST", "RAL",
];

/// Words that may be capitalised before an amount.
const BEFORE_AMOUNTS: &[&str] = &[
    "about",
    "above",
    "additionally",
    "after",
    "all",
    "almost",
    "among",
    "another",
    "approximately",
    "around",
    "before",
    "below",
    "between",
    "both",
    "circa",
    "every",
    "exactly",
    "fewer",
    "first",
    "just",
    "last",
    "less",
    "many",
    "more",
    "nearly",
    "next",
    "only",
    "other",
    "over",
    "overall",
    "roughly",
    "since",
    "some",
    "today",
    "total",
    "under",
    "until",
    "within",
    "yet",
    "median",
    "mean",
    "average",
    "age",
    "aged",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The word that makes a number a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    /// In lower case and singular.
    pub(super) word: String,
    /// Whether the word is in the list, like `table` or `phase`: the number after it is not an amount.
    pub(super) is_listed: bool,
}

impl Label {
    /// The label of `1.4.2`, which needs no word.
    pub(super) fn of_version() -> Self {
        Self {
            word: String::new(),
            is_listed: true,
        }
    }

    pub(super) fn is_place(&self) -> bool {
        PLACES.contains(&self.word.as_str())
    }
}

/// Addresses and identifiers, whose digits do not count as numbers.
pub(super) fn addresses(text: &str) -> Vec<Range<usize>> {
    ADDRESS.find_iter(text).map(|hit| hit.range()).collect()
}

/// Whether there is a listed name before the number at this position.
pub(super) fn is_listed(text: &str, at: usize) -> bool {
    LISTED.is_match(in_front(text, at))
}

/// The word that makes a number a name.
pub(super) fn label(text: &str, span: &Range<usize>) -> Option<Label> {
    let before = in_front(text, span.start);
    if let Some(found) = LISTED.captures(before) {
        let word = found["label"].to_lowercase();
        let word = word.trim_end_matches('.');
        return Some(Label {
            word: word.strip_suffix('s').unwrap_or(word).to_owned(),
            is_listed: true,
        });
    }
    let word = CAPITAL.captures(before)?;
    let word = &word["label"];
    let digits = &text[span.clone()];
    let is_acronym = word.chars().filter(|c| c.is_uppercase()).count() > 1;
    let is_year = digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"));
    let lower = word.to_lowercase();
    let is_common = is_stop_word(&lower) || BEFORE_AMOUNTS.contains(&lower.as_str());
    if is_common || STATISTICS.contains(&word) || (is_year && !SERIES.contains(&word)) {
        return None;
    }
    // "In London 45 nurses" counts them.
    if !is_acronym && OF_MANY.is_match(behind(text, span.end)) {
        return None;
    }
    Some(Label {
        word: lower,
        is_listed: false,
    })
}

/// Whether a number after another one shares its name: `Tables 2 and 3`.
pub(super) fn goes_on(between: &str) -> bool {
    GOES_ON.is_match(between)
}

/// A date or a time of day.
pub(super) struct Moment {
    pub(super) span: Range<usize>,
    pub(super) value: f64,
    pub(super) meaning: Meaning,
}

fn moment(span: Range<usize>, value: f64, kind: &str) -> Moment {
    Moment {
        span,
        value,
        meaning: Meaning {
            scale: 1.0,
            unit: Some(Unit::new(kind, 1.0)),
        },
    }
}

/// Dates and times of day.
pub(super) fn moments(text: &str) -> Vec<Moment> {
    let mut found = dates(text);
    found.extend(clocks(text));
    found
}

/// The first letters of a month, from its name or its number.
fn month(name: Option<&str>, digits: Option<&str>) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    if let Some(name) = name {
        return Some(name[..3].to_lowercase());
    }
    let place: usize = digits?.parse().ok()?;
    MONTHS
        .get(place.checked_sub(1)?)
        .map(|name| (*name).to_owned())
}

fn dates(text: &str) -> Vec<Moment> {
    let mut found = Vec::new();
    for hit in DATE.captures_iter(text) {
        let group = |a, b| {
            hit.name(a)
                .or_else(|| hit.name(b))
                .map(|group| group.as_str())
        };
        let name = month(group("month", "first"), group("m", "m"));
        let day = group("day", "second").or(group("d", "d"));
        let day: Option<u8> = day.and_then(|day| day.parse().ok());
        let (Some(name), Some(day), Some(all)) = (name, day, hit.get(0)) else {
            continue;
        };
        if !(1..32).contains(&day) || stands_in_number(text, &all.range()) {
            continue;
        }
        // The year is a separate number.
        let start = hit.name("m").map_or(all.start(), |month| month.start());
        found.push(moment(
            start..all.end(),
            f64::from(day),
            &format!("date {name}"),
        ));
    }
    found
}

/// A name without a number in digits.
pub(super) struct Month {
    pub(super) span: Range<usize>,
    pub(super) label: Label,
    pub(super) name: String,
}

/// `May 2014`: the month as a name within its year.
pub(super) fn months(text: &str) -> Vec<Month> {
    let hits = MONTH_OF_YEAR.captures_iter(text).filter_map(|hit| {
        let group = |name| hit.name(name).map(|group| group.as_str());
        let name = month(group("month"), group("m"))?;
        let year = group("year").or(group("y"))?;
        let span = hit.name("month").or_else(|| hit.name("m"))?.range();
        let word = format!("month of {year}");
        let label = Label {
            word,
            is_listed: true,
        };
        Some(Month { span, label, name })
    });
    hits.collect()
}

fn clocks(text: &str) -> Vec<Moment> {
    let mut found = Vec::new();
    for hit in CLOCK.captures_iter(text) {
        let number = |a, b| {
            let group = hit.name(a).or_else(|| hit.name(b));
            group.and_then(|group| group.as_str().parse::<usize>().ok())
        };
        let (Some(hour), Some(all)) = (number("hour", "h"), hit.get(0)) else {
            continue;
        };
        let minute = number("minute", "min").unwrap_or(0);
        if hour > 24 || minute > 59 || stands_in_number(text, &all.range()) {
            continue;
        }
        // A 12-hour clock: a time without "p.m." may be in either half of the day.
        let minutes = (hour % 12) * 60 + minute;
        found.push(moment(all.range(), minutes as f64, "clock"));
    }
    found
}

/// Whether there are digits, or a mark between digits, directly next to a span.
fn stands_in_number(text: &str, span: &Range<usize>) -> bool {
    let is_mark = |c: char| matches!(c, '.' | ',' | ':' | '/' | '$' | '€' | '£');
    let before = text[..span.start].ends_with(is_mark);
    let mut after = text[span.end..].chars();
    let first = after.next();
    let goes_on = first.is_some_and(is_mark) && after.next().is_some_and(|c| c.is_ascii_digit());
    before || goes_on || first == Some('%')
}
