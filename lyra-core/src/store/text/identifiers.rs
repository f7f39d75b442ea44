//! Which publication a text or an address refers to.
//!
//! A work is identified by its DOI, or else its PubMed, PubMed Central, arXiv, OpenAlex or Semantic
//! Scholar id, or else by title, first author and year. Each id has one normal form here, so that the
//! same work found in two places is one row.

use super::hash::{hex, md5};
use super::url::{normalize_url, percent_decode};
use crate::store::model::DocumentMeta;
use regex::Regex;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;
use url::Url;

/// Longer DOIs are treated as parsing errors.
const LONGEST_DOI: usize = 512;

/// Longer words are not searched; trimming one costs up to the square of its length.
const LONGEST_WORD: usize = 4_096;

/// Hosts whose addresses contain a whole DOI, slashes included, up to the end of the path.
const WHOLE_DOI_HOSTS: &[&str] = &[
    "api.crossref.org",
    "api.semanticscholar.org",
    "biorxiv.org",
    "degruyter.com",
    "frontiersin.org",
    "iopscience.iop.org",
    "link.springer.com",
    "medrxiv.org",
    "onlinelibrary.wiley.com",
];

/// Registrants whose DOIs name versions before peer review: arXiv, bioRxiv and medRxiv (old and new),
/// OSF's servers, SSRN, Research Square, Preprints.org, ChemRxiv, Authorea.
const PREPRINT_DOIS: &[&str] = &[
    "10.48550/arxiv.",
    "10.1101/",
    "10.64898/",
    "10.31234/",
    "10.31219/",
    "10.31235/",
    "10.2139/ssrn.",
    "10.21203/rs.",
    "10.20944/preprints",
    "10.26434/chemrxiv",
    "10.22541/au.",
];

/// The identifiers in a text or an address; the first of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Identifiers {
    /// `10.…`, lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doi: Option<String>,
    /// PubMed id, digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmid: Option<String>,
    /// PubMed Central id, `PMC` and digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmcid: Option<String>,
    /// arXiv id without version: `2301.12345`, `hep-th/9901001`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arxiv_id: Option<String>,
    /// OpenAlex work, `W` and digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openalex_id: Option<String>,
    /// Semantic Scholar paper, 40 lower-case hex digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s2_id: Option<String>,
}

impl Identifiers {
    /// Whether there is no identifier.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The strongest identifier, `doi:…`, `pmid:…`, `pmcid:…`, `arxiv:…`, `openalex:…` or `s2:…`.
    pub fn canonical_id(&self) -> Option<String> {
        let (prefix, id) = [
            ("doi", &self.doi),
            ("pmid", &self.pmid),
            ("pmcid", &self.pmcid),
            ("arxiv", &self.arxiv_id),
            ("openalex", &self.openalex_id),
            ("s2", &self.s2_id),
        ]
        .into_iter()
        .find_map(|(prefix, id)| Some((prefix, id.as_ref()?)))?;
        Some(format!("{prefix}:{id}"))
    }

    /// Fills in missing identifiers from `other`.
    fn fill_from(&mut self, other: Self) {
        for (mine, theirs) in [
            (&mut self.doi, other.doi),
            (&mut self.pmid, other.pmid),
            (&mut self.pmcid, other.pmcid),
            (&mut self.arxiv_id, other.arxiv_id),
            (&mut self.openalex_id, other.openalex_id),
            (&mut self.s2_id, other.s2_id),
        ] {
            if mine.is_none() {
                *mine = theirs;
            }
        }
    }
}

/// A regular expression that is checked by the tests and compiled on first use.
macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("the pattern is constant and tested"));
        &*PATTERN
    }};
}

