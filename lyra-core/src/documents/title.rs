//! The title of a document: from its metadata, or from its first heading.

use crate::ports::ParsedDocument;
use crate::store::text::segment::Block;

/// Puts the title first as a heading, unless the text has a heading of that rank; otherwise takes
/// the title from that heading.
pub(super) fn lead_with_title(document: &mut ParsedDocument) {
    title_from_heading(document);
    if let Some(title) = &document.meta.title
        && !document.blocks.iter().any(Block::is_top_heading)
    {
        let heading = Block::heading(1, title.clone());
        document.blocks.insert(0, heading);
    }
}

/// Takes the title from the first heading of the highest rank, if no other source gives one.
pub(super) fn title_from_heading(document: &mut ParsedDocument) {
    if document.meta.title.is_none() {
        let heading = document.blocks.iter().find(|block| block.is_top_heading());
        document.meta.title = heading.map(|heading| heading.text.clone());
    }
}
