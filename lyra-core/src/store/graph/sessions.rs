//! Sessions that humans opened at sites, kept in a column that no reply, log or export shows.

use super::{Reader, Writer};
use crate::error::{Error, Result, SqliteResultExt};
use crate::ports::SiteSession;
use rusqlite::params;
use serde::{Deserialize, Serialize};

/// `auth_queue.session_data`.
#[derive(Serialize, Deserialize)]
struct SessionData {
    cookies: String,
    secure_only: bool,
}

impl Reader<'_> {
    /// The session of every domain that a human has opened one at.
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
            // What cannot be read is no session; the page then says again that it wants one.
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
    /// Removes all of them; answers from how many queue items.
    pub(super) fn forget_sessions(&self) -> Result<usize> {
        self.db
            .prepare_cached(
                "UPDATE auth_queue SET session_data = NULL WHERE session_data IS NOT NULL",
            )
            .db()?
            .execute([])
            .db()
    }

    /// Keeps a session with these queue items, all of its domain; older ones of the domain go.
    pub(crate) fn keep_session(&self, session: &SiteSession, items: &[&str]) -> Result<()> {
        let data = SessionData {
            cookies: session.cookies.clone(),
            secure_only: session.secure_only,
        };
        let text = serde_json::to_string(&data)
            .map_err(|_| Error::internal("a session cannot be written as JSON"))?;
        self.db
            .prepare_cached("UPDATE auth_queue SET session_data = NULL WHERE domain = ?1")
            .db()?
            .execute([&session.domain])
            .db()?;
        for item in items {
            self.db
                .prepare_cached("UPDATE auth_queue SET session_data = ?2 WHERE id = ?1")
                .db()?
                .execute(params![item, text])
                .db()?;
        }
        Ok(())
    }
}
