//! A premise as a list of statements: clauses with what each says, about which drug, how surely.

use super::comparatives;
use super::effects::{self, Effect, Tendency};
use super::lexicon::{ABBREVIATIONS, Cue};
use super::negation::{self, Event, Value};
use super::subjects::{self, Mention};
use super::words::{self, Kind, Token};
use std::collections::HashMap;
use std::ops::Range;

/// A text read for stance.
#[derive(Debug)]
pub(crate) struct Reading {
    /// All its tokens.
    pub(crate) tokens: Vec<Token>,
    /// Its clauses, in order.
    pub(crate) statements: Vec<Statement>,
}

/// One clause.
#[derive(Debug)]
pub(crate) struct Statement {
    /// Its tokens, as a range of the reading's.
    pub(crate) tokens: Range<usize>,
    /// Those of them that say first who was studied ("In patients with heart failure,").
    pub(crate) population: Range<usize>,
    /// Which sentence it belongs to.
    pub(crate) sentence: usize,
    /// What happens in it; positions count from the start of the reading.
    pub(crate) events: Vec<Event>,
    /// The first ratio that it reports.
    pub(crate) effect: Option<Effect>,
    /// What its p-value says.
    pub(crate) significance: Option<bool>,
    /// The drugs it speaks of, its own or its sentence's.
    pub(crate) subjects: Vec<Mention>,
    /// The drugs that those are compared with.
    pub(crate) comparators: Vec<Mention>,
    /// The tokens that name what is compared with.
    pub(crate) compared: Range<usize>,
    /// Whether a placebo or control stands on the side of the subjects.
    pub(crate) control_first: bool,
    /// It asks, plans or recalls; it does not report.
    pub(crate) asks: bool,
    /// It asks outright ("we aimed to determine whether") or advises; it reports no finding.
    pub(crate) plans: bool,
    /// Something in it is denied.
    pub(crate) denies: bool,
    /// It reports weakly.
    pub(crate) hedges: bool,
    /// It says that it reports a result.
    pub(crate) concludes: bool,
}

/// How many characters of a text are read: a premise is a few sentences, and what goes on for
/// pages is none.
const LONGEST: usize = 8_000;

impl Reading {
    /// Reads a text.
    pub(crate) fn new(text: &str) -> Self {
        let end = text
            .char_indices()
            .nth(LONGEST)
            .map_or(text.len(), |(at, _)| at);
        let mut tokens = words::tokenize(&text[..end]);
        expand_abbreviations(&mut tokens);
        comparatives::mark(&mut tokens);
        let found = effects::effects(&tokens);
        let mut statements: Vec<Statement> = Vec::new();
        for (range, sentence) in clauses(&tokens, &found) {
            let statement = read_statement(&tokens, range, sentence, &found, statements.last());
            statements.push(statement);
        }
        Self { tokens, statements }
    }

    /// The tokens of a statement.
    pub(crate) fn of(&self, statement: &Statement) -> &[Token] {
        &self.tokens[statement.tokens.clone()]
    }
}

/// Replaces abbreviations by the words they stand for: those that the text defines itself, and
/// those of the table.
fn expand_abbreviations(tokens: &mut Vec<Token>) {
    let defined = definitions(tokens);
    let known = |lower: &str| -> Option<Vec<String>> {
        if let Some(words) = defined.get(lower) {
            return Some(words.clone());
        }
        ABBREVIATIONS
            .iter()
            .find(|(short, _)| *short == lower)
            .map(|(_, long)| long.iter().map(|w| (*w).to_owned()).collect())
    };
    if !tokens
        .iter()
        .any(|t| t.kind == Kind::Symbol && known(&t.lower).is_some())
    {
        return;
    }
    let mut expanded = Vec::with_capacity(tokens.len() + 8);
    for token in tokens.drain(..) {
        match (token.kind == Kind::Symbol)
            .then(|| known(&token.lower))
            .flatten()
        {
            Some(long) => expanded.extend(long.iter().flat_map(|word| words::tokenize(word))),
            None => expanded.push(token),
        }
    }
    *tokens = expanded;
}

