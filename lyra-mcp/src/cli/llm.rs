//! The settings that choose a language model, and what it does, from the same three sources as the
//! others.

use super::Global;
use super::config::wrong;
use super::keys::read_key;
use lyra_core::models::{LlmChoice, LlmSettings};
use lyra_core::web::ApiKey;
use lyra_core::{EngineConfig, Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Seconds that a request may be given.
const TIMEOUTS: std::ops::RangeInclusive<u64> = 1..=3_600;

/// Who does a part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Builtin,
    Llm,
}

/// What one source says about language models.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LlmLayer {
    choice: Option<LlmChoice>,
    url: Option<String>,
    key: Option<ApiKey>,
    key_file: Option<PathBuf>,
    timeout: Option<u64>,
    at_once: Option<usize>,
    claim_extractor: Option<Part>,
    stance_judge: Option<Part>,
}

/// The model in force, and what it is used for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Llm {
    settings: LlmSettings,
    finds_claims: bool,
    judges: bool,
}

impl Llm {
    /// Puts the model where the built-in parts would be.
    pub(super) fn apply(&self, config: &mut EngineConfig) -> Result<()> {
        let named = |e: Error| e.context(format!("the language model {}", self.settings.choice));
        if self.finds_claims {
            config.claim_extractor = Some(self.settings.claim_extractor().map_err(named)?);
        }
        if self.judges {
            config.stance_judge = Some(self.settings.stance_judge().map_err(named)?);
        }
        Ok(())
    }

    /// The model and its tasks, for people.
    pub(super) fn describe(&self) -> String {
        let tasks = match (self.finds_claims, self.judges) {
            (true, true) => "finds claims and judges",
            (true, false) => "finds claims",
            (false, true) => "judges",
            (false, false) => "is not used",
        };
        format!("{} ({tasks})", self.settings.choice)
    }
}

impl LlmLayer {
    pub(super) fn from_flags(flags: &Global) -> Result<Self> {
        Ok(Self {
            choice: choice(flags.llm.as_deref(), "--llm")?,
            url: flags.llm_url.clone(),
            claim_extractor: part(flags.claim_extractor.as_deref(), "--claim-extractor")?,
            stance_judge: part(flags.stance_judge.as_deref(), "--stance-judge")?,
            ..Self::default()
        })
    }

