//! What a client writes: each request gets an answer, whatever stands around it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyra_fuzz::shapes::{document, messages};
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let input = document(data, messages);
    let replies = lyra_mcp::answers_to(&input);
    let mut open: Vec<Value> = replies.iter().map(|reply| reply["id"].clone()).collect();
    for line in input.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        let id = &message["id"];
        if !message["method"].is_string() || !(id.is_string() || id.is_number()) {
            continue;
        }
        let answer = open.iter().position(|known| known == id);
        open.swap_remove(answer.unwrap_or_else(|| panic!("no answer to {message}: {replies:?}")));
    }
});
