-- Version 12: records for reviews: who screened which source, and which provider found which hit in
-- which run of research.

-- Decisions of people on the sources of a task, append-only: a later decision of the same reviewer
-- replaces the earlier one (graph/screening.rs has the rule).
CREATE TABLE screenings (
  id         TEXT PRIMARY KEY,                          -- screen_ + hash of the other columns
  task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  url        TEXT NOT NULL,                             -- the source, as the task knows it
  page_id    TEXT,                                      -- null: a hit that was not read yet
  work_id    TEXT,                                      -- canonical id of the publication, where known
  revision   INTEGER NOT NULL CHECK (revision >= 1),    -- counts the decisions of the task
  reviewer   TEXT NOT NULL CHECK (length(trim(reviewer)) > 0),
  decision   TEXT NOT NULL CHECK (decision IN ('include', 'exclude')),
  reason     TEXT,
  is_final   INTEGER NOT NULL DEFAULT 0 CHECK (is_final IN (0, 1)), -- 1: settles a disagreement
  decided_at TEXT NOT NULL
) STRICT;
CREATE INDEX screenings_by_task ON screenings (task_id, revision);

INSERT INTO checksummed VALUES (26, 0);
CREATE TRIGGER checksum_screenings_i AFTER INSERT ON screenings
  WHEN NEW.rowid <= (SELECT last_rowid FROM checksummed WHERE table_number = 26) BEGIN
  INSERT INTO stale_checksums VALUES (26, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_screenings_u AFTER UPDATE ON screenings BEGIN
  INSERT INTO stale_checksums VALUES (26, OLD.rowid), (26, NEW.rowid) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER checksum_screenings_d AFTER DELETE ON screenings BEGIN
  INSERT INTO stale_checksums VALUES (26, OLD.rowid) ON CONFLICT DO NOTHING;
END;

-- The run of research that a target belongs to, counted from 1: a new run begins with a target that is
-- queued while no job of the task waits or runs. Null in jobs of older versions.
ALTER TABLE jobs ADD COLUMN wave INTEGER;

-- The requests to each provider and the sizes of their answers, as a JSON array of objects with
-- provider, query, and hits or error. Null in queries of older versions.
ALTER TABLE queries ADD COLUMN requests_json TEXT CHECK (requests_json IS NULL OR json_valid(requests_json));

-- Every record behind a hit, as a JSON array with the name of the provider for each: several if several
-- providers, or both sides of a query, found the same. Null in hits of older versions, which count as
-- one record of their engine.
ALTER TABLE serp_items ADD COLUMN found_by TEXT CHECK (found_by IS NULL OR json_valid(found_by));
ALTER TABLE serp_items ADD COLUMN canonical_id TEXT;   -- of the publication, as the providers know it
ALTER TABLE serp_items ADD COLUMN page_id TEXT;        -- the page that was read for the hit
ALTER TABLE serp_items ADD COLUMN problem TEXT;        -- why it could not be read

-- ---------------------------------------------------------------- views derived from these tables

-- Decisions with their source: a publication, or else a page, or else an address.
CREATE VIEW screening_keys AS
SELECT s.*, coalesce(p.canonical_id, s.work_id, p.id, s.url) AS source_key
FROM screenings s
  LEFT JOIN pages p ON p.id = coalesce(s.page_id, (SELECT u.id FROM pages u WHERE u.url = s.url));

-- The newest non-final decision of each reviewer.
CREATE VIEW screening_votes AS
SELECT task_id, source_key, reviewer, decision, reason, url, page_id, decided_at
FROM (
  SELECT k.*, row_number() OVER (PARTITION BY task_id, source_key, reviewer
    ORDER BY revision DESC, decided_at DESC, id DESC) AS nth
  FROM screening_keys k WHERE is_final = 0)
WHERE nth = 1;

-- The outcome for each screened source: the newest final decision, or else excluded if all reviewers say
-- so.
CREATE VIEW screened_sources AS
SELECT task_id, source_key, url, page_id, includes, excludes, final_by, decided_at,
  CASE WHEN final_by IS NOT NULL THEN decision WHEN includes = 0 THEN 'exclude' ELSE 'include' END AS state,
  final_by IS NULL AND includes > 0 AND excludes > 0 AS is_disputed,
  reason
FROM (
  SELECT task_id, source_key,
    max(url) FILTER (WHERE nth = 1) AS url,
    max(page_id) FILTER (WHERE nth = 1) AS page_id,
    max(decision) FILTER (WHERE nth = 1) AS decision,
    max(reason) FILTER (WHERE nth = 1) AS reason,
    max(decided_at) FILTER (WHERE nth = 1) AS decided_at,
    max(reviewer) FILTER (WHERE nth = 1 AND is_final = 1) AS final_by,
    sum(is_final = 0 AND of_reviewer = 1 AND decision = 'include') AS includes,
    sum(is_final = 0 AND of_reviewer = 1 AND decision = 'exclude') AS excludes
  FROM (
    SELECT r.*, row_number() OVER (PARTITION BY task_id, source_key
      ORDER BY is_final DESC, revision DESC, decided_at DESC, id DESC) AS nth
    FROM (
      SELECT k.*, row_number() OVER (PARTITION BY task_id, source_key, is_final, reviewer
        ORDER BY revision DESC, decided_at DESC, id DESC) AS of_reviewer
      FROM screening_keys k) r)
  GROUP BY task_id, source_key);

-- Pages that people exclude from the evidence of a task.
CREATE VIEW excluded_pages AS
SELECT s.task_id, p.id AS page_id, s.reason
FROM screened_sources s CROSS JOIN pages p ON p.id IN (
  SELECT a.id FROM pages a WHERE a.canonical_id = s.source_key
  UNION ALL SELECT b.id FROM pages b WHERE b.id = s.source_key
  UNION ALL SELECT c.id FROM pages c WHERE c.url = s.source_key)
WHERE s.state = 'exclude';

-- The records identified for a task: each record of each provider, each address or DOI that was queued,
-- and pages that are not in the log, as after an import. stage is how far it came: 1 not read, 2 could
-- not be read, 3 read.
CREATE VIEW found_records AS
SELECT task_id, wave, source, record_id, url, title, found_at, page_id, stage, problem,
  coalesce(p_canonical_id, work_id, page_id, url) AS source_key
FROM (
  SELECT h.*, p.canonical_id AS p_canonical_id, coalesce(h.hit_title, p.title) AS title
  FROM (
    SELECT q.task_id, coalesce(j.wave, 0) AS wave, f.value AS source, s.id || ':' || f.key AS record_id, s.url,
      s.title AS hit_title, q.created_at AS found_at, s.canonical_id AS work_id,
      coalesce(s.page_id, (SELECT u.id FROM pages u WHERE u.url = s.url)) AS page_id,
      CASE s.fetch_status WHEN 'skipped' THEN 1 WHEN 'excluded' THEN 1 WHEN 'failed' THEN 2
        WHEN 'needs_auth' THEN 2 ELSE 3 END AS stage,
      CASE s.fetch_status WHEN 'skipped' THEN 'not read: beyond the page limit of the search'
        WHEN 'excluded' THEN 'excluded before it was found again'
        WHEN 'needs_auth' THEN 'waits for a person: ' || coalesce(s.problem, 'login')
        ELSE s.problem END AS problem
    FROM queries q
      JOIN serp_items s ON s.query_id = q.id
      JOIN json_each(coalesce(s.found_by, json_array(s.engine))) f
      LEFT JOIN jobs j ON j.id = q.cause_id
    -- A job that was interrupted has searched again.
    WHERE NOT EXISTS (
      SELECT 1 FROM queries n WHERE n.task_id = q.task_id AND n.cause_id = q.cause_id AND n.rowid > q.rowid)
    UNION ALL
    SELECT t.task_id, t.wave, t.source, t.id, t.url, NULL, t.created_at, t.work_id,
      coalesce(t.page_id, (SELECT u.id FROM pages u WHERE u.url = t.url)),
      CASE WHEN t.page_id IS NOT NULL THEN 3 WHEN t.state IN ('queued', 'running', 'cancelled') THEN 1 ELSE 2 END,
      CASE WHEN t.state IN ('queued', 'running') THEN 'not read yet' WHEN t.state = 'cancelled' THEN 'cancelled'
        WHEN t.state = 'failed' THEN coalesce(t.error_message, 'failed') ELSE 'waits for a person' END
    FROM (
      SELECT j.*, coalesce(j.wave, 0) AS wave, coalesce(j.input_json ->> '$.target.reason', 'manual') AS source,
        coalesce(j.input_json ->> '$.target.url', 'https://doi.org/' || (j.input_json ->> '$.target.doi')) AS url,
        'doi:' || (j.input_json ->> '$.target.doi') AS work_id, j.output_json ->> '$.page_id' AS page_id
      FROM jobs j
      WHERE j.kind = 'target_queue' AND j.input_json ->> '$.target.kind' IN ('url', 'doi')) t
    UNION ALL
    SELECT t.task_id, 0, 'not in the log', t.task_id || ':' || t.page_id, p.url, p.title, coalesce(p.fetched_at, ''),
      p.canonical_id, t.page_id,
      iif(p.fetched_at IS NULL AND NOT EXISTS (SELECT 1 FROM fragments g WHERE g.page_id = p.id), 1, 3),
      'known by name only'
    FROM task_pages t JOIN pages p ON p.id = t.page_id
    WHERE NOT EXISTS (
        SELECT 1 FROM queries q JOIN serp_items s ON s.query_id = q.id
        WHERE q.task_id = t.task_id AND (s.page_id = t.page_id OR s.url = p.url))
      AND NOT EXISTS (
        SELECT 1 FROM jobs j WHERE j.task_id = t.task_id AND j.kind = 'target_queue'
          AND (j.output_json ->> '$.page_id' = t.page_id OR j.input_json ->> '$.target.url' = p.url))) h
    LEFT JOIN pages p ON p.id = h.page_id);

-- The outcome of each record, in its run (wave) and in the whole task: one outcome each, so that the
-- boxes of a flow diagram add up. In a run, sources that an earlier run has read are duplicates.
CREATE VIEW review_records AS
SELECT task_id, wave, source, record_id, url, title, found_at, page_id, source_key,
  CASE WHEN known_before OR nth_in_wave > 1 THEN 'duplicate' ELSE fate END AS wave_outcome,
  CASE WHEN known_before THEN 'read in an earlier run' WHEN nth_in_wave > 1 THEN 'found more than once in the run'
    ELSE reason END AS wave_reason,
  CASE WHEN nth > 1 THEN 'duplicate' ELSE fate END AS outcome,
  CASE WHEN nth > 1 THEN 'found more than once' ELSE reason END AS reason
FROM (
  SELECT r.*,
    coalesce(max(stage) OVER (PARTITION BY task_id, source_key ORDER BY wave
      GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) = 3 AS known_before,
    CASE WHEN r.stage = 3 AND r.excluded_because IS NOT NULL THEN 'report_excluded'
      WHEN r.stage = 1 OR r.excluded_because IS NOT NULL THEN 'record_excluded'
      WHEN r.stage = 2 THEN 'not_retrieved'
      WHEN r.is_retracted OR NOT r.contributes THEN 'report_excluded'
      ELSE 'included' END AS fate,
    CASE WHEN r.excluded_because IS NOT NULL THEN 'by a person: ' || r.excluded_because
      WHEN r.stage < 3 THEN coalesce(r.problem, 'no reason is known')
      WHEN r.is_retracted THEN 'retracted'
      WHEN r.contributes THEN NULL
      WHEN r.is_copy THEN 'the same text as another source'
      WHEN r.is_rejected THEN 'all its claims were rejected'
      ELSE 'no claim on the hypothesis was read in it' END AS reason
  FROM (
    SELECT f.*,
      iif(x.state = 'exclude', coalesce(x.reason, ''), NULL) AS excluded_because,
      coalesce((SELECT w.is_retracted FROM works w WHERE w.canonical_id = f.source_key), 0) AS is_retracted,
      coalesce((SELECT p.near_duplicate_of IS NOT NULL FROM pages p WHERE p.id = f.page_id), 0) AS is_copy,
      EXISTS (SELECT 1 FROM fragments g CROSS JOIN edges e ON e.source_id = g.id AND e.relation IN ('origin', 'supports', 'refutes')
        CROSS JOIN claims c ON c.id = e.target_id
        WHERE g.page_id IN (SELECT f.page_id UNION ALL SELECT y.id FROM pages y WHERE y.canonical_id = f.source_key)
          AND c.task_id = f.task_id AND c.claim_adoption_status = 'adopted') AS contributes,
      EXISTS (SELECT 1 FROM fragments g CROSS JOIN edges e ON e.source_id = g.id AND e.relation = 'origin'
        CROSS JOIN claims c ON c.id = e.target_id
        WHERE g.page_id IN (SELECT f.page_id UNION ALL SELECT y.id FROM pages y WHERE y.canonical_id = f.source_key)
          AND c.task_id = f.task_id) AS is_rejected
    -- One window at a time, so that the condition on the task reaches the tables.
    FROM (
      SELECT w.*, row_number() OVER (PARTITION BY task_id, source_key
        ORDER BY stage DESC, wave, found_at, record_id) AS nth
      FROM (
        SELECT g.*, row_number() OVER (PARTITION BY task_id, wave, source_key
          ORDER BY stage DESC, found_at, record_id) AS nth_in_wave
        FROM found_records g) w) f
    LEFT JOIN screened_sources x ON x.task_id = f.task_id AND x.source_key = f.source_key) r);
