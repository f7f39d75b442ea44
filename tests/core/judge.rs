//! The built-in judge on pairs that it was not trained on, and on changes that must not fool it.
//! The bars are a little below what was measured (lyra-core/judge/MODEL.md): a worse network fails.

use crate::corpus::{World, number, research};
use lyra_core::TaskConfig;
use lyra_core::models::BuiltinStanceJudge;
use lyra_core::ports::{StanceJudge, StancePair, Verdict};
use lyra_core::store::model::Relation;
use serde::Deserialize;

#[derive(Deserialize)]
struct Labelled {
    premise: String,
    claim: String,
    label: Relation,
}

fn read(name: &str) -> Vec<Labelled> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/judge");
    let text = std::fs::read_to_string(format!("{folder}/{name}.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn judged(pairs: impl Iterator<Item = (String, String)>) -> Vec<Verdict> {
    let pairs: Vec<StancePair> = pairs.map(|(p, c)| StancePair::new(p, c)).collect();
    BuiltinStanceJudge.judge(&pairs).await.unwrap()
}

fn share(verdicts: &[Verdict], is_right: impl Fn(&Verdict) -> bool) -> f64 {
    verdicts.iter().filter(|v| is_right(v)).count() as f64 / verdicts.len() as f64
}

#[tokio::test]
async fn pairs_that_were_not_trained_on() {
    for (name, accuracy, false_contradictions) in [("plain", 0.74, 0.05), ("unseen", 0.68, 0.1)] {
        let rows = read(name);
        let verdicts = judged(rows.iter().map(|r| (r.premise.clone(), r.claim.clone()))).await;
        let right = rows
            .iter()
            .zip(&verdicts)
            .filter(|(r, v)| r.label == v.relation);
        let right = right.count() as f64 / rows.len() as f64;
        let others = rows
            .iter()
            .zip(&verdicts)
            .filter(|(r, _)| r.label != Relation::Refutes);
        let (others, false_ones): (Vec<_>, Vec<_>) = others
            .map(|pair| (pair.0, pair.1.relation == Relation::Refutes))
            .unzip();
        let false_ones = false_ones.iter().filter(|f| **f).count() as f64 / others.len() as f64;
        assert!(right >= accuracy, "{name}: accuracy {right:.3}");
        assert!(
            false_ones <= false_contradictions,
            "{name}: false contradictions {false_ones:.3}"
        );
    }
}

#[tokio::test]
async fn a_claim_supports_itself_and_its_denial_is_not_supported() {
    let claims: Vec<String> = read("plain").into_iter().map(|r| r.premise).collect();
    let same = judged(claims.iter().map(|c| (c.clone(), c.clone()))).await;
    let supported = share(&same, |v| v.relation == Relation::Supports);
    assert!(supported >= 0.90, "{supported:.3}");
    let denials = claims.iter().map(|c| {
        let denied = format!("It is not true that {}", c.trim_end_matches('.'));
        (c.clone(), denied)
    });
    let denied = judged(denials).await;
    let supported = share(&denied, |v| v.relation == Relation::Supports);
    assert!(supported <= 0.13, "{supported:.3}");
}

#[tokio::test]
async fn what_has_nothing_to_do_with_a_claim_leaves_it_open() {
    let rows = read("plain");
    let shifted = rows.iter().cycle().skip(31);
    let pairs = rows
        .iter()
        .zip(shifted)
        .map(|(a, b)| (a.premise.clone(), b.claim.clone()));
    let verdicts = judged(pairs).await;
    let neutral = share(&verdicts, |v| v.relation == Relation::Neutral);
    assert!(neutral >= 0.93, "{neutral:.3}");
}

#[tokio::test]
async fn a_filler_sentence_does_not_turn_a_side() {
    let rows = read("plain");
    let plain = judged(rows.iter().map(|r| (r.premise.clone(), r.claim.clone()))).await;
    let filler = "The survey was paid for by a public fund.";
    let filled = rows
        .iter()
        .map(|r| (format!("{} {filler}", r.premise), r.claim.clone()));
    let filled = judged(filled).await;
    let turned = plain.iter().zip(&filled).filter(|(a, b)| {
        let sides = [Relation::Supports, Relation::Refutes];
        a.relation != b.relation && sides.contains(&a.relation) && sides.contains(&b.relation)
    });
    let turned = turned.count() as f64 / rows.len() as f64;
    assert!(turned <= 0.05, "{turned:.3}");
}

#[tokio::test]
async fn the_part_of_a_passage_that_decides_is_quoted() {
    let premise = "We asked 900 adults in four towns about their diet. Response was 71%. \
         People who drank coffee every day had a lower risk of gout than people who did not. \
         The study was funded by a public agency. No author has anything to declare.";
    let claim = "Drinking coffee lowers the risk of gout";
    let verdict = &judged(std::iter::once((premise.to_owned(), claim.to_owned()))).await[0];
    let quote = verdict.quote.clone().unwrap();
    let characters: Vec<char> = premise.chars().collect();
    let quoted: String = characters[quote].iter().collect();
    assert!(quoted.contains("lower risk of gout"), "{quoted}");
    let [supports, refutes, neutral] = verdict.probabilities.unwrap();
    assert!((supports + refutes + neutral - 1.0).abs() < 1e-6);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_amount_of_the_same_effect_is_no_contradiction() {
    let world = World::new();
    for (name, text) in [
        (
            "nurses",
            "Night work shortened total sleep by 74 minutes a day compared with day work (95% CI 61 to 87).",
        ),
        (
            "drivers",
            "Night work was associated with shorter sleep in 1,204 bus drivers: sleep after night shifts was 92 minutes shorter than after day shifts.",
        ),
    ] {
        let page = format!(
            "---\ntitle: Sleep of {name} at night\nurl: https://{name}.org/\n---\n\n# Results\n\n{text}\n"
        );
        std::fs::write(world.papers().join(format!("{name}.md")), page).unwrap();
    }
    let engine = world.engine();
    let task = engine
        .create_task("Night work shortens sleep", TaskConfig::default())
        .unwrap();
    research(&engine, &task.id, "night work sleep").await;
    let edges = |relation: &str| {
        number(
            &engine,
            &format!("SELECT count(*) FROM edges WHERE relation = '{relation}'"),
        )
    };
    assert_eq!(edges("refutes"), 0);
    assert!(edges("supports") > 0);
}
