//! The settings that choose the stance judge, from the same three sources as the others.

use super::Global;
use super::config::wrong;
use super::keys::read_key;
use lyra_core::models::{JudgeChoice, JudgeSettings};
use lyra_core::web::ApiKey;
use lyra_core::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What one source says about the judge.
#[derive(Debug, Default, PartialEq)]
pub(super) struct JudgeLayer {
    choice: Option<JudgeChoice>,
    url: Option<String>,
    key: Option<ApiKey>,
    key_file: Option<PathBuf>,
}

impl JudgeLayer {
    pub(super) fn from_flags(flags: &Global) -> Result<Self> {
        Ok(Self {
            choice: choice(flags.judge.as_deref(), "--judge")?,
            url: flags.judge_url.clone(),
            ..Self::default()
        })
    }

    pub(super) fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let text = |name: &str| -> Result<Option<String>> {
            let value = env(name).map(OsString::into_string).transpose();
            // The value is not repeated: it may be the key.
            value.map_err(|_| Error::invalid(format!("{name}: expected plain text")))
        };
        let key = text("LYRA_JUDGE_KEY")?
            .as_deref()
            .map(|key| ApiKey::new("LYRA_JUDGE_KEY", key))
            .transpose()?;
        Ok(Self {
            choice: choice(text("LYRA_JUDGE")?.as_deref(), "LYRA_JUDGE")?,
            url: text("LYRA_JUDGE_URL")?,
            key,
            key_file: env("LYRA_JUDGE_KEY_FILE").map(PathBuf::from),
        })
    }

    /// Paths are relative to the folder of the file.
    pub(super) fn from_toml(table: &toml::Table, folder: &Path) -> Result<Self> {
        let text = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(wrong(key, "a string")),
        };
        let choice = match choice(text("judge")?.as_deref(), "judge")? {
            Some(JudgeChoice::Onnx(model)) => Some(JudgeChoice::Onnx(folder.join(model))),
            other => other,
        };
        Ok(Self {
            choice,
            url: text("judge_url")?,
            key: None,
            key_file: text("judge_key_file")?.map(|path| folder.join(path)),
        })
    }

    /// Who chooses another judge does not want the address of the one below.
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
    }

    /// The settings in force, if a judge is named; reads the file with the key where a server is
    /// asked. The ONNX Runtime library is that of the embedder.
    pub(super) fn settle(self, onnx_runtime: Option<&Path>) -> Result<Option<JudgeSettings>> {
        let Some(choice) = self.choice else {
            return Ok(None);
        };
        let key = match (self.key, self.key_file) {
            (Some(key), _) => Some(key),
            (None, Some(path)) if choice.is_remote() => Some(read_key(&path)?),
            _ => None,
        };
        Ok(Some(JudgeSettings {
            choice,
            url: self.url,
            key,
            onnx_runtime: onnx_runtime.map(Path::to_path_buf),
        }))
    }
}

fn choice(text: Option<&str>, place: &str) -> Result<Option<JudgeChoice>> {
    let parsed = text.map(str::parse).transpose();
    parsed.map_err(|e: Error| e.context(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyra_core::models::LlmChoice;

    fn layer(
        file: &str,
        env: &[(&str, &str)],
        flag: Option<&str>,
    ) -> Result<Option<JudgeSettings>> {
        let table: toml::Table = file.parse().expect("good TOML");
        let find = |name: &str| {
            let found = env.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let mut layer = JudgeLayer::from_toml(&table, Path::new("/conf"))?;
        layer.overlay(JudgeLayer::from_env(&find)?);
        let flags = Global {
            judge: flag.map(str::to_owned),
            ..Global::default()
        };
        layer.overlay(JudgeLayer::from_flags(&flags)?);
        layer.settle(Some(Path::new("/ort")))
    }

    #[test]
    fn the_later_source_wins_and_takes_what_belongs_together() {
        assert_eq!(layer("", &[], None).expect("good"), None);
        let file = "judge = \"openai:small\"\njudge_url = \"http://h:1/v1\"\n";
        let key = [("LYRA_JUDGE_KEY", "sk-1")];
        let settings = layer(file, &key, None).expect("good").expect("a judge");
        let small = LlmChoice::OpenAi("small".into());
        assert_eq!(settings.choice, JudgeChoice::Llm(small));
        assert_eq!(settings.url.as_deref(), Some("http://h:1/v1"));
        assert!(settings.key.is_some() && !format!("{settings:?}").contains("sk-1"));

        let settings = layer(file, &[("LYRA_JUDGE", "onnx:nli")], None).expect("good");
        let settings = settings.expect("a judge");
        // A path that is no file's is the working folder's.
        assert_eq!(settings.choice, JudgeChoice::Onnx("nli".into()));
        assert_eq!(
            (settings.url, settings.onnx_runtime),
            (None, Some("/ort".into()))
        );

        let settings = layer("judge = \"onnx:nli\"", &[], None).expect("good");
        let expected = JudgeChoice::Onnx("/conf/nli".into());
        assert_eq!(settings.expect("a judge").choice, expected);
        let settings = layer(file, &[("LYRA_JUDGE", "x:y")], None).expect_err("wrong");
        assert!(
            settings
                .message()
                .starts_with("LYRA_JUDGE: there is no judge")
        );
        let settings = layer(file, &[], Some("builtin")).expect("good");
        assert_eq!(settings.expect("a judge").choice, JudgeChoice::Builtin);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, env, flag, why) in [
            (
                "judge = \"candle:x\"",
                vec![],
                None,
                "judge: there is no judge \"candle:x\"",
            ),
            ("judge = 5", vec![], None, "\"judge\" has the wrong type"),
            (
                "judge_url = 5",
                vec![],
                None,
                "\"judge_url\" has the wrong type",
            ),
            (
                "",
                vec![("LYRA_JUDGE_KEY", "two words")],
                None,
                "LYRA_JUDGE_KEY: the key is empty",
            ),
            ("", vec![], Some("y:z"), "--judge: there is no judge"),
            (
                "judge = \"openai:m\"\njudge_key_file = \"/nowhere/key\"",
                vec![],
                None,
                "the key file /nowhere/key cannot be read",
            ),
        ] {
            let error = layer(file, &env, flag).expect_err(why);
            assert!(error.message().contains(why), "{error}");
            assert!(!error.message().contains("two words"));
        }
        // Nobody needs the key, so its file may be missing.
        let file = "judge = \"onnx:m\"\njudge_key_file = \"/nowhere/key\"";
        assert!(layer(file, &[], None).is_ok());
    }
}
