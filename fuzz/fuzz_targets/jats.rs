//! A document as jats.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyra_fuzz::checks::check_document;
use lyra_fuzz::shapes::{document, jats};

fuzz_target!(|data: &[u8]| check_document(&document(data, jats), None, "article.xml"));
