//! Compares words in quotation marks with the words of a source.

use super::report::Evidence;
use super::source_text::SourceText;
use crate::store::text::quotes::locate;
use crate::store::text::segment::slice_chars;
use crate::store::text::tokenize;
use crate::store::text::{TokenMode, is_cjk};
use regex::{Captures, Regex};
use similar::{ChangeTag, TextDiff};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

/// Quotations with fewer words are names and terms.
const FEWEST_WORDS: usize = 3;
/// Minimum share of a quotation's words for a sentence to be shown as the likely original.
const NEAR: f64 = 0.5;

/// Limits of a quotation's length: shorter ones are names, and longer ones have no closing mark.
const LENGTHS: Range<usize> = 6..601;

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"“([^”“]+)”|"([^"]+)"|«([^»«]+)»|»([^»«]+)«|„([^“”„]+)[“”]|「([^」]+)」"#)
        .expect("the pattern is sound")
});
static GAP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\s*(?:\[[^\]]*\]|\(\.\.\.\)|…|\.\.\.)\s*").expect("the pattern is sound")
});

/// ‘…’: a mark between letters is an apostrophe.
static SINGLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:^|[\s(\[—–])‘((?:[^‘’]|’\p{L})+)’(?:$|[\s.,;:!?)\]—–])"#)
        .expect("the pattern is sound")
});

/// A quotation in a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quotation {
    /// Code points of the sentence, without the marks.
    pub(super) span: Range<usize>,
    /// The parts between omissions.
    pub(super) parts: Vec<String>,
}

/// The quotations of a sentence.
pub(super) fn quotations(sentence: &str) -> Vec<Quotation> {
    let inside = |hit: Captures<'_>| hit.iter().skip(1).flatten().next().map(|hit| hit.range());
    let mut spans: Vec<Range<usize>> = QUOTED.captures_iter(sentence).filter_map(inside).collect();
    let single: Vec<Range<usize>> = SINGLE.captures_iter(sentence).filter_map(inside).collect();
    // A quotation within a quotation is part of the outer one.
    let is_apart = |one: &Range<usize>| {
        let mut others = spans.iter();
        !others.any(|other| one.start < other.end && other.start < one.end)
    };
    let single: Vec<Range<usize>> = single.into_iter().filter(is_apart).collect();
    spans.extend(single);
    spans.sort_by_key(|span| span.start);
    let found = spans.into_iter();
    found.filter_map(|span| quotation(sentence, span)).collect()
}

/// The quotation between these bytes, if it is more than a term.
fn quotation(sentence: &str, span: Range<usize>) -> Option<Quotation> {
    let inside = &sentence[span.clone()];
    let words = inside.split_whitespace().count();
    let is_term = words < FEWEST_WORDS && !inside.chars().any(is_cjk);
    let length = inside.chars().count();
    if is_term || !LENGTHS.contains(&length) {
        return None;
    }
    let start = sentence[..span.start].chars().count();
    // A full stop or a comma may be the author's own.
    let text = inside.trim_end_matches(['.', ',', ';', ' ']);
    let parts = GAP.split(text).filter(|part| !part.trim().is_empty());
    Some(Quotation {
        span: start..start + length,
        parts: parts.map(str::to_owned).collect(),
    })
}

/// Finds a source passage with all parts of a quotation; returns the position of the first part.
pub(super) fn find(source: &SourceText, quotation: &Quotation) -> Option<Evidence> {
    let mut first = None;
    for part in &quotation.parts {
        let is_short =
            part.chars().filter(|c| c.is_alphanumeric()).count() < 12 && !part.chars().any(is_cjk);
        if is_short && quotation.parts.len() > 1 {
            continue;
        }
        let place = if is_short {
            short(&source.text, part)
        } else {
            locate(&source.text, part)
        };
        let place = place?;
        first.get_or_insert(place);
    }
    let place = first?;
    let inside = |fragment: &crate::store::graph::StoredFragment| {
        let start = usize::try_from(fragment.char_start?).ok()?;
        let end = start + fragment.text.chars().count();
        (start <= place.start && place.start < end).then_some(start)
    };
    let found = source.fragments.iter().enumerate();
    let (at, start) = found.filter_map(|(at, f)| Some((at, inside(f)?))).next()?;
    let quote = slice_chars(&source.text, place.start, place.end)?.to_owned();
    Some(source.evidence_of(at, place.start - start..place.end - start, quote))
}

/// A part too short for an exact search: as written, ignoring case.
fn short(text: &str, part: &str) -> Option<Range<usize>> {
    let (text, part) = (text.to_lowercase(), part.to_lowercase());
    let at = text.find(&part)?;
    let start = text[..at].chars().count();
    Some(start..start + part.chars().count())
}

