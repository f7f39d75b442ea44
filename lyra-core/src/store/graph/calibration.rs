//! Calibrations of the stance judges: fitted from corrections, stored under version numbers, rolled
//! back.

use super::handles::{Reader, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::store::confidence::{
    Calibration, FittedCalibration, MIN_OF_EACH, MIN_OUTCOMES, Outcome, Scores, choose, is_enough,
    rated,
};
use crate::store::database::Statements;
use crate::store::model::random_id;
use rusqlite::params;
use serde::Serialize;
use serde_json::{Value, json};

/// The state of a judge's calibration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationStats {
    /// The judge's id.
    pub source: String,
    /// The version in force; 0 if confidences are not calibrated.
    pub active_version: i64,
    /// `none`, `temperature` or `platt`.
    pub method: String,
    /// Its parameters.
    pub params: Value,
    /// Number of corrections that the version was fitted to.
    pub samples: i64,
    /// Number of versions.
    pub versions: i64,
    /// Number of the judge's verdicts that a human has checked.
    pub corrections: usize,
    /// Number of these verdicts that were right.
    pub right: usize,
    /// Numbers of verdicts, right ones and wrong ones that a fit requires.
    pub needed: String,
    /// Brier score of the judge's uncalibrated confidences on these verdicts; none without corrections.
    pub brier_before: Option<f64>,
    /// The same with the version in force.
    pub brier_after: Option<f64>,
    /// Expected calibration error of the judge's uncalibrated confidences.
    pub ece_before: Option<f64>,
    /// The same with the version in force.
    pub ece_after: Option<f64>,
}

/// One measurement of one version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationEvaluation {
    /// Its id.
    pub id: String,
    /// The judge's id.
    pub source: String,
    /// The version that was measured.
    pub version: i64,
    /// `temperature` or `platt`.
    pub method: String,
    /// Whether it is in force now.
    pub is_active: bool,
    /// Number of corrections that it was measured on.
    pub samples: i64,
    /// Brier score of the version that was in force at the time.
    pub brier_before: f64,
    /// Brier score of the new version on held-out corrections.
    pub brier_after: f64,
    /// As `brier_before`.
    pub ece_before: f64,
    /// As `brier_after`.
    pub ece_after: f64,
    /// The ten bins: from, to, count, confidence, accuracy.
    pub bins: Value,
    /// RFC 3339.
    pub created_at: String,
}

/// The result of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RollbackReport {
    /// The judge's id.
    pub source: String,
    /// The version that was in force.
    pub from_version: i64,
    /// The version that is in force now.
    pub to_version: i64,
    /// The reason that the caller gave.
    pub reason: String,
}

/// A fit that was stored.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationFit {
    /// Its number.
    pub version: i64,
    /// Whether it is in force now.
    pub is_active: bool,
    /// The fitted calibration and its scores.
    pub candidate: FittedCalibration,
}

