//! YAML front matter: the subset of YAML that is common in Markdown files, parsed strictly.

use super::meta::short;
use serde_json::{Map, Value};

/// Maximum length of front matter, in bytes.
const MAX_FRONT_MATTER: usize = 64 * 1024;

/// Front matter and the rest of the text.
#[derive(Debug, Default)]
pub(super) struct FrontMatter<'a> {
    /// The keys.
    pub(super) object: Map<String, Value>,
    /// Lines that could not be read, with their numbers.
    pub(super) problems: Vec<String>,
    /// The text after the closing line.
    pub(super) body: &'a str,
}

/// Splits off YAML front matter: `---`, keys, `---` or `...`.
///
/// The parser supports the part of YAML that front matter needs: strings with and without quotes,
/// numbers, booleans, block and flow lists, lists of flat mappings, `>` and `|` text, comments.
/// Anchors, tags and deeper nesting are reported as problems and skipped; nothing is guessed.
pub(super) fn front_matter(text: &str) -> FrontMatter<'_> {
    let whole = FrontMatter {
        body: text,
        ..FrontMatter::default()
    };
    let Some(start) = text.strip_prefix("---\n") else {
        return whole;
    };
    let mut offset = 0;
    for line in start.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let lines: Vec<&str> = start[..offset].lines().collect();
            let (object, problems) = YamlReader {
                lines: &lines,
                at: 0,
                problems: Vec::new(),
            }
            .read();
            return FrontMatter {
                object,
                problems,
                body: &start[offset + line.len()..],
            };
        }
        offset += line.len();
        if offset > MAX_FRONT_MATTER {
            break;
        }
    }
    whole
}

struct YamlReader<'a> {
    lines: &'a [&'a str],
    at: usize,
    problems: Vec<String>,
}

impl<'a> YamlReader<'a> {
    fn read(mut self) -> (Map<String, Value>, Vec<String>) {
        let mut object = Map::new();
        while let Some(line) = self.lines.get(self.at).copied() {
            let number = self.at + 2;
            self.at += 1;
            if is_blank(line) {
                continue;
            }
            match split_key(line) {
                Some((key, rest)) if !line.starts_with([' ', '\t']) => match self.value(rest) {
                    Ok(value) => {
                        object.insert(key, value);
                    }
                    Err(problem) => self
                        .problems
                        .push(format!("line {number}: {key}: {problem}")),
                },
                _ => self
                    .problems
                    .push(format!("line {number}: expected `key: value`")),
            }
        }
        (object, self.problems)
    }

    /// The value after `key:`, on this line or indented under it.
    fn value(&mut self, rest: &str) -> Result<Value, String> {
        if let Some(folded) = rest.strip_prefix('>').or_else(|| rest.strip_prefix('|'))
            && folded.trim_matches(['+', '-', ' ']).is_empty()
        {
            let keep_lines = rest.starts_with('|');
            let lines = self.indented();
            let parts = lines.iter().map(|line| line.trim());
            return Ok(Value::String(if keep_lines {
                parts.collect::<Vec<_>>().join("\n").trim().to_owned()
            } else {
                super::lines::join(parts)
            }));
        }
        if rest.starts_with(['[', '{', '"', '\'']) {
            let mut flow = rest.to_owned();
            while !is_closed(&flow) && self.at < self.lines.len() && flow.len() < MAX_FRONT_MATTER {
                flow.push(' ');
                flow.push_str(self.lines[self.at].trim());
                self.at += 1;
            }
            return Flow::new(&flow).whole();
        }
        if !rest.is_empty() {
            let mut text = plain_text(rest).to_owned();
            for line in self.indented() {
                super::lines::push_line(&mut text, plain_text(line.trim()));
            }
            return scalar(&text);
        }
        self.block()
    }

