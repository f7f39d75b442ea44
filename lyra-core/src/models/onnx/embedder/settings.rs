//! The encoder settings of a sentence-transformers folder: pooling of tokens, prompts, and layers
//! after the graph.

use super::super::folder::{ModelFolder, json, size};
use super::pooling::Pooling;
use crate::error::{Error, ErrorKind, Result};
use serde_json::Value;
use std::path::PathBuf;

/// An encoder's settings, as given in its files.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    /// How token vectors are combined.
    pub(super) pooling: Pooling,
    /// Length of a token vector, as the pooling layer expects it.
    pub(super) dimension: Option<usize>,
    /// Whether texts are converted to lower case before tokenization.
    pub(super) lower_case: bool,
    /// Prefix of a query.
    pub(super) query_prompt: String,
    /// Prefix of a document.
    pub(super) document_prompt: String,
    /// A layer after the pooling that is not supported.
    pub(super) foreign_layer: Option<String>,
}

impl Settings {
    /// Reads the settings of a folder.
    pub(super) fn read(folder: &ModelFolder) -> Result<Self> {
        let mut kinds = folder.modules.iter().map(|layer| layer.kind.as_str());
        let foreign_layer =
            kinds.find(|kind| !["Transformer", "Pooling", "Normalize"].contains(kind));
        let pooling_file = pooling_folder(folder).join("config.json");
        let pooling = json(&pooling_file)?.unwrap_or_default();
        let prompts = folder.root.join("config_sentence_transformers.json");
        let prompts = json(&prompts)?.unwrap_or_default();
        let settings = Self {
            pooling: pooling_of(&pooling).map_err(|e: Error| e.context(pooling_file.display()))?,
            dimension: size(&pooling["word_embedding_dimension"]),
            lower_case: folder.sentence["do_lower_case"].as_bool().unwrap_or(false),
            query_prompt: prompt(&prompts, &["query"]),
            document_prompt: prompt(&prompts, &["document", "passage", "corpus"]),
            foreign_layer: foreign_layer.map(str::to_owned),
        };
        let has_prompts =
            !(settings.query_prompt.is_empty() && settings.document_prompt.is_empty());
        if pooling["include_prompt"] == false && has_prompts {
            return Err(unsupported(
                "the model leaves its prompt out of the pooling (include_prompt is false)",
            ));
        }
        Ok(settings)
    }

    /// The settings that affect a vector, in addition to graph and tokenizer.
    pub(super) fn text(&self, max_tokens: usize) -> String {
        format!(
            "{:?}|{max_tokens}|{}|{:?}|{:?}",
            self.pooling, self.lower_case, self.query_prompt, self.document_prompt
        )
    }
}

fn pooling_folder(folder: &ModelFolder) -> PathBuf {
    let layer = folder.layer("Pooling");
    layer.map_or_else(|| folder.root.join("1_Pooling"), |layer| layer.path.clone())
}

/// The pooling in a configuration; the mean if there is none.
fn pooling_of(config: &Value) -> Result<Pooling> {
    let known = [
        ("mean", "mean_tokens", Pooling::Mean),
        ("cls", "cls_token", Pooling::Cls),
        ("max", "max_tokens", Pooling::Max),
        ("lasttoken", "lasttoken", Pooling::LastToken),
    ];
    let mut named: Vec<String> = Vec::new();
    // Old files have a flag for each mode, newer ones the name of the mode.
    if let Some(mode) = config["pooling_mode"].as_str() {
        named.push(mode.to_owned());
    } else if let Some(flags) = config.as_object() {
        let set = flags.iter().filter(|(_, on)| **on == true);
        named.extend(
            set.filter_map(|(flag, _)| Some(flag.strip_prefix("pooling_mode_")?.to_owned())),
        );
    }
    match named.as_slice() {
        [] => Ok(Pooling::Mean),
        [one] => known
            .iter()
            .find(|(name, flag, _)| one == name || one == flag)
            .map(|(_, _, pooling)| *pooling)
            .ok_or_else(|| {
                unsupported(format!(
                    "pooling {one:?} is not known; expected mean, cls, max or lasttoken"
                ))
            }),
        several => Err(unsupported(format!(
            "the poolings {} side by side are not supported; expected one",
            several.join(", ")
        ))),
    }
}

