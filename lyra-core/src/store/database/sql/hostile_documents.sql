-- Version 6: documents that crashed a parser or exceeded its limits. They are not parsed again until
-- their bytes or the limits of the parser change.
CREATE TABLE hostile_documents (
  content_hash TEXT PRIMARY KEY,                          -- SHA-256 of the bytes
  url          TEXT NOT NULL,                             -- where they were met last
  limits       TEXT NOT NULL,                             -- the parser that they ended
  reason       TEXT NOT NULL,
  added_at     TEXT NOT NULL
) STRICT;
CREATE INDEX hostile_documents_by_url ON hostile_documents (url);
