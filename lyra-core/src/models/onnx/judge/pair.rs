//! A premise and a hypothesis as one row of tokens, joined by the tokenizer's template for pairs.

use super::super::graph::TokenRow;
use super::super::model::OnnxModel;
use super::super::tokens;
use crate::error::{Error, ErrorKind, Result};
use crate::ports::StancePair;
use tokenizers::{Encoding, PostProcessor, Tokenizer, TruncationDirection};

/// A pair's tokens.
pub(super) struct PairTokens {
    ids: Vec<u32>,
    types: Vec<u32>,
}

impl PairTokens {
    pub(super) fn row(&self) -> TokenRow<'_> {
        TokenRow::pair(&self.ids, &self.types)
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}

/// Maximum number of tokens of a pair, without the special ones of the template.
pub(super) fn room(model: &OnnxModel) -> Result<usize> {
    let template = model.tokenizer.get_post_processor();
    let special = template.map_or(0, |template| template.added_tokens(true));
    if special == 0 {
        let message = format!(
            "{} does not say how two texts are put together",
            model.folder.tokenizer.display()
        );
        return Err(Error::new(ErrorKind::Unsupported, message).with_hint(
            "expected a post_processor with a template for pairs, such as that of BERT or RoBERTa",
        ));
    }
    // With less space, one of the two texts would have no token.
    let room = model.max_tokens.saturating_sub(special);
    if room < 4 {
        return Err(tokens::no_room(&model.folder, model.max_tokens, special));
    }
    Ok(room)
}

/// Tokenizes a pair, truncated to the available space.
pub(super) fn encode(tokenizer: &Tokenizer, pair: &StancePair, room: usize) -> Result<PairTokens> {
    let cut = |text: &str| -> Result<Encoding> {
        let encoding = tokenizer.encode_fast(text.trim(), false);
        encoding.map_err(|e| tokens::failed(&e))
    };
    let (mut premise, mut hypothesis) = (cut(&pair.premise)?, cut(&pair.hypothesis)?);
    let (of_premise, of_hypothesis) = share(premise.len(), hypothesis.len(), room);
    premise.truncate(of_premise, 0, TruncationDirection::Right);
    hypothesis.truncate(of_hypothesis, 0, TruncationDirection::Right);
    let whole = tokenizer
        .post_process(premise, Some(hypothesis), true)
        .map_err(|e| tokens::failed(&e))?;
    Ok(PairTokens {
        ids: whole.get_ids().to_vec(),
        types: whole.get_type_ids().to_vec(),
    })
}

/// How many tokens of premise and hypothesis are kept. The premise is truncated first, down to a
/// quarter of the space; the hypothesis is truncated only if it does not leave that much.
fn share(premise: usize, hypothesis: usize, room: usize) -> (usize, usize) {
    let hypothesis = hypothesis.min(room - premise.min(room / 4));
    (premise.min(room - hypothesis), hypothesis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_premise_gives_way_first() {
        for (premise, hypothesis, expected) in [
            (10, 20, (10, 20)),
            (0, 0, (0, 0)),
            (20, 20, (20, 20)),
            (100, 20, (20, 20)),
            (100, 30, (10, 30)),
            (100, 35, (10, 30)),
            (4, 36, (4, 36)),
            (4, 37, (4, 36)),
            (0, 100, (0, 40)),
            (100, 0, (40, 0)),
        ] {
            assert_eq!(
                share(premise, hypothesis, 40),
                expected,
                "{premise} and {hypothesis}"
            );
        }
    }
}