/// The identifiers in an address, or in any text.
///
/// ```
/// use lyra_core::store::text::identifiers::find_identifiers;
/// let found = find_identifiers("https://arxiv.org/pdf/2301.12345v3");
/// assert_eq!(found.arxiv_id.as_deref(), Some("2301.12345"));
/// let found = find_identifiers("See doi:10.1038/NATURE12373, PMID: 23903748.");
/// assert_eq!(found.canonical_id().as_deref(), Some("doi:10.1038/nature12373"));
/// assert_eq!(found.pmid.as_deref(), Some("23903748"));
/// ```
pub fn find_identifiers(url_or_text: &str) -> Identifiers {
    let text = url_or_text.trim();
    let mut found = Identifiers::default();
    for word in text
        .split_whitespace()
        .filter(|word| word.len() <= LONGEST_WORD)
    {
        match word
            .find("http")
            .and_then(|at| from_url(trim_punctuation(url_in(&word[at..]))))
        {
            Some(more) => found.fill_from(more),
            None => found.fill_from(Identifiers {
                doi: doi_in_word(word),
                ..Identifiers::default()
            }),
        }
    }
    let first = |pattern: &Regex| pattern.captures(text).map(|hit| hit[1].to_owned());
    let arxiv = pattern!(r"(?i)\barxiv:\s*(\d{4}\.\d{4,5}|[a-z-]{2,12}(?:\.[a-z]{2})?/\d{7})");
    found.fill_from(Identifiers {
        pmid: first(pattern!(r"(?i)\bPMID:?\s*(\d{1,9})\b")),
        pmcid: first(pattern!(r"(?i)\b(PMC\d{3,9})\b")).map(|id| id.to_ascii_uppercase()),
        arxiv_id: first(arxiv).map(|id| id.to_ascii_lowercase()),
        ..Identifiers::default()
    });
    if found.arxiv_id.is_none()
        && let Some(id) = found
            .doi
            .as_deref()
            .and_then(|doi| doi.strip_prefix("10.48550/arxiv."))
    {
        found.arxiv_id = Some(id.to_owned());
    }
    found
}

/// A DOI in its normal form (`10.…`, lower case), from any of the ways in which people write one.
///
/// Accepts `10.1/x`, `doi:…`, `https://doi.org/…`, `dx.doi.org/…`, `%2F` for the slash, trailing
/// punctuation, and publishers' addresses that contain the DOI. `None` for text that is not a DOI.
///
/// ```
/// use lyra_core::store::text::identifiers::normalize_doi;
/// assert_eq!(normalize_doi("https://dx.doi.org/10.1000%2FAbc.").as_deref(), Some("10.1000/abc"));
/// assert_eq!(normalize_doi("10.1000/"), None);
/// ```
pub fn normalize_doi(text: &str) -> Option<String> {
    let text = text.trim();
    if text
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case("http"))
    {
        return doi_from_url(text);
    }
    let prefix = pattern!(r"(?i)^(?:(?:www\.|dx\.)?doi\.org/|info:doi/|urn:doi:|doi\s*[:=]?\s*)");
    let bare = prefix.replace(text, "");
    let bare = bare.trim();
    let bare = pattern!(r"\?\w+=")
        .find(bare)
        .map_or(bare, |query| &bare[..query.start()]);
    tidy_doi(&decode(bare))
}

/// The DOI that an address contains, in the forms that resolvers and publishers use.
pub fn doi_from_url(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    let host = bare_host(&url)?;
    let path = decode(url.path());
    if host == "doi.org" || host == "dx.doi.org" {
        let path = path.trim_start_matches('/');
        return tidy_doi(path.strip_prefix("doi:").unwrap_or(path));
    }
    if host == "nature.com"
        && let Some(id) =
            pattern!(r"(?i)^/articles/([a-z]*\d[a-z0-9-]*)(?:\.pdf|/|$)").captures(&path)
    {
        return tidy_doi(&format!("10.1038/{}", &id[1]));
    }
    let in_path = pattern!(r"(?:^|[/:])(10\.\d{4,9}(?:\.\d+)*/.+)$").captures(&path);
    if let Some(hit) = in_path {
        let start = hit.get(1).map_or(0, |doi| doi.start());
        let whole = WHOLE_DOI_HOSTS.iter().any(|known| is_within(host, known))
            || path[..start].contains("/doi/");
        return publisher_doi(&hit[1], whole);
    }
    let carries_id = is_within(host, "plos.org");
    url.query_pairs()
        .find(|(name, _)| name.eq_ignore_ascii_case("doi") || (carries_id && name == "id"))
        .and_then(|(_, value)| tidy_doi(value.strip_prefix("info:doi/").unwrap_or(&value)))
}

