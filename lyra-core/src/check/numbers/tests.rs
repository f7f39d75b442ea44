//! Tests of [`super`].

use super::*;

fn met(claim: &str, source: &str) -> bool {
    let source = quantities(source);
    let wanted = quantities(claim);
    assert!(!wanted.is_empty(), "{claim}");
    wanted.iter().all(|q| source.iter().any(|s| q.is_met_by(s)))
}

fn all_met(pairs: &[(&str, &str)]) {
    for (claim, source) in pairs {
        assert!(met(claim, source), "{claim} / {source}");
    }
}

fn none_met(pairs: &[(&str, &str)]) {
    for (claim, source) in pairs {
        assert!(!met(claim, source), "{claim} / {source}");
    }
}

fn values(text: &str) -> Vec<f64> {
    quantities(text).iter().map(|q| q.value).collect()
}

#[test]
fn numbers_are_found_and_names_are_not() {
    assert_eq!(values("16,492 patients (3.5%)"), [16_492.0, 3.5]);
    assert_eq!(values("SAVOR-TIMI 53 and HbA1c in COVID-19"), [53.0]);
    assert_eq!(values("GPT4 and GLP-1"), [] as [f64; 0]);
    assert_eq!(values("Twenty-five people, three of them"), [25.0, 3.0]);
    assert_eq!(values("1.2 million euros"), [1_200_000.0]);
    assert_eq!(values("HR 1·27"), [1.27]);
}

#[test]
fn a_number_may_be_written_in_other_ways() {
    all_met(&[
        ("27%", "by 27 percent"),
        ("1.3", "HR 1.27"),
        ("27%", "27.4%"),
        ("about 3%", "3.4%"),
        ("roughly 16,500 patients", "16 492 and 16,492 patients"),
        ("five years", "5 years"),
        ("5", "five"),
    ]);
    none_met(&[
        ("27%", "72%"),
        ("3%", "3.4%"),
        ("5 weeks", "5 days"),
        ("12 mg", "12 g"),
        ("1.27", "1.3"),
        ("16,429", "16,492"),
    ]);
}

#[test]
fn one_in_so_many_is_a_share() {
    all_met(&[
        ("4 in 10 adults", "40% of adults"),
        ("four in ten adults", "41% of adults"),
        ("one out of every five", "20 percent"),
        ("1 in 1,000 births", "0.1% of births"),
        ("2/3 of the patients", "67% of the patients"),
        ("a third of the patients", "1 in 3 patients"),
    ]);
    none_met(&[
        ("4 in 10 adults", "60% of adults"),
        ("one in five", "one in four"),
        ("2/3 of the patients", "32% of the patients"),
    ]);
    assert_eq!(values("4 in 10 years"), [4.0, 10.0]);
    assert_eq!(values("12 in 10 countries"), [12.0, 10.0]);
    assert_eq!(values("4 in 10,500 adults"), [4.0, 10_500.0]);
}

#[test]
fn a_ratio_of_risks_is_a_change_in_per_cent() {
    all_met(&[
        ("12% lower", "odds ratio 0.88"),
        ("27 percent more", "hazard ratio 1.27"),
        ("about 30%", "RR 0.69"),
        ("a 62% increase", "HR 1.62 (95% CI 1.1 to 2.4)"),
    ]);
    none_met(&[
        ("21% lower", "odds ratio 0.88"),
        ("12% lower", "a score of 0.9"),
        ("12% lower", "0.88 mg"),
        ("12% lower", "P = 0.88"),
        ("12 patients", "odds ratio 0.88"),
    ]);
}

