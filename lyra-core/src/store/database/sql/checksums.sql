-- A checksum of each row that is not a count or index, so that `verify` can find rows changed by a disk
-- fault. Other programs need not handle checksums: triggers record the rows that they write, and Lyra
-- computes the checksums of the current rows at its next write.

-- The checksums of the 256 rows of a table from rowid 256 × block on: four bytes each, 0 if there is no
-- row (database/checksums.rs).
CREATE TABLE row_checksums (
  table_number INTEGER NOT NULL,                        -- place in TABLES of storage/checksums.rs
  block        INTEGER NOT NULL,
  checksums    BLOB NOT NULL,
  PRIMARY KEY (table_number, block)
) STRICT, WITHOUT ROWID;

-- The last rowid of each table that has a checksum; rows above it are new.
CREATE TABLE checksummed (
  table_number INTEGER PRIMARY KEY,
  last_rowid   INTEGER NOT NULL
) STRICT;

-- Rows up to that number that have changed since.
CREATE TABLE stale_checksums (
  table_number INTEGER NOT NULL,
  row          INTEGER NOT NULL,
  PRIMARY KEY (table_number, row)
) STRICT, WITHOUT ROWID;

-- The evidence of all tasks, strongest first.
CREATE INDEX stat_evidence_by_confidence ON stat_evidence (confidence DESC, edge_id, is_adopted);

-- With an ordinary rowid, like all other tables.
CREATE TABLE nli_verdicts_new (
  fragment_id TEXT NOT NULL REFERENCES fragments (id) ON DELETE CASCADE,
  claim_id    TEXT NOT NULL REFERENCES claims (id) ON DELETE CASCADE,
  judge_id    TEXT NOT NULL,
  relation    TEXT NOT NULL CHECK (relation IN ('supports', 'refutes', 'neutral')),
  confidence  REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  created_at  TEXT NOT NULL,
  PRIMARY KEY (claim_id, fragment_id)
) STRICT;
INSERT INTO nli_verdicts_new SELECT * FROM nli_verdicts;
DROP TABLE nli_verdicts;
ALTER TABLE nli_verdicts_new RENAME TO nli_verdicts;
CREATE INDEX nli_verdicts_by_fragment ON nli_verdicts (fragment_id);

