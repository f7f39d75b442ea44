//! Downloads models from a hub with the API of the Hugging Face Hub, or from a mirror of it.
//!
//! A model is fetched only if a program requests it by name. Files are checked against the sizes
//! and digests that the hub lists. If a download fails, its folder is left to the caller, who
//! decides whether to keep it.

use crate::error::{Error, ErrorKind, Result};
use crate::store::text::hash::hex;
use crate::web::ApiKey;
use crate::web::web_client;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, Response, redirect};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::path::{Component, Path};
use std::time::Duration;
use url::Url;

/// The default hub.
pub const USUAL_HUB: &str = "https://huggingface.co";

/// Bytes of a listing; the largest repositories have some thousand files.
const LISTING_BYTES: usize = 16 * 1024 * 1024;

/// Maximum time without data from the hub. The total time of a large file is not limited.
const SILENCE: Duration = Duration::from_secs(60);

/// Settings files that are stored beside the graph.
const SETTINGS: [&str; 10] = [
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "README.md",
    "LICENSE",
    "LICENSE.txt",
];

/// A hub from which models can be fetched.
#[derive(Debug)]
pub struct ModelHub {
    client: Client,
    base: Url,
    key: Option<ApiKey>,
}

/// A model on a hub, and those of its files that are needed to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubModel {
    /// `OWNER/NAME`.
    pub repository: String,
    /// The commit that the files belong to.
    pub commit: String,
    /// The files needed to run it, starting with the graph.
    pub files: Vec<HubFile>,
}

/// A file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubFile {
    /// Its path in the repository, with parts separated by `/`.
    pub path: String,
    /// Its size, if the hub states it.
    pub bytes: Option<u64>,
    /// Its SHA-256 in hex, which hubs state for large files.
    pub sha256: Option<String>,
}

#[derive(Deserialize)]
struct Listing {
    #[serde(default)]
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    lfs: Option<LargeFile>,
}

#[derive(Deserialize)]
struct LargeFile {
    sha256: Option<String>,
    size: Option<u64>,
}

