//! Detects the language of a text from its script.

/// Words that occur in almost every English text of a few sentences.
const ENGLISH: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "for", "from", "had",
    "has", "have", "in", "is", "it", "its", "may", "not", "of", "on", "or", "our", "than", "that",
    "the", "their", "these", "they", "this", "to", "was", "we", "were", "which", "with",
];

/// Number of letters that are examined; more would not change the answer.
const ENOUGH: usize = 4_000;

/// The BCP 47 tag of the language, if the script or the most common words show it.
///
/// Kana indicate Japanese, hangul Korean, and ideographs alone Chinese; Cyrillic, Arabic, Hebrew, Greek,
/// Thai and Devanagari indicate their most common language. Latin script is English only with enough
/// English function words, otherwise `None`: no guess is better than a wrong one.
///
/// ```
/// use lyra_core::store::text::language::detect_language;
/// assert_eq!(detect_language("血糖値が下がった。"), Some("ja"));
/// assert_eq!(detect_language("The risk of stroke was lower in the treated group."), Some("en"));
/// assert_eq!(detect_language("Das Risiko war geringer."), None);
/// ```
pub fn detect_language(text: &str) -> Option<&'static str> {
    let mut counts = Counts::default();
    for c in text.chars().filter(|c| c.is_alphabetic()).take(ENOUGH) {
        counts.add(c);
    }
    let total = counts.total();
    if total == 0 {
        return None;
    }
    let cjk = counts.kana + counts.ideographs + counts.hangul;
    // An English abstract may follow a Japanese title, and Japanese prose contains many Latin terms: an
    // ideograph counts as about three Latin letters.
    if cjk * 3 >= total {
        return Some(if counts.hangul * 2 > cjk {
            "ko"
        } else if counts.kana * 20 >= cjk {
            "ja"
        } else {
            "zh"
        });
    }
    let (tag, most) = counts.others.into_iter().max_by_key(|(_, count)| *count)?;
    if most * 2 > total {
        return Some(tag);
    }
    (counts.latin * 2 > total && is_english(text)).then_some("en")
}

#[derive(Default)]
struct Counts {
    kana: usize,
    ideographs: usize,
    hangul: usize,
    latin: usize,
    others: [(&'static str, usize); 6],
}

impl Counts {
    fn add(&mut self, c: char) {
        let other = match c {
            '\u{3041}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9F}' => {
                self.kana += 1;
                return;
            }
            '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' => {
                self.ideographs += 1;
                return;
            }
            '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{AC00}'..='\u{D7AF}' => {
                self.hangul += 1;
                return;
            }
            '\u{400}'..='\u{52F}' => (0, "ru"),
            '\u{600}'..='\u{6FF}' | '\u{750}'..='\u{77F}' => (1, "ar"),
            '\u{590}'..='\u{5FF}' => (2, "he"),
            '\u{370}'..='\u{3FF}' => (3, "el"),
            '\u{E00}'..='\u{E7F}' => (4, "th"),
            '\u{900}'..='\u{97F}' => (5, "hi"),
            _ => {
                self.latin += 1;
                return;
            }
        };
        self.others[other.0] = (other.1, self.others[other.0].1 + 1);
    }

    fn total(&self) -> usize {
        let others: usize = self.others.iter().map(|(_, count)| count).sum();
        self.kana + self.ideographs + self.hangul + self.latin + others
    }
}

/// Whether at least one word in eight, and at least two different ones, are English function words.
fn is_english(text: &str) -> bool {
    let (mut words, mut known) = (0, 0);
    let mut different: Vec<&str> = Vec::new();
    for word in text
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .take(600)
    {
        words += 1;
        let lower = word.to_ascii_lowercase();
        if let Ok(nth) = ENGLISH.binary_search(&lower.as_str()) {
            known += 1;
            if !different.contains(&ENGLISH[nth]) {
                different.push(ENGLISH[nth]);
            }
        }
    }
    known * 8 >= words && different.len() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::shared_lines;

    #[test]
    fn scripts_tell_languages() {
        for (text, expected) in [
            ("", None),
            ("123 !?", None),
            ("糖尿病の治療とHbA1c", Some("ja")),
            ("テスト", Some("ja")),
            ("糖尿病治疗的效果", Some("zh")),
            ("당뇨병 치료의 효과", Some("ko")),
            ("Эффект лечения диабета", Some("ru")),
            ("أثر علاج السكري", Some("ar")),
            ("השפעת הטיפול", Some("he")),
            ("Η επίδραση της θεραπείας", Some("el")),
            ("ผลของการรักษา", Some("th")),
            ("उपचार का प्रभाव", Some("hi")),
            ("The effect of the treatment", Some("en")),
            (
                "α- and β-blockers were given to the patients in this trial",
                Some("en"),
            ),
            ("Effets du traitement sur la pression", None),
            ("Der Einfluss der Therapie auf die Mortalität", None),
            ("El efecto del tratamiento en la mortalidad", None),
            ("Metformin HbA1c", None),
        ] {
            assert_eq!(detect_language(text), expected, "{text}");
        }
    }

    #[test]
    fn corpora_are_recognised() {
        for (path, key, expected) in [
            ("jaquad-beir-dev/corpus.jsonl", "text", "ja"),
            ("scifact/corpus.jsonl", "abstract", "en"),
        ] {
            let rows = shared_lines(path);
            let wrong = rows
                .iter()
                .filter(|row| {
                    let text = match &row[key] {
                        serde_json::Value::Array(sentences) => sentences
                            .iter()
                            .filter_map(|s| s.as_str())
                            .collect::<Vec<_>>()
                            .join(" "),
                        other => other.as_str().unwrap().to_owned(),
                    };
                    detect_language(&text) != Some(expected)
                })
                .count();
            eprintln!(
                "{path}: {wrong} of {} not recognised as {expected}",
                rows.len()
            );
            assert!(
                wrong * 500 <= rows.len(),
                "{path}: {wrong} of {}",
                rows.len()
            );
        }
    }

    #[test]
    fn words_are_sorted_for_binary_search() {
        assert!(ENGLISH.is_sorted());
    }
}
