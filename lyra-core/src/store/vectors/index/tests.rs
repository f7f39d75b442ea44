//! Tests of [`super`].

use super::*;
use proptest::prelude::*;

/// The result of a full scan in double precision, without any of the code above.
fn brute_force(rows: &[&[f32]], query: &[f32], k: usize, floor: f64) -> Vec<usize> {
    let dot = |row: &[f32]| -> f64 {
        let products: Vec<f64> = row
            .iter()
            .zip(query)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .collect();
        // The sum with the smallest error: in whatever order the index adds, its result may differ from
        // this one only if two scores are closer than double precision can distinguish.
        products.iter().sum()
    };
    let mut scored: Vec<(f64, usize)> = rows
        .iter()
        .enumerate()
        .map(|(row, values)| (dot(values), row))
        .filter(|(score, _)| *score >= floor)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(k);
    scored.into_iter().map(|(_, row)| row).collect()
}

/// Searches with every tier and compares with the full scan: scores must be bit-identical across tiers,
/// and rows must be the same except where scores are equal to within 1e-14.
fn check(
    vectors: &[Vec<f32>],
    query: &[f32],
    (k, floor): (usize, f64),
    scope: Option<&RowSet>,
) -> Vec<Found> {
    let mut index = ExactIndex::new(query.len());
    for vector in vectors {
        index.push(vector).unwrap();
    }
    let unit = UnitQuery::new(query).unwrap();
    let in_scope = |row: &usize| scope.is_none_or(|s| s.contains(*row));
    let members: Vec<usize> = (0..vectors.len()).filter(in_scope).collect();
    let rows: Vec<&[f32]> = members.iter().map(|r| index.row(*r).unwrap()).collect();
    let expected: Vec<usize> = brute_force(&rows, &unit.unit, k, floor)
        .into_iter()
        .map(|place| members[place])
        .collect();
    let mut answers = Vec::new();
    for tier in Tier::available() {
        index.tier = tier;
        let wanted = Wanted {
            scope,
            k,
            floor,
            tie: &|a, b| a.cmp(&b),
        };
        let found = index.search(&unit, &wanted);
        assert_eq!(found.neighbours.len(), expected.len(), "{tier:?}");
        for (neighbour, row) in found.neighbours.iter().zip(&expected) {
            let there = index.similarity(&unit, *row);
            assert!(
                neighbour.row == *row || (neighbour.similarity - there).abs() < 1e-14,
                "{tier:?}: {neighbour:?} in place of row {row} with {there}"
            );
        }
        answers.push(found);
    }
    for other in &answers[1..] {
        assert_eq!(other.neighbours, answers[0].neighbours);
    }
    answers
}

