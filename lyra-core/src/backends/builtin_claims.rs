//! The claim extractor that ships with the library: sentences that assert something.
//!
//! No model: a sentence is a claim when it reads like a statement, speaks of what the task asks,
//! and words a finding rather than a method, a plan or a wish. Every claim is the sentence itself,
//! with its span, so what an agent is told is what the source says.

mod lexicon;
mod words;

use crate::error::Result;
use crate::model::ClaimType;
use crate::ports::{ClaimExtractor, ExtractedClaim, ExtractionRequest, Passage};
use crate::text::sentence::sentence_texts;
use lexicon::Cue;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use words::{Kind, Token, is_cjk, tokenize};

/// The id that [`BuiltinClaimExtractor`] stores with its claims.
pub(crate) const EXTRACTOR_ID: &str = "lyra-builtin-claims-v1";

/// Finds claims by their wording.
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
        Ok(extract(request))
    }
}

/// Lengths of a claim in code points, for texts in a script with spaces and for Japanese.
const LENGTHS: Range<usize> = 30..601;
const CJK_LENGTHS: Range<usize> = 15..401;

/// Below this score a sentence is no claim worth keeping.
const LOWEST_SCORE: f64 = 0.32;

/// How much of their words two sentences share before they say the same.
const SAME_FROM: f64 = 0.8;

/// A sentence that may be a claim.
struct Candidate {
    passage: usize,
    quote: Range<usize>,
    text: String,
    tokens: Vec<Token>,
    score: f64,
}

fn extract(request: &ExtractionRequest) -> Vec<ExtractedClaim> {
    let topic = Topic::new(request);
    let mut candidates: Vec<Candidate> = request
        .passages
        .iter()
        .enumerate()
        .flat_map(|(index, passage)| read_passage(index, passage, &topic))
        .filter(|c| c.score >= LOWEST_SCORE)
        .collect();
    candidates.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(a.passage.cmp(&b.passage))
            .then(a.quote.start.cmp(&b.quote.start))
    });
    let mut kept: Vec<(HashSet<String>, ExtractedClaim)> = Vec::new();
    for candidate in candidates {
        if kept.len() == request.max_claims {
            break;
        }
        let words = word_set(&candidate.tokens);
        if kept
            .iter()
            .any(|(other, _)| similarity(&words, other) >= SAME_FROM)
        {
            continue;
        }
        let claim = ExtractedClaim {
            passage: candidate.passage,
            claim_type: claim_type(&candidate.text, &candidate.tokens),
            confidence: confidence(candidate.score),
            quote: candidate.quote,
            text: candidate.text,
        };
        kept.push((words, claim));
    }
    kept.into_iter().map(|(_, claim)| claim).collect()
}

fn read_passage(index: usize, passage: &Passage, topic: &Topic) -> Vec<Candidate> {
    let section = section_bonus(passage.heading.as_deref());
    sentence_texts(&passage.text)
        .filter_map(|(quote, raw)| {
            let text = raw.split_whitespace().collect::<Vec<_>>().join(" ");
            if !has_length_of_a_claim(&text) {
                return None;
            }
            let tokens = tokenize(&text);
            if !asserts_something(&text, &tokens) {
                return None;
            }
            let score = topic.relevance(&tokens) + wording(&text, &tokens) + section;
            Some(Candidate {
                passage: index,
                quote,
                text,
                tokens,
                score,
            })
        })
        .collect()
}

fn is_japanese(text: &str) -> bool {
    text.chars().filter(|c| is_cjk(*c)).count() * 3 > text.chars().count()
}

fn has_length_of_a_claim(text: &str) -> bool {
    let lengths = if is_japanese(text) {
        CJK_LENGTHS
    } else {
        LENGTHS
    };
    lengths.contains(&text.chars().count())
}

/// Whether a sentence has the form of a statement: an end, a verb, not too many numbers and marks
/// (tables, references), no question.
fn asserts_something(text: &str, tokens: &[Token]) -> bool {
    let last = text
        .trim_end_matches(['"', '\'', ')', '”', '」'])
        .chars()
        .next_back();
    if matches!(last, Some('?' | '？' | ':' | '：')) || has_link_noise(text) {
        return false;
    }
    let words = tokens
        .iter()
        .filter(|t| matches!(t.kind, Kind::Word | Kind::Symbol | Kind::Cjk))
        .count();
    let numbers = tokens.iter().filter(|t| t.kind == Kind::Number).count();
    if words < 5 || numbers * 2 > words * 3 {
        return false;
    }
    if is_japanese(text) {
        has_japanese_predicate(text)
    } else {
        has_verb(text, tokens)
    }
}

