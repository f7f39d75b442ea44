//! Limits the evidence page to a number of bytes: the most important content is kept, and the page
//! says what was left out.

use super::evidence::{EvidencePage, LeftOut, PageEvidence, PageSource};
use serde::Serialize;

/// Maximum number of passages per claim.
const PASSAGES: usize = 60;
/// Maximum lengths, in characters, of a quote, of its context on each side, and of every other
/// text.
const QUOTE: usize = 3000;
const CONTEXT: usize = 400;
const TEXT: usize = 1000;
const AUTHORS: usize = 30;
const CITATIONS: usize = 5000;

/// Which rows are kept, and how many bytes they take.
struct Kept {
    claims: Vec<bool>,
    sources: Vec<bool>,
    evidence: Vec<bool>,
    used: usize,
}

/// The page in about `max_bytes` of JSON. Claims that a person corrected are kept, then those with
/// the most passages for or against them; for each claim, the passages that take a side are kept,
/// most certain first. Long texts are cut.
pub(crate) fn bounded(mut page: EvidencePage, max_bytes: usize) -> EvidencePage {
    shorten(&mut page);
    let kept = choose(&page, max_bytes);
    let left_out = LeftOut {
        claims: kept.claims.iter().filter(|kept| !**kept).count(),
        passages: kept.evidence.iter().filter(|kept| !**kept).count(),
    };
    let claims = places(&kept.claims);
    let sources = places(&kept.sources);
    keep(&mut page.claims, &kept.claims);
    keep(&mut page.sources, &kept.sources);
    keep(&mut page.evidence, &kept.evidence);
    for e in &mut page.evidence {
        (e.claim, e.source) = (claims[e.claim], sources[e.source]);
    }
    page.citations
        .retain(|(from, to)| kept.sources[*from] && kept.sources[*to]);
    page.citations.truncate(CITATIONS);
    for (from, to) in &mut page.citations {
        (*from, *to) = (sources[*from], sources[*to]);
    }
    page.left_out = (left_out.claims + left_out.passages > 0).then_some(left_out);
    page
}

fn choose(page: &EvidencePage, max_bytes: usize) -> Kept {
    let mut kept = Kept {
        claims: vec![false; page.claims.len()],
        sources: vec![false; page.sources.len()],
        evidence: vec![false; page.evidence.len()],
        used: 0,
    };
    let passages = passages(page);
    let mut order: Vec<usize> = (0..page.claims.len()).collect();
    order.sort_by_key(|at| {
        let (claim, own) = (&page.claims[*at], &passages[*at]);
        // A claim whose verdict was just corrected must not vanish from the page.
        let is_corrected = own.first().is_some_and(|e| page.evidence[*e].by_human);
        std::cmp::Reverse((is_corrected, claim.supports + claim.refutes, own.len()))
    });
    for claim in order {
        let size = size_of(&page.claims[claim]);
        if kept.used + size > max_bytes {
            break;
        }
        kept.claims[claim] = true;
        kept.used += size;
        for at in &passages[claim] {
            kept.take_passage(page, *at, max_bytes);
        }
    }
    for (at, source) in page.sources.iter().enumerate() {
        if !kept.sources[at] && kept.used + size_of(source) <= max_bytes {
            kept.used += size_of(source);
            kept.sources[at] = true;
        }
    }
    kept
}

impl Kept {
    fn take_passage(&mut self, page: &EvidencePage, at: usize, max_bytes: usize) {
        let e = &page.evidence[at];
        let with_source = match self.sources[e.source] {
            true => 0,
            false => size_of(&page.sources[e.source]),
        };
        let size = size_of(e) + with_source;
        if self.used + size <= max_bytes {
            self.used += size;
            self.evidence[at] = true;
            self.sources[e.source] = true;
        }
    }
}

/// The passages of each claim that may be kept, in order of priority.
fn passages(page: &EvidencePage) -> Vec<Vec<usize>> {
    let mut of = vec![Vec::new(); page.claims.len()];
    for (at, e) in page.evidence.iter().enumerate() {
        of[e.claim].push(at);
    }
    let rank = |at: &usize| {
        let e: &PageEvidence = &page.evidence[*at];
        let contradicting = page.claims[e.claim].contradicting_passages.iter();
        let class = match e.relation.as_str() {
            _ if e.by_human => 0,
            _ if contradicting.flatten().any(|id| *id == e.id) => 1,
            "supports" | "refutes" => 2,
            "origin" => 3,
            _ => 4,
        };
        (class, -e.confidence.unwrap_or(0.0))
    };
    for list in &mut of {
        list.sort_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        list.truncate(PASSAGES);
    }
    of
}

/// The new index of each row that is kept.
fn places(kept: &[bool]) -> Vec<usize> {
    let mut next = 0;
    kept.iter()
        .map(|kept| {
            next += usize::from(*kept);
            next.saturating_sub(1)
        })
        .collect()
}

fn keep<T>(rows: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    rows.retain(|_| kept.next().copied().unwrap_or(false));
}

