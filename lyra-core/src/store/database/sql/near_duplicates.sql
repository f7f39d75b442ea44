-- Version 3: how long a stored copy may be used without asking the server, and which pages have the text
-- of an earlier page.

-- Until when the server allowed the stored copy to be used; null: it gave no time, or was not asked.
ALTER TABLE pages ADD COLUMN fresh_until TEXT;

-- The page that had nearly the same text first and that is not a copy itself.
ALTER TABLE pages ADD COLUMN near_duplicate_of TEXT
  REFERENCES pages (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED;
CREATE INDEX pages_by_original ON pages (near_duplicate_of) WHERE near_duplicate_of IS NOT NULL;

-- A sketch of the newest text of each page (text/similarity). Derived; updated whenever a text is stored
-- (database/near_duplicates).
CREATE TABLE page_sketches (
  seq       INTEGER PRIMARY KEY,                        -- the earlier page is the original
  page_id   TEXT NOT NULL UNIQUE REFERENCES pages (id) ON DELETE CASCADE,
  text_hash TEXT NOT NULL,
  sketch    BLOB NOT NULL
) STRICT;

-- The smallest hashes of each sketch: similar texts share many of them, other texts hardly any.
CREATE TABLE page_sketch_hashes (
  hash       INTEGER NOT NULL,
  sketch_seq INTEGER NOT NULL REFERENCES page_sketches (seq) ON DELETE CASCADE,
  PRIMARY KEY (hash, sketch_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX page_sketch_hashes_by_sketch ON page_sketch_hashes (sketch_seq);
