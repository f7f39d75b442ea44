//! Which drug a text speaks of, and whether two texts speak of the same one.
//!
//! Drug names are recognised by the stems that the International Nonproprietary Names carry: a
//! word in -gliptin is a DPP-4 inhibitor. A statement on one member of a class decides nothing
//! about another member; a statement on a class speaks of its members and the other way round.

use super::lexicon::Table;
use super::words::{Kind, Token};
use std::sync::LazyLock;

/// A class of drugs, named by the ending of its members' names.
pub(crate) type DrugClass = &'static str;

/// A drug or a drug class that a text names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mention {
    /// The class.
    pub(crate) class: DrugClass,
    /// The member's name; `None` where the text names the class.
    pub(crate) member: Option<String>,
    /// Index of the token.
    pub(crate) at: usize,
}

/// How the subject of one text relates to that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectMatch {
    /// The hypothesis names no drug.
    Open,
    /// Both name the same drug or the same class.
    Same,
    /// One names the class, the other a member.
    Kin,
    /// The text names no drug.
    Silent,
    /// The text names other drugs only.
    Other,
}

/// Endings of English names, with the class and the shortest name that counts.
const ENDINGS: &[(&str, DrugClass, usize)] = &[
    ("gliptin", "gliptin", 9),
    ("gliflozin", "gliflozin", 11),
    ("statin", "statin", 9),
    ("sartan", "sartan", 8),
    ("april", "pril", 7),
    ("opril", "pril", 7),
    ("glutide", "glutide", 9),
    ("natide", "glutide", 8),
    ("glitazone", "glitazone", 11),
    ("dipine", "dipine", 9),
    ("prazole", "prazole", 9),
    ("alolol", "olol", 7),
    ("prolol", "olol", 8),
    ("nolol", "olol", 7),
    ("dronate", "dronate", 9),
    ("dronic", "dronate", 9),
    ("tinib", "tinib", 7),
    ("xaban", "xaban", 7),
    ("parin", "parin", 7),
    ("floxacin", "floxacin", 10),
    ("cillin", "cillin", 8),
    ("cycline", "cycline", 9),
    ("thromycin", "thromycin", 11),
    ("triptan", "triptan", 9),
    ("setron", "setron", 8),
    ("oxetine", "oxetine", 9),
    ("azepam", "azepam", 8),
    ("lukast", "lukast", 8),
];

/// Words with such an ending that are no member of its class.
const NOT_DRUGS: &[&str] = &[
    "somatostatin",
    "nystatin",
    "cystatin",
    "angiostatin",
    "endostatin",
    "myostatin",
    "follistatin",
    "pentostatin",
    "cilastatin",
    "kallistatin",
    "heparin",
    "becaplermin",
];

/// Endings of Japanese names.
const JAPANESE_ENDINGS: &[(&str, DrugClass)] = &[
    ("グリプチン", "gliptin"),
    ("グリフロジン", "gliflozin"),
    ("スタチン", "statin"),
    ("サルタン", "sartan"),
    ("プリル", "pril"),
    ("グルチド", "glutide"),
    ("グリタゾン", "glitazone"),
    ("ジピン", "dipine"),
    ("プラゾール", "prazole"),
    ("ロール", "olol"),
    ("キサバン", "xaban"),
    ("チニブ", "tinib"),
];

/// Names of classes, and of members without a telling ending.
const NAMES: &[(&str, DrugClass, bool)] = &[
    ("dpp4", "gliptin", false),
    ("dpp4i", "gliptin", false),
    ("dpp4is", "gliptin", false),
    ("dppiv", "gliptin", false),
    ("dipeptidyl", "gliptin", false),
    ("gliptin", "gliptin", false),
    ("gliptins", "gliptin", false),
    ("グリプチン", "gliptin", false),
    // What acts through incretins is these inhibitors and the GLP-1 agonists together.
    ("incretin", "gliptin", false),
    ("インクレチン", "gliptin", false),
    ("sglt2", "gliflozin", false),
    ("sglt2i", "gliflozin", false),
    ("sglt", "gliflozin", false),
    ("gliflozin", "gliflozin", false),
    ("gliflozins", "gliflozin", false),
    ("statin", "statin", false),
    ("statins", "statin", false),
    ("スタチン", "statin", false),
    ("sartans", "sartan", false),
    ("arb", "sartan", false),
    ("arbs", "sartan", false),
    ("acei", "pril", false),
    ("glp1", "glutide", false),
    ("glp1ra", "glutide", false),
    ("exenatide", "glutide", true),
    ("thiazolidinedione", "glitazone", false),
    ("thiazolidinediones", "glitazone", false),
    ("glitazones", "glitazone", false),
    ("tzd", "glitazone", false),
    ("tzds", "glitazone", false),
    ("sulfonylurea", "sulfonylurea", false),
    ("sulfonylureas", "sulfonylurea", false),
    ("sulphonylurea", "sulfonylurea", false),
    ("sulphonylureas", "sulfonylurea", false),
    ("スルホニル", "sulfonylurea", false),
    ("glimepiride", "sulfonylurea", true),
    ("glipizide", "sulfonylurea", true),
    ("glyburide", "sulfonylurea", true),
    ("glibenclamide", "sulfonylurea", true),
    ("gliclazide", "sulfonylurea", true),
    ("グリメピリド", "sulfonylurea", true),
    ("metformin", "metformin", true),
    ("メトホルミン", "metformin", true),
    ("aspirin", "aspirin", true),
    ("アスピリン", "aspirin", true),
    ("warfarin", "warfarin", true),
    ("bisphosphonate", "dronate", false),
    ("bisphosphonates", "dronate", false),
    ("fluoroquinolone", "floxacin", false),
    ("fluoroquinolones", "floxacin", false),
    ("benzodiazepine", "azepam", false),
    ("benzodiazepines", "azepam", false),
];

