//! The settings of the parser, and the program that its children run: this one.

use super::Global;
use super::config::wrong;
use lyra_core::documents::{ParserLimits, ParserProcess};
use lyra_core::{Error, Result};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The hidden command of a child.
pub(super) const COMMAND: &str = "parse-documents";

/// The words that start a child where this program's file does not.
pub(super) static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// Variables that programs need to find their libraries; a child gets no other.
const NEEDED: [&str; 4] = [
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    "SystemRoot",
];

/// MiB of memory that a child may be given.
const MEMORY: std::ops::RangeInclusive<u64> = 16..=65_536;

/// Seconds that a document may be given.
const SECONDS: std::ops::RangeInclusive<u64> = 1..=3_600;

/// What one source says about the parser.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ParserLayer {
    in_process: Option<bool>,
    memory: Option<u64>,
    seconds: Option<u64>,
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParserSettings {
    in_process: bool,
    limits: ParserLimits,
    variables: Vec<(&'static str, OsString)>,
}

impl ParserLayer {
    pub(super) fn from_flags(flags: &Global) -> Result<Self> {
        Ok(Self {
            in_process: in_process(flags.parser.as_deref(), "--parser")?,
            ..Self::default()
        })
    }

    pub(super) fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let text = |name: &str| env(name).map(|value| value.to_string_lossy().into_owned());
        let number = |name: &str, range: std::ops::RangeInclusive<u64>| {
            let value = text(name).map(|text| {
                let number = text.trim().parse().ok().filter(|n| range.contains(n));
                number.ok_or_else(|| Error::invalid(format!("{name}: {}", expected(&range))))
            });
            value.transpose()
        };
        Ok(Self {
            in_process: in_process(text("LYRA_PARSER").as_deref(), "LYRA_PARSER")?,
            memory: number("LYRA_PARSER_MEMORY", MEMORY)?,
            seconds: number("LYRA_PARSER_SECONDS", SECONDS)?,
        })
    }

    pub(super) fn from_toml(table: &toml::Table) -> Result<Self> {
        let number = |key: &str, range: std::ops::RangeInclusive<u64>| {
            let value = table.get(key).map(|value| {
                let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
                let number = number.filter(|n| range.contains(n));
                number.ok_or_else(|| wrong(key, &expected(&range)))
            });
            value.transpose()
        };
        let which = match table.get("parser") {
            None => None,
            Some(toml::Value::String(which)) => Some(which.as_str()),
            Some(_) => return Err(wrong("parser", "a string")),
        };
        Ok(Self {
            in_process: in_process(which, "parser")?,
            memory: number("parser_memory", MEMORY)?,
            seconds: number("parser_seconds", SECONDS)?,
        })
    }

    pub(super) fn overlay(&mut self, above: Self) {
        self.in_process = above.in_process.or(self.in_process);
        self.memory = above.memory.or(self.memory);
        self.seconds = above.seconds.or(self.seconds);
    }

    pub(super) fn settle(self, env: &dyn Fn(&str) -> Option<OsString>) -> ParserSettings {
        let mut limits = ParserLimits::default();
        if let Some(memory) = self.memory {
            limits.memory = memory * 1024 * 1024;
        }
        if let Some(seconds) = self.seconds {
            limits = limits.with_seconds(seconds);
        }
        let needed = NEEDED
            .into_iter()
            .filter_map(|name| Some((name, env(name)?)));
        ParserSettings {
            in_process: self.in_process.unwrap_or(false),
            limits,
            variables: needed.collect(),
        }
    }
}

impl ParserSettings {
    /// The parser that reads so many documents at a time; none for the one of this process.
    pub(super) fn open(&self, at_most: usize) -> Option<Arc<ParserProcess>> {
        if self.in_process {
            return None;
        }
        let mut words = match PROGRAM.get() {
            Some(words) => words.clone(),
            None => vec![own_file().into(), COMMAND.into()],
        };
        let arguments = words.split_off(1);
        let program = words.pop().unwrap_or_default();
        let mut parser = ParserProcess::new(PathBuf::from(program), arguments);
        for (name, value) in &self.variables {
            parser = parser.with_variable(name, value);
        }
        Some(Arc::new(parser.with_limits(self.limits).at_most(at_most)))
    }
}

/// The file of this program. On Linux the link leads to it even where an update has replaced it.
fn own_file() -> PathBuf {
    let link = PathBuf::from("/proc/self/exe");
    match link.exists() {
        true => link,
        false => std::env::current_exe().unwrap_or_default(),
    }
}

fn in_process(which: Option<&str>, place: &str) -> Result<Option<bool>> {
    match which {
        None => Ok(None),
        Some("process") => Ok(Some(false)),
        Some("in_process") => Ok(Some(true)),
        Some(other) => Err(Error::invalid(format!(
            "{place}: there is no parser {other:?}; expected \"process\" or \"in_process\""
        ))),
    }
}

fn expected(range: &std::ops::RangeInclusive<u64>) -> String {
    format!("an integer from {} to {}", range.start(), range.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn settle(file: &str, env: &[(&str, &str)], flag: Option<&str>) -> Result<ParserSettings> {
        let env = |name: &str| {
            let found = env.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let flags = Global {
            parser: flag.map(str::to_owned),
            ..Global::default()
        };
        let mut layer = ParserLayer::from_toml(&file.parse().expect("TOML"))?;
        layer.overlay(ParserLayer::from_env(&env)?);
        layer.overlay(ParserLayer::from_flags(&flags)?);
        Ok(layer.settle(&env))
    }

    #[test]
    fn the_later_source_wins_key_by_key() {
        let file = "parser = \"in_process\"\nparser_memory = 512\nparser_seconds = 30";
        let settings = settle(file, &[("LYRA_PARSER_MEMORY", "64")], None).expect("good");
        assert!(settings.in_process && settings.open(2).is_none());
        assert_eq!(settings.limits.memory, 64 * 1024 * 1024);
        assert_eq!(settings.limits.processor, Duration::from_secs(30));
        let settings = settle(file, &[("LYRA_PARSER", "in_process")], Some("process"));
        assert!(settings.expect("good").open(2).is_some());
        let settings = settle("", &[], None).expect("good");
        assert_eq!(settings.limits, ParserLimits::default());
    }

    #[test]
    fn a_child_is_told_where_libraries_are_and_nothing_else() {
        let env = [("LD_LIBRARY_PATH", "/lib"), ("LYRA_LLM_KEY", "sk-1")];
        let settings = settle("", &env, None).expect("good");
        assert_eq!(settings.variables, [("LD_LIBRARY_PATH", "/lib".into())]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, env, message) in [
            (
                "parser = \"fast\"",
                None,
                "parser: there is no parser \"fast\"",
            ),
            (
                "parser_memory = 1",
                None,
                "expected an integer from 16 to 65536",
            ),
            (
                "parser_seconds = \"9\"",
                None,
                "expected an integer from 1 to 3600",
            ),
            (
                "",
                Some(("LYRA_PARSER", "x")),
                "LYRA_PARSER: there is no parser",
            ),
            (
                "",
                Some(("LYRA_PARSER_SECONDS", "0")),
                "LYRA_PARSER_SECONDS: an integer from 1",
            ),
        ] {
            let error = settle(file, env.as_slice(), None).expect_err(file);
            assert!(error.message().contains(message), "{file}: {error}");
        }
    }
}
