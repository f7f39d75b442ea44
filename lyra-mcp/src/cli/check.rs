//! `check` and `standing`: check drafts and statements against the sources of a graph.

use super::config::Settings;
use super::layout::{plain, wrap};
use super::output::{Output, ProgressLine, Style, json, with_styles};
use super::{engine_config, no_database, runtime};
use clap::{Args, ValueEnum};
use lyra_core::check::{
    CheckCode, CheckFormat, CheckProgress, CheckReport, CheckRequest, DraftFormat, Finding,
    MOST_UNREACHED, SourceStanding, Standing, StandingRequest,
};
use lyra_core::store::text::url::source_name;
use lyra_core::{Engine, Error, ErrorKind, Result, WholeFile};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Width of a text in columns, without its indentation.
const COLUMNS: usize = 92;

#[derive(Args)]
pub(super) struct Options {
    /// The draft: Markdown, plain text, HTML, LaTeX or .docx; - for Markdown on standard input
    file: PathBuf,
    /// The format of the draft, if its extension does not determine it
    #[arg(long, value_enum, value_name = "FORMAT")]
    input: Option<Input>,
    /// A bibliography for its citation keys: BibTeX or CSL-JSON; may be given several times
    #[arg(long, value_name = "FILE")]
    bibliography: Vec<PathBuf>,
    /// The format of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Exit with 1 if there is one of these findings, such as quote_mismatch,number_mismatch
    #[arg(long, value_delimiter = ',', value_name = "FINDINGS")]
    fail_on: Vec<CheckCode>,
    /// First read the web pages and works that the draft cites and that are not in the graph
    #[arg(long)]
    fetch: bool,
    /// Use only the sources that the draft cites
    #[arg(long)]
    cited_only: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Input {
    Markdown,
    Html,
    Latex,
    Docx,
}

impl From<Input> for DraftFormat {
    fn from(input: Input) -> Self {
        match input {
            Input::Markdown => Self::Markdown,
            Input::Html => Self::Html,
            Input::Latex => Self::Latex,
            Input::Docx => Self::Docx,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For reading on a terminal
    Text,
    /// The whole report; docs/check.md has its schema
    Json,
    /// SARIF 2.1.0, for code hosts
    Sarif,
    /// The draft with its findings, as one page
    Html,
    /// A table of the findings
    Markdown,
}

impl Format {
    fn of_library(self) -> Option<CheckFormat> {
        Some(match self {
            Self::Text => return None,
            Self::Json => CheckFormat::Json,
            Self::Sarif => CheckFormat::Sarif,
            Self::Html => CheckFormat::Html,
            Self::Markdown => CheckFormat::Markdown,
        })
    }
}

#[derive(Args)]
pub(super) struct StandingOptions {
    /// The statement, one sentence
    text: String,
    /// Only the sources of this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Checks a draft; returns 1 if there is a finding covered by `--fail-on`.
pub(super) fn run(settings: &Settings, options: &Options) -> Result<u8> {
    let request = request(options)?;
    let name = options.file.display().to_string();
    let report = with_engine(settings, options.fetch, async |engine, line| {
        if options.fetch {
            fetch(engine, line, &request, &name).await?;
        }
        let show = |progress: CheckProgress| {
            let share = progress.judged as f64 / progress.pairs.max(1) as f64;
            let text = format!("judged {} of {} pairs", progress.judged, progress.pairs);
            line.show(share, &text);
        };
        let report = engine.check(&request, &show).await?;
        line.show(1.0, "all pairs are judged");
        Ok(report)
    })?;
    let text = match options.format.of_library() {
        Some(format) => report.render(format, &name)?,
        None => terminal(&report, &name),
    };
    write(&text, options.out.as_deref())?;
    Ok(u8::from(report.count(&options.fail_on) > 0))
}

/// Reads what the draft cites, and reports what could not be read.
async fn fetch(engine: &Engine, line: &Line, request: &CheckRequest, name: &str) -> Result<()> {
    let show = |done: usize, all: usize| {
        let share = done as f64 / all.max(1) as f64;
        line.show(share, &format!("read {done} of {all} sources"));
    };
    let hypothesis = format!("The sources of {} say what it says", plain(name));
    let read = engine.read_cited(request, &hypothesis, &show).await?;
    line.end();
    for (address, reason) in &read.failed {
        crate::log::line(&format!("not read: {address}: {reason}"));
    }
    Ok(())
}

fn request(options: &Options) -> Result<CheckRequest> {
    let draft = read(&options.file)?;
    let format = match options.input {
        Some(input) => input.into(),
        None => DraftFormat::of_name(&options.file.to_string_lossy()),
    };
    let mut request = CheckRequest::new(draft, format);
    request.other_sources = !options.cited_only;
    for file in &options.bibliography {
        let text = String::from_utf8(read(file)?).map_err(|_| {
            Error::invalid(format!("{} is not UTF-8 text", file.display()))
                .with_hint("save the bibliography as UTF-8")
        })?;
        request.bibliographies.push(text);
    }
    Ok(request)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let unreadable = |error: std::io::Error| {
        Error::not_found(format!("{} cannot be read: {error}", file.display()))
            .with_hint("give the path of a file, or - for standard input")
    };
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        return Ok(bytes);
    }
    std::fs::read(file).map_err(unreadable)
}

fn write(text: &str, out: Option<&Path>) -> Result<()> {
    let Some(path) = out else {
        let mut out = Output::new();
        out.line(text.trim_end_matches('\n'))?;
        return out.finish();
    };
    let mut file = WholeFile::create(path)?;
    file.write_all(with_styles(text, false).as_bytes())
        .map_err(|error| {
            let message = format!("{} cannot be written: {error}", path.display());
            Error::new(ErrorKind::Backend, message)
        })?;
    file.finish().map(drop)
}

/// Prints how the sources relate to a statement.
pub(super) fn standing(settings: &Settings, options: &StandingOptions) -> Result<()> {
    let request = StandingRequest {
        text: options.text.clone(),
        task_id: options.task.clone(),
    };
    let standing = with_engine(settings, false, async |engine, _| {
        engine.claim_standing(&request).await
    })?;
    let text = match options.json {
        true => json(&standing)?,
        false => standing_text(&standing),
    };
    write(&text, None)
}

/// Progress lines: at most one per second, and the last.
struct Line(Mutex<(ProgressLine, Instant)>);

impl Line {
    fn show(&self, share: f64, text: &str) {
        let Ok(mut line) = self.0.lock() else {
            return;
        };
        if share >= 1.0 || line.1.elapsed() >= Duration::from_secs(1) {
            line.1 = Instant::now();
            line.0.show(share, text);
        }
    }

    fn end(&self) {
        if let Ok(mut line) = self.0.lock() {
            line.0.end();
        }
    }
}

/// Opens the graph and reads what is new in the folders of `--corpus`. If no graph is named, folders
/// named on the command line are read into a temporary one, and so is what is fetched if there is
/// no graph.
fn with_engine<T>(
    settings: &Settings,
    fetches: bool,
    work: impl AsyncFnOnce(&Engine, &Line) -> Result<T>,
) -> Result<T> {
    let mut settings = settings.clone();
    let mut folder = None;
    let is_missing = !settings.db.exists();
    if is_missing && settings.corpus.is_empty() && !fetches {
        return Err(no_database(&settings).with_hint(
            "give the place of a graph with --db PATH, or a folder of documents with --corpus DIR; \
             a check with --fetch needs neither",
        ));
    }
    if settings.db_is_default && !settings.read_only && (is_missing || settings.corpus_is_flag) {
        let made = tempfile::tempdir().map_err(|error| {
            let message = format!("no folder for a graph: {error}");
            Error::new(ErrorKind::Storage, message)
        })?;
        settings.db = made.path().join("check.db");
        folder = Some(made);
    }
    let engine = Engine::open(engine_config(&settings)?)?;
    let line = Line(Mutex::new((ProgressLine::new(), Instant::now())));
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        if !settings.corpus.is_empty() && !engine.is_read_only() {
            let show = |report: &lyra_core::documents::SyncReport| {
                line.show(
                    0.0,
                    &format!("reading the folders: {} new or changed", report.read),
                );
            };
            if let Some(report) = engine.sync_corpus(&show).await? {
                let (new, known) = (report.read, report.unchanged);
                let text = format!("read the folders: {new} new or changed, {known} known");
                line.show(1.0, &text);
            }
        }
        work(&engine, &line).await
    });
    line.end();
    drop(engine);
    drop(folder);
    done
}

fn terminal(report: &CheckReport, name: &str) -> String {
    let mut lines = vec![
        Style::Strong.of(&format!("{}: {}", plain(name), report.headline())),
        format!(
            "judge: {}; pages that could be cited: {}",
            report.judge, report.summary.sources_known
        ),
    ];
    let starts: Vec<usize> = report.sentences.iter().map(|s| s.start).collect();
    let places = report.places(&starts);
    for (sentence, (line, column)) in report.sentences.iter().zip(places) {
        let told: Vec<&Finding> = sentence
            .findings
            .iter()
            .filter(|finding| finding.is_worth_a_look())
            .collect();
        if told.is_empty() {
            continue;
        }
        lines.push(String::new());
        indent(&mut lines, &format!("{line}:{column} "), &sentence.text);
        for finding in told {
            finding_lines(&mut lines, finding);
        }
    }
    let faulty = report.references.iter().filter(|r| !r.findings.is_empty());
    for reference in faulty {
        let label = reference.label.as_deref().unwrap_or("-");
        lines.push(String::new());
        indent(
            &mut lines,
            &format!("reference [{}] ", plain(label)),
            &reference.text,
        );
        for finding in &reference.findings {
            finding_lines(&mut lines, finding);
        }
    }
    let hidden = report.omitted();
    if hidden > 0 {
        lines.push(String::new());
        lines.push(format!(
            "not listed: {hidden} supported; --format html or json shows the words of the sources"
        ));
    }
    lines.join("\n")
}

/// Findings based on exact comparison or on data in the graph are certain; the others may be wrong.
fn style(code: CheckCode) -> Style {
    match code {
        CheckCode::QuoteMismatch
        | CheckCode::NumberMismatch
        | CheckCode::ContradictedBySource
        | CheckCode::RetractedSource
        | CheckCode::ReferenceNotFound
        | CheckCode::ReferenceWrongDoi => Style::Fault,
        _ => Style::Doubt,
    }
}

fn finding_lines(lines: &mut Vec<String>, finding: &Finding) {
    let sure = finding.confidence.map(|sure| format!(" ({sure:.2})"));
    let sure = sure.unwrap_or_default();
    let code = style(finding.code).of(finding.code.as_str());
    indent(lines, &format!("  {code}{sure}: "), &finding.message);
    if let Some(diff) = &finding.diff {
        indent(lines, "    ", diff);
    }
    if let Some(evidence) = &finding.evidence {
        let title = source_name(evidence.title.as_deref(), &evidence.url);
        if let Some(quote) = finding.further_quote() {
            indent(lines, "    ", &format!("“{quote}”"));
        }
        indent(lines, "    in ", &title);
    }
}

fn indent(lines: &mut Vec<String>, start: &str, text: &str) {
    let depth = start.len() - start.trim_start().len();
    let rest = " ".repeat(depth + 2);
    let whole = format!("{}{}", start.trim_start(), plain(text));
    for (at, line) in wrap(&whole, COLUMNS).into_iter().enumerate() {
        let before = if at == 0 { &rest[..depth] } else { &rest[..] };
        lines.push(format!("{before}{line}"));
    }
}

fn standing_text(standing: &Standing) -> String {
    let mut lines = Vec::new();
    indent(&mut lines, "", &standing.text);
    lines.push(format!(
        "{} for, {} against, {} silent; the nearest of {} sources that have a text; judge: {}",
        standing.independent_for,
        standing.independent_against,
        standing.silent.len(),
        standing.sources_searched,
        standing.judge
    ));
    for (name, list) in [
        ("for", &standing.supporting),
        ("against", &standing.against),
    ] {
        for source in list {
            lines.push(String::new());
            source_lines(&mut lines, name, source);
        }
    }
    if !standing.unreached.is_empty() {
        lines.push(String::new());
        lines.push(format!(
            "without a text, so not searched: {}{} pages, such as what others cite or link",
            if standing.unreached.len() < MOST_UNREACHED {
                ""
            } else {
                "at least "
            },
            standing.unreached.len()
        ));
    }
    lines.join("\n")
}

fn source_lines(lines: &mut Vec<String>, name: &str, source: &SourceStanding) {
    let title = source_name(source.title.as_deref(), &source.url);
    let retracted = if source.is_retracted {
        ", retracted"
    } else {
        ""
    };
    let start = format!("{name} ({:.2}{retracted}) ", source.confidence);
    indent(lines, &start, &title);
    if let Some(evidence) = &source.evidence {
        indent(lines, "    ", &format!("“{}”", evidence.quote));
    }
}
