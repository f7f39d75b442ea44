//! Retracted works, from the Retraction Watch file that Crossref publishes.
//!
//! <https://gitlab.com/crossref/retraction-watch-data>; any CSV with the columns `OriginalPaperDOI`
//! and `RetractionNature` is accepted. `OriginalPaperPubMedID` is used if present.

use crate::error::{Error, ErrorKind, Result};
use crate::store::graph::Writer;
use crate::store::model::WorkRecord;
use crate::store::text::identifiers::normalize_doi;
use csv::{ByteRecord, ReaderBuilder};
use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

/// Maximum number of bad rows that are reported individually; the rest are counted.
const PROBLEMS_KEPT: usize = 100;

/// DOIs and PubMed ids of retracted works.
#[derive(Debug, Default)]
pub struct Retractions {
    dois: HashSet<String>,
    pmids: HashSet<String>,
    problems: Vec<String>,
    problem_count: usize,
}

/// The positions of the columns.
struct Columns {
    doi: usize,
    nature: usize,
    pmid: Option<usize>,
    count: usize,
}

impl Retractions {
    /// Reads a file row by row. A row that cannot be used is reported with its line and skipped.
    pub fn open(path: &Path) -> Result<Self> {
        let place = path.display();
        let file = std::fs::File::open(path).map_err(|e| {
            Error::new(ErrorKind::Backend, format!("{place}: {e}"))
                .with_hint("retractions_csv is the path of a Retraction Watch CSV file")
        })?;
        Self::read(file).map_err(|e| e.context(place))
    }

    /// Reads rows from any source.
    ///
    /// ```
    /// use lyra_core::research::pipeline::Retractions;
    /// let csv = "OriginalPaperDOI,RetractionNature\n10.1000/Bad,Retraction\n10.1000/odd,Correction\n";
    /// let list = Retractions::read(csv.as_bytes())?;
    /// assert!(list.holds(Some("10.1000/bad"), None) && !list.holds(Some("10.1000/odd"), None));
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    pub fn read(source: impl Read) -> Result<Self> {
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(source);
        let headers = reader.byte_headers().map_err(unreadable)?.clone();
        let columns = columns(&headers)?;
        let mut list = Self::default();
        let mut reinstated = Self::default();
        let mut row = ByteRecord::new();
        while reader.read_byte_record(&mut row).map_err(unreadable)? {
            let line = row.position().map_or(0, csv::Position::line);
            let taken = list.take(&row, &columns, &mut reinstated);
            if let Err(problem) = taken {
                list.problem_count += 1;
                if list.problems.len() < PROBLEMS_KEPT {
                    list.problems.push(format!("line {line}: {problem}"));
                }
            }
        }
        // Reinstated works are removed, whatever the order of the rows.
        list.dois.retain(|doi| !reinstated.dois.contains(doi));
        list.pmids.retain(|pmid| !reinstated.pmids.contains(pmid));
        Ok(list)
    }

    fn take(
        &mut self,
        row: &ByteRecord,
        columns: &Columns,
        reinstated: &mut Self,
    ) -> std::result::Result<(), String> {
        if row.len() != columns.count {
            let (found, expected) = (row.len(), columns.count);
            return Err(format!("{found} fields; expected {expected}"));
        }
        let field =
            |at: usize| String::from_utf8_lossy(row.get(at).unwrap_or_default()).into_owned();
        let nature = field(columns.nature);
        let into = match nature.trim().to_ascii_lowercase().as_str() {
            "retraction" => self,
            "reinstatement" => reinstated,
            "correction" | "expression of concern" => return Ok(()),
            _ => {
                return Err(format!(
                    "RetractionNature is {nature:?}; expected Retraction, Reinstatement, Correction or Expression of concern"
                ));
            }
        };
        let given = field(columns.doi);
        let given = given.trim();
        let is_blank =
            given.is_empty() || given.eq_ignore_ascii_case("unavailable") || given == "0";
        let doi = normalize_doi(given);
        if doi.is_none() && !is_blank {
            return Err(format!("OriginalPaperDOI {given:?} is not a DOI"));
        }
        let pmid = columns.pmid.map(field).unwrap_or_default();
        let pmid = pmid.trim().trim_start_matches('0');
        into.dois.extend(doi);
        if !pmid.is_empty() && pmid.bytes().all(|byte| byte.is_ascii_digit()) {
            into.pmids.insert(pmid.to_owned());
        }
        Ok(())
    }

