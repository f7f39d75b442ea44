-- The evidence graph, version 1. Table and column names are public: agents write SQL against them.
-- Times are RFC 3339 text in UTC. Offsets count Unicode code points, as substr() does.
-- `seq` columns exist because a rowid without an INTEGER PRIMARY KEY changes under VACUUM, and the
-- full-text index and the vector store point at rows by number.

-- ---------------------------------------------------------------- what a user asked for

-- A hypothesis to be researched; claims, searches and jobs belong to it.
CREATE TABLE tasks (
  id            TEXT PRIMARY KEY,                       -- task_ + 8 hex
  hypothesis    TEXT NOT NULL CHECK (length(trim(hypothesis)) > 0),
  status        TEXT NOT NULL DEFAULT 'created'
                CHECK (status IN ('created', 'exploring', 'paused', 'failed')),
  config_json   TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(config_json)),
  created_at    TEXT NOT NULL,
  started_at    TEXT,
  completed_at  TEXT,
  error_message TEXT
) STRICT;

-- One search: a query run against the providers.
CREATE TABLE queries (
  id                 TEXT PRIMARY KEY,                  -- s_…
  task_id            TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  query_text         TEXT NOT NULL,
  query_type         TEXT NOT NULL DEFAULT 'search',
  status             TEXT NOT NULL DEFAULT 'running'
                     CHECK (status IN ('running', 'satisfied', 'partial', 'exhausted', 'failed', 'timeout')),
  pages_fetched      INTEGER NOT NULL DEFAULT 0,
  useful_fragments   INTEGER NOT NULL DEFAULT 0,
  harvest_rate       REAL NOT NULL DEFAULT 0,
  satisfaction_score REAL NOT NULL DEFAULT 0,
  novelty_score      REAL NOT NULL DEFAULT 1,
  created_at         TEXT NOT NULL,
  finished_at        TEXT,
  cause_id           TEXT                               -- the job that ran it
) STRICT;
CREATE INDEX queries_by_task ON queries (task_id);

-- A hit of a search.
CREATE TABLE serp_items (
  id             TEXT PRIMARY KEY,
  query_id       TEXT NOT NULL REFERENCES queries (id) ON DELETE CASCADE,
  engine         TEXT NOT NULL,
  rank           INTEGER NOT NULL,
  url            TEXT NOT NULL,
  title          TEXT,
  snippet        TEXT,
  published_date TEXT,
  fetch_status   TEXT                                   -- fetched, known, failed, skipped, needs_auth
) STRICT;
CREATE INDEX serp_items_by_query ON serp_items (query_id, rank);

-- ---------------------------------------------------------------- publications and pages

-- A publication.
CREATE TABLE works (
  canonical_id    TEXT PRIMARY KEY,                     -- doi:…, pmid:…, arxiv:…, meta:…
  title           TEXT,
  year            INTEGER,
  published_date  TEXT,
  venue           TEXT,
  doi             TEXT,
  citation_count  INTEGER,
  reference_count INTEGER,
  is_open_access  INTEGER CHECK (is_open_access IN (0, 1)),
  is_retracted    INTEGER NOT NULL DEFAULT 0 CHECK (is_retracted IN (0, 1)),
  oa_url          TEXT,
  pdf_url         TEXT,
  source_api      TEXT
) STRICT;
CREATE INDEX works_by_doi ON works (doi) WHERE doi IS NOT NULL;

-- Authors of a publication.
CREATE TABLE work_authors (
  canonical_id TEXT NOT NULL REFERENCES works (canonical_id) ON DELETE CASCADE,
  position     INTEGER NOT NULL CHECK (position >= 0),  -- 0 = first
  name         TEXT NOT NULL,
  affiliation  TEXT,
  orcid        TEXT,
  PRIMARY KEY (canonical_id, position)
) STRICT;

-- What each provider calls a publication.
CREATE TABLE work_identifiers (
  canonical_id      TEXT NOT NULL REFERENCES works (canonical_id) ON DELETE CASCADE,
  provider          TEXT NOT NULL,
  provider_paper_id TEXT NOT NULL,
  doi               TEXT,
  pmid              TEXT,
  pmcid             TEXT,
  arxiv_id          TEXT,
  UNIQUE (provider, provider_paper_id)
) STRICT;
CREATE INDEX work_identifiers_by_work ON work_identifiers (canonical_id);

