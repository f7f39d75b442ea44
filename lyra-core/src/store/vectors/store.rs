//! The matrices in memory, and the checks that they are current.

use super::matrix::{Matrix, MatrixKey, TableStamp};
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
/// The vectors are held in memory once, and updated in place at the start of each search from the
/// snapshot that the search reads: everything that any process has committed is visible, and deleted
/// vectors are gone. If the snapshot of a search is older than the matrix, because another search has
/// updated it in the meantime, the newer vectors are used for the ids of the older snapshot.
///
/// Vectors are replaced by `INSERT OR REPLACE`; an `UPDATE` of `embedding_blob` is not detected.
#[derive(Debug, Default)]
pub struct VectorStore {
    matrices: Mutex<HashMap<MatrixKey, Arc<RwLock<Matrix>>>>,
    looks: Mutex<HashMap<i64, ConnectionState>>,
    /// When the vectors were last used.
    used: Mutex<Option<Instant>>,
}

/// State that is valid for a connection as long as its data version stays the same.
///
/// `PRAGMA data_version` changes for a connection with every visible commit of another connection.
/// Connections that only read commit nothing themselves, so the same version on the same connection
/// means the same content.
#[derive(Debug, Default)]
struct ConnectionState {
    data_version: i64,
    current: HashMap<MatrixKey, TableStamp>,
    scopes: HashMap<ScopeKey, Arc<Scope>>,
    /// The latest state of each matrix that the connection has used, in any version.
    latest: HashMap<MatrixKey, TableStamp>,
}

type ScopeKey = (MatrixKey, Option<String>);

/// Maximum number of scopes kept for a connection. A scope takes one bit per row: 64 of them for a
/// million rows are 8 MB.
const SCOPES: usize = 64;

/// Maximum number of connections that are remembered; a pool has eight.
const LOOKS: usize = 64;

impl VectorStore {
    /// An empty store; vectors are loaded when they are first needed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads the vectors of a kind and model, so that the first search does not have to.
    pub fn load(
        &self,
        reader: &Reader<'_>,
        target: EmbeddingTarget,
        model: &EmbedderInfo,
    ) -> Result<()> {
        self.with_matrix(reader, target, model, |_, _| Ok(()))
    }

    /// Frees the memory of the vectors if they were not used for this time; the next search loads them
    /// again. Returns whether there was anything to free.
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
            // A search that is using the matrix keeps it until the search is done.
            matrix
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        }
        true
    }

    /// Runs `work` with the vectors of a kind and model in the state of the reader's snapshot.
    pub(super) fn with_matrix<T>(
        &self,
        reader: &Reader<'_>,
        target: EmbeddingTarget,
        model: &EmbedderInfo,
        work: impl FnOnce(&Matrix, &Scopes<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let key = MatrixKey {
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
            // A transaction may be rolled back, so its state is not shared with others.
            let mut matrix = Matrix::new(key.dimension);
            matrix.catch_up(reader, &key, TableStamp::read(reader)?)?;
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

    /// Reads the stamp of a snapshot that was not yet seen on this connection. Snapshots of one
    /// connection only move forward; if one seems to go back, the file was restored from a copy, and the
    /// matrix is loaded again.
    fn note_stamp(
        &self,
        reader: &Reader<'_>,
        key: &MatrixKey,
        shared: &RwLock<Matrix>,
        (connection, data_version): (i64, i64),
    ) -> Result<TableStamp> {
        let stamp = TableStamp::read(reader)?;
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

    fn note_served(&self, key: &MatrixKey, connection: i64, stamp: Option<TableStamp>) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(look), Some(stamp)) = (looks.get_mut(&connection), stamp) {
            look.latest.insert(key.clone(), stamp);
        }
    }

    /// The table of looks, with only the entries of this connection in this version.
    fn look(
        &self,
        connection: i64,
        data_version: i64,
    ) -> MutexGuard<'_, HashMap<i64, ConnectionState>> {
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

    fn matrix(&self, key: &MatrixKey) -> Arc<RwLock<Matrix>> {
        let mut matrices = self.matrices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(matrix) = matrices.get(key) {
            return Arc::clone(matrix);
        }
        let matrix = Arc::new(RwLock::new(Matrix::new(key.dimension)));
        matrices.insert(key.clone(), Arc::clone(&matrix));
        matrix
    }
}

/// Provides the scopes of searches in one snapshot.
pub(super) struct Scopes<'s, 'r> {
    store: &'s VectorStore,
    reader: &'s Reader<'r>,
    key: &'s MatrixKey,
    /// The connection and its data version; none if nothing may be kept.
    look: Option<(i64, i64)>,
}

impl Scopes<'_, '_> {
    /// The scope of a task, or of all tasks: the cached one if nothing was committed since, otherwise a
    /// new one.
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

/// The SQL function that returns the id of a connection.
const WHO: &str = "lyra_connection_id";

/// A number that is unique among all connections of this process, past and present. It is stored in the
/// connection as an SQL function: the address of a closed connection could be reused by the next one.
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
