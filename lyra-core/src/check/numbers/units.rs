//! Units after a number and currencies next to it, as a kind of quantity and a factor.

use super::windows::{behind, in_front};

pattern!(
    WORD,
    r"^(?P<gap>\s|[-‐‑])?(?P<word>(?i:per ?cent\b|percentage[ -]points?\b|watt[ -]hours?\b|(?:kilo|mega|giga|tera)watt[ -]hours?\b|(?:degrees?|deg\.?) (?:c|f|celsius|fahrenheit)\b|(?:square|cubic) \p{L}+)|[%‰℃€$£¥₹]|°\s?[CF]\b|[×x]|[\p{L}µΩ]+)(?P<power>\^?[²³23])?"
);
pattern!(
    PER,
    r"^(?:\s?/\s?|\s(?:per|an?|each)\s)(?P<word>[\p{L}µΩ]+)|^[\s·](?P<inverse>\p{L}+)(?:⁻¹|[-−]1\b)"
);
pattern!(
    CURRENCY,
    r"(?:(?:US|AU|CA|NZ|HK|A|C|S)?(?P<sign>[$€£¥₹])|\b(?P<code>USD|EUR|GBP|JPY|CHF|INR|CNY|RMB|SEK|NOK|DKK|AUD|CAD))\s?[-−]?$"
);

/// The unit of a number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unit {
    /// The kind of quantity; for an unknown unit, its spelling.
    pub(super) kind: String,
    /// The factor to the base unit of the kind.
    pub(super) factor: f64,
    pub(super) is_known: bool,
    /// The kind and the factor of the denominator: the day of "mg per day".
    pub(super) per: Option<(String, f64)>,
}

/// One interpretation of the text after a number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Meaning {
    /// The factor of "thousand" or "million".
    pub(super) scale: f64,
    pub(super) unit: Option<Unit>,
}

impl Unit {
    pub(super) fn new(kind: &str, factor: f64) -> Self {
        Self {
            kind: kind.to_owned(),
            factor,
            is_known: true,
            per: None,
        }
    }

    /// Whether it is a part or a multiple of something, but not a hundredth: "half", "twice".
    pub(super) fn is_relative(&self) -> bool {
        self.kind == "times" || (self.kind == "share" && self.factor > 0.5)
    }

    fn unknown(spelling: &str) -> Self {
        Self {
            is_known: false,
            ..Self::new(spelling, 1.0)
        }
    }
}

/// A word after a number.
struct Word<'t> {
    text: &'t str,
    /// Whether the word follows the number directly.
    is_glued: bool,
    is_hyphened: bool,
    power: i32,
    rest: &'t str,
}

impl<'t> Word<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let found = WORD.captures(text)?;
        let word = found.name("word")?;
        let gap = found.name("gap").map_or("", |gap| gap.as_str());
        let power = found.name("power");
        let power = power.filter(|power| !text[power.end()..].starts_with(char::is_alphanumeric));
        let end = power.map_or(word.end(), |power| power.end());
        Some(Self {
            text: word.as_str(),
            is_glued: gap.is_empty(),
            is_hyphened: !gap.is_empty() && !gap.starts_with(char::is_whitespace),
            power: match power.map(|power| power.as_str().trim_start_matches('^')) {
                Some("²" | "2") => 2,
                Some(_) => 3,
                None => 1,
            },
            rest: &text[end..],
        })
    }
}

/// The currency before a number.
pub(super) fn currency_before(text: &str, at: usize) -> Option<&'static str> {
    let found = CURRENCY.captures(in_front(text, at))?;
    let name = found.name("sign").or_else(|| found.name("code"))?;
    currency(name.as_str())
}

fn currency(name: &str) -> Option<&'static str> {
    Some(match name {
        "$" | "USD" | "AUD" | "CAD" | "dollar" => "$",
        "€" | "EUR" | "euro" => "€",
        "£" | "GBP" | "sterling" => "£",
        "¥" | "JPY" | "CNY" | "RMB" | "yen" | "yuan" => "¥",
        "₹" | "INR" | "rupee" => "₹",
        "CHF" => "CHF",
        "SEK" => "SEK",
        "NOK" => "NOK",
        "DKK" => "DKK",
        _ => return None,
    })
}

