-- Version 7: the probabilities that a judge gives, in addition to its choice.

-- {"supports": 0.9, "refutes": 0.02, "neutral": 0.08}; null: the judge gives no probabilities.
ALTER TABLE edges ADD COLUMN nli_probabilities TEXT
  CHECK (nli_probabilities IS NULL OR json_valid(nli_probabilities));
-- Numbers, intervals, population and comparator of a claim, if it names them.
ALTER TABLE claims ADD COLUMN details_json TEXT
  CHECK (details_json IS NULL OR json_valid(details_json));
-- The order of v_hypothesis_evidence.
CREATE INDEX hypothesis_stances_by_side
  ON hypothesis_stances (task_id, (relation = 'neutral'), confidence DESC, claim_id);
