use super::*;

/// Writes the features of labelled pairs as CSV, for `scripts/stance/fit.py`.
///
/// `LYRA_STANCE_PAIRS` names a file of lines `id <tab> kind <tab> label <tab> text <tab> claim`,
/// where `text` is a premise (kind `premise`) or a passage to choose one from (kind `passage`).
#[test]
fn dump_stance_features() {
    let Some(path) = std::env::var_os("LYRA_STANCE_PAIRS") else {
        eprintln!("skipped: LYRA_STANCE_PAIRS names no file of pairs");
        return;
    };
    println!("FEATURES\tid\tlabel\tmost\t{}", features::NAMES.join("\t"));
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, kind, label, text, claim] = cells[..] else {
            panic!("not five cells: {line}")
        };
        let premise = if kind == "passage" {
            premise_text(text, &choose_premise(text, claim, 2))
        } else {
            text.to_owned()
        };
        let compared = Hypothesis::new(claim).compare(&Reading::new(&premise));
        let values: Vec<String> = compared.values.iter().map(|v| format!("{v:.5}")).collect();
        let most = compared.decided_at_most();
        println!("FEATURES\t{id}\t{label}\t{most}\t{}", values.join("\t"));
    }
}

#[test]
fn hand_written_cases() {
    let mut wrong = 0;
    for (hypothesis, premise, expected) in cases::CASES {
        let compared = Hypothesis::new(hypothesis).compare(&Reading::new(premise));
        let given = verdict(&compared);
        let sign = match given.relation {
            Relation::Supports => '+',
            Relation::Refutes => '-',
            _ => '0',
        };
        if sign != *expected {
            wrong += 1;
            println!(
                "{sign} for {expected} ({:.2}): {premise} / {hypothesis}",
                given.confidence
            );
            let set: Vec<String> = features::NAMES
                .iter()
                .zip(&compared.values)
                .filter(|(_, v)| **v != 0.0)
                .map(|(n, v)| format!("{n}={v:.2}"))
                .collect();
            println!("    {:?} {}", compared.mismatch, set.join(" "));
        }
    }
    assert_eq!(wrong, 0, "of {}", cases::CASES.len());
}
