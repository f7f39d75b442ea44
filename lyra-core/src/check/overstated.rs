//! Finds qualifications of a source that a sentence omits: doubt, association, animals, limits.
//!
//! A stance judge reports agreement when a source says "may" and a draft does not. The words that
//! limit a statement are few, so they are compared as words.

use crate::store::text::ranking_terms;
use regex::Regex;
use std::collections::HashSet;

pattern!(
    DOUBT,
    r"(?i)\b(?:(?-i:may)|might|could|can (?:help|contribute)|possibl[ey]|perhaps|potential(?:ly)?|probabl[ey]|suggest(?:s|ed|ing|ive)?|appear(?:s|ed|ing)?|seem(?:s|ed|ingly)?|hypothes[ei]s|hypothesi[sz]ed|preliminary|pilot|exploratory|speculat\w+|trend(?:ed)? (?:to|toward)\w*|tend(?:s|ed)? to|unclear|uncertain|tentative(?:ly)?|reportedly|alleged(?:ly)?|claims?|thought to|if confirmed|remains? to be|further (?:research|studies|work)|not (?:yet )?(?:proven|established|conclusive)|limited evidence|some evidence|plans? to|proposed|hopes?|aims?)\b"
);
pattern!(
    CLAUSE,
    r"[,;:]\s|\s(?:but|although|though|whereas|while|because|since)\s"
);
pattern!(
    ASSOCIATION,
    r"(?i)\b(?:associat(?:ed|ion|ions)|correlat\w+|linked|links?|relat(?:ed|ion|ionship)|predict(?:s|ed|or|ors|ive)?|risk factors?|observational|cohort|co-?occur\w*|coincid\w+|cross-sectional)\b"
);
pattern!(
    CAUSE,
    r"(?i)\b(?:caus(?:e|es|ed|al|ally|ing)|lead(?:s|ing)? to|led to|result(?:s|ed)? in|produc(?:e|es|ed)|prevent(?:s|ed|ing)?|protect(?:s|ed|ing)?|cur(?:e|es|ed|ing)|reduc(?:e|es|ed|ing)|increas(?:e|es|ed|ing)|lower(?:s|ed|ing)?|rais(?:e|es|ed|ing)|improv(?:e|es|ed|ing)|worsen(?:s|ed|ing)?|boost(?:s|ed|ing)?|driv(?:e|es|en|ing)|drove|trigger(?:s|ed|ing)?|induc(?:e|es|ed|ing)|mak(?:e|es|ing)|made|because|due to|thanks to|responsible for|brings? about|determin(?:e|es|ed))\b"
);
pattern!(
    NOT_PEOPLE,
    r"(?i)\b(?:mice|mouse|murine|rats?|rodents?|rabbits?|zebrafish|drosophila|yeast|c\. ?elegans|in vitro|ex vivo|cell (?:lines?|cultures?)|cultured cells|macaques?|monkeys?|primates|pigs?|swine|porcine|dogs?|canine|animal models?|animals|nematodes?|worms|fruit ?flies|xenografts?|organoids?|simulations?|simulated|in silico)\b"
);
pattern!(
    PEOPLE,
    r"(?i)\b(?:patients?|people|persons?|humans?|adults?|men|women|children|individuals?|participants|population)\b"
);
pattern!(
    ABSOLUTE,
    r"(?i)\b(?:all|every|everyone|everybody|everywhere|always|never|none|no one|nobody|entirely|completely|totally|fully|guarantee[sd]?|prove[sdn]?|proof|definitive(?:ly)?|undeniabl[ey]|certainly|conclusive(?:ly)?|without exception|invariably|universal(?:ly)?|any|only|solely|eliminat(?:e|es|ed|ing)|unquestionabl[ey]|undoubtedly|beyond doubt|must|establish(?:es|ed)? that|confirm(?:s|ed)? (?:that|the|its|their|it|an?|how)|demonstrates? conclusively|settled)\b"
);
// "Not all" and "not at all" do not mean "all", but "in all" counts.
pattern!(
    NO_ABSOLUTE,
    r"(?i)(?:\b(?:not|cannot|never|nor|neither|without|hardly|rarely)|n['’]t)(?: \w+){0,2}? (?:all|every|everyone|everywhere|always|entirely|completely|totally|fully|any|only|certainly|universally)\b|\b(?:at|in|after|above|first of|most of) all(?:[.,;:)]|$)|\ball (?:but|in all)\b|\bif any\b|\bthan any\b"
);
// "Associated with a reduced risk" does not name a cause.
pattern!(
    ASSOCIATED_WITH,
    r"(?i)\b(?:associat(?:ed|ions?)|correlat(?:es?|ed|ions?)|linked|related|relation(?:ship)?|predict(?:s|ed|ors?|ive)?)(?: (?:with|to|of|between))?(?: (?:an?|the))?(?: \w+ly)? \w+"
);
// "Costs increased by 5%", "prices were lowered in 2019": these name no agent.
pattern!(
    BY_ITSELF,
    r"(?i)^(?:$|[.,;:)]|\s(?:by (?:about |around |nearly |almost |over |more than |less than )?[\d$€£]|from|to|in|since|over|during|after|between|and|at|on|with|among)\b)"
);
// A randomised trial may speak of association and still show a cause.
pattern!(
    RANDOMISED,
    r"(?i)\b(?:randomi[sz]ed|randomly|at random|placebo)\b"
);
pattern!(
    LIMITED,
    r"(?i)\b(?:some|several|many|most|a few|few|partly|partially|in part|partial|subgroups?|subsets?|among (?:those|women|men|patients)|in a (?:small|single)|sometimes|often|occasionally|usually|generally|typically|certain|nearly|almost|mostly|largely|approximately|about|half|majority|minority|modest(?:ly)?|slight(?:ly)?|small|one of)\b"
);

