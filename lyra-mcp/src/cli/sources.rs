//! The sources of settings: flags, `LYRA_*` variables and `lyra.toml`; the first source that sets a
//! value takes precedence. A setting has one name: `embedder_url` is a key of the file,
//! `LYRA_EMBEDDER_URL` the variable, `--embedder-url` the flag.

use lyra_core::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The environment.
pub(super) type Env<'s> = &'s dyn Fn(&str) -> Option<OsString>;

/// The flags given on the command line, by the name of the setting.
pub(super) type Flags = BTreeMap<&'static str, Vec<OsString>>;

/// In order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    File,
    Variable,
    Flag,
}

/// All three sources.
#[derive(Clone, Copy)]
pub(super) struct Sources<'s> {
    flags: &'s Flags,
    env: Env<'s>,
    table: &'s toml::Table,
    /// The folder of the file, to which paths in it are relative.
    folder: &'s Path,
    /// The prefix of the table in the file: `provider.openalex.`
    within: &'s str,
    /// Sources below this one are ignored.
    lowest: Source,
}

/// The value of a setting in one source.
enum Value<'s> {
    /// From the command line, or a variable.
    Words(Vec<OsString>),
    /// From the file.
    Key(&'s toml::Value),
}

impl<'s> Sources<'s> {
    pub(super) fn new(
        flags: &'s Flags,
        env: Env<'s>,
        table: &'s toml::Table,
        folder: &'s Path,
    ) -> Self {
        Self {
            flags,
            env,
            table,
            folder,
            within: "",
            lowest: Source::File,
        }
    }

    /// Only a table of the file.
    pub(super) fn section(self, table: &'s toml::Table, within: &'s str) -> Self {
        static NONE: Flags = Flags::new();
        Self {
            flags: &NONE,
            env: &|_| None,
            table,
            within,
            ..self
        }
    }

    /// Only the file.
    pub(super) fn file(self) -> Self {
        self.section(self.table, self.within)
    }

    /// Without the sources below the one that decides a setting: if another model is chosen, the
    /// address configured for the model in a lower source does not apply.
    pub(super) fn not_below(self, name: &str) -> Self {
        let lowest = self.said(name).map_or(Source::File, |(source, _)| source);
        Self { lowest, ..self }
    }

