//! A tool's two schemas, parsed at start and compiled when first used.

use super::listing;
use jsonschema::Validator;
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// The schemas of one tool. The text is one of our own files, so that it is valid is a matter of
/// tests, not of run time.
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

    /// What checks arguments; none where the schema itself is broken.
    pub(crate) fn input_check(&self) -> Option<&Validator> {
        self.input_check
            .get_or_init(|| compile(&self.input))
            .as_ref()
    }

    /// What checks replies; none where the schema itself is broken.
    pub(crate) fn output_check(&self) -> Option<&Validator> {
        self.output_check
            .get_or_init(|| compile(&self.output))
            .as_ref()
    }
}

fn compile(schema: &Map<String, Value>) -> Option<Validator> {
    jsonschema::draft202012::new(&Value::Object(schema.clone())).ok()
}
