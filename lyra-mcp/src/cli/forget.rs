//! `forget`.

use super::output::Output;
use lyra_core::Engine;
use lyra_core::Result;

pub(super) fn run(engine: &Engine, task: &str, orphans: bool) -> Result<()> {
    let report = engine.forget(task, orphans)?;
    let mut out = Output::new();
    out.line(&super::output::json(&report)?)?;
    out.finish()
}
