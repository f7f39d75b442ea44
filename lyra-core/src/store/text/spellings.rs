//! Other ways to write a word: British and American spelling, numbers in words and in digits.
//!
//! The results are searched for in addition to the original words. So a rule may produce words that do
//! not exist, because no text contains them. It must not produce other existing words.

/// Minimum number of bytes before -ise or -ize: `prize` and `size` are separate words.
const SHORTEST_STEM: usize = 3;

/// Parts of words, British and American. A word may contain several.
const PARTS: &[(&str, &str)] = &[
    ("acknowledgement", "acknowledgment"),
    ("aemi", "emi"),
    ("aeroplane", "airplane"),
    ("aesthe", "esthe"),
    ("aetiol", "etiol"),
    ("ageing", "aging"),
    ("alumini", "alumin"),
    ("anaem", "anem"),
    ("anaesth", "anesth"),
    ("analogue", "analog"),
    ("archaeo", "archeo"),
    ("artefact", "artifact"),
    ("caec", "cec"),
    ("caesar", "cesar"),
    ("catalogue", "catalog"),
    ("coeli", "celi"),
    ("defence", "defense"),
    ("dialogue", "dialog"),
    ("enrol", "enroll"),
    ("faec", "fec"),
    ("foet", "fet"),
    ("fulfil", "fulfill"),
    ("grey", "gray"),
    ("gynaec", "gynec"),
    ("haem", "hem"),
    ("homoeo", "homeo"),
    ("judgement", "judgment"),
    ("licence", "license"),
    ("manoeuv", "maneuv"),
    ("mould", "mold"),
    ("moustache", "mustache"),
    ("oedem", "edem"),
    ("oesoph", "esoph"),
    ("oestr", "estr"),
    ("offence", "offense"),
    ("orthopaed", "orthoped"),
    ("paediat", "pediat"),
    ("palaeo", "paleo"),
    ("plough", "plow"),
    ("pnoea", "pnea"),
    ("pretence", "pretense"),
    ("programme", "program"),
    ("rrhoe", "rrhe"),
    ("sceptic", "skeptic"),
    ("skilful", "skillful"),
    ("sulph", "sulf"),
];

/// The same for whole words that are parts of unrelated words.
const WHOLE: &[(&str, &str)] = &[("disc", "disk"), ("discs", "disks")];

/// Beginnings of words that end in -our in British and in -or in American spelling.
const OUR: &[&str] = &[
    "arbo", "ardo", "armo", "behavio", "cando", "clamo", "colo", "demeano", "endeavo", "favo",
    "fervo", "flavo", "glamo", "harbo", "hono", "humo", "labo", "neighbo", "odo", "parlo", "ranco",
    "rigo", "rumo", "savio", "savo", "splendo", "tumo", "valo", "vapo", "vigo",
];

/// Beginnings or ends of words that end in -re in British and in -er in American spelling.
const RE: &[&str] = &[
    "calib", "cent", "epicent", "fib", "goit", "lit", "lust", "met", "microfib", "sab", "scept",
    "spect", "theat", "tit",
];

/// Endings after which -is- and -ys- become -iz- and -yz- in American spelling.
const ISE: &[&str] = &[
    "e", "ed", "er", "ers", "es", "ing", "able", "ation", "ations", "ational",
];

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// Other spellings of a word in lower case; each is one word or a few.
pub(crate) fn other_spellings(word: &str) -> Vec<String> {
    let mut found: Vec<String> = number_of_one(word).into_iter().collect();
    found.extend((word == "percent").then(|| "per cent".to_owned()));
    for american in [true, false] {
        let other = rewritten(word, american);
        if other != word && !found.contains(&other) {
            found.push(other);
        }
    }
    found
}

/// Digits for a number in two words, the second of which is below ten: `twenty`, `five`.
pub(crate) fn number_of_two(tens: &str, ones: &str) -> Option<String> {
    let tens = TENS.iter().position(|word| *word == tens)?;
    let ones = ONES[1..10].iter().position(|word| *word == ones)?;
    Some((10 * (tens + 2) + ones + 1).to_string())
}

/// Digits for a number in one word.
pub(crate) fn number_of_one(word: &str) -> Option<String> {
    const ROUND: [(&str, &str); 2] = [("hundred", "100"), ("thousand", "1000")];
    let round = ROUND.iter().find(|(name, _)| *name == word);
    let ones = ONES.iter().position(|name| *name == word);
    let tens = TENS.iter().position(|name| *name == word);
    let small = ones.or(tens.map(|tens| 10 * (tens + 2)));
    small
        .map(|n| n.to_string())
        .or(round.map(|(_, digits)| (*digits).to_owned()))
}

