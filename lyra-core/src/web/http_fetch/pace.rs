//! Rate limiting per site: a few concurrent visits, at a minimum interval.

use crate::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Maximum number of sites that are remembered; those without a current visit are forgotten first.
const MOST_SITES: usize = 4096;

/// The sites of one fetcher.
#[derive(Debug)]
pub(super) struct Pace {
    at_once: usize,
    sites: Mutex<HashMap<String, Arc<Site>>>,
}

#[derive(Debug)]
struct Site {
    places: Arc<Semaphore>,
    /// When the next visit may start.
    next: Mutex<Instant>,
}

/// The permission to visit a site; released when it is dropped.
#[derive(Debug)]
pub(super) struct SitePermit {
    pub(super) site: String,
    _place: OwnedSemaphorePermit,
}

impl Pace {
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            at_once: at_once.max(1),
            sites: Mutex::default(),
        }
    }

    /// Waits until `site` may be visited, at most for `patience`; visits start `interval` apart.
    pub(super) async fn turn(
        &self,
        site: &str,
        interval: Duration,
        patience: Duration,
    ) -> Result<SitePermit> {
        let too_busy = || {
            Error::new(
                ErrorKind::Timeout,
                format!("no request to {site} was possible within {patience:?}"),
            )
            .with_hint("queue it again later, or fewer pages of that site at once")
        };
        let end = Instant::now() + patience;
        let entry = self.site(site);
        let place = Arc::clone(&entry.places).acquire_owned();
        let place = tokio::time::timeout_at(end, place).await;
        let place = place.map_err(|_| too_busy())?;
        let place = place.map_err(|_| Error::internal("a site's places are closed"))?;
        while let Some(moment) = entry.try_begin(interval) {
            // If a site asked for an hour, the wait fails at once instead of timing out.
            if moment > end {
                return Err(too_busy());
            }
            tokio::time::sleep_until(moment).await;
        }
        Ok(SitePermit {
            site: site.to_owned(),
            _place: place,
        })
    }

    /// Blocks visits to `site` for this long.
    pub(super) fn hold(&self, site: &str, time: Duration) {
        let entry = self.site(site);
        let mut next = entry.next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = (*next).max(Instant::now() + time);
    }

    fn site(&self, site: &str) -> Arc<Site> {
        let mut sites = self.sites.lock().unwrap_or_else(PoisonError::into_inner);
        if sites.len() >= MOST_SITES {
            let now = Instant::now();
            sites.retain(|_, site| Arc::strong_count(site) > 1 || site.is_held(now));
        }
        let new = || {
            Arc::new(Site {
                places: Arc::new(Semaphore::new(self.at_once)),
                next: Mutex::new(Instant::now()),
            })
        };
        Arc::clone(sites.entry(site.to_owned()).or_insert_with(new))
    }
}

impl Site {
    /// Starts a visit, or returns when to try again.
    fn try_begin(&self, interval: Duration) -> Option<Instant> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if *next > now {
            return Some(*next);
        }
        *next = now + interval;
        None
    }

    fn is_held(&self, now: Instant) -> bool {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) > now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn visits_begin_apart_and_few_at_once() {
        let pace = Arc::new(Pace::new(2));
        let interval = Duration::from_millis(40);
        let start = Instant::now();
        let (running, most) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let mut visits = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let (pace, running, most) = (pace.clone(), running.clone(), most.clone());
            visits.spawn(async move {
                let _turn = pace.turn("a.example", interval, PATIENCE).await.unwrap();
                let begun = Instant::now();
                {
                    let mut running = running.lock().unwrap();
                    *running += 1;
                    let mut most = most.lock().unwrap();
                    *most = (*most).max(*running);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                *running.lock().unwrap() -= 1;
                begun
            });
        }
        let mut begun: Vec<Instant> = visits.join_all().await;
        begun.sort();
        assert_eq!(*most.lock().unwrap(), 2);
        // Sleeps end late, never early, and after a late one the next interval is shorter: so each
        // visit has an earliest time. The resolution of the clock is a millisecond.
        for (earliest, begun) in (0..).map(|n| interval * n).zip(begun) {
            assert!(begun - start + Duration::from_millis(2) >= earliest);
        }
    }

    #[tokio::test]
    async fn a_site_that_is_held_is_left_alone_and_others_are_not() {
        let pace = Pace::new(1);
        let held = Duration::from_millis(1_500);
        pace.hold("busy.example", held);
        let start = Instant::now();
        let other = pace
            .turn("other.example", Duration::ZERO, PATIENCE)
            .await
            .unwrap();
        assert!(start.elapsed() < held);
        assert_eq!(other.site, "other.example");
        let refused = pace
            .turn("busy.example", Duration::ZERO, Duration::from_millis(90))
            .await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Timeout);
        assert!(start.elapsed() < held, "said at once");
        pace.turn("busy.example", Duration::ZERO, PATIENCE)
            .await
            .unwrap();
        assert!(start.elapsed() + Duration::from_millis(2) >= held);
    }
}
