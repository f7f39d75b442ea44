//! A linear scan of HTML before it is parsed: depth, elements and repeated markup are capped.

use crate::error::{Error, Result};
use std::collections::HashMap;

/// Maximum number of elements of a page: the extraction takes kilobytes for each.
const MOST_ELEMENTS: usize = 100_000;

/// Maximum number of copies that the markup of a page may cause. Parsers repeat unclosed formatting
/// in every following element, and when the extraction drops a tag it copies the whole content of
/// the element.
const MOST_COPIES: usize = 300_000;

/// Maximum sum of the depths of all elements of a page: the extraction visits an element once for
/// each of its ancestors.
const MOST_LEVELS: usize = 4_000_000;

/// Maximum depth that remains of a page that exceeds this sum.
const FEW_LEVELS: usize = 40;

/// Elements without content.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements that are closed by the next element of their kind, so that an open one adds no level.
const SELF_CLOSING: &[&str] = &[
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "option",
    "optgroup", "rp", "rt",
];

/// Elements whose end tag does not close the elements opened inside them.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Elements whose content is raw text up to their own end tag.
const RAW: &[&str] = &[
    "script", "style", "textarea", "title", "noembed", "noframes", "iframe", "xmp",
];

/// Elements that parsers do not repeat and that the extraction does not unwrap.
const SOLID: &[&str] = &[
    "a",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "html",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "span",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Parsers repeat equal unclosed formatting at most this many times.
const MOST_EQUAL: usize = 3;

/// End tags have no effect outside these elements.
const SCOPES: &[&str] = &[
    "table", "caption", "template", "svg", "math", "object", "marquee", "applet",
];

/// Returns the page with at most `cap` levels, and whether anything was left out. If a page would
/// cause too many copies, all formatting is left out; if the sum of its depths is too large, most
/// levels are left out.
///
/// # Errors
/// A page with too many elements.
pub(super) fn tame(html: String, cap: usize) -> Result<(String, bool)> {
    let mut scan = Flattener::new(&html, cap, false);
    scan.run();
    if scan.elements > MOST_ELEMENTS {
        let message = format!("the page has more than {MOST_ELEMENTS} elements");
        return Err(Error::invalid(message).with_hint("split it, or save its text alone"));
    }
    if scan.copies > MOST_COPIES || scan.levels > MOST_LEVELS {
        let cap = match scan.levels > MOST_LEVELS {
            true => cap.min(FEW_LEVELS),
            false => cap,
        };
        let mut bare = Flattener::new(&html, cap, scan.copies > MOST_COPIES);
        bare.run();
        return Ok((bare.finish(), true));
    }
    match scan.kept_to {
        0 => Ok((html, false)),
        _ => Ok((scan.finish(), true)),
    }
}

/// Leaves out the tags that open a level below `cap`, but keeps their content. Returns whether any
/// was left out.
///
/// The scan follows the nesting that browsers build closely enough for a cap. It is not exact for
/// misnested tables, which is why the parser has limits as well.
#[cfg(test)]
fn flatten(html: String, cap: usize) -> (String, bool) {
    let mut scan = Flattener::new(&html, cap, false);
    scan.run();
    let changed = scan.kept_to > 0;
    (scan.finish(), changed)
}

struct Flattener<'a> {
    html: &'a str,
    /// The source before this position is in `out` or left out.
    kept_to: usize,
    out: String,
    open: Vec<String>,
    /// Elements whose start tag was left out.
    over: Vec<String>,
    cap: usize,
    /// Whether all elements that are not solid are left out.
    bare: bool,
    elements: usize,
    /// Sum of the depths of all elements.
    levels: usize,
    /// Sum, over all elements, of the enclosing elements that may be copied.
    copies: usize,
    /// Open elements that are not solid.
    loose: usize,
    /// Unclosed formatting: the start tags of each name, and how many of each there are.
    unclosed: HashMap<String, Vec<&'a str>>,
    equal: HashMap<&'a str, usize>,
    repeated: usize,
}

impl<'a> Flattener<'a> {
    fn new(html: &'a str, cap: usize, bare: bool) -> Self {
        Self {
            html,
            kept_to: 0,
            out: String::new(),
            open: Vec::new(),
            over: Vec::new(),
            cap,
            bare,
            elements: 0,
            levels: 0,
            copies: 0,
            loose: 0,
            unclosed: HashMap::new(),
            equal: HashMap::new(),
            repeated: 0,
        }
    }

