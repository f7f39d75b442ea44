//! Plain comparisons: "is faster than", "cost more", "recovered more slowly", "as many as".
//!
//! The lexicon knows single words. Here a word gets its cue from its neighbours, and words of one
//! scale get one stem: "slower", "speeds up" and "more quickly" are all about speed, so that a text
//! on speed and a text on price are told apart and two texts on speed are not.

use super::lexicon::{Cue, Table};
use super::words::{Kind, Token};
use std::sync::LazyLock;

/// A word's scale: the stem that all of its words get, and where the word points.
#[derive(Debug, Clone, Copy)]
struct Scale {
    stem: &'static str,
    cue: Cue,
}

/// Scales that a claim is about: another scale is another outcome.
pub(crate) const SCALES: &[&str] = &["speed", "cost", "temperatur", "aging", "weight"];

/// Scales of amount: "shorter sleep" and "less sleep" say the same.
pub(crate) const AMOUNTS: &[&str] = &["length", "size"];

/// Words that compare or change something on a scale, in any place.
#[rustfmt::skip]
const WORDS: &[(&str, Cue, &[&str])] = &[
    ("speed", Cue::Up, &["faster", "quicker"]),
    ("speed", Cue::Down, &["slower", "slows", "slowed", "slowing"]),
    ("speed", Cue::None, &["fast", "fastest", "quick", "quickly", "slow", "slowest", "slowly",
        "speed", "speeds", "sped", "rapidly"]),
    ("cost", Cue::Up, &["costlier", "pricier", "dearer"]),
    ("cost", Cue::Down, &["cheaper", "cheapens"]),
    ("cost", Cue::None, &["cost", "costs", "costly", "price", "prices", "expensive", "cheap",
        "cheaply", "cheapest"]),
    ("temperatur", Cue::Up, &["warmer", "hotter", "warms", "warmed", "heats", "heated"]),
    ("temperatur", Cue::Down, &["cooler", "colder", "cools", "cooled"]),
    ("temperatur", Cue::None, &["temperature", "temperatures", "warm", "hot", "cool",
        "cold"]),
    ("weight", Cue::Up, &["heavier"]),
    ("weight", Cue::Down, &["lighter"]),
    ("length", Cue::Up, &["longer", "lengthens", "lengthened", "prolongs", "prolonged"]),
    ("length", Cue::Down, &["shorter", "shortens", "shortened", "shorten", "shortening"]),
    ("size", Cue::Up, &["larger", "bigger"]),
    ("size", Cue::Down, &["smaller", "shrinks", "shrank", "shrunk", "shrinking", "shrink"]),
];

/// Words behind "more" and "less" that turn them round.
const TURNING: &[&str] = &[
    "slowly", "slow", "cheaply", "cheap", "rarely", "rare", "seldom",
];

/// Words of frequency: what is more common is more.
const FREQUENCY: &[&str] = &[
    "common",
    "commonly",
    "often",
    "frequent",
    "frequently",
    "rare",
    "rarely",
    "likely",
    "seldom",
];

static BY_WORD: LazyLock<Table<&'static str, Scale>> = LazyLock::new(|| {
    WORDS
        .iter()
        .flat_map(|(stem, cue, words)| words.iter().map(|word| (*word, Scale { stem, cue: *cue })))
        .collect()
});

/// Gives the words of plain comparisons their cues, and those of one scale one stem.
pub(crate) fn mark(tokens: &mut [Token]) {
    for at in 0..tokens.len() {
        if tokens[at].kind != Kind::Word {
            continue;
        }
        mark_scale(tokens, at);
        mark_unit(tokens, at);
        match tokens[at].lower.as_str() {
            "more" | "less" => mark_degree(tokens, at),
            "up" | "down" => mark_particle(tokens, at),
            "same" => mark_same(tokens, at),
            "as" => mark_equal(tokens, at),
            "than" => mark_ending(tokens, at),
            _ => {}
        }
    }
}