/// Whether a normalised DOI names a version before peer review.
///
/// ```
/// use lyra_core::store::text::identifiers::is_preprint_doi;
/// assert!(is_preprint_doi("10.48550/arxiv.2301.12345"));
/// assert!(!is_preprint_doi("10.1038/nature12373"));
/// ```
pub fn is_preprint_doi(doi: &str) -> bool {
    PREPRINT_DOIS.iter().any(|known| doi.starts_with(known))
}

/// The id of a document's work: its strongest identifier, or else `meta:` and a digest of title, first
/// author and year, or else `url:` and a digest of its address.
///
/// Identifiers that are only in the address also count. `None` if nothing distinguishes the document
/// from others, because two such documents must not become one work.
///
/// ```
/// use lyra_core::{store::model::DocumentMeta, store::text::identifiers::canonical_id};
/// let mut meta = DocumentMeta { pmid: Some("123".into()), ..DocumentMeta::default() };
/// assert_eq!(canonical_id(&meta).as_deref(), Some("pmid:123"));
/// meta.doi = Some("https://doi.org/10.1234/ABC".into());
/// assert_eq!(canonical_id(&meta).as_deref(), Some("doi:10.1234/abc"));
/// ```
pub fn canonical_id(meta: &DocumentMeta) -> Option<String> {
    let given = |id: &Option<String>| {
        id.as_deref()
            .map(str::trim)
            .filter(|id| !id.is_empty())
            .map(str::to_owned)
    };
    let mut known = Identifiers {
        doi: meta.doi.as_deref().and_then(lenient_doi),
        pmid: given(&meta.pmid),
        pmcid: given(&meta.pmcid).map(|id| id.to_ascii_uppercase()),
        arxiv_id: given(&meta.arxiv_id).map(|id| unversioned_arxiv(&id)),
        ..Identifiers::default()
    };
    if let Some(url) = given(&meta.url) {
        known.fill_from(find_identifiers(&url));
    }
    let title_alone = || given(&meta.title).and_then(|_| title_digest(meta));
    known
        .canonical_id()
        .or_else(|| title_key(meta))
        .or_else(|| url_key(meta))
        .or_else(title_alone)
}

/// `meta:` and a digest of the normalised title, the first author's surname and the year.
///
/// Equal for the same paper with and without a DOI. `None` without a title, and if there is neither an
/// author nor a year: "Introduction" alone does not identify a work.
pub fn title_key(meta: &DocumentMeta) -> Option<String> {
    let described = year_of(meta).is_some() || first_surname(meta).is_some();
    if described { title_digest(meta) } else { None }
}

/// A title for comparison: NFKC, lower case, letters and digits only, without English articles.
pub fn title_normalize(title: &str) -> String {
    let folded: String = title
        .nfkc()
        .flat_map(char::to_lowercase)
        .map(|c| if c.is_alphanumeric() { c } else { ' ' })
        .collect();
    let words: Vec<&str> = folded
        .split_whitespace()
        .filter(|word| !matches!(*word, "a" | "an" | "the"))
        .collect();
    words.join(" ")
}

/// The family name in lower case, from `John Smith`, `Smith, John`, `Smith JA` or `山田太郎`.
pub fn author_surname(name: &str) -> Option<String> {
    let folded: String = name.nfkc().collect();
    let family = match folded.split_once(',') {
        Some((family, _)) if !family.trim().is_empty() => family,
        _ => folded.as_str(),
    };
    let is_suffix = |word: &str| matches!(word, "Jr" | "Sr" | "II" | "III" | "IV" | "PhD" | "MD");
    let mut words: Vec<&str> = family
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect();
    while words.len() > 1 && words.last().is_some_and(|last| is_suffix(last)) {
        words.pop();
    }
    let initials = |word: &str| word.len() <= 2 && word.bytes().all(|b| b.is_ascii_uppercase());
    if let [.., family, last] = words[..]
        && initials(last)
        && family.chars().count() > 2
    {
        words.pop();
    }
    words.last().map(|word| word.to_lowercase())
}

