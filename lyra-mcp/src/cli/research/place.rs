//! The paths and commands shown to the user.

use serde_json::json;
use std::path::{Path, PathBuf};

/// The graph, its documents and its page.
#[derive(Debug)]
pub(in crate::cli) struct Place {
    db: PathBuf,
    corpus: Vec<PathBuf>,
    /// The evidence page, if one was written.
    pub(super) page: Option<PathBuf>,
    /// Whether the documents are those that ship with the project.
    pub(super) is_example: bool,
    /// What starts this program: its own file, or Python with the module that contains it.
    program: Vec<String>,
    working_folder: Option<PathBuf>,
}

impl Place {
    pub(super) fn new(db: &Path, corpus: &[PathBuf], page: Option<PathBuf>) -> Self {
        Self {
            db: absolute(db),
            corpus: corpus.iter().map(|folder| absolute(folder)).collect(),
            page,
            is_example: false,
            program: started_by(),
            working_folder: std::env::current_dir().ok(),
        }
    }

    /// The command that starts this program.
    pub(super) fn program(&self) -> String {
        let mut words: Vec<String> = self.program.iter().map(|word| self.typed(word)).collect();
        // A shell searches PATH for a bare name.
        if let Some(first) = words.first_mut()
            && !first.contains('/')
            && self.program[0].contains('/')
        {
            first.insert_str(0, "./");
        }
        words.join(" ")
    }

    /// ` --db PATH`.
    pub(super) fn db(&self) -> String {
        format!(" --db {}", self.typed(&self.db.display().to_string()))
    }

    /// ` --corpus DIR`, for each.
    pub(super) fn corpus(&self) -> String {
        let one =
            |folder: &PathBuf| format!(" --corpus {}", self.typed(&folder.display().to_string()));
        self.corpus.iter().map(one).collect()
    }

    /// A path as short as possible from the working folder, safe to paste into a shell.
    fn typed(&self, path: &str) -> String {
        let short = self
            .working_folder
            .as_deref()
            .and_then(|folder| Path::new(path).strip_prefix(folder).ok())
            .filter(|rest| !rest.as_os_str().is_empty())
            .map_or_else(|| path.to_owned(), |rest| rest.display().to_string());
        quoted(&short)
    }

    /// The entry for a client's configuration; the client has another working folder, so paths are
    /// absolute.
    pub(super) fn client_configuration(&self) -> String {
        let mut words = self.program.iter().cloned();
        let command = words.next();
        let mut arguments: Vec<String> = words.collect();
        arguments.extend(["--db".to_owned(), self.db.display().to_string()]);
        for folder in &self.corpus {
            arguments.extend(["--corpus".to_owned(), folder.display().to_string()]);
        }
        let config = json!({"mcpServers": {"lyra": {"command": command, "args": arguments}}});
        serde_json::to_string_pretty(&config).unwrap_or_default()
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What starts this program; programs that link in the command line set it.
pub(in crate::cli) fn started_by() -> Vec<String> {
    let own = || std::env::current_exe().unwrap_or_else(|_| PathBuf::from("lyra-mcp"));
    let launcher = crate::cli::LAUNCHER.get().cloned();
    launcher.unwrap_or_else(|| vec![own().display().to_string()])
}

/// A word for a POSIX shell.
pub(in crate::cli) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted_into_a_shell() {
        let place = Place {
            db: "/home/ada/it's mine/a.db".into(),
            corpus: vec!["/home/ada/papers".into(), "/elsewhere/論文".into()],
            page: None,
            is_example: false,
            program: vec!["/home/ada/target/release/lyra-mcp".to_owned()],
            working_folder: Some("/home/ada".into()),
        };
        assert_eq!(place.program(), "target/release/lyra-mcp");
        assert_eq!(place.db(), " --db 'it'\\''s mine/a.db'");
        assert_eq!(place.corpus(), " --corpus papers --corpus /elsewhere/論文");
        let config: serde_json::Value =
            serde_json::from_str(&place.client_configuration()).unwrap();
        assert_eq!(
            config["mcpServers"]["lyra"]["command"],
            "/home/ada/target/release/lyra-mcp"
        );
        assert_eq!(
            config["mcpServers"]["lyra"]["args"][1],
            "/home/ada/it's mine/a.db"
        );
        assert!(started_by()[0].contains("lyra"));
    }
}
