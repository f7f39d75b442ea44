//! `judge`: a person judges the pairs that matter most, one per screen.

use super::layout::{plain, wrap};
use clap::{Args, ValueEnum};
use lyra_core::store::graph::{
    HUMAN_JUDGE, Judgement, JudgementFocus, JudgementRequest, LentPair, PairKind,
};
use lyra_core::store::model::Relation;
use lyra_core::{Engine, Error, ErrorKind, Result};
use std::io::{BufRead, Write};

/// Number of pairs that are fetched at once; judging them may take an hour.
const BATCH: usize = 10;
const LEASE_SECONDS: u32 = 3_600;
/// Width of a text in columns, without its label.
const TEXT_COLUMNS: usize = 76;

#[derive(Args)]
pub(super) struct Options {
    /// The task
    #[arg(long, value_name = "ID")]
    task: String,
    /// Which pairs are shown first
    #[arg(long, value_enum, default_value_t = Focus::All)]
    focus: Focus,
}

#[derive(Clone, Copy, ValueEnum)]
enum Focus {
    /// Those for which a wrong verdict would most change what a reader is shown
    All,
    /// Those about which the judge is least certain
    Uncertain,
    /// Passages on claims with evidence on both sides
    Disputed,
    /// Claims compared with the hypothesis
    Hypothesis,
}

impl From<Focus> for JudgementFocus {
    fn from(focus: Focus) -> Self {
        match focus {
            Focus::All => Self::All,
            Focus::Uncertain => Self::Uncertain,
            Focus::Disputed => Self::Disputed,
            Focus::Hypothesis => Self::Hypothesis,
        }
    }
}

/// The possible answers.
enum Answer {
    Says(Relation),
    Skip,
    Back,
    Quit,
}

/// Asks until no pairs are left, or until the person stops.
pub(super) fn run(engine: &Engine, options: &Options) -> Result<()> {
    let (mut input, mut out) = (std::io::stdin().lock(), std::io::stdout().lock());
    let judged = session(engine, options, &mut input, &mut out)?;
    writeln!(out, "{judged} judged").map_err(broken)
}