fn title_digest(meta: &DocumentMeta) -> Option<String> {
    let title = title_normalize(meta.title.as_deref()?);
    if title.is_empty() {
        return None;
    }
    let surname = first_surname(meta).unwrap_or_default();
    let year = year_of(meta)
        .map(|year| year.to_string())
        .unwrap_or_default();
    Some(short_digest("meta", &format!("{title}|{surname}|{year}")))
}

fn url_key(meta: &DocumentMeta) -> Option<String> {
    let url = normalize_url(meta.url.as_deref()?).ok()?;
    Some(short_digest("url", &url))
}

/// Twelve digits of MD5, as in existing evidence databases.
fn short_digest(prefix: &str, text: &str) -> String {
    let mut id = hex(&md5(text.as_bytes()));
    id.truncate(12);
    format!("{prefix}:{id}")
}

fn first_surname(meta: &DocumentMeta) -> Option<String> {
    author_surname(meta.authors.first()?)
}

fn year_of(meta: &DocumentMeta) -> Option<i64> {
    meta.year
        .or_else(|| meta.published_date.as_deref()?.get(..4)?.parse().ok())
}

/// A DOI from a trusted source: registrants with fewer digits than today's are accepted.
fn lenient_doi(text: &str) -> Option<String> {
    normalize_doi(text).or_else(|| {
        let text = text.trim().to_ascii_lowercase();
        pattern!(r"^10\.\d+(?:\.\d+)*/\S+$")
            .is_match(&text)
            .then_some(text)
    })
}

fn from_url(text: &str) -> Option<Identifiers> {
    let url = Url::parse(text).ok()?;
    let host = bare_host(&url)?;
    let path = decode(url.path());
    let first = |pattern: &Regex| pattern.captures(&path).map(|hit| hit[1].to_owned());
    let mut found = Identifiers {
        doi: doi_from_url(text),
        ..Identifiers::default()
    };
    if matches!(host, "pubmed.ncbi.nlm.nih.gov" | "pubmed.gov") {
        found.pmid = first(pattern!(r"^/(\d{1,9})(?:/|$)"));
    } else if is_within(host, "ncbi.nlm.nih.gov") {
        found.pmid = first(pattern!(r"^/(?:m/)?pubmed/(\d{1,9})(?:/|$)"));
        found.pmcid = first(pattern!(r"(?i)^/(?:pmc/)?articles/(PMC\d+)(?:/|$)"));
    } else if is_within(host, "europepmc.org") {
        found.pmid = first(pattern!(r"(?i)^/(?:article|abstract)/MED/(\d{1,9})(?:/|$)"));
        found.pmcid = first(pattern!(
            r"(?i)^/(?:(?:article|abstract)/PMC|articles)/(PMC\d+)(?:/|$)"
        ));
    } else if is_within(host, "arxiv.org") {
        found.arxiv_id = first(pattern!(
            r"^/(?:abs|pdf|html|ps|format|src|e-print)/(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?(?:\.pdf|/|$)"
        ));
    } else if is_within(host, "openalex.org") {
        found.openalex_id = first(pattern!(r"(?i)^/(?:works/)?(W\d+)(?:/|$)"));
    } else if is_within(host, "semanticscholar.org") {
        found.s2_id = first(pattern!(r"(?i)/paper/(?:[^/]+/)?([0-9a-f]{40})(?:/|$)"));
    }
    found.pmcid = found.pmcid.map(|id| id.to_ascii_uppercase());
    found.openalex_id = found.openalex_id.map(|id| id.to_ascii_uppercase());
    found.s2_id = found.s2_id.map(|id| id.to_ascii_lowercase());
    found.arxiv_id = found.arxiv_id.map(|id| id.to_ascii_lowercase());
    Some(found)
}

fn unversioned_arxiv(id: &str) -> String {
    let id = id.to_ascii_lowercase();
    let id = id.strip_prefix("arxiv:").unwrap_or(&id).trim();
    pattern!(r"v\d+$").replace(id, "").into_owned()
}

/// The host without `www.`.
fn bare_host(url: &Url) -> Option<&str> {
    let host = url.host_str()?;
    Some(host.strip_prefix("www.").unwrap_or(host))
}

