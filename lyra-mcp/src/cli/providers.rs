//! Settings of the search services: which are queried, at which address, and the origin of their
//! keys.
//!
//! Keys are in variables or files, never in `lyra.toml` itself and never on a command line.

use super::sources::Sources;
use super::sources::shown;
use lyra_core::store::text::names::nearest;
use lyra_core::web::{ProviderKind, ProvidersConfig, ServiceConfig};
use lyra_core::{Error, Result};
use std::path::PathBuf;

/// Keys of a `[provider.NAME]` table.
const SERVICE_KEYS: [&str; 4] = ["base_url", "key_env", "key_file", "requests_per_second"];

/// The resolved settings.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Resolved {
    pub(super) search: ProvidersConfig,
    pub(super) retractions_csv: Option<PathBuf>,
    /// Warnings for the user who started the program.
    pub(super) warnings: Vec<String>,
}

/// The effective settings: names are checked, and the keys of the enabled services are read.
pub(super) fn settle(sources: Sources<'_>) -> Result<Resolved> {
    let mut warnings = Vec::new();
    let search = search(sources, &mut warnings)?;
    Ok(Resolved {
        search,
        retractions_csv: sources.path("retractions_csv")?,
        warnings,
    })
}

fn search(sources: Sources<'_>, warnings: &mut Vec<String>) -> Result<ProvidersConfig> {
    let names = sources.list("providers")?.unwrap_or_default();
    let mut search = ProvidersConfig {
        enabled: names.iter().map(|name| kind(name)).collect::<Result<_>>()?,
        mailto: sources.text("mailto")?,
        ..ProvidersConfig::default()
    };
    let nothing = toml::Table::new();
    let tables = services(sources)?;
    for kind in ProviderKind::ALL {
        let name = kind.name();
        let table = tables.iter().find(|(known, _)| *known == kind);
        let table = table.map_or(&nothing, |(_, table)| table);
        let within = format!("provider.{name}.");
        let service = sources.section(table, &within);
        let base_url = sources.secret(&format!("LYRA_{}_BASE_URL", name.to_uppercase()))?;
        let in_file = service.text("base_url")?;
        let is_enabled = search.enabled.contains(&kind);
        let key = match is_enabled {
            true => key_of(name, sources, service, warnings)?,
            false => None,
        };
        search.services.insert(
            kind,
            ServiceConfig {
                base_url: base_url.or(in_file),
                key,
                requests_per_second: service.real("requests_per_second")?,
            },
        );
    }
    Ok(search)
}

/// The tables of the file that configure a service.
fn services<'s>(sources: Sources<'s>) -> Result<Vec<(ProviderKind, &'s toml::Table)>> {
    let Some(value) = sources.key("provider") else {
        return Ok(Vec::new());
    };
    let wrong = || sources.file().wrong("provider", "a table");
    let mut services = Vec::new();
    for (name, table) in value.as_table().ok_or_else(wrong)? {
        let place = format!("provider.{name}");
        let wrong = || {
            let given = shown(table);
            Error::invalid(format!("key {place:?} is {given}; expected a table"))
        };
        let table = table.as_table().ok_or_else(wrong)?;
        check_keys(table, &place)?;
        services.push((kind(name)?, table));
    }
    Ok(services)
}

fn kind(name: &str) -> Result<ProviderKind> {
    name.parse().map_err(|error: Error| {
        let known = known_names();
        match nearest(name, known).first() {
            Some(near) => error.with_hint(format!("did you mean {near:?}?")),
            None => error,
        }
    })
}

fn known_names() -> Vec<&'static str> {
    let all = ProviderKind::ALL;
    all.map(|kind| kind.name()).to_vec()
}

