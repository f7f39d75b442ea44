//! `serve`: MCP on standard input and output, or over HTTP.

use super::config::Settings;
use super::{complain_of_exposure, complain_of_views, open_or_make, runtime_of};
use crate::server::{Listen, Service};
use clap::Args;
use lyra_core::ports::SystemClock;
use lyra_core::{Error, Result};
use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long blocking work may continue after the server has ended.
const LAST_WORK: Duration = Duration::from_secs(1);

/// Threads in addition to those of the workers, for many concurrent clients.
const HTTP_THREADS: usize = 4;

#[derive(Args, Default)]
pub(super) struct Options {
    /// Serve many clients over HTTP at this address, such as 127.0.0.1:8765
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<String>,
    /// The token file, made by `token add` [env: LYRA_HTTP_TOKENS]
    #[arg(long, value_name = "FILE", requires = "http")]
    tokens: Option<PathBuf>,
    /// An origin whose pages may call the server; may be given several times [env: LYRA_HTTP_ALLOW_ORIGINS]
    #[arg(long, value_name = "URL", requires = "http")]
    allow_origin: Vec<String>,
    /// A host name of this server; may be given several times [env: LYRA_HTTP_ALLOW_HOSTS]
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,
}

pub(super) fn run(settings: &Settings, options: Options) -> Result<()> {
    if settings.audit && settings.read_only {
        return Err(
            Error::invalid("audit is on, and the graph is open read-only")
                .with_hint("the calls are recorded in the graph: leave one of the two out"),
        );
    }
    let listen = listen(settings, options)?;
    let engine = open_or_make(settings)?;
    complain_of_views(&engine);
    complain_of_exposure(&engine);
    if engine.is_read_only() {
        crate::log::line("the graph is open read-only");
    }
    if listen.is_none() && std::io::stdin().is_terminal() {
        crate::log::line(
            "serving MCP on standard input; `lyra-mcp --help` lists the other commands",
        );
    }
    // A worker may block its thread: SQLite waits, and built-in models compute.
    let threads = if listen.is_some() { HTTP_THREADS } else { 2 };
    let runtime = runtime_of(threads + settings.workers)?;
    let service = Service {
        engine,
        clock: Arc::new(SystemClock),
        tools: crate::tools::of(settings.tools),
        audit: settings.audit,
    };
    let result = match listen {
        Some(listen) => runtime.block_on(crate::server::serve_http(service, listen)),
        None => runtime.block_on(crate::server::serve(service)),
    };
    // A call that blocks forever must not keep the process alive: its client is gone.
    runtime.shutdown_timeout(LAST_WORK);
    result
}

/// The HTTP address to serve, if any; flags take precedence over the settings.
fn listen(settings: &Settings, options: Options) -> Result<Option<Listen>> {
    let Some(address) = options.http else {
        return Ok(None);
    };
    let http = settings.http.clone();
    let given = |flags: Vec<String>, setting| if flags.is_empty() { setting } else { flags };
    Ok(Some(Listen {
        address: parse_address(&address)?,
        tokens: options.tokens.or(http.tokens),
        origins: given(options.allow_origin, http.origins),
        hosts: given(options.allow_host, http.hosts),
        per_second: http.per_second as f64,
        burst: u32::try_from(http.burst).unwrap_or(u32::MAX),
        max_body: usize::try_from(http.max_body).unwrap_or(usize::MAX),
        drain: http.drain,
    }))
}

/// Parses an address of this machine. A name would have to be resolved, and may have several
/// addresses.
fn parse_address(text: &str) -> Result<SocketAddr> {
    if let Some(port) = text.strip_prefix("localhost:")
        && let Ok(port) = port.parse::<u16>()
    {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        Error::invalid(format!("--http {text:?} is not an address with a port"))
            .with_hint("write 127.0.0.1:8765, [::1]:8765, or 0.0.0.0:8765 for every address")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_ip_address_with_a_port() {
        for (text, expected) in [
            ("127.0.0.1:8765", Some("127.0.0.1:8765")),
            ("localhost:0", Some("127.0.0.1:0")),
            ("[::1]:80", Some("[::1]:80")),
            ("8765", None),
            ("127.0.0.1", None),
            ("example.org:80", None),
            ("localhost:http", None),
        ] {
            let address = parse_address(text).ok().map(|address| address.to_string());
            assert_eq!(address.as_deref(), expected, "{text}");
        }
    }
}
