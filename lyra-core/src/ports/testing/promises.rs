//! Shared by the suites of several ports: the tolerance between answers, texts, names and
//! addresses.

use crate::error::Result;

/// Maximum difference between two answers to the same request: models round differently in batches.
pub(super) const SAME: f64 = 1e-4;

/// Texts that occur in research, including unusual ones.
pub(super) const TEXTS: &[&str] = &[
    "Drug X increased the risk of falls in older adults.",
    "The hazard ratio was 1.27 (95% CI 1.07 to 1.51; P = 0.007).",
    "該当する患者では、心不全による入院が有意に増加した。",
    "Ünïcödé, naïve café — “quotes” and 𝒎𝒂𝒕𝒉 👩‍⚕️.",
    "a",
    "?!…",
    "line one\nline two\ttabbed",
];

/// The answer, or a panic that names the request and the error.
pub(super) fn answered<T>(who: &str, asked: &str, answer: Result<T>) -> T {
    match answer {
        Ok(value) => value,
        Err(error) => panic!("{who}: {asked}: an error instead of an answer: {error}"),
    }
}

/// A name that is stored in a column and shown to people.
pub(super) fn is_a_name(name: &str) -> bool {
    !name.is_empty() && name.trim() == name && !name.chars().any(char::is_control)
}

/// Whether a document may have such an address.
pub(super) fn is_fetchable(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|url| matches!(url.scheme(), "file" | "http" | "https"))
}
