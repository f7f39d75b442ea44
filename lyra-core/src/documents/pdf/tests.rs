use super::super::tests::{outline, shared_data};
use super::*;
use crate::error::ErrorKind;
use proptest::prelude::*;
use std::time::Duration;

/// Parses a document by its bytes, with a deadline, as in production.
fn parse(bytes: &[u8]) -> Result<ParsedDocument> {
    super::super::any_format::parse(bytes, None, "a.pdf")
}

const PAPER: &[u8] = include_bytes!("../../../../tests/data/documents/paper.pdf");

#[test]
fn a_paper_is_read() {
    let got = parse(PAPER).unwrap();
    assert_eq!(got.meta.title.as_deref(), Some("Night work and thirst"));
    assert_eq!(got.meta.authors, ["Ada Smith", "Bo Lee"]);
    assert_eq!(got.meta.doi.as_deref(), Some("10.1000/night.9"));
    assert_eq!(outline(&got.blocks), [
        "heading1 Night work and thirst",
        "paragraph Ada Smith and Bo Lee, doi:10.1000/NIGHT.9",
        "heading2 1 Introduction",
        "paragraph People who work at night drink less water than others, and the difference is seen in every age group that we looked at here.",
        "paragraph A second paragraph begins with an indent and says that evidence-based rules help, in a text that is evidence-based.",
        "heading2 2 Methods",
        "paragraph We asked forty people. This sentence goes on over the end of the page and ends there.",
        "list one litre in the morning\ntwo litres at night",
    ].join("|"));
    assert_eq!(got.warnings, Vec::<String>::new());
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    for cut in (0..PAPER.len()).step_by(97) {
        let _ = parse(&PAPER[..cut]);
    }
    let mut damaged = PAPER.to_vec();
    for at in (0..damaged.len()).step_by(61) {
        let before = damaged[at];
        damaged[at] ^= 0x15;
        let _ = parse(&damaged);
        damaged[at] = before;
    }
    let error = parse(b"%PDF-1.4\nnothing else").unwrap_err();
    assert!(error.message().contains("damaged"), "{error}");
}

#[test]
fn titles_and_names_of_word_processors_are_not_believed() {
    for title in ["Night work and thirst", "夜勤と口渇", "Sleep disorders"] {
        assert!(is_sensible_title(title), "{title}");
    }
    for title in [
        "Microsoft Word - paper",
        "paper.dvi",
        "untitled",
        "untitled document",
        "12-345-67",
        "x",
        "C:\\a b c",
    ] {
        assert!(!is_sensible_title(title), "{title}");
    }
    let cases: &[(&str, &[&str])] = &[
        (
            "Ada Smith, Bo Lee and Cy Day",
            &["Ada Smith", "Bo Lee", "Cy Day"],
        ),
        ("Smith, Ada; Lee, Bo", &["Smith, Ada", "Lee, Bo"]),
        ("asmith", &[]),
        ("山田太郎、佐藤花子", &["山田太郎", "佐藤花子"]),
        ("a@example.org", &[]),
    ];
    for (text, want) in cases {
        assert_eq!(authors(text), *want, "{text}");
    }
}

#[test]
fn real_files_give_text_or_a_reason() {
    let Some(folder) = shared_data("pdf/grobid/test") else {
        return;
    };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let got = super::super::any_format::parse(&std::fs::read(&path).unwrap(), None, "a.pdf");
        let got = got.unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let words: usize = got
            .blocks
            .iter()
            .map(|block| block.text.split_whitespace().count())
            .sum();
        assert!(words > 200, "{path:?}: {words} words");
    }
}

/// A PDF with these objects, numbered from 1; the first is the catalog. `more` is added to its
/// trailer.
fn file(objects: &[Vec<u8>], more: &str) -> Vec<u8> {
    let mut out = b"%PDF-1.6\n".to_vec();
    let mut places = String::new();
    for (number, object) in (1..).zip(objects) {
        places += &format!("{:010} 00000 n \n", out.len());
        out.extend(format!("{number} 0 obj\n").bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let (start, count) = (out.len(), objects.len() + 1);
    let table = format!(
        "xref\n0 {count}\n0000000000 65535 f \n{places}trailer <</Size {count}/Root 1 0 R{more}>>\n\
         startxref\n{start}\n%%EOF\n"
    );
    out.extend(table.bytes());
    out
}

fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<<{entries}/Length {}>>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

fn packed(entries: &str, content: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packer, content).unwrap();
    stream(
        &format!("{entries}/Filter/FlateDecode"),
        &packer.finish().unwrap(),
    )
}

const HELVETICA: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";

/// The objects of a file with these pages. The font is object 3, the content of the first page
/// object 5. `resources` and `page` are added to the dictionaries of those names, and `more` holds
/// the objects after the last page.
fn objects(
    pages: &[Vec<u8>],
    font: &str,
    resources: &str,
    page: &str,
    more: &[&str],
) -> Vec<Vec<u8>> {
    let kids: String = (0..pages.len())
        .map(|at| format!("{} 0 R ", 4 + 2 * at))
        .collect();
    let mut all = vec![
        b"<</Type/Catalog/Pages 2 0 R/OCProperties<</OCGs[6 0 R]/D<</OFF[6 0 R]>>>>>>".to_vec(),
        format!("<</Type/Pages/Count {}/Kids[{kids}]>>", pages.len()).into_bytes(),
        font.as_bytes().to_vec(),
    ];
    for (at, content) in pages.iter().enumerate() {
        let dictionary = format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {} 0 R\
             /Resources<</Font<</F 3 0 R>>{resources}>>{page}>>",
            5 + 2 * at
        );
        all.extend([dictionary.into_bytes(), content.clone()]);
    }
    all.extend(more.iter().map(|object| object.as_bytes().to_vec()));
    all
}