/// Addresses, pipes and copyright lines mark navigation, tables and boilerplate.
fn has_link_noise(text: &str) -> bool {
    const NOISE: &[&str] = &[
        "http://",
        "https://",
        "www.",
        " | ",
        "©",
        "All rights reserved",
        "doi:",
        "cookie",
        "Cookie",
        "Copyright",
        "et al. 20",
        "JavaScript",
        "Subscribe",
        "Sign in",
        "Click ",
    ];
    text.starts_with('#') || NOISE.iter().any(|noise| text.contains(noise)) || names_a_doi(text)
}

/// A DOI stands in a reference, not in a statement.
fn names_a_doi(text: &str) -> bool {
    text.match_indices("10.").any(|(at, _)| {
        let rest = &text[at + 3..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits >= 4 && rest[digits..].starts_with('/')
    })
}

/// Verbs that any statement may be built on.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "is", "are", "was", "were", "be", "been", "has", "have", "had", "does", "do", "did", "can",
    "cannot", "could", "may", "might", "will", "would", "should", "must", "remains", "remained",
    "became", "becomes", "occurred", "occurs", "showed", "shows", "show", "found", "finds", "led",
    "leads", "made", "makes", "gave", "gives", "took", "takes", "rose", "fell", "grew", "grows",
    "causes", "means", "contains", "contain", "produces", "produce", "provides", "provide",
    "supports", "support", "plays", "play", "needs", "need", "works", "work", "acts", "act",
    "explains", "requires", "require", "depends", "appears", "appear", "seems", "seem", "tends",
    "tend", "says", "said", "reports", "suggests", "suggest", "reveals", "carries", "carry",
    "includes", "include", "represents", "affects", "affect", "lowers", "lower", "raises",
    "raise", "keeps", "keep", "lies", "stands", "exceeds", "outperforms", "gets", "got", "differ",
    "differs",
];

