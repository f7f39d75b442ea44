//! Serialises the filling in of missing vectors.

use std::sync::Arc;
use tokio::sync::Mutex;

/// Held while a batch is read, embedded and stored, so that two jobs that fill in vectors at the
/// same time share the work without doing any of it twice.
pub(crate) type EmbeddingTurn = Arc<Mutex<()>>;