/// Words for a number below 100 in digits.
pub(crate) fn number_in_words(digits: &str) -> Option<String> {
    let is_plain = digits.len() <= 2 && digits.bytes().all(|b| b.is_ascii_digit());
    let n: usize = digits.parse().ok().filter(|_| is_plain)?;
    Some(match (n / 10, n % 10) {
        (0 | 1, _) => ONES[n].to_owned(),
        (tens, 0) => TENS[tens - 2].to_owned(),
        (tens, ones) => format!("{} {}", TENS[tens - 2], ONES[ones]),
    })
}

/// The word in American or British spelling.
fn rewritten(word: &str, american: bool) -> String {
    let in_order = |british: String, us: String| match american {
        true => (british, us),
        false => (us, british),
    };
    let mut word = word.to_owned();
    for (british, us) in WHOLE {
        let (from, to) = in_order((*british).to_owned(), (*us).to_owned());
        if word == from {
            return to;
        }
    }
    for (british, us) in PARTS {
        let (from, to) = in_order((*british).to_owned(), (*us).to_owned());
        // `enroll` contains `enrol`: a word that is already in the target spelling is kept.
        if word.contains(&from) && !(to.contains(&from) && word.contains(&to)) {
            word = word.replace(&from, &to);
        }
    }
    for stem in OUR {
        let (from, to) = in_order(format!("{stem}ur"), format!("{stem}r"));
        word = word.replace(&from, &to);
    }
    for stem in RE {
        for (british, us) in [
            ("re", "er"),
            ("res", "ers"),
            ("red", "ered"),
            ("ring", "ering"),
        ] {
            let (from, to) = in_order(format!("{stem}{british}"), format!("{stem}{us}"));
            if let Some(before) = word.strip_suffix(&from) {
                return format!("{before}{to}");
            }
        }
    }
    for ending in ISE {
        for vowel in ["i", "y"] {
            let (from, to) = in_order(format!("{vowel}s{ending}"), format!("{vowel}z{ending}"));
            let stem = word
                .strip_suffix(&from)
                .filter(|stem| stem.len() >= SHORTEST_STEM);
            if let Some(stem) = stem {
                return format!("{stem}{to}");
            }
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn british_and_american_words_lead_to_each_other() {
        for (british, american) in [
            ("colour", "color"),
            ("discoloured", "discolored"),
            ("tumours", "tumors"),
            ("behavioural", "behavioral"),
            ("randomised", "randomized"),
            ("organisation", "organization"),
            ("analysed", "analyzed"),
            ("haemorrhage", "hemorrhage"),
            ("haemoglobin", "hemoglobin"),
            ("oestrogen", "estrogen"),
            ("oesophageal", "esophageal"),
            ("anaesthesia", "anesthesia"),
            ("leukaemia", "leukemia"),
            ("diarrhoea", "diarrhea"),
            ("paediatric", "pediatric"),
            ("foetal", "fetal"),
            ("centimetres", "centimeters"),
            ("fibre", "fiber"),
            ("centre", "center"),
            ("enrolment", "enrollment"),
            ("aluminium", "aluminum"),
            ("sulphate", "sulfate"),
            ("programme", "program"),
            ("discs", "disks"),
            ("per cent", "per cent"),
        ] {
            assert_eq!(rewritten(british, true), american);
            assert_eq!(rewritten(american, false), british);
            if british != american {
                assert!(other_spellings(british).contains(&american.to_owned()));
                assert!(other_spellings(american).contains(&british.to_owned()));
            }
        }
    }

    #[test]
    fn no_word_becomes_another_that_there_is() {
        for word in [
            "prize",
            "prise",
            "size",
            "four",
            "hour",
            "tour",
            "flour",
            "our",
            "wise",
            "rise",
            "maize",
            "filling",
            "risk",
            "glucose",
            "心不全",
            "",
        ] {
            let made = other_spellings(word);
            assert!(made.iter().all(|made| made == "4"), "{word}: {made:?}");
        }
    }

    #[test]
    fn numbers_lead_to_digits_and_to_words() {
        for (word, digits) in [("five", "5"), ("twenty", "20"), ("hundred", "100")] {
            assert_eq!(other_spellings(word), [digits]);
        }
        for (digits, words) in [
            ("5", "five"),
            ("25", "twenty five"),
            ("17", "seventeen"),
            ("90", "ninety"),
        ] {
            assert_eq!(number_in_words(digits).as_deref(), Some(words));
        }
        for text in ["250", "007", "1e3", "+5", "x", ""] {
            assert_eq!(number_in_words(text), None, "{text}");
        }
        assert_eq!(number_of_two("twenty", "five").as_deref(), Some("25"));
        assert_eq!(number_of_two("five", "twenty"), None);
    }
}
