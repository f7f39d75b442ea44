//! What a child may use.

use std::time::Duration;

/// What a child may use for one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParserLimits {
    /// Bytes of memory beyond what a child needs that has read nothing: 256 MiB by default. It is
    /// held where the system limits the data of a process (Linux), or its address space.
    pub memory: u64,
    /// Processor time: 6 seconds by default, in whole seconds. It is held on Unix.
    pub processor: Duration,
    /// Time by the clock: 9 seconds by default. It is held everywhere.
    pub time: Duration,
}

impl ParserLimits {
    /// So many seconds of processor time, and half as many more by the clock.
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
