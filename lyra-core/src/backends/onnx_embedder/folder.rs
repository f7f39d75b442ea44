//! What a sentence-transformers folder says about its model: which graph, how its tokens are
//! pooled, how long a text may be, what stands before a query.

use super::pooling::Pooling;
use crate::error::{Error, ErrorKind, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where the graph of a folder is looked for.
const GRAPHS: [&str; 2] = ["model.onnx", "onnx/model.onnx"];

/// Tokens of a text where the folder is silent.
const USUAL_TOKENS: usize = 512;

/// A model's settings, as its files have them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelFolder {
    /// The graph.
    pub(super) graph: PathBuf,
    /// `tokenizer.json`.
    pub(super) tokenizer: PathBuf,
    /// What the model is called: the name of its folder.
    pub(super) name: String,
    /// How token vectors become one.
    pub(super) pooling: Pooling,
    /// Length of a token vector, as the pooling layer expects it.
    pub(super) dimension: Option<usize>,
    /// Tokens of a text, the special ones included.
    pub(super) max_tokens: usize,
    /// Rows of the table of token embeddings.
    pub(super) vocabulary: Option<usize>,
    /// Whether texts are put in lower case before they are cut into tokens.
    pub(super) lower_case: bool,
    /// Stands before a query.
    pub(super) query_prompt: String,
    /// Stands before a document.
    pub(super) document_prompt: String,
    /// The id that fills short rows of a batch.
    pub(super) pad_id: i64,
    /// A layer behind the pooling that is not ours to compute.
    pub(super) foreign_layer: Option<String>,
}

impl ModelFolder {
    /// Reads the settings of a folder. `place` may also be a graph in it.
    pub(super) fn read(place: &Path, file: Option<&str>) -> Result<Self> {
        let (folder, graph) = locate(place, file)?;
        let modules = json(&folder.join("modules.json"))?;
        let modules = modules.as_ref().and_then(Value::as_array);
        let of_kind = |kind: &str| -> Option<PathBuf> {
            let found = modules?.iter().find(|m| kind_of(m) == kind)?;
            Some(folder.join(found["path"].as_str().unwrap_or_default()))
        };
        let base = of_kind("Transformer").unwrap_or_else(|| folder.clone());
        let foreign_layer = modules
            .into_iter()
            .flatten()
            .map(kind_of)
            .find(|kind| !["Transformer", "Pooling", "Normalize"].contains(kind));
        let pooling_file = of_kind("Pooling")
            .unwrap_or_else(|| folder.join("1_Pooling"))
            .join("config.json");
        let pooling = json(&pooling_file)?.unwrap_or_default();
        let config = settings(&folder, &base, "config.json")?;
        let sentence = settings(&folder, &base, "sentence_bert_config.json")?;
        let tokens = settings(&folder, &base, "tokenizer_config.json")?;
        let prompts = json(&folder.join("config_sentence_transformers.json"))?.unwrap_or_default();
        let model = Self {
            tokenizer: tokenizer_of(&folder, &base, &graph)?,
            name: name_of(&folder),
            pooling: pooling_of(&pooling).map_err(|e: Error| e.context(pooling_file.display()))?,
            dimension: size(&pooling["word_embedding_dimension"]),
            max_tokens: max_tokens(&sentence, &tokens, &config),
            vocabulary: size(&config["vocab_size"]),
            lower_case: sentence["do_lower_case"].as_bool().unwrap_or(false),
            query_prompt: prompt(&prompts, &["query"]),
            document_prompt: prompt(&prompts, &["document", "passage", "corpus"]),
            pad_id: config["pad_token_id"].as_i64().unwrap_or(0),
            foreign_layer: foreign_layer.map(str::to_owned),
            graph,
        };
        if pooling["include_prompt"] == false && model.has_prompts() {
            return Err(unsupported(
                "the model leaves its prompt out of the pooling (include_prompt is false)",
            ));
        }
        Ok(model)
    }

    fn has_prompts(&self) -> bool {
        !(self.query_prompt.is_empty() && self.document_prompt.is_empty())
    }

    /// What of the settings decides a vector, beside graph and tokenizer.
    pub(super) fn settings_text(&self) -> String {
        format!(
            "{:?}|{}|{}|{:?}|{:?}",
            self.pooling, self.max_tokens, self.lower_case, self.query_prompt, self.document_prompt
        )
    }
}

pub(super) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message).with_hint(
        "export the whole encoder, pooling included, as one graph with the output sentence_embedding",
    )
}

