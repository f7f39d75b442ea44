//! A fetcher for documents that the caller holds in memory.

use super::source::AddressedDocument;
use crate::error::{Error, Result};
use crate::ports::{FetchRequest, FetchedDocument, Fetcher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Holds the document to be read next.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<Option<(String, FetchedDocument)>>);

impl Shelf {
    /// Replaces the previous document; an address without a body is left to other fetchers.
    pub(super) fn put(&self, document: AddressedDocument) {
        *self.lock() = document.found.map(|found| (document.url, found));
    }

    fn lock(&self) -> MutexGuard<'_, Option<(String, FetchedDocument)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl Fetcher for Shelf {
    fn name(&self) -> &'static str {
        "file"
    }

    fn accepts(&self, url: &str) -> bool {
        self.lock().as_ref().is_some_and(|(own, _)| own == url)
    }

    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument> {
        let held = self.lock().take();
        held.filter(|(own, _)| *own == request.url)
            .map(|(_, found)| found)
            .ok_or_else(|| {
                Error::internal(format!(
                    "{} is not the document that is being read",
                    request.url
                ))
            })
    }
}
