//! A document as html.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyra_fuzz::checks::{abort_on_own_panics, check_document};
use lyra_fuzz::shapes::{document, html};

fuzz_target!(init: abort_on_own_panics(), |data: &[u8]| check_document(&document(data, html), None, "page.html"));
