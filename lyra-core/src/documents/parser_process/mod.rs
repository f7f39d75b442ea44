//! Documents parsed in child processes.
//!
//! A document that makes its parser run forever, exhaust the memory or overflow the stack affects
//! only a process that holds nothing else. A child parses a batch of documents, one at a time, and
//! is then replaced. A child that exceeds a limit is killed, and only that document fails.

mod child;
mod confine;
mod ended;
mod frames;
mod limits;

pub use child::serve_parser;

use crate::error::{Error, ErrorKind, Result};
use crate::ports::{DocumentParser, ParsedDocument};
use ended::Ended;
use frames::{ChildFault, Request};
pub use limits::ParserLimits;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Documents that one child parses: this bounds what a child that a document has taken over can
/// change.
const BATCH: usize = 64;

/// Bytes of documents that one child parses.
const BATCH_BYTES: usize = 64 * 1024 * 1024;

/// How long a child may take to exit after its output has ended.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// A [`DocumentParser`] that passes every document to a child process.
///
/// The child is a program that calls [`serve_parser`]; the memory limit in bytes and the seconds of
/// processor time are appended to its arguments. Its environment is empty except for the variables
/// set by [`with_variable`](Self::with_variable), and its only open files are three pipes.
///
/// ```no_run
/// use lyra_core::documents::{ParserLimits, ParserProcess};
/// use lyra_core::{Engine, EngineConfig};
/// use std::sync::Arc;
/// let mut config = EngineConfig::new("evidence.db");
/// let parser = ParserProcess::new("/usr/bin/lyra-mcp", ["parse-documents"]);
/// config.parser = Some(Arc::new(parser.with_limits(ParserLimits::default()).at_most(2)));
/// let engine = Engine::open(config)?;
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Debug)]
pub struct ParserProcess {
    program: PathBuf,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    limits: ParserLimits,
    most: usize,
    pool: Mutex<Pool>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Process>,
    busy: usize,
}

impl ParserProcess {
    /// A parser that runs this program with these arguments, with at most two children at a time.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            variables: Vec::new(),
            limits: ParserLimits::default(),
            most: 2,
            pool: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    /// Sets a variable in the environment of the children.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: ParserLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the maximum number of children at a time, at least one; further documents wait.
    #[must_use]
    pub fn at_most(mut self, children: usize) -> Self {
        self.most = children.max(1);
        self
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn; returns it with an idle child if there is one.
    fn turn(&self) -> (ProcessSlot<'_>, Option<Process>) {
        let mut pool = self.pool();
        while pool.busy >= self.most {
            pool = self
                .freed
                .wait(pool)
                .unwrap_or_else(PoisonError::into_inner);
        }
        pool.busy += 1;
        (ProcessSlot(self), pool.idle.pop())
    }

    fn start(&self) -> Result<Process> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .arg(self.limits.memory.to_string())
            .arg(self.limits.processor.as_secs().max(1).to_string())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C in a terminal goes to a whole process group; the parent decides how children end.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .spawn()
            .map_err(|e| self.not_started(&e.to_string()))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => Ok(Process {
                child,
                input,
                output,
                greeted: false,
                documents: 0,
                bytes: 0,
            }),
            _ => Err(Error::internal("a child without pipes")),
        }
    }

    fn not_started(&self, why: &str) -> Error {
        let program = self.program.display();
        let message = format!("the parser process {program} does not start: {why}");
        Error::new(ErrorKind::Backend, message).with_hint(
            "check that the program exists and is executable, or set parser = \"in_process\" to \
             parse without child processes",
        )
    }

    /// Parses one document in an idle child, or in a new one.
    fn attempt(
        &self,
        waiting: Option<Process>,
        request: &Request<'_>,
    ) -> Result<Result<ChildAnswer, Ended>> {
        let mut process = match waiting {
            Some(process) => process,
            None => self.start()?,
        };
        match process.exchange(request, self.limits.time) {
            Ok((answer, late)) => {
                let is_worn = process.documents >= BATCH || process.bytes >= BATCH_BYTES;
                let kept = (!late && !is_worn).then_some(process);
                Ok(Ok(ChildAnswer { answer, kept }))
            }
            Err(fault) => Ok(Err(process.end(&fault))),
        }
    }
}

