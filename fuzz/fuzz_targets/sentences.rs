//! Sentences: in order, apart from each other, within the text, and none of them blank.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyra_core::store::text::segment::slice_chars;
use lyra_core::store::text::sentence::sentences;
use lyra_fuzz::shapes::{document, text};

fuzz_target!(|data: &[u8]| {
    let bytes = document(data, text);
    let text = String::from_utf8_lossy(&bytes);
    let mut end = 0;
    for span in sentences(&text) {
        assert!(span.start >= end, "{span:?} begins before {end}");
        let sentence = slice_chars(&text, span.start, span.end).expect("within the text");
        assert!(!sentence.trim().is_empty(), "{span:?} is blank");
        end = span.end;
    }
});
