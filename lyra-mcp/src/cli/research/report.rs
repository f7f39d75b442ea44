//! The report on a terminal: 80 columns, plain text, with bold headings where supported.

use super::super::layout::{cut, side_by_side, width, wrap};
use super::super::output::Style;
use super::findings::{Chain, Contradiction, Counts, Doubtful, Findings, Source, Stated};
use super::place::Place;
use lyra_core::Result;
use lyra_core::security::injection;
use lyra_core::store::confidence::{POSSIBLE_BELOW, two_digits};

/// Width of the report, in columns.
const WIDTH: usize = 80;

/// Maximum length of a quote in one of two columns; omissions are marked.
const QUOTE_COLUMNS: usize = 330;

/// Number of claims shown if none takes a side.
const NEAREST: usize = 3;

type Print<'a> = dyn FnMut(&str) -> Result<()> + 'a;

/// Prints the whole report.
pub(in crate::cli) fn print(findings: &Findings, place: &Place, out: &mut Print<'_>) -> Result<()> {
    out(&"═".repeat(WIDTH))?;
    for line in wrap(&findings.hypothesis, WIDTH - 2) {
        out(&format!(" {}", Style::Strong.of(&line)))?;
    }
    out(&"═".repeat(WIDTH))?;
    out(&format!(" {}", Style::Strong.of(&findings.task_id)))?;
    out("")?;
    counts(&findings.counts, out)?;
    models(findings, out)?;
    side(
        "SUPPORTS THE HYPOTHESIS",
        &findings.supporting,
        findings.counts.claims_for,
        out,
    )?;
    side(
        "SPEAKS AGAINST IT",
        &findings.refuting,
        findings.counts.claims_against,
        out,
    )?;
    nearest(findings, out)?;
    contradictions(findings, out)?;
    doubtful(&findings.doubtful, out)?;
    if let Some(found) = &findings.chain {
        chain(found, out)?;
    }
    next(findings, place, out)
}

fn heading(title: &str, note: &str, out: &mut Print<'_>) -> Result<()> {
    out("")?;
    let gap = WIDTH.saturating_sub(width(title) + width(note));
    out(format!("{}{}{note}", Style::Strong.of(title), " ".repeat(gap)).trim_end())?;
    out(&"─".repeat(WIDTH))
}

fn counts(counts: &Counts, out: &mut Print<'_>) -> Result<()> {
    let of_corpus = match counts.corpus {
        0 => String::new(),
        all => format!(" (the corpus has {all})"),
    };
    out(&format!(
        " Documents read: {}{of_corpus}; fragments: {}; claims: {}.",
        counts.documents, counts.fragments, counts.claims
    ))?;
    out(&format!(
        " Claims for the hypothesis: {}; against it: {}.",
        sides(counts.claims_for),
        sides(counts.claims_against)
    ))?;
    out(&format!(
        " Claims that take no side: {}.",
        counts.claims_aside
    ))?;
    out(&format!(
        " Passages that support a claim: {}; that refute one: {}; that do neither: {}.",
        counts.supports, counts.refutes, counts.neutral
    ))?;
    out(&format!(" Claims in dispute: {}.", counts.contradicted))
}

/// `3`, or `3 and 4 possible`
fn sides((sure, possible): (usize, usize)) -> String {
    match possible {
        0 => sure.to_string(),
        _ => format!("{sure} and {possible} possible"),
    }
}

fn models(findings: &Findings, out: &mut Print<'_>) -> Result<()> {
    let names: Vec<String> = findings
        .models
        .iter()
        .map(|(part, id)| format!("{part} {id}"))
        .collect();
    out("")?;
    for line in wrap(&format!("Made by: {}.", names.join(", ")), WIDTH - 2) {
        out(&format!(" {line}"))?;
    }
    if findings.all_builtin {
        out(" These are the small models that ship with Lyra. They work offline, and they err:")?;
        out(" read the quote before you rely on a verdict.")?;
    }
    Ok(())
}

fn side(
    title: &str,
    claims: &[Stated],
    (sure, possible): (usize, usize),
    out: &mut Print<'_>,
) -> Result<()> {
    let are_possible = claims.first().is_some_and(|first| first.is_possible);
    let total = if are_possible { possible } else { sure };
    let kind = if are_possible {
        "possible claims"
    } else {
        "claims"
    };
    heading(title, &format!("{} of {total} {kind}", claims.len()), out)?;
    match (claims.is_empty(), are_possible) {
        (true, _) if possible > 0 => out(" none surely")?,
        (true, _) => out(" none found")?,
        (false, true) => possible_below(out)?,
        (false, false) => {}
    }
    for stated in claims {
        let confidence = stated.confidence.map_or_else(String::new, two_digits);
        quoted(&confidence, &stated.claim, out)?;
        attribution(&stated.source, 6, out)?;
    }
    let more = total.saturating_sub(claims.len());
    if more > 0 {
        out(&format!(" … and {more} more: view v_hypothesis_evidence"))?;
    }
    match !are_possible && possible > 0 {
        true => out(&format!(
            " {possible} possible (confidence below {POSSIBLE_BELOW:.2}): view v_hypothesis_evidence"
        )),
        false => Ok(()),
    }
}

