//! Checks of a fetcher.

use super::promises::{answered, is_a_name, is_fetchable};
use crate::error::Result;
use crate::ports::{FetchRequest, FetchedDocument, Fetcher, Validators};

/// Runs every check of a fetcher. `found` is an address at which it finds a document; `refused` is
/// one whose form it accepts but that it may not or cannot fetch.
pub async fn check_fetcher(fetcher: &dyn Fetcher, found: &str, refused: &str) {
    fetcher_names_itself(fetcher).await;
    fetcher_accepts_fetchable_addresses_only(fetcher, found).await;
    fetcher_finds(fetcher, found).await;
    fetcher_finds_the_same_again(fetcher, found).await;
    fetcher_takes_its_own_validators(fetcher, found).await;
    fetcher_refuses(fetcher, refused).await;
    fetcher_refuses_what_is_no_address(fetcher).await;
}

/// The name of the fetcher can be stored with a page.
pub async fn fetcher_names_itself(fetcher: &dyn Fetcher) {
    let name = fetcher.name();
    assert!(is_a_name(name), "name {name:?} is no name");
}

/// It accepts what it can fetch, and only `file`, `http` and `https`.
pub async fn fetcher_accepts_fetchable_addresses_only(fetcher: &dyn Fetcher, found: &str) {
    let name = fetcher.name();
    assert!(fetcher.accepts(found), "{name}: does not accept {found}");
    for other in ["ftp://example.org/a", "mailto:a@example.org", "data:,x", ""] {
        assert!(!fetcher.accepts(other), "{name}: accepts {other:?}");
    }
}

/// A document has the address at which it was found, and a status if it comes from the web.
pub async fn fetcher_finds(fetcher: &dyn Fetcher, url: &str) {
    let name = fetcher.name();
    let document = fetch(fetcher, url, Validators::default()).await;
    let FetchedDocument::Found {
        final_url, status, ..
    } = answered(name, url, document)
    else {
        panic!("{name}: no document at {url}, which was said to have one");
    };
    assert!(
        is_fetchable(&final_url),
        "{name}: final_url {final_url:?} is no file, http or https address"
    );
    let fits = match status {
        None => !url.starts_with("http"),
        Some(status) => !url.starts_with("file:") && (200..300).contains(&status),
    };
    assert!(
        fits,
        "{name}: status {status:?} for a document found at {url}; the web has 2xx, files have none"
    );
}

/// Two requests without validators give the same bytes.
pub async fn fetcher_finds_the_same_again(fetcher: &dyn Fetcher, url: &str) {
    let name = fetcher.name();
    let first = body(name, url, fetch(fetcher, url, Validators::default()).await);
    let second = body(name, url, fetch(fetcher, url, Validators::default()).await);
    assert!(
        first.is_some(),
        "{name}: {url} is said to be unchanged, although nothing was known of it"
    );
    assert!(first == second, "{name}: {url} gave two different bodies");
}

/// Given the validators of a copy, it reports that the copy is current, or sends the same bytes
/// again.
pub async fn fetcher_takes_its_own_validators(fetcher: &dyn Fetcher, url: &str) {
    let name = fetcher.name();
    let first = fetch(fetcher, url, Validators::default()).await;
    let validators = match &first {
        Ok(FetchedDocument::Found { validators, .. }) => validators.clone(),
        other => panic!("{name}: no document at {url}: {other:?}"),
    };
    let again = body(name, url, fetch(fetcher, url, validators).await);
    assert!(
        again.is_none() || again == body(name, url, first),
        "{name}: {url} gave other bytes for the validators of its own copy"
    );
}

/// An address that may not be fetched gives an error that names it.
pub async fn fetcher_refuses(fetcher: &dyn Fetcher, url: &str) {
    let name = fetcher.name();
    match fetch(fetcher, url, Validators::default()).await {
        Ok(document) => panic!("{name}: {url} was to be refused, and gave {document:?}"),
        Err(error) => assert!(
            error.message().contains(url),
            "{name}: the refusal does not name {url}: {error}"
        ),
    }
}

/// Text that is not an address gives an error, not a panic.
pub async fn fetcher_refuses_what_is_no_address(fetcher: &dyn Fetcher) {
    for text in ["", "no address", "http://", "file:", "https://[::1"] {
        let answer = fetch(fetcher, text, Validators::default()).await;
        assert!(
            answer.is_err(),
            "{}: {text:?} gave {answer:?}; expected an error",
            fetcher.name()
        );
    }
}

async fn fetch(
    fetcher: &dyn Fetcher,
    url: &str,
    validators: Validators,
) -> Result<FetchedDocument> {
    let request = FetchRequest {
        url: url.to_owned(),
        validators,
        ..FetchRequest::default()
    };
    fetcher.fetch(&request).await
}

/// The bytes; `None` if the copy is current.
fn body(name: &str, url: &str, answer: Result<FetchedDocument>) -> Option<Vec<u8>> {
    match answered(name, url, answer) {
        FetchedDocument::Found { body, .. } => Some(body),
        FetchedDocument::NotModified => None,
        FetchedDocument::NeedsAuth { .. } => panic!("{name}: {url} wants a human"),
    }
}
