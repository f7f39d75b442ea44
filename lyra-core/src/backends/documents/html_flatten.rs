//! A linear scan of HTML before any parser sees it: depth is capped.

/// Elements without content.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements that the next of their kind closes, so that an open one is no level.
const SELF_CLOSING: &[&str] = &[
    "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "option",
    "optgroup", "rp", "rt",
];

/// Elements whose end tag leaves what was opened inside them open.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Elements whose content is text up to their own end tag.
const RAW: &[&str] = &[
    "script", "style", "textarea", "title", "noembed", "noframes", "iframe", "xmp",
];

/// End tags do not reach out of these.
const SCOPES: &[&str] = &[
    "table", "caption", "template", "svg", "math", "object", "marquee", "applet",
];

/// Leaves out the tags that open a level below `cap`; what they hold stays. Says whether any was.
///
/// The scan follows the nesting that browsers build closely enough for a cap: it is not exact for
/// misnested tables, which is why the parser has a deadline as well.
pub(super) fn flatten(html: String, cap: usize) -> (String, bool) {
    let mut scan = Scan {
        html: &html,
        kept_to: 0,
        out: String::new(),
        open: Vec::new(),
        over: Vec::new(),
        cap,
    };
    scan.run();
    if scan.kept_to == 0 {
        return (html, false);
    }
    let mut out = scan.out;
    out.push_str(&html[scan.kept_to..]);
    (out, true)
}

struct Scan<'a> {
    html: &'a str,
    /// Up to here the source is in `out` or left out.
    kept_to: usize,
    out: String,
    open: Vec<String>,
    /// Elements whose start tag was left out.
    over: Vec<String>,
    cap: usize,
}

impl Scan<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(found) = self.html[at..].find('<') {
            let start = at + found;
            at = self.tag(start);
        }
    }

    /// Handles what starts with the `<` at `start`; answers with where to go on.
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
        } else if RAW.contains(&name.as_str()) {
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

    fn push(&mut self, name: String, start: usize, end: usize) {
        if self.open.len() < self.cap {
            self.open.push(name);
        } else {
            self.over.push(name);
            self.leave_out(start, end);
        }
    }

    fn close(&mut self, name: &str, start: usize, end: usize) {
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
            if FORMATTING.contains(&name) {
                self.open.remove(at);
            } else {
                self.open.truncate(at);
            }
        }
    }

    /// Puts a space where a tag was.
    fn leave_out(&mut self, start: usize, end: usize) {
        self.out.push_str(&self.html[self.kept_to..start]);
        self.out.push(' ');
        self.kept_to = end;
    }
}

/// Bytes up to and with the `>` of a tag, past quoted attribute values.
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

    proptest! {
        #[test]
        fn any_text_is_scanned(html in "[</>a-c\"'= !-é]{0,100}", cap in 0usize..4) {
            flatten(html, cap);
        }
    }
}
