//! The title of a document: from its metadata, or from its first heading.

use crate::ports::ParsedDocument;
use crate::store::model::FragmentType;
use crate::store::text::segment::Block;

/// Puts the title first as a heading, unless the text has a heading of that rank; otherwise takes
/// the title from that heading.
pub(super) fn lead_with_title(document: &mut ParsedDocument) {
    title_from_heading(document);
    if let Some(title) = &document.meta.title
        && !document.blocks.iter().any(Block::is_top_heading)
        && first_heading(document).is_none_or(|heading| heading.text != *title)
    {
        let heading = Block::heading(1, title.clone());
        document.blocks.insert(0, heading);
    }
}

/// The heading that the document begins with.
fn first_heading(document: &ParsedDocument) -> Option<&Block> {
    let first = document.blocks.first();
    first.filter(|block| block.kind == FragmentType::Heading)
}

/// Takes the title from the first heading of the highest rank, or from a lower one with which the
/// document begins, if no other source gives one.
pub(super) fn title_from_heading(document: &mut ParsedDocument) {
    if document.meta.title.is_none() {
        let top = document.blocks.iter().find(|block| block.is_top_heading());
        let heading = top.or_else(|| first_heading(document));
        document.meta.title = heading.map(|heading| heading.text.clone());
    }
}