    /// The lines that are indented deeper than a key, including blank lines.
    fn indented(&mut self) -> Vec<&'a str> {
        let start = self.at;
        while self
            .lines
            .get(self.at)
            .is_some_and(|l| l.trim().is_empty() || l.starts_with([' ', '\t']))
        {
            self.at += 1;
        }
        self.lines[start..self.at].to_vec()
    }

    /// A block list under a key; the items may have the same indentation as the key.
    fn block(&mut self) -> Result<Value, String> {
        let start = self.at;
        while self
            .lines
            .get(self.at)
            .is_some_and(|line| is_blank(line) || line.starts_with([' ', '\t', '-']))
        {
            self.at += 1;
        }
        let lines: Vec<&str> = self.lines[start..self.at]
            .iter()
            .copied()
            .filter(|line| !is_blank(line))
            .collect();
        let Some(first) = lines.first() else {
            return Ok(Value::Null);
        };
        if !first.trim_start().starts_with('-') {
            return Err("a mapping under a key is not supported".to_owned());
        }
        let indent = indent_of(first);
        let mut items: Vec<Vec<&str>> = Vec::new();
        for line in &lines {
            let text = line.trim();
            match text.strip_prefix('-') {
                Some(item)
                    if indent_of(line) == indent && (item.is_empty() || item.starts_with(' ')) =>
                {
                    items.push(vec![item.trim()]);
                }
                _ if indent_of(line) > indent => {
                    if let Some(item) = items.last_mut() {
                        item.push(text);
                    }
                }
                _ => return Err(format!("{:?} is no list item; expected `- …`", short(text))),
            }
        }
        items
            .iter()
            .map(|lines| list_entry(lines))
            .collect::<Result<_, _>>()
            .map(Value::Array)
    }
}

/// One entry of a block list: a scalar, or a flat mapping with one `key: value` per line.
fn list_entry(lines: &[&str]) -> Result<Value, String> {
    let first = lines[0];
    if first.starts_with(['[', '{', '"', '\'']) {
        return Flow::new(&lines.join(" ")).whole();
    }
    if split_key(first).is_none() {
        return scalar(&super::lines::join(
            lines.iter().map(|line| plain_text(line)),
        ));
    }
    let mut object = Map::new();
    for line in lines {
        let (key, rest) =
            split_key(line).ok_or_else(|| format!("{:?}: expected `key: value`", short(line)))?;
        let value = if rest.starts_with(['[', '{', '"', '\'']) {
            Flow::new(rest).whole()?
        } else {
            scalar(plain_text(rest))?
        };
        object.insert(key, value);
    }
    Ok(Value::Object(object))
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// `key: value` or `key:`; a colon inside a word (an address, a time) does not make a key.
fn split_key(line: &str) -> Option<(String, &str)> {
    let (key, rest) = line.trim_start().split_once(':')?;
    let plain = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
        && (rest.is_empty() || rest.starts_with([' ', '\t']));
    plain.then(|| (key.to_ascii_lowercase().replace('-', "_"), rest.trim()))
}

/// A plain scalar without the comment after it.
fn plain_text(text: &str) -> &str {
    let text = text.trim();
    if text.starts_with('#') {
        return "";
    }
    text.find(" #").map_or(text, |at| text[..at].trim_end())
}

fn scalar(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    if text.starts_with(['&', '*', '!', '@', '`', '%']) {
        return Err(format!(
            "{:?}: anchors, tags and reserved signs are not supported; use quotes",
            short(text)
        ));
    }
    // A number that is not in canonical form is an identifier (`007`).
    if let Ok(number) = text.parse::<i64>()
        && number.to_string() == text
    {
        return Ok(Value::from(number));
    }
    Ok(Value::String(text.to_owned()))
}

/// Whether every bracket and quote that `text` opens is closed again.
fn is_closed(text: &str) -> bool {
    let (mut depth, mut quote, mut escaped) = (0i32, None, false);
    for c in text.chars() {
        match quote {
            Some('"') if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '\'' => quote = Some(c),
                '[' | '{' => depth += 1,
                ']' | '}' => depth -= 1,
                _ => {}
            },
        }
        if depth == 0 && quote.is_none() {
            return true;
        }
    }
    false
}

/// Flow values: `[a, "b"]`, `{name: A}`, and quoted strings.
struct Flow {
    chars: Vec<char>,
    at: usize,
}

