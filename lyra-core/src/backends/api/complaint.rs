//! What services say of their failures.

use serde_json::Value;

/// What a service says of its failure, in its own words, on one line of at most 200 characters.
pub(in crate::backends) fn complaint(body: &[u8]) -> String {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = [
        &parsed["error"]["message"],
        &parsed["error"],
        &parsed["message"],
        &parsed["detail"],
    ];
    let text = match said.iter().find_map(|value| value.as_str()) {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(&body[..body.len().min(1024)]).into_owned(),
    };
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ").chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_short_and_on_one_line() {
        let long = "x".repeat(5_000);
        for (body, expected) in [
            (
                r#"{"error": {"message": "Rate limit\nreached", "type": "requests"}}"#,
                "Rate limit reached",
            ),
            (
                r#"{"error": "model \"m\" not found"}"#,
                "model \"m\" not found",
            ),
            (r#"{"message": "no"}"#, "no"),
            ("<html>Bad Gateway</html>\r\n", "<html>Bad Gateway</html>"),
            ("", ""),
            (&long, &long[..200]),
        ] {
            assert_eq!(complaint(body.as_bytes()), expected);
        }
    }
}
