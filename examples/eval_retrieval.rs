//! Retrieval quality over a judged collection in the BEIR layout: nDCG@10, Recall@100 and MRR@10 by
//! words, by meaning and by both.
//!
//! ```text
//! cargo run --release -p lyra-core --example eval_retrieval -- \
//!     --corpus corpus.jsonl --queries queries.jsonl --qrels qrels.tsv [--unit document|passage]
//!     [--weights 0.3,0.5,0.7] [--embedder onnx:FOLDER]
//! ```
//!
//! Corpus lines are `{"_id", "title", "text"}` (BEIR) or `{"doc_id", "title", "abstract": [..]}`
//! (SciFact); queries `{"_id", "text"}`; judgements a header and `query<TAB>document<TAB>grade`.
//! With `document`, as in BEIR, a document is one fragment under its title. With `passage`, it is
//! cut as Lyra cuts the documents that it reads, and has the score of its best passage.
//!
//! nDCG uses gains of 2^grade - 1 and the logarithm to base 2 of rank + 1 (Järvelin and Kekäläinen
//! 2002). `--weights` adds runs with other weights of the embedding in the fused score than the
//! embedder's default.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use lyra_core::models::{EmbedderSettings, StaticEmbedder};
use lyra_core::ports::{Embedder, EmbedderInfo, ParsedDocument, SystemClock, TextRole};
use lyra_core::research::ingest::{DocumentSource, PreparedDocument, prepare, store};
use lyra_core::store::model::FragmentType;
use lyra_core::store::text::segment::Block;
use lyra_core::store::vectors::{Ranking, VectorStore};
use lyra_core::{Error, EvidenceGraph, Result, SearchMode};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

const DEPTH: usize = 100;

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::read()?;
    let embedder = embedder(&options).await?;
    let folder = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let db = folder.path().join("eval.db");
    let graph = EvidenceGraph::open(&db, Arc::new(SystemClock))?;
    let documents = read_lines(&options.corpus, document_of)?;
    let started = Instant::now();
    let owners = ingest(&graph, embedder.as_ref(), &documents, options.by_passage).await?;
    println!(
        "{} documents, {} fragments, {} in {:.1} s",
        documents.len(),
        owners.len(),
        embedder.info().model_id,
        started.elapsed().as_secs_f64()
    );
    let questions = questions(&options)?;
    println!(
        "{} queries\n\n{:<22} {:>8} {:>11} {:>8}",
        questions.len(),
        "",
        "nDCG@10",
        "Recall@100",
        "MRR@10"
    );
    let store = VectorStore::new();
    let given = options
        .weights
        .iter()
        .map(|w| (SearchMode::Hybrid, Some(*w)));
    let runs = [
        SearchMode::Lexical,
        SearchMode::Semantic,
        SearchMode::Hybrid,
    ];
    for (mode, weight) in runs.map(|mode| (mode, None)).into_iter().chain(given) {
        let own = embedder.info();
        let info = EmbedderInfo {
            fusion_weight: weight.unwrap_or(own.fusion_weight),
            fusion_weight_cjk: weight.unwrap_or(own.fusion_weight_cjk),
            ..own.clone()
        };
        let mut means = [0.0; 3];
        for question in &questions {
            let found = ask(&graph, &store, &info, embedder.as_ref(), question, mode).await?;
            let measured = measure(&ranked_documents(&found, &owners), &question.grades);
            for (mean, value) in means.iter_mut().zip(measured) {
                *mean += value / questions.len() as f64;
            }
        }
        let mode = format!("{mode:?}").to_lowercase();
        let name = weight.map_or(mode.clone(), |weight| format!("{mode}, weight {weight}"));
        println!(
            "{name:<22} {:>8.4} {:>11.4} {:>8.4}",
            means[0], means[1], means[2]
        );
    }
    Ok(())
}

struct Options {
    corpus: String,
    queries: String,
    qrels: String,
    embedder: String,
    by_passage: bool,
    weights: Vec<f32>,
}

