//! Scoring, fusing and cutting ranked lists.
//!
//! | function | what it answers |
//! |---|---|
//! | [`Bm25`] | how well documents of a small collection match a query, by words |
//! | [`fuse`] | two lists of scores on one scale, added by weight |
//! | [`rank_order`] | indices by descending score, ties by index |
//! | [`kneedle_cutoff`] | how many of a ranked list are worth keeping |

mod bm25;
mod fuse;
mod kneedle;

pub use bm25::Bm25;
pub use fuse::{fuse, min_max, rank_order};
pub use kneedle::kneedle_cutoff;
