-- Evidence by who stands behind it: one publication or page is one voice, and a retracted one none.
ALTER TABLE stat_claims ADD COLUMN independent_sources INTEGER NOT NULL DEFAULT 0;
ALTER TABLE stat_claims ADD COLUMN independent_support_weight REAL NOT NULL DEFAULT 0;
ALTER TABLE stat_claims ADD COLUMN independent_refute_weight REAL NOT NULL DEFAULT 0;
ALTER TABLE stat_claims ADD COLUMN retracted_evidence_count INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER stale_works_u;
CREATE TRIGGER stale_works_u AFTER UPDATE OF canonical_id, year, is_retracted ON works BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN fragments AS f ON f.page_id = p.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id IN (OLD.canonical_id, NEW.canonical_id) ON CONFLICT DO NOTHING;
END;
DROP TRIGGER stale_pages_u;
CREATE TRIGGER stale_pages_u AFTER UPDATE OF id, canonical_id, domain ON pages BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM fragments AS f CROSS JOIN edges AS e ON e.source_id = f.id
    CROSS JOIN claims AS c ON c.id = e.target_id WHERE f.page_id IN (OLD.id, NEW.id) ON CONFLICT DO NOTHING;
END;

-- What was there before this version.
INSERT INTO stale_claims SELECT seq FROM claims WHERE TRUE ON CONFLICT DO NOTHING;
