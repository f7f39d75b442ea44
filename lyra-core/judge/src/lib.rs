//! A small cross-encoder for pairs of texts, with its weights: it judges whether a premise supports or
//! refutes a claim, and whether the premise asserts something about the claim.
//!
//! Linear layers use signed bytes, computed with AVX-512 VNNI, AVX2 or portable loops. Sums of bytes are
//! exact and sums of floats have a fixed order, so the scores are bit-identical on every processor, and
//! a pair's scores depend only on the pair.
//!
//! Texts are passed as numbers of word pieces. The pieces are those of Lyra's static embedding table.
//!
//! ```
//! let network = lyra_judge::Network::builtin()?;
//! let words = [network.first(), 2_000, 2_001, network.end(), 2_000, network.end()];
//! let scores = network.scores(&words, 0, 4);
//! assert!(scores.stance.iter().chain(&scores.reading).all(|score| score.is_finite()));
//! # Ok::<(), String>(())
//! ```

mod encoder;
mod kernel;
mod math;
mod weights;

use encoder::Tokens;
use kernel::Tier;
use std::sync::LazyLock;
use weights::Weights;

/// The second part of the weights, aligned to a cache line.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!("../models/judge-minilm-2.lyj"));

static BUILTIN: LazyLock<Result<Network, String>> = LazyLock::new(|| {
    Ok(Network {
        weights: Weights::parse([lyra_judge_words::bytes(), &FILE.0])?,
        tier: Tier::best(),
    })
});

/// The network's output for a pair; each triple is converted to probabilities by softmax.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// Scores for: the premise supports the claim, refutes it, or does neither.
    pub stance: [f32; 3],
    /// Scores for: the premise asserts nothing, asserts something else, or asserts something about the
    /// claim.
    pub reading: [f32; 3],
}

/// Number of special word rows at the end of the table: unknown, first, end.
const SPECIAL: u32 = 3;

/// A network that is ready to run. Its weights stay in the memory of the loaded program.
#[derive(Debug)]
pub struct Network {
    weights: Weights<'static>,
    tier: Tier,
}

impl Network {
    /// The network whose weights this crate ships.
    ///
    /// # Errors
    ///
    /// A description of the error in the file of weights.
    pub fn builtin() -> Result<&'static Self, String> {
        BUILTIN.as_ref().map_err(Clone::clone)
    }

    /// Number of words, the special ones included.
    pub fn words(&self) -> u32 {
        u32::try_from(self.weights.shape.words).unwrap_or(u32::MAX)
    }

    /// Maximum number of words in a pair.
    pub fn most_words(&self) -> usize {
        self.weights.shape.positions
    }

    /// The word for text that no piece covers.
    pub fn unknown(&self) -> u32 {
        self.words() - SPECIAL
    }

    /// The word at the start of every pair.
    pub fn first(&self) -> u32 {
        self.words() - SPECIAL + 1
    }

    /// The word at the end of the premise and of the claim.
    pub fn end(&self) -> u32 {
        self.words() - SPECIAL + 2
    }

    /// The scores of `[first] context [end] premise [end] claim [end]`. The context and its marker are
    /// the `context` words after the first; without a context they are left out. The first `premise`
    /// words are all words before the claim.
    ///
    /// # Panics
    ///
    /// If a word is not in the table, if there are more than [`most_words`](Self::most_words), or if
    /// either side is empty.
    pub fn scores(&self, words: &[u32], context: usize, premise: usize) -> Scores {
        self.scores_by(words, (context, premise), self.tier)
    }

    fn scores_by(&self, words: &[u32], (context, premise): (usize, usize), tier: Tier) -> Scores {
        assert!(
            words.len() <= self.most_words(),
            "a pair has too many words"
        );
        assert!(
            context + 1 < premise && premise < words.len(),
            "a side of the pair has no words"
        );
        assert!(
            words.iter().all(|w| *w < self.words()),
            "there is no such word"
        );
        let tokens = Tokens {
            words,
            context,
            premise,
        };
        encoder::scores(&self.weights, &tokens, tier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tier_gives_the_same_scores() {
        let network = Network::builtin().unwrap();
        for count in [3, 17, 64, 160] {
            let words: Vec<u32> = (0..count).map(|i| i * 7_919 % network.words()).collect();
            let found: Vec<Scores> = Tier::available()
                .into_iter()
                .map(|tier| network.scores_by(&words, (0, 2), tier))
                .collect();
            assert!(found.iter().all(|f| f == &found[0]), "{count}: {found:?}");
        }
    }

    #[test]
    fn a_damaged_file_of_weights_says_what_is_wrong() {
        let (words, layers) = (lyra_judge_words::bytes(), &FILE.0);
        for (first, second) in [
            (words, &layers[..layers.len() - 64]),
            (&words[..words.len() - 64], layers),
            (words, &[][..]),
        ] {
            let cut = Weights::parse([first, second]).unwrap_err();
            assert!(cut.contains("were expected"), "{cut}");
        }
        let long = Weights::parse([words, &[layers, &[0; 64][..]].concat()]).unwrap_err();
        assert!(long.contains("64 bytes too many"), "{long}");
        let foreign = Weights::parse([b"LYRATAB1", layers]).unwrap_err();
        assert!(foreign.contains("too short"), "{foreign}");
        let mut other = words[..64].to_vec();
        other[8] = 9;
        let version = Weights::parse([&other, layers]).unwrap_err();
        assert!(version.contains("version"), "{version}");
    }
}
