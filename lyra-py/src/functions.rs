//! Functions that need no graph.

use crate::argument;
use crate::convert;
use crate::error::invalid;
use crate::parser_process;
use crate::waiting::{by_size, patient, quick};
use lyra_core::documents;
use lyra_core::store::model::{DocumentMeta, Relation};
use lyra_core::store::text::identifiers::{self, Identifiers};
use lyra_core::store::text::segment::assemble_under;
use lyra_core::store::{confidence, ranking, text};
use lyra_core::{Error, Result, security};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyMapping, PyString};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::ops::Deref;
use std::path::PathBuf;

/// Adds the functions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(kneedle_cutoff, module)?)?;
    module.add_function(wrap_pyfunction!(find_identifiers, module)?)?;
    module.add_function(wrap_pyfunction!(canonical_id, module)?)?;
    module.add_function(wrap_pyfunction!(normalize_url, module)?)?;
    module.add_function(wrap_pyfunction!(claim_confidence, module)?)?;
    module.add_function(wrap_pyfunction!(detect_challenge, module)?)?;
    module.add_function(wrap_pyfunction!(extract, module)?)?;
    module.add_function(wrap_pyfunction!(verify_pack, module)?)?;
    module.add_function(wrap_pyfunction!(command_line, module)?)
}

/// Checks an evidence pack: its archive, its signature, the hash of every file, every quote. `key` is a
/// file with a public key; the pack must be signed with the private key that belongs to it.
///
/// >>> import lyra
/// >>> graph = lyra.EvidenceGraph("evidence.db")
/// >>> packed = graph.pack("evidence.zip", graph.create_task("Night work"), key="key.pem")
/// >>> lyra.verify_pack("evidence.zip").hypothesis
/// 'Night work'
#[pyfunction]
#[pyo3(signature = (path, *, key=None))]
fn verify_pack(py: Python<'_>, path: PathBuf, key: Option<PathBuf>) -> PyResult<Bound<'_, PyAny>> {
    let report = patient(py, move || lyra_core::verify_pack(&path, key.as_deref()))?;
    convert::report(py, "Report", &report)
}

/// The number of results of a ranked list to keep: those before the knee of its scores, best first
/// (Kneedle, Satopää et al. 2011; the knee itself is not kept).
///
/// The first `min_results` are always kept. If all scores are equal, only these are kept; if there is
/// no knee, all are kept, up to `max_results`.
///
/// >>> import lyra
/// >>> lyra.kneedle_cutoff([0.9, 0.6, 0.4, 0.3, 0.25, 0.22, 0.2, 0.19, 0.18])
/// 3
#[pyfunction]
#[pyo3(signature = (scores, min_results=3, max_results=50, sensitivity=1.0))]
fn kneedle_cutoff(
    py: Python<'_>,
    #[pyo3(from_py_with = argument::scores)] scores: Vec<f64>,
    #[pyo3(from_py_with = argument::min_results)] min_results: usize,
    #[pyo3(from_py_with = argument::max_results)] max_results: usize,
    sensitivity: f64,
) -> PyResult<usize> {
    if !(sensitivity.is_finite() && sensitivity >= 0.0) {
        return Err(invalid(format!(
            "sensitivity is {sensitivity}; expected 0 or more"
        )));
    }
    by_size(py, size_of_val(scores.as_slice()), move || {
        if scores.iter().any(|score| !score.is_finite()) {
            return Err(Error::invalid("a score is not finite"));
        }
        let kept = ranking::kneedle_cutoff(&scores, min_results, max_results, sensitivity);
        Ok(kept)
    })
}

/// The identifiers in a text or an address, as a dict with those of doi, pmid, pmcid, arxiv_id,
/// openalex_id and s2_id that were found.
///
/// >>> import lyra
/// >>> lyra.find_identifiers("https://doi.org/10.1234/ABC")
/// {'doi': '10.1234/abc'}
#[pyfunction]
fn find_identifiers<'py>(py: Python<'py>, url_or_text: PyBackedStr) -> PyResult<Bound<'py, PyAny>> {
    let found = by_size(py, url_or_text.len(), move || {
        Ok(identifiers::find_identifiers(&url_or_text))
    })?;
    convert::reply(py, &found)
}

/// The canonical id of a publication: the first that is known of doi, pmid, pmcid, arxiv, openalex
/// and s2, otherwise a digest of title, first author and year, or of the address. None if nothing is
/// known.
///
/// Pass the known identifiers and metadata by name, or an address or text as the only argument.
///
/// >>> import lyra
/// >>> lyra.canonical_id(doi="https://doi.org/10.1234/ABC", pmid="123")
/// 'doi:10.1234/abc'
/// >>> lyra.canonical_id("https://pubmed.ncbi.nlm.nih.gov/123/")
/// 'pmid:123'
#[pyfunction]
#[pyo3(signature = (url=None, *, doi=None, pmid=None, pmcid=None, arxiv_id=None, openalex_id=None,
    s2_id=None, title=None, authors=None, year=None))]
