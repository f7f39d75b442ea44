//! `models`: shows the models in use, and adds a model in ONNX files from a folder, or from a hub
//! if the network allows it.

use super::INTERRUPTED;
use super::config::Settings;
use super::output::Output;
#[cfg(feature = "http")]
use super::output::ProgressLine;
#[cfg(feature = "http")]
use crate::server::Signals;
use clap::Args;
use lyra_core::models::{EmbedderChoice, EmbedderSettings, JudgeChoice, JudgeSettings};
use lyra_core::{Engine, Error, ErrorKind, Result};
use std::io;
use std::path::{Component, Path, PathBuf};

#[derive(Args)]
pub(super) struct Add {
    /// A folder with model.onnx, tokenizer.json and config.json, or OWNER/NAME on the hub
    /// [env: HF_ENDPOINT, HF_TOKEN]
    source: String,
    /// The name of the model [default: the last part of the source]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The graph to use if there are several, such as model_int8.onnx
    #[arg(long, value_name = "FILE")]
    graph: Option<String>,
    /// The hub's branch, tag or commit
    #[arg(long, value_name = "REV", default_value = "main")]
    revision: String,
    /// Replace an existing model of the same name
    #[arg(long)]
    replace: bool,
}

/// The use of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Embedder,
    Judge,
}

impl Kind {
    /// Determined by the model's own configuration: classifiers judge, all others embed.
    fn of(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join("config.json")).unwrap_or_default();
        let config: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let classifies = config["architectures"].as_array().is_some_and(|names| {
            let names = names.iter().filter_map(|name| name.as_str());
            names
                .into_iter()
                .any(|name| name.ends_with("ForSequenceClassification"))
        });
        if classifies {
            Self::Judge
        } else {
            Self::Embedder
        }
    }

    const fn setting(self) -> &'static str {
        match self {
            Self::Embedder => "embedder",
            Self::Judge => "judge",
        }
    }
}

/// Resolves the location of a model: the path itself if it exists, otherwise an added model of that
/// name. `beside` is the folder of the configuration file, to which its paths are relative.
pub(super) fn resolve(place: &mut PathBuf, models: &Path, beside: Option<&Path>) {
    if place.exists() {
        return;
    }
    let short = beside.and_then(|folder| place.strip_prefix(folder).ok());
    let short = short.unwrap_or(place);
    let is_short = short
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let added = models.join(short);
    if is_short && added.exists() {
        *place = added;
    }
}

pub(super) fn list(engine: &Engine, settings: &Settings) -> Result<()> {
    let report = engine.models();
    let mut out = Output::new();
    for (part, id) in [
        ("embedder", &report.embedder),
        ("claim_extractor", &report.claim_extractor),
        ("stance_judge", &report.stance_judge),
    ] {
        let builtin = report.builtin.iter().any(|name| name == part);
        let kind = if builtin { "built-in" } else { "configured" };
        out.line(&format!("{part}\t{id}\t{kind}"))?;
    }
    for (name, folder) in added(&settings.models)? {
        let kind = Kind::of(&folder).setting();
        out.line(&format!("added\tonnx:{name}\t{kind}\t{}", folder.display()))?;
    }
    out.finish()
}

/// The added models, by name.
fn added(models: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = match std::fs::read_dir(models) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(storage(models, &error)),
    };
    let mut found: Vec<(String, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .filter(|(name, path)| !name.starts_with('.') && path.is_dir())
        .collect();
    found.sort();
    Ok(found)
}

/// Adds the model; returns the exit code.
pub(super) fn add(settings: &Settings, options: &Add) -> Result<u8> {
    let source = Path::new(&options.source);
    let name = name_of(options)?;
    let place = settings.models.join(&name);
    if place.exists() && !options.replace {
        let message = format!("there is a model {name:?} already, at {}", place.display());
        return Err(Error::invalid(message)
            .with_hint("give it another name with --name, or put it in its place with --replace"));
    }
    super::make_private_folder(&settings.models).map_err(|e| storage(&settings.models, &e))?;
    // Built in a temporary place, and moved to its final place when it works.
    let making = Making::new(
        settings
            .models
            .join(format!(".{name}.{}", std::process::id())),
    )?;
    if source.is_dir() {
        copy_folder(source, options.graph.as_deref(), &making.0)?;
    } else if source.exists() {
        let message = format!("{} is a file; a model is a folder", source.display());
        return Err(
            Error::invalid(message).with_hint("give the folder; --graph names a file in it")
        );
    } else if fetch(settings, options, &making.0)?.is_none() {
        crate::log::line("interrupted: nothing was added");
        return Ok(INTERRUPTED);
    }
    let kind = Kind::of(&making.0);
    let checked = try_out(kind, &making.0, settings)?;
    making.put(&place)?;
    report(&name, kind, checked.as_ref(), &place)?;
    Ok(0)
}

