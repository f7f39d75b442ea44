-- Version 5: when the last claims are deleted, their numbers are assigned again. The number up to which
-- claims have been counted is therefore lowered with them; otherwise a claim that is added before the
-- next count would be considered counted.
DROP TRIGGER stale_claims_d;
CREATE TRIGGER stale_claims_d AFTER DELETE ON claims BEGIN
  INSERT INTO stale_claims VALUES (OLD.seq) ON CONFLICT DO NOTHING;
  UPDATE stat_state SET value = (SELECT coalesce(max(seq), 0) FROM claims)
  WHERE key = 'last_claim_seq' AND value > (SELECT coalesce(max(seq), 0) FROM claims);
END;
CREATE TRIGGER stale_claims_moved AFTER UPDATE OF seq ON claims BEGIN
  UPDATE stat_state SET value = (SELECT coalesce(max(seq), 0) FROM claims)
  WHERE key = 'last_claim_seq' AND value > (SELECT coalesce(max(seq), 0) FROM claims);
END;
-- Claims that were wrongly considered counted before.
INSERT INTO stale_claims SELECT seq FROM claims WHERE seq NOT IN (SELECT claim_seq FROM stat_claims)
  ON CONFLICT DO NOTHING;
