-- Version 2: the tables that the views read. Everything here is derived: `stat_…` tables hold counts and
-- sums over the tables of version 1, in the order in which the views list them, and `stale_…` tables
-- name the rows whose counts must be updated. Triggers fill the latter, whichever program writes; Lyra
-- counts and empties them before each commit (database/aggregates).
-- Rejected claims: columns that end in `_all` include them; the columns without this suffix do not.

-- ---------------------------------------------------------------- counts

CREATE TABLE stat_claims (
  claim_seq             INTEGER PRIMARY KEY,            -- claims.seq
  claim_id              TEXT NOT NULL,
  task_id               TEXT NOT NULL,
  is_adopted            INTEGER NOT NULL,
  support_count         INTEGER NOT NULL,
  refute_count          INTEGER NOT NULL,
  neutral_count         INTEGER NOT NULL,
  evidence_count        INTEGER GENERATED ALWAYS AS (support_count + refute_count + neutral_count) VIRTUAL,
  max_confidence        REAL NOT NULL,
  avg_confidence        REAL NOT NULL,
  support_weight        REAL NOT NULL,                  -- sums of confidences
  refute_weight         REAL NOT NULL,
  controversy_score     REAL GENERATED ALWAYS AS (
    CASE WHEN support_count > 0 AND refute_count > 0
      THEN min(support_count, refute_count) * 1.0 / (support_count + refute_count + neutral_count) END
  ) VIRTUAL,
  -- Dated: the publication behind the evidence has a year.
  dated_count           INTEGER NOT NULL,
  year_sum              INTEGER NOT NULL,
  mean_year             REAL GENERATED ALWAYS AS (year_sum * 1.0 / nullif(dated_count, 0)) VIRTUAL,
  newest_support_year   INTEGER,
  oldest_support_year   INTEGER,
  newest_refute_year    INTEGER,
  support_years         INTEGER NOT NULL,               -- different ones
  dated_support_count   INTEGER NOT NULL,
  undated_support_count INTEGER NOT NULL,
  recent_support_count  INTEGER NOT NULL,               -- from stat_state.reference_year - 2 on
  support_trend         INTEGER GENERATED ALWAYS AS (
    2 * recent_support_count - dated_support_count - undated_support_count
  ) VIRTUAL
) STRICT;
CREATE INDEX stat_claims_by_evidence ON stat_claims (task_id, evidence_count DESC, refute_count DESC, claim_id, is_adopted);
CREATE INDEX stat_claims_by_controversy ON stat_claims (task_id, controversy_score DESC, evidence_count DESC, claim_id, is_adopted)
  WHERE controversy_score IS NOT NULL;
CREATE INDEX stat_claims_unsupported ON stat_claims (task_id, claim_id, is_adopted) WHERE evidence_count = 0;
CREATE INDEX stat_claims_by_age ON stat_claims (task_id, mean_year DESC, claim_id, is_adopted) WHERE dated_count > 0;
CREATE INDEX stat_claims_by_trend ON stat_claims (task_id, support_trend DESC, recent_support_count DESC, claim_id, is_adopted)
  WHERE support_count > 0;
CREATE INDEX stat_claims_by_old_support ON stat_claims (task_id, newest_support_year, claim_id, is_adopted)
  WHERE newest_support_year IS NOT NULL;
CREATE INDEX stat_claims_by_new_support ON stat_claims (task_id, newest_support_year DESC, claim_id, is_adopted)
  WHERE newest_support_year IS NOT NULL;

-- What a claim has added to the tables below, as JSON, so that it can be subtracted exactly.
CREATE TABLE stat_counted (
  claim_seq INTEGER PRIMARY KEY,
  counted   TEXT NOT NULL
) STRICT;

-- Edges that were added before their fragment: counted again when the fragment is added.
CREATE TABLE stat_missing (
  claim_seq   INTEGER NOT NULL,
  fragment_id TEXT NOT NULL,
  PRIMARY KEY (claim_seq, fragment_id)
) STRICT, WITHOUT ROWID;