fn report(name: &str, kind: Kind, unchecked: Option<&Error>, place: &Path) -> Result<()> {
    match unchecked {
        None => crate::log::line("the model was opened and works"),
        Some(error) => {
            crate::log::line(&format!("not tried out: {}", error.message()));
            if let Some(hint) = error.hint() {
                crate::log::line(&format!("hint: {hint}"));
            }
        }
    }
    let setting = kind.setting();
    crate::log::line(&format!(
        "to use it: {setting} = \"onnx:{name}\" in lyra.toml, or --{setting} onnx:{name}"
    ));
    let mut out = Output::new();
    out.line(&format!(
        "added\tonnx:{name}\t{setting}\t{}",
        place.display()
    ))?;
    out.finish()
}

/// The name, which is also that of its folder.
fn name_of(options: &Add) -> Result<String> {
    let source = options.source.trim_end_matches(['/', '\\']);
    let last = source.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = options.name.as_deref().unwrap_or(last);
    let good = !name.is_empty()
        && !name.starts_with('.')
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.".contains(c));
    if good {
        return Ok(name.to_owned());
    }
    Err(Error::invalid(format!("{name:?} is no name for a model"))
        .with_hint("a name consists of letters, digits, - _ and .; give one with --name"))
}

/// A folder that is deleted unless it is moved to its final place.
struct Making(PathBuf);

impl Making {
    fn new(folder: PathBuf) -> Result<Self> {
        // Left over from a killed process with the same number.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).map_err(|e| storage(&folder, &e))?;
        Ok(Self(folder))
    }

