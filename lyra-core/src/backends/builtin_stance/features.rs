//! What is measured on a (premise, hypothesis) pair: the inputs of the built-in judge.

use super::lexicon::Cue;
use super::negation::{self, Value};
use super::statement::{Reading, Statement};
use super::subjects::{self, Mention, SubjectMatch};
use super::words::{Kind, Token};
use std::collections::{HashMap, HashSet};

/// The features' names, in order; the weights table is written against them.
pub(crate) const NAMES: &[&str] = &[
    "coverage",
    "coverage_squared",
    "statement_coverage",
    "outcome_coverage",
    "subject_coverage",
    "premise_share",
    "bigram_coverage",
    "symbol_missing",
    "symbol_coverage",
    "number_match",
    "number_clash",
    "drug_same",
    "drug_kin",
    "drug_silent",
    "drug_other",
    "agree",
    "disagree",
    "agree_by_effect",
    "disagree_by_effect",
    "vote_for",
    "vote_against",
    "local_agree",
    "local_disagree",
    "parity_same",
    "parity_other",
    "negation_same",
    "negation_other",
    "no_value",
    "premise_denies",
    "hypothesis_denies",
    "hypothesis_directed",
    "asks",
    "hedges",
    "concludes",
    "antonym",
];

/// The number of features.
pub(crate) const COUNT: usize = 35;

/// A hypothesis, read once and compared with many premises.
#[derive(Debug)]
pub(crate) struct Hypothesis {
    reading: Reading,
    /// Content stems with their weights.
    weights: Weights,
    /// Stems of what is said to happen to something: weights inside the outcome.
    outcome: Weights,
    /// Stems of the rest.
    subject: Weights,
    value: Option<Value>,
    /// False where the hypothesis speaks of the lack of its subject.
    own_sign: bool,
    denies: bool,
    drugs: Vec<Mention>,
    bigrams: HashSet<(String, String)>,
    numbers: Vec<(f64, bool)>,
}

/// Stems with their weights, sorted by stem, so that sums always run in the same order.
type Weights = Vec<(String, f64)>;

/// What a comparison found.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    /// One number for each of [`NAMES`].
    pub(crate) values: [f64; COUNT],
    /// What speaks against deciding at all, if anything.
    pub(crate) mismatch: Option<Mismatch>,
}

/// Why a premise decides nothing, whatever its wording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// It speaks of other drugs only.
    Subject,
    /// It asks or plans; it does not report.
    Question,
    /// The hypothesis is about a drug, and it names none and gives no figure.
    Unnamed,
    /// It names nothing of what the hypothesis says is affected, or is about something else.
    Topic,
}

impl Comparison {
    /// The most probability that support and refutation may have together, 1 without a mismatch.
    /// A quarter of SciFact's passages with a mismatch of topic hold evidence all the same.
    pub(crate) fn decided_at_most(&self) -> f64 {
        match self.mismatch {
            None => 1.0,
            Some(Mismatch::Subject) => 0.05,
            Some(Mismatch::Question) => 0.15,
            Some(Mismatch::Topic) => 0.25,
            Some(Mismatch::Unnamed) => 0.45,
        }
    }
}

/// Below this share of the hypothesis' weighted words, a premise is about something else.
const UNRELATED_BELOW: f64 = 0.15;

impl Hypothesis {
    /// Reads a hypothesis.
    pub(crate) fn new(text: &str) -> Self {
        let reading = Reading::new(text);
        let split = Split::of(&reading.tokens, &reading.statements);
        let weights = stem_weights(reading.tokens.iter());
        let outcome = split.outcome(&reading.tokens);
        let subject = weights
            .iter()
            .filter(|(stem, _)| !has_stem(&outcome, stem))
            .cloned()
            .collect();
        let drugs = split.drugs(&reading);
        let whole = 0..reading.tokens.len();
        let own_sign = subject_sign(&reading.tokens, whole, &subject);
        Self {
            own_sign,
            bigrams: bigrams(&reading.tokens),
            numbers: numbers(&reading.tokens),
            denies: negation::has_negation(&reading.tokens),
            value: split.value,
            weights,
            outcome,
            subject,
            drugs,
            reading,
        }
    }

