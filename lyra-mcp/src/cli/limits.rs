//! The limits of research: `[limits]`, `LYRA_LIMITS`, `--limit NAME=VALUE`.

use super::Global;
use super::config::wrong;
use lyra_core::{Error, Limits, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// What one source says, by name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LimitsLayer(BTreeMap<String, f64>);

impl LimitsLayer {
    pub(super) fn from_flags(flags: &Global) -> Result<Self> {
        let given = flags.limit.iter().map(String::as_str);
        Self::of_pairs("--limit", given)
    }

    pub(super) fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let given = env("LYRA_LIMITS").unwrap_or_default();
        let given = given.to_string_lossy();
        let given = given.split(',').filter(|pair| !pair.trim().is_empty());
        Self::of_pairs("LYRA_LIMITS", given)
    }

    pub(super) fn from_toml(table: &toml::Table) -> Result<Self> {
        let given = match table.get("limits") {
            None => return Ok(Self::default()),
            Some(toml::Value::Table(given)) => given,
            Some(_) => return Err(wrong("limits", "a table of names and numbers")),
        };
        let number = |value: &toml::Value| match value {
            toml::Value::Integer(n) => i32::try_from(*n).ok().map(f64::from),
            toml::Value::Float(n) => Some(*n),
            toml::Value::Boolean(is_on) => Some(f64::from(u8::from(*is_on))),
            _ => None,
        };
        let mut layer = Self::default();
        for (name, value) in given {
            let value =
                number(value).ok_or_else(|| wrong(&format!("limits.{name}"), "a number"))?;
            layer.put("limits", name, value)?;
        }
        Ok(layer)
    }

    pub(super) fn overlay(&mut self, above: Self) {
        self.0.extend(above.0);
    }

    pub(super) fn settle(self) -> Result<Limits> {
        let mut limits = Limits::default();
        for (name, value) in self.0 {
            limits.set(&name, value)?;
        }
        Ok(limits)
    }

    fn of_pairs<'a>(place: &str, pairs: impl Iterator<Item = &'a str>) -> Result<Self> {
        let mut layer = Self::default();
        for pair in pairs {
            let parts = pair.split_once('=').and_then(|(name, value)| {
                let value = value.trim().parse().ok()?;
                Some((name.trim(), value))
            });
            let (name, value) = parts.ok_or_else(|| {
                Error::invalid(format!("{place}: {pair:?} is not of the form NAME=NUMBER"))
            })?;
            layer.put(place, name, value)?;
        }
        Ok(layer)
    }

    /// What is wrong is told with the place where it stands.
    fn put(&mut self, place: &str, name: &str, value: f64) -> Result<()> {
        Limits::default()
            .set(name, value)
            .map_err(|error| error.context(place))?;
        self.0.insert(name.to_owned(), value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(file: &str, env: &str, flags: &[&str]) -> Result<Limits> {
        let flags = Global {
            limit: flags.iter().map(ToString::to_string).collect(),
            ..Global::default()
        };
        let mut layer = LimitsLayer::from_toml(&file.parse().expect("TOML"))?;
        layer.overlay(LimitsLayer::from_env(&|_| Some(env.into()))?);
        layer.overlay(LimitsLayer::from_flags(&flags)?);
        layer.settle()
    }

    #[test]
    fn the_later_source_wins_name_by_name() {
        let file = "[limits]\nclaims_per_document = 9\nhits_per_query = 9\nkneedle = false\nmin_confidence = 0.7";
        let flags = ["pages_per_query=7", "cited_papers=0"];
        let limits = settle(file, "hits_per_query=8, pages_per_query=8", &flags).expect("good");
        let expected = Limits {
            claims_per_document: 9,
            hits_per_query: 8,
            pages_per_query: 7,
            cited_papers: 0,
            kneedle: false,
            min_confidence: 0.7,
            ..Limits::default()
        };
        assert_eq!(limits, expected);
        assert_eq!(settle("", "", &[]).expect("good"), Limits::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, env, flags, message) in [
            ("limits = 5", "", &[][..], "\"limits\" has the wrong type"),
            (
                "[limits]\nkneedle = \"on\"",
                "",
                &[],
                "\"limits.kneedle\" has the wrong type",
            ),
            (
                "[limits]\nverify_pairs = 0",
                "",
                &[],
                "\"verify_pairs\" is 0; expected a whole number",
            ),
            (
                "",
                "pages",
                &[],
                "LYRA_LIMITS: \"pages\" is not of the form",
            ),
            (
                "",
                "",
                &["pages=5"],
                "--limit: limit \"pages\" is not known",
            ),
        ] {
            let error = settle(file, env, flags).expect_err(message);
            assert!(error.message().contains(message), "{}", error.message());
        }
    }
}