#[test]
fn units_are_converted() {
    all_met(&[
        ("0.5 s", "500 ms"),
        ("500 ms", "0.5 s"),
        ("1.8 m tall", "180 cm"),
        ("2.5 g", "2500 mg"),
        ("250 µg", "0.25 mg"),
        ("1.5 l", "1500 ml"),
        ("40 kWh", "0.04 MWh"),
        ("3.2 GHz", "3200 MHz"),
        ("64 KB", "65,536 bytes"),
        ("64 KB", "64,000 bytes"),
        ("2 GiB", "2048 MiB"),
        ("90 minutes", "1.5 h"),
        ("74 minutes", "1 h 14 min"),
        ("rose by 2.5 points", "2.5 percentage points"),
        ("2 weeks", "14 days"),
        ("1 year", "12 months"),
        ("24 h", "1 day"),
        ("6 months", "26 weeks"),
        ("10 miles", "16 km"),
        ("100 km/h", "100 km per hour"),
        ("10 m/s", "36 km/h"),
        ("0.9 g/l", "90 mg/dl"),
        ("2.5 kilometres", "2500 m"),
        ("5 mg a day", "5 mg"),
        ("a 12-week trial", "12 weeks"),
        ("2 hectares", "20,000 m²"),
    ]);
    none_met(&[
        ("0.5 s", "50 ms"),
        ("5 mg", "5 ml"),
        ("3 A", "3 C"),
        ("$5", "€5"),
        ("5 °C", "5 °F"),
        ("5 mg/kg", "5 mg/day"),
        ("5 Wh/l", "5 mmol/mol"),
        ("2 weeks", "15 days"),
        ("3 months", "8 weeks"),
    ]);
}

#[test]
fn money_and_multipliers_are_read_on_either_side() {
    all_met(&[
        ("€45m", "45 million euros"),
        ("$1.2bn", "1.2 billion dollars"),
        ("£3k", "£3,000"),
        ("1.2M users", "1,200,000 users"),
        ("45 thousand", "45,000"),
        ("45K users", "45,000 users"),
        ("1.2 million", "1,234,567"),
        ("7B parameters", "7 billion parameters"),
        ("120/80 mmHg", "120 mmHg and 80 mmHg"),
        ("two million euros", "€2m"),
        ("$5–7 million", "$5 million to $7 million"),
        ("EUR 20", "20 euros"),
        ("from $3 to $5 million", "from $3m to $5m"),
    ]);
    none_met(&[
        ("€45m", "€45bn"),
        ("£3k", "£30,000"),
        ("1.2 million", "1.4 million"),
        ("3 million", "3 billion"),
    ]);
}

#[test]
fn numbers_are_spelled_in_many_ways() {
    for (text, expected) in [
        ("3 400 patients", &[3_400.0][..]),
        ("in 2019 400 patients", &[2_019.0, 400.0]),
        ("6,82 points", &[6.82]),
        (
            "1{,}284 and 1'284 and 1\u{2009}284",
            &[1_284.0, 1_284.0, 1_284.0],
        ),
        ("1.234.567 and 1.234,5", &[1_234_567.0, 1_234.5]),
        ("1,2,3", &[1.0, 2.0, 3.0]),
        (
            "3 × 10³ and 3×10^3 and 3e3 and 2·10^3",
            &[3e3, 3e3, 3e3, 2e3],
        ),
        ("10^6 cells", &[1e6]),
        ("a dozen, two dozen, half a dozen", &[12.0, 24.0]),
        ("two hundred and fifty nurses", &[250.0]),
        ("between five and ten", &[5.0, 10.0]),
        ("p < .001", &[0.001]),
        ("three million five hundred thousand", &[3.5e6]),
        ("1,2-diol", &[]),
        ("12 345 678", &[12_345_678.0]),
    ] {
        let found = values(text);
        let is_same = found.len() == expected.len()
            && found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-9 * b.abs());
        assert!(is_same, "{text}: {found:?}");
    }
}

#[test]
fn shares_and_multiples_may_be_told_in_words() {
    all_met(&[
        ("half of the nurses", "50% of the nurses"),
        ("a third of the nurses", "34 per cent"),
        ("two thirds of it", "67%"),
        ("three quarters were women", "75 %"),
        ("it doubled", "rose by 100%"),
        ("it halved", "a twofold and a 50% fall"),
        ("twice as many", "2 times"),
        ("it tripled", "3-fold"),
        ("85% were found", "a sensitivity of 0.85"),
        ("5–7 %", "5% to 7%"),
        ("more than a quarter of the nurses", "26.8%"),
        ("half an hour", "30 minutes"),
        ("one and a half hours", "90 minutes"),
        ("half a million euros", "500,000 euros"),
        ("between 5 and 7 mg", "0.005 g and 0.007 g"),
    ]);
    none_met(&[
        ("half of the nurses", "75% of the nurses"),
        ("it doubled", "3-fold"),
        ("5–7 %", "5 mg to 7 mg"),
    ]);
    for text in [
        "a third trial",
        "a quarter of an hour",
        "the third quarter",
        "half-life",
    ] {
        assert_eq!(values(text), [] as [f64; 0], "{text}");
    }
}

