//! Decides which sentences of a draft make an assertion that a source can support.

use super::citations::Sentence;
use super::draft::{Piece, PieceKind};
use super::report::SentenceKind;
use crate::store::text::{is_cjk, is_question};

/// Minimum number of words of an assertion.
const FEWEST_WORDS: usize = 4;
/// The minimum for a cited sentence: "Costs fell [3]." is a whole statement.
const FEWEST_CITED: usize = 2;

pattern!(
    OF_THE_DRAFT,
    r"(?i)^(?:in |for )?(?:this|the (?:following|next|previous|present|remaining)|our|the rest of this) (?:brief |short |two-page )?(?:report|review|draft|sections?|article|paper|post|document|chapter|tables?|figures?|guide|notes?|memo|page|readme|summary|overview|essay|appendix|briefing|brief|list)\b|^(?:table|figure|section|appendix|see|cf\.) "
);
pattern!(
    OF_THE_AUTHOR,
    r"(?i)\b(?:we|I)\s+(?:\w+ly\s+)?(?:searched|reviewed|read|used|included|excluded|screened|looked|asked|compared|collected|checked|describe|discuss|summari[sz]e|cover|begin|start|focus|define|present|turn|limit|now|then|first|also (?:searched|read|looked)|will|did not (?:search|read|look))\b"
);
pattern!(
    OF_AN_OPINION,
    r"(?i)\b(?:I|we)\s+(?:\w+ly\s+)?(?:think|believe|feel|hope|recommend|suggest|prefer|argue|doubt|suspect|would|wish)\b|\bin (?:my|our) (?:view|opinion|judg(?:e?)ment)\b|^(?:arguably|hopefully|fortunately|unfortunately|ideally|sadly)\b|\b(?:ought to|should)\b|\bit (?:is|seems) (?:reasonable|sensible|wise|worth|time|fair) "
);
pattern!(
    LEADS_OVER,
    r"(?i):$|^(?:as (?:discussed|noted|mentioned|described|seen|shown) (?:above|below|before|earlier)|with this in mind|let us|let's|to (?:sum up|summari[sz]e|conclude)|in (?:sum|short|conclusion|summary),? the (?:picture|evidence) is (?:mixed|unclear|clear))"
);

pattern!(
    LEADS_AWAY,
    r"(?i)^\(?(?:please|see|cf\.|here(?:'s|’s| is| are)|(?:for|more) (?:more|further|details|information)) "
);

/// The kind of a sentence. A sentence with a citation is an assertion, unless it is a question or
/// only says where to read on.
pub(super) fn kind(piece: &Piece, sentence: &Sentence) -> SentenceKind {
    let text = sentence.text.as_str();
    if matches!(piece.kind, PieceKind::Heading(_)) || repeats_a_heading(piece) {
        return SentenceKind::Heading;
    }
    if is_question(text) {
        return SentenceKind::Question;
    }
    if LEADS_AWAY.is_match(text) {
        return SentenceKind::Transition;
    }
    let is_cited = !sentence.citations.is_empty();
    // A list item that is only a link, such as "User guide", asserts nothing and has no full stop.
    let fewest = match is_cited && text.trim_end().ends_with(['.', '!']) {
        true => FEWEST_CITED,
        false => FEWEST_WORDS,
    };
    if words(text) < fewest && !text.chars().any(is_cjk) {
        return SentenceKind::Transition;
    }
    if is_cited {
        return SentenceKind::Assertion;
    }
    if OF_THE_DRAFT.is_match(text) || OF_THE_AUTHOR.is_match(text) {
        return SentenceKind::Method;
    }
    if OF_AN_OPINION.is_match(text) {
        return SentenceKind::Opinion;
    }
    // A table cell is not a sentence, and a row is incomplete without the table's header.
    if LEADS_OVER.is_match(text) || matches!(piece.kind, PieceKind::Row) {
        return SentenceKind::Transition;
    }
    SentenceKind::Assertion
}

/// Whether this is an entry of a table of contents: only a link within the draft.
fn repeats_a_heading(piece: &Piece) -> bool {
    let [link] = piece.links.as_slice() else {
        return false;
    };
    let length = piece.text.trim_end().chars().count();
    link.url.starts_with('#') && link.span.start == 0 && link.span.end >= length
}

/// The number of words with letters in a text.
fn words(text: &str) -> usize {
    let words = text.split_whitespace();
    words.filter(|w| w.contains(char::is_alphabetic)).count()
}

#[cfg(test)]
mod tests {
    use super::super::citations::Citation;
    use super::super::draft::Link;
    use super::*;

    fn kind_of(text: &str, is_cited: bool) -> SentenceKind {
        let citation = Citation {
            span: 0..1,
            targets: Vec::new(),
            is_pointer: false,
        };
        let sentence = Sentence {
            text: text.to_owned(),
            span: 0..text.chars().count(),
            citations: is_cited.then_some(citation).into_iter().collect(),
        };
        kind(&piece(text, Vec::new()), &sentence)
    }

    fn piece(text: &str, links: Vec<Link>) -> Piece {
        Piece {
            kind: PieceKind::Paragraph,
            text: text.to_owned(),
            places: (0..text.chars().count()).collect(),
            links,
            marks: Vec::new(),
            breaks: Vec::new(),
            code: Vec::new(),
        }
    }

    #[test]
    fn an_entry_of_a_table_of_contents_is_a_heading() {
        let text = "Rollout, Upgrade and Rollback Planning";
        let sentence = Sentence {
            text: text.to_owned(),
            span: 0..text.len(),
            citations: Vec::new(),
        };
        let of = |url: &str, span| {
            let url = url.to_owned();
            kind(&piece(text, vec![Link { span, url }]), &sentence)
        };
        assert_eq!(of("#rollout", 0..text.len()), SentenceKind::Heading);
        assert_eq!(of("#rollout", 0..7), SentenceKind::Assertion);
        assert_eq!(of("guide.md", 0..text.len()), SentenceKind::Assertion);
    }

    #[test]
    fn a_short_sentence_that_cites_asserts() {
        assert_eq!(kind_of("Costs fell.", true), SentenceKind::Assertion);
        assert_eq!(kind_of("Costs fell.", false), SentenceKind::Transition);
        assert_eq!(kind_of("Costs.", true), SentenceKind::Transition);
        assert_eq!(kind_of("User guide", true), SentenceKind::Transition);
        assert_eq!(kind_of("See the guide.", true), SentenceKind::Transition);
    }
}
