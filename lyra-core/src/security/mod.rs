//! What hostile text and hostile addresses may not do.

pub mod injection;
pub mod url_policy;
