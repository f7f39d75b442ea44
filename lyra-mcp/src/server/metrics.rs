//! Metrics of the server, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Upper bounds of the latency buckets, in seconds. Waiting calls take up to 330.
const BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 330.0,
];

/// The counters.
pub(super) struct Metrics {
    started: Instant,
    counts: Mutex<Counts>,
    calls: Arc<AtomicI64>,
    requests: Arc<AtomicI64>,
    connections: Arc<AtomicI64>,
}

#[derive(Default)]
struct Counts {
    /// By path, method and status.
    requests: BTreeMap<(&'static str, &'static str, u16), u64>,
    /// By tool and outcome.
    calls: BTreeMap<(&'static str, &'static str), u64>,
    /// By tool.
    seconds: BTreeMap<&'static str, Histogram>,
}

#[derive(Default)]
struct Histogram {
    /// Counts of each bucket alone, not cumulative.
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn add(&mut self, seconds: f64) {
        if let Some(bucket) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket] += 1;
        }
        self.count += 1;
        self.sum += seconds;
    }
}

/// An activity that is counted until this is dropped.
pub(super) struct Going(Arc<AtomicI64>);

impl Going {
    fn begin(gauge: &Arc<AtomicI64>) -> Self {
        gauge.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(gauge))
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            counts: Mutex::default(),
            calls: Arc::default(),
            requests: Arc::default(),
            connections: Arc::default(),
        })
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn call_begins(&self) -> Going {
        Going::begin(&self.calls)
    }

    pub(super) fn call_ended(&self, tool: &'static str, outcome: &'static str, took: Duration) {
        let mut counts = self.counts();
        *counts.calls.entry((tool, outcome)).or_default() += 1;
        counts
            .seconds
            .entry(tool)
            .or_default()
            .add(took.as_secs_f64());
    }

    pub(super) fn request_begins(&self) -> Going {
        Going::begin(&self.requests)
    }

    pub(super) fn request_ended(&self, path: &'static str, method: &'static str, status: u16) {
        *self
            .counts()
            .requests
            .entry((path, method, status))
            .or_default() += 1;
    }

    pub(super) fn connection_begins(&self) -> Going {
        Going::begin(&self.connections)
    }

    /// The page for the scraper.
    pub(super) fn page(&self, sessions: usize) -> String {
        let mut page = Page(String::new());
        page.head("lyra_build_info", "gauge", "The version of the server");
        let version = env!("CARGO_PKG_VERSION");
        page.line("lyra_build_info", &format!("version=\"{version}\""), 1);
        let gauge = |gauge: &AtomicI64| gauge.load(Ordering::Relaxed);
        for (name, help, value) in [
            (
                "lyra_uptime_seconds",
                "Seconds since the start",
                i64::try_from(self.started.elapsed().as_secs()).unwrap_or(i64::MAX),
            ),
            (
                "lyra_http_connections",
                "Open connections",
                gauge(&self.connections),
            ),
            (
                "lyra_http_requests_in_flight",
                "Requests whose answer is not complete, open event streams included",
                gauge(&self.requests),
            ),
            (
                "lyra_http_sessions",
                "Open sessions of the revisions before 2026-07-28",
                i64::try_from(sessions).unwrap_or(i64::MAX),
            ),
            (
                "lyra_tool_calls_in_flight",
                "Tool calls that run or wait for their turn",
                gauge(&self.calls),
            ),
        ] {
            page.head(name, "gauge", help);
            page.line(name, "", value);
        }
        let counts = self.counts();
        let name = "lyra_http_requests_total";
        page.head(name, "counter", "Requests whose answer is complete");
        for ((path, method, status), count) in &counts.requests {
            let labels = format!("path=\"{path}\",method=\"{method}\",status=\"{status}\"");
            page.line(name, &labels, count);
        }
        let name = "lyra_tool_calls_total";
        page.head(name, "counter", "Tool calls: ok, or the error_code");
        for ((tool, outcome), count) in &counts.calls {
            let labels = format!("tool=\"{tool}\",outcome=\"{outcome}\"");
            page.line(name, &labels, count);
        }
        page.latencies(&counts.seconds);
        page.0
    }
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    fn latencies(&mut self, tools: &BTreeMap<&'static str, Histogram>) {
        let name = "lyra_tool_call_duration_seconds";
        self.head(
            name,
            "histogram",
            "Time from a tool call's arrival to its answer",
        );
        for (tool, histogram) in tools {
            let mut below = 0;
            for (bound, count) in BUCKETS.iter().zip(histogram.buckets) {
                below += count;
                let labels = format!("tool=\"{tool}\",le=\"{bound}\"");
                self.line(&format!("{name}_bucket"), &labels, below);
            }
            let tool = format!("tool=\"{tool}\"");
            let all = format!("{tool},le=\"+Inf\"");
            self.line(&format!("{name}_bucket"), &all, histogram.count);
            self.line(&format!("{name}_sum"), &tool, histogram.sum);
            self.line(&format!("{name}_count"), &tool, histogram.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_what_was_counted() {
        let metrics = Metrics::new();
        let going = metrics.call_begins();
        metrics.call_ended("query_sql", "ok", Duration::from_millis(3));
        metrics.call_ended("query_sql", "ok", Duration::from_secs(400));
        metrics.call_ended("query_sql", "QUERY_REJECTED", Duration::from_millis(1));
        metrics.request_ended("/mcp", "POST", 401);
        let page = metrics.page(3);
        for line in [
            "lyra_tool_calls_total{tool=\"query_sql\",outcome=\"ok\"} 2",
            "lyra_tool_calls_total{tool=\"query_sql\",outcome=\"QUERY_REJECTED\"} 1",
            "lyra_tool_call_duration_seconds_bucket{tool=\"query_sql\",le=\"0.0025\"} 1",
            "lyra_tool_call_duration_seconds_bucket{tool=\"query_sql\",le=\"0.005\"} 2",
            "lyra_tool_call_duration_seconds_bucket{tool=\"query_sql\",le=\"330\"} 2",
            "lyra_tool_call_duration_seconds_bucket{tool=\"query_sql\",le=\"+Inf\"} 3",
            "lyra_tool_call_duration_seconds_count{tool=\"query_sql\"} 3",
            "lyra_http_requests_total{path=\"/mcp\",method=\"POST\",status=\"401\"} 1",
            "lyra_http_sessions 3",
            "lyra_tool_calls_in_flight 1",
        ] {
            assert!(page.lines().any(|given| given == line), "{line}\n{page}");
        }
        drop(going);
        assert!(metrics.page(0).contains("\nlyra_tool_calls_in_flight 0\n"));
    }
}
