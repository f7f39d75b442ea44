//! Verifies a pack: only content that the signature covers is trusted.

use super::archive::manifest;
use super::archive::{self, ArchiveEntry, unwritable};
use super::format::{ATTESTATION, MANIFEST, METADATA, broken};
use super::lines::{QuoteLine, TextLine};
use super::seal;
use crate::error::{Error, ErrorKind, Result};
use crate::store::graph::PageText;
use crate::store::text::hash::sha256_hex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use tempfile::TempDir;

/// Maximum size of a signature file.
const MOST_OF_SIGNATURE: u64 = 16 << 20;

/// The result of verifying a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackReport {
    /// The task.
    pub task_id: String,
    /// Its hypothesis.
    pub hypothesis: String,
    /// Number of files whose hash is the signed one.
    pub files: usize,
    /// Number of quotes found at the stated position in the text of their page.
    pub quotes_in_texts: usize,
    /// Number of quotes from texts that are not in the pack, found in their passage.
    pub quotes_in_passages: usize,
    /// Id of the key that signed it: SHA-256 of the public key.
    pub key_id: String,
    /// The canonical hash of the task at the time of packing.
    pub canonical_hash: String,
}

/// Verifies a pack: its archive, its signature, the hash of every file, every quote. `key` is the
/// public key that must have signed it; without one, the report says which key did.
///
/// # Errors
///
/// `InvalidInput` with a message that begins with the name of the faulty file, or with `archive`.
///
/// ```
/// use lyra_core::{Engine, EngineConfig, PackKey, PackOptions, TaskConfig, verify_pack};
/// let folder = tempfile::tempdir()?;
/// let engine = Engine::open(EngineConfig::new(folder.path().join("a.db")))?;
/// let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
/// let key = PackKey::load_or_make(&folder.path().join("key.pem"))?;
/// let options = PackOptions { task_id: task.id, ..PackOptions::default() };
/// let mut pack = Vec::new();
/// engine.pack(&mut pack, &options, &key)?;
/// let place = folder.path().join("evidence.zip");
/// std::fs::write(&place, &pack)?;
/// assert_eq!(verify_pack(&place, None)?.key_id, key.id());
/// pack[40] ^= 1;
/// std::fs::write(&place, &pack)?;
/// assert!(verify_pack(&place, None).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_pack(pack: &Path, key: Option<&Path>) -> Result<PackReport> {
    unpack(pack, key).map(|(report, _)| report)
}

/// Verifies the pack, and then moves its files into a new or empty folder.
///
/// # Errors
///
/// Those of [`verify_pack`]; `InvalidInput` if the folder is not empty.
pub fn unpack_pack(pack: &Path, key: Option<&Path>, to: &Path) -> Result<PackReport> {
    let (report, folder) = unpack(pack, key)?;
    place(&folder, to)?;
    Ok(report)
}

/// Verifies the pack, and then writes its rows in a form that a graph can import. If the text of a
/// page is not in the pack, its passages have no offsets, since these could not be checked on
/// import.
///
/// # Errors
///
/// Those of [`verify_pack`]; `Backend` if the writer fails.
pub fn rows_of_pack(pack: &Path, key: Option<&Path>, to: &mut impl Write) -> Result<PackReport> {
    let (report, folder) = unpack(pack, key)?;
    let mut withheld = HashSet::new();
    each_line(
        "texts.jsonl",
        &folder.path().join("texts.jsonl"),
        |text: TextLine| {
            if !text.included {
                withheld.insert(text.page_id);
            }
            Ok(())
        },
    )?;
    let mut loose: HashSet<String> = HashSet::new();
    each_line(
        "graph.jsonl",
        &folder.path().join("graph.jsonl"),
        |mut row: Value| {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            let (of_withheld, end) = (withheld.contains(&text("page_id")), "source_id");
            let without: &[&str] = match text("type").as_str() {
                "page_text" if of_withheld => return Ok(()),
                "fragment" if of_withheld => {
                    loose.insert(text("id"));
                    &["page_version", "char_start", "char_end"]
                }
                "edge" if loose.contains(&text(end)) => &["quote_start", "quote_end"],
                "verdict" if loose.contains(&text("fragment_id")) => &["quote_start", "quote_end"],
                _ => &[],
            };
            if let Some(row) = row.as_object_mut() {
                row.retain(|name, _| !without.contains(&name.as_str()));
            }
            writeln!(to, "{row}").map_err(unwritable)
        },
    )?;
    to.flush().map_err(unwritable)?;
    Ok(report)
}

