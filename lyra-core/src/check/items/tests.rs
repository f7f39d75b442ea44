use super::super::request::CheckRequest;
use super::super::{CheckFormat, CheckReport, DraftFormat};
use super::*;
use crate::{Engine, EngineConfig};

/// Checks a draft against two papers.
async fn check(draft: &str, format: DraftFormat) -> CheckReport {
    let folder = tempfile::tempdir().unwrap();
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).unwrap();
    for (name, title) in [
        ("a.md", "Night work and the sleep of nurses"),
        ("b.md", "Afternoon naps in railway workers"),
    ] {
        let text = format!("# {title}\n\nNight work shortened sleep by 74 minutes in 412 people.");
        std::fs::write(papers.join(name), text).unwrap();
    }
    let mut config = EngineConfig::new(folder.path().join("evidence.db"));
    config.corpus.push(papers);
    let engine = Engine::open(config).unwrap();
    engine.sync_corpus(&|_| {}).await.unwrap();
    let request = CheckRequest::new(draft, format);
    engine.check(&request, &|_| {}).await.unwrap()
}

fn messages(report: &CheckReport, code: CheckCode) -> Vec<String> {
    let findings = report.sentences.iter().flat_map(|s| &s.findings);
    let found = findings.filter(|finding| finding.code == code);
    found.map(|finding| finding.message.clone()).collect()
}

#[tokio::test]
async fn a_key_without_a_bibliography_names_the_option() {
    let draft = "Night work shortened sleep in nurses [@tanaka2017].";
    let report = check(draft, DraftFormat::Markdown).await;
    let found = messages(&report, CheckCode::ReferenceNotFound);
    assert!(found[0].contains("--bibliography FILE"), "{found:?}");
    let draft = "Night work shortened sleep in nurses [7].\n\n# References\n\n1. Roe B. 2017.";
    let report = check(draft, DraftFormat::Markdown).await;
    let found = messages(&report, CheckCode::ReferenceNotFound);
    assert!(!found[0].contains("--bibliography"), "{found:?}");
}

#[tokio::test]
async fn a_citation_that_leads_nowhere_says_whether_its_entry_is_listed() {
    let draft = "Night work shortened sleep in nurses [1]. Naps helped [2].";
    let list = "\n\n# References\n\n1. Roe B. Of stars and comets. 2017.\n";
    for (list, first, second) in [
        (list, "[1] leads to no source", "[2] is not in the list"),
        ("", "no list of references", "no list of references"),
    ] {
        let report = check(&format!("{draft}{list}"), DraftFormat::Markdown).await;
        let found = messages(&report, CheckCode::ReferenceNotFound);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains(first), "{found:?}");
        assert!(found[1].contains(second), "{found:?}");
    }
}

#[tokio::test]
async fn a_citation_that_fits_two_works_says_so() {
    let list = "\n\n# References\n\nTanaka, K. (2017). Night work and the sleep of nurses.\n\n\
        Tanaka, K. (2017). Afternoon naps in railway workers.\n";
    let draft = format!("Night work shortened sleep in nurses (Tanaka 2017).{list}");
    let report = check(&draft, DraftFormat::Markdown).await;
    let found = messages(&report, CheckCode::ReferenceAmbiguous);
    assert_eq!(found.len(), 1, "{report:?}");
    assert!(found[0].contains("sleep of nurses") && found[0].contains("railway"));
    assert_eq!(report.sentences[0].citations[0].page_ids.len(), 2);
    let lettered = list.replacen("2017", "2017a", 1);
    let lettered = lettered.replacen("(2017)", "(2017b)", 1);
    let draft = format!("Night work shortened sleep in nurses (Tanaka 2017a).{lettered}");
    let report = check(&draft, DraftFormat::Markdown).await;
    assert!(messages(&report, CheckCode::ReferenceAmbiguous).is_empty());
    assert_eq!(report.sentences[0].citations[0].page_ids.len(), 1);
}

#[tokio::test]
async fn the_markdown_report_has_the_words_of_the_source_and_its_name() {
    let draft = "The price of coffee doubled in Brazil ([a](a.md)).";
    let report = check(draft, DraftFormat::Markdown).await;
    assert_eq!(messages(&report, CheckCode::NotInSource).len(), 1);
    let table = report.render(CheckFormat::Markdown, "draft.md").unwrap();
    let row = table.lines().find(|line| line.starts_with("| 1 |"));
    for part in [
        "| not_in_source (",
        "“Night work shortened sleep by 74 minutes in 412 people.”",
        "— Night work and the sleep of nurses |",
    ] {
        assert!(row.unwrap().contains(part), "{table}");
    }
}
