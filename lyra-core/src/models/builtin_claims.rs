//! The built-in claim extractor: sentences that assert something on the question.
//!
//! Sentences without the form of a statement are excluded: questions, headings, table rows,
//! references, addresses. For the others, the network that also judges decides whether they assert
//! something on the task's hypothesis. It reads English; for other scripts, and in builds without
//! it, shared words decide. Every claim is the sentence itself with its span, so an agent sees the
//! words of the source.

use super::network::{self, PairReading, is_unread};
use super::parallel::in_parallel;
use crate::error::Result;
use crate::ports::{ClaimExtractor, ExtractedClaim, ExtractionRequest, Passage};
use crate::store::model::ClaimType;
use crate::store::text::sentence::sentence_texts;
use crate::store::text::{is_cjk, missing_headings, names_subject, points_back, ranking_terms};
use regex::Regex;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

/// The id that [`BuiltinClaimExtractor`] stores with its claims.
pub(crate) const EXTRACTOR_ID: &str = "lyra-minilm-claims-v4";

/// Finds the sentences of a document that are relevant to the hypothesis.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltinClaimExtractor;

#[async_trait::async_trait]
impl ClaimExtractor for BuiltinClaimExtractor {
    fn extractor_id(&self) -> &str {
        EXTRACTOR_ID
    }

    fn is_builtin(&self) -> bool {
        true
    }

    async fn extract(&self, request: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
        let candidates = candidates(request);
        let hypothesis = request.hypothesis.clone();
        let questions = candidates.iter().map(|one| question(request, one));
        let readings = in_parallel(questions.collect(), move |question| match question {
            Some((context, text)) => network::read(context, text, &hypothesis),
            None => Ok(None),
        });
        let both = candidates.iter().zip(readings.await?);
        let read = both.map(|(candidate, reading)| relevance(candidate, reading));
        let read: Vec<Option<f64>> = read.collect();
        Ok(claims(request, read.into_iter().zip(candidates)))
    }
}

/// Lengths of a claim in code points, for texts in a script with spaces and for Japanese.
const LENGTHS: Range<usize> = 30..601;
const CJK_LENGTHS: Range<usize> = 15..401;

/// Maximum number of sentences of a document that the network reads; those that share most words
/// with the question come first.
const MOST_READ: usize = 60;

/// Least probability that a sentence asserts something on the question.
const ON_FROM: f64 = 0.3;
/// The same threshold for the only claim of a document without such a sentence.
const WEAK_FROM: f64 = 0.1;
/// The share of the question's words that makes a sentence below that threshold a claim, if it
/// names the subject.
const NEAR_FROM: f64 = 0.6;
/// The confidence of that claim.
const WEAK: f64 = 0.3;
/// Least share of the question's words, if the network does not read or is not sure.
const CLOSE_FROM: f64 = 0.34;

/// The weight of a statement about another, cited work, relative to the document's own.
const CITED: f64 = 0.7;

/// The share of common words from which two sentences count as the same.
const SAME_FROM: f64 = 0.8;

/// The claim given to the network for a sentence that is not read for a question.
const NO_QUESTION: &str = "The proposal is useful.";
/// From this probability, a sentence asserts nothing. Of 1,000 sentences of documents that the
/// network was not trained on, it finds half of those that assert nothing; of the others it
/// misclassifies 2 %.
const NOTHING_FROM: f64 = 0.8;

/// Whether a sentence asserts nothing, independent of any question: an item of a to-do list, an
/// instruction, a label. False if the network does not read.
pub(crate) fn asserts_nothing(sentence: &str) -> Result<bool> {
    if is_unread(sentence) {
        return Ok(false);
    }
    let found = network::read("", sentence, NO_QUESTION)?;
    Ok(found.is_some_and(|found| found.asserts[0] >= NOTHING_FROM))
}

/// A sentence that may be a claim.
struct ClaimCandidate {
    passage: usize,
    quote: Range<usize>,
    text: String,
    /// The sentence before, if this one refers back to it.
    before: Option<String>,
    terms: HashSet<String>,
    /// The share of the question's words that it contains.
    closeness: f64,
}

