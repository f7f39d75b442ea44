use super::*;
use proptest::prelude::*;

fn assert_sound(blocks: &[Block], doc: &SegmentedText) {
    let chars: Vec<char> = doc.text.chars().collect();
    let mut covered = vec![false; chars.len()];
    let mut reached = 0;
    for segment in &doc.segments {
        assert!(
            segment.char_start >= reached,
            "segments overlap or are out of order"
        );
        assert!(segment.char_start < segment.char_end);
        assert!(
            segment.char_end - segment.char_start <= LONGEST,
            "segment too long"
        );
        let slice = slice_chars(&doc.text, segment.char_start, segment.char_end);
        assert_eq!(slice, Some(segment.text.as_str()));
        assert!(!segment.text.contains('\0'));
        covered[segment.char_start..segment.char_end].fill(true);
        reached = segment.char_end;
    }
    for (c, covered) in chars.iter().zip(covered) {
        assert!(covered || is_blank(*c), "{c:?} lies in no segment");
    }
    let visible = |text: &str| text.chars().filter(|c| !is_blank(*c)).collect::<String>();
    let before: String = blocks.iter().map(|b| visible(&b.text)).collect();
    assert_eq!(visible(&doc.text), before, "visible characters changed");
}

#[test]
fn blank_space_is_put_in_order() {
    for (kind, text, expected) in [
        (FragmentType::Paragraph, "  a\u{a0} b\n  c \t\n", "a b c"),
        (
            FragmentType::Paragraph,
            "血糖\n値が 下がる",
            "血糖値が 下がる",
        ),
        (
            FragmentType::Paragraph,
            "one\n\ntwo\n \nthree",
            "one\n\ntwo\n\nthree",
        ),
        (FragmentType::Paragraph, "nul\0byte\u{7}", "nul byte"),
        (FragmentType::List, " - a  b\n\n - c\n", "- a b\n- c"),
        (FragmentType::Table, "x | 1\r\n\r\ny | 2", "x | 1\ny | 2"),
        (
            FragmentType::Code,
            "\n\nif x:\n    y()  \n\n",
            "if x:\n    y()",
        ),
        (FragmentType::Quote, " \n\t\u{feff}", ""),
    ] {
        assert_eq!(
            assemble(&[Block::new(kind, text)]).text,
            expected,
            "{kind}: {text:?}"
        );
    }
}

