//! Settings of the search services: which are asked, where, and where their keys come from.
//!
//! Keys stand in variables or files, never in `lyra.toml` itself and never on a command line.

use super::Global;
use lyra_core::store::text::names::nearest;
use lyra_core::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Keys of a `[provider.NAME]` table.
const SERVICE_KEYS: [&str; 4] = ["base_url", "key_env", "key_file", "requests_per_second"];

/// What the network feature makes of the settings.
#[cfg(feature = "http")]
pub(super) type Search = lyra_core::web::ProvidersConfig;
#[cfg(not(feature = "http"))]
pub(super) type Search = ();

/// What one source says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Layer {
    providers: Option<Vec<String>>,
    mailto: Option<String>,
    retractions_csv: Option<PathBuf>,
    services: BTreeMap<String, Service>,
}

#[derive(Debug, Default, PartialEq)]
struct Service {
    base_url: Option<String>,
    key_env: Option<String>,
    key_file: Option<PathBuf>,
    requests_per_second: Option<f64>,
}

/// What comes of it.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Resolved {
    pub(super) search: Search,
    pub(super) retractions_csv: Option<PathBuf>,
    /// What whoever started the program should know.
    pub(super) warnings: Vec<String>,
}

impl Layer {
    pub(super) fn overlay(&mut self, above: Self) {
        self.providers = above.providers.or(self.providers.take());
        self.mailto = above.mailto.or(self.mailto.take());
        self.retractions_csv = above.retractions_csv.or(self.retractions_csv.take());
        for (name, service) in above.services {
            let own = self.services.entry(name).or_default();
            own.base_url = service.base_url.or(own.base_url.take());
            own.key_env = service.key_env.or(own.key_env.take());
            own.key_file = service.key_file.or(own.key_file.take());
            own.requests_per_second = service.requests_per_second.or(own.requests_per_second);
        }
    }

    pub(super) fn of_flags(flags: &Global) -> Self {
        Self {
            providers: (!flags.provider.is_empty()).then(|| flags.provider.clone()),
            mailto: flags.mailto.clone(),
            retractions_csv: flags.retractions_csv.clone(),
            services: BTreeMap::new(),
        }
    }

    pub(super) fn of_env(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let text = |name: &str| match env(name).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(_)) => Err(Error::invalid(format!("{name}: expected text"))),
        };
        let list = text("LYRA_PROVIDERS")?.map(|list| {
            let names = list
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        });
        let mut services = BTreeMap::new();
        for name in known_names() {
            let base_url = text(&format!("LYRA_{}_BASE_URL", name.to_uppercase()))?;
            if base_url.is_some() {
                let service = Service {
                    base_url,
                    ..Service::default()
                };
                services.insert(name.to_owned(), service);
            }
        }
        Ok(Self {
            providers: list,
            mailto: text("LYRA_MAILTO")?,
            retractions_csv: env("LYRA_RETRACTIONS_CSV").map(PathBuf::from),
            services,
        })
    }

    pub(super) fn of_toml(table: &toml::Table, folder: &Path) -> Result<Self> {
        let providers = match table.get("providers") {
            None => None,
            Some(value) => Some(
                value
                    .as_array()
                    .and_then(|names| {
                        let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                        names.collect::<Option<Vec<_>>>()
                    })
                    .ok_or_else(|| wrong("providers", "an array of strings"))?,
            ),
        };
        let mut services = BTreeMap::new();
        if let Some(value) = table.get("provider") {
            let tables = value
                .as_table()
                .ok_or_else(|| wrong("provider", "a table"))?;
            for (name, service) in tables {
                let place = format!("provider.{name}");
                let service = service.as_table().ok_or_else(|| wrong(&place, "a table"))?;
                services.insert(name.clone(), service_of(service, &place, folder)?);
            }
        }
        Ok(Self {
            providers,
            mailto: string(table, "mailto", "mailto")?,
            retractions_csv: string(table, "retractions_csv", "retractions_csv")?
                .map(|path| folder.join(path)),
            services,
        })
    }

    /// Checks names and reads keys.
    pub(super) fn resolve(self, env: &dyn Fn(&str) -> Option<OsString>) -> Result<Resolved> {
        let mut warnings = Vec::new();
        let search = self.search(env, &mut warnings)?;
        Ok(Resolved {
            search,
            retractions_csv: self.retractions_csv,
            warnings,
        })
    }

    #[cfg(feature = "http")]
    fn search(
        &self,
        env: &dyn Fn(&str) -> Option<OsString>,
        warnings: &mut Vec<String>,
    ) -> Result<Search> {
        use lyra_core::web::{ProviderKind, ServiceConfig};
        let names = self.providers.as_deref().unwrap_or_default();
        let mut search = Search {
            enabled: names.iter().map(|name| kind(name)).collect::<Result<_>>()?,
            mailto: self.mailto.clone(),
            ..Search::default()
        };
        let mut services: BTreeMap<ProviderKind, &Service> = BTreeMap::new();
        for (name, service) in &self.services {
            services.insert(kind(name)?, service);
        }
        let nothing = Service::default();
        for kind in ProviderKind::ALL {
            let service = services.get(&kind).copied().unwrap_or(&nothing);
            let is_enabled = search.enabled.contains(&kind);
            let key = if is_enabled {
                key_of(kind.name(), service, env, warnings)?
            } else {
                None
            };
            search.services.insert(
                kind,
                ServiceConfig {
                    base_url: service.base_url.clone(),
                    key,
                    requests_per_second: service.requests_per_second,
                },
            );
        }
        Ok(search)
    }

    #[cfg(not(feature = "http"))]
    fn search(
        &self,
        _env: &dyn Fn(&str) -> Option<OsString>,
        _warnings: &mut Vec<String>,
    ) -> Result<Search> {
        match self.providers.as_deref() {
            None | Some([]) => Ok(()),
            Some(_) => Err(Error::invalid("providers: this build asks no services")
                .with_hint("build with the http feature, or leave providers empty")),
        }
    }
}

