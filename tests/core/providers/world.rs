//! All services in one process: a server on the loopback address that answers as they do, with
//! papers of our own making, and that fails on demand.

use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// How a service fails.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Answers with this status and these header lines.
    Status(u16, &'static str),
    /// Answers 200 with what is neither JSON nor XML.
    Garbage,
    /// Answers 200 with JSON or XML of another kind.
    Foreign,
    /// Breaks off in the middle of the body.
    Truncated,
    /// Does not answer.
    Slow,
    /// Answers a request that carries a key with this status, and others as ever.
    RefusesKey(u16),
    /// Answers 422 with so many characters and all that it was sent.
    Echoes(usize),
}

/// What a service was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) service: String,
    pub(crate) path: String,
    pub(crate) head: String,
}

#[derive(Debug, Default)]
struct State {
    once: HashMap<String, VecDeque<Fault>>,
    always: HashMap<String, Fault>,
    asked: Vec<Asked>,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&shared), address));
            }
        });
        Self {
            address,
            state,
            serving,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn fails_once(&self, service: &str, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        state
            .once
            .entry(service.to_owned())
            .or_default()
            .push_back(fault);
    }

    pub(crate) fn fails(&self, service: &str, fault: Fault) {
        self.state
            .lock()
            .unwrap()
            .always
            .insert(service.to_owned(), fault);
    }

    pub(crate) fn recovers(&self) {
        let mut state = self.state.lock().unwrap();
        state.always.clear();
        state.once.clear();
    }

    /// What a service was asked so far.
    pub(crate) fn asked(&self, service: &str) -> Vec<Asked> {
        let state = self.state.lock().unwrap();
        state
            .asked
            .iter()
            .filter(|a| a.service == service)
            .cloned()
            .collect()
    }
}

async fn answer(mut stream: TcpStream, state: Arc<Mutex<State>>, address: SocketAddr) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let service = path.split(['/', '?']).nth(1).unwrap_or_default().to_owned();
    let fault = {
        let mut state = state.lock().unwrap();
        state.asked.push(Asked {
            service: service.clone(),
            path: path.clone(),
            head: head.clone(),
        });
        let once = state.once.get_mut(&service).and_then(VecDeque::pop_front);
        once.or_else(|| state.always.get(&service).cloned())
    };
    let has_key = path.contains("api_key=")
        || [
            "x-api-key",
            "x-subscription-token",
            "crossref-plus-api-token",
        ]
        .iter()
        .any(|name| head.to_lowercase().contains(&format!("{name}: ")));
    let (status, headers, body) = match &fault {
        Some(Fault::Slow) => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            return;
        }
        Some(Fault::Status(status, headers)) => {
            (*status, *headers, "<html>trouble</html>".to_owned())
        }
        Some(Fault::RefusesKey(status)) if has_key => {
            (*status, "", "{\"message\":\"Forbidden\"}".to_owned())
        }
        Some(Fault::Echoes(before)) => {
            let message = format!("{}{head}", "x".repeat(*before));
            (
                422,
                "",
                serde_json::json!({ "message": message }).to_string(),
            )
        }
        Some(Fault::Garbage) => (200, "", "{\"results\": [{\"id\": ".to_owned()),
        Some(Fault::Foreign) => (200, "", "{\"hello\": \"world\"}".to_owned()),
        _ => {
            let (status, body) = reply(&path, address);
            (status, "", body)
        }
    };
    let length = body.len();
    let mut sent = format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    if matches!(fault, Some(Fault::Truncated)) {
        sent.push_str(&body[..body.len() / 2]);
    } else {
        sent.push_str(&body);
    }
    // The client may hang up at any time; that is its right.
    let _ = stream.write_all(sent.as_bytes()).await;
}

/// One paper, as all services that know it agree on.
pub(crate) struct Paper {
    pub(crate) number: usize,
    pub(crate) title: &'static str,
    pub(crate) finding: &'static str,
    pub(crate) year: i64,
    pub(crate) author: (&'static str, &'static str),
    pub(crate) venue: &'static str,
    /// Services that list it in a search.
    pub(crate) listed_by: &'static [&'static str],
}

impl Paper {
    pub(crate) fn doi(&self) -> String {
        match self.number {
            2 => "10.48550/arxiv.2401.00002".to_owned(),
            n => format!("10.5555/falls.{n}"),
        }
    }

