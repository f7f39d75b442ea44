//! `review` and `watch`: what is new in a task and why, once or repeatedly.

use super::config::Settings;
use super::output::Output;
use super::research;
use crate::server::Signals;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lyra_core::ports::{Clock, SystemClock};
use lyra_core::{Engine, Error, ErrorKind, Result, Review, ReviewFormat, ReviewSince, WholeFile};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Args)]
pub(super) struct Options {
    /// The task
    #[arg(long, value_name = "ID")]
    task: String,
    /// Report what is new since this day (2026-11-01) or time, or since the start of the last run
    /// of research
    #[arg(long, value_name = "WHEN", default_value = "last")]
    since: String,
    #[command(flatten)]
    written: Written,
}

/// How a review is written, and what is written beside it.
#[derive(Args)]
struct Written {
    /// The output format: for reading, for a report, for programs, for feed readers, or the flow
    /// diagram alone
    #[arg(long, value_parser = formats(), default_value = "text")]
    format: ReviewFormat,
    /// Also write the flow diagram into this file
    #[arg(long, value_name = "FILE.svg")]
    flow: Option<PathBuf>,
    /// Also write the changes into this file, as an Atom feed
    #[arg(long, value_name = "FILE")]
    feed: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct WatchOptions {
    /// The task whose targets are researched again
    #[arg(long, value_name = "ID")]
    task: String,
    /// The interval from the start of one run to the start of the next: 7d, 12h, 30m, 90s
    #[arg(long, value_name = "TIME", value_parser = period, required_unless_present = "once")]
    every: Option<Duration>,
    /// Do one run and exit, for cron and similar
    #[arg(long, conflicts_with = "every")]
    once: bool,
    #[command(flatten)]
    written: Written,
}

fn formats() -> impl TypedValueParser<Value = ReviewFormat> {
    PossibleValuesParser::new(ReviewFormat::ALL.map(|(name, _)| name))
        .try_map(|name| name.parse::<ReviewFormat>())
}

/// Parses a number with a unit.
pub(super) fn period(text: &str) -> std::result::Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write 7d, 12h, 30m or 90s");
    let unit = text.char_indices().next_back().ok_or_else(wrong)?;
    let number: u64 = text[..unit.0].parse().map_err(|_| wrong())?;
    let seconds = match unit.1 {
        'd' => 86_400,
        'h' => 3_600,
        'm' => 60,
        's' => 1,
        _ => return Err(wrong()),
    };
    match number.checked_mul(seconds) {
        Some(time) if (1..=366 * 86_400).contains(&time) => Ok(Duration::from_secs(time)),
        _ => Err(format!("{text:?} is not between 1s and 366d")),
    }
}

pub(super) fn run(engine: &Engine, options: &Options) -> Result<()> {
    let since = ReviewSince::parse(Some(&options.since));
    tell(&engine.review(&options.task, since)?, &options.written)
}

fn tell(review: &Review, written: &Written) -> Result<()> {
    for (path, format) in [
        (&written.flow, ReviewFormat::Svg),
        (&written.feed, ReviewFormat::Atom),
    ] {
        if let Some(path) = path {
            to_file(path, &review.write_as(format)?)?;
        }
    }
    let mut out = Output::new();
    out.line(review.write_as(written.format)?.trim_end())?;
    out.finish()
}

/// The file appears when it is complete: readers of the feed see the previous one until then.
fn to_file(path: &Path, text: &str) -> Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes()).map_err(|error| {
        Error::new(
            ErrorKind::Backend,
            format!("{} cannot be written: {error}", path.display()),
        )
    })?;
    file.finish()
}

/// Researches the targets of the task repeatedly and reports what is new, until a signal arrives;
/// returns the exit code.
pub(super) fn watch(settings: &Settings, options: &WatchOptions) -> Result<u8> {
    if !settings.db.exists() {
        return Err(super::no_database(settings));
    }
    loop {
        let began = SystemClock.elapsed_ms();
        match once(settings, options) {
            Ok(true) => {}
            Ok(false) => return Ok(super::INTERRUPTED),
            // A temporary network failure is no reason to stop permanently.
            Err(error) if !options.once && error.kind() != ErrorKind::TaskNotFound => {
                super::complain(&error);
            }
            Err(error) => return Err(error),
        }
        let Some(every) = options.every else {
            return Ok(0);
        };
        let spent = u64::try_from(SystemClock.elapsed_ms() - began).unwrap_or_default();
        if wait(every.saturating_sub(Duration::from_millis(spent)))? {
            return Ok(0);
        }
    }
}

/// One run and its review; returns whether the run was completed.
fn once(settings: &Settings, options: &WatchOptions) -> Result<bool> {
    let engine = super::open_or_make(settings)?;
    let began = SystemClock.now();
    if !research::again(&engine, settings, &options.task)? {
        return Ok(false);
    }
    let review = engine.review(&options.task, ReviewSince::Time(&began))?;
    tell(&review, &options.written)?;
    Ok(true)
}

/// Waits for the next run; returns whether a signal arrived first.
pub(super) fn wait(time: Duration) -> Result<bool> {
    super::runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        Ok(tokio::select! {
            () = tokio::time::sleep(time) => false,
            _ = signals.wait() => true,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_a_number_and_a_unit() {
        for (text, seconds) in [
            ("7d", 604_800),
            ("12h", 43_200),
            ("30m", 1_800),
            ("90s", 90),
        ] {
            assert_eq!(period(text), Ok(Duration::from_secs(seconds)));
        }
        for text in [
            "",
            "7",
            "d",
            "0s",
            "-1d",
            "1w",
            "400d",
            "1.5h",
            "99999999999999999999d",
            "7日",
        ] {
            assert!(period(text).is_err(), "{text}");
        }
    }
}
