//! Documents that crashed a parser or exceeded its limits.

use super::handles::{Reader, Writer};
use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::params;

/// Maximum number of stored documents, the newest; the number of such documents is under an attacker's
/// control.
const MOST: i64 = 1_000;

/// A document that crashed its parser or exceeded its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostileDocument {
    /// Address at which it was last found.
    pub(crate) url: String,
    /// What happened.
    pub(crate) reason: String,
}

impl Reader<'_> {
    /// Whether there is any.
    pub(crate) fn has_hostile_documents(&self) -> Result<bool> {
        self.db.holds("SELECT 1 FROM hostile_documents", [])
    }

    /// What happened when a document with this hash was parsed with these limits.
    pub(crate) fn hostile_document(&self, hash: &str, limits: &str) -> Result<Option<String>> {
        self.db.first(
            "SELECT reason FROM hostile_documents WHERE content_hash = ?1 AND limits = ?2",
            [hash, limits],
            |row| row.get(0),
        )
    }

    /// All of them, the newest first.
    pub(crate) fn hostile_documents(&self) -> Result<Vec<HostileDocument>> {
        let mut statement = self
            .db
            .prepare_cached("SELECT url, reason FROM hostile_documents ORDER BY added_at DESC, url")
            .db()?;
        let rows = statement.query_map([], |row| {
            Ok(HostileDocument {
                url: row.get(0)?,
                reason: row.get(1)?,
            })
        });
        rows.db()?.map(|row| row.db()).collect()
    }
}

impl Writer<'_> {
    /// Stores a document, replacing an older entry for the same address.
    pub(crate) fn add_hostile_document(
        &self,
        hash: &str,
        url: &str,
        limits: &str,
        reason: &str,
    ) -> Result<()> {
        self.forget_hostile_document(url)?;
        self.db.run(
            "INSERT OR REPLACE INTO hostile_documents VALUES (?1, ?2, ?3, ?4, ?5)",
            params![hash, url, limits, reason, self.now()],
        )?;
        self.db.run(
            "DELETE FROM hostile_documents WHERE content_hash NOT IN (SELECT content_hash
                   FROM hostile_documents ORDER BY added_at DESC LIMIT ?1)",
            [MOST],
        )?;
        Ok(())
    }

    /// Deletes the entry for an address.
    pub(crate) fn forget_hostile_document(&self, url: &str) -> Result<()> {
        self.db
            .run("DELETE FROM hostile_documents WHERE url = ?1", [url])?;
        Ok(())
    }
}