/// The answer of a child, and the child itself if it can be used again.
struct ChildAnswer {
    answer: Result<ParsedDocument>,
    kept: Option<Process>,
}

impl DocumentParser for ParserProcess {
    fn parse(&self, body: &[u8], content_type: Option<&str>, name: &str) -> Result<ParsedDocument> {
        let request = Request::new(body, content_type, name)?;
        let (_turn, mut waiting) = self.turn();
        if waiting.as_mut().is_some_and(Process::is_gone) {
            waiting = None;
        }
        let was_used = waiting.is_some();
        let mut outcome = self.attempt(waiting, &request)?;
        // State left by earlier documents in a child is not the fault of this one.
        if was_used && matches!(&outcome, Err(ended) if ended.may_be_of_another()) {
            outcome = self.attempt(None, &request)?;
        }
        match outcome {
            Ok(ChildAnswer { answer, kept }) => {
                self.pool().idle.extend(kept);
                answer
            }
            Err(Ended::NotStarted(why)) => Err(self.not_started(&why)),
            Err(ended) => Err(ended.error(&self.limits)),
        }
    }

    fn setup(&self) -> String {
        format!(
            "in child processes of {} MiB, {} s of processor time and {} s (version {})",
            self.limits.memory / (1024 * 1024),
            self.limits.processor.as_secs().max(1),
            self.limits.time.as_secs_f32(),
            env!("CARGO_PKG_VERSION")
        )
    }
}

/// A slot among those that run at a time.
struct ProcessSlot<'a>(&'a ParserProcess);

impl Drop for ProcessSlot<'_> {
    fn drop(&mut self) {
        self.0.pool().busy -= 1;
        self.0.freed.notify_one();
    }
}

/// A running child. Dropping it ends it.
#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// Whether it has sent the greeting of this parser version.
    greeted: bool,
    documents: usize,
    bytes: usize,
}

impl Process {
    fn is_gone(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a document and receives the answer; also returns whether the time ran out just then.
    fn exchange(
        &mut self,
        request: &Request<'_>,
        limit: Duration,
    ) -> Result<(Result<ParsedDocument>, bool), ChildFault> {
        self.documents += 1;
        self.bytes += request.size();
        let Self {
            child,
            input,
            output,
            greeted,
            ..
        } = self;
        let (done, waiting) = channel::<()>();
        std::thread::scope(|scope| {
            let watch = move || {
                let is_late = waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
                if is_late {
                    // Killing fails if it has already ended, which is fine.
                    let _ = child.kill();
                }
                is_late
            };
            let watch = std::thread::Builder::new()
                .name("lyra-parser-watch".to_owned())
                .spawn_scoped(scope, watch)?;
            let mut talk = || {
                request.write_to(input)?;
                if !*greeted {
                    frames::read_greeting(output)?;
                    *greeted = true;
                }
                frames::read_reply(output)
            };
            let answer = talk();
            drop(done);
            let is_late = watch.join().unwrap_or(true);
            match answer {
                Ok(answer) => Ok((answer, is_late)),
                Err(_) if is_late => Err(ChildFault::Late),
                Err(fault) => Err(fault),
            }
        })
    }

    /// Determines why the child failed, and ends it.
    fn end(mut self, fault: &ChildFault) -> Ended {
        // A pipe breaks shortly before the process ends; a process that is killed in between does
        // not show why it ended.
        let end = Instant::now() + LAST_MOMENT;
        while matches!(fault, ChildFault::Broken) && !self.is_gone() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.kill();
        let status = self.child.wait();
        let stderr = self.child.stderr.take();
        let words = stderr.map(ended::last_words).unwrap_or_default();
        Ended::of(fault, self.greeted, status.ok(), &words)
    }

    fn kill(&mut self) {
        // Killing fails if it has already ended, which is fine.
        let _ = self.child.kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}
