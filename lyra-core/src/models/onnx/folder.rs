//! The contents of a model folder: which graph, which tokenizer, how long a text may be.

use crate::error::{Error, ErrorKind, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The hint for files that contradict one another.
pub(super) const SAME_MODEL: &str =
    "tokenizer.json, config.json and the graph must come from the same model";

/// Default locations of the graph in a folder.
const GRAPHS: [&str; 2] = ["model.onnx", "onnx/model.onnx"];

/// Maximum number of tokens of a text if the folder does not state it.
const USUAL_TOKENS: usize = 512;

/// A model's files, and the settings common to all kinds of models.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelFolder {
    /// The folder itself.
    pub(super) root: PathBuf,
    /// The graph.
    pub(super) graph: PathBuf,
    /// `tokenizer.json`.
    pub(super) tokenizer: PathBuf,
    /// The model's name: the name of its folder.
    pub(super) name: String,
    /// The layers of `modules.json`, which sentence encoders have.
    pub(super) modules: Vec<Layer>,
    /// `config.json`; null if missing.
    pub(super) config: Value,
    /// `sentence_bert_config.json`; null if missing.
    pub(super) sentence: Value,
    /// Maximum number of tokens of a row, including special ones.
    pub(super) max_tokens: usize,
    /// Number of rows of the table of token embeddings.
    pub(super) vocabulary: Option<usize>,
    /// The id used to pad short rows of a batch.
    pub(super) pad_id: i64,
}

/// A layer that `modules.json` names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layer {
    /// The last part of the type, such as `Pooling` of `sentence_transformers.models.Pooling`.
    pub(super) kind: String,
    /// The folder of its settings.
    pub(super) path: PathBuf,
}

impl ModelFolder {
    /// Reads the settings of a folder. `place` may also be a graph in the folder.
    pub(super) fn read(place: &Path, file: Option<&str>) -> Result<Self> {
        let (root, graph) = locate(place, file)?;
        let modules = json(&root.join("modules.json"))?.unwrap_or_default();
        let layers = modules.as_array().into_iter().flatten().map(|m| Layer {
            kind: kind_of(m).to_owned(),
            path: root.join(m["path"].as_str().unwrap_or_default()),
        });
        let modules: Vec<Layer> = layers.collect();
        let transformer = modules.iter().find(|layer| layer.kind == "Transformer");
        let base = transformer.map_or(&root, |layer| &layer.path);
        let config = settings(&root, base, "config.json")?;
        let sentence = settings(&root, base, "sentence_bert_config.json")?;
        let tokens = settings(&root, base, "tokenizer_config.json")?;
        Ok(Self {
            tokenizer: tokenizer_of(&root, base, &graph)?,
            name: name_of(&root),
            max_tokens: max_tokens(&sentence, &tokens, &config),
            vocabulary: size(&config["vocab_size"]),
            pad_id: config["pad_token_id"].as_i64().unwrap_or(0),
            config,
            sentence,
            modules,
            root,
            graph,
        })
    }

    /// The layer of a kind, if `modules.json` names one.
    pub(super) fn layer(&self, kind: &str) -> Option<&Layer> {
        self.modules.iter().find(|layer| layer.kind == kind)
    }
}

/// An error for a graph feature that is not supported.
pub(super) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message).with_hint(
        "export the whole model as one graph that takes input_ids and attention_mask of any length",
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

/// `model.onnx` in its usual place, or the only graph that there is.
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

pub(super) fn missing(message: String) -> Error {
    Error::new(ErrorKind::Backend, message).with_hint(
        "give the folder of a model exported to ONNX: model.onnx, tokenizer.json, config.json; \
         docs/embedders.md and docs/judges.md say how to make one",
    )
}

/// `tokenizer.json` in the folder, in the transformer's module, or beside the graph.
fn tokenizer_of(folder: &Path, base: &Path, graph: &Path) -> Result<PathBuf> {
    let beside = graph.parent().unwrap_or(folder);
    [folder, base, beside]
        .iter()
        .map(|place| place.join("tokenizer.json"))
        .find(|path| path.is_file())
        .ok_or_else(|| missing(format!("{} has no tokenizer.json", folder.display())))
}

/// A JSON file of the model; null if missing.
fn settings(folder: &Path, base: &Path, name: &str) -> Result<Value> {
    match json(&base.join(name))? {
        Some(found) => Ok(found),
        None => Ok(json(&folder.join(name))?.unwrap_or_default()),
    }
}

pub(super) fn json(path: &Path) -> Result<Option<Value>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(missing(format!("{} cannot be read: {e}", path.display()))),
    };
    let parsed = serde_json::from_slice(&bytes)
        .map_err(|e| missing(format!("{} is not JSON: {e}", path.display())))?;
    Ok(Some(parsed))
}

/// The last part of a layer's type.
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

pub(super) fn size(value: &Value) -> Option<usize> {
    let number = value.as_u64().filter(|n| *n > 0)?;
    usize::try_from(number).ok()
}

/// Maximum number of tokens of a text: the length used in training, but at most the number of positions.
fn max_tokens(sentence: &Value, tokenizer: &Value, config: &Value) -> usize {
    // Tokenizers without a limit give a number of thirty digits.
    let of_tokenizer = size(&tokenizer["model_max_length"]).filter(|n| *n <= 1_000_000);
    let wanted = size(&sentence["max_seq_length"])
        .or(of_tokenizer)
        .unwrap_or(USUAL_TOKENS);
    let positions = size(&config["max_position_embeddings"]).map(|n| {
        // RoBERTa counts positions from after the padding id.
        let kind = config["model_type"].as_str().unwrap_or_default();
        let offset = ["roberta", "xlm-roberta", "camembert", "mpnet"].contains(&kind);
        let before = size(&config["pad_token_id"]).unwrap_or(1) + 1;
        if offset { n.saturating_sub(before) } else { n }
    });
    positions.map_or(wanted, |positions| wanted.min(positions))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// A folder with these files.
    pub(in super::super) fn folder_with(files: &[(&str, Value)]) -> tempfile::TempDir {
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
                json!({ "max_seq_length": 8192 }),
            ),
        ]);
        let model = ModelFolder::read(folder.path(), None).unwrap();
        assert_eq!(model.graph, folder.path().join("onnx/model.onnx"));
        assert_eq!(model.vocabulary, Some(9));
        assert_eq!((model.max_tokens, model.pad_id), (512, 1));
        let pooling = model.layer("Pooling").unwrap();
        assert_eq!(pooling.path, folder.path().join("1_Pooling"));

        let bare = folder_with(&[
            ("some.onnx", empty.clone()),
            ("tokenizer.json", empty),
            ("tokenizer_config.json", json!({ "model_max_length": 1e30 })),
        ]);
        let model = ModelFolder::read(bare.path(), None).unwrap();
        assert_eq!((model.max_tokens, model.config.is_null()), (512, true));
        assert!(model.modules.is_empty());
        let named = ModelFolder::read(&bare.path().join("some.onnx"), None).unwrap();
        assert_eq!(named, model);
        let chosen = ModelFolder::read(bare.path(), Some("some.onnx")).unwrap();
        assert_eq!(chosen, model);
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
