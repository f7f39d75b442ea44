//! Who found the claims of a task and who judged them.

use crate::error::Result;
use crate::store::graph::Reader;

const WHAT: [&str; 3] = [
    "Claims found by",
    "Passages judged by",
    "Claims judged against the hypothesis by",
];

/// Sentences on who made the claims and the verdicts of a task, with how many each.
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
        said.push("What is built in is small and errs: read the quotes.".to_owned());
    }
    Ok(said)
}

/// Their ids have a beginning of their own, which the schema of `nli_verdicts` knows, too.
fn is_builtin(maker: &str) -> bool {
    maker.starts_with("lyra-")
}
