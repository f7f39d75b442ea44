//! The targets of a task.

use serde::{Deserialize, Serialize};

/// One thing to research: a search query, an address, or a DOI.
///
/// `text::targets` parses one from user input.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Target {
    /// Search for these words.
    Query {
        /// The words.
        query: String,
    },
    /// Read this address.
    Url {
        /// The address as given, in the form in which it is requested.
        url: String,
        /// 0 for targets, 1 for pages that these cite, …
        #[serde(default)]
        depth: u32,
        /// Why: `manual` or `citation_chase`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Look this DOI up.
    Doi {
        /// Normalised DOI.
        doi: String,
        /// 0 for targets, 1 for pages that these cite, …
        #[serde(default)]
        depth: u32,
        /// Why: `manual` or `citation_chase`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl Target {
    /// A key that is equal for equivalent targets with identically written addresses;
    /// `text::targets::dedup_key` also recognises other forms.
    ///
    /// ```
    /// use lyra_core::store::model::Target;
    /// let a = Target::Query { query: "Heart  Failure".into() };
    /// let b = Target::Query { query: "heart failure".into() };
    /// assert_eq!(a.dedup_key(), b.dedup_key());
    /// let url = |url: &str| Target::Url { url: url.into(), depth: 0, reason: None };
    /// assert_eq!(url("https://x.org").dedup_key(), url("https://x.org/").dedup_key());
    /// assert_eq!(url("https://x.org?a=1").dedup_key(), "url:https://x.org/?a=1");
    /// ```
    pub fn dedup_key(&self) -> String {
        match self {
            Self::Query { query } => {
                let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
                format!("query:{}", words.join(" "))
            }
            // An address without a path is equivalent to that of the root.
            Self::Url { url, .. } => match url.split_once("://") {
                Some((scheme, rest)) if !rest.contains('/') => {
                    let (host, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
                    format!("url:{scheme}://{host}/{query}")
                }
                _ => format!("url:{url}"),
            },
            Self::Doi { doi, .. } => format!("doi:{doi}"),
        }
    }
}
