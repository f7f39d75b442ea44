-- ?1 page, ?2 task, ?3 to ?8 of adopted claims, ?9 to ?14 of all.
INSERT INTO stat_task_pages (
  page_id, task_id, domain, citation_count, cited_by_count,
  claims_supported, support_count, evidence_count, claims_generated, confidence_sum, confidence_count,
  claims_supported_all, support_count_all, evidence_count_all, claims_generated_all, confidence_sum_all,
  confidence_count_all
)
VALUES (
  ?1, ?2,
  (SELECT domain FROM pages WHERE id = ?1),
  coalesce((SELECT citation_count FROM stat_pages WHERE page_id = ?1), 0),
  coalesce((SELECT cited_by_count FROM stat_pages WHERE page_id = ?1), 0),
  ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14
)
ON CONFLICT (page_id, task_id) DO UPDATE SET
  claims_supported = claims_supported + excluded.claims_supported,
  support_count = support_count + excluded.support_count,
  evidence_count = evidence_count + excluded.evidence_count,
  claims_generated = claims_generated + excluded.claims_generated,
  confidence_sum = confidence_sum + excluded.confidence_sum,
  confidence_count = confidence_count + excluded.confidence_count,
  claims_supported_all = claims_supported_all + excluded.claims_supported_all,
  support_count_all = support_count_all + excluded.support_count_all,
  evidence_count_all = evidence_count_all + excluded.evidence_count_all,
  claims_generated_all = claims_generated_all + excluded.claims_generated_all,
  confidence_sum_all = confidence_sum_all + excluded.confidence_sum_all,
  confidence_count_all = confidence_count_all + excluded.confidence_count_all
