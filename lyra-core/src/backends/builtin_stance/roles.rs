//! Who is said to do what: the cause, the outcome, the circumstances and the yardstick of a claim.

use super::comparatives::{AMOUNTS, SCALES};
use super::lexicon::Cue;
use super::overlap::{Stems, Weights, covered, has_stem, stem_weights};
use super::words::{Kind, Token};
use std::ops::Range;

/// The parts of a claim. Each may be empty; what is no part of a claim asks nothing of a premise.
#[derive(Debug)]
pub(crate) struct Roles {
    /// Who or what acts, or is compared.
    pub(crate) cause: Weights,
    /// What it acts on, or what is compared.
    pub(crate) outcome: Weights,
    /// The scale of a comparison, if it is one that outcomes differ by.
    scale: Option<String>,
    /// What the cause is compared with.
    yardstick: Weights,
    /// The years before and behind its "than".
    years: (Weights, Weights),
    /// The cause less what is said of it: "wages" of "wages in the north".
    actor: Weights,
    /// What is done more or less: "weighed" of "weighed no more than".
    deed: Option<String>,
    /// What the outcome's phrase turns on, and what it is of: either may be empty.
    head: Option<String>,
    of_what: Weights,
    /// The least share of the outcome's words that a sentence on the same outcome holds.
    least: f64,
    /// Neighbouring words of the outcome.
    compounds: Vec<(String, String)>,
}

/// How a sentence fits a claim's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It speaks of the same.
    Same,
    /// It speaks of another outcome.
    OtherOutcome,
    /// It speaks of another cause.
    OtherCause,
}

/// Words that a noun phrase does not go beyond.
#[rustfmt::skip]
const ENDS: &[&str] = &[
    "in", "among", "with", "by", "after", "during", "at", "on", "from", "when", "while", "if",
    "where", "via", "through", "using", "between", "that", "which", "who", "whose", "because",
    "as", "before", "under", "within", "across", "until", "since", "near", "and", "or", "to",
    "without", "once", "into",
    ",", ";", ":", ".", "(", ")", "?", "!", "。", "、",
];

/// Words before a noun that belong to no phrase of their own.
const DETERMINERS: &[&str] = &[
    "the", "a", "an", "its", "their", "his", "her", "our", "any", "all", "of",
];

/// Whether a token ends the noun phrase before it.
pub(crate) fn ends_phrase(token: &Token) -> bool {
    ENDS.contains(&token.lower.as_str()) || matches!(token.cue, Cue::Than | Cue::Contrast)
}

/// The noun phrase that starts right behind an event, empty where the event has no object.
pub(crate) fn object_of(tokens: &[Token], at: usize) -> Range<usize> {
    let mut start = at + 1;
    let of_link = matches!(tokens[at].cue, Cue::Link | Cue::Differ | Cue::Same);
    while start < tokens.len() {
        let token = &tokens[start];
        let skipped = DETERMINERS.contains(&token.lower.as_str())
            || of_link && matches!(token.lower.as_str(), "in" | "on" | "to" | "for" | "with")
            || token.lower == "down"
            || token.lower == "up"
            || token.cue == Cue::Observed && !token.is_content();
        if !skipped {
            break;
        }
        start += 1;
    }
    let end = (start..tokens.len())
        .find(|&i| ends_phrase(&tokens[i]))
        .unwrap_or(tokens.len());
    start..end
}

/// Content words, those of who was studied left out unless nothing else is there.
fn words_of<'a>(tokens: impl Iterator<Item = &'a Token> + Clone) -> Weights {
    let telling =
        |t: &&Token| t.weight >= 1.0 && (!t.cue.is_event() || SCALES.contains(&t.stem.as_str()));
    let own = tokens
        .clone()
        .filter(telling)
        .filter(|t| t.cue != Cue::Population);
    let weights = stem_weights(own);
    if weights.is_empty() {
        stem_weights(tokens.filter(telling))
    } else {
        weights
    }
}

/// Years, which are sides of a comparison as words are.
fn years_of(tokens: &[Token]) -> Weights {
    let is_year = |t: &&Token| {
        t.kind == Kind::Number
            && !t.percent
            && t.lower.len() == 4
            && t.lower.starts_with(['1', '2'])
            && !t.lower.contains('.')
    };
    let mut years: Weights = tokens
        .iter()
        .filter(is_year)
        .map(|t| (t.stem.clone(), 1.0))
        .collect();
    years.sort_by(|a, b| a.0.cmp(&b.0));
    years.dedup();
    years
}

