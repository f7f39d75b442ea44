//! A report on the files of the corpus folders, as counts and as text.

use crate::security::quoting::quoted;
use std::collections::BTreeMap;

/// Maximum number of files that are listed by name.
const NAMED: usize = 5;

/// Kinds of files that people keep papers and notes in, and that are not read: a note names them.
/// Other files beside the documents (pictures, styles, lists) are counted, but reported only if
/// there are no documents at all.
const WRITINGS: &[&str] = &[
    "", "adoc", "asciidoc", "csv", "doc", "docx", "epub", "erb", "ipynb", "json", "mobi", "odp",
    "ods", "odt", "pages", "ppt", "pptx", "qmd", "rmd", "rtf", "tex", "textile", "wiki", "xls",
    "xlsx",
];

/// A file and a message about it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FileNote {
    /// The path below the corpus folder.
    pub name: String,
    /// What went wrong.
    pub problem: String,
}

/// What was found in one corpus folder. Hidden files and side files are not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct FolderReport {
    /// The folder, links resolved.
    pub folder: String,
    /// Files in it, of any kind.
    pub files: usize,
    /// Documents that can be read; a file of records may hold many.
    pub documents: usize,
    /// Files of a supported kind of which nothing could be read.
    pub skipped: Vec<FileNote>,
    /// Files that were read, but with parts of them or of their side files left out.
    pub notes: Vec<FileNote>,
    /// Number of files of each unsupported kind, by extension; "" for none.
    pub other_kinds: BTreeMap<String, usize>,
    /// Files that were not checked because of the time limit.
    pub not_looked_at: usize,
}

impl FolderReport {
    /// The counts in one line, with a few names and reasons.
    ///
    /// ```
    /// let mut report = lyra_core::documents::FolderReport::default();
    /// (report.files, report.documents) = (3, 2);
    /// report.other_kinds.insert("docx".into(), 1);
    /// assert_eq!(
    ///     report.summary(),
    ///     "3 files, 2 documents readable, 0 skipped; 1 of a kind that is not read (.docx)"
    /// );
    /// ```
    pub fn summary(&self) -> String {
        let mut line = format!(
            "{}, {} readable, {} skipped",
            counted(self.files, "file"),
            counted(self.documents, "document"),
            self.skipped.len()
        );
        if !self.skipped.is_empty() {
            line.push_str(&format!(": {}", named(self.skipped.iter())));
        }
        if let Some(kinds) = kinds(&self.other_kinds) {
            line.push_str(&format!("; {kinds}"));
        }
        if !self.notes.is_empty() {
            line.push_str(&format!("; {}", left_out(self.notes.iter())));
        }
        if self.not_looked_at > 0 {
            line.push_str(&format!("; {} not looked at here", self.not_looked_at));
        }
        line
    }
}

/// What was found in the corpus folders, in the order of the folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct CorpusReport {
    /// One report per folder.
    pub folders: Vec<FolderReport>,
}

impl CorpusReport {
    /// The problems: a line for the files of a supported kind of which nothing was read, and a line
    /// for those of which something was left out. Names and reasons are quoted and shortened, since
    /// they contain untrusted text.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let files: usize = self.folders.iter().map(|folder| folder.files).sum();
        let skipped = || self.folders.iter().flat_map(|folder| &folder.skipped);
        let missing = skipped().count();
        if missing > 0 {
            lines.push(format!(
                "{missing} of {} of the corpus {} not read: {}",
                counted(files, "file"),
                if missing == 1 { "was" } else { "were" },
                named(skipped())
            ));
        }
        let notes = || self.folders.iter().flat_map(|folder| &folder.notes);
        if notes().count() > 0 {
            lines.push(format!("in the corpus, {}", left_out(notes())));
        }
        lines
    }

    /// The files that users may miss in a search although nothing is wrong with them: documents of
    /// an unsupported kind, such as `.docx` and `.xlsx`; all files if nothing was read.
    ///
    /// ```
    /// use lyra_core::documents::{CorpusReport, FolderReport};
    /// let mut folder = FolderReport::default();
    /// folder.other_kinds.extend([("xlsx".to_owned(), 2), ("png".to_owned(), 1)]);
    /// let nothing_read = CorpusReport { folders: vec![folder.clone()] };
    /// folder.documents = 1;
    /// let report = CorpusReport { folders: vec![folder] };
    /// assert!(report.warnings().is_empty());
    /// let note = "the corpus holds 2 files of a kind that is not read (.xlsx)";
    /// assert_eq!(report.unread_kinds().as_deref(), Some(note));
    /// assert!(nothing_read.unread_kinds().unwrap().contains("3 files"));
    /// ```
    pub fn unread_kinds(&self) -> Option<String> {
        let mut others: BTreeMap<String, usize> = BTreeMap::new();
        for (ending, count) in self.folders.iter().flat_map(|folder| &folder.other_kinds) {
            *others.entry(ending.clone()).or_default() += count;
        }
        let has_documents = |folder: &FolderReport| folder.documents + folder.not_looked_at > 0;
        if self.folders.iter().any(has_documents) {
            others.retain(|ending, _| WRITINGS.contains(&ending.as_str()));
        }
        let count: usize = others.values().sum();
        (count > 0).then(|| {
            format!(
                "the corpus holds {} of a kind that is not read ({})",
                counted(count, "file"),
                endings(&others)
            )
        })
    }
}

