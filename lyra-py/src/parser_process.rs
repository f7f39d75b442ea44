//! The interpreter as a process that parses documents: it loads only this module.

use crate::error::{invalid, raise};
use lyra_core::Error;
use lyra_core::documents::{ParserLimits, ParserProcess};
use lyra_core::ports::DocumentParser;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::sync::Arc;

/// Loads the compiled module from its file, without the package, its site or the working folder.
const CODE: &str = "import sys\n\
    from importlib.machinery import ExtensionFileLoader\n\
    from importlib.util import module_from_spec, spec_from_loader\n\
    loader = ExtensionFileLoader('lyra._lyra', sys.argv[1])\n\
    module = module_from_spec(spec_from_loader('lyra._lyra', loader))\n\
    sys.modules['lyra'] = sys.modules['lyra._lyra'] = module\n\
    loader.exec_module(module)\n\
    sys.exit(module.command_line(['lyra-mcp', 'parse-documents', *sys.argv[2:]]))";

/// The command line that starts such a process; `None` if the program of this process is not an
/// interpreter, as in a frozen application or if Python is embedded.
pub(crate) fn words(py: Python<'_>) -> PyResult<Option<Vec<OsString>>> {
    let sys = py.import("sys")?;
    let is_frozen = match sys.getattr_opt("frozen")? {
        Some(frozen) => frozen.is_truthy()?,
        None => false,
    };
    let python: Option<String> = sys.getattr("executable")?.extract()?;
    let Some(python) = python.filter(|python| !python.is_empty() && !is_frozen) else {
        return Ok(None);
    };
    let file: String = py.import("lyra._lyra")?.getattr("__file__")?.extract()?;
    let words = [&*python, "-I", "-S", "-c", CODE, &*file];
    Ok(Some(words.into_iter().map(OsString::from).collect()))
}

/// The parser of a graph; `None` to parse in this process.
pub(crate) fn of_graph(
    py: Python<'_>,
    which: Option<&str>,
    memory: Option<u64>,
    seconds: Option<u64>,
    at_most: usize,
) -> PyResult<Option<Arc<dyn DocumentParser>>> {
    if !matches!(which, None | Some("process" | "in_process")) {
        let which = which.unwrap_or_default();
        let message =
            format!("there is no parser {which:?}; expected \"process\" or \"in_process\"");
        return Err(invalid(message));
    }
    let mut limits = ParserLimits::default();
    if let Some(memory) = memory {
        limits.memory = within("parser_memory", memory, 16..=65_536)? * 1024 * 1024;
    }
    if let Some(seconds) = seconds {
        limits = limits.with_seconds(within("parser_seconds", seconds, 1..=3_600)?);
    }
    if which == Some("in_process") {
        return Ok(None);
    }
    let Some(mut words) = words(py)? else {
        return match which {
            None => Ok(None),
            Some(_) => Err(raise(
                Error::invalid("sys.executable is not a Python that can parse documents")
                    .with_hint("leave parser out, or use parser=\"in_process\""),
            )),
        };
    };
    let arguments = words.split_off(1);
    let program = words.pop().unwrap_or_default();
    let mut parser = ParserProcess::new(program, arguments);
    let environment = py.import("os")?.getattr("environ")?;
    for name in ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"] {
        let value: Option<String> = environment.call_method1("get", (name,))?.extract()?;
        if let Some(value) = value {
            parser = parser.with_variable(name, value);
        }
    }
    Ok(Some(Arc::new(parser.with_limits(limits).at_most(at_most))))
}

fn within(name: &str, value: u64, range: std::ops::RangeInclusive<u64>) -> PyResult<u64> {
    match range.contains(&value) {
        true => Ok(value),
        false => Err(invalid(format!(
            "{name} is {value}; expected {} to {}",
            range.start(),
            range.end()
        ))),
    }
}
