//! The command line.
use std::process::ExitCode;
use std::sync::Arc;
pub(crate) fn main() -> ExitCode {
    let rt = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("rt");
    let engine = crate::api::Engine::open(crate::api::EngineConfig::new("x")).expect("open");
    match rt.block_on(crate::server::serve(
        engine,
        Arc::new(lyra_core::ports::SystemClock),
    )) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            crate::log::line(&e.to_string());
            ExitCode::FAILURE
        }
    }
}
