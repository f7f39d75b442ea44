//! A document as pdf.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyra_fuzz::checks::{abort_on_own_panics, check_document};
use lyra_fuzz::shapes::document;
use lyra_fuzz::shapes_pdf::pdf;

fuzz_target!(init: abort_on_own_panics(), |data: &[u8]| check_document(&document(data, pdf), None, "paper.pdf"));
