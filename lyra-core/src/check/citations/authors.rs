//! Citations by author and year, in brackets and as words of a sentence.

use super::citation::{CitationMatch, CitationTarget, Further};

/// A family name in a sentence.
const NAME: &str = r"(?:(?:van|von|de|der|den|di|la|le|du)\s+)*\p{Lu}[\p{L}'’-]+";
/// `2019a`, `2016, 2017`, `2019a, b`.
const YEARS: &str =
    r"(?:19|20)[0-9]{2}[a-z]?(?:\s*(?:,|&|and)\s*(?:(?:19|20)[0-9]{2}[a-z]?|[a-z]\b))*";
/// A location within the source.
const LOCATOR: &str = r"(?:\s*[,:]\s*(?:pp?\.|ch\.|sec\.|table|fig\.)?\s?[\w.–-]+)?";

pattern!(ROUND, r"\s?\(([^()]{4,300})\)");
pattern!(SQUARE, r"\s?\[([^\[\]]{4,300})\]");
pattern!(
    LEAD,
    r"^(?i:see also|but see|see|e\.g\.,?|cf\.|reviewed in|in)\s+"
);
pattern!(
    WORK,
    &[
        r"^(?P<who>[^0-9]+?),?\s+\(?(?P<years>",
        YEARS,
        r")\)?",
        LOCATOR,
        "$"
    ]
    .concat()
);
pattern!(ONLY_YEARS, &["^(", YEARS, ")", LOCATOR, "$"].concat());
// "Tanaka 2017, Roe 2018" is two works.
pattern!(
    NEXT_WORK,
    r"(?:19|20)[0-9]{2}[a-z]?(,\s+)(?:(?:van|von|de|der|den|di|la|le|du)\s|\p{Lu}\p{L})"
);
pattern!(
    NARRATIVE,
    &[
        "(?P<who>",
        NAME,
        r"(?:(?:,\s+",
        NAME,
        r")+,\s+(?:and|&)\s+",
        NAME,
        r"|\s+(?:and|&)\s+",
        NAME,
        r")?(?:,?\s+et\s+al\.?,?|\s+and\s+colleagues)?)(?:['’]s)?\s+\((?P<years>",
        YEARS,
        ")",
        LOCATOR,
        r"\)"
    ]
    .concat()
);
pattern!(
    OTHERS,
    r"(?:,?\s+et\s+al\.?,?|,?\s+and\s+(?:colleagues|others))$"
);
pattern!(AND, r",?\s+(?:and|&|und|et|y)\s+");

/// Words before a year that are not author names.
const MONTHS: &[&str] = &[
    "Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec",
    "Spring", "Summer", "Autumn", "Winter", "Fall",
];
/// Parts of family names that are written in lower case.
const PARTICLES: &[&str] = &[
    "van", "von", "de", "der", "den", "di", "la", "le", "du", "da", "dos", "el", "al", "ter", "ten",
];
/// Words that open a sentence before a comma and the authors.
const OPENERS: &[&str] = &[
    "Accordingly",
    "Additionally",
    "Also",
    "Consequently",
    "Conversely",
    "Finally",
    "First",
    "Furthermore",
    "Hence",
    "Here",
    "However",
    "Indeed",
    "Instead",
    "Later",
    "Likewise",
    "Moreover",
    "Nevertheless",
    "Recently",
    "Second",
    "Similarly",
    "Specifically",
    "Subsequently",
    "Then",
    "Therefore",
    "Third",
    "Thus",
    "Together",
    "Yet",
];
/// Words before a place or a time that is separated from the authors by a comma.
const BEFORE_PLACES: &[&str] = &[
    "across",
    "after",
    "at",
    "before",
    "by",
    "during",
    "for",
    "from",
    "in",
    "outside",
    "since",
    "throughout",
    "unlike",
    "within",
];

/// The works cited in brackets, and those whose authors are part of the sentence.
pub(super) fn authors(text: &str, found: &mut Vec<CitationMatch>) {
    let round = ROUND.captures_iter(text);
    for hit in round.chain(SQUARE.captures_iter(text)) {
        if let Some(targets) = works(&hit[1]) {
            let bytes = hit.get(0).expect("a match has a whole").range();
            found.push(CitationMatch::mark(bytes, targets));
        }
    }
    for hit in NARRATIVE.captures_iter(text) {
        let mut bytes = hit.get(0).expect("a match has a whole").range();
        let mut who = &hit["who"];
        if let Some((first, rest)) = who.split_once(", ")
            && (OPENERS.contains(&first) || is_before_place(&text[..bytes.start]))
        {
            bytes.start += first.len() + 2;
            who = rest;
        }
        if let Some((who, further)) = names(who) {
            found.push(CitationMatch {
                is_mark: false,
                ..CitationMatch::mark(bytes, each_year(&who, &further, &hit["years"]))
            });
        }
    }
}

