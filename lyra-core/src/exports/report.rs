//! A report for reading: what is claimed, what speaks for and against it, word for word, and where.

use super::bibtex::day;
use super::part::Part;
use super::sources::{Source, sources};
use super::{report_of, unwritten};
use crate::confidence::claim_confidence;
use crate::error::{Error, Result, SqliteResultExt};
use crate::graph::ExportReport;
use crate::model::Relation;
use crate::security::injection;
use std::collections::HashMap;
use std::io::Write;

struct Claim {
    id: String,
    text: String,
    /// How it stands to the hypothesis, if anybody has judged that.
    stance: Option<Relation>,
}

/// An edge to a claim with its quote and the number of its source.
struct Evidence {
    edge_id: String,
    relation: Relation,
    confidence: f64,
    quote: String,
    source: Option<usize>,
    is_retracted: bool,
    by_human: bool,
}

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let sources = sources(part)?;
    let mut evidence = evidence(part, &sources)?;
    let (mut claims_written, mut quotes) = (0, 0);
    let mut text = String::new();
    for (task_id, hypothesis) in tasks(part)? {
        text.push_str(&format!("# {}\n\n", line(&hypothesis)));
        let claims = claims(part, &task_id)?;
        claims_written += claims.len();
        text.push_str(&format!(
            "Task `{task_id}`. The figures are scores to navigate by, not verdicts. A verdict that is \
             wrong is corrected by the id at the end of its line (`feedback`, `edge_correct`).\n\n"
        ));
        for (stance, heading) in [
            (
                Some(Relation::Supports),
                "Claims that support the hypothesis",
            ),
            (Some(Relation::Refutes), "Claims that speak against it"),
            (Some(Relation::Neutral), "Claims that do neither"),
            (None, "Claims not yet judged against it"),
        ] {
            let of_stance: Vec<&Claim> = claims.iter().filter(|c| c.stance == stance).collect();
            if of_stance.is_empty() {
                continue;
            }
            text.push_str(&format!("## {heading} ({})\n\n", of_stance.len()));
            for claim in of_stance {
                let found = evidence.remove(&claim.id).unwrap_or_default();
                quotes += found.len();
                push_claim(&mut text, claim, &found);
            }
        }
        writer.write_all(text.as_bytes()).map_err(unwritten)?;
        text.clear();
    }
    text.push_str("## Sources\n\n");
    for (at, source) in sources.iter().enumerate() {
        push_source(&mut text, at + 1, source);
    }
    writer.write_all(text.as_bytes()).map_err(unwritten)?;
    Ok(report_of(&[
        ("claim", claims_written),
        ("quote", quotes),
        ("source", sources.len()),
    ]))
}

fn tasks(part: &Part<'_>) -> Result<Vec<(String, String)>> {
    match part.task_id {
        Some(id) => Ok(vec![(id.to_owned(), part.reader.task(id)?.hypothesis)]),
        None => {
            let tasks = part.reader.tasks()?;
            Ok(tasks.into_iter().map(|t| (t.id, t.hypothesis)).collect())
        }
    }
}

fn claims(part: &Part<'_>, task_id: &str) -> Result<Vec<Claim>> {
    let mut statement = part
        .reader
        .db
        .prepare_cached(
            "SELECT c.id, c.claim_text, s.relation FROM claims c
               LEFT JOIN hypothesis_stances s ON s.claim_id = c.id
             WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted'
             ORDER BY s.confidence DESC, c.id",
        )
        .db()?;
    let rows = statement
        .query_map([task_id], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))
        .db()?;
    let mut claims = Vec::new();
    for row in rows {
        let (id, text, stance): (String, String, Option<String>) = row.db()?;
        let stance = stance.map(|name| name.parse()).transpose()?;
        claims.push(Claim { id, text, stance });
    }
    Ok(claims)
}

