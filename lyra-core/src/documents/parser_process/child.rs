//! The child process: it parses one document after another until its input ends.

use super::confine;
use super::frames::{self, ChildFault, Received};
use crate::documents::any_format::parse_unbounded;
use crate::documents::limits::STACK;
use crate::error::{Error, Result};
use crate::ports::ParsedDocument;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, sync_channel};

/// Serves a [`ParserProcess`](super::ParserProcess) on standard input and output until the input
/// ends; returns the exit code. `memory` is in bytes beyond what the process uses now, `seconds` is
/// the processor time for one document.
///
/// It takes control of the process: it sets limits, closes every open file except the three
/// standard ones, and returns when the input ends. A program must call it before anything else and
/// exit with the returned code. A document that makes the parser panic gets an error; the program
/// should set a panic hook that writes nothing, because its standard error is a pipe that may fill up.
pub fn serve_parser(memory: u64, seconds: u64) -> u8 {
    match serve(memory, seconds) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn serve(memory: u64, seconds: u64) -> Result<(), ChildFault> {
    let mut output = confine::own_output()?;
    let gauge = confine::limit(memory.saturating_add(STACK as u64))?;
    frames::write_greeting(&mut output)?;
    let (work, waiting) = sync_channel::<Received>(0);
    let parser = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || {
            // What a large document leaves behind would count against the next one.
            let most_kept = gauge.data_bytes().map(|data| data + memory / 4);
            let is_full = || gauge.data_bytes() > most_kept;
            serve_each(&waiting, &mut output, seconds, &is_full);
        });
    parser?;
    // The input is read while a document is parsed: it ends when the parent ends.
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
