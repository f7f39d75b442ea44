//! Parses the dates found in documents into ISO form.

use regex::Regex;
use std::sync::LazyLock;

/// The first year from 1000 to 2999 at the start of a date.
pub(super) fn year_in(date: &str) -> Option<i64> {
    let year: i64 = date.get(..4)?.parse().ok()?;
    (1000..3000).contains(&year).then_some(year)
}

/// `2021-3-4`, `2021/03/04` or `2021-03-04T10:00Z` as `2021-03-04`; `2021-03` and `2021` too.
pub(super) fn iso_date(text: &str) -> Option<String> {
    static DATE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*(\d{4})(?:[-/.年](\d{1,2})(?:[-/.月](\d{1,2}))?)?(?:\D|$)")
            .expect("the pattern is a constant")
    });
    let found = DATE.captures(text)?;
    let mut date = found[1].to_owned();
    year_in(&date)?;
    for (group, most) in [(2, 12u32), (3, 31)] {
        let Some(part) = found
            .get(group)
            .and_then(|m| m.as_str().parse::<u32>().ok())
        else {
            break;
        };
        if !(1..=most).contains(&part) {
            return None;
        }
        date.push_str(&format!("-{part:02}"));
    }
    Some(date)
}

/// `3 May 2020`, `May 3, 2020` or `May 2020` in ISO form. Months are in English, in full or
/// abbreviated to three letters. If only the year of a date is certain (`03/05/2020`), the result
/// is the year.
pub(super) fn written_date(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |word: &str| word.chars().all(|c| c.is_ascii_digit());
    let mut years = words
        .iter()
        .filter(|word| word.len() == 4 && is_number(word));
    let year = years.next().filter(|year| year_in(year).is_some())?;
    if years.next().is_some() {
        return None;
    }
    let month_of = |word: &&str| {
        let is_it =
            |month: &&str| **month == **word || (word.len() == 3 && month.starts_with(*word));
        let or_sept = if *word == "sept" { Some(8) } else { None };
        MONTHS.iter().position(is_it).or(or_sept)
    };
    let Some(month) = words.iter().find_map(month_of) else {
        return words
            .iter()
            .all(|word| is_number(word))
            .then(|| (*year).to_owned());
    };
    let day_of = |word: &&str| {
        let suffix = ["st", "nd", "rd", "th"].iter();
        let digits = suffix.copied().find_map(|suffix| word.strip_suffix(suffix));
        let day = digits.unwrap_or(word).parse::<u32>().ok()?;
        (1..=31).contains(&day).then_some(day)
    };
    let day = words.iter().find_map(day_of);
    // A date with any further word is not understood.
    if words.len() != 2 + usize::from(day.is_some()) {
        return None;
    }
    let month = month + 1;
    Some(match day {
        Some(day) => format!("{year}-{month:02}-{day:02}"),
        None => format!("{year}-{month:02}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_one_form() {
        let dates = [
            ("2021/3/4", Some("2021-03-04")),
            ("2021-03-04T10:00:00Z", Some("2021-03-04")),
            ("2021年3月4日", Some("2021-03-04")),
            ("2021-03", Some("2021-03")),
            ("2021", Some("2021")),
            ("2021-13-01", None),
            ("21-01-01", None),
            ("20210", None),
            ("", None),
        ];
        for (text, want) in dates {
            assert_eq!(iso_date(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn dates_in_words_are_read() {
        let cases = [
            ("3 May 2020", Some("2020-05-03")),
            ("May 3rd, 2020", Some("2020-05-03")),
            ("Sept. 2019", Some("2019-09")),
            ("12-Dec-1999", Some("1999-12-12")),
            ("03/05/2020", Some("2020")),
            ("soon", None),
            ("2019 or 2020", None),
            ("room 2020 of the house", None),
            ("volume 2020", None),
            ("may contain 2020", None),
            ("32 May 2020", None),
        ];
        for (text, want) in cases {
            assert_eq!(written_date(text).as_deref(), want, "{text}");
        }
    }
}