#[test]
fn segments_know_the_headings_above_them() {
    let doc = assemble(&[
        Block::paragraph("Before."),
        Block::heading(1, "Title"),
        Block::heading(2, "Methods"),
        Block::paragraph("We did."),
        Block::heading(2, "Results"),
        Block::heading(4, "Deep"),
        Block::paragraph("It rose."),
        Block::heading(9, "Deeper"),
        Block::heading(0, "Second title"),
    ]);
    let found: Vec<(&str, Vec<&str>)> = doc
        .segments
        .iter()
        .map(|s| {
            (
                s.text.as_str(),
                s.heading_hierarchy.iter().map(String::as_str).collect(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("Before.", vec![]),
            ("Title", vec![]),
            ("Methods", vec!["Title"]),
            ("We did.", vec!["Title", "Methods"]),
            ("Results", vec!["Title"]),
            ("Deep", vec!["Title", "Results"]),
            ("It rose.", vec!["Title", "Results", "Deep"]),
            ("Deeper", vec!["Title", "Results", "Deep"]),
            ("Second title", vec![]),
        ]
    );
    for segment in &doc.segments {
        assert_eq!(
            segment.heading_context.as_ref(),
            segment.heading_hierarchy.last()
        );
    }
}

#[test]
fn tiny_neighbours_of_one_kind_share_a_segment() {
    let long = "This paragraph is long enough to stand on its own, because it has more than eighty characters.";
    let item = |text: &str| Block::new(FragmentType::List, text);
    let doc = assemble(&[
        Block::heading(1, "H"),
        item("one"),
        item("two"),
        Block::paragraph("three"),
        Block::paragraph(long),
        Block::paragraph("four"),
        Block::heading(1, "I"),
        Block::paragraph("five"),
    ]);
    let texts: Vec<&str> = doc.segments.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(
        texts,
        ["H", "one\n\ntwo", "three", long, "four", "I", "five"]
    );
    let many: Vec<Block> = (0..100)
        .map(|i| item(&format!("item number {i}")))
        .collect();
    let doc = assemble(&many);
    assert!(doc.segments.len() > 3);
    assert!(
        doc.segments
            .iter()
            .all(|s| s.char_end - s.char_start <= LONGEST_MERGED)
    );
}

#[test]
fn long_blocks_are_cut_where_it_hurts_least() {
    let sentence = "The mean reduction was 1.27 points (95% CI 1.07-1.51) in the treated group. ";
    let doc = assemble(&[Block::paragraph(sentence.repeat(60))]);
    for segment in &doc.segments {
        assert!((SHORTEST_PIECE..=LONGEST).contains(&segment.text.chars().count()));
        assert!(segment.text.starts_with("The") && segment.text.ends_with("group."));
    }
    let row = "a | b | c. D | 5\n";
    let doc = assemble(&[Block::new(FragmentType::Table, row.repeat(300))]);
    assert!(
        doc.segments
            .iter()
            .all(|s| s.text.starts_with("a |") && s.text.ends_with("| 5"))
    );
    let doc = assemble(&[Block::paragraph("血糖値が下がったことを、".repeat(400))]);
    assert!(doc.segments.iter().all(|s| s.text.ends_with('、')));
    let doc = assemble(&[Block::paragraph("word ".repeat(1000))]);
    assert!(doc.segments.iter().all(|s| s.text.ends_with("word")));
    for unit in ["x", "e\u{301}", "👩🏽"] {
        let blocks = [
            Block::paragraph(unit.repeat(20_000)),
            Block::heading(1, unit.repeat(5_000)),
        ];
        let doc = assemble(&blocks);
        assert_sound(&blocks, &doc);
        for segment in &doc.segments {
            assert!(
                !segment.text.starts_with(is_joined_to_previous),
                "{unit:?} is torn"
            );
        }
    }
}

#[test]
fn slices_count_code_points() {
    for (start, end, expected) in [
        (0, 0, Some("")),
        (0, 4, Some("a血𝄞b")),
        (1, 3, Some("血𝄞")),
        (4, 4, Some("")),
        (3, 5, None),
        (5, 5, None),
        (3, 2, None),
        (0, usize::MAX, None),
    ] {
        assert_eq!(slice_chars("a血𝄞b", start, end), expected, "{start}..{end}");
    }
}

fn any_block() -> impl Strategy<Value = Block> {
    let unit = prop_oneof![
        4 => "[a-zA-Z .,\n]{0,60}",
        2 => "[ぁ-ん一-三。、「」\n]{0,60}",
        1 => any::<String>(),
    ];
    (
        0..FragmentType::ALL.len(),
        any::<u8>(),
        proptest::collection::vec(unit, 0..4),
        1_usize..60,
    )
        .prop_map(|(kind, level, units, times)| Block {
            kind: FragmentType::ALL[kind],
            level,
            text: units.concat().repeat(times),
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn segments_are_exact_slices_that_cover_the_text(
        blocks in proptest::collection::vec(any_block(), 0..12)
    ) {
        assert_sound(&blocks, &assemble(&blocks));
    }
}

#[test]
fn a_title_stands_over_passages_and_not_in_the_text() {
    let heading = |level: u8| Block::heading(level, "Aims");
    let body = Block::paragraph("It shortens.");
    for (title, blocks, text, above) in [
        (
            Some(" On\nsleep "),
            vec![body.clone()],
            "It shortens.",
            vec!["On sleep"],
        ),
        (
            Some("On sleep"),
            vec![heading(2), body.clone()],
            "Aims\n\nIt shortens.",
            vec!["On sleep", "Aims"],
        ),
        (
            Some("On sleep"),
            vec![heading(1), body.clone()],
            "Aims\n\nIt shortens.",
            vec!["Aims"],
        ),
        (Some(" "), vec![body.clone()], "It shortens.", vec![]),
        (None, vec![body], "It shortens.", vec![]),
    ] {
        let doc = assemble_under(title, &blocks);
        assert_eq!(doc.text, text, "{title:?}");
        let last = doc.segments.last().unwrap();
        assert_eq!(last.heading_hierarchy, above, "{title:?}");
        assert_eq!(last.heading_context.as_deref(), above.last().copied());
        assert_sound(&blocks, &doc);
    }
}
