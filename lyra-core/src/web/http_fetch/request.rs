//! A single request: what is sent, how much of the reply is read, and where a redirect leads.

use super::body::BodyLimits;
use super::challenge;
use super::connect::{client_builder, failed, network_error, text_header};
use super::options::HttpOptions;
use crate::error::{Error, Result};
use crate::ports::{SiteSession, Validators};
use crate::security::url_policy::check_url;
use crate::web::web_client;
use reqwest::header::{ACCEPT, COOKIE, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LOCATION};
use reqwest::{Client, Response, StatusCode};
use std::sync::OnceLock;
use url::Url;

/// The client and its options.
#[derive(Debug)]
pub(super) struct Web {
    /// Built for the first request, because that reads the certificates of the system.
    pub(super) client: OnceLock<Client>,
    pub(super) options: HttpOptions,
}

impl Web {
    fn client(&self) -> Result<&Client> {
        if self.client.get().is_none() {
            // If another request has built one in the meantime, its client is used.
            let _ = self
                .client
                .set(web_client::build(client_builder(&self.options))?);
        }
        self.client
            .get()
            .ok_or_else(|| Error::internal("the web client was not kept"))
    }

    pub(super) fn check(&self, url: &Url) -> Result<()> {
        check_url(url, self.options.allow_private_hosts)
    }

    pub(super) async fn get(
        &self,
        url: &Url,
        validators: &Validators,
        session: Option<&SiteSession>,
    ) -> Result<Response> {
        let accept = "text/html,application/xhtml+xml,application/pdf;q=0.9,application/xml;q=0.8,text/plain;q=0.7,*/*;q=0.1";
        let mut get = self.client()?.get(url.clone()).header(ACCEPT, accept);
        if let Some(session) = session {
            let mut cookies = HeaderValue::from_str(&session.cookies).map_err(|_| {
                Error::invalid(format!(
                    "the session of {} is no Cookie header",
                    session.domain
                ))
            })?;
            cookies.set_sensitive(true);
            get = get.header(COOKIE, cookies);
        }
        if let Some(etag) = &validators.etag {
            get = get.header(IF_NONE_MATCH, etag);
        }
        if let Some(date) = &validators.last_modified {
            get = get.header(IF_MODIFIED_SINCE, date);
        }
        get.send().await.map_err(|e| network_error(url, &e))
    }

    pub(super) fn limits(&self, status: StatusCode) -> BodyLimits {
        let is_document = status.is_success();
        BodyLimits {
            bytes: if is_document {
                self.options.max_bytes
            } else {
                challenge::WINDOW.min(self.options.max_bytes)
            },
            cut: !is_document,
            idle: self.options.idle_timeout,
        }
    }
}

pub(super) fn redirect_of(url: &Url, response: &Response) -> Result<Option<Url>> {
    if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let Some(location) = text_header(response.headers(), LOCATION.as_str()) else {
        return Ok(None);
    };
    url.join(&location).map(Some).map_err(|e| {
        failed(
            url,
            &format!("redirects to {location:?}, which is no address: {e}"),
        )
    })
}