impl Roles {
    /// The parts of a claim whose event stands at `event` and whose clause is `clause`.
    pub(crate) fn of(tokens: &[Token], clause: Range<usize>, turn: usize, event: usize) -> Self {
        if tokens[event].kind == Kind::Cjk {
            return Self::japanese(tokens, clause, event);
        }
        let start = behind_preamble(tokens, clause.start, turn);
        // What stands behind a colon is another finding.
        let clause_end = (event + 1..clause.end)
            .find(|&i| tokens[i].is_mark(":"))
            .unwrap_or(clause.end);
        let end = (event + 1..clause_end)
            .find(|&i| tokens[i].cue == Cue::Than)
            .unwrap_or(clause_end);
        let than_end = (end..clause_end)
            .find(|&i| tokens[i].is_mark("(") || tokens[i].is_mark(","))
            .unwrap_or(clause_end);
        let compared = &tokens[end..than_end];
        let before = &tokens[start..turn];
        let object = object_of(&tokens[..end], event);
        let passive = is_empty(&tokens[object.clone()]);
        let actor = (start..turn)
            .find(|&i| ends_phrase(&tokens[i]))
            .unwrap_or(turn);
        let actor = if passive { start..start } else { start..actor };
        let (cause, outcome, phrase) = if passive {
            (
                words_of(tokens[event + 1..end].iter()),
                words_of(before.iter()),
                start..turn,
            )
        } else {
            (
                words_of(before.iter()),
                words_of(tokens[object.clone()].iter()),
                object.clone(),
            )
        };
        let scale = std::iter::once(event)
            .chain(object.take(1))
            .map(|i| &tokens[i].stem)
            .find(|stem| SCALES.contains(&stem.as_str()))
            .cloned();
        Self {
            actor: words_of(tokens[actor].iter()),
            deed: deed(tokens, start, event).filter(|_| passive && scale.is_none()),
            scale,
            yardstick: words_of(compared.iter()),
            years: (years_of(&tokens[clause.start..end]), years_of(compared)),
            head: head(&tokens[phrase.clone()]),
            of_what: of_what(&tokens[phrase.clone()]),
            least: LEAST_OUTCOME,
            compounds: compounds(&tokens[phrase]),
            cause,
            outcome,
        }
    }

    /// The parts of a claim in which nothing is said to change: all of it is the outcome.
    pub(crate) fn without_event(tokens: &[Token]) -> Self {
        Self {
            cause: Weights::new(),
            outcome: words_of(tokens.iter()),
            scale: None,
            yardstick: Weights::new(),
            years: (Weights::new(), Weights::new()),
            actor: Weights::new(),
            deed: None,
            head: None,
            of_what: Weights::new(),
            least: LEAST_OF_ALL,
            compounds: Vec::new(),
        }
    }

    fn japanese(tokens: &[Token], clause: Range<usize>, event: usize) -> Self {
        let before = &tokens[clause.start..event];
        let topic = before.iter().position(|t| t.lower == "は");
        let (cause, outcome) = match topic {
            Some(at) if before[at..].iter().any(|t| t.weight >= 1.0) => {
                (words_of(before[..at].iter()), words_of(before[at..].iter()))
            }
            _ => (Weights::new(), words_of(before.iter())),
        };
        Self {
            cause,
            outcome,
            scale: None,
            yardstick: Weights::new(),
            years: (Weights::new(), Weights::new()),
            actor: Weights::new(),
            deed: None,
            head: None,
            of_what: Weights::new(),
            least: LEAST_OUTCOME,
            compounds: Vec::new(),
        }
    }

    /// Leaves out who acts.
    pub(crate) fn forget_cause(&mut self) {
        self.cause.clear();
        self.actor.clear();
    }

    /// Whether a sentence speaks of the same cause and outcome; `all` are the stems of the whole
    /// premise, in which the cause may be named before, and `long` says that there is more of it
    /// than is read whole.
    pub(crate) fn fit(
        &self,
        sentence: &Stems<'_>,
        tokens: &[Token],
        all: &Stems<'_>,
        long: bool,
    ) -> Fit {
        let deed_missing = self.deed.as_ref().is_some_and(|d| !sentence.has(d));
        let scale_missing = self.scale.as_ref().is_some_and(|s| !sentence.has(s));
        if deed_missing
            || scale_missing
            || self.misses_outcome(sentence, long)
            || self.is_substituted(tokens, sentence)
        {
            return Fit::OtherOutcome;
        }
        let is_named = |of: &Weights, least: f64| of.is_empty() || covered(of, all) >= least;
        if !is_named(&self.cause, LEAST_CAUSE) || !is_named(&self.actor, LEAST_ACTOR) {
            return Fit::OtherCause;
        }
        Fit::Same
    }

