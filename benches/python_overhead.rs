//! Makes the calls of `python_overhead.py` from Rust, on the same file; prints medians in
//! microseconds, as JSON.
//!
//! `python_overhead DATABASE`

use lyra_core::ports::TextRole;
use lyra_core::store::guard::SqlRequest;
use lyra_core::{Engine, EngineConfig, Result, VectorRequest, ViewRequest};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const SQL: &str = "SELECT id, claim_text, llm_claim_confidence FROM claims ORDER BY id LIMIT 50";
const WORDS: &str = "Drug 77 lowers glucose";

fn median_us<T>(mut call: impl FnMut() -> Result<T>) -> Result<f64> {
    call()?;
    let mut times = Vec::new();
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end || times.len() < 5 {
        let began = Instant::now();
        std::hint::black_box(call()?);
        times.push(began.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2].as_secs_f64() * 1e6)
}

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_default();
    let engine = Engine::open(EngineConfig::new(path))?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|e| lyra_core::Error::internal("no runtime").with_source(e))?;
    let vector = runtime.block_on(engine.embed(&[WORDS], TextRole::Query))?;
    let request = VectorRequest::new(WORDS);
    let view = ViewRequest::new("v_unsupported_claims").for_task("task_1");
    let times = BTreeMap::from([
        (
            "query, 1 row",
            median_us(|| engine.query_sql(&SqlRequest::new("SELECT 1 AS a")))?,
        ),
        (
            "query, 50 rows of 3",
            median_us(|| engine.query_sql(&SqlRequest::new(SQL)))?,
        ),
        (
            "search by words, top 10",
            median_us(|| runtime.block_on(engine.vector_search(&request)))?,
        ),
        (
            "search by vector, top 10",
            median_us(|| engine.search_by_vector(&vector[0], &request))?,
        ),
        ("view", median_us(|| engine.query_view(&view))?),
    ]);
    let json =
        serde_json::to_string(&times).map_err(|e| lyra_core::Error::internal(e.to_string()))?;
    let mut out = std::io::stdout();
    std::io::Write::write_all(&mut out, json.as_bytes())
        .map_err(|e| lyra_core::Error::internal(e.to_string()))
}
