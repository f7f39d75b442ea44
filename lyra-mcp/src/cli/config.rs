//! Settings: `lyra.toml`, then `LYRA_*` variables, then flags; later sources take precedence.

use super::http::HttpSettings;
use super::llm::Llm;
use super::models as added;
use super::parser::ParserSettings;
use super::sources::{Env, Sources};
use super::{Global, embedder, http, judge, limits, llm, parser, providers};
use crate::tools::Set;
use clap::ValueEnum;
use lyra_core::models::{EmbedderChoice, EmbedderSettings, JudgeChoice, JudgeSettings};
use lyra_core::store::text::names::nearest;
use lyra_core::{Error, Limits, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Keys of `lyra.toml`.
const KEYS: [&str; 40] = [
    "db",
    "read_only",
    "audit",
    "tools",
    "corpus",
    "allow_private_hosts",
    "workers",
    "limits",
    "views_dir",
    "parser",
    "parser_memory",
    "parser_seconds",
    "embedder",
    "embedder_url",
    "embedder_key_file",
    "embedder_dimension",
    "embedder_timeout",
    "onnx_runtime",
    "judge",
    "judge_url",
    "judge_key_file",
    "llm",
    "llm_url",
    "llm_key_env",
    "llm_key_file",
    "llm_timeout",
    "llm_at_once",
    "claim_extractor",
    "stance_judge",
    "providers",
    "provider",
    "mailto",
    "retractions_csv",
    "http_tokens",
    "http_allow_origins",
    "http_allow_hosts",
    "http_rate",
    "http_burst",
    "http_max_body",
    "http_drain_seconds",
];

/// Default number of research jobs that run at the same time.
const WORKERS: usize = 2;

/// The effective settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) db: PathBuf,
    /// The location of the database is the default, so its folder may be created.
    pub(super) db_is_default: bool,
    /// The folders were named on the command line.
    pub(super) corpus_is_flag: bool,
    /// The graph is read-only.
    pub(super) read_only: bool,
    /// Whether the server records its calls.
    pub(super) audit: bool,
    /// Which tools the server lists.
    pub(super) tools: Set,
    pub(super) corpus: Vec<PathBuf>,
    pub(super) allow_private_hosts: bool,
    pub(super) workers: usize,
    pub(super) limits: Limits,
    pub(super) views_dir: Option<PathBuf>,
    pub(super) parser: ParserSettings,
    pub(super) embedder: EmbedderSettings,
    /// The judge, if one is configured.
    pub(super) judge: Option<JudgeSettings>,
    /// The language model, if one is configured.
    pub(super) llm: Option<Llm>,
    /// The search services that are queried.
    pub(super) providers: providers::Resolved,
    /// The settings of the HTTP server.
    pub(super) http: HttpSettings,
    /// The folder for added models.
    pub(super) models: PathBuf,
    /// The hub from which models are fetched, if it is not the default.
    pub(super) model_hub: Option<String>,
    /// The key for models that are not public, from the environment.
    pub(super) model_hub_key: Option<OsString>,
    /// The file that was read.
    pub(super) file: Option<PathBuf>,
}

/// Reads all three sources.
#[allow(
    clippy::disallowed_methods,
    reason = "a binary reads the environment, and here is where"
)]
pub(super) fn settle(flags: &Global) -> Result<Settings> {
    settle_with(flags, &|name| {
        std::env::var_os(name).filter(|value| !value.is_empty())
    })
}

