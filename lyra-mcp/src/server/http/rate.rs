//! The rate limit of tokens: a bucket that holds `burst` requests and refills at a steady rate.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The buckets of all tokens.
pub(super) struct Rates {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    pub(super) fn new(per_second: f64, burst: u32) -> Self {
        Self {
            per_second,
            burst: f64::from(burst.max(1)),
            buckets: Mutex::default(),
        }
    }

    /// Takes a request from the bucket of this token, or returns how long the next one has to wait.
    /// There are as many buckets as tokens have ever been used.
    pub(super) fn take(&self, token: &str, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(token) {
            let full = Bucket {
                left: self.burst,
                at: now,
            };
            buckets.insert(token.to_owned(), full);
        }
        let Some(bucket) = buckets.get_mut(token) else {
            return Ok(());
        };
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + since * self.per_second).min(self.burst);
        bucket.at = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64(
            (1.0 - bucket.left) / self.per_second,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let rates = Rates::new(2.0, 3);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        for _ in 0..3 {
            assert_eq!(rates.take("a", at(0)), Ok(()));
        }
        assert_eq!(rates.take("a", at(0)), Err(Duration::from_millis(500)));
        assert_eq!(rates.take("b", at(0)), Ok(()), "a bucket of its own");
        assert_eq!(rates.take("a", at(250)), Err(Duration::from_millis(250)));
        assert_eq!(rates.take("a", at(500)), Ok(()));
        assert!(rates.take("a", at(500)).is_err());
        // A bucket never holds more than the burst.
        let later = 3_600_000;
        for _ in 0..3 {
            assert_eq!(rates.take("a", at(later)), Ok(()));
        }
        assert!(rates.take("a", at(later)).is_err());
    }
}