/// The folder and the graph in it.
fn locate(place: &Path, file: Option<&str>) -> Result<(PathBuf, PathBuf)> {
    if place.is_file() {
        let parent = place.parent().unwrap_or(Path::new(""));
        let below = parent.file_name().is_some_and(|name| name == "onnx");
        let folder = if below { parent.parent() } else { None };
        return Ok((folder.unwrap_or(parent).to_path_buf(), place.to_path_buf()));
    }
    if !place.is_dir() {
        return Err(missing(format!("there is no model at {}", place.display())));
    }
    let graph = match file {
        Some(file) => [place.join(file), place.join("onnx").join(file)]
            .into_iter()
            .find(|path| path.is_file())
            .ok_or_else(|| missing(format!("there is no {file} in {}", place.display())))?,
        None => only_graph(place)?,
    };
    Ok((place.to_path_buf(), graph))
}

/// `model.onnx` where it usually is, or the one graph that there is.
fn only_graph(folder: &Path) -> Result<PathBuf> {
    let mut usual = GRAPHS.iter().map(|name| folder.join(name));
    if let Some(path) = usual.find(|path| path.is_file()) {
        return Ok(path);
    }
    let mut graphs: Vec<PathBuf> = [folder.to_path_buf(), folder.join("onnx")]
        .iter()
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "onnx"))
        .collect();
    graphs.sort();
    match graphs.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(missing(format!("{} has no model.onnx", folder.display()))),
        several => {
            let names: Vec<_> = several
                .iter()
                .filter_map(|g| g.file_name()?.to_str())
                .collect();
            Err(Error::invalid(format!(
                "{} has several graphs and no model.onnx: {}",
                folder.display(),
                names.join(", ")
            ))
            .with_hint("name one of them: onnx:FOLDER/FILE.onnx"))
        }
    }
}

fn missing(message: String) -> Error {
    Error::new(ErrorKind::Backend, message).with_hint(
        "give the folder of a sentence-transformers model exported to ONNX: model.onnx, tokenizer.json, \
         config.json; docs/embedders.md says how to make one",
    )
}

/// `tokenizer.json` of the folder, of the transformer's module, or beside the graph.
fn tokenizer_of(folder: &Path, base: &Path, graph: &Path) -> Result<PathBuf> {
    let beside = graph.parent().unwrap_or(folder);
    [folder, base, beside]
        .iter()
        .map(|place| place.join("tokenizer.json"))
        .find(|path| path.is_file())
        .ok_or_else(|| missing(format!("{} has no tokenizer.json", folder.display())))
}

/// A JSON file of the model; null where there is none.
fn settings(folder: &Path, base: &Path, name: &str) -> Result<Value> {
    match json(&base.join(name))? {
        Some(found) => Ok(found),
        None => Ok(json(&folder.join(name))?.unwrap_or_default()),
    }
}

fn json(path: &Path) -> Result<Option<Value>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(missing(format!("{} cannot be read: {e}", path.display()))),
    };
    let parsed = serde_json::from_slice(&bytes)
        .map_err(|e| missing(format!("{} is not JSON: {e}", path.display())))?;
    Ok(Some(parsed))
}

/// `Pooling` of `sentence_transformers.models.Pooling`.
fn kind_of(module: &Value) -> &str {
    let path = module["type"].as_str().unwrap_or_default();
    path.rsplit('.').next().unwrap_or(path)
}

fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize();
    let whole = whole.as_deref().unwrap_or(folder);
    let name = whole.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        })
        .take(64)
        .collect();
    if plain.is_empty() {
        "model".to_owned()
    } else {
        plain
    }
}

