//! The settings that choose the embedder, from the same three sources as the others.

use super::Global;
use super::config::wrong;
use super::keys::read_key;
use super::llm::timeout;
use lyra_core::models::{EmbedderChoice, EmbedderSettings};
use lyra_core::web::ApiKey;
use lyra_core::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What one source says about the embedder.
#[derive(Debug, Default, PartialEq)]
pub(super) struct EmbedderLayer {
    choice: Option<EmbedderChoice>,
    url: Option<String>,
    key: Option<ApiKey>,
    key_file: Option<PathBuf>,
    dimension: Option<usize>,
    /// Seconds.
    timeout: Option<u64>,
    onnx_runtime: Option<PathBuf>,
}

impl EmbedderLayer {
    pub(super) fn from_flags(flags: &Global) -> Result<Self> {
        let choice = flags.embedder.as_deref().map(str::parse).transpose();
        Ok(Self {
            choice: choice.map_err(|e: Error| e.context("--embedder"))?,
            url: flags.embedder_url.clone(),
            ..Self::default()
        })
    }

    pub(super) fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let text = |name: &str| -> Result<Option<String>> {
            let value = env(name).map(OsString::into_string).transpose();
            // The value is not repeated: it may be the key.
            value.map_err(|_| Error::invalid(format!("{name}: expected plain text")))
        };
        let choice = text("LYRA_EMBEDDER")?
            .as_deref()
            .map(str::parse)
            .transpose();
        let key = text("LYRA_EMBEDDER_KEY")?
            .as_deref()
            .map(|key| ApiKey::new("LYRA_EMBEDDER_KEY", key))
            .transpose();
        let dimension = text("LYRA_EMBEDDER_DIMENSION")?
            .map(|text| text.parse().ok().filter(|n| *n > 0))
            .map(|n| {
                n.ok_or_else(|| {
                    Error::invalid("LYRA_EMBEDDER_DIMENSION: expected a positive integer")
                })
            });
        let seconds = text("LYRA_EMBEDDER_TIMEOUT")?.map(|text| text.trim().parse().unwrap_or(0));
        // ORT_DYLIB_PATH is what every program with ONNX Runtime reads.
        let runtime = env("LYRA_ONNX_RUNTIME").or_else(|| env("ORT_DYLIB_PATH"));
        Ok(Self {
            choice: choice.map_err(|e: Error| e.context("LYRA_EMBEDDER"))?,
            url: text("LYRA_EMBEDDER_URL")?,
            key: key.map_err(|e: Error| e.context("LYRA_EMBEDDER_KEY"))?,
            key_file: env("LYRA_EMBEDDER_KEY_FILE").map(PathBuf::from),
            dimension: dimension.transpose()?,
            timeout: timeout(seconds, "LYRA_EMBEDDER_TIMEOUT")?,
            onnx_runtime: runtime.map(PathBuf::from),
        })
    }

    /// Paths are relative to the folder of the file.
    pub(super) fn from_toml(table: &toml::Table, folder: &Path) -> Result<Self> {
        let text = |key: &str| match table.get(key) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(wrong(key, "a string")),
        };
        let choice = match text("embedder")?.as_deref().map(str::parse).transpose()? {
            Some(EmbedderChoice::Onnx(model)) => Some(EmbedderChoice::Onnx(folder.join(model))),
            other => other,
        };
        let dimension = match table.get("embedder_dimension") {
            None => None,
            Some(value) => Some(
                value
                    .as_integer()
                    .and_then(|n| usize::try_from(n).ok())
                    .filter(|n| *n > 0)
                    .ok_or_else(|| wrong("embedder_dimension", "a positive integer"))?,
            ),
        };
        let seconds = match table.get("embedder_timeout") {
            None => None,
            Some(value) => Some(
                value
                    .as_integer()
                    .and_then(|n| u64::try_from(n).ok())
                    .ok_or_else(|| wrong("embedder_timeout", "seconds from 1 to 3600"))?,
            ),
        };
        Ok(Self {
            choice,
            url: text("embedder_url")?,
            key: None,
            key_file: text("embedder_key_file")?.map(|path| folder.join(path)),
            dimension,
            timeout: timeout(seconds, "embedder_timeout")?,
            onnx_runtime: text("onnx_runtime")?.map(|path| folder.join(path)),
        })
    }

    /// Who chooses another embedder does not want the address and length of the one below.
    pub(super) fn overlay(&mut self, above: Self) {
        if above.choice.is_some() {
            (self.url, self.dimension) = (None, None);
        }
        // A key beats a file with a key of the same source, and both beat what lies below.
        if above.key.is_some() || above.key_file.is_some() {
            (self.key, self.key_file) = (above.key, above.key_file);
        }
        self.choice = above.choice.or(self.choice.take());
        self.url = above.url.or(self.url.take());
        self.dimension = above.dimension.or(self.dimension);
        self.timeout = above.timeout.or(self.timeout);
        self.onnx_runtime = above.onnx_runtime.or(self.onnx_runtime.take());
    }

    /// The settings in force; reads the file with the key where a server is asked.
    pub(super) fn settle(self) -> Result<EmbedderSettings> {
        let choice = self.choice.unwrap_or_default();
        let key = match (self.key, self.key_file) {
            (Some(key), _) => Some(key),
            (None, Some(path)) if choice.is_remote() => Some(read_key(&path)?),
            _ => None,
        };
        Ok(EmbedderSettings {
            choice,
            url: self.url,
            key,
            dimension: self.dimension,
            timeout: self.timeout.map(Duration::from_secs),
            onnx_runtime: self.onnx_runtime,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(file: &str, env: &[(&str, &str)], flag: Option<&str>) -> Result<EmbedderSettings> {
        let table: toml::Table = file.parse().expect("good TOML");
        let mut layer = EmbedderLayer::from_toml(&table, Path::new("/conf"))?;
        let find = |name: &str| {
            let found = env.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        layer.overlay(EmbedderLayer::from_env(&find)?);
        let flags = Global {
            embedder: flag.map(str::to_owned),
            ..Global::default()
        };
        layer.overlay(EmbedderLayer::from_flags(&flags)?);
        layer.settle()
    }

    #[test]
    fn the_later_source_wins_and_takes_what_belongs_together() {
        let file = "embedder = \"openai:small\"\nembedder_url = \"http://h:1/v1\"\nembedder_dimension = 64\n\
                    embedder_timeout = 5\nonnx_runtime = \"ort\"\n";
        let settings = layer(file, &[("LYRA_EMBEDDER_KEY", "sk-1")], None).expect("good");
        assert_eq!(settings.choice, EmbedderChoice::OpenAi("small".into()));
        assert_eq!(
            (settings.url.as_deref(), settings.dimension),
            (Some("http://h:1/v1"), Some(64))
        );
        assert_eq!(settings.onnx_runtime, Some("/conf/ort".into()));
        assert_eq!(settings.timeout, Some(Duration::from_secs(5)));
        assert!(settings.key.is_some() && !format!("{settings:?}").contains("sk-1"));

        let settings =
            layer(file, &[("LYRA_EMBEDDER_KEY", "sk-1")], Some("ollama:m")).expect("good");
        assert_eq!(settings.choice, EmbedderChoice::Ollama("m".into()));
        assert_eq!((settings.url, settings.dimension), (None, None));
        let settings = layer(file, &[("LYRA_EMBEDDER_TIMEOUT", "600")], None).expect("good");
        assert_eq!(settings.timeout, Some(Duration::from_secs(600)));

        let settings = layer(
            "embedder = \"onnx:minilm\"",
            &[("ORT_DYLIB_PATH", "/o.so")],
            None,
        )
        .expect("good");
        assert_eq!(settings.choice, EmbedderChoice::Onnx("/conf/minilm".into()));
        assert_eq!(settings.onnx_runtime, Some("/o.so".into()));
        let both = [("ORT_DYLIB_PATH", "/o.so"), ("LYRA_ONNX_RUNTIME", "/l.so")];
        let settings = layer("", &both, None).expect("good");
        assert_eq!(
            (settings.choice, settings.onnx_runtime),
            (EmbedderChoice::Builtin, Some("/l.so".into()))
        );
    }

    #[test]
    fn keys_come_from_files_that_are_needed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let text = path.to_str().expect("text");
        let file = format!("embedder_key_file = {text:?}");
        // Nobody needs it, so it may be missing.
        assert!(layer(&file, &[], None).expect("good").key.is_none());
        let error = layer(&file, &[], Some("openai:m")).expect_err("missing");
        assert!(error.message().contains("cannot be read"), "{error}");
        std::fs::write(&path, "sk-verysecret\n").expect("written");
        let settings = layer(&file, &[], Some("openai:m")).expect("good");
        assert_eq!(
            settings.key,
            Some(ApiKey::new(text, "sk-verysecret").expect("a key"))
        );
        std::fs::write(&path, "very secret").expect("written");
        let error = layer(&file, &[], Some("openai:m")).expect_err("no key");
        assert!(
            error.message().contains(text) && !error.message().contains("very secret"),
            "{error}"
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, env, flag, why) in [
            (
                "embedder = \"candle:x\"",
                vec![],
                None,
                "no embedder \"candle:x\"",
            ),
            (
                "embedder = 5",
                vec![],
                None,
                "\"embedder\" has the wrong type",
            ),
            (
                "embedder_dimension = 0",
                vec![],
                None,
                "expected a positive integer",
            ),
            (
                "embedder_timeout = \"5\"",
                vec![],
                None,
                "expected seconds from 1 to 3600",
            ),
            (
                "embedder_timeout = 3601",
                vec![],
                None,
                "embedder_timeout: expected seconds from 1 to 3600",
            ),
            (
                "",
                vec![("LYRA_EMBEDDER_TIMEOUT", "long")],
                None,
                "LYRA_EMBEDDER_TIMEOUT: expected seconds",
            ),
            (
                "",
                vec![("LYRA_EMBEDDER", "x")],
                None,
                "LYRA_EMBEDDER: there is no embedder",
            ),
            (
                "",
                vec![("LYRA_EMBEDDER_DIMENSION", "-1")],
                None,
                "LYRA_EMBEDDER_DIMENSION: expected",
            ),
            (
                "",
                vec![("LYRA_EMBEDDER_KEY", "two words")],
                None,
                "LYRA_EMBEDDER_KEY: the key is empty",
            ),
            ("", vec![], Some("y:z"), "--embedder: there is no embedder"),
        ] {
            let error = layer(file, &env, flag).expect_err(why);
            assert!(error.message().contains(why), "{error}");
            assert!(!error.message().contains("two words"));
        }
    }
}