/// The sentences of a document that may be claims, at most [`MOST_READ`].
fn candidates(request: &ExtractionRequest) -> Vec<ClaimCandidate> {
    let topic = Topic::new(request);
    let mut candidates: Vec<ClaimCandidate> = request
        .passages
        .iter()
        .enumerate()
        .filter(|(_, passage)| !is_apparatus(passage.heading.as_deref()))
        .flat_map(|(index, passage)| read_passage(index, passage, &topic))
        .collect();
    // The sort is stable: of equally close sentences, those of the passage that was chosen first.
    candidates.sort_by(|a, b| b.closeness.total_cmp(&a.closeness));
    candidates.truncate(MOST_READ);
    candidates
}

/// The claims of a document, from its sentences and their relevance.
fn claims(
    request: &ExtractionRequest,
    read: impl Iterator<Item = (Option<f64>, ClaimCandidate)>,
) -> Vec<ExtractedClaim> {
    let read: Vec<(f64, ClaimCandidate)> = read
        .filter_map(|(on, candidate)| Some((on?, candidate)))
        .collect();
    // A document without a clear claim yields at most one unclear claim.
    let is_clear = read.iter().any(|(on, _)| *on >= ON_FROM);
    let most = if is_clear { request.max_claims } else { 1 };
    let names = |candidate: &ClaimCandidate| {
        let heading = request.passages[candidate.passage].heading.as_deref();
        let told = [request.title.as_deref(), heading, Some(&candidate.text)];
        let told = told.into_iter().flatten().collect::<Vec<_>>().join(" ");
        names_subject(&request.hypothesis, &told)
    };
    let is_worth = |(on, candidate): &(f64, ClaimCandidate)| match is_clear {
        true => *on >= ON_FROM,
        false if *on >= WEAK_FROM => candidate.closeness >= CLOSE_FROM,
        false => candidate.closeness >= NEAR_FROM && names(candidate),
    };
    let mut worth: Vec<(f64, ClaimCandidate)> = read
        .into_iter()
        .filter(is_worth)
        .map(|(on, candidate)| (on * voice(&candidate.text), candidate))
        .collect();
    worth.sort_by(|(a, first), (b, second)| {
        b.total_cmp(a)
            .then(first.passage.cmp(&second.passage))
            .then(first.quote.start.cmp(&second.quote.start))
    });
    let mut claims = distinct(worth, most.min(request.max_claims));
    if !is_clear {
        claims.iter_mut().for_each(|claim| claim.confidence = WEAK);
    }
    claims
}

/// The best claims, without those that repeat a better one.
fn distinct(candidates: Vec<(f64, ClaimCandidate)>, most: usize) -> Vec<ExtractedClaim> {
    let mut kept: Vec<(HashSet<String>, ExtractedClaim)> = Vec::new();
    for (confidence, candidate) in candidates {
        if kept.len() == most {
            break;
        }
        let says_the_same = |other: &HashSet<String>| {
            let shared = candidate.terms.intersection(other).count();
            let all = candidate.terms.len() + other.len() - shared;
            shared as f64 >= SAME_FROM * all as f64
        };
        if kept.iter().any(|(other, _)| says_the_same(other)) {
            continue;
        }
        let claim = ExtractedClaim {
            passage: candidate.passage,
            claim_type: claim_type(&candidate.text),
            confidence,
            quote: candidate.quote,
            text: candidate.text,
        };
        kept.push((candidate.terms, claim));
    }
    kept.into_iter().map(|(_, claim)| claim).collect()
}

/// The context and the text that the network reads; none for a script that it does not read.
fn question(request: &ExtractionRequest, candidate: &ClaimCandidate) -> Option<(String, String)> {
    if is_unread(&candidate.text) || is_unread(&request.hypothesis) {
        return None;
    }
    let passage = &request.passages[candidate.passage];
    let headings: Vec<&str> = candidate
        .before
        .iter()
        .chain(&request.title)
        .chain(&passage.heading)
        .map(String::as_str)
        .collect();
    let context = missing_headings(&candidate.text, &headings, &request.hypothesis);
    Some((context, candidate.text.clone()))
}