/// Whether a host is the domain or a subdomain of it.
fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Decodes percent-encoding if the result is UTF-8.
fn decode(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    String::from_utf8(percent_decode(text)).unwrap_or_else(|_| text.to_owned())
}

/// The DOI in a publisher's path, without the name of the view, the file extension and the version.
fn publisher_doi(rest: &str, whole: bool) -> Option<String> {
    let slash = rest.find('/')? + 1;
    let end = if whole {
        rest.len()
    } else {
        rest[slash..]
            .find('/')
            .map_or(rest.len(), |next| slash + next)
    };
    let views = pattern!(
        r"(?i)(?:/(?:abs|abstract|citation|download|epdf|epub|figures|full|full-?text|fullhtml|html|media|meta|metrics|pdf|pdfdirect|reader|references|summary|suppl\w*|tables|xml)(?:\.(?:html?|pdf|xml|full))?)*/?$"
    );
    let endings = pattern!(r"(?i)(?:\.(?:abstract|full|full-text|html?|pdf|short|xml))*$");
    let doi = views.replace(&rest[..end], "");
    let doi = endings.replace(&doi, "");
    if doi.starts_with("10.1101/") || doi.starts_with("10.64898/") {
        return tidy_doi(&pattern!(r"v\d+$").replace(&doi, ""));
    }
    tidy_doi(&doi)
}

/// The address at the start of a word, without adjacent markup or punctuation.
fn url_in(word: &str) -> &str {
    let mut open_angles = 0_usize;
    let mut chars = word.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '"' | '\'' | '`' | '\\' | '、' | '。' | '「' | '」' | '（' | '）' => true,
            '<' if next.is_some_and(|next| next.is_ascii_digit()) => {
                open_angles += 1;
                false
            }
            '<' => true,
            '>' if open_angles > 0 => {
                open_angles -= 1;
                false
            }
            '>' => true,
            _ => false,
        };
        if ends {
            return &word[..at];
        }
    }
    word
}

/// The first DOI inside a word of running text.
fn doi_in_word(word: &str) -> Option<String> {
    let hit = pattern!(
        r#"(?i)(?:^|[^0-9a-z_.]|doi)(10\.\d{4,9}(?:\.\d+)*(?:/|%2F)[^"'`\\^{}|[:^ascii:]]+)"#
    )
    .captures(word)?;
    let mut doi = &hit[1];
    // Inside a DOI, a `<` before a digit starts a page number (`<693::AID-ASI4>`); otherwise it is
    // markup.
    if let Some(markup) = pattern!(r"<(?:[^0-9]|$)").find(doi) {
        doi = &doi[..markup.start()];
    }
    tidy_doi(&decode(doi))
}

fn tidy_doi(text: &str) -> Option<String> {
    if text.len() > LONGEST_WORD {
        return None;
    }
    let doi = trim_punctuation(text).to_ascii_lowercase();
    let sound = doi.len() <= LONGEST_DOI && pattern!(r"^10\.\d{4,9}(?:\.\d+)*/\S+$").is_match(&doi);
    sound.then_some(doi)
}

/// Removes characters that belong to the surrounding sentence: final punctuation and unmatched brackets.
fn trim_punctuation(text: &str) -> &str {
    let mut kept = text.trim();
    // Numbers of opening and closing brackets of each kind.
    let mut brackets = [('(', ')'), ('[', ']'), ('<', '>'), ('{', '}')].map(|(open, close)| {
        (
            close,
            kept.matches(open).count(),
            kept.matches(close).count(),
        )
    });
    while let Some(last) = kept.chars().next_back() {
        let drop = match brackets.iter_mut().find(|(close, ..)| *close == last) {
            Some((_, opened, closed)) => {
                *closed -= 1;
                *closed >= *opened
            }
            None => matches!(
                last,
                '.' | ','
                    | ';'
                    | ':'
                    | '!'
                    | '?'
                    | '\''
                    | '"'
                    | '*'
                    | '/'
                    | '’'
                    | '”'
                    | '。'
                    | '、'
                    | '）'
                    | '」'
                    | '】'
            ),
        };
        if !drop {
            break;
        }
        kept = &kept[..kept.len() - last.len_utf8()];
    }
    kept
}

#[cfg(test)]
mod tests;
