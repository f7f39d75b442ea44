//! Vectors in the formats in which programs write them.

use super::fields::MAX_DIMENSION;
use super::json::Json;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, Engine as _, GeneralPurpose, GeneralPurposeConfig};

/// The vector as stored in the database: f32, little-endian.
pub(super) fn from_json(value: Json<'_>) -> Result<Vec<u8>, String> {
    let bytes = match value {
        Json::Numbers(numbers) => {
            #[allow(clippy::cast_possible_truncation, reason = "vectors are stored as f32")]
            let bytes: Vec<u8> = numbers
                .iter()
                .flat_map(|n| (*n as f32).to_le_bytes())
                .collect();
            bytes
        }
        Json::Text(text) => from_text(&text)?,
        other => {
            return Err(format!(
                "expected an array of numbers, or bytes in hex or base64, found {}",
                other.what()
            ));
        }
    };
    check(&bytes)?;
    Ok(bytes)
}

/// Checks that the bytes are a valid vector of f32.
pub(in crate::store::graph) fn check(bytes: &[u8]) -> Result<(), String> {
    let (values, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(format!(
            "{} bytes are not a whole number of f32 values",
            bytes.len()
        ));
    }
    let dimension = i64::try_from(values.len()).unwrap_or(i64::MAX);
    if !(1..=MAX_DIMENSION).contains(&dimension) {
        return Err(format!(
            "{dimension} values; expected from 1 to {MAX_DIMENSION}"
        ));
    }
    match values
        .iter()
        .position(|v| !f32::from_le_bytes(*v).is_finite())
    {
        Some(at) => Err(format!("value {at} is not a finite number")),
        None => Ok(()),
    }
}

/// Text that can be hex is read as hex: four bytes are eight digits, and a base64 text with only hex
/// digits would give a vector of implausible numbers.
fn from_text(text: &str) -> Result<Vec<u8>, String> {
    if text.len().is_multiple_of(8) && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(from_hex(text.as_bytes()));
    }
    from_base64(text).ok_or_else(|| "neither hex (8 digits a value) nor base64".to_owned())
}

fn from_hex(digits: &[u8]) -> Vec<u8> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    };
    let (pairs, _) = digits.as_chunks::<2>();
    pairs
        .iter()
        .map(|[high, low]| value(*high) << 4 | value(*low))
        .collect()
}

/// RFC 4648, either alphabet, with or without padding.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    match text.contains(['-', '_']) {
        true => LENIENT.decode(text.replace('-', "+").replace('_', "/")),
        false => LENIENT.decode(text),
    }
    .ok()
}

/// Appends lower-case hex digits to `out`, two per byte.
pub(super) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn floats(bytes: &[u8]) -> Vec<f32> {
        bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|v| f32::from_le_bytes(*v))
            .collect()
    }

    #[test]
    fn every_form_gives_the_same_vector() {
        // 0.5 is 3f000000, -2 is c0000000, 1 is 3f800000; bytes in little-endian order.
        let forms = [
            Json::Numbers(vec![0.5, -2.0, 1.0]),
            Json::Text(Cow::Borrowed("0000003f000000c00000803f")),
            Json::Text(Cow::Borrowed("0000003F000000C00000803F")),
            Json::Text(Cow::Borrowed("AAAAPwAAAMAAAIA/")),
            Json::Text(Cow::Borrowed("AAAAPwAAAMAAAIA_")),
        ];
        for form in forms {
            let name = format!("{form:?}");
            assert_eq!(
                floats(&from_json(form).unwrap()),
                [0.5, -2.0, 1.0],
                "{name}"
            );
        }
        let padded = from_json(Json::Text(Cow::Borrowed("AACAPw=="))).unwrap();
        assert_eq!(floats(&padded), [1.0]);
    }

    #[test]
    fn refuses_what_is_no_vector() {
        let nan = Json::Text(Cow::Borrowed("0000c07f"));
        let cases = [
            (nan, "value 0 is not a finite number"),
            (
                Json::Numbers(vec![1.0, 1e39]),
                "value 1 is not a finite number",
            ),
            (Json::Numbers(vec![]), "0 values"),
            (Json::Text(Cow::Borrowed("")), "0 values"),
            (Json::Text(Cow::Borrowed("zz!")), "neither hex"),
            (Json::Text(Cow::Borrowed("AAAAA")), "neither hex"),
            (Json::Text(Cow::Borrowed("AAAAP")), "neither hex"),
            (Json::Text(Cow::Borrowed("AAAAPwAA")), "6 bytes"),
            (Json::Bool(true), "found true"),
        ];
        for (form, expected) in cases {
            let name = format!("{form:?}");
            let refusal = from_json(form).unwrap_err();
            assert!(refusal.contains(expected), "{name}: {refusal}");
        }
    }
}
