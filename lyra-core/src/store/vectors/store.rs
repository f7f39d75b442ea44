//! The resident matrices, and how a search knows that they are current.

use super::matrix::{Key, Matrix, Stamp};
use super::scope::Scope;
use crate::error::Result;
use crate::ports::EmbedderInfo;
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::graph::Reader;
use crate::store::model::EmbeddingTarget;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, MAIN_DB};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Exact similarity search over the vectors of one database file.
///
/// The vectors are held in memory, once, and brought up to date in place at the start of each
/// search, from the snapshot that the search reads: what any process has committed is seen, what
/// is deleted is gone. A search whose snapshot is older than the matrix, because another search
/// has just brought it further, is answered from the newer vectors, for the ids of its own
/// snapshot.
///
/// Vectors are replaced by `INSERT OR REPLACE`; an `UPDATE` of `embedding_blob` is not noticed.
#[derive(Debug, Default)]
pub struct VectorStore {
    matrices: Mutex<HashMap<Key, Arc<RwLock<Matrix>>>>,
    looks: Mutex<HashMap<i64, Look>>,
    /// When the vectors were last looked at.
    used: Mutex<Option<Instant>>,
}

/// What is known to hold for a connection as long as its data version stays the same.
///
/// `PRAGMA data_version` changes for a connection with every commit of another one that it comes
/// to see. Connections that only read commit nothing themselves, so the same version on the same
/// connection is the same content.
#[derive(Debug, Default)]
struct Look {
    data_version: i64,
    current: HashMap<Key, Stamp>,
    scopes: HashMap<ScopeKey, Arc<Scope>>,
    /// The latest state of each matrix that the connection was served from, in any version.
    latest: HashMap<Key, Stamp>,
}

type ScopeKey = (Key, Option<String>);

/// Scopes kept for a connection. A bit a row: 64 of them for a million rows are 8 MB.
const SCOPES: usize = 64;

/// Connections that are remembered; a pool has eight.
const LOOKS: usize = 64;

impl VectorStore {
    /// An empty store; vectors are loaded when they are first asked for.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the vectors of a kind and model, so that the first search does not have to.
    pub fn load(
        &self,
        reader: &Reader<'_>,
        target: EmbeddingTarget,
        model: &EmbedderInfo,
    ) -> Result<()> {
        self.with_matrix(reader, target, model, |_, _| Ok(()))
    }

    /// Gives the memory of the vectors back if nobody has looked at them for so long; the next
    /// search reads them again. Answers whether there was something to give back.
    pub fn release_unused(&self, unused_for: Duration) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.is_none_or(|last| last.elapsed() < unused_for) {
            return false;
        }
        *used = None;
        drop(used);
        let matrices: Vec<_> = {
            let matrices = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
            matrices.values().map(Arc::clone).collect()
        };
        for matrix in matrices {
            // A search that is at it right now keeps it until it is done.
            matrix
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        }
        true
    }

    /// Runs `work` with the vectors of a kind and model as the reader's snapshot has them.
    pub(super) fn with_matrix<T>(
        &self,
        reader: &Reader<'_>,
        target: EmbeddingTarget,
        model: &EmbedderInfo,
        work: impl FnOnce(&Matrix, &Scopes<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let key = Key {
            target,
            model_id: model.model_id.clone(),
            dimension: model.dimension,
        };
        let mut scopes = Scopes {
            store: self,
            reader,
            key: &key,
            look: None,
        };
        if !reader.db.is_readonly(MAIN_DB).db()? {
            // A transaction that may be rolled back: what it sees is for it alone.
            let mut matrix = Matrix::new(key.dimension);
            matrix.catch_up(reader, &key, Stamp::read(reader)?)?;
            return work(&matrix, &scopes);
        }
        let connection = connection_id(reader.db)?;
        let data_version = data_version(reader.db)?;
        scopes.look = Some((connection, data_version));
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let shared = self.matrix(&key);
        loop {
            let known = self
                .look(connection, data_version)
                .get(&connection)
                .and_then(|look| look.current.get(&key).copied());
            let needed = match known {
                Some(stamp) => stamp,
                None => self.note_stamp(reader, &key, &shared, (connection, data_version))?,
            };
            {
                let matrix = shared.read().unwrap_or_else(PoisonError::into_inner);
                if matrix.stamp().is_some_and(|stamp| !stamp.is_before(needed)) {
                    self.note_served(&key, connection, matrix.stamp());
                    return work(&matrix, &scopes);
                }
            }
            let mut matrix = shared.write().unwrap_or_else(PoisonError::into_inner);
            if matrix.stamp().is_none_or(|stamp| stamp.is_before(needed)) {
                matrix.catch_up(reader, &key, needed)?;
            }
        }
    }

    /// Reads the stamp of a snapshot that this connection was not seen with. Snapshots of one
    /// connection go forward; if one seems to go back, the file was put back from a copy, and
    /// the matrix starts again.
    fn note_stamp(
        &self,
        reader: &Reader<'_>,
        key: &Key,
        shared: &RwLock<Matrix>,
        (connection, data_version): (i64, i64),
    ) -> Result<Stamp> {
        let stamp = Stamp::read(reader)?;
        let mut looks = self.look(connection, data_version);
        let look = looks.entry(connection).or_default();
        look.current.insert(key.clone(), stamp);
        let went_back = look
            .latest
            .get(key)
            .is_some_and(|latest| stamp.is_before(*latest));
        if went_back {
            looks.values_mut().for_each(|look| {
                look.latest.remove(key);
            });
            drop(looks);
            shared
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        }
        Ok(stamp)
    }

    fn note_served(&self, key: &Key, connection: i64, stamp: Option<Stamp>) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(look), Some(stamp)) = (looks.get_mut(&connection), stamp) {
            look.latest.insert(key.clone(), stamp);
        }
    }

    /// The table of looks, with what is known of this connection in this version only.
    fn look(&self, connection: i64, data_version: i64) -> MutexGuard<'_, HashMap<i64, Look>> {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.len() >= LOOKS && !looks.contains_key(&connection) {
            looks.clear();
        }
        let look = looks.entry(connection).or_default();
        if look.data_version != data_version {
            look.data_version = data_version;
            look.current.clear();
            look.scopes.clear();
        }
        looks
    }

    fn matrix(&self, key: &Key) -> Arc<RwLock<Matrix>> {
        let mut matrices = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(matrix) = matrices.get(key) {
            return Arc::clone(matrix);
        }
        let matrix = Arc::new(RwLock::new(Matrix::new(key.dimension)));
        matrices.insert(key.clone(), Arc::clone(&matrix));
        matrix
    }
}

