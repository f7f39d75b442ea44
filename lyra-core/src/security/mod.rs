//! What hostile text and hostile addresses may not do: fetched text is data, never instruction.
//!
//! | module | what it answers |
//! |---|---|
//! | [`sanitize`] | text as a model may see it: nothing invisible, no delimiter of ours |
//! | [`quoting`] | somebody else's words inside a sentence of ours |
//! | [`injection`] | which instruction-like patterns a text contains |
//! | [`url_policy`] | which network addresses may be fetched |

pub mod injection;
mod injection_patterns;
pub mod quoting;
pub mod sanitize;
pub mod url_policy;
