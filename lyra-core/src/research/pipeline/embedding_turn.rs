//! Who fills in missing vectors waits for who does so already.

use std::sync::Arc;
use tokio::sync::Mutex;

/// Held while a batch is read, embedded and stored, so that two jobs that fill gaps at the same
/// time share the work and do none of it twice.
pub(crate) type EmbeddingTurn = Arc<Mutex<()>>;
