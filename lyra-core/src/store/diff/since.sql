-- ?2 is the time. What a human changed later is taken back to what the log says it was before.
WITH
  first_acts AS MATERIALIZED (
    SELECT target_type, target_id, previous_json, min(id) FROM feedback_log
    WHERE created_at >= ?2 AND target_type IN ('claim', 'edge') GROUP BY target_type, target_id),
  old_claims AS (
    SELECT c.id, c.task_id, c.claim_text,
      coalesce(a.previous_json ->> '$.claim_adoption_status',
        CASE WHEN c.claim_rejected_at >= ?2 THEN 'adopted' END, c.claim_adoption_status) AS status
    FROM claims c LEFT JOIN first_acts a ON a.target_type = 'claim' AND a.target_id = c.id
    WHERE c.created_at < ?2),
  old_stances AS (
    SELECT claim_id, relation, confidence, judge_id FROM hypothesis_stances WHERE created_at < ?2),
  old_edges AS (
    SELECT e.id, e.source_id, e.target_id, e.judge_id,
      coalesce(a.previous_json ->> '$.relation',
        CASE WHEN e.edge_corrected_at >= ?2 THEN e.nli_label END, e.relation) AS relation,
      CASE WHEN a.target_id IS NULL THEN e.nli_edge_confidence
        ELSE a.previous_json ->> '$.nli_edge_confidence' END AS confidence,
      CASE WHEN a.target_id IS NOT NULL THEN a.previous_json ->> '$.edge_human_corrected'
        WHEN e.edge_corrected_at >= ?2 THEN 0 ELSE e.edge_human_corrected END AS corrected,
      CASE WHEN a.target_id IS NOT NULL THEN a.previous_json ->> '$.edge_corrected_at'
        WHEN e.edge_corrected_at < ?2 THEN e.edge_corrected_at END AS corrected_at
    FROM edges e LEFT JOIN first_acts a ON a.target_type = 'edge' AND a.target_id = e.id
    WHERE e.source_type = 'fragment' AND e.target_type = 'claim'
      AND e.relation IN ('supports', 'refutes', 'neutral') AND e.created_at < ?2),
  -- No time is kept of a retraction.
  old_retractions AS (SELECT canonical_id FROM works WHERE is_retracted = 1),
  old_texts AS (
    SELECT page_id, max(version) AS version FROM page_texts WHERE fetched_at < ?2 GROUP BY page_id),
  old_sources AS (SELECT DISTINCT page_id FROM fragments WHERE created_at < ?2)
