//! Reads bodies within limits of size and time.

use super::connect::{failed, network_error, text_header};
use crate::error::{Error, ErrorKind, Result};
use reqwest::Response;
use reqwest::header::HeaderMap;
use std::time::{Duration, Instant};
use url::Url;

/// The time budget of the network for one document, over all requests.
///
/// Waiting for a site's turn does not count, because the server is not the cause.
#[derive(Debug)]
pub(super) struct Patience {
    whole: Duration,
    left: Duration,
}

impl Patience {
    pub(super) fn new(whole: Duration) -> Self {
        Self { whole, left: whole }
    }

    /// Runs one network exchange and subtracts its time from the budget.
    pub(super) async fn spend<T>(
        &mut self,
        url: &Url,
        exchange: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let begun = Instant::now();
        let done = tokio::time::timeout(self.left, exchange).await;
        self.left = self.left.saturating_sub(begun.elapsed());
        done.unwrap_or_else(|_| {
            let whole = self.whole;
            Err(Error::new(
                ErrorKind::Timeout,
                format!("{url}: no answer within {whole:?}"),
            ))
        })
    }
}

/// Limits on reading a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    /// Maximum size after decompression, in bytes.
    pub(super) bytes: usize,
    /// Whether a longer body is cut; otherwise it is an error.
    pub(super) cut: bool,
    /// Maximum pause between two chunks.
    pub(super) idle: Duration,
}

/// The decoded body. The size is counted during decompression, so that a small file that unpacks
/// endlessly is stopped at the limit, like one that never ends.
pub(super) async fn read(url: &Url, mut response: Response, limits: BodyLimits) -> Result<Vec<u8>> {
    let BodyLimits { bytes, cut, idle } = limits;
    let too_large = || Err(failed(url, &format!("larger than {bytes} bytes")));
    let announced = response.content_length().unwrap_or(0);
    if !cut && usize::try_from(announced).is_ok_and(|length| length > bytes) {
        return too_large();
    }
    let mut body = Vec::new();
    loop {
        let piece = tokio::time::timeout(idle, response.chunk()).await;
        let Ok(piece) = piece else {
            return Err(Error::new(
                ErrorKind::Timeout,
                format!("{url}: no answer: it sent nothing for {idle:?} in the middle of the body"),
            ));
        };
        let Some(piece) = piece.map_err(|e| network_error(url, &e))? else {
            return Ok(body);
        };
        let room = bytes - body.len();
        if piece.len() > room {
            if !cut {
                return too_large();
            }
            body.extend_from_slice(&piece[..room]);
            return Ok(body);
        }
        body.extend_from_slice(&piece);
    }
}

/// Refuses images, videos and archives by their declared type: reading them would be useless.
pub(super) fn check_type(url: &Url, headers: &HeaderMap) -> Result<()> {
    let Some(content_type) = text_header(headers, "content-type") else {
        return Ok(());
    };
    let name = content_type.split(';').next().unwrap_or_default();
    // A media type is one short word, whatever the server sends.
    let is_of_a_name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '+' | '-');
    let name: String = name.chars().filter(is_of_a_name).take(60).collect();
    let name = name.to_ascii_lowercase();
    let binary = ["image/", "video/", "audio/", "font/", "model/"]
        .iter()
        .any(|kind| name.starts_with(kind) && !name.ends_with("+xml"))
        || matches!(
            name.as_str(),
            "application/zip"
                | "application/gzip"
                | "application/x-gzip"
                | "application/x-tar"
                | "application/x-7z-compressed"
                | "application/x-rar-compressed"
                | "application/vnd.rar"
                | "application/java-archive"
                | "application/wasm"
                | "application/vnd.microsoft.portable-executable"
        );
    if !binary {
        return Ok(());
    }
    Err(
        failed(url, &format!("the document is binary, not text: {name}"))
            .with_hint("readable are HTML, PDF, JATS XML, Markdown, plain text and JSON lines"),
    )
}
