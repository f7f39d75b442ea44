//! "Did you mean …?": the names that somebody probably meant.

/// What is compared of a name; nobody means more by a slip.
const MAX_CHARS: usize = 64;

/// Up to three of `candidates` that differ from `name` by a few letters, or contain it or are
/// contained in it, best first. Capitals do not count.
///
/// ```
/// use lyra_core::store::text::names::nearest;
/// assert_eq!(nearest("calims", ["claims", "edges"]), ["claims"]);
/// assert_eq!(nearest("task", ["targets", "task_id"]), ["task_id"]);
/// assert!(nearest("zebra", ["claims", "edges"]).is_empty());
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name: String = name.to_lowercase().chars().take(MAX_CHARS).collect();
    let allowed = (name.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let distance = edit_distance(&name, candidate);
            let inside = name.len() >= 3 && (candidate.contains(&name) || name.contains(candidate));
            (distance <= allowed || (inside && candidate.len() >= 3))
                .then_some((distance, candidate))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_slips_and_parts_and_nothing_else() {
        let names = ["task_id", "targets", "options", "wait"];
        for (name, expected) in [
            ("taskid", &["task_id"][..]),
            ("task_di", &["task_id"]),
            ("task", &["task_id"]),
            ("target", &["targets"]),
            ("Wait", &["wait"]),
            ("hypothesis", &[]),
            ("x", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(name, names), expected, "{name}");
        }
        assert_eq!(
            nearest("claim", ["claims", "claims", "claim"]),
            ["claim", "claims"]
        );
        assert_eq!(nearest(&"claim".repeat(9_000), ["claims"]).len(), 0);
    }

    #[test]
    fn distances_of_known_pairs() {
        for (a, b, distance) in [
            ("", "", 0),
            ("abc", "", 3),
            ("claim", "claims", 1),
            ("calims", "claims", 1),
            ("ab", "ba", 1),
            ("edge", "page", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn distance_is_symmetric_and_bounded(a in "[a-d]{0,8}", b in "[a-d]{0,8}") {
            let d = edit_distance(&a, &b);
            prop_assert_eq!(d, edit_distance(&b, &a));
            prop_assert!(d <= a.len().max(b.len()));
            prop_assert_eq!(d == 0, a == b);
        }
    }
}
