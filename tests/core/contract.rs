//! Every implementation that ships with the library keeps the promises of its port, and the suite
//! that says so notices those that do not.

use lyra_core::documents::{CorpusProvider, Documents, FileFetcher};
use lyra_core::models::{BuiltinClaimExtractor, BuiltinStanceJudge, StaticEmbedder};
use lyra_core::ports::testing::*;
use lyra_core::ports::{
    ClaimExtractor, DocumentParser, Embedder, EmbedderInfo, ExtractedClaim, ExtractionRequest,
    FetchRequest, FetchedDocument, Fetcher, ManualClock, ParsedDocument, SearchHit, SearchProvider,
    SearchQuery, StanceJudge, StancePair, TextRole, Validators, Verdict,
};
use lyra_core::research::ingest::{Reading, TEXT_TIME};
use lyra_core::store::model::{ClaimType, Relation};
use lyra_core::store::vectors::VectorStore;
use lyra_core::{Error, ErrorKind, EvidenceGraph, Result};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use url::Url;

#[tokio::test]
async fn fakes_keep_their_promises() {
    let embedder = FakeEmbedder::default();
    check_embedder(&embedder).await;
    assert!(embedder.calls() > 10 && embedder.texts() > embedder.calls());
    check_claim_extractor(&FakeClaimExtractor::new()).await;
    check_claim_extractor(&FakeClaimExtractor::of_every_sentence()).await;
    let scripted = FakeClaimExtractor::new()
        .with(
            "Mortality did not differ between the groups",
            "No difference",
            0.4,
        )
        .with(
            "薬剤Xは高齢者の転倒リスクを有意に増加させた。",
            "Falls rose",
            0.9,
        );
    check_claim_extractor(&scripted).await;
    let judge = FakeStanceJudge::from_table(&[(
        "Drug X did not reduce mortality.",
        "Drug X reduces mortality.",
        Relation::Refutes,
        0.8,
    )]);
    check_stance_judge(&judge).await;
    assert!(judge.pairs() > 10);
    let provider = FakeSearchProvider::new("fake")
        .with("https://example.org/a", "A")
        .with("file:///papers/b.md", "B");
    check_search_provider(&provider, "anything").await;
    assert!(provider.queries().iter().any(|q| q.text == "anything"));
    provider_fails_in_an_outage(&FakeSearchProvider::failing("down", "no answer")).await;
    let url = "https://example.org/a";
    let fetcher = FakeFetcher::new()
        .with_text(url, "text/plain", "A text.")
        .with_failure("https://example.org/b", ErrorKind::Backend, "answered 500");
    check_fetcher(&fetcher, url, "https://example.org/b").await;
    check_fetcher(&fetcher, url, "https://example.org/unknown").await;
    assert_eq!(fetcher.requests()[0].url, url);
}

#[tokio::test]
async fn a_fake_extractor_quotes_what_it_was_told() {
    let scripted = FakeClaimExtractor::new().with("転倒が増えた。", "Falls rose", 0.9);
    let request = ExtractionRequest {
        hypothesis: String::new(),
        query: String::new(),
        title: None,
        passages: vec![lyra_core::ports::Passage {
            text: "背景。転倒が増えた。".to_owned(),
            heading: None,
        }],
        max_claims: 5,
    };
    let claims = scripted.extract(&request).await.unwrap();
    assert_eq!(claims.len(), 1);
    assert_eq!(
        (claims[0].quote.clone(), claims[0].text.as_str()),
        (3..10, "Falls rose")
    );
}

#[tokio::test]
async fn a_fake_fetcher_answers_what_it_was_told() {
    let validators = Validators {
        etag: Some("\"1\"".to_owned()),
        last_modified: None,
    };
    let found = FetchedDocument::Found {
        final_url: "https://example.org/b".to_owned(),
        status: Some(200),
        content_type: None,
        body: b"text".to_vec(),
        known: Box::default(),
        validators,
    };
    let login = FetchedDocument::NeedsAuth {
        auth_type: "login".to_owned(),
        domain: "example.org".to_owned(),
    };
    let fetcher = FakeFetcher::new()
        .with("https://example.org/a", found)
        .with("https://example.org/login", login.clone());
    check_fetcher(&fetcher, "https://example.org/a", "file:///a").await;
    let request = FetchRequest {
        url: "https://example.org/login".to_owned(),
        ..FetchRequest::default()
    };
    assert_eq!(fetcher.fetch(&request).await.unwrap(), login);
}

#[tokio::test]
async fn built_in_models_keep_their_promises() {
    check_embedder(&StaticEmbedder::new().unwrap()).await;
    check_claim_extractor(&BuiltinClaimExtractor).await;
    check_stance_judge(&BuiltinStanceJudge).await;
}