/// A variable that applies before the configuration file is read.
#[allow(clippy::disallowed_methods, reason = "as above")]
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn settle_with(flags: &Global, env: Env<'_>) -> Result<Settings> {
    let file = config_file(flags, env)?;
    let table = match &file {
        Some(path) => read_file(path).map_err(|error| error.context(path.display()))?,
        None => toml::Table::new(),
    };
    let beside = file.as_deref().and_then(Path::parent);
    let given = flags.given();
    let sources = Sources::new(&given, env, &table, beside.unwrap_or(Path::new("")));
    let models = data_folder(env).join("lyra").join("models");
    let mut embedder = embedder::settle(sources)?;
    if let EmbedderChoice::Onnx(place) = &mut embedder.choice {
        added::resolve(place, &models, beside);
    }
    let mut judge = judge::settle(sources, embedder.onnx_runtime.as_deref())?;
    if let Some(JudgeChoice::Onnx(place)) = judge.as_mut().map(|judge| &mut judge.choice) {
        added::resolve(place, &models, beside);
    }
    let db = sources.path("db")?;
    let workers = sources.number("workers", 1..=64)?;
    Ok(Settings {
        db_is_default: db.is_none(),
        corpus_is_flag: !flags.corpus.is_empty(),
        db: db.unwrap_or_else(|| data_folder(env).join("lyra").join("lyra.db")),
        read_only: sources.truth("read_only")?.unwrap_or(false),
        audit: sources.truth("audit")?.unwrap_or(false),
        tools: tool_set(sources)?.unwrap_or_default(),
        corpus: sources.paths("corpus")?.unwrap_or_default(),
        allow_private_hosts: sources.truth("allow_private_hosts")?.unwrap_or(false),
        workers: workers
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(WORKERS),
        limits: limits::settle(sources)?,
        views_dir: sources.path("views_dir")?,
        parser: parser::settle(sources)?,
        judge,
        embedder,
        models,
        // These are also variables of other programs: an invalid value affects only adding models.
        model_hub: env("HF_ENDPOINT").map(|address| address.to_string_lossy().into_owned()),
        model_hub_key: env("HF_TOKEN"),
        llm: llm::settle(sources)?,
        providers: providers::settle(sources)?,
        http: http::settle(sources)?,
        file,
    })
}

/// The configuration file: the named one, otherwise the first that exists.
fn config_file(flags: &Global, env: Env<'_>) -> Result<Option<PathBuf>> {
    let named = flags
        .config
        .clone()
        .or_else(|| env("LYRA_CONFIG").map(PathBuf::from));
    if let Some(path) = named {
        if path.is_file() {
            return Ok(Some(path));
        }
        return Err(
            Error::invalid(format!("there is no configuration file {}", path.display()))
                .with_hint("check --config and LYRA_CONFIG"),
        );
    }
    let usual = [
        PathBuf::from("lyra.toml"),
        config_folder(env).join("lyra").join("lyra.toml"),
    ];
    Ok(usual.into_iter().find(|path| path.is_file()))
}

fn read_file(path: &Path) -> Result<toml::Table> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::invalid(format!("it cannot be read: {error}")))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        Error::invalid(format!("not valid TOML: {}", error.message()))
    })?;
    let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) else {
        return Ok(table);
    };
    let known = KEYS.join(", ");
    let error = Error::invalid(format!("key {key:?} is not known; expected one of {known}"));
    Err(match nearest(key, KEYS).first() {
        Some(near) => error.with_hint(format!("did you mean {near:?}?")),
        None => error,
    })
}

fn tool_set(sources: Sources<'_>) -> Result<Option<Set>> {
    let set = sources
        .text("tools")?
        .map(|name| Set::from_str(&name, true));
    set.transpose()
        .map_err(|_| sources.wrong("tools", "standard, connector or all"))
}

/// The default folder of the database. It does not depend on the working folder, because clients
/// start servers in arbitrary folders.
fn data_folder(env: Env<'_>) -> PathBuf {
    user_folder(env, "XDG_DATA_HOME", "LOCALAPPDATA", ".local/share")
}

fn config_folder(env: Env<'_>) -> PathBuf {
    user_folder(env, "XDG_CONFIG_HOME", "APPDATA", ".config")
}

/// The user's configuration folder.
pub(super) fn user_config_folder() -> PathBuf {
    config_folder(&|name| std::env::var_os(name))
}

