-- Version 9: stores the verdicts of all judges, and lends pairs to agents that judge them.

-- One row for each pair and judge; a new verdict of a judge replaces its earlier row. The edge of a pair
-- is the verdict of the highest kind: human, agent, model, builtin; the newest among equals.
CREATE TABLE nli_verdicts_new (
  fragment_id   TEXT NOT NULL REFERENCES fragments (id) ON DELETE CASCADE,
  claim_id      TEXT NOT NULL REFERENCES claims (id) ON DELETE CASCADE,
  judge_id      TEXT NOT NULL,                          -- human; agent:client:model; the id of a model
  relation      TEXT NOT NULL CHECK (relation IN ('supports', 'refutes', 'neutral')),
  confidence    REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  created_at    TEXT NOT NULL,
  probabilities TEXT CHECK (probabilities IS NULL OR json_valid(probabilities)),
  quote_start   INTEGER,                                -- in the page's text, inside the fragment
  quote_end     INTEGER,
  reason        TEXT,
  cause_id      TEXT,                                   -- the job, or the loan, that led to it
  judge_kind    TEXT NOT NULL GENERATED ALWAYS AS (
    CASE
      WHEN judge_id = 'human' THEN 'human'
      WHEN judge_id GLOB 'agent:*' THEN 'agent'
      WHEN judge_id GLOB 'lyra-*' THEN 'builtin'
      ELSE 'model'
    END
  ) VIRTUAL,
  PRIMARY KEY (claim_id, fragment_id, judge_id)
) STRICT;
INSERT INTO nli_verdicts_new (fragment_id, claim_id, judge_id, relation, confidence, created_at)
  SELECT fragment_id, claim_id, judge_id, relation, confidence, created_at FROM nli_verdicts ORDER BY rowid;
DROP TABLE nli_verdicts;
ALTER TABLE nli_verdicts_new RENAME TO nli_verdicts;
CREATE INDEX nli_verdicts_by_fragment ON nli_verdicts (fragment_id);

-- The table is new, so its checksums are computed again.
DELETE FROM row_checksums WHERE table_number = 13;
DELETE FROM stale_checksums WHERE table_number = 13;
UPDATE checksummed SET last_rowid = 0 WHERE table_number = 13;
CREATE TRIGGER checksum_nli_verdicts_i AFTER INSERT ON nli_verdicts
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 13) BEGIN
  INSERT INTO stale_checksums VALUES (13, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_nli_verdicts_u AFTER UPDATE ON nli_verdicts BEGIN
  INSERT INTO stale_checksums VALUES (13, OLD.rowid), (13, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_nli_verdicts_d AFTER DELETE ON nli_verdicts BEGIN
  INSERT INTO stale_checksums VALUES (13, OLD.rowid) ON CONFLICT DO NOTHING;
END;

-- Pairs that were lent to an agent. Private: an id is the right to answer.
CREATE TABLE judgement_loans (
  pair_id     TEXT PRIMARY KEY,
  task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  claim_id    TEXT NOT NULL REFERENCES claims (id) ON DELETE CASCADE,
  fragment_id TEXT REFERENCES fragments (id) ON DELETE CASCADE, -- null: the claim against the hypothesis
  lent_at     TEXT NOT NULL,
  lease_until TEXT NOT NULL,
  judged_at   TEXT                                      -- null: not answered yet
) STRICT;
-- No pair is lent twice at the same time.
CREATE UNIQUE INDEX judgement_loans_open ON judgement_loans (claim_id, ifnull(fragment_id, ''))
  WHERE judged_at IS NULL;
CREATE INDEX judgement_loans_by_task ON judgement_loans (task_id);
CREATE INDEX judgement_loans_by_fragment ON judgement_loans (fragment_id) WHERE fragment_id IS NOT NULL;
