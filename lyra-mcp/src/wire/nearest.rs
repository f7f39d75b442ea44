//! "Did you mean …?"

/// The candidate nearest to `word` by edit distance, if it is near enough to be a slip.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().take(64).collect();
    let allowed = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (distance(&word, &c.chars().collect::<Vec<_>>()), c))
        .filter(|(d, c)| *d <= allowed || is_part(&word, c))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// `task` for `task_id` is more than a slip of the fingers, and still plain.
fn is_part(word: &[char], candidate: &str) -> bool {
    let word: String = word.iter().collect();
    word.len() >= 3
        && (candidate.contains(&word) || (word.contains(candidate) && candidate.len() >= 3))
}

/// Levenshtein distance with swaps of neighbours counted as one step.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            let substituted = last[j] + usize::from(x != y);
            row[j + 1] = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_parts_and_nothing_else() {
        let names = ["task_id", "targets", "options", "wait"];
        for (word, expected) in [
            ("taskid", Some("task_id")),
            ("task_di", Some("task_id")),
            ("task", Some("task_id")),
            ("target", Some("targets")),
            ("Wait", Some("wait")),
            ("hypothesis", None),
            ("x", None),
        ] {
            assert_eq!(nearest(word, names), expected, "{word}");
        }
    }

    #[test]
    fn distance_counts_steps() {
        let d = |a: &str, b: &str| {
            distance(
                &a.chars().collect::<Vec<_>>(),
                &b.chars().collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            (d("", "abc"), d("abc", "acb"), d("kitten", "sitting")),
            (3, 1, 3)
        );
    }
}
