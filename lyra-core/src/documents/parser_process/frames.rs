//! The protocol on the pipes: length-prefixed frames, capped on both sides.
//!
//! | frame | bytes |
//! |---|---|
//! | greeting, once | [`GREETING`] |
//! | request | length of the head (u32), length of the body (u64), head as JSON, body |
//! | reply | length (u32), JSON |
//!
//! Numbers are little-endian. Neither side trusts the other: the parent validates a child's reply
//! as strictly as it would validate the document.

use crate::error::{Error, ErrorKind, Result};
use crate::ports::ParsedDocument;
use crate::store::model::{DocumentMeta, FragmentType};
use crate::store::text::segment::Block;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// The first bytes that a child sends; they change with the frame format.
const GREETING: &[u8; 16] = b"lyra-parser-0001";

/// Maximum size of a document, in bytes.
const MOST_BODY: usize = 64 * 1024 * 1024;

/// Maximum size of a name and a content type, in bytes.
const MOST_HEAD: usize = 64 * 1024;

/// Maximum size of a reply, in bytes.
const MOST_REPLY: usize = 32 * 1024 * 1024;

/// Maximum length of a message, in characters.
const MOST_WORDS: usize = 1_000;

/// Why no answer came.
#[derive(Debug)]
pub(super) enum ChildFault {
    /// The pipe broke.
    Broken,
    /// The time ran out.
    Late,
    /// The data received is not a valid answer.
    Nonsense(String),
}

impl From<std::io::Error> for ChildFault {
    fn from(_: std::io::Error) -> Self {
        Self::Broken
    }
}

#[derive(Serialize)]
struct RequestHead<'a> {
    content_type: Option<&'a str>,
    name: &'a str,
}

/// A document as sent to a child.
pub(super) struct Request<'a> {
    head: Vec<u8>,
    body: &'a [u8],
}

impl<'a> Request<'a> {
    pub(super) fn new(body: &'a [u8], content_type: Option<&str>, name: &str) -> Result<Self> {
        let head = serde_json::to_vec(&RequestHead { content_type, name })
            .map_err(|e| Error::internal(e.to_string()))?;
        let parts = [
            ("document", body.len(), MOST_BODY),
            ("name of the document", head.len(), MOST_HEAD),
        ];
        for (what, length, most) in parts {
            if length > most {
                let message = format!("the {what} has {length} bytes; at most {most} are read");
                return Err(Error::invalid(message));
            }
        }
        Ok(Self { head, body })
    }

    pub(super) fn size(&self) -> usize {
        self.head.len() + self.body.len()
    }

    pub(super) fn write_to(&self, output: &mut impl Write) -> Result<(), ChildFault> {
        let mut start = Vec::with_capacity(12 + self.head.len());
        start.extend(u32::try_from(self.head.len()).unwrap_or(0).to_le_bytes());
        start.extend(u64::try_from(self.body.len()).unwrap_or(0).to_le_bytes());
        start.extend(&self.head);
        output.write_all(&start)?;
        output.write_all(self.body)?;
        Ok(output.flush()?)
    }
}

/// A document as received by a child.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) body: Vec<u8>,
    pub(super) content_type: Option<String>,
    pub(super) name: String,
}

#[derive(Deserialize)]
struct ReceivedHead {
    content_type: Option<String>,
    name: String,
}

/// The next document; `None` at the end of the input.
pub(super) fn read_request(input: &mut impl Read) -> Result<Option<Received>, ChildFault> {
    let mut lengths = [0; 12];
    match input.read(&mut lengths)? {
        0 => return Ok(None),
        some => input.read_exact(&mut lengths[some..])?,
    }
    let (head, body) = lengths.split_at(4);
    let head = head
        .try_into()
        .map_or(usize::MAX, |b| u32::from_le_bytes(b) as usize);
    let body = body.try_into().map_or(u64::MAX, u64::from_le_bytes);
    if head > MOST_HEAD || body > MOST_BODY as u64 {
        return Err(ChildFault::Nonsense("a request beyond the caps".to_owned()));
    }
    let head = read_some(input, head)?;
    let head: ReceivedHead =
        serde_json::from_slice(&head).map_err(|e| ChildFault::Nonsense(e.to_string()))?;
    let body = read_some(input, usize::try_from(body).unwrap_or(MOST_BODY))?;
    Ok(Some(Received {
        body,
        content_type: head.content_type,
        name: head.name,
    }))
}

/// Reads the announced number of bytes; memory is allocated as they arrive.
fn read_some(input: &mut impl Read, length: usize) -> Result<Vec<u8>, ChildFault> {
    let mut bytes = Vec::with_capacity(length.min(1024 * 1024));
    let read = input.by_ref().take(length as u64).read_to_end(&mut bytes)?;
    match read == length {
        true => Ok(bytes),
        false => Err(ChildFault::Broken),
    }
}

pub(super) fn write_greeting(output: &mut impl Write) -> Result<(), ChildFault> {
    output.write_all(GREETING)?;
    Ok(output.flush()?)
}

