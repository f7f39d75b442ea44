//! Finds the entry of the list that a citation by author and year refers to.

use super::super::citations::Further;
use super::head::bare;
use super::listed::Listed;

/// The entries that best match an author and a year: by first author, then by the other authors,
/// then by the letter of the year.
pub(super) fn by_author(listed: &[Listed], who: &str, year: i64, further: &Further) -> Vec<usize> {
    let of_year = listed.iter().enumerate();
    let of_year = of_year.filter(|(_, one)| one.entry.years.contains(&year));
    let fits: Vec<(usize, u8)> = of_year.map(|(at, one)| (at, one.head.fit(who))).collect();
    let best = fits.iter().map(|(_, fit)| *fit).max().unwrap_or_default();
    if best == 0 {
        return Vec::new();
    }
    let best = fits.into_iter().filter(|(_, fit)| *fit == best);
    let mut fitting: Vec<usize> = best.map(|(at, _)| at).collect();
    let last = |name: &String| name.split_whitespace().next_back().map(bare);
    let names: Vec<String> = further.names.iter().filter_map(last).collect();
    prefer(&mut fitting, |at| {
        names.iter().all(|name| listed[at].head.names(name))
    });
    let has_others = further.has_others || !names.is_empty();
    if fitting
        .iter()
        .all(|at| listed[*at].head.has_others.is_some())
    {
        prefer(&mut fitting, |at| {
            listed[at].head.has_others == Some(has_others)
        });
    }
    if let Some(letter) = further.letter {
        let written = format!("{year}{letter}");
        prefer(&mut fitting, |at| listed[at].entry.text.contains(&written));
    }
    fitting
}

/// Keeps the entries that match, or all of them if none does.
fn prefer(entries: &mut Vec<usize>, fits: impl Fn(usize) -> bool) {
    if entries.iter().any(|at| fits(*at)) {
        entries.retain(|at| fits(*at));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::references::ReferenceEntry;
    use super::super::super::resolve::Resolved;
    use super::super::head::EntryHead;
    use super::*;

    fn found(entries: &[&str], who: &str, names: &[&str], letter: Option<char>) -> Vec<usize> {
        let listed: Vec<Listed> = entries
            .iter()
            .map(|text| Listed {
                head: EntryHead::of(text),
                entry: ReferenceEntry::new(None, (*text).to_owned(), Some(0..1)),
                resolved: Resolved::default(),
                faults: Vec::new(),
                cited: 0,
                findings: Vec::new(),
            })
            .collect();
        let further = Further {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            has_others: false,
            letter,
        };
        by_author(&listed, who, 2017, &further)
    }

    #[test]
    fn the_first_author_goes_before_others_and_words_of_titles() {
        for entries in [
            [
                "Roe B, Tanaka K. Naps in men. Sleep 2017.",
                "Tanaka K, Roe B. Night work. Sleep 2017.",
            ],
            [
                "B. Roe and K. Tanaka, “Naps in men,” 2017.",
                "K. Tanaka and B. Roe, “Night work,” 2017.",
            ],
            [
                "Doe, J. (2017). What Tanaka said of sleep.",
                "Tanaka, K., & Roe, B. (2017). Night work.",
            ],
        ] {
            assert_eq!(found(&entries, "Tanaka", &[], None), [1], "{entries:?}");
        }
    }

    #[test]
    fn the_second_author_and_the_letter_tell_works_apart() {
        let entries = [
            "Tanaka, K., & Doe, J. (2017a). Naps in men.",
            "Tanaka, K., & van der Roe, B. (2017b). Night work.",
            "Tanaka, K. (2017c). Noise.",
        ];
        assert_eq!(found(&entries, "Tanaka", &["van der Roe"], None), [1]);
        assert_eq!(found(&entries, "Tanaka", &["Doe"], None), [0]);
        assert_eq!(found(&entries, "Tanaka", &[], None), [2]);
        let entries = [entries[0], "Tanaka, K., & Doe, J. (2017b). Noise."];
        assert_eq!(found(&entries, "Tanaka", &["Doe"], Some('b')), [1]);
        assert_eq!(found(&entries, "Tanaka", &["Doe"], None), [0, 1]);
        assert!(found(&entries, "Smith", &[], None).is_empty());
    }
}
