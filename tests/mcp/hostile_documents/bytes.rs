//! The bytes of hostile documents, made by small generators.

use std::io::Write as _;

/// A PDF of these objects, numbered from 1; the first is the catalog.
pub(super) fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut places = String::new();
    for (at, object) in objects.iter().enumerate() {
        places += &format!("{:010} 00000 n \n", out.len());
        out.extend(format!("{} 0 obj\n", at + 1).bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let (start, count) = (out.len(), objects.len() + 1);
    out.extend(
        format!(
            "xref\n0 {count}\n0000000000 65535 f \n{places}trailer <</Size {count}/Root 1 0 R>>\n\
             startxref\n{start}\n%%EOF\n"
        )
        .bytes(),
    );
    out
}

pub(super) fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<<{entries}/Length {}>>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

pub(super) fn packed(entries: &str, content: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(content).unwrap();
    let content = packer.finish().unwrap();
    stream(&format!("{entries}/Filter/FlateDecode"), &content)
}

pub(super) const WORDS: &str = "BT /F 12 Tf 50 700 Td (Drug X increased the risk of falls.) Tj ET";

/// A page that draws this content; `resources` stand beside the font, and `more` are the objects
/// from 6 on.
pub(super) fn page(content: Vec<u8>, resources: &str, more: &[Vec<u8>]) -> Vec<u8> {
    page_of("4 0 R", content, resources, more)
}

/// The same with these references to its content.
pub(super) fn page_of(
    contents: &str,
    content: Vec<u8>,
    resources: &str,
    more: &[Vec<u8>],
) -> Vec<u8> {
    let page = format!(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {contents}\
         /Resources<</Font<</F 5 0 R>>{resources}>>>>"
    );
    pdf(&[&book(1, page, content), more].concat())
}

/// The objects of a file that has the same page several times.
pub(super) fn book(pages: usize, page: String, content: Vec<u8>) -> [Vec<u8>; 5] {
    let kids = "3 0 R ".repeat(pages);
    [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Count {pages}/Kids[{kids}]>>").into_bytes(),
        page.into_bytes(),
        content,
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_vec(),
    ]
}

pub(super) fn form(resources: &str, content: &str) -> Vec<u8> {
    let entries = format!("/Type/XObject/Subtype/Form/BBox[0 0 9 9]{resources}");
    stream(&entries, content.as_bytes())
}

/// The name of each, and its bytes.
pub(super) fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let plain = |content: &str| stream("", content.as_bytes());
    let draw = |name: &str| plain(&format!("{WORDS} /{name} Do"));
    let to_self = "/Resources<</XObject<</X 6 0 R>>>>";
    let of_each = |n: usize| format!("/Resources<</XObject<</X {} 0 R>>>>", n + 1);
    let tenfold: Vec<Vec<u8>> = (6..16)
        .map(|n| form(&of_each(n), &"/X Do ".repeat(10)))
        .chain([form("", WORDS)])
        .collect();
    let map = |ranges: &str| {
        let cmap = format!("1 begincodespacerange <00> <ff> endcodespacerange {ranges}");
        let font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>".to_vec();
        let content = plain(&WORDS.replace("/F ", "/G "));
        let both = [font, packed("", cmap.as_bytes())];
        let mut whole = page(content, "", &both);
        let place = whole.windows(8).position(|w| w == b"/F 5 0 R").unwrap();
        whole[place..place + 8].copy_from_slice(b"/G 6 0 R");
        whole
    };
    let range = "1 beginbfrange <00000000> <ffffffff> <0000> endbfrange";
    let parents = "<</Type/Page/Parent 3 0 R/Contents 4 0 R>>";
    let own_parent = pdf(&[
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>".to_vec(),
        parents.into(),
        plain(WORDS),
    ]);
    let often = format!("[{}]", "4 0 R ".repeat(5_000));
    let html = |open: usize, paragraphs: usize| {
        let text = "Drug X increased the risk of falls in older adults.";
        format!(
            "<body>{}{}{text}",
            "<font>".repeat(open),
            "<p>".repeat(paragraphs)
        )
    };
    vec![
        (
            "form.pdf",
            page(draw("X"), "/XObject<</X 6 0 R>>", &[form(to_self, "/X Do")]),
        ),
        (
            "inherited.pdf",
            page(draw("X"), "/XObject<</X 6 0 R>>", &[form("", "/X Do")]),
        ),
        (
            "tenfold.pdf",
            page(draw("X"), "/XObject<</X 6 0 R>>", &tenfold),
        ),
        ("parent.pdf", own_parent),
        ("range.pdf", map(range)),
        (
            "ranges.pdf",
            map(&"1 beginbfrange <0000> <ffff> <0000> endbfrange\n".repeat(20_000)),
        ),
        ("brackets.pdf", map(&"[".repeat(2_000_000))),
        (
            "states.pdf",
            page(packed("", &b"q ".repeat(4_000_000)), "", &[]),
        ),
        (
            "lines.pdf",
            page(packed("", &b"1 2 m 3 4 l ".repeat(5_000_000)), "", &[]),
        ),
        (
            "shows.pdf",
            page(packed("", &b"() Tj ".repeat(9_000_000)), "", &[]),
        ),
        (
            "array.pdf",
            page(
                packed("", &[b"BT [".to_vec(), b"(a)1 ".repeat(9_000_000)].concat()),
                "",
                &[],
            ),
        ),
        (
            "streams.pdf",
            page_of(&often, packed("", &b"() Tj ".repeat(2_000_000)), "", &[]),
        ),
        ("font.html", html(20_000, 20_000).into_bytes()),
        ("fonts.html", html(200_000, 200_000).into_bytes()),
        (
            "paragraphs.html",
            "<p>aaaa</p>".repeat(9 * 1024 * 1024 / 11).into_bytes(),
        ),
        (
            "bold.html",
            "<b>a</b> <i>b</i>".repeat(500_000).into_bytes(),
        ),
        (
            "nested.html",
            format!("{}{}", "<div>".repeat(440), "<p>x".repeat(99_000)).into_bytes(),
        ),
        ("tables.html", "<table><tr><td>".repeat(60_000).into_bytes()),
        (
            "quotes.md",
            ["> ".repeat(200_000), "x".into()].concat().into_bytes(),
        ),
    ]
}