    /// Compares a premise with the hypothesis.
    pub(crate) fn compare(&self, premise: &Reading) -> Comparison {
        let stems: HashSet<&str> = premise.tokens.iter().map(|t| t.stem.as_str()).collect();
        let coverage = covered(&self.weights, &stems);
        let judged: Vec<Judged<'_>> = premise
            .statements
            .iter()
            .map(|s| self.judge(premise, s))
            .collect();
        let best = judged
            .iter()
            .enumerate()
            .max_by(|(i, a), (j, b)| a.score.total_cmp(&b.score).then(i.cmp(j)))
            .map(|(_, judged)| judged);
        let mut found = Filler {
            values: [0.0; COUNT],
        };
        self.fill_overlap(&mut found, premise, &stems, coverage);
        let subject = best.map_or(SubjectMatch::Silent, |b| b.subject);
        found.set(
            "drug_same",
            f64::from(u8::from(subject == SubjectMatch::Same)),
        );
        found.set(
            "drug_kin",
            f64::from(u8::from(subject == SubjectMatch::Kin)),
        );
        found.set(
            "drug_silent",
            f64::from(u8::from(subject == SubjectMatch::Silent)),
        );
        found.set(
            "drug_other",
            f64::from(u8::from(subject == SubjectMatch::Other)),
        );
        if let Some(best) = best {
            self.fill_polarity(&mut found, premise, best, &judged, coverage);
        }
        let mismatch = match best {
            Some(best) if best.subject == SubjectMatch::Other => Some(Mismatch::Subject),
            Some(best) if best.statement.plans => Some(Mismatch::Question),
            Some(best) if coverage < UNRELATED_BELOW || best.misses_outcome => {
                Some(Mismatch::Topic)
            }
            Some(best)
                if best.subject == SubjectMatch::Silent && best.statement.effect.is_none() =>
            {
                Some(Mismatch::Unnamed)
            }
            Some(_) => None,
            None => Some(Mismatch::Topic),
        };
        Comparison {
            values: found.values,
            mismatch,
        }
    }

