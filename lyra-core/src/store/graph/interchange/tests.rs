//! Import and export through their public functions.

mod large;
mod publications;
mod round_trip;
mod verdicts;

use super::fields::Table;
use super::line;
use super::lines::MAX_LINE_BYTES;
use super::testing::{NOW, empty, export, import, rows, small_graph, with};
use super::*;
use crate::error::ErrorKind;
use crate::store::database::SqliteResultExt;
use crate::store::graph::verify::verify;
use proptest::prelude::*;
use std::time::Instant;

/// The rows that the invalid lines below may refer to.
const GROUND: &[&str] = &[
    r#"{"type":"task","id":"t","hypothesis":"h"}"#,
    r#"{"type":"work","canonical_id":"doi:10.1/w","title":"W"}"#,
    r#"{"type":"page","id":"p","url":"https://x.org/p","title":"P"}"#,
    r#"{"type":"page","id":"bare","url":"https://x.org/bare"}"#,
    r#"{"type":"page_text","page_id":"p","text":"血糖値🙂 aa bb bb"}"#,
    r#"{"type":"fragment","id":"f","page_id":"p","text_content":"aa","char_start":5,"char_end":7}"#,
    r#"{"type":"fragment","id":"loose","page_id":"bare","text_content":"aa"}"#,
    r#"{"type":"claim","id":"c","task_id":"t","claim_text":"c"}"#,
    r#"{"type":"edge","id":"e","source_type":"fragment","source_id":"f","target_type":"claim","target_id":"c","relation":"origin"}"#,
    r#"{"type":"edge","id":"v","source_type":"fragment","source_id":"f","target_type":"claim","target_id":"c","relation":"supports","nli_edge_confidence":0.5}"#,
    r#"{"type":"embedding","id":"m","target_type":"claim","target_id":"c","model_id":"x","vector":[1,2]}"#,
    r#"{"type":"task_page","task_id":"t","page_id":"p","reason":"search"}"#,
];

