//! What is measured on a (premise, hypothesis) pair: the inputs of the built-in judge.

use super::comparatives::SCALES;
use super::lexicon::Cue;
use super::negation::{self, Value};
use super::overlap::{
    Stems, Weights, bigrams, covered, has_stem, numbers, phrases, share_of, stem_weights,
};
use super::roles::{Fit, Roles, Swap};
use super::split::Split;
use super::statement::{Reading, Statement};
use super::subjects::{self, Mention, SubjectMatch};
use super::wording::{antonyms, local_agreement, parity, subject_sign};
use super::words::{Kind, Token};

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
    "asks",
    "hedges",
    "concludes",
    "antonym",
];

/// The number of features.
pub(crate) const COUNT: usize = NAMES.len();

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
    /// Neighbouring words of the outcome.
    phrases: Vec<(String, String)>,
    value: Option<Value>,
    /// False where the hypothesis speaks of the lack of its subject.
    own_sign: bool,
    denies: bool,
    drugs: Vec<Mention>,
    roles: Roles,
    numbers: Vec<(f64, bool)>,
}

/// What a comparison found.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    /// One number for each of [`NAMES`].
    pub(crate) values: [f64; COUNT],
    /// What speaks against deciding at all, if anything.
    pub(crate) mismatch: Option<Mismatch>,
    /// How far the statement closest to the hypothesis agrees with it, -1 to 1, if it can be read.
    agreement: Option<f64>,
    /// Whether the premise is so long that it may say a part of the hypothesis in other words.
    long: bool,
    /// Whether the hypothesis says that something happens.
    is_directed: bool,
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
    /// The hypothesis has a direction, and it says nothing of any.
    Undirected,
    /// It is about another outcome.
    Outcome,
    /// It is about another cause.
    Cause,
    /// It names nothing of what the hypothesis says is affected, or is about something else.
    Topic,
}

impl Comparison {
    /// On which side a premise that was read whole plainly is: true where it supports.
    pub(crate) fn says(&self) -> Option<bool> {
        let agreement = self.agreement.filter(|a| !self.long && a.abs() >= PLAIN)?;
        Some(agreement > 0.0)
    }

    /// The most probability that support and refutation may have together, 1 without a mismatch.
    /// A quarter of SciFact's passages with a mismatch of topic hold evidence all the same.
    pub(crate) fn decided_at_most(&self) -> f64 {
        match self.mismatch {
            None => 1.0,
            Some(Mismatch::Subject) => 0.05,
            Some(Mismatch::Question) => 0.15,
            Some(Mismatch::Topic) => 0.25,
            // A claim without an event is all outcome; nothing of it may be missing.
            Some(Mismatch::Outcome | Mismatch::Undirected) if self.long && self.is_directed => 0.65,
            Some(Mismatch::Outcome | Mismatch::Cause) => 0.4,
            Some(Mismatch::Undirected) => 0.4,
            Some(Mismatch::Unnamed) => 0.45,
        }
    }
}

/// A premise of more tokens is seldom read whole: what seems to be missing may be there.
const READ_WHOLE: usize = 60;

/// The least probability that support and refutation have together where a premise that was read
/// whole is plainly on one side.
pub(crate) const READ_PLAINLY: f64 = 0.7;

/// From here on a statement agrees or disagrees plainly.
const PLAIN: f64 = 0.8;