fn mark_scale(tokens: &mut [Token], at: usize) {
    if let Some(scale) = BY_WORD.get(tokens[at].lower.as_str()) {
        // "did not cool", "to slow": verbs that look like adjectives.
        let is_verb = matches!(
            tokens[at].lower.as_str(),
            "cool" | "warm" | "slow" | "speed"
        ) && at.checked_sub(1).is_some_and(|before| {
            matches!(
                tokens[before].lower.as_str(),
                "not" | "to" | "can" | "could" | "will" | "would" | "may" | "might" | "cannot"
            )
        });
        let token = &mut tokens[at];
        token.stem = scale.stem.to_owned();
        if scale.cue != Cue::None {
            token.cue = scale.cue;
        }
        if is_verb {
            token.cue = if matches!(scale.stem, "speed") && token.lower != "slow"
                || token.lower == "warm"
            {
                Cue::Up
            } else {
                Cue::Down
            };
        }
        token.weight = if AMOUNTS.contains(&scale.stem) {
            0.3
        } else {
            1.0
        };
    }
}

/// Words that count what a number stands for.
#[rustfmt::skip]
const UNITS: &[&str] = &[
    "percent", "percentage", "point", "points", "second", "seconds", "minute", "minutes", "hour",
    "hours", "decade", "decades", "century", "centuries", "degree", "degrees", "ms", "mm", "cm",
    "m", "km", "mg", "g", "kg", "ml", "l", "litres", "liters", "tonnes", "tons", "dollars",
    "euros", "pounds", "yen", "hundred", "thousand", "million", "billion", "mmhg", "kb", "mb",
    "gb", "times", "fold",
];

/// In "by 1.8 degrees" nothing is said of degrees.
fn mark_unit(tokens: &mut [Token], at: usize) {
    let counts = at
        .checked_sub(1)
        .is_some_and(|before| tokens[before].kind == Kind::Number || tokens[before].percent);
    if counts && UNITS.contains(&tokens[at].lower.as_str()) {
        tokens[at].weight = 0.0;
        // "20 million tonnes"
        tokens[at].percent = true;
    }
}

/// "more slowly" is less, "less common" is fewer.
fn mark_degree(tokens: &mut [Token], at: usize) {
    let Some(next) = tokens.get(at + 1) else {
        return;
    };
    let turns = TURNING.contains(&next.lower.as_str());
    let is_frequency = FREQUENCY.contains(&next.lower.as_str());
    let is_speed = BY_WORD
        .get(next.lower.as_str())
        .is_some_and(|s| s.stem == "speed");
    if is_speed && let Some(verb) = at.checked_sub(1) {
        // "recovered more slowly": how it went is what is said, not that it went well.
        tokens[verb].cue = Cue::None;
    }
    if turns {
        tokens[at].cue = if tokens[at].lower == "more" {
            Cue::Down
        } else {
            Cue::Up
        };
    }
    if is_frequency {
        tokens[at + 1].cue = Cue::None;
        tokens[at + 1].weight = 0.0;
    }
}

/// "went up", "sped up", "slowed down": the verb has the direction of its particle.
fn mark_particle(tokens: &mut [Token], at: usize) {
    let Some(before) = at.checked_sub(1) else {
        return;
    };
    let up = tokens[at].lower == "up";
    let moves = matches!(
        tokens[before].lower.as_str(),
        "went" | "go" | "goes" | "going" | "gone" | "speed" | "speeds" | "sped" | "crept" | "shot"
    );
    if moves {
        tokens[before].cue = if up { Cue::Up } else { Cue::Down };
        if tokens[before].stem != "speed" {
            tokens[before].weight = 0.0;
        }
    }
}

/// "was the same in both", "the same number of": not "in the same study".
fn mark_same(tokens: &mut [Token], at: usize) {
    let before = |n: usize| at.checked_sub(n).map_or("", |i| tokens[i].lower.as_str());
    let after = tokens.get(at + 1).map_or("", |t| t.lower.as_str());
    let is_said = matches!(
        before(2),
        "was"
            | "were"
            | "is"
            | "are"
            | "be"
            | "been"
            | "remained"
            | "stayed"
            | "about"
            | "much"
            | "roughly"
            | "exactly"
            | "almost"
            | "nearly"
            | "and"
    );
    let of_amount = matches!(
        after,
        "number" | "amount" | "rate" | "level" | "share" | "speed"
    );
    if before(1) == "the" && (is_said || of_amount) {
        tokens[at].cue = Cue::Same;
    }
}

