//! The values that a field of the interchange format may hold.

use crate::error::{Error, Result};
use crate::store::model::Relation;

pub(super) fn one_of<T: std::str::FromStr<Err = crate::error::Error>>(text: &str) -> Result<()> {
    text.parse::<T>().map(|_| ())
}

pub(super) fn one_of_identifiers(text: &str) -> Result<()> {
    spelling(text, &["doi", "pmid", "arxiv", "url"])
}

pub(super) fn one_of_states(text: &str) -> Result<()> {
    spelling(text, &["known", "fetched", "failed"])
}

fn spelling(text: &str, known: &[&str]) -> Result<()> {
    match known.contains(&text) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{text:?} is not one of {}",
            known.join(", ")
        ))),
    }
}

pub(super) fn one_of_decisions(text: &str) -> Result<()> {
    spelling(text, &["include", "exclude"])
}

pub(super) fn one_of_verdicts(text: &str) -> Result<()> {
    match text.parse::<Relation>() {
        Ok(relation) if relation.is_nli() => Ok(()),
        _ => Err(Error::invalid(format!(
            "{text:?} is not one of supports, refutes, neutral"
        ))),
    }
}
