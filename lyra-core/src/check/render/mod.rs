//! A check report in the formats that people and tools read.

mod html;
mod lines;
mod markdown;
mod sarif;

use super::{CheckCode, CheckReport};
use crate::error::{Error, Result};
use lines::LineIndex;
use std::str::FromStr;

/// A format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckFormat {
    /// The report itself.
    Json,
    /// SARIF 2.1.0, which code hosts show at the lines of the draft.
    Sarif,
    /// The draft with its findings, one page that loads nothing.
    Html,
    /// A table of the findings.
    Markdown,
}

impl FromStr for CheckFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "json" => Ok(Self::Json),
            "sarif" => Ok(Self::Sarif),
            "html" => Ok(Self::Html),
            "markdown" | "md" => Ok(Self::Markdown),
            _ => Err(Error::invalid(format!("there is no format {text:?}"))
                .with_hint("expected json, sarif, html or markdown")),
        }
    }
}

impl CheckReport {
    /// The report as text. `name` is the draft's file name.
    pub fn render(&self, format: CheckFormat, name: &str) -> Result<String> {
        match format {
            CheckFormat::Json => serde_json::to_string_pretty(self)
                .map_err(|e| Error::internal(format!("the report as JSON: {e}"))),
            CheckFormat::Sarif => sarif::render(self, name),
            CheckFormat::Html => Ok(html::render(self, name)),
            CheckFormat::Markdown => Ok(markdown::render(self, name)),
        }
    }

    /// A summary of the draft in one line: `18 assertions: 12 supported, 3 number_mismatch, 3 uncited`.
    pub fn headline(&self) -> String {
        let assertions: usize = self.summary.verdicts.values().sum();
        let verdicts = CheckCode::ALL.into_iter().rev().filter_map(|code| {
            let count = self.summary.verdicts.get(&code)?;
            let uncertain = match code {
                CheckCode::Supported => self.uncertain(),
                _ => 0,
            };
            Some(match uncertain {
                0 => format!("{count} {code}"),
                some => format!("{count} {code} ({some} not certain)"),
            })
        });
        let verdicts: Vec<String> = verdicts.collect();
        let noun = if assertions == 1 {
            "assertion"
        } else {
            "assertions"
        };
        match verdicts.is_empty() {
            true => "no assertions".to_owned(),
            false => format!("{assertions} {noun}: {}", verdicts.join(", ")),
        }
    }
}

impl CheckReport {
    /// How many sentences are supported with low confidence.
    fn uncertain(&self) -> usize {
        let worst = self.sentences.iter().filter_map(|s| s.findings.first());
        worst.filter(|finding| finding.is_uncertain()).count()
    }

    /// The lines and columns, both from 1, of positions in the draft.
    pub fn places(&self, at: &[usize]) -> Vec<(usize, usize)> {
        let lines = LineIndex::of(&self.text);
        at.iter().map(|at| lines.place(*at)).collect()
    }
}