    fn judge<'a>(&self, premise: &Reading, statement: &'a Statement) -> Judged<'a> {
        let tokens = premise.of(statement);
        let own: HashSet<&str> = tokens.iter().map(|t| t.stem.as_str()).collect();
        let sentence: HashSet<&str> = premise
            .statements
            .iter()
            .filter(|s| s.sentence == statement.sentence)
            .flat_map(|s| premise.of(s))
            .map(|t| t.stem.as_str())
            .collect();
        let outcome = 0.7 * covered(&self.outcome, &own) + 0.3 * covered(&self.outcome, &sentence);
        let misses_outcome = self.outcome.iter().any(|(_, w)| *w >= 1.0)
            && !self
                .outcome
                .iter()
                .any(|(s, w)| *w >= 1.0 && sentence.contains(s.as_str()));
        let coverage = 0.6 * covered(&self.weights, &own) + 0.4 * covered(&self.weights, &sentence);
        let turned = self.subject_sign(&premise.tokens, statement) != self.own_sign;
        let positions: Vec<usize> = statement
            .tokens
            .clone()
            .filter(|&i| has_stem(&self.outcome, &premise.tokens[i].stem))
            .collect();
        let value = statement.value(&positions);
        let wanted: Vec<&Mention> = self.drugs.iter().collect();
        let mut speaks_of: Vec<&Mention> = statement.subjects.iter().collect();
        if statement.control_first || speaks_of.is_empty() {
            speaks_of = statement.comparators.iter().collect();
        }
        let subject = subjects::compare(&wanted, &speaks_of);
        let subject_factor = match subject {
            SubjectMatch::Open | SubjectMatch::Same | SubjectMatch::Kin => 1.0,
            SubjectMatch::Silent => 0.7,
            SubjectMatch::Other => 0.4,
        };
        let firmness = value.map_or(0.3, |(_, firmness)| firmness);
        let score = (0.2 + outcome + 0.5 * coverage) * (0.4 + 0.6 * firmness) * subject_factor;
        Judged {
            statement,
            outcome,
            coverage,
            value,
            turned,
            misses_outcome,
            subject,
            score,
        }
    }

    fn subject_sign(&self, tokens: &[Token], statement: &Statement) -> bool {
        subject_sign(tokens, statement.tokens.clone(), &self.subject)
    }

    fn fill_overlap(
        &self,
        f: &mut Filler,
        premise: &Reading,
        stems: &HashSet<&str>,
        coverage: f64,
    ) {
        f.set("coverage", coverage);
        f.set("coverage_squared", coverage * coverage);
        f.set("subject_coverage", covered(&self.subject, stems));
        let premise_weights = stem_weights(premise.tokens.iter());
        let own: HashSet<&str> = self.weights.iter().map(|(stem, _)| stem.as_str()).collect();
        f.set("premise_share", covered(&premise_weights, &own));
        if !self.bigrams.is_empty() {
            let shared = bigrams(&premise.tokens).intersection(&self.bigrams).count();
            f.set("bigram_coverage", shared as f64 / self.bigrams.len() as f64);
        }
        let symbols: Vec<&Token> = self
            .reading
            .tokens
            .iter()
            .filter(|t| t.kind == Kind::Symbol)
            .collect();
        if !symbols.is_empty() {
            let there = symbols
                .iter()
                .filter(|t| stems.contains(t.stem.as_str()))
                .count();
            f.set("symbol_coverage", there as f64 / symbols.len() as f64);
            f.set("symbol_missing", 1.0 - there as f64 / symbols.len() as f64);
        }
        self.fill_numbers(f, premise);
    }

    fn fill_numbers(&self, f: &mut Filler, premise: &Reading) {
        let theirs = numbers(&premise.tokens);
        let (mut hits, mut clashes) = (0.0, 0.0);
        for (value, percent) in &self.numbers {
            if theirs.iter().any(|(v, _)| (v - value).abs() < 1e-9) {
                hits += 1.0;
            } else if *percent && theirs.iter().any(|(_, p)| p == percent) {
                clashes += 1.0;
            }
        }
        if !self.numbers.is_empty() {
            f.set("number_match", hits / self.numbers.len() as f64);
            f.set("number_clash", clashes / self.numbers.len() as f64);
        }
    }

    fn fill_polarity(
        &self,
        f: &mut Filler,
        premise: &Reading,
        best: &Judged<'_>,
        judged: &[Judged<'_>],
        coverage: f64,
    ) {
        f.set("statement_coverage", best.coverage);
        f.set("outcome_coverage", best.outcome);
        let usable = best.subject != SubjectMatch::Other;
        match best.value.filter(|_| usable) {
            Some((value, firmness)) => {
                let sign = best.agreement(self, value) * firmness * best.outcome;
                f.set_pair("agree", "disagree", sign);
                if best.statement.effect.is_some() {
                    f.set_pair("agree_by_effect", "disagree_by_effect", sign);
                }
            }
            None => f.set("no_value", coverage),
        }
        let (mut vote_for, mut vote_against) = (0.0, 0.0);
        for j in judged.iter().filter(|j| j.subject != SubjectMatch::Other) {
            let Some((value, firmness)) = j.value else {
                continue;
            };
            let vote = j.agreement(self, value) * firmness * j.outcome * j.coverage;
            if vote > 0.0 {
                vote_for += vote
            } else {
                vote_against -= vote
            }
        }
        f.set("vote_for", f64::min(vote_for, 2.0));
        f.set("vote_against", f64::min(vote_against, 2.0));
        let tokens = premise.of(best.statement);
        let (same, other) = local_agreement(&self.reading.tokens, tokens);
        f.set("local_agree", same * coverage);
        f.set("local_disagree", other * coverage);
        if let (Some(mine), Some(theirs)) = (parity(&self.reading.tokens), parity(tokens)) {
            f.set(
                if mine == theirs {
                    "parity_same"
                } else {
                    "parity_other"
                },
                best.coverage,
            );
        }
        let denies = best.statement.denies;
        if denies || self.denies {
            f.set(
                if denies == self.denies {
                    "negation_same"
                } else {
                    "negation_other"
                },
                best.coverage,
            );
        }
        f.set("premise_denies", f64::from(u8::from(denies)));
        f.set("hypothesis_denies", f64::from(u8::from(self.denies)));
        f.set(
            "hypothesis_directed",
            f64::from(u8::from(self.value.is_some())),
        );
        f.set("asks", f64::from(u8::from(best.statement.asks)));
        f.set("hedges", f64::from(u8::from(best.statement.hedges)));
        f.set(
            "concludes",
            best.coverage * f64::from(u8::from(best.statement.concludes)),
        );
        f.set(
            "antonym",
            antonyms(&self.reading.tokens, tokens) * best.coverage,
        );
    }

    /// How the value of a statement sits with the hypothesis; one that states no direction is
    /// taken as stating a link, at half strength.
    fn agreement(&self, value: Value) -> f64 {
        match self.value {
            Some(own) => negation::agreement(own, value),
            None if self.denies => 0.5 * negation::agreement(Value::Unlinked, value),
            None => 0.5 * negation::agreement(Value::Linked, value),
        }
    }
}

