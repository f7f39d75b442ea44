//! Compares the sentences of a draft with the texts of the sources that they cite.

use super::decide::{ClaimDecision, Heard, decide};
use super::items::{Item, RULE};
use super::numbers::{Quantity, quantities};
use super::parts::in_parts;
use super::questions::Question;
use super::quotations::{diff, find, nearest, quotations};
use super::report::{CheckCode, Evidence, Finding};
use super::request::Check;
use super::source_text::{SourceSentence, SourceText};
use super::stance::{Judged, StatedClaim, candidates, together};
use crate::error::Result;
use crate::research::pipeline::Pipeline;
use std::sync::Arc;

/// Numbers are searched for in sentences at least this close to the claim, relative to the closest one.
const NEAR_ENOUGH: f64 = 0.5;

impl Check<'_> {
    /// Compares every assertion with what it cites.
    pub(super) async fn compare(
        &mut self,
        items: &mut [Item],
        claims: &[StatedClaim],
    ) -> Result<()> {
        let cited = claims.iter().filter(|claim| items[claim.item].is_cited());
        let cited: Vec<(StatedClaim, Vec<Arc<SourceText>>)> = cited
            .map(|claim| (claim.clone(), self.texts_of(&items[claim.item])))
            .collect();
        let pipeline = self.pipeline.clone();
        let questions = in_parts(cited.clone(), move |part| questions(&pipeline, part)).await?;
        let judge = &self.pipeline.judge;
        let heard = match judge.is_builtin() {
            true => self.hear_nearest_first(questions, items.len()).await?,
            false => self.hear(questions, items.len()).await?,
        };
        let judge = (judge.judge_id().to_owned(), judge.is_builtin());
        for (claim, texts) in cited {
            let item = &mut items[claim.item];
            let heard = &heard[claim.item];
            let found = findings(item, &claim.text, &texts, heard, (&judge.0, judge.1));
            item.findings.extend(found);
        }
        Ok(())
    }

    fn texts_of(&self, item: &Item) -> Vec<Arc<SourceText>> {
        let texts = item
            .sources()
            .into_iter()
            .filter_map(|at| self.texts.get(&at));
        texts.filter(|text| !text.is_empty()).cloned().collect()
    }
}

fn questions(
    pipeline: &Pipeline,
    cited: &[(StatedClaim, Vec<Arc<SourceText>>)],
) -> Result<Vec<Question>> {
    pipeline.graph.read(|reader| {
        let mut questions = Vec::new();
        for (claim, sources) in cited {
            for source in sources {
                let candidates = candidates(pipeline, reader, source, claim)?;
                questions.push(Question {
                    item: claim.item,
                    source: Arc::clone(source),
                    together: together(pipeline, &candidates),
                    // The section that a link names is read in any case.
                    asked_first: match claim.sections.is_empty() {
                        true => 1,
                        false => candidates.len(),
                    },
                    candidates,
                });
            }
        }
        Ok(questions)
    })
}

/// The findings for a sentence whose sources have no text.
fn unread(item: &Item) -> Vec<Finding> {
    if item.sources().is_empty() {
        return Vec::new();
    }
    let message = "the graph holds no text of the cited source";
    vec![item.finding(CheckCode::NotChecked, message)]
}