    /// Whether a work with this normalised DOI or this PubMed id was retracted.
    pub fn holds(&self, doi: Option<&str>, pmid: Option<&str>) -> bool {
        doi.is_some_and(|doi| self.dois.contains(doi))
            || pmid.is_some_and(|pmid| self.pmids.contains(pmid))
    }

    /// How many DOIs are on the list.
    pub fn len(&self) -> usize {
        self.dois.len()
    }

    /// Whether no DOI is on the list.
    pub fn is_empty(&self) -> bool {
        self.dois.is_empty()
    }

    /// Rows that could not be used, each with its line; at most the first hundred.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// How many rows could not be used.
    pub fn problem_count(&self) -> usize {
        self.problem_count
    }

    /// Flags a stored work that is in the list.
    pub(super) fn mark(&self, w: &Writer<'_>, canonical_id: &str) -> Result<()> {
        let is_on_it = match canonical_id.split_once(':') {
            Some(("doi", doi)) => self.holds(Some(doi), None),
            Some(("pmid", pmid)) => self.holds(None, Some(pmid)),
            _ => false,
        };
        if !is_on_it {
            return Ok(());
        }
        w.add_work(&WorkRecord {
            canonical_id: canonical_id.to_owned(),
            is_retracted: true,
            ..WorkRecord::default()
        })
    }
}

fn columns(headers: &ByteRecord) -> Result<Columns> {
    let place = |name: &str| {
        headers
            .iter()
            .position(|header| header.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    };
    let needed = |name: &str| {
        place(name).ok_or_else(|| {
            Error::invalid(format!("the column {name} is missing from its first line"))
                .with_hint("the file is Retraction Watch's CSV with its header line")
        })
    };
    Ok(Columns {
        doi: needed("OriginalPaperDOI")?,
        nature: needed("RetractionNature")?,
        pmid: place("OriginalPaperPubMedID"),
        count: headers.len(),
    })
}

fn unreadable(error: csv::Error) -> Error {
    Error::new(
        ErrorKind::Backend,
        format!("the CSV cannot be read: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "Record ID,Title,RetractionDate,OriginalPaperDOI,OriginalPaperPubMedID,RetractionNature\n";

    #[test]
    fn rows_count_by_their_nature_and_bad_ones_are_named() {
        let rows = "\u{feff}".to_owned()
            + HEAD
            + "1,\"A title, with\na break\",1/2/2020,10.1000/ONE,0,Retraction\n"
            + "2,T,1/2/2020,https://doi.org/10.1000/two,123,Retraction\n"
            + "3,T,1/2/2020,10.1000/three,,Expression of concern\n"
            + "4,T,1/2/2020,10.1000/four\n"
            + "5,T,1/2/2020,not a doi,0,Retraction\n"
            + "6,T,1/2/2020,unavailable,456,Retraction\n"
            + "7,T,1/2/2020,10.1000/seven,0,Vandalism\n"
            + "8,T,1/2/2021,10.1000/two,123,Reinstatement\n";
        let list = Retractions::read(rows.as_bytes()).unwrap();
        for (doi, pmid, expected) in [
            (Some("10.1000/one"), None, true),
            (Some("10.1000/two"), Some("123"), false),
            (Some("10.1000/three"), None, false),
            (None, Some("456"), true),
            (None, None, false),
        ] {
            assert_eq!(list.holds(doi, pmid), expected, "{doi:?} {pmid:?}");
        }
        assert_eq!((list.len(), list.problem_count()), (1, 3));
        let starts: Vec<&str> = list
            .problems()
            .iter()
            .map(|p| p.split(':').next().unwrap())
            .collect();
        assert_eq!(starts, ["line 6", "line 7", "line 9"]);
    }

    #[test]
    fn another_file_is_refused() {
        for text in ["", "a,b\n1,2\n"] {
            let error = Retractions::read(text.as_bytes()).unwrap_err();
            assert!(error.message().contains("OriginalPaperDOI"), "{error}");
        }
        let error = Retractions::open(Path::new("/nowhere/r.csv")).unwrap_err();
        assert!(error.message().starts_with("/nowhere/r.csv"), "{error}");
    }

    #[test]
    fn other_encodings_do_not_end_the_list() {
        let mut rows = HEAD.as_bytes().to_vec();
        rows.extend(b"1,Caf\xe9,1/2/2020,10.1000/one,0,Retraction\n");
        let list = Retractions::read(rows.as_slice()).unwrap();
        assert!(list.holds(Some("10.1000/one"), None));
    }
}