-- A web page or document; the publication behind it is in works.
CREATE TABLE pages (
  id             TEXT PRIMARY KEY,
  url            TEXT NOT NULL UNIQUE,
  final_url      TEXT,
  domain         TEXT,                                  -- registrable domain; 'local' for files
  title          TEXT,
  page_type      TEXT,                                  -- html, pdf, jats, text, markdown, jsonl, placeholder
  fetch_method   TEXT,                                  -- file, http, api, import
  http_status    INTEGER,
  content_type   TEXT,
  content_hash   TEXT,                                  -- SHA-256 of the bytes
  content_length INTEGER,
  canonical_id   TEXT REFERENCES works (canonical_id),
  language       TEXT,
  fetched_at     TEXT,                                  -- null: known by name only
  etag           TEXT,
  last_modified  TEXT,
  error_message  TEXT
) STRICT;
CREATE INDEX pages_by_work ON pages (canonical_id) WHERE canonical_id IS NOT NULL;
CREATE INDEX pages_by_domain ON pages (domain);

-- The extracted text that fragments point into. A page that changed gets a new version.
CREATE TABLE page_texts (
  page_id    TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
  version    INTEGER NOT NULL CHECK (version >= 1),
  text       TEXT NOT NULL,
  text_hash  TEXT NOT NULL,
  fetched_at TEXT NOT NULL,
  PRIMARY KEY (page_id, version)
) STRICT;

-- What a page cites, as it says so itself; the citation_graph job makes edges of it.
CREATE TABLE page_references (
  page_id         TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
  position        INTEGER NOT NULL,
  doi             TEXT,
  url             TEXT,
  title           TEXT,
  context         TEXT,
  citation_source TEXT NOT NULL,                        -- reference_list, link, superseded_by, or a provider
  PRIMARY KEY (page_id, position)
) STRICT;

-- A passage of a page: a paragraph, heading, table; exactly the characters from char_start to char_end of its text.
CREATE TABLE fragments (
  seq               INTEGER PRIMARY KEY,
  id                TEXT NOT NULL UNIQUE,
  page_id           TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
  page_version      INTEGER,
  fragment_type     TEXT NOT NULL DEFAULT 'paragraph'
                    CHECK (fragment_type IN ('paragraph', 'heading', 'list', 'table', 'quote', 'figure', 'code', 'abstract')),
  position          INTEGER NOT NULL DEFAULT 0,
  text_content      TEXT NOT NULL CHECK (length(text_content) > 0),
  heading_context   TEXT,
  heading_hierarchy TEXT CHECK (heading_hierarchy IS NULL OR json_valid(heading_hierarchy)),
  char_start        INTEGER CHECK (char_start >= 0),
  char_end          INTEGER,
  text_hash         TEXT NOT NULL,
  security_flags    TEXT,                               -- instruction-like patterns seen at ingest
  created_at        TEXT NOT NULL,
  CHECK ((char_start IS NULL) = (char_end IS NULL)),
  CHECK (char_end IS NULL OR char_end > char_start)
) STRICT;
CREATE INDEX fragments_by_page ON fragments (page_id, page_version, position);

-- ---------------------------------------------------------------- claims and edges

-- A statement taken from a passage, for one task; edges say where from and what bears on it.
CREATE TABLE claims (
  seq                    INTEGER PRIMARY KEY,
  id                     TEXT NOT NULL UNIQUE,
  task_id                TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  claim_text             TEXT NOT NULL CHECK (length(trim(claim_text)) > 0),
  claim_type             TEXT NOT NULL DEFAULT 'fact' CHECK (claim_type IN ('fact', 'opinion', 'prediction')),
  granularity            TEXT,
  llm_claim_confidence   REAL CHECK (llm_claim_confidence BETWEEN 0 AND 1),
  extractor_id           TEXT,
  claim_adoption_status  TEXT NOT NULL DEFAULT 'adopted'
                         CHECK (claim_adoption_status IN ('adopted', 'not_adopted')),
  claim_rejection_reason TEXT,
  claim_rejected_at      TEXT,
  created_at             TEXT NOT NULL,
  cause_id               TEXT
) STRICT;
CREATE INDEX claims_by_task ON claims (task_id, claim_adoption_status);

