//! What hostile text may not do: fetched text is data, never instruction.
//!
//! | module | what it answers |
//! |---|---|
//! | [`sanitize`] | text as a model may see it: nothing invisible, no delimiter of ours |
//! | [`injection`] | which instruction-like patterns a text contains |

pub mod injection;
pub mod sanitize;