/// The key of a service: from the variable or the file that the settings name, otherwise from
/// `LYRA_<NAME>_KEY`.
fn key_of(
    name: &str,
    sources: Sources<'_>,
    service: Sources<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<lyra_core::web::ApiKey>> {
    use lyra_core::web::ApiKey;
    if let Some(path) = service.path("key_file")? {
        let place = path.display().to_string();
        let key = std::fs::read_to_string(&path)
            .map_err(|error| Error::invalid(format!("provider {name}: {place}: {error}")))?;
        if super::keys::others_may_read(&path) {
            warnings.push(format!(
                "{place} holds a key and others may read it; chmod 600 makes it readable only to \
                 you"
            ));
        }
        let key = ApiKey::new(place, key);
        return key
            .map(Some)
            .map_err(|e| e.context(format!("provider {name}")));
    }
    let usual = format!("LYRA_{}_KEY", name.to_uppercase());
    let named = service.text("key_env")?;
    let is_named = named.is_some();
    let variable = named.unwrap_or(usual);
    let key = sources.secret(&variable)?;
    if key.is_none() && is_named {
        warnings.push(format!(
            "provider {name}: {variable} is not set, so it has no key"
        ));
    }
    key.map(|key| ApiKey::new(variable, key)).transpose()
}

/// Refuses unknown keys in the table of a service.
fn check_keys(table: &toml::Table, place: &str) -> Result<()> {
    let is_known = |key: &&String| SERVICE_KEYS.contains(&key.as_str());
    let Some(key) = table.keys().find(|key| !is_known(key)) else {
        return Ok(());
    };
    let known = SERVICE_KEYS.join(", ");
    let error = Error::invalid(format!(
        "key {:?} is not known; expected one of {known}",
        format!("{place}.{key}")
    ));
    let hint = match key.as_str() {
        "key" | "api_key" | "token" => Some(
            "a key stands in a variable (key_env) or in a file of its own (key_file)".to_owned(),
        ),
        _ => nearest(key, SERVICE_KEYS)
            .first()
            .map(|near| format!("did you mean {near:?}?")),
    };
    Err(match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Global;
    use super::super::sources::settled;
    use super::*;
    use std::path::Path;

    fn resolve(
        file: &str,
        env: &[(&str, &str)],
        flags: &Global,
        folder: &Path,
    ) -> Result<Resolved> {
        let folder = folder.to_str().expect("text");
        settled((file, folder), env, flags, settle)
    }

    #[test]
    fn nothing_is_asked_unless_it_is_named() {
        let resolved = resolve("", &[], &Global::default(), Path::new("")).expect("good");
        assert!(resolved.search.enabled.is_empty() && resolved.warnings.is_empty());
    }

    #[test]
    fn the_later_source_wins_and_keys_stay_hidden() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("s2.key"), "file-secret\n").expect("written");
        let file = "providers = [\"openalex\", \"semantic_scholar\", \"brave\"]\n\
            mailto = \"a@example.org\"\nretractions_csv = \"r.csv\"\n\
            [provider.semantic_scholar]\nkey_file = \"s2.key\"\nrequests_per_second = 2\n\
            [provider.openalex]\nbase_url = \"http://file.example\"\nkey_env = \"MY_KEY\"\n";
        let env = [
            ("LYRA_BRAVE_KEY", "env-secret"),
            ("LYRA_OPENALEX_BASE_URL", "http://env.example"),
            ("LYRA_MAILTO", "b@example.org"),
        ];
        let flags = Global {
            mailto: Some("c@example.org".to_owned()),
            ..Global::default()
        };
        let resolved = resolve(file, &env, &flags, folder.path()).expect("good");
        let search = &resolved.search;
        assert_eq!(search.enabled.len(), 3);
        assert_eq!(search.mailto.as_deref(), Some("c@example.org"));
        assert_eq!(resolved.retractions_csv, Some(folder.path().join("r.csv")));
        let openalex = &search.services[&ProviderKind::OpenAlex];
        assert_eq!(openalex.base_url.as_deref(), Some("http://env.example"));
        let origin = |kind| {
            search.services[&kind]
                .key
                .as_ref()
                .map(|key| key.origin().to_owned())
        };
        assert_eq!(
            origin(ProviderKind::Brave).as_deref(),
            Some("LYRA_BRAVE_KEY")
        );
        assert!(
            origin(ProviderKind::SemanticScholar)
                .expect("a key")
                .ends_with("s2.key")
        );
        assert_eq!(origin(ProviderKind::OpenAlex), None);
        let said = resolved.warnings.join("\n");
        assert!(said.contains("MY_KEY is not set"), "{said}");
        if cfg!(unix) {
            assert!(said.contains("others may read it"), "{said}");
        }
        let shown = format!("{resolved:?}");
        assert!(!shown.contains("secret"), "{shown}");
        let flags = Global {
            provider: vec!["arxiv".to_owned()],
            ..Global::default()
        };
        let resolved = resolve(file, &env, &flags, folder.path()).expect("good");
        assert_eq!(resolved.search.enabled, [ProviderKind::Arxiv]);
        assert!(
            resolved.warnings.is_empty(),
            "no key is read for what is not asked"
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, message, hint) in [
            (
                "providers = [\"opnalex\"]",
                "no provider \"opnalex\"",
                Some("did you mean \"openalex\"?"),
            ),
            (
                "providers = \"openalex\"",
                "expected an array of strings",
                None,
            ),
            ("provider = 1", "expected a table", None),
            (
                "[provider.brave]\nkey = \"x\"",
                "\"provider.brave.key\" is not known",
                Some("a key stands in a variable (key_env) or in a file of its own (key_file)"),
            ),
            (
                "[provider.brave]\nbase_ur = \"x\"",
                "not known",
                Some("did you mean \"base_url\"?"),
            ),
            (
                "[provider.altavista]\nbase_url = \"x\"",
                "no provider \"altavista\"",
                None,
            ),
            ("mailto = 3", "expected a string", None),
            (
                "providers = [\"brave\"]\n[provider.brave]\nkey_file = \"nowhere\"",
                "nowhere",
                None,
            ),
        ] {
            let error = resolve(file, &[], &Global::default(), Path::new("")).expect_err(file);
            assert!(error.message().contains(message), "{file}: {error}");
            assert_eq!(error.hint(), hint, "{file}");
        }
    }
}