/// The findings for a sentence and its sources.
fn findings(
    item: &Item,
    claim: &str,
    texts: &[Arc<SourceText>],
    heard: &[Heard],
    (judge, is_builtin): (&str, bool),
) -> Vec<Finding> {
    if texts.is_empty() {
        return unread(item);
    }
    let mut found = Vec::new();
    let quoted = quotation_findings(item, texts, &mut found);
    let stance = decide(claim, heard, is_builtin);
    // If the sentence is mostly a correct quotation, its other numbers are the author's own remark.
    let is_quote = quoted == Some(true) && is_mostly_quoted(&item.sentence.text);
    let numbers = number_finding(item, claim, texts, heard).filter(|_| !is_quote);
    let has_number_fault = numbers.is_some();
    found.extend(numbers);
    let with_judge = |mut finding: Finding, sure: f64| {
        finding.judge = judge.to_owned();
        finding.confidence = Some((sure * 1000.0).round() / 1000.0);
        finding
    };
    match stance {
        // An exact comparison already reports the same words.
        ClaimDecision::Refutes(evidence, _) if repeats(&found, &evidence) => {}
        ClaimDecision::Refutes(evidence, sure) => {
            let message = format!("the source says: {}", shorten(&evidence.quote));
            let mut one = item.finding(CheckCode::ContradictedBySource, message);
            one.evidence = Some(evidence);
            found.push(with_judge(one, sure));
        }
        _ if quoted == Some(true) && found.is_empty() => {
            found.push(item.finding(CheckCode::Supported, "the quoted words are in the source"));
        }
        ClaimDecision::Overstates(evidence, _) | ClaimDecision::Silent(Some(evidence), _)
            if item.only_points() =>
        {
            let message =
                "the link may only point to more on its words; the linked page does not say this";
            let mut one = item.finding(CheckCode::NotChecked, message);
            one.evidence = Some(evidence);
            found.push(one);
        }
        ClaimDecision::Overstates(evidence, lost) if quoted.is_none() => {
            let mut one = item.finding(CheckCode::Overstated, format!("the source {lost}"));
            one.evidence = Some(evidence);
            found.push(one);
        }
        ClaimDecision::Supports(evidence, sure) if found.is_empty() => {
            let quote = shorten(&evidence.quote);
            let message = format!("the source says: {quote}");
            let mut one = with_judge(item.finding(CheckCode::Supported, message), sure);
            if one.is_uncertain() {
                one.message = format!("not certain; the nearest words of the source: {quote}");
            }
            one.evidence = Some(evidence);
            found.push(one);
        }
        // A number that differs shows that the source covers the subject.
        ClaimDecision::Silent(evidence, sure) if quoted.is_none() && !has_number_fault => {
            let message = "nothing in the cited source says this; the nearest passage is shown";
            let mut one = item.finding(CheckCode::NotInSource, message);
            one.evidence = evidence;
            found.push(with_judge(one, sure));
        }
        _ => {}
    }
    found
}

fn is_mostly_quoted(sentence: &str) -> bool {
    let quoted: usize = quotations(sentence).iter().map(|one| one.span.len()).sum();
    2 * quoted > sentence.chars().count()
}

/// Whether a misquotation or a wrong number was found in the same words of the source.
fn repeats(found: &[Finding], evidence: &Evidence) -> bool {
    let same = |finding: &Finding| {
        finding.code == CheckCode::QuoteMismatch
            || finding
                .evidence
                .as_ref()
                .is_some_and(|e| e.quote == evidence.quote)
    };
    found.iter().any(same)
}

/// Adds a finding for each quotation that is in no source. Returns whether there are quotations and
/// all of them were found.
fn quotation_findings(
    item: &Item,
    texts: &[Arc<SourceText>],
    found: &mut Vec<Finding>,
) -> Option<bool> {
    let quotations = quotations(&item.sentence.text);
    let mut all = true;
    for quotation in &quotations {
        if texts.iter().any(|text| find(text, quotation).is_some()) {
            continue;
        }
        all = false;
        let near = texts.iter().filter_map(|text| {
            let (score, at) = nearest(text, quotation)?;
            Some((score, text.evidence(at)))
        });
        let near = near.max_by(|a, b| a.0.total_cmp(&b.0));
        let words = quotation.parts.join(" … ");
        let mut one = item.finding(
            CheckCode::QuoteMismatch,
            match &near {
                Some((_, evidence)) => {
                    format!("the source's words are: {}", shorten(&evidence.quote))
                }
                None => "the quoted words are not in the source, nor anything like them".to_owned(),
            },
        );
        if let Some((_, evidence)) = near {
            one.diff = Some(diff(&words, &evidence.quote));
            one.evidence = Some(evidence);
        }
        found.push(one);
    }
    (!quotations.is_empty()).then_some(all)
}

