//! Converts a judge's confidences to probabilities of being right.

use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// Confidences are clamped to this distance from 0 and 1, where their log-odds would be infinite.
const EDGE: f64 = 1e-10;
/// The temperature is searched for from 1/20 to 20: beyond that, all results are alike.
const STEEPEST: f64 = 20.0;
/// Number of steps after which a search fails; both searches need fewer than 60.
const MAX_STEPS: usize = 200;

/// A verdict that a human has checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The judge's confidence, 0 to 1.
    pub confidence: f64,
    /// Whether the human agreed.
    pub is_right: bool,
}

/// A mapping of confidences. Its JSON form is stored in `calibration_versions.params_json`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Calibration {
    /// Leaves confidences unchanged.
    None,
    /// Log-odds divided by a number: above 1 for an overconfident judge.
    Temperature {
        /// The number.
        temperature: f64,
    },
    /// Log-odds times `a` plus `b` (Platt 1999).
    Platt {
        /// Slope.
        a: f64,
        /// Intercept.
        b: f64,
    },
}

impl Calibration {
    /// Name of the method: `none`, `temperature`, `platt`.
    pub const fn method(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Temperature { .. } => "temperature",
            Self::Platt { .. } => "platt",
        }
    }

    /// The calibrated confidence, 0 to 1.
    ///
    /// ```
    /// use lyra_core::store::confidence::Calibration;
    /// let doubtful = Calibration::Temperature { temperature: 2.0 };
    /// assert!((doubtful.apply(0.9) - 0.75).abs() < 1e-12);
    /// assert_eq!(Calibration::None.apply(0.9), 0.9);
    /// ```
    pub fn apply(&self, confidence: f64) -> f64 {
        match *self {
            Self::None => confidence,
            Self::Temperature { temperature } => sigmoid(logit(confidence) / temperature),
            Self::Platt { a, b } => sigmoid(a * logit(confidence) + b),
        }
    }
}

/// The temperature that maximises the likelihood of the outcomes.
///
/// Golden-section search over the reciprocal of the temperature, in which the likelihood is
/// concave, from 1/20 to 20.
///
/// # Errors
///
/// `Calibration` if the outcomes are all alike or a confidence is not a number.
pub fn fit_temperature(outcomes: &[Outcome]) -> Result<Calibration> {
    check(outcomes)?;
    let points: Vec<(f64, f64)> = outcomes
        .iter()
        .map(|o| (logit(o.confidence), f64::from(u8::from(o.is_right))))
        .collect();
    let loss = |steepness: f64| -> f64 {
        points
            .iter()
            .map(|(z, y)| softplus(steepness * z) - y * steepness * z)
            .sum()
    };
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (1.0 / STEEPEST, STEEPEST);
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (loss(left), loss(right));
    for _ in 0..MAX_STEPS {
        if high - low < 1e-9 {
            break;
        }
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = loss(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = loss(right);
        }
    }
    Ok(Calibration::Temperature {
        temperature: 2.0 / (low + high),
    })
}

/// Platt's slope and intercept.
///
/// Newton's method with backtracking on Platt's smoothed targets (Lin, Lin and Weng 2007), over centred
/// log-odds, until a step gives no representable improvement. The smoothing keeps the parameters finite
/// if a threshold separates right from wrong.
///
/// # Errors
///
/// `Calibration` if the outcomes are all alike, a confidence is not a number, or the search does not
/// converge.
pub fn fit_platt(outcomes: &[Outcome]) -> Result<Calibration> {
    check(outcomes)?;
    let right = outcomes.iter().filter(|o| o.is_right).count() as f64;
    let wrong = outcomes.len() as f64 - right;
    let (high, low) = ((right + 1.0) / (right + 2.0), 1.0 / (wrong + 2.0));
    let centre = outcomes.iter().map(|o| logit(o.confidence)).sum::<f64>() / (right + wrong);
    let point = |o: &Outcome| {
        let target = if o.is_right { high } else { low };
        (logit(o.confidence) - centre, target)
    };
    let points: Vec<(f64, f64)> = outcomes.iter().map(point).collect();
    let loss = |a: f64, b: f64| -> f64 {
        points
            .iter()
            .map(|(z, t)| softplus(a * z + b) - t * (a * z + b))
            .sum()
    };
    let (mut a, mut b) = (0.0, ((right + 1.0) / (wrong + 1.0)).ln());
    let mut now = loss(a, b);
    for _ in 0..MAX_STEPS {
        let (step, gain) = newton_step(&points, a, b);
        let negligible = 1e-14 * (1.0 + now);
        let mut length = 1.0;
        while gain > negligible && length > 1e-10 {
            let next = loss(a + length * step.0, b + length * step.1);
            if next <= now - 1e-4 * length * gain {
                break;
            }
            length /= 2.0;
        }
        if gain <= negligible || length <= 1e-10 {
            return Ok(Calibration::Platt {
                a,
                b: b - a * centre,
            });
        }
        (a, b) = (a + length * step.0, b + length * step.1);
        now = loss(a, b);
    }
    Err(Error::new(
        ErrorKind::Calibration,
        "the Platt scaling of these outcomes does not converge",
    ))
}

/// The step of Newton's method, and the slope of the loss along it.
fn newton_step(points: &[(f64, f64)], a: f64, b: f64) -> ((f64, f64), f64) {
    let (mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0);
    let (mut by_a, mut by_b) = (0.0, 0.0);
    for (z, target) in points {
        let p = sigmoid(a * z + b);
        let weight = p * (1.0 - p);
        aa += z * z * weight;
        ab += z * weight;
        bb += weight;
        by_a += z * (p - target);
        by_b += p - target;
    }
    let determinant = aa * bb - ab * ab;
    // If all confidences are alike, no slope can be determined.
    let step = if aa <= 1e-12 * bb || determinant <= 0.0 {
        (0.0, -by_b / bb)
    } else {
        (
            -(bb * by_a - ab * by_b) / determinant,
            -(aa * by_b - ab * by_a) / determinant,
        )
    };
    (step, -(by_a * step.0 + by_b * step.1))
}

