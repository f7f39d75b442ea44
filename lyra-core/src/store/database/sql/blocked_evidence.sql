-- Version 10: verdicts on pages of blocked domains. They are set aside here, out of every count and
-- view, and are moved back to `edges` unchanged when their domain may be used again
-- (graph/blocked_evidence.rs). The columns are those of `edges`, in the same order.
CREATE TABLE blocked_edges (
  id                     TEXT PRIMARY KEY,
  source_type            TEXT NOT NULL CHECK (source_type = 'fragment'),
  source_id              TEXT NOT NULL,
  target_type            TEXT NOT NULL CHECK (target_type = 'claim'),
  target_id              TEXT NOT NULL,
  relation               TEXT NOT NULL CHECK (relation IN ('supports', 'refutes', 'neutral')),
  nli_label              TEXT,
  nli_edge_confidence    REAL,
  judge_id               TEXT,
  quote_start            INTEGER,
  quote_end              INTEGER,
  citation_source        TEXT,
  citation_context       TEXT,
  source_domain_category TEXT,
  target_domain_category TEXT,
  edge_human_corrected   INTEGER NOT NULL,
  edge_correction_reason TEXT,
  edge_corrected_at      TEXT,
  created_at             TEXT NOT NULL,
  cause_id               TEXT,
  nli_probabilities      TEXT
) STRICT;
CREATE UNIQUE INDEX blocked_edges_one_verdict ON blocked_edges (target_id, source_id);
CREATE INDEX blocked_edges_by_source ON blocked_edges (source_id);

INSERT INTO checksummed VALUES (25, 0);
CREATE TRIGGER checksum_blocked_edges_i AFTER INSERT ON blocked_edges
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 25) BEGIN
  INSERT INTO stale_checksums VALUES (25, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_blocked_edges_u AFTER UPDATE ON blocked_edges BEGIN
  INSERT INTO stale_checksums VALUES (25, OLD.rowid), (25, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_blocked_edges_d AFTER DELETE ON blocked_edges BEGIN
  INSERT INTO stale_checksums VALUES (25, OLD.rowid) ON CONFLICT DO NOTHING;
END;
