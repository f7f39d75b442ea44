use super::*;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn read(text: &str, format: DraftFormat) -> Draft {
    Draft::read(text.as_bytes(), format).unwrap()
}

fn texts(draft: &Draft) -> Vec<&str> {
    draft
        .pieces
        .iter()
        .map(|piece| piece.text.as_str())
        .collect()
}

/// The text of the draft for a part of a piece.
fn cut(draft: &Draft, piece: &Piece, words: &str) -> String {
    let before = piece.text.find(words).unwrap();
    let start = piece.text[..before].chars().count();
    let span = piece.place(&(start..start + words.chars().count()));
    draft
        .text
        .chars()
        .skip(span.start)
        .take(span.len())
        .collect()
}

#[test]
fn a_byte_order_mark_is_a_code_point_of_the_draft_and_no_prose() {
    for (text, format) in [
        (
            "\u{feff}# Ä\n\nRisk rose.[^n]\n\n[^n]: Roe 2019.",
            DraftFormat::Markdown,
        ),
        ("\u{feff}<p>Ä</p><p>Risk rose.</p>", DraftFormat::Html),
        ("\u{feff}Ä\n\nRisk rose.\\cite{a}", DraftFormat::Latex),
    ] {
        let draft = read(text, format);
        assert_eq!(draft.text, text);
        assert_eq!(draft.pieces[0].text, "Ä");
        assert_eq!(cut(&draft, &draft.pieces[1], "Risk rose."), "Risk rose.");
        for mark in &draft.pieces[1].marks {
            let of = mark.span.clone();
            let cut: String = text.chars().skip(of.start).take(of.len()).collect();
            assert!(["[^n]", "\\cite{a}"].contains(&cut.as_str()), "{cut}");
        }
    }
}

#[test]
fn latex_prints_letters_signs_and_quantities() {
    for (source, printed) in [
        (
            "M\\\"uller, M{\\\"u}ller, M\\\"{u}ller",
            "Müller, Müller, Müller",
        ),
        (
            "Stra\\ss e, \\'{\\i}, \\c{c}a, Bj{\\o}rn, \\v Skoda",
            "Straße, í, ça, Bjørn, Škoda",
        ),
        (
            "\\SI{5}{\\milli\\gram} and \\qty{2.5}{\\kilo\\metre\\per\\hour}",
            "5 mg and 2.5 km/h",
        ),
        (
            "\\SI{5}{mg}, \\qty{3}{\\mg}, \\num{1200}",
            "5 mg, 3 mg, 1200",
        ),
        (
            "\\qtyrange{1}{3}{\\square\\metre}, \\SI{7}{\\percent}",
            "1 to 3 m², 7 %",
        ),
        (
            "5\\,\\% of men, $5\\,\\%$ of women",
            "5 % of men, 5 % of women",
        ),
        ("pages 3--5~of it, \\verb|a~b|", "pages 3–5 of it, a~b"),
        ("A % remark\nB", "A B"),
    ] {
        assert_eq!(texts(&read(source, DraftFormat::Latex)), [printed]);
    }
    let draft = read("It took \\SI{5}{\\milli\\gram}.", DraftFormat::Latex);
    assert_eq!(
        cut(&draft, &draft.pieces[0], "5 mg"),
        "\\SI{5}{\\milli\\gram}"
    );
}

#[test]
fn footnotes_of_latex_leave_the_sentence_whole() {
    let text = "Risk rose\\footnote{See \\cite{a}.\n\nIt is long.} in men. Deaths fell\\footnote{Roe B. \
        Naps. 2019.} in men\\footnote{Not all.}.";
    let draft = read(text, DraftFormat::Latex);
    assert_eq!(
        texts(&draft),
        [
            "Roe B. Naps. 2019.",
            "Risk rose in men. Deaths fell in men."
        ]
    );
    assert_eq!(
        draft.pieces[0].kind,
        PieceKind::Note("footnote 1".to_owned())
    );
    let keys: Vec<_> = draft.pieces[1]
        .marks
        .iter()
        .map(|mark| mark.keys.concat())
        .collect();
    assert_eq!(keys, ["a", "footnote 1"]);
}

