//! The supported clients, and the locations of their configuration files.

use lyra_core::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A client of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    #[value(name = "vscode")]
    VsCode,
    Zed,
    Codex,
}

/// How a client's configuration lists its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// An object of servers under this key; `typed` entries state that the server is started by the
    /// client and uses standard input and output.
    Json { key: &'static str, typed: bool },
    /// Tables `[mcp_servers.NAME]`.
    Toml,
}

impl Client {
    pub(super) const ALL: [Self; 6] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Zed,
        Self::Codex,
    ];

    /// Its name on the command line.
    pub(in crate::cli) const fn name(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Zed => "zed",
            Self::Codex => "codex",
        }
    }

    pub(super) const fn format(self) -> Format {
        let (key, typed) = match self {
            Self::ClaudeDesktop | Self::Cursor => ("mcpServers", false),
            Self::ClaudeCode => ("mcpServers", true),
            Self::VsCode => ("servers", true),
            Self::Zed => ("context_servers", false),
            Self::Codex => return Format::Toml,
        };
        Format::Json { key, typed }
    }
}

/// The operating system, as far as the locations depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum System {
    Mac,
    Windows,
    Other,
}

impl System {
    pub(in crate::cli) const fn here() -> Self {
        if cfg!(target_os = "macos") {
            Self::Mac
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Other
        }
    }
}

/// The locations of configurations, from the variables that define them.
pub(in crate::cli) struct Places<'a> {
    pub(in crate::cli) system: System,
    pub(in crate::cli) env: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Places<'_> {
    /// The client's user-wide configuration file.
    pub(super) fn of_user(&self, client: Client) -> Result<PathBuf> {
        Ok(match client {
            Client::ClaudeDesktop => self
                .applications()?
                .join("Claude")
                .join("claude_desktop_config.json"),
            Client::ClaudeCode => self.home()?.join(".claude.json"),
            Client::Cursor => self.home()?.join(".cursor").join("mcp.json"),
            Client::VsCode => self
                .applications()?
                .join("Code")
                .join("User")
                .join("mcp.json"),
            Client::Zed => self.zed()?.join("settings.json"),
            Client::Codex => self.codex()?.join("config.toml"),
        })
    }

    /// The client's configuration file for one project.
    pub(super) fn of_project(client: Client, project: &Path) -> Result<PathBuf> {
        let file = match client {
            Client::ClaudeDesktop => {
                return Err(
                    Error::invalid("claude-desktop has no configuration for a project")
                        .with_hint("leave --project out, or name another client"),
                );
            }
            Client::ClaudeCode => ".mcp.json",
            Client::Cursor => ".cursor/mcp.json",
            Client::VsCode => ".vscode/mcp.json",
            Client::Zed => ".zed/settings.json",
            Client::Codex => ".codex/config.toml",
        };
        if !project.is_dir() {
            return Err(
                Error::invalid(format!("{} is not a folder", project.display()))
                    .with_hint("--project names the folder of a project"),
            );
        }
        Ok(project.join(file))
    }

    /// Whether the client seems to be installed: its file or its folder exists.
    pub(super) fn has(&self, client: Client) -> bool {
        let Ok(file) = self.of_user(client) else {
            return false;
        };
        let folder = match client {
            Client::ClaudeCode => file.with_extension(""),
            Client::VsCode => file
                .parent()
                .and_then(Path::parent)
                .map_or(file.clone(), Path::to_owned),
            _ => file.parent().map_or(file.clone(), Path::to_owned),
        };
        file.exists() || folder.is_dir()
    }

    fn folder(&self, variable: &str) -> Option<PathBuf> {
        (self.env)(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }

    fn home(&self) -> Result<PathBuf> {
        let variable = match self.system {
            System::Windows => "USERPROFILE",
            System::Mac | System::Other => "HOME",
        };
        self.folder(variable).ok_or_else(|| {
            Error::invalid(format!("{variable} does not name a folder"))
                .with_hint("set it to your home folder, or give --project DIR")
        })
    }

    /// The folder in which applications store their settings.
    fn applications(&self) -> Result<PathBuf> {
        match self.system {
            System::Mac => Ok(self.home()?.join("Library").join("Application Support")),
            System::Windows => self
                .folder("APPDATA")
                .map_or_else(|| Ok(self.home()?.join("AppData").join("Roaming")), Ok),
            System::Other => self
                .folder("XDG_CONFIG_HOME")
                .map_or_else(|| Ok(self.home()?.join(".config")), Ok),
        }
    }

    fn zed(&self) -> Result<PathBuf> {
        match self.system {
            System::Mac => Ok(self.home()?.join(".config").join("zed")),
            System::Windows => Ok(self.applications()?.join("Zed")),
            System::Other => Ok(self.applications()?.join("zed")),
        }
    }

    fn codex(&self) -> Result<PathBuf> {
        self.folder("CODEX_HOME")
            .map_or_else(|| Ok(self.home()?.join(".codex")), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_system_has_its_places() {
        let env = |name: &str| {
            let value = match name {
                "HOME" | "USERPROFILE" => "/home/ada",
                "APPDATA" => "/home/ada/AppData/Roaming",
                _ => return None,
            };
            Some(OsString::from(value))
        };
        let of = |system, client| {
            let file = Places { system, env: &env }
                .of_user(client)
                .expect("a place");
            file.to_string_lossy().replace('\\', "/")
        };
        use Client::{ClaudeCode, ClaudeDesktop, Codex, Cursor, VsCode, Zed};
        use System::{Mac, Other, Windows};
        for (system, client, expected) in [
            (
                Mac,
                ClaudeDesktop,
                "Library/Application Support/Claude/claude_desktop_config.json",
            ),
            (
                Windows,
                ClaudeDesktop,
                "AppData/Roaming/Claude/claude_desktop_config.json",
            ),
            (
                Other,
                ClaudeDesktop,
                ".config/Claude/claude_desktop_config.json",
            ),
            (Mac, ClaudeCode, ".claude.json"),
            (Windows, ClaudeCode, ".claude.json"),
            (Other, Cursor, ".cursor/mcp.json"),
            (
                Mac,
                VsCode,
                "Library/Application Support/Code/User/mcp.json",
            ),
            (Windows, VsCode, "AppData/Roaming/Code/User/mcp.json"),
            (Other, VsCode, ".config/Code/User/mcp.json"),
            (Mac, Zed, ".config/zed/settings.json"),
            (Windows, Zed, "AppData/Roaming/Zed/settings.json"),
            (Other, Codex, ".codex/config.toml"),
        ] {
            assert_eq!(
                of(system, client),
                format!("/home/ada/{expected}"),
                "{system:?}"
            );
        }
    }

    #[test]
    fn variables_move_the_places() {
        let env = |name: &str| match name {
            "XDG_CONFIG_HOME" => Some(OsString::from("/xdg")),
            "CODEX_HOME" => Some(OsString::from("/codex")),
            "HOME" => Some(OsString::from("not absolute")),
            _ => None,
        };
        let places = Places {
            system: System::Other,
            env: &env,
        };
        let of = |client| places.of_user(client);
        assert_eq!(
            of(Client::Zed).expect("a place"),
            Path::new("/xdg/zed/settings.json")
        );
        assert_eq!(
            of(Client::Codex).expect("a place"),
            Path::new("/codex/config.toml")
        );
        let error = of(Client::Cursor).expect_err("no home");
        assert!(error.message().contains("HOME"), "{error:?}");
    }
}
