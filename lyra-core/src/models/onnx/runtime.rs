//! The ONNX Runtime library: found and loaded once per process, at run time, so that the build
//! needs neither the library nor a download.

use crate::error::{Error, ErrorKind, Result};
use ort::environment::Environment;
use ort::logging::LogLevel;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The hint for a missing library.
const HINT: &str = "install it with `pip install onnxruntime` (1.24 or newer) and set ORT_DYLIB_PATH to the folder \
     that `python3 -c \"import onnxruntime; print(onnxruntime.__path__[0])\"` prints, or to the library itself";

/// The environment of the process; the library allows only one.
static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
static LOADING: Mutex<()> = Mutex::new(());

/// The environment of the process. `library` is the shared library, or a folder that contains it
/// (such as that of the Python package `onnxruntime`); if missing, the system's loader searches for
/// it. The first library that loads is used until the process ends.
pub(crate) fn environment(library: Option<&Path>) -> Result<&'static Environment> {
    let _alone = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = ENVIRONMENT.get() {
        return Ok(environment);
    }
    let path = match library {
        Some(place) => find_library(place)?,
        None => PathBuf::from(default_name()),
    };
    let environment = ort::init_from(&path)
        .map_err(|e| unusable(&path, &e.to_string()))?
        .with_name("lyra")
        .with_telemetry(false)
        .build()
        .map_err(|e| unusable(&path, e.message()))?;
    // Errors are returned; by default the library would also print them.
    environment.set_log_level(LogLevel::Fatal);
    Ok(ENVIRONMENT.get_or_init(|| environment))
}

fn unusable(path: &Path, why: &str) -> Error {
    let message = format!(
        "ONNX Runtime cannot be loaded from {}: {why}",
        path.display()
    );
    Error::new(ErrorKind::Backend, message).with_hint(HINT)
}

/// The library at `place`, or in the folder at `place`.
fn find_library(place: &Path) -> Result<PathBuf> {
    if place.is_file() {
        return Ok(place.to_path_buf());
    }
    let folders = ["", "capi", "onnxruntime/capi", "lib"].map(|below| place.join(below));
    let found = folders.iter().find_map(|folder| library_in(folder));
    found.ok_or_else(|| {
        let message = if place.is_dir() {
            format!("no ONNX Runtime library lies in {}", place.display())
        } else {
            format!("there is no ONNX Runtime library {}", place.display())
        };
        Error::new(ErrorKind::Backend, message).with_hint(HINT)
    })
}

fn library_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_library(name))
        .collect();
    names.sort();
    names.last().map(|name| folder.join(name))
}

/// Whether a file is the library itself, not one of its dependencies.
fn is_library(name: &str) -> bool {
    name.starts_with("libonnxruntime.so")
        || (name.starts_with("libonnxruntime.") && name.ends_with(".dylib"))
        || name == "onnxruntime.dll"
}

fn default_name() -> String {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    format!("{prefix}onnxruntime{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_where_packages_put_it() {
        for (files, expected) in [
            (
                &["onnxruntime/capi/libonnxruntime.so.1.31.1"][..],
                Some("onnxruntime/capi/libonnxruntime.so.1.31.1"),
            ),
            (
                &[
                    "capi/libonnxruntime_providers_shared.so",
                    "capi/libonnxruntime.so.1.24.0",
                ],
                Some("capi/libonnxruntime.so.1.24.0"),
            ),
            (
                &["libonnxruntime.1.24.dylib"],
                Some("libonnxruntime.1.24.dylib"),
            ),
            (&["capi/libonnxruntime_providers_shared.so"], None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                let path = folder.path().join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "").unwrap();
            }
            match (find_library(folder.path()), expected) {
                (Ok(found), Some(expected)) => assert_eq!(found, folder.path().join(expected)),
                (Err(error), None) => {
                    assert!(error.hint().is_some_and(|h| h.contains("pip install")))
                }
                (found, expected) => panic!("{files:?}: {found:?} for {expected:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_library_is_an_error_that_says_what_to_do() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "no library").unwrap();
        // Another test may already have loaded a library, so this test calls the loader directly.
        let error = ort::init_from(file.path()).map_err(|e| unusable(file.path(), &e.to_string()));
        if let Err(error) = error {
            assert_eq!(error.kind(), ErrorKind::Backend);
            assert!(error.message().contains("cannot be loaded from"), "{error}");
            assert!(error.hint().is_some_and(|h| h.contains("ORT_DYLIB_PATH")));
        }
        let missing = find_library(Path::new("/nowhere/libonnxruntime.so")).unwrap_err();
        assert!(missing.message().contains("/nowhere/libonnxruntime.so"));
    }
}