/// "heart failure (HF)": the words whose initials the bracketed name spells.
fn definitions(tokens: &[Token]) -> HashMap<String, Vec<String>> {
    let mut found = HashMap::new();
    for at in 1..tokens.len().saturating_sub(2) {
        let short = &tokens[at + 1];
        if !(tokens[at].is_mark("(") && tokens[at + 2].is_mark(")") && short.kind == Kind::Symbol) {
            continue;
        }
        let letters: Vec<char> = short.lower.chars().filter(|c| c.is_alphabetic()).collect();
        if letters.len() < 2
            || letters.len() > at
            || subjects::mentions(&tokens[at + 1..at + 2]).len() == 1
        {
            continue;
        }
        let words = &tokens[at - letters.len()..at];
        let spelled = words
            .iter()
            .zip(&letters)
            .all(|(w, l)| w.lower.starts_with(*l));
        if spelled {
            found.insert(
                short.lower.clone(),
                words.iter().map(|w| w.lower.clone()).collect(),
            );
        }
    }
    found
}

/// Splits tokens into clauses: at sentence ends, semicolons, contrasts, after short labels, and
/// between two reported ratios.
fn clauses(tokens: &[Token], found: &[Effect]) -> Vec<(Range<usize>, usize)> {
    let mut result = Vec::new();
    let (mut start, mut sentence, mut depth) = (0, 0, 0usize);
    for at in 0..tokens.len() {
        let token = &tokens[at];
        if token.is_mark("(") {
            depth += 1;
        } else if token.is_mark(")") {
            depth = depth.saturating_sub(1);
        }
        let ends_sentence = matches!(token.lower.as_str(), "." | "。" | "?" | "!")
            && token.kind == Kind::Punct
            && !is_inner_period(tokens, at);
        let closes_effect = token.is_mark(")")
            && found.iter().any(|e| e.span.1 <= at && e.span.0 > start)
            && found.iter().any(|e| e.span.0 > at);
        let label = token.is_mark(":") && at - start <= 3;
        let cut_after =
            ends_sentence || label || closes_effect || (token.is_mark(";") && depth == 0);
        let cut_before = at > start + 1
            && (token.cue == Cue::Contrast
                || turns_to_another_event(tokens, at)
                || starts_another_finding(tokens, start, at));
        if cut_before {
            result.push((start..at, sentence));
            start = at;
        }
        if cut_after {
            result.push((start..at + 1, sentence));
            start = at + 1;
        }
        if ends_sentence {
            sentence += 1;
            depth = 0;
        }
    }
    if start < tokens.len() {
        result.push((start..tokens.len(), sentence));
    }
    result
}

/// "raises the risk of A without raising B": B has an event of its own.
fn turns_to_another_event(tokens: &[Token], at: usize) -> bool {
    tokens[at].lower == "without" && tokens[at + 1..].iter().take(2).any(|t| t.cue.is_event())
}

/// "increased A, and B was unchanged": a comma and an "and" between two events.
fn starts_another_finding(tokens: &[Token], start: usize, at: usize) -> bool {
    let after_comma = tokens[at - 1].is_mark(",") && tokens[at].lower == "and";
    after_comma
        && tokens[start..at].iter().any(|t| t.cue.is_event())
        && tokens[at..]
            .iter()
            .take_while(|t| !matches!(t.lower.as_str(), "." | ";" | "," | "("))
            .any(|t| t.cue.is_event())
}

/// The period of "vs." or of an initial ends nothing.
fn is_inner_period(tokens: &[Token], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|i| {
        let before = tokens[i].lower.as_str();
        matches!(
            before,
            "vs" | "al" | "fig" | "e" | "g" | "i" | "ca" | "approx" | "dr" | "no" | "p"
        ) && tokens[at].is_mark(".")
            && at + 1 < tokens.len()
    })
}

