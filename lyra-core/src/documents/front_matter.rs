//! YAML front matter of Markdown files.

use super::meta::short;
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

/// Maximum length of front matter, in bytes.
const MAX_FRONT_MATTER: usize = 64 * 1024;

/// Maximum depth of lists and mappings.
const DEEPEST: u8 = 5;

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

/// Splits off YAML front matter: `---`, keys, `---` or `...`. Aliases are reported as problems.
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
            let (object, problems) = read(&start[..offset]);
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

/// The keys with their values, and what could not be read. Each key is read on its own, so that an
/// error costs only the key in which it occurs.
fn read(yaml: &str) -> (Map<String, Value>, Vec<String>) {
    let (mut object, mut problems) = (Map::new(), Vec::new());
    for entry in entries(yaml) {
        match entry.read() {
            Ok(read) => object.extend(read),
            Err(problem) => problems.push(format!("line {}: {problem}", entry.line)),
        }
    }
    (object, problems)
}

/// A key at the left margin and the lines that belong to it.
struct KeyWithLines {
    /// Number of its first line in the document, from 1.
    line: usize,
    yaml: String,
}

fn entries(yaml: &str) -> Vec<KeyWithLines> {
    let mut entries: Vec<KeyWithLines> = Vec::new();
    for (number, line) in yaml.lines().enumerate() {
        // An item of a list and a closing bracket may stand below their key without indentation.
        let continues = line.is_empty() || line.starts_with([' ', '\t', '#', '-', ']', '}']);
        match entries.last_mut() {
            // One more space keeps the relative indentation and sets these lines below their key.
            Some(entry) if continues => entry.yaml.push_str(&format!("\n {line}")),
            None if line.is_empty() || line.starts_with('#') => {}
            _ => entries.push(KeyWithLines {
                line: number + 2,
                yaml: line.to_owned(),
            }),
        }
    }
    entries
}

impl KeyWithLines {
    fn read(&self) -> Result<Map<String, Value>, String> {
        let named = |problem: String| match self.yaml.split_once(':') {
            Some((key, _)) => format!("{}: {problem}", short(key)),
            None => problem,
        };
        let mut events = Events(Parser::new_from_str(&self.yaml));
        let first = events.next().map_err(named)?;
        let Value::Object(object) = events.value(first, 0).map_err(named)? else {
            return Err("expected `key: value`".to_owned());
        };
        loop {
            match events.next().map_err(named)? {
                Event::StreamEnd => return Ok(object),
                Event::DocumentEnd => {}
                _ => return Err(named("there is more than one document".to_owned())),
            }
        }
    }
}

struct Events<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        loop {
            match self.0.next() {
                Some(Ok((Event::StreamStart | Event::DocumentStart(_), _))) => {}
                Some(Ok((event, _))) => return Ok(event),
                Some(Err(error)) => return Err(format!("not valid YAML: {}", error.info())),
                None => return Ok(Event::StreamEnd),
            }
        }
    }

    /// The value that begins with `event`.
    fn value(&mut self, event: Event<'a>, depth: u8) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err("lists or mappings are nested too deeply".to_owned());
        }
        match event {
            Event::Scalar(text, style, ..) => Ok(scalar(&text, style)),
            Event::SequenceStart(..) => self.list(depth),
            Event::MappingStart(..) => self.mapping(depth),
            Event::Alias(_) => Err("aliases are not supported".to_owned()),
            _ => Ok(Value::Null),
        }
    }

    fn list(&mut self, depth: u8) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(Value::Array(items)),
                event => items.push(self.value(event, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: u8) -> Result<Value, String> {
        let mut object = Map::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(Value::Object(object)),
                Event::Scalar(key, ..) => key.to_ascii_lowercase().replace('-', "_"),
                _ => return Err("a key must be a word".to_owned()),
            };
            let event = self.next()?;
            object.insert(key, self.value(event, depth + 1)?);
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    let text = text.trim();
    if style != ScalarStyle::Plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    // A number that is not in canonical form is an identifier (`007`).
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => Value::from(number),
        _ => Value::String(text.to_owned()),
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
            (
                "title: \"open\nyear: 2020",
                "line 2: title",
                "not valid YAML",
            ),
            ("year: [&a 2020, *a]", "line 2: year", "aliases"),
            ("just words", "line 2", "expected `key: value`"),
            ("title: [[[[[[[[A]]]]]]]]", "line 2: title", "too deeply"),
            (
                "authors:\n  - A\n words",
                "line 2: authors",
                "not valid YAML",
            ),
            ("authors: [A, B", "line 2: authors", "not valid YAML"),
            ("title: \"a\" b", "line 2: title", "not valid YAML"),
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