fn is_before_place(before: &str) -> bool {
    let word = before.split_whitespace().next_back().unwrap_or_default();
    BEFORE_PLACES.contains(&word.to_lowercase().as_str())
}

/// `see Smith et al., 2019; 2020; Jones & Roe 2020a, p. 4`: must match as a whole to be a citation.
fn works(inside: &str) -> Option<Vec<CitationTarget>> {
    let mut targets = Vec::new();
    let mut last: Option<(String, Further)> = None;
    for part in inside.split(';').map(str::trim) {
        if let (Some((who, further)), Some(years)) = (&last, ONLY_YEARS.captures(part)) {
            targets.extend(each_year(who, further, &years[1]));
            continue;
        }
        for work in apart(part) {
            let (who, further, years) = author_year(work)?;
            targets.extend(each_year(&who, &further, years));
            last = Some((who, further));
        }
    }
    Some(targets)
}

/// The works separated by commas, if the whole is not one work.
fn apart(part: &str) -> Vec<&str> {
    let mut works = Vec::new();
    let mut rest = part;
    while author_year(rest).is_none()
        && let Some(comma) = NEXT_WORK.captures(rest).and_then(|hit| hit.get(1))
    {
        works.push(&rest[..comma.start()]);
        rest = &rest[comma.end()..];
    }
    works.push(rest);
    works
}

fn author_year(part: &str) -> Option<(String, Further, &str)> {
    let part = part.trim();
    let start = LEAD.find(part).map_or(0, |lead| lead.end());
    let found = WORK.captures(&part[start..])?;
    let who = found.name("who")?.as_str();
    if MONTHS.iter().any(|month| who.starts_with(month)) {
        return None;
    }
    let (who, further) = names(who)?;
    Some((who, further, found.name("years")?.as_str()))
}

/// The first author and the other authors. A list of several names ends with "and" or "et al.".
fn names(who: &str) -> Option<(String, Further)> {
    let named = OTHERS.replace(who.trim(), "");
    let has_others = named.len() < who.trim().len();
    let mut parts: Vec<&str> = AND.split(&named).collect();
    let has_end = has_others || parts.len() > 1;
    let before_and = parts.remove(0);
    parts.splice(0..0, before_and.split(',').map(str::trim));
    if parts.len() > 1 && !has_end || !parts.iter().all(|part| is_name(part)) {
        return None;
    }
    let bare = |name: &&str| {
        let name = name.trim_end_matches('.');
        let own = name.strip_suffix("'s").or(name.strip_suffix("’s"));
        own.unwrap_or(name).to_owned()
    };
    let mut names: Vec<String> = parts.iter().map(bare).collect();
    let first = names.remove(0);
    let further = Further {
        names,
        has_others,
        letter: None,
    };
    Some((first, further))
}

/// Particles, then one to six words with capital letters.
fn is_name(name: &str) -> bool {
    let words = name.split_whitespace();
    let words: Vec<&str> = words.skip_while(|word| PARTICLES.contains(word)).collect();
    let is_word = |word: &&str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase)
            && word.chars().count() > 1
            && letters.all(|c| {
                c.is_alphabetic() || matches!(c, '\'' | '’' | '.' | '-' | '\u{300}'..='\u{36f}')
            })
    };
    (1..=6).contains(&words.len()) && words.iter().all(is_word)
}

/// `2016, 2017a, b` → a target for each.
fn each_year(who: &str, further: &Further, years: &str) -> Vec<CitationTarget> {
    let mut targets = Vec::new();
    let mut last = None;
    for word in years.split(|c: char| !c.is_ascii_alphanumeric()) {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let year = digits.parse::<i64>().ok().or(last);
        let Some(year) = year.filter(|_| !word.is_empty() && word != "and") else {
            continue;
        };
        last = Some(year);
        let further = Further {
            letter: word[digits.len()..].chars().next(),
            ..further.clone()
        };
        targets.push(CitationTarget::AuthorYear(who.to_owned(), year, further));
    }
    targets
}