fn possible_below(out: &mut Print<'_>) -> Result<()> {
    out(&format!(
        " Possible (confidence of the judge below {POSSIBLE_BELOW:.2}):"
    ))
}

/// Shows the nearest claims if none takes a side.
fn nearest(findings: &Findings, out: &mut Print<'_>) -> Result<()> {
    if findings.nearest.is_empty() {
        return Ok(());
    }
    heading("NO CLAIM TAKES A SIDE; THE NEAREST ARE", "", out)?;
    for stated in findings.nearest.iter().take(NEAREST) {
        quoted("·", &stated.claim, out)?;
        attribution(&stated.source, 6, out)?;
    }
    out("")?;
    out(" Put the hypothesis in the words of these documents, or in narrower ones: one cause,")?;
    out(" one outcome, one population. --query WORDS searches for more.")
}

/// A text with a mark before its first line.
fn quoted(mark: &str, text: &str, out: &mut Print<'_>) -> Result<()> {
    for (index, line) in wrap(text, WIDTH - 7).into_iter().enumerate() {
        let mark = if index == 0 { mark } else { "" };
        out(&format!(" {mark:<5}{line}"))?;
    }
    Ok(())
}

fn attribution(source: &Source, indent: usize, out: &mut Print<'_>) -> Result<()> {
    for line in wrap(&format!("— {}", citation(source)), WIDTH - indent - 1) {
        out(&format!("{}{line}", " ".repeat(indent)))?;
    }
    Ok(())
}

/// `Scirica et al. 2013, New England Journal of Medicine, doi:10.…`
fn citation(source: &Source) -> String {
    let mut parts = Vec::new();
    let who = source.author.as_ref().unwrap_or(&source.title);
    parts.push(match source.year {
        Some(year) => format!("{} {year}", cut(who, 120)),
        None => cut(who, 120),
    });
    parts.extend(source.venue.clone());
    parts.extend(source.doi.as_ref().map(|doi| format!("doi:{doi}")));
    if source.is_retracted {
        parts.push("RETRACTED".to_owned());
    }
    parts.join(", ")
}

fn contradictions(findings: &Findings, out: &mut Print<'_>) -> Result<()> {
    let shown = &findings.contradictions;
    let note = format!("{} of {} claims", shown.len(), findings.counts.contradicted);
    heading("WHERE SOURCES CONTRADICT EACH OTHER", &note, out)?;
    if shown.is_empty() {
        return out(match findings.counts.contradicted {
            0 => " none found",
            _ => " none between different sources; see view v_contradictions",
        });
    }
    let sure = shown.iter().take_while(|c| c.confidence >= POSSIBLE_BELOW);
    let sure = sure.count();
    for (index, contradiction) in shown.iter().enumerate() {
        if index > 0 {
            out("")?;
        }
        if index == sure {
            possible_below(out)?;
        }
        contradiction_of(index + 1, contradiction, out)?;
    }
    Ok(())
}

fn contradiction_of(number: usize, found: &Contradiction, out: &mut Print<'_>) -> Result<()> {
    for (index, line) in wrap(&found.claim, WIDTH - 7).into_iter().enumerate() {
        let mark = if index == 0 {
            format!("{number}.")
        } else {
            String::new()
        };
        out(&format!(" {mark:<5}{}", Style::Strong.of(&line)))?;
    }
    let half = (WIDTH - 5) / 2;
    let mut left = vec![format!("SUPPORTED BY {}", passages(found.supports))];
    left.extend(column(found.pro.as_ref(), half));
    let mut right = vec![format!("REFUTED BY {}", passages(found.refutes))];
    right.extend(column(found.con.as_ref(), half));
    out("")?;
    for line in side_by_side(&left, &right, half) {
        out(&format!(" {line}"))?;
    }
    Ok(())
}

fn passages(n: usize) -> String {
    match n {
        // The passage that the claim was read from.
        0 => "ITS OWN SOURCE".to_owned(),
        1 => "1 PASSAGE".to_owned(),
        n => format!("{n} PASSAGES, THE SUREST:"),
    }
}

fn column(stated: Option<&Stated>, columns: usize) -> Vec<String> {
    let Some(stated) = stated else {
        return Vec::new();
    };
    let mut lines = wrap(&format!("“{}”", cut(&stated.claim, QUOTE_COLUMNS)), columns);
    lines.extend(wrap(&format!("— {}", citation(&stated.source)), columns));
    if let Some(confidence) = stated.confidence {
        lines.push(format!("confidence {confidence:.2}"));
    }
    if !injection::scan(&stated.claim).is_empty() {
        lines.push("! reads like instructions to a model".to_owned());
    }
    lines
}