#[test]
fn the_document_parser_keeps_its_promises() {
    check_document_parser(&Documents);
}

fn papers(folder: &Path) -> std::path::PathBuf {
    let papers = folder.join("papers");
    std::fs::create_dir(&papers).unwrap();
    let texts = [
        (
            "a.md",
            "# Trial A\n\nDrug X increased the risk of falls in older adults.\n",
        ),
        (
            "b.txt",
            "Drug X did not change the risk of falls in a second trial.\n",
        ),
        (
            "c d.md",
            "# Review\n\nFalls with drug X were reviewed in 12 trials.\n",
        ),
    ];
    for (name, text) in texts {
        std::fs::write(papers.join(name), text).unwrap();
    }
    papers
}

#[tokio::test]
async fn the_file_fetcher_keeps_its_promises() {
    let folder = tempfile::tempdir().unwrap();
    let papers = papers(folder.path());
    std::fs::write(folder.path().join("secret.txt"), "outside").unwrap();
    let fetcher = FileFetcher::new(std::slice::from_ref(&papers)).unwrap();
    let address = |path: &Path| Url::from_file_path(path).unwrap().to_string();
    let found = address(&papers.join("c d.md"));
    for refused in [
        address(&folder.path().join("secret.txt")),
        address(&papers.join("missing.md")),
    ] {
        check_fetcher(&fetcher, &found, &refused).await;
    }
}

#[tokio::test]
async fn the_corpus_provider_keeps_its_promises() {
    let folder = tempfile::tempdir().unwrap();
    let files = FileFetcher::new(&[papers(folder.path())]).unwrap();
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let graph = EvidenceGraph::open(&folder.path().join("a.db"), clock).unwrap();
    let embedders: [Arc<dyn Embedder>; 2] = [
        Arc::new(FakeEmbedder::default()),
        Arc::new(StaticEmbedder::new().unwrap()),
    ];
    for embedder in embedders {
        let reading = Reading {
            fetchers: vec![Arc::new(files.clone())],
            parser: Arc::new(Documents),
            embedder,
            text_time: TEXT_TIME,
        };
        let vectors = Arc::new(VectorStore::new());
        let provider = CorpusProvider::new(graph.clone(), vectors, reading, files.clone());
        check_search_provider(&provider, "drug X falls").await;
        provider_ranks_from_one_within_limit(&provider, "\"drug X\" AND (").await;
    }
}

/// Runs one check and answers the message that it stopped with.
async fn broken(check: impl Future<Output = ()> + Send + 'static) -> String {
    let panic = tokio::spawn(check)
        .await
        .expect_err("the check let a broken implementation pass")
        .into_panic();
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(other) => (*other.downcast::<&str>().unwrap()).to_owned(),
    }
}

/// An embedder with one fault.
#[derive(Debug)]
struct BadEmbedder {
    info: EmbedderInfo,
    fault: &'static str,
}

impl BadEmbedder {
    fn new(fault: &'static str) -> Self {
        let mut info = FakeEmbedder::default().info().clone();
        match fault {
            "name" => info.model_id = " spaced ".to_owned(),
            "weight" => info.fusion_weight = 1.5,
            _ => {}
        }
        Self { info, fault }
    }
}

#[async_trait::async_trait]
impl Embedder for BadEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    async fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>> {
        let mut vectors = FakeEmbedder::default().embed(texts, role).await?;
        match self.fault {
            "length" => vectors.iter_mut().for_each(|v| v.truncate(7)),
            "unit" => vectors.iter_mut().flatten().for_each(|v| *v *= 2.0),
            "nan" => vectors.iter_mut().flatten().for_each(|v| *v = f32::NAN),
            "zeros" => vectors.iter_mut().flatten().for_each(|v| *v = 0.0),
            "count" => vectors.truncate(texts.len().saturating_sub(1)),
            "batch" => vectors.reverse(),
            "blank" if texts.contains(&"") => return Err(Error::invalid("empty text")),
            "nothing" if texts.is_empty() => vectors.push(vec![0.0; self.info.dimension]),
            _ => {}
        }
        Ok(vectors)
    }
}

#[tokio::test]
async fn the_suite_notices_broken_embedders() {
    for (fault, message) in [
        ("name", "is no name"),
        ("weight", "fusion_weight 1.5"),
        ("length", "7 values"),
        ("unit", "expected 1 or all zeros"),
        ("nan", "not a finite number"),
        ("zeros", "nothing but zeros"),
        ("count", "6 vectors for 7 texts"),
        ("batch", "alone and in a batch"),
        ("blank", "an error instead of an answer: empty text"),
        ("nothing", "1 vectors for no text"),
    ] {
        let said = broken(async move { check_embedder(&BadEmbedder::new(fault)).await }).await;
        assert!(said.contains(message), "{fault}: {said}");
    }
}