/// The numbers of a sentence that differ from those of its sources on the same subject.
fn number_finding(
    item: &Item,
    claim: &str,
    texts: &[Arc<SourceText>],
    heard: &[Heard],
) -> Option<Finding> {
    let wanted = quantities(claim);
    if wanted.is_empty() {
        return None;
    }
    let views: Vec<SourceView<'_>> = texts
        .iter()
        .map(|text| SourceView::of(text, claim))
        .collect();
    let missing: Vec<&Quantity> = wanted
        .iter()
        .filter(|quantity| !views.iter().any(|view| view.gives(quantity)))
        .collect();
    missing.first()?;
    let alike = missing.iter().find_map(|one| alike(&views, one));
    let shown = alike.or_else(|| strongest(heard));
    let numbers: Vec<&str> = missing
        .iter()
        .map(|q| claim[q.span.clone()].trim())
        .collect();
    let numbers = numbers.join(", ");
    let message = match &shown {
        Some(evidence) => format!(
            "the source does not give {numbers} for this; it says: {}",
            shorten(&evidence.quote)
        ),
        None => format!("the source does not give {numbers}"),
    };
    let mut finding = item.finding(CheckCode::NumberMismatch, message);
    finding.judge = RULE.to_owned();
    finding.evidence = shown;
    Some(finding)
}

/// The sentence closest to the claim that gives another number of the same measure, which readers
/// want to see.
fn alike(views: &[SourceView<'_>], quantity: &Quantity) -> Option<Evidence> {
    let found = views.iter().filter_map(|view| {
        let (at, _) = view.nearest_with(|other| quantity.is_of_the_same(other))?;
        Some((view, at))
    });
    let best = found.max_by(|(a, at), (b, of_b)| a.closeness[*at].total_cmp(&b.closeness[*of_b]));
    best.map(|(view, at)| view.source.evidence(at))
}

/// The sentence most relevant to the claim that contains any numbers.
fn strongest(heard: &[Heard]) -> Option<Evidence> {
    let judged = heard
        .iter()
        .flat_map(|one| one.judged.iter().map(move |judged| (one, judged)));
    let with_numbers = judged.filter(|(one, judged)| {
        !one.source.sentences[judged.sentence]
            .quantities()
            .is_empty()
    });
    let best = with_numbers.max_by(|(_, a), (_, b)| {
        let rank = |j: &Judged| j.closeness + j.probabilities[0];
        rank(a)
            .total_cmp(&rank(b))
            .then(b.sentence.cmp(&a.sentence))
    });
    best.map(|(one, judged)| one.source.evidence(judged.sentence))
}

/// A source in relation to a claim.
struct SourceView<'s> {
    source: &'s SourceText,
    /// How close each sentence is to the claim.
    closeness: Vec<f64>,
    /// The closeness from which a sentence counts as on the claim's subject.
    near_from: f64,
    title: Vec<Quantity>,
}

impl<'s> SourceView<'s> {
    fn of(source: &'s SourceText, claim: &str) -> Self {
        let closeness = source.closeness(claim);
        let nearest = closeness.iter().copied().fold(0.0, f64::max);
        let title = source.source.title.as_deref().map(quantities);
        Self {
            source,
            closeness,
            near_from: NEAR_ENOUGH * nearest,
            title: title.unwrap_or_default(),
        }
    }

    /// The numbers in the sentences on the claim's subject, with their positions.
    fn near(&self) -> impl Iterator<Item = (usize, &'s Quantity)> {
        let source = self.source;
        let places = (0..source.sentences.len()).filter(|at| self.closeness[*at] >= self.near_from);
        places.flat_map(|at| {
            source.sentences[at]
                .quantities()
                .iter()
                .map(move |q| (at, q))
        })
    }

    /// The matching number that is closest to the claim.
    fn nearest_with(&self, is_wanted: impl Fn(&Quantity) -> bool) -> Option<(usize, &'s Quantity)> {
        let wanted = self.near().filter(|(_, quantity)| is_wanted(quantity));
        wanted.max_by(|(a, _), (b, _)| {
            let order = self.closeness[*a].total_cmp(&self.closeness[*b]);
            order.then(b.cmp(a))
        })
    }

