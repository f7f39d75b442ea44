//! A document as markdown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyra_fuzz::checks::{abort_on_own_panics, check_document};
use lyra_fuzz::shapes::{document, markdown};

fuzz_target!(init: abort_on_own_panics(), |data: &[u8]| check_document(&document(data, markdown), None, "notes.md"));