/// The possible meanings of the text after a number; empty if it contains no unit.
pub(super) fn meanings(text: &str, end: usize, currency: Option<&str>) -> Vec<Meaning> {
    let Some(word) = Word::read(behind(text, end)) else {
        return money(1.0, currency).into_iter().collect();
    };
    let mut found = Vec::new();
    if let Some(scale) = scale(&word, currency.is_some()) {
        let behind = Word::read(word.rest).filter(|next| !next.is_glued);
        let units = behind.map(|next| units(&next)).unwrap_or_default();
        let is_bare = units.is_empty() || currency.is_some();
        let bare = money(scale, currency).unwrap_or(Meaning { scale, unit: None });
        found.extend(is_bare.then_some(bare));
        let with_unit = units.into_iter().filter(|_| currency.is_none());
        found.extend(with_unit.map(|unit| Meaning {
            scale,
            unit: Some(unit),
        }));
    }
    if currency.is_some() {
        found.extend(found.is_empty().then(|| money(1.0, currency)).flatten());
        return found;
    }
    let units = units(&word).into_iter();
    found.extend(units.map(|unit| Meaning {
        scale: 1.0,
        unit: Some(unit),
    }));
    found
}

fn money(scale: f64, currency: Option<&str>) -> Option<Meaning> {
    let unit = Unit::new(currency?, 1.0);
    Some(Meaning {
        scale,
        unit: Some(unit),
    })
}

/// The value of a scale word such as "thousand".
fn scale(word: &Word<'_>, is_money: bool) -> Option<f64> {
    if word.is_hyphened && word.text.len() < 4 {
        return None;
    }
    match word.text {
        "k" | "K" if word.is_glued => return Some(1e3),
        "M" if word.is_glued => return Some(1e6),
        "m" if word.is_glued || is_money => return Some(1e6),
        "M" | "mn" | "mln" if is_money => return Some(1e6),
        "B" if word.is_glued || is_money => return Some(1e9),
        "T" if word.is_glued || is_money => return Some(1e12),
        "b" if is_money => return Some(1e9),
        "t" | "tn" | "trn" if is_money => return Some(1e12),
        _ => {}
    }
    Some(match word.text.to_lowercase().as_str() {
        "hundred" => 1e2,
        "thousand" => 1e3,
        "lakh" => 1e5,
        "million" => 1e6,
        "crore" => 1e7,
        "billion" | "bn" => 1e9,
        "trillion" => 1e12,
        _ => return None,
    })
}

/// The units that a word may stand for, including the words that follow it.
fn units(word: &Word<'_>) -> Vec<Unit> {
    // "5-A" is a name; "5-year" and "5-mg" are not.
    if word.is_hyphened && word.text.chars().count() < 2 {
        return Vec::new();
    }
    let known = known(word.text);
    let per = per(word.rest);
    if known.is_empty() {
        let is_short = word.text.chars().count() <= 4;
        let is_unit =
            word.text.contains('Ω') || (is_short && word.rest.starts_with('/') && per.is_some());
        let mut unit = Unit::unknown(word.text);
        unit.per = per;
        return is_unit.then_some(unit).into_iter().collect();
    }
    let units = known.into_iter().map(|(kind, factor)| {
        let (kind, factor) = raised(kind, factor, word.power);
        Unit {
            per: per.clone(),
            ..Unit::new(kind, factor)
        }
    });
    units.collect()
}

fn raised(kind: &'static str, factor: f64, power: i32) -> (&'static str, f64) {
    match (kind, power) {
        ("length", 2) => ("area", factor.powi(2)),
        ("length", 3) => ("volume", factor.powi(3)),
        _ => (kind, factor),
    }
}

/// The denominator of an amount.
fn per(rest: &str) -> Option<(String, f64)> {
    let found = PER.captures(rest)?;
    let word = found
        .name("word")
        .or_else(|| found.name("inverse"))?
        .as_str();
    if let Some((kind, factor)) = known(word).into_iter().next() {
        return Some((kind.to_owned(), factor));
    }
    // "5 mg a tablet" is as clear as "5 mg"; "5 mmol/mol" needs its denominator.
    let is_slashed = rest.trim_start().starts_with('/');
    is_slashed.then(|| (word.to_lowercase().trim_end_matches('s').to_owned(), 1.0))
}

/// The possible meanings of a unit's spelling: the kind of quantity and the factor.
fn known(word: &str) -> Vec<(&'static str, f64)> {
    let symbol = symbol(word);
    if !symbol.is_empty() {
        return symbol;
    }
    let lower = word.to_lowercase();
    let lower = lower.replace('-', " ");
    if let Some(name) = lower
        .strip_prefix("square ")
        .or_else(|| lower.strip_prefix("cubic "))
    {
        let power = if lower.starts_with("square") { 2 } else { 3 };
        let sides = of_word(name).into_iter();
        return sides
            .map(|(kind, factor)| raised(kind, factor, power))
            .collect();
    }
    of_word(&lower)
}