pub(super) fn read_greeting(input: &mut impl Read) -> Result<(), ChildFault> {
    let mut greeting = [0; GREETING.len()];
    input.read_exact(&mut greeting)?;
    match &greeting == GREETING {
        true => Ok(()),
        false => Err(ChildFault::Nonsense(
            "not a parser of this version".to_owned(),
        )),
    }
}

#[derive(Serialize, Deserialize)]
enum ChildReply {
    Parsed(Box<WireDocument>),
    Failed(Failed),
}

#[derive(Serialize, Deserialize)]
struct WireDocument {
    meta: DocumentMeta,
    blocks: Vec<(FragmentType, u8, String)>,
    page_type: String,
    warnings: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Failed {
    kind: String,
    message: String,
    hint: Option<String>,
}

/// The kinds of error that parsers return.
const KINDS: [(&str, ErrorKind); 5] = [
    ("invalid", ErrorKind::InvalidInput),
    ("timeout", ErrorKind::Timeout),
    ("unsupported", ErrorKind::Unsupported),
    ("hostile", ErrorKind::HostileDocument),
    ("internal", ErrorKind::Internal),
];

/// The valid page types.
const PAGE_TYPES: [&str; 6] = ["html", "pdf", "jats", "markdown", "text", "jsonl"];

pub(super) fn write_reply(
    output: &mut impl Write,
    answer: Result<ParsedDocument>,
) -> Result<(), ChildFault> {
    let as_json = |reply: &ChildReply| {
        serde_json::to_vec(reply).map_err(|e| ChildFault::Nonsense(format!("no reply: {e}")))
    };
    let mut frame = as_json(&answer.map_or_else(|e| failed(&e), parsed))?;
    if frame.len() > MOST_REPLY {
        let message = format!("the text of the document has more than {MOST_REPLY} bytes");
        let error = Error::invalid(message).with_hint("split it");
        frame = as_json(&failed(&error))?;
    }
    let length = u32::try_from(frame.len()).unwrap_or(0);
    output.write_all(&length.to_le_bytes())?;
    output.write_all(&frame)?;
    Ok(output.flush()?)
}

fn parsed(document: ParsedDocument) -> ChildReply {
    let blocks = document.blocks.into_iter();
    ChildReply::Parsed(Box::new(WireDocument {
        meta: document.meta,
        blocks: blocks.map(|b| (b.kind, b.level, b.text)).collect(),
        page_type: document.page_type.to_owned(),
        warnings: document.warnings,
    }))
}

fn failed(error: &Error) -> ChildReply {
    let kind = KINDS.iter().find(|(_, kind)| *kind == error.kind());
    ChildReply::Failed(Failed {
        kind: kind.map_or("internal", |(name, _)| name).to_owned(),
        message: error.message().to_owned(),
        hint: error.hint().map(str::to_owned),
    })
}

pub(super) fn read_reply(input: &mut impl Read) -> Result<Result<ParsedDocument>, ChildFault> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MOST_REPLY {
        return Err(ChildFault::Nonsense(format!("a reply of {length} bytes")));
    }
    let frame = read_some(input, length)?;
    let reply: ChildReply =
        serde_json::from_slice(&frame).map_err(|e| ChildFault::Nonsense(e.to_string()))?;
    match reply {
        ChildReply::Parsed(parsed) => believed(*parsed).map(Ok),
        ChildReply::Failed(failed) => {
            let words = |text: String| text.chars().take(MOST_WORDS).collect::<String>();
            let kind = KINDS.iter().find(|(name, _)| *name == failed.kind);
            let kind = kind.map_or(ErrorKind::Pipeline, |(_, kind)| *kind);
            let error = Error::new(kind, words(failed.message));
            Ok(Err(match failed.hint {
                Some(hint) => error.with_hint(words(hint)),
                None => error,
            }))
        }
    }
}

/// The document, if a parser could have produced it.
fn believed(parsed: WireDocument) -> Result<ParsedDocument, ChildFault> {
    let nonsense = |what: &str| ChildFault::Nonsense(what.to_owned());
    let page_type = PAGE_TYPES.into_iter().find(|t| *t == parsed.page_type);
    let page_type = page_type.ok_or_else(|| nonsense("an unknown page type"))?;
    let is_sound = |(kind, level, text): &(FragmentType, u8, String)| {
        let levels = match kind {
            FragmentType::Heading => 1..=6,
            _ => 0..=0,
        };
        levels.contains(level) && !text.trim().is_empty()
    };
    if !parsed.blocks.iter().all(is_sound) {
        return Err(nonsense("a block without text or with a wrong level"));
    }
    let blocks = parsed.blocks.into_iter();
    Ok(ParsedDocument {
        meta: parsed.meta,
        blocks: blocks
            .map(|(kind, level, text)| Block { kind, level, text })
            .collect(),
        page_type,
        warnings: parsed.warnings,
    })
}
