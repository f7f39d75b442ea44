//! The resource limits of a child.

use std::time::Duration;

/// What a child may use for one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParserLimits {
    /// Bytes of memory beyond what an idle child needs: 256 MiB by default. The limit applies where
    /// the system can limit the data of a process (Linux), or its address space.
    pub memory: u64,
    /// Processor time: 6 seconds by default, in whole seconds. The limit applies on Unix.
    pub processor: Duration,
    /// Wall-clock time: 9 seconds by default. The limit applies everywhere.
    pub time: Duration,
}

impl ParserLimits {
    /// Sets the processor time in seconds, and one and a half times that as the wall-clock time.
    ///
    /// ```
    /// let limits = lyra_core::documents::ParserLimits::default();
    /// assert_eq!(limits.with_seconds(6), limits);
    /// ```
    #[must_use]
    pub fn with_seconds(mut self, seconds: u64) -> Self {
        self.processor = Duration::from_secs(seconds);
        self.time = self.processor * 3 / 2;
        self
    }
}

impl Default for ParserLimits {
    fn default() -> Self {
        Self {
            memory: 256 * 1024 * 1024,
            processor: Duration::from_secs(6),
            time: Duration::from_secs(9),
        }
    }
}
