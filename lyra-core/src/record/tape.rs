//! The folder of a record: a list of requests and replies, and the bytes by their hash.

use crate::error::{Error, ErrorKind, Result};
use crate::store::text::hash::{hex, sha256_hex};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The list.
pub(crate) const MANIFEST: &str = "manifest.jsonl";
/// The folder with the bytes.
pub(crate) const BLOBS: &str = "blobs";

/// A record on disk, written to or read from.
#[derive(Debug)]
pub(super) struct Tape {
    dir: PathBuf,
    is_recording: bool,
    state: Mutex<TapeState>,
}

#[derive(Debug)]
struct TapeState {
    manifest: File,
    length: u64,
    /// Hash of all lines so far.
    hash: Sha256,
    /// The position of the line of each reply, by the hash of its request.
    replies: HashMap<String, (u64, u64)>,
    /// Requests that were not in the record.
    missing: Vec<String>,
}

/// One line of the list.
#[derive(Debug, Serialize, Deserialize)]
struct ReplyLine<T> {
    #[serde(rename = "type")]
    kind: String,
    key: String,
    request: Value,
    reply: RecordedReply<T>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecordedReply<T> {
    Answer(T),
    Failure(RecordedError),
}

/// An error as stored, without its sources.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordedError {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl RecordedError {
    pub(super) fn of(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            message: error.message().to_owned(),
            hint: error.hint().map(str::to_owned),
        }
    }

    fn error(self) -> Error {
        let error = Error::new(self.kind, self.message);
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

impl<T> RecordedReply<T> {
    pub(super) fn of(outcome: Result<T>) -> Self {
        match outcome {
            Ok(answer) => Self::Answer(answer),
            Err(error) => Self::Failure(RecordedError::of(&error)),
        }
    }

    pub(super) fn into_result(self) -> Result<T> {
        match self {
            Self::Answer(answer) => Ok(answer),
            Self::Failure(failure) => Err(failure.error()),
        }
    }
}

impl Tape {
    /// Begins a record in a new or empty folder.
    pub(super) fn create(dir: &Path) -> Result<Self> {
        let taken = std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
        if taken || dir.is_file() {
            let message = format!("there is something in {} already", dir.display());
            return Err(Error::invalid(message)
                .with_hint("a record contains one run: name a new folder for each"));
        }
        make_private(dir)
            .and_then(|()| std::fs::create_dir_all(dir.join(BLOBS)))
            .map_err(|e| failed(dir, e))?;
        let path = dir.join(MANIFEST);
        let mut options = OpenOptions::new();
        let manifest = options.create_new(true).read(true).append(true).open(&path);
        Ok(Self {
            dir: dir.to_owned(),
            is_recording: true,
            state: Mutex::new(TapeState::new(manifest.map_err(|e| failed(&path, e))?)),
        })
    }

    /// Opens a finished record; `other` receives every line that is not a reply.
    pub(super) fn open(dir: &Path, other: &mut dyn FnMut(Value) -> Result<()>) -> Result<Self> {
        let path = dir.join(MANIFEST);
        let manifest = File::open(&path).map_err(|e| {
            Error::not_found(format!("there is no record in {}: {e}", dir.display()))
                .with_hint("`research --record DIR` makes one")
        })?;
        let mut state = TapeState::new(manifest.try_clone().map_err(|e| failed(&path, e))?);
        let mut lines = BufReader::new(manifest);
        let (mut line, mut ended) = (Vec::new(), None);
        loop {
            line.clear();
            let length = lines.read_until(b'\n', &mut line);
            let length = length.map_err(|e| failed(&path, e))? as u64;
            if length == 0 {
                break;
            }
            let value: Value = serde_json::from_slice(&line).map_err(|_| damaged(&path))?;
            if ended.is_some() {
                return Err(damaged(&path));
            }
            match (value["type"].as_str(), value["key"].as_str()) {
                (Some("reply"), Some(key)) => {
                    let place = (state.length, length);
                    state.replies.entry(key.to_owned()).or_insert(place);
                }
                (Some("end"), _) => ended = Some(value),
                _ => other(value)?,
            }
            if ended.is_none() {
                state.take(&line);
            }
        }
        let Some(end) = ended else {
            let message = format!("the record in {} has no end", dir.display());
            return Err(
                Error::invalid(message).with_hint("its run was interrupted; record another run")
            );
        };
        if end["manifest_sha256"] != Value::String(state.digest()) {
            return Err(damaged(&path));
        }
        other(end)?;
        Ok(Self {
            dir: dir.to_owned(),
            is_recording: false,
            state: Mutex::new(state),
        })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// The first requests that were not in the record, and how many there were.
    pub(super) fn missing(&self) -> Vec<String> {
        self.state.lock().missing.clone()
    }

    /// Adds a line that is not a reply.
    pub(super) fn note(&self, line: &Value) -> Result<()> {
        self.append(&mut self.state.lock(), line).map(drop)
    }

    /// Writes the last line, which confirms that all lines before it are complete.
    pub(super) fn end(&self, mut line: Value) -> Result<()> {
        let mut state = self.state.lock();
        line["type"] = json!("end");
        line["manifest_sha256"] = json!(state.digest());
        self.append(&mut state, &line)?;
        let synced = state.manifest.sync_all();
        synced.map_err(|e| failed(&self.dir.join(MANIFEST), e))
    }

    fn append(&self, state: &mut TapeState, line: &impl Serialize) -> Result<(u64, u64)> {
        let mut bytes = serde_json::to_vec(line)
            .map_err(|e| Error::internal(format!("a line of a record: {e}")))?;
        bytes.push(b'\n');
        let written = state.manifest.write_all(&bytes);
        written.map_err(|e| failed(&self.dir.join(MANIFEST), e))?;
        let place = (state.length, bytes.len() as u64);
        state.take(&bytes);
        Ok(place)
    }

    /// The reply to a request, if it is in the record.
    pub(super) fn known<T: DeserializeOwned>(&self, request: &Value) -> Result<Option<Result<T>>> {
        let key = key_of(request);
        let mut state = self.state.lock();
        let Some((start, length)) = state.replies.get(&key).copied() else {
            return Ok(None);
        };
        let path = self.dir.join(MANIFEST);
        let mut line = Vec::new();
        // The file is opened for appending, so seeking does not affect where lines are written.
        let read = state.manifest.seek(SeekFrom::Start(start)).and_then(|_| {
            let mut part = (&state.manifest).take(length);
            part.read_to_end(&mut line)
        });
        read.map_err(|e| failed(&path, e))?;
        let line: ReplyLine<T> = serde_json::from_slice(&line).map_err(|_| damaged(&path))?;
        Ok(Some(line.reply.into_result()))
    }

    /// Stores a reply. For repeated requests the first reply counts.
    pub(super) fn keep<T: Serialize + DeserializeOwned>(
        &self,
        request: &Value,
        reply: RecordedReply<T>,
    ) -> Result<Result<T>> {
        let key = key_of(request);
        {
            let mut state = self.state.lock();
            if !state.replies.contains_key(&key) {
                let line = ReplyLine {
                    kind: "reply".to_owned(),
                    key: key.clone(),
                    request: request.clone(),
                    reply,
                };
                let place = self.append(&mut state, &line)?;
                state.replies.insert(key, place);
            }
        }
        self.known(request)?
            .ok_or_else(|| Error::internal("a reply that was stored cannot be found"))
    }

    /// The reply to a request: from the record, or else from `live`, whose reply is stored.
    pub(super) async fn ask<T: Serialize + DeserializeOwned>(
        &self,
        request: &Value,
        live: Option<impl Future<Output = Result<T>>>,
    ) -> Result<T> {
        if let Some(reply) = self.known(request)? {
            return reply;
        }
        match live {
            Some(live) => self.keep(request, RecordedReply::of(live.await))?,
            None => Err(self.refuse(request)),
        }
    }

    /// The error for a request that was not made during recording.
    pub(super) fn refuse(&self, request: &Value) -> Error {
        let mut shown = request.to_string();
        if let Some((end, _)) = shown.char_indices().nth(300) {
            shown.truncate(end);
            shown.push('…');
        }
        self.state.lock().missing.push(shown.clone());
        Error::not_found(format!("the record has no reply to {shown}")).with_hint(
            "a replay sends no requests, and the recorded run did not make this one; another \
             model or version may make other requests",
        )
    }

    /// Stores bytes by their hash.
    pub(super) fn put(&self, bytes: &[u8]) -> Result<String> {
        let hash = sha256_hex(bytes);
        let path = self.blob(&hash);
        if !path.exists() {
            let folder = self.dir.join(BLOBS);
            let mut file =
                tempfile::NamedTempFile::new_in(&folder).map_err(|e| failed(&path, e))?;
            file.write_all(bytes).map_err(|e| failed(&path, e))?;
            file.persist(&path).map_err(|e| failed(&path, e.error))?;
        }
        Ok(hash)
    }

    /// Reads bytes by their hash, which is verified.
    pub(super) fn get(&self, hash: &str) -> Result<Vec<u8>> {
        let path = self.blob(hash);
        let bytes = std::fs::read(&path).map_err(|e| failed(&path, e))?;
        match sha256_hex(&bytes) == hash {
            true => Ok(bytes),
            false => Err(damaged(&path)),
        }
    }

    pub(super) fn blob(&self, hash: &str) -> PathBuf {
        self.dir.join(BLOBS).join(hash)
    }
}

impl TapeState {
    fn new(manifest: File) -> Self {
        Self {
            manifest,
            length: 0,
            hash: Sha256::new(),
            replies: HashMap::new(),
            missing: Vec::new(),
        }
    }

    fn take(&mut self, line: &[u8]) {
        self.hash.update(line);
        self.length += line.len() as u64;
    }

    fn digest(&self) -> String {
        hex(&self.hash.clone().finalize())
    }
}

/// Makes the record readable only by its owner, like the graph.
fn make_private(dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(dir)
}

fn key_of(request: &Value) -> String {
    sha256_hex(request.to_string().as_bytes())
}

pub(super) fn failed(path: &Path, error: std::io::Error) -> Error {
    let message = format!("the record at {}: {error}", path.display());
    Error::new(ErrorKind::Backend, message).with_source(error)
}

fn damaged(path: &Path) -> Error {
    Error::invalid(format!("{} is not as it was recorded", path.display()))
        .with_hint("the record was changed or cut off; use an undamaged copy")
}