/// One statement of the premise beside the hypothesis.
struct Judged<'a> {
    statement: &'a Statement,
    outcome: f64,
    coverage: f64,
    value: Option<(Value, f64)>,
    /// Whether it speaks of the lack of what the hypothesis speaks of, or the other way round.
    turned: bool,
    /// Whether its sentence names none of the outcome's own words.
    misses_outcome: bool,
    subject: SubjectMatch,
    score: f64,
}

impl Judged<'_> {
    fn agreement(&self, hypothesis: &Hypothesis, value: Value) -> f64 {
        hypothesis.agreement(if self.turned { value.flipped() } else { value })
    }
}

/// Writes features by name.
struct Filler {
    values: [f64; COUNT],
}

impl Filler {
    fn set(&mut self, name: &str, value: f64) {
        if let Some(at) = NAMES.iter().position(|n| *n == name) {
            self.values[at] = value;
        }
    }

    fn set_pair(&mut self, positive: &str, negative: &str, value: f64) {
        self.set(positive, value.max(0.0));
        self.set(negative, (-value).max(0.0));
    }
}

/// Where a hypothesis turns from its subject to what is said of it.
struct Split {
    /// The event that the hypothesis asserts.
    at: Option<usize>,
    value: Option<Value>,
    /// Whether the outcome stands before the event ("X is increased by Y").
    passive: bool,
}

impl Split {
    fn of(tokens: &[Token], statements: &[Statement]) -> Self {
        let events: Vec<_> = statements.iter().flat_map(|s| &s.events).collect();
        let content_before = |at: usize| tokens[..at].iter().any(|t| t.weight >= 1.0);
        let main = events
            .iter()
            .find(|e| content_before(e.at))
            .or_else(|| events.first())
            .copied();
        let Some(main) = main else {
            return Self {
                at: None,
                value: None,
                passive: false,
            };
        };
        // "is associated with an increased risk" asserts the increase.
        let refined = events
            .iter()
            .filter(|e| e.at > main.at && e.at <= main.at + 5)
            .find(|e| !matches!(e.value, Value::Linked | Value::Unlinked));
        let value = match (main.value, refined) {
            (Value::Linked, Some(event)) => event.value,
            (Value::Unlinked, Some(event)) => event.value.denied(),
            (value, _) => value,
        };
        let after = &tokens[main.at + 1..];
        let content_after = after.iter().filter(|t| t.weight >= 1.0).count();
        let passive = tokens[main.at].kind == Kind::Cjk
            || content_after == 0
            || after.first().is_some_and(|t| t.lower == "by");
        Self {
            at: Some(main.at),
            value: Some(value),
            passive,
        }
    }

