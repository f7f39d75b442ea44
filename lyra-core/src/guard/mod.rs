//! Untrusted SQL, answered safely.