fn session(
    engine: &Engine,
    options: &Options,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Result<usize> {
    let request = JudgementRequest {
        limit: BATCH,
        focus: options.focus.into(),
        lease_seconds: LEASE_SECONDS,
        ..JudgementRequest::new(&options.task)
    };
    let mut seen: Vec<LentPair> = Vec::new();
    let (mut place, mut judged, mut open) = (0, 0, None);
    loop {
        if place == seen.len() {
            let more = engine.lend_judgements(&request)?;
            if more.is_empty() {
                writeln!(out, "Nothing is left to judge with this focus.").map_err(broken)?;
                return Ok(judged);
            }
            seen.extend(more);
        }
        let pair = &seen[place];
        show(pair, (judged, open), out)?;
        match ask(input, out)? {
            Answer::Quit => return Ok(judged),
            Answer::Skip => place += 1,
            Answer::Back => place = place.saturating_sub(1),
            Answer::Says(relation) => {
                let judgement = Judgement {
                    pair_id: pair.pair_id.clone(),
                    relation,
                    quote: None,
                    confidence: Some(1.0),
                    reason: None,
                };
                let report = engine.submit_judgements(&options.task, HUMAN_JUDGE, &[judgement])?;
                if let Some(refused) = report.refused.first() {
                    return Err(Error::new(ErrorKind::NotFound, refused.reason.clone()));
                }
                open = Some(report.open);
                judged += 1;
                place += 1;
            }
        }
    }
}

fn show(
    pair: &LentPair,
    (judged, open): (usize, Option<usize>),
    out: &mut impl Write,
) -> Result<()> {
    let left = open.map_or_else(String::new, |open| format!(", {open} left"));
    let heading = pair
        .heading
        .as_deref()
        .map(|heading| format!(" / {heading}"));
    let source = format!("{}{}", pair.source, heading.unwrap_or_default());
    let (statement, question) = match pair.kind {
        PairKind::Passage => ("CLAIM", "What does the passage say about the claim?"),
        PairKind::Hypothesis => (
            "HYPOTHESIS",
            "What does the assertion say about the hypothesis?",
        ),
    };
    let parts = [
        (statement, Some(pair.claim.as_str())),
        ("ASSERTION", pair.assertion.as_deref()),
        ("PASSAGE", Some(pair.passage.as_str())),
        ("SOURCE", Some(source.as_str())),
    ];
    writeln!(out, "\n--- {judged} judged{left} ---\n").map_err(broken)?;
    for (label, text) in parts {
        let lines = text.map(|text| wrap(&plain(text), TEXT_COLUMNS));
        for (nth, line) in lines.iter().flatten().enumerate() {
            let label = if nth == 0 { label } else { "" };
            writeln!(out, "{label:<12}{line}").map_err(broken)?;
        }
    }
    writeln!(out, "\n{question}").map_err(broken)
}

/// Reads a letter; the end of the input ends the session.
fn ask(input: &mut impl BufRead, out: &mut impl Write) -> Result<Answer> {
    loop {
        write!(
            out,
            "s supports, r refutes, n neutral, k skip, u back, q quit: "
        )
        .map_err(broken)?;
        out.flush().map_err(broken)?;
        let mut line = String::new();
        if input.read_line(&mut line).map_err(broken)? == 0 {
            writeln!(out).map_err(broken)?;
            return Ok(Answer::Quit);
        }
        match line.trim() {
            "s" => return Ok(Answer::Says(Relation::Supports)),
            "r" => return Ok(Answer::Says(Relation::Refutes)),
            "n" => return Ok(Answer::Says(Relation::Neutral)),
            "k" => return Ok(Answer::Skip),
            "u" => return Ok(Answer::Back),
            "q" => return Ok(Answer::Quit),
            _ => {}
        }
    }
}

fn broken(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("the terminal: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyra_core::EngineConfig;
    use lyra_core::store::guard::SqlRequest;
    use serde_json::{Value, json};

    const LINES: [&str; 8] = [
        r#"{"type":"task","id":"task_00000001","hypothesis":"Tea lowers blood pressure."}"#,
        r#"{"type":"page","id":"p","url":"https://a.org/","title":"A trial \u001b[31m of tea"}"#,
        r#"{"type":"fragment","id":"f1","page_id":"p","text_content":"Blood pressure fell with tea."}"#,
        r#"{"type":"fragment","id":"f2","page_id":"p","text_content":"Blood pressure did not fall with tea."}"#,
        r#"{"type":"claim","id":"c","task_id":"task_00000001","claim_text":"Tea lowers pressure."}"#,
        r#"{"type":"edge","id":"e1","source_type":"fragment","source_id":"f1","target_type":"claim","target_id":"c","relation":"neutral","nli_edge_confidence":0.5,"judge_id":"m"}"#,
        r#"{"type":"edge","id":"e2","source_type":"fragment","source_id":"f2","target_type":"claim","target_id":"c","relation":"supports","nli_edge_confidence":0.5,"judge_id":"m"}"#,
        "",
    ];

    async fn graph() -> (tempfile::TempDir, Engine) {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = Engine::open(EngineConfig::new(folder.path().join("a.db"))).expect("opens");
        engine
            .import_jsonl(LINES.join("\n").as_bytes())
            .await
            .expect("imports");
        (folder, engine)
    }

    fn edges(engine: &Engine) -> Vec<Value> {
        let sql = "SELECT id, relation, edge_human_corrected AS human FROM edges ORDER BY id";
        let rows = engine
            .query_sql(&SqlRequest::new(sql))
            .expect("answers")
            .rows;
        rows.into_iter().map(Value::Object).collect()
    }

    #[tokio::test]
    async fn a_person_answers_goes_back_and_is_a_human_in_the_graph() {
        let (_folder, engine) = graph().await;
        let options = Options {
            task: "task_00000001".to_owned(),
            focus: Focus::All,
        };
        // The chosen side comes first: f2, whose "s" is replaced by "r".
        let mut out = Vec::new();
        let typed = "what\ns\nu\nr\ns\n";
        let judged =
            session(&engine, &options, &mut typed.as_bytes(), &mut out).expect("a session");
        assert_eq!(judged, 3);
        assert_eq!(
            edges(&engine),
            [
                json!({"id": "e1", "relation": "supports", "human": 1}),
                json!({"id": "e2", "relation": "refutes", "human": 1})
            ]
        );
        let shown = String::from_utf8(out).expect("text");
        assert!(
            shown.contains("CLAIM       Tea lowers pressure."),
            "{shown}"
        );
        assert!(shown.contains("Nothing is left"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }

    #[tokio::test]
    async fn the_end_of_the_input_ends_the_session() {
        let (_folder, engine) = graph().await;
        let options = Options {
            task: "task_00000001".to_owned(),
            focus: Focus::Disputed,
        };
        let judged =
            session(&engine, &options, &mut "".as_bytes(), &mut Vec::new()).expect("a session");
        assert_eq!(judged, 0);
    }
}
