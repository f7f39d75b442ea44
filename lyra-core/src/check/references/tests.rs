use super::super::draft::{Draft, DraftFormat};
use super::*;

/// The prose, and the entries with their labels and the text of their spans in the draft.
fn read(text: &str) -> (Vec<String>, Vec<(String, String)>) {
    let draft = Draft::read(text.as_bytes(), DraftFormat::Markdown).unwrap();
    let parts = split(&draft.pieces);
    let entries = parts.entries.iter().map(|entry| {
        let span = entry.span.clone().unwrap();
        let cut: String = text.chars().skip(span.start).take(span.len()).collect();
        assert_eq!(cut.replace('\n', " ").trim(), entry.text, "{text}");
        (entry.label.clone().unwrap_or_default(), entry.text.clone())
    });
    let entries = entries.collect();
    let prose = parts.prose.iter().map(|piece| piece.text.clone());
    (prose.collect(), entries)
}

fn entries(lines: &[&str]) -> Vec<(String, String)> {
    let numbered = lines.iter().enumerate();
    numbered
        .map(|(at, line)| ((at + 1).to_string(), (*line).to_owned()))
        .collect()
}

const TANAKA: &str = "Tanaka, K. (2017). Night work – and sleep. https://doi.org/10.1234/a";
const ROE: &str = "Roe B. Naps in men. Sleep 2018;4:12.";
const PEP: &str = "PEP 703, https://peps.example/703";

#[test]
fn a_heading_stands_directly_above_its_entries() {
    let text = format!("Risk rose [1].\n\nReferences\n[1] {TANAKA}\n[2] {ROE}\n");
    let found = read(&text);
    assert_eq!(found.0, ["Risk rose [1]."]);
    assert_eq!(found.1, entries(&[TANAKA, ROE]));
    let text = format!("Risk rose [1].\nReferences:\n{TANAKA}\n{ROE}\n\n{PEP}\n");
    let found = read(&text);
    assert_eq!(found.0, ["Risk rose [1]. "]);
    assert_eq!(found.1, entries(&[TANAKA, ROE, PEP]));
    let wrapped = "The report has many\nsources\nand it names 2019 as the year.";
    assert!(read(wrapped).1.is_empty());
}

#[test]
fn lines_are_entries_where_each_could_be_one() {
    let text = format!("## References\n\n{TANAKA}\n{ROE}\n{PEP}\n");
    assert_eq!(read(&text).1, entries(&[TANAKA, ROE, PEP]));
    let wrapped = "## References\n\nTanaka, K. (2017). Night work\nand sleep.\nhttps://doi.org/10.1234/a\nRoe B. Naps in\nmen. Sleep 2018;4:12.";
    let tanaka = "Tanaka, K. (2017). Night work and sleep. https://doi.org/10.1234/a";
    assert_eq!(read(wrapped).1, entries(&[tanaka, ROE]));
    let addresses = "## Sources\n\nhttps://a.example/x\nhttps://b.example/y";
    assert_eq!(read(addresses).1.len(), 2);
}

#[test]
fn headings_are_known_in_several_languages() {
    for heading in [
        "References and notes",
        "References cited",
        "Reference",
        "Literaturverzeichnis",
        "Quellen",
        "Bibliografia",
        "Referências",
        "参考",
        "引用文献",
        "5. 文献：",
    ] {
        let found = read(&format!("# {heading}\n\n{TANAKA}\n"));
        assert_eq!(found.1, entries(&[TANAKA]), "{heading}");
    }
    assert!(
        read(&format!("# Further reading\n\n{TANAKA}\n"))
            .1
            .is_empty()
    );
}