fn pages(contents: &[String]) -> Vec<u8> {
    let contents: Vec<Vec<u8>> = contents
        .iter()
        .map(|text| stream("", text.as_bytes()))
        .collect();
    file(&objects(&contents, HELVETICA, "", "", &[]), "")
}

/// The operators that show a line.
fn line(x: u32, y: u32, text: &str) -> String {
    format!("BT /F 10 Tf {x} {y} Td ({text}) Tj ET\n")
}

fn texts(bytes: &[u8]) -> Vec<String> {
    let got = parse(bytes).unwrap_or_else(|e| panic!("{e}"));
    got.blocks.into_iter().map(|block| block.text).collect()
}

#[test]
fn text_from_right_to_left_is_read_in_its_order() {
    let map = "1 begincodespacerange <00> <ff> endcodespacerange \
               1 beginbfrange <61> <7a> <05d0> endbfrange";
    let font = format!("{}/ToUnicode 6 0 R>>", HELVETICA.trim_end_matches(">>"));
    let map = String::from_utf8(stream("", map.as_bytes())).unwrap();
    // In visual order, from left to right; `a` stands for the first letter of the alphabet.
    for (seen, read) in [
        ("ihg 2024, \\(fed\\) cba", "אבג (דהו) ,2024 זחט"),
        ("9.5% fed cba", "אבג דהו 9.5%"),
        ("RUST cba 9%", "RUST אבג 9%"),
    ] {
        let content = stream("", line(50, 700, seen).as_bytes());
        let bytes = file(&objects(&[content], &font, "", "", &[&map]), "");
        assert_eq!(texts(&bytes), [read], "{seen}");
    }
    // In logical order, each letter to the left of the previous one.
    let one = |(at, c): (u32, char)| line(300 - 6 * at, 700, &c.to_string());
    let read: String = (0..).zip("abc deg".chars()).map(one).collect();
    let bytes = file(
        &objects(&[stream("", read.as_bytes())], &font, "", "", &[&map]),
        "",
    );
    assert_eq!(texts(&bytes), ["אבג דהז"]);
}

/// A file encrypted with RC4 under the empty password; the bytes follow algorithms 2 to 4 of the
/// specification, for the content given here.
fn encrypted(user: &str) -> Vec<u8> {
    let hex = |text: &str| -> Vec<u8> {
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(byte).collect()
    };
    let content = hex(
        "ed5ce72da5a0642005f240c3ae6d1270de88733412db14185206df903e7bcf5dcb215fb18f1316cc9c36ab9bf0\
         348edca7759270b1299bda",
    );
    let dictionary = format!(
        "<</Filter/Standard/V 1/R 2/P -4/U<{user}>\
         /O<c92422687facee686e373f10b5c7d04738053152f7e2ee30e11c69ec442576ab>>>"
    );
    let page = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R\
                /Resources<</Font<</F 6 0 R>>>>>>";
    let all = [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>".to_vec(),
        page.as_bytes().to_vec(),
        stream("", &content),
        dictionary.into_bytes(),
        HELVETICA.as_bytes().to_vec(),
    ];
    let id = "30313233343536373839616263646566";
    file(&all, &format!("/Encrypt 5 0 R/ID[<{id}><{id}>]"))
}

#[test]
fn an_empty_password_opens_and_another_is_named() {
    let user = "13f3633f3c8fe41869648cfa5552ce67d52a786c2ca737f8f9c0e496403cd4ae";
    assert_eq!(texts(&encrypted(user)), ["Night work shortens sleep."]);
    let error = parse(&encrypted(&user.replace("13f3", "0000"))).unwrap_err();
    assert!(
        error.message().contains("locked with a password"),
        "{error}"
    );
}

