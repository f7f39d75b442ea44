//! Error messages of services.

use crate::web::ApiKey;
use serde_json::Value;
use std::borrow::Cow;

/// A service's error message in its own words, on one line of at most 200 characters. The key that
/// was sent is removed first, because after cutting a part of it would not be recognised.
pub(crate) fn complaint(body: &[u8], key: Option<&ApiKey>) -> String {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = [
        &parsed["error"]["message"],
        &parsed["error"],
        &parsed["message"],
        &parsed["detail"],
    ];
    let text = match said.iter().find_map(|value| value.as_str()) {
        Some(text) => Cow::Borrowed(text),
        None => String::from_utf8_lossy(body),
    };
    let text = key.map_or_else(|| text.as_ref().into(), |key| key.redact(&text));
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .take(200)
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
            assert_eq!(complaint(body.as_bytes(), None), expected);
        }
    }

    #[test]
    fn no_part_of_a_key_is_left_at_the_cut() {
        let secret = "sk-0123456789+abc/def";
        let key = ApiKey::new("KEY", secret).unwrap();
        for spelling in [secret, "sk-0123456789%2Babc%2Fdef"] {
            for before in 0..1_200 {
                let said = format!("{}{spelling} is no key", "x".repeat(before));
                let as_json = serde_json::json!({ "error": { "message": said } }).to_string();
                for body in [said, as_json] {
                    let shown = complaint(body.as_bytes(), Some(&key));
                    assert!(!shown.contains("sk"), "{before}: {shown}");
                }
            }
        }
    }
}