impl Reader<'_> {
    /// The calibration in force for a judge, and its version; version 0 if there is none.
    pub fn calibration(&self, source: &str) -> Result<(i64, Calibration)> {
        let stored: Option<(i64, String)> = self.db.first(
            "SELECT version, params_json FROM calibration_versions
                 WHERE source = ?1 AND is_active = 1 ORDER BY version DESC LIMIT 1",
            [source],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )?;
        let Some((version, params)) = stored else {
            return Ok((0, Calibration::None));
        };
        let calibration = serde_json::from_str(&params).map_err(|e| {
            let message =
                format!("version {version} of the calibration of {source} cannot be read");
            Error::new(ErrorKind::Calibration, message)
                .with_source(e)
                .with_hint("calibration_rollback to version 0 turns the calibration off")
        })?;
        Ok((version, calibration))
    }

    /// Human outcomes for a judge's verdicts, oldest first; the newest outcome of an edge counts.
    fn outcomes(&self, source: &str) -> Result<Vec<Outcome>> {
        self.db.all(
            "SELECT predicted_confidence, predicted_relation = correct_relation, max(rowid)
                 FROM nli_corrections WHERE judge_id = ?1 AND predicted_confidence BETWEEN 0 AND 1
                 GROUP BY edge_id ORDER BY 3",
            [source],
            |r| {
                Ok(Outcome {
                    confidence: r.get(0)?,
                    is_right: r.get(1)?,
                })
            },
        )
    }

    /// Statistics for each judge that was ever corrected or that is `in_use`.
    ///
    /// # Errors
    ///
    /// `NotFound` for a `source` that is neither.
    pub fn calibration_stats(
        &self,
        source: Option<&str>,
        in_use: &str,
    ) -> Result<Vec<CalibrationStats>> {
        let sources = self.judges(in_use)?;
        if let Some(source) = source {
            known(&sources, source)?;
        }
        let wanted = sources
            .iter()
            .filter(|s| source.is_none_or(|one| one == *s));
        wanted.map(|source| self.stats_of(source)).collect()
    }

    fn stats_of(&self, source: &str) -> Result<CalibrationStats> {
        let (active_version, calibration) = self.calibration(source)?;
        let outcomes = self.outcomes(source)?;
        let (versions, samples) = self.db.one(
            "SELECT count(*), coalesce(max(samples) FILTER (WHERE is_active = 1), 0)
                 FROM calibration_versions WHERE source = ?1",
            [source],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )?;
        let any = (!outcomes.is_empty()).then_some(());
        let before = any.map(|()| Scores::of(&rated(&outcomes, &Calibration::None)));
        let after = any.map(|()| Scores::of(&rated(&outcomes, &calibration)));
        Ok(CalibrationStats {
            source: source.to_owned(),
            active_version,
            method: calibration.method().to_owned(),
            params: json!(calibration),
            samples,
            versions,
            corrections: outcomes.len(),
            right: outcomes.iter().filter(|o| o.is_right).count(),
            needed: format!(
                "{MIN_OUTCOMES} corrected or confirmed edges, at least {MIN_OF_EACH} of them right \
                 and {MIN_OF_EACH} wrong"
            ),
            brier_before: before.map(|s| s.brier),
            brier_after: after.map(|s| s.brier),
            ece_before: before.map(|s| s.ece),
            ece_after: after.map(|s| s.ece),
        })
    }

    /// Every measurement, newest first, at most `limit`.
    ///
    /// # Errors
    ///
    /// `NotFound` for a `source` that was never corrected and is not `in_use`.
    pub fn calibration_evaluations(
        &self,
        source: Option<&str>,
        in_use: &str,
        limit: u32,
    ) -> Result<Vec<CalibrationEvaluation>> {
        if let Some(source) = source {
            known(&self.judges(in_use)?, source)?;
        }
        self.db.all(
            "SELECT e.id, e.source, e.version, v.method, v.is_active, e.samples, e.brier_before,
                   e.brier_after, e.ece_before, e.ece_after, e.bins_json, e.created_at
                 FROM calibration_evaluations e
                   JOIN calibration_versions v ON v.source = e.source AND v.version = e.version
                 WHERE ?1 IS NULL OR e.source = ?1
                 ORDER BY e.created_at DESC, e.version DESC, e.id LIMIT ?2",
            params![source, limit],
            |r| {
                let bins: Option<String> = r.get(10)?;
                Ok(CalibrationEvaluation {
                    id: r.get(0)?,
                    source: r.get(1)?,
                    version: r.get(2)?,
                    method: r.get(3)?,
                    is_active: r.get(4)?,
                    samples: r.get(5)?,
                    brier_before: r.get(6)?,
                    brier_after: r.get(7)?,
                    ece_before: r.get(8)?,
                    ece_after: r.get(9)?,
                    bins: bins
                        .and_then(|text| serde_json::from_str(&text).ok())
                        .unwrap_or_default(),
                    created_at: r.get(11)?,
                })
            },
        )
    }

    fn judges(&self, in_use: &str) -> Result<Vec<String>> {
        self.db.all(
            "SELECT judge_id FROM nli_corrections WHERE judge_id IS NOT NULL
                 UNION SELECT source FROM calibration_versions UNION SELECT ?1 ORDER BY 1",
            [in_use],
            |r| r.get(0),
        )
    }
}

fn known(sources: &[String], source: &str) -> Result<()> {
    if sources.iter().any(|one| one == source) {
        return Ok(());
    }
    Err(
        Error::not_found(format!("no judge {source:?} was ever corrected"))
            .with_hint(format!("there are: {}", sources.join(", "))),
    )
}

