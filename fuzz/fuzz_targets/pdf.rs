//! A document as pdf.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyra_fuzz::checks::check_document;
use lyra_fuzz::shapes::{document, pdf};

fuzz_target!(|data: &[u8]| check_document(&document(data, pdf), None, "paper.pdf"));
