//! "Did you mean …?": the names that were probably intended.

use strsim::osa_distance;

/// Maximum number of characters compared; more are not needed to recognise a typing error.
const MAX_CHARS: usize = 64;

/// Up to three of `candidates` that differ from `name` by a few letters, contain it or are contained in
/// it, best first. Case is ignored.
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
            let distance = osa_distance(&name, candidate);
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
            assert_eq!(osa_distance(a, b), distance, "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn distance_is_symmetric_and_bounded(a in "[a-d]{0,8}", b in "[a-d]{0,8}") {
            let d = osa_distance(&a, &b);
            prop_assert_eq!(d, osa_distance(&b, &a));
            prop_assert!(d <= a.len().max(b.len()));
            prop_assert_eq!(d == 0, a == b);
        }
    }
}