-- The evidence of a task, strongest first. A missing confidence is -1.
CREATE TABLE stat_evidence (
  task_id    TEXT NOT NULL,
  confidence REAL NOT NULL,
  edge_id    TEXT NOT NULL,
  claim_seq  INTEGER NOT NULL,
  is_adopted INTEGER NOT NULL,
  -- An edge that moves between claims is counted for the new one before it is removed from the old one.
  PRIMARY KEY (task_id, confidence DESC, edge_id, claim_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE stat_task_fragments (
  task_id      TEXT NOT NULL,
  fragment_seq INTEGER NOT NULL,                        -- fragments.seq
  year         INTEGER NOT NULL,                        -- -99999: undated
  edges        INTEGER NOT NULL,
  edges_all    INTEGER NOT NULL,
  PRIMARY KEY (task_id, fragment_seq)
) STRICT, WITHOUT ROWID;

-- Sums of confidences are integers in units of 1e-11, so that subtractions are exact.
CREATE TABLE stat_years (
  task_id            TEXT NOT NULL,
  year               INTEGER NOT NULL,                  -- -99999: undated
  fragment_count     INTEGER NOT NULL,
  claim_count        INTEGER NOT NULL,
  edge_count         INTEGER NOT NULL,
  confidence_sum     INTEGER NOT NULL,
  fragment_count_all INTEGER NOT NULL,
  claim_count_all    INTEGER NOT NULL,
  edge_count_all     INTEGER NOT NULL,
  confidence_sum_all INTEGER NOT NULL,
  PRIMARY KEY (task_id, year)
) STRICT, WITHOUT ROWID;

-- Claims with evidence for or against, by the decade of their newest evidence.
CREATE TABLE stat_eras (
  task_id               TEXT NOT NULL,
  decade                INTEGER NOT NULL,
  decided               INTEGER NOT NULL,
  controversial         INTEGER NOT NULL,
  controversy_sum       INTEGER NOT NULL,
  decided_all           INTEGER NOT NULL,
  controversial_all     INTEGER NOT NULL,
  controversy_sum_all   INTEGER NOT NULL,
  PRIMARY KEY (task_id, decade)
) STRICT, WITHOUT ROWID;

-- Numbers of citations of each page that has any.
CREATE TABLE stat_pages (
  page_id        TEXT PRIMARY KEY,
  citation_count INTEGER NOT NULL,                      -- out
  cited_by_count INTEGER NOT NULL                       -- in
) STRICT, WITHOUT ROWID;

-- The contribution of a page to a task.
CREATE TABLE stat_task_pages (
  page_id              TEXT NOT NULL,
  task_id              TEXT NOT NULL,
  domain               TEXT,
  citation_count       INTEGER NOT NULL,
  cited_by_count       INTEGER NOT NULL,
  claims_supported     INTEGER NOT NULL,                -- different claims
  support_count        INTEGER NOT NULL,                -- edges
  evidence_count       INTEGER NOT NULL,                -- edges
  claims_generated     INTEGER NOT NULL,
  confidence_sum       INTEGER NOT NULL,                -- of the claims generated that have one
  confidence_count     INTEGER NOT NULL,
  claims_supported_all INTEGER NOT NULL,
  support_count_all    INTEGER NOT NULL,
  evidence_count_all   INTEGER NOT NULL,
  claims_generated_all INTEGER NOT NULL,
  confidence_sum_all   INTEGER NOT NULL,
  confidence_count_all INTEGER NOT NULL,
  authority_score      REAL GENERATED ALWAYS AS (
    claims_supported + 0.5 * cited_by_count + 0.2 * citation_count
  ) VIRTUAL,
  impact_score         REAL GENERATED ALWAYS AS (round(
    claims_generated
    + coalesce(confidence_sum / (1e11 * nullif(confidence_count, 0)), 0.5) * claims_generated * 0.5
    + 0.3 * support_count, 2
  )) VIRTUAL,
  PRIMARY KEY (page_id, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX stat_task_pages_by_task ON stat_task_pages (task_id);
CREATE INDEX stat_task_pages_by_support ON stat_task_pages (task_id, claims_supported DESC, cited_by_count DESC, page_id)
  WHERE claims_supported > 0;
-- "<> 0", so that the planner does not treat the index above as a range and sort.
CREATE INDEX stat_task_pages_by_authority ON stat_task_pages (task_id, authority_score DESC, page_id) WHERE claims_supported <> 0;
CREATE INDEX stat_task_pages_by_impact ON stat_task_pages (task_id, impact_score DESC, page_id) WHERE claims_generated > 0;
CREATE INDEX stat_task_pages_uncited ON stat_task_pages (task_id, domain, page_id)
  WHERE cited_by_count = 0 AND evidence_count > 0;

-- Citations by a task's pages that lead out of the task to an address that can be fetched.
CREATE TABLE stat_references (
  task_id           TEXT NOT NULL,
  depth             INTEGER NOT NULL,
  created_at        TEXT NOT NULL,
  citation_edge_id  TEXT NOT NULL,
  citing_page_id    TEXT NOT NULL,
  candidate_page_id TEXT NOT NULL,
  PRIMARY KEY (task_id, depth, created_at DESC, citation_edge_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX stat_references_by_citing ON stat_references (citing_page_id, task_id);
CREATE INDEX stat_references_by_candidate ON stat_references (candidate_page_id, task_id);

CREATE TABLE stat_state (
  key   TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- The year from which "recent" is measured; 0: none yet.
INSERT INTO stat_state VALUES ('reference_year', 0);
-- Claims up to this number have been counted.
INSERT INTO stat_state VALUES ('last_claim_seq', 0);

-- ---------------------------------------------------------------- indexes of the stored rows

-- Replaces claims_by_task: with both, SQLite chooses the other one and sorts when it sees a LIMIT.
DROP INDEX claims_by_task;
CREATE INDEX claims_in_order ON claims (task_id, id, claim_adoption_status);
-- Includes the kinds of both ends, so that edges are counted without reading their rows.
DROP INDEX edges_by_target;
CREATE INDEX edges_by_target ON edges (target_id, relation, nli_edge_confidence, source_id, source_type, target_type, id);
DROP INDEX edges_by_source;
CREATE INDEX edges_by_source ON edges (source_id, relation, target_id, source_type, target_type);
CREATE INDEX edges_citations_newest ON edges (created_at DESC, id) WHERE relation = 'cites';
CREATE INDEX pages_by_title ON pages (title);

-- ---------------------------------------------------------------- rows to be counted again

-- WITHOUT ROWID: inserting a rowid in a trigger costs a journal for each statement (see the triggers).
CREATE TABLE stale_claims (claim_seq INTEGER PRIMARY KEY) STRICT, WITHOUT ROWID;
-- Pages whose citations changed.
CREATE TABLE stale_pages (page_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
-- Pages that were added to a task or left it, or whose status as candidates may have changed.
CREATE TABLE stale_task_pages (
  task_id TEXT NOT NULL,
  page_id TEXT NOT NULL,
  PRIMARY KEY (task_id, page_id)
) STRICT, WITHOUT ROWID;

-- New claims are detected by their numbers, and fragments that were missing by stat_missing. A trigger
-- on the insertion of either would create a savepoint for each row, at which FTS5 writes its pending
-- data. ON CONFLICT and not OR IGNORE: the conflict clause of a statement overrides those of the
-- triggers that it fires, and `INSERT OR FAIL INTO edges` saves SQLite a journal for each statement.
CREATE TRIGGER stale_claims_u
AFTER UPDATE OF seq, id, task_id, llm_claim_confidence, claim_adoption_status ON claims BEGIN
  INSERT INTO stale_claims VALUES (OLD.seq), (NEW.seq) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_claims_d AFTER DELETE ON claims BEGIN
  INSERT INTO stale_claims VALUES (OLD.seq) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_evidence_i AFTER INSERT ON edges WHEN NEW.target_type = 'claim' BEGIN
  INSERT INTO stale_claims SELECT seq FROM claims WHERE id = NEW.target_id ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_evidence_u
AFTER UPDATE OF id, source_type, source_id, target_type, target_id, relation, nli_edge_confidence ON edges
WHEN OLD.target_type = 'claim' OR NEW.target_type = 'claim' BEGIN
  INSERT INTO stale_claims SELECT seq FROM claims WHERE id IN (OLD.target_id, NEW.target_id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_evidence_d AFTER DELETE ON edges WHEN OLD.target_type = 'claim' BEGIN
  INSERT INTO stale_claims SELECT seq FROM claims WHERE id = OLD.target_id ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_citations_i AFTER INSERT ON edges WHEN NEW.relation = 'cites' BEGIN
  INSERT INTO stale_pages VALUES (NEW.source_id), (NEW.target_id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_citations_u
AFTER UPDATE OF id, source_type, source_id, target_type, target_id, relation, created_at ON edges
WHEN OLD.relation = 'cites' OR NEW.relation = 'cites' BEGIN
  INSERT INTO stale_pages VALUES (OLD.source_id), (OLD.target_id), (NEW.source_id), (NEW.target_id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_citations_d AFTER DELETE ON edges WHEN OLD.relation = 'cites' BEGIN
  INSERT INTO stale_pages VALUES (OLD.source_id), (OLD.target_id) ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_fragments_u AFTER UPDATE OF seq, id, page_id ON fragments BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM edges AS e CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE e.source_id IN (OLD.id, NEW.id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_fragments_d AFTER DELETE ON fragments BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM edges AS e CROSS JOIN claims AS c ON c.id = e.target_id WHERE e.source_id = OLD.id ON CONFLICT DO NOTHING;
END;

-- A page that is added late, changed or deleted affects the claims that it is evidence for, and the
-- tasks that cite it.
CREATE TRIGGER stale_pages_i AFTER INSERT ON pages BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM fragments AS f CROSS JOIN edges AS e ON e.source_id = f.id
    CROSS JOIN claims AS c ON c.id = e.target_id WHERE f.page_id = NEW.id ON CONFLICT DO NOTHING;
  INSERT INTO stale_task_pages
    SELECT t.task_id, NEW.id FROM edges AS e CROSS JOIN task_pages AS t ON t.page_id = e.source_id
    WHERE e.target_id = NEW.id AND e.relation = 'cites' ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_pages_u AFTER UPDATE OF id, canonical_id ON pages BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM fragments AS f CROSS JOIN edges AS e ON e.source_id = f.id
    CROSS JOIN claims AS c ON c.id = e.target_id WHERE f.page_id IN (OLD.id, NEW.id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_addresses_u AFTER UPDATE OF id, url, domain ON pages BEGIN
  INSERT INTO stale_pages VALUES (OLD.id), (NEW.id) ON CONFLICT DO NOTHING;
  INSERT INTO stale_task_pages
    SELECT t.task_id, e.target_id FROM edges AS e CROSS JOIN task_pages AS t ON t.page_id = e.source_id
    WHERE e.target_id IN (OLD.id, NEW.id) AND e.relation = 'cites' ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_pages_d AFTER DELETE ON pages BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM fragments AS f CROSS JOIN edges AS e ON e.source_id = f.id
    CROSS JOIN claims AS c ON c.id = e.target_id WHERE f.page_id = OLD.id ON CONFLICT DO NOTHING;
  INSERT INTO stale_pages VALUES (OLD.id) ON CONFLICT DO NOTHING;
  INSERT INTO stale_task_pages
    SELECT t.task_id, OLD.id FROM edges AS e CROSS JOIN task_pages AS t ON t.page_id = e.source_id
    WHERE e.target_id = OLD.id AND e.relation = 'cites' ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_works_i AFTER INSERT ON works BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN fragments AS f ON f.page_id = p.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id = NEW.canonical_id ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_works_u AFTER UPDATE OF canonical_id, year ON works BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN fragments AS f ON f.page_id = p.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id IN (OLD.canonical_id, NEW.canonical_id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_works_d AFTER DELETE ON works BEGIN
  INSERT INTO stale_claims
    SELECT c.seq FROM pages AS p CROSS JOIN fragments AS f ON f.page_id = p.id
    CROSS JOIN edges AS e ON e.source_id = f.id CROSS JOIN claims AS c ON c.id = e.target_id
    WHERE p.canonical_id = OLD.canonical_id ON CONFLICT DO NOTHING;
END;

CREATE TRIGGER stale_task_pages_i AFTER INSERT ON task_pages BEGIN
  INSERT INTO stale_task_pages VALUES (NEW.task_id, NEW.page_id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_task_pages_u AFTER UPDATE OF task_id, page_id, depth ON task_pages BEGIN
  INSERT INTO stale_task_pages VALUES (OLD.task_id, OLD.page_id), (NEW.task_id, NEW.page_id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER stale_task_pages_d AFTER DELETE ON task_pages BEGIN
  INSERT INTO stale_task_pages VALUES (OLD.task_id, OLD.page_id) ON CONFLICT DO NOTHING;
END;

-- Rows that existed before this version.
INSERT INTO stale_pages
  SELECT source_id FROM edges WHERE relation = 'cites' UNION SELECT target_id FROM edges WHERE relation = 'cites';
INSERT INTO stale_task_pages SELECT task_id, page_id FROM task_pages;