    fn outcome(&self, tokens: &[Token]) -> Weights {
        let Some(at) = self.at else {
            return stem_weights(tokens.iter());
        };
        let part = if self.passive {
            &tokens[..at]
        } else {
            &tokens[at + 1..]
        };
        let context = population_start(part);
        let mut weights = stem_weights(part[..context].iter());
        let surroundings: Weights = stem_weights(part[context..].iter())
            .into_iter()
            .filter(|(stem, _)| !has_stem(&weights, stem))
            .map(|(stem, weight)| (stem, weight * 0.2))
            .collect();
        weights.extend(surroundings);
        weights.sort_by(|a, b| a.0.cmp(&b.0));
        // In Japanese the subject stands before the outcome, both before the verb.
        if tokens[at].kind == Kind::Cjk {
            for mention in subjects::mentions(part) {
                weights.retain(|(stem, _)| *stem != part[mention.at].stem);
            }
        }
        if weights.is_empty() {
            stem_weights(tokens.iter())
        } else {
            weights
        }
    }

    fn drugs(&self, reading: &Reading) -> Vec<Mention> {
        let all = subjects::mentions(&reading.tokens);
        let own: Vec<Mention> = reading
            .statements
            .first()
            .map_or_else(Vec::new, |s| s.subjects.clone());
        let before: Vec<Mention> = own
            .iter()
            .filter(|m| self.at.is_none_or(|at| m.at < at))
            .cloned()
            .collect();
        if !before.is_empty() {
            before
        } else if !own.is_empty() {
            own
        } else {
            all
        }
    }
}

/// Where "in patients with …" begins: what it names is context, not outcome.
fn population_start(tokens: &[Token]) -> usize {
    (1..tokens.len())
        .find(|&i| {
            matches!(tokens[i].lower.as_str(), "in" | "among")
                && tokens[i + 1..]
                    .iter()
                    .take(4)
                    .any(|t| t.cue == Cue::Population)
        })
        .unwrap_or(tokens.len())
}

fn stem_weights<'a>(tokens: impl Iterator<Item = &'a Token>) -> Weights {
    let mut weights: Weights = tokens
        .filter(|t| t.is_content())
        .map(|t| (t.stem.clone(), t.weight))
        .collect();
    weights.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    weights.dedup_by(|a, b| a.0 == b.0);
    weights
}

fn has_stem(weights: &Weights, stem: &str) -> bool {
    weights
        .binary_search_by(|(s, _)| s.as_str().cmp(stem))
        .is_ok()
}

/// The share of the weights whose stems are there; 0 where there are no weights.
fn covered(weights: &Weights, stems: &HashSet<&str>) -> f64 {
    let total: f64 = weights.iter().map(|(_, w)| w).sum();
    let there: f64 = weights
        .iter()
        .filter(|(s, _)| stems.contains(s.as_str()))
        .map(|(_, w)| w)
        .sum();
    if total > 0.0 { there / total } else { 0.0 }
}

fn bigrams(tokens: &[Token]) -> HashSet<(String, String)> {
    let content: Vec<&Token> = tokens.iter().filter(|t| t.is_content()).collect();
    content
        .windows(2)
        .map(|p| (p[0].stem.clone(), p[1].stem.clone()))
        .collect()
}

fn numbers(tokens: &[Token]) -> Vec<(f64, bool)> {
    tokens
        .iter()
        .filter_map(|t| t.number().map(|v| (v, t.percent)))
        .collect()
}

/// Plus or minus: the product of all directions and negations of a clause.
fn parity(tokens: &[Token]) -> Option<bool> {
    let mut seen = false;
    let mut positive = true;
    for token in tokens {
        match token.cue {
            Cue::Down | Cue::LevelDown | Cue::Bad | Cue::Not | Cue::NotBefore => {
                positive = !positive;
                seen = true;
            }
            Cue::Up | Cue::LevelUp | Cue::Good | Cue::Link => seen = true,
            _ => {}
        }
    }
    seen.then_some(positive)
}