#[test]
fn the_bibliography_of_latex_is_read_by_its_keys() {
    let text = "Risk rose \\cite{roe}.\n\\begin{thebibliography}{9}\n\\bibitem{roe} Roe, B.\n\n\
        \\newblock Naps in men, 2019.\n\\bibitem[Doe(2018)]{doe} Doe, J. Noise, 2018.\n\
        \\end{thebibliography}\nDeaths fell.";
    let draft = read(text, DraftFormat::Latex);
    let notes: Vec<_> = draft
        .pieces
        .iter()
        .map(|p| (p.kind.clone(), p.text.trim()))
        .collect();
    let note = |key: &str| PieceKind::Note(key.to_owned());
    assert_eq!(notes[1], (note("roe"), "Roe, B. Naps in men, 2019."));
    assert_eq!(notes[2], (note("doe"), "Doe, J. Noise, 2018."));
    assert_eq!(notes[3], (PieceKind::Paragraph, "Deaths fell."));
}

#[test]
fn latex_that_never_ends_is_read_in_time() {
    for part in [
        "\\footnote{",
        "\\section{a",
        "\\(",
        "$",
        "\\[",
        "\\verb|",
        "\\begin{comment}",
        "\\\"{",
        "\\SI{",
    ] {
        read(&part.repeat(20_000), DraftFormat::Latex);
    }
}

/// A Word file with these parts.
fn docx(body: &str, notes: &[(&str, &str)]) -> Draft {
    let space = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"";
    let mut file = ZipWriter::new(Cursor::new(Vec::new()));
    let document = format!("<w:document {space}><w:body>{body}</w:body></w:document>");
    let mut parts = vec![("word/document.xml".to_owned(), document)];
    for (kind, text) in notes {
        let xml = format!(
            "<w:{kind}s {space}><w:{kind} w:id=\"2\"><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:{kind}></w:{kind}s>"
        );
        parts.push((format!("word/{kind}s.xml"), xml));
    }
    for (name, text) in parts {
        file.start_file(name, SimpleFileOptions::default()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
    let bytes = file.finish().unwrap().into_inner();
    Draft::read(&bytes, DraftFormat::Docx).unwrap()
}

#[test]
fn word_numbers_its_lists_raises_digits_and_names_its_notes() {
    let item = |text: &str| {
        format!(
            "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"0\"/><w:numId w:val=\"4\"/></w:numPr></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let body = format!(
        "<w:p><w:r><w:t>Risk rose.</w:t></w:r><w:r><w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr><w:t>1,2</w:t></w:r>\
         <w:r><w:footnoteReference w:id=\"2\"/></w:r><w:r><w:endnoteReference w:id=\"2\"/></w:r></w:p>{}{}",
        item("Roe B. Naps. 2019."),
        item("Doe J. Noise. 2018.")
    );
    let notes = [("footnote", "Not all."), ("endnote", "Some.")];
    let draft = docx(&body, &notes);
    let found: Vec<_> = draft
        .pieces
        .iter()
        .map(|p| (p.kind.clone(), p.text.as_str()))
        .collect();
    let note = |label: &str| PieceKind::Note(label.to_owned());
    assert_eq!(
        found,
        [
            (PieceKind::Paragraph, "Risk rose.¹˒²"),
            (PieceKind::Item(Some(1)), "Roe B. Naps. 2019."),
            (PieceKind::Item(Some(2)), "Doe J. Noise. 2018."),
            (note("footnote 1"), "Not all."),
            (note("endnote 1"), "Some."),
        ]
    );
    let keys: Vec<_> = draft.pieces[0]
        .marks
        .iter()
        .map(|mark| mark.keys.concat())
        .collect();
    assert_eq!(keys, ["footnote 1", "endnote 1"]);
}