impl Options {
    fn read() -> Result<Self> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let value = |name: &str| {
            let at = words.iter().position(|word| word == name)?;
            words.get(at + 1).cloned()
        };
        let needed = |name: &str| {
            value(name).ok_or_else(|| {
                Error::invalid(format!("{name} is missing"))
                    .with_hint("expected --corpus FILE --queries FILE --qrels FILE")
            })
        };
        let weights = value("--weights").unwrap_or_default();
        let weights = weights.split(',').filter(|w| !w.is_empty()).map(str::parse);
        Ok(Self {
            corpus: needed("--corpus")?,
            queries: needed("--queries")?,
            qrels: needed("--qrels")?,
            embedder: value("--embedder").unwrap_or_else(|| "builtin".to_owned()),
            by_passage: value("--unit").as_deref() == Some("passage"),
            weights: weights
                .collect::<std::result::Result<_, _>>()
                .map_err(|e| Error::invalid(format!("--weights: {e}")))?,
        })
    }
}

/// As the command line takes it: `builtin`, `onnx:FOLDER`, `openai:MODEL`, `ollama:MODEL`.
#[allow(
    clippy::disallowed_methods,
    reason = "a program may look where its library is"
)]
async fn embedder(options: &Options) -> Result<Arc<dyn Embedder>> {
    let settings = EmbedderSettings {
        choice: options.embedder.parse()?,
        onnx_runtime: std::env::var_os("ORT_DYLIB_PATH").map(Into::into),
        ..EmbedderSettings::default()
    };
    match settings.open().await? {
        Some(embedder) => Ok(embedder),
        None => Ok(Arc::new(StaticEmbedder::new()?)),
    }
}

struct Document {
    id: String,
    title: String,
    text: String,
}

struct Question {
    text: String,
    grades: HashMap<String, f64>,
}

fn read_file(path: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::invalid(format!("{path}: {e}")))
}

fn read_lines<T>(path: &str, each: fn(&Value) -> Option<T>) -> Result<Vec<T>> {
    let text = read_file(path)?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let value = serde_json::from_str(line).ok();
            value.as_ref().and_then(each).ok_or_else(|| {
                Error::invalid(format!("{path}, line {}: not as expected", number + 1))
            })
        })
        .collect()
}

fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

fn document_of(line: &Value) -> Option<Document> {
    let text = match (&line["text"], &line["abstract"]) {
        (Value::String(text), _) => text.clone(),
        (_, Value::Array(sentences)) => {
            let sentences: Option<Vec<&str>> = sentences.iter().map(Value::as_str).collect();
            sentences?.join(" ")
        }
        _ => return None,
    };
    Some(Document {
        id: id_of(&line["_id"]).or_else(|| id_of(&line["doc_id"]))?,
        title: line["title"].as_str().unwrap_or_default().to_owned(),
        text,
    })
}

/// The queries that have a judgement, with the grades of their documents.
fn questions(options: &Options) -> Result<Vec<Question>> {
    let mut grades: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for line in read_file(&options.qrels)?.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        if let [query, document, grade] = fields[..]
            && let Ok(grade) = grade.trim().parse::<f64>()
            && grade > 0.0
        {
            let of_query = grades.entry(query.to_owned()).or_default();
            of_query.insert(document.to_owned(), grade);
        }
    }
    let all = read_lines(&options.queries, |line| {
        Some((id_of(&line["_id"])?, line["text"].as_str()?.to_owned()))
    })?;
    let judged = all.into_iter().filter_map(|(id, text)| {
        Some(Question {
            text,
            grades: grades.remove(&id)?,
        })
    });
    Ok(judged.collect())
}

