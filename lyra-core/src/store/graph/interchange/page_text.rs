//! A page's text that can be sliced by code points without counting from its start each time.

use rusqlite::{OptionalExtension, Transaction, params};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Number of code points between two marks.
const STRIDE: usize = 256;

/// A text with the byte offset of every [`STRIDE`]th code point.
#[derive(Debug)]
pub(crate) struct PageText<'t> {
    text: Cow<'t, str>,
    marks: Vec<usize>,
    length: usize,
}

impl<'t> PageText<'t> {
    /// Indexes the text.
    pub(crate) fn new(text: impl Into<Cow<'t, str>>) -> Self {
        let text = text.into();
        let mut marks = Vec::with_capacity(text.len() / STRIDE + 1);
        let mut length = 0;
        if text.is_ascii() {
            length = text.len();
        } else {
            for (at, _) in text.char_indices() {
                if length % STRIDE == 0 {
                    marks.push(at);
                }
                length += 1;
            }
        }
        Self {
            text,
            marks,
            length,
        }
    }

    /// Length in code points.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Approximate size in memory in bytes.
    fn weight(&self) -> usize {
        self.text.len() + self.marks.len() * size_of::<usize>()
    }

    /// The text from code point `range.start` to before `range.end`; none if the range exceeds the text
    /// or is reversed.
    pub(crate) fn slice(&self, range: Range<usize>) -> Option<&str> {
        if range.start > range.end || range.end > self.length {
            return None;
        }
        self.text
            .get(self.byte_of(range.start)..self.byte_of(range.end))
    }

    /// The first position of `wanted`, in code points, and whether there is another.
    pub(crate) fn find(&self, wanted: &str) -> Option<(Range<usize>, bool)> {
        let first = self.text.find(wanted)?;
        // The second occurrence may overlap the first: "aa" occurs twice in "aaa".
        let next = first + wanted.chars().next().map_or(1, char::len_utf8);
        let again = self
            .text
            .get(next..)
            .is_some_and(|rest| rest.contains(wanted));
        let start = self.text[..first].chars().count();
        Some((start..start + wanted.chars().count(), again))
    }

    fn byte_of(&self, code_point: usize) -> usize {
        if self.marks.is_empty() {
            return code_point;
        }
        let Some(mark) = self.marks.get(code_point / STRIDE) else {
            return self.text.len();
        };
        let rest = &self.text[*mark..];
        let inside = rest.char_indices().nth(code_point % STRIDE);
        mark + inside.map_or(rest.len(), |(at, _)| at)
    }
}

/// The first difference between two texts: the code point, and a few code points of each from there.
pub(in crate::store::graph) fn first_difference<'t>(
    a: &'t str,
    b: &'t str,
) -> (usize, &'t str, &'t str) {
    let same = a.chars().zip(b.chars()).take_while(|(x, y)| x == y);
    let (count, bytes) = same.fold((0, 0), |(n, at), (c, _)| (n + 1, at + c.len_utf8()));
    let few = |text: &'t str| {
        let rest = &text[bytes..];
        let end = rest.char_indices().nth(20).map_or(rest.len(), |(at, _)| at);
        &rest[..end]
    };
    (count, few(a), few(b))
}

/// A bounded cache of recently used texts.
#[derive(Default)]
pub(super) struct TextCache {
    texts: HashMap<(String, i64), Rc<PageText<'static>>>,
    weight: usize,
}

impl TextCache {
    const MAX_WEIGHT: usize = 32 << 20;

    /// The text of this version of the page, if it exists.
    pub(super) fn get(
        &mut self,
        transaction: &Transaction<'_>,
        page_id: &str,
        version: i64,
    ) -> rusqlite::Result<Option<Rc<PageText<'static>>>> {
        let key = (page_id.to_owned(), version);
        if let Some(text) = self.texts.get(&key) {
            return Ok(Some(Rc::clone(text)));
        }
        let text: Option<String> = transaction
            .prepare_cached("SELECT text FROM page_texts WHERE page_id = ?1 AND version = ?2")?
            .query_row(params![page_id, version], |r| r.get(0))
            .optional()?;
        let Some(text) = text.map(|t| Rc::new(PageText::new(t))) else {
            return Ok(None);
        };
        if self.weight + text.weight() > Self::MAX_WEIGHT {
            self.texts.clear();
            self.weight = 0;
        }
        self.weight += text.weight();
        self.texts.insert(key, Rc::clone(&text));
        Ok(Some(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cuts_as_counting_does(text in "[a-c血糖値𝕏🙂é]{0,900}", a in 0_usize..950, b in 0_usize..950) {
            let expected: Option<String> = (a <= b && b <= text.chars().count())
                .then(|| text.chars().skip(a).take(b - a).collect());
            let page = PageText::new(text.clone());
            prop_assert_eq!(page.length(), text.chars().count());
            prop_assert_eq!(page.slice(a..b).map(str::to_owned), expected);
        }
    }

    #[test]
    fn finds_and_says_whether_it_is_the_only_place() {
        let page = PageText::new("値🙂aaa血糖値");
        let cases = [
            ("血糖", Some((5..7, false))),
            ("値", Some((0..1, true))),
            ("aa", Some((2..4, true))),
            ("b", None),
        ];
        for (wanted, expected) in cases {
            assert_eq!(page.find(wanted), expected, "{wanted}");
        }
    }

    #[test]
    fn says_where_texts_part() {
        assert_eq!(first_difference("血糖値", "血糖直x"), (2, "値", "直x"));
        assert_eq!(first_difference("ab", "abc"), (2, "", "c"));
    }
}
