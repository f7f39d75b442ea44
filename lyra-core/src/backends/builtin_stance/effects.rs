//! Effect sizes: ratios with their confidence interval, and p-values.

use super::words::{Kind, Token};

/// A hazard, odds, risk or rate ratio as a text reports it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Effect {
    /// The ratio.
    pub(crate) point: f64,
    /// Its confidence interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// Token indices, first and one past the last.
    pub(crate) span: (usize, usize),
}

/// What an effect says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tendency {
    /// More of the outcome.
    More,
    /// Less of the outcome.
    Less,
    /// The interval includes no effect.
    Unclear,
}

impl Effect {
    /// What the effect says, and whether its interval backs it.
    pub(crate) fn tendency(&self) -> (Tendency, bool) {
        match self.interval {
            // Rounding puts a bound that excludes 1 at "1.00"; the point tells the side.
            Some((low, _)) if low >= 1.0 && self.point > 1.05 => (Tendency::More, true),
            Some((_, high)) if high <= 1.0 && self.point < 0.95 => (Tendency::Less, true),
            Some(_) => (Tendency::Unclear, true),
            None if self.point >= 1.1 => (Tendency::More, false),
            None if self.point <= 0.9 => (Tendency::Less, false),
            None => (Tendency::Unclear, false),
        }
    }
}

/// How many tokens may stand between a measure's name and its value.
const VALUE_REACH: usize = 12;
/// How many tokens may stand between a value and its interval.
const INTERVAL_REACH: usize = 12;

/// The effects of a text, in order.
pub(crate) fn effects(tokens: &[Token]) -> Vec<Effect> {
    let mut found: Vec<Effect> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match measure_length(tokens, at).and_then(|length| effect_at(tokens, at, length)) {
            Some(effect) => {
                at = effect.span.1;
                found.push(effect);
            }
            None => at += 1,
        }
    }
    found
}

/// How many tokens the name of a ratio takes at `at`, if one stands there.
fn measure_length(tokens: &[Token], at: usize) -> Option<usize> {
    let token = &tokens[at];
    let next = tokens.get(at + 1).map_or("", |t| t.lower.as_str());
    let is_ratio = |word: &str| matches!(word, "ratio" | "ratios" | "比");
    match token.lower.as_str() {
        "hr" | "hrs" | "rr" | "rrs" | "irr" | "ahr" | "aor" | "arr" | "adjhr" | "shr" | "ors"
            if token.kind == Kind::Symbol =>
        {
            Some(1)
        }
        "or" if token.kind == Kind::Symbol => Some(1),
        "hazard" | "hazards" | "odds" | "risk" | "rate" | "ハザード" | "オッズ"
            if is_ratio(next) =>
        {
            Some(2)
        }
        "relative" if matches!(next, "risk" | "risks") => Some(2),
        "相対" if next == "risk" => Some(2),
        _ => None,
    }
}

fn effect_at(tokens: &[Token], at: usize, length: usize) -> Option<Effect> {
    let start = at + length;
    let value = (start..tokens.len().min(start + VALUE_REACH))
        .take_while(|&i| !tokens[i].is_mark("."))
        .find(|&i| is_ratio_value(tokens, i))?;
    let point = tokens[value].number()?;
    let interval = interval_after(tokens, value + 1);
    let end = interval.map_or(value + 1, |(_, end)| end);
    Some(Effect {
        point,
        interval: interval.map(|(pair, _)| pair),
        span: (at, end),
    })
}

/// A plausible ratio: no percentage, no year, no level of confidence.
fn is_ratio_value(tokens: &[Token], at: usize) -> bool {
    let token = &tokens[at];
    token.number().is_some_and(|v| v > 0.0 && v < 200.0)
        && !token.percent
        && token.lower.contains('.')
        || token.number().is_some_and(|v| v > 0.0 && v < 20.0) && !token.percent && {
            let before = at.checked_sub(1).map_or("", |i| tokens[i].lower.as_str());
            matches!(
                before,
                "=" | "," | "of" | "was" | "ratio" | "hr" | "or" | "rr" | "比"
            )
        }
}