fn of_word(lower: &str) -> Vec<(&'static str, f64)> {
    let singular = match lower {
        "feet" => "foot",
        "inches" => "inch",
        "centuries" => "century",
        "times" => lower,
        _ if lower.ends_with("celsius") => lower,
        _ => lower.strip_suffix('s').unwrap_or(lower),
    };
    let whole = words(singular);
    if !whole.is_empty() {
        return whole;
    }
    const PREFIXES: [(&str, f64); 9] = [
        ("nano", 1e-9),
        ("micro", 1e-6),
        ("milli", 1e-3),
        ("centi", 1e-2),
        ("deci", 1e-1),
        ("kilo", 1e3),
        ("mega", 1e6),
        ("giga", 1e9),
        ("tera", 1e12),
    ];
    let split = PREFIXES
        .iter()
        .find_map(|(prefix, scale)| Some((singular.strip_prefix(prefix)?, *scale)));
    let Some((base, scale)) = split.filter(|(base, _)| PREFIXED.contains(base)) else {
        return Vec::new();
    };
    let scaled = |(kind, factor): (&'static str, f64)| (kind, factor * scale);
    let mut found: Vec<(&'static str, f64)> = words(base).into_iter().map(scaled).collect();
    if base == "byte" {
        found.push(("data", 8.0 * binary(scale)));
    }
    found
}

/// Words that may have the prefix "kilo" or "milli".
const PREFIXED: &[&str] = &[
    "gram",
    "gramme",
    "metre",
    "meter",
    "litre",
    "liter",
    "second",
    "watt",
    "watt hour",
    "joule",
    "volt",
    "amp",
    "ampere",
    "hertz",
    "byte",
    "bit",
    "pascal",
    "calorie",
    "newton",
    "mole",
    "ohm",
];

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3_600.0;
pub(super) const DAY: f64 = 86_400.0;
const YEAR: f64 = 365.25 * DAY;

/// Units that are written out, in the singular.
fn words(word: &str) -> Vec<(&'static str, f64)> {
    let one = |kind, factor| vec![(kind, factor)];
    match word {
        "percent" | "per cent" | "pct" | "percentage point" => one("share", 0.01),
        "fold" | "times" => one("times", 1.0),
        "point" => one("point", 1.0),
        "second" | "sec" => one("time", 1.0),
        "minute" | "min" => one("time", MINUTE),
        "hour" | "hr" => one("time", HOUR),
        "day" => one("time", DAY),
        "week" | "wk" => one("time", 7.0 * DAY),
        "month" => one("time", YEAR / 12.0),
        "year" | "yr" => one("time", YEAR),
        "decade" => one("time", 10.0 * YEAR),
        "century" => one("time", 100.0 * YEAR),
        "gram" | "gramme" => one("mass", 1.0),
        "tonne" => one("mass", 1e6),
        "ton" => vec![("mass", 1e6), ("mass", 907_184.74), ("mass", 1_016_046.9)],
        "lb" => one("mass", 453.592_37),
        "ounce" | "oz" => one("mass", 28.349_523),
        "pound" => vec![("£", 1.0), ("mass", 453.592_37)],
        "metre" | "meter" => one("length", 1.0),
        "mile" => one("length", 1_609.344),
        "yard" => one("length", 0.9144),
        "foot" | "ft" => one("length", 0.3048),
        "inch" => one("length", 0.0254),
        "litre" | "liter" => one("volume", 1e-3),
        "hectare" | "ha" => one("area", 1e4),
        "acre" => one("area", 4_046.856_4),
        _ => more_words(word),
    }
}

fn more_words(word: &str) -> Vec<(&'static str, f64)> {
    let one = |kind, factor| vec![(kind, factor)];
    match word {
        "watt" => one("power", 1.0),
        "watt hour" => one("energy", HOUR),
        "joule" => one("energy", 1.0),
        // A food calorie is a kilocalorie.
        "calorie" => vec![("energy", 4.184), ("energy", 4_184.0)],
        "volt" => one("voltage", 1.0),
        "amp" | "ampere" => one("current", 1.0),
        "coulomb" => one("charge", 1.0),
        "hertz" => one("frequency", 1.0),
        "byte" => one("data", 8.0),
        "bit" => one("data", 1.0),
        "pascal" => one("pressure", 1.0),
        "newton" => one("force", 1.0),
        "mole" => one("amount", 1.0),
        "ohm" => one("resistance", 1.0),
        "kelvin" => one("kelvin", 1.0),
        "degree c" | "deg c" | "deg. c" | "degree celsius" | "degrees c" | "degrees celsius" => {
            one("°C", 1.0)
        }
        "degree f" | "deg f" | "deg. f" | "degree fahrenheit" | "degrees f"
        | "degrees fahrenheit" => one("°F", 1.0),
        _ => currency(word).map(|kind| (kind, 1.0)).into_iter().collect(),
    }
}

/// Symbols that are not a prefix and a base.
fn whole_symbol(word: &str) -> Vec<(&'static str, f64)> {
    let one = |kind, factor| vec![(kind, factor)];
    match word {
        "%" => one("share", 0.01),
        "‰" => one("share", 0.001),
        "×" | "x" => one("times", 1.0),
        "℃" => one("°C", 1.0),
        "m" => vec![("length", 1.0), ("time", MINUTE)],
        "h" | "hrs" => one("time", HOUR),
        "d" => one("time", DAY),
        "mo" | "mos" => one("time", YEAR / 12.0),
        "y" => one("time", YEAR),
        "dB" => one("dB", 1.0),
        "ppm" => one("ppm", 1.0),
        "ppb" => one("ppm", 1e-3),
        "rpm" => one("rpm", 1.0),
        "IU" => one("IU", 1.0),
        "mmHg" => one("mmHg", 1.0),
        "C" => one("charge", 1.0),
        "K" => one("kelvin", 1.0),
        "KB" | "kB" => vec![("data", 8e3), ("data", 8.0 * 1_024.0)],
        _ => Vec::new(),
    }
}

/// The possible meanings of a symbol; it is case-sensitive.
fn symbol(word: &str) -> Vec<(&'static str, f64)> {
    if let Some(degree) = word.strip_prefix('°') {
        let kind = if degree.trim() == "C" { "°C" } else { "°F" };
        return vec![(kind, 1.0)];
    }
    if let Some(kind) = currency(word) {
        return vec![(kind, 1.0)];
    }
    let whole = whole_symbol(word);
    // "us" is more often a word than microseconds.
    if !whole.is_empty() || word == "us" {
        return whole;
    }
    if let Some(scale) = word
        .strip_suffix("iB")
        .and_then(|prefix| prefix_of(&prefix.to_uppercase()))
    {
        return vec![("data", 8.0 * binary(scale))];
    }
    let found = BASES.iter().find_map(|base| {
        let prefix = word.strip_suffix(base.symbol)?;
        let is_bare = prefix.is_empty();
        let scale = if is_bare { 1.0 } else { prefix_of(prefix)? };
        let is_allowed = is_bare || base.prefixes.contains(prefix);
        is_allowed.then_some((base, scale))
    });
    let Some((base, scale)) = found else {
        return Vec::new();
    };
    let mut meanings = vec![(base.kind, base.factor * scale)];
    if base.symbol == "B" && scale > 1.0 {
        meanings.push((base.kind, base.factor * binary(scale)));
    }
    meanings
}

/// A unit that may have prefixes.
struct Base {
    symbol: &'static str,
    kind: &'static str,
    factor: f64,
    prefixes: &'static str,
}

const fn base(
    symbol: &'static str,
    kind: &'static str,
    factor: f64,
    prefixes: &'static str,
) -> Base {
    Base {
        symbol,
        kind,
        factor,
        prefixes,
    }
}

const BASES: &[Base] = &[
    base("Wh", "energy", HOUR, "mkMGT"),
    base("Hz", "frequency", 1.0, "kMGT"),
    base("eV", "energy", 1.602_176_6e-19, "mkMGT"),
    base("Pa", "pressure", 1.0, "mhkMG"),
    base("mol", "amount", 1.0, "pnuµμmk"),
    base("cal", "energy", 4.184, "kM"),
    base("bar", "pressure", 1e5, "mk"),
    base("Bq", "activity", 1.0, "mkMGT"),
    base("Sv", "dose", 1.0, "nuµμm"),
    base("Gy", "absorbed dose", 1.0, "nuµμmc"),
    base("Da", "molecular mass", 1.0, "kM"),
    base("bit", "data", 1.0, "kMGT"),
    base("g", "mass", 1.0, "pnuµμmcdkMGT"),
    base("t", "mass", 1e6, "kMG"),
    base("m", "length", 1.0, "nuµμmcdk"),
    base("l", "volume", 1e-3, "pnuµμmcdh"),
    base("L", "volume", 1e-3, "pnuµμmcd"),
    base("s", "time", 1.0, "pnuµμm"),
    base("W", "power", 1.0, "nuµμmkMGT"),
    base("B", "data", 8.0, "MGTP"),
    base("V", "voltage", 1.0, "nuµμmkM"),
    base("A", "current", 1.0, "pnuµμmk"),
    base("J", "energy", 1.0, "nuµμmkMGT"),
    base("N", "force", 1.0, "nuµμmkM"),
    base("Ω", "resistance", 1.0, "mkMG"),
    base("M", "concentration", 1.0, "pnuµμm"),
];

fn prefix_of(prefix: &str) -> Option<f64> {
    Some(match prefix {
        "p" => 1e-12,
        "n" => 1e-9,
        "u" | "µ" | "μ" => 1e-6,
        "m" => 1e-3,
        "c" => 1e-2,
        "d" => 1e-1,
        "h" => 1e2,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        _ => return None,
    })
}

/// The binary equivalent of a decimal scale: 1024 for every 1000.
fn binary(scale: f64) -> f64 {
    let thousands = (scale.log10() / 3.0).round();
    1_024_f64.powf(thousands)
}
