//! The settings of the parser; its child processes run this program.

use super::sources::Sources;
use lyra_core::documents::{ParserLimits, ParserProcess};
use lyra_core::{Error, Result};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The hidden command of a child process.
pub(super) const COMMAND: &str = "parse-documents";

/// The words that start a child process, if this program is not started by its own file.
pub(super) static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// Variables that programs need to find their libraries; a child receives no others.
const NEEDED: [&str; 4] = [
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    "SystemRoot",
];

/// Allowed memory of a child, in MiB.
const MEMORY: std::ops::RangeInclusive<u64> = 16..=65_536;

/// Allowed time for a document, in seconds.
const SECONDS: std::ops::RangeInclusive<u64> = 1..=3_600;

/// The effective settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParserSettings {
    in_process: bool,
    limits: ParserLimits,
    variables: Vec<(&'static str, OsString)>,
}

/// The effective settings.
pub(super) fn settle(sources: Sources<'_>) -> Result<ParserSettings> {
    let in_process = match sources.text("parser")?.as_deref() {
        None | Some("process") => false,
        Some("in_process") => true,
        Some(other) => {
            let place = sources.place("parser");
            return Err(Error::invalid(format!(
                "{place}: there is no parser {other:?}; expected \"process\" or \"in_process\""
            )));
        }
    };
    let mut limits = ParserLimits::default();
    if let Some(memory) = sources.number("parser_memory", MEMORY)? {
        limits.memory = memory * 1024 * 1024;
    }
    if let Some(seconds) = sources.number("parser_seconds", SECONDS)? {
        limits = limits.with_seconds(seconds);
    }
    let needed = NEEDED.into_iter();
    let needed = needed.filter_map(|name| Some((name, sources.variable(name)?)));
    Ok(ParserSettings {
        in_process,
        limits,
        variables: needed.collect(),
    })
}

impl ParserSettings {
    /// A parser that processes this many documents at a time; `None` to parse in this process.
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

/// The file of this program. On Linux the link leads to it even if an update has replaced it.
fn own_file() -> PathBuf {
    let link = PathBuf::from("/proc/self/exe");
    match link.exists() {
        true => link,
        false => std::env::current_exe().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Global;
    use super::super::sources::settled;
    use super::*;
    use std::time::Duration;

    fn settle(file: &str, env: &[(&str, &str)], flag: Option<&str>) -> Result<ParserSettings> {
        let flags = Global {
            parser: flag.map(str::to_owned),
            ..Global::default()
        };
        settled((file, ""), env, &flags, super::settle)
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
                "key \"parser\": there is no parser \"fast\"",
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
                "LYRA_PARSER_SECONDS is \"0\"; expected an integer from 1",
            ),
        ] {
            let error = settle(file, env.as_slice(), None).expect_err(file);
            assert!(error.message().contains(message), "{file}: {error}");
        }
    }
}