    /// Whether the source gives a number in its sentences on the claim's subject. A small number in
    /// words counts as the author's own count, unless the source gives another count of the same
    /// thing.
    fn gives(&self, quantity: &Quantity) -> bool {
        let is_given = |other: &Quantity| quantity.is_met_by(other);
        let mut anywhere = self
            .source
            .sentences
            .iter()
            .flat_map(SourceSentence::quantities);
        let is_there = match quantity.is_moment() || quantity.is_name() {
            true => anywhere.any(is_given),
            false => self.near().any(|(_, other)| is_given(other)),
        };
        if is_there
            || self.title.iter().any(is_given)
            || self.source.is_year_of(quantity)
            || self.source.holds_name(quantity)
        {
            return true;
        }
        let mut near = self.near();
        if quantity.is_name() {
            return !near.any(|(_, other)| quantity.is_renumbered(other));
        }
        quantity.may_be_own() && !near.any(|(_, other)| quantity.is_of_the_same(other))
    }
}

/// Shortens a quotation for a message.
pub(super) fn shorten(text: &str) -> String {
    const LONGEST: usize = 240;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("“{}…”", text[..at].trim_end()),
        None => format!("“{text}”"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::graph::{CitableSource, StoredFragment};
    use crate::store::model::FragmentType;

    fn source(text: &str) -> SourceText {
        let fragment = StoredFragment {
            id: "frag_a".to_owned(),
            page_id: "p_a".to_owned(),
            fragment_type: FragmentType::Paragraph,
            text: text.to_owned(),
            heading: None,
            char_start: Some(0),
        };
        let source = CitableSource {
            title: Some("Sleep of nurses in 12 towns".to_owned()),
            ..CitableSource::default()
        };
        SourceText::of(&source, text.to_owned(), vec![fragment])
    }

    /// The numbers of a claim that a source does not give.
    fn missing<'c>(claim: &'c str, source: &SourceText) -> Vec<&'c str> {
        let view = SourceView::of(source, claim);
        let missing = quantities(claim).into_iter().filter(|one| !view.gives(one));
        missing.map(|one| &claim[one.span]).collect()
    }

    #[test]
    fn large_numbers_in_words_are_compared_like_digits() {
        let source = source("Nurses slept badly. Nurses slept in two rooms for 40 minutes.");
        for (claim, expected) in [
            ("Three kinds of nurses slept.", &[][..]),
            ("Nurses slept in three rooms.", &["three"]),
            ("Twenty nurses slept.", &["Twenty"]),
            ("Nurses slept for five hours.", &["five"]),
            ("Nurses slept for forty minutes.", &[]),
            ("Half of the nurses slept.", &[]),
            ("Nurses of twelve towns slept.", &[]),
        ] {
            assert_eq!(missing(claim, &source), expected, "{claim}");
        }
    }

    #[test]
    fn names_are_wrong_only_where_the_source_numbers_the_same() {
        let source = source("Python 3.11 made nurses sleep. In Phase 2 nurses slept more.");
        for (claim, expected) in [
            ("Python 3.11 made nurses sleep.", &[][..]),
            ("Python 3.12 made nurses sleep.", &["3.12"]),
            ("As Table 4 shows, nurses slept.", &[]),
            ("RFC 9110 made nurses sleep.", &[]),
            ("In Phase 3 nurses slept more.", &["3"]),
        ] {
            assert_eq!(missing(claim, &source), expected, "{claim}");
        }
    }

    #[test]
    fn the_sentence_with_the_same_measure_is_shown() {
        let source = source(
            "Night work and the sleep of nurses were studied in 412 nurses of 3 wards. \
             Night work shortened sleep by 74 minutes. Coffee cost 5 euros.",
        );
        let claim = "Night work shortened the sleep of nurses in the wards by 1.5 hours.";
        let wanted = quantities(claim);
        let shown = alike(&[SourceView::of(&source, claim)], &wanted[0]);
        let shown = shown.map(|evidence| evidence.quote);
        let expected = "Night work shortened sleep by 74 minutes.";
        assert_eq!(shown.as_deref(), Some(expected));
    }
}