    fn misses_outcome(&self, sentence: &Stems<'_>, long: bool) -> bool {
        if self.outcome.is_empty() {
            return false;
        }
        let named = covered(&self.outcome, sentence);
        let Some(head) = &self.head else {
            return named < if long { LEAST_OUTCOME } else { self.least };
        };
        let misses_part = !sentence.has(head)
            || !self.of_what.is_empty() && covered(&self.of_what, sentence) == 0.0;
        named < LEAST_PART || named < LEAST_OUTCOME && misses_part
    }

    /// "sea temperature" where the claim says "sea level": the first word is there, the second is
    /// another one.
    fn is_substituted(&self, tokens: &[Token], sentence: &Stems<'_>) -> bool {
        self.compounds.iter().any(|(first, second)| {
            !sentence.has(second)
                && tokens.windows(2).any(|pair| {
                    pair[0].stem == *first
                        && pair[1].weight >= 1.0
                        && !pair[1].cue.is_event()
                        && !has_stem(&self.outcome, &pair[1].stem)
                        && !has_stem(&self.cause, &pair[1].stem)
                })
        })
    }

    /// Whether a statement says of the yardstick what the claim says of the cause: the cause's own
    /// words stand behind its "than", or the yardstick's before it.
    pub(crate) fn swapped(&self, subject: &Stems<'_>, compared: &Stems<'_>) -> Swap {
        let own = |mine: &Weights, other: &Weights| -> Weights {
            mine.iter()
                .filter(|(s, _)| !has_stem(other, s))
                .filter(|(s, _)| !(subject.has(s) && compared.has(s)))
                .cloned()
                .collect()
        };
        let first = match (&self.cause, &self.outcome) {
            _ if !self.years.1.is_empty() => &self.years.0,
            (cause, _) if !cause.is_empty() => cause,
            // "A is faster than B": what is compared stands for the cause.
            (_, outcome) if self.scale.is_some() || !self.yardstick.is_empty() => outcome,
            _ => return Swap::Straight,
        };
        let second = if self.years.1.is_empty() {
            &self.yardstick
        } else {
            &self.years.1
        };
        let (cause, yardstick) = (own(first, second), own(second, first));
        let straight = covered(&cause, subject) + covered(&yardstick, compared);
        let turned = covered(&cause, compared) + covered(&yardstick, subject);
        if !self.yardstick.is_empty()
            && covered(&self.yardstick, compared) + covered(&self.yardstick, subject) == 0.0
        {
            Swap::OtherYardstick
        } else if turned > straight {
            Swap::Turned
        } else {
            Swap::Straight
        }
    }
}

/// Whether an event has no object: nothing but numbers and function words behind it.
pub(crate) fn is_empty(object: &[Token]) -> bool {
    !object.iter().any(Token::is_content)
}

/// How the two sides of a comparison relate to those of the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swap {
    /// The same way round, or no comparison.
    Straight,
    /// The other way round.
    Turned,
    /// With something else.
    OtherYardstick,
}

/// The least share of the cause's words that a premise on the same cause holds.
const LEAST_CAUSE: f64 = 0.4;
/// The least share of its first words.
const LEAST_ACTOR: f64 = 0.01;
/// The least share of the outcome's words that a sentence on the same outcome holds.
const LEAST_OUTCOME: f64 = 0.51;

/// The same for a claim whose verb is unknown: nearly all of it.
const LEAST_OF_ALL: f64 = 0.76;
/// The least share of them where what the phrase turns on is named.
const LEAST_PART: f64 = 0.34;

/// The word before "more", "longer" or "less", if one says what is done.
fn deed(tokens: &[Token], start: usize, event: usize) -> Option<String> {
    let is_degree = matches!(
        tokens[event].lower.as_str(),
        "more" | "less" | "longer" | "shorter" | "better" | "worse" | "further"
    );
    let before = (start..event)
        .rev()
        .find(|&i| tokens[i].cue != Cue::Not && tokens[i].weight > 0.0 || is_copula(&tokens[i]))?;
    let deed = &tokens[before];
    (is_degree && deed.weight >= 1.0 && !deed.cue.is_event()).then(|| deed.stem.clone())
}

fn is_copula(token: &Token) -> bool {
    matches!(
        token.lower.as_str(),
        "is" | "are" | "was" | "were" | "be" | "been" | "became" | "had" | "has" | "have"
    )
}

/// The last telling word of a phrase before its first preposition.
fn head(phrase: &[Token]) -> Option<String> {
    let end = phrase
        .iter()
        .position(|t| t.lower == "of" || ends_phrase(t));
    let first = &phrase[..end.unwrap_or(phrase.len())];
    first
        .iter()
        .rfind(|t| t.weight >= 1.0 && !t.cue.is_event())
        .or_else(|| {
            phrase
                .iter()
                .rfind(|t| t.weight >= 1.0 && !t.cue.is_event())
        })
        .map(|t| t.stem.clone())
}

