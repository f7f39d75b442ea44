//! Several sources that describe one publication.

use super::*;

#[test]
fn sources_may_describe_a_publication_differently() {
    let lines = [
        r#"{"type":"work","canonical_id":"doi:10.1/w","title":"Gout","year":2001,"citation_count":9}"#,
        r#"{"type":"work_author","canonical_id":"doi:10.1/w","position":0,"name":"Ann Smith","affiliation":"Leeds"}"#,
        r#"{"type":"work","canonical_id":"doi:10.1/w","title":"Gout and coffee","year":2000,"venue":"V","citation_count":4}"#,
        r#"{"type":"work_author","canonical_id":"doi:10.1/w","position":0,"name":"Ann Smith","affiliation":"York"}"#,
    ];
    let (_folder, db) = with(&lines);
    let (_folder, other) = with(&[lines[2], lines[3], lines[0], lines[1]]);
    let stored = export(&db, None);
    assert_eq!(export(&other, None), stored);
    for part in [
        r#""title":"Gout and coffee","year":2001"#,
        r#""citation_count":9"#,
        r#""venue":"V""#,
        r#""affiliation":"York""#,
    ] {
        assert!(stored.contains(part), "{part}\n{stored}");
    }
    let other_author = lines[1].replace("Ann Smith", "Bo Li");
    let refused = import(&empty().1, &[lines[0], lines[1], &other_author]).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("already exists with another name"),
        "{refused}"
    );
    // Values stored before an import are kept.
    import(
        &db,
        &[r#"{"type":"work","canonical_id":"doi:10.1/w","title":"Later","year":2024}"#],
    )
    .unwrap();
    assert_eq!(export(&db, None), stored);
}