fn read_statement(
    tokens: &[Token],
    range: Range<usize>,
    sentence: usize,
    found: &[Effect],
    before: Option<&Statement>,
) -> Statement {
    let clause = &tokens[range.clone()];
    let mut events = negation::events(clause);
    for event in &mut events {
        event.at += range.start;
    }
    let same_sentence = before.filter(|b| b.sentence == sentence);
    if events.is_empty() {
        events = inherited_events(clause, range.start, same_sentence);
    }
    let (mut own, comparators, control_first) = sides(clause, range.start);
    if own.is_empty()
        && let Some(before) = before
    {
        own = before.subjects.clone();
    }
    let has = |cue: Cue| clause.iter().any(|t| t.cue == cue);
    let compared = comparator_range(clause);
    Statement {
        compared: range.start + compared.start..range.start + compared.end,
        effect: found.iter().find(|e| range.contains(&e.span.0)).copied(),
        significance: effects::significance(clause),
        events,
        subjects: own,
        comparators,
        control_first,
        asks: asks(clause),
        plans: reports_nothing(clause),
        denies: negation::has_negation(&clause[..comparator_start(clause)]),
        hedges: has(Cue::Hedge),
        concludes: has(Cue::Result) || same_sentence.is_some_and(|b| b.concludes),
        sentence,
        population: leading_population(tokens, range.clone()),
        tokens: range,
    }
}

/// "increased A but not B": the clause without an event of its own takes the one before, turned
/// round where the clause is negated.
fn inherited_events(clause: &[Token], start: usize, before: Option<&Statement>) -> Vec<Event> {
    let Some(last) = before.and_then(|b| b.events.last()) else {
        return Vec::new();
    };
    let negated = negation::has_negation(clause);
    let value = if negated {
        last.value.denied()
    } else {
        last.value
    };
    vec![Event {
        at: start,
        value,
        negated: negated || last.negated,
    }]
}

/// A clause asks when its cue for it stands before any reported result.
fn asks(clause: &[Token]) -> bool {
    let Some(asked) = clause.iter().position(|t| t.cue == Cue::Whether) else {
        return clause.last().is_some_and(|t| t.is_mark("?"));
    };
    !clause[..asked].iter().any(|t| t.cue == Cue::Result)
}

/// Words that turn a clause into a question or a plan on their own.
const PLANS: &[&str] = &[
    "whether",
    "aim",
    "aimed",
    "aims",
    "objective",
    "objectives",
    "purpose",
    "sought",
    "worry",
    "worries",
    "concern",
    "concerns",
    "debate",
    "question",
    "かどうか",
    "目的",
];

/// Words that leave a matter open.
const OPEN: &[&str] = &[
    "uncertain",
    "uncertainty",
    "inconclusive",
    "conflicting",
    "inconsistent",
    "disagreed",
    "disagree",
    "contradictory",
    "unsettled",
    "unclear",
    "unknown",
];

/// Words of advice: what to do, not what was found.
const ADVICE: &[&str] = &[
    "recommend",
    "recommends",
    "recommended",
    "recommendation",
    "recommendations",
    "should",
    "advise",
    "advised",
    "advises",
    "推奨",
    "必要がある",
    "注意しながら",
];

/// A clause that asks, leaves open or advises reports no finding.
fn reports_nothing(clause: &[Token]) -> bool {
    let has = |words: &[&str]| clause.iter().any(|t| words.contains(&t.lower.as_str()));
    asks(clause) && (has(PLANS) || clause.iter().any(|t| t.is_mark("?")))
        || has(OPEN)
        || has(ADVICE)
}

/// Where the clause turns to what it compares with, if something was said before.
fn comparator_start(clause: &[Token]) -> usize {
    clause
        .iter()
        .position(|t| t.cue == Cue::Than)
        .filter(|&at| clause[..at].iter().any(|t| t.cue.is_event()))
        .unwrap_or(clause.len())
}

/// Where a clause begins with who was studied: "In patients with X, …".
fn leading_population(tokens: &[Token], range: Range<usize>) -> Range<usize> {
    let found = population(tokens, range.clone());
    let leads = found.start <= range.start + 2;
    if leads && found.end < range.end && tokens[found.end].is_mark(",") {
        found
    } else {
        range.end..range.end
    }
}

/// Where a clause says who was studied: "in patients with X", to a comma or the next event.
pub(crate) fn population(tokens: &[Token], range: Range<usize>) -> Range<usize> {
    let opens = |at: usize| {
        matches!(tokens[at].lower.as_str(), "in" | "among")
            && tokens[at + 1..range.end]
                .iter()
                .take(4)
                .any(|t| t.cue == Cue::Population)
    };
    let Some(start) = range.clone().find(|&at| opens(at)) else {
        return range.end..range.end;
    };
    let end = (start + 1..range.end)
        .find(|&at| tokens[at].is_mark(",") || tokens[at].is_mark("(") || tokens[at].cue.is_event())
        .unwrap_or(range.end);
    start..end
}