-- How each claim stands to the hypothesis of its task, as the stance judge reads it.
CREATE TABLE hypothesis_stances (
  claim_id   TEXT PRIMARY KEY REFERENCES claims (id) ON DELETE CASCADE,
  task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  relation   TEXT NOT NULL CHECK (relation IN ('supports', 'refutes', 'neutral')),
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  judge_id   TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX hypothesis_stances_by_task ON hypothesis_stances (task_id, relation);

-- origin: fragment to claim taken from it; supports, refutes, neutral: fragment to claim; cites: page to page.
CREATE TABLE edges (
  id                     TEXT PRIMARY KEY,
  source_type            TEXT NOT NULL CHECK (source_type IN ('fragment', 'claim', 'page')),
  source_id              TEXT NOT NULL,
  target_type            TEXT NOT NULL CHECK (target_type IN ('fragment', 'claim', 'page')),
  target_id              TEXT NOT NULL,
  relation               TEXT NOT NULL CHECK (relation IN ('origin', 'supports', 'refutes', 'neutral', 'cites')),
  nli_label              TEXT,
  nli_edge_confidence    REAL CHECK (nli_edge_confidence BETWEEN 0 AND 1),
  judge_id               TEXT,
  quote_start            INTEGER,                       -- in the page's text, inside the fragment
  quote_end              INTEGER,
  citation_source        TEXT,
  citation_context       TEXT,
  source_domain_category TEXT,
  target_domain_category TEXT,
  edge_human_corrected   INTEGER NOT NULL DEFAULT 0 CHECK (edge_human_corrected IN (0, 1)),
  edge_correction_reason TEXT,
  edge_corrected_at      TEXT,
  created_at             TEXT NOT NULL,
  cause_id               TEXT,
  CHECK ((quote_start IS NULL) = (quote_end IS NULL)),
  CHECK (quote_end IS NULL OR quote_end > quote_start)
) STRICT;
-- Re-runs never inflate counts: one verdict, one origin, one citation for a pair.
CREATE UNIQUE INDEX edges_one_verdict ON edges (target_id, source_id)
  WHERE source_type = 'fragment' AND target_type = 'claim' AND relation IN ('supports', 'refutes', 'neutral');
CREATE UNIQUE INDEX edges_one_origin ON edges (target_id, source_id) WHERE relation = 'origin';
CREATE UNIQUE INDEX edges_one_citation ON edges (source_id, target_id) WHERE relation = 'cites';
CREATE INDEX edges_by_target ON edges (target_id, relation, nli_edge_confidence, source_id);
CREATE INDEX edges_by_source ON edges (source_id, relation, target_id);

-- Every pair that a judge has looked at, so that none is judged twice, decisive or not.
CREATE TABLE nli_verdicts (
  fragment_id TEXT NOT NULL REFERENCES fragments (id) ON DELETE CASCADE,
  claim_id    TEXT NOT NULL REFERENCES claims (id) ON DELETE CASCADE,
  judge_id    TEXT NOT NULL,
  relation    TEXT NOT NULL CHECK (relation IN ('supports', 'refutes', 'neutral')),
  confidence  REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
  created_at  TEXT NOT NULL,
  PRIMARY KEY (claim_id, fragment_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX nli_verdicts_by_fragment ON nli_verdicts (fragment_id);

-- Vectors of fragments and claims.
CREATE TABLE embeddings (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,       -- grows for ever: how caches notice changes
  id             TEXT NOT NULL UNIQUE,
  target_type    TEXT NOT NULL CHECK (target_type IN ('fragment', 'claim')),
  target_id      TEXT NOT NULL,
  model_id       TEXT NOT NULL,
  embedding_blob BLOB NOT NULL,                         -- f32 little-endian
  dimension      INTEGER NOT NULL CHECK (dimension > 0),
  created_at     TEXT NOT NULL,
  UNIQUE (target_type, target_id, model_id),
  CHECK (length(embedding_blob) = 4 * dimension)
) STRICT;

-- Pages that belong to a task, and why.
CREATE TABLE task_pages (
  task_id        TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  page_id        TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
  reason         TEXT NOT NULL CHECK (reason IN ('search', 'academic_api', 'citation_chase', 'manual')),
  depth          INTEGER NOT NULL DEFAULT 0 CHECK (depth >= 0),
  source_page_id TEXT REFERENCES pages (id) ON DELETE SET NULL,
  UNIQUE (task_id, page_id)
) STRICT;
CREATE INDEX task_pages_by_page ON task_pages (page_id);

-- From any identifier to the page that holds it.
CREATE TABLE resource_index (
  identifier_type  TEXT NOT NULL CHECK (identifier_type IN ('doi', 'pmid', 'arxiv', 'url')),
  identifier_value TEXT NOT NULL,
  page_id          TEXT REFERENCES pages (id) ON DELETE CASCADE,
  status           TEXT NOT NULL DEFAULT 'known',       -- known, fetched, failed
  PRIMARY KEY (identifier_type, identifier_value)
) STRICT;
CREATE INDEX resource_index_by_page ON resource_index (page_id);

-- ---------------------------------------------------------------- work

-- Work that is queued, running or done.
CREATE TABLE jobs (
  id            TEXT PRIMARY KEY,
  task_id       TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  kind          TEXT NOT NULL CHECK (kind IN ('target_queue', 'verify_nli', 'citation_graph', 'embed')),
  priority      INTEGER NOT NULL,                       -- lower runs first
  state         TEXT NOT NULL DEFAULT 'queued'
                CHECK (state IN ('queued', 'running', 'awaiting_auth', 'completed', 'failed', 'cancelled')),
  attempts      INTEGER NOT NULL DEFAULT 0,
  input_json    TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(input_json)),
  output_json   TEXT CHECK (output_json IS NULL OR json_valid(output_json)),
  error_message TEXT,
  cause_id      TEXT,                                   -- the job that led to this one
  dedup_key     TEXT,                                   -- equal for targets that mean the same
  worker_id     TEXT,                                   -- who holds the lease
  created_at    TEXT NOT NULL,
  queued_at     TEXT NOT NULL,
  started_at    TEXT,
  finished_at   TEXT,
  lease_until   TEXT
) STRICT;
CREATE INDEX jobs_by_task ON jobs (task_id, kind, state);
CREATE INDEX jobs_waiting ON jobs (priority, queued_at) WHERE state = 'queued';
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'running';
CREATE UNIQUE INDEX jobs_one_target ON jobs (task_id, dedup_key)
  WHERE kind = 'target_queue' AND state IN ('queued', 'running', 'awaiting_auth', 'completed');

-- Pages that wait for a human to log in or pass a challenge.
CREATE TABLE auth_queue (
  id           TEXT PRIMARY KEY,                        -- iq_…
  task_id      TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  url          TEXT NOT NULL,
  domain       TEXT NOT NULL,
  auth_type    TEXT NOT NULL,
  priority     TEXT NOT NULL DEFAULT 'medium',
  status       TEXT NOT NULL DEFAULT 'pending'
               CHECK (status IN ('pending', 'in_progress', 'completed', 'skipped', 'expired', 'cancelled')),
  job_id       TEXT REFERENCES jobs (id) ON DELETE SET NULL,
  queued_at    TEXT NOT NULL,
  expires_at   TEXT,
  session_data TEXT                                     -- private: never shown
) STRICT;
CREATE INDEX auth_queue_by_task ON auth_queue (task_id, status);

-- ---------------------------------------------------------------- human judgement and audit

-- Verdicts that a human corrected.
CREATE TABLE nli_corrections (
  id                   TEXT PRIMARY KEY,
  edge_id              TEXT NOT NULL,
  task_id              TEXT,
  premise              TEXT NOT NULL,
  hypothesis           TEXT NOT NULL,
  predicted_relation   TEXT NOT NULL,
  predicted_confidence REAL,
  correct_relation     TEXT NOT NULL CHECK (correct_relation IN ('supports', 'refutes', 'neutral')),
  judge_id             TEXT,
  reason               TEXT,
  created_at           TEXT NOT NULL
) STRICT;

-- Every act of feedback, append-only.
CREATE TABLE feedback_log (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  action        TEXT NOT NULL
                CHECK (action IN ('edge_correct', 'claim_reject', 'claim_restore', 'domain_block', 'domain_unblock', 'domain_clear_override')),
  target_type   TEXT NOT NULL,
  target_id     TEXT NOT NULL,
  task_id       TEXT,
  actor         TEXT NOT NULL,
  reason        TEXT,
  previous_json TEXT,
  created_at    TEXT NOT NULL
) STRICT;

-- Domains that are blocked or allowed; the newest rule counts.
CREATE TABLE domain_rules (
  id             TEXT PRIMARY KEY,
  domain_pattern TEXT NOT NULL,
  rule           TEXT NOT NULL CHECK (rule IN ('block', 'allow')),
  reason         TEXT,
  actor          TEXT NOT NULL,
  is_active      INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
  created_at     TEXT NOT NULL
) STRICT;

-- Fitted calibrations of confidences.
CREATE TABLE calibration_versions (
  source      TEXT NOT NULL,
  version     INTEGER NOT NULL,
  method      TEXT NOT NULL,
  params_json TEXT NOT NULL CHECK (json_valid(params_json)),
  is_active   INTEGER NOT NULL DEFAULT 0 CHECK (is_active IN (0, 1)),
  samples     INTEGER NOT NULL DEFAULT 0,
  reason      TEXT,
  created_at  TEXT NOT NULL,
  PRIMARY KEY (source, version)
) STRICT;

-- How good each calibration was.
CREATE TABLE calibration_evaluations (
  id           TEXT PRIMARY KEY,
  source       TEXT NOT NULL,
  version      INTEGER NOT NULL,
  samples      INTEGER NOT NULL,
  brier_before REAL,
  brier_after  REAL,
  ece_before   REAL,
  ece_after    REAL,
  bins_json    TEXT,
  created_at   TEXT NOT NULL
) STRICT;

-- What was done to the graph, append-only.
CREATE TABLE event_log (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  at           TEXT NOT NULL,
  actor        TEXT NOT NULL,
  action       TEXT NOT NULL,
  task_id      TEXT,
  subject_id   TEXT,
  details_json TEXT                                     -- private: never shown
) STRICT;
CREATE INDEX event_log_by_task ON event_log (task_id, id);

CREATE TRIGGER event_log_is_append_only_u BEFORE UPDATE ON event_log
  BEGIN SELECT RAISE(ABORT, 'event_log is append-only'); END;
CREATE TRIGGER event_log_is_append_only_d BEFORE DELETE ON event_log
  BEGIN SELECT RAISE(ABORT, 'event_log is append-only'); END;
CREATE TRIGGER feedback_log_is_append_only_u BEFORE UPDATE ON feedback_log
  BEGIN SELECT RAISE(ABORT, 'feedback_log is append-only'); END;
CREATE TRIGGER feedback_log_is_append_only_d BEFORE DELETE ON feedback_log
  BEGIN SELECT RAISE(ABORT, 'feedback_log is append-only'); END;

-- ---------------------------------------------------------------- full text

-- Both indexes point into their tables and hold no text of their own. Rows are put in and taken
-- out by the Writer, not by triggers, so that a tool without our tokenizer can still open the file.
-- The tokenizer `lyra` (storage/tokenizer.rs) folds by NFKC and case, stems English, and cuts
-- Chinese, Japanese and Korean into overlapping pairs.

-- Full text of fragments: fragments_fts MATCH 'word', rowid = fragments.seq.
CREATE VIRTUAL TABLE fragments_fts USING fts5 (
  text_content, heading_context,
  content = 'fragments', content_rowid = 'seq', tokenize = 'lyra'
);
-- Full text of claims: claims_fts MATCH 'word', rowid = claims.seq.
CREATE VIRTUAL TABLE claims_fts USING fts5 (
  claim_text,
  content = 'claims', content_rowid = 'seq', tokenize = 'lyra'
);