/// An extractor that answers one claim, whatever it is asked.
#[derive(Debug)]
struct BadExtractor {
    quote: Range<usize>,
    passage: usize,
    text: &'static str,
    confidence: f64,
}

#[async_trait::async_trait]
impl ClaimExtractor for BadExtractor {
    fn extractor_id(&self) -> &str {
        "bad"
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn extract(&self, _: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
        Ok(vec![ExtractedClaim {
            passage: self.passage,
            text: self.text.to_owned(),
            claim_type: ClaimType::Fact,
            confidence: self.confidence,
            quote: self.quote.clone(),
        }])
    }
}

#[tokio::test]
async fn the_suite_notices_broken_extractors() {
    let reversed = Range { start: 5, end: 2 };
    for (passage, quote, text, confidence, message) in [
        (0, 0..99_999, "a", 0.5, "is no text within passage 0"),
        (0, 4..4, "a", 0.5, "is no text within passage 0"),
        (0, reversed, "a", 0.5, "is no text within passage 0"),
        (9, 0..2, "a", 0.5, "names passage 9 of 4"),
        (0, 0..2, " ", 0.5, "a claim without text"),
        (0, 0..2, "a", 1.01, "confidence 1.01"),
        (0, 0..2, "a", f64::NAN, "confidence NaN"),
        (0, 0..2, "a", 0.5, "1 claims; max_claims was 0"),
    ] {
        let extractor = BadExtractor {
            quote,
            passage,
            text,
            confidence,
        };
        let said = broken(async move { check_claim_extractor(&extractor).await }).await;
        assert!(said.contains(message), "{message}: {said}");
    }
    // Bytes for code points: right for ASCII, beyond the end of a Japanese passage.
    #[derive(Debug)]
    struct InBytes;
    #[async_trait::async_trait]
    impl ClaimExtractor for InBytes {
        fn extractor_id(&self) -> &str {
            "bytes"
        }
        fn is_builtin(&self) -> bool {
            false
        }
        async fn extract(&self, request: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
            let whole = |(passage, p): (usize, &lyra_core::ports::Passage)| ExtractedClaim {
                passage,
                text: p.text.clone(),
                claim_type: ClaimType::Fact,
                confidence: 0.5,
                quote: 0..p.text.len(),
            };
            let passages = request.passages.iter().enumerate();
            let claims = passages
                .filter(|(_, p)| !p.text.trim().is_empty())
                .map(whole);
            Ok(claims.take(request.max_claims).collect())
        }
    }
    let said = broken(async { check_claim_extractor(&InBytes).await }).await;
    assert!(said.contains("is no text within passage 0"), "{said}");
}

/// A judge that counts how often it was asked, and lets its verdict depend on it.
#[derive(Debug, Default)]
struct MoodyJudge(std::sync::atomic::AtomicUsize);

#[async_trait::async_trait]
impl StanceJudge for MoodyJudge {
    fn judge_id(&self) -> &str {
        "moody"
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        let asked = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let verdict = Verdict::new(Relation::Neutral, 1.0 / (asked as f64 + 1.0));
        Ok(vec![verdict; pairs.len()])
    }
}

/// A judge that answers for one pair, however many there are.
#[derive(Debug)]
struct CurtJudge;

#[async_trait::async_trait]
impl StanceJudge for CurtJudge {
    fn judge_id(&self) -> &str {
        "curt"
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn judge(&self, _: &[StancePair]) -> Result<Vec<Verdict>> {
        Ok(vec![Verdict::new(Relation::Supports, 0.9)])
    }
}

#[tokio::test]
async fn the_suite_notices_broken_judges() {
    for (relation, confidence, message) in [
        (Relation::Cites, 0.5, "Cites is no NLI relation"),
        (Relation::Origin, 0.5, "Origin is no NLI relation"),
        (Relation::Supports, -0.1, "confidence -0.1"),
        (Relation::Supports, 87.0, "confidence 87"),
    ] {
        let judge = FakeStanceJudge::new(move |_| Verdict::new(relation, confidence));
        let said = broken(async move { check_stance_judge(&judge).await }).await;
        assert!(said.contains(message), "{message}: {said}");
    }
    let said = broken(async { check_stance_judge(&MoodyJudge::default()).await }).await;
    assert!(said.contains("alone and"), "{said}");
    let said = broken(async { check_stance_judge(&CurtJudge).await }).await;
    assert!(said.contains("1 verdicts on 7 pairs"), "{said}");
    let said = broken(async { judge_gives_nothing_for_nothing(&CurtJudge).await }).await;
    assert!(said.contains("1 verdicts on no pair"), "{said}");
}

/// A provider that answers these hits, whatever the limit.
#[derive(Debug)]
struct BadProvider(Vec<(usize, &'static str)>);

#[async_trait::async_trait]
impl SearchProvider for BadProvider {
    fn name(&self) -> &str {
        "bad"
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        let hits = self.0.iter().map(|(rank, url)| SearchHit {
            url: (*url).to_owned(),
            rank: *rank,
            title: None,
            snippet: None,
            meta: Default::default(),
            ..SearchHit::default()
        });
        // It keeps a limit of none, so that each list shows its own fault.
        Ok(if query.limit == 0 {
            vec![]
        } else {
            hits.collect()
        })
    }

    async fn lookup_doi(&self, _: &str) -> Result<Option<SearchHit>> {
        let query = SearchQuery {
            text: String::new(),
            limit: 1,
        };
        Ok(self.search(&query).await?.into_iter().next())
    }
}

#[tokio::test]
async fn the_suite_notices_broken_providers() {
    let (a, b) = ("https://example.org/a", "https://example.org/b");
    for (hits, message) in [
        (vec![], "no hit for"),
        (vec![(0, a)], "ranks [0]"),
        (vec![(1, a), (2, b)], "2 hits for \"q\"; the limit was 1"),
        (
            vec![(1, "example.org/a")],
            "is no file, http or https address",
        ),
        (vec![(1, a)], "which nobody registered"),
    ] {
        let provider = BadProvider(hits);
        let said = broken(async move { check_search_provider(&provider, "q").await }).await;
        assert!(said.contains(message), "{message}: {said}");
    }
    let said = broken(async { provider_fails_in_an_outage(&BadProvider(vec![])).await }).await;
    assert!(said.contains("0 hits in an outage"), "{said}");
}

/// A fetcher that takes every address and answers the address itself, or not even that.
#[derive(Debug)]
struct BadFetcher(&'static str);

#[async_trait::async_trait]
impl Fetcher for BadFetcher {
    fn name(&self) -> &'static str {
        "bad"
    }

    fn accepts(&self, url: &str) -> bool {
        self.0 == "greedy" || Url::parse(url).is_ok_and(|u| u.scheme() == "https")
    }

    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument> {
        if self.0 == "unmodified" {
            return Ok(FetchedDocument::NotModified);
        }
        if self.0 == "silent" && !request.url.ends_with("/a") {
            return Err(Error::new(ErrorKind::Backend, "no"));
        }
        Ok(FetchedDocument::Found {
            final_url: request.url.clone(),
            status: (self.0 != "statusless").then_some(200),
            content_type: None,
            body: request.url.clone().into_bytes(),
            known: Box::default(),
            validators: Validators::default(),
        })
    }
}

#[tokio::test]
async fn the_suite_notices_broken_fetchers() {
    for (fault, message) in [
        ("greedy", "accepts \"ftp:"),
        ("unmodified", "no document at https://example.org/a"),
        ("statusless", "status None"),
        ("silent", "the refusal does not name"),
        ("open", "was to be refused"),
    ] {
        let check = async move {
            let (found, refused) = ("https://example.org/a", "https://10.0.0.1/b");
            check_fetcher(&BadFetcher(fault), found, refused).await;
        };
        let said = broken(check).await;
        assert!(said.contains(message), "{fault}: {said}");
    }
    let said =
        broken(async { fetcher_refuses_what_is_no_address(&BadFetcher("open")).await }).await;
    assert!(said.contains("expected an error"), "{said}");
}

/// A parser with one fault.
#[derive(Debug)]
struct BadParser {
    fault: &'static str,
    calls: std::sync::atomic::AtomicUsize,
}

impl DocumentParser for BadParser {
    fn parse(&self, body: &[u8], content_type: Option<&str>, name: &str) -> Result<ParsedDocument> {
        let calls = self
            .calls
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut document = Documents
            .parse(b"Drug X.", content_type, "a.txt")
            .or_else(|_| Documents.parse(b"Drug X.", None, "a.txt"))?;
        match self.fault {
            "panic" => assert!(body.first() != Some(&0x89), "an unknown byte"),
            "moody" => document.meta.year = i64::try_from(calls).ok(),
            "type" => document.page_type = "docx",
            "blank" => document.blocks[0].text.clear(),
            "deaf" if name == "a.txt" => document.blocks.clear(),
            _ => {}
        }
        Ok(document)
    }
}

#[tokio::test]
async fn the_suite_notices_broken_parsers() {
    for (fault, message) in [
        ("panic", "panics on a picture"),
        ("moody", "two answers"),
        ("type", "\"docx\" is no page type"),
        ("blank", "a blank block"),
        ("deaf", "the words of a plain text are lost"),
    ] {
        let parser = BadParser {
            fault,
            calls: Default::default(),
        };
        let said = broken(async move { check_document_parser(&parser) }).await;
        assert!(said.contains(message), "{fault}: {said}");
    }
}