    fn abstract_text(&self) -> String {
        format!(
            "We followed 1,200 adults aged 65 or older for two years & counted every fall. {} Longer studies are needed.",
            self.finding
        )
    }

    fn s2_id(&self) -> String {
        format!("{:040x}", 0xabc0 + self.number)
    }
}

/// The papers. The second is a preprint of the third; the fourth was retracted; the fifth has no
/// abstract anywhere; the sixth is on the offline list of retractions.
pub(crate) const PAPERS: &[Paper] = &[
    Paper {
        number: 1,
        title: "Drug X and falls in older adults: a randomised trial",
        finding: "Drug X increased the risk of falls in older adults compared with placebo (4.1% vs 2.9%, P = 0.01).",
        year: 2020,
        author: ("Ann", "Bee"),
        venue: "Journal of Falls",
        listed_by: &["openalex", "crossref", "s2", "epmc"],
    },
    Paper {
        number: 2,
        title: "A cohort study of drug X and hip fractures",
        finding: "Drug X did not increase the risk of hip fractures in a cohort of nursing homes.",
        year: 2023,
        author: ("Carl", "Dee"),
        venue: "arXiv",
        listed_by: &["arxiv"],
    },
    Paper {
        number: 3,
        title: "A cohort study of drug X and hip fractures",
        finding: "Drug X did not increase the risk of hip fractures in a cohort of nursing homes.",
        year: 2024,
        author: ("Carl", "Dee"),
        venue: "Bone Letters",
        listed_by: &["openalex", "s2"],
    },
    Paper {
        number: 4,
        title: "Drug X prevents falls",
        finding: "Drug X reduced the risk of falls in older adults by 80% in this trial.",
        year: 2018,
        author: ("Eve", "Eff"),
        venue: "Journal of Doubt",
        listed_by: &["openalex"],
    },
    Paper {
        number: 5,
        title: "Drug X, gait and balance",
        finding: "Drug X worsened balance in older adults in all three clinics of the study.",
        year: 2021,
        author: ("Fay", "Gee"),
        venue: "Gait Reports",
        listed_by: &["crossref"],
    },
    Paper {
        number: 6,
        title: "Falls with drug X in hospital wards",
        finding: "Drug X increased the risk of falls of older adults in hospital wards.",
        year: 2017,
        author: ("Guy", "Aitch"),
        venue: "Ward Notes",
        listed_by: &["epmc"],
    },
];

fn listed(service: &str) -> Vec<&'static Paper> {
    PAPERS
        .iter()
        .filter(|paper| paper.listed_by.contains(&service))
        .collect()
}

fn paper_of(doi: &str) -> Option<&'static Paper> {
    PAPERS
        .iter()
        .find(|paper| paper.doi().eq_ignore_ascii_case(doi))
}