/// Two rising numbers with a dash, a comma or a "to" between, close behind `from`.
fn interval_after(tokens: &[Token], from: usize) -> Option<((f64, f64), usize)> {
    let limit = tokens.len().min(from + INTERVAL_REACH);
    for i in from..limit {
        let Some(low) = tokens[i].number().filter(|_| !tokens[i].percent) else {
            // Another measure's name means that this one came without an interval.
            if measure_length(tokens, i).is_some() || tokens[i].is_mark("。") {
                return None;
            }
            continue;
        };
        let separator = tokens.get(i + 1)?;
        let joined = matches!(
            separator.lower.as_str(),
            "-" | "to" | "," | "、" | "and" | ";"
        );
        if joined
            && let Some(high) = tokens.get(i + 2).and_then(Token::number)
            && high >= low
            && low > 0.0
        {
            return Some(((low, high), i + 3));
        }
    }
    None
}

/// Whether the p-value of a stretch of tokens speaks for an effect; `None` where there is none,
/// or where it tests something else (noninferiority, interaction, trend).
pub(crate) fn significance(tokens: &[Token]) -> Option<bool> {
    for at in 0..tokens.len() {
        if tokens[at].lower != "p" {
            continue;
        }
        let mut number_at = at + 1;
        let mut sign = "=";
        while let Some(token) = tokens.get(number_at).filter(|t| t.kind != Kind::Number) {
            match token.lower.as_str() {
                "<" | ">" | "=" => {
                    sign = if token.is_mark("<") {
                        "<"
                    } else if token.is_mark(">") {
                        ">"
                    } else {
                        "="
                    }
                }
                "value" | "for" | "noninferiority" | "interaction" | "trend" | "heterogeneity" => {}
                _ => break,
            }
            number_at += 1;
        }
        let Some(value) = tokens.get(number_at).and_then(Token::number) else {
            continue;
        };
        let tests_else = tokens[at..tokens.len().min(number_at + 4)].iter().any(|t| {
            matches!(
                t.lower.as_str(),
                "noninferiority" | "interaction" | "heterogeneity" | "trend"
            )
        });
        if tests_else || value > 1.0 {
            continue;
        }
        return Some(match sign {
            ">" => false,
            "<" => value <= 0.05,
            _ => value < 0.05,
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::words::tokenize;
    use super::*;

    #[test]
    fn reads_ratios_with_their_intervals() {
        type Case = (&'static str, f64, Option<(f64, f64)>, Tendency);
        let cases: &[Case] = &[
            (
                "(hazard ratio, 1.27; 95% CI, 1.07 to 1.51; P=0.007)",
                1.27,
                Some((1.07, 1.51)),
                Tendency::More,
            ),
            (
                "HR 0.90 (95% CI 0.74–1.08)",
                0.90,
                Some((0.74, 1.08)),
                Tendency::Unclear,
            ),
            (
                "adjusted OR, 0.50; 95% confidence interval [CI], 0.33-0.76",
                0.5,
                Some((0.33, 0.76)),
                Tendency::Less,
            ),
            (
                "relative risk 0·52 (0·24 to 1·12)",
                0.52,
                Some((0.24, 1.12)),
                Tendency::Unclear,
            ),
            (
                "odds ratio 1.13, 95% confidence interval 1.00 to 1.26",
                1.13,
                Some((1.0, 1.26)),
                Tendency::More,
            ),
            (
                "ハザード比1.27、95%信頼区間1.07〜1.51",
                1.27,
                Some((1.07, 1.51)),
                Tendency::More,
            ),
            ("a hazard ratio of 2.1 was seen", 2.1, None, Tendency::More),
        ];
        for (text, point, interval, tendency) in cases {
            let found = effects(&tokenize(text));
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(
                (found[0].point, found[0].interval),
                (*point, *interval),
                "{text}"
            );
            assert_eq!(found[0].tendency().0, *tendency, "{text}");
        }
        for text in ["more or 1.5 less", "95% of 20 patients", "in 2013 or 2014"] {
            assert!(effects(&tokenize(text)).is_empty(), "{text}");
        }
    }

    #[test]
    fn reads_p_values_that_test_an_effect() {
        let cases = [
            ("P<0.001", Some(true)),
            ("p = 0.98", Some(false)),
            ("P>0.05", Some(false)),
            ("p = 0.03 for interaction", None),
            ("P<0.001 for noninferiority", None),
            ("no value", None),
        ];
        for (text, expected) in cases {
            assert_eq!(significance(&tokenize(text)), expected, "{text}");
        }
    }
}
