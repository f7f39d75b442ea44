//! The two halves of a hypothesis: what it speaks of, and what it says happens.

use super::negation::Value;
use super::overlap::{Weights, has_stem, stem_weights};
use super::roles::{Roles, is_empty, object_of};
use super::statement::{Reading, Statement, population};
use super::subjects::{self, Mention};
use super::words::{Kind, Token};

/// Where a hypothesis turns from its subject to what is said of it.
pub(crate) struct Split {
    /// The event that the hypothesis asserts.
    at: Option<usize>,
    /// What it asserts of its outcome.
    pub(crate) value: Option<Value>,
    /// Whether the outcome stands before the event ("X is increased by Y", "X rose after Y").
    passive: bool,
    /// The parts of the hypothesis.
    pub(crate) roles: Roles,
}

impl Split {
    /// Finds where a hypothesis turns.
    pub(crate) fn of(tokens: &[Token], statements: &[Statement]) -> Self {
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
                roles: Roles::without_event(tokens),
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
        let is_link = matches!(main.value, Value::Linked | Value::Unlinked);
        let event = refined
            .filter(|_| is_link)
            .map_or(main.at, |event| event.at);
        let clause = statements
            .iter()
            .find(|s| s.tokens.contains(&main.at))
            .map_or(0..tokens.len(), |s| s.tokens.clone());
        let clause = clause.start..clause.end.max(event + 1);
        let passive =
            tokens[main.at].kind == Kind::Cjk || is_empty(&tokens[object_of(tokens, event)]);
        Self {
            roles: Roles::of(tokens, clause, main.at, event),
            at: Some(main.at),
            value: Some(value),
            passive,
        }
    }

    /// The words of the outcome, those of its circumstances with little weight.
    pub(crate) fn outcome(&self, tokens: &[Token]) -> Weights {
        let Some(at) = self.at else {
            return stem_weights(tokens.iter());
        };
        let mut part = if self.passive {
            &tokens[..at]
        } else {
            &tokens[at + 1..]
        };
        if tokens[at].kind == Kind::Cjk
            && let Some(topic) = part.iter().rposition(|t| t.lower == "は")
            && part[topic..].iter().any(Token::is_content)
        {
            // The particle ends the subject.
            part = &part[topic + 1..];
        }
        let context = population(part, 0..part.len()).start;
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

    /// The drugs that the hypothesis is about.
    pub(crate) fn drugs(&self, reading: &Reading) -> Vec<Mention> {
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
