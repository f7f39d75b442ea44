//! A file with a document a line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyra_core::documents::parse_records;
use lyra_fuzz::checks::check_parts;
use lyra_fuzz::shapes::{document, records};

fuzz_target!(|data: &[u8]| {
    let file = document(data, records);
    for record in parse_records(&file)
        .expect("a file below the cap")
        .into_iter()
        .flatten()
    {
        check_parts(&record.document);
    }
});