    /// Moves the folder to its final place; an old one is only removed when this has succeeded.
    fn put(self, place: &Path) -> Result<()> {
        let aside = self.0.with_extension("old");
        let replaces = place.exists();
        if replaces {
            std::fs::rename(place, &aside).map_err(|e| storage(place, &e))?;
        }
        if let Err(error) = std::fs::rename(&self.0, place) {
            if replaces {
                std::fs::rename(&aside, place).map_err(|e| storage(&aside, &e))?;
            }
            return Err(storage(place, &error));
        }
        if replaces {
            std::fs::remove_dir_all(&aside).map_err(|e| storage(&aside, &e))?;
        }
        Ok(())
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        // If it was moved to its final place, it no longer exists here.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Copies the files of a model: graphs with their weights, settings, tokenizer.
fn copy_folder(from: &Path, graph: Option<&str>, to: &Path) -> Result<()> {
    let entries = std::fs::read_dir(from).map_err(|e| storage(from, &e))?;
    for entry in entries {
        let path = entry.map_err(|e| storage(from, &e))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let target = to.join(name);
        if path.is_dir() {
            // "onnx", and the layers of a sentence encoder: "1_Pooling".
            if name == "onnx" || name.starts_with(|c: char| c.is_ascii_digit()) {
                std::fs::create_dir(&target).map_err(|e| storage(&target, &e))?;
                copy_folder(&path, graph, &target)?;
            }
        } else if belongs(name, graph) {
            std::fs::copy(&path, &target).map_err(|e| storage(&path, &e))?;
        }
    }
    Ok(())
}

/// Whether a file in a model's folder should be copied; `graph` is the only graph to copy, if
/// given.
fn belongs(name: &str, graph: Option<&str>) -> bool {
    let of_a_graph = name.contains(".onnx");
    if of_a_graph {
        let wanted = graph.map(|graph| graph.rsplit('/').next().unwrap_or(graph));
        return wanted.is_none_or(|wanted| name.starts_with(wanted));
    }
    name.ends_with(".json") || name == "README.md" || name.starts_with("LICENSE")
}

/// Opens the model and uses it once. Returns the reason if this build or machine cannot run it; a
/// model that does not work is an error.
fn try_out(kind: Kind, folder: &Path, settings: &Settings) -> Result<Option<Error>> {
    check_files(folder)?;
    let runtime = settings.embedder.onnx_runtime.clone();
    if let Err(error) = lyra_core::models::onnx_can_run(runtime.as_deref()) {
        return Ok(Some(error));
    }
    match kind {
        Kind::Embedder => try_embedder(folder, runtime)?,
        Kind::Judge => try_judge(folder, runtime)?,
    }
    Ok(None)
}

/// Checks that are possible without running the model.
fn check_files(folder: &Path) -> Result<()> {
    let places = || [folder.to_path_buf(), folder.join("onnx")].into_iter();
    let has_graph = places()
        .filter_map(|place| std::fs::read_dir(place).ok())
        .flat_map(|entries| entries.flatten())
        .any(|entry| entry.path().extension().is_some_and(|e| e == "onnx"));
    let has_file = |name: &str| places().any(|place| place.join(name).is_file());
    let missing = if !has_graph {
        "no graph (model.onnx)"
    } else if !has_file("tokenizer.json") {
        "no tokenizer.json"
    } else if !has_file("config.json") {
        "no config.json"
    } else {
        return Ok(());
    };
    Err(
        Error::invalid(format!("the model has {missing}")).with_hint(
            "give the folder of a model exported to ONNX: model.onnx, tokenizer.json, config.json; \
         docs/embedders.md and docs/judges.md say how to make one",
        ),
    )
}

fn try_embedder(folder: &Path, onnx_runtime: Option<PathBuf>) -> Result<()> {
    let settings = EmbedderSettings {
        choice: EmbedderChoice::Onnx(folder.to_path_buf()),
        onnx_runtime,
        ..EmbedderSettings::default()
    };
    let runtime = super::runtime()?;
    runtime.block_on(async {
        match settings.open().await? {
            Some(embedder) => {
                let role = lyra_core::ports::TextRole::Document;
                embedder.embed(&["A sentence."], role).await.map(|_| ())
            }
            None => Ok(()),
        }
    })
}

fn try_judge(folder: &Path, onnx_runtime: Option<PathBuf>) -> Result<()> {
    let settings = JudgeSettings {
        choice: JudgeChoice::Onnx(folder.to_path_buf()),
        onnx_runtime,
        ..JudgeSettings::default()
    };
    let Some(judge) = settings.open()? else {
        return Ok(());
    };
    let pair =
        lyra_core::ports::StancePair::new("Tea helps.".to_owned(), "Tea is of use.".to_owned());
    super::runtime()?.block_on(judge.judge(&[pair])).map(|_| ())
}

/// Fetches the model from the hub; `None` if interrupted by Ctrl-C or SIGTERM.
#[cfg(feature = "http")]
fn fetch(settings: &Settings, options: &Add, folder: &Path) -> Result<Option<()>> {
    use lyra_core::models::{ModelHub, USUAL_HUB};
    use lyra_core::web::ApiKey;
    let source = &options.source;
    let base = settings.model_hub.as_deref().unwrap_or(USUAL_HUB);
    let repository = source.strip_prefix("hf:").unwrap_or(source);
    let is_path = repository.starts_with(['.', '/', '~']) || repository.contains('\\');
    if is_path || repository.split('/').count() != 2 {
        return Err(Error::not_found(format!("there is no folder {source}"))
            .with_hint("give the folder of a model, or OWNER/NAME on the hub"));
    }
    let key = settings.model_hub_key.as_ref();
    let key = key
        .map(|key| ApiKey::new("HF_TOKEN", key.to_string_lossy()))
        .transpose()?;
    let hub = ModelHub::new(base, key)?;
    let mut line = ProgressLine::new();
    let mut told = (String::new(), 0);
    let download = async {
        let model = hub
            .find(repository, &options.revision, options.graph.as_deref())
            .await?;
        crate::log::line(&format!("{repository} at {}", model.commit));
        hub.download(&model, folder, &mut |file, came| {
            let share = share(came, file.bytes);
            let tenth = (share * 10.0) as u32;
            // One message per tenth of a file is enough to show progress.
            if (file.path.as_str(), tenth) != (told.0.as_str(), told.1) {
                told = (file.path.clone(), tenth);
                let (came, whole) = (megabytes(came), file.bytes.map_or(0.0, megabytes));
                line.show(share, &format!("{} {came:.1} of {whole:.1} MB", file.path));
            }
        })
        .await
    };
    let outcome = super::runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        tokio::select! {
            done = download => done.map(Some),
            _ = signals.wait() => Ok(None),
        }
    });
    line.end();
    outcome
}

#[cfg(feature = "http")]
fn share(came: u64, whole: Option<u64>) -> f64 {
    whole
        .filter(|bytes| *bytes > 0)
        .map_or(0.0, |bytes| came as f64 / bytes as f64)
}

#[cfg(feature = "http")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(not(feature = "http"))]
fn fetch(_: &Settings, options: &Add, _: &Path) -> Result<Option<()>> {
    Err(
        Error::not_found(format!("there is no folder {}", options.source))
            .with_hint("this build fetches nothing; build with --features http, or give a folder"),
    )
}

fn storage(place: &Path, error: &io::Error) -> Error {
    let message = format!("{}: {error}", place.display());
    Error::new(ErrorKind::Storage, message)
}