impl Writer<'_> {
    /// Fits a judge's calibration to all corrections and stores it as a new version. The version comes
    /// into force if it does better on held-out outcomes than the one in force. Returns none if there
    /// are too few corrections.
    pub fn fit_calibration(&self, source: &str) -> Result<Option<CalibrationFit>> {
        let outcomes = self.reader().outcomes(source)?;
        if !is_enough(&outcomes) {
            return Ok(None);
        }
        let (in_force, current) = self.reader().calibration(source)?;
        let candidate = choose(&outcomes, &current)?;
        let is_active = candidate.is_better();
        let version = self.next_version(source)?;
        if is_active {
            self.put_into_force(source, None)?;
        }
        let mut params = json!(candidate.calibration);
        // The rollback target: the version that was in force, even if others were fitted in between and
        // not used.
        params["replaces"] = if is_active {
            json!(in_force)
        } else {
            Value::Null
        };
        let samples = i64::try_from(outcomes.len()).unwrap_or(i64::MAX);
        let reason = if is_active {
            "better on held-out corrections"
        } else {
            "not used: no better on held-out corrections"
        };
        self.db
            .run("INSERT INTO calibration_versions (source, version, method, params_json, is_active, samples,
                   reason, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", params![
                source,
                version,
                candidate.calibration.method(),
                params.to_string(),
                is_active,
                samples,
                reason,
                self.now
            ])?;
        self.store_evaluation(source, version, samples, &candidate)?;
        let details = json!({ "version": version, "in_force": is_active, "before": in_force });
        self.log_event("lyra", "calibration_fitted", None, Some(source), &details)?;
        Ok(Some(CalibrationFit {
            version,
            is_active,
            candidate,
        }))
    }

    fn store_evaluation(
        &self,
        source: &str,
        version: i64,
        samples: i64,
        candidate: &FittedCalibration,
    ) -> Result<()> {
        self.db
            .run("INSERT INTO calibration_evaluations (id, source, version, samples, brier_before, brier_after,
                   ece_before, ece_after, bins_json, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)", params![
                random_id("eval_", 12),
                source,
                version,
                samples,
                candidate.before.brier,
                candidate.after.brier,
                candidate.before.ece,
                candidate.after.ece,
                json!(candidate.bins).to_string(),
                self.now
            ])?;
        Ok(())
    }

    /// Version numbers are never reused because rows are never deleted.
    fn next_version(&self, source: &str) -> Result<i64> {
        self.db.one(
            "SELECT coalesce(max(version), 0) + 1 FROM calibration_versions WHERE source = ?1",
            [source],
            |r| r.get(0),
        )
    }

    fn put_into_force(&self, source: &str, version: Option<i64>) -> Result<()> {
        self.db.run(
            "UPDATE calibration_versions SET is_active = (version IS ?2)
                 WHERE source = ?1 AND is_active <> (version IS ?2)",
            params![source, version],
        )?;
        Ok(())
    }

    /// Returns to a version of a judge's calibration; version 0 turns calibration off, and without a
    /// version the one that the version in force replaced is restored. Confidences of existing edges do
    /// not change. A later fit that does better on held-out corrections comes into force again.
    ///
    /// # Errors
    ///
    /// `NotFound` for an unknown version or judge; `Calibration` if there is nothing to return to or the
    /// version is already in force; `InvalidInput` for an empty reason.
    pub fn roll_calibration_back(
        &self,
        source: &str,
        version: Option<i64>,
        reason: &str,
        (actor, in_use): (&str, &str),
    ) -> Result<RollbackReport> {
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(Error::invalid(
                "reason is empty; it is kept in the log, so say why",
            ));
        }
        known(&self.reader().judges(in_use)?, source)?;
        let (from, _) = self.reader().calibration(source)?;
        let to = match version {
            Some(version) => version,
            None => self.replaced_by(source, from)?,
        };
        if to != 0 && !self.is_version(source, to)? {
            return Err(Error::not_found(format!(
                "the calibration of {source} has no version {to}"
            ))
            .with_hint("calibration_metrics with get_evaluations lists the versions"));
        }
        if to == from {
            let message =
                format!("version {to} of the calibration of {source} is in force already");
            return Err(Error::new(ErrorKind::Calibration, message)
                .with_hint("calibration_metrics with get_evaluations lists the versions"));
        }
        self.put_into_force(source, Some(to))?;
        self.db
            .run("UPDATE calibration_versions
                 SET reason = coalesce(reason || '; ', '') || 'left for version ' || ?3 || ': ' || ?4
                 WHERE source = ?1 AND version = ?2", params![source, from, to, reason])?;
        let details = json!({ "from": from, "to": to, "reason": reason });
        self.log_event(
            actor,
            "calibration_rolled_back",
            None,
            Some(source),
            &details,
        )?;
        Ok(RollbackReport {
            source: source.to_owned(),
            from_version: from,
            to_version: to,
            reason: reason.to_owned(),
        })
    }

    fn is_version(&self, source: &str, version: i64) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM calibration_versions WHERE source = ?1 AND version = ?2",
            params![source, version],
        )
    }

    fn replaced_by(&self, source: &str, version: i64) -> Result<i64> {
        if version == 0 {
            let message =
                format!("no calibration of {source} is in force, so there is nothing to roll back");
            return Err(Error::new(ErrorKind::Calibration, message)
                .with_hint("name the version to go to; calibration_metrics lists them"));
        }
        let replaced: Option<i64> = self.db.one(
            "SELECT json_extract(params_json, '$.replaces') FROM calibration_versions
                 WHERE source = ?1 AND version = ?2",
            params![source, version],
            |r| r.get(0),
        )?;
        Ok(replaced.unwrap_or(0))
    }
}
