//! Author names: distinguishes persons from organisations, and finds the parts of a person's name.

/// A name, divided into parts if it has parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// `van der`: precedes the family name, and is ignored in sorting.
    pub(super) particle: Option<String>,
    /// The family name; for organisations, and for names without parts, the whole name.
    pub(super) family: String,
    /// `None` if the name has no parts.
    pub(super) given: Option<String>,
    /// `Jr.`, `III`.
    pub(super) suffix: Option<String>,
}

/// Words that never occur in a person's name: one of them makes the name an organisation. Lower
/// case.
const OF_ORGANISATIONS: &[&str] = &[
    "academy",
    "administration",
    "agency",
    "alliance",
    "assembly",
    "associates",
    "association",
    "authority",
    "authorities",
    "board",
    "bureau",
    "centers",
    "centres",
    "coalition",
    "collaboration",
    "collaborative",
    "collaborators",
    "commission",
    "committee",
    "company",
    "confederation",
    "conference",
    "consortium",
    "contributors",
    "corporation",
    "council",
    "department",
    "directorate",
    "division",
    "editors",
    "enterprise",
    "faculty",
    "federation",
    "forum",
    "foundation",
    "fund",
    "gesellschaft",
    "gmbh",
    "group",
    "hospital",
    "hospitals",
    "inc",
    "initiative",
    "institut",
    "institute",
    "institutes",
    "institution",
    "instituto",
    "investigators",
    "istituto",
    "laboratories",
    "laboratory",
    "limited",
    "llc",
    "ltd",
    "ministerium",
    "ministry",
    "nations",
    "network",
    "office",
    "organisation",
    "organization",
    "organizations",
    "panel",
    "partnership",
    "program",
    "programme",
    "project",
    "registry",
    "schools",
    "secretariat",
    "services",
    "societies",
    "society",
    "study",
    "survey",
    "team",
    "trial",
    "trialists",
    "trials",
    "trust",
    "universidad",
    "universidade",
    "universita",
    "università",
    "universitat",
    "universität",
    "universities",
    "university",
    "université",
    "verein",
    "writers",
];

/// Words of organisations that are also family names (William H. Press, Robert Service): they mark
/// an organisation if an acronym precedes, or two full words and no initial.
const OF_BOTH: &[&str] = &[
    "bank", "center", "centre", "church", "college", "lab", "press", "school", "service", "union",
    "house", "news", "times", "magazine",
];

/// Words that join the words of an organisation's name, but never those of a person's. As written.
const JOINING: &[&str] = &["of", "for", "the", "on", "&", "und", "für", "pour", "para"];

/// First words of organisations.
const LEADING: &[&str] = &[
    "american",
    "european",
    "federal",
    "international",
    "national",
    "united",
    "world",
];

/// Markers of an organisation in a script without spaces between words.
const OF_ORGANISATIONS_CJK: &[&str] = &[
    "大学",
    "大學",
    "研究所",
    "研究会",
    "研究院",
    "協会",
    "协会",
    "学会",
    "學會",
    "委員会",
    "委员会",
    "機構",
    "財団",
    "センター",
    "株式会社",
    "公司",
    "病院",
    "医院",
    "厚生労働省",
    "대학교",
    "연구소",
    "협회",
    "학회",
];

/// Lower-case words between given and family name.
const PARTICLES: &[&str] = &[
    "'t", "’t", "af", "al", "av", "bin", "bint", "da", "das", "de", "del", "della", "dem", "den",
    "der", "di", "do", "dos", "du", "el", "ibn", "la", "las", "le", "les", "lo", "los", "op",
    "ten", "ter", "van", "vom", "von", "zu", "zum", "zur",
];

/// Degrees and memberships, in capitals and without dots.
const DEGREES: &[&str] = &[
    "BA", "BM", "BS", "BSC", "BSN", "CBE", "DDS", "DMD", "DNP", "DO", "DPHIL", "DPT", "DRPH",
    "DSC", "DVM", "EDD", "FACC", "FACP", "FRCP", "FRCS", "FRS", "JD", "LLM", "MA", "MBA", "MBBS",
    "MBCHB", "MD", "MHS", "MPH", "MPHIL", "MRCP", "MS", "MSC", "MSN", "OBE", "PHARMD", "PHD",
    "PSYD", "RD", "RN", "SCD",
];