#[test]
fn objects_are_found_without_their_table() {
    let text = "Night work shortens sleep.";
    let whole = String::from_utf8(pages(&[line(50, 700, text)])).unwrap();
    let start = whole.rfind("startxref").unwrap();
    let number = whole[start + 10..].lines().next().unwrap();
    let table = whole.rfind("xref\n0").unwrap();
    for damaged in [
        whole.replace(&format!("startxref\n{number}"), "startxref\n7"),
        whole.replace("00000 n", "00007 n"),
        whole.replacen(
            "%PDF-1.6\n",
            "%PDF-1.6\n% some bytes that moved all others\n",
            1,
        ),
        whole[..table].to_owned(),
        format!("Some mail server wrote this.\n{whole}"),
    ] {
        assert_eq!(texts(damaged.as_bytes()), [text], "{damaged}");
    }
}

#[test]
fn columns_are_read_one_after_the_other() {
    let left = [
        "People who work at night drink less",
        "water than others, and the difference",
        "is seen in every age group that was",
        "looked at here. It is larger among",
        "the young, who rarely drink before",
        "the end of their shift. Nobody knows",
        "why this is so.",
    ];
    let right = [
        "Forty people were asked what they",
        "drink at work and at home. All of",
        "them answered, and most of them did",
        "so twice. Their answers agree with",
        "what was measured on the wards in",
        "the same weeks of the year, when no",
        "one was on leave.",
    ];
    let rows = || (0u32..).zip(left.iter().zip(&right));
    let by_row: String = rows()
        .map(|(at, (l, r))| line(50, 700 - 12 * at, l) + &line(310, 700 - 12 * at, r))
        .collect();
    let first: String = rows()
        .map(|(at, (l, _))| line(50, 700 - 12 * at, l))
        .collect();
    let second: String = rows()
        .map(|(at, (_, r))| line(310, 700 - 12 * at, r))
        .collect();
    let want = [left.join(" "), right.join(" ")];
    assert_eq!(texts(&pages(&[by_row])), want);
    assert_eq!(texts(&pages(&[first + &second])), want);
}

#[test]
fn running_heads_stay_out_of_sentences_and_divided_words_are_whole() {
    let words = [
        ["water", "shift", "ward", "sleep"],
        ["thirst", "salt", "heat", "work"],
        ["coffee", "light", "noise", "rest"],
        ["sugar", "meals", "fruit", "night"],
    ];
    let page = |at: usize| {
        let [a, b, c, d] = words[at];
        line(50, 780, &format!("Journal of Sleep {}", 2001 + at))
            + &line(
                50,
                600,
                &format!("The {a} has a part in {b}, which the inter-"),
            )
            + &line(
                50,
                588,
                "vention and the evidence-based text of the evidence-",
            )
            + &line(
                50,
                576,
                &format!("based {c} name, and it goes on with the {d}"),
            )
            + &line(290, 20, &(at + 1).to_string())
    };
    let text = texts(&pages(&[page(0), page(1), page(2), page(3)])).join("\n");
    for (at, [a, b, c, d]) in words.into_iter().enumerate() {
        let whole = format!(
            "The {a} has a part in {b}, which the intervention and the evidence-based text of the \
             evidence-based {c} name, and it goes on with the {d}"
        );
        assert!(text.contains(&whole), "{at}: {text}");
    }
    assert!(!text.contains("Journal"), "{text}");
    assert!(!text.contains(|c: char| c.is_ascii_digit()), "{text}");
}

#[test]
fn what_is_not_seen_is_not_read_and_what_is_meant_is() {
    let hidden = "/Artifact <</Type/Pagination/Subtype/Header>> BDC\n".to_owned()
        + &line(50, 780, "Draft of a header")
        + "EMC\n/OC /Layer BDC\n"
        + &line(50, 760, "Switched off")
        + "EMC\n"
        + &line(50, 9_000, "Outside of the page");
    let meant =
        "/Span <</ActualText (sleep)>> BDC\n".to_owned() + &line(90, 700, "s1eep") + "EMC\n";
    let bold = line(50, 600, "Bold words") + "BT /F 10 Tf 50.2 600 Td (Bold words) Tj ET\n";
    let content = stream(
        "",
        (hidden + &line(50, 700, "Night") + &meant + &bold).as_bytes(),
    );
    let layers = "/Properties<</Layer 6 0 R>>";
    let field = "<</Type/Annot/Subtype/Widget/Rect[50 500 200 520]/AP<</N 8 0 R>>>>";
    let look = "/Type/XObject/Subtype/Form/BBox[0 0 150 20]/Resources<</Font<</F 3 0 R>>>>";
    let look = String::from_utf8(stream(look, line(2, 5, "Entered here").as_bytes())).unwrap();
    let more = ["<</Type/OCG/Name(x)>>", field, look.as_str()];
    let bytes = file(
        &objects(&[content], HELVETICA, layers, "/Annots[7 0 R]", &more),
        "",
    );
    assert_eq!(texts(&bytes), ["Night sleep", "Bold words", "Entered here"]);
}