/// Runs the checks and leaves the files in a temporary folder.
fn unpack(pack: &Path, key: Option<&Path>) -> Result<(PackReport, TempDir)> {
    let folder = tempfile::tempdir().map_err(unwritable)?;
    let place = |name: &str| folder.path().join(name);
    let entries = archive::read(pack, &mut |name| {
        let path = place(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(unwritable)?;
        }
        let file = File::create(path).map_err(unwritable)?;
        Ok(Box::new(std::io::BufWriter::new(file)) as Box<dyn Write>)
    })?;
    let statement = open_seal(&entries, &place(ATTESTATION), key)?;
    check_listed(&entries, &statement.0)?;
    let quotes = Quotes::read(&place("texts.jsonl"), &place("quotes.jsonl"))?;
    let (in_texts, in_passages) = quotes.check(&place("graph.jsonl"))?;
    let said = |name: &str| {
        let said = statement.0["predicate"][name].as_str();
        said.unwrap_or_default().to_owned()
    };
    let report = PackReport {
        task_id: said("task_id"),
        hypothesis: said("hypothesis"),
        files: entries.len(),
        quotes_in_texts: in_texts,
        quotes_in_passages: in_passages,
        key_id: statement.1,
        canonical_hash: said("canonical_hash"),
    };
    Ok((report, folder))
}

fn open_seal(
    entries: &[ArchiveEntry],
    place: &Path,
    key: Option<&Path>,
) -> Result<(Value, String)> {
    let sealed = entries.iter().find(|entry| entry.name == ATTESTATION);
    let sealed = sealed.ok_or_else(|| broken(ATTESTATION, "it is not in the pack"))?;
    if sealed.size > MOST_OF_SIGNATURE {
        return Err(broken(ATTESTATION, "it is too large"));
    }
    let bytes = std::fs::read(place).map_err(unwritable)?;
    seal::open(&bytes, key)
}

/// Checks that every file is signed, that every signed file is present, and that the list of hashes
/// agrees.
fn check_listed(entries: &[ArchiveEntry], statement: &Value) -> Result<()> {
    let subjects = statement["subject"].as_array();
    let subjects = subjects.ok_or_else(|| broken(ATTESTATION, "it names no files"))?;
    let mut signed: BTreeMap<&str, &str> = BTreeMap::new();
    for subject in subjects {
        let pair = subject["name"]
            .as_str()
            .zip(subject["digest"]["sha256"].as_str());
        let (name, hash) =
            pair.ok_or_else(|| broken(ATTESTATION, "it lists a file without a name or a hash"))?;
        if signed.insert(name, hash).is_some() {
            return Err(broken(ATTESTATION, "it names a file twice"));
        }
    }
    for entry in entries.iter().filter(|entry| entry.name != ATTESTATION) {
        match signed.remove(entry.name.as_str()) {
            Some(hash) if hash == entry.sha256 => {}
            Some(_) => {
                return Err(broken(
                    &entry.name,
                    "its hash is not the one that was signed",
                ));
            }
            None => return Err(broken(&entry.name, "the signature does not cover it")),
        }
    }
    if let Some(name) = signed.keys().next() {
        return Err(broken(
            name,
            "the signature covers it, but it is not in the pack",
        ));
    }
    let listed = entries
        .iter()
        .filter(|e| ![ATTESTATION, MANIFEST].contains(&e.name.as_str()));
    let expected = sha256_hex(&manifest(listed));
    let found = entries.iter().find(|entry| entry.name == MANIFEST);
    if found.is_none_or(|found| found.sha256 != expected) {
        return Err(broken(MANIFEST, "it does not match the files"));
    }
    if !entries.iter().any(|entry| entry.name == METADATA) {
        return Err(broken(METADATA, "it is not in the pack"));
    }
    Ok(())
}

type TextKey = (String, i64);

/// The quotes and the texts that contain them.
#[derive(Debug)]
struct Quotes {
    texts: HashMap<TextKey, TextLine>,
    by_text: HashMap<TextKey, Vec<QuoteLine>>,
    by_fragment: HashMap<String, Vec<QuoteLine>>,
    edges: HashSet<String>,
}

