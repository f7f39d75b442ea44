//! The output of LaTeX commands: letters, signs, and quantities with their units.

/// Accents by command, as combining characters.
const ACCENTS: &[(&str, char)] = &[
    ("\"", '\u{308}'),
    ("'", '\u{301}'),
    ("`", '\u{300}'),
    ("^", '\u{302}'),
    ("~", '\u{303}'),
    ("=", '\u{304}'),
    (".", '\u{307}'),
    ("c", '\u{327}'),
    ("v", '\u{30c}'),
    ("u", '\u{306}'),
    ("H", '\u{30b}'),
    ("k", '\u{328}'),
    ("r", '\u{30a}'),
    ("d", '\u{323}'),
];

/// Commands and the characters that they print.
const SIGNS: &[(&str, &str)] = &[
    ("ss", "ß"),
    ("ae", "æ"),
    ("AE", "Æ"),
    ("oe", "œ"),
    ("OE", "Œ"),
    ("aa", "å"),
    ("AA", "Å"),
    ("o", "ø"),
    ("O", "Ø"),
    ("l", "ł"),
    ("L", "Ł"),
    ("i", "i"),
    ("j", "j"),
    ("dh", "ð"),
    ("th", "þ"),
    ("ldots", "…"),
    ("dots", "…"),
    ("textellipsis", "…"),
    ("textendash", "–"),
    ("textemdash", "—"),
    ("textquoteleft", "‘"),
    ("textquoteright", "’"),
    ("textquotedblleft", "“"),
    ("textquotedblright", "”"),
    ("textdegree", "°"),
    ("degree", "°"),
    ("textmu", "µ"),
    ("textpm", "±"),
    ("pm", "±"),
    ("times", "×"),
    ("texttimes", "×"),
    ("approx", "≈"),
    ("sim", "∼"),
    ("leq", "≤"),
    ("le", "≤"),
    ("geq", "≥"),
    ("ge", "≥"),
    ("euro", "€"),
    ("pounds", "£"),
    ("S", "§"),
    ("percent", "%"),
    ("textasciitilde", "~"),
    ("textbackslash", "\\"),
    ("slash", "/"),
    ("quad", " "),
    ("qquad", " "),
    ("newline", " "),
    ("LaTeX", "LaTeX"),
    ("TeX", "TeX"),
];

/// Parts of units, and the text printed before and after them.
const UNITS: &[(&str, &str)] = &[
    ("ampere", "A"),
    ("becquerel", "Bq"),
    ("bar", "bar"),
    ("byte", "B"),
    ("bit", "bit"),
    ("candela", "cd"),
    ("celsius", "°C"),
    ("dalton", "Da"),
    ("day", "d"),
    ("decibel", "dB"),
    ("degree", "°"),
    ("degreeCelsius", "°C"),
    ("electronvolt", "eV"),
    ("farad", "F"),
    ("gram", "g"),
    ("gray", "Gy"),
    ("hectare", "ha"),
    ("henry", "H"),
    ("hertz", "Hz"),
    ("hour", "h"),
    ("joule", "J"),
    ("kelvin", "K"),
    ("litre", "L"),
    ("liter", "L"),
    ("lumen", "lm"),
    ("lux", "lx"),
    ("meter", "m"),
    ("metre", "m"),
    ("minute", "min"),
    ("molar", "M"),
    ("mole", "mol"),
    ("newton", "N"),
    ("ohm", "Ω"),
    ("pascal", "Pa"),
    ("percent", "%"),
    ("second", "s"),
    ("sievert", "Sv"),
    ("tesla", "T"),
    ("tonne", "t"),
    ("volt", "V"),
    ("watt", "W"),
];

const PREFIXES: &[(&str, &str)] = &[
    ("femto", "f"),
    ("pico", "p"),
    ("nano", "n"),
    ("micro", "µ"),
    ("milli", "m"),
    ("centi", "c"),
    ("deci", "d"),
    ("hecto", "h"),
    ("kilo", "k"),
    ("mega", "M"),
    ("giga", "G"),
    ("tera", "T"),
    ("peta", "P"),
];

const POWERS: &[(&str, &str)] = &[
    ("squared", "²"),
    ("cubed", "³"),
    ("square", "²"),
    ("cubic", "³"),
];

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(of, _)| *of == name).map(|(_, is)| *is)
}

/// The combining character of an accent.
pub(super) fn accent(name: &str) -> Option<char> {
    find(ACCENTS, name)
}

/// The output of a command without arguments.
pub(super) fn sign(name: &str) -> Option<&'static str> {
    find(SIGNS, name)
}

/// A letter with its accent.
pub(super) fn accented(letter: char, accent: char) -> String {
    match unicode_normalization::char::compose(letter, accent) {
        Some(one) => one.to_string(),
        None => [letter, accent].iter().collect(),
    }
}

/// The length of the command name at the start of a text.
pub(super) fn name_length(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_alphabetic).count()
}

/// A number in siunitx notation.
pub(super) fn number(written: &str) -> String {
    let written = written.replace("\\pm", "±").replace("+-", "±");
    written.replace('±', " ± ").trim().to_owned()
}

/// `\milli\gram\per\square\metre` → `mg/m²`; units that are written out are kept.
pub(super) fn unit(written: &str) -> String {
    let mut printed = String::new();
    // A power given before its unit, and whether a unit ends here.
    let (mut power, mut is_whole) = ("", false);
    let mut rest = written.trim();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            printed.extend(match c {
                '{' | '}' => None,
                '.' | '~' => Some(' '),
                _ => Some(c),
            });
            continue;
        }
        let (name, behind) = rest.split_at(name_length(rest));
        rest = behind.trim_start_matches(' ');
        if name == "per" {
            printed.push('/');
            is_whole = false;
        } else if let Some(raised) = find(POWERS, name) {
            match name.ends_with('d') {
                true => printed.push_str(raised),
                false => power = raised,
            }
        } else {
            if is_whole {
                printed.push(' ');
            }
            let prefix = find(PREFIXES, name);
            let symbol = prefix.or_else(|| find(UNITS, name)).unwrap_or(name);
            printed.push_str(symbol);
            is_whole = prefix.is_none();
            if is_whole {
                printed.push_str(std::mem::take(&mut power));
            }
        }
    }
    printed
}