/// What bears on each claim, by claim: origins first, then what is surest.
fn evidence(part: &Part<'_>, sources: &[Source]) -> Result<HashMap<String, Vec<Evidence>>> {
    let numbers: HashMap<&str, usize> = sources
        .iter()
        .enumerate()
        .map(|(at, s)| (s.id.as_str(), at))
        .collect();
    let mut found: HashMap<String, Vec<Evidence>> = HashMap::new();
    part.each(
        "SELECT e.target_id, e.relation, coalesce(e.nli_edge_confidence, 0), e.edge_human_corrected,
           CASE WHEN e.quote_end IS NOT NULL AND f.char_start IS NOT NULL THEN
             substr(f.text_content, e.quote_start - f.char_start + 1, e.quote_end - e.quote_start)
           ELSE f.text_content END,
           coalesce(p.canonical_id, p.id), e.id
         FROM edges e JOIN fragments f ON f.id = e.source_id JOIN pages p ON p.id = f.page_id
         WHERE e.id {edges} AND e.relation IN ('origin', 'supports', 'refutes')
         ORDER BY e.target_id, e.relation <> 'origin', e.relation DESC, e.nli_edge_confidence DESC, e.id",
        |row| {
            let relation: String = row.get(1).db()?;
            let source: String = row.get(5).db()?;
            let at = numbers.get(source.as_str()).copied();
            found.entry(row.get(0).db()?).or_default().push(Evidence {
                edge_id: row.get(6).db()?,
                relation: relation.parse().map_err(|e: Error| e.context("an edge"))?,
                confidence: row.get(2).db()?,
                by_human: row.get(3).db()?,
                quote: row.get(4).db()?,
                source: at,
                is_retracted: at.is_some_and(|at| sources[at].is_retracted),
            });
            Ok(())
        },
    )?;
    Ok(found)
}

fn push_claim(text: &mut String, claim: &Claim, evidence: &[Evidence]) {
    let verdicts: Vec<(Relation, f64)> = evidence
        .iter()
        .filter(|e| e.relation != Relation::Origin)
        .map(|e| (e.relation, e.confidence))
        .collect();
    let balance = claim_confidence(&verdicts);
    text.push_str(&format!("### {}\n\n", line(&claim.text)));
    let ratio = match balance.supporting_count + balance.refuting_count {
        0 => "nothing for or against it yet".to_owned(),
        _ => format!(
            "{} for, {} against, support ratio {:.2}",
            balance.supporting_count, balance.refuting_count, balance.mean
        ),
    };
    text.push_str(&format!("`{}`: {ratio}.\n\n", claim.id));
    for e in evidence {
        let what = match e.relation {
            Relation::Origin => "Stated".to_owned(),
            Relation::Supports => format!("For ({:.2})", e.confidence),
            _ => format!("Against ({:.2})", e.confidence),
        };
        let place = e.source.map_or_else(
            || "no source".to_owned(),
            |at| format!("[\\[{0}\\]](#source-{0})", at + 1),
        );
        let retracted = if e.is_retracted {
            ", **retracted**"
        } else {
            ""
        };
        let human = if e.by_human {
            ", corrected by a human"
        } else {
            ""
        };
        let id = match e.relation {
            Relation::Origin => String::new(),
            _ => format!(" `{}`", e.edge_id),
        };
        text.push_str(&format!(
            "- {what}: “{}”{} {place}{retracted}{human}{id}\n",
            line(&e.quote),
            suspicion(&e.quote)
        ));
    }
    text.push('\n');
}

/// Whoever pastes the report into a model should see what is meant for one.
fn suspicion(quote: &str) -> &'static str {
    match injection::scan(quote).is_empty() {
        true => "",
        false => " (**reads like instructions to a model**)",
    }
}

fn push_source(text: &mut String, number: usize, source: &Source) {
    let authors: Vec<String> = source
        .authors
        .iter()
        .map(|name| line(&name.inverted()))
        .collect();
    let mut parts: Vec<String> = Vec::new();
    if !authors.is_empty() {
        parts.push(authors.join("; "));
    }
    parts.extend(source.year.map(|year| format!("({year})")));
    parts.push(format!("*{}*", line(&source.title)));
    parts.extend(source.venue.as_deref().map(line));
    parts.extend(
        source
            .doi
            .as_ref()
            .map(|doi| format!("<https://doi.org/{}>", address(doi))),
    );
    if source.doi.is_none() {
        parts.extend(source.url.as_ref().map(|url| format!("<{}>", address(url))));
    }
    parts.extend(
        source
            .accessed
            .as_deref()
            .map(|when| format!("read {}", day(when))),
    );
    let retracted = if source.is_retracted {
        " **Retracted.**"
    } else {
        ""
    };
    text.push_str(&format!(
        "{number}. <a id=\"source-{number}\"></a>{}.{retracted}\n",
        parts.join(". ")
    ));
}

/// One line in which nothing is markup: what was fetched speaks in words, not in links or headings.
fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if !line.is_empty() && !word.is_empty() {
            line.push(' ');
        }
        // What turns the order of characters round would let a quote look like another.
        for c in word.chars().filter(|c| !turns_order(*c)) {
            if matches!(
                c,
                '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!'
            ) {
                line.push('\\');
            }
            if c == '&' {
                line.push_str("&amp;");
            } else {
                line.push(c);
            }
        }
    }
    line
}

/// Marks that change the direction in which characters are shown.
fn turns_order(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn address(url: &str) -> String {
    url.replace('<', "%3C")
        .replace('>', "%3E")
        .replace(|c: char| c.is_whitespace() || c.is_control(), "%20")
}
