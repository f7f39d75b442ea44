use super::*;
use proptest::prelude::*;

#[test]
fn persons_have_parts() {
    // Text, particle, family, given, suffix; an empty string means none.
    for (text, particle, family, given, suffix) in [
        ("Ada Byron", "", "Byron", "Ada", ""),
        ("Byron,  Ada King", "", "Byron", "Ada King", ""),
        ("Ada Young", "", "Young", "Ada", ""),
        ("Grace Park", "", "Park", "Grace", ""),
        ("William H. Press", "", "Press", "William H.", ""),
        ("Press, William H.", "", "Press", "William H.", ""),
        ("Center JR", "", "Center", "JR", ""),
        ("Jacqueline R. Center", "", "Center", "Jacqueline R.", ""),
        ("Prof. Dr. Ada Byron", "", "Byron", "Ada", ""),
        ("Trial, Jean", "", "Trial", "Jean", ""),
        ("Trial J", "", "Trial", "J", ""),
        ("Jan van der Berg", "van der", "Berg", "Jan", ""),
        ("van der Berg, Jan", "van der", "Berg", "Jan", ""),
        ("F J B van Duijnhoven", "van", "Duijnhoven", "F J B", ""),
        ("Ludwig van  Beethoven", "van", "Beethoven", "Ludwig", ""),
        ("Beethoven, Ludwig van", "van", "Beethoven", "Ludwig", ""),
        ("Vincent de la Cruz", "de la", "Cruz", "Vincent", ""),
        ("Charles de Gaulle", "de", "Gaulle", "Charles", ""),
        ("Otto von Bismarck", "von", "Bismarck", "Otto", ""),
        (
            "Ana Maria de Souza Lima",
            "de",
            "Souza Lima",
            "Ana Maria",
            "",
        ),
        ("José Ortega y Gasset", "", "Ortega y Gasset", "José", ""),
        ("Frans Van de Werf", "Van de", "Werf", "Frans", ""),
        ("Van de Werf, Frans", "Van de", "Werf", "Frans", ""),
        ("Martin Van Buren", "", "Buren", "Martin Van", ""),
        ("M. al-Rashid", "", "al-Rashid", "M.", ""),
        ("Frances D'Angelo", "", "D'Angelo", "Frances", ""),
        ("Jean d'Alembert", "", "d'Alembert", "Jean", ""),
        ("O'Neil, Cathy", "", "O'Neil", "Cathy", ""),
        ("John Smith Jr.", "", "Smith", "John", "Jr."),
        ("John Smith III", "", "Smith", "John", "III"),
        ("Smith, John, Jr.", "", "Smith", "John", "Jr."),
        ("Smith, Jr., John", "", "Smith", "John", "Jr."),
        ("John Smith, Jr.", "", "Smith", "John", "Jr."),
        ("Smith Jr, John", "", "Smith", "John", "Jr."),
        ("Smith, John Jr", "", "Smith", "John", "Jr."),
        ("Smith JA 3rd", "", "Smith", "JA", "3rd"),
        ("Ada Byron, PhD", "", "Byron", "Ada", ""),
        ("Ada Byron PhD", "", "Byron", "Ada", ""),
        ("Byron, Ada, M.D., Ph.D.", "", "Byron", "Ada", ""),
        ("John Smith Jr., MD PhD", "", "Smith", "John", "Jr."),
        ("Byron, MD", "", "Byron", "MD", ""),
        ("Yo-Yo Xin Ma", "", "Ma", "Yo-Yo Xin", ""),
        ("Smith JA", "", "Smith", "JA", ""),
        ("Smith J A", "", "Smith", "J A", ""),
        ("Smith J.A.", "", "Smith", "J.A.", ""),
        ("van Gils CH", "van", "Gils", "CH", ""),
        ("Li X", "", "Li", "X", ""),
        ("LI X", "", "LI", "X", ""),
        ("X Li", "", "Li", "X", ""),
        ("J A Smith", "", "Smith", "J A", ""),
        ("鈴木 花子", "", "鈴木", "花子", ""),
        ("김 민준", "", "김", "민준", ""),
        ("ジョン スミス", "", "スミス", "ジョン", ""),
        ("Иван Петров", "", "Петров", "Иван", ""),
    ] {
        let some = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        let expected = Name {
            particle: some(particle),
            family: family.to_owned(),
            given: some(given),
            suffix: some(suffix),
        };
        assert_eq!(Name::parse(text), expected, "{text}");
    }
}

#[test]
fn organisations_and_single_names_are_taken_whole() {
    for text in [
        "U.S. Food and Drug Administration",
        "World Health Organization",
        "World Bank",
        "RECOVERY Collaborative Group",
        "Barnes and Noble",
        "AND and AND",
        "Johnson & Johnson",
        "Research and Development Group, The",
        "University of Oxford",
        "Centers for Disease Control and Prevention",
        "Memorial Sloan Kettering Cancer Center",
        "MIT Press",
        "BBC News",
        "New York Times",
        "GBD 2019 Collaborators",
        "Department of Health, Education, and Welfare",
        "The Writing Committee",
        "Acme Inc.",
        "Acme, Inc.",
        "東京大学 医学部",
        "WHO",
        "Plato",
        "山田太郎",
        "山田 太郎 二世",
        "van Gogh",
        "One, Two, Three",
        "Byron",
        "",
    ] {
        let name = Name::parse(text);
        assert_eq!((name.family.as_str(), name.given), (text, None), "{text}");
    }
    assert_eq!(Name::parse("Byron, ").inverted(), "Byron");
}

#[test]
fn inverted_names_keep_all_their_parts() {
    for (text, expected) in [
        ("Jan van der Berg", "van der Berg, Jan"),
        ("John Smith Jr", "Smith, John, Jr."),
        ("World Health Organization", "World Health Organization"),
    ] {
        assert_eq!(Name::parse(text).inverted(), expected);
    }
}

proptest! {
    #[test]
    fn no_name_with_letters_becomes_empty(text in "\\PC{0,40}") {
        let name = Name::parse(&text);
        prop_assert!(!name.family.is_empty() || !text.contains(char::is_alphanumeric));
    }

    #[test]
    fn every_spelling_of_a_name_has_the_same_parts(
        given in "[A-Z][a-z]{7}( [A-Z]\\.)?",
        particle in "(van|van der|de la|von)?",
        family in "[A-Z][a-z]{7}(-[A-Z][a-z]{7})?",
        suffix in "(Jr\\.|Sr\\.|III)?",
    ) {
        let some = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        let expected = Name {
            particle: some(&particle),
            family: family.clone(),
            given: some(&given),
            suffix: some(&suffix),
        };
        for spelling in [
            format!("{given} {particle} {family} {suffix}"),
            format!("{given} {particle} {family}, {suffix}"),
            format!("{particle} {family}, {given}, {suffix}"),
            format!("{particle} {family}, {suffix}, {given}"),
            format!("{particle} {family} {suffix}, {given}, PhD"),
            format!("{family}, {given} {particle}, {suffix}"),
            expected.inverted(),
        ] {
            prop_assert_eq!(&Name::parse(&spelling), &expected, "{}", spelling);
        }
    }
}
