//! A recorded run: every reply that it received from outside, so that it can be repeated without
//! any external request.
//!
//! | file | what it is for |
//! |---|---|
//! | `tape` | the folder: a list of requests and replies, bytes by their hash |
//! | `ports` | fetcher, search providers and models that record their replies, or replay them |
//! | `files` | the folders of documents |
//! | `outline` | the list without content that others may not receive |
//!
//! Each request has one reply in a run. So a run that was killed and is continued receives the same
//! replies as without the interruption. Keys are known only to the code below the ports, and
//! cookies are not stored with requests.

mod files;
mod outline;
mod ports;
mod tape;

use crate::documents::FileFetcher;
use crate::error::{Error, Result};
use crate::ports::{ClaimExtractor, Embedder, EmbedderInfo, Fetcher, SearchProvider, StanceJudge};
use crate::research::pipeline::Limits;

use files::{Copies, FileLine};
use ports::{ExtractorInfo, JudgeInfo, ProviderInfo, Recorded};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tape::{MANIFEST, Tape};

/// Writes the list of a record with hashes in place of replies, and of texts that models processed.
/// Only a complete record is written.
pub(crate) fn outline(dir: &Path, writer: &mut dyn Write) -> Result<()> {
    Record::open(dir)?;
    outline::write(dir, writer)
}

/// The version of the format.
const VERSION: u32 = 1;

/// A record that is being created or replayed.
#[derive(Debug)]
pub struct Record {
    tape: Arc<Tape>,
    header: OnceLock<RecordHeader>,
    copies: OnceLock<Option<Copies>>,
    start: OnceLock<Start>,
    end: Option<End>,
}

/// The configuration of a run: the first line of the list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RecordHeader {
    version: u32,
    /// Version of Lyra.
    pub(crate) lyra: String,
    /// When the run began.
    pub(crate) began: String,
    pub(crate) limits: Limits,
    pub(crate) parser: String,
    embedder: EmbedderInfo,
    claim_extractor: ExtractorInfo,
    stance_judge: JudgeInfo,
    providers: Vec<ProviderInfo>,
    /// Addresses of the folders of documents.
    corpus: Vec<String>,
    /// SHA-256 of the list of retractions.
    retractions: Option<String>,
}

/// The graph at the start of the run, with its targets queued.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Start {
    task_id: String,
    sha256: String,
}

/// The result.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct End {
    /// Canonical hash of the task's part.
    hash: String,
}

/// The ports of a run that use the outside world.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) began: String,
    pub(crate) limits: Limits,
    pub(crate) parser: String,
    pub(crate) fetcher: Option<Arc<dyn Fetcher>>,
    pub(crate) providers: Vec<Arc<dyn SearchProvider>>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) extractor: Arc<dyn ClaimExtractor>,
    pub(crate) judge: Arc<dyn StanceJudge>,
    pub(crate) corpus: Vec<PathBuf>,
    pub(crate) retractions: Option<PathBuf>,
}

/// The ports that replace them.
#[derive(Debug)]
pub(crate) struct Wired {
    pub(crate) fetcher: Arc<dyn Fetcher>,
    pub(crate) providers: Vec<Arc<dyn SearchProvider>>,
    /// `None` if the built-in one does the work itself.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) extractor: Option<Arc<dyn ClaimExtractor>>,
    pub(crate) judge: Option<Arc<dyn StanceJudge>>,
    pub(crate) retractions: Option<PathBuf>,
}