    pub(super) fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let text = |name: &str| -> Result<Option<String>> {
            let value = env(name).map(OsString::into_string).transpose();
            // The value is not repeated: it may be the key.
            value.map_err(|_| Error::invalid(format!("{name}: expected plain text")))
        };
        let number = |name: &str| -> Result<Option<u64>> {
            let number = text(name)?.map(|text| text.trim().parse::<u64>());
            let wrong = |_| Error::invalid(format!("{name}: expected a positive integer"));
            number.transpose().map_err(wrong)
        };
        let key = text("LYRA_LLM_KEY")?
            .as_deref()
            .map(|key| ApiKey::new("LYRA_LLM_KEY", key))
            .transpose()?;
        Ok(Self {
            choice: choice(text("LYRA_LLM")?.as_deref(), "LYRA_LLM")?,
            url: text("LYRA_LLM_URL")?,
            key,
            key_file: env("LYRA_LLM_KEY_FILE").map(PathBuf::from),
            timeout: timeout(number("LYRA_LLM_TIMEOUT")?, "LYRA_LLM_TIMEOUT")?,
            at_once: at_once(number("LYRA_LLM_AT_ONCE")?, "LYRA_LLM_AT_ONCE")?,
            claim_extractor: part(
                text("LYRA_CLAIM_EXTRACTOR")?.as_deref(),
                "LYRA_CLAIM_EXTRACTOR",
            )?,
            stance_judge: part(text("LYRA_STANCE_JUDGE")?.as_deref(), "LYRA_STANCE_JUDGE")?,
        })
    }

    /// Paths are relative to the folder of the file. `llm_key_env` names the variable that holds
    /// the key.
    pub(super) fn from_toml(
        table: &toml::Table,
        folder: &Path,
        env: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self> {
        let text = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(wrong(key, "a string")),
        };
        let number = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(value) => {
                let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
                number
                    .map(Some)
                    .ok_or_else(|| wrong(key, "a positive integer"))
            }
        };
        let key = text("llm_key_env")?.map(|name| {
            let value = env(&name).and_then(|value| value.into_string().ok());
            let missing = || {
                Error::invalid(format!("llm_key_env: the variable {name} is not set"))
                    .with_hint("set it, or leave llm_key_env out for a server without keys")
            };
            ApiKey::new(&name, value.ok_or_else(missing)?)
        });
        Ok(Self {
            choice: choice(text("llm")?.as_deref(), "llm")?,
            url: text("llm_url")?,
            key: key.transpose()?,
            key_file: text("llm_key_file")?.map(|path| folder.join(path)),
            timeout: timeout(number("llm_timeout")?, "llm_timeout")?,
            at_once: at_once(number("llm_at_once")?, "llm_at_once")?,
            claim_extractor: part(text("claim_extractor")?.as_deref(), "claim_extractor")?,
            stance_judge: part(text("stance_judge")?.as_deref(), "stance_judge")?,
        })
    }

    /// Who chooses another model does not want the address of the one below.
    pub(super) fn overlay(&mut self, above: Self) {
        if above.choice.is_some() {
            self.url = None;
        }
        // A key beats a file with a key of the same source, and both beat what lies below.
        if above.key.is_some() || above.key_file.is_some() {
            (self.key, self.key_file) = (above.key, above.key_file);
        }
        self.choice = above.choice.or(self.choice.take());
        self.url = above.url.or(self.url.take());
        self.timeout = above.timeout.or(self.timeout);
        self.at_once = above.at_once.or(self.at_once);
        self.claim_extractor = above.claim_extractor.or(self.claim_extractor);
        self.stance_judge = above.stance_judge.or(self.stance_judge);
    }

    /// The model in force, if one is. It finds claims unless that is left to the built-in
    /// extractor, and judges if that is asked for.
    pub(super) fn settle(self) -> Result<Option<Llm>> {
        let Some(choice) = self.choice else {
            let parts = [
                ("claim_extractor", self.claim_extractor),
                ("stance_judge", self.stance_judge),
            ];
            let wanting = parts.iter().find(|(_, part)| *part == Some(Part::Llm));
            return match wanting {
                None => Ok(None),
                Some((name, _)) => Err(Error::invalid(format!(
                    "{name} is \"llm\", but no language model is named"
                ))
                .with_hint("name one: llm = \"ollama:MODEL\" or \"openai:MODEL\"")),
            };
        };
        let finds_claims = self.claim_extractor != Some(Part::Builtin);
        let judges = self.stance_judge == Some(Part::Llm);
        let key = match (self.key, self.key_file) {
            (Some(key), _) => Some(key),
            (None, Some(path)) if finds_claims || judges => Some(read_key(&path)?),
            _ => None,
        };
        Ok(Some(Llm {
            settings: LlmSettings {
                url: self.url,
                key,
                timeout: self.timeout.map(Duration::from_secs),
                at_once: self.at_once,
                ..LlmSettings::new(choice)
            },
            finds_claims,
            judges,
        }))
    }
}

fn choice(text: Option<&str>, place: &str) -> Result<Option<LlmChoice>> {
    let parsed = text.map(str::parse).transpose();
    parsed.map_err(|e: Error| e.context(place))
}

fn part(text: Option<&str>, place: &str) -> Result<Option<Part>> {
    match text.map(str::trim) {
        None => Ok(None),
        Some("builtin") => Ok(Some(Part::Builtin)),
        Some("llm") => Ok(Some(Part::Llm)),
        Some(_) => Err(Error::invalid(format!("{place}: expected builtin or llm"))
            .with_hint("llm is the model that the key llm names")),
    }
}

/// Seconds that one request may take.
pub(super) fn timeout(seconds: Option<u64>, place: &str) -> Result<Option<u64>> {
    match seconds {
        Some(seconds) if !TIMEOUTS.contains(&seconds) => Err(Error::invalid(format!(
            "{place}: expected seconds from 1 to 3600"
        ))),
        seconds => Ok(seconds),
    }
}