/// The prompt for a role, by name; otherwise the default one.
fn prompt(config: &Value, names: &[&str]) -> String {
    let prompts = &config["prompts"];
    let default = config["default_prompt_name"].as_str();
    let mut named = names.iter().copied().chain(default);
    let found = named.find_map(|name| prompts[name].as_str());
    found.unwrap_or_default().to_owned()
}

/// An error for an encoder feature that is not supported.
pub(super) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message).with_hint(
        "export the whole encoder, pooling included, as one graph with the output sentence_embedding",
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::folder::tests::folder_with;
    use super::*;
    use crate::error::ErrorKind;
    use serde_json::json;

    fn read(files: &[(&str, Value)]) -> Result<Settings> {
        let mut all = vec![("model.onnx", json!("")), ("tokenizer.json", json!(""))];
        all.extend(files.iter().map(|(name, value)| (*name, value.clone())));
        let folder = folder_with(&all);
        Settings::read(&ModelFolder::read(folder.path(), None)?)
    }

    #[test]
    fn settings_are_read_from_wherever_exports_put_them() {
        let modules = json!([
            { "path": "0_Transformer", "type": "sentence_transformers.models.Transformer" },
            { "path": "1_Pooling", "type": "sentence_transformers.models.Pooling" },
            { "path": "2_Dense", "type": "sentence_transformers.models.Dense" },
        ]);
        let settings = read(&[
            ("modules.json", modules),
            (
                "0_Transformer/sentence_bert_config.json",
                json!({ "do_lower_case": true }),
            ),
            (
                "1_Pooling/config.json",
                json!({ "word_embedding_dimension": 384, "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false }),
            ),
            (
                "config_sentence_transformers.json",
                json!({ "prompts": { "query": "query: ", "passage": "passage: " }, "default_prompt_name": null }),
            ),
        ]);
        let settings = settings.unwrap();
        assert_eq!(settings.pooling, Pooling::Cls);
        assert_eq!((settings.dimension, settings.lower_case), (Some(384), true));
        assert_eq!(
            (
                settings.query_prompt.as_str(),
                settings.document_prompt.as_str()
            ),
            ("query: ", "passage: ")
        );
        assert_eq!(settings.foreign_layer.as_deref(), Some("Dense"));
        let bare = read(&[]).unwrap();
        assert_eq!((bare.pooling, bare.foreign_layer), (Pooling::Mean, None));
    }

    #[test]
    fn a_prompt_that_stays_out_of_the_pooling_is_refused() {
        let prompts = json!({ "prompts": { "query": "Find: " } });
        let error = read(&[
            ("1_Pooling/config.json", json!({ "include_prompt": false })),
            ("config_sentence_transformers.json", prompts),
        ]);
        let error = error.unwrap_err();
        assert!(
            error.message().contains("include_prompt is false"),
            "{error}"
        );
        assert!(error.hint().is_some(), "{error}");
    }

    #[test]
    fn poolings_by_flag_and_by_name() {
        for (config, expected) in [
            (json!({}), Ok(Pooling::Mean)),
            (json!(null), Ok(Pooling::Mean)),
            (
                json!({ "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false }),
                Ok(Pooling::Mean),
            ),
            (json!({ "pooling_mode_max_tokens": true }), Ok(Pooling::Max)),
            (
                json!({ "pooling_mode_lasttoken": true, "include_prompt": true }),
                Ok(Pooling::LastToken),
            ),
            (json!({ "pooling_mode": "cls" }), Ok(Pooling::Cls)),
            (
                json!({ "pooling_mode": "weightedmean" }),
                Err("weightedmean"),
            ),
            (
                json!({ "pooling_mode_mean_sqrt_len_tokens": true }),
                Err("mean_sqrt_len_tokens"),
            ),
            (
                json!({ "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true }),
                Err("side by side"),
            ),
        ] {
            match (pooling_of(&config), expected) {
                (Ok(pooling), Ok(expected)) => assert_eq!(pooling, expected, "{config}"),
                (Err(error), Err(why)) => {
                    assert_eq!(error.kind(), ErrorKind::Unsupported);
                    assert!(error.message().contains(why), "{config}: {error}");
                }
                (got, expected) => panic!("{config}: {got:?} for {expected:?}"),
            }
        }
    }
}
