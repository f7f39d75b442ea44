-- ?2 is the time. Later human changes are undone with the earlier values from the log.
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
      AND e.relation IN ('supports', 'refutes', 'neutral') AND e.created_at < ?2
    -- Verdicts of sources that people have excluded since.
    UNION ALL
    SELECT b.id, b.source_id, b.target_id, b.judge_id, b.relation, b.nli_edge_confidence, b.edge_human_corrected,
      b.edge_corrected_at
    FROM blocked_edges b JOIN claims c ON c.id = b.target_id JOIN fragments f ON f.id = b.source_id
      JOIN excluded_pages x ON x.task_id = c.task_id AND x.page_id = f.page_id
      JOIN pages p ON p.id = f.page_id
    WHERE b.created_at < ?2 AND NOT EXISTS (
      SELECT 1 FROM screening_keys k WHERE k.task_id = c.task_id
        AND k.source_key = coalesce(p.canonical_id, p.id) AND k.decided_at < ?2)),
  -- The log records when a known publication was found to be retracted.
  old_retractions AS (
    SELECT canonical_id FROM works WHERE is_retracted = 1 AND canonical_id NOT IN (
      SELECT subject_id FROM event_log WHERE action = 'work_retracted' AND at >= ?2)),
  old_texts AS (
    SELECT page_id, max(version) AS version FROM page_texts WHERE fetched_at < ?2 GROUP BY page_id),
  old_sources AS (SELECT DISTINCT page_id FROM fragments WHERE created_at < ?2)
