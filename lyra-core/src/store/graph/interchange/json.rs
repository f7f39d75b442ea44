//! JSON values of a line; text without escapes is read without copying.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A JSON value of a line. Text without escapes borrows from the line.
#[derive(Debug)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// An array of numbers only, or an empty array.
    Numbers(Vec<f64>),
    Nested(serde_json::Value),
}

/// The fields of a line, in their order.
pub(super) struct Entries<'a>(pub(super) Vec<(Cow<'a, str>, Json<'a>)>);

impl Json<'_> {
    /// A description of the value for messages.
    pub(super) fn what(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(flag) => flag.to_string(),
            Self::Int(n) => format!("the number {n}"),
            Self::Float(n) => format!("the number {n}"),
            Self::Text(text) => format!("the string {}", shown(text)),
            Self::Numbers(_) => "an array of numbers".to_owned(),
            Self::Nested(serde_json::Value::Object(_)) => "an object".to_owned(),
            Self::Nested(_) => "an array".to_owned(),
        }
    }

    /// The number, as a float.
    pub(super) fn number(&self) -> Option<f64> {
        match *self {
            #[allow(
                clippy::cast_precision_loss,
                reason = "only 0 and 1 pass the check that follows"
            )]
            Self::Int(n) => Some(n as f64),
            Self::Float(n) => Some(n),
            _ => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::with_capacity(16);
                while let Some((FieldName(name), value)) = map.next_entry()? {
                    // No type has this many fields, so a line with 64 different fields is invalid.
                    if entries.len() >= 64 {
                        return Err(A::Error::custom("more than 64 fields"));
                    }
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// The name of a field, borrowed if it has no escapes.
struct FieldName<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for FieldName<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Text(name) => Ok(Self(name)),
            other => Err(D::Error::custom(format!(
                "expected a name, found {}",
                other.what()
            ))),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = Json<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Json::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
                Ok(Json::Int(value))
            }

            #[allow(
                clippy::cast_precision_loss,
                reason = "no column takes so large a number"
            )]
            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(i64::try_from(value).map_or(Json::Float(value as f64), Json::Int))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                Ok(Json::Float(value))
            }

            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
                Ok(Json::Text(Cow::Borrowed(value)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
                Ok(Json::Text(Cow::Owned(value.to_owned())))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut object = serde_json::Map::new();
                while let Some((name, value)) = map.next_entry::<String, serde_json::Value>()? {
                    object.insert(name, value);
                }
                Ok(Json::Nested(serde_json::Value::Object(object)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut numbers = Vec::new();
                while let Some(value) = seq.next_element::<Json<'de>>()? {
                    let Some(number) = value.number() else {
                        return rest_of_array(&numbers, value, seq);
                    };
                    numbers.push(number);
                }
                Ok(Json::Numbers(numbers))
            }
        }
        deserializer.deserialize_any(Values)
    }
}

/// Continues reading an array that contains something other than numbers.
fn rest_of_array<'de, A: SeqAccess<'de>>(
    numbers: &[f64],
    first: Json<'de>,
    mut seq: A,
) -> Result<Json<'de>, A::Error> {
    let mut values: Vec<serde_json::Value> = numbers.iter().map(|n| (*n).into()).collect();
    values.push(match first {
        Json::Text(text) => text.into_owned().into(),
        Json::Bool(flag) => flag.into(),
        Json::Nested(nested) => nested,
        Json::Numbers(inner) => inner.into(),
        Json::Null | Json::Int(_) | Json::Float(_) => serde_json::Value::Null,
    });
    while let Some(value) = seq.next_element()? {
        values.push(value);
    }
    Ok(Json::Nested(serde_json::Value::Array(values)))
}

/// The text in quotes, truncated if long, because messages are read by people.
pub(super) fn shown(text: &str) -> String {
    if text.len() <= SHOWN {
        return format!("{text:?}");
    }
    let cut: String = text.chars().take(SHOWN / 2).collect();
    format!("{cut:?}… ({} bytes)", text.len())
}

/// Longest excerpt of the file in a message, in bytes.
pub(super) const SHOWN: usize = 80;