fn left_out<'a>(notes: impl Iterator<Item = &'a FileNote> + Clone) -> String {
    let count = counted(notes.clone().count(), "file");
    format!("something was left out of {count}: {}", named(notes))
}

/// The first few names with their reasons, and how many more there are.
fn named<'a>(notes: impl Iterator<Item = &'a FileNote> + Clone) -> String {
    let count = notes.clone().count();
    let one = |note: &FileNote| {
        // Parentheses inside are replaced, so that the text cannot close the enclosing ones;
        // quotation marks are then not needed.
        let problem = quoted(&note.problem.replace(['(', ')'], " "), 120);
        let problem = problem.trim_matches(['“', '”']);
        format!("{} ({problem})", quoted(&note.name, 60))
    };
    let mut parts: Vec<String> = notes.take(NAMED).map(one).collect();
    if count > NAMED {
        parts.push(format!("and {} more", count - NAMED));
    }
    parts.join(", ")
}

fn kinds(kinds: &BTreeMap<String, usize>) -> Option<String> {
    let count: usize = kinds.values().sum();
    (count > 0).then(|| format!("{count} of a kind that is not read ({})", endings(kinds)))
}

/// The first few extensions.
fn endings(kinds: &BTreeMap<String, usize>) -> String {
    let endings = kinds
        .keys()
        .take(NAMED)
        .map(|ending| match ending.as_str() {
            "" => "no ending".to_owned(),
            ending => {
                let shown = quoted(ending, 12);
                format!(".{}", shown.trim_matches(['“', '”']))
            }
        });
    let mut endings = endings.collect::<Vec<_>>().join(", ");
    if kinds.len() > NAMED {
        endings.push_str(", …");
    }
    endings
}

fn counted(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(name: &str, problem: &str) -> FileNote {
        FileNote {
            name: name.into(),
            problem: problem.into(),
        }
    }

    #[test]
    fn only_what_went_wrong_is_warned_of() {
        let kinds = |endings: &[&str]| endings.iter().map(|e| ((*e).to_owned(), 1)).collect();
        let many: Vec<FileNote> = (0..7).map(|n| note(&format!("{n}.pdf"), "bad")).collect();
        let cases: &[(FolderReport, &[&str])] = &[
            (FolderReport::default(), &[]),
            (
                FolderReport {
                    other_kinds: kinds(&["png", "docx", "xlsx"]),
                    ..FolderReport::default()
                },
                &[],
            ),
            (
                FolderReport {
                    files: 4,
                    skipped: vec![note("a.pdf", "the file is empty")],
                    other_kinds: kinds(&["docx", "png", "csv"]),
                    ..FolderReport::default()
                },
                &["1 of 4 files of the corpus was not read: “a.pdf” (the file is empty)"],
            ),
            (
                FolderReport {
                    files: 1,
                    skipped: vec![note("a”\n.pdf", "no) \u{1b}[31m”text")],
                    ..FolderReport::default()
                },
                &["1 of 1 file of the corpus was not read: “a' .pdf” (no [31m'text)"],
            ),
            (
                FolderReport {
                    files: 9,
                    skipped: many,
                    notes: vec![note("b.md", "year: x")],
                    ..FolderReport::default()
                },
                &[
                    "7 of 9 files of the corpus were not read: “0.pdf” (bad), “1.pdf” (bad), \
                     “2.pdf” (bad), “3.pdf” (bad), “4.pdf” (bad), and 2 more",
                    "in the corpus, something was left out of 1 file: “b.md” (year: x)",
                ],
            ),
        ];
        for (folder, want) in cases {
            let report = CorpusReport {
                folders: vec![folder.clone()],
            };
            assert_eq!(report.warnings(), *want);
        }
    }
}
