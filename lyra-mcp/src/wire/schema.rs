//! The two schemas of a tool, parsed at the start and compiled at first use.

use super::listing;
use jsonschema::Validator;
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// The schemas of one tool. The text comes from the project's own files, so tests, not run-time
/// checks, ensure that it is valid.
#[derive(Debug)]
pub(crate) struct ToolSchema {
    input: Arc<Map<String, Value>>,
    output: Arc<Map<String, Value>>,
    listed_input: Arc<Map<String, Value>>,
    listed_output: Arc<Map<String, Value>>,
    input_check: OnceLock<Option<Validator>>,
    output_check: OnceLock<Option<Validator>>,
}

impl ToolSchema {
    /// Parses the two schema files.
    pub(crate) fn parse(input: &str, output: &str) -> serde_json::Result<Self> {
        let (input, output) = (serde_json::from_str(input)?, serde_json::from_str(output)?);
        Ok(Self {
            listed_input: Arc::new(listing::input(&input)),
            listed_output: Arc::new(listing::output(&output)),
            input: Arc::new(input),
            output: Arc::new(output),
            input_check: OnceLock::new(),
            output_check: OnceLock::new(),
        })
    }

    pub(crate) fn input(&self) -> &Arc<Map<String, Value>> {
        &self.input
    }

    pub(crate) fn output(&self) -> &Arc<Map<String, Value>> {
        &self.output
    }

    /// The input schema as `tools/list` shows it.
    pub(crate) fn listed_input(&self) -> &Arc<Map<String, Value>> {
        &self.listed_input
    }

    /// The output schema as `tools/list` shows it.
    pub(crate) fn listed_output(&self) -> &Arc<Map<String, Value>> {
        &self.listed_output
    }

    /// The validator of arguments; `None` if the schema itself is broken.
    pub(crate) fn input_check(&self) -> Option<&Validator> {
        self.input_check
            .get_or_init(|| compile(&self.input))
            .as_ref()
    }

    /// The validator of replies; `None` if the schema itself is broken.
    pub(crate) fn output_check(&self) -> Option<&Validator> {
        self.output_check
            .get_or_init(|| compile(&self.output))
            .as_ref()
    }
}

fn compile(schema: &Map<String, Value>) -> Option<Validator> {
    jsonschema::draft202012::new(&Value::Object(schema.clone())).ok()
}