impl Name {
    /// `Byron, Ada`, `Ada Byron` and `Byron A` have parts; `WHO`, `山田太郎` and every organisation are
    /// kept whole.
    pub(super) fn parse(text: &str) -> Self {
        let words = text.split(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<&str> = words
            .filter(|word| !word.is_empty())
            .skip_while(|word| matches!(*word, "Dr" | "Dr." | "Prof" | "Prof."))
            .collect();
        let text = words.join(" ");
        let text = text.trim_end_matches([' ', ',', ';']).to_owned();
        if is_organisation(&words) {
            return Self::whole(text);
        }
        let (name, suffix) = without_degrees_and_suffix(&text);
        let mut parsed = match name.as_slice() {
            [only] => in_order(only),
            [family, given] => Some(inverted(family, given)),
            _ => None,
        }
        .unwrap_or_else(|| Self::whole(text));
        if parsed.given.is_some() {
            parsed.suffix = suffix;
        }
        parsed
    }

    fn whole(family: String) -> Self {
        Self {
            particle: None,
            family,
            given: None,
            suffix: None,
        }
    }

    fn person(particle: &[&str], family: &[&str], given: &[&str]) -> Self {
        Self {
            particle: (!particle.is_empty()).then(|| particle.join(" ")),
            family: family.join(" "),
            given: (!given.is_empty()).then(|| given.join(" ")),
            suffix: None,
        }
    }

    /// `van der Berg`: the family name with its particle.
    pub(super) fn full_family(&self) -> String {
        match &self.particle {
            Some(particle) => format!("{particle} {}", self.family),
            None => self.family.clone(),
        }
    }

    /// `Byron, Ada`; `Smith, John, Jr.`
    pub(super) fn inverted(&self) -> String {
        let mut name = self.full_family();
        for part in [&self.given, &self.suffix].into_iter().flatten() {
            name.push_str(", ");
            name.push_str(part);
        }
        name
    }
}

fn is_organisation(words: &[&str]) -> bool {
    let all = words.join(" ");
    if all.contains(['&', '(', '/']) || OF_ORGANISATIONS_CJK.iter().any(|w| all.contains(w)) {
        return true;
    }
    let plain: Vec<String> = words
        .iter()
        .map(|w| {
            w.trim_matches(|c: char| !c.is_alphanumeric())
                .to_lowercase()
        })
        .collect();
    let has = |list: &[&str], word: &str| list.contains(&word);
    // Programs that join names with "and" would read this as two names.
    let inside = words.get(1..words.len().saturating_sub(1)).unwrap_or(&[]);
    if inside
        .iter()
        .any(|w| has(JOINING, w) || w.eq_ignore_ascii_case("and"))
    {
        return true;
    }
    // At least two words: some persons have one of these as their only name.
    if words.len() < 2 {
        return false;
    }
    let numbered = words
        .iter()
        .any(|w| w.contains(|c: char| c.is_ascii_digit()) && suffix(w).is_none());
    let by_both = plain.last().is_some_and(|last| has(OF_BOTH, last)) && {
        let before = &words[..words.len() - 1];
        let acronym = before.iter().any(|w| {
            w.chars().count() >= 3 && w.chars().all(|c| c.is_ascii_uppercase() || c == '-')
        });
        let full = |w: &&str| w.chars().filter(|c| c.is_alphabetic()).count() > 1;
        acronym || (before.len() >= 2 && before.iter().all(full) && !all.contains(','))
    };
    // In the forms `Trial, Jean` and `Trial J` it is certainly a person's name.
    let initials = words.len() == 2
        && words[1].chars().count() <= 2
        && words[1].chars().all(char::is_uppercase);
    let unsure = usize::from(initials || words[0].ends_with(','));
    numbered
        || by_both
        || plain[unsure..].iter().any(|w| has(OF_ORGANISATIONS, w))
        || (has(LEADING, &plain[0]) && !all.contains(','))
}

/// The parts between commas without degrees, and the suffix from any position.
fn without_degrees_and_suffix(text: &str) -> (Vec<String>, Option<String>) {
    let parts = text.split([',', '、', '，']).map(str::trim);
    let mut parts: Vec<String> = parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    // In `Roe, MD` these are initials; in `Jane Roe, MD` they are not.
    let named =
        |parts: &[String]| parts.len() > 2 || parts.first().is_some_and(|p| names_in(p) > 1);
    while parts.len() > 1 && parts.last().is_some_and(|p| is_degrees(p)) && named(&parts) {
        parts.pop();
    }
    let mut found = None;
    if let Some(at) = parts.iter().skip(1).position(|part| suffix(part).is_some()) {
        found = suffix(&parts.remove(at + 1));
    }
    // Without a comma, two words are a family name and something else: `Smith III` may be initials.
    let alone = parts.len() == 1;
    for part in &mut parts {
        let words: Vec<&str> = part.split(' ').collect();
        let Some((last, before)) = words.split_last() else {
            continue;
        };
        let enough = before.len() >= if alone { 2 } else { 1 };
        let kept = before.join(" ");
        if enough && let Some(suffix) = suffix(last) {
            found.get_or_insert(suffix);
            *part = kept;
        } else if enough && last.contains(char::is_lowercase) && is_degrees(last) {
            // `Ada Byron PhD`; in capitals these may be initials.
            *part = kept;
        }
    }
    (parts, found)
}

/// Number of words of a name that are not particles.
fn names_in(part: &str) -> usize {
    part.split(' ').filter(|w| !PARTICLES.contains(w)).count()
}

fn is_degrees(part: &str) -> bool {
    part.split([' ', '-']).all(|word| {
        let letters: String = word.chars().filter(|c| *c != '.').collect();
        // Ma and Do are family names, MA and DO are degrees.
        let capitals = letters.chars().filter(char::is_ascii_uppercase).count();
        capitals >= 2 && DEGREES.contains(&letters.to_uppercase().as_str())
    })
}

/// `Jr.` and similar suffixes, normalised.
fn suffix(word: &str) -> Option<String> {
    match word.trim_end_matches('.') {
        "Jr" | "jr" | "JR" | "Junior" => Some("Jr.".to_owned()),
        "Sr" | "sr" | "SR" | "Senior" => Some("Sr.".to_owned()),
        roman @ ("II" | "III" | "IV") => Some(roman.to_owned()),
        number @ ("2nd" | "3rd" | "4th") => Some(number.to_owned()),
        _ => None,
    }
}

/// `van der Berg, Jan`; also `Beethoven, Ludwig van`.
fn inverted(family: &str, given: &str) -> Name {
    let mut family: Vec<&str> = family.split(' ').collect();
    let mut given: Vec<&str> = given.split(' ').collect();
    let leading = leading_particles(&family);
    let mut particle: Vec<&str> = family.drain(..leading).collect();
    while given.len() > 1
        && particle.is_empty()
        && given.last().is_some_and(|w| PARTICLES.contains(w))
    {
        let first = given.iter().rposition(|w| !PARTICLES.contains(w));
        particle = given.split_off(first.map_or(1, |at| at + 1));
    }
    Name::person(&particle, &family, &given)
}

/// Number of words at the start that are particles; the last word never is one. A capitalised word
/// is a particle only if another one follows: `Van de Werf`, not `Van Buren`.
fn leading_particles(words: &[&str]) -> usize {
    let last = words.len().saturating_sub(1);
    let is_particle = |at: &usize| {
        PARTICLES.contains(&words[*at])
            || (at + 1 < last
                && is_capital_particle(words[*at])
                && PARTICLES.contains(&words[at + 1]))
    };
    (0..last).take_while(is_particle).count()
}

fn is_capital_particle(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && PARTICLES.contains(&word.to_lowercase().as_str())
}

/// A name without a comma: `Jan van der Berg`, `van Gils CH`, `鈴木 花子`. `None` if it has no parts.
fn in_order(text: &str) -> Option<Name> {
    let words: Vec<&str> = text.split(' ').collect();
    let (last, before) = words.split_last()?;
    if before.is_empty() {
        return None;
    }
    if words.iter().all(|w| w.chars().all(is_east_asian)) {
        // Foreign names are written in Katakana, in their original order.
        return match words.as_slice() {
            [given, family] if text.chars().all(|c| is_katakana(c) || c == ' ') => {
                Some(Name::person(&[], &[family], &[given]))
            }
            [family, given] => Some(Name::person(&[], &[family], &[given])),
            _ => None,
        };
    }
    if let Some(start) = initials_after(&words) {
        let leading = leading_particles(&words[..start]);
        let (particle, family) = words[..start].split_at(leading);
        return Some(Name::person(particle, family, &words[start..]));
    }
    let from = before
        .iter()
        .skip(1)
        .position(|w| PARTICLES.contains(w))
        .map(|at| at + 1);
    if let Some(mut from) = from {
        // `Frans Van de Werf`
        if from > 1 && is_capital_particle(words[from - 1]) {
            from -= 1;
        }
        let to = from + leading_particles(&words[from..]);
        return Some(Name::person(&words[from..to], &words[to..], &words[..from]));
    }
    if PARTICLES.contains(&words[0]) {
        return None;
    }
    // `José Ortega y Gasset`: the last three words are one name.
    let joined = words.len() > 3 && words[words.len() - 2] == "y";
    let family = if joined {
        &words[words.len() - 3..]
    } else {
        std::slice::from_ref(last)
    };
    Some(Name::person(
        &[],
        family,
        &words[..words.len() - family.len()],
    ))
}

/// The index of the initials in `Smith J A`, `van Gils CH`, `Li X`, a form that catalogues use.
fn initials_after(words: &[&str]) -> Option<usize> {
    let is_initials = |word: &&str| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        (1..=3).contains(&letters)
            && word
                .chars()
                .all(|c| c.is_uppercase() || c == '.' || c == '-')
    };
    let start = words.len() - words.iter().rev().take_while(|w| is_initials(w)).count();
    let (family, initials) = words.split_at(start);
    match family {
        // `LI X` and `X LI`: the longer of the two is the family name.
        [] => (words[0].len() > 1 && words[1..].iter().all(|w| w.len() == 1)).then_some(1),
        _ => (!initials.is_empty() && !family.iter().any(is_initials)).then_some(start),
    }
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30A0}'..='\u{30FF}')
}

fn is_east_asian(c: char) -> bool {
    is_katakana(c)
        || matches!(c, '\u{3005}' | '\u{3041}'..='\u{309F}' | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}')
}

#[cfg(test)]
mod tests;