/// "as many colds as" is the same, "twice as fast" more, "not as fast as" and "half as" less.
fn mark_equal(tokens: &mut [Token], at: usize) {
    let before = at
        .checked_sub(1)
        .map_or("", |i| tokens[i].lower.as_str())
        .to_owned();
    let Some(degree) = tokens.get(at + 1).filter(|t| t.kind == Kind::Word) else {
        return;
    };
    let again = tokens[at + 2..]
        .iter()
        .take(5)
        .position(|t| t.lower == "as");
    let is_degree = matches!(
        degree.lower.as_str(),
        "many" | "much" | "often" | "high" | "low" | "good" | "large" | "long"
    ) || BY_WORD.contains_key(degree.lower.as_str());
    if !is_degree || degree.lower == "long" && again.is_none() {
        return;
    }
    let turned = TURNING.contains(&degree.lower.as_str()) || degree.lower == "low";
    let cue = match before.as_str() {
        "twice" | "times" if turned => Cue::Down,
        "twice" | "times" => Cue::Up,
        "half" if turned => Cue::Up,
        "half" => Cue::Down,
        "not" if again.is_some() => {
            tokens[at - 1].cue = Cue::None;
            if turned { Cue::Up } else { Cue::Down }
        }
        "just" => Cue::Same,
        _ if again.is_some() => Cue::Same,
        _ => return,
    };
    tokens[at + 1].cue = cue;
    if let Some(again) = again {
        tokens[at + 2 + again].cue = Cue::Than;
    }
}

/// Any other word in -er before "than" compares: "taller than", "older than".
fn mark_ending(tokens: &mut [Token], at: usize) {
    let Some(token) = at.checked_sub(1).map(|before| &mut tokens[before]) else {
        return;
    };
    if token.kind == Kind::Word
        && token.cue == Cue::None
        && !matches!(
            token.lower.as_str(),
            "other" | "rather" | "later" | "earlier" | "further"
        )
        && let Some(base) = token.lower.strip_suffix("er").filter(|b| b.len() >= 3)
    {
        (token.stem, token.cue) = match token.lower.as_str() {
            "older" => ("aging".to_owned(), Cue::Up),
            "younger" => ("aging".to_owned(), Cue::Down),
            _ => (base.trim_end_matches('i').to_owned(), Cue::Up),
        };
        token.weight = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::tokenize;
    use super::*;

    #[test]
    fn comparisons_get_their_cues() {
        use Cue::{Down, None, Same, Up};
        let cases: &[(&str, &str, Cue)] = &[
            ("recovered more slowly", "more", Down),
            ("recovered more quickly", "more", Up),
            ("less rarely", "less", Up),
            ("cost more", "more", Up),
            ("is cheaper", "cheaper", Down),
            ("prices went up", "went", Up),
            ("it went down", "went", Down),
            ("as many colds as before", "many", Same),
            ("just as slow", "slow", Same),
            ("twice as fast", "fast", Up),
            ("half as fast", "fast", Down),
            ("not as fast as before", "fast", Down),
            ("not as fast as before", "not", None),
            ("as fast as possible", "fast", Same),
            ("was the same in both", "same", Same),
            ("the same number of calls", "same", Same),
            ("in the same study", "same", None),
            ("is taller than", "taller", Up),
            ("is younger than", "younger", Down),
            ("rather than", "rather", None),
            ("did not cool", "cool", Down),
            ("a cool room", "cool", None),
        ];
        for (text, word, expected) in cases {
            let mut tokens = tokenize(text);
            mark(&mut tokens);
            let found = tokens.iter().find(|t| t.lower == *word).unwrap();
            assert_eq!(found.cue, *expected, "{word} in {text}");
        }
    }

    #[test]
    fn words_of_a_scale_share_its_stem() {
        let cases = [
            ("slower", "speed"),
            ("quickly", "speed"),
            ("cheaper", "cost"),
            ("prices", "cost"),
            ("warmer", "temperatur"),
            ("shortened", "length"),
            ("shrank", "size"),
        ];
        for (word, scale) in cases {
            let mut tokens = tokenize(word);
            mark(&mut tokens);
            assert_eq!(tokens[0].stem, scale, "{word}");
        }
    }

    #[test]
    fn units_say_nothing_of_the_topic() {
        for (text, weight) in [
            ("by 2 degrees", 0.0),
            ("the degrees", 1.0),
            ("7 nurses", 1.0),
        ] {
            let mut tokens = tokenize(text);
            mark(&mut tokens);
            assert_eq!(tokens.last().unwrap().weight, weight, "{text}");
        }
    }
}
