//! The server's entry in a client's configuration file. Everything else in the file is unchanged.

use super::clients::Format;
use lyra_core::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The name under which clients know the server.
const NAME: &str = "lyra";

/// How a client starts the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) command: String,
    pub(super) arguments: Vec<String>,
}

impl Server {
    fn json(&self, typed: bool) -> Map<String, Value> {
        let mut entry = Map::new();
        if typed {
            entry.insert("type".into(), json!("stdio"));
        }
        entry.insert("command".into(), json!(self.command));
        entry.insert("args".into(), json!(self.arguments));
        entry
    }

    /// The text to add to a file by hand.
    pub(super) fn snippet(&self, format: Format) -> String {
        match format {
            Format::Json { key, typed } => {
                let whole = json!({ key: { NAME: self.json(typed) } });
                rendered(&whole, "  ")
            }
            // A JSON string is also a basic string in TOML.
            Format::Toml => {
                let arguments = self.arguments.iter().map(|one| json!(one).to_string());
                let arguments: Vec<String> = arguments.collect();
                format!(
                    "[mcp_servers.{NAME}]\ncommand = {}\nargs = [{}]\n",
                    json!(self.command),
                    arguments.join(", ")
                )
            }
        }
    }
}

/// Whether a file contains an entry for the server, with any content.
pub(super) fn is_in(format: Format, text: &str) -> bool {
    match format {
        Format::Json { key, .. } => {
            let root = serde_json::from_str::<Value>(&without_comments(text));
            root.is_ok_and(|root| root[key].get(NAME).is_some())
        }
        Format::Toml => text
            .parse::<toml::Table>()
            .is_ok_and(|table| toml_entry(&table).is_some()),
    }
}

/// The text of the file with the entry added; `None` if it already has that entry.
pub(super) fn added(
    file: &Path,
    format: Format,
    text: &str,
    server: &Server,
) -> Result<Option<String>> {
    let changed = match format {
        Format::Json { key, typed } => added_to_json(text, key, &server.json(typed)),
        Format::Toml => added_to_toml(text, server),
    };
    changed.map_err(|problem| {
        let snippet = server.snippet(format);
        Error::invalid(format!("{} {problem}; nothing was written", file.display()))
            .with_hint(format!("mend the file, or put this into it:\n{snippet}"))
    })
}

fn added_to_json(
    text: &str,
    key: &str,
    entry: &Map<String, Value>,
) -> std::result::Result<Option<String>, String> {
    let mut root = parsed(text)?;
    let Value::Object(fields) = &mut root else {
        return Err("holds no JSON object; expected one".to_owned());
    };
    let servers = fields.entry(key).or_insert_with(|| json!({}));
    let Value::Object(servers) = servers else {
        return Err(format!("has a {key:?} that is no object; expected one"));
    };
    match servers.get_mut(NAME) {
        None => {
            servers.insert(NAME.to_owned(), Value::Object(entry.clone()));
        }
        Some(Value::Object(own)) => {
            // Additions by the user to the entry, such as env, are kept.
            if entry
                .iter()
                .all(|(name, value)| own.get(name) == Some(value))
            {
                return Ok(None);
            }
            own.extend(entry.clone());
        }
        Some(_) => return Err(format!("has a {NAME:?} that is no object; expected one")),
    }
    let mut changed = rendered(&root, indent(text));
    if text.trim().is_empty() || text.ends_with('\n') {
        changed.push('\n');
    }
    if text.contains("\r\n") {
        changed = changed.replace('\n', "\r\n");
    }
    Ok(Some(changed))
}

/// The JSON of a file; an empty file counts as an empty object.
fn parsed(text: &str) -> std::result::Result<Value, String> {
    // Some editors write a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_str(text).map_err(|error| {
        match serde_json::from_str::<Value>(&without_comments(text)) {
            Ok(_) => "has comments or trailing commas, which would be lost".to_owned(),
            Err(_) => format!("is not valid JSON: {error}"),
        }
    })
}

/// The text without the comments and trailing commas that editors allow in settings files.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match (in_string, c, chars.peek()) {
            (true, '\\', Some(_)) => {
                plain.push(c);
                plain.extend(chars.next());
                continue;
            }
            (_, '"', _) => in_string = !in_string,
            (false, '/', Some('/')) => {
                while chars.next_if(|c| *c != '\n').is_some() {}
                continue;
            }
            (false, '/', Some('*')) => {
                let mut last = ' ';
                chars.next();
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                continue;
            }
            (false, '}' | ']', _) => {
                let kept = plain.trim_end();
                if let Some(kept) = kept.strip_suffix(',') {
                    plain.truncate(kept.len());
                }
            }
            _ => {}
        }
        plain.push(c);
    }
    plain
}

fn rendered(value: &Value, indent: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Serialising a JSON value to memory does not fail.
    let _ = value.serialize(&mut serializer);
    String::from_utf8(bytes).unwrap_or_default()
}

/// The indentation of the first indented line of a file.
fn indent(text: &str) -> &str {
    let indents = text.lines().filter_map(|line| {
        let end = line.find(|c| c != ' ' && c != '\t')?;
        (end > 0).then(|| &line[..end])
    });
    indents.into_iter().next().unwrap_or("  ")
}

fn toml_entry(table: &toml::Table) -> Option<&toml::Value> {
    table.get("mcp_servers")?.as_table()?.get(NAME)
}

