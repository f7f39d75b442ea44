//! Scores, combines and truncates ranked lists.
//!
//! | function | purpose |
//! |---|---|
//! | [`Bm25`] | lexical scores of documents in a small collection |
//! | [`fuse`] | weighted sum of two scaled lists of scores |
//! | [`rank_order`] | indices by descending score, ties by index |
//! | [`kneedle_cutoff`] | the number of results of a ranked list that are worth keeping |
//!
//! ```
//! use lyra_core::store::ranking::{kneedle_cutoff, rank_order};
//! let scores = [0.4, 0.9, 0.22, 0.6, 0.25, 0.3, 0.2];
//! let order = rank_order(&scores);
//! assert_eq!(order[..3], [1, 3, 0]);
//! let ranked: Vec<f64> = order.iter().map(|place| scores[*place]).collect();
//! assert!(kneedle_cutoff(&ranked, 2, 50, 1.0) < ranked.len());
//! ```

mod bm25;
mod fuse;
mod kneedle;

pub use bm25::Bm25;
pub use fuse::{fuse, min_max, rank_order};
pub use kneedle::kneedle_cutoff;
