//! Finds the id of a request that is too long to be kept, because its sender waits for an answer.

use serde_json::Value;

/// Maximum number of bytes of a key or an id that are kept.
const LONGEST: usize = 512;

/// Finds `id` among the members of an object that arrives in pieces. Some clients write it first,
/// others last.
#[derive(Debug, Default)]
pub(super) struct IdScan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// After the colon of a member.
    in_value: bool,
    /// The text between two of `{ , : }`, at the depth of the members.
    token: Vec<u8>,
    key: Vec<u8>,
    id: Option<Vec<u8>>,
    is_request: bool,
}

impl IdScan {
    /// Processes the next piece.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The id of the request; null if there is none, or if it is not a valid request id.
    pub(super) fn id(&self) -> Value {
        let id = self.id.as_deref().filter(|_| self.is_request);
        match id.map(serde_json::from_slice) {
            Some(Ok(id @ (Value::String(_) | Value::Number(_)))) => id,
            _ => Value::Null,
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match (self.is_escaped, byte) {
                (true, _) => self.is_escaped = false,
                (false, b'\\') => self.is_escaped = true,
                (false, b'"') => self.in_string = false,
                _ => {}
            }
            return;
        }
        match (byte, self.depth) {
            (b'"', _) => {
                self.in_string = true;
                self.keep(byte);
            }
            (b'{' | b'[', _) => self.depth += 1,
            (b'}' | b']', _) => {
                if self.depth == 1 {
                    self.end_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            (b',', 1) => self.end_member(),
            (b':', 1) => {
                self.key = std::mem::take(&mut self.token);
                self.in_value = true;
            }
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < LONGEST {
            self.token.push(byte);
        }
    }

    fn end_member(&mut self) {
        let value = std::mem::take(&mut self.token);
        if std::mem::take(&mut self.in_value) {
            match self.key.trim_ascii() {
                br#""id""# => self.id = Some(value),
                br#""method""# => self.is_request = true,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_id_is_found_wherever_it_stands() {
        for (line, id) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":8}}"#,
                json!(7),
            ),
            (
                r#"{"method":"m","params":{"id":8,"a":[{"id":9}]},"jsonrpc":"2.0","id":"a,}\"b"}"#,
                json!("a,}\"b"),
            ),
            (r#" { "method" : "m" , "id" : -12 } "#, json!(-12)),
            (
                r#"{"id":7,"method":"m","params":{"text":"unfinished"#,
                json!(7),
            ),
            (r#"{"x\"id":7,"method":"m"}"#, Value::Null),
            (r#"{"params":{"id":7},"method":"m"}"#, Value::Null),
            (r#"{"text":"\\","id":7,"method":"m"}"#, json!(7)),
            (r#"{"id":[7],"method":"m"}"#, Value::Null),
            (r#"{"id":null,"method":"m"}"#, Value::Null),
            // An answer, not a request.
            (r#"{"id":7,"result":{}}"#, Value::Null),
            (r#"["id",7,"method"]"#, Value::Null),
            ("}}}]:,\"", Value::Null),
        ] {
            for step in [1, 3, line.len()] {
                let mut scan = IdScan::default();
                line.as_bytes()
                    .chunks(step)
                    .for_each(|piece| scan.feed(piece));
                assert_eq!(scan.id(), id, "{line} in pieces of {step}");
            }
        }
        let long = format!("{{\"method\":\"m\",\"id\":\"{}\"}}", "x".repeat(10_000));
        let mut scan = IdScan::default();
        scan.feed(long.as_bytes());
        assert_eq!(scan.id(), Value::Null);
    }
}
