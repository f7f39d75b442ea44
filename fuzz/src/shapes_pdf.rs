//! A PDF file made of a recipe.

use crate::shapes::Recipe;

/// A PDF whose pages, fonts and cross-references are chosen one by one.
pub fn pdf(recipe: &mut Recipe<'_>) -> Vec<u8> {
    const OPERATORS: &[&str] = &[
        "BT",
        "ET",
        "/F1 12 Tf",
        "/F2 1 Tf",
        "/F9 -3 Tf",
        "72 700 Td",
        "0 -14 Td",
        "0 -14 TD",
        "T*",
        "1 0 0 1 72 500 Tm",
        "0 1 -1 0 90 90 Tm",
        "(Drug X lowers blood pressure.) Tj",
        "(\\050nested \\) \\\\) Tj",
        "<48656c6c6f> Tj",
        "<4> Tj",
        "[(a) -250 (b) 1e9 (c)] TJ",
        "(x) '",
        "1 2 (y) \"",
        "12 TL",
        "200 Tz",
        "5 Tc",
        "5 Tw",
        "3 Tr",
        "q",
        "Q",
        "1 0 0 1 0 0 cm",
        "0 0 0 0 0 0 cm",
        "/X1 Do",
        "/X2 Do",
        "/GS1 gs",
        "/P <</MCID 0>> BDC",
        "EMC",
        "BI /W 1 /H 1 ID x EI",
        "1 0 0 rg",
        "0 0 10 10 re f",
        "((((",
        "<<",
        ">>",
        "[",
        "]",
        "99999999999999999999 Td",
    ];
    const FONTS: &[&str] = &[
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Symbol/Encoding<</Differences[65/alpha/uni0041 66 67/g1 300/x]>>>>",
        "<</Type/Font/Subtype/TrueType/BaseFont/A/FirstChar 300/LastChar 20/Widths[1 2 3]/ToUnicode 8 0 R>>",
        "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[9 0 R]/ToUnicode 8 0 R>>",
        "<</Type/Font/Subtype/Type3/CharProcs<</a 6 0 R>>/FontMatrix[0 0 0 0 0 0]/Encoding<</Differences[0/a]>>>>",
        "<</Type/Font/Subtype/CIDFontType2/W[0[500]1 70000 3]/DW -1/CIDSystemInfo<</Ordering(Identity)>>>>",
        "null",
        "4 0 R",
        "[5 0 R]",
    ];
    const CMAPS: &[&str] = &[
        "1 beginbfchar <01> <0041> endbfchar",
        "1 beginbfrange <00> <ff> <0041> endbfrange",
        "1 beginbfrange <0000> <ffff> [<0041>] endbfrange",
        "1 begincodespacerange <00> <ffffffff> endcodespacerange",
        "1 beginbfchar <01> <d800> endbfchar",
        "/Other usecmap",
        "100000 beginbfchar",
    ];
    const TREES: &[&str] = &[
        "[3 0 R]",
        "[3 0 R 3 0 R]",
        "[2 0 R]",
        "[3 0 R 2 0 R]",
        "[]",
        "[99 0 R]",
        "3 0 R",
    ];
    let kids = recipe.one_of(TREES).unwrap_or("[3 0 R]").to_owned();
    let fonts = [
        recipe.one_of(FONTS),
        recipe.one_of(FONTS),
        recipe.one_of(FONTS),
    ]
    .map(Option::unwrap_or_default);
    let cmap = [recipe.one_of(CMAPS), recipe.one_of(CMAPS)]
        .map(Option::unwrap_or_default)
        .join("\n");
    let wrong = recipe.next().unwrap_or_default();
    let mut content = Vec::new();
    while let Some(byte) = recipe.next() {
        match OPERATORS.get(usize::from(byte)) {
            Some(operator) => content.extend_from_slice(operator.as_bytes()),
            None if byte < 200 => {
                content.extend_from_slice(format!("{} ", i32::from(byte) - 90).as_bytes())
            }
            None => content.extend_from_slice(recipe.raw()),
        }
        content.push(b'\n');
    }
    let stream = |body: &[u8]| {
        let mut out = format!(
            "<</Length {}>>stream\n",
            body.len() + usize::from(wrong % 7 == 1)
        )
        .into_bytes();
        out.extend_from_slice(body);
        out.extend_from_slice(b"\nendstream");
        out
    };
    let form = "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X1 7 0 R>>>>/Length 6>>stream\n/X1 Do\nendstream";
    let objects: [Vec<u8>; 9] = [
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Count {}/Kids{kids}>>", wrong % 5).into_bytes(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 6 0 R/Resources<</Font<</F1 4 0 R/F2 5 0 R>>/XObject<</X1 7 0 R>>>>>>".to_vec(),
        fonts[0].into(),
        fonts[1].into(),
        stream(&content),
        form.into(),
        stream(cmap.as_bytes()),
        fonts[2].into(),
    ];
    let mut out = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        places.push(out.len() + usize::from(wrong % 11 == 1));
        out.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
        out.extend_from_slice(object);
        out.extend_from_slice(b"\nendobj\n");
    }
    let start = out.len();
    out.extend_from_slice(b"xref\n0 10\n0000000000 65535 f \n");
    for place in places {
        out.extend_from_slice(format!("{place:010} 00000 n \n").as_bytes());
    }
    let start = if wrong % 13 == 1 { 0 } else { start };
    out.extend_from_slice(
        format!("trailer<</Size 10/Root 1 0 R>>\nstartxref\n{start}\n%%EOF").as_bytes(),
    );
    out
}
