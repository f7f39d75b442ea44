//! check_report and claim_standing.

use super::{Call, Outcome};
use crate::wire::Reply;
use lyra_core::check::{
    CheckCode, CheckReport, CheckRequest, DraftFormat, Finding, StandingRequest,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Check {
    text: String,
    #[serde(default)]
    task_id: Option<String>,
    format: DraftFormat,
    #[serde(default)]
    bibliography: Option<String>,
    detail: Detail,
    other_sources: bool,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Detail {
    All,
    Problems,
}

#[derive(Deserialize)]
struct Claim {
    text: String,
    #[serde(default)]
    task_id: Option<String>,
}

pub(super) async fn report(mut call: Call) -> Outcome {
    let Check {
        text,
        task_id,
        format,
        bibliography,
        detail,
        other_sources,
    } = call.parse()?;
    let request = CheckRequest {
        task_id,
        bibliographies: bibliography.into_iter().collect(),
        other_sources,
        ..CheckRequest::new(text, format)
    };
    let mut report = call.engine.check(&request, &|_| {}).await?;
    if detail == Detail::Problems {
        keep_problems(&mut report);
    }
    Reply::of(&report)
}

fn keep_problems(report: &mut CheckReport) {
    let has_problem =
        |findings: &[Finding]| findings.iter().any(|f| f.code != CheckCode::Supported);
    report.sentences.retain(|s| has_problem(&s.findings));
    report.references.retain(|r| has_problem(&r.findings));
}

pub(super) async fn standing(mut call: Call) -> Outcome {
    let Claim { text, task_id } = call.parse()?;
    let request = StandingRequest { text, task_id };
    Reply::of(&call.engine.claim_standing(&request).await?)
}
