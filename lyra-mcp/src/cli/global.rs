//! The flags common to all commands.

use super::sources::Flags;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Flags that every command takes. They win over LYRA_* variables, and these over lyra.toml.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Settings, for every command")]
pub(super) struct Global {
    /// The database file [env: LYRA_DB] [default: lyra/lyra.db in the user's data folder]
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) db: Option<PathBuf>,
    /// Open the graph read-only: it must exist, and nothing is written to it or beside it
    /// [env: LYRA_READ_ONLY]
    #[arg(long, global = true)]
    pub(super) read_only: bool,
    /// Record every tool call that the server receives; `audit` prints them [env: LYRA_AUDIT]
    #[arg(long, global = true)]
    pub(super) audit: bool,
    /// Which tools the server lists [env: LYRA_TOOLS] [default: standard]
    #[arg(long, global = true, value_enum, value_name = "SET")]
    pub(super) tools: Option<crate::tools::Set>,
    /// A folder of documents to search and read; may be given several times [env: LYRA_CORPUS]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) corpus: Vec<PathBuf>,
    /// Allow fetching from private network addresses [env: LYRA_ALLOW_PRIVATE_HOSTS]
    #[arg(long, global = true)]
    pub(super) allow_private_hosts: bool,
    /// A limit of research, such as claims_per_document=12; may be given several times
    /// [env: LYRA_LIMITS]
    #[arg(long, global = true, value_name = "NAME=VALUE")]
    pub(super) limit: Vec<String>,
    /// A folder of .sql.j2 files that add or replace views [env: LYRA_VIEWS_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) views_dir: Option<PathBuf>,
    /// Where documents are parsed: process (child processes) or in_process [env: LYRA_PARSER]
    /// [default: process]
    #[arg(long, global = true, value_name = "WHERE")]
    pub(super) parser: Option<String>,
    /// The model for vectors: builtin, onnx:FOLDER, openai:MODEL or ollama:MODEL [env: LYRA_EMBEDDER]
    #[arg(long, global = true, value_name = "WHICH")]
    pub(super) embedder: Option<String>,
    /// The embedding server, if it is not the default one [env: LYRA_EMBEDDER_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub(super) embedder_url: Option<String>,
    /// The stance judge: builtin, onnx:FOLDER, openai:MODEL or ollama:MODEL [env: LYRA_JUDGE]
    /// [default: builtin]
    #[arg(long, global = true, value_name = "WHICH")]
    pub(super) judge: Option<String>,
    /// The judge's server, if it is not the default one [env: LYRA_JUDGE_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub(super) judge_url: Option<String>,
    /// A language model that extracts claims: openai:MODEL or ollama:MODEL [env: LYRA_LLM]
    /// [default: none]
    #[arg(long, global = true, value_name = "WHICH")]
    pub(super) llm: Option<String>,
    /// The language model's server, if it is not the default one [env: LYRA_LLM_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub(super) llm_url: Option<String>,
    /// What extracts claims: builtin or llm [env: LYRA_CLAIM_EXTRACTOR] [default: llm if one is
    /// configured]
    #[arg(long, global = true, value_name = "WHICH")]
    pub(super) claim_extractor: Option<String>,
    /// What judges: builtin or llm [env: LYRA_STANCE_JUDGE] [default: builtin]
    #[arg(long, global = true, value_name = "WHICH")]
    pub(super) stance_judge: Option<String>,
    /// A search service to query, such as openalex; may be given several times [env: LYRA_PROVIDERS]
    /// [default: none]
    #[arg(long, global = true, value_name = "NAME")]
    pub(super) provider: Vec<String>,
    /// A contact address sent to search services, for complaints; many answer faster if there
    /// is one [env: LYRA_MAILTO]
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(super) mailto: Option<String>,
    /// A Retraction Watch CSV file: works listed in it are flagged [env: LYRA_RETRACTIONS_CSV]
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) retractions_csv: Option<PathBuf>,
    /// What is logged: a level such as warn, or a list such as info,lyra_core=debug
    /// [env: LYRA_LOG, else RUST_LOG] [default: the messages of this program; for serve, also the
    /// warnings of the library]
    #[arg(long, global = true, value_name = "FILTER")]
    pub(super) log: Option<String>,
    /// The format of a line of the log [env: LYRA_LOG_FORMAT] [default: text for serve, else plain]
    #[arg(long, global = true, value_enum, value_name = "FORMAT")]
    pub(super) log_format: Option<crate::log::Format>,
    /// The configuration file [env: LYRA_CONFIG] [default: ./lyra.toml, then lyra/lyra.toml in the
    /// user's configuration folder]
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) config: Option<PathBuf>,
}

impl Global {
    /// The settings given as flags, by name.
    pub(super) fn given(&self) -> Flags {
        let yes = |given: bool| given.then(|| OsString::from("true"));
        let path = |given: &Option<PathBuf>| given.clone().map(OsString::from);
        let text = |given: &Option<String>| given.clone().map(OsString::from);
        let tools = self.tools.and_then(|set| set.to_possible_value());
        let once = [
            ("db", path(&self.db)),
            ("read_only", yes(self.read_only)),
            ("audit", yes(self.audit)),
            ("tools", tools.map(|set| set.get_name().into())),
            ("allow_private_hosts", yes(self.allow_private_hosts)),
            ("views_dir", path(&self.views_dir)),
            ("parser", text(&self.parser)),
            ("embedder", text(&self.embedder)),
            ("embedder_url", text(&self.embedder_url)),
            ("judge", text(&self.judge)),
            ("judge_url", text(&self.judge_url)),
            ("llm", text(&self.llm)),
            ("llm_url", text(&self.llm_url)),
            ("claim_extractor", text(&self.claim_extractor)),
            ("stance_judge", text(&self.stance_judge)),
            ("mailto", text(&self.mailto)),
            ("retractions_csv", path(&self.retractions_csv)),
        ];
        let words = |texts: &[String]| texts.iter().map(OsString::from).collect();
        let repeated: [(_, Vec<OsString>); 3] = [
            ("corpus", self.corpus.iter().map(OsString::from).collect()),
            ("limits", words(&self.limit)),
            ("providers", words(&self.provider)),
        ];
        let once = once.map(|(name, word)| (name, Vec::from_iter(word)));
        let all = once.into_iter().chain(repeated);
        all.filter(|(_, words)| !words.is_empty()).collect()
    }
}
