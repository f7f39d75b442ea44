//! The class `EvidenceGraph`.
//!
//! | file | contents |
//! |---|---|
//! | `open` | opening, closing, configuration |
//! | `tasks` | create, queue, run, wait, stop |
//! | `ask` | SQL, views, search, judging |
//! | `check` | drafts and statements against the sources |
//! | `vectors` | embeddings as arrays |
//! | `insert` | inserting known data |
//! | `correct` | feedback, pages that need a human, calibration |
//! | `pairs` | pairs that can be judged elsewhere |
//! | `files` | import, export, verify, forget |

mod ask;
mod check;
mod correct;
mod files;
mod insert;
mod open;
mod pairs;
mod review;
mod tasks;
mod vectors;

use crate::error::raise;
use lyra_core::{Engine, Error, ErrorKind};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// An evidence graph in one SQLite file, with the models that it uses.
///
/// Parameters
/// ----------
/// path
///     The database file; created if it does not exist.
/// corpus
///     A folder (or file) of documents that queries search, or several of them.
/// embedder
///     None, "builtin" or "static" for the built-in table; "onnx:FOLDER", "ollama:MODEL" or
///     "openai:MODEL"; an object with a method `encode`, such as a SentenceTransformer; or a function
///     that takes a list of str and returns an array with one row for each. Its `model_id` is stored
///     with every vector.
/// claim_extractor
///     None or "builtin"; "ollama:MODEL" or "openai:MODEL"; or a function that takes a dict
///     (hypothesis, query, title, passages, max_claims) and returns claims: texts, or dicts with text,
///     passage, quote, confidence, claim_type. If the extractor fails for a document, a note is stored
///     and the built-in extractor reads the document.
/// judge, stance_judge
///     None or "builtin"; "onnx:FOLDER", "ollama:MODEL" or "openai:MODEL"; or a function that takes
///     (premise, hypothesis) pairs and returns (relation, confidence) pairs.
/// providers
///     Where queries are searched in addition to the corpus: the name of a service ("openalex", …), a
///     dict with name, base_url and key, or a function that takes a query and a limit and returns a list
///     of addresses, or of dicts with url, title, abstract, doi, …; or several of these.
/// mailto
///     A contact address that services receive for complaints; many services answer faster with it.
/// embedder_url, embedder_key, claim_extractor_url, claim_extractor_key, judge_url, judge_key
///     For "ollama:" and "openai:": the server, if it is not the usual one, and its key; keys are
///     also read from LYRA_EMBEDDER_KEY, LYRA_LLM_KEY and LYRA_JUDGE_KEY.
/// onnx_runtime
///     The ONNX Runtime library; by default the one that LYRA_ONNX_RUNTIME or ORT_DYLIB_PATH names, or
///     that of the package onnxruntime.
/// views_dir
///     A folder of .sql.j2 files that add views.
/// retractions_csv
///     A Retraction Watch file: works listed in it are flagged.
/// allow_private_hosts
///     Whether addresses on private networks may be fetched.
/// read_only
///     Opens an existing graph for reading: nothing is written to the file or beside it, and calls that
///     would write raise an UnsupportedError.
/// limits
///     Limits of research and of the ranking of passages, by name: {"claims_per_document": 12}. The
///     names and their defaults are those of `[limits]` in docs/configuration.md.
///
/// All methods may be called from several threads at once. After a fork, the child has to open the
/// graph again; fork only while no other thread is in a call of lyra (SQLite's locks would stay
/// locked in the child), or start processes with "spawn".
///
/// Examples
/// --------
/// >>> import lyra
/// >>> graph = lyra.EvidenceGraph("evidence.db")
/// >>> graph.query("SELECT count(*) AS n FROM claims")
/// Rows([{'n': 0}])
///
/// A custom model, in five lines:
///
/// >>> import numpy
/// >>> def letters(texts):
/// ...     return numpy.array([[text.count(letter) for letter in "aeiou"] for text in texts])
/// >>> letters.model_id = "vowels-1"
/// >>> with lyra.EvidenceGraph("vowels.db", embedder=letters) as graph:
/// ...     graph.embed(["aaa", "ae"]).shape, graph.models().embedder
/// ((2, 5), 'vowels-1')
#[pyclass(frozen, module = "lyra", weakref)]
pub(crate) struct EvidenceGraph {
    /// None once the graph is closed. A child process never drops an inherited engine: it would wait
    /// for threads that only the parent has, and release locks that the parent holds.
    engine: Handle,
    /// Absolute, so that it stays the same file if the process changes its working folder.
    path: Arc<Path>,
    /// The path as it was given, for display.
    given: PathBuf,
    pid: u32,
    /// Whether the last search took long. The first search does, because it reads all vectors.
    searches_take_long: AtomicBool,
    /// The lines of an open batch.
    batch: Mutex<Option<Vec<u8>>>,
}

/// The handle of an engine, shared by a graph and the list of all graphs.
type Handle = Arc<RwLock<Option<Engine>>>;

/// A graph that may be open, and the process that opened it.
struct Opened {
    pid: u32,
    handle: Weak<RwLock<Option<Engine>>>,
}

static OPEN: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// A handle that is closed when the interpreter exits, if it is still open.
fn opened(engine: Engine) -> Handle {
    let handle = Arc::new(RwLock::new(Some(engine)));
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|other| other.handle.strong_count() > 0);
    open.push(Opened {
        pid: std::process::id(),
        handle: Arc::downgrade(&handle),
    });
    handle
}

/// Releases a file, without the GIL: ending the threads of the guard takes a moment, and other
/// threads need not wait for it.
fn close(py: Python<'_>, handle: &RwLock<Option<Engine>>) {
    py.detach(|| {
        let engine = handle
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(engine);
    });
}

/// Closes every graph of this process. The interpreter does not always collect all objects when it
/// exits: a graph whose model is a function and the module of that function refer to each other, and
/// what was written would stay in the file beside the database.
#[pyfunction]
pub(crate) fn _close_all(py: Python<'_>) {
    let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
    let own = open.iter().filter(|other| other.pid == std::process::id());
    for handle in own.filter_map(|other| other.handle.upgrade()) {
        close(py, &handle);
    }
}

impl EvidenceGraph {
    /// The engine, if this process opened it.
    fn engine(&self) -> PyResult<Engine> {
        if std::process::id() != self.pid {
            let message = format!(
                "{} was opened by process {}, and this is process {}",
                self.path.display(),
                self.pid,
                std::process::id()
            );
            return Err(raise(Error::new(ErrorKind::Storage, message).with_hint(
                "open the graph separately in every process, after the fork",
            )));
        }
        let open = self.engine.read().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| {
            let message = format!("{} is closed", self.path.display());
            let hint = "open it again with lyra.EvidenceGraph(path)";
            raise(Error::invalid(message).with_hint(hint))
        })
    }
}

impl Drop for EvidenceGraph {
    fn drop(&mut self) {
        if std::process::id() == self.pid {
            Python::attach(|py| close(py, &self.engine));
        } else {
            // Leaked, so that nothing of it is dropped here.
            std::mem::forget(Arc::clone(&self.engine));
        }
    }
}