/// Status and body for an address.
fn reply(path: &str, address: SocketAddr) -> (u16, String) {
    let url = Url::parse(&format!("http://{address}{path}")).unwrap();
    let query: HashMap<String, String> = url.query_pairs().into_owned().collect();
    let decoded = |part: &str| {
        let pair = format!("x={}", part.replace('+', "%2B"));
        let mut pairs = url::form_urlencoded::parse(pair.as_bytes()).into_owned();
        pairs.next().map(|(_, value)| value).unwrap_or_default()
    };
    let parts: Vec<String> = url.path_segments().unwrap().map(decoded).collect();
    let mut parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let doi;
    if let ["s2", "paper", prefix, suffix, ..] = parts[..]
        && prefix.starts_with("DOI:")
    {
        doi = format!("{prefix}/{suffix}");
        parts.splice(2..4, [doi.as_str()]);
    }
    let found = match parts[..] {
        ["openalex", "works"] => Some(openalex_list(&query).to_string()),
        ["openalex", "works", id] => openalex_one(id).map(|work| work.to_string()),
        ["crossref", "works"] => Some(crossref_list(&query, address).to_string()),
        ["crossref", "works", doi] => paper_of(doi)
            .filter(|paper| paper.listed_by.contains(&"crossref") || paper.number == 3)
            .map(|paper| json!({"status": "ok", "message-type": "work", "message": crossref_work(paper, address)}).to_string()),
        ["s2", "paper", "search"] => Some(s2_list(&query).to_string()),
        ["s2", "paper", id] => s2_one(id).map(|paper| paper.to_string()),
        ["s2", "paper", id, "references"] => s2_one(id).map(|_| {
            json!({"offset": 0, "data": [{"citedPaper": s2_paper(&PAPERS[3])}, {"citedPaper": {"paperId": null, "title": null}}]}).to_string()
        }),
        ["s2", "paper", _, "citations"] => Some(json!({"offset": 0, "data": null}).to_string()),
        ["epmc", "search"] => Some(epmc_list(&query).to_string()),
        ["epmc", "MED", _, "references"] => Some(json!({"hitCount": 1, "referenceList": {"reference": [
            {"id": "901", "source": "MED", "title": "An older trial.", "authorString": "Bee A, Dee C.", "pubYear": 1999, "doi": "10.5555/older", "citedByCount": 7}]}}).to_string()),
        ["arxiv", "query"] => Some(arxiv_feed(&query)),
        ["searxng", "search"] => Some(searxng_list(&query, address).to_string()),
        ["brave", "web", "search"] => Some(brave_list(address).to_string()),
        ["doi", "10.5555", "falls.5"] => Some(page(&PAPERS[4])),
        ["landing", "web"] => Some(page(&PAPERS[0]).replace("randomised trial", "report in the news")),
        _ => None,
    };
    found.map_or_else(
        || (404, "{\"error\": \"not found\"}".to_owned()),
        |body| (200, body),
    )
}

/// A landing page as publishers serve them.
fn page(paper: &Paper) -> String {
    let filler = "The study was registered and approved, and all participants gave their consent in writing before it began. ".repeat(3);
    format!(
        "<!doctype html><html lang=\"en\"><head><title>{0}</title></head><body><nav><a href=\"/\">Home</a></nav>\
         <main><article><h1>{0}</h1><p>{filler}</p><p>{1}</p></article></main><footer>© Publisher</footer></body></html>",
        paper.title, paper.finding
    )
}

fn inverted(text: &str) -> Value {
    let mut index: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, word) in text.split_whitespace().enumerate() {
        index.entry(word).or_default().push(place);
    }
    json!(index)
}

/// Works that the first paper cites: a dozen, of which one is known.
fn openalex_cited(n: usize) -> Value {
    json!({
        "id": format!("https://openalex.org/W{}", 900 + n), "doi": format!("https://doi.org/10.5555/cited.{n}"),
        "display_name": if n.is_multiple_of(2) { format!("Falls of older adults with drug X, part {n}") } else { format!("Cooking rice, part {n}") },
        "publication_year": 1990 + n, "cited_by_count": n * 10, "is_retracted": false,
        "authorships": [{"author": {"display_name": "Ida Jay"}}],
    })
}

fn openalex_work(paper: &Paper) -> Value {
    let doi = format!("https://doi.org/{}", paper.doi());
    let references: Vec<String> = match paper.number {
        1 => (0..12)
            .map(|n| format!("https://openalex.org/W{}", 900 + n))
            .collect(),
        _ => Vec::new(),
    };
    let arxiv =
        (paper.number == 3).then(|| json!({"landing_page_url": "http://arxiv.org/abs/2401.00002"}));
    json!({
        "id": format!("https://openalex.org/W{}", paper.number), "doi": doi,
        "ids": {"pmid": format!("https://pubmed.ncbi.nlm.nih.gov/{}", 110 + paper.number)},
        "display_name": paper.title, "publication_year": paper.year,
        "publication_date": format!("{}-05-01", paper.year), "language": "en", "type": "article",
        "primary_location": {"landing_page_url": doi, "source": {"display_name": paper.venue}},
        "locations": arxiv.into_iter().collect::<Vec<_>>(),
        "open_access": {"is_oa": false, "oa_url": null},
        "authorships": [{"author": {"display_name": format!("{} {}", paper.author.0, paper.author.1), "orcid": "https://orcid.org/0000-0002-1825-0097"},
                         "institutions": [{"display_name": "University of Falls"}]}],
        "cited_by_count": 40 + paper.number, "is_retracted": paper.number == 4,
        "referenced_works": references, "referenced_works_count": references.len(),
        "abstract_inverted_index": if paper.number == 5 { Value::Null } else { inverted(&paper.abstract_text()) },
    })
}