    /// Any variable, also one that does not belong to a setting.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        (self.env)(name)
    }

    /// A variable that is text. The value is not repeated in the error: it may be a key.
    pub(super) fn secret(&self, name: &str) -> Result<Option<String>> {
        let text = self.variable(name).map(OsString::into_string).transpose();
        text.map_err(|_| Error::invalid(format!("{name}: expected plain text")))
    }

    /// The values of the flag of a setting.
    pub(super) fn flag(&self, name: &str) -> &[OsString] {
        self.flags.get(name).map_or(&[], Vec::as_slice)
    }

    /// A key of the file.
    pub(super) fn key(&self, name: &str) -> Option<&'s toml::Value> {
        self.table.get(name)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>> {
        self.read(name, "a string", |value| {
            let text = match value {
                Value::Words(words) => words.first().and_then(|word| word.to_str()),
                Value::Key(value) => value.as_str(),
            };
            text.map(str::to_owned)
        })
    }

    /// A text that is parsed as another type.
    pub(super) fn parsed<T: FromStr<Err = Error>>(&self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let parsed = text.parse().map_err(|e: Error| e.context(self.place(name)));
        parsed.map(Some)
    }

    /// The same, for a value that may be a path, which is relative to the file that contains it.
    pub(super) fn parsed_at<T: FromStr<Err = Error>>(
        &self,
        name: &str,
        join: impl FnOnce(T, &Path) -> T,
    ) -> Result<Option<T>> {
        let parsed = self.parsed(name)?;
        Ok(match self.said(name) {
            Some((Source::File, _)) => parsed.map(|thing| join(thing, self.folder)),
            _ => parsed,
        })
    }

    pub(super) fn path(&self, name: &str) -> Result<Option<PathBuf>> {
        self.read(name, "a string", |value| match value {
            Value::Words(words) => words.first().map(PathBuf::from),
            Value::Key(value) => value.as_str().map(|path| self.folder.join(path)),
        })
    }

    pub(super) fn number(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let expected = format!("an integer from {} to {}", range.start(), range.end());
        self.read(name, &expected, |value| {
            let number = match value {
                Value::Words(words) => words.first()?.to_str()?.trim().parse().ok(),
                Value::Key(value) => value.as_integer().and_then(|n| u64::try_from(n).ok()),
            };
            number.filter(|n| range.contains(n))
        })
    }

    pub(super) fn truth(&self, name: &str) -> Result<Option<bool>> {
        self.read(name, "true or false", |value| match value {
            Value::Key(value) => value.as_bool(),
            Value::Words(words) => match words.first()?.to_str()?.to_lowercase().as_str() {
                "1" | "true" | "yes" | "on" => Some(true),
                "0" | "false" | "no" | "off" => Some(false),
                _ => None,
            },
        })
    }

    /// An array in the file, the values of a flag, or those of a variable separated by commas.
    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<String>>> {
        self.read(name, "an array of strings", |value| match value {
            Value::Key(value) => strings(value).map(|all| all.map(str::to_owned).collect()),
            Value::Words(words) => {
                let text = words.join(OsStr::new(",")).into_string().ok()?;
                let parts = text.split(',').map(str::trim);
                let parts = parts.filter(|part| !part.is_empty());
                Some(parts.map(str::to_owned).collect())
            }
        })
    }

    /// The same for paths; a variable separates them as `PATH` does.
    pub(super) fn paths(&self, name: &str) -> Result<Option<Vec<PathBuf>>> {
        let is_flag = matches!(self.said(name), Some((Source::Flag, _)));
        self.read(name, "an array of strings", |value| match value {
            Value::Key(value) => {
                strings(value).map(|all| all.map(|path| self.folder.join(path)).collect())
            }
            Value::Words(words) if is_flag => Some(words.iter().map(PathBuf::from).collect()),
            Value::Words(words) => Some(std::env::split_paths(words.first()?).collect()),
        })
    }

    pub(super) fn real(&self, name: &str) -> Result<Option<f64>> {
        self.read(name, "a number", |value| match value {
            Value::Words(words) => words.first()?.to_str()?.trim().parse().ok(),
            Value::Key(value) => real(value),
        })
    }

    /// The source of the effective value, in readable form.
    pub(super) fn place(&self, name: &str) -> String {
        match self.said(name) {
            Some((Source::Variable, _)) => variable(name),
            Some((Source::Flag, _)) => format!("--{}", name.replace('_', "-")),
            _ => format!("key {:?}", format!("{}{name}", self.within)),
        }
    }

    /// An error for a value that does not have the expected form.
    pub(super) fn wrong(&self, name: &str, expected: impl Display) -> Error {
        let given = match self.said(name) {
            None => String::new(),
            Some((_, Value::Key(value))) => format!(" is {}", shown(value)),
            Some((_, Value::Words(words))) => {
                format!(" is {:?}", words.join(OsStr::new(" ")).to_string_lossy())
            }
        };
        Error::invalid(format!("{}{given}; expected {expected}", self.place(name)))
    }

    /// The value of a setting in the highest source that sets it, parsed by `read`.
    fn read<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value<'s>) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some((_, value)) = self.said(name) else {
            return Ok(None);
        };
        let read = read(&value).ok_or_else(|| self.wrong(name, expected));
        read.map(Some)
    }

    fn said(&self, name: &str) -> Option<(Source, Value<'s>)> {
        let flag = self.flags.get(name).cloned().map(Value::Words);
        let flag = flag.map(|value| (Source::Flag, value));
        let variable = || {
            let word = self.variable(&variable(name))?;
            Some((Source::Variable, Value::Words(vec![word])))
        };
        let key = || Some((Source::File, Value::Key(self.table.get(name)?)));
        let said = flag.or_else(variable).or_else(key);
        said.filter(|(source, _)| *source >= self.lowest)
    }
}

/// The variable of a setting.
fn variable(name: &str) -> String {
    format!("LYRA_{}", name.to_uppercase())
}

/// The items of an array of strings.
fn strings(value: &toml::Value) -> Option<impl Iterator<Item = &str>> {
    let items = value.as_array()?;
    let all = items.iter().all(toml::Value::is_str);
    all.then(|| items.iter().filter_map(toml::Value::as_str))
}

/// A number in the file, integer or not.
pub(super) fn real(value: &toml::Value) -> Option<f64> {
    let whole = value.as_integer().and_then(|n| i32::try_from(n).ok());
    whole.map(f64::from).or_else(|| value.as_float())
}

/// A value in the file, in readable form.
pub(super) fn shown(value: &toml::Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// For tests: `settle` with a file in `folder`, variables and flags.
#[cfg(test)]
pub(super) fn settled<T>(
    (file, folder): (&str, &str),
    env: &[(&str, &str)],
    flags: &super::Global,
    settle: impl FnOnce(Sources<'_>) -> Result<T>,
) -> Result<T> {
    let table: toml::Table = file.parse().expect("good TOML");
    let find = |name: &str| {
        let found = env.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| OsString::from(value))
    };
    settle(Sources::new(
        &flags.given(),
        &find,
        &table,
        Path::new(folder),
    ))
}