#[test]
fn signs_and_bounds_count_where_both_have_them() {
    all_met(&[
        ("at least 5 doses", "5 doses"),
        ("at least 5 doses", "no fewer than 5 doses"),
        ("fell by 3.2 kg", "a change of −3.2 kg"),
        ("−3.2", "(-3.2)"),
        ("5-7", "5 to 7"),
        ("p < 0.05", "(P = 0.02)"),
    ]);
    none_met(&[
        ("at least 5 doses", "at most 5 doses"),
        ("more than 5 doses", "no more than 5 doses"),
        ("−5 °C", "5 °C"),
        ("+3.2", "−3.2"),
        ("p < 0.01", "(P = 0.02)"),
    ]);
}

#[test]
fn dates_and_times_meet_only_each_other() {
    all_met(&[
        ("on 12 March 2019", "2019-03-12"),
        ("on March 12", "12th of March"),
        ("at 3 p.m.", "15:00"),
        ("on April 2", "THURSDAY APRIL 2"),
        ("in May 2014", "on 2014-05-12"),
    ]);
    none_met(&[
        ("on 12 March", "12 patients"),
        ("on 12 March", "12 May"),
        ("at 3 p.m.", "3 patients"),
        ("3 patients", "at 3 p.m."),
    ]);
    let month = |text: &str| quantities(text).into_iter().next().unwrap();
    assert!(month("May 2014").is_renumbered(&month("March 2014")));
    assert!(!month("May 2014").is_renumbered(&month("March 2013")));
}

#[test]
fn numbers_of_names_are_no_amounts() {
    let first = |text: &str| quantities(text).into_iter().next().unwrap();
    for text in [
        "ISO 9001:2015",
        "Python 3.11",
        "RFC 9110",
        "RFC 2119",
        "PEP 703",
        "see Section 4.2",
        "Table 2",
        "Figure 3",
        "Article 17",
        "version 2.0",
        "Phase 2",
        "Type 2 diabetes",
        "page 12",
        "it runs 1.4.2",
    ] {
        let found = quantities(text);
        assert!(found.len() == 1 && found[0].is_name(), "{text}: {found:?}");
    }
    for text in [
        "HR 1.27",
        "In London 45 nurses",
        "About 45",
        "Roe 2019",
        "Germany 12%",
        "Table 2,500",
    ] {
        assert!(!first(text).is_name(), "{text}");
    }
    for text in [
        "arXiv 2301.12345",
        "v1.4.2",
        "https://a.example/2019/05",
        "COVID-19",
    ] {
        assert_eq!(values(text), [] as [f64; 0], "{text}");
    }
    assert!(!first("2 nurses").is_met_by(&first("Table 2")));
    assert!(first("Python 3.12").is_renumbered(&first("Python 3.11")));
    assert!(!first("Python 3.11").is_renumbered(&first("Python 3.11.2")));
    assert!(!first("Table 2").is_renumbered(&first("Table 3")));
    assert!(quantities("Tables 2 and 3").iter().all(Quantity::is_name));
}

#[test]
fn years_stay_years() {
    for text in ["2019", "the 1990s", "In 2019 A. Roe wrote it"] {
        assert!(quantities(text)[0].is_year(), "{text}");
    }
    assert!(!quantities("2,019 nurses")[0].is_year());
    assert!(!quantities("1990 ml")[0].is_year());
}

#[test]
fn hostile_numbers_cost_little_and_stop_nothing() {
    for unit in [
        "1",
        "1,",
        "1.1.",
        "1-",
        "1 000 ",
        "−",
        "a 1",
        "two and ",
        "1 h 1 min ",
        "half ",
        "Ä1€",
        "10·10^9",
        "1'",
        "://",
        "Table 1 ",
    ] {
        let text = unit.repeat(2_000);
        let _ = quantities(&text);
    }
    for text in [
        "1e99",
        "1×10^99",
        "10⁹⁹",
        "1,",
        "1.",
        "1{,}",
        "1 ‰",
        "1€",
        "−1",
        "1.234é",
        "9999999999999999999999999999999999999",
    ] {
        let _ = quantities(text);
    }
}