/// The sentence of a source that a quotation may mean: the share of the quotation's words that it
/// contains, and its position.
pub(super) fn nearest(source: &SourceText, quotation: &Quotation) -> Option<(f64, usize)> {
    let wanted = words(&quotation.parts.join(" "));
    if wanted.is_empty() {
        return None;
    }
    let share = |text: &str| {
        let held = words(text);
        wanted.intersection(&held).count() as f64 / wanted.len() as f64
    };
    let scored = source.sentences.iter().enumerate();
    let best = scored
        .map(|(at, sentence)| (share(&sentence.text), at))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    (best.0 >= NEAR).then_some(best)
}

fn words(text: &str) -> HashSet<String> {
    let tokens = tokenize(text, TokenMode::Query).into_iter();
    tokens.map(|token| token.text).collect()
}

/// The difference between the words of a draft and the closest run of words in a source.
pub(super) fn diff(draft: &str, source: &str) -> String {
    let near = nearest_words(draft, source);
    let mut text = String::new();
    let mut open = ChangeTag::Equal;
    for change in TextDiff::from_words(draft, &near).iter_all_changes() {
        if change.tag() != open {
            text.push_str(closing(open));
            text.push_str(match change.tag() {
                ChangeTag::Delete => "[-",
                ChangeTag::Insert => "{+",
                ChangeTag::Equal => "",
            });
            open = change.tag();
        }
        text.push_str(change.value());
    }
    text.push_str(closing(open));
    text
}

/// The run of words that shares most words with the draft's.
fn nearest_words(draft: &str, source: &str) -> String {
    let wanted = words(draft);
    let there: Vec<&str> = source.split_whitespace().collect();
    let length = draft
        .split_whitespace()
        .count()
        .clamp(1, there.len().max(1));
    let draft: Vec<&str> = draft.split_whitespace().collect();
    // Of runs that share equally many words, the one whose words are in the same positions.
    let score = |row: &[&str]| {
        let shared = wanted.intersection(&words(&row.join(" "))).count();
        let in_place = row.iter().zip(&draft).filter(|(a, b)| a == b).count();
        (shared, in_place)
    };
    let mut best: ((usize, usize), &[&str]) = ((0, 0), &there);
    for row in there.windows(length) {
        let score = score(row);
        if score > best.0 {
            best = (score, row);
        }
    }
    best.1
        .join(" ")
        .trim_end_matches(['.', ',', ';'])
        .to_owned()
}

fn closing(tag: ChangeTag) -> &'static str {
    match tag {
        ChangeTag::Delete => "-]",
        ChangeTag::Insert => "+}",
        ChangeTag::Equal => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_told_from_terms() {
        let found = quotations("Roe writes “drug X […] raised the risk of falls.” of \"falls\".");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].parts, ["drug X", "raised the risk of falls"]);
        assert_eq!(found[0].span, 12..48);
    }

    #[test]
    fn every_kind_of_mark_quotes() {
        let words = "raised the risk of falls";
        for (before, after) in [("‘", "’"), ("«", "»"), ("»", "«"), ("„", "“"), ("„", "”")]
        {
            let found = quotations(&format!("Roe says it {before}{words}{after}, and more."));
            assert_eq!(found.len(), 1, "{before}");
            assert_eq!(found[0].parts, [words], "{before}");
        }
        let found = quotations("It is ‘what the author’s students said’.");
        assert_eq!(found[0].parts, ["what the author’s students said"]);
    }

    #[test]
    fn a_short_term_in_marks_opens_no_quotation() {
        let found = quotations("Of \"X\" she wrote \"it raised the risk\", of \"Y\" nothing.");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].parts, ["it raised the risk"]);
    }

    #[test]
    fn an_apostrophe_quotes_nothing() {
        for text in [
            "The nurses’ sleep and the doctors’ sleep were short.",
            "In the ’90s it wasn’t so that they didn’t know’.",
            "It is a ‘small matter’ of taste.",
            "He said “it is ‘what the students said’ to me” twice.",
        ] {
            let single = quotations(text);
            assert!(
                single.len() <= usize::from(text.contains('“')),
                "{text}: {single:?}"
            );
        }
    }

    #[test]
    fn a_diff_shows_what_was_changed_and_nothing_around() {
        let shown = diff(
            "raised the risk of fractures",
            "In men, X raised the risk of falls in 2019.",
        );
        assert_eq!(shown, "raised the risk of [-fractures-]{+falls+}");
    }
}
