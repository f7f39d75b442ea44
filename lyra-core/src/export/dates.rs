//! Publication dates, as exact as they are known.

/// A year, with month and day if they are known and valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    /// 1 to 9999.
    pub(super) year: i64,
    /// 1 to 12.
    pub(super) month: Option<i64>,
    /// 1 to the length of the month; `None` without a month.
    pub(super) day: Option<i64>,
}

impl Date {
    /// Only a year; `None` for an invalid year (0, five digits).
    pub(super) fn of_year(year: i64) -> Option<Self> {
        let known = (1..=9_999).contains(&year);
        known.then_some(Self {
            year,
            month: None,
            day: None,
        })
    }

    /// Parses `2021`, `2021-03`, `2021-03-04` and time stamps. An invalid part (month 13, 30
    /// February) is dropped with everything after it; without a year there is no date.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim().split(|c: char| !c.is_ascii_digit());
        let year = numbers.next().filter(|digits| digits.len() == 4)?;
        let mut date = Self::of_year(year.parse().ok()?)?;
        let mut next = |last: i64| {
            let number: i64 = numbers.next()?.parse().ok()?;
            (1..=last).contains(&number).then_some(number)
        };
        date.month = next(12);
        date.day = date.month.and_then(|month| next(days_in(date.year, month)));
        Some(date)
    }

    /// Year, month and day, as far as known.
    pub(super) fn parts(&self) -> Vec<i64> {
        let parts = [Some(self.year), self.month, self.day];
        parts.into_iter().flatten().collect()
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_left_out() {
        for (text, parts) in [
            ("2019", &[2019][..]),
            ("2019-07", &[2019, 7]),
            ("2019-07-05", &[2019, 7, 5]),
            ("2019/07/05", &[2019, 7, 5]),
            ("2026-01-02T03:04:05Z", &[2026, 1, 2]),
            ("2016-13-45", &[2016]),
            ("2016-12-45", &[2016, 12]),
            ("2021-02-29", &[2021, 2]),
            ("2020-02-29", &[2020, 2, 29]),
            ("1900-02-29", &[1900, 2]),
            ("2016-00-10", &[2016]),
            ("2019 Summer", &[2019]),
            ("2019-", &[2019]),
            ("0000", &[]),
            ("0000-05-01", &[]),
            ("20190705", &[]),
            ("soon", &[]),
            ("", &[]),
        ] {
            let found = Date::parse(text).map(|date| date.parts());
            assert_eq!(found.unwrap_or_default(), parts, "{text}");
        }
        assert_eq!(Date::of_year(0), None);
        assert_eq!(Date::of_year(10_000), None);
    }
}