#[cfg(feature = "http")]
fn kind(name: &str) -> Result<lyra_core::web::ProviderKind> {
    name.parse().map_err(|error: Error| {
        let known = known_names();
        match nearest(name, known).first() {
            Some(near) => error.with_hint(format!("did you mean {near:?}?")),
            None => error,
        }
    })
}

fn known_names() -> Vec<&'static str> {
    #[cfg(feature = "http")]
    let names = lyra_core::web::ProviderKind::ALL
        .map(|kind| kind.name())
        .to_vec();
    #[cfg(not(feature = "http"))]
    let names = Vec::new();
    names
}

/// The key of a service: out of the variable or the file that the settings name, else out of
/// `LYRA_<NAME>_KEY`.
#[cfg(feature = "http")]
fn key_of(
    name: &str,
    service: &Service,
    env: &dyn Fn(&str) -> Option<OsString>,
    warnings: &mut Vec<String>,
) -> Result<Option<lyra_core::web::ApiKey>> {
    use lyra_core::web::ApiKey;
    if let Some(path) = &service.key_file {
        let place = path.display().to_string();
        let key = std::fs::read_to_string(path)
            .map_err(|error| Error::invalid(format!("provider {name}: {place}: {error}")))?;
        if is_open_to_others(path) {
            warnings.push(format!(
                "{place} holds a key and others may read it; chmod 600 closes it"
            ));
        }
        let key = ApiKey::new(place, key);
        return key
            .map(Some)
            .map_err(|e| e.context(format!("provider {name}")));
    }
    let usual = format!("LYRA_{}_KEY", name.to_uppercase());
    let variable = service.key_env.clone().unwrap_or(usual);
    match env(&variable).map(OsString::into_string) {
        Some(Ok(key)) => ApiKey::new(variable, key).map(Some),
        Some(Err(_)) => Err(Error::invalid(format!("{variable}: expected text"))),
        None => {
            if service.key_env.is_some() {
                warnings.push(format!(
                    "provider {name}: {variable} is not set, so it has no key"
                ));
            }
            Ok(None)
        }
    }
}

#[cfg(all(feature = "http", unix))]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
}

#[cfg(all(feature = "http", not(unix)))]
fn is_open_to_others(_path: &Path) -> bool {
    false
}

fn service_of(table: &toml::Table, place: &str, folder: &Path) -> Result<Service> {
    if let Some(key) = table
        .keys()
        .find(|key| !SERVICE_KEYS.contains(&key.as_str()))
    {
        let known = SERVICE_KEYS.join(", ");
        let error = Error::invalid(format!(
            "key {:?} is not known; expected one of {known}",
            format!("{place}.{key}")
        ));
        let hint = match key.as_str() {
            "key" | "api_key" | "token" => Some(
                "a key stands in a variable (key_env) or in a file of its own (key_file)"
                    .to_owned(),
            ),
            _ => nearest(key, SERVICE_KEYS)
                .first()
                .map(|near| format!("did you mean {near:?}?")),
        };
        return Err(match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        });
    }
    let text = |key: &str| string(table, key, &format!("{place}.{key}"));
    let requests_per_second = match table.get("requests_per_second") {
        None => None,
        Some(toml::Value::Float(rate)) => Some(*rate),
        Some(toml::Value::Integer(rate)) => i32::try_from(*rate).ok().map(f64::from),
        Some(_) => return Err(wrong(&format!("{place}.requests_per_second"), "a number")),
    };
    Ok(Service {
        base_url: text("base_url")?,
        key_env: text("key_env")?,
        key_file: text("key_file")?.map(|path| folder.join(path)),
        requests_per_second,
    })
}

fn string(table: &toml::Table, key: &str, place: &str) -> Result<Option<String>> {
    match table.get(key) {
        None => Ok(None),
        Some(toml::Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(place, "a string")),
    }
}

fn wrong(key: &str, expected: &str) -> Error {
    Error::invalid(format!(
        "key {key:?} has the wrong type; expected {expected}"
    ))
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use super::*;
    use lyra_core::web::ProviderKind;

    fn resolve(
        file: &str,
        env: &[(&str, &str)],
        flags: &Global,
        folder: &Path,
    ) -> Result<Resolved> {
        let value = |name: &str| {
            let found = env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let table: toml::Table = file.parse().expect("TOML");
        let mut layer = Layer::of_toml(&table, folder)?;
        layer.overlay(Layer::of_env(&value)?);
        layer.overlay(Layer::of_flags(flags));
        layer.resolve(&value)
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
