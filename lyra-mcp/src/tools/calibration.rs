//! calibration_metrics, calibration_rollback.

use super::{Call, Outcome};
use crate::error::{Code, ToolError};

/// The arguments were checked by the schema; that is all there is to them.
pub(super) async fn metrics(call: Call) -> Outcome {
    drop(call);
    Err(not_yet().with_hint(
        "query_sql on edges shows nli_edge_confidence and judge_id; the confidences are those of \
         the judge as it is",
    ))
}

pub(super) async fn rollback(call: Call) -> Outcome {
    drop(call);
    Err(not_yet().with_hint("no calibration is in force, so there is nothing to return to"))
}

fn not_yet() -> ToolError {
    ToolError::new(
        Code::CalibrationError,
        "calibration is not part of this build yet",
    )
}
