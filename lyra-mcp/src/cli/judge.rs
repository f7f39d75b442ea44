//! The settings that choose the stance judge.

use super::keys::key;
use super::sources::Sources;
use lyra_core::Result;
use lyra_core::models::{JudgeChoice, JudgeSettings};
use std::path::Path;

/// The effective settings, if a judge is configured. The ONNX Runtime library is that of the
/// embedder.
pub(super) fn settle(
    sources: Sources<'_>,
    onnx_runtime: Option<&Path>,
) -> Result<Option<JudgeSettings>> {
    let choice = sources.parsed_at("judge", |choice, folder| match choice {
        JudgeChoice::Onnx(model) => JudgeChoice::Onnx(folder.join(model)),
        other => other,
    })?;
    let is_remote = choice.as_ref().is_some_and(JudgeChoice::is_remote);
    let (url, key) = (
        sources.not_below("judge").text("judge_url")?,
        key(sources, "judge", is_remote)?,
    );
    Ok(choice.map(|choice| JudgeSettings {
        choice,
        url,
        key,
        onnx_runtime: onnx_runtime.map(Path::to_path_buf),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::Global;
    use super::super::sources::settled;
    use super::*;
    use lyra_core::models::LlmChoice;

    fn layer(
        file: &str,
        env: &[(&str, &str)],
        flag: Option<&str>,
    ) -> Result<Option<JudgeSettings>> {
        let flags = Global {
            judge: flag.map(str::to_owned),
            ..Global::default()
        };
        settled((file, "/conf"), env, &flags, |sources| {
            settle(sources, Some(Path::new("/ort")))
        })
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
        // A path that does not come from a file is relative to the working folder.
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
                "key \"judge\": there is no judge \"candle:x\"",
            ),
            (
                "judge = 5",
                vec![],
                None,
                "key \"judge\" is 5; expected a string",
            ),
            (
                "judge_url = 5",
                vec![],
                None,
                "key \"judge_url\" is 5; expected a string",
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
        // The key is not needed, so its file may be missing.
        let file = "judge = \"onnx:m\"\njudge_key_file = \"/nowhere/key\"";
        assert!(layer(file, &[], None).is_ok());
    }
}