#[test]
fn a_font_without_names_is_read_by_what_else_is_known() {
    let names = [
        (
            "/Encoding/Identity-H/ToUnicode/Identity-H",
            "004e0069006700680074",
        ),
        ("/Encoding/Identity-H", "0031004c004a004b0057"),
        ("/Encoding/UniJIS-UTF16-H", "591c52e4"),
    ];
    for ((encoding, codes), want) in names.into_iter().zip(["Night", "Night", "夜勤"]) {
        let ordering = if want == "Night" {
            "Identity"
        } else {
            "Japan1"
        };
        let font = format!(
            "<</Type/Font/Subtype/Type0/BaseFont/Some{encoding}/DescendantFonts[<</Type/Font\
             /Subtype/CIDFontType2/BaseFont/Some/CIDSystemInfo<</Registry(Adobe)/Ordering({ordering})\
             /Supplement 0>>>>]>>"
        );
        let content = stream(
            "",
            format!("BT /F 10 Tf 50 700 Td <{codes}> Tj ET").as_bytes(),
        );
        assert_eq!(
            texts(&file(&objects(&[content], &font, "", "", &[]), "")),
            [want],
            "{encoding}"
        );
    }
}

#[test]
fn a_code_that_stands_for_nothing_spoils_no_map() {
    let map = "1 begincodespacerange <00> <ff> endcodespacerange \
               3 beginbfchar <41> <0057> <42> <> <43> <0058> endbfchar";
    let font = format!("{}/ToUnicode 6 0 R>>", HELVETICA.trim_end_matches(">>"));
    let map = String::from_utf8(stream("", map.as_bytes())).unwrap();
    let content = stream("", line(50, 700, "ABC").as_bytes());
    let bytes = file(&objects(&[content], &font, "", "", &[&map]), "");
    assert_eq!(texts(&bytes), ["WX"]);
}

#[test]
fn bombs_are_cut_or_refused() {
    let words = line(50, 700, "Night work shortens sleep.");
    let with = |content: Vec<u8>, font: &str, more: &[&str]| {
        let resources = "/XObject<</X 6 0 R>>";
        parse(&file(
            &objects(
                &[stream("", words.as_bytes()), content],
                font,
                resources,
                "",
                more,
            ),
            "",
        ))
    };
    // A content stream that unpacks to more than the limit.
    let spaces = packed("", &vec![b' '; 64 * 1024 * 1024]);
    let got = with(spaces, HELVETICA, &[]).unwrap();
    assert_eq!(got.blocks.len(), 1);
    assert_eq!(got.warnings, ["pages with too much content were cut"]);
    // A form that draws itself, and endlessly nested saved states.
    let form = "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 8 0 R>>>>";
    let form = String::from_utf8(stream(form, b"/X Do /X Do")).unwrap();
    let more = ["null", "null", form.as_str()];
    let resources = "/XObject<</X 8 0 R>>";
    let content = stream("", (words.clone() + "/X Do").as_bytes());
    let itself = objects(
        &[content, packed("", &b"q ".repeat(1_000_000))],
        HELVETICA,
        resources,
        "",
        &more[2..],
    );
    assert_eq!(
        parse(&file(&itself, "")).unwrap().blocks[0].text,
        "Night work shortens sleep."
    );
    // Widths for four thousand million characters.
    let wide = "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[<</Type/Font\
                /Subtype/CIDFontType2/BaseFont/A/W[0 4294967295 500]>>]>>";
    assert!(with(stream("", b""), wide, &[]).is_ok());
    // Objects that unpack to too much.
    let mut bytes = pages(&[words]);
    bytes.extend(b"9 0 obj\n");
    bytes.extend(packed(
        "/Type/ObjStm/N 1/First 4",
        &vec![b' '; 64 * 1024 * 1024],
    ));
    let error = parse(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HostileDocument, "{error}");
}

#[test]
fn a_reading_that_nobody_waits_for_ends() {
    let bytes = pages(&[line(50, 700, &"words ".repeat(5_000))]);
    let file = Pdf::new(bytes).unwrap();
    for (left, ends) in [(Duration::ZERO, true), (Duration::from_secs(600), false)] {
        let mut collector = Collector::new(Instant::now() + left);
        let read = PageReader::new(&file, &mut collector).page(&file.pages()[0], 1);
        assert_eq!(read.is_err(), ends, "{left:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_bytes_give_a_document_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        at in 0..PAPER.len(),
    ) {
        let _ = parse(&[b"%PDF-1.4\n", &bytes[..]].concat());
        let _ = parse(&[&PAPER[..at], &bytes[..], &PAPER[at..]].concat());
    }
}