fn doubtful(found: &[Doubtful], out: &mut Print<'_>) -> Result<()> {
    heading(
        "RETRACTED OR SUPERSEDED SOURCES",
        &format!("{}", found.len()),
        out,
    )?;
    if found.is_empty() {
        return out(" none found");
    }
    for doubtful in found {
        let title = &doubtful.source.title;
        quoted("", &format!("{title} ({})", doubtful.why), out)?;
        if let Some(words) = &doubtful.words {
            for line in wrap(&format!("“{}”", cut(words, QUOTE_COLUMNS)), WIDTH - 9) {
                out(&format!("        {line}"))?;
            }
        }
        attribution(&doubtful.source, 6, out)?;
        if let Some(successor) = &doubtful.successor {
            for line in wrap(&format!("→ replaced by {successor}"), WIDTH - 7) {
                out(&format!("      {line}"))?;
            }
        }
    }
    Ok(())
}

fn chain(chain: &Chain, out: &mut Print<'_>) -> Result<()> {
    heading(
        "ONE CLAIM, BACK TO THE CHARACTERS THAT IT WAS READ FROM",
        "",
        out,
    )?;
    labelled("claim", &chain.claim_id, &chain.claim, out)?;
    let origin = "origin: the claim was read in this fragment";
    labelled("edge", &chain.edge_id, origin, out)?;
    let (start, end) = chain.span;
    let heading = chain.heading.as_deref().unwrap_or("no heading");
    labelled(
        "fragment",
        &chain.fragment_id,
        &format!("{heading}; characters {start}–{end}"),
        out,
    )?;
    labelled("page", &chain.page_id, &chain.page, out)?;
    if let Some(source) = &chain.source {
        labelled("work", "", &citation(source), out)?;
    }
    let (start, end) = chain.quote_span;
    labelled(
        "quote",
        &format!("characters {start}–{end} of the page's text"),
        "",
        out,
    )?;
    for line in wrap(&format!("“{}”", chain.quote), WIDTH - 12) {
        out(&format!("           {line}"))?;
    }
    let says = |good: bool| if good { "yes" } else { "NO" };
    labelled(
        "check",
        "",
        &format!(
            "substr(text, {}, {}) of the page equals the fragment: {}",
            chain.span.0 + 1,
            chain.span.1 - chain.span.0,
            says(chain.fragment_is_exact)
        ),
        out,
    )?;
    labelled(
        "",
        "",
        &format!(
            "the quote lies inside the fragment: {}",
            says(chain.quote_is_inside)
        ),
        out,
    )
}

fn labelled(label: &str, id: &str, text: &str, out: &mut Print<'_>) -> Result<()> {
    let both = match (id.is_empty(), text.is_empty()) {
        (false, false) => format!("{id}  {text}"),
        _ => format!("{id}{text}"),
    };
    for (index, line) in wrap(&both, WIDTH - 12).into_iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        out(&format!(" {label:<10}{line}"))?;
    }
    Ok(())
}

fn next(findings: &Findings, place: &Place, out: &mut Print<'_>) -> Result<()> {
    heading("WHAT TO DO NEXT", "", out)?;
    let task = &findings.task_id;
    if let Some(page) = &place.page {
        out(" Look at all of it in a browser:")?;
        out(&format!("   {}", page.display()))?;
    }
    let (program, db, corpus) = (place.program(), place.db(), place.corpus());
    for (what, arguments) in [
        match place.is_example {
            true => (
                "Ask a question of your own, of your own documents:",
                "research \"Night work shortens sleep\" --db my.db --corpus my-papers".to_owned(),
            ),
            false => (
                "Ask another question of the same documents:",
                format!("research \"ANOTHER HYPOTHESIS\"{db}{corpus}"),
            ),
        },
        (
            "List what each source says on the hypothesis, possible sides included:",
            format!(
                "view v_hypothesis_evidence --task {task}{db} --columns relation,confidence,quote,title"
            ),
        ),
        (
            "Continue this task when there are new documents:",
            format!("research --task {task}{db}{corpus}"),
        ),
        (
            "Export a report in which every claim and verdict has its id:",
            format!("export --task {task}{db} --format markdown --out report.md"),
        ),
    ] {
        out(&format!(" {what}"))?;
        out(&format!("   {program} {arguments}"))?;
    }
    out("")?;
    out(" Let an assistant ask: configuration of an MCP client that serves this graph.")?;
    out("")?;
    for line in place.client_configuration().lines() {
        out(&format!(" {line}"))?;
    }
    out("")?;
    out(" Three calls to begin with:")?;
    out("")?;
    out(&format!(
        " query_view     {{\"view_name\": \"v_contradictions\", \"task_id\": \"{task}\"}}"
    ))?;
    let words = wrap(&findings.hypothesis, 42).into_iter().next();
    let words = serde_json::json!(words.unwrap_or_default());
    out(&format!(
        " vector_search  {{\"query\": {words}, \"target\": \"fragments\","
    ))?;
    out("                 \"top_k\": 5}")?;
    out(" query_sql      {\"sql\": \"SELECT title, year, doi FROM works ORDER BY year DESC\"}")
}
