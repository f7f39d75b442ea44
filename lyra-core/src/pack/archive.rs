//! The archive: a ZIP file in which every byte is determined by the names and contents of its
//! files, so that a reader can detect any change. Files are stored uncompressed, in order of their
//! names, without times, comments or extra fields.

use super::format::broken;
use crate::error::{Error, ErrorKind, Result};
use crate::store::text::hash::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Name used in errors if the archive itself is broken rather than one of its files.
pub(super) const ARCHIVE: &str = "archive";

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Maximum value of a field without ZIP64.
const MOST_BYTES: u64 = 0xffff_fffe;
const MOST_FILES: usize = 0xfffe;
const LONGEST_NAME: usize = 200;

/// A file to be packed, in temporary storage until its size and hashes are known.
#[derive(Debug)]
pub(super) struct Staged {
    pub(super) entry: ArchiveEntry,
    content: File,
}

/// The metadata of a file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArchiveEntry {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) sha256: String,
    crc: u32,
    /// Offset of its header.
    offset: u64,
}

/// Counts and hashes what is written.
struct Hashing<W> {
    inner: W,
    size: u64,
    crc: crc32fast::Hasher,
    sha256: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.size += written as u64;
        self.crc.update(&bytes[..written]);
        self.sha256.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W> Hashing<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            size: 0,
            crc: crc32fast::Hasher::new(),
            sha256: Sha256::new(),
        }
    }

    fn entry(self, name: &str, offset: u64) -> ArchiveEntry {
        ArchiveEntry {
            name: name.to_owned(),
            size: self.size,
            sha256: hex(&self.sha256.finalize()),
            crc: self.crc.finalize(),
            offset,
        }
    }
}

impl Staged {
    /// Stores the output of `write` in a temporary file.
    pub(super) fn new<T>(
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<T>,
    ) -> Result<(Self, T)> {
        let mut content = tempfile::tempfile().map_err(unwritable)?;
        let mut hashing = Hashing::new(io::BufWriter::new(&mut content));
        let said = write(&mut hashing)?;
        hashing.flush().map_err(unwritable)?;
        let entry = hashing.entry(name, 0);
        Ok((Self { entry, content }, said))
    }

    /// The same for bytes.
    pub(super) fn of(name: &str, bytes: &[u8]) -> Result<Self> {
        let staged = Self::new(name, |w| w.write_all(bytes).map_err(unwritable))?;
        Ok(staged.0)
    }
}

/// Writes the archive.
pub(super) fn write(mut files: Vec<Staged>, writer: &mut impl Write) -> Result<()> {
    files.sort_by(|a, b| a.entry.name.cmp(&b.entry.name));
    let mut offset = 0;
    let mut entries = Vec::with_capacity(files.len());
    for mut file in files {
        file.entry.offset = offset;
        let header = local_header(&file.entry);
        offset += header.len() as u64 + file.entry.size;
        if offset > MOST_BYTES || entries.len() >= MOST_FILES {
            return Err(
                Error::new(ErrorKind::Unsupported, "the pack is larger than 4 GiB")
                    .with_hint("pack without page texts (--texts none), or a smaller task"),
            );
        }
        writer.write_all(&header).map_err(unwritable)?;
        file.content.seek(SeekFrom::Start(0)).map_err(unwritable)?;
        io::copy(&mut file.content, writer).map_err(unwritable)?;
        entries.push(file.entry);
    }
    writer
        .write_all(&directory(&entries, offset))
        .map_err(unwritable)
}

/// Reads the archive from beginning to end and compares every byte with what would have been
/// written. The content of each file goes to the writer that `sink` returns.
pub(super) fn read(
    path: &Path,
    sink: &mut dyn FnMut(&str) -> Result<Box<dyn Write>>,
) -> Result<Vec<ArchiveEntry>> {
    let unreadable = |e: io::Error| {
        let kind = match e.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Backend,
        };
        Error::new(kind, format!("{}: {e}", path.display())).with_source(e)
    };
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let mut reader = BufReader::new(file);
    let mut entries: Vec<ArchiveEntry> = Vec::new();
    let mut names = BTreeSet::new();
    let mut offset = 0;
    loop {
        let mut signature = [0; 4];
        fill(&mut reader, &mut signature)?;
        if u32::from_le_bytes(signature) != LOCAL {
            let mut rest = signature.to_vec();
            let expected = directory(&entries, offset);
            // One byte more than expected, to detect surplus data.
            let mut bounded = reader.take(expected.len() as u64 - 3);
            bounded.read_to_end(&mut rest).map_err(unreadable)?;
            return match !entries.is_empty() && rest == expected {
                true => Ok(entries),
                false => Err(broken(
                    ARCHIVE,
                    "its list of files is not the one that was packed",
                )),
            };
        }
        let entry = read_file(&mut reader, offset, length, sink)?;
        offset += LOCAL_SIZE as u64 + entry.name.len() as u64 + entry.size;
        let is_in_order = entries.last().is_none_or(|last| last.name < entry.name);
        if !is_in_order || !names.insert(entry.name.to_lowercase()) || entries.len() >= MOST_FILES {
            return Err(broken(ARCHIVE, "a file appears twice or out of order"));
        }
        entries.push(entry);
    }
}

