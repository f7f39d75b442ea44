//! What must hold of whatever comes out.

use lyra_core::ErrorKind;
use lyra_core::documents::parse;
use lyra_core::ports::ParsedDocument;
use lyra_core::store::text::segment::{assemble, slice_chars};

/// Makes a panic of our code end the process, as libFuzzer wants it, and lets one of a dependency
/// unwind: the parsers of other people's formats may panic, and the caller answers with an error.
pub fn abort_on_own_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let is_foreign = panic
            .location()
            .is_some_and(|place| place.file().contains("registry/src"));
        if !is_foreign {
            eprintln!("{panic}\n{}", std::backtrace::Backtrace::force_capture());
            std::process::abort();
        }
    }));
}

/// Reads a document and checks its parts: a refusal is an error of the document or of this build,
/// every segment is cut out of the text where it says, and nothing is too long to be stored.
pub fn check_document(bytes: &[u8], content_type: Option<&str>, name: &str) {
    match parse(bytes, content_type, name) {
        Ok(document) => check_parts(&document),
        Err(error) => assert!(
            matches!(
                error.kind(),
                ErrorKind::InvalidInput
                    | ErrorKind::Timeout
                    | ErrorKind::Unsupported
                    | ErrorKind::Pipeline
            ),
            "not an error of the document: {error:?}"
        ),
    }
}

/// The parts of a document.
pub fn check_parts(document: &ParsedDocument) {
    let whole = assemble(&document.blocks);
    let mut before = 0;
    for segment in &whole.segments {
        let cut = slice_chars(&whole.text, segment.char_start, segment.char_end);
        assert_eq!(
            cut,
            Some(segment.text.as_str()),
            "at {}..{}",
            segment.char_start,
            segment.char_end
        );
        assert!(segment.text.len() <= 64_000, "{} bytes", segment.text.len());
        assert!(
            segment.char_start >= before && segment.char_end > segment.char_start,
            "out of order"
        );
        before = segment.char_start;
    }
    assert!(!whole.text.contains('\0'), "a NUL character");
}
