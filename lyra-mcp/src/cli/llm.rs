//! The settings that choose a language model and its tasks.

use super::keys;
use super::sources::Sources;
use lyra_core::models::{LlmChoice, LlmSettings};
use lyra_core::web::ApiKey;
use lyra_core::{EngineConfig, Error, Result};
use std::time::Duration;

/// Allowed timeout of a request to a model, in seconds.
pub(super) const TIMEOUTS: std::ops::RangeInclusive<u64> = 1..=3_600;

/// What performs a part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Builtin,
    Llm,
}

/// The configured model and its tasks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Llm {
    settings: LlmSettings,
    finds_claims: bool,
    judges: bool,
}

impl Llm {
    /// Replaces the built-in components by the model.
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

    /// The model and its tasks, in readable form.
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

/// The configured model, if any. It extracts claims unless the built-in extractor is chosen, and
/// judges if that is requested.
pub(super) fn settle(sources: Sources<'_>) -> Result<Option<Llm>> {
    let claim_extractor = part(sources, "claim_extractor")?;
    let stance_judge = part(sources, "stance_judge")?;
    let choice: Option<LlmChoice> = sources.parsed("llm")?;
    let finds_claims = choice.is_some() && claim_extractor != Some(Part::Builtin);
    let judges = choice.is_some() && stance_judge == Some(Part::Llm);
    let timeout = sources.number("llm_timeout", TIMEOUTS)?;
    let at_once = sources.number("llm_at_once", 1..=64)?;
    let (url, key) = (
        sources.not_below("llm").text("llm_url")?,
        key(sources, finds_claims || judges)?,
    );
    let Some(choice) = choice else {
        let parts = [
            ("claim_extractor", claim_extractor),
            ("stance_judge", stance_judge),
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
    Ok(Some(Llm {
        settings: LlmSettings {
            url,
            key,
            timeout: timeout.map(Duration::from_secs),
            at_once: at_once.and_then(|n| usize::try_from(n).ok()),
            ..LlmSettings::new(choice)
        },
        finds_claims,
        judges,
    }))
}

/// The key: the file may also name another variable that contains it.
fn key(sources: Sources<'_>, is_needed: bool) -> Result<Option<ApiKey>> {
    let usual = ["LYRA_LLM_KEY", "LYRA_LLM_KEY_FILE"];
    let is_usual = usual.iter().any(|name| sources.variable(name).is_some());
    let Some(name) = sources.file().text("llm_key_env")?.filter(|_| !is_usual) else {
        return keys::key(sources, "llm", is_needed);
    };
    let key = sources.secret(&name)?.ok_or_else(|| {
        Error::invalid(format!("llm_key_env: the variable {name} is not set"))
            .with_hint("set it, or leave llm_key_env out for a server without keys")
    })?;
    ApiKey::new(name, key).map(Some)
}

fn part(sources: Sources<'_>, name: &str) -> Result<Option<Part>> {
    match sources.text(name)?.as_deref().map(str::trim) {
        None => Ok(None),
        Some("builtin") => Ok(Some(Part::Builtin)),
        Some("llm") => Ok(Some(Part::Llm)),
        Some(_) => Err(sources
            .wrong(name, "builtin or llm")
            .with_hint("llm is the model that the key llm names")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Global;
    use super::super::sources::settled;
    use super::*;

    fn layer(file: &str, env: &[(&str, &str)], flags: Global) -> Result<Option<Llm>> {
        settled((file, "/conf"), env, &flags, super::settle)
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
                "key \"llm\": there is no language model \"candle:x\"",
            ),
            ("llm = 5", vec![], "key \"llm\" is 5; expected a string"),
            (
                "llm_timeout = 0",
                vec![],
                "\"llm_timeout\" is 0; expected an integer from 1 to 3600",
            ),
            (
                "llm_at_once = 100",
                vec![],
                "\"llm_at_once\" is 100; expected an integer from 1 to 64",
            ),
            (
                "llm_at_once = -1",
                vec![],
                "\"llm_at_once\" is -1; expected an integer from 1 to 64",
            ),
            (
                "llm_key_env = \"NO_KEY\"",
                vec![],
                "the variable NO_KEY is not set",
            ),
            (
                "stance_judge = \"onnx\"",
                vec![],
                "\"stance_judge\" is \"onnx\"; expected builtin or llm",
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
                "LYRA_LLM_TIMEOUT is \"long\"; expected an integer from 1",
            ),
            (
                "",
                vec![("LYRA_LLM_KEY", "two words")],
                "LYRA_LLM_KEY: the key is empty",
            ),
            (
                "",
                vec![("LYRA_CLAIM_EXTRACTOR", "gpt")],
                "LYRA_CLAIM_EXTRACTOR is \"gpt\"; expected builtin",
            ),
        ] {
            let error = layer(file, &env, Global::default()).expect_err(why);
            assert!(error.message().contains(why), "{error}");
            assert!(!error.message().contains("two words"));
        }
    }
}
