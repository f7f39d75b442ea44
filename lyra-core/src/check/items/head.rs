//! The start of an entry of the list of references, which contains its authors.

/// The length of the start of an entry that is searched for its authors, in code points.
const LONGEST_HEAD: usize = 160;

/// Maximum number of words of a first author.
const WORDS_OF_FIRST: usize = 4;

/// The start of an entry, which contains its authors.
#[derive(Debug)]
pub(super) struct EntryHead {
    /// In lower case, without surrounding punctuation.
    words: Vec<String>,
    /// How many of them belong to the first author.
    of_first: usize,
    /// Whether there is more than one author before a year in brackets; none if this is unknown.
    pub(super) has_others: Option<bool>,
}

impl EntryHead {
    pub(super) fn of(text: &str) -> Self {
        let start: String = text.chars().take(LONGEST_HEAD).collect();
        let written: Vec<&str> = start.split_whitespace().collect();
        let ends = |at: &usize| {
            let word = written[*at];
            // The dot after an initial does not end the name.
            let is_last = word.ends_with('.') && bare(word).chars().count() > 2;
            let next = written.get(at + 1).copied().unwrap_or_default();
            is_last || word.ends_with([',', ';', ':', ')']) || matches!(next, "and" | "&" | "und")
        };
        let end = (0..written.len()).find(ends).map_or(0, |at| at + 1);
        Self {
            of_first: end.clamp(1, WORDS_OF_FIRST),
            words: written.iter().map(|word| bare(word)).collect(),
            has_others: has_others(&start),
        }
    }

    /// How well it matches a first author: 3 if its first author has all words of the name.
    pub(super) fn fit(&self, who: &str) -> u8 {
        let capital = who
            .split_whitespace()
            .filter(|w| w.starts_with(char::is_uppercase));
        let capital: Vec<String> = capital.map(bare).collect();
        let Some(family) = capital.last() else {
            return 0;
        };
        let first = &self.words[..self.words.len().min(self.of_first.max(capital.len()))];
        if capital.iter().all(|word| first.contains(word)) {
            3
        } else if first.contains(family) {
            2
        } else {
            u8::from(self.names(family))
        }
    }

    pub(super) fn names(&self, family: &str) -> bool {
        self.words.iter().any(|word| word == family)
    }
}

/// A word normalised for the comparison of names.
pub(super) fn bare(word: &str) -> String {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.replace('’', "'").to_lowercase()
}

/// Whether there are several authors before the year in brackets at the start of an entry.
fn has_others(start: &str) -> Option<bool> {
    let authors = &start[..start.find("(19").or(start.find("(20"))?];
    if [" and ", " & ", ";", " et al"]
        .iter()
        .any(|mark| authors.contains(mark))
    {
        return Some(true);
    }
    let Some((_, given)) = authors.split_once(',') else {
        return Some(false);
    };
    let is_initial = |word: &str| {
        word.chars()
            .all(|c| c.is_uppercase() || c == '.' || c == '-')
    };
    let is_alone = !given.contains(',') && given.split_whitespace().all(is_initial);
    is_alone.then_some(false)
}
