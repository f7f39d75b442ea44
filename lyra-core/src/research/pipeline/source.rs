//! The source that the evidence of a page counts for.

use crate::error::Result;
use crate::store::graph::Reader;
use crate::store::model::PageRecord;

/// The source of a page's evidence: the first publisher of the text. Reprints, mirrors and print
/// versions count as their original.
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

/// Two papers in one journal count as one source; two papers in two journals count as two.
fn source_key(page: &PageRecord, venue: Option<&str>) -> String {
    match (venue, page.domain.as_deref()) {
        (Some(venue), _) => format!("venue:{}", venue.to_lowercase()),
        // A local disk or a DOI resolver is not a publisher.
        (None, Some(domain)) if !matches!(domain, "local" | "doi.org") => {
            format!("domain:{domain}")
        }
        _ => format!("page:{}", page.id),
    }
}
