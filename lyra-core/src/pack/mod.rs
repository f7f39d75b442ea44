//! The evidence of a task in one file that others can verify: a signed RO-Crate in a ZIP archive.
//!
//! | file | what it is for |
//! |---|---|
//! | `archive` | the ZIP file, in which every byte is determined |
//! | `format` | the names of its files, and the error for a broken one |
//! | `lines`, `licence` | the task's rows, without the texts that may not be redistributed; the quotes |
//! | `ro_crate` | the description of its contents |
//! | `seal` | the signature and its key |
//! | `unpack` | the verification by the recipient |

mod archive;
mod format;
mod licence;
mod lines;
mod ro_crate;
mod seal;
mod unpack;

pub use licence::{PackTexts, StatedLicence};
pub use seal::PackKey;
pub use unpack::{PackReport, rows_of_pack, unpack_pack, verify_pack};

use crate::error::{Error, Result};
use crate::export::{ExportFormat, diagram, export};
use crate::record::outline;
use crate::store::graph::{EvidenceGraph, canonical_hash, export_jsonl};
use archive::{ArchiveEntry, Staged, manifest, unwritable};
use format::{ATTESTATION, MANIFEST, METADATA};
use lines::{Filter, PackContents};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// Options of a pack.
#[derive(Debug, Clone, Default)]
pub struct PackOptions {
    /// The task.
    pub task_id: String,
    /// Which page texts to include.
    pub texts: PackTexts,
    /// Licences stated by the creator of the pack.
    pub licences: Vec<StatedLicence>,
    /// The record of the run; its list is included, with hashes in place of the replies.
    pub record: Option<PathBuf>,
}

/// The contents of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackSummary {
    /// Size and hash of each file.
    pub files: BTreeMap<String, String>,
    /// Quotes that can be checked.
    pub quotes: usize,
    /// Number of page texts included.
    pub texts_included: usize,
    /// Number of page texts of which only the hash is included.
    pub texts_withheld: usize,
    /// Id of the key that signed it.
    pub key_id: String,
}

/// Writes the pack of a task.
pub(crate) fn pack(
    graph: &EvidenceGraph,
    writer: &mut impl Write,
    options: &PackOptions,
    key: &PackKey,
) -> Result<PackSummary> {
    let task_id = options.task_id.as_str();
    let (rows, found) = rows_of(graph, options)?;
    let mut files = vec![
        rows,
        Staged::of("texts.jsonl", &lines_of(&found.texts)?)?,
        Staged::of("quotes.jsonl", &lines_of(&found.quotes)?)?,
    ];
    for (name, format) in [
        ("evidence.html", ExportFormat::Html),
        ("sources.json", ExportFormat::CslJson),
        ("provenance.jsonld", ExportFormat::Prov),
    ] {
        let staged = Staged::new(name, |mut w| export(graph, &mut w, format, Some(task_id)))?;
        files.push(staged.0);
    }
    if let Some(flow) = graph.read(|r| diagram(r, task_id))? {
        files.push(Staged::of("prisma-flow.svg", flow.as_bytes())?);
    }
    if let Some(dir) = &options.record {
        files.push(Staged::new("record.jsonl", |w| outline(dir, w))?.0);
    }
    let entries: Vec<&ArchiveEntry> = files.iter().map(|file| &file.entry).collect();
    let metadata = ro_crate::metadata(task_id, &found, &entries);
    let metadata = serde_json::to_vec_pretty(&metadata)
        .map_err(|e| Error::internal(format!("the metadata are not JSON: {e}")))?;
    files.push(Staged::of(METADATA, &metadata)?);
    files.push(Staged::of(
        MANIFEST,
        &manifest(files.iter().map(|file| &file.entry)),
    )?);
    let entries: Vec<ArchiveEntry> = files.iter().map(|file| file.entry.clone()).collect();
    let predicate = json!({
        "task_id": task_id, "hypothesis": found.hypothesis,
        "canonical_hash": canonical_hash(graph.database(), Some(task_id))?,
        "lyra": env!("CARGO_PKG_VERSION"), "public_key": key.public(),
    });
    files.push(Staged::of(ATTESTATION, &key.seal(&entries, &predicate)?)?);
    let summary = summary(&files, &found, key);
    archive::write(files, writer)?;
    writer.flush().map_err(unwritable)?;
    Ok(summary)
}

/// The rows of the task, and the information collected from them.
fn rows_of(graph: &EvidenceGraph, options: &PackOptions) -> Result<(Staged, PackContents)> {
    Staged::new("graph.jsonl", |w| {
        let mut filter = Filter::new(w, options.texts, &options.licences);
        let exported = export_jsonl(graph.database(), &mut filter, Some(&options.task_id));
        exported.map_err(inner_error)?;
        Ok(filter.found)
    })
}

/// An error of this library that was passed through a writer.
fn inner_error(error: Error) -> Error {
    let io = std::error::Error::source(&error).and_then(|e| e.downcast_ref::<std::io::Error>());
    let own = io.and_then(|io| io.get_ref()?.downcast_ref::<Error>());
    match own {
        Some(own) => {
            let again = Error::new(own.kind(), own.message());
            match own.hint() {
                Some(hint) => again.with_hint(hint),
                None => again,
            }
        }
        None => error,
    }
}

fn lines_of(rows: &[impl Serialize]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut bytes, row)
            .map_err(|e| Error::internal(format!("a line is not JSON: {e}")))?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn summary(files: &[Staged], found: &PackContents, key: &PackKey) -> PackSummary {
    let included = found.texts.iter().filter(|text| text.included).count();
    let entries = files.iter().map(|file| &file.entry);
    PackSummary {
        files: entries
            .map(|e| {
                (
                    e.name.clone(),
                    format!("{} bytes, sha256 {}", e.size, e.sha256),
                )
            })
            .collect(),
        quotes: found.quotes.len(),
        texts_included: included,
        texts_withheld: found.texts.len() - included,
        key_id: key.id(),
    }
}
