//! Names the extractors of the claims and the judges of a task.

use crate::error::Result;
use crate::store::graph::Reader;

const WHAT: [&str; 3] = [
    "Claims found by",
    "Passages judged by",
    "Claims judged against the hypothesis by",
];

/// Sentences that name the makers of the claims and the verdicts of a task, with counts.
pub(super) fn makers(reader: &Reader<'_>, task_id: &str) -> Result<Vec<String>> {
    let rows = reader.makers(task_id)?;
    let mut said: Vec<String> = Vec::new();
    for (what, name) in WHAT.iter().enumerate() {
        let of_it = rows.iter().filter(|(of, _, _)| *of == what);
        let each: Vec<String> = of_it
            .map(|(_, maker, count)| match is_builtin(maker) {
                true => format!("{maker} (built in): {count}"),
                false => format!("{maker}: {count}"),
            })
            .collect();
        if !each.is_empty() {
            said.push(format!("{name} {}.", each.join(", ")));
        }
    }
    if rows.iter().any(|(_, maker, _)| is_builtin(maker)) {
        said.push("The built-in models are small and make mistakes: read the quotes.".to_owned());
    }
    Ok(said)
}

/// The ids of built-in models share a prefix, which the schema of `nli_verdicts` also relies on.
fn is_builtin(maker: &str) -> bool {
    maker.starts_with("lyra-")
}