INSERT INTO checksummed VALUES (0, 0);
CREATE TRIGGER checksum_tasks_i AFTER INSERT ON tasks
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 0) BEGIN
  INSERT INTO stale_checksums VALUES (0, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_tasks_u AFTER UPDATE ON tasks BEGIN
  INSERT INTO stale_checksums VALUES (0, OLD.rowid), (0, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_tasks_d AFTER DELETE ON tasks BEGIN
  INSERT INTO stale_checksums VALUES (0, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (1, 0);
CREATE TRIGGER checksum_queries_i AFTER INSERT ON queries
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 1) BEGIN
  INSERT INTO stale_checksums VALUES (1, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_queries_u AFTER UPDATE ON queries BEGIN
  INSERT INTO stale_checksums VALUES (1, OLD.rowid), (1, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_queries_d AFTER DELETE ON queries BEGIN
  INSERT INTO stale_checksums VALUES (1, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (2, 0);
CREATE TRIGGER checksum_serp_items_i AFTER INSERT ON serp_items
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 2) BEGIN
  INSERT INTO stale_checksums VALUES (2, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_serp_items_u AFTER UPDATE ON serp_items BEGIN
  INSERT INTO stale_checksums VALUES (2, OLD.rowid), (2, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_serp_items_d AFTER DELETE ON serp_items BEGIN
  INSERT INTO stale_checksums VALUES (2, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (3, 0);
CREATE TRIGGER checksum_works_i AFTER INSERT ON works
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 3) BEGIN
  INSERT INTO stale_checksums VALUES (3, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_works_u AFTER UPDATE ON works BEGIN
  INSERT INTO stale_checksums VALUES (3, OLD.rowid), (3, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_works_d AFTER DELETE ON works BEGIN
  INSERT INTO stale_checksums VALUES (3, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (4, 0);
CREATE TRIGGER checksum_work_authors_i AFTER INSERT ON work_authors
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 4) BEGIN
  INSERT INTO stale_checksums VALUES (4, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_work_authors_u AFTER UPDATE ON work_authors BEGIN
  INSERT INTO stale_checksums VALUES (4, OLD.rowid), (4, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_work_authors_d AFTER DELETE ON work_authors BEGIN
  INSERT INTO stale_checksums VALUES (4, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (5, 0);
CREATE TRIGGER checksum_work_identifiers_i AFTER INSERT ON work_identifiers
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 5) BEGIN
  INSERT INTO stale_checksums VALUES (5, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_work_identifiers_u AFTER UPDATE ON work_identifiers BEGIN
  INSERT INTO stale_checksums VALUES (5, OLD.rowid), (5, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_work_identifiers_d AFTER DELETE ON work_identifiers BEGIN
  INSERT INTO stale_checksums VALUES (5, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (6, 0);
CREATE TRIGGER checksum_pages_i AFTER INSERT ON pages
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 6) BEGIN
  INSERT INTO stale_checksums VALUES (6, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_pages_u AFTER UPDATE ON pages BEGIN
  INSERT INTO stale_checksums VALUES (6, OLD.rowid), (6, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_pages_d AFTER DELETE ON pages BEGIN
  INSERT INTO stale_checksums VALUES (6, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (7, 0);
CREATE TRIGGER checksum_page_texts_i AFTER INSERT ON page_texts
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 7) BEGIN
  INSERT INTO stale_checksums VALUES (7, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_page_texts_u AFTER UPDATE ON page_texts BEGIN
  INSERT INTO stale_checksums VALUES (7, OLD.rowid), (7, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_page_texts_d AFTER DELETE ON page_texts BEGIN
  INSERT INTO stale_checksums VALUES (7, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (8, 0);
CREATE TRIGGER checksum_page_references_i AFTER INSERT ON page_references
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 8) BEGIN
  INSERT INTO stale_checksums VALUES (8, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_page_references_u AFTER UPDATE ON page_references BEGIN
  INSERT INTO stale_checksums VALUES (8, OLD.rowid), (8, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_page_references_d AFTER DELETE ON page_references BEGIN
  INSERT INTO stale_checksums VALUES (8, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (9, 0);
CREATE TRIGGER checksum_fragments_i AFTER INSERT ON fragments
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 9) BEGIN
  INSERT INTO stale_checksums VALUES (9, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_fragments_u AFTER UPDATE ON fragments BEGIN
  INSERT INTO stale_checksums VALUES (9, OLD.rowid), (9, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_fragments_d AFTER DELETE ON fragments BEGIN
  INSERT INTO stale_checksums VALUES (9, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (10, 0);
CREATE TRIGGER checksum_claims_i AFTER INSERT ON claims
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 10) BEGIN
  INSERT INTO stale_checksums VALUES (10, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_claims_u AFTER UPDATE ON claims BEGIN
  INSERT INTO stale_checksums VALUES (10, OLD.rowid), (10, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_claims_d AFTER DELETE ON claims BEGIN
  INSERT INTO stale_checksums VALUES (10, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (11, 0);
CREATE TRIGGER checksum_hypothesis_stances_i AFTER INSERT ON hypothesis_stances
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 11) BEGIN
  INSERT INTO stale_checksums VALUES (11, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_hypothesis_stances_u AFTER UPDATE ON hypothesis_stances BEGIN
  INSERT INTO stale_checksums VALUES (11, OLD.rowid), (11, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_hypothesis_stances_d AFTER DELETE ON hypothesis_stances BEGIN
  INSERT INTO stale_checksums VALUES (11, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (12, 0);
CREATE TRIGGER checksum_edges_i AFTER INSERT ON edges
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 12) BEGIN
  INSERT INTO stale_checksums VALUES (12, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_edges_u AFTER UPDATE ON edges BEGIN
  INSERT INTO stale_checksums VALUES (12, OLD.rowid), (12, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_edges_d AFTER DELETE ON edges BEGIN
  INSERT INTO stale_checksums VALUES (12, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (13, 0);
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

INSERT INTO checksummed VALUES (14, 0);
CREATE TRIGGER checksum_embeddings_i AFTER INSERT ON embeddings
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 14) BEGIN
  INSERT INTO stale_checksums VALUES (14, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_embeddings_u AFTER UPDATE ON embeddings BEGIN
  INSERT INTO stale_checksums VALUES (14, OLD.rowid), (14, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_embeddings_d AFTER DELETE ON embeddings BEGIN
  INSERT INTO stale_checksums VALUES (14, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (15, 0);
CREATE TRIGGER checksum_task_pages_i AFTER INSERT ON task_pages
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 15) BEGIN
  INSERT INTO stale_checksums VALUES (15, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_task_pages_u AFTER UPDATE ON task_pages BEGIN
  INSERT INTO stale_checksums VALUES (15, OLD.rowid), (15, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_task_pages_d AFTER DELETE ON task_pages BEGIN
  INSERT INTO stale_checksums VALUES (15, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (16, 0);
CREATE TRIGGER checksum_resource_index_i AFTER INSERT ON resource_index
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 16) BEGIN
  INSERT INTO stale_checksums VALUES (16, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_resource_index_u AFTER UPDATE ON resource_index BEGIN
  INSERT INTO stale_checksums VALUES (16, OLD.rowid), (16, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_resource_index_d AFTER DELETE ON resource_index BEGIN
  INSERT INTO stale_checksums VALUES (16, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (17, 0);
CREATE TRIGGER checksum_jobs_i AFTER INSERT ON jobs
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 17) BEGIN
  INSERT INTO stale_checksums VALUES (17, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_jobs_u AFTER UPDATE ON jobs BEGIN
  INSERT INTO stale_checksums VALUES (17, OLD.rowid), (17, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_jobs_d AFTER DELETE ON jobs BEGIN
  INSERT INTO stale_checksums VALUES (17, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (18, 0);
CREATE TRIGGER checksum_auth_queue_i AFTER INSERT ON auth_queue
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 18) BEGIN
  INSERT INTO stale_checksums VALUES (18, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_auth_queue_u AFTER UPDATE ON auth_queue BEGIN
  INSERT INTO stale_checksums VALUES (18, OLD.rowid), (18, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_auth_queue_d AFTER DELETE ON auth_queue BEGIN
  INSERT INTO stale_checksums VALUES (18, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (19, 0);
CREATE TRIGGER checksum_nli_corrections_i AFTER INSERT ON nli_corrections
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 19) BEGIN
  INSERT INTO stale_checksums VALUES (19, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_nli_corrections_u AFTER UPDATE ON nli_corrections BEGIN
  INSERT INTO stale_checksums VALUES (19, OLD.rowid), (19, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_nli_corrections_d AFTER DELETE ON nli_corrections BEGIN
  INSERT INTO stale_checksums VALUES (19, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (20, 0);
CREATE TRIGGER checksum_feedback_log_i AFTER INSERT ON feedback_log
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 20) BEGIN
  INSERT INTO stale_checksums VALUES (20, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_feedback_log_u AFTER UPDATE ON feedback_log BEGIN
  INSERT INTO stale_checksums VALUES (20, OLD.rowid), (20, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_feedback_log_d AFTER DELETE ON feedback_log BEGIN
  INSERT INTO stale_checksums VALUES (20, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (21, 0);
CREATE TRIGGER checksum_domain_rules_i AFTER INSERT ON domain_rules
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 21) BEGIN
  INSERT INTO stale_checksums VALUES (21, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_domain_rules_u AFTER UPDATE ON domain_rules BEGIN
  INSERT INTO stale_checksums VALUES (21, OLD.rowid), (21, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_domain_rules_d AFTER DELETE ON domain_rules BEGIN
  INSERT INTO stale_checksums VALUES (21, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (22, 0);
CREATE TRIGGER checksum_calibration_versions_i AFTER INSERT ON calibration_versions
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 22) BEGIN
  INSERT INTO stale_checksums VALUES (22, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_calibration_versions_u AFTER UPDATE ON calibration_versions BEGIN
  INSERT INTO stale_checksums VALUES (22, OLD.rowid), (22, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_calibration_versions_d AFTER DELETE ON calibration_versions BEGIN
  INSERT INTO stale_checksums VALUES (22, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (23, 0);
CREATE TRIGGER checksum_calibration_evaluations_i AFTER INSERT ON calibration_evaluations
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 23) BEGIN
  INSERT INTO stale_checksums VALUES (23, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_calibration_evaluations_u AFTER UPDATE ON calibration_evaluations BEGIN
  INSERT INTO stale_checksums VALUES (23, OLD.rowid), (23, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_calibration_evaluations_d AFTER DELETE ON calibration_evaluations BEGIN
  INSERT INTO stale_checksums VALUES (23, OLD.rowid) ON CONFLICT DO NOTHING;
END;

INSERT INTO checksummed VALUES (24, 0);
CREATE TRIGGER checksum_event_log_i AFTER INSERT ON event_log
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 24) BEGIN
  INSERT INTO stale_checksums VALUES (24, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_event_log_u AFTER UPDATE ON event_log BEGIN
  INSERT INTO stale_checksums VALUES (24, OLD.rowid), (24, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_event_log_d AFTER DELETE ON event_log BEGIN
  INSERT INTO stale_checksums VALUES (24, OLD.rowid) ON CONFLICT DO NOTHING;
END;
