//! Passages as views show them.

use super::*;

impl Naive<'_> {
    /// A passage as in v_contradictions; no edge of these graphs has a quote of the decisive words.
    pub(super) fn quote(&self, evidence: &Evidence<'_>) -> String {
        let text = &self.find("fragments", "id", evidence.fragment)["text_content"];
        let confidence = evidence.confidence.map(|c| round(c, 2));
        format!(
            "{{\"quote\":{text},\"page_id\":{},\"year\":{},\"confidence\":{}}}",
            json!(evidence.page),
            json!(evidence.year),
            json!(confidence),
        )
    }
}
