-- Version 4: evidence by independent source. One publication or page counts as one source, a page that
-- duplicates another's text counts as that page's source, and a retracted publication does not count.
ALTER TABLE stat_claims ADD COLUMN independent_sources INTEGER NOT NULL DEFAULT 0;
ALTER TABLE stat_claims ADD COLUMN independent_support_weight REAL NOT NULL DEFAULT 0;
ALTER TABLE stat_claims ADD COLUMN independent_refute_weight REAL NOT NULL DEFAULT 0;
ALTER TABLE stat_claims ADD COLUMN retracted_evidence_count INTEGER NOT NULL DEFAULT 0;

DROP TRIGGER stale_works_i;
CREATE TRIGGER stale_works_i AFTER INSERT ON works BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN fragments AS f ON f.page_id = p.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id IN (NEW.canonical_id) ON CONFLICT DO NOTHING;
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN pages AS t ON t.near_duplicate_of = p.id
    CROSS JOIN fragments AS f ON f.page_id = t.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id IN (NEW.canonical_id) ON CONFLICT DO NOTHING;
END;
DROP TRIGGER stale_works_u;
CREATE TRIGGER stale_works_u AFTER UPDATE OF canonical_id, year, is_retracted ON works BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN fragments AS f ON f.page_id = p.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id IN (OLD.canonical_id, NEW.canonical_id) ON CONFLICT DO NOTHING;
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN pages AS t ON t.near_duplicate_of = p.id
    CROSS JOIN fragments AS f ON f.page_id = t.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id IN (OLD.canonical_id, NEW.canonical_id) ON CONFLICT DO NOTHING;
END;
DROP TRIGGER stale_works_d;
CREATE TRIGGER stale_works_d AFTER DELETE ON works BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN fragments AS f ON f.page_id = p.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id IN (OLD.canonical_id) ON CONFLICT DO NOTHING;
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN pages AS t ON t.near_duplicate_of = p.id
    CROSS JOIN fragments AS f ON f.page_id = t.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id IN (OLD.canonical_id) ON CONFLICT DO NOTHING;
END;

DROP TRIGGER stale_pages_u;
CREATE TRIGGER stale_pages_u AFTER UPDATE OF id, canonical_id, domain, near_duplicate_of ON pages BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM fragments AS f CROSS JOIN edges AS e ON e.source_id = f.id
    CROSS JOIN claims AS c ON c.id = e.target_id WHERE f.page_id IN (OLD.id, NEW.id) ON CONFLICT DO NOTHING;
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS t CROSS JOIN fragments AS f ON f.page_id = t.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE t.near_duplicate_of IN (OLD.id, NEW.id) ON CONFLICT DO NOTHING;
END;
-- An original may be added after its copy.
CREATE TRIGGER stale_originals_i AFTER INSERT ON pages BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS t CROSS JOIN fragments AS f ON f.page_id = t.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE t.near_duplicate_of IN (NEW.id) ON CONFLICT DO NOTHING;
END;

-- Rows that existed before this version.
INSERT INTO stale_claims SELECT seq FROM claims WHERE TRUE ON CONFLICT DO NOTHING;