/// How likely a sentence asserts something on the question; none if it more likely asserts nothing at all.
fn relevance(candidate: &ClaimCandidate, reading: Option<PairReading>) -> Option<f64> {
    let Some(reading) = reading else {
        return by_words(candidate);
    };
    let [nothing, _, on] = reading.asserts;
    Some(on).filter(|on| nothing <= 0.5 || *on >= ON_FROM)
}

fn voice(text: &str) -> f64 {
    if cites(text) { CITED } else { 1.0 }
}

/// The fallback when the network does not read: the words of the question, and in Japanese also
/// phrases that report a finding, since the question may be in English.
fn by_words(candidate: &ClaimCandidate) -> Option<f64> {
    const FOUND: &[&str] = &[
        "有意",
        "認められ",
        "みられ",
        "増加",
        "減少",
        "上昇",
        "低下",
        "示した",
        "示され",
        "明らか",
        "関連",
    ];
    let tells = FOUND.iter().any(|phrase| candidate.text.contains(phrase));
    let close = candidate.closeness.min(0.9);
    let confidence = if tells { close.max(CLOSE_FROM) } else { close };
    (confidence >= CLOSE_FROM && !announces(&candidate.text)).then_some(confidence)
}

fn read_passage(index: usize, passage: &Passage, topic: &Topic) -> Vec<ClaimCandidate> {
    let mut last = "";
    sentence_texts(&passage.text)
        .filter_map(|(quote, sentence)| {
            let before = std::mem::replace(&mut last, sentence);
            let (quote, text) = statement(quote, sentence)?;
            let terms: HashSet<String> = ranking_terms(&text).into_iter().collect();
            Some(ClaimCandidate {
                passage: index,
                closeness: topic.closeness(&terms),
                quote,
                before: points_back(&text).then(|| on_one_line(before)),
                text,
                terms,
            })
        })
        .collect()
}

/// A sentence in the form of a statement, and its span, without the label of its part of an
/// abstract. None in parts that describe aims and methods.
fn statement(quote: Range<usize>, sentence: &str) -> Option<(Range<usize>, String)> {
    let (label, text) = sentence.split_at(label_of(sentence));
    let quote = quote.start + label.chars().count()..quote.end;
    let text = on_one_line(text);
    let is_statement = !AIMS_OR_METHODS.is_match(label)
        && has_length_of_a_claim(&text)
        && has_form_of_a_statement(&text)
        && !tells_an_aim(&text);
    is_statement.then_some((quote, text))
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The last word of labels in structured abstracts.
const PARTS: &str = "aims?|background|conclusions?|design|discussion|findings|importance|interpretation|measurements|\
    measures|methods?|objectives?|outcomes?|participants|patients|purpose|results?|setting|significance|summary";

static AIMS_OR_METHODS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:aims?|design|measurements|measures|methods?|objectives?|participants|patients|purpose|setting)\W*$")
        .expect("constant and tested")
});

/// Length in bytes of the label at the start of a sentence of a structured abstract: "RESULTS",
/// "Main results:".
fn label_of(sentence: &str) -> usize {
    static LABEL: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = format!(
            r"^(?:(?:[A-Z]+[ ,/&]+){{0,3}}(?:{})(?::\s*|\s+)|(?i:(?:[a-z]+/|(?:key|main|principal) )?(?:{PARTS})):\s*)",
            PARTS.to_uppercase()
        );
        Regex::new(&pattern).expect("constant and tested")
    });
    LABEL.find(sentence).map_or(0, |label| label.end())
}

fn is_japanese(text: &str) -> bool {
    text.chars().filter(|c| is_cjk(*c)).count() * 3 > text.chars().count()
}

fn has_length_of_a_claim(text: &str) -> bool {
    let lengths = match is_japanese(text) {
        true => CJK_LENGTHS,
        false => LENGTHS,
    };
    lengths.contains(&text.chars().count())
}