fn at_once(count: Option<u64>, place: &str) -> Result<Option<usize>> {
    match count.map(usize::try_from) {
        None => Ok(None),
        Some(Ok(count @ 1..=64)) => Ok(Some(count)),
        Some(_) => Err(Error::invalid(format!(
            "{place}: expected an integer from 1 to 64"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(file: &str, env: &[(&str, &str)], flags: Global) -> Result<Option<Llm>> {
        let table: toml::Table = file.parse().expect("good TOML");
        let find = |name: &str| {
            let found = env.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let mut layer = LlmLayer::from_toml(&table, Path::new("/conf"), &find)?;
        layer.overlay(LlmLayer::from_env(&find)?);
        layer.overlay(LlmLayer::from_flags(&flags)?);
        layer.settle()
    }

    #[test]
    fn a_model_finds_claims_and_judges_if_asked_to() {
        let flags = |extractor: Option<&str>, judge: Option<&str>| Global {
            llm: Some("ollama:m".to_owned()),
            claim_extractor: extractor.map(str::to_owned),
            stance_judge: judge.map(str::to_owned),
            ..Global::default()
        };
        for (extractor, judge, expected) in [
            (None, None, "ollama:m (finds claims)"),
            (None, Some("llm"), "ollama:m (finds claims and judges)"),
            (Some("builtin"), Some("llm"), "ollama:m (judges)"),
            (Some("builtin"), None, "ollama:m (is not used)"),
            (Some("llm"), Some("builtin"), "ollama:m (finds claims)"),
        ] {
            let llm = layer("", &[], flags(extractor, judge)).expect("good");
            assert_eq!(llm.expect("a model").describe(), expected);
        }
        assert_eq!(layer("", &[], Global::default()).expect("good"), None);
        let builtin = "claim_extractor = \"builtin\"";
        assert_eq!(layer(builtin, &[], Global::default()).expect("good"), None);
    }

    #[test]
    fn the_later_source_wins_and_takes_what_belongs_together() {
        let file = "llm = \"openai:small\"\nllm_url = \"http://h:1/v1\"\nllm_timeout = 30\n\
                    llm_at_once = 4\nllm_key_env = \"MY_KEY\"\n";
        let env = [("MY_KEY", "sk-1")];
        let llm = layer(file, &env, Global::default())
            .expect("good")
            .expect("a model");
        assert_eq!(llm.settings.url.as_deref(), Some("http://h:1/v1"));
        assert_eq!(llm.settings.timeout, Some(Duration::from_secs(30)));
        assert_eq!(llm.settings.at_once, Some(4));
        let key = llm.settings.key.as_ref().expect("a key");
        assert_eq!(key.origin(), "MY_KEY");
        assert!(!format!("{llm:?}").contains("sk-1"));
        let env = [
            ("MY_KEY", "sk-1"),
            ("LYRA_LLM_KEY", "sk-2"),
            ("LYRA_LLM", "ollama:m"),
        ];
        let llm = layer(file, &env, Global::default())
            .expect("good")
            .expect("a model");
        assert_eq!(llm.settings.choice, LlmChoice::Ollama("m".to_owned()));
        assert_eq!(
            llm.settings.url, None,
            "the address belongs to the other model"
        );
        assert_eq!(llm.settings.key.expect("a key").origin(), "LYRA_LLM_KEY");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, env, why) in [
            (
                "llm = \"candle:x\"",
                vec![],
                "llm: there is no language model \"candle:x\"",
            ),
            ("llm = 5", vec![], "\"llm\" has the wrong type"),
            (
                "llm_timeout = 0",
                vec![],
                "llm_timeout: expected seconds from 1 to 3600",
            ),
            (
                "llm_at_once = 100",
                vec![],
                "llm_at_once: expected an integer from 1 to 64",
            ),
            (
                "llm_at_once = -1",
                vec![],
                "\"llm_at_once\" has the wrong type",
            ),
            (
                "llm_key_env = \"NO_KEY\"",
                vec![],
                "the variable NO_KEY is not set",
            ),
            (
                "stance_judge = \"onnx\"",
                vec![],
                "stance_judge: expected builtin or llm",
            ),
            (
                "stance_judge = \"llm\"",
                vec![],
                "stance_judge is \"llm\", but no language model",
            ),
            (
                "",
                vec![("LYRA_LLM", "x")],
                "LYRA_LLM: there is no language model",
            ),
            (
                "",
                vec![("LYRA_LLM_TIMEOUT", "long")],
                "LYRA_LLM_TIMEOUT: expected a positive",
            ),
            (
                "",
                vec![("LYRA_LLM_KEY", "two words")],
                "LYRA_LLM_KEY: the key is empty",
            ),
            (
                "",
                vec![("LYRA_CLAIM_EXTRACTOR", "gpt")],
                "LYRA_CLAIM_EXTRACTOR: expected builtin",
            ),
        ] {
            let error = layer(file, &env, Global::default()).expect_err(why);
            assert!(error.message().contains(why), "{error}");
            assert!(!error.message().contains("two words"));
        }
    }
}
