//! The database for the guard's tests: small, regular, with `CANARY` in private cells.

use super::{QueryGuard, TempView};
use crate::store::database::Database;
use crate::store::database::SqliteResultExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Four tasks, 300 works and pages, 3,000 fragments, 600 claims, 6,000 edges.
const ROWS: &str = "
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3)
INSERT INTO tasks (id, hypothesis, config_json, created_at)
  SELECT 'task_' || i, 'hypothesis ' || i, '{\"langs\":[\"en\",\"ja\"],\"n\":2}', '2026-01-01T00:00:00Z' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
INSERT INTO queries (id, task_id, query_text, created_at)
  SELECT 's_' || i, 'task_' || (i % 4), 'query ' || i, '2026-01-01T00:00:00Z' FROM n;
INSERT INTO serp_items (id, query_id, engine, rank, url)
  SELECT 'i_' || id, id, 'corpus', 1, 'https://a.example.org/' || id FROM queries;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
INSERT INTO works (canonical_id, title, year, venue, citation_count)
  SELECT 'doi:10.1000/' || i, '糖尿病 study ' || i, 1990 + i % 35, 'BMJ', i * 7 % 900 FROM n;
INSERT INTO work_authors (canonical_id, position, name)
  SELECT canonical_id, 0, 'O''Brien ' || citation_count FROM works;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
INSERT INTO pages (id, url, domain, title, page_type, canonical_id, language, fetched_at)
  SELECT 'page_' || i, 'https://h' || (i % 20) || '.example.org/' || i || '?a=1;b=2',
    'h' || (i % 20) || '.example.org', 'page ' || i, 'html', 'doi:10.1000/' || i, 'en',
    '2026-0' || (1 + i % 9) || '-01T00:00:00Z' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)
INSERT INTO fragments (seq, id, page_id, page_version, position, text_content, heading_context,
    heading_hierarchy, char_start, char_end, text_hash, created_at)
  SELECT i + 1, 'frag_' || i, 'page_' || (i % 300), 1, i / 300, text, 'Methods', '[\"A\",{\"b\":\"c\"}]',
    i / 300 * 200, i / 300 * 200 + length(text), 'h' || (i % 50), '2026-01-0' || (1 + i % 7) || 'T00:00:00Z'
  FROM (SELECT i, 'In trial ' || i || ' insulin and glucose in the kidney changed with a weekly dose; '
    || CASE WHEN i % 3 = 0 THEN '血糖値 研究 ' ELSE 'liraglutide café cardiology ' END AS text FROM n);
INSERT INTO page_texts (page_id, version, text, text_hash, fetched_at)
  SELECT page_id, 1, group_concat(text_content || substr(printf('%200s', ''), length(text_content) + 1), ''),
    'h', '2026-01-01T00:00:00Z' FROM (SELECT * FROM fragments ORDER BY page_id, position) GROUP BY page_id;
INSERT INTO page_texts (page_id, version, text, text_hash, fetched_at)
  VALUES ('page_0', 2, '始' || printf('%.*c', 1000000, 'x') || 'end', 'h', '2026-01-01T00:00:00Z');
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 599)
INSERT INTO claims (seq, id, task_id, claim_text, granularity, llm_claim_confidence, created_at)
  SELECT i + 1, 'claim_' || i, 'task_' || (i % 4), 'The claim ' || i || ' says that HbA1c drops; weight too',
    '{\"first_seen\":\"2020\",\"events\":[{\"k\":1,\"n\":3},{\"k\":2,\"n\":4}]}', i % 10 / 10.0,
    '2026-01-01T00:00:00Z' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5999)
INSERT INTO edges (id, source_type, source_id, target_type, target_id, relation, nli_edge_confidence, created_at)
  SELECT 'edge_' || i, 'fragment', 'frag_' || (i / 2), 'claim', 'claim_' || ((i * 7 + i / 600) % 600),
    CASE i % 4 WHEN 0 THEN 'supports' WHEN 1 THEN 'refutes' WHEN 2 THEN 'neutral' ELSE 'origin' END,
    i % 100 / 100.0, '2026-01-01T00:00:00Z' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 899)