impl Flow {
    fn new(text: &str) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
        }
    }

    /// The value; only a comment may follow it.
    fn whole(mut self) -> Result<Value, String> {
        let value = self.value(0)?;
        let rest: String = self.chars[self.at..].iter().collect();
        if plain_text(&rest).is_empty() {
            Ok(value)
        } else {
            Err(format!("unexpected {:?}", short(rest.trim())))
        }
    }

    fn skip_spaces(&mut self) {
        while self.chars.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        self.skip_spaces();
        let found = self.chars.get(self.at) == Some(&wanted);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: u8) -> Result<Value, String> {
        if depth > 4 {
            return Err("lists are nested too deeply".to_owned());
        }
        self.skip_spaces();
        match self.chars.get(self.at) {
            Some('[') => self.list(depth),
            Some('{') => self.mapping(depth),
            Some('"') => self.double_quoted().map(Value::String),
            Some('\'') => self.single_quoted().map(Value::String),
            Some(_) => {
                let start = self.at;
                while self
                    .chars
                    .get(self.at)
                    .is_some_and(|c| !matches!(c, ',' | ']' | '}'))
                {
                    self.at += 1;
                }
                scalar(self.chars[start..self.at].iter().collect::<String>().trim())
            }
            None => Err("the value ends too early".to_owned()),
        }
    }

    fn list(&mut self, depth: u8) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            if self.take(']') {
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            if !self.take(',') && self.chars.get(self.at) != Some(&']') {
                return Err("expected `,` or `]` in a list".to_owned());
            }
        }
    }

    fn mapping(&mut self, depth: u8) -> Result<Value, String> {
        self.at += 1;
        let mut object = Map::new();
        loop {
            if self.take('}') {
                return Ok(Value::Object(object));
            }
            let start = self.at;
            while self
                .chars
                .get(self.at)
                .is_some_and(|c| !matches!(c, ':' | ',' | '}' | ']'))
            {
                self.at += 1;
            }
            let key: String = self.chars[start..self.at].iter().collect();
            if !self.take(':') {
                return Err("expected `key: value` in a mapping".to_owned());
            }
            let key = key.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
            object.insert(key, self.value(depth + 1)?);
            if !self.take(',') && self.chars.get(self.at) != Some(&'}') {
                return Err("expected `,` or `}` in a mapping".to_owned());
            }
        }
    }

    fn single_quoted(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out = String::new();
        while let Some(&c) = self.chars.get(self.at) {
            self.at += 1;
            if c != '\'' {
                out.push(c);
            } else if self.chars.get(self.at) == Some(&'\'') {
                out.push('\'');
                self.at += 1;
            } else {
                return Ok(out);
            }
        }
        Err("a quote is not closed".to_owned())
    }

    fn double_quoted(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out = String::new();
        while let Some(&c) = self.chars.get(self.at) {
            self.at += 1;
            match c {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                c => out.push(c),
            }
        }
        Err("a quote is not closed".to_owned())
    }

    fn escape(&mut self) -> Result<char, String> {
        let c = self
            .chars
            .get(self.at)
            .copied()
            .ok_or("a quote is not closed")?;
        self.at += 1;
        let digits = match c {
            'n' => return Ok('\n'),
            't' => return Ok('\t'),
            'r' => return Ok('\r'),
            '"' | '\\' | '/' | ' ' => return Ok(c),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            other => return Err(format!("unknown escape \\{other}")),
        };
        let end = (self.at + digits).min(self.chars.len());
        let hex: String = self.chars[self.at..end].iter().collect();
        self.at = end;
        u32::from_str_radix(&hex, 16)
            .ok()
            .and_then(char::from_u32)
            .ok_or_else(|| format!("\\{c}{hex} is no character"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::meta::apply_object;
    use super::*;
    use crate::store::model::DocumentMeta;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn front_matter_is_read() {
        let text = "---\n# a comment\ntitle: \"Sleep: a \\\"review\\\" \\u00e9\"\nauthors:\n  - Ada Smith\n  - 'O''Hara, Bo' # second\n\
                    year: 2021\npublished_date: 2021-03-04\nlanguage: en # BCP 47\nis_retracted: true\n\
                    references: [10.1000/A.1, https://example.org/x#part,\n  \"doi:10.1000/b\"]\nvenue: Journal of\n  Quiet Nights\n\
                    note: >\n  folded\n  text\ntags: {a: 1}\npmid: 007\n---\n# Body\n";
        let got = front_matter(text);
        assert_eq!(got.problems, Vec::<String>::new());
        assert_eq!(got.body, "# Body\n");
        assert_eq!(got.object["note"], json!("folded text"));
        let mut meta = DocumentMeta::default();
        assert_eq!(apply_object(&mut meta, &got.object), Vec::<String>::new());
        assert_eq!(meta.title.as_deref(), Some("Sleep: a \"review\" é"));
        assert_eq!(meta.authors, ["Ada Smith", "O'Hara, Bo"]);
        assert_eq!(
            (meta.year, meta.published_date.as_deref()),
            (Some(2021), Some("2021-03-04"))
        );
        assert_eq!(
            (meta.language.as_deref(), meta.pmid.as_deref()),
            (Some("en"), Some("007"))
        );
        assert_eq!(meta.venue.as_deref(), Some("Journal of Quiet Nights"));
        assert!(meta.is_retracted);
        let targets: Vec<_> = meta
            .references
            .iter()
            .map(|r| r.doi.as_deref().or(r.url.as_deref()).unwrap())
            .collect();
        assert_eq!(
            targets,
            ["10.1000/a.1", "https://example.org/x", "10.1000/b"]
        );
        assert!(meta.references.iter().all(|r| r.source == "reference_list"));
    }

    #[test]
    fn what_cannot_be_read_is_named_and_the_rest_is_kept() {
        let cases = [
            ("title: \"open\nyear: 2020", "title", "not closed"),
            ("year: &anchor 2020", "line 2: year", "not supported"),
            ("just words", "line 2", "expected `key: value`"),
            ("title:\n  deeper: 1", "line 2: title", "mapping"),
            ("authors:\n  - A\n words", "line 2: authors", "list item"),
            ("authors: [A, B", "line 2: authors", ""),
            ("title: \"a\" b", "line 2: title", "unexpected"),
        ];
        for (yaml, place, reason) in cases {
            let text = format!("---\n{yaml}\nurl: https://example.org/\n---\nbody");
            let got = front_matter(&text);
            assert_eq!(got.problems.len(), 1, "{yaml}: {:?}", got.problems);
            assert!(
                got.problems[0].contains(place) && got.problems[0].contains(reason),
                "{:?}",
                got.problems
            );
            assert_eq!(got.body, "body", "{yaml}");
        }
        for whole in ["---\nno end", "text\n---\n", "", "----\na: b\n---\n"] {
            assert_eq!(front_matter(whole).body, whole);
        }
    }

    #[test]
    fn lists_take_every_common_form() {
        let cases = [
            ("authors: Ada Smith; Bo Lee", json!(["Ada Smith", "Bo Lee"])),
            (
                "authors: [Ada Smith, {name: Bo Lee}]",
                json!(["Ada Smith", "Bo Lee"]),
            ),
            (
                "authors:\n- Ada Smith\n- name: Bo Lee\n  orcid: 0000-0001",
                json!(["Ada Smith", "Bo Lee"]),
            ),
            (
                "authors:\n\n  - given: Ada\n    family: Smith",
                json!(["Ada Smith"]),
            ),
            ("author: 山田 太郎", json!(["山田 太郎"])),
            ("authors:", json!([])),
        ];
        for (yaml, want) in cases {
            let text = format!("---\n{yaml}\n---\n");
            let got = front_matter(&text);
            let mut meta = DocumentMeta::default();
            assert_eq!(
                apply_object(&mut meta, &got.object),
                Vec::<String>::new(),
                "{yaml}"
            );
            assert_eq!(json!(meta.authors), want, "{yaml}");
            assert_eq!(got.problems, Vec::<String>::new(), "{yaml}");
        }
    }

    proptest! {
        #[test]
        fn any_front_matter_ends(text in "[-a:\\[\\]{}\"'# \\n>|&\\\\,x1é]{0,120}") {
            let text = format!("---\n{text}\n---\nrest");
            let got = front_matter(&text);
            prop_assert!(text.ends_with(got.body));
        }
    }
}