/// What the sentence omits from its source's words, as the end of "the source …".
///
/// `around` are the title of the source and the sentence before.
pub(super) fn lost(claim: &str, evidence: &str, around: &str) -> Option<String> {
    let word = |pattern: &Regex, text: &str| pattern.find(text).map(|m| m.as_str().to_lowercase());
    if let Some(doubt) = word(&DOUBT, &speaking_to(claim, evidence))
        && !DOUBT.is_match(claim)
        && !contains(claim, &doubt)
    {
        return Some(format!("says {doubt:?}; the sentence states it as certain"));
    }
    if let Some(absolute) = word(&ABSOLUTE, &NO_ABSOLUTE.replace_all(claim, " "))
        && !ABSOLUTE.is_match(evidence)
    {
        let limit = word(&LIMITED, evidence).map(|limit| format!(" but {limit:?}"));
        let limit = limit.unwrap_or_default();
        return Some(format!("does not say {absolute:?}{limit}"));
    }
    if let Some(association) = word(&ASSOCIATION, evidence)
        && names_cause(claim)
        && !CAUSE.is_match(&ASSOCIATED_WITH.replace_all(evidence, " "))
        && !ASSOCIATION.is_match(claim)
        && !RANDOMISED.is_match(evidence)
    {
        return Some(format!("says {association:?}; the sentence names a cause"));
    }
    let told = format!("{around} {evidence}");
    if let Some(subjects) = word(&NOT_PEOPLE, &told)
        && !NOT_PEOPLE.is_match(claim)
        && (PEOPLE.is_match(claim) || NOT_PEOPLE.is_match(evidence))
        && !PEOPLE.is_match(evidence)
    {
        return Some(format!(
            "is about {subjects:?}; the sentence does not say so"
        ));
    }
    None
}

/// The clauses of a source's sentence that are about the claim. Doubt in another clause does not apply.
fn speaking_to(claim: &str, evidence: &str) -> String {
    let wanted: HashSet<String> = ranking_terms(claim).into_iter().collect();
    let shared = |clause: &str| {
        let terms: HashSet<String> = ranking_terms(clause).into_iter().collect();
        wanted.intersection(&terms).count()
    };
    let clauses: Vec<(usize, &str)> = CLAUSE
        .split(evidence)
        .map(|clause| (shared(clause), clause))
        .collect();
    let most = clauses.iter().map(|(shared, _)| *shared).max().unwrap_or(0);
    let kept = clauses.into_iter().filter(|(shared, _)| 2 * shared >= most);
    kept.map(|(_, clause)| clause)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Whether a text says that one thing causes another, not only that something changes.
fn names_cause(text: &str) -> bool {
    let mut hits = CAUSE.find_iter(text);
    hits.any(|hit| !BY_ITSELF.is_match(&text[hit.end()..]))
}

fn contains(claim: &str, word: &str) -> bool {
    claim.to_lowercase().contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_named() {
        for (claim, evidence, title, said) in [
            (
                "Tea lowers stress.",
                "Tea may lower stress.",
                "",
                Some("may"),
            ),
            (
                "Tea reduces stress.",
                "Tea was associated with less stress.",
                "",
                Some("associated"),
            ),
            (
                "Tea lowers stress in people.",
                "Tea lowered stress.",
                "Tea in mice",
                Some("mice"),
            ),
            (
                "Tea helps everyone.",
                "Tea helped some of them.",
                "",
                Some("everyone"),
            ),
            ("Tea may lower stress.", "Tea may lower stress.", "", None),
            (
                "Tea lowers stress.",
                "Tea lowered stress, which may please tea growers.",
                "",
                None,
            ),
            (
                "Sales of tea rose.",
                "In May 2019 sales of tea rose.",
                "",
                None,
            ),
            ("Tea did not help at all.", "Tea did not help.", "", None),
            (
                "Not all nurses slept well.",
                "Some nurses slept badly.",
                "",
                None,
            ),
            ("Certain teas help.", "Green tea helps.", "", None),
            (
                "Tea was established in China in 1950.",
                "Tea was founded there in 1950.",
                "",
                None,
            ),
            (
                "Tea reduces stress.",
                "Tea was associated with reduced stress.",
                "",
                Some("associated"),
            ),
            (
                "Costs increased by 5%.",
                "The related costs went up by 5%.",
                "",
                None,
            ),
            (
                "In mice, tea lowers stress.",
                "Tea lowered stress.",
                "Tea in mice",
                None,
            ),
            (
                "Tea is linked to less stress.",
                "Tea was associated with less stress.",
                "",
                None,
            ),
        ] {
            let found = lost(claim, evidence, title);
            assert_eq!(found.is_some(), said.is_some(), "{claim}: {found:?}");
            if let (Some(found), Some(said)) = (found, said) {
                assert!(found.contains(said), "{found}");
            }
        }
    }
}