/// Stores the documents; returns the document of each fragment.
async fn ingest(
    graph: &EvidenceGraph,
    embedder: &dyn Embedder,
    documents: &[Document],
    by_passage: bool,
) -> Result<HashMap<String, String>> {
    let mut owners = HashMap::new();
    // A document without text cannot be found.
    let written = documents
        .iter()
        .filter(|d| !(d.title.is_empty() && d.text.is_empty()));
    let written: Vec<&Document> = written.collect();
    for some in written.chunks(256) {
        let mut ready = Vec::new();
        for document in some {
            ready.push(prepared(document, embedder, by_passage).await?);
        }
        graph.write(|w| {
            for (document, prepared) in some.iter().zip(&mut ready) {
                store(w, prepared)?;
                for fragment in w.reader().page_fragments(&prepared.page.id)? {
                    owners.insert(fragment.id, document.id.clone());
                }
            }
            Ok(())
        })?;
    }
    Ok(owners)
}

async fn prepared(
    document: &Document,
    embedder: &dyn Embedder,
    by_passage: bool,
) -> Result<PreparedDocument> {
    let block = |kind, text: &str| Block {
        kind,
        level: 1,
        text: text.to_owned(),
    };
    let source = DocumentSource {
        url: format!("https://example.org/{}", document.id),
        ..DocumentSource::default()
    };
    let mut parsed = ParsedDocument {
        page_type: "text",
        ..ParsedDocument::default()
    };
    if by_passage {
        parsed.blocks = vec![
            block(FragmentType::Heading, &document.title),
            block(FragmentType::Paragraph, &document.text),
        ];
        parsed.blocks.retain(|block| !block.text.is_empty());
        return prepare(source, parsed, embedder).await;
    }
    parsed.blocks = vec![block(FragmentType::Paragraph, "placeholder")];
    let mut whole = prepare(source, parsed, embedder).await?;
    let text = format!("{}\n\n{}", document.title, document.text);
    let fragment = &mut whole.fragments[0];
    fragment.record.char_end = i64::try_from(text.chars().count()).ok();
    fragment.record.heading_context = Some(document.title.clone()).filter(|t| !t.is_empty());
    fragment.vector = embedder
        .embed(&[&text], TextRole::Document)
        .await?
        .remove(0);
    fragment.record.text_content = text.clone();
    whole.text = text;
    Ok(whole)
}

async fn ask(
    graph: &EvidenceGraph,
    store: &VectorStore,
    info: &EmbedderInfo,
    embedder: &dyn Embedder,
    question: &Question,
    mode: SearchMode,
) -> Result<Vec<String>> {
    let vector = embedder
        .embed(&[&question.text], TextRole::Query)
        .await?
        .remove(0);
    let ranking = Ranking {
        query: &question.text,
        vector: &vector,
        members: None,
        mode,
        limit: DEPTH * 3,
    };
    let ranked = graph.read(|r| store.rank_fragments(r, info, &ranking))?;
    Ok(ranked.into_iter().map(|scored| scored.id).collect())
}

/// Documents in the order of their best fragments.
fn ranked_documents<'a>(fragments: &[String], owners: &'a HashMap<String, String>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    let documents = fragments.iter().filter_map(|id| owners.get(id));
    documents
        .map(String::as_str)
        .filter(|id| seen.insert(*id))
        .take(DEPTH)
        .collect()
}

/// nDCG@10, Recall@100 and MRR@10 of one query.
fn measure(ranked: &[&str], grades: &HashMap<String, f64>) -> [f64; 3] {
    let gain = |rank: usize, grade: f64| (grade.exp2() - 1.0) / (rank as f64 + 2.0).log2();
    let grade = |id: &str| grades.get(id).copied().unwrap_or(0.0);
    let top = ranked.iter().take(10).enumerate();
    let found: f64 = top.map(|(rank, id)| gain(rank, grade(id))).sum();
    let mut best: Vec<f64> = grades.values().copied().collect();
    best.sort_by(|a, b| b.total_cmp(a));
    let top = best.iter().take(10).enumerate();
    let ideal: f64 = top.map(|(rank, grade)| gain(rank, *grade)).sum();
    let hits = ranked.iter().filter(|id| grade(id) > 0.0).count();
    let first = ranked.iter().take(10).position(|id| grade(id) > 0.0);
    [
        found / ideal,
        hits as f64 / grades.len() as f64,
        first.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
    ]
}
