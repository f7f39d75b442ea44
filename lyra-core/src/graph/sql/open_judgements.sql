SELECT
  pair.claim_id,
  pair.fragment_id,
  pair.relation,
  pair.uncertainty,
  pair.is_disputed,
  pair.uncertainty * CASE
    WHEN pair.relation <> 'neutral' AND (pair.fragment_id IS NULL OR pair.is_disputed) THEN 1.0
    WHEN pair.relation <> 'neutral' THEN 0.75
    WHEN pair.fragment_id IS NULL OR pair.is_disputed THEN 0.5
    ELSE 0.25
  END AS gain
FROM (
  SELECT
    v.claim_id,
    v.fragment_id,
    coalesce(e.relation, v.relation) AS relation,
    1.0 - coalesce(e.nli_edge_confidence, v.confidence) AS uncertainty,
    coalesce(s.support_count > 0 AND s.refute_count > 0, 0) AS is_disputed
  FROM claims AS c
  CROSS JOIN nli_verdicts AS v ON v.claim_id = c.id
  LEFT JOIN edges AS e ON e.target_id = v.claim_id
    AND e.source_id = v.fragment_id
    AND e.relation IN ('supports', 'refutes', 'neutral')
  LEFT JOIN stat_claims AS s ON s.claim_seq = c.seq
  WHERE c.task_id = :task_id
    AND c.claim_adoption_status = 'adopted'
    AND v.judge_kind IN ('builtin', 'model')
    AND coalesce(e.edge_human_corrected, 0) = 0
    AND NOT EXISTS (
      SELECT 1
      FROM nli_verdicts AS other
      WHERE other.claim_id = v.claim_id
        AND other.fragment_id = v.fragment_id
        AND (
          other.judge_kind IN ('agent', 'human')
          OR (other.created_at, other.judge_id) > (v.created_at, v.judge_id)
        )
    )
  UNION ALL
  SELECT
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