/// False where a word right beside one of the subject's own words says that it is missing,
/// silenced or low: "Sirt1 deficiency", "mice lacking Sirt1", "inhibition of TOR".
fn subject_sign(tokens: &[Token], range: std::ops::Range<usize>, subject: &Weights) -> bool {
    let is_own = |at: usize| tokens[at].weight >= 1.0 && has_stem(subject, &tokens[at].stem);
    let lacks = |at: usize| {
        let token = &tokens[at];
        let follows_own = at > range.start && is_own(at - 1);
        let of = tokens.get(at + 1).is_some_and(|t| t.lower == "of");
        let own_ahead = (at + 1..range.end.min(at + 4)).any(is_own);
        match token.cue {
            Cue::LevelDown => follows_own || own_ahead,
            Cue::Down => token.lower.ends_with("tion") && (follows_own || of && own_ahead),
            _ => false,
        }
    };
    !range.clone().any(lacks)
}

/// How many tokens away a direction still describes a word.
const LOCAL_REACH: usize = 5;

/// Of the words that both texts share, how many have the same direction beside them, and how
/// many the opposite one (shares of all that have one in both).
fn local_agreement(hypothesis: &[Token], premise: &[Token]) -> (f64, f64) {
    let mine = local_signs(hypothesis);
    let theirs = local_signs(premise);
    let (mut same, mut other) = (0.0, 0.0);
    for (stem, sign) in &mine {
        match theirs.get(stem) {
            Some(found) if found == sign => same += 1.0,
            Some(_) => other += 1.0,
            None => {}
        }
    }
    let all = same + other;
    if all > 0.0 {
        (same / all, other / all)
    } else {
        (0.0, 0.0)
    }
}

fn local_signs(tokens: &[Token]) -> HashMap<&str, bool> {
    let sign = |cue: Cue| match cue {
        Cue::Up | Cue::LevelUp | Cue::Good => Some(true),
        Cue::Down | Cue::LevelDown | Cue::Bad => Some(false),
        _ => None,
    };
    let mut signs = HashMap::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.weight < 1.0 || sign(token.cue).is_some() {
            continue;
        }
        let from = at.saturating_sub(LOCAL_REACH);
        let to = tokens.len().min(at + LOCAL_REACH);
        let nearest = (from..to)
            .filter_map(|i| sign(tokens[i].cue).map(|s| (i.abs_diff(at), s, i)))
            .min_by_key(|(distance, _, i)| (*distance, *i));
        if let Some((_, positive, i)) = nearest {
            let denied = tokens[i.saturating_sub(4)..i]
                .iter()
                .any(|t| t.cue == Cue::Not);
            signs.insert(token.stem.as_str(), positive != denied);
        }
    }
    signs
}

/// Pairs of stems that exclude one another.
const ANTONYMS: &[(&str, &str)] = &[
    ("sensitiv", "resist"),
    ("sensit", "resist"),
    ("stable", "unstable"),
    ("suppressor", "oncogen"),
    ("suppressor", "enhancer"),
    ("active", "inactive"),
    ("present", "absent"),
    ("posit", "negat"),
    ("benefit", "harm"),
    ("benef", "harmful"),
    ("protectiv", "harmful"),
    ("dependent", "independent"),
    ("dispens", "essent"),
    ("dispens", "requir"),
    ("agonist", "antagonist"),
    ("maximum", "minimum"),
    ("survival", "death"),
    ("early", "late"),
    ("direct", "indirect"),
    ("soluble", "insoluble"),
    ("necessar", "unnecessar"),
    ("capabl", "incapabl"),
    ("able", "unable"),
    ("likel", "unlikel"),
    ("common", "rare"),
    ("long", "short"),
    ("gain", "loss"),
];

/// 1 where one text has a word and the other its antonym instead.
fn antonyms(hypothesis: &[Token], premise: &[Token]) -> f64 {
    let mine: HashSet<&str> = hypothesis.iter().map(|t| t.stem.as_str()).collect();
    let theirs: HashSet<&str> = premise.iter().map(|t| t.stem.as_str()).collect();
    let clash = |a: &str, b: &str| {
        mine.contains(a) && theirs.contains(b) && !theirs.contains(a) && !mine.contains(b)
    };
    f64::from(u8::from(
        ANTONYMS.iter().any(|(a, b)| clash(a, b) || clash(b, a)),
    ))
}