fn check(outcomes: &[Outcome]) -> Result<()> {
    let right = outcomes.iter().filter(|o| o.is_right).count();
    let failure = |message: &str| Err(Error::new(ErrorKind::Calibration, message));
    if right == 0 || right == outcomes.len() {
        return failure("calibration needs verdicts that were right and verdicts that were wrong");
    }
    if outcomes
        .iter()
        .any(|o| !(0.0..=1.0).contains(&o.confidence))
    {
        return failure("a confidence does not lie between 0 and 1");
    }
    Ok(())
}

fn logit(p: f64) -> f64 {
    let p = p.clamp(EDGE, 1.0 - EDGE);
    (p / (1.0 - p)).ln()
}

fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 {
        1.0 / (1.0 + (-z).exp())
    } else {
        let e = z.exp();
        e / (1.0 + e)
    }
}

/// ln(1 + eᶻ) without overflow.
fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::confidence::{brier_score, expected_calibration_error};
    use crate::store::text::testing::reference_cases;
    use proptest::prelude::*;

    #[test]
    fn applies_as_the_reference_does() {
        for row in reference_cases("calibration_transform") {
            let p = row["p"].as_f64().unwrap();
            let temperature = row["T"].as_f64().unwrap();
            for (calibration, name) in [
                (Calibration::Temperature { temperature }, "temp"),
                (Calibration::Platt { a: 1.5, b: -0.3 }, "platt_a1.5_b-0.3"),
            ] {
                let (found, expected) = (calibration.apply(p), row[name].as_f64().unwrap());
                assert!(
                    (found - expected).abs() <= 1e-9 * expected,
                    "{row}: {found}"
                );
            }
        }
    }

    fn outcomes(rows: &[(f64, u8)]) -> Vec<Outcome> {
        let of = |&(confidence, y): &(f64, u8)| Outcome {
            confidence,
            is_right: y == 1,
        };
        rows.iter().map(of).collect()
    }

    #[test]
    fn a_judge_that_is_too_certain_becomes_less_so() {
        // The judge says 0.95 and is right in 3 cases of 4: the odds are 3 instead of 19.
        let rows = outcomes(&[(0.95, 1), (0.95, 1), (0.95, 1), (0.95, 0)]);
        let fitted = fit_temperature(&rows).unwrap();
        assert!((fitted.apply(0.95) - 0.75).abs() < 1e-6, "{fitted:?}");
        let platt = fit_platt(&rows).unwrap();
        // Platt's targets are 4/5 and 1/3: (3 · 4/5 + 1/3) / 4.
        assert!((platt.apply(0.95) - 41.0 / 60.0).abs() < 1e-6, "{platt:?}");
    }

    #[test]
    fn separable_outcomes_stay_finite() {
        let rows = outcomes(&[(0.9, 1), (0.8, 1), (0.3, 0), (0.2, 0)]);
        let Calibration::Temperature { temperature } = fit_temperature(&rows).unwrap() else {
            panic!("a temperature was asked for")
        };
        assert!((temperature - 1.0 / STEEPEST).abs() < 1e-6, "{temperature}");
        let Calibration::Platt { a, b } = fit_platt(&rows).unwrap() else {
            panic!("Platt's parameters were asked for")
        };
        assert!(a > 0.0 && a.is_finite() && b.is_finite());
    }

    #[test]
    fn one_outcome_alone_teaches_nothing() {
        for rows in [
            vec![],
            outcomes(&[(0.9, 1), (0.8, 1)]),
            outcomes(&[(0.9, 0)]),
        ] {
            for fit in [fit_temperature, fit_platt] {
                let error = fit(&rows).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Calibration);
            }
        }
        let mut rows = outcomes(&[(0.9, 1), (0.8, 0)]);
        rows[0].confidence = f64::NAN;
        assert!(fit_platt(&rows).is_err() && fit_temperature(&rows).is_err());
    }

    proptest! {
        #[test]
        fn a_fit_is_no_worse_than_its_neighbours(
            rows in proptest::collection::vec((0.01..0.99_f64, any::<bool>()), 4..80)
        ) {
            let rows: Vec<Outcome> = rows
                .into_iter()
                .map(|(confidence, is_right)| Outcome { confidence, is_right })
                .collect();
            prop_assume!(rows.iter().any(|o| o.is_right) && rows.iter().any(|o| !o.is_right));
            let loss = |c: Calibration| -> f64 {
                rows.iter().map(|o| {
                    let p = c.apply(o.confidence);
                    -(if o.is_right { p } else { 1.0 - p }).max(1e-300).ln()
                }).sum()
            };
            let fitted = fit_temperature(&rows).unwrap();
            let Calibration::Temperature { temperature } = fitted else { unreachable!() };
            for factor in [0.99, 1.01] {
                let other = (temperature * factor).clamp(1.0 / STEEPEST, STEEPEST);
                let neighbour = loss(Calibration::Temperature { temperature: other });
                prop_assert!(loss(fitted) <= neighbour + 1e-7);
            }
            let platt = fit_platt(&rows).unwrap();
            for outcome in &rows {
                prop_assert!((0.0..=1.0).contains(&platt.apply(outcome.confidence)));
            }
            let pairs: Vec<_> = rows.iter().map(|o| (platt.apply(o.confidence), o.is_right)).collect();
            prop_assert!(brier_score(&pairs) <= 0.5 && expected_calibration_error(&pairs) <= 1.0);
        }
    }
}