/// A deterministic pseudo-random generator.
fn noise(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

fn random(rows: usize, dimension: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut next = noise(seed);
    let mut vector = || (0..dimension).map(|_| next()).collect();
    (0..rows).map(|_| vector()).collect()
}

#[test]
fn clusters_are_searched_through_the_first_pass() {
    for dimension in [1, 3, 4, 64, 67, 384, 1030] {
        let centres = random(12, dimension, 7);
        let mut next = noise(9);
        let vectors: Vec<Vec<f32>> = (0..700)
            .map(|i| centres[i % 12].iter().map(|v| v + 0.4 * next()).collect())
            .collect();
        for query in &vectors[..4] {
            let answers = check(&vectors, query, (10, f64::NEG_INFINITY), None);
            if dimension >= 64 {
                assert!(answers.iter().all(|a| a.survivors.is_some()), "{dimension}");
            }
            check(&vectors, query, (50, 0.6), None);
        }
    }
}

#[test]
fn near_ties_within_a_float_are_told_apart() {
    let base = &random(1, 96, 3)[0];
    // Every row differs from the base by about the last bit of a float.
    let vectors: Vec<Vec<f32>> = (0..400_usize)
        .map(|i| {
            let mut row = base.clone();
            row[i % 96] = f32::from_bits(row[i % 96].to_bits() + (i / 96) as u32);
            row
        })
        .collect();
    let answers = check(&vectors, base, (10, f64::NEG_INFINITY), None);
    assert!(
        answers.iter().all(|a| a.survivors.is_none()),
        "a plain scan"
    );
    // The same ties among many distant rows: the first pass keeps all ties.
    let mut spread = random(4000, 96, 5);
    spread.extend(vectors);
    let answers = check(&spread, base, (10, f64::NEG_INFINITY), None);
    assert!(
        answers.iter().all(|a| a.survivors >= Some(400)),
        "{answers:?}"
    );
}

#[test]
fn duplicates_come_in_the_order_of_rows() {
    let one = random(1, 48, 1).remove(0);
    let mut vectors = random(500, 48, 2);
    for row in [30, 7, 499, 250] {
        vectors[row] = one.clone();
    }
    let answers = check(&vectors, &one, (3, 0.0), None);
    let rows: Vec<usize> = answers[0].neighbours.iter().map(|n| n.row).collect();
    assert_eq!(rows, [7, 30, 250]);
}

#[test]
fn rows_that_rise_slowly_end_in_a_plain_scan_or_not_but_in_the_right_answer() {
    // Each row is slightly nearer than the one before, so the threshold rises with every block.
    let query = random(1, 32, 11).remove(0);
    let away = random(1, 32, 12).remove(0);
    let vectors: Vec<Vec<f32>> = (0..3000)
        .map(|i| {
            let share = i as f32 / 3000.0;
            let both = query.iter().zip(&away);
            both.map(|(q, a)| q * share + a * (1.0 - share)).collect()
        })
        .collect();
    check(&vectors, &query, (10, f64::NEG_INFINITY), None);
    check(&vectors, &query, (1500, 0.5), None);
}

#[test]
fn odd_vectors_have_a_place() {
    let zero = vec![0.0; 5];
    let tiny = vec![1e-38, 0.0, -1e-38, 0.0, 1e-40];
    let huge = vec![3e38, -3e38, 0.0, 1.0, 0.0];
    let spike = vec![1.0, 1e-6, 1e-6, -1e-6, 0.0];
    let all = vec![zero.clone(), tiny.clone(), huge.clone(), spike.clone()];
    for query in [&zero, &tiny, &huge, &spike] {
        check(&all, query, (4, f64::NEG_INFINITY), None);
        check(&all, query, (2, 0.0), None);
    }
    let mut index = ExactIndex::new(5);
    index.push(&tiny).unwrap();
    assert!((index.nearest(&tiny, 1, 0.9).neighbours[0].similarity - 1.0).abs() < 1e-6);
    for (bad, expected) in [
        (vec![f32::NAN; 5], "not finite"),
        (vec![f32::INFINITY, 0.0, 0.0, 0.0, 0.0], "not finite"),
        (vec![1.0; 4], "4 values; expected 5"),
    ] {
        let refused = index.push(&bad).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
        assert!(index.replace(0, &bad).is_err());
        assert!(index.nearest(&bad, 3, -1.0).neighbours.is_empty());
    }
    assert!(index.replace(1, &tiny).is_err());
    assert_eq!(index.len(), 1);
    assert!(
        ExactIndex::new(0)
            .nearest(&[], 3, -1.0)
            .neighbours
            .is_empty()
    );
}

#[test]
fn very_long_vectors_are_compared_without_bytes() {
    let vectors = random(3, MAX_DIMENSION + 1, 4);
    let answers = check(&vectors, &vectors[1], (2, f64::NEG_INFINITY), None);
    assert_eq!(answers[0].neighbours[0].row, 1);
    let long = random(40, 6000, 4);
    check(&long, &long[1], (2, f64::NEG_INFINITY), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn equals_a_full_scan(
        seed in 1_u64..1_000_000, rows in 0_usize..600, dimension in 1_usize..70,
        k in 1_usize..60, floor in prop::sample::select(vec![f64::NEG_INFINITY, 0.0, 0.3, 0.9]),
        copies in 0_usize..200, share in 1_usize..40
    ) {
        let mut vectors = random(rows, dimension, seed);
        for i in 0..copies.min(rows) {
            vectors[i] = vectors[rows - 1 - i / 2].clone();
        }
        let query = random(1, dimension, seed + 1).remove(0);
        check(&vectors, &query, (k, floor), None);
        let scattered: RowSet = (0..rows).filter(|row| row % share == 0).collect();
        check(&vectors, &query, (k, floor), Some(&scattered));
        let together: RowSet = (rows / 3..rows / 2).collect();
        check(&vectors, &query, (k, floor), Some(&together));
    }

    #[test]
    fn changes_in_place_equal_a_new_index(
        changes in prop::collection::vec((0_usize..3, 0_usize..100, 0_u64..1000), 0..120)
    ) {
        let mut index = ExactIndex::new(10);
        let mut plain: Vec<Vec<f32>> = Vec::new();
        for (kind, row, seed) in changes {
            let vector = random(1, 10, seed + 1).remove(0);
            match kind {
                1 if row < plain.len() => {
                    index.replace(row, &vector).unwrap();
                    plain[row] = vector;
                }
                2 if row < plain.len() => {
                    index.swap_remove(row);
                    plain.swap_remove(row);
                }
                _ => {
                    prop_assert_eq!(index.push(&vector).unwrap(), plain.len());
                    plain.push(vector);
                }
            }
        }
        let mut anew = ExactIndex::new(10);
        plain.iter().for_each(|v| { anew.push(v).unwrap(); });
        prop_assert_eq!(&index.values, &anew.values);
        let query = random(1, 10, 77).remove(0);
        prop_assert_eq!(index.nearest(&query, 7, -1.0), anew.nearest(&query, 7, -1.0));
    }
}
