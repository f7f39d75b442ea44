//! Sessions that humans opened at sites, stored in a column that no reply, log or export shows.

use super::handles::{Reader, Writer};
use crate::error::{Error, Result};
use crate::ports::SiteSession;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::params;
use serde::{Deserialize, Serialize};

/// `auth_queue.session_data`.
#[derive(Serialize, Deserialize)]
struct SessionData {
    cookies: String,
    secure_only: bool,
}

impl Reader<'_> {
    /// The session of every domain for which a human has supplied one.
    pub(crate) fn site_sessions(&self) -> Result<Vec<SiteSession>> {
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT domain, session_data FROM auth_queue
                 WHERE session_data IS NOT NULL AND status = 'completed' GROUP BY domain",
            )
            .db()?;
        let rows = statement
            .query_map([], |r| Ok((r.get(0)?, r.get::<_, String>(1)?)))
            .db()?;
        let mut sessions = Vec::new();
        for row in rows {
            let (domain, text) = row.db()?;
            // An unreadable value is ignored; the page then asks for a session again.
            if let Ok(data) = serde_json::from_str::<SessionData>(&text) {
                sessions.push(SiteSession {
                    domain,
                    cookies: data.cookies,
                    secure_only: data.secure_only,
                });
            }
        }
        Ok(sessions)
    }
}

impl Writer<'_> {
    /// Removes all sessions; returns the number of queue items that had one.
    pub(super) fn forget_sessions(&self) -> Result<usize> {
        self.db.run(
            "UPDATE auth_queue SET session_data = NULL WHERE session_data IS NOT NULL",
            [],
        )
    }

    /// Stores a session with these queue items, all of its domain; older sessions of the domain are
    /// removed.
    pub(crate) fn keep_session(&self, session: &SiteSession, items: &[&str]) -> Result<()> {
        let data = SessionData {
            cookies: session.cookies.clone(),
            secure_only: session.secure_only,
        };
        let text = serde_json::to_string(&data)
            .map_err(|_| Error::internal("a session cannot be written as JSON"))?;
        self.db.run(
            "UPDATE auth_queue SET session_data = NULL WHERE domain = ?1",
            [&session.domain],
        )?;
        for item in items {
            self.db.run(
                "UPDATE auth_queue SET session_data = ?2 WHERE id = ?1",
                params![item, text],
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::store::graph::handles::EvidenceGraph;
    use std::sync::Arc;

    #[test]
    fn a_copy_without_sessions_holds_no_byte_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(SystemClock);
        let graph = EvidenceGraph::open(&folder.path().join("g.db"), clock).unwrap();
        let session = SiteSession {
            domain: "a.example".to_owned(),
            cookies: "clearance=a-cookie-that-is-nobody-s-business".to_owned(),
            secure_only: true,
        };
        graph
            .write(|w| {
                w.db.execute_batch(
                    "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '');
                     INSERT INTO auth_queue (id, task_id, url, domain, auth_type, status, queued_at)
                       VALUES ('q', 't', 'https://a.example/', 'a.example', 'login', 'completed', '')",
                )
                .db()?;
                w.keep_session(&session, &["q"])
            })
            .unwrap();
        let copy = folder.path().join("copy.db");
        graph.backup_without_sessions(&copy).unwrap();
        let bytes = std::fs::read(&copy).unwrap();
        let cookie = session.cookies.as_bytes();
        assert!(!bytes.windows(cookie.len()).any(|part| part == cookie));
        let kept = |graph: &EvidenceGraph| graph.read(|r| r.site_sessions()).unwrap().len();
        assert_eq!(kept(&graph), 1);
        let copy = EvidenceGraph::open(&copy, Arc::new(SystemClock)).unwrap();
        assert_eq!(kept(&copy), 0);
        assert!(crate::store::graph::verify(copy.database()).unwrap().ok);
    }
}
