//! Structure for formats in which chance alone gets past the first bytes.
//!
//! An input that begins with the byte [`MADE`] is a recipe: each of its bytes chooses what comes
//! next. Every other input is taken as it is, so that the files of `seeds/` are plain documents.

/// Marks a recipe.
pub const MADE: u8 = 0xFF;

/// The document of an input: what `made` makes of a recipe, and else the input itself.
pub fn document(input: &[u8], made: fn(&mut Recipe<'_>) -> Vec<u8>) -> Vec<u8> {
    match input.split_first() {
        Some((&MADE, rest)) => made(&mut Recipe(rest)),
        _ => input.to_vec(),
    }
}

/// Bytes that choose.
pub struct Recipe<'a>(&'a [u8]);

impl<'a> Recipe<'a> {
    pub(crate) fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn one_of<'t>(&mut self, choices: &[&'t str]) -> Option<&'t str> {
        let byte = usize::from(self.next()?);
        choices.get(byte % choices.len()).copied()
    }

    pub(crate) fn number(&mut self) -> u32 {
        let bytes = [self.next(), self.next()].map(Option::unwrap_or_default);
        u32::from(u16::from_le_bytes(bytes))
    }

    /// Some bytes of the input itself.
    pub(crate) fn raw(&mut self) -> &'a [u8] {
        let wanted = usize::from(self.next().unwrap_or_default());
        let (taken, rest) = self.0.split_at(wanted.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

const WORDS: &[&str] = &[
    "Drug X lowers blood pressure. ",
    "in 2019 (p < 0.05), e.g. Smith et al. ",
    "血糖値が下がる。",
    "é\u{301}🙂\u{200b}",
    "https://example.org/a?b=c#d ",
    "10.1000/xyz123 ",
    "doi:10.1/(a)b ",
    "\u{202e}",
    "\t",
    "\n",
    "\n\n",
    "\u{ad}",
    "Dr. No vs. U.S. ",
    "&amp;",
    "&#x110000;",
    "&",
    "<",
    "\"",
    "'",
    "]]>",
    "0",
    "-1",
    "99999999999999999999",
    "“Quote.” ",
];

/// Words, whole or broken.
pub fn text(recipe: &mut Recipe<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(byte) = recipe.next() {
        match WORDS.get(usize::from(byte)) {
            Some(word) => out.extend_from_slice(word.as_bytes()),
            None => out.push(byte),
        }
    }
    out
}

fn escaped(word: &str) -> String {
    word.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace("]]>", "")
}

/// Elements within elements, all of them closed.
fn tree(recipe: &mut Recipe<'_>, root: &str, tags: &[&str], attributes: &[&str]) -> String {
    let mut out = format!("<{root}>");
    let mut open = vec![root];
    while let Some(byte) = recipe.next() {
        match byte % 8 {
            0..=2 if open.len() < 300 => {
                let Some(tag) = recipe.one_of(tags) else {
                    break;
                };
                let attribute = recipe.one_of(attributes).unwrap_or_default();
                let value =
                    escaped(recipe.one_of(WORDS).unwrap_or_default()).replace('"', "&quot;");
                match attribute {
                    "" => out.push_str(&format!("<{tag}>")),
                    name => out.push_str(&format!("<{tag} {name}=\"{value}\">")),
                }
                open.push(tag);
            }
            3 | 4 if open.len() > 1 => {
                out.push_str(&format!("</{}>", open.pop().unwrap_or_default()))
            }
            _ => out.push_str(&escaped(recipe.one_of(WORDS).unwrap_or_default())),
        }
    }
    while let Some(tag) = open.pop() {
        out.push_str(&format!("</{tag}>"));
    }
    out
}

/// A page of the web.
pub fn html(recipe: &mut Recipe<'_>) -> Vec<u8> {
    const TAGS: &[&str] = &[
        "p",
        "div",
        "article",
        "main",
        "h1",
        "h2",
        "h6",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "td",
        "th",
        "thead",
        "pre",
        "code",
        "blockquote",
        "a",
        "b",
        "i",
        "sup",
        "sub",
        "span",
        "section",
        "aside",
        "nav",
        "header",
        "footer",
        "figure",
        "figcaption",
        "script",
        "style",
        "title",
        "meta",
        "head",
        "body",
        "form",
        "select",
        "option",
        "svg",
        "math",
        "template",
        "noscript",
        "iframe",
        "br",
        "img",
        "dl",
        "dt",
        "dd",
        "details",
        "summary",
        "textarea",
    ];
    const ATTRIBUTES: &[&str] = &[
        "",
        "class",
        "id",
        "href",
        "name",
        "content",
        "property",
        "colspan",
        "rowspan",
        "style",
        "hidden",
        "lang",
        "http-equiv",
        "charset",
        "datetime",
        "rel",
        "src",
    ];
    format!("<!DOCTYPE html>{}", tree(recipe, "html", TAGS, ATTRIBUTES)).into_bytes()
}

/// A journal article in JATS.
pub fn jats(recipe: &mut Recipe<'_>) -> Vec<u8> {
    const TAGS: &[&str] = &[
        "front",
        "article-meta",
        "journal-meta",
        "journal-title",
        "title-group",
        "article-title",
        "article-id",
        "contrib-group",
        "contrib",
        "name",
        "surname",
        "given-names",
        "collab",
        "pub-date",
        "day",
        "month",
        "year",
        "abstract",
        "body",
        "sec",
        "title",
        "p",
        "list",
        "list-item",
        "table-wrap",
        "table",
        "thead",
        "tbody",
        "tr",
        "td",
        "th",
        "fig",
        "caption",
        "disp-formula",
        "inline-formula",
        "xref",
        "ext-link",
        "italic",
        "sup",
        "back",
        "ref-list",
        "ref",
        "mixed-citation",
        "element-citation",
        "pub-id",
        "source",
        "etal",
        "fn",
        "supplementary-material",
        "related-article",
        "aff",
        "label",
        "disp-quote",
        "def-list",
        "boxed-text",
    ];
    const ATTRIBUTES: &[&str] = &[
        "",
        "pub-id-type",
        "contrib-type",
        "date-type",
        "ref-type",
        "rid",
        "id",
        "article-type",
        "xlink:href",
        "related-article-type",
        "colspan",
        "rowspan",
        "list-type",
        "xml:lang",
    ];
    let start = "<?xml version=\"1.0\"?><!DOCTYPE article PUBLIC \"-//NLM//DTD JATS\" \"a.dtd\">";
    let body = tree(recipe, "article", TAGS, ATTRIBUTES);
    let body = body.replacen(
        "<article>",
        "<article xmlns:xlink=\"http://www.w3.org/1999/xlink\">",
        1,
    );
    format!("{start}{body}").into_bytes()
}

/// Markdown with front matter.
pub fn markdown(recipe: &mut Recipe<'_>) -> Vec<u8> {
    const PARTS: &[&str] = &[
        "\n",
        "\n\n",
        "# ",
        "###### ",
        "\n===\n",
        "\n---\n",
        "- ",
        "  * ",
        "1. ",
        "> ",
        "> > ",
        "```\n",
        "~~~rust\n",
        "    ",
        "| a | b |\n|---|:-:|\n",
        "| x | ",
        " |\n",
        "*",
        "**",
        "***",
        "_",
        "`",
        "``",
        "[",
        "](",
        ")",
        "![",
        "][",
        "[^1]",
        "[^1]: ",
        "[a]: http://x.org \"t\"\n",
        "<b>",
        "</b>",
        "<!--",
        "-->",
        "<https://x.org>",
        "\\",
        "  \n",
        "- [ ] ",
        "---\ntitle: ",
        "author: ",
        "date: 3 May 2020\n",
        "year: ",
        "doi: ",
        "references:\n  - ",
        "\u{feff}",
        "~~",
        "$$",
    ];
    let mut out = Vec::new();
    while let Some(byte) = recipe.next() {
        let at = usize::from(byte);
        match PARTS.get(at).or_else(|| WORDS.get(at - PARTS.len())) {
            Some(part) => out.extend_from_slice(part.as_bytes()),
            None => out.push(byte),
        }
    }
    out
}

fn json_value(recipe: &mut Recipe<'_>) -> String {
    let word = recipe.one_of(WORDS).unwrap_or_default();
    match recipe.next().unwrap_or_default() % 12 {
        0..=5 => serde_json::json!(word).to_string(),
        6 => recipe.number().to_string(),
        7 => format!("[{}]", serde_json::json!(word)),
        8 => format!("{{\"doi\":{},\"title\":\"t\"}}", serde_json::json!(word)),
        9 => "null".to_owned(),
        10 => "true".to_owned(),
        _ => format!("-{}.5e3", recipe.number()),
    }
}

/// A file of records, a document a line.
pub fn records(recipe: &mut Recipe<'_>) -> Vec<u8> {
    const KEYS: &[&str] = &[
        "id",
        "_id",
        "doc_id",
        "title",
        "abstract",
        "text",
        "authors",
        "year",
        "venue",
        "journal",
        "doi",
        "pmid",
        "url",
        "language",
        "references",
        "is_retracted",
        "superseded_by",
        "date",
        "published_date",
        "arxiv",
        "unknown",
    ];
    let mut out = String::new();
    while let Some(fields) = recipe.next() {
        let members: Vec<String> = (0..fields % 8)
            .filter_map(|_| Some(format!("{:?}:{}", recipe.one_of(KEYS)?, json_value(recipe))))
            .collect();
        out.push_str(&format!("{{{}}}\n", members.join(",")));
    }
    out.into_bytes()
}

/// Lines of the interchange format that refer to one another.
pub fn interchange(recipe: &mut Recipe<'_>) -> Vec<u8> {
    const IDS: &[&str] = &["a", "b", "c", "血", "doi:10.1/w"];
    const LINES: &[&str] = &[
        r#"{"type":"task","id":"@","hypothesis":"h $"}"#,
        r#"{"type":"work","canonical_id":"@","title":"$","year":#,"doi":"10.1/@"}"#,
        r#"{"type":"work_author","canonical_id":"@","position":#,"name":"$"}"#,
        r#"{"type":"work_identifier","canonical_id":"@","provider":"p","provider_paper_id":"@","pmid":"@","arxiv_id":"@"}"#,
        r#"{"type":"page","id":"@","url":"https://x.org/@","canonical_id":"@"}"#,
        r#"{"type":"page","id":"@","url":"https://x.org/@","near_duplicate_of":"@","fetched_at":"2026-01-01T00:00:00Z"}"#,
        r#"{"type":"page_text","page_id":"@","version":#,"text":"$ Drug X lowers. $"}"#,
        r#"{"type":"page_text","page_id":"@","text":"$ Drug X lowers. $"}"#,
        r#"{"type":"page_reference","page_id":"@","position":#,"doi":"10.1/@","citation_source":"$"}"#,
        r#"{"type":"resource","identifier_type":"doi","identifier_value":"10.1/@","page_id":"@"}"#,
        r#"{"type":"fragment","id":"@","page_id":"@","position":#,"text_content":"Drug X lowers."}"#,
        r#"{"type":"fragment","id":"@","page_id":"@","text_content":"$","char_start":#,"char_end":#,"page_version":#}"#,
        r#"{"type":"claim","id":"@","task_id":"@","claim_text":"c $"}"#,
        r#"{"type":"hypothesis_stance","claim_id":"@","task_id":"@","relation":"supports","confidence":0.5,"judge_id":"@"}"#,
        r#"{"type":"verdict","fragment_id":"@","claim_id":"@","relation":"refutes","confidence":0.5,"judge_id":"agent:$","quote_start":#,"quote_end":#}"#,
        r#"{"type":"edge","id":"@","source_type":"fragment","source_id":"@","target_type":"claim","target_id":"@","relation":"origin","quote_start":#,"quote_end":#}"#,
        r#"{"type":"edge","source_type":"fragment","source_id":"@","target_type":"claim","target_id":"@","relation":"refutes","nli_edge_confidence":0.25}"#,
        r#"{"type":"edge","id":"@","source_type":"page","source_id":"@","target_type":"page","target_id":"@","relation":"cites"}"#,
        r#"{"type":"embedding","id":"@","target_type":"claim","target_id":"@","model_id":"m","vector":[#,0.5]}"#,
        r#"{"type":"task_page","task_id":"@","page_id":"@","reason":"search","source_page_id":"@"}"#,
    ];
    let mut out = Vec::new();
    while let Some(choice) = recipe.next() {
        if choice == 255 {
            out.extend_from_slice(recipe.raw());
            continue;
        }
        for c in LINES[usize::from(choice) % LINES.len()].chars() {
            let piece = match c {
                '@' => recipe.one_of(IDS).unwrap_or("a").to_owned(),
                '#' => (recipe.next().unwrap_or_default() % 24).to_string(),
                '$' => {
                    let word =
                        serde_json::json!(recipe.one_of(WORDS).unwrap_or_default()).to_string();
                    word[1..word.len() - 1].to_owned()
                }
                other => other.to_string(),
            };
            out.extend_from_slice(piece.as_bytes());
        }
        out.push(b'\n');
    }
    out
}

/// What a client says, message by message.
pub fn messages(recipe: &mut Recipe<'_>) -> Vec<u8> {
    const IDS: &[&str] = &[
        "1",
        "2",
        "\"a\"",
        "null",
        "1.5",
        "-1",
        "[]",
        "18446744073709551616",
    ];
    const LINES: &[&str] = &[
        r#"{"jsonrpc":"2.0","id":@,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":@,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":@}}"#,
        r#"{"method":"tools/call","params":{"name":"$","arguments":{"a":"$"}},"jsonrpc":"2.0","id":@}"#,
        r#"{"jsonrpc":"2.0","id":@,"method":"$","params":@}"#,
        r#"{"jsonrpc":"2.0","id":@,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":@,"error":{"code":1,"message":"$"}}"#,
        r#"{"jsonrpc":"1.0","id":@,"method":"ping"}"#,
        r#"[{"jsonrpc":"2.0","id":@,"method":"ping"}]"#,
        r#"{"id":@,"id":@,"jsonrpc":"2.0","method":"ping"}"#,
        "",
        "\u{feff}{}",
    ];
    let mut out = Vec::new();
    while let Some(choice) = recipe.next() {
        if choice == 255 {
            out.extend_from_slice(recipe.raw());
            continue;
        }
        for c in LINES[usize::from(choice) % LINES.len()].chars() {
            match c {
                '@' => out.extend_from_slice(recipe.one_of(IDS).unwrap_or("1").as_bytes()),
                '$' => {
                    let word =
                        serde_json::json!(recipe.one_of(WORDS).unwrap_or_default()).to_string();
                    out.extend_from_slice(&word.as_bytes()[1..word.len() - 1]);
                }
                other => out.extend_from_slice(other.to_string().as_bytes()),
            }
        }
        out.push(b'\n');
    }
    out
}
