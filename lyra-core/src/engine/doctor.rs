//! Reports what is configured, what works, and how to fix the rest.

use super::handle::Engine;
use crate::security::quoting::quoted;
use crate::store::database::mode_for_others;
use crate::store::views::BrokenView;
#[cfg(feature = "http")]
use crate::web::web_client;
use serde::Serialize;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// What was checked.
    pub name: String,
    /// Whether it works.
    pub ok: bool,
    /// What was found.
    pub detail: String,
    /// How to fix or improve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// Advice for a database that other users can read.
const PRIVATE: &str =
    "chmod 600 FILE makes it readable only to you; do the same for FILE-wal and FILE-shm";

impl Engine {
    /// Checks the database, the models, the corpus, the network fetcher and the views.
    pub fn doctor(&self) -> Vec<DoctorCheck> {
        let mut checks = vec![
            self.check_database(),
            self.check_models(),
            self.check_embedder(),
            self.check_search(),
        ];
        let exposed = self.exposure();
        checks.extend(exposed.map(|detail| check("database file", true, detail, Some(PRIVATE))));
        checks.extend(self.check_corpus());
        checks.extend(self.check_parser());
        checks.push(check_network());
        checks.extend(self.check_language_models());
        checks.extend(self.check_providers());
        checks.extend(self.check_retractions());
        checks.extend(self.check_views());
        checks
    }

    /// A warning if users other than the owner can read the database: it contains the cookies of
    /// sites that a human has logged in to. A new database is readable only by its owner.
    pub fn exposure(&self) -> Option<String> {
        let path = self.inner.graph.path();
        let mode = mode_for_others(path)?;
        Some(format!(
            "{} has the mode {mode:04o}: other users of this machine can read it and the login \
             cookies that it may contain",
            path.display()
        ))
    }

    /// Which models extract claims and judge them, and the addresses at which they are queried.
    fn check_language_models(&self) -> Vec<DoctorCheck> {
        let pipeline = &self.inner.pipeline;
        let extractor = (
            "claim extractor",
            pipeline.extractor.extractor_id(),
            pipeline.extractor.setup(),
            "a language model writes claims that can be understood on their own: llm = \
             \"ollama:MODEL\" or \"openai:MODEL\"; see docs/models.md",
        );
        let judge = (
            "stance judge",
            pipeline.judge.judge_id(),
            pipeline.judge.setup(),
            "a cross-encoder or a language model judges more precisely, but more slowly: judge = \
             \"onnx:FOLDER\", \"ollama:MODEL\" or \"openai:MODEL\"; see docs/judges.md",
        );
        let is_builtin = [pipeline.extractor.is_builtin(), pipeline.judge.is_builtin()];
        let parts = [extractor, judge].into_iter().zip(is_builtin);
        let checks = parts.map(|((name, id, setup, better), is_builtin)| {
            let detail = match (setup, is_builtin) {
                (Some(setup), _) => format!("{id} ({setup})"),
                (None, true) => format!("{id} (built-in)"),
                (None, false) => format!("{id} (configured)"),
            };
            check(name, true, detail, is_builtin.then_some(better))
        });
        checks.collect()
    }

    /// One check per service: its address, and whether it has a key, but never the key.
    fn check_providers(&self) -> Vec<DoctorCheck> {
        let providers = self.inner.pipeline.providers.iter();
        let checks = providers.filter_map(|provider| {
            let setup = provider.setup()?;
            let conditions = provider.conditions();
            let is_usable = !setup.contains("needs a key");
            let advice = match (is_usable, conditions.is_empty()) {
                (false, _) => Some("name the variable that holds its key, or leave it out"),
                (true, false) => Some("check the key"),
                (true, true) => None,
            };
            let name = format!("provider {}", provider.name());
            Some(check(
                &name,
                is_usable && conditions.is_empty(),
                setup,
                advice,
            ))
        });
        checks.collect()
    }

    fn check_retractions(&self) -> Option<DoctorCheck> {
        let list = self.inner.pipeline.retractions.as_ref()?;
        let bad = list.problem_count();
        let detail = match list.problems().first() {
            None => format!("{} DOIs of retracted works", list.len()),
            Some(first) => format!(
                "{} DOIs of retracted works; {bad} row(s) left out, the first: {first}",
                list.len()
            ),
        };
        Some(check("retractions", true, detail, None))
    }

    /// One check for all views that work, and one for each that does not.
    fn check_views(&self) -> Vec<DoctorCheck> {
        let detail = format!("{} can be queried", self.list_views().len());
        let mut checks = vec![check("views", true, detail, None)];
        checks.extend(
            self.broken_views()
                .iter()
                .map(|broken| check("views", false, broken.to_string(), Some(BrokenView::ADVICE))),
        );
        checks
    }

    fn check_database(&self) -> DoctorCheck {
        let found = self.inner.graph.read(|r| r.contents());
        let path = self.inner.graph.path().display().to_string();
        match found {
            Ok(counts) if self.is_read_only() => self.check_read_only(&format!("{path}: {counts}")),
            Ok(counts) => check("database", true, format!("{path}: {counts}"), None),
            Err(e) => check("database", false, format!("{path}: {e}"), e.hint()),
        }
    }

    fn check_read_only(&self, found: &str) -> DoctorCheck {
        let detail = format!("{found}; open read-only");
        match self.inner.graph.is_behind() {
            Ok(false) => check("database", true, detail, None),
            Ok(true) => check("database", true, detail, Some(BEHIND)),
            Err(e) => check("database", false, format!("{detail}: {e}"), e.hint()),
        }
    }

