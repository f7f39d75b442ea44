-- Version 11: verdicts of judges on sentences of drafts and on statements, so that the same question is
-- not asked twice.
CREATE TABLE remembered_verdicts (
  key      BLOB PRIMARY KEY,                              -- SHA-256 of judge, premise, context and claim
  supports REAL NOT NULL,
  refutes  REAL NOT NULL,
  neutral  REAL NOT NULL,
  relevance REAL,                                         -- how likely the premise speaks to the claim
  added_at TEXT NOT NULL
) STRICT;
CREATE INDEX remembered_verdicts_by_age ON remembered_verdicts (added_at);