static BY_NAME: LazyLock<Table<&'static str, (DrugClass, bool)>> = LazyLock::new(|| {
    NAMES
        .iter()
        .map(|(name, class, member)| (*name, (*class, *member)))
        .collect()
});

/// The drugs and drug classes of a text, in order.
pub(crate) fn mentions(tokens: &[Token]) -> Vec<Mention> {
    tokens
        .iter()
        .enumerate()
        .filter_map(|(at, token)| mention(tokens, at, token))
        .collect()
}

fn mention(tokens: &[Token], at: usize, token: &Token) -> Option<Mention> {
    if matches!(token.kind, Kind::Punct | Kind::Number) {
        return None;
    }
    if let Some((class, is_member)) = BY_NAME.get(token.lower.as_str()) {
        return Some(Mention {
            class,
            member: is_member.then(|| token.lower.clone()),
            at,
        });
    }
    if token.kind == Kind::Cjk {
        return JAPANESE_ENDINGS
            .iter()
            .find(|(ending, _)| token.lower.ends_with(ending) && token.lower != *ending)
            .map(|(_, class)| Mention {
                class,
                member: Some(token.lower.clone()),
                at,
            });
    }
    if let Some(class) = class_phrase(tokens, at) {
        return Some(Mention {
            class,
            member: None,
            at,
        });
    }
    let singular = token.lower.as_str();
    if singular.len() < 7 || NOT_DRUGS.contains(&singular) {
        return None;
    }
    ENDINGS
        .iter()
        .find(|(ending, _, shortest)| singular.len() >= *shortest && singular.ends_with(ending))
        .map(|(_, class, _)| Mention {
            class,
            member: Some(singular.to_owned()),
            at,
        })
}

/// Classes named by more than one word.
fn class_phrase(tokens: &[Token], at: usize) -> Option<DrugClass> {
    let next = |i: usize| tokens.get(at + i).map_or("", |t| t.lower.as_str());
    match tokens[at].lower.as_str() {
        "ace" if next(1).starts_with("inhibitor") => Some("pril"),
        "angiotensin" if next(1) == "receptor" => Some("sartan"),
        "angiotensin" if next(1) == "converting" => Some("pril"),
        "angiotensin" if next(1).starts_with('-') && next(2) == "converting" => Some("pril"),
        "beta" if next(1).starts_with("blocker") || next(2).starts_with("blocker") => Some("olol"),
        "glucagon" => Some("glutide"),
        "sodium" if next(1).starts_with("glucose") || next(2).starts_with("glucose") => {
            Some("gliflozin")
        }
        "proton" if next(1) == "pump" || next(2) == "pump" => Some("prazole"),
        _ => None,
    }
}

/// How the drugs that a text speaks of relate to those of a hypothesis.
pub(crate) fn compare(hypothesis: &[&Mention], text: &[&Mention]) -> SubjectMatch {
    if hypothesis.is_empty() {
        return SubjectMatch::Open;
    }
    if text.is_empty() {
        return SubjectMatch::Silent;
    }
    let mut best = SubjectMatch::Other;
    for wanted in hypothesis {
        for found in text.iter().filter(|m| m.class == wanted.class) {
            match (&wanted.member, &found.member) {
                (None, None) => return SubjectMatch::Same,
                (Some(a), Some(b)) if a == b => return SubjectMatch::Same,
                (None, Some(_)) | (Some(_), None) => best = SubjectMatch::Kin,
                _ => {}
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::words::tokenize;
    use super::*;

    #[test]
    fn names_drugs_by_their_stems() {
        type Case = (&'static str, &'static [(DrugClass, Option<&'static str>)]);
        let cases: &[Case] = &[
            (
                "saxagliptin or placebo",
                &[("gliptin", Some("saxagliptin"))],
            ),
            ("DPP-4 inhibitors", &[("gliptin", None)]),
            ("dipeptidyl peptidase 4 inhibitor", &[("gliptin", None)]),
            ("DPP-4阻害薬", &[("gliptin", None)]),
            ("リナグリプチン", &[("gliptin", Some("リナグリプチン"))]),
            (
                "atorvastatin and losartan",
                &[
                    ("statin", Some("atorvastatin")),
                    ("sartan", Some("losartan")),
                ],
            ),
            ("somatostatin, nystatin", &[]),
            ("ACE inhibitors", &[("pril", None)]),
            ("patients with diabetes in April", &[]),
        ];
        for (text, expected) in cases {
            let found = mentions(&tokenize(text));
            let found: Vec<_> = found
                .iter()
                .map(|m| (m.class, m.member.as_deref()))
                .collect();
            assert_eq!(&found, expected, "{text}");
        }
    }

    #[test]
    fn members_of_one_class_are_not_one_drug() {
        let cases = [
            ("saxagliptin", "saxagliptin", SubjectMatch::Same),
            ("saxagliptin", "sitagliptin", SubjectMatch::Other),
            ("saxagliptin", "DPP-4 inhibitors", SubjectMatch::Kin),
            ("DPP-4 inhibitors", "sitagliptin", SubjectMatch::Kin),
            ("DPP-4 inhibitors", "gliptins", SubjectMatch::Same),
            ("DPP-4 inhibitors", "empagliflozin", SubjectMatch::Other),
            ("DPP-4 inhibitors", "the drug", SubjectMatch::Silent),
            ("coffee", "empagliflozin", SubjectMatch::Open),
        ];
        for (hypothesis, text, expected) in cases {
            let (a, b) = (mentions(&tokenize(hypothesis)), mentions(&tokenize(text)));
            let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
            assert_eq!(compare(&a, &b), expected, "{hypothesis} / {text}");
        }
    }
}