/// Two works a page, whatever is asked for.
fn openalex_list(query: &HashMap<String, String>) -> Value {
    let works: Vec<Value> = match query.get("filter") {
        Some(filter) if filter.starts_with("cites:") => vec![openalex_cited(3)],
        Some(filter) => {
            let ids: Vec<&str> = filter.trim_start_matches("openalex:").split('|').collect();
            (0..12)
                .filter(|n| ids.contains(&format!("W{}", 900 + n).as_str()))
                .map(openalex_cited)
                .collect()
        }
        None if query.get("search").is_some_and(|q| q.contains("nothing")) => Vec::new(),
        None => listed("openalex").into_iter().map(openalex_work).collect(),
    };
    let start: usize = query["cursor"].trim_start_matches('*').parse().unwrap_or(0);
    let shown: Vec<&Value> = works.iter().skip(start).take(2).collect();
    let next = (start + 2 < works.len()).then(|| (start + 2).to_string());
    json!({"meta": {"count": works.len(), "next_cursor": next}, "results": shown})
}

fn openalex_one(id: &str) -> Option<Value> {
    let paper = match id.split_once(':') {
        Some(("doi", doi)) => paper_of(doi)?,
        _ => PAPERS
            .iter()
            .find(|paper| format!("W{}", paper.number) == id)?,
    };
    paper
        .listed_by
        .contains(&"openalex")
        .then(|| openalex_work(paper))
}

fn crossref_work(paper: &Paper, address: SocketAddr) -> Value {
    let text = paper.abstract_text().replace('&', "&amp;");
    let mut work = json!({
        "DOI": paper.doi().to_uppercase(), "title": [format!("<i>{}</i>", paper.title)], "publisher": "Falls Press",
        "container-title": [paper.venue], "type": "journal-article", "is-referenced-by-count": 12,
        "author": [{"given": paper.author.0, "family": paper.author.1, "sequence": "first", "ORCID": "http://orcid.org/0000-0002-1825-0097"}],
        "published": {"date-parts": [[paper.year, 5]]}, "references-count": 1,
        "reference": [{"key": "r1", "DOI": "10.5555/Cited.1", "article-title": "Cooking rice", "year": "1991a"}, {"key": "r2", "unstructured": "No DOI here."}],
        "resource": {"primary": {"URL": format!("http://{address}/landing/{}", paper.number)}},
    });
    if paper.number == 1 {
        work["abstract"] = json!(format!(
            "<jats:title>Abstract</jats:title><jats:p>{text}</jats:p>"
        ));
    }
    work
}

fn crossref_list(query: &HashMap<String, String>, address: SocketAddr) -> Value {
    let papers = listed("crossref");
    let offset: usize = query["offset"].parse().unwrap();
    let items: Vec<Value> = papers
        .iter()
        .skip(offset)
        .take(1)
        .map(|p| crossref_work(p, address))
        .collect();
    json!({"status": "ok", "message-type": "work-list", "message": {"total-results": papers.len(), "items": items}})
}

/// Without its DOI, the first paper is known by title, author and year only.
fn s2_paper(paper: &Paper) -> Value {
    let ids = match paper.number {
        1 => json!({"CorpusId": 77}),
        3 => json!({"DOI": paper.doi(), "ArXiv": "2401.00002", "CorpusId": 79}),
        _ => json!({"DOI": paper.doi()}),
    };
    json!({
        "paperId": paper.s2_id(), "externalIds": ids, "title": paper.title, "year": paper.year,
        "abstract": if paper.number == 5 { Value::Null } else { json!(paper.abstract_text()) },
        "venue": paper.venue, "authors": [{"authorId": "1", "name": format!("{}. {}", &paper.author.0[..1], paper.author.1)}],
        "citationCount": 99, "referenceCount": 3, "isOpenAccess": false, "openAccessPdf": {"url": ""},
    })
}

