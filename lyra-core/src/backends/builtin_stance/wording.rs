//! How two texts compare in their directions, word by word.

use super::lexicon::Cue;
use super::overlap::{Weights, has_stem};
use super::words::Token;
use std::collections::{HashMap, HashSet};

/// Plus or minus: the product of all directions and negations of a clause.
pub(crate) fn parity(tokens: &[Token]) -> Option<bool> {
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
pub(crate) fn subject_sign(
    tokens: &[Token],
    range: std::ops::Range<usize>,
    subject: &Weights,
) -> bool {
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
pub(crate) const LOCAL_REACH: usize = 5;

/// Of the words that both texts share, how many have the same direction beside them, and how
/// many the opposite one (shares of all that have one in both).
pub(crate) fn local_agreement(hypothesis: &[Token], premise: &[Token]) -> (f64, f64) {
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

pub(crate) fn local_signs(tokens: &[Token]) -> HashMap<&str, bool> {
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
pub(crate) const ANTONYMS: &[(&str, &str)] = &[
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
pub(crate) fn antonyms(hypothesis: &[Token], premise: &[Token]) -> f64 {
    let mine: HashSet<&str> = hypothesis.iter().map(|t| t.stem.as_str()).collect();
    let theirs: HashSet<&str> = premise.iter().map(|t| t.stem.as_str()).collect();
    let clash = |a: &str, b: &str| {
        mine.contains(a) && theirs.contains(b) && !theirs.contains(a) && !mine.contains(b)
    };
    f64::from(u8::from(
        ANTONYMS.iter().any(|(a, b)| clash(a, b) || clash(b, a)),
    ))
}