/// Whether a section contains no statements of the document.
fn is_apparatus(heading: Option<&str>) -> bool {
    const APPARATUS: &[&str] = &[
        "references",
        "bibliography",
        "works cited",
        "acknowledg",
        "funding",
        "conflict of interest",
        "competing interest",
        "author contribution",
        "data availability",
        "copyright",
        "see also",
        "further reading",
        "external links",
        "文献",
        "謝辞",
        "利益相反",
    ];
    heading.is_some_and(|heading| {
        let heading = heading.to_lowercase();
        APPARATUS.iter().any(|name| heading.contains(name))
    })
}

/// Whether a sentence has the form of a statement: it ends properly, has words rather than numbers
/// and symbols, and contains no address, caption or code.
fn has_form_of_a_statement(text: &str) -> bool {
    let last = text
        .trim_end_matches(['"', '\'', ')', ']', '”', '’', '」', '*', '_'])
        .chars()
        .next_back();
    if has_noise(text) || names_a_doi(text) {
        return false;
    }
    if is_japanese(text) {
        return !matches!(last, Some('?' | '？' | ':' | '：')) && has_japanese_predicate(text);
    }
    // Headings, labels and table cells end without punctuation.
    if !matches!(last, Some('.' | '!' | ';' | '…')) {
        return false;
    }
    let words = text.split_whitespace();
    let is_word =
        |w: &&str| w.chars().filter(|c| c.is_alphabetic()).count() * 2 > w.chars().count();
    let (all, worded) = (words.clone().count(), words.filter(is_word).count());
    worded >= 4 && worded * 5 >= all * 2 && text.chars().any(char::is_lowercase)
}

/// Addresses, pipes and copyright lines mark navigation, tables and boilerplate; calls and arrows mark
/// code; a label with a number marks a caption.
fn has_noise(text: &str) -> bool {
    const NOISE: &[&str] = &[
        "http://",
        "https://",
        "www.",
        " | ",
        "©",
        "All rights reserved",
        "doi:",
        "Copyright",
        "JavaScript",
        "Subscribe",
        "Sign in",
        "Click ",
        "();",
        ") {",
        "=> ",
        "::",
        "```",
        ">>> ",
        "def ",
        "fn ",
        "[edit]",
    ];
    const LABELS: &[&str] = &["Figure ", "Fig. ", "Fig ", "Table ", "Box ", "Listing "];
    let is_caption = LABELS.iter().any(|label| {
        let rest = text.strip_prefix(label);
        let rest = rest.map(|r| r.trim_start_matches(|c: char| c.is_alphanumeric()));
        // `Table 2 shows that` is a statement, `Table 2. Characteristics` is none.
        rest.is_some_and(|r| r.starts_with(['.', ':', '|', ')']))
    });
    is_caption || text.starts_with('#') || NOISE.iter().any(|noise| text.contains(noise))
}

/// Whether a sentence reports another work: it names authors, or has a year or number in brackets.
fn cites(text: &str) -> bool {
    let is_year = |part: &str| {
        let year = part.trim_end_matches(|c: char| c.is_ascii_lowercase());
        year.parse().is_ok_and(|year| (1900..2100).contains(&year))
    };
    let is_number = |part: &str| part.parse::<u16>().is_ok();
    let in_brackets = |open: char, close: char, sought: &dyn Fn(&str) -> bool| {
        text.split(open).skip(1).any(|rest| {
            let inside = rest.split(close).next().unwrap_or_default();
            inside.split([',', ';', ' ', '–', '-']).any(sought)
        })
    };
    text.contains("et al") || in_brackets('(', ')', &is_year) || in_brackets('[', ']', &is_number)
}

/// Whether it contains a DOI, which occurs in references, not in statements.
fn names_a_doi(text: &str) -> bool {
    text.match_indices("10.").any(|(at, _)| {
        let rest = &text[at + 3..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits >= 4 && rest[digits..].starts_with('/')
    })
}

/// A Japanese statement ends in a predicate: 。 or one of the endings that headings lack.
fn has_japanese_predicate(text: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "た",
        "る",
        "い",
        "う",
        "く",
        "す",
        "つ",
        "ぬ",
        "む",
        "ん",
        "だ",
        "です",
        "ます",
        "である",
        "ない",
        "れる",
    ];
    let trimmed = text.trim_end_matches(['。', '．', '」', '）', ')', ' ']);
    text.ends_with('。') || ENDINGS.iter().any(|ending| trimmed.ends_with(ending))
}