#[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
fn canonical_id(
    py: Python<'_>,
    url: Option<String>,
    doi: Option<String>,
    pmid: Option<String>,
    pmcid: Option<String>,
    arxiv_id: Option<String>,
    openalex_id: Option<String>,
    s2_id: Option<String>,
    title: Option<String>,
    #[pyo3(from_py_with = argument::optional_texts)] authors: Option<Vec<String>>,
    #[pyo3(from_py_with = argument::year)] year: Option<i64>,
) -> PyResult<Option<String>> {
    let services = Identifiers {
        openalex_id,
        s2_id,
        ..Identifiers::default()
    };
    let meta = DocumentMeta {
        title,
        authors: authors.unwrap_or_default(),
        year,
        doi,
        pmid,
        pmcid,
        arxiv_id,
        url,
        ..DocumentMeta::default()
    };
    let known = [
        &meta.title,
        &meta.url,
        &meta.doi,
        &meta.pmid,
        &meta.pmcid,
        &meta.arxiv_id,
    ];
    let texts = known.into_iter().flatten().chain(&meta.authors);
    let bytes = texts.map(String::len).sum();
    by_size(py, bytes, move || Ok(best_id(&meta, &services)))
}

fn best_id(meta: &DocumentMeta, services: &Identifiers) -> Option<String> {
    let found = meta.url.as_deref().map(identifiers::find_identifiers);
    let best = identifiers::canonical_id(meta);
    // Publishers' ids take precedence over those of services, regardless of their origin.
    let is_strong = |id: &String| {
        let kind = id.split(':').next().unwrap_or_default();
        matches!(kind, "doi" | "pmid" | "pmcid" | "arxiv")
    };
    best.clone()
        .filter(is_strong)
        .or_else(|| services.canonical_id())
        .or_else(|| found.and_then(|found| found.canonical_id()))
        .or(best)
}

/// The normalized form of an address: host in lower case, no default port, no fragment, no trackers.
///
/// >>> import lyra
/// >>> lyra.normalize_url("HTTP://Example.COM:80/Path?utm_source=x#top")
/// 'http://example.com/Path'
#[pyfunction]
fn normalize_url(py: Python<'_>, url: PyBackedStr) -> PyResult<String> {
    by_size(py, url.len(), move || text::url::normalize_url(&url))
}

/// The balance of the verdicts on a claim, each a (relation, confidence): mean and sd of
/// Beta(alpha, beta), controversy, and the number of verdicts of each kind.
///
/// A score for navigation, not a verdict.
///
/// >>> import lyra
/// >>> balance = lyra.claim_confidence([("supports", 0.9), ("supports", 0.9), ("refutes", 0.8)])
/// >>> round(balance["mean"], 3), round(balance["controversy"], 3)
/// (0.609, 0.308)
#[pyfunction]
fn claim_confidence<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = argument::verdicts)] verdicts: Vec<(String, Option<f64>)>,
) -> PyResult<Bound<'py, PyAny>> {
    let balance = by_size(py, size_of_val(verdicts.as_slice()), move || {
        let known: Result<Vec<(Relation, f64)>> = verdicts.into_iter().map(known_verdict).collect();
        Ok(confidence::claim_confidence(&known?))
    })?;
    convert::reply(py, &balance)
}

fn known_verdict((relation, confidence): (String, Option<f64>)) -> Result<(Relation, f64)> {
    let relation: Relation = relation.parse()?;
    if let Some(outside) = confidence.filter(|number| !(0.0..=1.0).contains(number)) {
        let message = format!("a confidence is {outside}; expected 0 to 1");
        return Err(Error::invalid(message));
    }
    Ok((relation, confidence.unwrap_or(0.0)))
}

/// The kind of challenge or gate, if the page is one instead of the requested document: "cloudflare",
/// "js_challenge", "turnstile", "hcaptcha", "recaptcha", "captcha", "login" or "cookie_consent";
/// otherwise None.
///
/// >>> import lyra
/// >>> lyra.detect_challenge('<div class="h-captcha"></div>')
/// 'hcaptcha'
/// >>> lyra.detect_challenge("<p>A paper</p>") is None
/// True
#[pyfunction]
#[pyo3(signature = (html, headers=None, status=200))]
fn detect_challenge(
    py: Python<'_>,
    html: Bound<'_, PyAny>,
    headers: Option<Bound<'_, PyMapping>>,
    #[pyo3(from_py_with = argument::status)] status: u16,
) -> PyResult<Option<&'static str>> {
    let body = bytes_of(&html, "html")?;
    let mut known: Vec<(String, String)> = Vec::new();
    if let Some(headers) = headers {
        for item in headers.items()?.try_iter()? {
            known.push(item?.extract()?);
        }
    }
    by_size(py, body.len(), move || {
        let headers: Vec<(&str, &str)> = known
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        Ok(lyra_core::web::detect_challenge(&body, status, &headers))
    })
}

