//! Reports which files of the corpus can be read, without changing anything.

use super::notes::{about_meta, reason_of, record_notes};
use super::report::{CorpusReport, FileNote, FolderReport};
use super::walk::FolderContents;
use super::{CorpusProvider, SideFile};
use crate::documents::records::{is_record_file, parse_records};
use crate::error::{Error, Result};
use crate::store::text::segment::assemble;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time limit for parsing files that are new to the graph; the remaining ones are only counted.
const PATIENCE: Duration = Duration::from_secs(10);

impl CorpusProvider {
    /// What the folders contain now. Files whose current state is in the graph count as readable;
    /// the others are parsed for at most ten seconds in total, and not stored.
    pub fn inspect(&self) -> CorpusReport {
        let began = Instant::now();
        let folders = self.files.roots().iter().map(|root| {
            let walk = FolderContents::below(root);
            let mut folder = FolderReport::begin(root, &walk);
            for path in &walk.documents {
                if began.elapsed() > PATIENCE {
                    folder.not_looked_at += 1;
                    continue;
                }
                match self.readable(path) {
                    Ok((documents, notes)) => folder.note(root, path, documents, notes),
                    Err(e) => folder.skip(root, path, reason_of(path, &e.to_string())),
                }
            }
            folder
        });
        CorpusReport {
            folders: folders.collect(),
        }
    }

    /// How many documents a file contains, and what is left out of them.
    fn readable(&self, path: &Path) -> Result<(usize, Vec<String>)> {
        if is_record_file(path) {
            let records = parse_records(&self.files.read(path)?)?;
            let count = records.iter().flatten().count();
            let notes = record_notes(&records);
            return match (count, notes.first()) {
                (0, first) => Err(Error::invalid(
                    first.map_or("the file holds no record", String::as_str),
                )),
                _ => Ok((count, notes)),
            };
        }
        let url = self.files.url_of(path)?;
        let is_markdown = path.extension().is_some_and(|e| e == "md");
        let stamp = self.files.stamp(path)?;
        let known = self.graph.read(|r| r.page_by_url(&url))?;
        let is_current = known.is_some_and(|page| page.last_modified == Some(stamp));
        let mut notes = Vec::new();
        // Front matter is cheap to read, and its problems are not stored anywhere.
        if !is_current || is_markdown {
            let body = self.files.read(path)?;
            let parsing = std::thread::scope(|scope| {
                let parse = || self.reading.parser.parse(&body, None, &url);
                scope.spawn(parse).join()
            });
            let gave_up = |_| Error::invalid("the parser gave up");
            let parsed = parsing.map_err(gave_up).flatten()?;
            if assemble(&parsed.blocks).text.trim().is_empty() {
                return Err(Error::invalid("no text in the document"));
            }
            notes.extend(parsed.warnings.into_iter().filter(|w| about_meta(w)));
        }
        notes.extend(self.side_file_notes(path));
        Ok((1, notes))
    }

    /// The problems of a document's side file. A side file that has not changed since it was last
    /// checked is not read again.
    pub(super) fn side_file_notes(&self, path: &Path) -> Vec<String> {
        let read = || -> Vec<String> {
            let problems = self.files.side_file(path).1.into_iter();
            let told = problems.map(|problem| format!("its .meta.json: {problem}"));
            told.collect()
        };
        let Ok(Some(now)) = self.files.open_side_file(path) else {
            self.latest().side_files.remove(path);
            return read();
        };
        let state = now.state();
        if let Some(known) = self.latest().side_files.get(path)
            && known.state == state
        {
            return known.notes.clone();
        }
        let notes = read();
        let known = SideFile {
            state,
            notes: notes.clone(),
        };
        self.latest().side_files.insert(path.to_owned(), known);
        notes
    }
}

impl FolderReport {
    /// A report on a folder of which only the file names are known.
    pub(super) fn begin(root: &Path, walk: &FolderContents) -> Self {
        let others: usize = walk.other_kinds.values().sum();
        let mut report = Self {
            folder: root.display().to_string(),
            files: walk.documents.len() + walk.unreachable.len() + others,
            other_kinds: walk.other_kinds.clone(),
            ..Self::default()
        };
        for (path, reason) in &walk.unreachable {
            report.skip(root, path, reason.clone());
        }
        report
    }

    pub(super) fn skip(&mut self, root: &Path, path: &Path, problem: String) {
        let name = name_of(root, path);
        self.skipped.push(FileNote { name, problem });
    }

    /// Records a file that was read, with what was left out of it.
    pub(super) fn note(&mut self, root: &Path, path: &Path, documents: usize, notes: Vec<String>) {
        self.documents += documents;
        let more = match notes.len() {
            0 => return,
            1 => String::new(),
            n => format!(", and {} more", n - 1),
        };
        let name = name_of(root, path);
        let problem = format!("{}{more}", notes[0]);
        self.notes.push(FileNote { name, problem });
    }
}

/// The path below the folder; for a corpus that is a single file, the file's name.
fn name_of(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    match below.as_os_str().is_empty() {
        true => path.file_name().unwrap_or_default().to_string_lossy(),
        false => below.to_string_lossy(),
    }
    .into_owned()
}