fn is_long(premise: &Reading) -> bool {
    premise.tokens.len() > READ_WHOLE
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
        let mut roles = split.roles;
        if !drugs.is_empty() {
            // Which drug a text speaks of is told by class and member, not by words.
            roles.forget_cause();
        }
        let whole = 0..reading.tokens.len();
        let own_sign = subject_sign(&reading.tokens, whole, &subject);
        Self {
            own_sign,
            phrases: phrases(&reading.tokens, &outcome),
            numbers: numbers(&reading.tokens),
            denies: negation::has_negation(&reading.tokens),
            value: split.value,
            roles,
            weights,
            outcome,
            subject,
            drugs,
            reading,
        }
    }

    /// Compares a premise with the hypothesis.
    pub(crate) fn compare(&self, premise: &Reading) -> Comparison {
        let stems = Stems::new(premise.tokens.iter().map(|t| t.stem.as_str()));
        let coverage = covered(&self.weights, &stems);
        let judged = self.judge_all(premise, &stems);
        let best = judged
            .iter()
            .enumerate()
            .max_by(|(i, a), (j, b)| a.score.total_cmp(&b.score).then(i.cmp(j)))
            .map(|(_, judged)| judged);
        let mut found = Filler {
            values: [0.0; COUNT],
        };
        self.fill_overlap(&mut found, premise, &stems, coverage);
        if let Some(best) = best {
            self.fill_polarity(&mut found, premise, best, &judged, coverage);
        }
        let mismatch = best.map_or(Some(Mismatch::Topic), |b| self.mismatch(b, coverage));
        Comparison {
            values: found.values,
            mismatch,
            agreement: best.and_then(|b| b.value.map(|(v, _)| b.agreement(self, v))),
            is_directed: self.value.is_some(),
            long: is_long(premise),
        }
    }

    fn mismatch(&self, best: &Judged<'_>, coverage: f64) -> Option<Mismatch> {
        let directed = matches!(
            self.value,
            Some(Value::Up | Value::Down | Value::NotUp | Value::NotDown)
        );
        let is_silent = best.subject == SubjectMatch::Silent && best.statement.effect.is_none();
        if best.subject == SubjectMatch::Other {
            Some(Mismatch::Subject)
        } else if best.statement.plans {
            Some(Mismatch::Question)
        } else if coverage < UNRELATED_BELOW || best.misses_outcome {
            Some(Mismatch::Topic)
        } else if best.fit != Fit::Same {
            Some(match best.fit {
                Fit::OtherCause => Mismatch::Cause,
                _ => Mismatch::Outcome,
            })
        } else if directed
            && best
                .value
                .is_none_or(|(v, _)| best.agreement(self, v) == 0.0)
        {
            Some(Mismatch::Undirected)
        } else {
            is_silent.then_some(Mismatch::Unnamed)
        }
    }

    /// Every statement of the premise, beside what its sentence says of its subjects' fate.
    fn judge_all<'a>(&self, premise: &'a Reading, all: &Stems<'_>) -> Vec<Judged<'a>> {
        premise
            .statements
            .chunk_by(|a, b| a.sentence == b.sentence)
            .flat_map(|sentence| {
                let told = sentence
                    .iter()
                    .flat_map(|s| s.tokens.clone().filter(|i| !s.population.contains(i)))
                    .map(|i| premise.tokens[i].stem.as_str());
                let stems = Stems::new(told);
                sentence
                    .iter()
                    .map(|s| self.judge(premise, s, &stems, all))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    fn judge<'a>(
        &self,
        premise: &Reading,
        statement: &'a Statement,
        sentence: &Stems<'_>,
        all: &Stems<'_>,
    ) -> Judged<'a> {
        // Who was studied is not what happened to them.
        let told = |i: &usize| !statement.population.contains(i);
        let own = Stems::new(
            statement
                .tokens
                .clone()
                .map(|i| premise.tokens[i].stem.as_str()),
        );
        let findings = Stems::new(
            statement
                .tokens
                .clone()
                .filter(told)
                .map(|i| premise.tokens[i].stem.as_str()),
        );
        let outcome =
            0.7 * covered(&self.outcome, &findings) + 0.3 * covered(&self.outcome, sentence);
        let misses_outcome = self.misses_outcome(sentence);
        let coverage = 0.6 * covered(&self.weights, &own) + 0.4 * covered(&self.weights, sentence);
        let (fit, swapped) = self.fit(premise, statement, sentence, all);
        let turned = (self.subject_sign(&premise.tokens, statement) != self.own_sign) != swapped;
        let positions: Vec<usize> = statement
            .tokens
            .clone()
            .filter(told)
            .filter(|&i| has_stem(&self.outcome, &premise.tokens[i].stem))
            .collect();
        let value = statement.value(&positions);
        let subject = self.subject_match(statement);
        let subject_factor = match subject {
            SubjectMatch::Open | SubjectMatch::Same | SubjectMatch::Kin => 1.0,
            SubjectMatch::Silent => 0.7,
            SubjectMatch::Other => 0.4,
        };
        let firmness = value.map_or(0.3, |(_, firmness)| firmness);
        let score = (0.2 + outcome + 0.5 * coverage)
            * (0.4 + 0.6 * firmness)
            * subject_factor
            * if fit == Fit::Same { 1.0 } else { 0.6 };
        Judged {
            statement,
            outcome,
            coverage,
            value,
            turned,
            swapped,
            fit,
            misses_outcome,
            subject,
            score,
        }
    }

    /// Whether a statement speaks of the hypothesis' drugs.
    fn subject_match(&self, statement: &Statement) -> SubjectMatch {
        let wanted: Vec<&Mention> = self.drugs.iter().collect();
        let mut speaks_of: Vec<&Mention> = statement.subjects.iter().collect();
        if statement.control_first || speaks_of.is_empty() {
            speaks_of = statement.comparators.iter().collect();
        }
        subjects::compare(&wanted, &speaks_of)
    }

    /// How a statement fits the parts of the hypothesis, and whether it compares them the other
    /// way round.
    fn fit(
        &self,
        premise: &Reading,
        statement: &Statement,
        sentence: &Stems<'_>,
        all: &Stems<'_>,
    ) -> (Fit, bool) {
        let fit = self
            .roles
            .fit(sentence, premise.of(statement), all, is_long(premise));
        if self.is_on_another_scale(premise, statement) {
            return (Fit::OtherOutcome, false);
        }
        let denied = |i: usize| premise.tokens[i].cue == Cue::Not;
        if statement.compared.is_empty() || statement.compared.clone().any(denied) {
            return (fit, false);
        }
        let stem = |i: usize| premise.tokens[i].stem.as_str();
        let compared = Stems::new(statement.compared.clone().map(stem));
        let subject = statement
            .tokens
            .clone()
            .filter(|i| !statement.compared.contains(i));
        match self
            .roles
            .swapped(&Stems::new(subject.map(stem)), &compared)
        {
            Swap::OtherYardstick if fit == Fit::Same => (Fit::OtherCause, false),
            swap => (fit, swap == Swap::Turned),
        }
    }

    /// Whether all that a statement says to change is on a scale that the hypothesis is not about:
    /// "marched faster" says nothing of "was larger".
    fn is_on_another_scale(&self, premise: &Reading, statement: &Statement) -> bool {
        let mut stems = statement
            .events
            .iter()
            .map(|e| premise.tokens[e.at].stem.as_str())
            .peekable();
        stems.peek().is_some() && stems.all(|s| SCALES.contains(&s) && !has_stem(&self.weights, s))
    }

    /// Whether a sentence names none of the outcome's own words, or only pieces of its phrases:
    /// "heart" without "failure" is not heart failure.
    fn misses_outcome(&self, sentence: &Stems<'_>) -> bool {
        let mut own = self
            .outcome
            .iter()
            .filter(|(_, w)| *w >= 1.0)
            .map(|(s, _)| s.as_str())
            .peekable();
        let is_piece = |stem: &str| {
            let mut partners = self
                .phrases
                .iter()
                .filter_map(|(a, b)| {
                    if a == stem {
                        Some(b)
                    } else if b == stem {
                        Some(a)
                    } else {
                        None
                    }
                })
                .peekable();
            !self.drugs.is_empty()
                && partners.peek().is_some()
                && partners.all(|p| !sentence.has(p))
        };
        own.peek().is_some() && !own.any(|stem| sentence.has(stem) && !is_piece(stem))
    }

    fn subject_sign(&self, tokens: &[Token], statement: &Statement) -> bool {
        subject_sign(tokens, statement.tokens.clone(), &self.subject)
    }

    fn fill_overlap(&self, f: &mut Filler, premise: &Reading, stems: &Stems<'_>, coverage: f64) {
        f.set("coverage", coverage);
        f.set("coverage_squared", coverage * coverage);
        f.set("subject_coverage", covered(&self.subject, stems));
        f.set("premise_share", share_of(&premise.tokens, &self.weights));
        let mine = bigrams(&self.reading.tokens);
        if !mine.is_empty() {
            let theirs = bigrams(&premise.tokens);
            let shared = mine
                .iter()
                .filter(|pair| theirs.binary_search(pair).is_ok())
                .count();
            f.set("bigram_coverage", shared as f64 / mine.len() as f64);
        }
        let symbols: Vec<&Token> = self
            .reading
            .tokens
            .iter()
            .filter(|t| t.kind == Kind::Symbol)
            .collect();
        if !symbols.is_empty() {
            let there = symbols.iter().filter(|t| stems.has(&t.stem)).count();
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

    /// What all statements about the subject say together.
    fn fill_votes(&self, f: &mut Filler, judged: &[Judged<'_>]) {
        let (mut vote_for, mut vote_against) = (0.0, 0.0);
        for j in judged.iter().filter(|j| j.subject != SubjectMatch::Other) {
            let Some((value, firmness)) = j.value else {
                continue;
            };
            let vote = j.agreement(self, value) * firmness * j.outcome * j.coverage;
            if vote > 0.0 {
                vote_for += vote;
            } else {
                vote_against -= vote;
            }
        }
        f.set("vote_for", f64::min(vote_for, 2.0));
        f.set("vote_against", f64::min(vote_against, 2.0));
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
        self.fill_votes(f, judged);
        self.fill_signs(f, premise, best, coverage);
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
        f.set("asks", f64::from(u8::from(best.statement.asks)));
        f.set("hedges", f64::from(u8::from(best.statement.hedges)));
        f.set(
            "concludes",
            best.coverage * f64::from(u8::from(best.statement.concludes)),
        );
    }

    /// What the directions beside single words say, whatever the clause says as a whole.
    fn fill_signs(&self, f: &mut Filler, premise: &Reading, best: &Judged<'_>, coverage: f64) {
        let tokens = premise.of(best.statement);
        let (mut same, mut other) = local_agreement(&self.reading.tokens, tokens);
        if best.swapped {
            (same, other) = (other, same);
        }
        f.set("local_agree", same * coverage);
        f.set("local_disagree", other * coverage);
        if let (Some(mine), Some(theirs)) = (parity(&self.reading.tokens), parity(tokens)) {
            f.set(
                if (mine == theirs) != best.swapped {
                    "parity_same"
                } else {
                    "parity_other"
                },
                best.coverage,
            );
        }
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
    /// Whether it compares the same two the other way round.
    swapped: bool,
    fit: Fit,
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
