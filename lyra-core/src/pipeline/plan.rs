//! From a target to the queries that are searched.

/// Words that look for the other side.
const REFUTATIONS: &[&str] = &["no effect", "contradictory evidence", "limitations"];
const REFUTATIONS_JA: &[&str] = &["効果なし", "反証", "限界"];

/// The queries for a text: itself, and with `refute` its refutation variants.
///
/// Expansion is mechanical: nothing is searched that the user could not have typed.
pub(super) fn expand(query: &str, refute: bool) -> Vec<String> {
    let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut queries = vec![query.clone()];
    if refute {
        let japanese = query.chars().any(crate::text::is_cjk);
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
}