/// The telling words behind the "of" of a phrase.
fn of_what(phrase: &[Token]) -> Weights {
    match phrase.iter().position(|t| t.lower == "of") {
        Some(of) => words_of(phrase[of..].iter()),
        None => Weights::new(),
    }
}

/// Neighbouring words of a phrase: the second may be a word that many texts share ("sea level").
fn compounds(tokens: &[Token]) -> Vec<(String, String)> {
    let plain = |t: &Token| t.is_content() && !t.cue.is_event() && t.kind == Kind::Word;
    tokens
        .windows(2)
        .filter(|pair| plain(&pair[0]) && pair[0].weight >= 1.0 && plain(&pair[1]))
        .filter(|pair| !AMOUNTS.contains(&pair[1].stem.as_str()))
        .map(|pair| (pair[0].stem.clone(), pair[1].stem.clone()))
        .collect()
}

/// "In a cohort of 230 guards, …": where the clause begins behind such a phrase.
fn behind_preamble(tokens: &[Token], start: usize, event: usize) -> usize {
    let opens = matches!(
        tokens[start].lower.as_str(),
        "in" | "among"
            | "after"
            | "for"
            | "with"
            | "during"
            | "at"
            | "over"
            | "between"
            | "across"
            | "on"
    );
    if !opens {
        return start;
    }
    (start..event)
        .find(|&i| tokens[i].is_mark(","))
        .map_or(start, |comma| comma + 1)
}

#[cfg(test)]
mod tests {
    use super::super::split::Split;
    use super::super::statement::Reading;
    use super::*;

    fn roles(text: &str) -> Roles {
        let reading = Reading::new(text);
        Split::of(&reading.tokens, &reading.statements).roles
    }

    fn words(of: &Weights) -> String {
        let stems: Vec<&str> = of.iter().map(|(s, _)| s.as_str()).collect();
        stems.join(" ")
    }

    #[test]
    fn claims_have_a_cause_an_outcome_and_a_yardstick() {
        let cases = [
            ("Night work shortens sleep", "night work", "sleep", ""),
            (
                "Sleep was shortened by night work",
                "night work",
                "sleep",
                "",
            ),
            ("Rents fell after the reform", "reform", "rent", ""),
            ("Salt has no effect on sleep", "salt", "sleep", ""),
            (
                "In a cohort of guards, light did not shorten sleep: it was the same",
                "light",
                "sleep",
                "",
            ),
            ("Rust is faster than Python", "", "rust", "python"),
            (
                "Rust uses less memory than Python",
                "rust",
                "memor",
                "python",
            ),
            ("夜勤は睡眠時間を短縮する", "夜勤", "sleep", ""),
        ];
        for (text, cause, outcome, yardstick) in cases {
            let found = roles(text);
            assert_eq!(words(&found.cause), cause, "{text}");
            assert_eq!(words(&found.outcome), outcome, "{text}");
            assert_eq!(words(&found.yardstick), yardstick, "{text}");
        }
    }

    #[test]
    fn premises_fit_or_speak_of_something_else() {
        let cases = [
            (
                "Night work shortens sleep",
                "Night work cuts sleep",
                Fit::Same,
            ),
            (
                "Night work shortens sleep",
                "Night work dulls alertness",
                Fit::OtherOutcome,
            ),
            (
                "Night work shortens sleep",
                "Noise cuts sleep",
                Fit::OtherCause,
            ),
            (
                "Rust is faster than Python",
                "Rust is older than Python",
                Fit::OtherOutcome,
            ),
            (
                "Sea level is rising",
                "Sea temperature is rising",
                Fit::OtherOutcome,
            ),
            (
                "Cats sleep longer than dogs",
                "Cats eat longer than dogs",
                Fit::OtherOutcome,
            ),
            (
                "Wages in the north rose",
                "Rents in the north rose",
                Fit::OtherOutcome,
            ),
        ];
        for (claim, premise, expected) in cases {
            let read = Reading::new(premise);
            let stems = Stems::new(read.tokens.iter().map(|t| t.stem.as_str()));
            let found = roles(claim).fit(&stems, &read.tokens, &stems, false);
            assert_eq!(found, expected, "{premise} / {claim}");
        }
    }

    #[test]
    fn comparisons_have_two_sides() {
        let claim = roles("Rust is faster than Python");
        let cases = [
            ("rust", "python", Swap::Straight),
            ("python", "rust", Swap::Turned),
            ("rust", "perl", Swap::OtherYardstick),
        ];
        for (subject, compared, expected) in cases {
            let side = |word| Stems::new(std::iter::once(word));
            assert_eq!(claim.swapped(&side(subject), &side(compared)), expected);
        }
    }
}