/// Whether a sentence states the aim of a study, which the network sometimes mistakes for a finding.
fn tells_an_aim(text: &str) -> bool {
    const AIMS: &[&str] = &[
        "aimed to",
        "aim of",
        "aims of",
        "hypothesis of this",
        "investigated the hypothesis",
        "tested the hypothesis",
        "hypothesis of the present",
        "hypothesized that",
        "hypothesised that",
        "purpose of this",
        "objective of this",
    ];
    AIMS.iter().any(|phrase| text.contains(phrase))
}

/// Whether a sentence announces a method or a wish, used if the network does not read.
fn announces(text: &str) -> bool {
    const ANNOUNCED: &[&str] = &[
        "to determine whether",
        "to investigate",
        "to evaluate",
        "to assess",
        "is needed",
        "are needed",
        "randomly assigned",
        "were randomized",
        "were randomised",
        "were enrolled",
        "informed consent",
        "目的",
        "検討した",
        "調査した",
        "対象とし",
        "無作為",
        "割り付け",
        "今後",
        "さらなる",
        "期待され",
        "倫理委員会",
        "同意を",
        "不明で",
        "解析した",
        "登録され",
    ];
    ANNOUNCED.iter().any(|phrase| text.contains(phrase))
}

/// The subject of the task.
struct Topic {
    /// Words with their weights, sorted.
    weights: Vec<(String, f64)>,
}

impl Topic {
    /// The hypothesis has more weight than the query that found the document.
    fn new(request: &ExtractionRequest) -> Self {
        let mut weights: HashMap<String, f64> = HashMap::new();
        for (text, weight) in [(&request.hypothesis, 1.0), (&request.query, 0.3)] {
            for term in ranking_terms(text) {
                weights.entry(term).or_insert(weight);
            }
        }
        let mut weights: Vec<(String, f64)> = weights.into_iter().collect();
        weights.sort_by(|a, b| a.0.cmp(&b.0));
        Self { weights }
    }

    /// 0 to 1: the share of the topic's words that a sentence contains.
    fn closeness(&self, terms: &HashSet<String>) -> f64 {
        let total: f64 = self.weights.iter().map(|(_, w)| w).sum();
        let shared = self.weights.iter().filter(|(term, _)| terms.contains(term));
        shared.map(|(_, w)| w).sum::<f64>() / total.max(1e-9)
    }
}

fn claim_type(text: &str) -> ClaimType {
    const PREDICTIONS: &[&str] = &[
        "will",
        "forecast",
        "forecasts",
        "projected",
        "projections",
        "expected",
        "predicted",
    ];
    const OPINIONS: &[&str] = &[
        "should",
        "believe",
        "believes",
        "opinion",
        "recommend",
        "recommends",
        "recommended",
        "ought",
        "think",
        "argue",
        "argues",
        "advise",
        "prefer",
        "preferable",
        "worth",
    ];
    const JAPANESE_PREDICTIONS: &[&str] = &["予測され", "見込まれ", "だろう", "でしょう", "見通し"];
    const JAPANESE_OPINIONS: &[&str] = &["推奨", "べき", "望ましい", "と考える", "と思"];
    let lower = text.to_lowercase();
    let has = |words: &[&str]| {
        let mut parts = lower.split(|c: char| !c.is_alphanumeric());
        parts.any(|word| words.contains(&word))
    };
    let contains = |parts: &[&str]| parts.iter().any(|p| text.contains(p));
    if has(PREDICTIONS) || contains(JAPANESE_PREDICTIONS) {
        ClaimType::Prediction
    } else if has(OPINIONS) || contains(JAPANESE_OPINIONS) {
        ClaimType::Opinion
    } else {
        ClaimType::Fact
    }
}

#[cfg(test)]
mod tests;