/// Parses a document: HTML, PDF, JATS XML, Markdown or plain text. A str is read as HTML if it begins
/// with a tag, otherwise as plain text, unless `content_type` says otherwise; `name` is a file name or
/// an address, used for its extension and for relative links.
///
/// >>> import lyra
/// >>> document = lyra.extract("<title>Sleep</title><article><p>Night work shortens sleep.</p></article>")
/// >>> document.title, document.text
/// ('Sleep', 'Night work shortens sleep.')
#[pyfunction]
#[pyo3(signature = (html_or_bytes, content_type=None, name=""))]
fn extract<'py>(
    py: Python<'py>,
    html_or_bytes: Bound<'py, PyAny>,
    content_type: Option<String>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let body = bytes_of(&html_or_bytes, "html_or_bytes")?;
    let content_type = if html_or_bytes.is_instance_of::<PyString>() {
        Some(type_of_text(&body, content_type))
    } else {
        content_type
    };
    // A few bytes may be compressed, and a document takes longer than a text of its length.
    let name = name.to_owned();
    let reply = if body.len() < SMALL_DOCUMENT {
        quick(py, || taken_apart(&body, content_type.as_deref(), &name))?
    } else {
        patient(py, move || {
            taken_apart(&body, content_type.as_deref(), &name)
        })?
    };
    let class = py.import("lyra._reply")?.getattr("Document")?;
    class.call_method1("_of", (convert::object(py, &reply)?,))
}

/// Size, in bytes, of a document that is parsed in negligible time.
const SMALL_DOCUMENT: usize = 2 << 10;

fn taken_apart(body: &[u8], content_type: Option<&str>, name: &str) -> Result<Value> {
    let parsed = documents::parse(body, content_type, name)?;
    let segmented = assemble_under(parsed.meta.title.as_deref(), &parsed.blocks);
    let fragments = segmented.segments.iter().enumerate();
    let fragments: Vec<Value> = fragments
        .map(|(position, segment)| {
            let flags = security::injection::scan(&segment.text);
            json!({
                "fragment_type": segment.kind,
                "position": position,
                "text_content": segment.text,
                "heading_context": segment.heading_context,
                "heading_hierarchy": segment.heading_hierarchy,
                "char_start": segment.char_start,
                "char_end": segment.char_end,
                "security_flags": (!flags.is_empty()).then(|| flags.join(",")),
            })
        })
        .collect();
    Ok(json!({
        "title": parsed.meta.title,
        "text": segmented.text,
        "fragments": fragments,
        "page_type": parsed.page_type,
        "meta": parsed.meta,
        "warnings": parsed.warnings,
    }))
}

/// A str reaches the parser as UTF-8, regardless of the charset that the document declares.
fn type_of_text(body: &[u8], content_type: Option<String>) -> String {
    let is_markup = body.trim_ascii_start().starts_with(b"<");
    let given = content_type.unwrap_or_else(|| {
        let kind = if is_markup { "text/html" } else { "text/plain" };
        kind.to_owned()
    });
    let kind = given.split(';').next().unwrap_or_default().trim();
    format!("{kind}; charset=utf-8")
}

/// A document in Python's memory, of any length.
pub(crate) enum Body {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

pub(crate) fn bytes_of(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Body> {
    if given.is_instance_of::<PyString>() {
        return Ok(Body::Text(given.extract()?));
    }
    if given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>() {
        return Ok(Body::Bytes(given.extract()?));
    }
    if given.hasattr("tobytes")? {
        return Ok(Body::Bytes(given.call_method0("tobytes")?.extract()?));
    }
    let kind = given.get_type();
    Err(invalid(format!(
        "{name} is of type {}; expected str or bytes",
        kind.name()?
    )))
}

/// Runs the command line with these arguments, of which the first is the name of the program; returns
/// its exit code.
#[pyfunction]
fn command_line(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    // The interpreter of a virtual environment is a link; its target does not see the packages of
    // the environment.
    let python: String = py.import("sys")?.getattr("executable")?.extract()?;
    let parser = parser_process::words(py)?.unwrap_or_else(|| vec![python.clone().into()]);
    let launcher = vec![python, "-m".to_owned(), "lyra".to_owned()];
    Ok(py.detach(|| lyra_mcp::run_as(launcher, parser, arguments)))
}