/// An English statement has one of the common verbs, or a past tense or third person that is not
/// its first word.
fn has_verb(text: &str, tokens: &[Token]) -> bool {
    if text.chars().all(|c| !c.is_lowercase()) {
        return false;
    }
    tokens.iter().enumerate().any(|(at, token)| {
        VERBS.contains(&token.lower.as_str())
            || at > 0
                && token.kind == Kind::Word
                && token.lower.len() > 4
                && token.lower.ends_with("ed")
            || at > 0
                && token.cue.is_event()
                && token.lower.ends_with('s')
                && !token.lower.ends_with("ss")
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

/// What the task asks about.
struct Topic {
    /// Stems with their weights, sorted.
    weights: Vec<(String, f64)>,
}

impl Topic {
    fn new(request: &ExtractionRequest) -> Self {
        let mut weights: HashMap<String, f64> = HashMap::new();
        let hypothesis = tokenize(&request.hypothesis);
        let turn = hypothesis.iter().position(|t| t.cue.is_event());
        for (at, token) in hypothesis
            .iter()
            .enumerate()
            .filter(|(_, t)| t.is_content())
        {
            // What is said to happen tells a finding on the question from one beside it.
            let said = if turn.is_some_and(|turn| at > turn) {
                1.3
            } else {
                1.0
            };
            let weight = weights.entry(token.stem.clone()).or_default();
            *weight = weight.max(token.weight * said);
        }
        for token in tokenize(&request.query)
            .into_iter()
            .filter(Token::is_content)
        {
            weights.entry(token.stem).or_insert(0.5 * token.weight);
        }
        let mut weights: Vec<(String, f64)> = weights.into_iter().collect();
        weights.sort_by(|a, b| a.0.cmp(&b.0));
        Self { weights }
    }

    /// 0 to 0.5: how much of the topic a sentence speaks of. Half of the topic's words are a full
    /// answer: few sentences repeat a whole question.
    fn relevance(&self, tokens: &[Token]) -> f64 {
        let total: f64 = self.weights.iter().map(|(_, w)| w).sum();
        if total <= 0.0 {
            return 0.25;
        }
        let stems: HashSet<&str> = tokens.iter().map(|t| t.stem.as_str()).collect();
        let shared: f64 = self
            .weights
            .iter()
            .filter(|(s, _)| stems.contains(s.as_str()))
            .map(|(_, w)| w)
            .sum();
        (shared / total).min(0.6) / 0.6 * 0.5
    }
}

/// Phrases that announce a finding.
#[rustfmt::skip]
const FINDING: &[&str] = &[
    "we found", "was found", "were found", "showed that", "shows that", "demonstrated",
    "revealed", "associated with", "significantly", "no significant", "did not", "hazard ratio",
    "odds ratio", "relative risk", "risk ratio", "95% ci", "95% confidence", "p <", "p<", "p =",
    "p=", "compared with", "concluded", "conclusion", "results suggest", "findings",
    "resulted in", "led to", "evidence that", "有意", "認められ", "みられ", "増加", "減少",
    "上昇", "低下", "示した", "示され", "明らか", "関連", "ハザード比", "オッズ比", "リスク比",
    "信頼区間",
];

/// Phrases that announce a method, an aim, a wish or paperwork.
#[rustfmt::skip]
const NO_FINDING: &[&str] = &[
    "we aimed", "aim of", "aims to", "aimed to", "objective of", "purpose of",
    "to determine whether", "to investigate", "to assess whether", "to evaluate", "we hypothesi",
    "it is unclear", "remains unclear", "remain unclear", "is unknown", "remains to be",
    "further studies", "further research", "future research", "future studies", "more research",
    "is needed", "are needed", "were randomised", "were randomized", "randomly assigned",
    "were enrolled", "were recruited", "were included", "was matched", "were matched",
    "was followed", "were followed", "was defined", "were defined", "was identified from",
    "analyses looked at", "supplied a cohort", "selected from", "reviewed", "was approved by",
    "ethics committee", "informed consent", "funded by", "conflict of interest", "were searched",
    "we searched", "data were", "was calculated", "were calculated", "was measured using",
    "were collected", "in this review", "this article", "this paper", "this section", "see table",
    "see figure", "shown in", "supplementary", "click", "subscribe", "目的", "検討した",
    "調査した", "対象とし", "無作為", "割り付け", "今後", "さらなる", "期待され", "倫理委員会",
    "同意を", "不明で", "解析した", "登録され",
];

/// -0.3 to 0.5: what the words of a sentence say about its being a finding.
fn wording(text: &str, tokens: &[Token]) -> f64 {
    let lower = text.to_lowercase();
    let findings = FINDING.iter().filter(|p| lower.contains(*p)).count().min(3);
    let others = NO_FINDING
        .iter()
        .filter(|p| lower.contains(*p))
        .count()
        .min(2);
    let count = |cue: Cue| tokens.iter().filter(|t| t.cue == cue).count();
    let events = tokens.iter().filter(|t| t.cue.is_event()).count().min(2);
    let mut score = 0.08 * findings as f64 + 0.07 * events as f64 - 0.2 * others as f64;
    score -= 0.05 * count(Cue::Hedge).min(2) as f64;
    score -= 0.08 * count(Cue::Whether).min(2) as f64;
    if begins_hanging(tokens) {
        score -= 0.08;
    }
    score.clamp(-0.4, 0.5)
}

/// A sentence that starts from another one says little alone: "This", "These", "However, it".
fn begins_hanging(tokens: &[Token]) -> bool {
    let first = tokens.first().map_or("", |t| t.lower.as_str());
    let second = tokens.get(1).map_or("", |t| t.lower.as_str());
    matches!(first, "it" | "they" | "he" | "she")
        || matches!(first, "this" | "these" | "those" | "that")
            && matches!(second, "is" | "are" | "was" | "were" | "may")
}

/// Results and conclusions are where findings stand; methods and references where they do not.
fn section_bonus(heading: Option<&str>) -> f64 {
    let Some(heading) = heading else { return 0.0 };
    let heading = heading.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|w| heading.contains(w));
    if has(&[
        "result",
        "conclusion",
        "finding",
        "interpretation",
        "summary",
        "結果",
        "結論",
        "考察",
        "まとめ",
    ]) {
        0.06
    } else if has(&[
        "method",
        "reference",
        "acknowledg",
        "funding",
        "方法",
        "文献",
        "謝辞",
        "対象",
        "利益相反",
    ]) {
        -0.15
    } else {
        0.0
    }
}

/// Scores run from about 0.3 to 1.0; so does the confidence, flattened at the ends.
fn confidence(score: f64) -> f64 {
    let logistic = 1.0 / (1.0 + (-5.0 * (score - 0.45)).exp());
    (0.2 + 0.75 * logistic).clamp(0.0, 0.95)
}

fn claim_type(text: &str, tokens: &[Token]) -> ClaimType {
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
    let has = |words: &[&str]| tokens.iter().any(|t| words.contains(&t.lower.as_str()));
    let contains = |parts: &[&str]| parts.iter().any(|p| text.contains(p));
    if has(PREDICTIONS) || contains(JAPANESE_PREDICTIONS) {
        ClaimType::Prediction
    } else if has(OPINIONS) || contains(JAPANESE_OPINIONS) {
        ClaimType::Opinion
    } else {
        ClaimType::Fact
    }
}

fn word_set(tokens: &[Token]) -> HashSet<String> {
    tokens
        .iter()
        .filter(|t| t.is_content() || t.kind == Kind::Number || t.cue != Cue::None)
        .map(|t| t.stem.clone())
        .collect()
}

/// The share of common words in all words (Jaccard).
fn similarity(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 {
        1.0
    } else {
        shared as f64 / all as f64
    }
}

#[cfg(test)]
mod tests;