/// Size of a header before the name.
const LOCAL_SIZE: usize = 30;

fn read_file(
    reader: &mut impl Read,
    offset: u64,
    length: u64,
    sink: &mut dyn FnMut(&str) -> Result<Box<dyn Write>>,
) -> Result<ArchiveEntry> {
    let mut head = vec![0; LOCAL_SIZE];
    head[..4].copy_from_slice(&LOCAL.to_le_bytes());
    fill(reader, &mut head[4..])?;
    let number =
        |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (crc, size) = (number(14), u64::from(number(18)));
    let named = usize::from(u16::from_le_bytes([head[26], head[27]]));
    if named > LONGEST_NAME || offset + size > length {
        return Err(broken(ARCHIVE, "a header is not as it was packed"));
    }
    let mut name = vec![0; named];
    fill(reader, &mut name)?;
    let name = String::from_utf8(name).ok().filter(|name| is_plain(name));
    let name = name.ok_or_else(|| broken(ARCHIVE, "a file name is not allowed in a pack"))?;
    head.extend_from_slice(name.as_bytes());
    let mut hashing = Hashing::new(sink(&name)?);
    let copied = io::copy(&mut reader.take(size), &mut hashing).map_err(unwritable)?;
    hashing.flush().map_err(unwritable)?;
    let entry = hashing.entry(&name, offset);
    if copied != size || entry.crc != crc {
        return Err(broken(&name, "its content is not what was packed"));
    }
    match head == local_header(&entry) {
        true => Ok(entry),
        false => Err(broken(ARCHIVE, "a header is not as it was packed")),
    }
}

/// Whether a name refers to a file below the folder in which it is unpacked, and nowhere else.
fn is_plain(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.');
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    name.chars().all(is_kept) && name.split('/').all(is_part)
}

fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> Result<()> {
    let filled = reader.read_exact(bytes);
    filled.map_err(|_| broken(ARCHIVE, "it ends before its list of files"))
}

fn local_header(entry: &ArchiveEntry) -> Vec<u8> {
    let mut header = LOCAL.to_le_bytes().to_vec();
    push_fields(&mut header, entry);
    header.extend_from_slice(entry.name.as_bytes());
    header
}

/// The fields common to both headers of a file: version 1.0, names in UTF-8, stored, 1980-01-01, no
/// extra field.
fn push_fields(header: &mut Vec<u8>, entry: &ArchiveEntry) {
    for short in [10_u16, 0x0800, 0, 0, 0x0021] {
        header.extend_from_slice(&short.to_le_bytes());
    }
    for long in [entry.crc, low(entry.size), low(entry.size)] {
        header.extend_from_slice(&long.to_le_bytes());
    }
    for short in [short(entry.name.len()), 0] {
        header.extend_from_slice(&short.to_le_bytes());
    }
}

/// The list of files at the end.
fn directory(entries: &[ArchiveEntry], offset: u64) -> Vec<u8> {
    let mut list = Vec::new();
    for entry in entries {
        list.extend_from_slice(&CENTRAL.to_le_bytes());
        list.extend_from_slice(&10_u16.to_le_bytes());
        push_fields(&mut list, entry);
        // No comment, first disk, no attributes.
        list.extend_from_slice(&[0; 10]);
        list.extend_from_slice(&low(entry.offset).to_le_bytes());
        list.extend_from_slice(entry.name.as_bytes());
    }
    let (size, count) = (low(list.len() as u64), short(entries.len()));
    list.extend_from_slice(&END.to_le_bytes());
    for number in [0, 0, count, count] {
        list.extend_from_slice(&number.to_le_bytes());
    }
    for number in [size, low(offset)] {
        list.extend_from_slice(&number.to_le_bytes());
    }
    list.extend_from_slice(&[0; 2]);
    list
}

fn low(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

pub(super) fn unwritable(error: io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("writing the pack: {error}")).with_source(error)
}

/// The hashes of the files in the format of `sha256sum`.
pub(super) fn manifest<'a>(entries: impl Iterator<Item = &'a ArchiveEntry>) -> Vec<u8> {
    let mut lines: Vec<(&str, &str)> = entries
        .map(|e| (e.name.as_str(), e.sha256.as_str()))
        .collect();
    lines.sort_unstable();
    let lines = lines.into_iter();
    lines
        .flat_map(|(name, hash)| format!("{hash}  {name}\n").into_bytes())
        .collect()
}
