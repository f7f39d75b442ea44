//! Numbers in digits: `3 400`, `1,284.5`, `6,82`, `−1.2`, `3 × 10³`.

use super::windows::{behind, in_front};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Longer runs of digits are keys or codes, not numbers.
const MOST_DIGITS: usize = 30;

/// Possible separators between groups of three digits.
const GAPS: [&str; 10] = [
    ",", "{,}", "\u{202f}", "\u{a0}", "\u{2009}", "\u{2007}", "\u{2006}", "'", "’", " ",
];

static TIMES_TEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:[eE](?P<e>[+-]?\d{1,2})\b|\s?(?:×|x|\*|·|\\times)\s?10\s?(?:\^\s?\{?\s?(?P<p>[-−–+]?\d{1,2})\}?|(?P<s>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})))",
    )
    .expect("the pattern is sound")
});
static POWER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\^\{?(?P<p>[-−–+]?\d{1,2})\}?|(?P<s>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2}))")
        .expect("the pattern is sound")
});

/// A number in digits.
pub(super) struct Written {
    /// Bytes of the text, without the sign.
    pub(super) span: Range<usize>,
    /// The absolute value.
    pub(super) value: f64,
    /// The value of one unit in the last digit.
    pub(super) step: f64,
    /// Whether it is negative, if it has a sign.
    pub(super) is_negative: Option<bool>,
    /// Whether it has thousands separators, like `1,284`, as amounts have and names do not.
    pub(super) is_grouped: bool,
    /// `1.4.2`
    pub(super) is_version: bool,
}

/// The digits read so far.
struct Digits {
    whole: String,
    decimals: String,
    end: usize,
    is_grouped: bool,
}

/// All numbers in digits. `is_labelled` returns whether there is a name before the number at a position.
pub(super) fn written(text: &str, is_labelled: impl Fn(usize) -> bool) -> Vec<Written> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find(|c: char| c.is_ascii_digit()) {
        let start = at + offset;
        let first = run(text, start);
        if let Some(end) = version_end(text, start + first) {
            found.push(version(text, start..end));
            at = end;
            continue;
        }
        let digits = digits(text, start, !is_labelled(start));
        at = digits.end;
        if let Some(one) = number(text, start, &digits) {
            at = one.span.end;
            found.push(one);
        }
    }
    found
}

/// The number of digits from a position on.
fn run(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes().get(at..).unwrap_or_default();
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// The end of a version such as `1.4.2` whose first digits end here; groups of three are an amount.
fn version_end(text: &str, first_end: usize) -> Option<usize> {
    let (mut end, mut dots, mut are_groups) = (first_end, 0, true);
    while text[end..].starts_with('.') && run(text, end + 1) > 0 {
        let length = run(text, end + 1);
        are_groups &= length == 3;
        end += 1 + length;
        dots += 1;
    }
    (dots > 1 && !are_groups).then_some(end)
}

fn version(text: &str, span: Range<usize>) -> Written {
    let head: String = text[span.clone()].chars().take(MOST_DIGITS).collect();
    let two: Vec<&str> = head.splitn(3, '.').take(2).collect();
    Written {
        value: two.join(".").parse().unwrap_or_default(),
        step: 1.0,
        is_negative: None,
        is_grouped: false,
        is_version: true,
        span,
    }
}

fn digits(text: &str, start: usize, may_hold_space: bool) -> Digits {
    let first = run(text, start);
    let mut digits = Digits {
        whole: text[start..start + first].to_owned(),
        decimals: String::new(),
        end: start + first,
        is_grouped: false,
    };
    let gap = gap_of_groups(text, start, first).filter(|gap| may_hold_space || *gap != " ");
    if let Some(gap) = gap {
        digits.is_grouped = true;
        while holds_group(text, digits.end, gap) && digits.whole.len() < MOST_DIGITS {
            let from = digits.end + gap.len();
            digits.whole.push_str(&text[from..from + 3]);
            digits.end = from + 3;
        }
    }
    let point = decimal_point(text, start, &digits, gap == Some("."));
    if let Some(point) = point {
        let from = digits.end + point;
        let length = run(text, from);
        digits.decimals = text[from..from + length].to_owned();
        digits.end = from + length;
    }
    digits
}

/// The separator between the groups of a number whose first group has `first` digits.
fn gap_of_groups(text: &str, start: usize, first: usize) -> Option<&'static str> {
    if first > 3 || text[start..].starts_with('0') {
        return None;
    }
    let end = start + first;
    let gap = GAPS.into_iter().find(|gap| holds_group(text, end, gap));
    // `1.234` has a fraction; `1.234.567` and `1.234,5` have thousands separators.
    gap.or_else(|| {
        let behind = text.get(end + 4..).unwrap_or_default();
        let has_fraction = behind.starts_with(',') && (1..3).contains(&run(text, end + 5));
        let goes_on = has_fraction || holds_group(text, end + 4, ".");
        (goes_on && holds_group(text, end, ".")).then_some(".")
    })
}