/// The drugs of a clause on the two sides of its comparison.
fn sides(clause: &[Token], offset: usize) -> (Vec<Mention>, Vec<Mention>, bool) {
    let mentions = subjects::mentions(clause);
    let compared = comparator_range(clause);
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for mut mention in mentions {
        let is_other = compared.contains(&mention.at);
        mention.at += offset;
        if is_other {
            other.push(mention);
        } else {
            own.push(mention);
        }
    }
    let control_first = clause
        .iter()
        .enumerate()
        .any(|(at, t)| is_control(t) && !compared.contains(&at));
    // "was higher in the placebo group than with X" speaks of X all the same.
    let control_first = control_first && own.is_empty() && !other.is_empty();
    (own, other, control_first)
}

fn is_control(token: &Token) -> bool {
    matches!(
        token.lower.as_str(),
        "placebo" | "control" | "controls" | "nonusers" | "対照"
    )
}

/// Where the thing compared with is named.
fn comparator_range(clause: &[Token]) -> Range<usize> {
    let ahead = clause.iter().enumerate().position(|(at, t)| {
        t.cue == Cue::Than && !clause.get(at + 1).is_some_and(|n| n.kind == Kind::Number)
    });
    if let Some(at) = ahead {
        let end = (at + 1..clause.len())
            .find(|&i| clause[i].is_mark(",") || clause[i].is_mark("(") || clause[i].is_mark(":"))
            .unwrap_or(clause.len());
        return at..end;
    }
    match clause.iter().position(|t| t.cue == Cue::ThanBefore) {
        Some(at) => at.saturating_sub(2)..at,
        None => 0..0,
    }
}

impl Statement {
    /// What the statement says about the outcome whose shared tokens stand at `outcome`
    /// (positions in the reading), and how firmly, 0 to 1.
    pub(crate) fn value(&self, outcome: &[usize]) -> Option<(Value, f64)> {
        let reported = self.effect.map(|e| e.tendency());
        let found = match reported {
            Some((Tendency::More, true)) => Some((Value::Up, 1.0)),
            Some((Tendency::Less, true)) => Some((Value::Down, 1.0)),
            Some((Tendency::Unclear, true)) => Some((Value::Same, 1.0)),
            other => self.event_value(outcome).or(match other {
                Some((Tendency::More, _)) => Some((Value::Up, 0.5)),
                Some((Tendency::Less, _)) => Some((Value::Down, 0.5)),
                Some((Tendency::Unclear, _)) => Some((Value::Same, 0.5)),
                None => None,
            }),
        };
        let (value, firmness) = found?;
        let value = if self.control_first {
            value.flipped()
        } else {
            value
        };
        let firmness =
            firmness * if self.asks { 0.2 } else { 1.0 } * if self.hedges { 0.8 } else { 1.0 };
        Some((value, firmness))
    }

    /// The value of the event closest to the outcome; a direction beats a mere link beside it.
    fn event_value(&self, outcome: &[usize]) -> Option<(Value, f64)> {
        let distance = |event: &Event| {
            outcome
                .iter()
                .map(|&o| {
                    // Modifiers stand before what they modify: "increased risk of X".
                    if o >= event.at {
                        (o - event.at) as f64
                    } else {
                        (event.at - o) as f64 * 1.3
                    }
                })
                .fold(f64::INFINITY, f64::min)
        };
        let cost = |event: &Event| {
            let is_vague = matches!(event.value, Value::Linked | Value::Good | Value::Bad);
            distance(event).min(30.0) + if is_vague { 6.0 } else { 0.0 }
                - if event.negated { 3.0 } else { 0.0 }
        };
        let best = self
            .events
            .iter()
            .min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        let value = match (self.significance, best.value) {
            (Some(false), Value::Up | Value::Down | Value::Linked) => Value::Same,
            (_, value) => value,
        };
        Some((value, if distance(best) <= 12.0 { 0.9 } else { 0.6 }))
    }
}
