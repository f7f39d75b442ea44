//! Whether one amount can be a restatement of another.

use super::units::{DAY, Unit};

/// Relative difference up to which values count as equal.
const SAME: f64 = 1e-9;
/// Tolerance for a number with one digit.
const NEAR: f64 = 0.025;
/// Tolerance for conversions between systems of units: miles for kilometres are rounded.
const OTHER_SYSTEM: f64 = 0.02;
/// Tolerance for calendar units: a month has four weeks or a little more.
const CALENDAR: f64 = 0.09;

/// A value in a unit.
pub(super) struct Amount<'u> {
    pub(super) value: f64,
    /// The value of one unit in its last digit.
    pub(super) step: f64,
    pub(super) unit: Option<&'u Unit>,
}

impl Amount<'_> {
    /// Converts it to the base unit of its kind.
    fn in_base(&self, factor: f64) -> Amount<'static> {
        Amount {
            value: self.value * factor,
            step: self.step * factor,
            unit: None,
        }
    }
}

/// Whether a draft's amount restates a source's amount.
///
/// `play` is the relative tolerance for a rounded number.
pub(super) fn meets(draft: &Amount<'_>, source: &Amount<'_>, play: f64) -> bool {
    if is_multiple_of_share(draft, source) || is_multiple_of_share(source, draft) {
        return true;
    }
    let Some([a, b]) = in_one_measure(draft, source) else {
        return false;
    };
    let difference = (a.value - b.value).abs();
    let is_within = |share: f64| difference <= share * b.value.abs();
    let is_same = difference <= SAME * a.value.abs().max(b.value.abs());
    // 1.27 may be given as 1.3, and 27.4 as 27; 3.4 as 3 only if the text says "about".
    let is_rounded = b.step < a.step * (1.0 - SAME)
        && difference <= a.step * (0.5 + 1e-6)
        && ((a.value / a.step).abs() >= 10.0 - 1e-6 || play > 0.0 || is_within(NEAR));
    is_same || is_rounded || is_within(play.max(slack(draft.unit, source.unit)))
}

/// Both amounts with comparable values; none if they measure different things.
fn in_one_measure(a: &Amount<'_>, b: &Amount<'_>) -> Option<[Amount<'static>; 2]> {
    let as_written = || Some([a.in_base(1.0), b.in_base(1.0)]);
    let (Some(x), Some(y)) = (a.unit, b.unit) else {
        return match (a.unit, b.unit) {
            (Some(unit), None) => with_bare(unit, a, b),
            (None, Some(unit)) => with_bare(unit, b, a).map(|[b, a]| [a, b]),
            _ => as_written(),
        };
    };
    if !x.is_known || !y.is_known {
        let per = |unit: &Unit| unit.per.as_ref().map(|(kind, _)| kind.clone());
        let is_other = !x.is_known && !y.is_known && (x.kind != y.kind || per(x) != per(y));
        return if is_other { None } else { as_written() };
    }
    // "2.5 points" may be percentage points.
    let kinds = [x.kind.as_str(), y.kind.as_str()];
    if matches!(kinds, ["share", "point"] | ["point", "share"]) {
        return as_written();
    }
    let (of_x, of_y) = match (&x.per, &y.per) {
        (Some((kind, _)), Some((other, _))) if kind != other => return None,
        (Some((_, of_x)), Some((_, of_y))) => (*of_x, *of_y),
        _ => (1.0, 1.0),
    };
    let is_one_kind = x.kind == y.kind;
    is_one_kind.then(|| [a.in_base(x.factor / of_x), b.in_base(y.factor / of_y)])
}

/// An amount with a unit and one without: values are compared as written, but 0.27 is 27 per cent.
/// Dates and times of day are not amounts.
fn with_bare(unit: &Unit, a: &Amount<'_>, bare: &Amount<'_>) -> Option<[Amount<'static>; 2]> {
    if is_moment(unit) {
        return None;
    }
    let is_fraction = unit.kind == "share" && bare.step < 1.0 && bare.value < 1.0;
    let factor = if is_fraction { unit.factor } else { 1.0 };
    Some([a.in_base(factor), bare.in_base(1.0)])
}

pub(super) fn is_moment(unit: &Unit) -> bool {
    unit.kind == "clock" || unit.kind.starts_with("date ")
}

/// "Doubled" is "by 100 per cent", and "halved" is "by half" and "to half".
fn is_multiple_of_share(multiple: &Amount<'_>, share: &Amount<'_>) -> bool {
    let (Some(times), Some(of)) = (multiple.unit, share.unit) else {
        return false;
    };
    if times.kind != "times" || of.kind != "share" {
        return false;
    }
    let share = share.value * of.factor;
    let is_it = |value: f64| (value - share).abs() <= multiple.step.min(0.1) * 0.5;
    is_it(multiple.value) || is_it((multiple.value - 1.0).abs())
}

/// A risk ratio restated as a change: 0.88 as "12 per cent less", 1.27 as "27 per cent more".
/// Ratios have two decimal places.
pub(super) fn is_change_by_ratio(change: &Amount<'_>, ratio: &Amount<'_>, play: f64) -> bool {
    let Some(share) = change.unit.filter(|unit| unit.kind == "share") else {
        return false;
    };
    let is_ratio = ratio.unit.is_none() && ratio.step < 0.1 && (0.0..10.0).contains(&ratio.value);
    let told = (ratio.value - 1.0).abs();
    let rounding = ratio.step.max(change.step * share.factor) * (0.5 + 1e-6);
    is_ratio && (change.value * share.factor - told).abs() <= rounding.max(play * told)
}

/// The tolerance between amounts in different units of a kind.
fn slack(a: Option<&Unit>, b: Option<&Unit>) -> f64 {
    let (Some(a), Some(b)) = (a, b) else {
        return 0.0;
    };
    let is_long = |unit: &Unit| unit.factor >= 28.0 * DAY;
    let is_day = |unit: &Unit| (DAY..28.0 * DAY).contains(&unit.factor);
    let power = (a.factor / b.factor).log10();
    match a.kind.as_str() {
        "time" if is_long(a) && is_day(b) || is_long(b) && is_day(a) => CALENDAR,
        "length" | "area" | "volume" | "mass" | "energy"
            if (power - power.round()).abs() > 1e-6 =>
        {
            OTHER_SYSTEM
        }
        _ => 0.0,
    }
}
