//! Remembers the documents that crashed or exhausted their parser, so that this happens only once.

use crate::error::{Error, ErrorKind, Result};
use crate::ports::{DocumentParser, ParsedDocument};
use crate::store::graph::EvidenceGraph;
use crate::store::text::hash::sha256_hex;
use std::sync::Arc;

/// A parser that skips documents that a parser did not survive, until their bytes or the parser's
/// limits change.
#[derive(Debug)]
pub(crate) struct HostileDocuments {
    graph: EvidenceGraph,
    parser: Arc<dyn DocumentParser>,
}

impl HostileDocuments {
    pub(crate) fn new(graph: EvidenceGraph, parser: Arc<dyn DocumentParser>) -> Self {
        Self { graph, parser }
    }

    /// The recorded failure for these bytes.
    fn known(&self, body: &[u8]) -> Result<Option<String>> {
        // Most graphs have no such document, and need no hash.
        match self.graph.read(|r| r.has_hostile_documents())? {
            true => {
                let hash = sha256_hex(body);
                self.graph
                    .read(|r| r.hostile_document(&hash, &self.parser.setup()))
            }
            false => Ok(None),
        }
    }
}

impl DocumentParser for HostileDocuments {
    fn parse(&self, body: &[u8], content_type: Option<&str>, name: &str) -> Result<ParsedDocument> {
        if let Some(reason) = self.known(body)? {
            let message = format!("{reason}; it is not tried again until its bytes change");
            return Err(Error::new(ErrorKind::HostileDocument, message)
                .with_hint("`doctor` lists such documents; see docs/hostile-documents.md"));
        }
        let parsed = self.parser.parse(body, content_type, name);
        if self.graph.is_read_only() {
            return parsed;
        }
        match &parsed {
            Err(error) if error.kind() == ErrorKind::HostileDocument => {
                let (hash, limits) = (sha256_hex(body), self.parser.setup());
                let reason = error.message();
                self.graph
                    .write(|w| w.add_hostile_document(&hash, name, &limits, reason))?;
            }
            Ok(_) if self.graph.read(|r| r.has_hostile_documents())? => {
                self.graph.write(|w| w.forget_hostile_document(name))?;
            }
            _ => {}
        }
        parsed
    }

    fn setup(&self) -> String {
        self.parser.setup()
    }
}