    fn finish(mut self) -> String {
        self.out.push_str(&self.html[self.kept_to..]);
        self.out
    }

    fn run(&mut self) {
        let mut at = 0;
        while self.elements <= MOST_ELEMENTS
            && let Some(found) = self.html[at..].find('<')
        {
            let start = at + found;
            at = self.tag(start);
        }
    }

    /// Handles the markup that starts with the `<` at `start`; returns where to continue.
    fn tag(&mut self, start: usize) -> usize {
        let rest = &self.html[start..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment
                .find("-->")
                .map_or(self.html.len(), |end| start + 4 + end + 3);
        }
        let closing = rest.starts_with("</");
        let name_start = 1 + usize::from(closing);
        let tail = &rest[name_start..];
        let length = tail
            .bytes()
            .position(|b| !(b.is_ascii_alphanumeric() || b == b'-'))
            .unwrap_or(tail.len());
        if length == 0 || !tail.as_bytes()[0].is_ascii_alphabetic() {
            return start + 1;
        }
        let name = tail[..length].to_ascii_lowercase();
        let end = start + name_start + length + tag_end(&tail[length..]);
        if closing {
            self.close(&name, start, end);
            return end;
        }
        self.count(&name, &self.html[start..end]);
        if RAW.contains(&name.as_str()) {
            return self.raw_end(&name, end);
        } else if !VOID.contains(&name.as_str()) && !SELF_CLOSING.contains(&name.as_str()) {
            self.push(name, start, end);
        }
        end
    }

    fn raw_end(&self, name: &str, from: usize) -> usize {
        let mut at = from;
        while let Some(found) = self.html[at..].find("</") {
            let start = at + found + 2;
            let tail = &self.html.as_bytes()[start..];
            if tail.len() >= name.len() && tail[..name.len()].eq_ignore_ascii_case(name.as_bytes())
            {
                return start - 2;
            }
            at = start;
        }
        self.html.len()
    }

    /// Counts an element, and its enclosing elements that may be copied with it.
    fn count(&mut self, name: &str, tag: &'a str) {
        self.elements += 1;
        self.levels += self.open.len();
        self.copies += self.loose + self.repeated;
        // A link closes the previous one.
        if FORMATTING.contains(&name) && name != "a" {
            let equal = self.equal.entry(tag).or_default();
            *equal += 1;
            self.repeated += usize::from(*equal <= MOST_EQUAL);
            self.unclosed.entry(name.to_owned()).or_default().push(tag);
        }
    }

    fn count_closed(&mut self, name: &str) {
        let tag = self.unclosed.get_mut(name).and_then(Vec::pop);
        if let Some(equal) = tag.and_then(|tag| self.equal.get_mut(tag)) {
            self.repeated -= usize::from(*equal <= MOST_EQUAL);
            *equal -= 1;
        }
    }

    fn push(&mut self, name: String, start: usize, end: usize) {
        let is_solid = SOLID.contains(&name.as_str());
        if self.open.len() < self.cap && (is_solid || !self.bare) {
            self.loose += usize::from(!is_solid);
            self.open.push(name);
        } else {
            self.over.push(name);
            self.leave_out(start, end);
        }
    }

    fn close(&mut self, name: &str, start: usize, end: usize) {
        self.count_closed(name);
        if self.over.last().is_some_and(|open| open == name) {
            self.over.pop();
            self.leave_out(start, end);
            return;
        }
        let scope = !SCOPES.contains(&name);
        let reached = self
            .open
            .iter()
            .rev()
            .take_while(|open| *open == name || !(scope && SCOPES.contains(&open.as_str())))
            .position(|open| open == name);
        if let Some(depth) = reached {
            let at = self.open.len() - 1 - depth;
            let until = match FORMATTING.contains(&name) {
                true => at + 1,
                false => self.open.len(),
            };
            let closed = self.open.drain(at..until);
            let is_loose = |name: &String| !SOLID.contains(&name.as_str());
            self.loose -= closed.filter(is_loose).count();
        }
    }

    /// Puts a space in place of a tag.
    fn leave_out(&mut self, start: usize, end: usize) {
        self.out.push_str(&self.html[self.kept_to..start]);
        self.out.push(' ');
        self.kept_to = end;
    }
}

