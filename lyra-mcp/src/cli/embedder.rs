//! The settings that choose the embedder.

use super::keys::key;
use super::llm::TIMEOUTS;
use super::sources::Sources;
use lyra_core::Result;
use lyra_core::models::{EmbedderChoice, EmbedderSettings};
use std::path::PathBuf;
use std::time::Duration;

/// The effective settings.
pub(super) fn settle(sources: Sources<'_>) -> Result<EmbedderSettings> {
    let choice = sources.parsed_at("embedder", |choice, folder| match choice {
        EmbedderChoice::Onnx(model) => EmbedderChoice::Onnx(folder.join(model)),
        other => other,
    })?;
    let choice = choice.unwrap_or_default();
    let own = sources.not_below("embedder");
    let dimension = own.number("embedder_dimension", 1..=u64::from(u32::MAX))?;
    let timeout = sources.number("embedder_timeout", TIMEOUTS)?;
    // Every program that uses ONNX Runtime reads ORT_DYLIB_PATH.
    let usual = sources.variable("ORT_DYLIB_PATH").map(PathBuf::from);
    let runtime = match sources.variable("LYRA_ONNX_RUNTIME") {
        None => usual,
        Some(_) => None,
    };
    Ok(EmbedderSettings {
        key: key(sources, "embedder", choice.is_remote())?,
        url: own.text("embedder_url")?,
        dimension: dimension.and_then(|n| usize::try_from(n).ok()),
        timeout: timeout.map(Duration::from_secs),
        onnx_runtime: match runtime {
            Some(path) => Some(path),
            None => sources.path("onnx_runtime")?,
        },
        choice,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Global;
    use super::super::sources::settled;
    use super::*;
    use lyra_core::web::ApiKey;

    fn layer(file: &str, env: &[(&str, &str)], flag: Option<&str>) -> Result<EmbedderSettings> {
        let flags = Global {
            embedder: flag.map(str::to_owned),
            ..Global::default()
        };
        settled((file, "/conf"), env, &flags, super::settle)
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
        // The key is not needed, so it may be missing.
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
                "key \"embedder\" is 5; expected a string",
            ),
            (
                "embedder_dimension = 0",
                vec![],
                None,
                "\"embedder_dimension\" is 0; expected an integer from 1",
            ),
            (
                "embedder_timeout = \"5\"",
                vec![],
                None,
                "expected an integer from 1 to 3600",
            ),
            (
                "embedder_timeout = 3601",
                vec![],
                None,
                "\"embedder_timeout\" is 3601; expected an integer from 1 to 3600",
            ),
            (
                "",
                vec![("LYRA_EMBEDDER_TIMEOUT", "long")],
                None,
                "LYRA_EMBEDDER_TIMEOUT is \"long\"; expected an integer",
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
                "LYRA_EMBEDDER_DIMENSION is",
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