/// A table is appended, so that comments and order are kept; an existing one is not changed.
fn added_to_toml(text: &str, server: &Server) -> std::result::Result<Option<String>, String> {
    let parse = |text: &str| text.parse::<toml::Table>();
    let table = parse(text).map_err(|error| format!("is not valid TOML: {}", error.message()))?;
    if let Some(entry) = toml_entry(&table) {
        return match is_same(entry, server) {
            true => Ok(None),
            false => Err(format!(
                "has another [mcp_servers.{NAME}]; expected the one below"
            )),
        };
    }
    let mut changed = text.to_owned();
    if !changed.is_empty() && !changed.ends_with('\n') {
        changed.push('\n');
    }
    if !changed.is_empty() {
        changed.push('\n');
    }
    changed.push_str(&server.snippet(Format::Toml));
    // An inline table, for example, cannot be extended from outside.
    let is_good = parse(&changed)
        .is_ok_and(|table| toml_entry(&table).is_some_and(|entry| is_same(entry, server)));
    match is_good {
        true => Ok(Some(changed)),
        false => Err("has an \"mcp_servers\" to which no table can be added".to_owned()),
    }
}

fn is_same(entry: &toml::Value, server: &Server) -> bool {
    let arguments = entry.get("args").and_then(toml::Value::as_array);
    let arguments: Option<Vec<&str>> =
        arguments.and_then(|list| list.iter().map(toml::Value::as_str).collect());
    entry.get("command").and_then(toml::Value::as_str) == Some(&server.command)
        && arguments.unwrap_or_default() == server.arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: Format = Format::Json {
        key: "mcpServers",
        typed: false,
    };

    fn server() -> Server {
        Server {
            command: "/opt/it's \"lyra\"".to_owned(),
            arguments: vec!["--db".to_owned(), "C:\\a b\\論文.db".to_owned()],
        }
    }

    fn add(format: Format, text: &str) -> Result<Option<String>> {
        added(Path::new("/x/file"), format, text, &server())
    }

    #[test]
    fn other_entries_order_and_indent_stay() {
        let text = "{\n\t\"z\": 1.0,\n\t\"mcpServers\": {\n\t\t\"other\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t},\n\t\"a\": 18446744073709551615\n}";
        let changed = add(JSON, text).expect("good").expect("changed");
        assert!(changed.starts_with("{\n\t\"z\": 1.0,\n\t\"mcpServers\": {\n\t\t\"other\""));
        assert!(
            changed.ends_with("\n\t\"a\": 18446744073709551615\n}"),
            "{changed}"
        );
        let value: Value = serde_json::from_str(&changed).expect("JSON");
        assert_eq!(
            value["mcpServers"]["lyra"]["args"],
            json!(server().arguments)
        );
        assert_eq!(add(JSON, &changed).expect("good"), None, "twice is once");
        let windows = add(JSON, "{\r\n  \"a\": 1\r\n}\r\n")
            .expect("good")
            .expect("changed");
        assert!(!windows.replace("\r\n", "").contains('\n') && windows.ends_with("}\r\n"));
    }

    #[test]
    fn an_entry_that_differs_is_brought_up_to_date_and_keeps_what_was_added() {
        let text = json!({"mcpServers": {"lyra": {"command": "old", "env": {"LYRA_LLM": "x"}}}});
        let changed = add(JSON, &text.to_string())
            .expect("good")
            .expect("changed");
        let value: Value = serde_json::from_str(&changed).expect("JSON");
        let entry = &value["mcpServers"]["lyra"];
        assert_eq!(entry["command"], server().command);
        assert_eq!(entry["env"], json!({"LYRA_LLM": "x"}));
    }

    #[test]
    fn a_file_that_cannot_be_kept_whole_is_refused_with_what_to_paste() {
        for (format, text, words) in [
            (JSON, "{ // mine\n}", "has comments"),
            (
                JSON,
                "{\"a\": \"//\", /* x */ \"b\": [1,],}",
                "has comments",
            ),
            (JSON, "{\"a\": ", "is not valid JSON"),
            (JSON, "[]", "holds no JSON object"),
            (JSON, "{\"mcpServers\": []}", "that is no object"),
            (JSON, "{\"mcpServers\": {\"lyra\": 1}}", "that is no object"),
            (Format::Toml, "a = ", "is not valid TOML"),
            (Format::Toml, "mcp_servers = {}\n", "no table can be added"),
            (
                Format::Toml,
                "[mcp_servers.lyra]\ncommand = \"x\"\n",
                "has another",
            ),
        ] {
            let error = add(format, text).expect_err(text);
            assert!(
                error.message().contains(words),
                "{text}: {}",
                error.message()
            );
            assert!(error.message().contains("nothing was written"), "{text}");
            let hint = error.hint().expect("a hint");
            assert!(hint.contains("lyra") && hint.contains("--db"), "{hint}");
        }
    }

    #[test]
    fn a_table_is_appended_and_comments_stay() {
        for text in [
            "",
            "# mine\nmodel = \"x\"",
            "[mcp_servers.other]\ncommand = \"y\"\n",
        ] {
            let changed = add(Format::Toml, text).expect("good").expect("changed");
            assert!(changed.starts_with(text), "{changed}");
            let table: toml::Table = changed.parse().expect("TOML");
            assert!(is_same(toml_entry(&table).expect("an entry"), &server()));
            assert_eq!(add(Format::Toml, &changed).expect("good"), None);
        }
    }

    #[test]
    fn an_entry_is_seen_behind_comments() {
        let text = "{\n  // mine\n  \"mcpServers\": {\"lyra\": {\"command\": \"a//b\"},},\n}";
        assert!(is_in(JSON, text));
        assert!(!is_in(JSON, "{\"servers\": {\"lyra\": {}}}"));
        assert!(!is_in(JSON, "not json"));
        assert!(is_in(Format::Toml, "[mcp_servers.lyra]\n"));
    }
}