/// Whether the separator and exactly three digits are here.
fn holds_group(text: &str, at: usize, gap: &str) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(gap)) && run(text, at + gap.len()) == 3
}

/// The length of the decimal mark.
fn decimal_point(text: &str, start: usize, digits: &Digits, dots_group: bool) -> Option<usize> {
    let rest = &text[digits.end..];
    let is_raised = rest
        .strip_prefix('·')
        .is_some_and(|rest| !begins_with_power(rest));
    let is_point = (rest.starts_with('.') && !dots_group) || is_raised;
    if let Some(mark) = rest.chars().next().filter(|_| is_point) {
        return (run(text, digits.end + mark.len_utf8()) > 0).then_some(mark.len_utf8());
    }
    let length = run(text, digits.end + 1);
    let is_comma = rest.starts_with(',') && length > 0 && length != 3;
    // `1,2,3` is a list.
    let goes_on = text[digits.end..].get(1 + length..).is_some_and(|rest| {
        rest.strip_prefix(',')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    let before = text.as_bytes()[..start].last_chunk::<2>();
    let is_inner = before.is_some_and(|[digit, comma]| digit.is_ascii_digit() && *comma == b',');
    let has_other_groups = digits.is_grouped && !dots_group;
    (is_comma && !goes_on && !is_inner && !has_other_groups).then_some(1)
}

/// `10^3`, as in `2·10^3`.
fn begins_with_power(text: &str) -> bool {
    text.strip_prefix("10")
        .is_some_and(|rest| POWER.is_match(behind(rest, 0)))
}

fn number(text: &str, start: usize, digits: &Digits) -> Option<Written> {
    if digits.whole.len() + digits.decimals.len() > MOST_DIGITS {
        return None;
    }
    let is_bare_point = digits.decimals.is_empty() && begins_with_point(text, start);
    let (whole, decimals) = match is_bare_point {
        true => ("0", &digits.whole),
        false => (digits.whole.as_str(), &digits.decimals),
    };
    let mantissa: f64 = format!("{whole}.{decimals}0").parse().ok()?;
    let (exponent, length) = exponent(text, digits);
    let is_power = digits.whole == "10" && length > 0 && POWER.is_match(behind(text, digits.end));
    let mantissa = if is_power { 1.0 } else { mantissa };
    let scale = 10_f64.powi(exponent);
    Some(Written {
        span: start..digits.end + length,
        value: mantissa * scale,
        step: scale * 10_f64.powi(-i32::try_from(decimals.len()).unwrap_or(0)),
        is_negative: sign(text, start),
        is_grouped: digits.is_grouped,
        is_version: false,
    })
}

/// `.001`, without a digit before the point.
fn begins_with_point(text: &str, start: usize) -> bool {
    let mut before = in_front(text, start).chars().rev();
    matches!(before.next(), Some('.' | '·'))
        && before
            .next()
            .is_none_or(|c| c.is_whitespace() || "<>=≤≥≈~(+-−".contains(c))
}

/// The power of ten after a number, and its length in bytes.
fn exponent(text: &str, digits: &Digits) -> (i32, usize) {
    let rest = behind(text, digits.end);
    let is_ten = digits.whole == "10" && digits.decimals.is_empty();
    let found = TIMES_TEN
        .captures(rest)
        .or_else(|| POWER.captures(rest).filter(|_| is_ten));
    let Some(found) = found else {
        return (0, 0);
    };
    let group = |name| found.name(name).map(|hit| hit.as_str());
    let power = group("p").or(group("s")).or(group("e"));
    let power: String = power.unwrap_or_default().chars().map(plain).collect();
    match power.parse() {
        Ok(power) => (power, found[0].len()),
        Err(_) => (0, 0),
    }
}

/// A superscript as a plain character.
fn plain(c: char) -> char {
    let digit = "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|raised| raised == c);
    let digit = digit.and_then(|digit| char::from_digit(u32::try_from(digit).ok()?, 10));
    match c {
        '⁻' | '−' | '–' => '-',
        '⁺' => '+',
        _ => digit.unwrap_or(c),
    }
}

/// The sign before a number; a dash after a word or a number is not a sign.
fn sign(text: &str, start: usize) -> Option<bool> {
    let mut before = in_front(text, start).chars().rev();
    let is_negative = match before.next()? {
        '-' | '−' => true,
        '+' => false,
        _ => return None,
    };
    let stands_free = before
        .next()
        .is_none_or(|c| c.is_whitespace() || "([{=<>≤≥≈~,;:".contains(c));
    stands_free.then_some(is_negative)
}
