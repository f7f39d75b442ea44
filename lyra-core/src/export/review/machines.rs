//! The work of machines in a review, filled in from the graph: the items that guidelines require of
//! reports on machine use in systematic reviews (PRISMA-trAIce). What the graph does not store is
//! reported as missing.

use super::parts::MachineItem;
use crate::error::Result;
use crate::store::graph::Reader;

/// Each item with the SQL statement that fills it in; its rows are texts.
const ITEMS: [(&str, &str, &str); 9] = [
    (
        "Software",
        "SELECT NULL WHERE ?1 IS NULL",
        concat!("Lyra ", env!("CARGO_PKG_VERSION"), " wrote this review; rows keep the names of the models, not the version that was in use."),
    ),
    (
        "Finding records: search services and their ranking",
        "SELECT a.value ->> 'provider' || ': ' || count(*) || ' requests, ' || sum(coalesce(a.value ->> 'hits', 0)) || ' hits'
         FROM queries q JOIN json_each(coalesce(q.requests_json, '[]')) a WHERE q.task_id = ?1 AND a.value ->> 'provider' IS NOT NULL
         GROUP BY a.value ->> 'provider' ORDER BY 1",
        "No search is in the log.",
    ),
    (
        "Choosing passages: embedding model",
        "SELECT m.model_id || ', ' || m.dimension || ' dimensions: ' || count(*) || ' claims'
         FROM claims c JOIN embeddings m ON m.target_type = 'claim' AND m.target_id = c.id
         WHERE c.task_id = ?1 GROUP BY m.model_id, m.dimension ORDER BY 1",
        "No vector is stored for a claim.",
    ),
    (
        "Extracting data: claim extractor",
        "SELECT coalesce(extractor_id, 'not named') || CASE WHEN extractor_id GLOB 'lyra-*' THEN ' (built in)' ELSE '' END
           || ': ' || count(*) || ' claims, confidence '
           || printf('%.2f to %.2f', min(llm_claim_confidence), max(llm_claim_confidence))
         FROM claims WHERE task_id = ?1 GROUP BY extractor_id ORDER BY count(*) DESC, 1",
        "No claim was extracted.",
    ),
    (
        "Judging evidence: judges of passages, and the confidence that made an edge",
        "SELECT coalesce(v.judge_id, 'not named') || CASE WHEN v.judge_kind = 'builtin' THEN ' (built in)' ELSE '' END
           || ': ' || count(*) || CASE count(*) WHEN 1 THEN ' pair' ELSE ' pairs' END || ' judged, ' || count(e.id) || ' of them evidence'
           || CASE WHEN count(e.id) > 0
                THEN printf(' with confidence %.2f and more', min(v.confidence) FILTER (WHERE e.id IS NOT NULL)) ELSE '' END
         FROM claims c JOIN nli_verdicts v ON v.claim_id = c.id
           LEFT JOIN edges e ON e.target_id = v.claim_id AND e.source_id = v.fragment_id
             AND (e.judge_id = v.judge_id OR v.judge_id = 'human' AND e.edge_human_corrected)
             AND e.relation IN ('supports', 'refutes', 'neutral')
         WHERE c.task_id = ?1 GROUP BY v.judge_id, v.judge_kind ORDER BY count(*) DESC, 1",
        "No pair was judged.",
    ),
    (
        "Judging claims against the hypothesis",
        "SELECT judge_id || ': ' || count(*) || ' claims' FROM hypothesis_stances WHERE task_id = ?1
         GROUP BY judge_id ORDER BY count(*) DESC, 1",
        "No claim was judged against the hypothesis.",
    ),
    (
        "Thresholds: calibrations in force",
        "SELECT source || ': version ' || version || ', ' || method || ', fitted to ' || samples || ' corrections'
         FROM calibration_versions WHERE is_active = 1 AND ?1 IS NOT NULL ORDER BY 1",
        "No calibration is in force: confidences are those of the judges. The limits of a run (pages, passages, pairs) are settings and not kept in the graph.",
    ),
    (
        "Checks by people",
        "SELECT told FROM (
           SELECT 1 AS place, action || ' by ' || actor || ': ' || count(*) AS told FROM feedback_log
             WHERE task_id = ?1 AND actor NOT GLOB 'agent:*' GROUP BY action, actor
           UNION ALL
           SELECT 2, 'screening by ' || reviewer || ': ' || count(*) || ' decisions, ' || sum(decision = 'exclude') || ' of them exclude'
             FROM screenings WHERE task_id = ?1 GROUP BY reviewer)
         ORDER BY place, told",
        "No person has checked anything.",
    ),
    (
        "Performance: judges against people",
        "SELECT v.judge_id || ': same as the person on ' || sum(v.relation = h.relation) || ' of ' || count(*) || ' pairs'
         FROM claims c JOIN nli_verdicts h ON h.claim_id = c.id AND h.judge_id = 'human'
           JOIN nli_verdicts v ON v.claim_id = h.claim_id AND v.fragment_id = h.fragment_id AND v.judge_id <> 'human'
         WHERE c.task_id = ?1 GROUP BY v.judge_id ORDER BY 1",
        "Not measured: no person has judged a pair of this task.",
    ),
];

/// The items, filled in for a task.
pub(super) fn items(reader: &Reader<'_>, task_id: &str) -> Result<Vec<MachineItem>> {
    let filled = ITEMS.iter().map(|(item, sql, missing)| {
        let told: Vec<String> = reader.select(sql, (task_id,), |row| row.get(0))?;
        Ok(MachineItem {
            item: (*item).to_owned(),
            text: match told.is_empty() {
                true => (*missing).to_owned(),
                false => told.join("; "),
            },
        })
    });
    filled.collect()
}
