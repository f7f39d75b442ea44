//! The views of an engine, and the files in the user's folder that cannot be used as views.

use super::EngineConfig;
use crate::error::{ErrorKind, Result};
use crate::store::database::DatabaseFile;
use crate::store::guard::{QueryGuard, TempView};
use crate::store::views::{BrokenView, ViewCatalog, view_name};
use std::path::{Path, PathBuf};

/// The views, and the guard whose connections contain them.
#[derive(Debug)]
pub(super) struct Views {
    pub(super) catalog: ViewCatalog,
    pub(super) guard: QueryGuard,
    /// A file with a mistake disables only its own view.
    pub(super) broken: Vec<BrokenView>,
}

impl Views {
    /// Loads the built-in views and those of the configured folder, if any.
    ///
    /// # Errors
    /// `NotFound` if the folder does not exist; `Storage` if the database cannot be read.
    pub(super) fn open(config: &EngineConfig, source: &DatabaseFile) -> Result<Self> {
        let builtin = ViewCatalog::builtin()?;
        let Some(folder) = &config.views_dir else {
            return Ok(Self {
                guard: guard(config, source, &builtin)?,
                catalog: builtin,
                broken: Vec::new(),
            });
        };
        let (mut catalog, mut files, mut broken) = (builtin.clone(), Vec::new(), Vec::new());
        for file in ViewCatalog::files_of(folder)? {
            match catalog.add_file(&file) {
                Ok(()) => files.push(file),
                Err(fault) => broken.push(fault),
            }
        }
        match guard(config, source, &catalog) {
            Ok(guard) => Ok(Self {
                catalog,
                guard,
                broken,
            }),
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                one_at_a_time((config, source), builtin, files, broken)
            }
            Err(error) => Err(error),
        }
    }
}

/// Finds the files that do not fit the tables. They are retried as long as another view was added,
/// because one view may depend on another.
fn one_at_a_time(
    (config, source): (&EngineConfig, &DatabaseFile),
    builtin: ViewCatalog,
    mut files: Vec<PathBuf>,
    mut broken: Vec<BrokenView>,
) -> Result<Views> {
    let mut views = Views {
        guard: guard(config, source, &builtin)?,
        catalog: builtin,
        broken: Vec::new(),
    };
    loop {
        let mut refused = Vec::new();
        for file in &files {
            let mut catalog = views.catalog.clone();
            let fault = match catalog.add_file(file) {
                Err(fault) => fault,
                Ok(()) => match guard(config, source, &catalog) {
                    Ok(guard) => {
                        (views.catalog, views.guard) = (catalog, guard);
                        continue;
                    }
                    Err(error) if error.kind() == ErrorKind::InvalidInput => {
                        does_not_fit(file, error.message())
                    }
                    Err(error) => return Err(error),
                },
            };
            refused.push(fault);
        }
        if refused.len() == files.len() {
            broken.append(&mut refused);
            broken.sort_by(|a, b| a.file.cmp(&b.file));
            views.broken = broken;
            return Ok(views);
        }
        files = refused.into_iter().map(|fault| fault.file).collect();
    }
}

fn does_not_fit(file: &Path, message: &str) -> BrokenView {
    let name = view_name(file).unwrap_or_default().to_owned();
    let own = message.strip_prefix(&format!("view {name}: "));
    let reason = own.unwrap_or(message).to_owned();
    // SQLite names the missing object but not its position. The SQL of a view is short, so the
    // first line with that name is the relevant one.
    let missing = reason.rsplit(": ").next().unwrap_or(&reason);
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut lines = text.lines();
    let line = lines.position(|line| !line.starts_with("--") && line.contains(missing));
    BrokenView {
        name,
        file: file.to_owned(),
        line: line.map(|before| before + 1),
        reason,
    }
}

fn guard(
    config: &EngineConfig,
    source: &DatabaseFile,
    catalog: &ViewCatalog,
) -> Result<QueryGuard> {
    let views = catalog
        .temp_views(config.clock.year())
        .into_iter()
        .map(|(name, select_sql)| TempView { name, select_sql });
    QueryGuard::over(source, views.collect())
}