    fn check_models(&self) -> DoctorCheck {
        let models = self.models();
        let detail = format!(
            "embedder {} ({} dimensions), claim extractor {}, stance judge {}",
            models.embedder, models.dimension, models.claim_extractor, models.stance_judge
        );
        let advice = (!models.builtin.is_empty())
            .then_some("the small built-in models work offline; larger ones read more closely");
        check("models", true, detail, advice)
    }

    /// Which embedder is in use, and whether everything in the graph has a vector from it.
    fn check_embedder(&self) -> DoctorCheck {
        let info = self.inner.pipeline.reading.embedder.info();
        let kind = if info.builtin {
            "built-in"
        } else {
            "configured"
        };
        let detail = format!("{} ({kind}, {} dimensions)", info.model_id, info.dimension);
        let missing = self
            .inner
            .graph
            .read(|r| r.count_missing_embeddings(&info.model_id, None));
        match missing {
            Ok(0) if info.builtin => check("embedder", true, detail, Some(BETTER_EMBEDDERS)),
            Ok(0) => check("embedder", true, detail, None),
            Ok(missing) => {
                let detail =
                    format!("{detail}; {missing} fragments and claims have no vector of it");
                let advice = match self.is_read_only() {
                    true => NEVER_EMBEDDED,
                    false => "embed jobs fill them in when research runs or the server starts",
                };
                check("embedder", true, detail, Some(advice))
            }
            Err(e) => check("embedder", false, format!("{detail}: {e}"), e.hint()),
        }
    }

    /// One check per folder: how much of it can be read.
    fn check_corpus(&self) -> Vec<DoctorCheck> {
        let Some(corpus) = &self.inner.corpus else {
            return Vec::new();
        };
        let folders = corpus.inspect().folders.into_iter();
        let checks = folders.zip(&self.inner.config.corpus).map(|(found, given)| {
            let has_documents = found.documents + found.not_looked_at > 0;
            let advice = (!has_documents).then_some(
                "nothing here can be searched: put documents in it (.md .rst .org .txt .html .pdf .xml .jsonl)",
            );
            let detail = format!("{}: {}", given.display(), found.summary());
            check("corpus", has_documents, detail, advice)
        });
        checks.collect()
    }

    /// How documents are parsed, and which ones are no longer tried.
    fn check_parser(&self) -> Vec<DoctorCheck> {
        let parser = &self.inner.pipeline.reading.parser;
        let tried = parser.parse(b"A sentence.", Some("text/plain"), "doctor.txt");
        let mut checks = vec![match tried {
            Ok(_) => check("parser", true, parser.setup(), None),
            Err(e) => check("parser", false, e.to_string(), e.hint()),
        }];
        let hostile = self.inner.graph.read(|r| r.hostile_documents());
        checks.extend(hostile.unwrap_or_default().into_iter().map(|document| {
            let url = quoted(&document.url, 200);
            let detail = format!("{url} is not read again: {}", document.reason);
            check("hostile document", true, detail, Some(UNTIL_IT_CHANGES))
        }));
        checks
    }

    fn check_search(&self) -> DoctorCheck {
        let folders: Vec<String> = self
            .inner
            .config
            .corpus
            .iter()
            .map(|p| p.display().to_string())
            .collect();
        if folders.is_empty() && self.inner.pipeline.providers.is_empty() {
            return check(
                "search",
                false,
                "no corpus and no search provider: queries have nothing to search".to_owned(),
                Some("point --corpus at a folder of documents"),
            );
        }
        let names: Vec<&str> = self
            .inner
            .pipeline
            .providers
            .iter()
            .map(|p| p.name())
            .collect();
        let detail = format!(
            "providers: {}; corpus: {}",
            names.join(", "),
            folders.join(", ")
        );
        check("search", true, detail, None)
    }
}

/// When a document that its parser did not survive is tried again.
const UNTIL_IT_CHANGES: &str = "it is tried again when its bytes or the parser's limits change; see \
    docs/hostile-documents.md";

/// What cannot be updated in a read-only graph.
const BEHIND: &str = "the counts of the views are from an earlier year, or from before another \
    program wrote to the graph; opening the graph for writing updates them";

/// The consequence of missing vectors in a read-only graph.
const NEVER_EMBEDDED: &str = "the graph is open read-only, and searches by meaning do not find them; \
    name the embedder that made its vectors";

/// What this build can use instead of the built-in table, and how to get it.
const BETTER_EMBEDDERS: &str = if cfg!(feature = "onnx") {
    "a neural one finds more: onnx:FOLDER (needs `pip install onnxruntime` and ORT_DYLIB_PATH), ollama:MODEL or \
     openai:MODEL; see docs/embedders.md"
} else if cfg!(feature = "http") {
    "a neural one finds more: ollama:MODEL or openai:MODEL, or onnx:FOLDER in a build with the onnx feature; see \
     docs/embedders.md"
} else {
    "a neural one finds more: build with the onnx or the http feature; see docs/embedders.md"
};

#[cfg(feature = "http")]
fn check_network() -> DoctorCheck {
    let can_fetch = "http and https addresses can be fetched".to_owned();
    match web_client::build(web_client::builder()) {
        Ok(_) => check("web", true, can_fetch, None),
        Err(error) => check("web", false, error.message().to_owned(), error.hint()),
    }
}

#[cfg(not(feature = "http"))]
fn check_network() -> DoctorCheck {
    let detail = "this build fetches no web pages".to_owned();
    check("web", false, detail, Some("build with the http feature"))
}

fn check(name: &str, ok: bool, detail: String, advice: Option<&str>) -> DoctorCheck {
    DoctorCheck {
        name: name.to_owned(),
        ok,
        detail,
        advice: advice.map(str::to_owned),
    }
}