fn shorten(page: &mut EvidencePage) {
    cut(&mut page.hypothesis, TEXT);
    for claim in &mut page.claims {
        cut(&mut claim.text, TEXT);
        claim
            .preceded_by
            .iter_mut()
            .for_each(|text| cut(text, TEXT));
    }
    for source in &mut page.sources {
        shorten_source(source);
    }
    for e in &mut page.evidence {
        cut(&mut e.quote, QUOTE);
        cut(&mut e.after, CONTEXT);
        e.heading.iter_mut().for_each(|text| cut(text, TEXT));
        let before = e.before.chars().count();
        if before > CONTEXT + 1 {
            e.before = e.before.chars().skip(before - CONTEXT).collect();
        }
    }
}

fn shorten_source(source: &mut PageSource) {
    cut(&mut source.title, TEXT);
    source.authors.truncate(AUTHORS);
    source.authors.iter_mut().for_each(|name| cut(name, 100));
    // A shortened address would point elsewhere.
    source
        .url
        .take_if(|url| url.chars().nth(2 * TEXT).is_some());
    source
        .doi
        .take_if(|doi| doi.chars().nth(2 * TEXT).is_some());
    for text in [
        &mut source.venue,
        &mut source.file,
        &mut source.superseded_by,
        &mut source.superseded_quote,
    ] {
        text.iter_mut().for_each(|text| cut(text, TEXT));
    }
}

fn cut(text: &mut String, characters: usize) {
    if let Some((end, _)) = text.char_indices().nth(characters) {
        text.truncate(end);
        text.push('…');
    }
}

fn size_of(row: &impl Serialize) -> usize {
    serde_json::to_string(row).map_or(0, |json| json.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::super::evidence::PageClaim;
    use super::*;

    fn page(claims: usize, passages: usize) -> EvidencePage {
        let claim = |at: usize| PageClaim {
            id: format!("claim_{at}"),
            text: format!("Claim {at}."),
            stance: None,
            stance_confidence: None,
            preceded_by: None,
            contradiction_confidence: None,
            contradicting_passages: None,
            supports: at,
            refutes: 0,
            neutral: 0,
            mean: 0.5,
            sd: 0.2,
        };
        let passage = |at: usize| PageEvidence {
            id: format!("edge_{at}"),
            claim: at % claims,
            source: at % (claims + 1),
            relation: if at.is_multiple_of(2) {
                "neutral"
            } else {
                "supports"
            }
            .to_owned(),
            confidence: Some(0.5),
            by_human: false,
            is_outdated: false,
            heading: None,
            before: "b".repeat(500),
            quote: "語".repeat(4000),
            after: "a".repeat(500),
        };
        let source = |at: usize| PageSource {
            id: format!("source_{at}"),
            title: format!("Source {at}"),
            authors: vec!["A".to_owned(); 40],
            year: None,
            venue: None,
            doi: None,
            pmid: None,
            url: Some("https://a.org/".to_owned() + &"x".repeat(3000)),
            file: None,
            is_publication: false,
            is_retracted: false,
            superseded_by: None,
            superseded_quote: None,
            was_read: true,
            accessed: None,
        };
        EvidencePage {
            task_id: "task_1".to_owned(),
            hypothesis: "Tea is good.".to_owned(),
            made_by: Vec::new(),
            claims: (0..claims).map(claim).collect(),
            sources: (0..=claims).map(source).collect(),
            evidence: (0..passages).map(passage).collect(),
            citations: (0..claims).map(|at| (at, at + 1)).collect(),
            left_out: None,
        }
    }

    #[test]
    fn a_small_page_stays_whole_with_shorter_texts() {
        let small = bounded(page(3, 6), 1 << 20);
        assert_eq!(small.left_out, None);
        assert_eq!((small.claims.len(), small.evidence.len()), (3, 6));
        let e = &small.evidence[0];
        assert_eq!(e.quote.chars().count(), QUOTE + 1);
        assert_eq!(e.before.len(), CONTEXT);
        assert_eq!(small.sources[0].authors.len(), AUTHORS);
        assert_eq!(small.sources[0].url, None, "a cut address leads elsewhere");
    }

    #[test]
    fn a_large_page_keeps_what_takes_a_side_and_says_what_it_lost() {
        let whole = page(7, 2000);
        let small = bounded(whole.clone(), 300_000);
        assert!(size_of(&small) <= 300_000 + 2000, "{}", size_of(&small));
        let left_out = small.left_out.expect("something is left out");
        assert_eq!(left_out.claims, whole.claims.len() - small.claims.len());
        assert_eq!(
            left_out.passages,
            whole.evidence.len() - small.evidence.len()
        );
        // The claim with the most passages that take a side comes first, and keeps those passages.
        let best = small.claims.iter().position(|c| c.id == "claim_6");
        let best = best.expect("the best claim is kept");
        let of_best = small.evidence.iter().filter(|e| e.claim == best);
        assert!(of_best.clone().count() > 20);
        for e in of_best {
            assert_eq!(e.relation, "supports");
        }
        for e in &small.evidence {
            let old = whole
                .evidence
                .iter()
                .find(|old| old.id == e.id)
                .expect("known");
            assert_eq!(small.claims[e.claim].id, whole.claims[old.claim].id);
            assert_eq!(
                small.sources[e.source].title,
                whole.sources[old.source].title
            );
        }
        for (from, to) in &small.citations {
            assert!(*from < small.sources.len() && *to < small.sources.len());
        }
    }
}
