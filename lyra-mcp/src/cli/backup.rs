//! `backup`.

use super::config::Settings;
use super::{open, review};
use lyra_core::Result;
use std::path::Path;
use std::time::Duration;

/// Copies the database once, or repeatedly, so that read-only servers can follow it.
pub(super) fn run(settings: &Settings, to: &Path, every: Option<Duration>) -> Result<()> {
    let engine = open(settings)?;
    let told = || {
        let (from, to) = (settings.db.display(), to.display());
        crate::log::line(&format!("copied {from} to {to}"));
    };
    let Some(every) = every else {
        engine.backup(to)?;
        told();
        return Ok(());
    };
    let mut copied = None;
    loop {
        let state = written(&settings.db);
        if copied != Some(state) {
            engine.update_copy(to)?;
            told();
            copied = Some(state);
        }
        if review::wait(every)? {
            return Ok(());
        }
    }
}

/// Identifies the written state: size and modification time of the file and of its log.
fn written(db: &Path) -> [Option<(u64, std::time::SystemTime)>; 2] {
    let log = db.with_file_name(format!(
        "{}-wal",
        db.file_name().unwrap_or_default().display()
    ));
    [db, &log].map(|path| {
        let file = std::fs::metadata(path).ok()?;
        Some((file.len(), file.modified().ok()?))
    })
}