fn s2_list(query: &HashMap<String, String>) -> Value {
    let papers = listed("s2");
    let offset: usize = query["offset"].parse().unwrap();
    let data: Vec<Value> = papers
        .iter()
        .skip(offset)
        .take(1)
        .map(|p| s2_paper(p))
        .collect();
    let mut reply = json!({"total": papers.len(), "offset": offset, "data": data});
    if offset + 1 < papers.len() {
        reply["next"] = json!(offset + 1);
    }
    reply
}

fn s2_one(id: &str) -> Option<Value> {
    let paper = match id.split_once(':') {
        Some(("DOI", doi)) => paper_of(doi)?,
        _ => PAPERS.iter().find(|paper| paper.s2_id() == id)?,
    };
    paper.listed_by.contains(&"s2").then(|| s2_paper(paper))
}

fn epmc_result(paper: &Paper) -> Value {
    json!({
        "id": (110 + paper.number).to_string(), "source": "MED", "pmid": (110 + paper.number).to_string(), "doi": paper.doi(),
        "title": format!("{}.", paper.title), "authorString": format!("{} {}.", paper.author.1, &paper.author.0[..1]),
        "pubYear": paper.year.to_string(), "abstractText": format!("<h4>Results</h4>{}", paper.abstract_text()),
        "journalInfo": {"journal": {"title": paper.venue}}, "isOpenAccess": "N", "citedByCount": 5,
        "pubTypeList": {"pubType": ["research-article", "Journal Article"]},
    })
}

fn epmc_list(query: &HashMap<String, String>) -> Value {
    let asked = &query["query"];
    let papers = listed("epmc")
        .into_iter()
        .filter(|paper| match asked.strip_prefix("DOI:") {
            Some(doi) => doi.trim_matches('"') == paper.doi(),
            None if asked.starts_with("EXT_ID:") => {
                asked.contains(&(110 + paper.number).to_string())
            }
            None => !asked.contains("nothing"),
        });
    let results: Vec<Value> = papers.map(epmc_result).collect();
    json!({"version": "6.9", "hitCount": results.len(), "nextCursorMark": "*", "resultList": {"result": results}})
}

fn arxiv_feed(query: &HashMap<String, String>) -> String {
    let paper = &PAPERS[1];
    let is_asked = match query.get("id_list") {
        Some(ids) => ids == "2401.00002",
        None => !query["search_query"].contains("nothing") && query["start"] == "0",
    };
    let entry = format!(
        "<entry><id>http://arxiv.org/abs/2401.00002v2</id><title>{}</title><published>2023-01-05T00:00:00Z</published>\
         <summary>{}</summary><author><name>{} {}</name></author>\
         <link href=\"https://arxiv.org/pdf/2401.00002v2\" title=\"pdf\" type=\"application/pdf\"/></entry>",
        paper.title.replace("study of", "study\n  of"),
        paper.abstract_text().replace('&', "&amp;"),
        paper.author.0,
        paper.author.1
    );
    let entries = if is_asked { entry.as_str() } else { "" };
    let total = usize::from(is_asked);
    format!(
        "<?xml version='1.0' encoding='UTF-8'?><feed xmlns:opensearch=\"http://a9.com/-/spec/opensearch/1.1/\" xmlns=\"http://www.w3.org/2005/Atom\">\
         <title>arXiv Query</title><opensearch:totalResults>{total}</opensearch:totalResults>{entries}</feed>"
    )
}

/// The trial again, on its publisher's site, and a report about it.
fn searxng_list(query: &HashMap<String, String>, address: SocketAddr) -> Value {
    let results = match query["pageno"].as_str() {
        "1" if !query["q"].contains("nothing") => json!([
            {"url": "https://onlinelibrary.wiley.com/doi/full/10.5555/falls.1", "title": "Drug X and falls … - Wiley", "content": "A <b>trial</b>", "publishedDate": null},
            {"url": format!("http://{address}/landing/web"), "title": "Falls in the news", "content": "News", "publishedDate": "2020-06-01T00:00:00"},
        ]),
        _ => json!([]),
    };
    json!({"query": query["q"], "results": results, "unresponsive_engines": []})
}

fn brave_list(address: SocketAddr) -> Value {
    json!({"type": "search", "query": {"more_results_available": false}, "web": {"type": "search", "results": [
        {"url": format!("http://{address}/landing/web?utm_source=brave"), "title": "Falls in the <strong>news</strong>", "description": "News &amp; views", "language": "en"},
    ]}})
}