fn user_folder(env: Env<'_>, xdg: &str, windows: &str, below_home: &str) -> PathBuf {
    let absolute = |name: &str| {
        env(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(folder) = absolute(xdg) {
        return folder;
    }
    if cfg!(windows)
        && let Some(folder) = absolute(windows)
    {
        return folder;
    }
    absolute("HOME").map_or_else(std::env::temp_dir, |home| home.join(below_home))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn settle_in(
        file: Option<&str>,
        env: &[(&str, &str)],
        flags: Global,
    ) -> (Result<Settings>, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut env: HashMap<String, OsString> = env
            .iter()
            .map(|(k, v)| ((*k).to_owned(), OsString::from(v)))
            .collect();
        env.entry("XDG_CONFIG_HOME".into())
            .or_insert(folder.path().into());
        if let Some(text) = file {
            let path = folder.path().join("some.toml");
            std::fs::write(&path, text).expect("written");
            env.insert("LYRA_CONFIG".into(), path.into());
        }
        (settle_with(&flags, &|name| env.get(name).cloned()), folder)
    }

    #[test]
    fn the_later_source_wins_key_by_key() {
        let file = "db = \"file.db\"\nread_only = true\ncorpus = [\"docs\"]\nworkers = 4\nallow_private_hosts = true\n";
        let (settings, folder) = settle_in(
            Some(file),
            &[
                ("LYRA_DB", "/env.db"),
                ("LYRA_ALLOW_PRIVATE_HOSTS", "0"),
                ("LYRA_READ_ONLY", "no"),
            ],
            Global {
                corpus: vec!["flag-docs".into()],
                ..Global::default()
            },
        );
        let settings = settings.expect("good");
        assert_eq!(settings.db, PathBuf::from("/env.db"));
        assert_eq!(settings.corpus, vec![PathBuf::from("flag-docs")]);
        assert_eq!((settings.workers, settings.allow_private_hosts), (4, false));
        assert!(!settings.read_only);
        assert_eq!(settings.file, Some(folder.path().join("some.toml")));

        let (settings, folder) = settle_in(Some(file), &[], Global::default());
        let settings = settings.expect("good");
        assert_eq!(
            settings.db,
            folder.path().join("file.db"),
            "relative to the file's folder"
        );
        assert!(settings.allow_private_hosts && settings.read_only && !settings.db_is_default);
    }

    #[test]
    fn without_any_source_the_data_folder_of_the_user_is_used() {
        for (env, expected) in [
            (
                vec![("XDG_DATA_HOME", "/data"), ("HOME", "/home/u")],
                "/data/lyra/lyra.db",
            ),
            (
                vec![("HOME", "/home/u")],
                "/home/u/.local/share/lyra/lyra.db",
            ),
            (
                vec![("XDG_DATA_HOME", "not/absolute"), ("HOME", "/h")],
                "/h/.local/share/lyra/lyra.db",
            ),
        ] {
            let (settings, _folder) = settle_in(None, &env, Global::default());
            let settings = settings.expect("good");
            assert_eq!(settings.db, PathBuf::from(expected));
            assert!(settings.db_is_default);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, message, hint) in [
            (
                "corpse = []",
                "key \"corpse\" is not known",
                Some("did you mean \"corpus\"?"),
            ),
            ("db = 5", "key \"db\" is 5; expected a string", None),
            (
                "corpus = \"docs\"",
                "key \"corpus\" is \"docs\"; expected an array",
                None,
            ),
            (
                "corpus = [5]",
                "key \"corpus\" is [5]; expected an array",
                None,
            ),
            (
                "workers = 0",
                "key \"workers\" is 0; expected an integer from 1",
                None,
            ),
            ("db = ", "not valid TOML", None),
        ] {
            let (settings, _folder) = settle_in(Some(file), &[], Global::default());
            let error = settings.expect_err(file);
            assert!(
                error.message().contains(message),
                "{file}: {}",
                error.message()
            );
            assert_eq!(error.hint(), hint, "{file}");
        }
        let (settings, _folder) = settle_in(None, &[("LYRA_WORKERS", "many")], Global::default());
        assert!(settings.is_err());
        let missing = Global {
            config: Some("/nowhere/lyra.toml".into()),
            ..Global::default()
        };
        let (settings, _folder) = settle_in(None, &[], missing);
        assert!(settings.is_err());
    }

    #[test]
    fn the_corpus_variable_is_a_path_list() {
        let list = std::env::join_paths(["/a", "/b"]).expect("a list");
        let list = list.to_str().expect("text").to_owned();
        let (settings, _folder) = settle_in(None, &[("LYRA_CORPUS", &list)], Global::default());
        assert_eq!(
            settings.expect("good").corpus,
            vec![PathBuf::from("/a"), PathBuf::from("/b")]
        );
    }
}