/// The pooling that a configuration names; the mean where it names none.
fn pooling_of(config: &Value) -> Result<Pooling> {
    let known = [
        ("mean", "mean_tokens", Pooling::Mean),
        ("cls", "cls_token", Pooling::Cls),
        ("max", "max_tokens", Pooling::Max),
        ("lasttoken", "lasttoken", Pooling::LastToken),
    ];
    let mut named: Vec<String> = Vec::new();
    // Old files have a flag for each mode, newer ones the name of one.
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

fn size(value: &Value) -> Option<usize> {
    let number = value.as_u64().filter(|n| *n > 0)?;
    usize::try_from(number).ok()
}

/// Tokens of a text: what the encoder was trained with, and no more than it has positions.
fn max_tokens(sentence: &Value, tokenizer: &Value, config: &Value) -> usize {
    // Tokenizers without a limit say so with a number of thirty digits.
    let of_tokenizer = size(&tokenizer["model_max_length"]).filter(|n| *n <= 1_000_000);
    let wanted = size(&sentence["max_seq_length"])
        .or(of_tokenizer)
        .unwrap_or(USUAL_TOKENS);
    let positions = size(&config["max_position_embeddings"]).map(|n| {
        // RoBERTa counts positions from behind the padding id.
        let kind = config["model_type"].as_str().unwrap_or_default();
        let offset = ["roberta", "xlm-roberta", "camembert", "mpnet"].contains(&kind);
        let before = size(&config["pad_token_id"]).unwrap_or(1) + 1;
        if offset { n.saturating_sub(before) } else { n }
    });
    positions.map_or(wanted, |positions| wanted.min(positions))
}

/// What stands before a text of a role: its prompt by name, else the default one.
fn prompt(config: &Value, names: &[&str]) -> String {
    let prompts = &config["prompts"];
    let default = config["default_prompt_name"].as_str();
    let mut named = names.iter().copied().chain(default);
    let found = named.find_map(|name| prompts[name].as_str());
    found.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn folder_with(files: &[(&str, Value)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = match content {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn settings_are_read_from_wherever_exports_put_them() {
        let empty = json!("");
        let modules = json!([
            { "path": "0_Transformer", "type": "sentence_transformers.models.Transformer" },
            { "path": "1_Pooling", "type": "sentence_transformers.models.Pooling" },
            { "path": "2_Dense", "type": "sentence_transformers.models.Dense" },
        ]);
        let folder = folder_with(&[
            ("onnx/model.onnx", empty.clone()),
            ("modules.json", modules),
            ("0_Transformer/tokenizer.json", empty.clone()),
            (
                "0_Transformer/config.json",
                json!({ "model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1, "vocab_size": 9 }),
            ),
            (
                "0_Transformer/sentence_bert_config.json",
                json!({ "max_seq_length": 8192, "do_lower_case": true }),
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
        let model = ModelFolder::read(folder.path(), None).unwrap();
        assert_eq!(model.graph, folder.path().join("onnx/model.onnx"));
        assert_eq!(model.pooling, Pooling::Cls);
        assert_eq!((model.dimension, model.vocabulary), (Some(384), Some(9)));
        assert_eq!(
            (model.max_tokens, model.pad_id, model.lower_case),
            (512, 1, true)
        );
        assert_eq!(
            (model.query_prompt.as_str(), model.document_prompt.as_str()),
            ("query: ", "passage: ")
        );
        assert_eq!(model.foreign_layer.as_deref(), Some("Dense"));

        let bare = folder_with(&[
            ("some.onnx", empty.clone()),
            ("tokenizer.json", empty),
            ("tokenizer_config.json", json!({ "model_max_length": 1e30 })),
        ]);
        let model = ModelFolder::read(bare.path(), None).unwrap();
        assert_eq!((model.pooling, model.max_tokens), (Pooling::Mean, 512));
        assert_eq!(model.foreign_layer, None);
        let named = ModelFolder::read(&bare.path().join("some.onnx"), None).unwrap();
        assert_eq!(named, model);
        let chosen = ModelFolder::read(bare.path(), Some("some.onnx")).unwrap();
        assert_eq!(chosen, model);
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

    #[test]
    fn what_is_missing_is_named() {
        let text = json!("");
        for (files, why) in [
            (&[][..], "has no model.onnx"),
            (
                &[("a.onnx", &text), ("onnx/b.onnx", &text)],
                "several graphs and no model.onnx: a.onnx, b.onnx",
            ),
            (&[("model.onnx", &text)], "has no tokenizer.json"),
            (
                &[
                    ("model.onnx", &text),
                    ("tokenizer.json", &text),
                    ("config.json", &json!("{")),
                ],
                "config.json is not JSON",
            ),
            (
                &[
                    ("model.onnx", &text),
                    ("tokenizer.json", &text),
                    ("1_Pooling/config.json", &json!({ "include_prompt": false })),
                    (
                        "config_sentence_transformers.json",
                        &json!({ "prompts": { "query": "Find: " } }),
                    ),
                ],
                "include_prompt is false",
            ),
        ] {
            let files: Vec<(&str, Value)> = files.iter().map(|(n, v)| (*n, (*v).clone())).collect();
            let folder = folder_with(&files);
            let error = ModelFolder::read(folder.path(), None).unwrap_err();
            assert!(error.message().contains(why), "{error}");
            assert!(error.hint().is_some(), "{error}");
        }
        let error = ModelFolder::read(Path::new("/nowhere/model"), None).unwrap_err();
        assert!(
            error.message().contains("no model at /nowhere/model"),
            "{error}"
        );
        let folder = folder_with(&[("model.onnx", text)]);
        let error = ModelFolder::read(folder.path(), Some("model_int8.onnx")).unwrap_err();
        assert!(error.message().contains("no model_int8.onnx"), "{error}");
    }
}
