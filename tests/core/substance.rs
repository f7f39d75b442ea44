//! What the claims and their sides are worth, on documents that nothing was trained on or tuned to. The
//! bars are below what is measured (benches/substance): they tell of a fall, not of a change.

#[path = "../../benches/substance/sentences.rs"]
#[allow(
    dead_code,
    clippy::print_stdout,
    reason = "the benchmark prints what is not tested"
)]
mod sentences;

use lyra_core::Result;

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| lyra_core::Error::invalid(e.to_string()))
}

fn share(part: usize, whole: usize) -> String {
    format!("{part}/{whole}")
}

#[tokio::test]
async fn claims_of_unseen_documents_are_on_the_question() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../benches/substance/sentences.jsonl"
    );
    let (all, _) = sentences::measure(&read(path).unwrap(), Some("b"))
        .await
        .unwrap();
    let [on, taken, labelled] = all.on_question();
    let [right, decided] = all.sides();
    eprintln!(
        "{} of claims on the question, {} found, sides right {}",
        share(on, taken),
        share(on, labelled),
        share(right, decided)
    );
    assert!(on * 100 >= taken * 40, "precision {on}/{taken}");
    assert!(on * 100 >= labelled * 45, "recall {on}/{labelled}");
    assert!(right * 100 >= decided * 30, "sides {right}/{decided}");
}