INSERT INTO edges (id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT 'cite_' || i, 'page', 'page_' || (i % 300), 'page', 'page_' || ((i % 300 + 1 + i / 300) % 300), 'cites',
    '2026-01-01T00:00:00Z' FROM n;
INSERT INTO embeddings (id, target_type, target_id, model_id, embedding_blob, dimension, created_at)
  SELECT 'm_' || id, 'claim', id, 'static', zeroblob(1024), 256, '2026-01-01T00:00:00Z' FROM claims;
INSERT INTO task_pages (task_id, page_id, reason)
  SELECT 'task_' || (rowid % 4), id, 'search' FROM pages;
INSERT INTO jobs (id, task_id, kind, priority, input_json, created_at, queued_at)
  SELECT 'job_' || id, id, 'embed', 1, '{}', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z' FROM tasks;
INSERT INTO auth_queue (id, task_id, url, domain, auth_type, queued_at, session_data)
  VALUES ('iq_1', 'task_0', 'https://x.example', 'x.example', 'login', '2026-01-01T00:00:00Z', 'CANARY-session-1'),
         ('iq_2', 'task_1', 'https://y.example', 'y.example', 'captcha', '2026-01-01T00:00:00Z', 'CANARY-session-2');
INSERT INTO event_log (at, actor, action, details_json)
  SELECT '2026-01-01T00:00:00Z', 'user', 'create_task', '{\"secret\":\"CANARY-' || id || '\"}' FROM tasks;
INSERT INTO fragments_fts (rowid, text_content, heading_context)
  SELECT seq, text_content, heading_context FROM fragments;
INSERT INTO claims_fts (rowid, claim_text) SELECT seq, claim_text FROM claims;
";

/// Replacements for views, with the columns that queries of the tests use.
const VIEWS: [(&str, &str); 7] = [
    (
        "v_evidence_chain",
        "SELECT c.id AS claim_id, c.task_id, e.relation, f.id AS fragment_id, f.text_content, p.url
         FROM claims c JOIN edges e ON e.target_id = c.id JOIN fragments f ON f.id = e.source_id
         JOIN pages p ON p.id = f.page_id",
    ),
    (
        "v_contradictions",
        "SELECT target_id AS claim_id, sum(relation = 'supports') AS supports,
         sum(relation = 'refutes') AS refutes FROM edges WHERE relation <> 'cites' GROUP BY 1
         HAVING supports > 0 AND refutes > 0",
    ),
    (
        "v_unsupported_claims",
        "SELECT id AS claim_id FROM claims WHERE id NOT IN (SELECT target_id FROM edges)",
    ),
    (
        "v_claim_evidence_summary",
        "SELECT c.id AS claim_id, c.task_id, count(e.id) AS evidence_count,
         sqrt(avg(e.nli_edge_confidence)) AS strength FROM claims c
         LEFT JOIN edges e ON e.target_id = c.id GROUP BY c.id",
    ),
    (
        "v_source_impact",
        "SELECT p.id AS page_id, tp.task_id, p.id AS cited_page_id, 1.0 AS impact_score,
         1.0 AS authority_score, 1 AS support_trend, 1 AS years_since_update,
         0 AS has_recent_refutation FROM pages p JOIN task_pages tp ON tp.page_id = p.id",
    ),
    (
        "v_evidence_freshness",
        "SELECT id AS claim_id, 0 AS has_recent_refutation FROM claims",
    ),
    (
        "v_emerging_consensus",
        "SELECT id AS claim_id, 1 AS support_trend, 1 AS years_since_update FROM claims",
    ),
];

/// The file, created once for all tests; it is only read.
pub(super) fn shared() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        // It outlives the process and is removed with the build folder.
        let program = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let path = folder.keep().join("guard.db");
        build(&path);
        path
    })
}

/// Creates a separate file, for tests that write to it.
pub(super) fn build(path: &Path) -> Database {
    // Before the first connection, unless a test of another module opened one earlier.
    QueryGuard::cap_memory();
    let database = Database::open(path).unwrap();
    database
        .write(|transaction| transaction.execute_batch(ROWS).db())
        .unwrap();
    database
}

pub(super) fn views() -> Vec<TempView> {
    VIEWS
        .into_iter()
        .map(|(name, sql)| TempView {
            name: name.into(),
            select_sql: sql.into(),
        })
        .collect()
}

/// A guard over the shared file.
pub(super) fn guard() -> QueryGuard {
    QueryGuard::open(shared(), views()).unwrap()
}
