//! get_judgements and submit_judgements.

use super::{Call, Outcome};
use crate::wire::Reply;
use lyra_core::store::graph::{Judgement, JudgementFocus, JudgementRequest, agent_judge_id};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Get {
    task_id: String,
    limit: usize,
    focus: JudgementFocus,
    lease_seconds: u32,
}

#[derive(Deserialize)]
struct Submit {
    task_id: String,
    judgements: Vec<Judgement>,
    model: String,
}

pub(super) async fn get(mut call: Call) -> Outcome {
    let Get {
        task_id,
        limit,
        focus,
        lease_seconds,
    } = call.parse()?;
    let request = JudgementRequest {
        task_id,
        limit,
        focus,
        lease_seconds,
    };
    let pairs = call
        .blocking(move |engine| engine.lend_judgements(&request))
        .await?;
    let mut body = json!({ "count": pairs.len(), "pairs": pairs });
    if pairs.is_empty() {
        body["hint"] = json!(
            "nothing is left to judge with this focus: all is judged or lent, or verification has not run"
        );
    }
    Reply::of(&body)
}

pub(super) async fn submit(mut call: Call) -> Outcome {
    let Submit {
        task_id,
        judgements,
        model,
    } = call.parse()?;
    let judge_id = agent_judge_id(&call.client, &model)?;
    let report = call
        .blocking(move |engine| engine.submit_judgements(&task_id, &judge_id, &judgements))
        .await?;
    let next = match (report.refused.is_empty(), report.open) {
        (false, _) => "submit the refused pairs again, with the words of the passage",
        (true, 0) => "every pair is judged: query_view v_contradictions and v_hypothesis_evidence",
        (true, _) => {
            "get_judgements for more, or query_view v_contradictions and v_hypothesis_evidence"
        }
    };
    let mut body = serde_json::to_value(&report).unwrap_or_default();
    body["next"] = json!(next);
    Reply::of(&body)
}
