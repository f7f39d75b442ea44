//! `verify`.

use super::output::Output;
use lyra_core::Engine;
use lyra_core::Result;
use std::process::ExitCode;

pub(super) fn run(engine: &Engine) -> Result<ExitCode> {
    let report = engine.verify()?;
    let mut out = Output::new();
    for (check, rows) in &report.checked {
        out.line(&format!("checked      {rows:>9}  {check}"))?;
    }
    out.line(&format!(
        "unverifiable {:>9}  rows that came without the text they point into",
        report.unverifiable
    ))?;
    out.line(&format!("violations   {:>9}", report.violations.len()))?;
    for violation in &report.violations {
        out.line(&format!(
            "{}\t{}\t{}\t{}",
            violation.check, violation.table, violation.id, violation.detail
        ))?;
    }
    out.finish()?;
    Ok(if report.violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
