-- Version 13: deleted tasks, so that a merge with a graph that still contains them does not restore
-- them.

-- Tasks that were deleted. A task that is imported again is removed from this table.
CREATE TABLE forgotten (
  task_id      TEXT PRIMARY KEY,
  forgotten_at TEXT NOT NULL
) STRICT;

INSERT INTO checksummed VALUES (27, 0);
CREATE TRIGGER checksum_forgotten_i AFTER INSERT ON forgotten
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 27) BEGIN
  INSERT INTO stale_checksums VALUES (27, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_forgotten_u AFTER UPDATE ON forgotten BEGIN
  INSERT INTO stale_checksums VALUES (27, OLD.rowid), (27, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_forgotten_d AFTER DELETE ON forgotten BEGIN
  INSERT INTO stale_checksums VALUES (27, OLD.rowid) ON CONFLICT DO NOTHING;
END;