impl Record {
    /// Begins a record in a new or empty folder. An engine opened with it as
    /// [`EngineConfig::record`](crate::EngineConfig::record) is recorded.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if the folder is not empty, `Backend` if it cannot be written.
    ///
    /// ```
    /// use lyra_core::Record;
    /// let folder = tempfile::tempdir()?;
    /// Record::create(&folder.path().join("run"))?;
    /// assert!(Record::create(&folder.path().join("run")).is_err(), "a folder has one record");
    /// assert!(Record::open(&folder.path().join("run")).is_err(), "the run has not ended");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(dir: &Path) -> Result<Self> {
        Ok(Self {
            tape: Arc::new(Tape::create(dir)?),
            header: OnceLock::new(),
            copies: OnceLock::new(),
            start: OnceLock::new(),
            end: None,
        })
    }

    /// The folder for the record of the next run: the folder itself if it has no record yet,
    /// otherwise a numbered folder below it, `2`, `3` and so on.
    ///
    /// ```
    /// use lyra_core::Record;
    /// let folder = tempfile::tempdir()?;
    /// let run = folder.path().join("run");
    /// Record::create(&Record::next_place(&run))?;
    /// assert_eq!(Record::next_place(&run), run.join("2"));
    /// assert_eq!(Record::latest_place(&run), run);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_place(dir: &Path) -> PathBuf {
        match dir.join(MANIFEST).exists() {
            true => dir.join((runs_below(dir) + 1).to_string()),
            false => dir.to_owned(),
        }
    }

    /// The folder with the record of the latest run below this folder.
    pub fn latest_place(dir: &Path) -> PathBuf {
        match runs_below(dir) {
            1 => dir.to_owned(),
            latest => dir.join(latest.to_string()),
        }
    }

    /// Opens a record for replay. An engine opened with it makes no external requests.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none, `InvalidInput` if its run did not end or if it was changed.
    pub fn open(dir: &Path) -> Result<Self> {
        let (mut header, mut start, mut end) = (None, None::<Start>, None::<End>);
        let mut lines: Vec<FileLine> = Vec::new();
        let tape = Tape::open(dir, &mut |line| {
            match line["type"].as_str() {
                Some("record") => header = Some(header_of(line)?),
                Some("file") => lines.push(files::line_of(line)?),
                Some("start") => start = Some(part_of(line)?),
                Some("end") => end = Some(part_of(line)?),
                _ => return Err(part_of::<Start>(line).err().unwrap_or_else(strange)),
            }
            Ok(())
        })?;
        let (Some(header), Some(start), Some(end)) = (header, start, end) else {
            return Err(strange());
        };
        let copies = match header.corpus.is_empty() {
            true => None,
            false => Some(files::lay_out(&tape, &header.corpus, &lines)?),
        };
        Ok(Self {
            tape: Arc::new(tape),
            header: OnceLock::from(header),
            copies: OnceLock::from(copies),
            start: OnceLock::from(start),
            end: Some(end),
        })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.tape.dir()
    }

    /// The task of the run.
    pub fn task_id(&self) -> Option<&str> {
        self.start.get().map(|start| start.task_id.as_str())
    }

    /// The canonical hash of the task after the run, for a record that is replayed.
    pub fn hash(&self) -> Option<&str> {
        self.end.as_ref().map(|end| end.hash.as_str())
    }

    /// Requests of a replay for which the record has no reply.
    pub fn missing(&self) -> Vec<String> {
        self.tape.missing()
    }

    /// Differences between this program and the one that made the record that may change the
    /// result.
    pub fn warnings(&self) -> Vec<String> {
        let ours = env!("CARGO_PKG_VERSION");
        let theirs = self.header.get().map(|header| header.lyra.as_str());
        let differs = theirs.filter(|theirs| *theirs != ours);
        let warn = |theirs| {
            format!(
                "the record was made by version {theirs}; this is {ours}, and its models and \
                 parsers may give other results"
            )
        };
        differs.map(warn).into_iter().collect()
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.tape.is_recording()
    }

    pub(crate) fn header(&self) -> Result<&RecordHeader> {
        self.header
            .get()
            .ok_or_else(|| Error::internal("a record without a header"))
    }

    /// The copies of the document folders, which every run of the record reads.
    pub(crate) fn files(&self) -> Option<FileFetcher> {
        let copies = self.copies.get()?.as_ref()?;
        Some(copies.files.clone())
    }

    /// Puts the record between a run and the outside world.
    pub(crate) fn listen(&self, live: Live) -> Result<Wired> {
        let header = self.begin(&live)?;
        if self.header.set(header).is_err() {
            return Err(Error::invalid("a record belongs to one engine")
                .with_hint("create a record for each engine that is opened"));
        }
        let header = self.header()?;
        let embedder = (!header.embedder.builtin).then_some(live.embedder);
        let extractor = (!header.claim_extractor.builtin).then_some(live.extractor);
        let judge = (!header.stance_judge.builtin).then_some(live.judge);
        let providers = live.providers.into_iter().map(Some).collect();
        self.wired(
            header,
            live.fetcher,
            providers,
            (embedder, extractor, judge),
        )
    }

    /// Puts the record in place of the outside world.
    pub(crate) fn answer(&self) -> Result<Wired> {
        let header = self.header()?;
        let providers = header.providers.iter().map(|_| None).collect();
        self.wired(header, None, providers, (None, None, None))
    }

    fn wired(
        &self,
        header: &RecordHeader,
        fetcher: Option<Arc<dyn Fetcher>>,
        providers: Vec<Option<Arc<dyn SearchProvider>>>,
        models: Models,
    ) -> Result<Wired> {
        let tape = || Arc::clone(&self.tape);
        let (embedder, extractor, judge) = models;
        let named = header.providers.iter().zip(providers);
        let providers = named.map(|(info, live)| {
            let info = info.clone();
            let tape = tape();
            Arc::new(Recorded { tape, live, info }) as Arc<dyn SearchProvider>
        });
        let (info, tape_) = (header.embedder.clone(), tape());
        let embedder = (!info.builtin).then(|| {
            Arc::new(Recorded {
                tape: tape_,
                live: embedder,
                info,
            }) as Arc<dyn Embedder>
        });
        let (info, tape_) = (header.claim_extractor.clone(), tape());
        let extractor = (!info.builtin).then(|| {
            Arc::new(Recorded {
                tape: tape_,
                live: extractor,
                info,
            }) as Arc<dyn ClaimExtractor>
        });
        let (info, tape_) = (header.stance_judge.clone(), tape());
        let judge = (!info.builtin).then(|| {
            Arc::new(Recorded {
                tape: tape_,
                live: judge,
                info,
            }) as Arc<dyn StanceJudge>
        });
        if let Some(hash) = &header.retractions {
            self.tape.get(hash)?;
        }
        Ok(Wired {
            fetcher: Arc::new(Recorded {
                tape: tape(),
                live: fetcher,
                info: (),
            }),
            providers: providers.collect(),
            embedder,
            extractor,
            judge,
            retractions: header.retractions.as_ref().map(|hash| self.tape.blob(hash)),
        })
    }

    /// Writes the configuration of the run.
    fn begin(&self, live: &Live) -> Result<RecordHeader> {
        let files = match live.corpus.is_empty() {
            true => None,
            false => Some(FileFetcher::new(&live.corpus)?),
        };
        let retractions = live.retractions.as_ref().map(|path| {
            let bytes = std::fs::read(path).map_err(|e| tape::failed(path, e))?;
            self.tape.put(&bytes)
        });
        let about = |provider: &Arc<dyn SearchProvider>| ProviderInfo {
            name: provider.name().to_owned(),
            is_academic: provider.is_academic(),
        };
        let header = RecordHeader {
            version: VERSION,
            lyra: env!("CARGO_PKG_VERSION").to_owned(),
            began: live.began.clone(),
            limits: live.limits,
            parser: live.parser.clone(),
            embedder: live.embedder.info().clone(),
            claim_extractor: ExtractorInfo {
                id: live.extractor.extractor_id().to_owned(),
                builtin: live.extractor.is_builtin(),
            },
            stance_judge: JudgeInfo {
                id: live.judge.judge_id().to_owned(),
                builtin: live.judge.is_builtin(),
                reads_passages: live.judge.reads_passages(),
            },
            providers: live.providers.iter().map(about).collect(),
            corpus: files
                .as_ref()
                .map_or_else(Vec::new, |f| f.addresses().to_vec()),
            retractions: retractions.transpose()?,
        };
        let mut line = json!(header);
        line["type"] = json!("record");
        self.tape.note(&line)?;
        let copies = files.map(|files| {
            let lines = files::take(&self.tape, &files)?;
            files::lay_out(&self.tape, &header.corpus, &lines)
        });
        let _ = self.copies.set(copies.transpose()?);
        Ok(header)
    }

    /// Saves the graph at the start of the run.
    pub(crate) fn note_start(&self, task_id: &str, database: &[u8]) -> Result<()> {
        let start = Start {
            task_id: task_id.to_owned(),
            sha256: self.tape.put(database)?,
        };
        let line = json!({"type": "start", "task_id": start.task_id, "sha256": start.sha256});
        if self.start.set(start).is_err() {
            return Err(Error::invalid("a record belongs to one run"));
        }
        self.tape.note(&line)
    }

    pub(crate) fn note_end(&self, hash: &str) -> Result<()> {
        self.tape.end(json!({"type": "end", "hash": hash}))
    }

    /// The graph at the start of the run.
    pub(crate) fn start(&self) -> Result<Vec<u8>> {
        let start = self.start.get().ok_or_else(strange)?;
        self.tape.get(&start.sha256)
    }
}

type Models = (
    Option<Arc<dyn Embedder>>,
    Option<Arc<dyn ClaimExtractor>>,
    Option<Arc<dyn StanceJudge>>,
);

/// Number of recorded runs in a folder, including its own.
fn runs_below(dir: &Path) -> usize {
    let has_record = |run: &usize| dir.join(run.to_string()).join(MANIFEST).exists();
    1 + (2..).take_while(has_record).count()
}

fn header_of(line: Value) -> Result<RecordHeader> {
    match line["version"].as_u64() {
        Some(version) if version == u64::from(VERSION) => part_of(line),
        version => {
            let version = version.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
            Err(Error::invalid(format!(
                "the record has format {version}; this program reads {VERSION}"
            ))
            .with_hint("replay it with the version of Lyra that made it"))
        }
    }
}

fn part_of<T: serde::de::DeserializeOwned>(line: Value) -> Result<T> {
    serde_json::from_value(line).map_err(|e| strange().context(e.to_string()))
}

fn strange() -> Error {
    Error::invalid("the list of the record is not complete")
        .with_hint("use an undamaged copy of the record")
}
