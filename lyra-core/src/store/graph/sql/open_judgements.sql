SELECT
  pair.task_id,
  pair.claim_id,
  pair.fragment_id,
  pair.relation,
  round(pair.uncertainty, 4) AS uncertainty,
  pair.is_disputed,
  round(pair.uncertainty * CASE
    WHEN pair.relation <> 'neutral' AND (pair.fragment_id IS NULL OR pair.is_disputed) THEN 1.0
    WHEN pair.relation <> 'neutral' THEN 0.75
    WHEN pair.fragment_id IS NULL OR pair.is_disputed THEN 0.5
    ELSE 0.25
  END, 4) AS gain
FROM (
  SELECT
    c.task_id,
    e.target_id AS claim_id,
    e.source_id AS fragment_id,
    e.relation,
    1.0 - coalesce(e.nli_edge_confidence, 0.5) AS uncertainty,
    coalesce(s.support_count > 0 AND s.refute_count > 0, 0) AS is_disputed
  FROM claims AS c
  CROSS JOIN edges AS e ON e.target_id = c.id
    AND e.relation IN ('supports', 'refutes', 'neutral')
  CROSS JOIN fragments AS f ON f.id = e.source_id
  LEFT JOIN stat_claims AS s ON s.claim_seq = c.seq
  WHERE c.task_id = :task_id
    AND c.claim_adoption_status = 'adopted'
    AND e.edge_human_corrected = 0
    AND coalesce(e.judge_id, '') NOT GLOB 'agent:*'
  UNION ALL
  SELECT
    c.task_id,
    v.claim_id,
    v.fragment_id,
    v.relation,
    1.0 - v.confidence,
    coalesce(s.support_count > 0 AND s.refute_count > 0, 0)
  FROM claims AS c
  CROSS JOIN nli_verdicts AS v ON v.claim_id = c.id
  LEFT JOIN stat_claims AS s ON s.claim_seq = c.seq
  WHERE c.task_id = :task_id
    AND c.claim_adoption_status = 'adopted'
    AND v.judge_kind IN ('builtin', 'model')
    AND NOT EXISTS (
      SELECT 1
      FROM edges AS e
      WHERE e.target_id = v.claim_id
        AND e.source_id = v.fragment_id
        AND e.relation IN ('supports', 'refutes', 'neutral')
    )
    AND NOT EXISTS (
      SELECT 1
      FROM blocked_edges AS b
      WHERE b.target_id = v.claim_id
        AND b.source_id = v.fragment_id
    )
    AND NOT EXISTS (
      SELECT 1
      FROM nli_verdicts AS newer
      WHERE newer.claim_id = v.claim_id
        AND newer.fragment_id = v.fragment_id
        AND (newer.created_at, newer.judge_id) > (v.created_at, v.judge_id)
    )
  UNION ALL
  SELECT
    h.task_id,
    h.claim_id,
    NULL,
    h.relation,
    1.0 - h.confidence,
    0
  FROM hypothesis_stances AS h
  CROSS JOIN claims AS c ON c.id = h.claim_id
  WHERE h.task_id = :task_id
    AND c.claim_adoption_status = 'adopted'
    AND h.judge_id <> 'human'
    AND h.judge_id NOT GLOB 'agent:*'
    AND EXISTS (
      SELECT 1
      FROM edges AS o
      CROSS JOIN fragments AS f ON f.id = o.source_id
      WHERE o.target_id = h.claim_id AND o.relation = 'origin'
    )
) AS pair
WHERE NOT EXISTS (
  SELECT 1
  FROM nli_verdicts AS better
  WHERE better.claim_id = pair.claim_id
    AND better.fragment_id = pair.fragment_id
    AND better.judge_kind IN ('agent', 'human')
)
