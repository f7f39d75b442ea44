//! Who found the claims of a task and who judged them.

use crate::error::{Result, SqliteResultExt};
use crate::store::graph::Reader;

const MAKERS: &str = "
  SELECT what, maker, count(*) FROM (
    SELECT 0 AS what, coalesce(extractor_id, 'whoever added them') AS maker FROM claims
      WHERE task_id = ?1 AND claim_adoption_status = 'adopted'
    UNION ALL
    SELECT 1, coalesce(e.judge_id, 'whoever added them') FROM edges e JOIN claims c ON c.id = e.target_id
      WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted' AND e.target_type = 'claim'
        AND e.relation IN ('supports', 'refutes', 'neutral')
    UNION ALL
    SELECT 2, s.judge_id FROM hypothesis_stances s JOIN claims c ON c.id = s.claim_id
      WHERE s.task_id = ?1 AND c.claim_adoption_status = 'adopted'
  ) GROUP BY what, maker ORDER BY what, count(*) DESC, maker";

const WHAT: [&str; 3] = [
    "Claims found by",
    "Passages judged by",
    "Claims judged against the hypothesis by",
];

/// Sentences on who made the claims and the verdicts of a task, with how many each.
pub(super) fn makers(reader: &Reader<'_>, task_id: &str) -> Result<Vec<String>> {
    let mut statement = reader.db.prepare_cached(MAKERS).db()?;
    let rows = statement.query_map([task_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let rows: Vec<(usize, String, i64)> = rows.db()?.collect::<rusqlite::Result<_>>().db()?;
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
