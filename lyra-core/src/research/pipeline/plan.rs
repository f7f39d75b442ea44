//! Turns a target into the queries to search for.

/// Words that are added to search for opposing evidence.
const REFUTATIONS: &[&str] = &["no effect", "contradictory evidence", "limitations"];
const REFUTATIONS_JA: &[&str] = &["効果なし", "反証", "限界"];

/// The queries for a text: itself, and with `refute` its refutation variants.
///
/// Expansion is mechanical: every query is one that the user could have typed.
pub(super) fn expand(query: &str, refute: bool) -> Vec<String> {
    let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut queries = vec![query.clone()];
    if refute {
        let japanese = query.chars().any(crate::store::text::is_cjk);
        let suffixes = if japanese {
            REFUTATIONS_JA
        } else {
            REFUTATIONS
        };
        queries.extend(suffixes.iter().map(|suffix| format!("{query} {suffix}")));
    }
    queries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_in_the_query_s_language() {
        assert_eq!(expand("  heart   failure ", false), ["heart failure"]);
        assert_eq!(expand("saxagliptin", true)[1], "saxagliptin no effect");
        assert_eq!(expand("血糖値", true)[2], "血糖値 反証");
    }
    /// The reference adds filters of a web search engine (`site:`, `filetype:`), which academic
    /// services treat as words or reject. Here every query starts as the user typed it.
    #[test]
    fn the_reference_s_filters_are_not_added() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../shared/data/reference-cases/expand_query.jsonl"
        );
        let Ok(text) = std::fs::read_to_string(path) else {
            eprintln!("skipped: {path} is not there");
            return;
        };
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let ours = expand(row["q"].as_str().expect("a query"), false);
            let theirs = row["expanded"].as_array().expect("a list");
            let unfiltered: Vec<&str> = theirs
                .iter()
                .filter_map(|query| query.as_str())
                .enumerate()
                .filter(|(place, query)| {
                    *place == 0 || !(query.contains("site:") || query.contains("filetype:"))
                })
                .map(|(_, query)| query)
                .collect();
            assert_eq!(ours, unfiltered, "{line}");
        }
    }
}