impl ModelHub {
    /// A hub at an address ([`USUAL_HUB`], or a mirror); `key` is for models that are not public.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the address is invalid.
    pub fn new(base: &str, key: Option<ApiKey>) -> Result<Self> {
        let wrong = |why: &str| {
            Error::invalid(format!("the address of the model hub {why}"))
                .with_hint(format!("for example {USUAL_HUB}"))
        };
        let mut base = Url::parse(base.trim()).map_err(|e| wrong(&format!("is not valid: {e}")))?;
        if !["http", "https"].contains(&base.scheme()) || base.host_str().is_none() {
            return Err(wrong("must begin with http:// or https://"));
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Ok(Self {
            client: client(base.scheme() == "https")?,
            base,
            key,
        })
    }

    /// Finds a model and the files that it needs. `graph` names the graph's file; if missing, it is
    /// `model.onnx`, `onnx/model.onnx`, or the only graph that there is.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if the hub has no such model or the model no such graph;
    /// [`ErrorKind::Backend`] if the hub cannot be reached.
    pub async fn find(
        &self,
        repository: &str,
        revision: &str,
        graph: Option<&str>,
    ) -> Result<HubModel> {
        check_repository(repository)?;
        if !is_name(revision) {
            return Err(
                Error::invalid(format!("{revision:?} is no revision of a model"))
                    .with_hint("expected the name of a branch or a tag, such as main, or a commit"),
            );
        }
        let url = self.url(&format!(
            "api/models/{repository}/revision/{revision}?blobs=true"
        ))?;
        let mut reply = self.get(url, repository).await?;
        let unread =
            |why: String| broken(format!("the listing of {repository} cannot be read: {why}"));
        let mut text = Vec::new();
        while let Some(chunk) = reply
            .chunk()
            .await
            .map_err(|e| unread(e.without_url().to_string()))?
        {
            text.extend_from_slice(&chunk);
            if text.len() > LISTING_BYTES {
                return Err(unread(format!("it is larger than {LISTING_BYTES} bytes")));
            }
        }
        let listing: Listing = serde_json::from_slice(&text).map_err(|why| {
            broken(format!(
                "the hub's listing of {repository} is not understood: {why}"
            ))
        })?;
        let commit = if listing.sha.is_empty() {
            revision.to_owned()
        } else {
            listing.sha
        };
        Ok(HubModel {
            repository: repository.to_owned(),
            commit,
            files: needed(repository, listing.siblings, graph)?,
        })
    }

    /// Fetches all files of a model into an existing, empty folder. `progress` is called with each
    /// file and the number of its bytes received so far.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] if a file cannot be fetched, or differs from the hub's listing; files
    /// that were already fetched are left.
    pub async fn download(
        &self,
        model: &HubModel,
        folder: &Path,
        progress: &mut (dyn FnMut(&HubFile, u64) + Send),
    ) -> Result<()> {
        for file in &model.files {
            let place = folder.join(&file.path);
            if let Some(parent) = place.parent() {
                std::fs::create_dir_all(parent).map_err(|e| unwritable(parent, &e))?;
            }
            let HubModel {
                repository, commit, ..
            } = model;
            let url = self.url(&format!("{repository}/resolve/{commit}/{}", file.path))?;
            let reply = self
                .get(url, &format!("{repository}/{}", file.path))
                .await?;
            save(reply, file, &place, progress).await?;
        }
        Ok(())
    }

    fn url(&self, path: &str) -> Result<Url> {
        let joined = self.base.join(path);
        joined.map_err(|why| Error::invalid(format!("{path:?} is no path on a hub: {why}")))
    }

    async fn get(&self, url: Url, what: &str) -> Result<Response> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let value = HeaderValue::from_str(&format!("Bearer {}", key.reveal()));
            let mut value = value.map_err(|_| Error::invalid("the hub's key is no header"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let sent = self.client.get(url).headers(headers).send().await;
        let reply = sent.map_err(|error| {
            broken(format!("{host} cannot be reached: {}", error.without_url()))
        })?;
        match reply.status().as_u16() {
            200..=299 => Ok(reply),
            404 => Err(Error::not_found(format!("{host} has no {what}"))
                .with_hint("check OWNER/NAME, the revision and the file on the hub's page")),
            401 | 403 => Err(Error::new(
                ErrorKind::Backend,
                format!("{host} does not show {what} to everybody, or does not have it"),
            )
            .with_hint(
                "check the name; for a model behind a licence, accept it there and set HF_TOKEN",
            )),
            code => Err(broken(format!("{host} answered {code} for {what}"))),
        }
    }
}

fn client(only_https: bool) -> Result<Client> {
    // Large files are served by other hosts; the key is not sent to another host.
    let builder = web_client::builder()
        .redirect(redirect::Policy::limited(5))
        .https_only(only_https)
        .connect_timeout(Duration::from_secs(20))
        .read_timeout(SILENCE);
    web_client::build(builder)
}

/// Names become parts of paths, so only the characters that hubs allow are accepted.
fn is_name(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with('.')
        && part
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn check_repository(name: &str) -> Result<()> {
    match name.split_once('/') {
        Some((owner, model)) if is_name(owner) && is_name(model) => Ok(()),
        _ => Err(Error::invalid(format!("{name:?} is no model of a hub"))
            .with_hint("expected OWNER/NAME, such as sentence-transformers/all-MiniLM-L6-v2")),
    }
}

/// The needed files, the graph first.
fn needed(repository: &str, siblings: Vec<Sibling>, graph: Option<&str>) -> Result<Vec<HubFile>> {
    let files: Vec<HubFile> = siblings
        .into_iter()
        .filter(|file| is_plain(&file.rfilename))
        .map(
            |Sibling {
                 rfilename,
                 size,
                 lfs,
             }| HubFile {
                path: rfilename,
                bytes: lfs.as_ref().and_then(|lfs| lfs.size).or(size),
                sha256: lfs.and_then(|lfs| lfs.sha256),
            },
        )
        .collect();
    let graph = choose_graph(repository, &files, graph)?;
    let beside = graph.rsplit_once('/').map_or("", |(folder, _)| folder);
    let wanted = |path: &str| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let settings = SETTINGS.contains(&name) && (folder.is_empty() || folder == beside);
        // The layers of a sentence encoder: 1_Pooling/config.json.
        let layer = name == "config.json"
            && folder.starts_with(|c: char| c.is_ascii_digit())
            && !folder.contains('/');
        let weights = path.strip_prefix(&graph);
        settings || layer || weights.is_some_and(|rest| rest.starts_with(['_', '.']))
    };
    let mut chosen: Vec<HubFile> = Vec::new();
    chosen.extend(files.iter().find(|file| file.path == graph).cloned());
    chosen.extend(files.iter().filter(|file| wanted(&file.path)).cloned());
    Ok(chosen)
}

fn choose_graph(repository: &str, files: &[HubFile], named: Option<&str>) -> Result<String> {
    let graphs: Vec<&str> = files
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| path.ends_with(".onnx"))
        .collect();
    let usual = ["model.onnx", "onnx/model.onnx"];
    let found = match named {
        Some(name) => [name.to_owned(), format!("onnx/{name}")]
            .into_iter()
            .find(|name| graphs.contains(&name.as_str())),
        None => match graphs.as_slice() {
            [one] => Some((*one).to_owned()),
            _ => usual
                .iter()
                .find(|name| graphs.contains(name))
                .map(|&name| name.to_owned()),
        },
    };
    found.ok_or_else(|| {
        let hint = match graphs.as_slice() {
            [] => {
                "export it: optimum-cli export onnx --model OWNER/NAME FOLDER, then add the folder"
                    .to_owned()
            }
            several => format!("its graphs: {}", several.join(", ")),
        };
        let what = named.unwrap_or("graph in ONNX");
        Error::not_found(format!("{repository} has no {what}")).with_hint(hint)
    })
}

/// Whether a path from the hub stays within the target folder.
fn is_plain(path: &str) -> bool {
    !path.contains(|c: char| c == '\\' || c.is_control())
        && Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

/// Writes a reply to a file and verifies it.
async fn save(
    mut reply: Response,
    file: &HubFile,
    place: &Path,
    progress: &mut (dyn FnMut(&HubFile, u64) + Send),
) -> Result<()> {
    let failed = |e: &std::io::Error| unwritable(place, e);
    let mut out = File::create_new(place).map_err(|e| failed(&e))?;
    let (mut digest, mut came) = (Sha256::new(), 0_u64);
    loop {
        let next = reply.chunk().await.map_err(|error| {
            broken(format!(
                "{} broke off after {came} bytes: {}",
                file.path,
                error.without_url()
            ))
        })?;
        let Some(chunk) = next else { break };
        came += chunk.len() as u64;
        if file.bytes.is_some_and(|bytes| came > bytes) {
            break;
        }
        digest.update(&chunk);
        out.write_all(&chunk).map_err(|e| failed(&e))?;
        progress(file, came);
    }
    out.sync_all().map_err(|e| failed(&e))?;
    if let Some(expected) = file.bytes.filter(|bytes| *bytes != came) {
        return Err(broken(format!(
            "{} does not have the size that the hub states: {expected} bytes expected, {came} \
             received",
            file.path
        )));
    }
    let found = hex(&digest.finalize());
    match &file.sha256 {
        Some(expected) if !expected.eq_ignore_ascii_case(&found) => Err(broken(format!(
            "{} is not the file that the hub lists: SHA-256 {expected} expected, {found} received",
            file.path
        ))),
        _ => Ok(()),
    }
}

fn broken(message: String) -> Error {
    let hint = "try again later, name a mirror with HF_ENDPOINT, or add a folder: \
                lyra-mcp models add FOLDER";
    Error::new(ErrorKind::Backend, message).with_hint(hint)
}

fn unwritable(place: &Path, error: &std::io::Error) -> Error {
    let message = format!("{} cannot be written: {error}", place.display());
    Error::new(ErrorKind::Storage, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn siblings(paths: &[&str]) -> Vec<Sibling> {
        let file = |path: &&str| Sibling {
            rfilename: (*path).to_owned(),
            size: Some(1),
            lfs: None,
        };
        paths.iter().map(file).collect()
    }

    fn chosen(paths: &[&str], graph: Option<&str>) -> Result<Vec<String>> {
        let files = needed("o/m", siblings(paths), graph)?;
        Ok(files.into_iter().map(|file| file.path).collect())
    }

    #[test]
    fn what_is_needed_is_chosen_and_nothing_else() {
        let minilm = [
            ".gitattributes",
            "1_Pooling/config.json",
            "README.md",
            "config.json",
            "model.safetensors",
            "modules.json",
            "onnx/model.onnx",
            "onnx/model_O4.onnx",
            "onnx/model_quint8_avx2.onnx",
            "openvino/openvino_model.bin",
            "openvino/config.json",
            "pytorch_model.bin",
            "tokenizer.json",
        ];
        let settings = [
            "1_Pooling/config.json",
            "README.md",
            "config.json",
            "modules.json",
            "tokenizer.json",
        ];
        for (graph, first) in [
            (None, "onnx/model.onnx"),
            (Some("model_O4.onnx"), "onnx/model_O4.onnx"),
            (Some("onnx/model_O4.onnx"), "onnx/model_O4.onnx"),
        ] {
            let mut expected = vec![first];
            expected.extend(settings);
            assert_eq!(chosen(&minilm, graph).expect("found"), expected);
        }
        let large = [
            "onnx/big.onnx",
            "onnx/big.onnx_data",
            "onnx/tokenizer.json",
            "config.json",
        ];
        assert_eq!(chosen(&large, None).expect("found"), large);
    }

    #[test]
    fn no_path_leaves_the_folder() {
        let hostile = [
            "model.onnx",
            "../config.json",
            "/config.json",
            "a\\..\\config.json",
            "1_x/../../config.json",
        ];
        assert_eq!(chosen(&hostile, None).expect("found"), ["model.onnx"]);
        for name in ["minilm", "a/b/c", "../x", "a/..", "a/b?x", "", "a/"] {
            let error = check_repository(name).expect_err(name);
            assert!(error.hint().is_some_and(|hint| hint.contains("OWNER/NAME")));
        }
        check_repository("sentence-transformers/all-MiniLM-L6-v2").expect("good");
    }

    #[test]
    fn a_model_without_the_graph_says_what_there_is() {
        let several = ["a.onnx", "b.onnx"];
        for (paths, graph, message, hint) in [
            (&several[..], None, "no graph in ONNX", "a.onnx, b.onnx"),
            (&several[..], Some("c.onnx"), "no c.onnx", "a.onnx, b.onnx"),
            (
                &["model.safetensors"][..],
                None,
                "no graph in ONNX",
                "optimum-cli export",
            ),
        ] {
            let error = chosen(paths, graph).expect_err(message);
            assert!(error.message().contains(message), "{error}");
            assert!(
                error.hint().is_some_and(|text| text.contains(hint)),
                "{error:?}"
            );
        }
    }
}
