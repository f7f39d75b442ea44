//! The child's side: one document after the other, until the input ends.

use super::confine;
use super::frames::{self, Fault, Received};
use crate::documents::any_format::parse_unbounded;
use crate::documents::limits::STACK;
use crate::error::{Error, Result};
use crate::ports::ParsedDocument;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};

/// Serves a [`ParserProcess`](super::ParserProcess) on standard input and output until its input
/// ends; answers the exit code. `memory` is in bytes beyond what the process has now, `seconds` are
/// of processor time for one document.
///
/// It takes the process over: limits are set, every open file but the three standard ones is closed,
/// panics are silent, and the process ends at the end of the input. A program calls it first of all
/// and ends with its answer.
pub fn serve_parser(memory: u64, seconds: u64) -> u8 {
    // A panic is a document's fault and becomes its error. A hook that wrote would fill the pipe.
    std::panic::set_hook(Box::new(|_| {}));
    match serve(memory, seconds) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn serve(memory: u64, seconds: u64) -> Result<(), Fault> {
    let mut output = confine::own_output()?;
    let gauge = confine::limit(memory.saturating_add(STACK as u64))?;
    frames::write_greeting(&mut output)?;
    let (work, waiting) = sync_channel::<Received>(0);
    let parser = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || {
            // What a large document leaves behind would count against the next.
            let most_kept = gauge.data_bytes().map(|data| data + memory / 4);
            let is_full = || gauge.data_bytes() > most_kept;
            serve_each(&waiting, &mut output, seconds, &is_full);
        });
    parser?;
    // The input is read while a document is parsed: its end is the parent's end.
    while let Some(request) = frames::read_request(&mut std::io::stdin().lock())? {
        if work.send(request).is_err() {
            break;
        }
    }
    Ok(())
}

fn serve_each(
    waiting: &Receiver<Received>,
    output: &mut impl Write,
    seconds: u64,
    is_full: &dyn Fn() -> bool,
) {
    for request in waiting {
        confine::limit_processor(seconds);
        let answer = parse(request);
        if frames::write_reply(output, answer).is_err() {
            std::process::exit(1);
        }
        if is_full() {
            std::process::exit(0);
        }
    }
}

fn parse(request: Received) -> Result<ParsedDocument> {
    let parse = || {
        let content_type = request.content_type.as_deref();
        parse_unbounded(request.body, content_type, &request.name)
    };
    catch_unwind(AssertUnwindSafe(parse)).unwrap_or_else(|_| {
        Err(Error::invalid("the document broke the parser")
            .with_hint("save its text in another format"))
    })
}