/// Gives the scopes of searches in one snapshot.
pub(super) struct Scopes<'s, 'r> {
    store: &'s VectorStore,
    reader: &'s Reader<'r>,
    key: &'s Key,
    /// The connection and its data version; none where nothing may be kept.
    look: Option<(i64, i64)>,
}

impl Scopes<'_, '_> {
    /// The scope of a task, or of all of them: as it was found before if nothing was committed
    /// since, otherwise anew.
    pub(super) fn get(&self, matrix: &Matrix, task_id: Option<&str>) -> Result<Arc<Scope>> {
        let key: ScopeKey = (self.key.clone(), task_id.map(str::to_owned));
        if let Some((connection, data_version)) = self.look {
            let looks = self.store.look(connection, data_version);
            let known = looks
                .get(&connection)
                .and_then(|look| look.scopes.get(&key));
            if let Some(scope) = known.filter(|scope| scope.fits(matrix)) {
                return Ok(Arc::clone(scope));
            }
        }
        let scope = Arc::new(Scope::read(
            self.reader,
            matrix,
            (self.key.target, &self.key.model_id),
            task_id,
        )?);
        if let Some((connection, data_version)) = self.look {
            let mut looks = self.store.look(connection, data_version);
            let look = looks.entry(connection).or_default();
            if look.scopes.len() >= SCOPES {
                look.scopes.clear();
            }
            look.scopes.insert(key, Arc::clone(&scope));
        }
        Ok(scope)
    }
}

/// The SQL function by which a connection says who it is.
const WHO: &str = "lyra_connection_id";

/// A number that no other connection of this process has or had. It is kept in the connection, as
/// a function of its own: an address would come again with the next connection.
fn connection_id(connection: &Connection) -> Result<i64> {
    static NEXT: AtomicI64 = AtomicI64::new(1);
    let ask = || -> rusqlite::Result<i64> {
        connection
            .prepare_cached("SELECT lyra_connection_id()")?
            .query_row([], |r| r.get(0))
    };
    if let Ok(id) = ask() {
        return Ok(id);
    }
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    connection
        .create_scalar_function(WHO, 0, FunctionFlags::SQLITE_UTF8, move |_| Ok(id))
        .db()?;
    ask().db()
}

fn data_version(connection: &Connection) -> Result<i64> {
    connection.one("PRAGMA data_version", [], |r| r.get(0))
}

#[cfg(test)]
mod tests;