/// An invalid line, and the parts of the expected message.
const BAD: &[(&str, &[&str])] = &[
    // -- not a record
    ("{", &["column 1", "not JSON", "EOF"]),
    (
        r#"{"type":"task",}"#,
        &["column 16", "not JSON", "trailing comma"],
    ),
    (r#"{"血糖":"🙂",}"#, &["column 11", "trailing comma"]),
    ("[1]", &["expected a JSON object"]),
    ("7", &["expected a JSON object"]),
    ("null", &["expected a JSON object"]),
    (
        r#"{"type":"task","id":"a","hypothesis":"h"} {}"#,
        &["not JSON", "trailing characters"],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":"\ud800"}"#,
        &["column 45", "not JSON", "hex escape"],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":NaN}"#,
        &["not JSON", "expected value"],
    ),
    (
        r#"{}"#,
        &[r#"field "type" is missing"#, "task, work, work_author"],
    ),
    (
        r#"{"type":5}"#,
        &[r#"field "type": expected a string"#, "the number 5"],
    ),
    (
        r#"{"type":"clam","id":"a"}"#,
        &[r#""clam" is not one of"#, r#"did you mean "claim"?"#],
    ),
    (
        r#"{"type":"task","type":"claim"}"#,
        &[r#"field "type" appears twice"#],
    ),
    // -- fields
    (
        r#"{"type":"task","id":"a","id":"b","hypothesis":"h"}"#,
        &[r#"field "id" appears twice"#],
    ),
    (
        r#"{"type":"task","id":"a"}"#,
        &[r#"field "hypothesis" is missing"#, "a task needs it"],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":null}"#,
        &[r#"field "hypothesis" is null"#],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":" \t"}"#,
        &[r#"field "hypothesis": is empty"#],
    ),
    (
        r#"{"type":"task","id":"","hypothesis":"h"}"#,
        &[r#"field "id": is empty"#],
    ),
    (
        r#"{"type":"task","id":7,"hypothesis":"h"}"#,
        &[r#"field "id": expected a string, found the number 7"#],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":"h","status":"done"}"#,
        &[r#"field "status": "done" is not one of created, exploring"#],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":"h","config":{}}"#,
        &[
            r#"unknown field "config""#,
            r#"did you mean "config_json"?"#,
        ],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":"h","config_json":"{"}"#,
        &[r#"field "config_json": expected a JSON object in the string"#],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":"h","config_json":[1]}"#,
        &[r#"field "config_json": expected a JSON object"#],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":"h","created_at":"yesterday"}"#,
        &[r#"field "created_at": "yesterday" is not a time"#],
    ),
    (
        r#"{"type":"task","id":"a","hypothesis":"h","created_at":1700000000}"#,
        &[r#"field "created_at": expected a time"#],
    ),
    (
        r#"{"type":"task","id":"a\u0000b","hypothesis":"h"}"#,
        &[r#"field "id": holds the character U+0000"#],
    ),
    (
        r#"{"type":"claim","id":"a","task_id":"t","claimtext":"x"}"#,
        &[
            r#"unknown field "claimtext""#,
            r#"did you mean "claim_text"?"#,
        ],
    ),
    (
        r#"{"type":"claim","id":"a","task_id":"t","claim_text":"x","seq":4}"#,
        &[r#"unknown field "seq""#],
    ),
    (
        r#"{"type":"claim","id":"a","task_id":"t","claim_text":"x","zzzzzz":4}"#,
        &[
            r#"unknown field "zzzzzz""#,
            "a claim has id, task_id, claim_text",
        ],
    ),
    (
        r#"{"type":"claim","id":"a","task_id":"t","claim_text":"x","llm_claim_confidence":1.01}"#,
        &[r#"field "llm_claim_confidence": 1.01 is not from 0 to 1"#],
    ),
    (
        r#"{"type":"claim","id":"a","task_id":"t","claim_text":"x","llm_claim_confidence":1e999}"#,
        &["number out of range"],
    ),
    (
        r#"{"type":"claim","id":"a","task_id":"t","claim_text":"x","llm_claim_confidence":"0.5"}"#,
        &["expected a number from 0 to 1", r#"the string "0.5""#],
    ),
    (
        r#"{"type":"claim","id":"a","task_id":"t","claim_text":"x","claim_type":"rumour"}"#,
        &[r#"field "claim_type": "rumour" is not one of fact, opinion, prediction"#],
    ),
    (
        r#"{"type":"work","canonical_id":"doi:10.1/a","year":2020.5}"#,
        &[r#"field "year": expected a whole number, found 2020.5"#],
    ),
    (
        r#"{"type":"work","canonical_id":"doi:10.1/a","year":1e300}"#,
        &[r#"field "year": expected a whole number"#],
    ),
    (
        r#"{"type":"work","canonical_id":"doi:10.1/a","year":123456}"#,
        &[r#"field "year": 123456 is not from -9999 to 9999"#],
    ),
    (
        r#"{"type":"work","canonical_id":"doi:10.1/a","citation_count":-1}"#,
        &[r#"field "citation_count": -1 is below 0"#],
    ),
    (
        r#"{"type":"work","canonical_id":"doi:10.1/a","is_retracted":2}"#,
        &[r#"field "is_retracted": expected true or false"#],
    ),
    (
        r#"{"type":"page_text","page_id":"bare","version":0,"text":"x"}"#,
        &[r#"field "version": 0 is below 1"#],
    ),
    (
        r#"{"type":"page_text","page_id":"bare","text":"x","text_hash":"00"}"#,
        &[
            r#"field "text_hash": "00" is not the SHA-256"#,
            "2d711642b726b044",
        ],
    ),
    (
        r#"{"type":"task_page","task_id":"t","page_id":"bare","reason":"serp"}"#,
        &[r#"field "reason": "serp" is not one of search, academic_api, citation_chase, manual"#],
    ),
    // -- references
    (
        r#"{"type":"claim","id":"a","task_id":"t9","claim_text":"x"}"#,
        &[r#"field "task_id": there is no task "t9", neither here nor in the graph"#],
    ),
    (
        r#"{"type":"work_author","canonical_id":"doi:10.1/zz","position":0,"name":"A"}"#,
        &[r#"field "canonical_id": there is no work "doi:10.1/zz""#],
    ),
    (
        r#"{"type":"work_identifier","canonical_id":"no","provider":"a","provider_paper_id":"b"}"#,
        &[r#"field "canonical_id": there is no work "no""#],
    ),
    (
        r#"{"type":"page","id":"a","url":"https://x.org/new","canonical_id":"doi:10.1/zz"}"#,
        &[r#"field "canonical_id": there is no work"#],
    ),
    (
        r#"{"type":"page_text","page_id":"no","text":"x"}"#,
        &[r#"field "page_id": there is no page "no""#],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"no","text_content":"x"}"#,
        &[r#"field "page_id": there is no page "no""#],
    ),
    (
        r#"{"type":"task_page","task_id":"t","page_id":"bare","reason":"search","source_page_id":"no"}"#,
        &[r#"field "source_page_id": there is no page "no""#],
    ),
    (
        r#"{"type":"embedding","target_type":"claim","target_id":"f","model_id":"x","vector":[1]}"#,
        &[r#"field "target_id": there is no claim "f""#],
    ),
    // -- edges
    (
        r#"{"type":"edge","source_type":"fragment","source_id":"f","target_type":"claim","target_id":"c","relation":"supportz"}"#,
        &[
            r#"field "relation": "supportz" is not one of origin, supports, refutes, neutral, cites"#,
        ],
    ),
    (
        r#"{"type":"edge","source_type":"fragment","source_id":"no","target_type":"claim","target_id":"c","relation":"origin"}"#,
        &[r#"field "source_id": there is no fragment "no""#],
    ),
    (
        r#"{"type":"edge","source_type":"page","source_id":"p","target_type":"claim","target_id":"c","relation":"supports"}"#,
        &[r#"field "source_type": supports leads from a fragment to a claim; found "page""#],
    ),
    (
        r#"{"type":"edge","source_type":"page","source_id":"p","target_type":"claim","target_id":"c","relation":"cites"}"#,
        &[r#"field "target_type": cites leads from a page to a page; found "claim""#],
    ),
    (
        r#"{"type":"edge","source_type":"fragment","source_id":"f","target_type":"claim","target_id":"c","relation":"origin","quote_start":5}"#,
        &[r#"field "quote_end" is missing beside "quote_start""#],
    ),
    (
        r#"{"type":"edge","source_type":"fragment","source_id":"f","target_type":"claim","target_id":"c","relation":"origin","quote_start":6,"quote_end":6}"#,
        &[r#"field "quote_end": 6 is not greater than quote_start 6"#],
    ),
    (
        r#"{"type":"edge","id":"e","source_type":"fragment","source_id":"f","target_type":"claim","target_id":"c","relation":"origin","quote_start":4,"quote_end":6}"#,
        &[r#"field "quote_start": 4..6 does not lie within the source fragment, 5..7"#],
    ),
    (
        r#"{"type":"edge","source_type":"fragment","source_id":"loose","target_type":"claim","target_id":"c","relation":"origin","quote_start":0,"quote_end":1}"#,
        &[r#"field "quote_start": fragment loose has no offsets"#],
    ),
    (
        r#"{"type":"edge","source_type":"page","source_id":"p","target_type":"page","target_id":"bare","relation":"cites","quote_start":0,"quote_end":1}"#,
        &["only an edge from a fragment has a quote"],
    ),
    // -- quotes
    (
        r#"{"type":"fragment","id":"a","page_id":"p","text_content":"ab","char_start":5,"char_end":7}"#,
        &[
            r#"field "text_content": differs from characters 5..7"#,
            "first at character 1",
            r#"the page has "a" and the fragment "b""#,
        ],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"p","text_content":"血糖値🙂","char_start":0,"char_end":5}"#,
        &[
            "first at character 4",
            r#"the page has " " and the fragment """#,
        ],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"p","text_content":"bb","char_start":12,"char_end":14}"#,
        &[r#"field "char_end": 12..14 is not within the page's text of 13 characters"#],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"p","text_content":"bb"}"#,
        &[r#"field "char_start": the text occurs more than once"#],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"p","text_content":"no such"}"#,
        &[r#"field "text_content": is not in the page's text"#],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"p","text_content":"aa","char_start":5}"#,
        &[r#"field "char_end" is missing beside "char_start""#],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"p","text_content":"aa","char_start":7,"char_end":5}"#,
        &[r#"field "char_end": 5 is not greater than char_start 7"#],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"bare","text_content":"aa","char_start":0,"char_end":2}"#,
        &[r#"field "page_version": page bare has no text of version 1"#],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"p","page_version":3,"text_content":"aa"}"#,
        &[r#"field "page_version": page p has no text of version 3"#],
    ),
    (
        r#"{"type":"fragment","id":"a","page_id":"p","text_content":"aa","heading_hierarchy":"x"}"#,
        &[r#"field "heading_hierarchy": expected a JSON array"#],
    ),
    // -- vectors
    (
        r#"{"type":"embedding","target_type":"claim","target_id":"c","model_id":"y","vector":[1,2],"dimension":3}"#,
        &[r#"field "dimension": 3, but the vector has 2 values"#],
    ),
    (
        r#"{"type":"embedding","target_type":"claim","target_id":"c","model_id":"y","vector":[1,"a"]}"#,
        &[r#"field "vector": expected an array of numbers"#],
    ),
    (
        r#"{"type":"embedding","target_type":"claim","target_id":"c","model_id":"y","vector":[1e39]}"#,
        &[r#"field "vector": value 0 is not a finite number"#],
    ),
    (
        r#"{"type":"embedding","target_type":"claim","target_id":"c","model_id":"y","vector":[]}"#,
        &[r#"field "vector": 0 values"#],
    ),
    (
        r#"{"type":"embedding","target_type":"claim","target_id":"c","model_id":"y","vector":[1],"embedding_blob":"0000803f"}"#,
        &["appears twice"],
    ),
    (
        r#"{"type":"embedding","target_type":"page","target_id":"p","model_id":"y","vector":[1]}"#,
        &[r#"field "target_type": "page" is not one of fragment, claim"#],
    ),
    (
        r#"{"type":"embedding","id":"other","target_type":"claim","target_id":"c","model_id":"x","vector":[1,3]}"#,
        &["claim c has another vector of model x already, as m"],
    ),
    // -- conflicts with existing rows
    (
        r#"{"type":"claim","id":"c","task_id":"t","claim_text":"other"}"#,
        &[r#"claim "c" already exists with another claim_text"#],
    ),
    (
        r#"{"type":"task","id":"t","hypothesis":"other"}"#,
        &[r#"task "t" already exists with another hypothesis"#],
    ),
    (
        r#"{"type":"page","id":"p","url":"https://x.org/other"}"#,
        &[r#"page "p" already exists with another url"#],
    ),
    (
        r#"{"type":"page","id":"q","url":"https://x.org/p"}"#,
        &[r#"field "url": that address already belongs to page p"#],
    ),
    (
        r#"{"type":"page_text","page_id":"p","text":"other"}"#,
        &[r#"page_text "p" 1 already exists with another text"#],
    ),
    (
        r#"{"type":"edge","id":"v","source_type":"fragment","source_id":"f","target_type":"claim","target_id":"c","relation":"refutes"}"#,
        &[r#"edge "v" already exists with another relation"#],
    ),
    (
        r#"{"type":"embedding","id":"m","target_type":"claim","target_id":"c","model_id":"x","vector":[1,9]}"#,
        &[r#"embedding "m" already exists with another embedding_blob"#],
    ),
];

#[test]
fn every_bad_line_is_refused_with_its_reason() {
    let (_folder, db) = with(GROUND);
    let before = export(&db, None);
    for (line, expected) in BAD {
        // A valid line before and after; neither may be stored.
        let good = r#"{"type":"task","id":"good","hypothesis":"h"}"#;
        let error = import(&db, &[good, "", line, good]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{line}");
        assert!(
            error
                .hint()
                .is_some_and(|h| h.contains("nothing was written")),
            "{line}"
        );
        let message = error.to_string();
        for part in ["line 3: "].iter().chain(*expected) {
            assert!(
                message.contains(part),
                "{line}\n  wanted {part}\n  got    {message}"
            );
        }
        assert_eq!(message.lines().count(), 1, "{line}: {message}");
    }
    assert_eq!(export(&db, None), before);
}

#[test]
fn oversized_and_broken_input_is_named() {
    let (_folder, db) = with(GROUND);
    let long = |size: usize, field: &str| {
        let fill = "x".repeat(size);
        let other = if field == "text_content" {
            "heading_context"
        } else {
            "text_content"
        };
        format!(
            r#"{{"type":"fragment","id":"a","page_id":"bare","{other}":"a","{field}":"{fill}"}}"#
        )
    };
    let deep = format!(
        r#"{{"type":"task","id":"a","hypothesis":"h","config_json":{}}}"#,
        "[".repeat(100_000)
    );
    let many: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\":1")).collect();
    let many = format!("{{{}}}", many.join(","));
    let cases: [(Vec<u8>, &str); 7] = [
        (
            long(64_001, "text_content").into(),
            "line 1: field \"text_content\": 64001 bytes long; at most 64000",
        ),
        (
            long(64_001, "heading_context").into(),
            "line 1: field \"heading_context\": 64001 bytes long",
        ),
        (vec![b'x'; MAX_LINE_BYTES + 1], "line 1: longer than 16 MiB"),
        (
            b"\n\n{\"type\":\"t\xFFask\"}".to_vec(),
            "line 3: byte 11 is not UTF-8",
        ),
        (deep.into(), "recursion limit exceeded"),
        (many.into(), "more than 64 fields"),
        (
            format!("{{\"type\":\"{}\"}}", "t".repeat(10_000)).into(),
            "(10000 bytes) is not one of",
        ),
    ];
    for (input, expected) in cases {
        let error = import_jsonl(&db, NOW, &input[..]).unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert!(error.to_string().len() < 1_000, "{expected}");
    }
    import(&db, &[long(63_990, "text_content")]).unwrap();
}

#[test]
fn problems_are_listed_up_to_a_bound_and_do_not_cascade() {
    let (_folder, db) = empty();
    let lines = [
        r#"{"type":"edge","source_type":"fragment","source_id":"f","target_type":"claim","target_id":"c","relation":"origin"}"#,
        r#"{"type":"task","id":"t","hypothesis":""}"#,
        r#"{"type":"claim","id":"c","task_id":"t","claim_text":"x"}"#,
        r#"{"type":"page","id":"p","url":7}"#,
        r#"{"type":"fragment","id":"f","page_id":"p","text_content":"x"}"#,
        r#"{"type":"claim","id":"d","task_id":"unknown","claim_text":"x"}"#,
    ];
    let error = import(&db, &lines).unwrap_err();
    let source = std::error::Error::source(&error).and_then(|e| e.downcast_ref::<ImportProblems>());
    let problems = source.expect("the problems are the source");
    assert!(
        problems
            .described(|n| format!("#{n} "))
            .starts_with("#2 field")
    );
    assert!(!problems.stopped_early);
    let message = error.to_string();
    assert_eq!(message, problems.to_string());
    let named: Vec<&str> = message
        .lines()
        .filter_map(|l| l.split(':').next())
        .collect();
    assert_eq!(named, ["line 2", "line 4", "line 6"], "{message}");

    let message = import(&db, &["?"; 100]).unwrap_err().to_string();
    assert_eq!(message.lines().count(), 21);
    assert!(message.ends_with("stopped after 20 problems"));
}

#[test]
fn an_error_on_the_last_line_leaves_nothing() {
    let (_folder, db) = empty();
    let mut lines = small_graph();
    lines.push(r#"{"type":"claim","id":"late","task_id":"nobody","claim_text":"x"}"#.to_owned());
    import(&db, &lines).unwrap_err();
    let tables = super::fields::TABLES.iter().map(|t| t.name);
    for table in tables.chain(["fragments_fts", "claims_fts", "resource_index", "event_log"]) {
        assert_eq!(rows(&db, table), 0, "{table}");
    }
    lines.pop();
    assert_eq!(import(&db, &lines).unwrap().total_inserted, lines.len());
}

#[test]
fn a_reader_that_fails_is_reported() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("cable pulled"))
        }
    }
    let (_folder, db) = empty();
    let first = std::io::Cursor::new("{\"type\":\"task\",\"id\":\"t\",\"hypothesis\":\"h\"}\n");
    let reader = std::io::BufReader::new(std::io::Read::chain(first, Broken));
    let error = import_jsonl(&db, NOW, reader).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(
        error.to_string().contains("reading line 2: cable pulled"),
        "{error}"
    );
    assert_eq!(rows(&db, "tasks"), 0);
}

#[test]
fn hostile_text_is_only_text() {
    let id = r#"'); DROP TABLE claims; --"#;
    let (_folder, db) = with(&[
        format!(r#"{{"type":"task","id":"{id}","hypothesis":"\u202Eh\u200B <|im_start|>"}}"#),
        format!(r#"{{"type":"claim","id":"{id}","task_id":"{id}","claim_text":"\"; DELETE FROM tasks; --"}}"#),
        r#"{"type":"work","canonical_id":"doi:10.1/a","year":2020.0,"citation_count":9007199254740993}"#
            .to_owned(),
    ]);
    assert_eq!(rows(&db, "claims"), 1);
    let count: i64 = db
        .read(|c| {
            c.query_row("SELECT citation_count FROM works", [], |r| r.get(0))
                .db()
        })
        .unwrap();
    assert_eq!(count, 9_007_199_254_740_993);
    let first = export(&db, None);
    let (_folder, copy) = with(&first.lines().collect::<Vec<_>>());
    assert_eq!(export(&copy, None), first);
}
