WITH
  old_claims AS (
    SELECT id, task_id, claim_text, claim_adoption_status AS status FROM past.claims),
  old_stances AS (SELECT claim_id, relation, confidence, judge_id FROM past.hypothesis_stances),
  old_edges AS (
    SELECT id, source_id, target_id, relation, nli_edge_confidence AS confidence, judge_id,
      edge_human_corrected AS corrected, edge_corrected_at AS corrected_at
    FROM past.edges
    WHERE source_type = 'fragment' AND target_type = 'claim' AND relation IN ('supports', 'refutes', 'neutral')),
  old_retractions AS (SELECT canonical_id FROM past.works WHERE is_retracted = 1),
  old_texts AS (SELECT page_id, max(version) AS version FROM past.page_texts GROUP BY page_id),
  old_sources AS (SELECT DISTINCT page_id FROM past.fragments)