/// Number of bytes up to and including the `>` of a tag, skipping quoted attribute values.
fn tag_end(tail: &str) -> usize {
    let mut quote = None;
    let mut after_equals = false;
    for (at, byte) in tail.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') if after_equals => quote = Some(byte),
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            after_equals = byte == b'=' && quote.is_none();
        }
    }
    tail.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(html: &str, cap: usize, want: &str) {
        let (got, changed) = flatten(html.to_owned(), cap);
        assert_eq!(got, want);
        assert_eq!(changed, got != html);
    }

    #[test]
    fn levels_below_the_cap_are_left_out() {
        check(
            "<div><div><b>x</b></div></div>",
            3,
            "<div><div><b>x</b></div></div>",
        );
        check(
            "<div><div><b>x</b></div></div>",
            2,
            "<div><div> x </div></div>",
        );
        check(
            "<div><div><div>x</div>y</div>z</div>",
            1,
            "<div>  x y z</div>",
        );
        check(
            "<div><br><p>a<p>b<li>c<img src='>'></div><div></div>",
            1,
            "<div><br><p>a<p>b<li>c<img src='>'></div><div></div>",
        );
        check("<div></span><div>x", 1, "<div></span> x");
        check(
            "<script><div><div><div></script><div>x</div>",
            1,
            "<script><div><div><div></script><div>x</div>",
        );
        check(
            "<!-- <a><b><i> --><a>x</a>",
            1,
            "<!-- <a><b><i> --><a>x</a>",
        );
        check("<b><div></b><b><div></b>x", 2, "<b><div></b><b> </b>x");
        check("a < b <1 </ > <é", 0, "a < b <1 </ > <é");
        check("<div title=\"a>b\"><div>x", 1, "<div title=\"a>b\"> x");
    }

    #[test]
    fn a_hundred_thousand_levels_take_no_time() {
        let html = format!(
            "{}deep{}",
            "<div>".repeat(100_000),
            "</div>".repeat(100_000)
        );
        let (flat, changed) = flatten(html, 450);
        assert!(changed && flat.contains("deep"));
        assert_eq!(flat.matches("<div>").count(), 450);
    }

    #[test]
    fn what_would_be_copied_too_often_is_left_out() {
        let numbered = |n: usize| format!("<p><b id={n}>word</p>");
        let cases = [
            // Each copies all that follows, either in the parser or in the extraction.
            (
                "unwrapped",
                format!("{}{}", "<font>".repeat(400), "<p>x</p>".repeat(5_000)),
                true,
            ),
            ("repeated", (0..5_000).map(numbered).collect(), true),
            (
                "distinct in blocks",
                (0..5_000)
                    .map(|n| format!("<div><i id={n}></div>"))
                    .collect(),
                true,
            ),
            ("equal and unclosed", "<p><b>word</p>".repeat(20_000), true),
            (
                "closed",
                "<p><b>word</b> <i>word</i></p>".repeat(20_000),
                false,
            ),
            ("links", "<p><a href=x>word</a></p>".repeat(20_000), false),
            (
                "blocks",
                format!("{}{}", "<div>".repeat(400), "<p>x</p>".repeat(5_000)),
                false,
            ),
            (
                "deep blocks",
                format!("{}{}", "<div>".repeat(400), "<p>x</p>".repeat(20_000)),
                true,
            ),
        ];
        for (name, html, is_tamed) in cases {
            let (tamed, changed) = tame(html.clone(), 450).unwrap();
            assert_eq!(changed, is_tamed, "{name}");
            assert_eq!(tamed != html, is_tamed, "{name}");
            let words = |html: &str| html.matches("word").count() + html.matches("<p>").count();
            assert_eq!(words(&tamed), words(&html), "{name}");
            assert!(
                !is_tamed || !tamed.contains("<b") && !tamed.contains("<font"),
                "{name}"
            );
        }
        let error = tame("<p>aaaa</p>".repeat(MOST_ELEMENTS + 1), 450).unwrap_err();
        assert!(
            error.message().contains("more than 100000 elements"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_scanned(html in "[</>a-c\"'= !-é]{0,100}", cap in 0usize..4) {
            let _ = tame(html.clone(), cap);
            flatten(html, cap);
        }
    }
}
