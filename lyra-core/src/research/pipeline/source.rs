//! Whom the evidence of a page counts for.

use crate::error::Result;
use crate::store::graph::Reader;
use crate::store::model::PageRecord;

/// Whom a page's evidence counts for: whoever published the text first. A reprint, a mirror, a
/// print version are the voice of their original once more.
pub(super) fn source_of(reader: &Reader<'_>, page_id: &str) -> Result<String> {
    let page = reader.page(page_id)?;
    let original = match &page.near_duplicate_of {
        Some(original) => reader.page(original)?,
        None => page,
    };
    let venue = match &original.canonical_id {
        Some(work) => reader.venue(work)?,
        None => None,
    };
    Ok(source_key(&original, venue.as_deref()))
}

/// Two papers in one journal are one publisher's word less than two papers in two.
fn source_key(page: &PageRecord, venue: Option<&str>) -> String {
    match (venue, page.domain.as_deref()) {
        (Some(venue), _) => format!("venue:{}", venue.to_lowercase()),
        // Neither a disk nor a resolver publishes anything.
        (None, Some(domain)) if !matches!(domain, "local" | "doi.org") => {
            format!("domain:{domain}")
        }
        _ => format!("page:{}", page.id),
    }
}