impl Quotes {
    fn read(texts: &Path, quotes: &Path) -> Result<Self> {
        let mut all = Self {
            texts: HashMap::new(),
            by_text: HashMap::new(),
            by_fragment: HashMap::new(),
            edges: HashSet::new(),
        };
        each_line("texts.jsonl", texts, |text: TextLine| {
            all.texts.insert((text.page_id.clone(), text.version), text);
            Ok(())
        })?;
        each_line("quotes.jsonl", quotes, |quote: QuoteLine| {
            let key = (quote.page_id.clone(), quote.version);
            all.edges.insert(quote.edge_id.clone());
            let of_fragment = all.by_fragment.entry(quote.fragment_id.clone());
            of_fragment.or_default().push(quote.clone());
            if all.texts.get(&key).is_some_and(|text| text.included) {
                all.by_text.entry(key).or_default().push(quote);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Counts the quotes found in the texts, and those found only in their passages.
    fn check(mut self, graph: &Path) -> Result<(usize, usize)> {
        let (mut in_texts, mut in_passages) = (0, 0);
        each_line("graph.jsonl", graph, |row: Value| {
            let text = |name: &str| row[name].as_str().unwrap_or_default();
            match text("type") {
                "page_text" => in_texts += self.check_text(&row)?,
                "fragment" => in_passages += self.check_passage(&row)?,
                "edge" if text("source_type") == "fragment" && !self.edges.contains(text("id")) => {
                    return Err(not_there(text("id"), "is missing"));
                }
                _ => {}
            }
            Ok(())
        })?;
        if let Some(left) = self
            .by_text
            .values()
            .chain(self.by_fragment.values())
            .flatten()
            .next()
        {
            return Err(not_there(
                &left.edge_id,
                "has no text or passage in graph.jsonl",
            ));
        }
        Ok((in_texts, in_passages - in_texts))
    }

    fn check_text(&mut self, row: &Value) -> Result<usize> {
        let text = row["text"].as_str().unwrap_or_default();
        let page_id = row["page_id"].as_str().unwrap_or_default();
        let key = (page_id.to_owned(), row["version"].as_i64().unwrap_or(1));
        let listed = self.texts.get(&key).filter(|listed| listed.included);
        if listed.is_none_or(|listed| listed.sha256 != sha256_hex(text.as_bytes())) {
            let why = format!("the text of {page_id} is not the one that graph.jsonl has");
            return Err(broken("texts.jsonl", &why));
        }
        let quotes = self.by_text.remove(&key).unwrap_or_default();
        stand_in(&quotes, &PageText::new(text), 0)?;
        Ok(quotes.len())
    }

    fn check_passage(&mut self, row: &Value) -> Result<usize> {
        let text = row["text_content"].as_str().unwrap_or_default();
        let quotes = self
            .by_fragment
            .remove(row["id"].as_str().unwrap_or_default());
        let quotes = quotes.unwrap_or_default();
        stand_in(
            &quotes,
            &PageText::new(text),
            row["char_start"].as_i64().unwrap_or(0),
        )?;
        Ok(quotes.len())
    }
}

/// Whether the quotes occur in a text that begins at `from`.
fn stand_in(quotes: &[QuoteLine], text: &PageText<'_>, from: i64) -> Result<()> {
    for quote in quotes {
        let place = |at: i64| usize::try_from(at - from).ok();
        let span = place(quote.start).zip(place(quote.end));
        let found = span.and_then(|(start, end)| text.slice(start..end));
        if found != Some(quote.quote.as_str()) {
            return Err(not_there(&quote.edge_id, "is not at the stated offsets"));
        }
    }
    Ok(())
}

fn not_there(edge_id: &str, why: &str) -> Error {
    broken("quotes.jsonl", &format!("the quote of {edge_id} {why}"))
}

fn each_line<T: DeserializeOwned>(
    name: &str,
    path: &Path,
    mut then: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let file = File::open(path).map_err(|_| broken(name, "it is not in the pack"))?;
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|_| broken(name, "it is not UTF-8"))?;
        let row = serde_json::from_str(&line);
        then(row.map_err(|e| broken(name, &format!("a line cannot be read: {e}")))?)?;
    }
    Ok(())
}

/// Moves the files of a verified pack into a new or empty folder.
fn place(folder: &TempDir, to: &Path) -> Result<()> {
    let taken = std::fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some());
    if taken || to.is_file() {
        let message = format!("there is something at {} already", to.display());
        return Err(Error::invalid(message).with_hint("name a folder that is new or empty"));
    }
    let failed = |e: std::io::Error| {
        let message = format!("{} cannot be written: {e}", to.display());
        Error::new(ErrorKind::Backend, message).with_source(e)
    };
    std::fs::create_dir_all(to).map_err(failed)?;
    // All files of a pack are in its top folder.
    for entry in std::fs::read_dir(folder.path()).map_err(failed)?.flatten() {
        let target = to.join(entry.file_name());
        std::fs::copy(entry.path(), &target).map_err(failed)?;
    }
    Ok(())
}
