//! What hostile text and hostile addresses may not do.
